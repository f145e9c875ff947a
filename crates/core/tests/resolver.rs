//! Resolvers: immediate and deferred, dropped, late, and in the hands of callbacks.
#![expect(clippy::disallowed_methods, reason = "threads are what is tested here")]

mod rig;

use lisle_core::{Error, Status, all, cancelable, pair};
use rig::*;
use std::cell::RefCell;
use std::rc::Rc;

#[test]
fn dropping_it_rejects_with_abandoned() {
    let (promise, resolver) = pair::<u32>();
    assert!(resolver.is_pending());
    drop(resolver);
    assert_eq!(promise.status(), Status::Rejected);
    assert!(error(promise).is_abandoned());
    // Also behind a forgotten callback.
    let ((a, resolve_a), (b, resolve_b)) = (pair::<u32>(), pair::<u32>());
    a.on_success(move |n| resolve_b.resolve(n));
    drop(resolve_a);
    assert!(error(b).is_abandoned());
}

#[test]
fn resolve_defers_inside_a_resolution_and_resolve_now_does_not() {
    let trace = Trace::new();
    let ((gate, open), (now, resolve_now), (later, resolve_later)) =
        (pair::<()>(), pair::<u32>(), pair::<u32>());
    now.on_success(trace.adds("now"));
    later.on_success(trace.adds("later"));
    let gate = gate.shared();
    gate.on_success(trace.adds("gate older"));
    let says = trace.clone();
    gate.on_success(move |()| {
        resolve_later.resolve(1);
        says.add("resolved");
        resolve_now.resolve_now(2);
        says.add("resolved now");
    });
    open.resolve(());
    assert_eq!(trace.take(), "resolved now resolved now gate older later");
}

#[test]
fn deferred_resolutions_change_state_at_once_and_run_oldest_first() {
    let trace = Trace::new();
    let (gate, open) = pair::<()>();
    let (promises, resolvers): (Vec<_>, Vec<_>) = (0..3).map(|_| pair::<u32>()).unzip();
    let promises: Vec<_> = promises.into_iter().map(|promise| promise.shared()).collect();
    for (promise, line) in promises.iter().zip(["a", "b", "c"]) {
        promise.on_success(trace.adds(line));
    }
    let inside = promises.clone();
    gate.on_success(move |()| {
        for (n, resolver) in (0..).zip(resolvers) {
            resolver.resolve(n);
        }
        assert_eq!(value(all(inside.iter().map(|input| input.promise()))), [0, 1, 2]);
    });
    open.resolve(());
    assert_eq!(trace.take(), "a b c");
}

#[test]
fn a_drop_inside_a_callback_defers_too() {
    let trace = Trace::new();
    let ((gate, open), (b, resolve_b)) = (pair::<()>(), pair::<u32>());
    b.on_any(trace.adds("value"), trace.adds("abandoned"));
    let gate = gate.shared();
    gate.on_success(trace.adds("older"));
    gate.on_success(move |()| drop(resolve_b));
    open.resolve(());
    assert_eq!(trace.take(), "older abandoned");
}

#[test]
fn a_late_resolver_drops_its_value_with_nothing_borrowed() {
    // The value's destructor looks at the very promise.
    let (promise, resolver) = cancelable();
    let promise = promise.map(drop).shared();
    promise.cancel();
    let inside = promise.clone();
    let looked = Rc::new(RefCell::new(None));
    let look = looked.clone();
    resolver.resolve(OnDrop::new(move || *look.borrow_mut() = Some(error(inside.promise()).is_canceled())));
    assert_eq!(*looked.borrow(), Some(true));
    let (promise, resolver) = cancelable::<u32>();
    promise.cancel();
    resolver.reject_now(Error::os(2));
    assert!(error(promise).is_canceled());
}

#[test]
fn it_resolves_what_its_promise_was_merged_into() {
    let ((gate, open), (inner, resolver)) = (pair::<()>(), pair::<u32>());
    let outer = gate.bind(move |()| inner);
    open.resolve(());
    assert!(resolver.is_pending());
    resolver.resolve(8);
    assert_eq!(value(outer), 8);
}

/// What a thread leaves behind is destroyed in no useful order; it must not bring the process down.
#[test]
fn the_end_of_a_thread_with_work_left_is_quiet() {
    thread_local! {
        static KEPT: RefCell<Vec<Box<dyn std::any::Any>>> = const { RefCell::new(Vec::new()) };
    }
    for early in [true, false] {
        std::thread::spawn(move || {
            lisle_core::hook::set(|_| {});
            if early {
                KEPT.with_borrow_mut(|kept| kept.push(Box::new(())));
            }
            let ((a, resolve_a), (b, resolve_b)) = (pair::<u32>(), pair::<u32>());
            let a = a.shared();
            a.map(|n| n).on_any(drop, |_| drop(lisle_core::spawn(async { lisle_core::pause().await })));
            let (own, held) = (a.promise(), a.clone());
            drop(lisle_core::spawn(async move {
                let _resolve_b = resolve_b;
                held.await
            }));
            let c = b.bind(|_| lisle_core::pause()).shared();
            drop(lisle_core::spawn(async move { c.await }));
            let slept = lisle_core::sched::sleep::sleep_until(5).map(move |()| drop(own));
            KEPT.with_borrow_mut(|kept| {
                kept.push(Box::new(resolve_a));
                kept.push(Box::new(slept));
                kept.push(Box::new(lisle_core::spawn(std::future::pending::<()>())));
                kept.push(Box::new(lisle_core::pause()));
            });
        })
        .join()
        .expect("the thread ends without a panic");
    }
}

#[test]
fn a_resolver_knows_whether_anybody_can_still_be_told() {
    let (promise, resolver) = cancelable::<u32>();
    assert!(resolver.is_wanted());
    promise.cancel();
    assert!(!resolver.is_wanted(), "settled");
    drop(promise);

    let (promise, resolver) = pair::<u32>();
    let shared = promise.shared();
    let other = shared.clone();
    drop(shared);
    assert!(resolver.is_wanted());
    drop(other);
    assert!(!resolver.is_wanted());

    let (promise, resolver) = pair::<u32>();
    drop(promise.map(|n| n + 1));
    assert!(resolver.is_wanted(), "by a callback");
    let (promise, resolver) = pair::<u32>();
    drop(promise.on_termination(|| {}));
    assert!(resolver.is_wanted(), "by an observer");

    let (promise, resolver) = pair::<u32>();
    let shared = promise.shared();
    let mut awaited = shared.promise();
    drop(shared);
    let (_count, waker) = Count::waker();
    assert!(poll_with(&mut awaited, &waker).is_pending());
    assert!(resolver.is_wanted());
    drop(awaited);
    assert!(!resolver.is_wanted(), "a list that was emptied is no list");
}

#[test]
fn a_resolver_sees_who_looks_through_the_promises_it_was_merged_into() {
    let (promise, resolver) = pair::<u32>();
    let ((start, go), (first, second)) = (pair::<()>(), pair::<()>());
    let inner = start.bind(move |()| promise);
    let outer = first.bind(move |()| inner);
    second.resolve(());
    go.resolve(());
    assert!(resolver.is_wanted());
    drop(outer);
    assert!(!resolver.is_wanted());
}

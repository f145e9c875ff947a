//! `bind`, `map`, `try_map`: when the callback runs, what becomes of what it returns, and what it may do
//! meanwhile.

mod rig;

use lisle_core::{
    Error, Promise, Shared, cancelable, pair, pause, ready, rejected, settled, spawn, yield_now,
};
use rig::*;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

#[test]
fn on_a_fulfilled_promise_the_callback_runs_at_once() {
    let trace = Trace::new();
    let inner = trace.clone();
    let sum = ready(1).bind(move |n| {
        inner.add("ran");
        ready(n + 1)
    });
    trace.add("after");
    assert_eq!((trace.take().as_str(), value(sum)), ("ran after", 2));
}

#[test]
fn an_error_passes_by_without_running_the_callback() {
    let never = |_: u32| -> Promise<u32> { panic!("it must not run") };
    assert_eq!(error(rejected::<u32>(fail("no")).bind(never)).to_string(), "no");
    let (promise, resolver) = pair();
    let end = promise.bind(never).map(|n| n + 1).try_map(|n| Ok::<_, Error>(n + 1));
    resolver.reject(fail("later"));
    assert_eq!(error(end).to_string(), "later");
}

#[test]
fn on_a_pending_promise_it_runs_inside_the_resolution_depth_first() {
    let trace = Trace::new();
    let (promise, resolver) = pair::<u32>();
    let says = trace.clone();
    let end = promise
        .map(move |n| {
            says.add("first");
            n + 1
        })
        .map(|n| n * 10);
    let end = end.on_termination(trace.says("end"));
    resolver.resolve(1);
    trace.add("returned");
    assert_eq!((trace.take().as_str(), value(end)), ("first end returned", 20));
}

#[test]
fn every_kind_of_promise_may_be_returned() {
    let (gate, open) = pair::<()>();
    let gate = gate.shared();
    let (later, resolve_later) = pair();
    let now = gate.bind(|()| ready(1));
    let result = gate.bind(|()| Ok::<_, Error>(2));
    let failed = gate.bind(|()| Err::<u32, _>(std::fmt::Error));
    let leaf = gate.bind(|()| pause()).map(|()| 3);
    let task = gate.bind(|()| spawn(async { yield_now().await.map(|()| 4) })).bind(|result| result);
    let cell = gate.bind(|()| later);
    let shared = gate.bind(|()| ready(6).shared());
    open.resolve(());
    assert_eq!(value(now), 1);
    assert_eq!(value(result), 2);
    assert!(error(failed).downcast_ref::<std::fmt::Error>().is_some());
    assert!(leaf.is_pending() && task.is_pending() && cell.is_pending());
    run();
    resolve_later.resolve(5);
    assert_eq!((value(leaf), value(task), value(cell), value(shared)), (3, 4, 5, 6));
}

#[test]
fn a_panic_rejects_the_result_and_nothing_else() {
    let panics = |_: u32| -> Promise<u32> { panic!("oops") };
    assert_eq!(error(ready(1).bind(panics)).panic_message(), Some("oops"));
    assert_eq!(error(ready(1).map(|_| -> u32 { panic!("{}", 5) })).panic_message(), Some("5"));
    let (promise, resolver) = pair::<u32>();
    let shared = promise.shared();
    let before = shared.map(|n| n);
    let middle = shared.bind(panics);
    let after = shared.map(|n| n);
    resolver.resolve(1);
    assert_eq!(error(middle).panic_message(), Some("oops"));
    assert_eq!((value(before), value(after)), (1, 1));
}

#[test]
fn a_panic_whose_payload_panics_is_a_panic_all_the_same() {
    let end = ready(()).map(|()| std::panic::panic_any(Bomb));
    assert_eq!(error(end).panic_message(), Some("a value that is not text"));
}

#[test]
fn callbacks_on_a_shared_promise_run_newest_first() {
    let trace = Trace::new();
    let (promise, resolver) = pair::<()>();
    let shared = promise.shared();
    let ends = ["a", "b", "c"].map(|line| shared.map(trace.adds(line)));
    resolver.resolve(());
    assert_eq!(trace.take(), "c b a");
    ends.into_iter().for_each(value);
}

#[test]
fn the_callback_may_drop_cancel_or_bind_its_own_result() {
    let trace = Trace::new();
    let (promise, resolver) = cancelable::<()>();
    let slot: Rc<RefCell<Option<Shared<()>>>> = Rc::default();
    let (inside, says) = (slot.clone(), trace.clone());
    let result = promise.bind(move |()| {
        let own = inside.take().expect("filled below");
        own.cancel();
        assert!(own.is_pending());
        drop(own.map(says.adds("bound inside")));
        ready(())
    });
    let shared = result.shared();
    *slot.borrow_mut() = Some(shared.clone());
    shared.on_termination(trace.says("bound before"));
    resolver.resolve(());
    assert_eq!(trace.take(), "bound inside bound before");
    value(shared.promise());

    let (promise, resolver) = pair::<()>();
    let slot: Rc<RefCell<Option<Promise<()>>>> = Rc::default();
    let inside = slot.clone();
    *slot.borrow_mut() = Some(promise.map(move |()| drop(inside.take())));
    resolver.resolve(());
    assert!(slot.borrow().is_none());
}

#[test]
fn a_promise_that_waits_for_itself_stays_pending_and_does_no_harm() {
    let (promise, resolver) = pair::<()>();
    let slot: Rc<RefCell<Option<Promise<u32>>>> = Rc::default();
    let inside = slot.clone();
    let cycle = promise.bind(move |()| inside.take().expect("filled below")).shared();
    *slot.borrow_mut() = Some(cycle.promise());
    resolver.resolve(());
    assert!(cycle.is_pending());
    cycle.cancel();
    let follower = cycle.map(|n| n);
    follower.cancel();
    assert!(follower.is_pending());
}

#[test]
fn a_shared_promise_merged_into_an_unshared_one_keeps_newest_first() {
    let trace = Trace::new();
    let ((gate, open), (inner, resolver)) = (pair::<()>(), pair::<u32>());
    let inner = inner.shared();
    let old = inner.map(trace.adds("inner before"));
    let returned = inner.clone();
    let outer = gate.bind(move |()| returned);
    let outer = outer.map(trace.adds("consumer of outer"));
    open.resolve(());
    let new = inner.map(trace.adds("inner after"));
    resolver.resolve(1);
    assert_eq!(trace.take(), "inner after consumer of outer inner before");
    [old, outer, new].into_iter().for_each(value);
}

#[test]
fn the_consumer_of_an_outer_promise_can_leave_after_a_shared_one_was_merged() {
    let ((gate, open), (inner, resolver)) = (pair::<()>(), pair::<u32>());
    let inner = inner.shared();
    let returned = inner.clone();
    let mut outer = gate.bind(move |()| returned);
    let (count, waker) = Count::waker();
    assert!(poll_with(&mut outer, &waker).is_pending());
    open.resolve(());
    assert!(poll_with(&mut outer, &waker).is_pending());
    drop(outer);
    assert_eq!(value_of_state(&inner), None);
    resolver.resolve(1);
    assert_eq!((count.get(), value_of_state(&inner)), (0, Some(1)));
    drop(inner);
    assert_eq!(lisle_core::live_waiters(), 0);
}

fn value_of_state(shared: &Shared<u32>) -> Option<u32> {
    match shared.state() {
        lisle_core::State::Fulfilled(value) => Some(value),
        _ => None,
    }
}

#[test]
fn merged_promises_share_fate_whichever_is_resolved_cancelled_or_taken() {
    for cancel in [false, true] {
        let ((gate, open), (inner, resolver)) = (pair::<()>(), cancelable::<u32>());
        let inner = inner.shared();
        let returned = inner.clone();
        let outer = gate.bind(move |()| returned).shared();
        open.resolve(());
        if cancel {
            outer.cancel();
            assert!(error(inner.promise()).is_canceled() && error(outer.promise()).is_canceled());
            assert!(!resolver.is_pending());
        } else {
            resolver.resolve(4);
            assert_eq!((value(inner.promise()), value(outer.promise())), (4, 4));
        }
    }
}

#[test]
fn a_tail_recursive_loop_over_settled_and_pending_promises() {
    fn count_down(left: u32) -> Promise<u32> {
        match left {
            0 => ready(0),
            _ if left.is_multiple_of(3) => pause().bind(move |()| count_down(left - 1)),
            _ => ready(()).bind(move |()| count_down(left - 1)),
        }
    }
    let end = count_down(3_000);
    run();
    assert_eq!(value(end), 0);
}

#[test]
fn a_destructor_that_panics_in_a_resolution_is_reported_and_stops_nobody() {
    let seen = failures();
    let (promise, resolver) = pair::<u32>();
    let shared = promise.shared();
    let first = shared.map(|n| n);
    let bomb = Bomb;
    let bombed = shared.catch(move |error| {
        let _bomb = &bomb;
        Err(error)
    });
    let last = shared.map(|n| n);
    resolver.resolve(1);
    assert_eq!((value(first), value(last)), (1, 1));
    assert_eq!(error(bombed).panic_message(), Some("bomb"));
    assert!(seen.borrow().is_empty());
}

#[test]
fn a_resolution_inside_an_unwinding_still_runs_its_callbacks() {
    let trace = Trace::new();
    let (promise, resolver) = pair::<()>();
    let end = promise.catch(|_| -> Promise<()> { panic!("inside") });
    let end = end.on_failure(trace.adds("told"));
    let task = spawn(async move {
        let _resolver = resolver;
        panic!("outside");
    });
    let outside: Error = error::<()>(task);
    assert_eq!(outside.panic_message(), Some("outside"));
    assert_eq!((error(end).panic_message(), trace.take().as_str()), (Some("inside"), "told"));
}

#[test]
fn the_value_is_moved_and_dropped_once() {
    let dropped = Rc::new(Cell::new(0));
    let token = |dropped: &Rc<Cell<u32>>| {
        let dropped = dropped.clone();
        OnDrop::new(move || dropped.set(dropped.get() + 1))
    };
    let (promise, resolver) = pair();
    let end = promise.map(|token| token).bind(settled_with).map(drop);
    resolver.resolve(token(&dropped));
    value(end);
    assert_eq!(dropped.get(), 1);
    let (promise, resolver) = pair();
    drop(promise);
    resolver.resolve(token(&dropped));
    assert_eq!(dropped.get(), 2);
    let (promise, resolver) = cancelable();
    promise.cancel();
    resolver.resolve(token(&dropped));
    assert_eq!(dropped.get(), 3);
    drop(promise);
    assert_eq!(dropped.get(), 3);
}

fn settled_with<T: 'static>(value: T) -> Promise<T> {
    settled(Ok(value))
}

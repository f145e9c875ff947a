//! `on_success`, `on_failure`, `on_termination`, `on_any`, `detach`: callbacks without a result, and their
//! panics.

mod rig;

use lisle_core::hook::FailureKind;
use lisle_core::{Error, cancelable, pair, ready, rejected, spawn};
use rig::*;

#[test]
fn each_observer_runs_for_its_outcome_now_or_later() {
    let trace = Trace::new();
    for later in [false, true] {
        for result in [Ok(1), Err(fail("no"))] {
            let (promise, resolver) = pair();
            let mut resolver = Some(resolver);
            if !later {
                resolver.take().expect("once").settle(result.clone());
            }
            let promise = promise.shared();
            let (ok, err) = (trace.clone(), trace.clone());
            promise.on_any(move |n: u32| ok.add(n), move |error| err.add(error));
            promise.on_termination(trace.says("ended"));
            promise.on_failure(trace.adds("failed"));
            promise.on_success(trace.adds("succeeded"));
            if let Some(resolver) = resolver {
                resolver.settle(result.clone());
            }
            let expected = match (later, result.is_ok()) {
                (false, true) => "1 ended succeeded",
                (false, false) => "no ended failed",
                (true, true) => "succeeded ended 1",
                (true, false) => "failed ended no",
            };
            assert_eq!(trace.take(), expected);
        }
    }
}

#[test]
fn observers_give_the_promise_back_with_its_value() {
    let (promise, resolver) = pair();
    let promise = promise.on_termination(|| {}).on_failure(drop).on_cancel(|| {});
    resolver.resolve(Box::new(1));
    assert_eq!(*value(promise), 1);
    assert_eq!(*value(ready(Box::new(2)).on_termination(|| {})), 2);
}

#[test]
fn a_panic_goes_to_the_hook_and_the_next_observers_run() {
    let seen = failures();
    let trace = Trace::new();
    let (promise, resolver) = pair::<u32>();
    let promise = promise.shared();
    promise.on_termination(trace.says("old"));
    promise.on_success(|_| panic!("observer"));
    promise.on_termination(trace.says("new"));
    resolver.resolve(1);
    assert_eq!(trace.take(), "new old");
    ready(1).on_success(|_| panic!("now"));
    rejected::<()>(fail("x")).on_any(|()| {}, |_| panic!("later"));
    let expected: Vec<_> = ["panicked: observer", "panicked: now", "panicked: later"]
        .map(|text| (FailureKind::Callback, text.to_owned()))
        .into();
    assert_eq!(*seen.borrow(), expected);
}

#[test]
fn an_error_that_only_on_success_saw_is_reported_once() {
    let seen = failures();
    rejected::<u32>(fail("now")).on_success(drop);
    let (promise, resolver) = pair::<u32>();
    promise.on_success(drop);
    resolver.reject(fail("later"));
    let (promise, resolver) = pair::<u32>();
    let promise = promise.shared();
    promise.on_success(drop);
    resolver.reject(fail("shared"));
    drop(promise);
    let texts: Vec<_> = seen.borrow().iter().map(|(_, text)| text.clone()).collect();
    assert_eq!(texts, ["now", "later", "shared"]);
}

#[test]
fn detach_reports_failures_with_its_place_but_no_cancellation() {
    let seen = failures();
    ready(1).detach();
    rejected::<u32>(fail("now")).detach();
    let (promise, resolver) = pair::<u32>();
    promise.detach();
    resolver.reject(fail("later"));
    spawn(async { panic!("task") }).map(|()| ()).detach();
    assert_eq!(seen.borrow().len(), 3);
    assert!(seen.borrow().iter().all(|(kind, _)| *kind == FailureKind::Detached));
    let trace = Trace::new();
    let says = trace.clone();
    rejected::<()>(fail("handled")).detach_with(move |error| says.add(error));
    let (promise, _resolver) = cancelable::<()>();
    let says = trace.clone();
    let promise = promise.shared();
    promise.detach_with(move |error: Error| says.add(error));
    promise.cancel();
    assert_eq!((trace.take().as_str(), seen.borrow().len()), ("handled canceled", 3));
}

#[test]
fn an_observer_may_resolve_cancel_and_observe_again() {
    let trace = Trace::new();
    let ((a, resolve_a), (b, resolve_b)) = (pair::<u32>(), pair::<u32>());
    let (a, b) = (a.shared(), b.shared());
    b.on_success(trace.adds("b deferred"));
    let (again, says, inner) = (a.clone(), trace.clone(), trace.clone());
    a.on_success(move |_| {
        again.on_success(inner.adds("at once"));
        again.cancel();
        resolve_b.resolve(2);
        says.add("end of callback");
    });
    a.on_success(trace.adds("a newer"));
    resolve_a.resolve(1);
    assert_eq!(trace.take(), "a newer at once end of callback b deferred");
}

//! `catch`, `try_bind`, `finalize`: which errors a handler sees, and which it does not.

mod rig;

use lisle_core::{Error, Promise, cancelable, pair, pause, ready, rejected};
use rig::*;

#[test]
fn a_value_passes_by_and_an_error_is_handled() {
    let handler = |error: Error| ready(error.to_string().len() as u32);
    assert_eq!(value(ready(1).catch(handler)), 1);
    assert_eq!(value(rejected(fail("four")).catch(handler)), 4);
    for (result, expected) in [(Ok(1), 1), (Err(fail("four")), 4)] {
        let (promise, resolver) = pair();
        let end = promise.catch(handler);
        assert!(end.is_pending());
        resolver.settle(result);
        assert_eq!(value(end), expected);
    }
}

#[test]
fn it_sees_panics_abandonment_and_cancellation() {
    let name = |error: Error| Ok::<_, Error>(error.to_string());
    let panicked = ready(()).map(|()| -> String { panic!("oops") }).catch(name);
    assert_eq!(value(panicked), "panicked: oops");
    let (promise, resolver) = pair::<String>();
    let abandoned = promise.catch(name);
    drop(resolver);
    assert!(value(abandoned).starts_with("abandoned: nobody is left"));
    let (promise, _resolver) = cancelable::<String>();
    let canceled = promise.catch(name);
    canceled.cancel();
    assert_eq!(value(canceled), "canceled");
}

#[test]
fn a_panic_in_a_handler_is_the_new_error() {
    let panics = |_: Error| -> Promise<u32> { panic!("handler") };
    assert_eq!(error(rejected(fail("old")).catch(panics)).panic_message(), Some("handler"));
    let (promise, resolver) = pair();
    let end = promise.catch(panics);
    resolver.reject(fail("old"));
    assert_eq!(error(end).panic_message(), Some("handler"));
}

#[test]
fn a_handler_may_return_a_pending_promise() {
    let (promise, resolver) = pair();
    let end = promise.catch(|_| pause().map(|()| 3));
    resolver.reject(fail("first"));
    assert!(end.is_pending());
    run();
    assert_eq!(value(end), 3);
}

#[test]
fn try_bind_does_not_hand_the_callbacks_error_to_the_handler() {
    let both = |promise: Promise<u32>| {
        promise
            .try_bind(|_| Err::<u32, _>(fail("callback")), |error| Err::<u32, _>(fail(&format!("<{error}>"))))
    };
    assert_eq!(error(both(ready(1))).to_string(), "callback");
    assert_eq!(error(both(rejected(fail("input")))).to_string(), "<input>");
    for (result, expected) in [(Ok(1), "callback"), (Err(fail("input")), "<input>")] {
        let (promise, resolver) = pair();
        let end = both(promise);
        resolver.settle(result);
        assert_eq!(error(end).to_string(), expected);
    }
    let panics = |promise: Promise<u32>| {
        promise.try_bind(|_| -> Promise<u32> { panic!("a") }, |_| -> Promise<u32> { panic!("b") })
    };
    assert_eq!(error(panics(ready(1))).panic_message(), Some("a"));
    assert_eq!(error(panics(rejected(fail("")))).panic_message(), Some("b"));
}

#[test]
fn finalize_keeps_the_outcome_unless_the_cleanup_fails() {
    let trace = Trace::new();
    for result in [Ok(1), Err(fail("outcome"))] {
        for pending in [false, true] {
            let (input, resolver) = pair();
            let mut resolver = Some(resolver);
            let outcome = result.clone();
            let mut resolve = || {
                if let Some(resolver) = resolver.take() {
                    resolver.settle(outcome.clone());
                }
            };
            if !pending {
                resolve();
            }
            let says = trace.clone();
            let end = input.finalize(move || {
                says.add("cleanup");
                pause()
            });
            resolve();
            assert!(end.is_pending(), "the cleanup is not over");
            run();
            assert_eq!(
                done(end).map_err(|error| error.to_string()),
                result.clone().map_err(|_| "outcome".into())
            );
            assert_eq!(trace.take(), "cleanup");
        }
        let (input, resolver) = pair();
        let end = input.finalize(|| rejected(fail("cleanup")));
        resolver.settle(result.clone());
        assert_eq!(error(end).to_string(), "cleanup");
        let (input, resolver) = pair();
        let end = input.finalize(|| -> Promise<()> { panic!("cleanup") });
        resolver.settle(result.clone());
        assert_eq!(error(end).panic_message(), Some("cleanup"));
        let now: Promise<i32> =
            Promise::from(result.clone()).finalize(|| -> Promise<()> { panic!("cleanup") });
        assert_eq!(error(now).panic_message(), Some("cleanup"));
    }
}

#[test]
fn cancelling_a_finalize_runs_the_cleanup_and_then_may_cancel_it() {
    let (work, _resolver) = cancelable::<()>();
    let end = work.finalize(pause);
    end.cancel();
    assert!(end.is_pending(), "the cleanup has begun");
    run();
    assert!(error(end).is_canceled(), "the outcome was kept");
    let (work, resolver) = cancelable::<()>();
    let end = work.finalize(pause);
    resolver.resolve(());
    end.cancel();
    assert!(error(end).is_canceled(), "the cleanup was cancelled");
}

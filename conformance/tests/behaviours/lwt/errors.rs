//! `catch`, `try_bind` and `finalize`. In OCaml they take the computation as a function, since it may raise; here a
//! computation is a promise, which `ready`, `rejected` or a `bind` makes of anything. The twins that carry a place of
//! the source are the same functions here.

use crate::rig::{Log, fail, raise, result, state};
use lisle_core::{Error, Promise, Result, pair, ready, rejected};

/// A handler that makes a value of the error.
fn recovers(error: Error) -> Promise<String> {
    ready(error.to_string())
}

fn never<A, B: 'static>(_: A) -> Promise<B> {
    panic!("it must not run")
}

/// A success callback that adds an end.
fn ends_with_bar(text: String) -> Promise<String> {
    ready(text + "bar")
}

fn foo() -> String {
    "foo".to_owned()
}

/// A computation that fails before it has made a promise.
fn raises<T>() -> Result<T> {
    raise("E")
}

/// CATCH-01: the handler is not for a value.
#[test]
fn catch_01_a_fulfilled_computation() {
    assert_eq!(result(ready("foo").catch(never)), r#"Ok("foo")"#);
}

/// CATCH-02: an error raised by the computation comes to the handler at once.
#[test]
fn catch_02_a_computation_that_raises() {
    let attempt = ready(()).bind(|()| raises::<String>());
    assert_eq!(result(attempt.catch(recovers)), r#"Ok("E")"#);
}

/// CATCH-03: a rejected computation comes to the handler at once.
#[test]
fn catch_03_a_rejected_computation() {
    assert_eq!(result(rejected(fail("E")).catch(recovers)), r#"Ok("E")"#);
}

/// CATCH-04: an error of the handler is the rejection of the result, on a settled computation too.
#[test]
fn catch_04_a_handler_that_raises_at_once() {
    assert_eq!(result(rejected::<u32>(fail("E1")).catch(|_| raise::<u32>("E2"))), "Err(E2)");
}

/// CATCH-05: over a pending computation the result is pending and the handler has not run.
#[test]
fn catch_05_a_pending_computation() {
    let (promise, _resolver) = pair::<u32>();
    assert!(promise.catch(never).is_pending());
}

/// CATCH-06: a value that comes later passes by the handler.
#[test]
fn catch_06_fulfilled_later() {
    let (promise, resolver) = pair();
    let caught = promise.catch(never);
    resolver.resolve("foo");
    assert_eq!(result(caught), r#"Ok("foo")"#);
}

/// CATCH-07: an error that comes later is given to the handler, whose value is the result.
#[test]
fn catch_07_rejected_later() {
    let (promise, resolver) = pair();
    let caught = promise.catch(recovers);
    resolver.reject(fail("E"));
    assert_eq!(result(caught), r#"Ok("E")"#);
}

/// CATCH-08: an error of the handler rejects the result.
#[test]
fn catch_08_a_handler_that_raises_later() {
    let (promise, resolver) = pair::<u32>();
    let caught = promise.catch(|_| raise::<u32>("E2"));
    resolver.reject(fail("E1"));
    assert_eq!(result(caught), "Err(E2)");
}

/// CATCH-09: the result waits for what the handler returned.
#[test]
fn catch_09_a_handler_that_returns_a_pending_promise() {
    let ((p1, resolve_1), (p2, resolve_2)) = (pair(), pair());
    let caught = p1.catch(move |_| p2).shared();
    resolve_1.reject(fail("E"));
    assert_eq!(state(&caught), "pending");
    resolve_2.resolve("foo");
    assert_eq!(state(&caught), r#"Ok("foo")"#);
}

/// CATCH-10: the result may be merged into another promise while its handler runs.
#[test]
fn catch_10_merged_during_its_handler() {
    let ((p1, resolve_1), (p2, resolve_2)) = (pair(), pair::<()>());
    let p3 = p1.catch(move |_| {
        resolve_2.resolve_now(());
        ready(true)
    });
    let p4 = p2.bind(move |()| p3);
    resolve_1.reject_now(fail("E"));
    assert_eq!(result(p4), "Ok(true)");
}

/// In place of CATCH-11 and CATCH-12: a panic is what a run-time failure is in OCaml; it rejects, and can be told from
/// an error by whoever handles both.
#[test]
fn a_panic_rejects_and_a_handler_can_tell() {
    let panics = |()| -> Promise<&'static str> { panic!("out of memory") };
    let caught = ready(()).bind(panics).catch(|error| match error.panic_message() {
        Some("out of memory") => Err(error),
        _ => Ok("handled"),
    });
    assert!(result(caught).contains("out of memory"));
    let success = ready(()).try_bind(panics, |_| -> Promise<&'static str> { panic!("not for this one") });
    assert!(result(success).contains("out of memory"));
}

/// TRY-01: on a value the success callback runs at once.
#[test]
fn try_01_a_fulfilled_computation() {
    assert_eq!(result(ready(foo()).try_bind(ends_with_bar, never)), r#"Ok("foobar")"#);
}

/// TRY-02: an error of the success callback rejects the result; the error callback is not for it.
#[test]
fn try_02_a_success_callback_that_raises_at_once() {
    assert_eq!(result(ready(()).try_bind(|()| raise::<u32>("E"), never)), "Err(E)");
}

/// TRY-03: the error callback gets what the computation raised or was rejected with.
#[test]
fn try_03_a_computation_that_fails() {
    let raised = ready(()).bind(|()| raises::<()>());
    assert_eq!(result(raised.try_bind(never, recovers)), r#"Ok("E")"#);
    assert_eq!(result(rejected::<()>(fail("E")).try_bind(never, recovers)), r#"Ok("E")"#);
}

/// TRY-04: an error of the error callback is the rejection of the result, on a settled computation too.
#[test]
fn try_04_an_error_callback_that_raises_at_once() {
    let tried = rejected::<()>(fail("E1")).try_bind(never::<_, u32>, |_| raise("E2"));
    assert_eq!(result(tried), "Err(E2)");
}

/// TRY-05: over a pending computation the result is pending and neither callback has run.
#[test]
fn try_05_a_pending_computation() {
    let (promise, _resolver) = pair::<()>();
    assert!(promise.try_bind(never::<_, u32>, never::<_, u32>).is_pending());
}

/// TRY-06: when a value comes, only the success callback runs.
#[test]
fn try_06_fulfilled_later() {
    let (promise, resolver) = pair();
    let tried = promise.try_bind(ends_with_bar, never);
    resolver.resolve(foo());
    assert_eq!(result(tried), r#"Ok("foobar")"#);
}

/// TRY-07: an error of the success callback rejects the result; the error callback is not for it.
#[test]
fn try_07_a_success_callback_that_raises_later() {
    let (promise, resolver) = pair();
    let tried = promise.try_bind(|()| raise::<u32>("E"), never);
    resolver.resolve(());
    assert_eq!(result(tried), "Err(E)");
}

/// TRY-08: the result waits for what the success callback returned.
#[test]
fn try_08_a_success_callback_that_returns_a_pending_promise() {
    let ((p1, resolve_1), (p2, resolve_2)) = (pair(), pair());
    let tried = p1.try_bind(move |()| p2, never).shared();
    resolve_1.resolve(());
    assert_eq!(state(&tried), "pending");
    resolve_2.resolve("foo");
    assert_eq!(state(&tried), r#"Ok("foo")"#);
}

/// TRY-09: when an error comes, only the error callback runs.
#[test]
fn try_09_rejected_later() {
    let (promise, resolver) = pair::<()>();
    let tried = promise.try_bind(never, recovers);
    resolver.reject(fail("E"));
    assert_eq!(result(tried), r#"Ok("E")"#);
}

/// TRY-10: an error of the error callback rejects the result.
#[test]
fn try_10_an_error_callback_that_raises_later() {
    let (promise, resolver) = pair::<()>();
    let tried = promise.try_bind(never::<_, u32>, |_| raise("E2"));
    resolver.reject(fail("E1"));
    assert_eq!(result(tried), "Err(E2)");
}

/// TRY-11: the result waits for what the error callback returned.
#[test]
fn try_11_an_error_callback_that_returns_a_pending_promise() {
    let ((p1, resolve_1), (p2, resolve_2)) = (pair::<()>(), pair());
    let tried = p1.try_bind(never, move |_| p2).shared();
    resolve_1.reject(fail("E"));
    assert_eq!(state(&tried), "pending");
    resolve_2.resolve("bar");
    assert_eq!(state(&tried), r#"Ok("bar")"#);
}

/// TRY-12: the result may be merged into another promise while either callback runs.
#[test]
fn try_12_merged_during_its_callback() {
    let ((p1, resolve_1), (p2, resolve_2)) = (pair::<()>(), pair::<()>());
    let succeeds = move |()| {
        resolve_2.resolve_now(());
        ready(true)
    };
    let p3 = p1.try_bind(succeeds, never);
    let p4 = p2.bind(move |()| p3);
    resolve_1.resolve_now(());
    assert_eq!(result(p4), "Ok(true)");

    let ((p1, resolve_1), (p2, resolve_2)) = (pair::<()>(), pair::<()>());
    let recovers = move |_| {
        resolve_2.resolve_now(());
        ready(true)
    };
    let p3 = p1.try_bind(never, recovers);
    let p4 = p2.bind(move |()| p3);
    resolve_1.reject_now(fail("E"));
    assert_eq!(result(p4), "Ok(true)");
}

/// A cleanup that is logged.
fn cleans(log: &Log) -> impl FnOnce() -> Promise<()> + use<> {
    let says = log.says("cleaned");
    move || {
        says();
        ready(())
    }
}

/// FIN-01: the cleanup has run when the call returns, and the value is kept.
#[test]
fn fin_01_a_fulfilled_computation() {
    let log = Log::default();
    let promise = ready("foo").finalize(cleans(&log));
    assert_eq!((log.take().as_str(), result(promise).as_str()), ("cleaned", r#"Ok("foo")"#));
}

/// FIN-02: a cleanup that is rejected wins over the value.
#[test]
fn fin_02_a_rejected_cleanup_after_a_value() {
    assert_eq!(result(ready("foo").finalize(|| rejected(fail("E")))), "Err(E)");
}

/// FIN-03: a cleanup that raises rejects the result, on a settled computation of either outcome too.
#[test]
fn fin_03_a_cleanup_that_raises_at_once() {
    assert_eq!(result(ready("foo").finalize(|| raise("E"))), "Err(E)");
    assert_eq!(result(rejected::<u32>(fail("E1")).finalize(|| raise("E2"))), "Err(E2)");
}

/// FIN-04: after an error the cleanup has run, and the error is kept.
#[test]
fn fin_04_a_rejected_computation() {
    let log = Log::default();
    let promise = rejected::<u32>(fail("E")).finalize(cleans(&log));
    assert_eq!((log.take().as_str(), result(promise).as_str()), ("cleaned", "Err(E)"));
}

/// FIN-05: of two errors that of the cleanup wins.
#[test]
fn fin_05_both_rejected() {
    assert_eq!(result(rejected::<u32>(fail("E1")).finalize(|| rejected(fail("E2")))), "Err(E2)");
}

/// FIN-06: over a pending computation the result is pending and the cleanup has not run.
#[test]
fn fin_06_a_pending_computation() {
    let log = Log::default();
    let (promise, _resolver) = pair::<u32>();
    assert!(promise.finalize(cleans(&log)).is_pending());
    assert_eq!(log.take(), "");
}

/// FIN-07: when the value comes the cleanup runs, and the value is kept.
#[test]
fn fin_07_fulfilled_later() {
    let log = Log::default();
    let (promise, resolver) = pair();
    let promise = promise.finalize(cleans(&log));
    resolver.resolve("foo");
    assert_eq!((log.take().as_str(), result(promise).as_str()), ("cleaned", r#"Ok("foo")"#));
}

/// FIN-08: a cleanup that fails, in either way, wins over the value that came.
#[test]
fn fin_08_a_failing_cleanup_after_a_value() {
    let ((p1, resolve_1), (p2, resolve_2)) = (pair(), pair());
    let (p1, p2) = (p1.finalize(|| raise("E")), p2.finalize(|| rejected(fail("E"))));
    resolve_1.resolve(1);
    resolve_2.resolve(2);
    assert_eq!([p1, p2].map(result), ["Err(E)", "Err(E)"]);
}

/// The result over a computation of some outcome whose cleanup takes its time: before and after.
fn with_pending_cleanup(computation: Result<&'static str>, cleanup: Result<()>) -> [String; 2] {
    let ((promise, resolver), (cleaning, end)) = (pair(), pair());
    let promise = promise.finalize(move || cleaning).shared();
    resolver.settle(computation);
    let before = state(&promise);
    end.settle(cleanup);
    [before, state(&promise)]
}

/// FIN-09: the result waits for the cleanup and then has the value.
#[test]
fn fin_09_a_pending_cleanup_after_a_value() {
    assert_eq!(with_pending_cleanup(Ok("foo"), Ok(())), ["pending", r#"Ok("foo")"#]);
}

/// FIN-10: a cleanup that is rejected in the end wins over the value.
#[test]
fn fin_10_a_pending_cleanup_that_is_rejected_after_a_value() {
    assert_eq!(with_pending_cleanup(Ok("foo"), raise("E")), ["pending", "Err(E)"]);
}

/// FIN-11: when an error comes the cleanup runs, and the error is kept.
#[test]
fn fin_11_rejected_later() {
    let log = Log::default();
    let (promise, resolver) = pair::<u32>();
    let promise = promise.finalize(cleans(&log));
    resolver.reject(fail("E"));
    assert_eq!((log.take().as_str(), result(promise).as_str()), ("cleaned", "Err(E)"));
}

/// FIN-12: a cleanup that fails, in either way, wins over the error that came.
#[test]
fn fin_12_a_failing_cleanup_after_an_error() {
    let ((p1, resolve_1), (p2, resolve_2)) = (pair::<u32>(), pair());
    let (p1, p2) = (p1.finalize(|| raise("E2")), p2.finalize(|| rejected(fail("E2"))));
    resolve_1.reject(fail("E1"));
    resolve_2.reject(fail("E1"));
    assert_eq!([p1, p2].map(result), ["Err(E2)", "Err(E2)"]);
}

/// FIN-13: the result waits for the cleanup and then has the error.
#[test]
fn fin_13_a_pending_cleanup_after_an_error() {
    assert_eq!(with_pending_cleanup(raise("E"), Ok(())), ["pending", "Err(E)"]);
}

/// FIN-14: a cleanup that is rejected in the end wins over the error.
#[test]
fn fin_14_a_pending_cleanup_that_is_rejected_after_an_error() {
    assert_eq!(with_pending_cleanup(raise("E1"), raise("E2")), ["pending", "Err(E2)"]);
}

/// FIN-15: the result may be merged into another promise while its cleanup runs.
#[test]
fn fin_15_merged_during_its_cleanup() {
    for (outcome, expected) in [(Ok("foo"), r#"Ok("foo")"#), (raise("E"), "Err(E)")] {
        let ((p1, resolve_1), (p2, resolve_2)) = (pair(), pair::<()>());
        let p3 = p1.finalize(move || {
            resolve_2.resolve_now(());
            ready(())
        });
        let p4 = p2.bind(move |()| p3);
        resolve_1.settle_now(outcome);
        assert_eq!(result(p4), expected);
    }
}

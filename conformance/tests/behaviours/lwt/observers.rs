//! Callbacks without a result (`on_success`, `on_failure`, `on_termination`, `on_any`), detached work, and the hook.
//!
//! Where a row says that such a callback raises, it panics here: it has no result in which an error could be. Lwt's
//! `async f` is `f().detach()` here, its `dont_wait f h` is `f().detach_with(h)`.

use crate::rig::{Log, fail, hook_log, raise};
use lisle_core::{Error, Promise, Result, Shared, hook, pair, ready, rejected, spawn, try_spawn};

/// When a promise is settled: before the observer is there, or after.
const MOMENTS: [bool; 2] = [false, true];

/// Registers observers on a promise with this outcome, settled before or after; tells what ran until each of both
/// moments, with a `|` between.
fn observed(
    log: &Log,
    later: bool,
    outcome: Result<u32>,
    observe: impl FnOnce(&Shared<u32>, &Log),
) -> String {
    let (promise, resolver) = pair();
    let (promise, mut resolver) = (promise.shared(), Some(resolver));
    if !later {
        resolver.take().expect("it was put there").settle(outcome.clone());
    }
    observe(&promise, log);
    log.add("|");
    if let Some(resolver) = resolver {
        resolver.settle(outcome);
    }
    let ran = log.take();
    // Its error has been looked at, so that the hook is not told of it.
    drop(promise.state());
    ran
}

/// What ran at the call if the promise was settled before it, and else at the resolution.
fn expected(later: bool, ran: &str) -> String {
    match (ran, later) {
        ("", _) => "|".to_owned(),
        (ran, false) => format!("{ran} |"),
        (ran, true) => format!("| {ran}"),
    }
}

/// Observers that each do the same on a promise of this outcome, now and later.
fn check(outcome: Result<u32>, ran: &str, observe: impl Fn(&Shared<u32>, &Log)) {
    let log = hook_log();
    for later in MOMENTS {
        assert_eq!(observed(&log, later, outcome.clone(), &observe), expected(later, ran), "later: {later}");
    }
    hook::reset();
}

/// A promise that stays pending runs no observer.
fn check_pending(observe: impl Fn(&Shared<u32>, &Log)) {
    let log = hook_log();
    let (promise, resolver) = pair();
    let promise = promise.shared();
    observe(&promise, &log);
    assert_eq!(log.take(), "");
    // Not dropped before: then it would not be pending.
    drop(resolver);
}

fn on_success(promise: &Shared<u32>, log: &Log) {
    promise.on_success(log.shows());
}

fn on_failure(promise: &Shared<u32>, log: &Log) {
    promise.on_failure(log.shows());
}

fn on_termination(promise: &Shared<u32>, log: &Log) {
    promise.on_termination(log.says("ended"));
}

fn on_any(promise: &Shared<u32>, log: &Log) {
    promise.on_any(log.adds("success"), log.shows());
}

/// ONS-01: the callback gets the value, at the registration or in the resolving call, not before.
#[test]
fn ons_01_runs_on_a_value() {
    check(Ok(1), "1", on_success);
}

/// ONS-02: its panic goes to the hook, once, and not to who registered or resolved.
#[test]
fn ons_02_its_panic_goes_to_the_hook() {
    check(Ok(1), "panicked: E", |promise, _| promise.on_success(|_| panic!("E")));
}

/// ONS-03: the callback does not run on an error, and not on a promise that stays pending.
#[test]
fn ons_03_does_not_run_on_an_error() {
    check(raise("E"), "", on_success);
    check_pending(on_success);
}

/// ONF-01: the callback does not run on a value, and not on a promise that stays pending.
#[test]
fn onf_01_does_not_run_on_a_value() {
    check(Ok(1), "", on_failure);
    check_pending(on_failure);
}

/// ONF-02: the callback gets the error.
#[test]
fn onf_02_runs_on_an_error() {
    check(raise("E"), "E", on_failure);
}

/// ONF-03: its panic goes to the hook, not the error that it was given.
#[test]
fn onf_03_its_panic_goes_to_the_hook() {
    check(raise("E"), "panicked: E2", |promise, _| promise.on_failure(|_| panic!("E2")));
}

/// ONT-01: the callback runs once on either outcome.
#[test]
fn ont_01_runs_on_both() {
    check(Ok(1), "ended", on_termination);
    check(raise("E"), "ended", on_termination);
}

/// ONT-02: its panic goes to the hook.
#[test]
fn ont_02_its_panic_goes_to_the_hook() {
    for outcome in [Ok(1), raise("E1")] {
        check(outcome, "panicked: E", |promise, _| promise.on_termination(|| panic!("E")));
    }
}

/// ONT-03: the callback does not run on a promise that stays pending.
#[test]
fn ont_03_does_not_run_while_pending() {
    check_pending(on_termination);
}

/// ONA-01: on a value only the success side runs.
#[test]
fn ona_01_runs_the_success_side() {
    check(Ok(1), "success", on_any);
}

/// ONA-02: on an error only the failure side runs, and gets it.
#[test]
fn ona_02_runs_the_failure_side() {
    check(raise("E"), "E", on_any);
}

/// ONA-03: a panic of either side goes to the hook.
#[test]
fn ona_03_its_panic_goes_to_the_hook() {
    check(Ok(1), "panicked: E", |promise, log| promise.on_any(|_| panic!("E"), log.shows()));
    check(raise("E1"), "panicked: E", |promise, log| promise.on_any(log.shows(), |_| panic!("E")));
}

/// ONA-04: neither side runs on a promise that stays pending.
#[test]
fn ona_04_does_not_run_while_pending() {
    check_pending(on_any);
}

/// A body that is logged, in binds and as a task: what a computation does before its first wait.
fn body_in_binds(log: &Log) -> Promise<()> {
    log.add("body");
    ready(())
}

fn body_in_a_task(log: &Log) -> Promise<()> {
    let log = log.clone();
    spawn(async move { log.add("body") })
}

/// ASYNC-01: the body of detached work has run when the call returns.
#[test]
fn async_01_runs_at_once() {
    for work in [body_in_binds, body_in_a_task] {
        let log = Log::default();
        work(&log).detach();
        assert_eq!(log.take(), "body");
    }
}

/// Work that fails at once: by an error before there is a promise, by a rejected promise, in a task.
fn failing_work() -> [Promise<()>; 3] {
    [ready(()).bind(|()| raise("E")), rejected(fail("E")), try_spawn(async { raise("E") })]
}

/// ASYNC-02: an error at once goes to the hook before the call returns, and the call returns.
#[test]
fn async_02_an_error_goes_to_the_hook() {
    for work in failing_work() {
        let hook = hook_log();
        work.detach();
        assert_eq!(hook.take(), "E");
    }
}

/// ASYNC-03: the rest of the work runs when what it waits for is there.
#[test]
fn async_03_goes_on_later() {
    let log = Log::default();
    let (promise, resolver) = pair::<()>();
    promise.map(log.adds("rest")).detach();
    assert_eq!(log.take(), "");
    resolver.resolve(());
    assert_eq!(log.take(), "rest");
}

/// ASYNC-04: a later error goes to the hook that is there then, not to the one at the call.
#[test]
fn async_04_the_hook_of_the_moment_is_told() {
    let first = hook_log();
    let (promise, resolver) = pair::<()>();
    promise.detach();
    let second = hook_log();
    resolver.reject(fail("E"));
    assert_eq!((first.take().as_str(), second.take().as_str()), ("", "E"));
}

/// DONTWAIT-01: the body has run when the call returns, and the handler is not called.
#[test]
fn dontwait_01_runs_at_once() {
    for work in [body_in_binds, body_in_a_task] {
        let log = Log::default();
        work(&log).detach_with(log.shows());
        assert_eq!(log.take(), "body");
    }
}

/// DONTWAIT-02: an error at once goes to the handler before the call returns.
#[test]
fn dontwait_02_an_error_goes_to_the_handler() {
    for work in failing_work() {
        let (log, hook) = (Log::default(), hook_log());
        work.detach_with(log.shows());
        assert_eq!((log.take().as_str(), hook.take().as_str()), ("E", ""));
    }
}

/// DONTWAIT-03: the rest of the work runs when what it waits for is there, and the handler does not.
#[test]
fn dontwait_03_goes_on_later() {
    let log = Log::default();
    let (promise, resolver) = pair::<()>();
    promise.map(log.adds("rest")).detach_with(log.shows());
    resolver.resolve(());
    assert_eq!(log.take(), "rest");
}

/// DONTWAIT-04: a later error goes to the handler.
#[test]
fn dontwait_04_a_later_error_goes_to_the_handler() {
    let (log, hook) = (Log::default(), hook_log());
    let (promise, resolver) = pair::<()>();
    promise.detach_with(log.shows::<Error>());
    assert_eq!(log.take(), "");
    resolver.reject(fail("E"));
    assert_eq!((log.take().as_str(), hook.take().as_str()), ("E", ""));
}

/// IGNORE-01: to let go of a value, now or later, nothing happens.
#[test]
fn ignore_01_a_value_is_ignored() {
    let hook = hook_log();
    ready(1).detach();
    drop(ready(1));
    let ((p1, resolve_1), (p2, resolve_2)) = (pair(), pair());
    p1.detach();
    drop(p2);
    resolve_1.resolve(1);
    resolve_2.resolve(2);
    assert_eq!(hook.take(), "");
}

/// IGNORE-03: an error that comes after a promise was let go is told to the hook, once.
#[test]
fn ignore_03_a_later_error_goes_to_the_hook() {
    let hook = hook_log();
    let ((p1, resolve_1), (p2, resolve_2)) = (pair::<u32>(), pair::<u32>());
    p1.detach();
    drop(p2);
    resolve_1.reject(fail("E"));
    assert_eq!(hook.take(), "E");
    resolve_2.reject(fail("E"));
    assert_eq!(hook.take(), "E");
}

//! Rows RETRY-…: attempts of operations that may fail for now or for good.

use crate::rig::value;
use lisle::retry::{self, Attempts, Failed, Failure};
use lisle::time::sleep;
use lisle::{pick, ready};
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

type Outcome = Result<u32, Failure<(), ()>>;

/// Attempts of an operation that is told its number, from 1.
fn attempts(operation: impl Fn(u32) -> Outcome + 'static) -> Attempts<u32, (), ()> {
    let runs = Cell::new(0);
    retry::on_error(move || {
        runs.set(runs.get() + 1);
        ready(operation(runs.get()))
    })
}

fn always(_: u32) -> Outcome {
    Err(Failure::Retry(()))
}

fn three_then_fatal(run: u32) -> Outcome {
    Err(if run <= 3 { Failure::Retry(()) } else { Failure::Fatal(()) })
}

fn three_then_ok(run: u32) -> Outcome {
    if run <= 3 { Err(Failure::Retry(())) } else { Ok(42) }
}

fn failed(failure: Failure<(), ()>, attempt: u64) -> Result<u32, Failed<(), ()>> {
    Err(Failed { failure, attempt })
}

/// RETRY-01: both kinds of failure read well, and can be shown without a text of their own too.
#[test]
fn retry_01_failures_are_shown() {
    assert_eq!(Failure::<f32, u32>::Retry(3.0).to_string(), "for now: 3");
    assert_eq!(Failure::<f32, u32>::Fatal(42).to_string(), "for good: 42");
    assert_eq!(format!("{:?}", Failure::<(), ()>::Retry(())), "Retry(())");
}

/// RETRY-02: a success is the last attempt.
#[test]
fn retry_02_success_at_once() {
    let mut attempts = attempts(|_| Ok(42));
    assert_eq!(value(attempts.attempt()), Some(Ok(42)));
    assert_eq!(value(attempts.attempt()), None);
}

/// RETRY-03: after a success the operation is not run again.
#[test]
fn retry_03_success_ends_the_runs() {
    let runs = Rc::new(Cell::new(0));
    let count = runs.clone();
    let mut attempts = attempts(move |run| {
        count.set(run);
        Ok(42)
    });
    assert_eq!(value(attempts.attempt()), Some(Ok(42)));
    assert_eq!((value(attempts.attempt()), value(attempts.attempt()), runs.get()), (None, None, 1));
}

fn failures(attempts: &mut Attempts<u32, (), ()>, count: u64) {
    for number in 1..=count {
        assert_eq!(value(attempts.attempt()), Some(failed(Failure::Retry(()), number)));
    }
}

/// RETRY-04: the attempts are numbered from 1.
#[test]
fn retry_04_always_retryable() {
    failures(&mut attempts(always), 5);
}

/// RETRY-05: a fatal failure is the last attempt.
#[test]
fn retry_05_fatal_ends_the_attempts() {
    let mut attempts = attempts(three_then_fatal);
    failures(&mut attempts, 3);
    assert_eq!(value(attempts.attempt()), Some(failed(Failure::Fatal(()), 4)));
    assert_eq!(value(attempts.attempt()), None);
}

/// RETRY-06: a success after failures is the last attempt.
#[test]
fn retry_06_success_after_failures() {
    let mut attempts = attempts(three_then_ok);
    failures(&mut attempts, 3);
    assert_eq!(value(attempts.attempt()), Some(Ok(42)));
    assert_eq!(value(attempts.attempt()), None);
}

/// RETRY-07: no retry is one attempt.
#[test]
fn retry_07_no_retry() {
    assert_eq!(value(attempts(always).n_times(0)), failed(Failure::Retry(()), 1));
}

/// RETRY-08: a fatal failure comes before the retries are used up.
#[test]
fn retry_08_fatal_within_the_retries() {
    assert_eq!(value(attempts(three_then_fatal).n_times(5)), failed(Failure::Fatal(()), 4));
}

/// RETRY-09: five retries are six attempts.
#[test]
fn retry_09_retries_used_up() {
    assert_eq!(value(attempts(always).n_times(5)), failed(Failure::Retry(()), 6));
}

/// RETRY-10: a success within the retries.
#[test]
fn retry_10_success_within_the_retries() {
    assert_eq!(value(attempts(three_then_ok).n_times(5)), Ok(42));
}

/// RETRY-12: five retries, each after a sleep, take longer than one such sleep.
#[test]
fn retry_12_retries_wait() {
    let delay = Duration::from_millis(2);
    let winner = lisle::run(async move {
        let retries = attempts(always).with_sleep(retry::constant(delay)).n_times(5);
        pick([retries.map(|_| "retries"), sleep(delay).map(|()| "sleep")]).await
    });
    assert_eq!(winner.unwrap(), "sleep");
}

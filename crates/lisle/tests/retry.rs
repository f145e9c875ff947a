//! Attempts: on demand, one at a time, with waits between them, cancelled and panicking at each moment.

use lisle::retry::{self, Attempts, Failed, Failure};
use lisle::sched::sleep::sleep_count;
use lisle::time::sleep;
use lisle::{Error, Promise, pair, ready, rejected};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

type Outcome = Result<u32, Failure<&'static str, &'static str>>;

/// How often the operation was called.
type Calls = Rc<Cell<u32>>;

/// An operation that follows a script, whose last word it repeats.
fn scripted(script: &'static [Outcome]) -> (Attempts<u32, &'static str, &'static str>, Calls) {
    let calls = Calls::default();
    let count = calls.clone();
    let attempts = retry::on_error(move || {
        let at = count.replace(count.get() + 1) as usize;
        ready(script[at.min(script.len() - 1)])
    });
    (attempts, calls)
}

fn value<T>(promise: Promise<T>) -> T {
    promise.try_take().expect("settled").expect("fulfilled")
}

fn error<T>(promise: Promise<T>) -> Error {
    match promise.try_take().expect("settled") {
        Ok(_) => panic!("fulfilled"),
        Err(error) => error,
    }
}

const AGAIN: Outcome = Err(Failure::Retry("again"));
const HOUR: Duration = Duration::from_secs(3600);

#[test]
fn nothing_is_attempted_before_it_is_asked_for() {
    let (mut attempts, calls) = scripted(&[AGAIN, Ok(1)]);
    assert_eq!(calls.get(), 0);
    assert_eq!(value(attempts.attempt()).unwrap().unwrap_err().attempt, 1);
    assert_eq!(calls.get(), 1);
    assert_eq!(value(attempts.attempt()).unwrap(), Ok(1));
    assert_eq!((value(attempts.attempt()), calls.get()), (None, 2));
    assert!(error(attempts.n_times(3)).to_string().contains("no attempt is left"));
}

#[test]
fn attempts_never_overlap() {
    let gates: Rc<RefCell<Vec<lisle::Resolver<Outcome>>>> = Rc::default();
    let inside = gates.clone();
    let mut attempts = retry::on_error(move || {
        let (promise, resolver) = pair();
        inside.borrow_mut().push(resolver);
        promise
    });
    let (first, second) = (attempts.attempt(), attempts.attempt());
    assert_eq!(gates.borrow().len(), 1, "the second waits for the first");
    let gate = gates.borrow_mut().remove(0);
    gate.resolve(AGAIN);
    assert!(value(first).unwrap().is_err());
    let gate = gates.borrow_mut().remove(0);
    gate.resolve(Ok(2));
    assert_eq!(value(second).unwrap(), Ok(2));
}

#[test]
fn a_cancelled_attempt_leaves_the_next_one_possible() {
    let calls = Calls::default();
    let count = calls.clone();
    let mut attempts = retry::on_error(move || -> Promise<Outcome> {
        count.set(count.get() + 1);
        if count.get() == 1 { sleep(HOUR).map(|()| AGAIN) } else { ready(Ok(count.get())) }
    });
    let first = attempts.attempt();
    first.cancel();
    assert!(error(first).is_canceled());
    assert_eq!(value(attempts.attempt()).unwrap(), Ok(2));
}

#[test]
fn cancelling_ends_the_wait_and_the_retries() {
    let (attempts, calls) = scripted(&[AGAIN]);
    let last = attempts.with_sleep(retry::constant(HOUR)).n_times(9);
    assert!(last.is_pending());
    assert_eq!((calls.get(), sleep_count()), (1, 1));
    last.cancel();
    assert!(error(last).is_canceled());
    assert_eq!((calls.get(), sleep_count()), (1, 0), "no timer is left behind");

    let (attempts, calls) = scripted(&[AGAIN, Ok(1)]);
    let mut attempts = attempts.with_sleep(retry::constant(HOUR));
    assert!(value(attempts.attempt()).unwrap().is_err());
    let waiting = attempts.attempt();
    assert_eq!(calls.get(), 1, "the wait comes before the second attempt");
    waiting.cancel();
    assert!(error(waiting).is_canceled());
}

#[test]
fn a_cancelled_operation_is_not_tried_again() {
    let calls = Calls::default();
    let count = calls.clone();
    let operation = move || {
        count.set(count.get() + 1);
        sleep(HOUR)
    };
    let last = retry::on_rejection(operation, |_| false).n_times(9);
    last.cancel();
    assert!(error(last).is_canceled());
    assert_eq!(calls.get(), 1);
}

#[test]
fn a_panic_is_not_tried_again_and_is_the_end() {
    let calls = Calls::default();
    let count = calls.clone();
    let mut attempts = retry::on_error(move || -> Promise<Outcome> {
        count.set(count.get() + 1);
        panic!("broken")
    });
    assert_eq!(error(attempts.attempt()).panic_message(), Some("broken"));
    assert_eq!((value(attempts.attempt()), calls.get()), (None, 1));
    let later = || ready(()).map(|()| -> u32 { panic!("later") });
    assert_eq!(error(retry::on_rejection(later, |_| false).n_times(9)).panic_message(), Some("later"));
}

#[test]
fn rejections_are_sorted_by_the_caller() {
    let mut calls = 0;
    let operation = move || {
        calls += 1;
        rejected::<u32>(Error::message(if calls < 3 { "busy" } else { "forbidden" }))
    };
    let attempts = retry::on_rejection(operation, |error| error.to_string() == "forbidden");
    let failed = value(attempts.n_times(9)).unwrap_err();
    assert_eq!(failed.attempt, 3);
    assert!(matches!(failed.failure, Failure::Fatal(_)));
}

#[test]
fn the_schedule_is_asked_between_attempts_only() {
    let asked: Rc<RefCell<Vec<u64>>> = Rc::default();
    let log = asked.clone();
    let (attempts, _) = scripted(&[AGAIN]);
    let last = attempts.with_sleep(move |failed| {
        log.borrow_mut().push(failed);
        Duration::from_millis(1)
    });
    let failed = lisle::run(async { last.n_times(3).await }).unwrap().unwrap_err();
    assert_eq!(failed, Failed { failure: Failure::Retry("again"), attempt: 4 });
    assert_eq!(asked.take(), [1, 2, 3], "and not after the last");
}

#[test]
fn a_million_attempts_need_no_stack() {
    let thread = std::thread::Builder::new().stack_size(2 << 20).spawn(|| {
        let (attempts, calls) = scripted(&[AGAIN]);
        assert_eq!(value(attempts.n_times(1_000_000)).unwrap_err().attempt, 1_000_001);
        assert_eq!(calls.get(), 1_000_001);
    });
    thread.expect("a thread").join().expect("no overflow");
}

#[test]
fn schedules_stay_in_their_bounds() {
    let max = Duration::from_secs(60);
    let mut doubling = retry::exponential(Duration::from_millis(100), max);
    assert_eq!(
        [1, 2, 5, 40, u64::MAX].map(|failed| doubling(failed).as_millis()),
        [100, 200, 1600, 60_000, 60_000]
    );
    let waits = |seed| {
        let mut jittered = retry::jitter(seed, retry::constant(Duration::from_secs(2)));
        (1..200).map(&mut jittered).collect::<Vec<_>>()
    };
    let (some, others) = (waits(1), waits(2));
    assert_eq!(some, waits(1), "the same seed gives the same waits");
    assert_ne!(some, others);
    let bounds = Duration::from_secs(1)..=Duration::from_secs(2);
    assert!(some.iter().chain(&others).all(|wait| bounds.contains(wait)));
    assert!(some.iter().max() > some.iter().min());
    let mut longest = retry::jitter(3, retry::constant(Duration::MAX));
    assert!((1..50).all(|failed| longest(failed) >= Duration::MAX / 2));
}

#[test]
fn failures_read_well() {
    let failed: Failed<f32, u32> = Failed { failure: Failure::Retry(3.0), attempt: 2 };
    assert_eq!(failed.to_string(), "attempt 2 failed for now: 3");
    let fatal: Failed<f32, u32> = Failed { failure: Failure::Fatal(42), attempt: 1 };
    assert_eq!(fatal.to_string(), "attempt 1 failed for good: 42");
    let error: Error = fatal.into();
    assert_eq!(error.downcast_ref::<Failed<f32, u32>>(), Some(&fatal));
}

//! Rows RESULT-…: promises of a `Result`.

use crate::rig::value;
use lisle_core::{Error, Promise, Resolver, both_ok, pair, ready, rejected, spawn};
use std::cell::Cell;
use std::fmt;
use std::rc::Rc;

type Outcome = Result<u32, u32>;

fn ok(n: u32) -> Promise<Outcome> {
    ready(Ok(n))
}

fn err(n: u32) -> Promise<Outcome> {
    ready(Err(n))
}

/// RESULT-01: the good value is changed.
#[test]
fn result_01_map_changes_ok() {
    assert_eq!(value(ok(0).map_ok(|n| n + 1)), Ok(1));
}

/// RESULT-02: a failure passes through.
#[test]
fn result_02_map_leaves_err() {
    assert_eq!(value(err(0).map_ok(|n| n + 1)), Err(0));
}

/// RESULT-03: only the failure is changed.
#[test]
fn result_03_map_err() {
    assert_eq!(value(ok(0).map_err(|n| n + 1)), Ok(0));
    assert_eq!(value(err(0).map_err(|n| n + 1)), Err(1));
}

/// RESULT-04: the good value decides what is next.
#[test]
fn result_04_bind_ok() {
    assert_eq!(value(ok(0).bind_ok(|n| ok(n + 1))), Ok(1));
    assert_eq!(value(err(0).bind_ok(|n| ok(n + 1))), Err(0));
}

/// RESULT-05: the failure decides what is next, and may be healed.
#[test]
fn result_05_bind_err() {
    assert_eq!(value(ok(0).bind_err(|n| ok(n + 1))), Ok(0));
    assert_eq!(value(err(0).bind_err(|n| ok(n + 1))), Ok(1));
}

/// RESULT-06: a promise is lifted into either side by the constructors of `Result` themselves.
#[test]
fn result_06_lifting() {
    assert_eq!(value(ready(0).map(Ok::<u32, u32>)), Ok(0));
    assert_eq!(value(ready(0).map(Err::<u32, u32>)), Err(0));
}

#[derive(Debug, PartialEq)]
struct E;

impl fmt::Display for E {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("E")
    }
}

impl std::error::Error for E {}

fn is_e(error: &Error) -> bool {
    error.downcast_ref() == Some(&E)
}

/// RESULT-07: what does not fail is `Ok`.
#[test]
fn result_07_caught_value() {
    assert_eq!(value(ready(0).caught()).unwrap(), 0);
}

/// RESULT-08: an error at once, and one inside of a bind, are caught as values.
#[test]
fn result_08_caught_error() {
    assert!(is_e(&value(rejected::<u32>(E).caught()).unwrap_err()));
    let fails = |_: u32| Err::<u32, _>(E);
    assert!(is_e(&value(ready(0).bind(fails).caught()).unwrap_err()));
    let (promise, resolver) = pair();
    let caught = promise.bind(fails).caught();
    resolver.resolve(0);
    assert!(is_e(&value(caught).unwrap_err()));
}

/// RESULT-09: the good value is promised, the failure rejects.
#[test]
fn result_09_flatten() {
    assert_eq!(value(ready(Ok::<_, E>(0)).flatten()), 0);
    let failed = ready(Err::<u32, _>(E)).flatten();
    assert!(is_e(&failed.try_take().unwrap().unwrap_err()));
}

/// RESULT-10: a promise that knows nothing of failures goes on with the good value.
#[test]
fn result_10_map_ok_promise() {
    assert_eq!(value(ok(0).map_ok_promise(|n| ready(n + 1))), Ok(1));
    assert_eq!(value(err(0).map_ok_promise(|n| ready(n + 1))), Err(0));
}

/// RESULT-11: the same on the side of the failure.
#[test]
fn result_11_map_err_promise() {
    assert_eq!(value(ok(0).map_err_promise(|n| ready(n + 1))), Ok(0));
    assert_eq!(value(err(0).map_err_promise(|n| ready(n + 1))), Err(1));
}

/// RESULT-12: a plain function that may fail.
#[test]
fn result_12_try_map_ok() {
    assert_eq!(value(ok(0).try_map_ok(|n| Ok(n + 1))), Ok(1));
    assert_eq!(value(err(0).try_map_ok(|n| Ok(n + 1))), Err(0));
}

/// RESULT-13: both good values, or the failure of one side.
#[test]
fn result_13_both() {
    assert_eq!(value(both_ok(ok(0), ok(1))), Ok((0, 1)));
    assert_eq!(value(both_ok(err(0), ok(1))), Err(0));
    assert_eq!(value(both_ok(ok(0), err(1))), Err(1));
}

/// RESULT-14: of two failures the first in time counts, whichever side it is on.
#[test]
fn result_14_both_fail() {
    let (right, end) = pair();
    let both = both_ok(err(0), right.map_ok(|n: u32| n));
    end.resolve(Err(1));
    assert_eq!(value(both), Err(0));
    let (left, end) = pair();
    let both = both_ok(left.map_ok(|n: u32| n), err(1));
    end.resolve(Err(0));
    assert_eq!(value(both), Err(1));
}

fn observed(seen: &Rc<Cell<u32>>) -> impl FnOnce(u32) -> Promise<()> + use<> {
    let seen = seen.clone();
    move |n| {
        seen.set(n + 1);
        ready(())
    }
}

/// RESULT-15: runs on the good side only.
#[test]
fn result_15_iter_ok() {
    let seen = Rc::new(Cell::new(0));
    value(ok(1).iter_ok(observed(&seen)));
    assert_eq!(seen.replace(0), 2);
    value(err(1).iter_ok(observed(&seen)));
    assert_eq!(seen.get(), 0);
}

/// RESULT-16: runs on the side of the failure only.
#[test]
fn result_16_iter_err() {
    let seen = Rc::new(Cell::new(0));
    value(err(1).iter_err(observed(&seen)));
    assert_eq!(seen.replace(0), 2);
    value(ok(1).iter_err(observed(&seen)));
    assert_eq!(seen.get(), 0);
}

type Words = Result<String, u32>;

fn fulfil((first, second): (Resolver<Words>, Resolver<Words>)) {
    first.resolve(Ok("foo".to_owned()));
    second.resolve(Ok("bar".to_owned()));
}

/// RESULT-17: one after the other with `?`, and side by side with `both_ok`, by binds and in `async` code.
#[test]
fn result_17_sequential_and_parallel() {
    let join = |(first, second): (String, String)| first + &second;
    let ((first, end_first), (second, end_second)) = (pair::<Words>(), pair::<Words>());
    let sequential = spawn(async move {
        let (first, second) = (first.await.unwrap()?, second.await.unwrap()?);
        Ok::<_, u32>(first + &second)
    });
    fulfil((end_first, end_second));
    while sequential.is_pending() {
        assert!(lisle_core::sched::tasks::run_ready() > 0);
    }
    assert_eq!(value(sequential).unwrap(), "foobar");

    let ((first, end_first), (second, end_second)) = (pair::<Words>(), pair::<Words>());
    let parallel = both_ok(first, second).map_ok(join);
    fulfil((end_first, end_second));
    assert_eq!(value(parallel).unwrap(), "foobar");

    let ((first, end_first), (second, end_second)) = (pair::<Words>(), pair::<Words>());
    let bound = first.bind_ok(move |first| second.map_ok(move |second| first + &second));
    fulfil((end_first, end_second));
    assert_eq!(value(bound).unwrap(), "foobar");
}

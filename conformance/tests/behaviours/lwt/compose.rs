//! Waiting for all: `join`, `all`, `both`. Rows JOIN, ALL, BOTH, X-JOIN.
//!
//! `join([…])` in a test is of promises of one kind; what is already settled stands in it as `ready` or `rejected`.
//! Of the altered Lwts, the one whose propagation through `join` is deferred fails at JOIN-04.

use crate::rig::{Log, fail, result, state};
use lisle_core::{Promise, Resolver, Shared, all, both, join, pair, ready, rejected};

fn waiting() -> (Shared<u32>, Resolver<u32>) {
    let (promise, resolver) = pair();
    (promise.shared(), resolver)
}

/// JOIN-01, JOIN-02: of none, and of fulfilled ones, the join is fulfilled at the call.
#[test]
fn join_01_of_nothing_left_to_wait_for() {
    assert_eq!(result(join::<()>([])), "Ok(())");
    assert_eq!(result(join([ready(()), ready(())])), "Ok(())");
}

/// JOIN-03: of rejected ones the first in order decides.
#[test]
fn join_03_of_rejected_ones() {
    assert_eq!(result(join([rejected::<()>(fail("E1")), rejected(fail("E2"))])), "Err(E1)");
}

/// JOIN-04: it is fulfilled inside the resolution of the last pending input.
#[test]
fn join_04_of_a_pending_one_that_is_fulfilled() {
    let log = Log::default();
    let (p, resolver) = pair();
    let joined = join([ready(()), p]);
    assert!(joined.is_pending());
    joined.on_success(log.adds("joined"));
    // Deferred nowhere: a callback that resolves finds the join's callbacks run.
    let (outer, outer_resolver) = pair::<()>();
    let after = log.clone();
    outer.on_success(move |()| {
        resolver.resolve_now(());
        after.add("after");
    });
    outer_resolver.resolve(());
    assert_eq!(log.take(), "joined after");
}

/// JOIN-05: with a rejected input it still waits for the others.
#[test]
fn join_05_waits_though_it_has_failed() {
    let (p, resolver) = waiting();
    let joined = join([rejected(fail("E")), p.promise()]);
    assert!(joined.is_pending());
    resolver.resolve(1);
    assert_eq!(result(joined), "Err(E)");
}

/// JOIN-06: a pending input that is rejected rejects it.
#[test]
fn join_06_of_a_pending_one_that_is_rejected() {
    let (p, resolver) = waiting();
    let joined = join([ready(1), p.promise()]);
    resolver.reject(fail("E"));
    assert_eq!(result(joined), "Err(E)");
}

/// JOIN-07: what was rejected before the call wins over what is rejected later.
#[test]
fn join_07_the_error_before_the_call_wins() {
    let (p, resolver) = waiting();
    let joined = join([p.promise(), rejected(fail("E1"))]);
    resolver.reject(fail("E2"));
    assert_eq!(result(joined), "Err(E1)");
}

/// JOIN-08: the same promise twice counts twice.
#[test]
fn join_08_the_same_promise_twice() {
    let (p, resolver) = waiting();
    let joined = join([p.promise(), p.promise()]);
    assert!(joined.is_pending());
    resolver.resolve(1);
    assert_eq!(result(joined), "Ok(())");
}

/// ALL-01, ALL-02: of none, and of fulfilled ones, the values are there at the call, in order.
#[test]
fn all_01_of_nothing_left_to_wait_for() {
    assert_eq!(result(all::<u32>([])), "Ok([])");
    for count in [1, 2, 3, 10] {
        let values: Vec<u32> = (1..=count).collect();
        let gathered = all(values.iter().copied().map(ready));
        assert_eq!(gathered.try_take().unwrap().unwrap(), values);
    }
}

/// ALL-03: of rejected ones the error is.
#[test]
fn all_03_of_rejected_ones() {
    assert_eq!(result(all([rejected::<u32>(fail("E")), rejected(fail("E"))])), "Err(E)");
}

/// ALL-04, ALL-07: a value that comes later has its place in the order, last or amid the others.
#[test]
fn all_04_a_late_value_has_its_place() {
    let ((p, resolver), (q, second)) = (pair(), pair());
    let (last, middle) = (all([ready(1), p]), all([ready(1), q, ready(3)]));
    assert!(last.is_pending() && middle.is_pending());
    resolver.resolve(2);
    second.resolve(2);
    assert_eq!(result(last), "Ok([1, 2])");
    assert_eq!(result(middle), "Ok([1, 2, 3])");
}

/// ALL-05, ALL-06: a promise that stands several times in the list gives its value at each place.
#[test]
fn all_05_the_same_promise_several_times() {
    let ((p, resolve_p), (q, resolve_q)) = (waiting(), waiting());
    let twice = all([p.promise(), p.promise()]);
    let pairs = all([p.promise(), p.promise(), q.promise(), q.promise()]);
    resolve_p.resolve(2);
    assert_eq!(result(twice), "Ok([2, 2])");
    assert!(pairs.is_pending());
    resolve_q.resolve(4);
    assert_eq!(result(pairs), "Ok([2, 2, 4, 4])");
}

/// ALL-08: one is waited for after ten that are there.
#[test]
fn all_08_ten_values_and_a_late_one() {
    let (p, resolver) = pair();
    let gathered = all((0..10).map(ready).chain([p]));
    resolver.resolve(10);
    assert_eq!(gathered.try_take().unwrap().unwrap(), (0..=10).collect::<Vec<u32>>());
}

/// ALL-09, ALL-10, ALL-11: an error before the call, one that comes later, and of both the former.
#[test]
fn all_09_errors() {
    let ((p, resolve_p), (q, reject_q), (r, reject_r)) = (pair(), pair::<u32>(), pair::<u32>());
    let before = all([rejected(fail("E")), p]);
    let later = all([ready(1), q]);
    let both_times = all([rejected(fail("E1")), r]);
    assert!(before.is_pending(), "it waits for all");
    resolve_p.resolve(1);
    reject_q.reject(fail("E"));
    reject_r.reject(fail("E2"));
    assert_eq!(result(before), "Err(E)");
    assert_eq!(result(later), "Err(E)");
    assert_eq!(result(both_times), "Err(E1)");
}

/// Both orders of two sides: what is true of one side is true of the other.
fn either(first: fn() -> Promise<u32>, check: impl Fn(Promise<(u32, u32)>, Resolver<u32>)) {
    let ((p, left), (q, right)) = (pair(), pair());
    check(both(first(), p), left);
    check(both(q, first()), right);
}

fn fulfilled() -> Promise<u32> {
    ready(7)
}

fn failed() -> Promise<u32> {
    rejected(fail("E1"))
}

/// BOTH-01: two values are a pair at the call.
#[test]
fn both_01_two_values() {
    assert_eq!(result(both(ready(1), ready(2))), "Ok((1, 2))");
}

/// BOTH-02, BOTH-03: of two errors at the call the left one, of one error that one.
#[test]
fn both_02_errors_at_the_call() {
    assert_eq!(result(both(failed(), rejected::<u32>(fail("E2")))), "Err(E1)");
    assert_eq!(result(both(failed(), ready(1))), "Err(E1)");
    assert_eq!(result(both(ready(1), failed())), "Err(E1)");
}

/// BOTH-04, BOTH-05, BOTH-06: as long as one side is pending so is the pair, also if the other is rejected.
#[test]
fn both_04_pending_as_long_as_a_side_is() {
    let ((p, _p), (q, _q)) = (pair::<u32>(), pair::<u32>());
    assert!(both(p, q).is_pending());
    for first in [fulfilled, failed] {
        either(first, |paired, _resolver| assert!(paired.is_pending()));
    }
}

/// BOTH-07, BOTH-08: the late value has its place; with a rejected side the pair is rejected then.
#[test]
fn both_07_a_late_value() {
    let ((p, left), (q, right)) = (pair(), pair());
    let (first, second) = (both(p, ready(2)), both(ready(1), q));
    left.resolve(1);
    right.resolve(2);
    assert_eq!((result(first).as_str(), result(second).as_str()), ("Ok((1, 2))", "Ok((1, 2))"));
    either(failed, |paired, resolver| {
        resolver.resolve(2);
        assert_eq!(result(paired), "Err(E1)");
    });
}

/// BOTH-09, BOTH-10: a late error rejects, but an earlier one wins, on whichever side it is.
#[test]
fn both_09_a_late_error() {
    for (first, outcome) in [(fulfilled as fn() -> _, "Err(E2)"), (failed, "Err(E1)")] {
        either(first, |paired, resolver| {
            resolver.reject(fail("E2"));
            assert_eq!(result(paired), outcome);
        });
    }
}

/// How a side ends.
type End = fn(Resolver<u32>);
const VALUE_1: End = |resolver| resolver.resolve(1);
const VALUE_2: End = |resolver| resolver.resolve(2);
const ERROR_1: End = |resolver| resolver.reject(fail("E1"));
const ERROR_2: End = |resolver| resolver.reject(fail("E2"));

/// Two pending sides that end in this order; the pair is pending after the first.
fn in_turn(left: End, right: End, left_first: bool) -> String {
    let ((p, left_side), (q, right_side)) = (pair(), pair());
    let paired = both(p, q);
    if left_first {
        left(left_side);
        assert!(paired.is_pending());
        right(right_side);
    } else {
        right(right_side);
        assert!(paired.is_pending());
        left(left_side);
    }
    result(paired)
}

/// BOTH-11, BOTH-13: after one value of two the pair is pending, after the second it is there, in either order.
#[test]
fn both_11_two_late_values() {
    assert_eq!(in_turn(VALUE_1, VALUE_2, true), "Ok((1, 2))");
    assert_eq!(in_turn(VALUE_1, VALUE_2, false), "Ok((1, 2))");
}

/// BOTH-12, BOTH-14, BOTH-15: after one error of two sides the pair is pending, and rejected in the end.
#[test]
fn both_12_a_value_and_an_error() {
    for left_first in [true, false] {
        assert_eq!(in_turn(VALUE_1, ERROR_2, left_first), "Err(E2)");
        assert_eq!(in_turn(ERROR_1, VALUE_2, left_first), "Err(E1)");
    }
}

/// BOTH-16: of two errors the earlier wins.
#[test]
fn both_16_two_errors() {
    assert_eq!(in_turn(ERROR_1, ERROR_2, true), "Err(E1)");
    assert_eq!(in_turn(ERROR_1, ERROR_2, false), "Err(E2)");
}

/// BOTH-17: the same promise may be both sides.
#[test]
fn both_17_the_same_promise_twice() {
    let (p, resolver) = waiting();
    let paired = both(p.promise(), p.promise());
    assert!(paired.is_pending());
    resolver.resolve(1);
    assert_eq!(result(paired), "Ok((1, 1))");
    assert_eq!(state(&p), "Ok(1)");
}

/// X-JOIN-01: the first error in time decides, not the first in order; what was rejected at the call comes before both,
/// in order.
#[test]
fn x_join_01_the_first_error_in_time() {
    let ((p, first), (q, second)) = (waiting(), waiting());
    let late = join([p.promise(), q.promise()]);
    let early = join([p.promise(), rejected(fail("at the call")), q.promise(), rejected(fail("and later"))]);
    second.reject(fail("E2"));
    first.reject(fail("E1"));
    assert_eq!(result(late), "Err(E2)");
    assert_eq!(result(early), "Err(at the call)");
}

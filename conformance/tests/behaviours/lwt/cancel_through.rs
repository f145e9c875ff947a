//! Cancelling what is made of other promises: the search goes on to what they wait for. Rows CBIND, CCATCH, CTRY, CFIN,
//! CDIRECT, CJOIN, CCHOOSE, X-CANCEL-06.

use crate::rig::{Log, fail, result, state};
use lisle_core::{
    Error, Promise, Resolver, Shared, cancelable, choose, join, list, nchoose, nchoose_split, npick, pair,
    pick, ready, rejected,
};

type Waiting = (Shared<u32>, Resolver<u32>);

fn fixed() -> Waiting {
    let (promise, resolver) = pair();
    (promise.shared(), resolver)
}

fn soft() -> Waiting {
    let (promise, resolver) = cancelable();
    (promise.shared(), resolver)
}

/// The states of what `made` waits for and of `made`, once that was cancelled.
fn after_cancel(inner: &Shared<u32>, made: Promise<u32>) -> [String; 2] {
    let made = made.shared();
    made.cancel();
    [state(inner), state(&made)]
}

const NOTHING: [&str; 2] = ["pending", "pending"];
const BOTH: [&str; 2] = ["Err(Canceled)", "Err(Canceled)"];

type Over = fn(&Shared<u32>, Log) -> Promise<u32>;

/// CBIND-01: over an input that cannot be cancelled nothing happens, and no callback runs.
#[test]
fn cbind_01_an_input_that_is_not_cancelable() {
    let over: [Over; 5] = [
        |p, log| p.bind(move |n| (log.add(n), ready(n)).1),
        |p, log| p.map(move |n| (log.add(n), n).1),
        |p, log| p.catch(move |error| (log.add(error), ready(1)).1),
        |p, log| {
            let other = log.clone();
            p.try_bind(move |n| (log.add(n), ready(n)).1, move |error| (other.add(error), ready(1)).1)
        },
        |p, log| p.finalize(move || (log.add("cleanup"), ready(())).1),
    ];
    for make in over {
        let log = Log::default();
        let (p, _p) = fixed();
        assert_eq!(after_cancel(&p, make(&p, log.clone())), NOTHING);
        assert_eq!(log.take(), "");
    }
}

/// CBIND-02: a cancelable input is cancelled, and the result with it; the callback does not run.
#[test]
fn cbind_02_a_cancelable_input() {
    let log = Log::default();
    let ((p, _p), (q, _q)) = (soft(), soft());
    let callback = log.adds("bind");
    assert_eq!(after_cancel(&p, p.bind(|n| (callback(n), ready(n)).1)), BOTH);
    let callback = log.adds("map");
    assert_eq!(after_cancel(&q, q.map(|n| (callback(n), n).1)), BOTH);
    assert_eq!(log.take(), "");
}

/// A result whose callback has run already and returned a pending promise of some kind: that promise, and the result.
fn returned(kind: fn() -> Waiting, make: fn(Promise<u32>, Shared<u32>) -> Promise<u32>) -> [String; 2] {
    let ((inner, _inner), (input, start)) = (kind(), pair());
    let made = make(input, inner.clone());
    start.resolve(1);
    after_cancel(&inner, made)
}

/// As [`returned`], of an input that was rejected.
fn returned_on_error(
    kind: fn() -> Waiting,
    make: fn(Promise<u32>, Shared<u32>) -> Promise<u32>,
) -> [String; 2] {
    let ((inner, _inner), (input, start)) = (kind(), pair());
    let made = make(input, inner.clone());
    start.reject(fail("E"));
    after_cancel(&inner, made)
}

/// CBIND-03, CBIND-04: once the callback has returned a promise it is that one which is cancelled, if it can be.
#[test]
fn cbind_03_a_promise_that_was_returned() {
    assert_eq!(returned(fixed, |input, inner| input.bind(|_| inner)), NOTHING);
    assert_eq!(returned(soft, |input, inner| input.bind(|_| inner)), BOTH);
}

/// CBIND-05: through a bind that returned the result of a bind all are cancelled.
#[test]
fn cbind_05_a_bind_that_returned_a_bind() {
    let ((p1, start), (p2, _p2)) = (fixed(), soft());
    let inner = p2.clone();
    let p3 = p1.bind(|_| inner).shared();
    let outer = p3.clone();
    let p4 = p1.bind(|_| outer).shared();
    start.resolve(1);
    p4.cancel();
    assert_eq!([&p2, &p3, &p4].map(state), ["Err(Canceled)"; 3]);
}

/// CBIND-06: an input that nobody else holds is cancelled too; what its callback would have returned is not.
#[test]
fn cbind_06_an_input_held_by_the_result_alone() {
    let log = Log::default();
    let (p1, _p1) = soft();
    p1.on_cancel(log.says("p1"));
    let (input, _input) = cancelable::<()>();
    let p2 = input.bind(|()| p1).on_cancel(log.says("p2"));
    p2.cancel();
    assert_eq!((log.take().as_str(), result(p2).as_str()), ("p2", "Err(Canceled)"));
}

/// CBIND-07: callbacks for cancellation of what was returned and of the result both run: their lists were merged.
#[test]
fn cbind_07_merged_cancel_callbacks() {
    let log = Log::default();
    let ((p1, start), (p2, _p2)) = (pair::<()>(), soft());
    p2.on_cancel(log.says("p2"));
    let p3 = p1.bind(|()| p2).on_cancel(log.says("p3"));
    start.resolve(());
    p3.cancel();
    assert_eq!(log.take(), "p3 p2");
    assert_eq!(result(p3), "Err(Canceled)");
}

/// CCATCH-01: a handler may intercept a cancellation.
#[test]
fn ccatch_01_intercepted() {
    let log = Log::default();
    let (p, _p) = soft();
    let seen = log.shows();
    let caught = p.catch(|error| (seen(error), ready(7)).1);
    assert_eq!(after_cancel(&p, caught), ["Err(Canceled)", "Ok(7)"]);
    assert_eq!(log.take(), "canceled");
}

/// CCATCH-02: the input's callback runs before the handler, and that of the result, which was not cancelled, never.
#[test]
fn ccatch_02_who_is_cancelled() {
    let log = Log::default();
    let (p, _p) = soft();
    let handler = log.adds("handler");
    let caught = p.catch(|error| (handler(error), ready(7)).1).on_cancel(log.says("result"));
    p.on_cancel(log.says("input"));
    caught.cancel();
    assert_eq!((log.take().as_str(), result(caught).as_str()), ("input handler", "Ok(7)"));
}

/// CCATCH-03: a handler that passes the error on cancels the result too.
#[test]
fn ccatch_03_passed_on() {
    let log = Log::default();
    let (p, _p) = soft();
    let caught = p.catch(Err).on_cancel(log.says("result"));
    assert_eq!(after_cancel(&p, caught), BOTH);
    assert_eq!(log.take(), "result");
}

/// CCATCH-04, CCATCH-05: once the handler has returned a promise it is that one which is cancelled, if it can be.
#[test]
fn ccatch_04_a_promise_that_was_returned() {
    assert_eq!(returned_on_error(fixed, |input, inner| input.catch(move |_| inner)), NOTHING);
    assert_eq!(returned_on_error(soft, |input, inner| input.catch(move |_| inner)), BOTH);
}

/// CTRY-01: only the error callback runs, it sees `Canceled`, and what it returns is the result.
#[test]
fn ctry_01_intercepted() {
    let log = Log::default();
    let (p, _p) = soft();
    let (value, error) = (log.adds("value"), log.shows());
    let tried = p.try_bind(|n| (value(n), ready(n)).1, |e: Error| (error(e), ready(7)).1);
    assert_eq!(after_cancel(&p, tried), ["Err(Canceled)", "Ok(7)"]);
    assert_eq!(log.take(), "canceled");
}

/// CTRY-02, CTRY-03: once either callback has returned a promise it is that one which is cancelled, if it can be.
#[test]
fn ctry_02_a_promise_that_was_returned() {
    let on_value = |input: Promise<u32>, inner: Shared<u32>| input.try_bind(|_| inner, Err);
    let on_error = |input: Promise<u32>, inner: Shared<u32>| input.try_bind(ready, |_| inner);
    assert_eq!(returned(fixed, on_value), NOTHING);
    assert_eq!(returned(soft, on_value), BOTH);
    assert_eq!(returned_on_error(fixed, on_error), NOTHING);
    assert_eq!(returned_on_error(soft, on_error), BOTH);
}

/// CFIN-01: the cleanup runs, and both are cancelled.
#[test]
fn cfin_01_a_cancelable_input() {
    let log = Log::default();
    let (p, _p) = soft();
    let cleanup = log.says("cleanup");
    assert_eq!(after_cancel(&p, p.finalize(|| (cleanup(), ready(())).1)), BOTH);
    assert_eq!(log.take(), "cleanup");
}

/// CFIN-02: an error of the cleanup wins over `Canceled`.
#[test]
fn cfin_02_a_cleanup_that_fails() {
    let (p, _p) = soft();
    let result_of = p.finalize(|| Err::<(), Error>(fail("E")));
    p.cancel();
    assert_eq!((result(result_of).as_str(), state(&p).as_str()), ("Err(E)", "Err(Canceled)"));
}

/// CFIN-03, CFIN-04: once the cleanup is under way it is the cleanup which is cancelled, if it can be.
#[test]
fn cfin_03_a_cleanup_under_way() {
    let make = |input: Promise<u32>, cleanup: Shared<u32>| input.finalize(move || cleanup.map(|_| ()));
    assert_eq!(returned(fixed, make), NOTHING);
    assert_eq!(returned(soft, make), BOTH);
    assert_eq!(returned_on_error(fixed, make), NOTHING);
    assert_eq!(returned_on_error(soft, make), BOTH);
}

/// CDIRECT-01: of the callbacks without a result those run that are for errors or for both outcomes.
#[test]
fn cdirect_01_callbacks_without_a_result() {
    let log = Log::default();
    let (p, _p) = soft();
    p.on_success(log.adds("success"));
    p.on_failure(log.shows());
    p.on_termination(log.says("termination"));
    p.on_any(log.adds("value"), log.shows());
    p.cancel();
    assert_eq!(log.take(), "canceled termination canceled");
}

/// CJOIN-01, CJOIN-02: a join of promises that cannot be cancelled stays as it is; otherwise all are cancelled.
#[test]
fn cjoin_01_inputs_of_one_kind() {
    for (kind, outcome) in [(fixed as fn() -> Waiting, "pending"), (soft, "Err(Canceled)")] {
        let ((p, _p), (q, _q)) = (kind(), kind());
        let joined = join([p.promise(), q.promise()]).map(|()| 0).shared();
        joined.cancel();
        assert_eq!([&p, &q, &joined].map(state), [outcome; 3]);
    }
}

/// CJOIN-03: of both kinds, the cancelable input is cancelled; the join waits for the other, and is cancelled then.
#[test]
fn cjoin_03_inputs_of_both_kinds() {
    let ((p, resolver), (q, _q)) = (fixed(), soft());
    let joined = join([p.promise(), q.promise()]);
    joined.cancel();
    assert_eq!([&p, &q].map(state), ["pending", "Err(Canceled)"]);
    assert!(joined.is_pending());
    resolver.resolve(1);
    assert_eq!(result(joined), "Err(Canceled)");
}

/// CJOIN-04: an input that stands there twice is cancelled once.
#[test]
fn cjoin_04_the_same_promise_twice() {
    let log = Log::default();
    let (p, _p) = soft();
    p.on_cancel(log.says("cancelled"));
    let joined = join([p.promise(), p.promise()]);
    joined.cancel();
    assert_eq!((log.take().as_str(), result(joined).as_str()), ("cancelled", "Err(Canceled)"));
}

type Race = fn([Promise<u32>; 2]) -> Promise<u32>;
const RACES: [Race; 5] = [
    |inputs| choose(inputs),
    |inputs| pick(inputs),
    |inputs| nchoose(inputs).map(|values| values[0]),
    |inputs| npick(inputs).map(|values| values[0]),
    |inputs| nchoose_split(inputs).map(|(values, _)| values[0]),
];

/// CCHOOSE-01, CCHOOSE-02: a race of promises that cannot be cancelled stays as it is; one cancelable input ends it at
/// once, and the other input goes on.
#[test]
fn cchoose_01_races() {
    for (index, race) in RACES.into_iter().enumerate() {
        let ((p, _p), (q, _q), (r, _r)) = (fixed(), fixed(), soft());
        let lasting = race([p.promise(), q.promise()]).shared();
        lasting.cancel();
        assert_eq!([&p, &q, &lasting].map(state), ["pending"; 3], "race {index}");
        let ended = race([p.promise(), r.promise()]).shared();
        ended.cancel();
        assert_eq!(
            [&p, &r, &ended].map(state),
            ["pending", "Err(Canceled)", "Err(Canceled)"],
            "race {index}"
        );
    }
}

/// X-CANCEL-06: cancelling a map over a list whose callbacks run side by side cancels the promise of each element, as
/// cancelling a join does.
#[test]
fn x_cancel_06_a_parallel_map_is_cancelled_as_a_whole() {
    let log = Log::default();
    let lists: [fn(&Log) -> Promise<()>; 3] = [
        |log| list::map_p([0, 1, 2], |number| waits(log, number)).map(|_| ()),
        |log| list::filter_p([0, 1, 2], |number| waits(log, *number)).map(|_| ()),
        |log| list::iter_p([0, 1, 2], |number| waits(log, number).map(|_| ())),
    ];
    for list in lists {
        let promise = list(&log);
        promise.cancel();
        assert!(promise.try_take().is_ok_and(|result| result.is_err_and(|error| error.is_canceled())));
        let mut canceled: Vec<_> = log.take().split_whitespace().map(str::to_owned).collect();
        canceled.sort();
        assert_eq!(canceled, ["0", "1", "2"]);
    }
}

/// A promise that says so when it is cancelled.
fn waits(log: &Log, number: u32) -> Promise<bool> {
    let (promise, resolver) = cancelable();
    let log = log.clone();
    promise.catch(move |error| {
        log.add(number);
        drop(resolver);
        rejected(error)
    })
}

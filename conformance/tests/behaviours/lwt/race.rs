//! Waiting for the first: `choose`, `nchoose`, `nchoose_split`, `pick`, `npick`. Rows CHOOSE, NCHOOSE, NSPLIT, PICK,
//! NPICK, X-RAND.
//!
//! The altered Lwts in which `pick` or `npick` resolves its result before it cancels the losers fail at PICK-08 and
//! NPICK-10.

use crate::rig::{Log, fail, result, state};
use lisle_core::{
    Promise, Resolver, Shared, Status, cancelable, choose, nchoose, nchoose_split, npick, pair, pick, ready,
    rejected,
};
use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Of either kind: the losers of `pick` and `npick` are cancelled, those of the others go on.
fn waiting() -> (Shared<&'static str>, Resolver<&'static str>) {
    let (promise, resolver) = cancelable();
    (promise.shared(), resolver)
}

/// A race of no promises would never end: it panics and says so.
fn refuses_none<T: Debug + 'static>(name: &str, race: impl FnOnce() -> Promise<T>) {
    let panic = catch_unwind(AssertUnwindSafe(|| drop(race()))).unwrap_err();
    let text = panic.downcast_ref::<String>().expect("it says why");
    assert_eq!(*text, format!("{name} of no promises would never settle"));
}

/// CHOOSE-01, NCHOOSE-01, NSPLIT-01, PICK-01, NPICK-01: of no promises, each panics at the call, with its name.
#[test]
fn choose_01_of_none() {
    refuses_none("choose", || choose::<()>([]));
    refuses_none("nchoose", || nchoose::<()>([]));
    refuses_none("nchoose_split", || nchoose_split::<()>([]).map(|_| ()));
    refuses_none("pick", || pick::<()>([]));
    refuses_none("npick", || npick::<()>([]));
}

/// CHOOSE-02: what is settled at the call is the choice, whatever else is pending.
#[test]
fn choose_02_one_is_settled_at_the_call() {
    let ((p, _p), (q, _q)) = (pair(), pair());
    assert_eq!(result(choose([p, ready("foo")])), r#"Ok("foo")"#);
    assert_eq!(result(choose([q, rejected::<()>(fail("E"))])), "Err(E)");
}

/// CHOOSE-03: among those settled at the call a rejected one comes first, each time.
#[test]
fn choose_03_a_rejected_one_comes_first() {
    let (p, _p) = waiting();
    for _ in 0..100 {
        let chosen = choose([p.promise(), ready("a"), rejected(fail("E")), ready("b")]);
        assert_eq!(result(chosen), "Err(E)");
    }
    assert!(p.is_pending());
}

/// CHOOSE-04, CHOOSE-05: of pending ones the first to be settled is the choice; the second is not heard.
#[test]
fn choose_04_the_first_to_be_settled() {
    let ((p, first), (q, second)) = (waiting(), waiting());
    let chosen = choose([p.promise(), q.promise()]).shared();
    assert!(chosen.is_pending());
    first.resolve("foo");
    assert_eq!((state(&chosen).as_str(), q.status()), (r#"Ok("foo")"#, Status::Pending));
    second.resolve("bar");
    assert_eq!(state(&chosen), r#"Ok("foo")"#);
}

/// CHOOSE-06: the same promise twice settles the choice once.
#[test]
fn choose_06_the_same_promise_twice() {
    let log = Log::default();
    let (p, resolver) = waiting();
    let chosen = choose([p.promise(), p.promise()]).on_termination(log.says("settled"));
    resolver.resolve("foo");
    assert_eq!((result(chosen).as_str(), log.take().as_str()), (r#"Ok("foo")"#, "settled"));
}

/// NCHOOSE-02, NCHOOSE-04: what is fulfilled at the call is the result, in order, and nothing is waited for.
#[test]
fn nchoose_02_what_is_fulfilled_at_the_call() {
    let (p, _p) = waiting();
    assert_eq!(result(nchoose([ready("foo"), ready("bar")])), r#"Ok(["foo", "bar"])"#);
    assert_eq!(result(nchoose([ready("foo"), p.promise(), ready("bar")])), r#"Ok(["foo", "bar"])"#);
}

/// NCHOOSE-03: one rejected at the call rejects, before or after a fulfilled one.
#[test]
fn nchoose_03_a_rejected_one_at_the_call() {
    assert_eq!(result(nchoose([ready("foo"), rejected(fail("E"))])), "Err(E)");
    assert_eq!(result(nchoose([rejected(fail("E")), ready("foo")])), "Err(E)");
}

/// NCHOOSE-05, NCHOOSE-06: of pending ones the first to be settled ends the wait, by a value or an error.
#[test]
fn nchoose_05_the_first_to_be_settled() {
    let ((p, first), (q, second)) = (waiting(), waiting());
    let (chosen, failing) = (nchoose([p.promise(), q.promise()]), nchoose([p.promise()]));
    assert!(chosen.is_pending());
    second.resolve("foo");
    assert_eq!(result(chosen), r#"Ok(["foo"])"#);
    first.reject(fail("E"));
    assert_eq!(result(failing), "Err(E)");
}

/// NCHOOSE-07, NCHOOSE-08: the same promise twice is reported twice; its error once.
#[test]
fn nchoose_07_the_same_promise_twice() {
    let ((p, resolver), (q, rejecter)) = (waiting(), waiting());
    let (chosen, failing) = (nchoose([p.promise(), p.promise()]), nchoose([q.promise(), q.promise()]));
    resolver.resolve("foo");
    rejecter.reject(fail("E"));
    assert_eq!(result(chosen), r#"Ok(["foo", "foo"])"#);
    assert_eq!(result(failing), "Err(E)");
}

/// NSPLIT-02: the values of what is fulfilled at the call, and the promise that is pending: the same one.
#[test]
fn nsplit_02_what_is_fulfilled_at_the_call() {
    let (p, resolver) = waiting();
    let split = nchoose_split([ready("foo"), p.promise(), ready("bar")]);
    let (values, mut rest) = split.try_take().unwrap().unwrap();
    assert_eq!((values, rest.len()), (vec!["foo", "bar"], 1));
    resolver.resolve("baz");
    assert_eq!(result(rest.remove(0)), r#"Ok("baz")"#);
}

/// NSPLIT-03: one that is rejected at the call rejects, whatever stands beside it.
#[test]
fn nsplit_03_a_rejected_one_at_the_call() {
    let (p, _p) = waiting();
    let failed = || rejected(fail("E"));
    for inputs in [[ready("foo"), failed()], [failed(), ready("foo")], [p.promise(), failed()]] {
        assert_eq!(nchoose_split(inputs).try_take().unwrap().unwrap_err().to_string(), "E");
    }
}

/// NSPLIT-04: of pending ones the first to be fulfilled, and the other, which may still be waited for.
#[test]
fn nsplit_04_the_first_to_be_fulfilled() {
    let ((p, first), (q, second)) = (waiting(), waiting());
    let split = nchoose_split([p.promise(), q.promise()]);
    assert!(split.is_pending());
    first.resolve("foo");
    let (values, mut rest) = split.try_take().unwrap().unwrap();
    assert_eq!((values, rest.len()), (vec!["foo"], 1));
    let other = rest.remove(0);
    assert!(other.is_pending());
    second.resolve("bar");
    assert_eq!(result(other), r#"Ok("bar")"#);
}

/// NSPLIT-05: a pending one that is rejected rejects.
#[test]
fn nsplit_05_a_pending_one_is_rejected() {
    let ((p, first), (q, _q)) = (waiting(), waiting());
    let split = nchoose_split([p.promise(), q.promise()]);
    first.reject(fail("E"));
    assert_eq!(split.try_take().unwrap().unwrap_err().to_string(), "E");
    assert!(q.is_pending());
}

/// NSPLIT-06, NSPLIT-07: a promise that stands there twice gives two values, or one error.
#[test]
fn nsplit_06_the_same_promise_twice() {
    let ((p, resolver), (q, rejecter), (r, _r)) = (waiting(), waiting(), waiting());
    let split = nchoose_split([p.promise(), p.promise(), r.promise()]);
    let failing = nchoose_split([q.promise(), q.promise(), r.promise()]);
    resolver.resolve("foo");
    rejecter.reject(fail("E"));
    let (values, rest) = split.try_take().unwrap().unwrap();
    assert_eq!((values, rest.len()), (vec!["foo", "foo"], 1));
    assert_eq!(failing.try_take().unwrap().unwrap_err().to_string(), "E");
}

/// PICK-02: what is settled at the call is the pick, and what is pending is cancelled.
#[test]
fn pick_02_one_is_settled_at_the_call() {
    for (settled, outcome) in [(ready("foo"), r#"Ok("foo")"#), (rejected(fail("E")), "Err(E)")] {
        let (p, _p) = waiting();
        assert_eq!(result(pick([p.promise(), settled])), outcome);
        assert_eq!(state(&p), "Err(Canceled)");
    }
}

/// PICK-03: among those settled at the call a rejected one comes first, each time, and the pending one is cancelled.
#[test]
fn pick_03_a_rejected_one_comes_first() {
    for _ in 0..100 {
        let (p, _p) = waiting();
        assert_eq!(result(pick([p.promise(), ready("a"), rejected(fail("E")), ready("b")])), "Err(E)");
        assert_eq!(state(&p), "Err(Canceled)");
    }
}

/// PICK-04, PICK-05: of pending ones the first to be settled is the pick; the other is cancelled.
#[test]
fn pick_04_the_first_to_be_settled() {
    let ((p, first), (q, _q)) = (waiting(), waiting());
    let picked = pick([p.promise(), q.promise()]);
    assert!(picked.is_pending());
    first.resolve("foo");
    assert_eq!((result(picked).as_str(), state(&q).as_str()), (r#"Ok("foo")"#, "Err(Canceled)"));
}

/// PICK-06: the same promise twice.
#[test]
fn pick_06_the_same_promise_twice() {
    let (p, resolver) = waiting();
    let picked = pick([p.promise(), p.promise()]);
    resolver.resolve("foo");
    assert_eq!((result(picked).as_str(), state(&p).as_str()), (r#"Ok("foo")"#, r#"Ok("foo")"#));
}

/// PICK-07, NPICK-09: cancelling the result cancels each input.
#[test]
fn pick_07_cancelling_the_result() {
    let ((p, _p), (q, _q)) = (waiting(), waiting());
    let picked = pick([p.promise(), q.promise()]);
    picked.cancel();
    assert_eq!(result(picked), "Err(Canceled)");
    assert_eq!((state(&p).as_str(), state(&q).as_str()), ("Err(Canceled)", "Err(Canceled)"));

    let ((p, _p), (q, _q)) = (waiting(), waiting());
    let picked = npick([p.promise(), q.promise()]);
    picked.cancel();
    assert_eq!(result(picked), "Err(Canceled)");
    assert_eq!((state(&p).as_str(), state(&q).as_str()), ("Err(Canceled)", "Err(Canceled)"));
}

/// Resolves the first of two inputs of a race with the deferring flavour; which ran first, the handler of the cancelled
/// loser or the callback of the result.
fn order_of_loser_and_result<T: 'static>(
    race: fn([Promise<&'static str>; 2]) -> Promise<T>,
    first: End,
) -> String {
    let log = Log::default();
    let ((p, resolver), (q, _q)) = (waiting(), waiting());
    let handled = log.clone();
    let loser = q.catch(move |error| {
        handled.add(format!("loser {error}"));
        ready("")
    });
    race([p.promise(), q.promise()]).on_termination(log.says("result")).detach_with(drop);
    first(resolver);
    assert_eq!(result(loser), r#"Ok("")"#);
    log.take()
}

/// PICK-08: the losers are cancelled, and their callbacks run, before the result is resolved.
#[test]
fn pick_08_losers_are_cancelled_before_the_result_is_resolved() {
    let order = order_of_loser_and_result(pick, |resolver| resolver.resolve("foo"));
    assert_eq!(order, "loser canceled result");
}

/// NPICK-02, NPICK-04: what is fulfilled at the call is the result, and what is pending is cancelled.
#[test]
fn npick_02_what_is_fulfilled_at_the_call() {
    let (p, _p) = waiting();
    assert_eq!(result(npick([ready("foo"), ready("bar")])), r#"Ok(["foo", "bar"])"#);
    assert_eq!(result(npick([ready("foo"), p.promise(), ready("bar")])), r#"Ok(["foo", "bar"])"#);
    assert_eq!(state(&p), "Err(Canceled)");
}

/// NPICK-03: one rejected at the call rejects, before or after a fulfilled one.
#[test]
fn npick_03_a_rejected_one_at_the_call() {
    assert_eq!(result(npick([ready("foo"), rejected(fail("E"))])), "Err(E)");
    assert_eq!(result(npick([rejected(fail("E")), ready("foo")])), "Err(E)");
}

type End = fn(Resolver<&'static str>);

/// NPICK-05, NPICK-06: of pending ones the first to be settled ends the wait, and the other is cancelled.
#[test]
fn npick_05_the_first_to_be_settled() {
    let ends: [(End, &str); 2] = [
        (|resolver| resolver.resolve("foo"), r#"Ok(["foo"])"#),
        (|resolver| resolver.reject(fail("E")), "Err(E)"),
    ];
    for (end, outcome) in ends {
        let ((p, _p), (q, second)) = (waiting(), waiting());
        let picked = npick([p.promise(), q.promise()]);
        assert!(picked.is_pending());
        end(second);
        assert_eq!((result(picked).as_str(), state(&p).as_str()), (outcome, "Err(Canceled)"));
    }
}

/// NPICK-07, NPICK-08: the same promise twice is reported twice; its error once.
#[test]
fn npick_07_the_same_promise_twice() {
    let ((p, resolver), (q, rejecter)) = (waiting(), waiting());
    let (picked, failing) = (npick([p.promise(), p.promise()]), npick([q.promise(), q.promise()]));
    resolver.resolve("foo");
    rejecter.reject(fail("E"));
    assert_eq!(result(picked), r#"Ok(["foo", "foo"])"#);
    assert_eq!(result(failing), "Err(E)");
}

/// NPICK-10: the losers are cancelled, and their callbacks run, before the result is resolved.
#[test]
fn npick_10_losers_are_cancelled_before_the_result_is_resolved() {
    let value = order_of_loser_and_result(npick, |resolver| resolver.resolve("foo"));
    let error = order_of_loser_and_result(npick, |resolver| resolver.reject(fail("E")));
    assert_eq!((value.as_str(), error.as_str()), ("loser canceled result", "loser canceled result"));
}

/// X-RAND-01: among several that are fulfilled, or rejected, at the call, the first in order is taken, always.
#[test]
fn x_rand_01_the_first_in_order_is_taken() {
    let failed = |word| rejected::<&str>(fail(word));
    for _ in 0..100 {
        assert_eq!(result(choose([ready("a"), ready("b"), ready("c")])), r#"Ok("a")"#);
        assert_eq!(result(pick([ready("a"), ready("b"), ready("c")])), r#"Ok("a")"#);
        assert_eq!(result(choose([ready("a"), failed("E1"), failed("E2")])), "Err(E1)");
        assert_eq!(result(pick([ready("a"), failed("E1"), failed("E2")])), "Err(E1)");
    }
}

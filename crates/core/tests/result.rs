//! Promises of a `Result`: each side, what passes through, cancelling, which failure counts.

mod rig;

use lisle_core::{Promise, both_ok, cancelable, pair, ready, rejected};
use rig::*;

type Outcome = Result<u32, &'static str>;

fn ok(n: u32) -> Promise<Outcome> {
    ready(Ok(n))
}

fn err(word: &'static str) -> Promise<Outcome> {
    ready(Err(word))
}

#[test]
fn each_method_works_on_its_side_now_and_later() {
    type Method = fn(Promise<Outcome>) -> Promise<Outcome>;
    let methods: [(Method, Outcome, Outcome); 7] = [
        (|p| p.map_ok(|n| n + 1), Ok(2), Err("e")),
        (|p| p.map_err(|_| "other"), Ok(1), Err("other")),
        (|p| p.try_map_ok(|_| Err("tried")), Err("tried"), Err("e")),
        (|p| p.bind_ok(|n| ok(n + 1)), Ok(2), Err("e")),
        (|p| p.bind_err(|_| ok(9)), Ok(1), Ok(9)),
        (|p| p.map_ok_promise(|n| ready(n + 1)), Ok(2), Err("e")),
        (|p| p.map_err_promise(|_| ready("other")), Ok(1), Err("other")),
    ];
    for (method, of_ok, of_err) in methods {
        assert_eq!(value(method(ok(1))), of_ok);
        assert_eq!(value(method(err("e"))), of_err);
        for (input, output) in [(Ok(1), of_ok), (Err("e"), of_err)] {
            let (promise, resolver) = pair();
            let later = method(promise);
            assert!(later.is_pending());
            resolver.resolve(input);
            assert_eq!(value(later), output);
        }
        assert_eq!(error(method(rejected(fail("no")))).to_string(), "no", "a rejection passes through");
        let (promise, _resolver) = cancelable();
        let canceled = method(promise);
        canceled.cancel();
        assert!(error(canceled).is_canceled());
    }
}

#[test]
fn a_panic_on_either_side_is_a_rejection() {
    assert_eq!(error(ok(1).map_ok(|_| -> u32 { panic!("good") })).panic_message(), Some("good"));
    assert_eq!(
        error(err("e").bind_err(|_| -> Promise<Outcome> { panic!("bad") })).panic_message(),
        Some("bad")
    );
}

#[test]
fn iter_runs_on_its_side_only() {
    let trace = Trace::new();
    let says = |line| {
        let trace = trace.clone();
        move || {
            trace.add(line);
            ready(())
        }
    };
    for promise in [ok, |_| err("e")] {
        let (good, bad) = (says("good"), says("bad"));
        value(promise(1).iter_ok(move |_| good()));
        value(promise(1).iter_err(move |_| bad()));
    }
    assert_eq!(trace.take(), "good bad");
}

#[test]
fn a_caught_cancellation_is_a_value() {
    let (promise, _resolver) = cancelable::<u32>();
    let caught = promise.caught();
    caught.cancel();
    assert!(value(caught).unwrap_err().is_canceled());
    assert_eq!(value(ready(1).caught()).unwrap(), 1);
}

#[test]
fn the_first_failure_in_time_counts_and_the_other_side_is_waited_for() {
    for right_first in [false, true] {
        let ((left, end_left), (right, end_right)) = (pair::<Outcome>(), pair::<Outcome>());
        let both = both_ok(left, right);
        if right_first {
            end_right.resolve(Err("right"));
            assert!(both.is_pending());
            end_left.resolve(Err("left"));
        } else {
            end_left.resolve(Err("left"));
            assert!(both.is_pending());
            end_right.resolve(Err("right"));
        }
        assert_eq!(value(both), Err(if right_first { "right" } else { "left" }));
    }
    assert_eq!(value(both_ok(err("left"), err("right"))), Err("left"));
    let both = both_ok(err("left"), rejected::<Outcome>(fail("no")));
    assert_eq!(error(both).to_string(), "no", "a rejection counts more");
}

#[test]
fn cancelling_reaches_both_sides() {
    let ((left, end_left), (right, end_right)) = (cancelable::<Outcome>(), cancelable::<Outcome>());
    let both = both_ok(left, right);
    both.cancel();
    assert!(!end_left.is_pending() && !end_right.is_pending());
    assert!(error(both).is_canceled());
}

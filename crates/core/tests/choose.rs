//! `choose`, `pick`, `nchoose`, `npick`: who wins, what becomes of the others, and when.

mod rig;

use lisle_core::{Promise, cancelable, choose, nchoose, npick, pair, pick, ready, rejected};
use rig::*;
use std::cell::RefCell;
use std::rc::Rc;

#[test]
fn the_first_to_settle_wins_and_the_others_go_on() {
    let ((a, resolve_a), (b, resolve_b)) = (pair(), pair());
    let (a, b) = (a.shared(), b.shared());
    let chosen = choose([a.promise(), b.promise()]);
    resolve_b.resolve(2);
    assert_eq!(value(chosen), 2);
    assert!(a.is_pending());
    resolve_a.resolve(1);
    assert_eq!(value(choose([a.promise(), b.promise()])), 1, "of settled ones the first in order");
    let failed = || rejected::<u32>(fail("no"));
    assert_eq!(error(choose([ready(1), failed(), ready(2)])).to_string(), "no", "a rejected one goes first");
    assert_eq!(error(pick([ready(1), failed()])).to_string(), "no");
}

#[test]
fn pick_cancels_the_losers_before_its_result_is_there() {
    let trace = Trace::new();
    let ((a, _keep_a), (b, resolve_b), (c, _keep_c)) = (cancelable(), pair(), cancelable::<u32>());
    let a = a.on_cancel(trace.says("a cancelled"));
    let c = c.on_cancel(trace.says("c cancelled"));
    let picked = pick([a, b, c]);
    let picked = picked.on_termination(trace.says("picked"));
    resolve_b.resolve(2);
    assert_eq!((trace.take().as_str(), value(picked)), ("a cancelled c cancelled picked", 2));
}

#[test]
fn pick_at_the_call_cancels_the_pending_ones() {
    for promises in [[true, false], [false, true]] {
        let (loser, resolver) = cancelable();
        let mut loser = Some(loser);
        let picked = pick(promises.map(|wins| if wins { ready(1) } else { loser.take().expect("one") }));
        assert_eq!(value(picked), 1);
        assert!(!resolver.is_pending());
    }
    let (loser, resolver) = cancelable::<u32>();
    assert_eq!(value(npick([loser, ready(1), ready(2)])), [1, 2]);
    assert!(!resolver.is_pending());
    let (loser, resolver) = cancelable::<u32>();
    assert_eq!(value(nchoose([loser, ready(1), ready(2)])), [1, 2]);
    assert!(resolver.is_pending());
}

#[test]
fn pick_at_the_call_cancels_each_loser_once() {
    let ((first, _keep_first), (second, keep_second)) = (cancelable::<u32>(), cancelable::<u32>());
    let second = second.shared();
    let loser = first.catch({
        let second = second.clone();
        move |_| second
    });
    assert_eq!(value(pick([loser, ready(1)])), 1);
    // What the loser went on with after its cancellation is not the pick's business any more.
    assert!(second.is_pending());
    keep_second.resolve(2);
    assert_eq!(value(second.promise()), 2);
}

#[test]
fn a_pick_that_is_cancelled_while_it_cancels_its_losers_reaches_them() {
    let trace = Trace::new();
    let ((winner, win), (first, _keep_first), (last, _keep_last)) =
        (pair::<u32>(), cancelable::<u32>(), cancelable::<u32>());
    let first = first.shared();
    let last = last.on_cancel(trace.says("last loser"));
    let picked = pick([first.promise(), winner, last]).shared();
    first.on_cancel({
        let (picked, says) = (picked.clone(), trace.clone());
        move || {
            // The pick is pending until its losers are cancelled, and its cancel walks to its inputs.
            picked.cancel();
            says.add("first loser");
        }
    });
    win.resolve(1);
    assert_eq!(trace.take(), "last loser first loser");
    assert_eq!(value(picked.promise()), 1);
}

#[test]
fn nchoose_takes_all_that_are_there_and_rejects_if_any_failed() {
    let ((a, resolve_a), (b, resolve_b)) = (pair(), pair());
    let chosen = nchoose([a, b]);
    resolve_b.resolve(2);
    assert_eq!(value(chosen), [2]);
    resolve_a.resolve(1);
    assert_eq!(error(nchoose([ready(1), rejected(fail("no")), ready(2)])).to_string(), "no");
    // Two settle in one resolution: the second before the callbacks of the first have run.
    let (gate, open) = pair::<()>();
    let ((a, resolve_a), (b, resolve_b)) = (pair(), pair());
    let chosen = npick([a, b]);
    gate.on_success(move |()| {
        resolve_a.resolve(1);
        resolve_b.resolve(2);
    });
    open.resolve(());
    assert_eq!(value(chosen), [1, 2]);
}

#[test]
fn a_callback_of_a_cancelled_loser_may_do_anything() {
    // It resolves another input, cancels the race, drops the race, and starts a new race over the same
    // promise.
    let ((a, resolve_a), (b, _keep_b), (c, resolve_c)) = (pair::<u32>(), cancelable::<u32>(), pair::<u32>());
    let slot: Rc<RefCell<Option<Promise<u32>>>> = Rc::default();
    let (inside, c) = (slot.clone(), c.shared());
    let again = c.clone();
    let b = b.on_cancel(move || {
        resolve_c.resolve_now(3);
        let race = inside.take().expect("filled below");
        race.cancel();
        drop(race);
        assert_eq!(value(pick([again.promise(), ready(9)])), 3);
    });
    *slot.borrow_mut() = Some(pick([a, b, c.promise()]));
    resolve_a.resolve(1);
    assert!(slot.borrow().is_none());
    assert_eq!(value(c.promise()), 3);
}

#[test]
fn the_same_promise_may_run_twice() {
    let (a, resolve) = pair();
    let a = a.shared();
    let chosen = pick([a.promise(), a.promise()]);
    let all = nchoose([a.promise(), a.promise()]);
    resolve.resolve(1);
    assert_eq!((value(chosen), value(all)), (1, vec![1, 1]));
}

#[test]
fn abandoned_and_panicked_inputs_decide_too() {
    let ((a, resolve_a), (b, _keep)) = (pair::<u32>(), pair::<u32>());
    let chosen = choose([a.map(|_| panic!("oops")), b]);
    resolve_a.resolve(1);
    assert_eq!(error(chosen).panic_message(), Some("oops"));
    let ((a, resolve_a), (b, _keep)) = (pair::<u32>(), pair::<u32>());
    let chosen = choose([a, b]);
    drop(resolve_a);
    assert!(error(chosen).is_abandoned());
}

#[test]
fn a_panicking_destructor_of_a_loser_is_reported_and_the_race_goes_on() {
    let seen = failures();
    let (gate, open) = pair::<()>();
    let ((a, resolve_a), (b, resolve_b)) = (pair(), pair());
    let chosen = choose([a, b]).map(|winner: Option<Bomb>| winner.is_none());
    let (other, resolve_other) = pair::<u32>();
    gate.on_success(move |()| {
        resolve_a.resolve(None);
        resolve_b.resolve(Some(Bomb));
        resolve_other.resolve(1);
    });
    open.resolve(());
    assert_eq!(value(other), 1, "the deferred resolutions after it ran");
    assert_eq!(seen.borrow().len(), 1);
    // The race had not yet settled when the loser's destructor spoke; its consumer is told nothing worse than
    // the end.
    assert!(!chosen.is_pending());
}

#[test]
#[should_panic(expected = "choose of no promises")]
fn choose_of_nothing_panics() {
    drop(choose(Vec::<Promise<()>>::new()));
}

#[test]
#[should_panic(expected = "pick of no promises")]
fn pick_of_nothing_panics() {
    drop(pick(Vec::<Promise<()>>::new()));
}

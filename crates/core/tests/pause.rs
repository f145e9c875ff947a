//! Pauses and sleeps: generations, cancellation, re-entrancy, and what `reset` leaves.

mod rig;

use lisle_core::sched::pause::{paused_count, wake_paused};
use lisle_core::sched::sleep::{advance, next_deadline, sleep_count, sleep_until};
use lisle_core::sched::{has_work, reset};
use lisle_core::{Promise, join, pause};
use rig::*;
use std::cell::RefCell;
use std::rc::Rc;

#[test]
fn pauses_wake_oldest_first_and_new_ones_wait_for_the_next_lap() {
    let trace = Trace::new();
    let says = trace.clone();
    pause()
        .bind(move |()| {
            says.add("first");
            pause().map(move |()| says.add("of the next lap"))
        })
        .detach();
    pause().on_success(trace.adds("second"));
    wake_paused();
    assert_eq!((trace.take().as_str(), paused_count()), ("first second", 1));
    wake_paused();
    assert_eq!((trace.take().as_str(), paused_count()), ("of the next lap", 0));
}

#[test]
fn waking_inside_of_waking_does_nothing() {
    let trace = Trace::new();
    let says = trace.clone();
    pause().on_success(move |()| {
        wake_paused();
        says.add("outer");
    });
    pause().on_success(trace.adds("second"));
    wake_paused();
    assert_eq!(trace.take(), "outer second");
}

#[test]
fn a_pause_nobody_holds_still_makes_a_lap() {
    drop(pause());
    assert!(has_work());
    wake_paused();
    assert!(!has_work());
    let paused = pause();
    paused.cancel();
    assert!(!has_work());
    wake_paused();
    assert!(error(paused).is_canceled());
}

#[test]
fn leaves_can_be_cancelled_looked_at_and_dropped_in_any_state() {
    for make in [pause, || sleep_until(1)] {
        let finish = || {
            wake_paused();
            advance(1);
        };
        let leaf: Promise<()> = make();
        assert!(leaf.is_pending());
        leaf.cancel();
        leaf.cancel();
        assert_eq!(leaf.status(), lisle_core::Status::Rejected);
        finish();
        assert!(error(leaf).is_canceled());
        let leaf = make();
        finish();
        leaf.cancel();
        assert_eq!(leaf.status(), lisle_core::Status::Fulfilled);
        value(leaf);
        let mut leaf = make();
        let ((count, waker), (other_count, other)) = (Count::waker(), Count::waker());
        assert!(poll_with(&mut leaf, &waker).is_pending());
        assert!(poll_with(&mut leaf, &other).is_pending());
        finish();
        assert_eq!((count.get(), other_count.get()), (0, 1));
        assert!(poll_with(&mut leaf, &waker).is_ready());
        let mut leaf = make();
        assert!(poll_with(&mut leaf, &waker).is_pending());
        let shared = leaf.shared();
        let both = join([shared.promise(), shared.promise()]);
        finish();
        value(both);
        assert_eq!(count.get(), 0);
        let shared = make().shared();
        shared.cancel();
        assert!(error(shared.promise()).is_canceled());
        finish();
    }
    assert_eq!((paused_count(), sleep_count()), (0, 0));
}

#[test]
fn a_generation_is_woken_to_its_end_whatever_its_wakers_do() {
    struct Panics;
    impl std::task::Wake for Panics {
        fn wake(self: std::sync::Arc<Self>) {
            panic!("waker");
        }
    }
    let seen = failures();
    let trace = Trace::new();
    let waker = std::task::Waker::from(std::sync::Arc::new(Panics));
    for make in [pause, || sleep_until(1)] {
        let mut first = make();
        assert!(poll_with(&mut first, &waker).is_pending());
        make().on_success(trace.adds("second"));
        wake_paused();
        advance(1);
        value(first);
        assert_eq!(trace.take(), "second");
    }
    assert_eq!(seen.borrow().len(), 2);
}

#[test]
fn sleeps_end_in_order_of_their_deadlines_and_not_before() {
    let trace = Trace::new();
    for (deadline, line) in [(30, "c"), (10, "a"), (20, "b"), (10, "a too")] {
        sleep_until(deadline).on_success(trace.adds(line));
    }
    assert!(next_deadline().is_some_and(|tick| tick <= 10));
    advance(9);
    assert_eq!(trace.take(), "");
    advance(25);
    assert_eq!(trace.take(), "a a too b");
    advance(30);
    assert_eq!((trace.take().as_str(), next_deadline()), ("c", None));
}

#[test]
fn a_callback_of_a_sleep_may_advance_and_drop_the_others_that_are_due() {
    let trace = Trace::new();
    let others: Rc<RefCell<Vec<Promise<()>>>> = Rc::default();
    let (inside, says) = (others.clone(), trace.clone());
    sleep_until(1).on_success(move |()| {
        inside.borrow_mut().clear();
        sleep_until(2).on_success(says.adds("nested"));
        advance(2);
        says.add("first");
    });
    others.borrow_mut().extend([sleep_until(1), sleep_until(1).map(|()| ())]);
    sleep_until(1).on_success(trace.adds("last"));
    advance(1);
    assert_eq!(trace.take(), "nested first last");
}

#[test]
fn reset_rejects_what_waits_whether_it_is_watched_or_only_held() {
    for make in [pause, || sleep_until(1), || sleep_until(u64::MAX)] {
        let held = make();
        let bound = make().map(|()| ());
        drop(make());
        reset();
        assert!(error(held).is_abandoned());
        assert!(error(bound).is_abandoned());
        assert!(!has_work());
        assert_eq!(sleep_count(), 0);
    }
}

#[test]
fn reset_inside_of_waking_takes_the_rest_of_the_generation() {
    let later = Rc::new(RefCell::new(None));
    let outcome = later.clone();
    pause().on_success(|()| {
        drop(pause());
        reset();
    });
    pause().on_any(|()| panic!("it was abandoned"), move |error| *outcome.borrow_mut() = Some(error));
    let held = pause();
    wake_paused();
    assert!(later.take().expect("told").is_abandoned());
    assert!(error(held).is_abandoned());
    assert_eq!(paused_count(), 0);
    let next = pause();
    assert_eq!(paused_count(), 1);
    wake_paused();
    value(next);
}

#[test]
fn a_stale_sleep_stays_stale_after_reset() {
    let stale = sleep_until(50);
    let stale_too = sleep_until(u64::MAX).map(|()| ());
    reset();
    let fresh = sleep_until(50);
    stale.cancel();
    assert!(error(stale).is_abandoned() && error(stale_too).is_abandoned());
    assert!(fresh.is_pending());
    advance(50);
    value(fresh);
}

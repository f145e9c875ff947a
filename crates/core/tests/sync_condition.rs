//! `Condition` and `MVar`: no signal and no value is lost on one who has gone.

mod rig;
use lisle_core::sync::{Condition, MVar, Mutex};
use lisle_core::{Promise, cancelable, join, live_waiters, pair, spawn};
use rig::*;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

#[test]
fn a_signal_passes_over_those_who_were_cancelled_or_dropped() {
    let condition = Condition::new();
    let (canceled, dropped, live) = (condition.wait(), condition.wait(), condition.wait());
    canceled.cancel();
    assert!(error(canceled).is_canceled());
    assert_eq!(condition.waiter_count(), 2);
    drop(dropped);
    assert!(condition.signal(1));
    assert_eq!(value(live), 1);
    assert!(!condition.signal(2));
}

#[test]
fn a_signal_sent_while_a_wait_is_being_cancelled_wakes_the_next() {
    let condition = Condition::new();
    let (other, _never) = cancelable::<()>();
    let sender = condition.clone();
    let other = other.on_cancel(move || assert!(sender.signal(1)));
    let both = join([condition.wait().map(drop), other]);
    let next = condition.wait();
    both.cancel();
    assert_eq!(value(next), 1);
    assert!(error(both).is_canceled());
}

#[test]
fn who_waits_again_in_his_callback_waits_for_the_next_broadcast() {
    let (condition, trace) = (Condition::new(), Trace::new());
    fn again(condition: &Condition<u32>, trace: &Trace) {
        let (next, told) = (condition.clone(), trace.clone());
        condition.wait().on_success(move |number| {
            told.add(number);
            again(&next, &told);
        });
    }
    again(&condition, &trace);
    again(&condition, &trace);
    assert_eq!(condition.broadcast(1), 2);
    assert_eq!(trace.take(), "1 1");
    assert_eq!(condition.broadcast(2), 2);
    assert_eq!(trace.take(), "2 2");
}

#[test]
fn a_wait_cancelled_during_a_broadcast_is_not_woken_and_takes_nobody_with_it() {
    let condition = Condition::new();
    let second: Rc<RefCell<Option<Promise<u32>>>> = Rc::default();
    let (victim, waits, later) = (second.clone(), condition.clone(), Rc::new(RefCell::new(Vec::new())));
    let new = later.clone();
    condition.wait().on_success(move |_| {
        // One of the new waits has the place that the cancelled one had before the broadcast.
        new.borrow_mut().extend([waits.wait(), waits.wait()]);
        victim.borrow().as_ref().expect("there").cancel();
    });
    *second.borrow_mut() = Some(condition.wait());
    assert_eq!(condition.broadcast(1), 1);
    assert!(error(second.take().expect("there")).is_canceled());
    assert_eq!(condition.broadcast(2), 2);
    assert_eq!(later.take().into_iter().map(value).collect::<Vec<_>>(), [2, 2]);
}

#[test]
fn a_clone_that_panics_rejects_one_wait_and_leaves_the_others() {
    struct Fragile(Rc<Cell<u32>>);
    impl Clone for Fragile {
        fn clone(&self) -> Fragile {
            assert!(self.0.replace(self.0.get() + 1) != 1, "second clone");
            Fragile(self.0.clone())
        }
    }
    let condition = Condition::new();
    let waits: Vec<_> = (0..3).map(|_| condition.wait().map(|_: Fragile| ())).collect();
    assert_eq!(condition.broadcast(Fragile(Rc::default())), 3);
    let mut ends = waits.into_iter().map(done);
    assert!(ends.next().expect("three").is_ok());
    assert_eq!(ends.next().expect("three").expect_err("panicked").panic_message(), Some("second clone"));
    assert!(ends.next().expect("three").is_ok());
}

#[test]
fn waits_of_a_condition_that_is_gone_are_abandoned() {
    let condition = Condition::<u32>::new();
    let (plain, mutex) = (condition.wait(), Mutex::new(7));
    let with_guard = condition.wait_with(mutex.try_lock().expect("free"));
    let other = condition.clone();
    drop(condition);
    assert!(plain.is_pending());
    drop(other);
    assert!(error(plain).is_abandoned());
    assert!(error(with_guard).is_abandoned());
    assert_eq!(*mutex.try_lock().expect("free"), 7);
}

#[test]
fn the_wait_stands_in_the_queue_before_the_mutex_is_free() {
    let (condition, mutex, trace) = (Condition::new(), Mutex::new(()), Trace::new());
    let guard = mutex.try_lock().expect("free");
    let (sender, told) = (condition.clone(), trace.clone());
    mutex.lock().on_success(move |_guard| told.add(sender.signal(3)));
    let told = trace.clone();
    condition.wait_with(guard).on_success(move |(_guard, number)| told.add(number));
    assert_eq!(trace.take(), "true 3");
    assert!(!mutex.is_locked());
}

#[test]
fn a_wait_may_be_cancelled_while_it_waits_for_its_mutex_again() {
    let (condition, mutex) = (Condition::new(), Mutex::new(()));
    let waiting = condition.wait_with(mutex.try_lock().expect("free"));
    let guard = mutex.try_lock().expect("free");
    condition.signal(1);
    assert!(waiting.is_pending());
    waiting.cancel();
    assert!(error(waiting).is_canceled());
    drop(guard);
    assert!(!mutex.is_locked() && mutex.is_empty());
}

/// BR-157: with signals, broadcasts, cancels, drops and late waits mixed at random, each signal wakes
/// exactly one live wait, the oldest.
#[test]
fn br_157_each_signal_wakes_the_oldest_live_wait() {
    let mut random = Random(7);
    let condition = Condition::new();
    let mut waits: VecDeque<Promise<u32>> = VecDeque::new();
    for round in 0..200_000 {
        match random.below(8) {
            0..=2 => waits.push_back(condition.wait()),
            3 => {
                let late: Rc<RefCell<Option<Promise<u32>>>> = Rc::default();
                let (slot, again) = (late.clone(), condition.clone());
                let woken = waits.pop_front().map(|wait| {
                    wait.map(move |number| {
                        *slot.borrow_mut() = Some(again.wait());
                        number
                    })
                });
                assert_eq!(condition.signal(round), woken.is_some());
                assert_eq!(woken.map(value), late.borrow().is_some().then_some(round));
                waits.extend(late.take());
            }
            4 if !waits.is_empty() => {
                let index = random.below(waits.len() as u32) as usize;
                let wait = waits.remove(index).expect("in range");
                wait.cancel();
                assert!(error(wait).is_canceled());
            }
            5 if !waits.is_empty() => drop(waits.remove(random.below(waits.len() as u32) as usize)),
            6 if random.below(20) == 0 => {
                assert_eq!(condition.broadcast(round), waits.len());
                waits.drain(..).for_each(|wait| assert_eq!(value(wait), round));
            }
            _ => {
                let oldest = waits.pop_front();
                assert_eq!(condition.signal(round), oldest.is_some());
                if let Some(wait) = oldest {
                    assert_eq!(value(wait), round);
                }
            }
        }
    }
}

/// Numbers from a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % u64::from(limit)) as u32
    }
}

#[test]
fn a_value_passes_over_takers_who_were_cancelled_or_dropped() {
    let mailbox = MVar::empty();
    let (canceled, dropped, live) = (mailbox.take(), mailbox.take(), mailbox.take());
    canceled.cancel();
    assert!(error(canceled).is_canceled());
    drop(dropped);
    value(mailbox.put(1));
    assert_eq!(value(live), 1);
    drop(mailbox.take());
    value(mailbox.put(2));
    assert_eq!(mailbox.take_available(), Some(2));
}

#[test]
fn a_value_put_while_its_taker_is_being_cancelled_stays() {
    let mailbox = MVar::empty();
    let (other, _never) = cancelable::<()>();
    let sender = mailbox.clone();
    let other = other.on_cancel(move || value(sender.put(1)));
    let both = join([mailbox.take().map(drop), other]);
    both.cancel();
    assert!(error(both).is_canceled());
    assert_eq!(mailbox.take_available(), Some(1));
}

#[test]
fn a_put_whose_promise_is_dropped_is_put() {
    let mailbox = MVar::new(0);
    drop(mailbox.put(1));
    mailbox.put(2).detach();
    assert_eq!(
        (0..4).map(|_| mailbox.take_available()).collect::<Vec<_>>(),
        [Some(0), Some(1), Some(2), None]
    );
}

#[test]
fn a_reserved_place_is_nobody_elses() {
    let mailbox = MVar::empty();
    let place = value(mailbox.reserve());
    let (put, taken) = (mailbox.put(2), mailbox.take());
    assert!(mailbox.is_empty() && put.is_pending() && taken.is_pending());
    assert_eq!(mailbox.take_available(), None);
    place.put(1);
    assert_eq!(value(taken), 1);
    value(put);
    assert_eq!(mailbox.take_available(), Some(2));
}

#[test]
fn a_reserved_place_that_is_given_up_goes_to_the_next() {
    let mailbox = MVar::empty();
    let place = value(mailbox.reserve());
    let (second, third, fourth) = (mailbox.reserve(), mailbox.put(3), mailbox.put(4));
    let takes: Vec<_> = (0..2).map(|_| mailbox.take()).collect();
    drop(place);
    drop(value(second));
    value(third);
    value(fourth);
    assert_eq!(takes.into_iter().map(value).collect::<Vec<_>>(), [3, 4]);
    assert!(mailbox.is_empty());
    value(mailbox.put(5));
}

#[test]
fn a_reservation_that_is_cancelled_or_dropped_is_passed_over() {
    let mailbox = MVar::new(0);
    let (canceled, dropped, put) = (mailbox.reserve(), mailbox.reserve(), mailbox.put(1));
    canceled.cancel();
    assert!(error(canceled).is_canceled());
    drop(dropped);
    assert_eq!(mailbox.take_available(), Some(0));
    value(put);
    let granted = mailbox.reserve();
    assert_eq!(mailbox.take_available(), Some(1));
    drop(granted);
    value(mailbox.put(2));
}

#[test]
fn a_taker_that_leaves_as_the_put_before_it_is_told_loses_no_value() {
    let mailbox = MVar::empty();
    let place = value(mailbox.reserve());
    let taken: Rc<RefCell<Option<Promise<u32>>>> = Rc::default();
    let victim = taken.clone();
    let put = mailbox.put(1).map(move |()| victim.borrow().as_ref().expect("there").cancel());
    *taken.borrow_mut() = Some(mailbox.take());
    drop(place);
    value(put);
    assert!(error(taken.take().expect("there")).is_canceled());
    assert_eq!(mailbox.take_available(), Some(1));
}

#[test]
fn callbacks_find_the_place_as_it_is() {
    let (mailbox, trace) = (MVar::new(0), Trace::new());
    let (again, told) = (mailbox.clone(), trace.clone());
    mailbox.put(1).on_success(move |()| told.add(format!("{:?}", again.take_available())));
    assert_eq!(mailbox.take_available(), Some(0));
    assert_eq!(trace.take(), "Some(1)");
    let (again, told) = (mailbox.clone(), trace.clone());
    mailbox.take().on_success(move |number| {
        told.add(number);
        value(again.put(3));
    });
    value(mailbox.put(2));
    assert_eq!(trace.take(), "2");
    assert_eq!(mailbox.take_available(), Some(3));
}

#[test]
fn those_who_wait_at_a_place_that_is_gone_are_abandoned() {
    let empty = MVar::<u32>::empty();
    let taken = empty.take();
    drop(empty);
    assert!(error(taken).is_abandoned());
    let full = MVar::new(1);
    let (put, place) = (full.put(2), full.reserve());
    drop(full);
    assert!(error(put).is_abandoned());
    assert!(error(place).is_abandoned());
    let empty = MVar::<u32>::empty();
    let place = value(empty.reserve());
    let taken = empty.take();
    drop(empty);
    place.put(3);
    assert_eq!(value(taken), 3);
}

#[test]
fn no_value_is_lost_or_doubled_whatever_is_cancelled() {
    let mut random = Random(11);
    let mailbox = MVar::empty();
    let mut puts: Vec<(u32, Promise<()>)> = Vec::new();
    let mut takes: Vec<Promise<u32>> = Vec::new();
    let (mut expected, mut got) = (Vec::new(), Vec::new());
    for number in 0..100_000 {
        match random.below(6) {
            0 | 1 => puts.push((number, mailbox.put(number))),
            2 => takes.push(mailbox.take()),
            3 => got.extend(mailbox.take_available()),
            4 if !puts.is_empty() => {
                let (number, put) = puts.swap_remove(random.below(puts.len() as u32) as usize);
                put.cancel();
                if done(put).is_ok() {
                    expected.push(number);
                }
            }
            5 if !takes.is_empty() => {
                let take = takes.swap_remove(random.below(takes.len() as u32) as usize);
                take.cancel();
                got.extend(done(take).ok());
            }
            _ => {}
        }
    }
    while let Some(number) = mailbox.take_available() {
        got.push(number);
    }
    expected.extend(puts.into_iter().filter_map(|(number, put)| done(put).is_ok().then_some(number)));
    got.extend(
        takes.into_iter().filter_map(|take| take.try_take().ok()).map(|taken| taken.expect("a value")),
    );
    expected.sort_unstable();
    got.sort_unstable();
    assert_eq!(got, expected);
    drop(mailbox);
    assert_eq!(live_waiters(), 0);
}

#[test]
fn tasks_wait_for_conditions_and_places() {
    let (condition, mailbox) = (Condition::new(), MVar::empty());
    let (waits, puts) = (condition.clone(), mailbox.clone());
    let task = spawn(async move {
        let number = waits.wait().await?;
        puts.put(number).await?;
        puts.reserve().await?.put(number + 1);
        Ok::<_, lisle_core::Error>(())
    });
    condition.signal(1);
    run();
    assert_eq!(mailbox.take_available(), Some(1));
    run();
    assert_eq!(mailbox.take_available(), Some(2));
    run();
    value(task).expect("no error");
}

#[test]
fn a_wait_with_a_guard_that_was_dropped_takes_no_signal() {
    let seen = failures();
    let (condition, mutex) = (Condition::new(), Mutex::new(()));
    let wait = || condition.wait_with(mutex.try_lock().expect("free"));
    drop(wait());
    let (mapped, live) = (wait().map(|(_guard, number)| number), wait());
    let observed = Rc::new(Cell::new(false));
    let saw = observed.clone();
    drop(wait().on_termination(move || saw.set(true)));
    let shared = wait().map(|(_guard, number)| number).shared();
    assert!(condition.signal(1));
    assert_eq!(value(mapped), 1);
    assert!(condition.signal(2));
    assert_eq!(value(live).1, 2);
    assert!(condition.signal(3));
    assert!(observed.get());
    assert!(condition.signal(4));
    assert_eq!(value(shared.promise()), 4);
    assert!(!condition.signal(5));
    assert!(!mutex.is_locked() && seen.borrow().is_empty());

    (0..100_000).for_each(|_| drop(wait()));
    assert!(condition.waiter_count() < 100);
    assert_eq!(condition.broadcast(6), 0);
    assert!(!mutex.is_locked() && seen.borrow().is_empty());
}

#[test]
fn a_wait_with_a_guard_merged_into_another_promise_is_seen_through_it() {
    let (condition, mutex) = (Condition::new(), Mutex::new(()));
    for is_dropped in [true, false] {
        let (start, go) = pair::<()>();
        let (inside, theirs) = (condition.clone(), mutex.clone());
        let merged = start.bind(move |()| inside.wait_with(theirs.try_lock().expect("free")));
        go.resolve(());
        let kept = (!is_dropped).then_some(merged);
        assert_eq!(condition.signal(1), kept.is_some());
        assert_eq!(kept.map(|promise| value(promise).1), (!is_dropped).then_some(1));
    }
    let (start, go) = pair::<()>();
    let inside = condition.clone();
    let merged = start.bind(move |()| inside.wait());
    go.resolve(());
    drop(merged);
    assert!(!condition.signal(1));
}

//! `Semaphore` and `Barrier`: permits in strict order, and meetings that nobody misses.

mod rig;
use lisle_core::sync::{Barrier, Permit, Semaphore, TooManyPermits};
use lisle_core::{Promise, cancelable, join, live_waiters, pause, ready, spawn};
use rig::*;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

#[test]
fn a_large_request_is_not_starved_by_small_ones() {
    let semaphore = Semaphore::new(3);
    let first = value(semaphore.acquire());
    let (large, small) = (semaphore.acquire_many(3), semaphore.acquire());
    assert!(large.is_pending() && small.is_pending(), "the small one would fit, but came later");
    assert!(semaphore.try_acquire().is_none());
    assert_eq!((semaphore.available(), semaphore.waiter_count()), (2, 2));
    drop(first);
    let large = value(large);
    assert_eq!(large.count(), 3);
    assert!(small.is_pending());
    drop(large);
    drop(value(small));
    assert_eq!(semaphore.available(), 3);
}

#[test]
fn who_stood_behind_a_request_that_is_cancelled_goes_at_once() {
    let semaphore = Semaphore::new(2);
    let held = value(semaphore.acquire());
    let (large, small) = (semaphore.acquire_many(2), semaphore.acquire());
    large.cancel();
    assert!(error(large).is_canceled());
    drop((value(small), held));
    assert_eq!(semaphore.available(), 2);
}

#[test]
fn a_request_whose_promise_was_dropped_is_passed_over() {
    let semaphore = Semaphore::new(2);
    let held = value(semaphore.acquire());
    drop(semaphore.acquire_many(2));
    drop(value(semaphore.acquire()));
    drop(semaphore.acquire_many(2));
    let small = semaphore.try_acquire().expect("nobody waits");
    drop((held, small));
    assert_eq!((semaphore.available(), semaphore.waiter_count()), (2, 0));
}

#[test]
fn more_than_there_are_is_refused_at_once() {
    let semaphore = Semaphore::new(2);
    let reason = error(semaphore.acquire_many(3));
    assert_eq!(reason.downcast_ref(), Some(&TooManyPermits { asked: 3, total: 2 }));
    assert!(reason.to_string().starts_with("asked for 3 permits of a semaphore that has 2 in all"));
    semaphore.add_permits(1);
    assert_eq!(value(semaphore.acquire_many(3)).count(), 3);
    assert_eq!(value(semaphore.acquire_many(0)).count(), 0);
}

#[test]
fn permits_may_be_split_forgotten_and_added() {
    let semaphore = Semaphore::new(3);
    let mut permit = value(semaphore.acquire_many(3));
    assert!(permit.split(4).is_none());
    assert_eq!(permit.count(), 3);
    let part = permit.split(1).expect("one of three");
    part.forget();
    assert_eq!(semaphore.available(), 0);
    drop(permit);
    assert_eq!(semaphore.available(), 2);
    assert!(error(semaphore.acquire_many(3)).downcast_ref::<TooManyPermits>().is_some());
    let held = value(semaphore.acquire_many(2));
    let waiting = semaphore.acquire();
    semaphore.add_permits(1);
    drop((value(waiting), held));
    assert_eq!(format!("{semaphore:?}"), "Semaphore { available: 3, waiters: 0 }");
}

#[test]
fn a_permit_given_back_while_its_waiter_is_being_cancelled_goes_to_the_next() {
    let semaphore = Semaphore::new(1);
    let held = value(semaphore.acquire());
    let (other, _never) = cancelable::<()>();
    let other = other.on_cancel(move || drop(held));
    let both = join([semaphore.acquire().map(drop), other]);
    let next = semaphore.acquire();
    both.cancel();
    drop(value(next));
    assert!(error(both).is_canceled());
    assert_eq!(semaphore.available(), 1);
}

#[test]
fn requests_of_a_semaphore_that_is_gone_are_abandoned() {
    let semaphore = Semaphore::new(1);
    let held = value(semaphore.acquire());
    let waiting = semaphore.acquire();
    held.forget();
    drop(semaphore);
    assert!(error(waiting).is_abandoned());
}

#[test]
fn permits_are_neither_lost_nor_made_and_the_order_is_kept() {
    const PERMITS: usize = 7;
    let mut random = 5_u64;
    let mut below = |limit: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as usize % limit
    };
    let semaphore = Semaphore::new(PERMITS);
    let mut held: Vec<Permit> = Vec::new();
    let mut waiting: VecDeque<Promise<Permit>> = VecDeque::new();
    for _ in 0..100_000 {
        match below(5) {
            0 | 1 => waiting.push_back(semaphore.acquire_many(below(PERMITS + 1))),
            2 if !waiting.is_empty() => {
                let promise = waiting.remove(below(waiting.len())).expect("in range");
                promise.cancel();
                drop(done(promise));
            }
            3 if !waiting.is_empty() => drop(waiting.remove(below(waiting.len()))),
            _ if !held.is_empty() => drop(held.swap_remove(below(held.len()))),
            _ => held.extend(semaphore.try_acquire()),
        }
        let first_pending = waiting.iter().position(Promise::is_pending).unwrap_or(waiting.len());
        assert!(waiting.iter().skip(first_pending).all(Promise::is_pending), "one overtook another");
        held.extend(waiting.drain(..first_pending).map(value));
        let count: usize = held.iter().map(Permit::count).sum();
        assert_eq!(count + semaphore.available(), PERMITS);
    }
    drop((held, waiting));
    assert!(semaphore.try_acquire_many(PERMITS).is_some());
    assert_eq!(live_waiters(), 0);
}

#[test]
fn no_more_tasks_than_permits_work_at_a_time() {
    let (semaphore, working, most) = (Semaphore::new(3), Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
    let tasks: Vec<_> = (0..20)
        .map(|_| {
            let (semaphore, working, most) = (semaphore.clone(), working.clone(), most.clone());
            spawn(async move {
                let _permit = semaphore.acquire().await?;
                working.set(working.get() + 1);
                most.set(most.get().max(working.get()));
                pause().await?;
                working.set(working.get() - 1);
                Ok::<_, lisle_core::Error>(())
            })
        })
        .collect();
    run();
    tasks.into_iter().for_each(|task| value(task).expect("no error"));
    assert_eq!((working.get(), most.get(), semaphore.available()), (0, 3, 3));
}

#[test]
fn the_last_arrival_leads_and_the_others_are_told_oldest_first() {
    let (barrier, trace) = (Barrier::new(3), Trace::new());
    for number in 0..2 {
        let trace = trace.clone();
        barrier.wait().on_success(move |arrival| trace.add(format!("{number} {}", arrival.is_leader())));
    }
    assert_eq!(trace.take(), "");
    assert!(value(barrier.wait()).is_leader());
    assert_eq!(trace.take(), "0 false 1 false");
    assert!(barrier.wait().is_pending());
    assert!(value(Barrier::new(1).wait()).is_leader());
    assert!(value(Barrier::new(0).wait()).is_leader());
}

#[test]
fn an_arrival_may_be_taken_back_by_cancelling_only() {
    let barrier = Barrier::new(3);
    let (canceled, waiting) = (barrier.wait(), barrier.wait());
    canceled.cancel();
    assert!(error(canceled).is_canceled());
    let second = barrier.wait();
    assert!(waiting.is_pending() && second.is_pending());
    drop(second);
    assert!(value(barrier.wait()).is_leader(), "the dropped one has arrived");
    assert!(!value(waiting).is_leader());
}

#[test]
fn an_arrival_that_is_being_cancelled_does_not_open_the_barrier() {
    let barrier = Barrier::new(2);
    let (other, _never) = cancelable::<()>();
    let (meanwhile, slot) = (barrier.clone(), Rc::new(RefCell::new(None)));
    let late = slot.clone();
    let other = other.on_cancel(move || *late.borrow_mut() = Some(meanwhile.wait()));
    let both = join([barrier.wait().map(drop), other]);
    both.cancel();
    assert!(error(both).is_canceled());
    let late = slot.take().expect("made");
    assert!(late.is_pending());
    assert!(value(barrier.wait()).is_leader());
    value(late);
}

#[test]
fn those_who_wait_at_a_barrier_that_is_gone_are_abandoned() {
    let barrier = Barrier::new(2);
    let waiting = barrier.wait();
    drop(barrier);
    assert!(error(waiting).is_abandoned());
}

/// BR-157: participants that arrive again from inside their own wake-up meet a million times and none is
/// left behind.
#[test]
fn br_157_a_million_meetings_with_arrivals_out_of_wake_ups() {
    const ROUNDS: u32 = 1_000_000;
    fn meet(barrier: &Barrier, left: u32, met: &Rc<Cell<u32>>) -> Promise<()> {
        met.set(met.get() + 1);
        match left {
            0 => ready(()),
            _ => {
                let (barrier, met) = (barrier.clone(), met.clone());
                // Out of the stack: the last to arrive goes on at once.
                barrier.clone().wait().bind(|_| pause()).bind(move |()| meet(&barrier, left - 1, &met))
            }
        }
    }
    const PARTICIPANTS: u32 = 3;
    let (barrier, met) = (Barrier::new(PARTICIPANTS as usize), Rc::new(Cell::new(0)));
    let ends: Vec<_> = (0..PARTICIPANTS).map(|_| meet(&barrier, ROUNDS / PARTICIPANTS, &met)).collect();
    run();
    ends.into_iter().for_each(value);
    assert_eq!(met.get(), PARTICIPANTS * (ROUNDS / PARTICIPANTS + 1));

    // Late arrivals in the middle of a meeting are in the next one.
    let barrier = Barrier::new(2);
    let (again, late) = (barrier.clone(), Rc::new(RefCell::new(None)));
    let slot = late.clone();
    barrier.wait().on_success(move |_| *slot.borrow_mut() = Some(again.wait()));
    assert!(value(barrier.wait()).is_leader());
    let late = late.take().expect("arrived");
    assert!(late.is_pending());
    value(barrier.wait());
    assert!(!value(late).is_leader());
}

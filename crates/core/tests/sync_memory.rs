//! Live bytes stay the same over a million rounds of each primitive (in release builds), and what is free
//! costs no allocation.

mod counting;
mod rig;
use counting::{allocations, flat, live_bytes};
use lisle_core::sync::{Barrier, Condition, MVar, Mutex, Pool, Semaphore, Switch};
use lisle_core::{Error, Promise, pair, pick, ready, rejected, wake_paused};
use rig::*;
use std::cell::Cell;

/// Debug builds are slow: they do a part of it.
const ROUNDS: usize = if cfg!(debug_assertions) { 100_000 } else { 1_000_000 };

/// As `flat`, for work that leaves waits behind whose promise is dropped: what they hold is bounded.
#[track_caller]
fn bounded(times: usize, mut work: impl FnMut()) {
    const LEFT_BYTES_MAX: isize = 64 << 10;
    let bytes = live_bytes();
    for _ in 0..times {
        work();
        assert!(live_bytes() < bytes + LEFT_BYTES_MAX, "dropped waits pile up");
    }
}

#[test]
fn what_is_free_costs_no_allocation() {
    let (mutex, semaphore, mailbox) = (Mutex::new(0), Semaphore::new(2), MVar::empty());
    let pool = Pool::new(1, || ready(0));
    drop(value(pool.acquire()));
    let calls = allocations(|| {
        *value(mutex.lock()) += 1;
        assert_eq!(value(mutex.with_lock(|number| ready(*number))), 1);
        drop(value(semaphore.acquire_many(2)));
        value(mailbox.put(1));
        assert_eq!(value(mailbox.take()), 1);
        value(mailbox.reserve()).put(2);
        assert_eq!(mailbox.take_available(), Some(2));
    });
    assert_eq!(calls, 0);
    assert_eq!(allocations(|| drop(value(pool.acquire()))), 1, "the loan");
}

#[test]
fn many_hand_overs_of_a_mutex_are_flat() {
    let mutex = Mutex::new(0_u64);
    flat(ROUNDS, || {
        let guard = value(mutex.lock());
        let waiting = mutex.lock().map(|mut number| *number += 1);
        let canceled = mutex.lock();
        canceled.cancel();
        assert!(error(canceled).is_canceled());
        drop(guard);
        value(waiting);
    });
}

#[test]
fn waits_that_are_cancelled_or_dropped_behind_a_lasting_lock_leave_nothing() {
    let (mutex, semaphore) = (Mutex::new(()), Semaphore::new(1));
    let (guard, permit) = (value(mutex.lock()), value(semaphore.acquire()));
    let (first, first_request) = (mutex.lock(), semaphore.acquire());
    flat(ROUNDS, || {
        mutex.lock().cancel();
        semaphore.acquire().cancel();
        let (tick, ring) = pair();
        let raced = pick([mutex.lock().map(drop), tick]);
        ring.resolve(());
        value(raced);
    });
    bounded(ROUNDS / 4, || {
        drop(mutex.lock());
        drop(semaphore.acquire());
    });
    drop((guard, permit));
    drop((value(first), value(first_request)));
}

#[test]
fn many_signals_and_waits_without_signals_are_flat() {
    let (condition, mutex) = (Condition::new(), Mutex::new(()));
    let lasting = condition.wait();
    flat(ROUNDS, || {
        let canceled = condition.wait();
        canceled.cancel();
        drop(canceled);
    });
    condition.signal(0);
    value(lasting);
    flat(ROUNDS, || {
        let waiting = condition.wait();
        let with_guard = condition.wait_with(value(mutex.lock()));
        condition.broadcast(1);
        value(waiting);
        drop(value(with_guard));
    });
    bounded(ROUNDS / 4, || drop(condition.wait()));
    assert_eq!(condition.broadcast(1), 0);
}

#[test]
fn many_values_through_a_mailbox_are_flat() {
    let mailbox = MVar::empty();
    flat(ROUNDS, || {
        let taken = mailbox.take();
        value(mailbox.put(1));
        value(taken);
        value(mailbox.put(2));
        let (queued, canceled) = (mailbox.put(3), mailbox.put(4));
        let place = mailbox.reserve();
        canceled.cancel();
        drop(canceled);
        assert_eq!((mailbox.take_available(), mailbox.take_available()), (Some(2), Some(3)));
        value(queued);
        value(place).put(5);
        assert_eq!(mailbox.take_available(), Some(5));
    });
    bounded(ROUNDS / 4, || drop(mailbox.take()));
}

#[test]
fn many_permits_and_meetings_are_flat() {
    let (semaphore, barrier) = (Semaphore::new(2), Barrier::new(2));
    flat(ROUNDS, || {
        let held = value(semaphore.acquire());
        let (large, small) = (semaphore.acquire_many(2), semaphore.acquire());
        large.cancel();
        drop(large);
        drop((held, value(small)));
        let first = barrier.wait();
        value(barrier.wait());
        value(first);
        barrier.wait().cancel();
    });
}

#[test]
fn many_uses_of_a_pool_are_flat() {
    let made = Cell::new(0_u32);
    let factory = move || {
        let number = made.replace(made.get().wrapping_add(1));
        if number.is_multiple_of(3) { Err(Error::canceled()) } else { Ok(number) }
    };
    let pool = Pool::builder(1, factory)
        .validate(|element| Ok::<_, Error>((*element).is_multiple_of(2)))
        .check(|element| (*element).is_multiple_of(5))
        .build();
    flat(ROUNDS / 4, || {
        let (work, end) = pair::<()>();
        let first = pool.use_with(|_element| work);
        let second = pool.use_with(|_element| ready(()));
        let third: Promise<()> = pool.use_with(|_element| rejected(Error::canceled()));
        pool.use_with(|_element| ready(())).cancel();
        end.resolve(());
        wake_paused();
        drop((done(first), done(second), done(third)));
        value(pool.clear());
    });
    assert_eq!((pool.count(), pool.wait_queue_length()), (0, 0));
}

#[test]
fn many_switches_and_hooks_of_one_are_flat() {
    let lasting = Switch::new();
    flat(ROUNDS, || {
        let key = lasting.add_hook(|| ready(())).expect("on");
        assert!(lasting.remove_hook(key));
        let switch = Switch::new();
        switch.add_hook(|| ready(())).expect("on");
        value(switch.turn_off());
    });
}

#[test]
fn a_queue_that_is_empty_again_gives_its_memory_back() {
    let condition = Condition::new();
    drop(condition.wait());
    assert!(!condition.signal(()));
    let burst = || {
        let waits: Vec<_> = (0..10_000).map(|_| condition.wait()).collect();
        condition.broadcast(());
        waits.into_iter().for_each(value);
        let waits: Vec<_> = (0..10_000).map(|_| condition.wait()).collect();
        waits.iter().for_each(Promise::cancel);
    };
    burst();
    let bytes = live_bytes();
    let mutex = Mutex::new(());
    let guard = value(mutex.lock());
    let locks: Vec<_> = (0..10_000).map(|_| mutex.lock()).collect();
    drop(guard);
    locks.into_iter().for_each(|lock| drop(value(lock)));
    burst();
    assert!(live_bytes() < bytes + 4096, "{} bytes are kept", live_bytes() - bytes);
}

//! Lwt_mutex.

use crate::rig::{done, error, fail, value};
use lisle_core::sync::{Mutex, MutexGuard};
use lisle_core::{Promise, cancelable, pair, pause, pick, ready, rejected, spawn, wake_paused};
use std::cell::RefCell;
use std::rc::Rc;

/// MUTEX-01: a queued lock that is cancelled never acquires, and the next lock succeeds after a release.
#[test]
fn mutex_01_a_cancelled_request_never_acquires() {
    let mutex = Mutex::new(());
    let held = value(mutex.lock());
    let (queued, reached) = (mutex.lock(), Rc::new(RefCell::new(false)));
    let seen = reached.clone();
    let second = queued.map(move |guard| {
        *seen.borrow_mut() = true;
        drop(guard);
    });
    second.cancel();
    assert!(error(second).is_canceled());
    assert!(mutex.is_empty() && mutex.is_locked());
    drop(held);
    assert!(!*reached.borrow());
    drop(value(mutex.lock()));
}

/// MUTEX-02: a lock handed on inside a resolution cannot be cancelled any more; its holder runs later and
/// releases.
#[test]
fn mutex_02_a_granted_lock_whose_callback_is_deferred_is_not_cancelled() {
    let mutex = Mutex::new(());
    let first = value(mutex.lock());
    let ran = Rc::new(RefCell::new(false));
    let seen = ran.clone();
    let second = mutex.lock().map(move |guard| {
        *seen.borrow_mut() = true;
        drop(guard);
    });
    let second = second.shared();
    let (start, go) = pair::<()>();
    let (inside, of_second, seen) = (mutex.clone(), second.clone(), ran.clone());
    let checked = start.map(move |()| {
        drop(first);
        assert!(inside.is_locked(), "handed on, not unlocked");
        assert!(!*seen.borrow(), "deferred");
        of_second.cancel();
        assert!(of_second.is_pending(), "cancelling found nothing");
    });
    go.resolve(());
    value(checked);
    value(second.promise());
    assert!(*ran.borrow() && !mutex.is_locked());
}

/// X-MUTEX-01: the oldest waiter gets the lock with no unlocked state between; `with_lock` releases on
/// error; what unlocks is the guard, so nothing unlocks a mutex that is not locked.
#[test]
fn x_mutex_01_waiters_are_served_in_order_and_the_lock_is_never_free_between() {
    let mutex = Mutex::new(Vec::new());
    let held = value(mutex.lock());
    let waiting: Vec<Promise<()>> = (0..3)
        .map(|number| {
            let inside = mutex.clone();
            mutex.lock().map(move |mut order: MutexGuard<Vec<u32>>| {
                assert!(inside.is_locked() && inside.try_lock().is_none());
                order.push(number);
            })
        })
        .collect();
    assert!(!mutex.is_empty());
    drop(held);
    waiting.into_iter().for_each(value);
    assert_eq!(*value(mutex.lock()), [0, 1, 2]);
    assert!(!mutex.is_locked() && mutex.is_empty());

    let failed: Promise<()> = mutex.with_lock(|_| rejected(fail("body")));
    assert_eq!(error(failed).to_string(), "body");
    assert!(!mutex.is_locked());
}

/// BR-154: in Lisle's own race the loser gives its place up, so a lock asked for in the handler is granted;
/// so is it when the loser is dropped, and a task goes on with its own lock whether anybody polls it or
/// not.
#[test]
fn br_154_a_loser_of_a_race_holds_no_place_in_the_queue() {
    let mutex = Mutex::new(());
    let held = value(mutex.lock());
    let (tick, ring) = cancelable::<()>();
    let raced = pick([mutex.lock().map(|_guard| "lock"), tick.map(|()| "tick")]);
    ring.resolve(());
    assert_eq!(value(raced), "tick");
    let in_handler = mutex.lock();
    drop(held);
    drop(value(in_handler));

    let held = value(mutex.lock());
    drop(mutex.lock());
    let in_handler = mutex.lock();
    drop(held);
    drop(value(in_handler));

    let held = value(mutex.lock());
    let theirs = mutex.clone();
    let task = spawn(async move {
        let _guard = theirs.lock().await?;
        pause().await
    });
    let ours = mutex.lock().bind(|_guard| ready(()));
    drop(held);
    lisle_core::sched::tasks::run_ready();
    wake_paused();
    lisle_core::sched::tasks::run_ready();
    value(ours);
    assert!(done(task).is_ok());
}

//! Lwt_condition.

use crate::rig::{error, fail, value};
use lisle_core::sync::{Condition, Mutex, MutexGuard};
use std::cell::RefCell;
use std::rc::Rc;

/// COND-01: a waiter receives the value of the signal.
#[test]
fn cond_01_a_waiter_receives_the_value() {
    let condition = Condition::new();
    let waiting = condition.wait();
    assert!(waiting.is_pending());
    assert!(condition.signal(1));
    assert_eq!(value(waiting), 1);
}

/// COND-02: a wait with a locked mutex is pending, and the mutex is unlocked meanwhile.
#[test]
fn cond_02_the_mutex_is_unlocked_while_waiting() {
    let (condition, mutex) = (Condition::<u32>::new(), Mutex::new(()));
    let waiting = condition.wait_with(value(mutex.lock()));
    assert!(waiting.is_pending() && !mutex.is_locked());
}

/// COND-03: the mutex is locked again before the waiter goes on with the value.
#[test]
fn cond_03_the_mutex_is_locked_again_before_the_waiter_goes_on() {
    let (condition, mutex) = (Condition::new(), Mutex::new(()));
    let inside = mutex.clone();
    let waiting = condition.wait_with(value(mutex.lock())).map(move |(guard, value)| {
        assert!(inside.is_locked());
        (guard, value)
    });
    condition.signal(1);
    let (guard, got) = value(waiting);
    assert!(got == 1 && mutex.is_locked());
    drop::<MutexGuard<()>>(guard);
    assert!(!mutex.is_locked());
}

/// COND-04: a signal with no waiter is lost.
#[test]
fn cond_04_a_signal_with_no_waiter_is_lost() {
    let condition = Condition::new();
    assert!(!condition.signal(1));
    assert!(condition.wait().is_pending());
}

/// COND-05: a broadcast wakes two waiters with its value.
#[test]
fn cond_05_a_broadcast_wakes_all() {
    let condition = Condition::new();
    let (first, second) = (condition.wait(), condition.wait());
    assert_eq!(condition.broadcast(1), 2);
    assert_eq!((value(first), value(second)), (1, 1));
}

/// COND-06: a broadcast of an error rejects two waiters with it.
#[test]
fn cond_06_a_broadcast_error_rejects_all() {
    let condition = Condition::<u32>::new();
    let (first, second) = (condition.wait(), condition.wait());
    assert_eq!(condition.broadcast_error(fail("end")), 2);
    assert_eq!(error(first).to_string(), "end");
    assert_eq!(error(second).to_string(), "end");
}

/// X-COND-01: signal wakes the oldest, broadcast all in order; a cancelled wait has the mutex again before
/// that is told.
#[test]
fn x_cond_01_waiters_are_woken_oldest_first_and_a_cancelled_wait_locks_again() {
    let condition = Condition::new();
    let order = Rc::new(RefCell::new(Vec::new()));
    for number in 0..4 {
        let order = order.clone();
        condition.wait().on_success(move |()| order.borrow_mut().push(number));
    }
    condition.signal(());
    assert_eq!(*order.borrow(), [0]);
    condition.broadcast(());
    assert_eq!(*order.borrow(), [0, 1, 2, 3]);

    let mutex = Mutex::new(());
    let waiting = condition.wait_with(value(mutex.lock()));
    let other = value(mutex.lock());
    waiting.cancel();
    assert!(waiting.is_pending(), "it waits for the mutex");
    drop(other);
    assert!(error(waiting).is_canceled());
    assert!(!mutex.is_locked());
    assert!(!condition.signal(()), "it has left the queue");
}

//! `Mutex`: who has it next, what cancelling, dropping and panicking leave behind, and where callbacks run
//! meanwhile.

mod rig;
use lisle_core::sync::{Mutex, MutexGuard};
use lisle_core::{Promise, cancelable, join, live_waiters, pair, pause, ready, spawn};
use rig::*;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<T> {
    mutex.try_lock().expect("it is free")
}

#[test]
fn a_free_mutex_is_locked_at_once_and_holds_its_value() {
    let mutex = Mutex::new(String::from("a"));
    let mut guard = value(mutex.lock());
    guard.push('b');
    assert!(mutex.is_locked() && mutex.is_empty() && mutex.try_lock().is_none());
    assert_eq!(format!("{guard:?} {mutex:?}"), "MutexGuard(\"ab\") Mutex { locked: true, .. }");
    assert!(MutexGuard::mutex(&guard).is_locked());
    drop(guard);
    assert_eq!(*held(&mutex), "ab");
    assert_eq!(*held(&Mutex::<u32>::default()), 0);
}

#[test]
fn any_waiter_may_leave_and_the_others_keep_their_order() {
    const WAITERS: usize = 6;
    for leaving in 0..1 << WAITERS {
        for by_drop in [false, true] {
            let (mutex, trace) = (Mutex::new(()), Trace::new());
            let guard = held(&mutex);
            let mut waiting: Vec<_> = (0..WAITERS).map(|_| Some(mutex.lock())).collect();
            let leaves = |index: &usize| leaving & (1 << index) != 0;
            for index in (0..WAITERS).filter(leaves) {
                let promise = waiting[index].take().expect("taken once");
                if !by_drop {
                    promise.cancel();
                    assert!(error(promise).is_canceled());
                }
            }
            for (index, promise) in waiting.into_iter().enumerate() {
                let trace = trace.clone();
                if let Some(promise) = promise {
                    promise.on_success(move |_guard| trace.add(index));
                }
            }
            drop(guard);
            let staying: Vec<_> =
                (0..WAITERS).filter(|index| !leaves(index)).map(|index| index.to_string()).collect();
            assert_eq!(trace.take(), staying.join(" "));
            assert!(!mutex.is_locked() && mutex.is_empty());
        }
    }
}

#[test]
fn a_lock_that_is_handed_on_while_its_waiter_is_being_cancelled_goes_to_the_next() {
    // Found first, so its callbacks run last: it is cancelled but still in the queue when the guard is
    // dropped.
    let mutex = Mutex::new(());
    let guard = held(&mutex);
    let (other, _never) = cancelable::<()>();
    let other = other.on_cancel(move || drop(guard));
    let both = join([mutex.lock().map(drop), other]);
    let next = mutex.lock();
    both.cancel();
    drop(value(next));
    assert!(error(both).is_canceled());
    assert!(!mutex.is_locked());
}

#[test]
fn a_cancel_callback_that_unlocks_does_not_unlock_for_the_cancelled() {
    let mutex = Mutex::new(());
    let guard = held(&mutex);
    let waiting = mutex.lock().on_cancel(move || drop(guard));
    waiting.cancel();
    assert!(error(waiting).is_canceled());
    assert!(!mutex.is_locked() && mutex.is_empty());
}

#[test]
fn a_granted_lock_that_nobody_takes_is_handed_on() {
    let mutex = Mutex::new(());
    let guard = held(&mutex);
    let (first, second) = (mutex.lock(), mutex.lock());
    drop(guard);
    first.cancel();
    assert!(!first.is_pending() && second.is_pending(), "too late to cancel");
    drop(first);
    drop(value(second));
    assert!(!mutex.is_locked());
}

#[test]
fn a_lock_that_a_callback_waits_for_is_taken_though_every_promise_was_dropped() {
    let (mutex, trace) = (Mutex::new(()), Trace::new());
    let guard = held(&mutex);
    drop(mutex.lock().map(trace.adds("map")));
    drop(mutex.lock().on_termination(trace.says("observer")));
    let wrapped = mutex.lock().map(Rc::new).shared();
    wrapped.on_success(trace.adds("shared"));
    drop(wrapped);
    drop(guard);
    assert_eq!(trace.take(), "map observer shared");
    assert!(!mutex.is_locked());
}

#[test]
fn handing_on_inside_a_resolution_defers_the_callback_and_keeps_the_lock() {
    let (mutex, trace) = (Mutex::new(()), Trace::new());
    let guard = held(&mutex);
    let inside = mutex.clone();
    let told = trace.clone();
    mutex.lock().on_success(move |_guard| told.add("locked"));
    let (start, go) = pair::<()>();
    let told = trace.clone();
    start.on_success(move |()| {
        drop(guard);
        told.add(format!("dropped {}", inside.is_locked()));
    });
    go.resolve(());
    assert_eq!(trace.take(), "dropped true locked");
}

#[test]
fn a_callback_may_lock_again_and_waits_behind_the_others() {
    let (mutex, trace) = (Mutex::new(()), Trace::new());
    let guard = held(&mutex);
    let (again, told, second) = (mutex.clone(), trace.clone(), trace.clone());
    let first = mutex.lock().bind(move |guard| {
        told.add("first");
        let waiting = again.lock();
        assert!(waiting.is_pending());
        drop(guard);
        waiting.map(move |_guard| told.add("again"))
    });
    mutex.lock().on_success(move |_guard| second.add("second"));
    drop(guard);
    value(first);
    assert_eq!(trace.take(), "first second again");
}

#[test]
fn a_panic_unlocks_and_rejects() {
    let mutex = Mutex::new(1);
    let guard = held(&mutex);
    let in_body: Promise<()> = mutex.with_lock(|_| -> Promise<()> { panic!("body") });
    let in_callback: Promise<()> = mutex.lock().map(|_guard| panic!("callback"));
    let after = mutex.with_lock(|number| ready(*number));
    drop(guard);
    assert_eq!(error(in_body).panic_message(), Some("body"));
    assert_eq!(error(in_callback).panic_message(), Some("callback"));
    assert_eq!(value(after), 1);
    let at_once: Promise<()> = mutex.with_lock(|_| -> Promise<()> { panic!("body") });
    assert_eq!(error(at_once).panic_message(), Some("body"));
    assert!(!mutex.is_locked());
}

#[test]
fn a_guard_in_a_destructor_that_runs_anywhere_unlocks_for_the_next() {
    let mutex = Mutex::new(());
    let guard = held(&mutex);
    let next = mutex.lock();
    let (dropped, never) = pair::<()>();
    let waits = dropped.map(move |()| drop(guard));
    drop((waits, never));
    drop(value(next));
}

#[test]
fn the_lock_is_kept_until_the_promise_of_the_body_ends() {
    let mutex = Mutex::new(0);
    let (work, end) = cancelable::<u32>();
    let done = mutex.with_lock(|number| {
        *number = 1;
        work
    });
    let next = mutex.with_lock(|number| ready(*number));
    assert!(done.is_pending() && next.is_pending());
    done.cancel();
    assert!(error(done).is_canceled());
    assert_eq!(value(next), 1);
    end.resolve(0);
}

#[test]
fn handles_may_go_while_guard_and_waiters_stay() {
    let mutex = Mutex::new(5);
    let guard = held(&mutex);
    let (first, second) = (mutex.lock(), mutex.lock());
    drop(mutex);
    drop(guard);
    drop(value(first));
    assert_eq!(*value(second), 5);
}

#[test]
fn tasks_take_turns_over_their_suspensions() {
    let (mutex, inside) = (Mutex::new(0), Rc::new(Cell::new(false)));
    let tasks: Vec<_> = (0..10)
        .map(|number| {
            let (mutex, inside) = (mutex.clone(), inside.clone());
            spawn(async move {
                for _ in 0..10 {
                    let mut count = mutex.lock().await?;
                    assert!(!inside.replace(true), "task {number} came in");
                    pause().await?;
                    *count += 1;
                    inside.set(false);
                }
                Ok::<_, lisle_core::Error>(())
            })
        })
        .collect();
    run();
    tasks.into_iter().for_each(|task| value(task).expect("no error"));
    assert_eq!(*held(&mutex), 100);
}

#[test]
fn a_task_that_is_cancelled_waiting_or_holding_leaves_the_mutex_to_others() {
    for is_holding in [false, true] {
        let mutex = Mutex::new(());
        let guard = held(&mutex);
        let theirs = mutex.clone();
        let (work, _never) = cancelable::<()>();
        let task = spawn(async move {
            let _guard = theirs.lock().await?;
            work.await
        });
        let next = mutex.lock();
        if is_holding {
            drop(guard);
            lap();
            task.cancel();
        } else {
            task.cancel();
            drop(guard);
        }
        run();
        assert!(value(task).expect_err("cancelled").is_canceled());
        drop(value(next));
        assert!(!mutex.is_locked());
    }
}

#[test]
fn a_million_waiters_need_no_stack() {
    const WAITERS: usize = 1_000_000;
    with_small_stack(|| {
        let mutex = Mutex::new(0);
        let guard = held(&mutex);
        for _ in 0..WAITERS {
            let counted = mutex.with_lock(|count| {
                *count += 1;
                ready(())
            });
            counted.detach();
        }
        drop(guard);
        assert_eq!(*held(&mutex), WAITERS);

        let guard = held(&mutex);
        let waiting: Vec<_> = (0..WAITERS / 4).map(|_| mutex.lock()).collect();
        drop(waiting);
        drop(guard);
        assert!(!mutex.is_locked() && mutex.is_empty());
        assert_eq!(live_waiters(), 0);
    });
}

#[test]
fn a_dead_waiter_whose_destructor_locks_finds_the_mutex_held() {
    let (mutex, seen) = (Mutex::new(()), Rc::new(RefCell::new(Vec::new())));
    let guard = held(&mutex);
    let (inside, told) = (mutex.clone(), seen.clone());
    let spy = OnDrop::new(move || told.borrow_mut().push(inside.is_locked()));
    drop(mutex.lock().on_cancel(move || drop(spy)));
    let next = mutex.lock();
    drop(guard);
    assert_eq!(*seen.borrow(), [true]);
    drop(value(next));
}

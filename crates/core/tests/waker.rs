//! Wakers: stale, foreign, on other threads; mailboxes under load.
#![expect(clippy::disallowed_methods, reason = "threads are what is tested here")]

mod rig;

use lisle_core::sched::mailbox::{self, Mailbox};
use lisle_core::sched::tasks::run_ready;
use lisle_core::{Promise, sched, spawn};
use rig::*;
use std::future::poll_fn;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, mpsc};
use std::task::{Poll, Waker};

/// A task that counts its polls and never ends, and its waker.
fn counted() -> (Promise<()>, Arc<AtomicUsize>, Waker) {
    let polls = Arc::new(AtomicUsize::new(0));
    let (count, slot) = (polls.clone(), Arc::new(Mutex::new(None)));
    let inside = slot.clone();
    let task = spawn(poll_fn(move |cx| {
        count.fetch_add(1, Ordering::SeqCst);
        *inside.lock().expect("no panic here") = Some(cx.waker().clone());
        Poll::<()>::Pending
    }));
    let waker = slot.lock().expect("no panic here").clone().expect("polled once");
    (task, polls, waker)
}

#[test]
fn many_wakes_are_one_poll_and_a_stale_waker_is_inert() {
    let (task, polls, waker) = counted();
    for _ in 0..100 {
        let copy = waker.clone();
        copy.wake_by_ref();
        waker.wake_by_ref();
    }
    assert_eq!(run_ready(), 1);
    assert_eq!(polls.load(Ordering::SeqCst), 2);
    task.cancel();
    run();
    assert!(error(task).is_canceled());
    let (_next, next_polls, next_waker) = counted();
    assert!(!waker.will_wake(&next_waker));
    waker.wake();
    assert_eq!((run_ready(), next_polls.load(Ordering::SeqCst)), (0, 1));
    sched::reset();
}

#[test]
fn a_waker_works_from_another_thread_and_after_its_own_is_gone() {
    let (_task, polls, waker) = counted();
    let kept = waker.clone();
    std::thread::spawn(move || waker.wake()).join().expect("no panic");
    assert!(sched::has_work());
    assert_eq!((run_ready(), polls.load(Ordering::SeqCst)), (1, 2));
    let orphan = std::thread::spawn(|| counted().2).join().expect("no panic");
    orphan.wake_by_ref();
    kept.wake_by_ref();
    run_ready();
    assert_eq!(polls.load(Ordering::SeqCst), 3);
    sched::reset();
}

/// Two threads, a gate: the owner parks whenever it has nothing to do, and each of a million wakes is seen.
#[test]
fn a_million_wakes_from_another_thread_are_all_seen() {
    const WAKES: usize = if cfg!(debug_assertions) { 100_000 } else { 1_000_000 };
    let (_task, polls, waker) = counted();
    let own: Arc<Mailbox> = mailbox::own();
    let gate = Arc::new((Mutex::new(false), Condvar::new()));
    let opens = gate.clone();
    own.set_notify(Some(Arc::new(move || {
        *opens.0.lock().expect("no panic under this lock") = true;
        opens.1.notify_one();
    })));
    let (allow, allowed) = mpsc::sync_channel::<()>(1);
    let other = std::thread::spawn(move || {
        // Some wakes come while the owner runs, some while it parks, some while it sleeps.
        for at in 0..WAKES {
            if at % 3 == 0 {
                std::thread::yield_now();
            }
            waker.wake_by_ref();
            allowed.recv().expect("the owner is there");
        }
    });
    for seen in 1..=WAKES {
        while polls.load(Ordering::SeqCst) == seen {
            if run_ready() == 0 && own.park() {
                let mut open = gate.0.lock().expect("no panic under this lock");
                while !std::mem::take(&mut *open) {
                    open = gate.1.wait(open).expect("no panic under this lock");
                }
                drop(open);
                own.unpark();
            }
        }
        allow.send(()).expect("the other thread is there");
    }
    other.join().expect("no panic");
    assert_eq!(polls.load(Ordering::SeqCst), WAKES + 1);
    own.set_notify(None);
    sched::reset();
}

#[test]
fn a_parked_mailbox_notifies_once_and_refuses_to_park_with_mail() {
    let own = Mailbox::new();
    let notified = Arc::new(AtomicUsize::new(0));
    let count = notified.clone();
    own.set_notify(Some(Arc::new(move || {
        count.fetch_add(1, Ordering::SeqCst);
    })));
    own.post(1);
    assert!(!own.park());
    let mut letters = Vec::new();
    own.drain(&mut letters);
    assert!(own.park());
    (2..5).for_each(|letter| own.post(letter));
    assert_eq!(notified.load(Ordering::SeqCst), 1);
    own.unpark();
    own.drain(&mut letters);
    assert!(own.park());
    own.unpark();
    own.post(5);
    own.drain(&mut letters);
    assert_eq!((notified.load(Ordering::SeqCst), letters), (1, vec![1, 2, 3, 4, 5]));
}

//! Models of the mailbox: every interleaving. Run with
//! `RUSTFLAGS="--cfg loom" cargo test -p lisle-core --release --test loom`.
#![cfg(loom)]

use lisle_core::sched::mailbox::{Mailbox, Notify};
use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;

fn gate() -> (Arc<(Mutex<bool>, Condvar)>, Notify) {
    let gate = Arc::new((Mutex::new(false), Condvar::new()));
    let opens = gate.clone();
    let notify: Notify = std::sync::Arc::new(move || {
        *opens.0.lock().unwrap() = true;
        opens.1.notify_one();
    });
    (gate, notify)
}

/// Sleeps as a runtime does, until `count` letters have come. A lost wake-up is a deadlock, which loom
/// reports.
fn receive(mailbox: &Mailbox, gate: &(Mutex<bool>, Condvar), count: usize) -> Vec<u64> {
    let mut letters = Vec::new();
    while letters.len() < count {
        mailbox.drain(&mut letters);
        if letters.len() < count && mailbox.park() {
            let mut open = gate.0.lock().unwrap();
            while !std::mem::take(&mut *open) {
                open = gate.1.wait(open).unwrap();
            }
            drop(open);
            mailbox.unpark();
        }
    }
    letters
}

#[test]
fn a_post_never_misses_a_parking_owner() {
    loom::model(|| {
        let mailbox = Arc::new(Mailbox::new());
        let (gate, notify) = gate();
        mailbox.set_notify(Some(notify));
        let posts = mailbox.clone();
        let poster = thread::spawn(move || posts.post(1));
        assert_eq!(receive(&mailbox, &gate, 1), [1]);
        poster.join().unwrap();
    });
}

#[test]
fn two_posters_lose_nothing() {
    loom::model(|| {
        let mailbox = Arc::new(Mailbox::new());
        let (gate, notify) = gate();
        mailbox.set_notify(Some(notify));
        let posters = [1, 2].map(|letter| {
            let posts = mailbox.clone();
            thread::spawn(move || posts.post(letter))
        });
        let mut letters = receive(&mailbox, &gate, 2);
        letters.sort_unstable();
        assert_eq!(letters, [1, 2]);
        posters.into_iter().for_each(|poster| poster.join().unwrap());
        assert!(!mailbox.has_mail());
    });
}

#[test]
fn a_post_after_the_notify_was_removed_stays_in_the_box() {
    loom::model(|| {
        let mailbox = Arc::new(Mailbox::new());
        let (_gate, notify) = gate();
        mailbox.set_notify(Some(notify));
        let posts = mailbox.clone();
        let poster = thread::spawn(move || posts.post(1));
        mailbox.unpark();
        mailbox.set_notify(None);
        poster.join().unwrap();
        let mut letters = Vec::new();
        mailbox.drain(&mut letters);
        assert_eq!(letters, [1]);
        assert!(mailbox.park());
    });
}

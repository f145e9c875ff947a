//! Lwt_mvar.

use crate::rig::{error, value};
use lisle_core::sync::MVar;
use lisle_core::{cancelable, pick};
use std::cell::RefCell;
use std::rc::Rc;

/// MVAR-01: a take from a full mailbox is fulfilled already.
#[test]
fn mvar_01_take_from_a_full_mailbox() {
    assert_eq!(value(MVar::new(0).take()), 0);
}

/// MVAR-02: `take_available` gives the value, none from an empty one, none the second time.
#[test]
fn mvar_02_take_available() {
    let full = MVar::new(0);
    assert_eq!(full.take_available(), Some(0));
    assert_eq!(full.take_available(), None);
    assert_eq!(MVar::<u32>::empty().take_available(), None);
}

/// MVAR-03: `is_empty` is false when full, true when empty.
#[test]
fn mvar_03_is_empty() {
    assert!(!MVar::new(0).is_empty());
    assert!(MVar::<u32>::empty().is_empty());
}

/// MVAR-04: a put to a full mailbox is pending.
#[test]
fn mvar_04_put_to_a_full_mailbox_waits() {
    assert!(MVar::new(0).put(1).is_pending());
}

/// MVAR-05: a put to an empty mailbox, then a take, gives the value.
#[test]
fn mvar_05_put_then_take() {
    let mailbox = MVar::empty();
    value(mailbox.put(0));
    assert_eq!(value(mailbox.take()), 0);
}

/// MVAR-06: after a take from a full mailbox a put completes at once.
#[test]
fn mvar_06_take_then_put() {
    let mailbox = MVar::new(0);
    assert_eq!(value(mailbox.take()), 0);
    value(mailbox.put(1));
    assert!(!mailbox.is_empty());
}

/// MVAR-07: a take gives the first value, and the queued put is fulfilled already.
#[test]
fn mvar_07_a_queued_put_moves_in_at_a_take() {
    let mailbox = MVar::new(1);
    let queued = mailbox.put(2);
    assert_eq!(value(mailbox.take()), 1);
    value(queued);
}

/// MVAR-08: the value of a queued put that is cancelled is gone.
#[test]
fn mvar_08_a_cancelled_put_is_gone() {
    let mailbox = MVar::new(1);
    let queued = mailbox.put(2);
    queued.cancel();
    assert!(error(queued).is_canceled());
    assert_eq!(value(mailbox.take()), 1);
    assert!(mailbox.take().is_pending());
}

/// X-MVAR-01: queued puts are served oldest first, each moving in at a take; queued takes likewise.
#[test]
fn x_mvar_01_queued_puts_and_takes_are_served_oldest_first() {
    let mailbox = MVar::new(0);
    let puts: Vec<_> = (1..4).map(|number| mailbox.put(number)).collect();
    let taken: Vec<u32> = (0..4).map(|_| value(mailbox.take())).collect();
    assert_eq!(taken, [0, 1, 2, 3]);
    puts.into_iter().for_each(value);

    let order = Rc::new(RefCell::new(Vec::new()));
    for reader in 0..3 {
        let order = order.clone();
        mailbox.take().on_success(move |number| order.borrow_mut().push((reader, number)));
    }
    (7..10).for_each(|number| value(mailbox.put(number)));
    assert_eq!(*order.borrow(), [(0, 7), (1, 8), (2, 9)]);
}

/// BR-155: a value sent through a reserved place is not lost by a race that its sender loses a thousand
/// times.
#[test]
fn br_155_a_cancelled_reservation_loses_no_message() {
    let mailbox = MVar::new(0);
    let mut received = Vec::new();
    for message in 1..=1000_u32 {
        let mut unsent = Some(message);
        while let Some(message) = unsent.take() {
            let (tick, ring) = cancelable::<()>();
            let place = pick([mailbox.reserve().map(Some), tick.map(|()| None)]);
            if received.len() % 3 == 0 {
                ring.resolve(());
                received.extend(mailbox.take_available());
            } else {
                received.extend(mailbox.take_available());
                ring.resolve(());
            }
            match value(place) {
                Some(place) => place.put(message),
                None => unsent = Some(message),
            }
        }
    }
    received.extend(mailbox.take_available());
    assert_eq!(received, (0..=1000).collect::<Vec<_>>());
}

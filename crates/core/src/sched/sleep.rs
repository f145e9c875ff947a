//! Sleeps: promises fulfilled at a deadline, kept in the timer wheel of the thread.
//!
//! Time is an argument: ticks of one millisecond since a moment that the runtime chose. A sleep is a leaf: an
//! entry of the wheel, no allocation of its own; cancelling or dropping it takes it out of the wheel in O(1).
//! Not here: clocks and durations (`lisle::time`).

use super::rejected::Rejected;
use crate::promise::Status;
use crate::source::{CancelReply, Source, leaf};
use crate::timers::{TimerKey, Timers};
use crate::{Error, Promise, Result, Waiter};
use std::cell::RefCell;

struct Table {
    wheel: Timers<Entry>,
    /// Tokens rejected and not taken yet.
    rejected: Rejected,
    due: Vec<Entry>,
}

struct Entry {
    waiter: Option<Waiter>,
    token: u64,
}

thread_local! {
    static TABLE: RefCell<Table> =
        const { RefCell::new(Table { wheel: Timers::new(), rejected: Rejected::new(), due: Vec::new() }) };
}

struct Sleeps;

impl Table {
    fn entry(&mut self, token: u64) -> Option<&mut Entry> {
        self.wheel.get_mut(TimerKey::from_bits(token))
    }
}

impl Source<()> for Sleeps {
    fn take(&self, token: u64) -> Option<Result<()>> {
        TABLE.with_borrow_mut(|table| match table.entry(token) {
            Some(_) => None,
            None => Some(table.rejected.result(token)),
        })
    }

    fn status(&self, token: u64) -> Status {
        TABLE.with_borrow_mut(|table| {
            if table.entry(token).is_some() {
                return Status::Pending;
            }
            table.rejected.status(token)
        })
    }

    fn watch(&self, token: u64, waiter: Waiter) {
        let old = TABLE.with_borrow_mut(|table| table.entry(token)?.waiter.replace(waiter));
        drop(old);
    }

    fn unwatch(&self, token: u64) {
        let old = TABLE.with_borrow_mut(|table| table.entry(token)?.waiter.take());
        drop(old);
    }

    fn cancel(&self, token: u64) -> CancelReply {
        TABLE.with_borrow_mut(|table| match table.wheel.cancel(TimerKey::from_bits(token)) {
            Some(entry) => {
                table.rejected.put(token, Error::canceled());
                CancelReply::Settled(entry.waiter)
            }
            None => CancelReply::Later,
        })
    }

    fn release(&self, token: u64) {
        let old = TABLE.try_with(|table| {
            let table = &mut *table.borrow_mut();
            table.rejected.forget(token);
            table.wheel.cancel(TimerKey::from_bits(token))
        });
        drop(old);
    }
}

/// A promise fulfilled by the first [`advance`] to `deadline` or later. Cancelable; dropping it forgets the
/// timer.
pub fn sleep_until(deadline: u64) -> Promise<()> {
    let token = TABLE.with_borrow_mut(|table| {
        let key = table.wheel.insert(deadline, Entry { waiter: None, token: 0 });
        let token = key.to_bits();
        table.entry(token).expect("just inserted").token = token;
        token
    });
    leaf(&Sleeps, token)
}

/// The earliest moment at which [`advance`] may have something to do.
#[must_use]
pub fn next_deadline() -> Option<u64> {
    TABLE.with_borrow(|table| table.wheel.next_deadline())
}

/// How many sleeps are pending.
#[must_use]
pub fn sleep_count() -> usize {
    TABLE.with_borrow(|table| table.wheel.len())
}

/// Fulfils the sleeps that are due at `now`, in order of their deadlines, each as a resolution of its own.
pub fn advance(now: u64) {
    let mut due = TABLE.with_borrow_mut(|table| {
        let mut due = std::mem::take(&mut table.due);
        table.wheel.expire(now, &mut due);
        due
    });
    for entry in due.drain(..) {
        if let Some(waiter) = entry.waiter {
            waiter.wake();
        }
    }
    TABLE.with_borrow_mut(|table| table.due = due);
}

/// Rejects all sleeps with `Abandoned`; how many there were.
pub(crate) fn abandon() -> usize {
    let due = TABLE.with_borrow_mut(|table| {
        let mut due = Vec::new();
        table.wheel.drain(&mut due);
        for entry in &due {
            table.rejected.put(entry.token, Error::abandoned());
        }
        due
    });
    let count = due.len();
    due.into_iter().filter_map(|entry| entry.waiter).for_each(Waiter::wake);
    count
}

//! Sleeps: promises fulfilled at a deadline, kept in the timer wheel of the thread.
//!
//! Time is an argument: ticks of one millisecond since a moment that the runtime chose. A sleep is a leaf: an
//! entry of the wheel, no allocation of its own; cancelling or dropping it takes it out of the wheel in O(1).
//! Not here: clocks and durations (`lisle::time`).

use super::kept::{Kept, Nodes};
use super::rejected::Rejected;
use super::tasks::{kept_task, wake_kept};
use crate::promise::Status;
use crate::promise::waiters::Told;
use crate::source::{CancelReply, Source, leaf};
use crate::timers::{TimerKey, Timers};
use crate::{Error, Promise, Result, Waiter, rejected};
use std::cell::RefCell;
use std::mem;

struct Table {
    wheel: Timers<Kept>,
    nodes: Nodes,
    /// Tokens rejected and not taken yet.
    rejected: Rejected,
    due: Vec<Kept>,
}

thread_local! {
    static TABLE: RefCell<Table> = const {
        RefCell::new(Table {
            wheel: Timers::new(),
            nodes: Nodes::new(),
            rejected: Rejected::new(),
            due: Vec::new(),
        })
    };
}

struct Sleeps;

/// The table; at the thread's end it may be gone, and with it whatever could fulfil a sleep.
#[inline(always)]
fn with_table<R>(f: impl FnOnce(&mut Table) -> R) -> Option<R> {
    TABLE.try_with(|table| f(&mut table.borrow_mut())).ok()
}

impl Table {
    fn entry(&mut self, token: u64) -> Option<&mut Kept> {
        self.wheel.get_mut(TimerKey::from_bits(token))
    }

    /// Sets who is told. What comes back (the one before, or this one, if the sleep is over) is to be dropped
    /// outside of the borrow.
    #[must_use]
    fn set_waiter(&mut self, token: u64, waiter: Option<Waiter>) -> Option<Waiter> {
        let Some(entry) = self.wheel.get_mut(TimerKey::from_bits(token)) else { return waiter };
        let kept = waiter.map_or(Kept::NOBODY, |waiter| self.nodes.keep(waiter));
        let old = mem::replace(entry, kept);
        self.nodes.give_back(old)
    }
}

impl Source<()> for Sleeps {
    fn take(&self, token: u64) -> Option<Result<()>> {
        let result = with_table(|table| match table.entry(token) {
            Some(_) => None,
            None => Some(table.rejected.result(token)),
        });
        result.unwrap_or_else(|| Some(Err(Error::abandoned())))
    }

    fn status(&self, token: u64) -> Status {
        let status = with_table(|table| {
            if table.entry(token).is_some() {
                return Status::Pending;
            }
            table.rejected.status(token)
        });
        status.unwrap_or(Status::Rejected)
    }

    fn watch(&self, token: u64, waiter: Waiter) {
        let old = with_table(|table| table.set_waiter(token, Some(waiter)));
        drop(old);
    }

    fn unwatch(&self, token: u64) {
        let old = with_table(|table| table.set_waiter(token, None));
        drop(old);
    }

    fn cancel(&self, token: u64) -> CancelReply {
        let reply = with_table(|table| match table.wheel.cancel(TimerKey::from_bits(token)) {
            Some(kept) => {
                table.rejected.put(token, Error::canceled());
                CancelReply::Settled(match kept_task(kept) {
                    Some(id) => Some(Waiter(Told::Task(id))),
                    None => table.nodes.give_back(kept),
                })
            }
            None => CancelReply::Later,
        });
        reply.unwrap_or(CancelReply::Later)
    }

    fn release(&self, token: u64) {
        let old = with_table(|table| {
            table.rejected.forget(token);
            let kept = table.wheel.cancel(TimerKey::from_bits(token))?;
            table.nodes.give_back(kept)
        });
        drop(old);
    }
}

/// A promise fulfilled by the first [`advance`] to `deadline` or later. Cancelable; dropping it forgets the
/// timer.
pub fn sleep_until(deadline: u64) -> Promise<()> {
    match with_table(|table| table.wheel.insert(deadline, Kept::NOBODY)) {
        Some(key) => leaf(&Sleeps, key.to_bits()),
        None => rejected(Error::abandoned()),
    }
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
        let mut due = mem::take(&mut table.due);
        table.wheel.expire(now, &mut due);
        due
    });
    for kept in due.drain(..) {
        tell(kept);
    }
    TABLE.with_borrow_mut(|table| table.due = due);
}

/// Tells the waiter of a sleep that has left the wheel.
fn tell(kept: Kept) {
    if kept.task_slot().is_some() {
        wake_kept(kept);
    } else if let Some(waiter) = TABLE.with_borrow_mut(|table| table.nodes.give_back(kept)) {
        waiter.wake();
    }
}

/// Rejects all sleeps with `Abandoned`; how many there were.
pub(crate) fn abandon() -> usize {
    let due = TABLE.with_borrow_mut(|table| {
        let drained = table.wheel.drain_keyed();
        for (key, _) in &drained {
            table.rejected.put(key.to_bits(), Error::abandoned());
        }
        drained
    });
    let count = due.len();
    due.into_iter().for_each(|(_, kept)| tell(kept));
    count
}

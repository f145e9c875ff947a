//! A batch: the waiters of a promise that is settled, taken out of it, to be told with nothing borrowed.
//!
//! ```text
//!   cell ──settle──► Batch ──pop──► cancel callbacks, newest first ─► the consumer ─► waiters, newest first
//! ```
//!
//! Whoever settles owns the batch and gives it to the scheduler, which tells one waiter after the other. Not
//! here: when that is (`sched`), and how the lists are linked (`waiters.rs`).

use super::waiters::{Node, Waiter, WaiterList};
use std::cell::Cell;
use std::rc::Rc;

/// Waiters taken out of a settled promise, to be told newest first; cancel callbacks before all others.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub(super) cancel_callbacks: WaiterList,
    pub(super) consumer: Waiter,
    pub(super) waiters: WaiterList,
}

impl Batch {
    pub(crate) fn one(waiter: Waiter) -> Batch {
        Batch { consumer: waiter, ..Batch::default() }
    }

    pub(crate) fn of(waiters: WaiterList) -> Batch {
        Batch { waiters, ..Batch::default() }
    }

    /// The batches one after the other, the last one first, and then a waiter.
    pub(crate) fn reversed(batches: Vec<Batch>, then: Waiter) -> Batch {
        let mut sequence = Batch::default();
        sequence.waiters.push(then);
        for batch in batches {
            sequence.waiters.push(Waiter::node(Rc::new(Later(Cell::new(Some(batch)))), 0));
        }
        sequence
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.consumer.is_nobody() && self.waiters.is_unused() && self.cancel_callbacks.is_unused()
    }

    /// The next waiter to tell.
    pub(crate) fn pop(&mut self) -> Option<Waiter> {
        if let Some(waiter) = self.cancel_callbacks.pop() {
            return Some(waiter);
        }
        self.consumer.take().or_else(|| self.waiters.pop())
    }
}

/// A batch that waits in another one.
struct Later(Cell<Option<Batch>>);

impl Node for Later {
    fn run(self: Rc<Self>, _index: u32) -> Option<Batch> {
        self.0.take()
    }
}

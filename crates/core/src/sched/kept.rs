//! Waiters in four bytes each, for the tables of tasks and of sleeps.
//!
//! ```text
//!   00 │ 1                               nobody waits
//!   01 │ generation, its low 6 │ slot 24   a task of this thread
//!   10 │ seat                            a node: it sits in the table's `Nodes` until it is given back
//! ```
//!
//! A waiter is two words, and its absence a third. Most who wait for a task or a sleep are tasks, whose
//! number fits here; so only nodes pay for their place, when there is one. Of a task's generation six bits
//! are left: a promise that outlived the task which polled it may, one time in 64, wake the next task of that
//! slot for nothing, which futures must bear anyway.
//!
//! Whoever holds a [`Kept`] gives it back to the table that made it, once.

use super::tasks::TaskId;
use super::waker::{SLOT_BITS, SLOTS_MAX};
use crate::Waiter;
use crate::promise::waiters::{Node, Told};
use std::mem;
use std::num::NonZeroU32;
use std::rc::Rc;

/// A waiter, or nobody.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Kept(NonZeroU32);

const TASK: u32 = 1 << 30;
const NODE: u32 = 1 << 31;
const NUMBER: u32 = TASK - 1;
const GENERATION_MASK: u32 = NUMBER >> SLOT_BITS;

impl Kept {
    /// Nobody waits.
    pub(super) const NOBODY: Kept = Kept(NonZeroU32::MIN);

    #[inline]
    fn new(tag: u32, number: u32) -> Kept {
        Kept(NonZeroU32::new(tag | number).unwrap_or(NonZeroU32::MIN))
    }

    #[inline]
    fn of_task(id: TaskId) -> Kept {
        Kept::new(TASK, (id.generation & GENERATION_MASK) << SLOT_BITS | id.slot)
    }

    /// The slot of the waiter, if it is a task: nothing needs to be given back then.
    #[inline]
    pub(super) fn task_slot(self) -> Option<u32> {
        let word = self.0.get();
        (word & TASK != 0).then_some(word & (SLOTS_MAX - 1) as u32)
    }

    /// Whether a task with the slot of this one is this one.
    #[inline]
    pub(super) fn is(self, id: TaskId) -> bool {
        self == Kept::of_task(id)
    }
}

/// The nodes among the waiters of one table.
pub(super) struct Nodes {
    seats: Vec<Seat>,
    /// First of the chain of free seats.
    free: u32,
}

enum Seat {
    Taken(Rc<dyn Node>),
    Free(u32),
}

const NO_SEAT: u32 = u32::MAX;
const SEATS_MAX: usize = TASK as usize;

impl Nodes {
    pub(super) const fn new() -> Nodes {
        Nodes { seats: Vec::new(), free: NO_SEAT }
    }

    /// Makes a word of a waiter.
    #[inline(always)]
    pub(super) fn keep(&mut self, waiter: Waiter) -> Kept {
        match waiter.0 {
            Told::Task(id) => Kept::of_task(id),
            Told::Node(node) => self.seat(node),
        }
    }

    #[inline(never)]
    fn seat(&mut self, node: Rc<dyn Node>) -> Kept {
        let number = self.free;
        if let Some(seat) = self.seats.get_mut(number as usize) {
            if let Seat::Free(next) = *seat {
                self.free = next;
            }
            *seat = Seat::Taken(node);
            return Kept::new(NODE, number);
        }
        assert!(
            self.seats.len() < SEATS_MAX,
            "over {SEATS_MAX} nodes wait for sleeps, or for tasks, on one thread"
        );
        super::reserve_some(&mut self.seats);
        self.seats.push(Seat::Taken(node));
        let number = self.seats.len() as u32 - 1;
        Kept::new(NODE, number)
    }

    /// Lets a node rise from its seat; nothing for a task and for nobody. Dropping it may run anything.
    #[inline(always)]
    #[must_use]
    pub(super) fn give_back(&mut self, kept: Kept) -> Option<Waiter> {
        if kept.0.get() & NODE == 0 { None } else { self.rise(kept.0.get() & NUMBER) }
    }

    #[inline(never)]
    fn rise(&mut self, number: u32) -> Option<Waiter> {
        match mem::replace(self.seats.get_mut(number as usize)?, Seat::Free(self.free)) {
            Seat::Taken(node) => {
                self.free = number;
                Some(Waiter(Told::Node(node)))
            }
            Seat::Free(_) => unreachable!("a node is given back once"),
        }
    }
}

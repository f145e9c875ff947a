//! Wakers that are integers: worker number, generation and slot of a task in one word.
//!
//! ```text
//!   │ worker 16 │ generation 24 │ slot 24 │      as the data pointer of a `RawWaker`
//! ```
//!
//! Clone copies the word and drop does nothing: no reference count, no lifetime, nothing to get wrong on
//! another thread. A stale waker (its task ended, its slot was reused, its thread is gone) finds another
//! generation or nobody, and is inert; after 2^24 reuses of one slot it may cause one spurious poll, which
//! futures must bear anyway. A wake on the own thread pushes on the run queue; elsewhere it goes to the
//! worker's mailbox.
//!
//! # Safety
//! The only unsafe file of this crate. It rests on the [`RawWaker`] contract alone: the functions of the
//! table are thread-safe, never panic on valid data, and every bit pattern is valid data.
#![allow(unsafe_code)]

use super::mailbox;
use super::tasks::{self, TaskId};
use std::ptr;
use std::task::{RawWaker, RawWakerVTable, Waker};

pub(super) const SLOT_BITS: u32 = 24;
const GENERATION_BITS: u32 = 24;
/// How many tasks one thread can hold.
pub(crate) const SLOTS_MAX: usize = 1 << SLOT_BITS;
/// Generations of a slot count modulo this.
pub(crate) const GENERATION_MASK: u32 = (1 << GENERATION_BITS) - 1;

static TABLE: RawWakerVTable = RawWakerVTable::new(clone, wake, wake, drop_nothing);

/// The waker of a task of this thread.
#[inline]
pub(crate) fn waker(id: TaskId) -> Waker {
    let word = pack(mailbox::own_number(), id);
    // SAFETY: the table's functions keep the contract for any data word, for ever: they only read it as a
    // number.
    unsafe { Waker::new(ptr::without_provenance(word as usize), &TABLE) }
}

/// The task behind a waker, if it is one of this thread.
#[inline]
pub(crate) fn local_task(waker: &Waker) -> Option<TaskId> {
    if !ptr::eq(waker.vtable(), &raw const TABLE) {
        return None;
    }
    let (worker, id) = unpack(waker.data().addr() as u64);
    (worker == mailbox::own_number()).then_some(id)
}

fn pack(worker: u16, id: TaskId) -> u64 {
    u64::from(worker) << (SLOT_BITS + GENERATION_BITS)
        | u64::from(id.generation & GENERATION_MASK) << SLOT_BITS
        | u64::from(id.slot)
}

fn unpack(word: u64) -> (u16, TaskId) {
    let slot = (word & (SLOTS_MAX as u64 - 1)) as u32;
    let generation = (word >> SLOT_BITS) as u32 & GENERATION_MASK;
    ((word >> (SLOT_BITS + GENERATION_BITS)) as u16, TaskId { slot, generation })
}

/// Wakes the task of a letter that came by mail.
pub(crate) fn wake_letter(letter: u64) {
    tasks::wake(unpack(letter).1);
}

fn clone(data: *const ()) -> RawWaker {
    RawWaker::new(data, &TABLE)
}

fn wake(data: *const ()) {
    let word = data.addr() as u64;
    let (worker, id) = unpack(word);
    if worker == mailbox::own_number() {
        tasks::wake(id);
    } else {
        mailbox::post(worker, word);
    }
}

fn drop_nothing(_data: *const ()) {}

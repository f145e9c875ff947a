//! The table of tasks: slots of 24 bytes in a slab, and the run queue beside it. Only this file frees, queues
//! and hands out slots; `tasks.rs` raises the flags of a cancel and a detach, and takes a body that is done.
//!
//! ```text
//!   slot:   body 16 │ waiter 4 │ generation 24 bits, flags 8
//!   origin: the number of the place of the spawn; of a free slot: the next free one
//!   ready:  slot numbers, first come, first served
//! ```
//!
//! Origins lie beside the slots, under the same index: they are written at a spawn and read when somebody
//! must be told where that was, so they need not be in the caches with the rest.
//!
//! What a slot's flags mean, and who owns a body until when, is told in `tasks.rs`. No method here runs user
//! code: what is to be dropped or told is handed out.

use super::body::BoxedTask;
use super::kept::{Kept, Nodes};
use super::sites::{SITES_MAX, Sites};
use super::tasks::TaskId;
use super::waker::{GENERATION_MASK, SLOTS_MAX};
use crate::Waiter;
use std::collections::VecDeque;
use std::mem;
use std::panic::Location;

pub(super) struct Slot {
    /// Empty while the task runs, and in free slots.
    pub(super) body: Option<BoxedTask>,
    waiter: Kept,
    /// Generation above, flags below.
    state: u32,
}

const _: () =
    assert!(size_of::<Slot>() == 24, "an idle task is promised to cost this, its origin and its box");
const _: () =
    assert!(SLOTS_MAX <= NO_SLOT as usize && SITES_MAX == 1 << 24 && GENERATION_MASK == u32::MAX >> 8);

/// No free slot.
const NO_SLOT: u32 = u32::MAX;

pub(super) const QUEUED: u32 = 1;
pub(super) const RUNNING: u32 = 2;
pub(super) const DONE: u32 = 4;
/// The promise was dropped: nobody takes the output.
pub(super) const DETACHED: u32 = 8;
/// The next poll delivers a cancellation.
pub(super) const CANCEL: u32 = 16;
/// The poll after the next one does.
pub(super) const CANCEL_LATER: u32 = 32;
/// On the list of free slots or, if `QUEUED` too, freed while it stood in the run queue: nobody's until it has
/// left that.
const FREE: u32 = 64;
/// Woken during the poll in progress, and taken out of the run queue by a lap which that poll called.
const OWED: u32 = 128;
const FLAGS: u32 = 0xFF;

impl Slot {
    #[inline]
    pub(super) fn has(&self, flags: u32) -> bool {
        self.state & flags != 0
    }

    #[inline]
    pub(super) fn raise(&mut self, flags: u32) {
        self.state |= flags;
    }

    #[inline]
    fn lower(&mut self, flags: u32) {
        self.state &= !flags;
    }

    #[inline]
    fn generation(&self) -> u32 {
        self.state >> 8
    }

    #[inline]
    fn set_flags(&mut self, flags: u32) {
        self.state = self.state & !FLAGS | flags;
    }
}

/// Slots and run queue stand behind one borrow: a yield needs two of them, one to wake and one to put the
/// task back and take the next. With a cell for each it took five: 314 instructions instead of 241, and a
/// queued spawn 87 ns instead of 72.
pub(super) struct Table {
    slots: Vec<Slot>,
    /// As long as `slots`: the number of the place of the spawn.
    origins: Vec<u32>,
    /// First of the chain of free slots.
    free: u32,
    live: usize,
    /// Of those alive, how many are done without a body: see [`Table::abandon`].
    abandoned: usize,
    ready: VecDeque<u32>,
    nodes: Nodes,
    sites: Sites,
}

/// A task taken out of its slot to be polled.
pub(super) struct Picked {
    pub(super) body: BoxedTask,
    pub(super) id: TaskId,
    pub(super) cancel: bool,
}

/// What a slot held: to be dropped, or told, outside of the borrow.
pub(super) type Freed = (Option<BoxedTask>, Option<Waiter>);

/// What is left to do for a task that is done, with nothing borrowed.
pub(super) enum Ended {
    Told,
    Tell(Waiter),
    /// Nobody takes the output of this body.
    Lost(BoxedTask, &'static Location<'static>),
}

impl Table {
    pub(super) const fn new() -> Table {
        Table {
            slots: Vec::new(),
            origins: Vec::new(),
            free: NO_SLOT,
            live: 0,
            abandoned: 0,
            ready: VecDeque::new(),
            nodes: Nodes::new(),
            sites: Sites::new(),
        }
    }

    /// A slot with these flags, and this body unless it runs already.
    #[inline]
    pub(super) fn occupy(
        &mut self,
        site: &'static Location<'static>,
        flags: u32,
        body: Option<BoxedTask>,
    ) -> TaskId {
        self.live += 1;
        let site = self.sites.number(site);
        let slot = self.free;
        let Some(entry) = self.slots.get_mut(slot as usize) else { return self.grow(site, flags, body) };
        self.free = mem::replace(&mut self.origins[slot as usize], site);
        entry.body = body;
        entry.set_flags(flags);
        TaskId { slot, generation: entry.generation() }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, site: u32, flags: u32, body: Option<BoxedTask>) -> TaskId {
        assert!(self.slots.len() < SLOTS_MAX, "over {SLOTS_MAX} tasks on one thread");
        super::reserve_some(&mut self.slots);
        super::reserve_some(&mut self.origins);
        self.slots.push(Slot { body, waiter: Kept::NOBODY, state: flags });
        self.origins.push(site);
        TaskId { slot: self.slots.len() as u32 - 1, generation: 0 }
    }

    /// Stands a task that was given a slot as queued in the run queue.
    #[inline]
    pub(super) fn enqueue(&mut self, id: TaskId) {
        self.ready.push_back(id.slot);
    }

    #[inline]
    pub(super) fn slot(&mut self, id: TaskId) -> Option<&mut Slot> {
        self.slots.get_mut(id.slot as usize).filter(|slot| slot.generation() == id.generation)
    }

    /// Where a task was spawned.
    pub(super) fn site(&self, index: u32) -> &'static Location<'static> {
        self.sites.place(self.origins[index as usize])
    }

    /// Sets who is told at the task's end. What comes back (the one before, or this one, if there is no such
    /// task) is to be dropped outside of the borrow.
    #[inline(always)]
    #[must_use]
    pub(super) fn set_waiter(&mut self, id: TaskId, waiter: Option<Waiter>) -> Option<Waiter> {
        let slot = self.slots.get_mut(id.slot as usize).filter(|slot| slot.generation() == id.generation);
        let Some(slot) = slot else { return waiter };
        let kept = waiter.map_or(Kept::NOBODY, |waiter| self.nodes.keep(waiter));
        let old = mem::replace(&mut slot.waiter, kept);
        self.nodes.give_back(old)
    }

    /// Frees a slot; what it held is to be dropped outside of the borrow.
    #[must_use]
    pub(super) fn free(&mut self, index: u32) -> Freed {
        let slot = &mut self.slots[index as usize];
        let waiter = mem::replace(&mut slot.waiter, Kept::NOBODY);
        let freed = (slot.body.take(), self.nodes.give_back(waiter));
        self.free_emptied(index);
        freed
    }

    /// Frees a slot that has neither body nor waiter.
    #[inline]
    pub(super) fn free_emptied(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        self.live -= 1;
        // A slot that is queued still would wake its next task for nothing.
        let queued = slot.state & QUEUED;
        slot.state = slot.generation().wrapping_add(1) << 8 | FREE | queued;
        if queued == 0 {
            self.origins[index as usize] = mem::replace(&mut self.free, index);
        }
    }

    /// A slot that was freed while it stood in the run queue has left that.
    #[cold]
    fn free_stale(&mut self, index: u32) {
        self.slots[index as usize].set_flags(FREE);
        self.origins[index as usize] = mem::replace(&mut self.free, index);
    }

    /// Queues a task, if it is alive and not queued yet.
    #[inline]
    pub(super) fn wake(&mut self, id: TaskId) {
        self.wake_if(id.slot, |generation| generation == id.generation);
    }

    /// Queues the task that waits, as [`Table::wake`] does.
    #[inline]
    pub(super) fn wake_kept(&mut self, kept: Kept) {
        if let Some(slot) = kept.task_slot() {
            self.wake_if(slot, |generation| kept.is(TaskId { slot, generation }));
        }
    }

    #[inline(always)]
    fn wake_if(&mut self, index: u32, is_meant: impl FnOnce(u32) -> bool) {
        if let Some(slot) = self.slots.get_mut(index as usize)
            && is_meant(slot.generation())
            && !slot.has(QUEUED | DONE | FREE)
        {
            slot.raise(QUEUED);
            self.ready.push_back(index);
        }
    }

    /// The task that waits, if it is alive.
    pub(super) fn kept_task(&self, kept: Kept) -> Option<TaskId> {
        let slot = kept.task_slot()?;
        let id = TaskId { slot, generation: self.slots.get(slot as usize)?.generation() };
        kept.is(id).then_some(id)
    }

    /// The next task to poll, of a generation of which `left` are left.
    #[inline(always)]
    pub(super) fn pick_next(&mut self, left: &mut usize) -> Option<Picked> {
        while *left > 0 {
            *left -= 1;
            let index = self.ready.pop_front()?;
            let slot = &mut self.slots[index as usize];
            let state = slot.state & !QUEUED;
            if state & (FREE | DONE) != 0 {
                slot.state = state;
                if state & FREE != 0 {
                    self.free_stale(index);
                }
                continue;
            }
            // Empty if it runs just now, and its poll called for another lap: queued again when that poll is over.
            let Some(body) = slot.body.take() else {
                slot.state = state | OWED;
                continue;
            };
            slot.state = state | RUNNING;
            let id = TaskId { slot: index, generation: slot.generation() };
            return Some(Picked { body, id, cancel: state & CANCEL != 0 });
        }
        None
    }

    /// Puts a polled body back into its slot.
    #[inline(always)]
    pub(super) fn put_back(&mut self, id: TaskId, body: BoxedTask, cancel_delivered: bool) {
        let slot = &mut self.slots[id.slot as usize];
        slot.body = Some(body);
        slot.lower(RUNNING);
        if slot.has(CANCEL | CANCEL_LATER | OWED) {
            self.pursue(id, cancel_delivered);
        }
    }

    /// What becomes of a cancellation that is on its way, and of a wake that could not be followed.
    #[cold]
    fn pursue(&mut self, id: TaskId, delivered: bool) {
        let slot = &mut self.slots[id.slot as usize];
        if delivered {
            slot.lower(CANCEL);
        }
        if slot.has(CANCEL_LATER) {
            slot.lower(CANCEL_LATER);
            slot.raise(CANCEL);
        }
        if slot.has(CANCEL | OWED) {
            slot.lower(OWED);
            self.wake(id);
        }
    }

    /// Keeps the body of a task that is done until its output is taken. A task that waits for it is queued
    /// here.
    #[inline]
    pub(super) fn end(&mut self, id: TaskId, body: BoxedTask) -> Ended {
        let slot = &mut self.slots[id.slot as usize];
        if slot.has(DETACHED) {
            return Ended::Lost(body, self.site(id.slot));
        }
        slot.body = Some(body);
        slot.lower(RUNNING);
        slot.raise(DONE);
        let waiter = mem::replace(&mut slot.waiter, Kept::NOBODY);
        if waiter == Kept::NOBODY {
            return Ended::Told;
        }
        if waiter.task_slot().is_some() {
            self.wake_kept(waiter);
            return Ended::Told;
        }
        self.nodes.give_back(waiter).map_or(Ended::Told, Ended::Tell)
    }

    /// Takes all out of a slot whose task neither runs nor is done, for [`super::reset`]. With a promise still
    /// about, it is done without a body until that goes: freed at once, it could be another task's that a promise
    /// kept over 2^24 tasks of this slot takes for its own.
    pub(super) fn abandon(&mut self, index: u32) -> Option<(TaskId, Freed)> {
        let slot = &mut self.slots[index as usize];
        let id = TaskId { slot: index, generation: slot.generation() };
        if slot.body.is_none() || slot.has(DONE | RUNNING) {
            return None;
        }
        if slot.has(DETACHED) {
            return Some((id, self.free(index)));
        }
        slot.raise(DONE);
        self.abandoned += 1;
        let waiter = mem::replace(&mut slot.waiter, Kept::NOBODY);
        Some((id, (slot.body.take(), self.nodes.give_back(waiter))))
    }

    /// Takes the output of a task that is done, with its body, and frees the slot.
    #[inline]
    pub(super) fn take_done(&mut self, index: u32) -> Option<BoxedTask> {
        // Its waiter was told.
        let body = self.slots[index as usize].body.take();
        if body.is_none() {
            self.abandoned -= 1;
        }
        self.free_emptied(index);
        body
    }

    /// Takes the slots out of the run queue that were freed or abandoned while they stood in it. What stays
    /// queued is running just now.
    pub(super) fn sweep_ready(&mut self) {
        let mut ready = mem::take(&mut self.ready);
        ready.retain(|&index| {
            let slot = &mut self.slots[index as usize];
            let (is_free, is_over) = (slot.has(FREE), slot.has(FREE | DONE));
            if is_free {
                self.free_stale(index);
            } else if is_over {
                slot.lower(QUEUED);
            }
            !is_over
        });
        self.ready = ready;
    }

    pub(super) fn slot_count(&self) -> usize {
        self.slots.len()
    }

    pub(super) fn live_count(&self) -> usize {
        self.live - self.abandoned
    }

    pub(super) fn ready_count(&self) -> usize {
        self.ready.len()
    }
}

#[cfg(test)]
mod tests {
    use super::super::body::{Body, Plain};
    use super::*;

    #[test]
    fn the_slot_of_an_abandoned_task_is_no_other_tasks_before_its_promise_goes() {
        let mut table = Table::new();
        let site = Location::caller();
        let id = table.occupy(site, QUEUED, Some(Body::<_, Plain>::boxed(async {})));
        table.enqueue(id);
        assert!(table.abandon(id.slot).is_some());
        table.sweep_ready();
        assert_eq!((table.live_count(), table.ready_count()), (0, 0));
        let other = table.occupy(site, QUEUED, None);
        assert_ne!(other.slot, id.slot);
        assert!(table.abandon(id.slot).is_none());
        assert!(table.take_done(id.slot).is_none());
        assert_eq!(table.live_count(), 1);
        let next = table.occupy(site, QUEUED, None);
        assert_eq!((next.slot, next.generation), (id.slot, id.generation + 1));
        assert_eq!(table.live_count(), 2);
    }
}

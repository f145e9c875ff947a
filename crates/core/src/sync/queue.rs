//! The queue in which promises wait for their turn: oldest first, left in O(1) from any place.
//!
//! ```text
//!   oldest ⇄ … ⇄ newest      slots of one vector, linked by index; free ones are linked too
//! ```
//!
//! An entry holds the [`Resolver`] of a promise that somebody waits for, with what he asks. It leaves in one
//! of three ways: its turn comes (`pop_live`); its promise was cancelled (`remove`, by the promise's oldest
//! cancel callback, so the last to run); nobody can learn any more that its turn came. The third is found
//! out when the turn comes, or by a sweep once the queue has doubled: amortised O(1), and the queue is never
//! longer than twice its live entries and a constant.
//!
//! An entry that is cancelled but still here, or not wanted any more, is *dead*: it is never given anything,
//! so no wake-up is lost on it. Dead entries are handed to the caller, who drops them when nothing is
//! borrowed and his own state is in order, since a destructor may run anything.
//!
//! Not here: what an entry is given, and when.

use crate::{Promise, Resolver, cancelable};
use std::cell::RefCell;
use std::iter;
use std::mem;
use std::rc::{Rc, Weak};

/// No slot.
const NONE: u32 = u32::MAX;

/// A sweep is not worth while below this length.
const SWEEP_LENGTH_MIN: usize = 32;

/// A queue that has become empty keeps room for so many.
const KEPT_SLOTS_MAX: usize = 64;

/// Whether an entry may be given something.
pub(super) trait Entry: Sized {
    fn is_live(&self) -> bool;

    /// It was dead when its turn could have come, and has left the queue.
    fn pass_over(self) {}
}

impl<T: 'static> Entry for Resolver<T> {
    fn is_live(&self) -> bool {
        self.is_wanted()
    }
}

/// Names an entry for as long as it is in the queue; after that, nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    index: u32,
    ticket: u64,
}

struct Slot<E> {
    entry: Option<E>,
    older: u32,
    newer: u32,
    ticket: u64,
}

pub(super) struct Queue<E> {
    slots: Vec<Slot<E>>,
    oldest: u32,
    newest: u32,
    /// Head of the free slots, linked through `newer`.
    free: u32,
    len: usize,
    next_ticket: u64,
    sweep_length: usize,
}

/// Entries that were passed over, to be dropped with nothing borrowed.
pub(super) struct Dead<E: Entry>(Vec<E>);

impl<E: Entry> Drop for Dead<E> {
    fn drop(&mut self) {
        self.0.drain(..).for_each(E::pass_over);
    }
}

impl<E> Queue<E> {
    pub(super) const fn new() -> Queue<E> {
        Queue {
            slots: Vec::new(),
            oldest: NONE,
            newest: NONE,
            free: NONE,
            len: 0,
            next_ticket: 0,
            sweep_length: SWEEP_LENGTH_MIN,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn push(&mut self, entry: E) -> Place {
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        let slot = Slot { entry: Some(entry), older: self.newest, newer: NONE, ticket };
        let index = self.put(slot);
        match self.newest {
            NONE => self.oldest = index,
            newest => self.slots[newest as usize].newer = index,
        }
        self.newest = index;
        self.len += 1;
        Place { index, ticket }
    }

    fn put(&mut self, slot: Slot<E>) -> u32 {
        if self.free == NONE {
            let index = u32::try_from(self.slots.len()).ok().filter(|index| *index != NONE);
            self.slots.push(slot);
            return index.expect("over 4 billion waiters in one queue");
        }
        let index = self.free;
        self.free = self.slots[index as usize].newer;
        self.slots[index as usize] = slot;
        index
    }

    /// Takes the entry out, if it is still there.
    pub(super) fn remove(&mut self, place: Place) -> Option<E> {
        let slot = self.slots.get(place.index as usize)?;
        if slot.ticket != place.ticket || slot.entry.is_none() {
            return None;
        }
        self.unlink(place.index)
    }

    /// Takes all entries out. The names of those that come later are others.
    #[must_use]
    pub(super) fn take(&mut self) -> Queue<E> {
        let mut rest = Queue::new();
        rest.next_ticket = self.next_ticket;
        mem::replace(self, rest)
    }

    pub(super) fn pop(&mut self) -> Option<E> {
        if self.oldest == NONE { None } else { self.unlink(self.oldest) }
    }

    pub(super) fn pop_newest(&mut self) -> Option<E> {
        if self.newest == NONE { None } else { self.unlink(self.newest) }
    }

    fn unlink(&mut self, index: u32) -> Option<E> {
        let free = self.free;
        let slot = &mut self.slots[index as usize];
        let entry = slot.entry.take();
        let (older, newer) = (slot.older, mem::replace(&mut slot.newer, free));
        self.free = index;
        match older {
            NONE => self.oldest = newer,
            older => self.slots[older as usize].newer = newer,
        }
        match newer {
            NONE => self.newest = older,
            newer => self.slots[newer as usize].older = older,
        }
        self.len -= 1;
        if self.len == 0 && self.slots.len() > KEPT_SLOTS_MAX {
            self.slots = Vec::new();
            self.free = NONE;
            self.sweep_length = SWEEP_LENGTH_MIN;
        }
        entry
    }
}

impl<E: Entry> Queue<E> {
    /// The oldest entry whose turn it can be, and the dead ones before it.
    #[must_use]
    pub(super) fn pop_live(&mut self) -> (Option<E>, Dead<E>) {
        self.pop_live_if(|_, _| true)
    }

    /// The moment: later entries have this ticket or a higher one.
    pub(super) fn now(&self) -> u64 {
        self.next_ticket
    }

    /// The oldest entry whose turn it can be, if it and its ticket please; and the dead ones before it.
    #[must_use]
    pub(super) fn pop_live_if(&mut self, pleases: impl FnOnce(&E, u64) -> bool) -> (Option<E>, Dead<E>) {
        let mut dead = Dead(Vec::new());
        while let Some(slot) = self.slots.get(self.oldest as usize) {
            match &slot.entry {
                Some(entry) if entry.is_live() => {
                    let pleases = pleases(entry, slot.ticket);
                    return (if pleases { self.pop() } else { None }, dead);
                }
                _ => dead.0.extend(self.pop()),
            }
        }
        (None, dead)
    }

    /// Whether anybody is there who could be given something.
    pub(super) fn has_live(&self) -> bool {
        self.live().next().is_some()
    }

    /// How many there are who could be given something. O(n).
    pub(super) fn live_count(&self) -> usize {
        self.live().count()
    }

    fn live(&self) -> impl Iterator<Item = &E> {
        let slot = |index: u32| self.slots.get(index as usize);
        let in_order = iter::successors(slot(self.oldest), move |at| slot(at.newer));
        in_order.filter_map(|slot| slot.entry.as_ref()).filter(|entry| entry.is_live())
    }

    /// Takes the dead entries out, if the queue has doubled since that was done last.
    #[must_use]
    fn sweep(&mut self) -> Dead<E> {
        let mut dead = Dead(Vec::new());
        if self.len < self.sweep_length {
            return dead;
        }
        let mut index = self.oldest;
        while index != NONE {
            let slot = &self.slots[index as usize];
            let newer = slot.newer;
            if !slot.entry.as_ref().is_some_and(E::is_live) {
                dead.0.extend(self.unlink(index));
            }
            // The last one may have taken the vector with it; then there is no newer one.
            index = newer;
        }
        self.sweep_length = (2 * self.len).max(SWEEP_LENGTH_MIN);
        dead
    }
}

/// Oldest first, each with the queue still whole: what is dropped may look at it through nobody.
impl<E> Drop for Queue<E> {
    fn drop(&mut self) {
        while let Some(entry) = self.pop() {
            drop(entry);
        }
    }
}

/// What owns a queue of `E`.
pub(super) trait Home<E>: 'static {
    fn queue(&self) -> &RefCell<Queue<E>>;

    /// An entry was cancelled and has left the queue.
    fn withdrawn(self: Rc<Self>) {}
}

/// A promise that waits for its turn, at the end of the queue of `home`. Cancelling takes it out.
pub(super) fn stand_in_line<T, E, H>(home: &Rc<H>, entry: impl FnOnce(Resolver<T>) -> E) -> Promise<T>
where
    T: 'static,
    E: Entry + 'static,
    H: Home<E>,
{
    let (promise, resolver) = cancelable();
    let dead = home.queue().borrow_mut().sweep();
    let place = home.queue().borrow_mut().push(entry(resolver));
    let away = Rc::downgrade(home);
    let promise = promise.on_cancel(move || leave(&away, place));
    drop(dead);
    promise
}

fn leave<E, H: Home<E>>(home: &Weak<H>, place: Place) {
    let Some(home) = home.upgrade() else { return };
    let left = home.queue().borrow_mut().remove(place);
    let was_there = left.is_some();
    drop(left);
    if was_there {
        home.withdrawn();
    }
}

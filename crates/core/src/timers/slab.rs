//! The storage of the wheel: a slab of entries, and lists through it.
//!
//! ```text
//!   free ─ occupy ─► seated ─ append ─► in a list ─ unlink, detach ─► seated ─ vacate ─► free again
//! ```
//!
//! An entry is named by its index; whoever holds an index of a free entry finds another generation there.
//! Nothing here knows what a deadline means, save through `list_of`: see `mod.rs`, also for the drawing.

use super::{SLOTS, Timers};

/// No entry. Also the limit of the slab: indices stay below.
pub(super) const NIL: u32 = u32::MAX;
/// Entries added when the slab grows for the first time.
const GROWTH_MIN: usize = 16;

/// A seat of the slab. `waiter` is `Some` exactly while the entry is linked into a list.
pub(super) struct Entry<W> {
    pub(super) deadline: u64,
    pub(super) waiter: Option<W>,
    /// How often this seat was left. The keys of earlier guests differ in it.
    pub(super) generation: u32,
}

/// The neighbours of the entry of the same index. While that is free, `next` chains the free entries.
///
/// Links stand in a slab of their own because they are what is touched at random: unlinking one timer out of
/// a million writes to two strangers, and at 8 bytes each they have a better chance to be in the cache. With
/// the links inside of `Entry`, medians of four alternated runs over a million timers of 24 bytes: 227 ns to
/// expire one instead of 91, 115 ns to cancel a random one and insert another instead of 95 (EPYC, 32 MiB
/// L3).
#[derive(Clone, Copy)]
pub(super) struct Links {
    pub(super) prev: u32,
    pub(super) next: u32,
}

/// The ends of a doubly linked list of entries. Both are kept, although a ring would need one: an append then
/// touches one old entry (the tail) and not two, and among 10^6 timers each is a cache miss.
#[derive(Clone, Copy)]
pub(super) struct List {
    pub(super) head: u32,
    pub(super) tail: u32,
}

impl List {
    pub(super) const EMPTY: List = List { head: NIL, tail: NIL };
}

impl<W> Timers<W> {
    // ── Lists ──────────────────────────────────────────────────────────────────────────────────────────────

    /// Links an entry that is in no list to the end of one.
    #[inline]
    pub(super) fn append(&mut self, list: usize, index: u32) {
        let tail = self.lists[list].tail;
        self.links[index as usize] = Links { prev: tail, next: NIL };
        self.lists[list].tail = index;
        if tail == NIL {
            self.lists[list].head = index;
            self.occupied[list / SLOTS] |= 1 << (list % SLOTS);
        } else {
            self.links[tail as usize].next = index;
        }
    }

    /// Takes an entry out of its list.
    #[inline]
    pub(super) fn unlink(&mut self, index: u32) {
        let Links { prev, next } = self.links[index as usize];
        let list = self.list_of(self.entries[index as usize].deadline);
        if prev == NIL {
            debug_assert_eq!(self.lists[list].head, index, "law 1: the list of an entry can be computed");
            self.lists[list].head = next;
        } else {
            self.links[prev as usize].next = next;
        }
        if next == NIL {
            debug_assert_eq!(self.lists[list].tail, index, "law 1: the list of an entry can be computed");
            self.lists[list].tail = prev;
        } else {
            self.links[next as usize].prev = prev;
        }
        if prev == NIL && next == NIL {
            self.occupied[list / SLOTS] &= !(1 << (list % SLOTS));
        }
    }

    /// Empties a list at once and returns its first entry; the caller walks the chain and sees to each.
    pub(super) fn detach(&mut self, list: usize) -> u32 {
        self.occupied[list / SLOTS] &= !(1 << (list % SLOTS));
        std::mem::replace(&mut self.lists[list], List::EMPTY).head
    }

    // ── Slab ───────────────────────────────────────────────────────────────────────────────────────────────

    /// Seats a waiter, in the entry that was freed last (it is the warmest) or in a new one.
    #[inline]
    pub(super) fn occupy(&mut self, deadline: u64, waiter: W) -> u32 {
        let index = self.free;
        if index == NIL {
            return self.occupy_new(deadline, waiter);
        }
        self.live += 1;
        let entry = &mut self.entries[index as usize];
        debug_assert!(entry.waiter.is_none(), "a free seat is empty");
        self.free = self.links[index as usize].next;
        entry.deadline = deadline;
        entry.waiter = Some(waiter);
        index
    }

    #[cold]
    pub(super) fn occupy_new(&mut self, deadline: u64, waiter: W) -> u32 {
        let index = self.entries.len();
        assert!(
            index < NIL as usize,
            "Timers: 2^32 - 1 timers are alive at once, and no more can be numbered"
        );
        if index == self.entries.capacity() {
            // By an eighth, not by doubling: with a million timers doubling keeps up to a million empty
            // seats.
            let growth = (index / 8).max(GROWTH_MIN);
            self.entries.reserve_exact(growth);
            self.links.reserve_exact(growth);
        }
        self.live += 1;
        self.entries.push(Entry { deadline, waiter: Some(waiter), generation: 0 });
        self.links.push(Links { prev: NIL, next: NIL });
        index as u32
    }

    /// Takes the waiter from an entry that is in no list any more, and frees the entry.
    #[inline]
    pub(super) fn vacate(&mut self, index: u32) -> W {
        let entry = &mut self.entries[index as usize];
        let waiter = entry.waiter.take().expect("an entry in a list holds a waiter");
        self.live -= 1;
        // A seat that has used up its numbers is left empty for good: with a number used twice, an old key
        // could cancel a stranger's timer. One entry lost in 2^32 timers.
        if let Some(generation) = entry.generation.checked_add(1) {
            entry.generation = generation;
            self.links[index as usize].next = self.free;
            self.free = index;
        }
        waiter
    }
}

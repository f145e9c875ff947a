//! The storage of the wheel: a slab of entries, and lists through it.
//!
//! ```text
//!   free ─ occupy ─► seated ─ append ─► in a list ─ unlink, detach ─► seated ─ vacate ─► free again
//! ```
//!
//! An entry is named by its index; whoever holds an index of a free entry finds another generation there.
//! Nothing here knows what a deadline means, save through `list_of`: see `mod.rs`, also for the drawing. How
//! one is kept in four bytes is known only here: nearly all are within 2^31 ticks of `reached`.

use super::{SLOTS, TimerKey, Timers};

/// No entry. Also the limit of the slab: indices stay below.
pub(super) const NIL: u32 = u32::MAX;
/// Entries added when the slab grows for the first time.
const GROWTH_MIN: usize = 16;

/// A seat of the slab. `waiter` is `Some` exactly while the entry is linked into a list.
pub(super) struct Entry<W> {
    pub(super) waiter: Option<W>,
    /// The low half of the deadline. With `reached`, which stays within 2^31 of it, it tells the rest.
    low: u32,
    /// How often this seat was left, in which the keys of earlier guests differ; and below, how the deadline
    /// is kept.
    seal: u32,
}

/// The deadline is `low` and `reached`.
const NEAR: u32 = 0;
/// The deadline is in the map `far`.
const FAR: u32 = 1;
/// There is none: `u64::MAX`.
const NEVER: u32 = 2;
const KINDS: u32 = 3;
const KIND_BITS: u32 = 2;

/// How far from `reached` a deadline can be told from half of it.
const NEAR_BELOW: u64 = 1 << 31;

/// A seat is given up after so many guests.
pub(super) const GENERATION_MAX: u32 = u32::MAX >> KIND_BITS;

impl<W> Entry<W> {
    #[inline]
    pub(super) fn generation(&self) -> u32 {
        self.seal >> KIND_BITS
    }

    #[inline]
    pub(super) fn set_generation(&mut self, generation: u32) {
        self.seal = generation << KIND_BITS | self.kind();
    }

    #[inline]
    fn kind(&self) -> u32 {
        self.seal & KINDS
    }
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
        let list = self.list_of(self.deadline(index));
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
        entry.waiter = Some(waiter);
        self.write_deadline(index, deadline);
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
        self.entries.push(Entry { waiter: Some(waiter), low: 0, seal: 0 });
        self.links.push(Links { prev: NIL, next: NIL });
        self.write_deadline(index as u32, deadline);
        index as u32
    }

    // ── Deadlines ──────────────────────────────────────────────────────────────────────────────────────────

    /// The deadline of a seated entry.
    ///
    /// `reached` comes nearer to it, and passes none: those that it passed already are handed out before it
    /// moves. So a deadline that was near when it was written stays near.
    #[inline]
    pub(super) fn deadline(&self, index: u32) -> u64 {
        let entry = &self.entries[index as usize];
        match entry.kind() {
            NEAR => {
                let distance = entry.low.wrapping_sub(self.reached as u32) as i32;
                self.reached.wrapping_add_signed(i64::from(distance))
            }
            NEVER => u64::MAX,
            _ => self.far[&index],
        }
    }

    #[inline]
    fn write_deadline(&mut self, index: u32, deadline: u64) {
        let kind = if deadline.abs_diff(self.reached) < NEAR_BELOW {
            NEAR
        } else if deadline == u64::MAX {
            NEVER
        } else {
            self.far.insert(index, deadline);
            FAR
        };
        let entry = &mut self.entries[index as usize];
        entry.low = deadline as u32;
        entry.seal = entry.seal & !KINDS | kind;
    }

    /// The key of a seated entry.
    #[inline]
    pub(super) fn key(&self, index: u32) -> TimerKey {
        TimerKey { index, generation: self.entries[index as usize].generation() }
    }

    /// Takes the waiter from an entry that is in no list any more, and frees the entry.
    #[inline]
    pub(super) fn vacate(&mut self, index: u32) -> W {
        let entry = &mut self.entries[index as usize];
        let waiter = entry.waiter.take().expect("an entry in a list holds a waiter");
        self.live -= 1;
        if entry.kind() == FAR {
            self.far.remove(&index);
        }
        // A seat that has used up its numbers is left empty for good: with a number used twice, an old key
        // could cancel a stranger's timer. One entry lost in 2^30 timers.
        if entry.generation() < GENERATION_MAX {
            entry.set_generation(entry.generation() + 1);
            self.links[index as usize].next = self.free;
            self.free = index;
        }
        waiter
    }
}

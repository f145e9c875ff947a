//! Timers in the order of their deadlines: a hierarchical timer wheel, and nothing else.
//!
//! The wheel holds one value (a waiter) per timer and hands the values back when their deadline has come. It
//! knows no clock (`now` is an argument), runs no callback and wakes nobody: that is its caller's work.
//! Time is a count of ticks; the runtime takes 1 ms for a tick, the wheel does not care.
//!
//! ```text
//!   level 10, 2^60 ticks a slot   [ 0 ][ 1 ][ 2 ] ...
//!      :                                 │ 3  the slot's start is reached: its timers go down, each to the
//!   level  1,   64 ticks a slot   [ 0 ][ 1 ][ 2 ] ... [ 63 ]        level that now fits, at once
//!                                        │ 3
//!   level  0,    1 tick  a slot   [ 0 ][ 1 ][ 2 ] ... [ 63 ]     1  insert: append to one list
//!                                        │ 4                     2  cancel: unlink from it
//!   overdue (deadline <= reached) ───────┴──► due                4  fire: the tick itself is reached
//!   never   (deadline = u64::MAX)
//!
//!   slot:  head ──► entry ⇄ entry ⇄ entry ◄── tail      links are indices into one slab of entries
//!   slab:  [ live ][ free ][ live ][ free ] ...         free entries are chained too and used again, last
//!                                                       freed first
//! ```
//!
//! Read deadline and `reached` (the last `now`) as numbers of eleven digits in base 64. The highest digit in
//! which they differ is a timer's level, the deadline's digit there is its slot. Hence the three laws on
//! which this file rests:
//!
//! 1. **The list of a timer is a function of `deadline` and `reached`** (`list_of`). An entry need not
//!    remember its list, so cancel stays O(1) at no memory. `reached` moves only in `expire`, which moves the
//!    entries whose list changes by it: those of the slots it enters.
//! 2. **Timers of one deadline are always in one list, oldest first.** Lists are appended to at the tail and
//!    emptied from the head, so equal deadlines fire in the order of insertion without a sequence number.
//! 3. **All of a lower level comes before all of a higher one**, and within a level the slots are in order
//!    and lie after the digit of `reached` (a slot is never «wrapped around»). So the earliest slot is the
//!    lowest bit of the lowest bitmap that is not zero, and empty time is skipped, however long.
//!
//! Ownership: the wheel owns a waiter from [`Timers::insert`] until [`Timers::cancel`], [`Timers::expire`] or
//! [`Timers::drain`] gives it back. It never drops one itself, save when it is dropped; so no foreign
//! destructor runs while the links are half changed.
//!
//! The scheme is the hierarchical timing wheel (scheme 7) of G. Varghese and T. Lauck, "Hashed and
//! Hierarchical Timing Wheels", SOSP 1987. A binary heap was the other choice: O(log n) to insert, and a
//! cancelled timer stays in it until its time comes, which for timeouts (nearly all are cancelled) is most of
//! its content.

mod slab;

use slab::{Entry, Links, List, NIL};
use std::collections::BTreeMap;
use std::fmt;

/// Bits of one digit: each level has `2^6 = 64` slots, which is one `u64` of occupancy.
const DIGIT_BITS: u32 = 6;
const SLOTS: usize = 1 << DIGIT_BITS;
/// Levels that it takes to cover all 64 bits; of the last one only 16 slots can be used.
const LEVELS: usize = u64::BITS.div_ceil(DIGIT_BITS) as usize;

/// The list of timers that were late already when they came; they are due at the next `expire`.
const OVERDUE: usize = LEVELS * SLOTS;
/// The list of timers that never fire.
const NEVER: usize = OVERDUE + 1;
const LISTS: usize = NEVER + 1;

/// Names one timer of one [`Timers`], for [`cancel`](Timers::cancel) and [`get_mut`](Timers::get_mut).
///
/// A key may be kept after its timer has fired or was cancelled. It is then stale, and stays so for ever: no
/// later timer answers to it, although the memory is used again.
///
/// ```
/// use lisle_core::timers::Timers;
///
/// let mut timers = Timers::new();
/// let first = timers.insert(5, "first");
/// timers.cancel(first);
/// let second = timers.insert(5, "second");
/// assert_ne!(first, second);
/// assert_eq!(timers.cancel(first), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TimerKey {
    index: u32,
    generation: u32,
}

impl TimerKey {
    /// The key as one word, for tables of promises.
    pub(crate) fn to_bits(self) -> u64 {
        u64::from(self.generation) << 32 | u64::from(self.index)
    }

    /// The key of a word made by [`TimerKey::to_bits`].
    pub(crate) fn from_bits(bits: u64) -> TimerKey {
        TimerKey { index: bits as u32, generation: (bits >> 32) as u32 }
    }
}

/// Values waiting for a moment, each handed back when its deadline is reached.
///
/// Insert and cancel take constant time. A timer costs 16 bytes and an `Option<W>`; one whose deadline is
/// 2^31 ticks away or more (24 days, if a tick is 1 ms) is written down in a map too.
/// Memory grows with the greatest number of timers that were alive at once, and is then used again.
///
/// The wheel itself is about 6 KiB, held inline: keep it in one place rather than moving it around.
///
/// # Examples
///
/// ```
/// use lisle_core::timers::Timers;
///
/// let mut timers = Timers::new();
/// timers.insert(30, "tea");
/// timers.insert(10, "toast");
/// let alarm = timers.insert(20, "alarm");
/// assert_eq!(timers.next_deadline(), Some(10));
///
/// assert_eq!(timers.cancel(alarm), Some("alarm"));
/// let mut due = Vec::new();
/// timers.expire(40, &mut due);
/// assert_eq!(due, ["toast", "tea"]);
/// assert!(timers.is_empty());
/// ```
pub struct Timers<W> {
    /// The greatest `now` seen. Every timer outside of `OVERDUE` has a later deadline.
    reached: u64,
    /// One bit per list, set while the list is not empty. One word per level, the last one for `OVERDUE`,
    /// `NEVER`.
    occupied: [u64; LEVELS + 1],
    lists: [List; LISTS],
    /// The slab, in two halves of equal length.
    entries: Vec<Entry<W>>,
    links: Vec<Links>,
    /// The deadlines that do not fit into their entries, by index.
    far: BTreeMap<u32, u64>,
    /// First of the chain of free entries.
    free: u32,
    live: usize,
    /// A lower bound of the deadlines in `OVERDUE`; means nothing while that list is empty.
    overdue_earliest: u64,
}

impl<W> Timers<W> {
    /// An empty wheel at tick 0. Allocates nothing until the first insert.
    ///
    /// ```
    /// use lisle_core::timers::Timers;
    ///
    /// static NONE: Timers<u32> = Timers::new();
    /// assert!(NONE.is_empty());
    /// ```
    #[must_use]
    pub const fn new() -> Self {
        Timers {
            reached: 0,
            occupied: [0; LEVELS + 1],
            lists: [List::EMPTY; LISTS],
            entries: Vec::new(),
            links: Vec::new(),
            far: BTreeMap::new(),
            free: NIL,
            live: 0,
            overdue_earliest: 0,
        }
    }

    /// Stores `waiter` until tick `deadline`. O(1), amortised over the growth of the slab.
    ///
    /// A deadline that has passed already is due at the next [`expire`](Timers::expire). The deadline
    /// `u64::MAX` is never reached: such a timer stays until it is cancelled.
    ///
    /// # Panics
    ///
    /// With 2^32 - 1 timers alive at once.
    ///
    /// ```
    /// use lisle_core::timers::Timers;
    ///
    /// let mut timers = Timers::new();
    /// let mut due = Vec::new();
    /// timers.expire(1_000, &mut due);
    /// timers.insert(999, "late already");
    /// timers.insert(u64::MAX, "never");
    /// timers.expire(1_000, &mut due);
    /// assert_eq!(due, ["late already"]);
    /// assert_eq!(timers.len(), 1);
    /// ```
    pub fn insert(&mut self, deadline: u64, waiter: W) -> TimerKey {
        let index = self.occupy(deadline, waiter);
        let list = self.list_of(deadline);
        if list == OVERDUE {
            let alone = self.lists[OVERDUE].head == NIL;
            self.overdue_earliest = if alone { deadline } else { self.overdue_earliest.min(deadline) };
        }
        self.append(list, index);
        self.key(index)
    }

    /// Takes a timer out before its time and gives its waiter back; `None` if the key is stale. O(1).
    ///
    /// ```
    /// use lisle_core::timers::Timers;
    ///
    /// let mut timers = Timers::new();
    /// let key = timers.insert(5, "request timeout");
    /// assert_eq!(timers.cancel(key), Some("request timeout"));
    /// assert_eq!(timers.cancel(key), None);
    /// ```
    pub fn cancel(&mut self, key: TimerKey) -> Option<W> {
        self.get_mut(key)?;
        self.unlink(key.index);
        Some(self.vacate(key.index))
    }

    /// The waiter of a timer, to be changed in place; `None` if the key is stale.
    ///
    /// ```
    /// use lisle_core::timers::Timers;
    ///
    /// let mut timers = Timers::new();
    /// let key = timers.insert(5, 1);
    /// *timers.get_mut(key).unwrap() += 1;
    /// assert_eq!(timers.cancel(key), Some(2));
    /// ```
    pub fn get_mut(&mut self, key: TimerKey) -> Option<&mut W> {
        let entry = self.entries.get_mut(key.index as usize)?;
        if entry.generation() != key.generation {
            return None;
        }
        entry.waiter.as_mut()
    }

    /// When to call [`expire`](Timers::expire) next; `None` if nothing can ever come due.
    ///
    /// Never later than the earliest deadline, and exact when that deadline is in the same block of 64 ticks
    /// as the last `now`. Otherwise it may be earlier: the tick at which the wheel wants to move that timer
    /// nearer. An `expire` then finds nothing due, but a later tick is named afterwards; a timer costs at
    /// most ten such calls, whatever its distance, and so a loop that sleeps until this tick does not spin.
    ///
    /// ```
    /// use lisle_core::timers::Timers;
    ///
    /// let mut timers = Timers::new();
    /// timers.insert(100, "hundred");
    /// let mut due = Vec::new();
    /// let mut stops = Vec::new();
    /// while let Some(tick) = timers.next_deadline() {
    ///     stops.push(tick);
    ///     timers.expire(tick, &mut due);
    /// }
    /// assert_eq!(stops, [64, 100]);
    /// ```
    #[must_use]
    pub fn next_deadline(&self) -> Option<u64> {
        if self.lists[OVERDUE].head != NIL {
            return Some(self.overdue_earliest);
        }
        self.first_slot().map(|(_, start)| start)
    }

    /// Moves every waiter whose deadline is at or before `now` to the end of `due`: by deadline, and those of
    /// one deadline in the order of insertion.
    ///
    /// Never hands out a timer early. Time does not run backwards: a `now` before an earlier one counts as
    /// the earlier one. Ticks in which nothing happens cost nothing, so a `now` that is years ahead is
    /// welcome; the cost is that of the timers moved, and each moves down at most ten times in its life.
    ///
    /// ```
    /// use lisle_core::timers::Timers;
    ///
    /// let mut timers = Timers::new();
    /// timers.insert(2, 'b');
    /// timers.insert(1, 'a');
    /// timers.insert(2, 'c');
    /// timers.insert(1_000_000_000_000, 'z');
    /// let mut due = Vec::new();
    /// timers.expire(999_999_999_999, &mut due);
    /// assert_eq!(due, ['a', 'b', 'c']);
    /// ```
    pub fn expire(&mut self, now: u64, due: &mut Vec<W>) {
        self.expire_overdue(due);
        while let Some((list, start)) = self.first_slot() {
            if start > now {
                break;
            }
            debug_assert!(start > self.reached, "each step goes forward, so the loop ends");
            self.reached = start;
            self.expire_slot(list, due);
        }
        // No list changes by this last step: it enters no slot that holds a timer (law 1).
        self.reached = self.reached.max(now);
    }

    /// Moves every waiter to the end of `drained`, those of deadline `u64::MAX` included: by deadline, and
    /// those of one deadline in the order of insertion. `reached` and the generations stay, so that every key
    /// given out is stale.
    ///
    /// ```
    /// use lisle_core::timers::Timers;
    ///
    /// let mut timers = Timers::new();
    /// timers.insert(u64::MAX, "never");
    /// let key = timers.insert(5, "soon");
    /// let mut drained = Vec::new();
    /// timers.drain(&mut drained);
    /// assert_eq!(drained, ["soon", "never"]);
    /// assert_eq!(timers.cancel(key), None);
    /// ```
    pub fn drain(&mut self, drained: &mut Vec<W>) {
        drained.extend(self.drain_keyed().into_iter().map(|(_, waiter)| waiter));
    }

    /// As [`Timers::drain`], with the keys that the timers had.
    pub(crate) fn drain_keyed(&mut self) -> Vec<(TimerKey, W)> {
        let mut order = Vec::with_capacity(self.live);
        for list in 0..LISTS {
            let mut index = self.detach(list);
            while index != NIL {
                order.push((self.deadline(index), index));
                index = self.links[index as usize].next;
            }
        }
        // Stable, and equal deadlines stand in one list (law 2).
        order.sort_by_key(|&(deadline, _)| deadline);
        let drained = order.into_iter().map(|(_, index)| (self.key(index), self.vacate(index))).collect();
        debug_assert_eq!(self.live, 0, "every timer is in a list");
        drained
    }

    /// How many timers are stored, those of deadline `u64::MAX` included.
    ///
    /// ```
    /// use lisle_core::timers::Timers;
    ///
    /// let mut timers = Timers::new();
    /// timers.insert(1, ());
    /// assert_eq!(timers.len(), 1);
    /// ```
    #[must_use]
    pub const fn len(&self) -> usize {
        self.live
    }

    /// Whether no timer is stored.
    ///
    /// ```
    /// use lisle_core::timers::Timers;
    ///
    /// assert!(Timers::<()>::new().is_empty());
    /// ```
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.live == 0
    }

    // ── Which list ─────────────────────────────────────────────────────────────────────────────────────────

    /// The one list in which a timer of this deadline is (law 1).
    #[inline]
    fn list_of(&self, deadline: u64) -> usize {
        if deadline == u64::MAX {
            return NEVER;
        }
        if deadline <= self.reached {
            return OVERDUE;
        }
        let highest_difference = (deadline ^ self.reached).ilog2();
        let level = highest_difference / DIGIT_BITS;
        let digit = (deadline >> (level * DIGIT_BITS)) as usize % SLOTS;
        level as usize * SLOTS + digit
    }

    /// The earliest slot with a timer in it, as its list and its first tick (law 3).
    #[inline]
    fn first_slot(&self) -> Option<(usize, u64)> {
        let level = self.occupied[..LEVELS].iter().position(|&slots| slots != 0)?;
        let digit = self.occupied[level].trailing_zeros();
        let shift = level as u32 * DIGIT_BITS;
        // All of the level lies in one block with `reached`: the digits above are its digits. At the highest
        // level there are none, and the shift that would clear them is wider than the word.
        let block_start = match (u64::MAX << shift).checked_shl(DIGIT_BITS) {
            Some(above) => self.reached & above,
            None => 0,
        };
        Some((level * SLOTS + digit as usize, block_start | u64::from(digit) << shift))
    }

    // ── Expiry ─────────────────────────────────────────────────────────────────────────────────────────────

    /// Empties the slot whose first tick has just become `reached`: timers of that very tick are due, the
    /// others belong to lower levels now. At level 0 all are due.
    fn expire_slot(&mut self, list: usize, due: &mut Vec<W>) {
        let mut index = self.detach(list);
        while index != NIL {
            let deadline = self.deadline(index);
            let next = self.links[index as usize].next;
            debug_assert!(deadline >= self.reached, "a timer was passed over");
            if deadline == self.reached {
                due.push(self.vacate(index));
            } else {
                let lower = self.list_of(deadline);
                debug_assert!(lower < list, "cascading goes down");
                self.append(lower, index);
            }
            index = next;
        }
    }

    /// Hands out the timers that came too late for the wheel. They are in order of insertion, so they have to
    /// be sorted; mostly they are in order (`sleep(0)` again and again) and then nothing is allocated for it.
    fn expire_overdue(&mut self, due: &mut Vec<W>) {
        let mut index = self.detach(OVERDUE);
        let mut pending = index;
        let mut latest = 0;
        while pending != NIL && self.deadline(pending) >= latest {
            latest = self.deadline(pending);
            pending = self.links[pending as usize].next;
        }
        if pending == NIL {
            while index != NIL {
                let next = self.links[index as usize].next;
                due.push(self.vacate(index));
                index = next;
            }
            return;
        }
        let mut order = Vec::new();
        while index != NIL {
            let deadline = self.deadline(index);
            let next = self.links[index as usize].next;
            order.push((deadline, index));
            index = next;
        }
        // Stable: equal deadlines stay in the order of insertion. (Indices say nothing about that order.)
        order.sort_by_key(|&(deadline, _)| deadline);
        due.extend(order.into_iter().map(|(_, index)| self.vacate(index)));
    }
}

impl<W> Default for Timers<W> {
    fn default() -> Self {
        Timers::new()
    }
}

/// Shows the state of the wheel, not the waiters: they need not be `Debug`, and may be a million.
impl<W> fmt::Debug for Timers<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Timers")
            .field("len", &self.live)
            .field("reached", &self.reached)
            .field("next_deadline", &self.next_deadline())
            .finish_non_exhaustive()
    }
}

/// What cannot be seen from outside; the behaviour is tested in `tests/timers.rs`.
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_16_bytes_and_a_waiter() {
        type Waiter = std::num::NonZeroU32;
        assert_eq!(size_of::<Entry<Waiter>>() + size_of::<Links>(), 16 + size_of::<Waiter>());
        assert_eq!(size_of::<Timers<Waiter>>(), size_of::<Timers<u8>>());
    }

    #[test]
    fn memory_stays_flat_over_ten_million_inserts_and_cancels() {
        let mut timers = Timers::new();
        let mut keys: Vec<_> = (0..64).map(|tick| timers.insert(tick * 997, tick)).collect();
        let capacity = timers.entries.capacity();
        for round in 0..10_000_000_u64 {
            let at = (round % 64) as usize;
            assert!(timers.cancel(keys[at]).is_some());
            keys[at] = timers.insert(round * 31, round);
        }
        assert_eq!(timers.len(), 64);
        assert_eq!(timers.entries.len(), 64);
        assert_eq!(timers.entries.capacity(), capacity);
    }

    #[test]
    fn a_seat_is_given_up_before_its_generation_repeats() {
        let mut timers = Timers::new();
        let first = timers.insert(1, "first");
        timers.cancel(first);
        timers.entries[0].set_generation(slab::GENERATION_MAX);
        let last = timers.insert(1, "last");
        assert_eq!((last.index, last.generation), (0, slab::GENERATION_MAX));
        assert_eq!(timers.cancel(last), Some("last"));
        assert_eq!(timers.cancel(last), None);
        let other = timers.insert(1, "other");
        assert_eq!(other.index, 1);
        assert_eq!(timers.cancel(last), None);
        assert_eq!(timers.len(), 1);
    }

    #[test]
    fn only_deadlines_far_away_take_a_place_in_the_map() {
        let mut timers = Timers::new();
        let mut due = Vec::new();
        timers.expire(1 << 40, &mut due);
        let near = [0, 1, (1_u64 << 31) - 1].map(|distance| (1 << 40) + distance);
        let far = [1 << 31, 1 << 32, 1 << 50].map(|distance| (1_u64 << 40) + distance);
        for deadline in near {
            timers.insert(deadline, deadline);
        }
        timers.insert((1 << 40) + 1 - (1 << 31), 0);
        timers.insert(u64::MAX, 0);
        assert!(timers.far.is_empty());
        let keys = far.map(|deadline| timers.insert(deadline, deadline));
        timers.insert(1, 1);
        assert_eq!(timers.far.len(), 4);
        assert_eq!(timers.cancel(keys[1]), Some(far[1]));
        timers.expire(u64::MAX - 1, &mut due);
        assert_eq!(due, [1, 0, near[0], near[1], near[2], far[0], far[2]]);
        assert_eq!((timers.far.len(), timers.len()), (0, 1));
    }

    #[test]
    fn the_bitmaps_tell_which_lists_are_empty() {
        let mut timers = Timers::new();
        let mut due = Vec::new();
        let mut keys = Vec::new();
        for step in 0..2_000_u64 {
            keys.push(timers.insert(step.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (step % 64), step));
            if step % 3 == 0 {
                timers.cancel(keys[(step / 2) as usize]);
            }
            if step % 50 == 0 {
                timers.expire(1 << (step / 50), &mut due);
            }
            for (list, ends) in timers.lists.iter().enumerate() {
                let occupied = timers.occupied[list / SLOTS] >> (list % SLOTS) & 1 == 1;
                assert_eq!(occupied, ends.head != NIL);
                assert_eq!(occupied, ends.tail != NIL);
            }
        }
    }
}

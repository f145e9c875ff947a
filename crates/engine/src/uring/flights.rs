//! The table of operations in flight: where each one lives until its last completion.
//!
//! ```text
//!   Token (caller's) ──buckets──► slot ◄──index + generation── user_data (kernel's)
//!                                  │
//!                                  └─ Flight: operation, descriptor, buffer, progress
//! ```
//!
//! A slot is reused, its generation is not: a completion that comes late or twice finds nobody. Finding a
//! slot by token is a chained hash whose links are in the slots, so neither submit nor complete allocates
//! once the table has grown.
//!
//! Lanes: the kernel serves two operations that wait on one socket in any order, and mixes the pieces of two
//! large sends. So of the sends on a descriptor, and of the receives, only the first is in the kernel; the
//! others form a list behind it, linked through the flights, whose tail the descriptor remembers. Accepts
//! stand in no lane: connections are alike.
//! Not here: what the fields of a flight mean to the kernel (`encode.rs`), who moves it between places
//! (`mod.rs`).

use crate::fd::NO_LANE;
use crate::{Op, Token};

/// How many operations one engine holds at a time; more are refused with `ENOBUFS`.
pub(super) const FLIGHTS_MAX: usize = 1 << 24;

const GENERATION_BITS: u32 = 30;
const NONE: u32 = u32::MAX;
const BUCKETS_FIRST: usize = 64;

/// What an entry of the ring is about; travels in the two highest bits of `user_data`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tag {
    /// An operation.
    Op,
    /// An operation whose value is a descriptor: if nobody waits for it any more, it must be closed.
    OpFd,
    /// A request to cancel the operation of this key.
    Cancel,
    /// The watch on the waker's eventfd.
    Watch,
}

/// Names one flight for ever: the generation tells reuses of a slot apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Key {
    index: u32,
    generation: u32,
}

impl Key {
    /// Stands where an entry belongs to no flight.
    pub(super) const NOBODY: Key = Key { index: NONE, generation: 0 };

    pub(super) fn pack(self, tag: Tag) -> u64 {
        debug_assert!(self.generation < 1 << GENERATION_BITS);
        u64::from(self.index) | u64::from(self.generation) << 32 | (tag as u64) << (32 + GENERATION_BITS)
    }

    pub(super) fn unpack(user_data: u64) -> (Tag, Key) {
        let tag = match user_data >> (32 + GENERATION_BITS) {
            0 => Tag::Op,
            1 => Tag::OpFd,
            2 => Tag::Cancel,
            _ => Tag::Watch,
        };
        let generation = (user_data >> 32) as u32 & ((1 << GENERATION_BITS) - 1);
        (tag, Key { index: user_data as u32, generation })
    }
}

/// Who has to act next on a flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// The kernel: an entry is in the ring or beyond.
    Kernel,
    /// Us: the ring had no room.
    Backlog,
    /// Us: it waits for a buffer to return to the pool.
    Starved,
    /// Us: a shutdown, made at the next turn.
    Shutdowns,
    /// Us: it waits for those ahead of it in its lane.
    Lane,
}

/// An operation in flight.
#[derive(Debug)]
pub(super) struct Flight {
    pub(super) token: Token,
    pub(super) op: Op,
    pub(super) place: Place,
    /// Bytes that earlier entries of a `SendAll` have sent.
    pub(super) sent: usize,
    pub(super) cancel_asked: bool,
    /// How often the kernel could not find it to cancel it.
    pub(super) cancel_misses: u8,
    /// Multishot does not work here: repeat single shots.
    pub(super) single_shot: bool,
    /// Its entry in the ring is a poll for readiness; the operation itself follows.
    pub(super) awaits_ready: bool,
    /// Ask the kernel to wait for data before it takes a pool buffer.
    pub(super) poll_first: bool,
    /// Neighbours in its lane; `NOBODY` at either end.
    ahead: Key,
    behind: Key,
}

impl Flight {
    /// After its removal: whose turn it is now.
    pub(super) fn successor(&self) -> Option<Key> {
        (self.ahead == Key::NOBODY && self.behind != Key::NOBODY).then_some(self.behind)
    }
}

#[derive(Debug)]
struct Slot {
    generation: u32,
    /// Next in the bucket's chain while taken, next free slot while not.
    next: u32,
    flight: Option<Flight>,
}

/// See the head of the file.
#[derive(Debug)]
pub(super) struct Flights {
    slots: Vec<Slot>,
    free: u32,
    live: usize,
    /// Heads of the chains. A power of two, at least as many as slots.
    buckets: Vec<u32>,
}

impl Flights {
    pub(super) fn new() -> Flights {
        Flights { slots: Vec::new(), free: NONE, live: 0, buckets: vec![NONE; BUCKETS_FIRST] }
    }

    pub(super) fn len(&self) -> usize {
        self.live
    }

    pub(super) fn is_full(&self) -> bool {
        self.live >= FLIGHTS_MAX
    }

    /// Takes a slot, and a place at the end of its lane. The caller has checked [`Flights::is_full`].
    pub(super) fn insert(&mut self, token: Token, op: Op, place: Place) -> (Key, &mut Flight) {
        debug_assert!(self.find(token).is_none(), "{token:?} is in flight already");
        if self.free == NONE {
            self.grow();
        }
        let index = self.free;
        let bucket = self.bucket(token);
        let key = Key { index, generation: self.slots[index as usize].generation };
        let ahead = self.join_lane(&op, key);
        let place = if ahead == Key::NOBODY { place } else { Place::Lane };
        let slot = &mut self.slots[index as usize];
        self.free = slot.next;
        slot.next = std::mem::replace(&mut self.buckets[bucket], index);
        self.live += 1;
        debug_assert!(slot.flight.is_none());
        let flight = slot.flight.insert(Flight {
            token,
            op,
            place,
            sent: 0,
            cancel_asked: false,
            cancel_misses: 0,
            single_shot: false,
            awaits_ready: false,
            poll_first: false,
            ahead,
            behind: Key::NOBODY,
        });
        (key, flight)
    }

    pub(super) fn get_mut(&mut self, key: Key) -> Option<&mut Flight> {
        let slot = self.slots.get_mut(key.index as usize)?;
        if slot.generation == key.generation { slot.flight.as_mut() } else { None }
    }

    pub(super) fn contains(&self, key: Key) -> bool {
        self.slots
            .get(key.index as usize)
            .is_some_and(|slot| slot.generation == key.generation && slot.flight.is_some())
    }

    /// Frees the slot and closes the gap in the lane. The caller starts [`Flight::successor`].
    pub(super) fn remove(&mut self, key: Key) -> Option<Flight> {
        let slot = self.slots.get_mut(key.index as usize)?;
        if slot.generation != key.generation {
            return None;
        }
        let flight = slot.flight.take()?;
        let after = std::mem::replace(&mut slot.next, self.free);
        slot.generation = (slot.generation + 1) & ((1 << GENERATION_BITS) - 1);
        self.free = key.index;
        self.live -= 1;
        self.unlink(flight.token, key.index, after);
        self.leave_lane(&flight, key);
        Some(flight)
    }

    pub(super) fn find(&self, token: Token) -> Option<Key> {
        let mut index = self.buckets[self.bucket(token)];
        while index != NONE {
            let slot = &self.slots[index as usize];
            if slot.flight.as_ref().is_some_and(|flight| flight.token == token) {
                return Some(Key { index, generation: slot.generation });
            }
            index = slot.next;
        }
        None
    }

    /// Asks every flight to end, and drops those that no entry of the ring refers to.
    pub(super) fn close(&mut self) {
        for index in 0..self.slots.len() as u32 {
            let slot = &mut self.slots[index as usize];
            let key = Key { index, generation: slot.generation };
            match &mut slot.flight {
                Some(flight) if flight.place == Place::Kernel => flight.cancel_asked = true,
                Some(_) => drop(self.remove(key)),
                None => {}
            }
        }
    }

    /// Makes `key` the tail of its lane and says who was that before.
    fn join_lane(&mut self, op: &Op, key: Key) -> Key {
        let Some((fd, side)) = op.lane() else { return Key::NOBODY };
        let tail = fd.lane(side).replace(key.pack(Tag::Op));
        if tail == NO_LANE {
            return Key::NOBODY;
        }
        let (_, tail) = Key::unpack(tail);
        // The name may be another engine's, which used the descriptor before.
        match self.get_mut(tail) {
            Some(ahead) if ahead.op.lane().is_some_and(|(other, at)| other.id() == fd.id() && at == side) => {
                ahead.behind = key;
                tail
            }
            _ => Key::NOBODY,
        }
    }

    fn leave_lane(&mut self, flight: &Flight, key: Key) {
        let Some((fd, side)) = flight.op.lane() else { return };
        if let Some(behind) = self.get_mut(flight.behind) {
            behind.ahead = flight.ahead;
        }
        if let Some(ahead) = self.get_mut(flight.ahead) {
            ahead.behind = flight.behind;
        }
        let tail = fd.lane(side);
        if tail.get() == key.pack(Tag::Op) {
            tail.set(if flight.ahead == Key::NOBODY { NO_LANE } else { flight.ahead.pack(Tag::Op) });
        }
    }

    fn bucket(&self, token: Token) -> usize {
        // Fibonacci hashing: tokens made of small integers in either half spread over all buckets.
        let shift = 64 - self.buckets.len().trailing_zeros();
        (token.0.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> shift) as usize
    }

    fn unlink(&mut self, token: Token, index: u32, after: u32) {
        let bucket = self.bucket(token);
        let mut at = self.buckets[bucket];
        if at == index {
            self.buckets[bucket] = after;
            return;
        }
        while self.slots[at as usize].next != index {
            at = self.slots[at as usize].next;
        }
        self.slots[at as usize].next = after;
    }

    /// Doubles the table and puts the new slots on the free list, lowest first.
    fn grow(&mut self) {
        let (old, new) = (self.slots.len(), (self.slots.len() * 2).max(BUCKETS_FIRST));
        self.slots.reserve_exact(new - old);
        for index in old..new {
            let next = if index + 1 == new { NONE } else { index as u32 + 1 };
            self.slots.push(Slot { generation: 0, next, flight: None });
        }
        self.free = old as u32;
        if self.buckets.len() < new {
            self.buckets = vec![NONE; new];
            for index in 0..old {
                // Growth happens only when every slot is taken.
                let Some(flight) = &self.slots[index].flight else { continue };
                let bucket = self.bucket(flight.token);
                self.slots[index].next = std::mem::replace(&mut self.buckets[bucket], index as u32);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_data_carries_key_and_tag() {
        for tag in [Tag::Op, Tag::OpFd, Tag::Cancel, Tag::Watch] {
            for key in [Key::NOBODY, Key { index: 7, generation: (1 << GENERATION_BITS) - 1 }] {
                assert_eq!(Key::unpack(key.pack(tag)), (tag, key));
            }
        }
    }

    #[test]
    fn finds_each_token_while_it_is_there() {
        let mut flights = Flights::new();
        let mut keys = Vec::new();
        // Tokens that share low bits, high bits, or neither; removed in another order than inserted.
        let token = |i: u64| Token(if i.is_multiple_of(2) { i << 32 } else { i });
        for round in 0..3 {
            for i in 0..1000 {
                let (key, _) = flights.insert(token(i), Op::Nop, Place::Kernel);
                keys.push(key);
            }
            assert_eq!(flights.len(), 1000);
            for i in (0..1000usize).map(|i| i * 7 % 1000) {
                assert_eq!(flights.find(token(i as u64)), Some(keys[i]), "round {round}");
                assert!(flights.remove(keys[i]).is_some());
                assert!(flights.remove(keys[i]).is_none(), "a key works once");
                assert!(flights.get_mut(keys[i]).is_none());
                assert_eq!(flights.find(token(i as u64)), None);
            }
            assert_eq!(flights.len(), 0);
            keys.clear();
        }
        assert_eq!(flights.slots.len(), 1024, "slots are reused");
    }

    #[test]
    fn a_reused_slot_has_another_key() {
        let mut flights = Flights::new();
        let (first, _) = flights.insert(Token(1), Op::Nop, Place::Kernel);
        flights.remove(first);
        let (second, _) = flights.insert(Token(1), Op::Nop, Place::Kernel);
        assert_ne!(first, second);
        assert!(!flights.contains(first));
        assert!(flights.contains(second));
    }
}

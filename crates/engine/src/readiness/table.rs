//! What is known of each descriptor: whether a call is worth trying, and who waits for it.
//!
//! One [`Entry`] per descriptor number, with two [`Side`]s (reading, writing). A side holds a
//! first-in-first-out queue of operations (linked through `queue.rs`) and a guess:
//!
//! ```text
//!            event from the poller
//!   Try ◄──────────────────────────── Wait      Try    a call may succeed: make it
//!    │ ╲      EAGAIN, short write       ▲       Wait   it would not: queue without a call
//!    │  ╰───────────────────────────────┤       Short  the last receive took less than it could
//!    └─ short receive ─► Short ─────────┘              (means Wait, but only on a stream; see `mod.rs`)
//! ```
//!
//! An entry belongs to one open descriptor, known by [`Fd::id`]. When the number changes hands the entry
//! starts afresh under a new generation, so that a late event for the former owner finds no addressee.
//! Not here: system calls, the operations themselves.

use super::queue::{Key, NONE};
use crate::{Fd, Interest};
use std::os::fd::RawFd;

/// Whether the next call on a side is worth making.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Guess {
    Try,
    Short,
    Wait,
}

/// What kind of file it is, as far as it matters after a short receive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Nobody asked yet.
    Unknown,
    /// TCP: a short receive means that nothing is left (urgent data aside, which the poller reports).
    Tcp,
    /// `AF_UNIX` stream: the same, but a receive also stops where descriptors were attached; `recvmsg` tells.
    UnixStream,
    /// Datagrams and whatever else: a short receive means nothing.
    Other,
}

/// One side of one descriptor: where an operation queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) raw: RawFd,
    pub(super) side: Interest,
}

/// One direction of a descriptor.
#[derive(Debug)]
pub(super) struct Side {
    /// First operation waiting, or [`NONE`].
    pub(super) head: Key,
    /// Last operation waiting, or [`NONE`].
    pub(super) tail: Key,
    guess: Guess,
    /// The poller reported hang-up, error or urgent data: a short receive proves nothing any more.
    hung_up: bool,
    /// The poller will report this side.
    pub(super) watched: bool,
    /// Already in the list of sides to serve.
    pub(super) listed: bool,
    /// Already in a list of sides whose head waits for something else than readiness.
    pub(super) parked: bool,
}

impl Side {
    const FRESH: Side = Side {
        head: NONE,
        tail: NONE,
        guess: Guess::Try,
        hung_up: false,
        watched: false,
        listed: false,
        parked: false,
    };

    pub(super) fn is_empty(&self) -> bool {
        self.head == NONE
    }

    /// The guess, where `Short` has been resolved as far as this side knows.
    pub(super) fn guess(&self) -> Guess {
        // An end of file that arrived together with the bytes makes no further event, so it has to be looked
        // for.
        if self.guess == Guess::Short && self.hung_up { Guess::Try } else { self.guess }
    }

    /// Takes note of what a call taught.
    pub(super) fn learn(&mut self, guess: Guess) {
        // EAGAIN after a hang-up was reported: it was not one for this direction, or an error since consumed.
        self.hung_up &= guess != Guess::Wait;
        self.guess = guess;
    }

    /// The poller says that a call is worth trying.
    pub(super) fn wake(&mut self, hung_up: bool) {
        self.guess = Guess::Try;
        self.hung_up |= hung_up;
    }
}

/// What is known of one descriptor number.
#[derive(Debug)]
pub(super) struct Entry {
    /// Identity of the open descriptor; 0 if the number was never seen.
    id: u64,
    generation: u32,
    /// Known to be in non-blocking mode.
    pub(super) nonblocking: bool,
    pub(super) kind: Kind,
    sides: [Side; 2],
}

impl Entry {
    const FRESH: Entry = Entry {
        id: 0,
        generation: 0,
        nonblocking: false,
        kind: Kind::Unknown,
        sides: [Side::FRESH, Side::FRESH],
    };

    pub(super) fn side(&mut self, side: Interest) -> &mut Side {
        &mut self.sides[side as usize]
    }

    /// Starts afresh for another open descriptor with the same number.
    fn change_hands(&mut self, id: u64) {
        debug_assert!(self.sides.iter().all(Side::is_empty), "an operation holds its descriptor open");
        self.id = id;
        self.generation = self.generation.wrapping_add(1);
        self.nonblocking = false;
        self.kind = Kind::Unknown;
        for side in &mut self.sides {
            // The lists may still mention this number, and go on doing so.
            *side = Side { listed: side.listed, parked: side.parked, ..Side::FRESH };
        }
    }
}

/// Entries by descriptor number. As long as the highest number seen, which the system limits.
#[derive(Debug, Default)]
pub(super) struct Table(Vec<Entry>);

impl Table {
    /// The entry of an open descriptor, fresh if its number has changed hands.
    pub(super) fn open(&mut self, fd: &Fd) -> &mut Entry {
        let raw = fd.raw() as usize;
        if raw >= self.0.len() {
            self.0.resize_with((raw + 1).next_power_of_two(), || Entry::FRESH);
        }
        let entry = &mut self.0[raw];
        if entry.id != fd.id() {
            entry.change_hands(fd.id());
        }
        entry
    }

    /// The entry of a number that has been opened here.
    pub(super) fn entry(&mut self, raw: RawFd) -> &mut Entry {
        &mut self.0[raw as usize]
    }

    /// The side of a number that has been opened here.
    pub(super) fn side(&mut self, place: Place) -> &mut Side {
        self.entry(place.raw).side(place.side)
    }

    /// The name under which the poller reports the present owner of a number: generation and number.
    pub(super) fn name(&mut self, raw: RawFd) -> u64 {
        u64::from(self.entry(raw).generation) << 32 | u64::from(raw.cast_unsigned())
    }

    /// The number behind a name, unless it has changed hands since.
    pub(super) fn known(&mut self, name: u64) -> Option<RawFd> {
        let (generation, raw) = ((name >> 32) as u32, name as u32);
        let entry = self.0.get(raw as usize)?;
        (entry.generation == generation).then_some(raw.cast_signed())
    }
}

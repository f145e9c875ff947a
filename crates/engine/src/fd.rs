//! Counted descriptors: closed when the last holder (handle or operation in flight) lets go.
//!
//! An operation holds an [`Fd`] from `submit` to its last completion, so a number can never be closed and
//! reused under an operation, and a late operation can never reach another file. Each `Fd` also carries an
//! identity that is unique in the process: engines that keep tables by number compare identities and so
//! notice that a number has changed hands.
//! Not here: waiting for holders to let go, and `close` in any other way than directly (DECISIONS.md, D6).

use crate::Interest;
use std::cell::Cell;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};

static NEXT_ID: AtomicU64 = AtomicU64::new(1);

/// A shared, counted descriptor. Cloning counts up; the last drop closes.
#[derive(Debug, Clone)]
pub struct Fd(Rc<Counted>);

#[derive(Debug)]
struct Counted {
    fd: OwnedFd,
    id: u64,
    /// A guess: the last receive took all there was, so the next one will have to wait.
    drained: Cell<bool>,
    /// For the ring engine: the last operation of each lane (`uring/flights.rs`), [`NO_LANE`] if it is empty.
    lanes: [Cell<u64>; 2],
}

/// No operation can have this name.
pub(crate) const NO_LANE: u64 = u64::MAX;

impl Fd {
    /// Takes over a descriptor. It should be in non-blocking mode and close-on-exec.
    #[must_use]
    pub fn new(fd: OwnedFd) -> Fd {
        Fd(Rc::new(Counted {
            fd,
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            drained: Cell::new(false),
            lanes: [Cell::new(NO_LANE), Cell::new(NO_LANE)],
        }))
    }

    /// Identity of this open descriptor: never reused, unlike the number.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.0.id
    }

    /// The number, for system calls and tables.
    #[must_use]
    pub fn raw(&self) -> RawFd {
        self.0.fd.as_raw_fd()
    }

    /// Whether the last receive is known to have emptied the socket. Wrong at worst by a little time.
    pub(crate) fn is_drained(&self) -> bool {
        self.0.drained.get()
    }

    pub(crate) fn set_drained(&self, drained: bool) {
        self.0.drained.set(drained);
    }

    /// The last operation in the lane of one direction.
    pub(crate) fn lane(&self, side: Interest) -> &Cell<u64> {
        &self.0.lanes[side as usize]
    }

    /// How many handles and operations hold it.
    #[must_use]
    pub fn holders(&self) -> usize {
        Rc::strong_count(&self.0)
    }

    /// Gives the descriptor out, if nobody else holds it; else gives the handle back.
    ///
    /// # Errors
    /// The handle itself, while others hold the descriptor.
    pub fn try_into_owned(self) -> Result<OwnedFd, Fd> {
        Rc::try_unwrap(self.0).map(|counted| counted.fd).map_err(Fd)
    }
}

impl AsFd for Fd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.fd.as_fd()
    }
}

impl From<OwnedFd> for Fd {
    fn from(fd: OwnedFd) -> Fd {
        Fd::new(fd)
    }
}

//! The system call `select`, made safe by owning every descriptor in its sets.
//!
//! # Safety
//! `select` demands that each number in its sets be an open descriptor. [`Sets`] keeps that promise alone: a
//! bit is set only together with a held [`Fd`] (or for the waker, which is held for good), and cleared
//! before the `Fd` is let go. Not here: when to call it (`readiness/select.rs`).
#![allow(unsafe_code)]

use crate::{EngineWaker, Fd, Interest};
use rustix::event::{
    FdSetElement, FdSetIter, Timespec, fd_set_bound, fd_set_insert, fd_set_remove, select as call,
};
use rustix::io::Errno;
use std::os::fd::{AsFd, AsRawFd, RawFd};

/// Numbers that fit into a set, as everywhere on Linux.
pub(crate) const SELECT_FDS: RawFd = 1024;

const ELEMENTS: usize = SELECT_FDS as usize / (size_of::<FdSetElement>() * 8);

/// One set of numbers.
#[derive(Clone, Copy, Default)]
struct Bits([FdSetElement; ELEMENTS]);

/// What to wait for.
pub(crate) struct Sets {
    read: Bits,
    write: Bits,
    waker: EngineWaker,
    held: Vec<Option<Held>>,
}

#[derive(Clone)]
struct Held {
    fd: Fd,
    read: bool,
    write: bool,
}

/// What was ready.
pub(crate) struct Ready {
    read: Bits,
    write: Bits,
}

impl std::fmt::Debug for Sets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sets").field("waker", &self.waker).finish_non_exhaustive()
    }
}

impl Sets {
    /// Sets with nothing but the waker in them.
    ///
    /// # Panics
    /// If the waker does not fit: the caller looks first.
    pub(crate) fn new(waker: EngineWaker) -> Sets {
        let raw = waker.as_fd().as_raw_fd();
        assert!(raw < SELECT_FDS, "the waker's descriptor {raw} does not fit into select's sets");
        let (mut read, write) = Default::default();
        fd_set_insert(bits(&mut read), raw);
        Sets { read, write, waker, held: vec![None; SELECT_FDS as usize] }
    }

    /// Waits for this direction of a descriptor too, and holds it meanwhile.
    ///
    /// # Panics
    /// If it does not fit: the caller looks first.
    pub(crate) fn insert(&mut self, fd: &Fd, side: Interest) {
        let raw = fd.raw();
        let held =
            self.held[raw as usize].get_or_insert_with(|| Held { fd: fd.clone(), read: false, write: false });
        debug_assert_eq!(held.fd.id(), fd.id(), "a held descriptor cannot change hands");
        match side {
            Interest::Read => {
                held.read = true;
                fd_set_insert(bits(&mut self.read), raw);
            }
            Interest::Write => {
                held.write = true;
                fd_set_insert(bits(&mut self.write), raw);
            }
        }
    }

    /// Waits no longer for this direction.
    pub(crate) fn remove(&mut self, raw: RawFd, side: Interest) {
        let Some(held) = &mut self.held[raw as usize] else { return };
        match side {
            Interest::Read => {
                held.read = false;
                fd_set_remove(bits(&mut self.read), raw);
            }
            Interest::Write => {
                held.write = false;
                fd_set_remove(bits(&mut self.write), raw);
            }
        }
        if !held.read && !held.write {
            self.held[raw as usize] = None;
        }
    }

    /// Waits until one of them is ready or the time is over.
    pub(crate) fn select(&self, timeout: Option<&Timespec>) -> Result<Ready, Errno> {
        let (mut read, mut write) = (self.read, self.write);
        let bound = fd_set_bound(&read.0).max(fd_set_bound(&write.0));
        // SAFETY: each set has room for SELECT_FDS bits, and `insert` would have panicked on a larger
        // number; each bit stands for a descriptor that `self` holds open (`held`, `waker`) until the bit is
        // cleared, so at least until this call is over.
        unsafe { call(bound, Some(bits(&mut read)), Some(bits(&mut write)), None, timeout) }?;
        Ok(Ready { read, write })
    }
}

impl Ready {
    /// The numbers ready in one direction.
    pub(crate) fn ready(&self, side: Interest) -> impl Iterator<Item = RawFd> + '_ {
        FdSetIter::new(match side {
            Interest::Read => &self.read.0,
            Interest::Write => &self.write.0,
        })
    }
}

fn bits(bits: &mut Bits) -> &mut [FdSetElement] {
    &mut bits.0
}

//! Waking a sleeping engine from another thread: an eventfd that lives as long as its last handle.
//!
//! The descriptor is owned by an `Arc`, so a wake-up after the engine is gone writes to an eventfd nobody
//! reads and can never reach another file that got the same number.
//! Not here: when to wake. The caller (a mailbox) decides that, once per sleep.

use rustix::event::{EventfdFlags, eventfd};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

/// Ends a sleeping `turn`. Cheap to clone, usable from any thread at any time, harmless after the engine is
/// gone.
#[derive(Debug, Clone)]
pub struct EngineWaker(Arc<OwnedFd>);

impl EngineWaker {
    /// A fresh eventfd.
    ///
    /// # Errors
    /// When the process has no descriptor left.
    pub(crate) fn new() -> io::Result<EngineWaker> {
        let fd = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(EngineWaker(Arc::new(fd)))
    }

    /// Makes the current or the next `turn` return without sleeping.
    pub fn wake(&self) {
        // The only errors are EAGAIN (the counter is full, so the engine will wake anyway) and EINTR.
        while let Err(rustix::io::Errno::INTR) = rustix::io::write(&*self.0, &1u64.to_ne_bytes()) {}
    }

    /// Forgets wake-ups received so far. For the engine, after it woke.
    pub(crate) fn clear(&self) {
        let mut count = [0; 8];
        while let Err(rustix::io::Errno::INTR) = rustix::io::read(&*self.0, &mut count) {}
    }
}

impl AsFd for EngineWaker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

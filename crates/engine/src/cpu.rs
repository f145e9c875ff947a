//! Keeping the calling thread on one processor, for measurements that no kernel worker takes part in.
//!
//! Threads that the kernel starts for a ring inherit the mask, so nothing that uses
//! an engine should be pinned.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::io;

/// Keeps the calling thread on one processor until it is dropped.
#[derive(Debug)]
#[must_use = "dropping it lets the thread move again"]
pub struct Pinned {
    before: CpuSet,
}

impl Pinned {
    /// Pins the calling thread to the last of the processors it may use: the first
    /// one has the most interrupts.
    ///
    /// ```
    /// let pinned = lisle_engine::cpu::Pinned::to_one()?;
    /// drop(pinned);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the system does not let a thread choose.
    pub fn to_one() -> io::Result<Pinned> {
        let before = sched_getaffinity(None)?;
        let mut one = CpuSet::new();
        let last = (0..CpuSet::MAX_CPU).rev().find(|&cpu| before.is_set(cpu)).unwrap_or(0);
        one.set(last);
        sched_setaffinity(None, &one)?;
        Ok(Pinned { before })
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // The mask was the thread's own a moment ago; if it is refused now, the thread stays where it is.
        let _ = sched_setaffinity(None, &self.before);
    }
}

//! Pool buffers lent to the kernel, which picks one only when data is there: an idle connection holds none.
//!
//! ```text
//!   pool ──top_up──► lent[id] ──picked by the kernel──► take(id) ──► Buf of an outcome ──drop──► pool
//! ```
//!
//! The lender keeps as many buffers lent as `target` says, at first a few, and twice as many each time the
//! kernel ran short, up to the pool's limit. A lent buffer stays in `lent`, unmoved, until a completion
//! names it. Not here: the list shared with the kernel (`ring.rs`), the operations that wait for a buffer
//! (`mod.rs`).

use super::ring::Ring;
use crate::Buf;
use crate::pool::{Pool, PoolBuf};
use rustix::io::Errno;

/// How many buffers are lent at first: enough for a quiet server, 128 KiB at the default size.
const LENT_FIRST: usize = 32;
/// The kernel's limit for one list.
const LENT_MAX: usize = 1 << 15;

/// See the head of the file.
#[derive(Debug)]
pub(super) struct Lender {
    pool: Pool,
    registered: bool,
    lent: Vec<Option<PoolBuf>>,
    free_ids: Vec<u16>,
    target: usize,
    /// Grown since the last top-up: many operations that starve in one turn are one reason to grow.
    grown: bool,
}

impl Lender {
    pub(super) fn new(pool: Pool) -> Lender {
        Lender { pool, registered: false, lent: Vec::new(), free_ids: Vec::new(), target: 0, grown: false }
    }

    pub(super) fn pool(&self) -> &Pool {
        &self.pool
    }

    /// Registers the list, empty. Costs a system call once.
    pub(super) fn register(&mut self, ring: &mut Ring) -> Result<(), Errno> {
        if self.registered {
            return Ok(());
        }
        let entries = self.pool.config().buffers_max.clamp(1, LENT_MAX).next_power_of_two();
        let entries = ring.register_buf_list(entries as u16)?;
        self.registered = true;
        self.lent.resize_with(usize::from(entries), || None);
        self.free_ids = (0..entries).rev().collect();
        Ok(())
    }

    /// Lends the first buffers when the first operation needs them.
    pub(super) fn prepare(&mut self, ring: &mut Ring) -> Result<(), Errno> {
        if self.target == 0 {
            self.register(ring)?;
            self.target = LENT_FIRST.min(self.lent.len());
            self.top_up(ring);
        }
        Ok(())
    }

    /// How many buffers the kernel could pick now.
    pub(super) fn lent(&self) -> usize {
        self.lent.len() - self.free_ids.len()
    }

    /// Lends from the pool until the target is reached or the pool is dry.
    pub(super) fn top_up(&mut self, ring: &mut Ring) {
        self.grown = false;
        if self.lent() >= self.target {
            return;
        }
        while self.lent() < self.target
            && let Some(buf) = self.pool.take()
            && let Some(id) = self.free_ids.pop()
        {
            let place = &mut self.lent[usize::from(id)];
            debug_assert!(place.is_none());
            ring.lend(id, place.insert(buf));
        }
        ring.publish_lent();
    }

    /// The kernel ran short: lend more from now on.
    pub(super) fn grow(&mut self) {
        if !self.grown {
            self.grown = true;
            self.target = (self.target * 2).min(self.lent.len());
        }
    }

    /// Takes back the buffer that a completion names.
    pub(super) fn take(&mut self, id: u16) -> Option<Buf> {
        let buf = self.lent.get_mut(usize::from(id))?.take()?;
        self.free_ids.push(id);
        Some(Buf::from(buf))
    }

    /// Never frees what is lent: for an engine whose operations would not end.
    pub(super) fn leak(&mut self) {
        std::mem::forget(std::mem::take(&mut self.lent));
    }
}

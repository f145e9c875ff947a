//! Receive buffers of one size, owned by whoever uses them and returned by dropping.
//!
//! ```text
//!   take ──► PoolBuf ──► in a Buf, in an operation, lent to the kernel, with the user
//!    ▲                        │ drop
//!    └──── free list ◄────────┘        pool gone: the memory is just freed
//! ```
//!
//! A [`PoolBuf`] owns its bytes outright (they are moved out of the free list), so nobody needs unsafe code
//! to fill or read it, and it may outlive the pool. Memory is made on demand, never beyond
//! [`PoolConfig::buffers_max`]. Not here: which buffers the kernel may pick from (`uring/lend.rs`), what to
//! do when the pool is dry (the engines).

use std::cell::{Cell, RefCell};
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::rc::{Rc, Weak};

/// Sizes and limits of a [`Pool`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolConfig {
    /// Size of each buffer. 4 KiB by default: a page, and more than most requests.
    pub buffer_bytes: usize,
    /// How many buffers there may be, free and in use. 1024 by default, so 4 MiB a worker at most.
    pub buffers_max: usize,
}

impl Default for PoolConfig {
    fn default() -> PoolConfig {
        PoolConfig { buffer_bytes: 4096, buffers_max: 1024 }
    }
}

/// A bounded supply of equal buffers. Clones share the supply.
#[derive(Debug, Clone)]
pub struct Pool(Rc<Home>);

#[derive(Debug)]
struct Home {
    config: PoolConfig,
    // `Vec` rather than `Box`: a moved `Box` claims to be the only way to its bytes, and the kernel may hold
    // a pointer.
    free: RefCell<Vec<Vec<u8>>>,
    made: Cell<usize>,
}

impl Pool {
    /// An empty pool: it allocates when first asked.
    #[must_use]
    pub fn new(config: PoolConfig) -> Pool {
        Pool(Rc::new(Home { config, free: RefCell::default(), made: Cell::new(0) }))
    }

    /// A buffer, unless all of them are in use.
    #[must_use]
    pub fn take(&self) -> Option<PoolBuf> {
        let home = &*self.0;
        let bytes = home.free.borrow_mut().pop().or_else(|| {
            let made = home.made.get();
            (made < home.config.buffers_max).then(|| {
                home.made.set(made + 1);
                vec![0; home.config.buffer_bytes]
            })
        })?;
        Some(PoolBuf { bytes, home: Rc::downgrade(&self.0) })
    }

    /// How many buffers [`Pool::take`] could give now.
    #[must_use]
    pub fn available(&self) -> usize {
        self.0.free.borrow().len() + self.0.config.buffers_max - self.0.made.get()
    }

    /// How many buffers exist.
    #[must_use]
    pub fn made(&self) -> usize {
        self.0.made.get()
    }

    /// The sizes and limits it was made with.
    #[must_use]
    pub fn config(&self) -> PoolConfig {
        self.0.config
    }
}

/// A buffer of a [`Pool`]: all of its bytes are initialised; dropping it gives it back.
pub struct PoolBuf {
    bytes: Vec<u8>,
    home: Weak<Home>,
}

impl Deref for PoolBuf {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl DerefMut for PoolBuf {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }
}

impl Drop for PoolBuf {
    fn drop(&mut self) {
        if let Some(home) = self.home.upgrade() {
            home.free.borrow_mut().push(std::mem::take(&mut self.bytes));
        }
    }
}

impl fmt::Debug for PoolBuf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PoolBuf").field("bytes", &self.bytes.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Buf;

    #[test]
    fn dry_until_a_buffer_returns() {
        let pool = Pool::new(PoolConfig { buffer_bytes: 16, buffers_max: 2 });
        assert_eq!((pool.made(), pool.available()), (0, 2));
        let (first, second) = (pool.take().unwrap(), pool.take().unwrap());
        assert!(pool.take().is_none());
        drop(first);
        assert_eq!(pool.available(), 1);
        let third = pool.take().unwrap();
        assert_eq!((third.len(), pool.made()), (16, 2));
        drop((second, third));
    }

    #[test]
    fn outlives_its_pool() {
        let pool = Pool::new(PoolConfig::default());
        let mut buf = pool.take().unwrap();
        drop(pool);
        buf[0] = 7;
        assert_eq!(buf[0], 7);
    }

    #[test]
    fn travels_in_a_buf() {
        let pool = Pool::new(PoolConfig { buffer_bytes: 8, buffers_max: 1 });
        let mut buf = Buf::from(pool.take().unwrap());
        assert_eq!((buf.capacity(), buf.len()), (8, 0));
        buf.storage_mut()[..2].copy_from_slice(b"ok");
        buf.set_len(2);
        assert_eq!(&*buf, b"ok");
        assert_eq!(buf.into_vec(), b"ok");
        assert_eq!(pool.available(), 1);
    }
}

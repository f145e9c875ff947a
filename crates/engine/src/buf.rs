//! The one owned buffer type that a kernel may hold.
//!
//! ```text
//!   storage: ├──── len ────┤╌╌╌╌ spare ╌╌╌╌┤ capacity        all of it initialised, so no unsafe here
//! ```
//!
//! A [`Buf`] is made from `Vec<u8>`, `Bytes`, `BytesMut`, a static slice or a pool buffer, without copying,
//! and moves into an operation and back out of its outcome. Its bytes do not move in memory when the `Buf`
//! itself moves: every kind of storage keeps them on the heap, in a static or in the pool.
//! Not here: the pool itself (`pool.rs`), vectored buffers.

use crate::pool::PoolBuf;
use bytes::{Bytes, BytesMut};
use std::ops::Deref;

/// An owned run of bytes, some of which are filled.
///
/// `Deref` gives the filled part. Reading operations replace the content, up to [`Buf::capacity`]; storage
/// that cannot be written (`Bytes`, static slices) has capacity 0 for them.
///
/// ```
/// use lisle_engine::Buf;
/// let buf = Buf::from(b"hello".to_vec());
/// assert_eq!(&*buf, b"hello");
/// assert_eq!(buf.into_vec(), b"hello");
/// ```
#[derive(Debug)]
pub struct Buf {
    storage: Storage,
    len: usize,
}

#[derive(Debug)]
enum Storage {
    /// Initialised over its whole `len()`, which is our capacity.
    Vec(Vec<u8>),
    Bytes(Bytes),
    BytesMut(BytesMut),
    Static(&'static [u8]),
    Pool(PoolBuf),
}

impl Buf {
    /// An empty buffer that can receive up to `capacity` bytes.
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Buf {
        Buf { storage: Storage::Vec(vec![0; capacity]), len: 0 }
    }

    /// How many bytes a reading operation may put here.
    #[must_use]
    pub fn capacity(&self) -> usize {
        match &self.storage {
            Storage::Vec(vec) => vec.len(),
            Storage::BytesMut(bytes) => bytes.len(),
            Storage::Pool(bytes) => bytes.len(),
            Storage::Bytes(_) | Storage::Static(_) => 0,
        }
    }

    /// Keeps the first `len` bytes; does nothing if there are fewer.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// Forgets the content; the capacity stays.
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// The content as a vector; free of copying if it was made from one.
    #[must_use]
    pub fn into_vec(self) -> Vec<u8> {
        match self.storage {
            Storage::Vec(mut vec) => {
                vec.truncate(self.len);
                vec
            }
            _ => self.to_vec(),
        }
    }

    /// The whole writable storage: what a reading operation hands to the kernel.
    pub fn storage_mut(&mut self) -> &mut [u8] {
        match &mut self.storage {
            Storage::Vec(vec) => vec,
            Storage::BytesMut(bytes) => bytes,
            Storage::Pool(bytes) => bytes,
            Storage::Bytes(_) | Storage::Static(_) => &mut [],
        }
    }

    /// Declares the first `len` bytes of the storage to be the content.
    ///
    /// # Panics
    /// If `len` exceeds the capacity: an engine counted wrongly.
    pub fn set_len(&mut self, len: usize) {
        assert!(len <= self.capacity(), "filled {len} bytes of a buffer of {}", self.capacity());
        self.len = len;
    }
}

impl Deref for Buf {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.storage {
            Storage::Vec(vec) => &vec[..self.len],
            Storage::Bytes(bytes) => &bytes[..self.len],
            Storage::BytesMut(bytes) => &bytes[..self.len],
            Storage::Static(bytes) => &bytes[..self.len],
            Storage::Pool(bytes) => &bytes[..self.len],
        }
    }
}

impl From<Vec<u8>> for Buf {
    /// The content is the vector's; its spare capacity is not used.
    fn from(vec: Vec<u8>) -> Buf {
        let len = vec.len();
        Buf { storage: Storage::Vec(vec), len }
    }
}

impl From<Bytes> for Buf {
    fn from(bytes: Bytes) -> Buf {
        let len = bytes.len();
        Buf { storage: Storage::Bytes(bytes), len }
    }
}

impl From<BytesMut> for Buf {
    fn from(bytes: BytesMut) -> Buf {
        let len = bytes.len();
        Buf { storage: Storage::BytesMut(bytes), len }
    }
}

impl From<&'static [u8]> for Buf {
    fn from(bytes: &'static [u8]) -> Buf {
        Buf { storage: Storage::Static(bytes), len: bytes.len() }
    }
}

impl From<PoolBuf> for Buf {
    /// Empty, with the capacity of the pool's buffers.
    fn from(bytes: PoolBuf) -> Buf {
        Buf { storage: Storage::Pool(bytes), len: 0 }
    }
}

impl From<String> for Buf {
    /// Full: its bytes, not copied.
    ///
    /// ```
    /// let text = format!("{} words", 2);
    /// let bytes = text.as_ptr();
    /// let buf = lisle_engine::Buf::from(text);
    /// assert_eq!((&*buf, buf.as_ptr()), (&b"2 words"[..], bytes));
    /// ```
    fn from(text: String) -> Buf {
        Buf::from(text.into_bytes())
    }
}

impl From<&'static str> for Buf {
    fn from(text: &'static str) -> Buf {
        Buf::from(text.as_bytes())
    }
}

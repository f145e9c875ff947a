//! `std::io::Read` and `Write` over a stream of promises, for code that knows nothing of them.
//!
//! ```text
//!   read(slice):   kept buffer ──moves──► operation ──filled──► outcome ──copy──► slice ; buffer kept again
//!   write(slice):  slice ──copy──► kept buffer ──moves──► operation ──sent──► outcome ; buffer kept again
//! ```
//!
//! The caller's slice is touched only while the fiber runs; what the kernel may touch is an owned buffer that
//! belongs to the operation. So a fiber may be dropped half-way through a read, with the operation still in
//! flight, and nothing dangles. The price is one copy, of bytes that are in the cache anyway. Each
//! [`FiberIo`] keeps one buffer for either direction: in the steady state nothing is allocated. Not here:
//! buffering. A read never takes more from the stream than the slice has room for, so that the handle can be
//! made and dropped at will. For small reads put a `std::io::BufReader` around it.

use crate::fiber::Fiber;
use lisle::{Buf, Promise, Result};
use std::fmt;
use std::io::{self, IoSlice, Read, Write};

/// At most so many bytes are moved by one `read` or `write`: what a kept buffer may grow to.
pub const TRANSFER_MAX: usize = 256 * 1024;

/// What a fiber can read and write through [`Fiber::io`]: each [`lisle::net::Stream`], and yours.
pub trait ByteStream {
    /// Reads up to `buf.capacity()` bytes, replacing the content; an empty buffer means the end of the
    /// stream.
    fn read(&self, buf: Buf) -> Promise<Buf>;

    /// Writes the whole content and gives the buffer back.
    fn write_all(&self, buf: Buf) -> Promise<Buf>;
}

impl<S: lisle::net::Stream> ByteStream for S {
    fn read(&self, buf: Buf) -> Promise<Buf> {
        lisle::net::Stream::read(self, buf)
    }

    fn write_all(&self, buf: Buf) -> Promise<Buf> {
        lisle::net::Stream::write_all(self, buf)
    }
}

/// A stream as `std::io::Read + Write`, inside of a fiber. Made by [`Fiber::io`].
///
/// Errors are [`io::Error`]s; a cancellation is one of kind `Other` that says "canceled" (not `Interrupted`,
/// on which callers would try again). `write` sends all it took (up to [`TRANSFER_MAX`]) before it returns,
/// so `flush` has nothing to do. A write that fails or is cancelled may have sent a part.
///
/// Reader and writer over one stream: make two handles.
pub struct FiberIo<'a, S: ?Sized> {
    fiber: &'a Fiber<'a>,
    stream: &'a S,
    reads: Buf,
    writes: Vec<u8>,
}

impl<'f> Fiber<'f> {
    /// A stream as `std::io::Read + Write`: for parsers, TLS and whatever else was written for blocking
    /// streams.
    #[must_use]
    pub fn io<'a, S: ByteStream + ?Sized>(&'a self, stream: &'a S) -> FiberIo<'a, S> {
        FiberIo { fiber: self, stream, reads: nothing_kept(), writes: Vec::new() }
    }
}

impl<S: ByteStream + ?Sized> FiberIo<'_, S> {
    /// Sends what `fill` puts into the kept buffer.
    fn send(&mut self, fill: impl FnOnce(&mut Vec<u8>)) -> Result<usize> {
        let mut bytes = std::mem::take(&mut self.writes);
        bytes.clear();
        fill(&mut bytes);
        let sent = bytes.len();
        if sent > 0 {
            bytes = self.fiber.wait(self.stream.write_all(Buf::from(bytes)))?.into_vec();
        }
        self.writes = bytes;
        Ok(sent)
    }
}

/// No buffer, and no allocation: where the kept one is while an operation has it.
fn nothing_kept() -> Buf {
    Buf::with_capacity(0)
}

/// A buffer that the kernel fills with at most `wanted` bytes. Only another size than last time writes zeros.
fn sized(kept: Buf, wanted: usize) -> Buf {
    if kept.capacity() == wanted {
        return kept;
    }
    // The capacity of a buffer made from a vector is the vector's length.
    let mut bytes = kept.into_vec();
    bytes.resize(wanted, 0);
    Buf::from(bytes)
}

impl<S: ByteStream + ?Sized> Read for FiberIo<'_, S> {
    fn read(&mut self, slice: &mut [u8]) -> io::Result<usize> {
        let wanted = slice.len().min(TRANSFER_MAX);
        if wanted == 0 {
            return Ok(0);
        }
        let buf = sized(std::mem::replace(&mut self.reads, nothing_kept()), wanted);
        let filled = self.fiber.wait(self.stream.read(buf))?;
        let count = filled.len();
        assert!(count <= wanted, "a stream filled {count} bytes of a buffer of {wanted}");
        slice[..count].copy_from_slice(&filled);
        self.reads = filled;
        Ok(count)
    }
}

impl<S: ByteStream + ?Sized> Write for FiberIo<'_, S> {
    fn write(&mut self, slice: &[u8]) -> io::Result<usize> {
        let taken = &slice[..slice.len().min(TRANSFER_MAX)];
        Ok(self.send(|bytes| bytes.extend_from_slice(taken))?)
    }

    /// Gathers the slices into one operation.
    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        let gather = |bytes: &mut Vec<u8>| {
            for slice in slices {
                let room = TRANSFER_MAX - bytes.len();
                bytes.extend_from_slice(&slice[..slice.len().min(room)]);
            }
        };
        Ok(self.send(gather)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<S: ?Sized> fmt::Debug for FiberIo<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FiberIo")
            .field("read_buffer", &self.reads.capacity())
            .field("write_buffer", &self.writes.capacity())
            .finish_non_exhaustive()
    }
}

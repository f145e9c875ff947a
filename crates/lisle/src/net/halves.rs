//! The two directions of a stream as values of their own, for tasks that read and write at the same time.
//!
//! Both are counted handles of one connection, which closes with the last handle. They exist for ownership,
//! not for locking: a stream itself may be cloned, read and written at once just as well.

use super::stream::Stream;
use lisle_core::Promise;
use lisle_engine::Buf;
use std::net::Shutdown;

/// The reading side of a stream.
#[derive(Debug)]
pub struct ReadHalf<S: Stream>(pub(super) S);

/// The writing side of a stream. Dropping it ends the direction (`shutdown(Write)`), after the writes
/// called before, so that the peer sees the end of the stream while this side still reads.
#[derive(Debug)]
pub struct WriteHalf<S: Stream>(pub(super) S);

pub(super) fn split<S: Stream>(stream: S) -> (ReadHalf<S>, WriteHalf<S>) {
    (ReadHalf(stream.clone()), WriteHalf(stream))
}

impl<S: Stream> ReadHalf<S> {
    /// Reads what there is, up to the capacity of `buf`; empty at the end of the stream.
    pub fn read(&self, buf: impl Into<Buf>) -> Promise<Buf> {
        self.0.read(buf.into())
    }

    /// Reads what there is into a buffer of the engine's pool; empty at the end of the stream.
    pub fn read_pool(&self) -> Promise<Buf> {
        self.0.read_pool()
    }

    /// The stream. A clone of it is one more handle.
    #[must_use]
    pub fn stream(&self) -> &S {
        &self.0
    }
}

impl<S: Stream> WriteHalf<S> {
    /// Writes all of `buf` and gives it back, in the order of the calls.
    pub fn write_all(&self, buf: impl Into<Buf>) -> Promise<Buf> {
        self.0.write_all(buf.into())
    }

    /// Ends the direction now; the drop then has nothing to do.
    pub fn shutdown(&self) -> Promise<()> {
        self.0.shutdown(Shutdown::Write)
    }

    /// The stream. A clone of it is one more handle.
    #[must_use]
    pub fn stream(&self) -> &S {
        &self.0
    }
}

impl<S: Stream> Drop for WriteHalf<S> {
    fn drop(&mut self) {
        // The last handle closes both directions anyway, unless writes are under way: those end first
        // either way.
        if !self.0.is_last_handle() {
            // A connection that is broken has ended too.
            self.0.shutdown(Shutdown::Write).detach_with(|_| {});
        }
    }
}

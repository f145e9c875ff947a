//! What TCP and Unix streams have in common: reading, writing, shutting down.
//!
//! The methods are written once, in a macro, because both types must have them inherently (a trait would
//! have to be imported) and document them alike. The trait [`Stream`] is for code that takes either.

use lisle_core::Promise;
use lisle_engine::Buf;

/// A connected byte stream: TCP or Unix.
pub trait Stream: Clone + 'static {
    /// Reads what there is, up to the capacity of `buf`; empty at the end of the stream.
    fn read(&self, buf: Buf) -> Promise<Buf>;

    /// Reads what there is into a buffer of the engine's pool; empty at the end of the stream.
    fn read_pool(&self) -> Promise<Buf>;

    /// Writes all of `buf` and gives it back.
    fn write_all(&self, buf: Buf) -> Promise<Buf>;

    /// Ends one or both directions.
    fn shutdown(&self, how: std::net::Shutdown) -> Promise<()>;

    /// Whether no other handle of this connection is left.
    fn is_last_handle(&self) -> bool;
}

pub(super) fn direction(how: std::net::Shutdown) -> super::socket::Shutdown {
    match how {
        std::net::Shutdown::Read => super::socket::Shutdown::Read,
        std::net::Shutdown::Write => super::socket::Shutdown::Write,
        std::net::Shutdown::Both => super::socket::Shutdown::Both,
    }
}

macro_rules! stream_methods {
    ($type:ident) => {
        impl $type {
            /// Reads what there is, up to the capacity of `buf`, which comes back with the bytes as its
            /// content; empty at the end of the stream (or if it had no capacity).
            ///
            /// Cancelling loses nothing: bytes that arrive for a read that was given up go to the next
            /// read. A read in progress keeps the connection open, as long as its promise lives. On an
            /// error the buffer is dropped. Allocates nothing.
            ///
            /// Of several reads at once, the first called gets the first bytes; but the place of one that is
            /// given up goes to the next `read` that is called, ahead of those that wait already.
            pub fn read(&self, buf: impl Into<Buf>) -> Promise<Buf> {
                self.handle.socket().read(buf.into())
            }

            /// Reads what there is into a buffer of the engine's pool, which is taken only when data is
            /// there: an idle connection holds no buffer. Dropping the buffer returns it; reads wait while
            /// all of them are held. Otherwise like [`Self::read`].
            pub fn read_pool(&self) -> Promise<Buf> {
                self.handle.socket().read_pool()
            }

            /// Writes all of `buf` and gives it back. Writes of one socket happen in the order of the calls.
            ///
            /// Cancelling stops after the bytes the kernel has taken; if it was still queued behind other
            /// writes, nothing is written. Dropping the promise lets the write go on. Writing to a closed
            /// peer is an error (`EPIPE`), never a signal. At most 65536 writes queue up on one socket; a
            /// further one is rejected.
            pub fn write_all(&self, buf: impl Into<Buf>) -> Promise<Buf> {
                self.handle.socket().write_all(buf.into())
            }

            /// Ends one or both directions, after the writes called before.
            ///
            /// Cannot be cancelled while it waits for those writes. Rejected with
            /// `ENOTCONN` if the connection is broken.
            pub fn shutdown(&self, how: std::net::Shutdown) -> Promise<()> {
                self.handle.socket().shutdown(crate::net::stream::direction(how))
            }

            /// The two directions as handles of their own; dropping the writing one ends its direction.
            #[doc(alias = "into_split")]
            #[must_use]
            pub fn split(self) -> (crate::net::ReadHalf<$type>, crate::net::WriteHalf<$type>) {
                crate::net::halves::split(self)
            }
        }

        impl crate::net::Stream for $type {
            fn read(&self, buf: Buf) -> Promise<Buf> {
                $type::read(self, buf)
            }

            fn read_pool(&self) -> Promise<Buf> {
                $type::read_pool(self)
            }

            fn write_all(&self, buf: Buf) -> Promise<Buf> {
                $type::write_all(self, buf)
            }

            fn shutdown(&self, how: std::net::Shutdown) -> Promise<()> {
                $type::shutdown(self, how)
            }

            fn is_last_handle(&self) -> bool {
                self.handle.is_last()
            }
        }

        impl std::os::fd::AsFd for $type {
            fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
                self.handle.socket().fd().as_fd()
            }
        }
    };
}

pub(super) use stream_methods;

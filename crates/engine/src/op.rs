//! Everything we ask of a kernel, and everything it may answer.
//!
//! Both enums are closed: each engine has one `match` over [`Op`], so the compiler lists what a new
//! operation needs. An `Op` owns what it lends to the kernel; the buffer comes back in the [`Outcome`].
//! Not here: how an operation is performed (`readiness/perform.rs`, `uring/encode.rs`).

use crate::{Buf, Fd};
use rustix::io::Errno;
use rustix::net::{Shutdown, SocketAddrAny};
use std::os::fd::OwnedFd;

/// The caller's name for an operation in flight; the engine only carries it. Must be unique among those in
/// flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Token(pub u64);

/// The direction in which a descriptor may become ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Interest {
    /// Data, a connection or an end of file is waiting.
    Read,
    /// There is room to write.
    Write,
}

/// An operation. Descriptors are sockets, save for [`Op::Ready`], in blocking mode or not: an engine that
/// needs the other mode sets it.
#[derive(Debug)]
pub enum Op {
    /// Completes at the next turn. For tests and measurements.
    Nop,
    /// Takes one connection: [`Outcome::Accepted`].
    Accept {
        /// A listening socket.
        fd: Fd,
    },
    /// Takes connections until cancelled or failed: one [`Outcome::Accepted`] each, with `more`.
    AcceptMulti {
        /// A listening socket.
        fd: Fd,
    },
    /// Connects a socket: [`Outcome::Done`].
    Connect {
        /// A fresh stream socket.
        fd: Fd,
        /// The peer. Boxed, since an address would make every other operation more than twice as large.
        addr: Box<SocketAddrAny>,
    },
    /// Sends `buf[start..]` (never raises `SIGPIPE`): [`Outcome::Sent`]; may be short.
    Send {
        /// A connected socket.
        fd: Fd,
        /// The bytes; `start` of them have been sent already.
        buf: Buf,
        /// Where to begin.
        start: usize,
    },
    /// Sends all of `buf` and completes when the last byte is handed to the kernel: [`Outcome::Sent`] with
    /// `sent == buf.len()`, or [`Outcome::Failed`]. Cancelled halfway, it tells how far it came:
    /// [`Outcome::Sent`] with less.
    SendAll {
        /// A connected socket.
        fd: Fd,
        /// The bytes.
        buf: Buf,
    },
    /// Receives into `buf`, up to its capacity, replacing its content: [`Outcome::Received`]; empty at the
    /// end.
    Recv {
        /// A connected socket.
        fd: Fd,
        /// Where to put the bytes. Zero capacity completes at once with nothing.
        buf: Buf,
    },
    /// Receives into a buffer of the engine's pool, taken only when data is there: [`Outcome::Received`].
    RecvPool {
        /// A connected socket.
        fd: Fd,
    },
    /// Receives into pool buffers until end of file, cancel or failure: one [`Outcome::Received`] each, with
    /// `more`; the last one is empty at the end of the stream. The pool running dry is not an error: it goes
    /// on when buffers return.
    RecvMulti {
        /// A connected socket.
        fd: Fd,
    },
    /// Waits until the descriptor is ready: [`Outcome::Done`]. Hang-up and error count as ready.
    Ready {
        /// Any descriptor that can be polled.
        fd: Fd,
        /// Which direction.
        interest: Interest,
    },
    /// Shuts one or both directions of a socket: [`Outcome::Done`].
    Shutdown {
        /// A connected socket.
        fd: Fd,
        /// Which direction.
        how: Shutdown,
    },
}

/// How an operation ended, with the buffer it had borrowed.
#[derive(Debug)]
pub enum Outcome {
    /// Done, nothing to hand back.
    Done,
    /// A new connection: close-on-exec and non-blocking.
    Accepted(OwnedFd),
    /// `sent` bytes of the buffer were taken by the kernel.
    Sent {
        /// How many bytes, counted from where the operation began.
        sent: usize,
        /// The buffer, unchanged.
        buf: Buf,
    },
    /// `buf` holds what arrived; empty means end of file (or that it had no capacity).
    Received {
        /// The bytes.
        buf: Buf,
    },
    /// The kernel refused.
    Failed {
        /// Why.
        error: Errno,
        /// The buffer lent to the operation, if it had one.
        buf: Option<Buf>,
    },
    /// Ended by [`crate::Engine::cancel`] before it did anything.
    Canceled {
        /// The buffer lent to the operation, if it had one.
        buf: Option<Buf>,
    },
}

/// One result out of [`crate::Engine::turn`].
#[derive(Debug)]
pub struct Completion {
    /// Which operation.
    pub token: Token,
    /// How it went.
    pub outcome: Outcome,
    /// Whether the operation goes on (multishot only).
    pub more: bool,
}

// An operation is moved on every submit: keep it within two cache lines.
const _: () = assert!(size_of::<Op>() <= 80);

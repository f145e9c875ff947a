//! The two borders of the ring: an operation becomes an entry, a completion becomes an outcome.
//!
//! ```text
//!   Op ──admit──► Flight ──entry──► kernel ──judge──► Last ──outcome──► Outcome
//!                   ▲                            │
//!                   └───────── Restart ◄─────────┘   short sends, EINTR, multishots the kernel ended by itself
//! ```
//!
//! Sockets need not know which engine serves them: the kernel arms its own poll for a socket operation
//! whether or not the descriptor is in non-blocking mode (tested), and should it answer `EAGAIN` all the
//! same, the flight waits for readiness through the ring and then tries again.
//! Not here: when an entry is pushed, and what is done with a verdict (`mod.rs`).

use super::flights::{Flight, Key, Tag};
use super::ring::{Seen, adopt};
use crate::{Buf, Fd, Interest, Op, Outcome};
use io_uring::squeue::{Entry, Flags};
use io_uring::{opcode, types};
use rustix::io::Errno;
use std::ptr;

/// The buffer group of the pool; the only one.
pub(super) const POOL_GROUP: u16 = 0;

/// `IORING_RECVSEND_POLL_FIRST`: wait for readiness before trying (and before taking a buffer).
const POLL_FIRST: u16 = 1 << 0;
/// `IORING_RECV_MULTISHOT`.
const RECV_MULTISHOT: u16 = 1 << 1;
/// What accepted connections are: close-on-exec, and non-blocking so that they work on every engine.
const ACCEPT_FLAGS: i32 = libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
/// The kernel caps one transfer at `INT_MAX` rounded down to a page; we never ask for more.
const TRANSFER_MAX: usize = 0x7fff_f000;

/// The operation, or its outcome if there is nothing to ask the kernel.
pub(super) fn admit(op: Op) -> Result<Op, Outcome> {
    match op {
        Op::Send { buf, start, .. } if start >= buf.len() => Err(Outcome::Sent { sent: 0, buf }),
        Op::SendAll { buf, .. } if buf.is_empty() => Err(Outcome::Sent { sent: 0, buf }),
        Op::Recv { mut buf, .. } if buf.capacity() == 0 => {
            buf.clear();
            Err(Outcome::Received { buf })
        }
        op => Ok(op),
    }
}

impl Op {
    pub(super) fn uses_pool(&self) -> bool {
        matches!(self, Op::RecvPool { .. } | Op::RecvMulti { .. })
    }

    fn fd(&self) -> Option<&Fd> {
        match self {
            Op::Nop => None,
            Op::Accept { fd }
            | Op::AcceptMulti { fd }
            | Op::Connect { fd, .. }
            | Op::Send { fd, .. }
            | Op::SendAll { fd, .. }
            | Op::Recv { fd, .. }
            | Op::RecvPool { fd }
            | Op::RecvMulti { fd }
            | Op::Ready { fd, .. }
            | Op::Shutdown { fd, .. } => Some(fd),
        }
    }

    /// The descriptor and direction on which order matters: bytes are taken and given first come, first
    /// served.
    pub(super) fn lane(&self) -> Option<(&Fd, Interest)> {
        match self {
            Op::Recv { fd, .. } | Op::RecvPool { fd } | Op::RecvMulti { fd } => Some((fd, Interest::Read)),
            Op::Send { fd, .. } | Op::SendAll { fd, .. } => Some((fd, Interest::Write)),
            _ => None,
        }
    }

    /// The buffer lent to the operation, if it had one.
    pub(super) fn into_buf(self) -> Option<Buf> {
        match self {
            Op::Send { buf, .. } | Op::SendAll { buf, .. } | Op::Recv { buf, .. } => Some(buf),
            _ => None,
        }
    }

    fn awaits(&self) -> Interest {
        match self {
            Op::Connect { .. } | Op::Send { .. } | Op::SendAll { .. } => Interest::Write,
            Op::Ready { interest, .. } => *interest,
            _ => Interest::Read,
        }
    }
}

/// How the flight's present entry is marked. A poll's value is no descriptor, whoever asked for it.
fn tag(flight: &Flight) -> Tag {
    match flight.op {
        Op::Accept { .. } | Op::AcceptMulti { .. } if !flight.awaits_ready => Tag::OpFd,
        _ => Tag::Op,
    }
}

/// The entry that starts or continues a flight. It points into the flight's buffer: see the promise in
/// `ring.rs`.
pub(super) fn entry(flight: &mut Flight, key: Key) -> Entry {
    let user_data = key.pack(tag(flight));
    let (single_shot, poll_first, sent) = (flight.single_shot, flight.poll_first, flight.sent);
    if flight.awaits_ready
        && let Some(fd) = flight.op.fd()
    {
        return poll(fd, flight.op.awaits()).user_data(user_data);
    }
    match &mut flight.op {
        Op::Nop => opcode::Nop::new().build(),
        Op::AcceptMulti { fd } if !single_shot => {
            opcode::AcceptMulti::new(number(fd)).flags(ACCEPT_FLAGS).build()
        }
        Op::Accept { fd } | Op::AcceptMulti { fd } => {
            opcode::Accept::new(number(fd), ptr::null_mut(), ptr::null_mut()).flags(ACCEPT_FLAGS).build()
        }
        Op::Connect { fd, addr } => {
            opcode::Connect::new(number(fd), addr.as_ptr().cast(), addr.addr_len()).build()
        }
        Op::Send { fd, buf, start } => send(fd, &buf[*start..], libc::MSG_NOSIGNAL),
        Op::SendAll { fd, buf } => send(fd, &buf[sent..], libc::MSG_NOSIGNAL | libc::MSG_WAITALL),
        Op::Recv { fd, buf } => {
            let storage = buf.storage_mut();
            let recv = opcode::Recv::new(number(fd), storage.as_mut_ptr(), length(storage));
            recv.ioprio(poll_first_if(fd.is_drained())).build()
        }
        // Never multishot and poll-first together: having read what the poll announced, the kernel then
        // waits for another edge, and an end of stream that was there already is never told (Unix sockets;
        // cf. liburing issue 1549).
        Op::RecvMulti { fd } if !single_shot && !poll_first => recv_pool(fd, RECV_MULTISHOT),
        Op::RecvPool { fd } | Op::RecvMulti { fd } => {
            recv_pool(fd, poll_first_if(poll_first || fd.is_drained()))
        }
        Op::Ready { fd, interest } => poll(fd, *interest),
        // Shutdowns are made directly (see `Uring::perform_shutdowns`), so this entry is never built.
        Op::Shutdown { .. } => unreachable!("a shutdown does not go through the ring"),
    }
    .user_data(user_data)
}

/// An entry that cancels one flight; it completes visibly only if that fails.
pub(super) fn cancel_entry(flight: &Flight, key: Key) -> Entry {
    let target = key.pack(tag(flight));
    opcode::AsyncCancel::new(target).build().flags(Flags::SKIP_SUCCESS).user_data(key.pack(Tag::Cancel))
}

/// An entry that cancels everything.
pub(super) fn cancel_any_entry() -> Entry {
    let any = types::CancelBuilder::any();
    opcode::AsyncCancel2::new(any).build().user_data(Key::NOBODY.pack(Tag::Cancel))
}

/// A lasting watch on an eventfd: one completion per write, none for an old value.
pub(super) fn watch_entry(eventfd: i32) -> Entry {
    let poll = opcode::PollAdd::new(types::Fd(eventfd), libc::POLLIN as u32).multi(true);
    poll.build().user_data(Key::NOBODY.pack(Tag::Watch))
}

fn number(fd: &Fd) -> types::Fd {
    types::Fd(fd.raw())
}

fn length(bytes: &[u8]) -> u32 {
    bytes.len().min(TRANSFER_MAX) as u32
}

fn send(fd: &Fd, bytes: &[u8], flags: i32) -> Entry {
    opcode::Send::new(number(fd), bytes.as_ptr(), length(bytes)).flags(flags).build()
}

/// Trying first is wasted where the socket is known to be empty: a round trip over a socket pair takes 5.3
/// µs instead of 5.7 µs without it.
fn poll_first_if(drained: bool) -> u16 {
    if drained { POLL_FIRST } else { 0 }
}

fn recv_pool(fd: &Fd, ioprio: u16) -> Entry {
    let recv = opcode::Recv::new(number(fd), ptr::null_mut(), 0).buf_group(POOL_GROUP).ioprio(ioprio);
    recv.build().flags(Flags::BUFFER_SELECT)
}

fn poll(fd: &Fd, interest: Interest) -> Entry {
    let events = match interest {
        Interest::Read => libc::POLLIN,
        Interest::Write => libc::POLLOUT,
    };
    opcode::PollAdd::new(number(fd), events as u32).build()
}

/// What a completion means for its flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The flight has ended, with this value or error.
    Last(Result<u32, Errno>),
    /// A result of a multishot that goes on.
    More(u32),
    /// A result of a multishot that the kernel ended by itself: it needs a new entry.
    MoreAndRestart(u32),
    /// Nothing to tell the caller yet: it needs a new entry.
    Restart,
    /// As `Restart`, once the pool has a buffer.
    Starved,
}

/// Decides how a flight goes on, and notes in it what its next entry must know.
pub(super) fn judge(flight: &mut Flight, seen: Seen) -> Verdict {
    let ready = std::mem::take(&mut flight.awaits_ready);
    let value = match seen.value() {
        Ok(value) => value,
        Err(error) => return judge_error(flight, error),
    };
    if ready {
        return restart(flight);
    }
    match &flight.op {
        Op::AcceptMulti { .. } if seen.more() => Verdict::More(value),
        Op::RecvMulti { .. } if seen.more() && value > 0 => Verdict::More(value),
        // An empty receive is the end of the stream.
        Op::RecvMulti { .. } if value == 0 => Verdict::Last(Ok(0)),
        Op::AcceptMulti { .. } | Op::RecvMulti { .. } if !flight.cancel_asked => {
            flight.poll_first = false;
            Verdict::MoreAndRestart(value)
        }
        Op::Recv { fd, .. } | Op::RecvPool { fd } => {
            // At the end of the stream there is nothing to wait for.
            fd.set_drained(value > 0 && !seen.socket_has_more());
            Verdict::Last(Ok(value))
        }
        Op::SendAll { buf, .. } if flight.sent + (value as usize) < buf.len() && value > 0 => {
            flight.sent += value as usize;
            restart(flight)
        }
        _ => Verdict::Last(Ok(value)),
    }
}

fn judge_error(flight: &mut Flight, error: Errno) -> Verdict {
    let multishot = matches!(flight.op, Op::AcceptMulti { .. } | Op::RecvMulti { .. });
    match error {
        Errno::INTR => restart(flight),
        Errno::AGAIN | Errno::INPROGRESS | Errno::ALREADY if flight.op.fd().is_some() => {
            flight.awaits_ready = true;
            restart(flight)
        }
        Errno::NOBUFS if flight.op.uses_pool() && !flight.cancel_asked => {
            flight.poll_first = true;
            Verdict::Starved
        }
        // Kernels before 5.19 (accept) and 6.0 (receive) refuse the multishot flag.
        Errno::INVAL if multishot && !flight.single_shot => {
            flight.single_shot = true;
            restart(flight)
        }
        Errno::NOBUFS if flight.op.uses_pool() => Verdict::Last(Err(Errno::CANCELED)),
        _ => Verdict::Last(Err(error)),
    }
}

fn restart(flight: &Flight) -> Verdict {
    if flight.cancel_asked { Verdict::Last(Err(Errno::CANCELED)) } else { Verdict::Restart }
}

/// One result of a multishot that goes on. `arrived` is the pool buffer the kernel chose.
pub(super) fn more_outcome(op: &Op, value: u32, arrived: Option<Buf>) -> Outcome {
    match op {
        Op::AcceptMulti { .. } => Outcome::Accepted(adopt(value)),
        _ => Outcome::Received { buf: filled(arrived, value) },
    }
}

/// The end of a flight.
pub(super) fn outcome(flight: Flight, ended: Result<u32, Errno>, arrived: Option<Buf>) -> Outcome {
    let Flight { op, sent, .. } = flight;
    let value = match ended {
        Ok(value) => value,
        Err(Errno::CANCELED) if sent == 0 => return Outcome::Canceled { buf: op.into_buf() },
        // Cancelled between two pieces of a `SendAll`: what went out is the truth, and loses nothing.
        Err(Errno::CANCELED) => 0,
        Err(error) => return Outcome::Failed { error, buf: op.into_buf() },
    };
    match op {
        Op::Nop | Op::Connect { .. } | Op::Ready { .. } | Op::Shutdown { .. } => Outcome::Done,
        Op::Accept { .. } | Op::AcceptMulti { .. } => Outcome::Accepted(adopt(value)),
        Op::Send { buf, .. } => Outcome::Sent { sent: value as usize, buf },
        Op::SendAll { buf, .. } => Outcome::Sent { sent: sent + value as usize, buf },
        Op::Recv { buf, .. } => Outcome::Received { buf: filled(Some(buf), value) },
        Op::RecvPool { .. } | Op::RecvMulti { .. } => Outcome::Received { buf: filled(arrived, value) },
    }
}

fn filled(buf: Option<Buf>, len: u32) -> Buf {
    let mut buf = buf.unwrap_or_else(|| Buf::with_capacity(0));
    buf.set_len(len as usize);
    buf
}

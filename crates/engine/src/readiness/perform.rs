//! Operation → system call: the one match of the readiness engines.
//!
//! ```text
//!   Op ──prepare──► Now(outcome)             nothing to wait for
//!                 ► NextTurn
//!                 ► Work ──attempt──► Last   finished, the buffer is in the outcome
//!                             ▲     ► More   multishot: a result, and it goes on
//!                             │     ► Wait   the kernel would block ─┐
//!                             │     ► Dry    no pool buffer free     ├ try again later
//!                             │     ► Backlog  a Unix listener is full ─┘
//!                             └───────────────────────────────────────┘
//! ```
//!
//! A [`Work`] is an operation that may have to wait, with its progress. Each call is counted.
//! Not here: when to attempt (`mod.rs`).

use super::table::{Guess, Kind};
use crate::pool::Pool;
use crate::{Buf, Fd, Interest, Op, Outcome};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{
    self, AddressFamily, RecvAncillaryBuffer, RecvFlags, ReturnFlags, SendFlags, SocketAddrAny, SocketFlags,
    SocketType, ipproto,
};
use std::io::IoSliceMut;

/// What an operation turns out to be.
#[derive(Debug)]
pub(super) enum Prepared {
    /// Finished already.
    Now(Outcome),
    /// Finished, to be reported by the next turn.
    NextTurn(Outcome),
    /// Something to attempt.
    Work(Fd, Work),
}

/// An operation that may have to wait.
#[derive(Debug)]
pub(super) enum Work {
    Accept {
        multi: bool,
    },
    /// Boxed: an address is larger than everything else here, and connecting is rare.
    Connect {
        addr: Box<SocketAddrAny>,
        begun: bool,
    },
    Send {
        buf: Buf,
        start: usize,
    },
    SendAll {
        buf: Buf,
        sent: usize,
    },
    Recv {
        buf: Buf,
    },
    RecvPool {
        multi: bool,
    },
    Ready(Interest),
}

/// What came of one attempt.
#[derive(Debug)]
pub(super) enum Step {
    Last(Outcome),
    More(Outcome),
    Wait,
    Dry,
    Backlog,
}

/// Sorts a new operation; does what needs no waiting.
pub(super) fn prepare(op: Op, calls: &mut u64) -> Prepared {
    match op {
        Op::Nop => Prepared::NextTurn(Outcome::Done),
        Op::Accept { fd } => Prepared::Work(fd, Work::Accept { multi: false }),
        Op::AcceptMulti { fd } => Prepared::Work(fd, Work::Accept { multi: true }),
        Op::Connect { fd, addr } => Prepared::Work(fd, Work::Connect { addr, begun: false }),
        Op::Send { buf, start, .. } if start >= buf.len() => Prepared::Now(Outcome::Sent { sent: 0, buf }),
        Op::Send { fd, buf, start } => Prepared::Work(fd, Work::Send { buf, start }),
        Op::SendAll { buf, .. } if buf.is_empty() => Prepared::Now(Outcome::Sent { sent: 0, buf }),
        Op::SendAll { fd, buf } => Prepared::Work(fd, Work::SendAll { buf, sent: 0 }),
        Op::Recv { mut buf, .. } if buf.capacity() == 0 => {
            buf.clear();
            Prepared::Now(Outcome::Received { buf })
        }
        Op::Recv { fd, buf } => Prepared::Work(fd, Work::Recv { buf }),
        Op::RecvPool { fd } => Prepared::Work(fd, Work::RecvPool { multi: false }),
        Op::RecvMulti { fd } => Prepared::Work(fd, Work::RecvPool { multi: true }),
        Op::Ready { fd, interest } => Prepared::Work(fd, Work::Ready(interest)),
        Op::Shutdown { fd, how } => Prepared::Now(match counted(calls, || net::shutdown(&fd, how)) {
            Ok(()) => Outcome::Done,
            Err(error) => Outcome::Failed { error, buf: None },
        }),
    }
}

impl Work {
    /// The direction in which it waits.
    pub(super) fn side(&self) -> Interest {
        match self {
            Work::Accept { .. } | Work::Recv { .. } | Work::RecvPool { .. } => Interest::Read,
            Work::Connect { .. } | Work::Send { .. } | Work::SendAll { .. } => Interest::Write,
            Work::Ready(interest) => *interest,
        }
    }

    /// Whether it may have several results, which come from turns only.
    pub(super) fn is_multi(&self) -> bool {
        matches!(self, Work::Accept { multi: true } | Work::RecvPool { multi: true })
    }

    /// Whether its call has no flag of its own against blocking, so that the descriptor's mode decides.
    pub(super) fn needs_nonblocking(&self) -> bool {
        matches!(self, Work::Accept { .. } | Work::Connect { .. })
    }

    /// The outcome if the kernel refuses.
    pub(super) fn failed(self, error: Errno) -> Outcome {
        Outcome::Failed { error, buf: self.into_buf() }
    }

    /// The outcome if it is given up here.
    pub(super) fn canceled(self) -> Outcome {
        match self {
            // Bytes that are with the peer already must not be lost to the caller's count.
            Work::SendAll { buf, sent } if sent > 0 => Outcome::Sent { sent, buf },
            work => Outcome::Canceled { buf: work.into_buf() },
        }
    }

    fn into_buf(self) -> Option<Buf> {
        match self {
            Work::Send { buf, .. } | Work::SendAll { buf, .. } | Work::Recv { buf } => Some(buf),
            Work::Accept { .. } | Work::Connect { .. } | Work::RecvPool { .. } | Work::Ready(_) => None,
        }
    }

    /// Makes the system call, and says what it taught about the descriptor.
    ///
    /// After `Last` the work is used up: its buffer is in the outcome.
    pub(super) fn attempt(&mut self, fd: &Fd, kind: Kind, pool: &Pool, calls: &mut u64) -> (Step, Guess) {
        match self {
            Work::Accept { multi } => accept(fd, *multi, calls),
            Work::Connect { addr, begun } => connect(fd, addr, begun, calls),
            Work::Send { buf, start } => match send(fd, &buf[*start..], calls) {
                Ok((sent, guess)) => (Step::Last(Outcome::Sent { sent, buf: take(buf) }), guess),
                Err(error) => refused(error, Some(buf)),
            },
            Work::SendAll { buf, sent } => match send(fd, &buf[*sent..], calls) {
                Ok((more, guess)) => {
                    *sent += more;
                    if *sent < buf.len() {
                        return (Step::Wait, Guess::Wait);
                    }
                    (Step::Last(Outcome::Sent { sent: *sent, buf: take(buf) }), guess)
                }
                Err(error) => refused(error, Some(buf)),
            },
            Work::Recv { buf } => match receive(fd, buf, kind, calls) {
                Ok(guess) => (Step::Last(Outcome::Received { buf: take(buf) }), guess),
                Err(error) => refused(error, Some(buf)),
            },
            Work::RecvPool { multi } => receive_pool(fd, *multi, kind, pool, calls),
            Work::Ready(interest) => ready(fd, *interest, calls),
        }
    }
}

fn accept(fd: &Fd, multi: bool, calls: &mut u64) -> (Step, Guess) {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    match counted(calls, || net::accept_with(fd, flags)) {
        Ok(accepted) if multi => (Step::More(Outcome::Accepted(accepted)), Guess::Try),
        Ok(accepted) => (Step::Last(Outcome::Accepted(accepted)), Guess::Try),
        Err(error) => refused(error, None),
    }
}

/// Calls `connect` until it says how it went. On Linux the second call answers exactly: 0 once connected,
/// EALREADY while it goes on, else the error. `SO_ERROR` would answer 0 for "going on" as well, and so turn
/// a stray event into a lie.
fn connect(fd: &Fd, addr: &SocketAddrAny, begun: &mut bool, calls: &mut u64) -> (Step, Guess) {
    *calls += 1;
    match net::connect(fd, addr) {
        Ok(()) => (Step::Last(Outcome::Done), Guess::Try),
        Err(Errno::ISCONN) if *begun => (Step::Last(Outcome::Done), Guess::Try),
        // Interrupted means begun, not undone: POSIX lets it go on by itself.
        Err(Errno::INPROGRESS | Errno::ALREADY | Errno::INTR) => {
            *begun = true;
            (Step::Wait, Guess::Wait)
        }
        // Only AF_UNIX says this: the listener's queue is full, and no event tells when that changes.
        Err(Errno::AGAIN) => (Step::Backlog, Guess::Try),
        Err(error) => (Step::Last(Outcome::Failed { error, buf: None }), Guess::Try),
    }
}

fn send(fd: &Fd, bytes: &[u8], calls: &mut u64) -> Result<(usize, Guess), Errno> {
    let sent = counted(calls, || net::send(fd, bytes, SendFlags::NOSIGNAL | SendFlags::DONTWAIT))?;
    debug_assert!(sent <= bytes.len());
    // Only a stream sends a part, and only when its buffer is full: the poller will tell when there is room.
    Ok((sent, if sent < bytes.len() { Guess::Wait } else { Guess::Try }))
}

fn receive(fd: &Fd, buf: &mut Buf, kind: Kind, calls: &mut u64) -> Result<Guess, Errno> {
    let storage = buf.storage_mut();
    let capacity = storage.len();
    let (received, cut) = if kind == Kind::UnixStream {
        // Descriptors sent along end a receive early although bytes follow. Nobody here wants them, so they
        // are dropped by the kernel, which says so with CTRUNC. It costs 0.2 µs more than `recv` (2026-11:
        // ping-pong of 64 bytes 4.25 against 3.8 µs), still less than asking again. Tried and left:
        // believing the short receive and trying once more when all is quiet, since the time limit which
        // every sleep then needs costs two thirds of that.
        let mut control = RecvAncillaryBuffer::default();
        let message = counted(calls, || {
            net::recvmsg(fd, &mut [IoSliceMut::new(storage)], &mut control, RecvFlags::DONTWAIT)
        })?;
        (message.bytes, message.flags.contains(ReturnFlags::CTRUNC))
    } else {
        (counted(calls, || net::recv(fd, &mut *storage, RecvFlags::DONTWAIT))?.1, false)
    };
    buf.set_len(received);
    Ok(if received == 0 || received == capacity || cut { Guess::Try } else { Guess::Short })
}

fn receive_pool(fd: &Fd, multi: bool, kind: Kind, pool: &Pool, calls: &mut u64) -> (Step, Guess) {
    // Taken for the attempt only: if nothing is there, dropping gives it back.
    let Some(buf) = pool.take() else { return (Step::Dry, Guess::Try) };
    let mut buf = Buf::from(buf);
    match receive(fd, &mut buf, kind, calls) {
        // At the end there is nothing to hold: the pool gets its buffer back at once.
        Ok(guess) if buf.is_empty() => (Step::Last(Outcome::Received { buf: Buf::from("") }), guess),
        Ok(guess) if multi => (Step::More(Outcome::Received { buf }), guess),
        Ok(guess) => (Step::Last(Outcome::Received { buf }), guess),
        Err(error) => refused(error, None),
    }
}

/// Asks the kernel, since a guess is not good enough for an answer.
fn ready(fd: &Fd, interest: Interest, calls: &mut u64) -> (Step, Guess) {
    let flags = match interest {
        Interest::Read => PollFlags::IN,
        Interest::Write => PollFlags::OUT,
    };
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    let mut fds = [PollFd::new(fd, flags)];
    match counted(calls, || poll(&mut fds, Some(&now))) {
        Ok(0) => (Step::Wait, Guess::Wait),
        Ok(_) => (Step::Last(Outcome::Done), Guess::Try),
        Err(error) => refused(error, None),
    }
}

/// Finds out, once per descriptor, what a short receive means on it.
pub(super) fn classify(fd: &Fd, calls: &mut u64) -> Kind {
    match counted(calls, || net::sockopt::socket_protocol(fd)) {
        Ok(Some(protocol)) if protocol == ipproto::TCP || protocol == ipproto::MPTCP => return Kind::Tcp,
        Ok(None) => {}
        _ => return Kind::Other,
    }
    let domain = counted(calls, || net::sockopt::socket_domain(fd));
    let stream = counted(calls, || net::sockopt::socket_type(fd));
    match (domain, stream) {
        (Ok(AddressFamily::UNIX), Ok(SocketType::STREAM)) => Kind::UnixStream,
        _ => Kind::Other,
    }
}

/// An error other than success: either the kernel would block, or it refuses.
fn refused(error: Errno, buf: Option<&mut Buf>) -> (Step, Guess) {
    if error == Errno::AGAIN {
        return (Step::Wait, Guess::Wait);
    }
    (Step::Last(Outcome::Failed { error, buf: buf.map(take) }), Guess::Try)
}

/// Moves a buffer out of a work that is used up.
fn take(buf: &mut Buf) -> Buf {
    std::mem::replace(buf, Buf::from(""))
}

/// Makes a call, again if a signal interrupted it before it did anything.
fn counted<T>(calls: &mut u64, mut call: impl FnMut() -> rustix::io::Result<T>) -> Result<T, Errno> {
    loop {
        *calls += 1;
        match call() {
            Err(Errno::INTR) => {}
            result => return result,
        }
    }
}

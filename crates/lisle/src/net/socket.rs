//! A stream or listening socket as all handles and operations share it, and what keeps it lossless.
//!
//! ```text
//!   handles (streams, halves, listeners) ─count─► Socket ◄─Rc─ operations in flight
//! ```
//!
//! Three things live here because they must outlive any one promise:
//! - *leftovers*: bytes or connections that arrived for an operation whose promise was dropped; the next
//!   reader or acceptor gets them first. An operation whose promise was dropped while it flew is an
//!   *orphan*: the next reader *claims* it, so the order of bytes is kept, and the claim keeps that
//!   reader's buffer until the outcome is there.
//! - *the write queue*: one write or shutdown at a time, in order, so that long sends do not interleave on
//!   any engine. A turn in it is a promise, to which the operation is bound.
//! - *closing*: when the last handle is dropped, orphans are cancelled (nobody could claim them). An
//!   operation whose promise lives goes on, and writes are let finish; the descriptor closes with the last
//!   operation.

use crate::runtime::io::{self, Kind};
use crate::runtime::shape::{Accepted, FromConnection, Received, SentAll, Shape, Unit};
use lisle_core::{Error, Promise, Resolver, cancelable, pair, rejected};
use lisle_engine::{Buf, Fd, Op, Outcome};
use rustix::io::Errno;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io::Read;
use std::mem;
use std::os::fd::OwnedFd;
use std::rc::Rc;

pub(crate) use rustix::net::Shutdown;

/// See the module page.
#[derive(Debug)]
pub(crate) struct Socket {
    fd: Fd,
    handles: Cell<u32>,
    writing: Cell<Writing>,
    leftovers: RefCell<Option<Box<Leftovers>>>,
}

/// Whether a new write may start, or has to queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Writing {
    Idle,
    /// A write is in flight.
    Flying,
    /// The queue is being worked off: what a callback writes meanwhile was called later than the rest of it.
    HandingOn,
}

/// Rarely needed, so boxed: an idle connection should be small.
#[derive(Debug, Default)]
struct Leftovers {
    bytes: VecDeque<u8>,
    error: Option<Errno>,
    connections: VecDeque<OwnedFd>,
    orphans: VecDeque<u64>,
    /// Orphans that have a new owner: where a reader wants the bytes.
    claims: Vec<(u64, Option<Buf>)>,
    /// The turns of queued writes and shutdowns. A turn comes as a promise, so that a cancellation finds
    /// first the turn, and later the operation.
    writes: VecDeque<Resolver<()>>,
}

impl Leftovers {
    fn concerns_reader(&self) -> bool {
        !self.bytes.is_empty() || self.error.is_some() || !self.orphans.is_empty()
    }

    /// Moves the oldest bytes into a buffer, as many as it takes.
    fn fill(&mut self, mut buf: Buf) -> Buf {
        let count = self.bytes.read(buf.storage_mut()).unwrap_or(0);
        buf.set_len(count);
        buf
    }
}

/// What becomes of an outcome whose operation changed owners.
pub(crate) enum Fitted {
    /// This is for the new owner.
    Outcome(Outcome),
    /// The former owner had it cancelled: it starts again for the new one.
    Again(Op),
}

/// A counted handle. The last one closes.
#[derive(Debug)]
pub(crate) struct Handle(Rc<Socket>);

impl Handle {
    pub(crate) fn new(fd: OwnedFd) -> Handle {
        Handle(Rc::new(Socket {
            fd: Fd::new(fd),
            handles: Cell::new(1),
            writing: Cell::new(Writing::Idle),
            leftovers: RefCell::new(None),
        }))
    }

    pub(crate) fn socket(&self) -> &Rc<Socket> {
        &self.0
    }

    /// Whether no other handle is left.
    pub(crate) fn is_last(&self) -> bool {
        self.0.handles.get() == 1
    }
}

impl Clone for Handle {
    fn clone(&self) -> Handle {
        self.0.handles.set(self.0.handles.get() + 1);
        Handle(self.0.clone())
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        let left = self.0.handles.get() - 1;
        self.0.handles.set(left);
        if left == 0 {
            self.0.last_handle_gone();
        }
    }
}

/// How many writes may be queued on one socket. A peer that does not read must not cost memory without end.
pub(crate) const WRITES_MAX: usize = 1 << 16;

impl Socket {
    pub(crate) fn fd(&self) -> &Fd {
        &self.fd
    }

    fn leftovers<R>(&self, f: impl FnOnce(&mut Leftovers) -> R) -> R {
        f(self.leftovers.borrow_mut().get_or_insert_default())
    }

    /// An operation of this socket is in flight.
    pub(crate) fn started(&self, kind: Kind) {
        if kind == Kind::Write {
            self.writing.set(Writing::Flying);
        }
    }

    /// The promise of an operation in flight was dropped. A claimed one goes back to its place, the first.
    pub(crate) fn released(&self, kind: Kind, token: u64, claimed: bool) {
        if matches!(kind, Kind::Read | Kind::Accept) {
            self.leftovers(|left| {
                if claimed {
                    left.claims.retain(|(claim, _)| *claim != token);
                    left.orphans.push_front(token);
                } else {
                    left.orphans.push_back(token);
                }
            });
            if self.handles.get() == 0 {
                io::cancel(token);
            }
        }
    }

    /// Takes the result of an operation that nobody claims.
    pub(crate) fn keep(self: &Rc<Self>, kind: Kind, token: u64, outcome: Outcome) {
        let closed = self.handles.get() == 0;
        match outcome {
            // Nobody looks at it, so the hook is told.
            Outcome::Failed { error, .. } if matches!(kind, Kind::Write | Kind::Other) => {
                drop(rejected::<()>(Error::os(error.raw_os_error())));
            }
            // Should it end without a word to the next reader, its place in the line still has to go.
            _ if !matches!(kind, Kind::Read | Kind::Accept) => {}
            outcome => self.leftovers(|left| {
                let waiting = left.orphans.len();
                left.orphans.retain(|&waiting| waiting != token);
                let orphan = left.orphans.len() < waiting;
                match outcome {
                    _ if closed => {}
                    // It had landed, and so came before all that is kept.
                    Outcome::Received { buf } if !orphan => {
                        buf.iter().rev().for_each(|&byte| left.bytes.push_front(byte));
                    }
                    Outcome::Received { buf } => left.bytes.extend(&*buf),
                    Outcome::Accepted(fd) => left.connections.push_back(fd),
                    // A reset is told once by the kernel; the next reader must still learn of it.
                    Outcome::Failed { error, .. } if kind == Kind::Read => left.error = Some(error),
                    _ => {}
                }
            }),
        }
        // Somebody may be waiting for just this behind the one who gave up.
        let others = Rc::strong_count(self) > self.handles.get() as usize + 1;
        if others && !closed && self.has_leftovers_for(kind) {
            io::nudge(self, kind);
        }
    }

    fn has_leftovers_for(&self, kind: Kind) -> bool {
        self.leftovers.borrow().as_ref().is_some_and(|left| match kind {
            Kind::Read => !left.bytes.is_empty() || left.error.is_some(),
            Kind::Accept => !left.connections.is_empty(),
            Kind::Write | Kind::Other => false,
        })
    }

    /// Nobody can claim what orphans would bring. Queued writes stay: they were called before.
    #[inline]
    fn last_handle_gone(&self) {
        let orphans = self.leftovers.borrow_mut().as_mut().map(|left| {
            left.bytes.clear();
            left.connections.clear();
            left.orphans.clone()
        });
        orphans.into_iter().flatten().for_each(io::cancel);
    }

    /// Claims the oldest orphan, for a reader with this buffer or for an acceptor.
    fn claim<S: Shape>(&self, buf: &mut Option<Buf>) -> Option<Promise<S::Value>> {
        let token = self.leftovers.borrow_mut().as_mut()?.orphans.pop_front()?;
        let promise = io::reclaim::<S>(token)?;
        self.leftovers(|left| left.claims.push((token, buf.take())));
        Some(promise)
    }

    /// Turns the outcome of an operation that took over from another into what its owner asked for.
    /// Leftovers are older than what the operation itself brings.
    pub(crate) fn fit(&self, kind: Kind, token: u64, outcome: Outcome, restart: bool) -> Fitted {
        self.leftovers(|left| {
            let place = left.claims.iter().position(|(claim, _)| *claim == token);
            let wanted = place.and_then(|place| left.claims.swap_remove(place).1);
            match outcome {
                Outcome::Received { buf: data } => {
                    left.bytes.extend(&*data);
                    Fitted::Outcome(Outcome::Received { buf: left.fill(wanted.unwrap_or(data)) })
                }
                Outcome::Canceled { .. } if restart && kind == Kind::Accept => {
                    match left.connections.pop_front() {
                        Some(fd) => Fitted::Outcome(Outcome::Accepted(fd)),
                        None => Fitted::Again(Op::Accept { fd: self.fd.clone() }),
                    }
                }
                Outcome::Canceled { buf } if restart => {
                    let buf = wanted.or(buf).unwrap_or_else(|| Buf::with_capacity(POOL_READ_CAPACITY));
                    if !left.bytes.is_empty() {
                        return Fitted::Outcome(Outcome::Received { buf: left.fill(buf) });
                    }
                    match left.error.take() {
                        Some(error) => Fitted::Outcome(Outcome::Failed { error, buf: None }),
                        None => Fitted::Again(Op::Recv { fd: self.fd.clone(), buf }),
                    }
                }
                outcome => Fitted::Outcome(outcome),
            }
        })
    }

    fn has_leftovers_for_reader(&self) -> bool {
        self.leftovers.borrow().as_ref().is_some_and(|left| left.concerns_reader())
    }

    /// Reads into `buf`; an empty buffer comes back at the end of the stream.
    pub(crate) fn read(self: &Rc<Self>, buf: Buf) -> Promise<Buf> {
        if self.has_leftovers_for_reader() && buf.capacity() > 0 {
            return self.read_leftovers(buf);
        }
        io::start::<Received>(Op::Recv { fd: self.fd.clone(), buf }, Kind::Read, self)
    }

    #[cold]
    fn read_leftovers(self: &Rc<Self>, buf: Buf) -> Promise<Buf> {
        let has_bytes = self.leftovers.borrow().as_ref().is_some_and(|left| !left.bytes.is_empty());
        if has_bytes {
            let buf = self.leftovers(|left| left.fill(buf));
            return io::landed::<Received>(Outcome::Received { buf }, Kind::Read, self);
        }
        if let Some(error) = self.leftovers(|left| left.error.take()) {
            return rejected(Error::os(error.raw_os_error()));
        }
        let mut buf = Some(buf);
        if let Some(claimed) = self.claim::<Received>(&mut buf) {
            return claimed;
        }
        let buf = buf.unwrap_or_else(|| Buf::with_capacity(POOL_READ_CAPACITY));
        io::start::<Received>(Op::Recv { fd: self.fd.clone(), buf }, Kind::Read, self)
    }

    /// Reads into a buffer of the engine's pool, taken when data is there.
    pub(crate) fn read_pool(self: &Rc<Self>) -> Promise<Buf> {
        if self.has_leftovers_for_reader() {
            return self.read_leftovers(Buf::with_capacity(POOL_READ_CAPACITY));
        }
        io::start::<Received>(Op::RecvPool { fd: self.fd.clone() }, Kind::Read, self)
    }

    /// Writes all of `buf`, after the writes queued before.
    pub(crate) fn write_all(self: &Rc<Self>, buf: Buf) -> Promise<Buf> {
        if self.writing.get() == Writing::Idle {
            return self.start_write(buf);
        }
        if self.leftovers(|left| left.writes.len() >= WRITES_MAX) {
            return rejected(Error::message(format!(
                "{WRITES_MAX} writes are queued on this socket already: the peer reads too slowly, await some"
            )));
        }
        let socket = self.clone();
        self.queue(cancelable()).bind(move |()| socket.start_write(buf))
    }

    /// Queues a turn behind the write in flight.
    fn queue(&self, (turn, resolver): (Promise<()>, Resolver<()>)) -> Promise<()> {
        self.leftovers(|left| left.writes.push_back(resolver));
        turn
    }

    fn start_write(self: &Rc<Self>, buf: Buf) -> Promise<Buf> {
        io::start::<SentAll>(Op::SendAll { fd: self.fd.clone(), buf }, Kind::Write, self)
    }

    /// The write in flight has ended, its waiter was not told yet. Whether others are queued: then these
    /// come first, and [`Socket::write_ended`] starts the next of them. Else the waiter may start its next
    /// write directly.
    pub(crate) fn write_landed(&self) -> bool {
        let queued = self.leftovers.borrow().as_ref().is_some_and(|left| !left.writes.is_empty());
        self.writing.set(if queued { Writing::HandingOn } else { Writing::Idle });
        queued
    }

    /// The write in flight has ended and its waiter was told: starts the next, and those behind it, until one
    /// stays in flight.
    pub(crate) fn write_ended(self: &Rc<Self>) {
        while self.writing.get() == Writing::HandingOn {
            match self.leftovers(|left| left.writes.pop_front()) {
                // If it was cancelled while it was queued, nobody hears of it, and nothing of it is written.
                Some(turn) => turn.resolve_now(()),
                None => self.writing.set(Writing::Idle),
            }
        }
    }

    /// The engine is gone, and with it all that was in flight. Gives out the queue, to be dropped: its turn
    /// will not come.
    pub(crate) fn abandon(&self) -> impl Sized + use<> {
        self.writing.set(Writing::Idle);
        self.leftovers.borrow_mut().as_mut().map(|left| {
            left.orphans.clear();
            left.claims.clear();
            mem::take(&mut left.writes)
        })
    }

    /// Shuts down one or both directions, after the writes queued before.
    pub(crate) fn shutdown(self: &Rc<Self>, how: Shutdown) -> Promise<()> {
        if self.writing.get() == Writing::Idle || how == Shutdown::Read {
            return self.start_shutdown(how);
        }
        let socket = self.clone();
        self.queue(pair()).bind(move |()| socket.start_shutdown(how))
    }

    fn start_shutdown(self: &Rc<Self>, how: Shutdown) -> Promise<()> {
        // The end of writing stands in the line of writes: no engine may let a later one overtake it.
        let kind = if how == Shutdown::Read { Kind::Other } else { Kind::Write };
        io::start::<Unit>(Op::Shutdown { fd: self.fd.clone(), how }, kind, self)
    }

    /// Connects a fresh socket.
    pub(crate) fn connect(self: &Rc<Self>, addr: rustix::net::SocketAddrAny) -> Promise<()> {
        io::start::<Unit>(Op::Connect { fd: self.fd.clone(), addr: Box::new(addr) }, Kind::Other, self)
    }

    /// A connection that came for an acceptor that had gone.
    pub(crate) fn kept_connection(&self) -> Option<OwnedFd> {
        self.leftovers.borrow_mut().as_mut()?.connections.pop_front()
    }

    /// Whether an operation is in flight whose result nobody claims.
    pub(crate) fn has_orphans(&self) -> bool {
        self.leftovers.borrow().as_ref().is_some_and(|left| !left.orphans.is_empty())
    }

    /// Takes one connection.
    pub(crate) fn accept<S: FromConnection>(self: &Rc<Self>) -> Promise<S> {
        if let Some(fd) = self.kept_connection() {
            return io::landed::<Accepted<S>>(Outcome::Accepted(fd), Kind::Accept, self);
        }
        if let Some(claimed) = self.claim::<Accepted<S>>(&mut None) {
            return claimed;
        }
        io::start::<Accepted<S>>(Op::Accept { fd: self.fd.clone() }, Kind::Accept, self)
    }
}

/// What a read out of the pool asks for where the pool cannot serve it.
const POOL_READ_CAPACITY: usize = 4096;

//! Operations in flight: an [`Op`] goes in, a promise comes out. The table from token to waiter.
//!
//! ```text
//!   start(op) ──submit──► Done ──► Landed, if it can be lost (bytes, connections); else settled, not kept
//!        └──────────────► Flying(waiter?) ──completion──► Landed(outcome) ──take──► free
//!                            │      ▲   └─ claimed: the socket fits the outcome to its new owner first
//!             promise dropped│      │reclaim (the next reader or acceptor)
//!                            ▼      │
//!                         Flying, released ──completion──► kept by the socket, free
//!   start_multi(op) ────► Multi(queue, waiter?) … until its last completion (`multi.rs`)
//! ```
//!
//! The promise is a leaf of `lisle_core`: a token of this table and a *shape* (`shape.rs`) that turns the
//! outcome into its value. So an operation allocates nothing, in any style. Completions are collected by
//! the engine's turn into a list; only when that is over and nothing is borrowed are waiters told
//! ([`turn`]): no user code runs inside the engine or a submit.
//!
//! What nobody claims is not lost: bytes and connections of a released operation go back to their
//! [`Socket`]. The engine owns buffer and descriptor until the last completion, whatever happens to the
//! promise or this table.

use super::shape::{Shape, result_of, status_of};
use crate::net::socket::{Fitted, Socket};
use lisle_core::source::{CancelReply, Source, leaf};
use lisle_core::{Error, Promise, Result, Status, Waiter, rejected, settled};
use lisle_engine::{Completion, Counters, Engine, EngineKind, Op, Outcome, Submitted, Token, Wait};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io;
use std::marker::PhantomData;
use std::mem;
use std::rc::Rc;

/// What an operation means to its socket when the result is not claimed, and when it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Bytes are kept for the next reader.
    Read,
    /// The next queued write starts when it ends.
    Write,
    /// A connection is kept for the next acceptor.
    Accept,
    /// Nothing to keep.
    Other,
}

/// The promise was dropped: the outcome goes to the socket.
pub(super) const RELEASED: u8 = 1;
/// Released once and claimed again: the socket fits the outcome to the new owner.
const CLAIMED: u8 = 2;
/// The present owner has asked for the end.
const CANCEL_ASKED: u8 = 4;
/// A former owner has: not the fault of the present one, for whom the operation starts afresh.
const CANCEL_STALE: u8 = 8;

pub(super) struct Slot {
    generation: u32,
    pub(super) kind: Kind,
    pub(super) flags: u8,
    pub(super) socket: Option<Rc<Socket>>,
    pub(super) state: OpState,
}

pub(super) enum OpState {
    Free,
    Flying(Option<Waiter>),
    Landed(Outcome),
    Multi(Multi),
}

/// The results of a multishot operation that were not taken yet.
#[derive(Default)]
pub(super) struct Multi {
    pub(super) queue: VecDeque<Outcome>,
    pub(super) waiter: Option<Waiter>,
    /// The last completion has come.
    pub(super) ended: bool,
    /// The wait in progress was cancelled; the operation goes on.
    pub(super) canceled: bool,
}

pub(super) struct Io {
    pub(super) engine: Box<dyn Engine>,
    slots: Vec<Slot>,
    free: Vec<u32>,
    done: Vec<Completion>,
    /// Of slots that were never used.
    first_generation: u32,
}

thread_local! {
    static IO: RefCell<Option<Io>> = const { RefCell::new(None) };
    /// Beyond all generations of the runtimes that this thread has had: promises outlive their runtime, and
    /// their tokens must not name the operations of the next one.
    static FIRST_GENERATION: Cell<u32> = const { Cell::new(0) };
}

impl Io {
    /// The token the next operation gets.
    pub(super) fn next_token(&mut self) -> Token {
        if self.free.is_empty() {
            let index = u32::try_from(self.slots.len()).expect("over 4 billion operations in flight");
            let (generation, state) = (self.first_generation, OpState::Free);
            self.slots.push(Slot { generation, kind: Kind::Other, flags: 0, socket: None, state });
            self.free.push(index);
        }
        let index = *self.free.last().expect("one was added");
        Token(u64::from(self.slots[index as usize].generation) << 32 | u64::from(index))
    }

    pub(super) fn occupy(&mut self, kind: Kind, socket: Option<Rc<Socket>>, state: OpState) {
        let index = self.free.pop().expect("next_token looked at it");
        let slot = &mut self.slots[index as usize];
        debug_assert!(matches!(slot.state, OpState::Free));
        *slot = Slot { generation: slot.generation, kind, flags: 0, socket, state };
    }

    pub(super) fn slot(&mut self, token: u64) -> Option<&mut Slot> {
        let slot = self.slots.get_mut(token as u32 as usize)?;
        let live = slot.generation == (token >> 32) as u32 && !matches!(slot.state, OpState::Free);
        live.then_some(slot)
    }

    /// Frees a slot and hands out what was in it, to be dropped outside of the borrow.
    pub(super) fn vacate(&mut self, token: u64) -> Option<(Kind, Option<Rc<Socket>>, OpState)> {
        let slot = self.slot(token)?;
        slot.generation = slot.generation.wrapping_add(1);
        let state = mem::replace(&mut slot.state, OpState::Free);
        let freed = (slot.kind, slot.socket.take(), state);
        self.free.push(token as u32);
        Some(freed)
    }
}

/// Runs `f` on the table, if this thread has a runtime.
pub(super) fn with<R>(f: impl FnOnce(&mut Io) -> R) -> Option<R> {
    IO.try_with(|io| io.borrow_mut().as_mut().map(f)).ok().flatten()
}

/// Gives this thread its engine; `false` if it has one.
pub(crate) fn install(engine: Box<dyn Engine>) -> bool {
    IO.with_borrow_mut(|io| {
        let vacant = io.is_none();
        if vacant {
            let (slots, free, done) = (Vec::new(), Vec::new(), Vec::new());
            *io = Some(Io { engine, slots, free, done, first_generation: FIRST_GENERATION.get() });
        }
        vacant
    })
}

/// Takes the engine away: who still waits is told `Abandoned`; then the engine drains and everything is
/// freed.
pub(crate) fn uninstall() {
    let Some(io) = IO.with_borrow_mut(Option::take) else { return };
    let Io { engine, slots, first_generation, .. } = io;
    let last_generation = slots.iter().map(|slot| slot.generation).fold(first_generation, u32::max);
    FIRST_GENERATION.set(last_generation.wrapping_add(1));
    for slot in slots {
        drop(slot.socket.map(|socket| socket.abandon()));
        match slot.state {
            OpState::Flying(Some(waiter)) => waiter.wake(),
            OpState::Multi(Multi { waiter: Some(waiter), .. }) => waiter.wake(),
            _ => {}
        }
    }
    drop(engine);
}

/// Which engine this thread has.
pub(crate) fn kind() -> Option<EngineKind> {
    with(|io| io.engine.kind())
}

/// What this thread's engine has done.
pub(crate) fn counters() -> Counters {
    with(|io| io.engine.counters()).unwrap_or_default()
}

/// Operations in flight on this thread.
pub(crate) fn in_flight() -> usize {
    with(|io| io.engine.in_flight()).unwrap_or_default()
}

/// One turn of the engine; then tells everybody whose operation is done.
pub(crate) fn turn(wait: Wait) -> io::Result<()> {
    let turned = with(|io| {
        let result = io.engine.turn(wait, &mut io.done);
        // A lap in which nothing was done takes the short way: a chain of pauses is made of such laps.
        (result, (!io.done.is_empty()).then(|| mem::take(&mut io.done)))
    });
    let Some((result, done)) = turned else { return Ok(()) };
    if let Some(mut done) = done {
        done.drain(..).for_each(deliver);
        with(|io| io.done = done);
    }
    result
}

/// What a completion asks for once nothing is borrowed.
enum Next {
    Wake(Waiter),
    Keep(Kind, Rc<Socket>, u64, Outcome),
    Fit(Rc<Socket>, u64, Outcome),
    Nothing,
}

fn deliver(completion: Completion) {
    let (mut wrote, mut spent) = (None, None);
    let next = with(|io| land(io, completion, &mut wrote, &mut spent)).unwrap_or(Next::Nothing);
    drop(spent);
    match next {
        Next::Wake(waiter) => waiter.wake(),
        Next::Keep(kind, socket, token, outcome) => socket.keep(kind, token, outcome),
        Next::Fit(socket, token, outcome) => fit(&socket, token, outcome),
        Next::Nothing => {}
    }
    // Behind a write that has ended, and after those who waited for it, comes the next of the queue.
    if let Some(socket) = wrote {
        socket.write_ended();
    }
}

/// `wrote` is for a socket with queued writes, `spent` for one whose descriptor may close before the
/// outcome is taken.
fn land(
    io: &mut Io,
    completion: Completion,
    wrote: &mut Option<Rc<Socket>>,
    spent: &mut Option<Rc<Socket>>,
) -> Next {
    let Completion { token: Token(token), outcome, more } = completion;
    let Some(slot) = io.slot(token) else { return Next::Nothing };
    if slot.kind == Kind::Write {
        *wrote = slot.socket.as_ref().filter(|socket| socket.write_landed()).cloned();
    }
    match &mut slot.state {
        OpState::Flying(_) if slot.flags & RELEASED != 0 => match io.vacate(token) {
            Some((kind, Some(socket), _)) => Next::Keep(kind, socket, token, outcome),
            _ => Next::Nothing,
        },
        OpState::Flying(_) if slot.flags & CLAIMED != 0 => match slot.socket.clone() {
            Some(socket) => Next::Fit(socket, token, outcome),
            None => Next::Nothing,
        },
        OpState::Flying(waiter) => {
            let waiter = waiter.take();
            slot.state = OpState::Landed(outcome);
            if !matches!(slot.kind, Kind::Read | Kind::Accept) {
                *spent = slot.socket.take();
            }
            waiter.map_or(Next::Nothing, Next::Wake)
        }
        OpState::Multi(multi) => {
            multi.ended = !more;
            multi.queue.push_back(outcome);
            let waiter = multi.waiter.take();
            if slot.flags & RELEASED != 0 {
                return land_unowned(io, token, more);
            }
            waiter.map_or(Next::Nothing, Next::Wake)
        }
        OpState::Landed(_) | OpState::Free => unreachable!("one last completion for each operation"),
    }
}

/// A multishot operation whose owner is gone: its results go to the socket until it ends.
fn land_unowned(io: &mut Io, token: u64, more: bool) -> Next {
    let slot = io.slot(token).expect("it has just landed");
    let OpState::Multi(multi) = &mut slot.state else { unreachable!("checked by the caller") };
    let outcome = multi.queue.pop_back();
    let (kind, socket) = (slot.kind, slot.socket.clone());
    if !more {
        io.vacate(token);
    }
    match (socket, outcome) {
        (Some(socket), Some(outcome)) => Next::Keep(kind, socket, token, outcome),
        _ => Next::Nothing,
    }
}

/// The outcome of an operation that changed owners while it flew.
#[cold]
fn fit(socket: &Rc<Socket>, token: u64, outcome: Outcome) {
    let Some(Some((flags, kind))) =
        with(|io| io.slot(token).map(|slot| (mem::take(&mut slot.flags), slot.kind)))
    else {
        return;
    };
    let restart = flags & (CANCEL_ASKED | CANCEL_STALE) == CANCEL_STALE;
    let landed = match socket.fit(kind, token, outcome, restart) {
        Fitted::Outcome(outcome) => Some(outcome),
        Fitted::Again(op) => match with(|io| io.engine.submit(Token(token), op)) {
            Some(Submitted::Done(outcome)) => Some(outcome),
            Some(Submitted::Pending) | None => None,
        },
    };
    let waiter = with(|io| match (io.slot(token).map(|slot| &mut slot.state), landed) {
        (Some(OpState::Flying(waiter)), Some(outcome)) => {
            let waiter = waiter.take();
            io.slot(token)?.state = OpState::Landed(outcome);
            waiter
        }
        _ => None,
    });
    if let Some(waiter) = waiter.flatten() {
        waiter.wake();
    }
}

pub(super) fn no_runtime() -> Error {
    Error::message(
        "no runtime on this thread: start the operation inside lisle::run, or make a Runtime first",
    )
}

/// Starts an operation of a socket.
pub(crate) fn start<S: Shape>(op: Op, kind: Kind, socket: &Rc<Socket>) -> Promise<S::Value> {
    let submitted = with(|io| {
        let token = io.next_token();
        match io.engine.submit(token, op) {
            Submitted::Done(outcome) => Err(outcome),
            Submitted::Pending => {
                io.occupy(kind, Some(socket.clone()), OpState::Flying(None));
                Ok(token)
            }
        }
    });
    match submitted {
        Some(Ok(Token(token))) => {
            socket.started(kind);
            promise_of::<S>(token)
        }
        Some(Err(outcome)) => landed::<S>(outcome, kind, socket),
        None => rejected(no_runtime()),
    }
}

/// The promise of an outcome that is there at once. What must not be lost lies in the table until somebody
/// takes it: a promise that is dropped with bytes or a connection inside could not give them back.
pub(crate) fn landed<S: Shape>(outcome: Outcome, kind: Kind, socket: &Rc<Socket>) -> Promise<S::Value> {
    let mut outcome = Some(outcome);
    let token = with(|io| {
        let outcome = outcome.take_if(|_| matches!(kind, Kind::Read | Kind::Accept))?;
        let token = io.next_token();
        io.occupy(kind, Some(socket.clone()), OpState::Landed(outcome));
        Some(token)
    });
    match (token.flatten(), outcome) {
        (Some(Token(token)), _) => promise_of::<S>(token),
        (None, Some(outcome)) => settled(result_of::<S>(outcome)),
        (None, None) => rejected(no_runtime()),
    }
}

/// The promise of an operation that was released and is claimed again.
pub(crate) fn reclaim<S: Shape>(token: u64) -> Option<Promise<S::Value>> {
    with(|io| {
        let slot = io.slot(token)?;
        let stale = slot.flags & (CANCEL_ASKED | CANCEL_STALE) != 0;
        slot.flags = CLAIMED | if stale { CANCEL_STALE } else { 0 };
        Some(())
    })??;
    Some(promise_of::<S>(token))
}

/// A result has come for somebody who had gone, while another waits for its like on the same socket. That
/// one's operation is ended, not for its owner but for the table: the socket then fits the result to it.
#[cold]
pub(crate) fn nudge(socket: &Rc<Socket>, kind: Kind) {
    let waits = |slot: &Slot| {
        let same = slot.socket.as_ref().is_some_and(|other| Rc::ptr_eq(other, socket));
        same && slot.kind == kind && slot.flags & RELEASED == 0
    };
    let multi = with(|io| {
        let index = io.slots.iter().position(|slot| {
            let open = match &slot.state {
                OpState::Flying(_) => slot.flags & CANCEL_STALE == 0,
                OpState::Multi(multi) => !multi.ended,
                OpState::Landed(_) | OpState::Free => false,
            };
            open && waits(slot)
        })?;
        let slot = &mut io.slots[index];
        let token = u64::from(slot.generation) << 32 | index as u64;
        if matches!(slot.state, OpState::Multi(_)) {
            return Some(token);
        }
        slot.flags |= CLAIMED | CANCEL_STALE;
        io.engine.cancel(Token(token));
        None
    });
    let (Some(Some(token)), true) = (multi, kind == Kind::Accept) else { return };
    let Some(fd) = socket.kept_connection() else { return };
    let waiter = with(|io| match &mut io.slot(token)?.state {
        OpState::Multi(multi) => {
            multi.queue.push_back(Outcome::Accepted(fd));
            multi.waiter.take()
        }
        _ => None,
    });
    if let Some(waiter) = waiter.flatten() {
        waiter.wake();
    }
}

/// Asks the engine to end an operation, claimed or not.
pub(crate) fn cancel(token: u64) {
    with(|io| {
        if let Some(slot) = io.slot(token) {
            slot.flags |= CANCEL_ASKED;
            io.engine.cancel(Token(token));
        }
    });
}

fn promise_of<S: Shape>(token: u64) -> Promise<S::Value> {
    let source: &'static Ops<S> = const { &Ops(PhantomData) };
    leaf(source, token)
}

/// The table, for operations whose outcome has shape `S`.
struct Ops<S>(PhantomData<fn() -> S>);

impl<S: Shape> Source<S::Value> for Ops<S> {
    fn take(&self, token: u64) -> Option<Result<S::Value>> {
        let taken = with(|io| match io.slot(token) {
            None => Some(None),
            Some(Slot { state: OpState::Landed(_), .. }) => Some(io.vacate(token)),
            Some(_) => None,
        });
        match taken {
            None | Some(Some(None)) => Some(Err(Error::abandoned())),
            Some(Some(Some((_, _, OpState::Landed(outcome))))) => Some(result_of::<S>(outcome)),
            Some(_) => None,
        }
    }

    fn status(&self, token: u64) -> Status {
        with(|io| match io.slot(token).map(|slot| &slot.state) {
            Some(OpState::Landed(outcome)) => status_of::<S>(outcome),
            Some(_) => Status::Pending,
            None => Status::Rejected,
        })
        .unwrap_or(Status::Rejected)
    }

    fn watch(&self, token: u64, waiter: Waiter) {
        let old = with(|io| match io.slot(token).map(|slot| &mut slot.state) {
            Some(OpState::Flying(slot)) => slot.replace(waiter),
            _ => None,
        });
        drop(old);
    }

    fn unwatch(&self, token: u64) {
        let old = with(|io| match io.slot(token).map(|slot| &mut slot.state) {
            Some(OpState::Flying(slot)) => slot.take(),
            _ => None,
        });
        drop(old);
    }

    fn cancel(&self, token: u64) -> CancelReply {
        cancel(token);
        CancelReply::Later
    }

    fn release(&self, token: u64) {
        let released = with(|io| {
            let slot = io.slot(token)?;
            if let OpState::Flying(waiter) = &mut slot.state {
                let waiter = waiter.take();
                let claimed = slot.flags & CLAIMED != 0;
                slot.flags = slot.flags & !CLAIMED | RELEASED;
                return Some((slot.kind, slot.socket.clone(), OpState::Flying(waiter), claimed));
            }
            let (kind, socket, state) = io.vacate(token)?;
            Some((kind, socket, state, false))
        });
        match released.flatten() {
            Some((kind, Some(socket), OpState::Flying(waiter), claimed)) => {
                socket.released(kind, token, claimed);
                drop(waiter);
            }
            Some((kind, Some(socket), OpState::Landed(outcome), _)) => socket.keep(kind, token, outcome),
            _ => {}
        }
    }
}

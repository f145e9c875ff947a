//! Multishot operations: one submission, many results, and an owner who takes them one by one.
//!
//! ```text
//!   start_multi ──► queue ◄── results      stop: the engine is asked to end it; what came before stays
//!                     └──next──► promise   drop: as stop, but results not taken go to the socket
//! ```
//!
//! The slots are those of `io.rs`; this file is the owner's side of them.

use super::io::{self, Io, Kind, Multi, OpState, RELEASED, no_runtime, with};
use super::shape::{Shape, result_of, status_of};
use crate::net::socket::Socket;
use lisle_core::source::{CancelReply, Source, leaf};
use lisle_core::{Error, Promise, Result, Status, Waiter};
use lisle_engine::{Op, Outcome, Submitted, Token};
use std::marker::PhantomData;
use std::mem;
use std::rc::Rc;

/// A multishot operation and its owner. Dropping it cancels; results that come later go to the socket.
#[derive(Debug)]
pub(crate) struct Multishot<S: Shape> {
    token: u64,
    shape: PhantomData<fn() -> S>,
}

/// Starts a multishot operation of a socket.
pub(crate) fn start_multi<S: Shape>(op: Op, kind: Kind, socket: &Rc<Socket>) -> Result<Multishot<S>> {
    let token = with(|io| {
        let token = io.next_token();
        let mut multi = Multi::default();
        if let Submitted::Done(outcome) = io.engine.submit(token, op) {
            multi.queue.push_back(outcome);
            multi.ended = true;
        }
        io.occupy(kind, Some(socket.clone()), OpState::Multi(multi));
        token
    });
    let Token(token) = token.ok_or_else(no_runtime)?;
    Ok(Multishot { token, shape: PhantomData })
}

impl<S: Shape> Multishot<S> {
    /// The next result. One at a time.
    pub(crate) fn next(&self) -> Promise<S::Value> {
        let source: &'static MultiOps<S> = const { &MultiOps(PhantomData) };
        leaf(source, self.token)
    }

    /// Asks the engine to end the operation. Results that came before are still ours; the last one is
    /// `Canceled`.
    pub(crate) fn stop(&self) {
        io::cancel(self.token);
    }

    /// Whether the last result has been taken: `next` would be rejected with `Abandoned`.
    pub(crate) fn is_ended(&self) -> bool {
        with(|io| match io.slot(self.token).map(|slot| &slot.state) {
            Some(OpState::Multi(multi)) => multi.ended && multi.queue.is_empty(),
            _ => true,
        })
        .unwrap_or(true)
    }
}

impl<S: Shape> Drop for Multishot<S> {
    fn drop(&mut self) {
        let freed = with(|io| {
            let slot = io.slot(self.token)?;
            let OpState::Multi(multi) = &mut slot.state else { return None };
            let taken = (slot.kind, slot.socket.clone(), mem::take(&mut multi.queue), multi.waiter.take());
            if multi.ended {
                drop(io.vacate(self.token));
            } else {
                slot.flags |= RELEASED;
                io.engine.cancel(Token(self.token));
            }
            Some(taken)
        });
        let Some((kind, Some(socket), queue, waiter)) = freed.flatten() else { return };
        queue.into_iter().for_each(|outcome| socket.keep(kind, self.token, outcome));
        // A promise of `next` that outlives its operation is told that nothing will come.
        if let Some(waiter) = waiter {
            waiter.wake();
        }
    }
}

/// The table, for the results of multishot operations.
struct MultiOps<S>(PhantomData<fn() -> S>);

/// The results of an operation that has an owner.
fn multi_of(io: &mut Io, token: u64) -> Option<&mut Multi> {
    let slot = io.slot(token)?;
    match &mut slot.state {
        OpState::Multi(multi) if slot.flags & RELEASED == 0 => Some(multi),
        _ => None,
    }
}

impl<S: Shape> Source<S::Value> for MultiOps<S> {
    fn take(&self, token: u64) -> Option<Result<S::Value>> {
        let outcome = with(|io| {
            let Some(multi) = multi_of(io, token) else { return Some(None) };
            if mem::take(&mut multi.canceled) {
                return Some(Some(Outcome::Canceled { buf: None }));
            }
            match multi.queue.pop_front() {
                Some(outcome) => Some(Some(outcome)),
                None => multi.ended.then_some(None),
            }
        });
        match outcome.unwrap_or(Some(None))? {
            Some(outcome) => Some(result_of::<S>(outcome)),
            None => Some(Err(Error::abandoned())),
        }
    }

    fn status(&self, token: u64) -> Status {
        with(|io| match multi_of(io, token) {
            None => Status::Rejected,
            Some(multi) if multi.canceled => Status::Rejected,
            Some(multi) => match multi.queue.front() {
                Some(outcome) => status_of::<S>(outcome),
                None if multi.ended => Status::Rejected,
                None => Status::Pending,
            },
        })
        .unwrap_or(Status::Rejected)
    }

    fn watch(&self, token: u64, waiter: Waiter) {
        let old = with(|io| multi_of(io, token)?.waiter.replace(waiter));
        drop(old);
    }

    fn unwatch(&self, token: u64) {
        let old = with(|io| multi_of(io, token)?.waiter.take());
        drop(old);
    }

    fn cancel(&self, token: u64) -> CancelReply {
        let waiter = with(|io| {
            let multi = multi_of(io, token)?;
            if !multi.queue.is_empty() || multi.ended {
                return None;
            }
            multi.canceled = true;
            Some(multi.waiter.take())
        });
        waiter.flatten().map_or(CancelReply::Later, CancelReply::Settled)
    }

    fn release(&self, token: u64) {
        let old = with(|io| {
            let multi = multi_of(io, token)?;
            multi.canceled = false;
            multi.waiter.take()
        });
        drop(old);
    }
}

//! How the outcome of an operation becomes the value of a promise: one *shape* per kind of result.
//!
//! A shape is a type without values; the table of operations (`io.rs`) takes it as a parameter, so an
//! operation needs no closure and no box to turn `Outcome` into `Promise<T>`.

use lisle_core::{Error, Result, Status};
use lisle_engine::readiness::BEYOND_SELECT;
use lisle_engine::{Buf, Outcome};
use std::marker::PhantomData;
use std::os::fd::OwnedFd;

/// How an outcome becomes the value of a promise.
pub(crate) trait Shape: 'static {
    type Value: 'static;

    /// Whether `value` would give one.
    fn has_value(outcome: &Outcome) -> bool {
        !matches!(outcome, Outcome::Failed { .. } | Outcome::Canceled { .. })
    }

    /// The value; anything unexpected has been turned into an error before.
    fn value(outcome: Outcome) -> Option<Self::Value>;
}

/// [`Outcome::Done`].
pub(crate) struct Unit;

impl Shape for Unit {
    type Value = ();

    fn value(outcome: Outcome) -> Option<()> {
        matches!(outcome, Outcome::Done).then_some(())
    }
}

/// [`Outcome::Received`].
pub(crate) struct Received;

impl Shape for Received {
    type Value = Buf;

    fn value(outcome: Outcome) -> Option<Buf> {
        match outcome {
            Outcome::Received { buf } => Some(buf),
            _ => None,
        }
    }
}

/// [`Outcome::Sent`], all of it.
pub(crate) struct SentAll;

impl Shape for SentAll {
    type Value = Buf;

    fn has_value(outcome: &Outcome) -> bool {
        matches!(outcome, Outcome::Sent { sent, buf } if *sent == buf.len())
    }

    fn value(outcome: Outcome) -> Option<Buf> {
        match outcome {
            Outcome::Sent { sent, buf } if sent == buf.len() => Some(buf),
            _ => None,
        }
    }
}

/// [`Outcome::Accepted`], as whatever stream the listener makes of it. A shape and not a `map` on the
/// promise: a `map` whose promise is dropped would still take the connection, and close it.
pub(crate) struct Accepted<S>(PhantomData<fn() -> S>);

/// What a connection becomes.
pub(crate) trait FromConnection: 'static {
    fn from_connection(fd: OwnedFd) -> Self;
}

impl FromConnection for OwnedFd {
    fn from_connection(fd: OwnedFd) -> OwnedFd {
        fd
    }
}

impl<S: FromConnection> Shape for Accepted<S> {
    type Value = S;

    fn value(outcome: Outcome) -> Option<S> {
        match outcome {
            Outcome::Accepted(fd) => Some(S::from_connection(fd)),
            _ => None,
        }
    }
}

/// An outcome as the result of a promise.
pub(crate) fn result_of<S: Shape>(outcome: Outcome) -> Result<S::Value> {
    match outcome {
        Outcome::Failed { error: BEYOND_SELECT, .. } => Err(Error::message(
            "the select engine cannot watch descriptors from 1024 on: choose another, say LISLE_ENGINE=epoll",
        )),
        Outcome::Failed { error, .. } => Err(Error::os(error.raw_os_error())),
        // A write that was cancelled half-way counts as cancelled: the rest was not sent.
        other => S::value(other).ok_or_else(Error::canceled),
    }
}

/// The status of a promise with this outcome.
pub(crate) fn status_of<S: Shape>(outcome: &Outcome) -> Status {
    if S::has_value(outcome) { Status::Fulfilled } else { Status::Rejected }
}

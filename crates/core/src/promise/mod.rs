//! Promises: the handle, its three representations, and how one is made.
//!
//! ```text
//!   Promise ──┬─ Settled(result)   inline, no allocation: what `ready` makes and what `bind` on it returns
//!             ├─ Cell(rc, watch)   a cell of its own (`cell.rs`): resolvers, nodes, shared promises
//!             ├─ Leaf(table, n)    a token of somebody's table (`crate::source`): pause, timers, tasks, I/O
//!             └─ Taken             moved out by the consumer
//! ```
//!
//! A `Promise` is affine: it has one consumer, which it is moved into (`bind`, `.await`, …). It tells a waiter and the waiter
//! takes the value, so nothing is cloned. [`Shared`] is the same cell with several handles.
//!
//! The files: `cell.rs` states, `waiters.rs` lists, `step.rs` the node of bind, map, catch…, `observe.rs` callbacks without
//! a result, `gather.rs` join, both, all, `choose.rs` choose, pick, …, `cancel.rs` cancellation, `resolver.rs`, `shared.rs`,
//! `future.rs`.

pub(crate) mod cancel;
pub(crate) mod cell;
pub(crate) mod choose;
mod future;
pub(crate) mod gather;
mod observe;
mod resolver;
mod shared;
mod step;
pub(crate) mod waiters;

pub use cell::Status;
pub use resolver::{Resolver, cancelable, pair};
pub use shared::{Shared, State};

use crate::source::Leaf;
use crate::{Error, Result, hook};
use cell::{CancelLink, Plain, PromiseCell, Watch};
use std::fmt;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use waiters::Waiter;

/// A value that may come later: eager, typed, cancellable, composable.
///
/// The work behind a promise has begun when you hold it. Dropping it detaches: the work goes on, and if it fails and
/// nobody looks, [`crate::hook`] is told. A promise never leaves its thread:
///
/// ```compile_fail
/// fn needs_send<T: Send>(_: T) {}
/// needs_send(lisle_core::ready(1));
/// ```
///
/// ```
/// use lisle_core::{pair, ready};
/// let (promise, resolver) = pair::<u32>();
/// let doubled = promise.bind(|n| ready(n * 2));
/// resolver.resolve(21);
/// assert_eq!(doubled.try_take().unwrap().unwrap(), 42);
/// ```
#[must_use = "dropping a promise detaches its work; say so with `detach`"]
pub struct Promise<T: 'static> {
    pub(crate) repr: Repr<T>,
}

pub(crate) enum Repr<T: 'static> {
    Settled(Result<T>),
    Cell(Handle<T>),
    Leaf(Leaf<T>),
    Taken,
}

/// A consuming handle of a cell.
pub(crate) struct Handle<T: 'static> {
    pub(crate) cell: Rc<PromiseCell<T>>,
    pub(crate) watch: Watch,
}

impl<T: 'static> Handle<T> {
    pub(crate) fn new(cell: Rc<PromiseCell<T>>) -> Handle<T> {
        Handle { cell, watch: Watch::Nothing }
    }
}

impl<T: 'static> Drop for Handle<T> {
    fn drop(&mut self) {
        if self.watch != Watch::Nothing {
            cell::unwatch(&self.cell, self.watch);
        }
    }
}

/// A promise that is fulfilled already. Allocates nothing.
#[inline]
pub fn ready<T: 'static>(value: T) -> Promise<T> {
    settled(Ok(value))
}

/// A promise that is rejected already.
#[inline]
pub fn rejected<T: 'static>(error: impl Into<Error>) -> Promise<T> {
    settled(Err(error.into()))
}

/// A promise that is settled already.
#[inline]
pub fn settled<T: 'static>(result: Result<T>) -> Promise<T> {
    Promise { repr: Repr::Settled(result) }
}

/// What a callback of [`Promise::bind`] may return: a promise of either kind, or a result.
pub trait IntoPromise {
    /// The type of the promised value.
    type Value: 'static;

    /// Turns it into the promise it stands for.
    fn into_promise(self) -> Promise<Self::Value>;
}

impl<T: 'static> IntoPromise for Promise<T> {
    type Value = T;

    #[inline]
    fn into_promise(self) -> Promise<T> {
        self
    }
}

impl<T: 'static, E: Into<Error>> IntoPromise for Result<T, E> {
    type Value = T;

    #[inline]
    fn into_promise(self) -> Promise<T> {
        settled(self.map_err(Into::into))
    }
}

/// Runs a user's callback; a panic becomes the rejection `Panicked`.
#[inline]
pub(crate) fn call<R>(callback: impl FnOnce() -> R) -> Result<R> {
    catch_unwind(AssertUnwindSafe(callback)).map_err(|payload| Error::panicked(&*payload))
}

impl<T: 'static> Promise<T> {
    pub(crate) fn of_cell(cell: Rc<PromiseCell<T>>) -> Promise<T> {
        Promise { repr: Repr::Cell(Handle::new(cell)) }
    }

    /// Moves the representation out; what is left drops without effect.
    #[inline]
    pub(crate) fn into_repr(mut self) -> Repr<T> {
        mem::replace(&mut self.repr, Repr::Taken)
    }

    /// The result, if the promise is settled; else the promise itself.
    ///
    /// # Errors
    /// The promise, when it is pending.
    #[inline]
    pub fn try_take(self) -> std::result::Result<Result<T>, Promise<T>> {
        match self.into_repr() {
            Repr::Settled(result) => Ok(result),
            pending => Promise { repr: pending }.try_take_pending(),
        }
    }

    fn try_take_pending(mut self) -> std::result::Result<Result<T>, Promise<T>> {
        match self.take_in_place() {
            Some(result) => Ok(result),
            None => Err(self),
        }
    }

    /// The result, if the promise is settled; `self` is spent then.
    pub(crate) fn take_in_place(&mut self) -> Option<Result<T>> {
        let result = match &self.repr {
            Repr::Settled(_) => None,
            Repr::Cell(handle) => Some(cell::take(&handle.cell)?),
            Repr::Leaf(leaf) => Some(leaf.take()?),
            Repr::Taken => panic!("a promise was used after its value was taken"),
        };
        match (mem::replace(&mut self.repr, Repr::Taken), result) {
            (Repr::Settled(result), _) => Some(result),
            (Repr::Leaf(leaf), result) => {
                leaf.forget();
                result
            }
            (_, result) => result,
        }
    }

    /// The result of a promise that is known to be settled: called by waiters that were told.
    pub(crate) fn take_settled(mut self) -> Result<T> {
        self.take_in_place().unwrap_or_else(|| Err(Error::abandoned()))
    }

    /// How far the promise is.
    #[must_use]
    pub fn status(&self) -> Status {
        match &self.repr {
            Repr::Settled(Ok(_)) | Repr::Taken => Status::Fulfilled,
            Repr::Settled(Err(_)) => Status::Rejected,
            Repr::Cell(handle) => cell::follow(&handle.cell).status(),
            Repr::Leaf(leaf) => leaf.source.status(leaf.token),
        }
    }

    /// Whether the promise is not settled yet.
    #[must_use]
    pub fn is_pending(&self) -> bool {
        self.status() == Status::Pending
    }

    /// Registers whom to tell, in place of an earlier registration. The promise must be pending.
    pub(crate) fn watch(&mut self, waiter: Waiter) {
        match &mut self.repr {
            Repr::Cell(handle) => {
                if handle.watch != Watch::Nothing {
                    cell::unwatch(&handle.cell, handle.watch);
                }
                handle.watch = cell::watch(&handle.cell, waiter);
            }
            Repr::Leaf(leaf) => {
                leaf.source.watch(leaf.token, waiter);
                leaf.watched = true;
            }
            Repr::Settled(_) | Repr::Taken => unreachable!("only pending promises are watched"),
        }
    }

    /// The cell of this promise; one is made if it had none.
    pub(crate) fn into_cell(self) -> Rc<PromiseCell<T>> {
        match self.into_repr() {
            Repr::Settled(result) => PromiseCell::done(result),
            Repr::Taken => PromiseCell::done(Err(Error::abandoned())),
            Repr::Cell(mut handle) => {
                cell::unwatch(&handle.cell, mem::replace(&mut handle.watch, Watch::Nothing));
                handle.cell.clone()
            }
            Repr::Leaf(mut leaf) => match leaf.take() {
                Some(result) => {
                    leaf.forget();
                    PromiseCell::done(result)
                }
                None => {
                    leaf.source.unwatch(leaf.token);
                    leaf.watched = false;
                    step::cell_of_leaf(leaf)
                }
            },
        }
    }
}

/// A cell without work, for a resolver.
pub(crate) fn plain_cell<T: 'static>(cancel_link: CancelLink<T>) -> Rc<PromiseCell<T>> {
    PromiseCell::pending(cancel_link, Plain)
}

impl<T: 'static> Drop for Promise<T> {
    #[inline]
    fn drop(&mut self) {
        if let Repr::Settled(Err(error)) = &self.repr
            && !error.is_canceled()
        {
            hook::report(error.clone(), hook::FailureKind::Unobserved, None);
        }
    }
}

impl<T: 'static> From<Result<T>> for Promise<T> {
    fn from(result: Result<T>) -> Promise<T> {
        settled(result)
    }
}

impl<T: 'static> fmt::Debug for Promise<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Promise({:?})", self.status())
    }
}

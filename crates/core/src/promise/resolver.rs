//! The other end of a promise: whoever holds the [`Resolver`] settles it, once.
//!
//! Two flavours, as in Lwt. `resolve`, `reject`, `settle` *defer* when a resolution is in progress: the state
//! changes now, the callbacks run when the outermost resolution has run its own. The `_now` methods run the
//! callbacks before they return, at any depth. A second resolution does not compile, since resolving
//! consumes; a promise that was cancelled meanwhile ignores it. Dropping the resolver rejects with
//! `Abandoned`.

use super::cell::{self, CancelLink, PromiseCell, Status};
use super::{Promise, plain_cell};
use crate::{Error, Result, sched};
use std::fmt;
use std::rc::Rc;

/// Settles one promise.
///
/// ```compile_fail
/// let (promise, resolver) = lisle_core::pair::<u32>();
/// resolver.resolve(1);
/// resolver.resolve(2); // moved
/// ```
#[must_use = "dropping a resolver rejects its promise"]
pub struct Resolver<T: 'static> {
    /// Empty once resolved, so that the drop that follows does nothing.
    cell: Option<Rc<PromiseCell<T>>>,
}

/// A pending promise and its resolver. Cancelling it has no effect.
///
/// ```
/// let (promise, resolver) = lisle_core::pair();
/// resolver.resolve("done");
/// assert_eq!(promise.try_take().unwrap().unwrap(), "done");
/// ```
#[doc(alias = "wait")]
#[doc(alias = "oneshot")]
pub fn pair<T: 'static>() -> (Promise<T>, Resolver<T>) {
    with_link(CancelLink::Never)
}

/// A pending promise and its resolver. Cancelling rejects it with `Canceled`; the resolver is ignored then.
#[doc(alias = "task")]
pub fn cancelable<T: 'static>() -> (Promise<T>, Resolver<T>) {
    with_link(CancelLink::Itself)
}

fn with_link<T: 'static>(link: CancelLink) -> (Promise<T>, Resolver<T>) {
    let cell = plain_cell(link);
    (Promise::of_cell(cell.clone()), Resolver { cell: Some(cell) })
}

impl<T: 'static> Resolver<T> {
    /// Fulfils the promise. Its callbacks run before this returns, unless a resolution is in progress: then
    /// when that has run its own. So hold no borrow that they may want.
    #[doc(alias = "wakeup_later")]
    pub fn resolve(self, value: T) {
        self.settle(Ok(value));
    }

    /// Rejects the promise.
    #[doc(alias = "wakeup_later_exn")]
    pub fn reject(self, error: impl Into<Error>) {
        self.settle(Err(error.into()));
    }

    /// Settles the promise; its callbacks wait until no resolution is in progress.
    #[doc(alias = "wakeup_later_result")]
    pub fn settle(mut self, result: Result<T>) {
        if let Some(cell) = self.cell.take()
            && let Some(batch) = cell::settle(&cell, result)
        {
            sched::run_or_defer(batch);
        }
    }

    /// Fulfils the promise and runs its callbacks before returning.
    #[doc(alias = "wakeup")]
    pub fn resolve_now(self, value: T) {
        self.settle_now(Ok(value));
    }

    /// Rejects the promise and runs its callbacks before returning.
    #[doc(alias = "wakeup_exn")]
    pub fn reject_now(self, error: impl Into<Error>) {
        self.settle_now(Err(error.into()));
    }

    /// Settles the promise and runs its callbacks before returning.
    #[doc(alias = "wakeup_result")]
    pub fn settle_now(mut self, result: Result<T>) {
        if let Some(cell) = self.cell.take()
            && let Some(batch) = cell::settle(&cell, result)
        {
            sched::run_now(batch);
        }
    }

    /// Whether resolving would still have an effect (it has not after a cancel).
    #[must_use]
    pub fn is_pending(&self) -> bool {
        self.cell.as_ref().is_some_and(|cell| cell::follow(cell).status() == Status::Pending)
    }

    /// Whether somebody could still learn how the promise ends: it is pending, and there is a handle of it,
    /// or a callback. Whoever hands out something scarce asks first, and takes the next in line if not.
    ///
    /// ```
    /// let (promise, resolver) = lisle_core::pair::<u32>();
    /// assert!(resolver.is_wanted());
    /// drop(promise);
    /// assert!(!resolver.is_wanted());
    /// ```
    #[doc(alias = "is_closed")]
    #[must_use]
    pub fn is_wanted(&self) -> bool {
        self.cell.as_ref().is_some_and(|cell| self.is_pending() && cell::is_wanted(cell, 1))
    }
}

impl<T: 'static> Drop for Resolver<T> {
    fn drop(&mut self) {
        if let Some(cell) = self.cell.take()
            && let Some(batch) = cell::settle(&cell, Err(Error::abandoned()))
        {
            // Both ends were given up, as of the loser of a race: no failure that anybody could look at.
            if Rc::strong_count(&cell) == 1 {
                cell::forgive(&cell);
            }
            sched::run_or_defer(batch);
        }
    }
}

impl<T: 'static> fmt::Debug for Resolver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resolver").field("pending", &self.is_pending()).finish()
    }
}

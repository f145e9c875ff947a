//! A promise with several handles: Lwt's promise as it is.
//!
//! [`Shared`] is not a wrapper around a promise but the same cell, whose value is cloned for each consumer
//! instead of moved. So nothing is forwarded, and order of callbacks and cancellation are those of Lwt. Every
//! method of [`Promise`] is here by reference: each makes one more consuming handle of the cell and calls the
//! method on it.

use super::cell::{self, PromiseCell, Status};
use super::{Canceler, IntoPromise, Promise};
use crate::{Error, Result};
use std::fmt;
use std::future::IntoFuture;
use std::rc::Rc;

/// A cloneable handle of a promise whose value can be cloned.
///
/// ```
/// use lisle_core::pair;
/// let (promise, resolver) = pair();
/// let shared = promise.shared();
/// let (a, b) = (shared.map(|n: u32| n + 1), shared.map(|n| n + 2));
/// resolver.resolve(1);
/// assert_eq!((a.try_take().unwrap().unwrap(), b.try_take().unwrap().unwrap()), (2, 3));
/// ```
pub struct Shared<T: 'static> {
    cell: Rc<PromiseCell<T>>,
}

/// What a [`Shared`] holds at a moment.
#[derive(Debug, Clone)]
pub enum State<T> {
    /// Not settled yet.
    Pending,
    /// Settled with this value.
    Fulfilled(T),
    /// Settled with this error.
    Rejected(Error),
}

impl<T: Clone + 'static> Promise<T> {
    /// Lets several consumers wait for this promise; each gets a clone of the value.
    pub fn shared(self) -> Shared<T> {
        let cell = self.into_cell();
        cell::share(&cell, T::clone);
        Shared { cell }
    }
}

impl<T: Clone + 'static> Shared<T> {
    /// One consuming handle of the same promise.
    pub fn promise(&self) -> Promise<T> {
        Promise::of_cell(self.cell.clone())
    }

    /// What the promise holds now.
    #[must_use]
    pub fn state(&self) -> State<T> {
        match cell::take(&self.cell) {
            None => State::Pending,
            Some(Ok(value)) => State::Fulfilled(value),
            Some(Err(error)) => State::Rejected(error),
        }
    }

    /// See [`Promise::bind`].
    #[doc(alias = "and_then")]
    pub fn bind<P: IntoPromise>(&self, f: impl FnOnce(T) -> P + 'static) -> Promise<P::Value> {
        self.promise().bind(f)
    }

    /// See [`Promise::map`].
    pub fn map<U: 'static>(&self, f: impl FnOnce(T) -> U + 'static) -> Promise<U> {
        self.promise().map(f)
    }

    /// See [`Promise::try_map`].
    pub fn try_map<U: 'static, E: Into<Error>>(
        &self,
        f: impl FnOnce(T) -> Result<U, E> + 'static,
    ) -> Promise<U> {
        self.promise().try_map(f)
    }

    /// See [`Promise::catch`].
    #[doc(alias = "or_else")]
    pub fn catch<P: IntoPromise<Value = T>>(&self, handler: impl FnOnce(Error) -> P + 'static) -> Promise<T> {
        self.promise().catch(handler)
    }

    /// See [`Promise::try_bind`].
    pub fn try_bind<P, Q>(
        &self,
        f: impl FnOnce(T) -> P + 'static,
        handler: impl FnOnce(Error) -> Q + 'static,
    ) -> Promise<P::Value>
    where
        P: IntoPromise,
        Q: IntoPromise<Value = P::Value>,
    {
        self.promise().try_bind(f, handler)
    }

    /// See [`Promise::then`].
    pub fn then<P: IntoPromise>(&self, f: impl FnOnce(Result<T>) -> P + 'static) -> Promise<P::Value> {
        self.promise().then(f)
    }

    /// See [`Promise::finalize`].
    #[doc(alias = "finally")]
    pub fn finalize<P: IntoPromise<Value = ()>>(&self, cleanup: impl FnOnce() -> P + 'static) -> Promise<T> {
        self.promise().finalize(cleanup)
    }

    /// See [`Promise::on_success`]. An error is left to the other handles, and unobserved if there are none.
    pub fn on_success(&self, f: impl FnOnce(T) + 'static) {
        super::observe::observe_success(&self.cell, f);
    }

    /// See [`Promise::on_any`].
    pub fn on_any(&self, f: impl FnOnce(T) + 'static, g: impl FnOnce(Error) + 'static) {
        self.promise().on_any(f, g);
    }

    /// See [`Promise::on_failure`].
    pub fn on_failure(&self, f: impl FnOnce(Error) + 'static) {
        drop(self.promise().on_failure(f));
    }

    /// See [`Promise::on_termination`].
    pub fn on_termination(&self, f: impl FnOnce() + 'static) {
        drop(self.promise().on_termination(f));
    }

    /// See [`Promise::on_cancel`].
    pub fn on_cancel(&self, f: impl FnOnce() + 'static) {
        drop(self.promise().on_cancel(f));
    }

    /// See [`Promise::cancel`].
    #[doc(alias = "abort")]
    pub fn cancel(&self) {
        self.promise().cancel();
    }

    /// See [`Promise::canceler`].
    #[doc(alias = "abortable")]
    #[must_use]
    pub fn canceler(&self) -> Canceler {
        self.promise().canceler().1
    }

    /// See [`Promise::protected`].
    pub fn protected(&self) -> Promise<T> {
        self.promise().protected()
    }

    /// See [`Promise::no_cancel`].
    pub fn no_cancel(&self) -> Promise<T> {
        self.promise().no_cancel()
    }

    /// See [`Promise::wrap_in_cancelable`].
    pub fn wrap_in_cancelable(&self) -> Promise<T> {
        self.promise().wrap_in_cancelable()
    }

    /// See [`Promise::detach`].
    #[track_caller]
    pub fn detach(&self) {
        self.promise().detach();
    }

    /// See [`Promise::detach_with`].
    pub fn detach_with(&self, handler: impl FnOnce(Error) + 'static) {
        self.promise().detach_with(handler);
    }
}

impl<T: 'static> Shared<T> {
    /// How far the promise is.
    #[must_use]
    pub fn status(&self) -> Status {
        cell::follow(&self.cell).status()
    }

    /// Whether the promise is not settled yet.
    #[must_use]
    pub fn is_pending(&self) -> bool {
        self.status() == Status::Pending
    }
}

impl<T: 'static> Clone for Shared<T> {
    fn clone(&self) -> Shared<T> {
        Shared { cell: self.cell.clone() }
    }
}

impl<T: Clone + 'static> IntoPromise for Shared<T> {
    type Value = T;

    fn into_promise(self) -> Promise<T> {
        self.promise()
    }
}

impl<T: Clone + 'static> IntoFuture for Shared<T> {
    type Output = Result<T>;
    type IntoFuture = Promise<T>;

    fn into_future(self) -> Promise<T> {
        self.promise()
    }
}

impl<T: 'static> fmt::Debug for Shared<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Shared({:?})", self.status())
    }
}

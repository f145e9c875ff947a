//! Promises of a `Result`: errors of a type of the user's, as values.
//!
//! ```text
//!   Promise<Result<A, X>> ─┬─ fulfilled, Ok(A)     the good value
//!                          ├─ fulfilled, Err(X)    the failure that the type speaks of
//!                          └─ rejected, Error      anything else: cancelled, a panic, the machine
//! ```
//!
//! [`Error`] can be in any promise, so it cannot be matched by type without a downcast; who wants that lets
//! failures travel as values. The methods here work on one of the two sides and pass the other one, and
//! every rejection, through. All of them are a `bind` or a `map`: on a settled promise they run at once and
//! allocate nothing, cancelling and panics are those of `bind`.
//!
//! Not here, since Rust has them: `ready(Ok(value))` and `ready(Err(failure))`, `promise.map(Ok::<_, X>)` and
//! `promise.map(Err::<A, _>)` to lift a promise into one side, and `?` in `async` code.

use crate::{Error, IntoPromise, Promise, Result, both, ready, settled};
use std::cell::Cell;
use std::rc::Rc;

type Outcome<A, X> = std::result::Result<A, X>;

impl<A: 'static, X: 'static> Promise<Outcome<A, X>> {
    /// Changes the good value.
    ///
    /// ```
    /// let one_more = lisle_core::ready(Ok::<_, char>(1)).map_ok(|n| n + 1);
    /// assert_eq!(one_more.try_take().unwrap().unwrap(), Ok(2));
    /// ```
    #[inline]
    pub fn map_ok<B: 'static>(self, f: impl FnOnce(A) -> B + 'static) -> Promise<Outcome<B, X>> {
        self.map(|outcome| outcome.map(f))
    }

    /// Changes the failure.
    ///
    /// ```
    /// let longer = lisle_core::ready(Err::<u32, _>("no")).map_err(|word| word.len());
    /// assert_eq!(longer.try_take().unwrap().unwrap(), Err(2));
    /// ```
    #[doc(alias = "map_error")]
    #[inline]
    pub fn map_err<Y: 'static>(self, f: impl FnOnce(X) -> Y + 'static) -> Promise<Outcome<A, Y>> {
        self.map(|outcome| outcome.map_err(f))
    }

    /// Goes on with the good value, by a function that may fail.
    ///
    /// ```
    /// let parsed = lisle_core::ready(Ok("7")).try_map_ok(|text| text.parse::<u32>());
    /// assert_eq!(parsed.try_take().unwrap().unwrap(), Ok(7));
    /// ```
    #[doc(alias = "bind_result")]
    #[doc(alias = "and_then")]
    #[inline]
    pub fn try_map_ok<B: 'static>(
        self,
        f: impl FnOnce(A) -> Outcome<B, X> + 'static,
    ) -> Promise<Outcome<B, X>> {
        self.map(|outcome| outcome.and_then(f))
    }

    /// Goes on with the good value, by a function that promises the next outcome.
    ///
    /// ```
    /// use lisle_core::{Promise, ready};
    /// fn half(n: u32) -> Promise<Result<u32, String>> {
    ///     ready(if n % 2 == 0 { Ok(n / 2) } else { Err(format!("{n} is odd")) })
    /// }
    /// let quarter = half(6).bind_ok(half);
    /// assert_eq!(quarter.try_take().unwrap().unwrap(), Err("3 is odd".to_owned()));
    /// ```
    #[doc(alias = "and_then")]
    #[inline]
    pub fn bind_ok<B, P>(self, f: impl FnOnce(A) -> P + 'static) -> Promise<Outcome<B, X>>
    where
        B: 'static,
        P: IntoPromise<Value = Outcome<B, X>>,
    {
        self.bind(|outcome| match outcome {
            Ok(value) => f(value).into_promise(),
            Err(failure) => ready(Err(failure)),
        })
    }

    /// Goes on with the failure, by a function that promises the next outcome: to recover, or to fail in
    /// another way.
    ///
    /// ```
    /// use lisle_core::ready;
    /// let healed = ready(Err::<u32, _>("lost")).bind_err(|_| ready(Ok::<_, char>(0)));
    /// assert_eq!(healed.try_take().unwrap().unwrap(), Ok(0));
    /// ```
    #[doc(alias = "bind_error")]
    #[doc(alias = "or_else")]
    #[inline]
    pub fn bind_err<Y, P>(self, f: impl FnOnce(X) -> P + 'static) -> Promise<Outcome<A, Y>>
    where
        Y: 'static,
        P: IntoPromise<Value = Outcome<A, Y>>,
    {
        self.bind(|outcome| match outcome {
            Ok(value) => ready(Ok(value)),
            Err(failure) => f(failure).into_promise(),
        })
    }

    /// Goes on with the good value, by a function whose promise knows nothing of failures: what it promises
    /// is the good value.
    ///
    /// ```
    /// use lisle_core::{pause, ready};
    /// let later = ready(Ok::<_, char>(1)).map_ok_promise(|n| pause().map(move |()| n + 1));
    /// lisle_core::wake_paused();
    /// assert_eq!(later.try_take().unwrap().unwrap(), Ok(2));
    /// ```
    #[doc(alias = "bind_lwt")]
    #[inline]
    pub fn map_ok_promise<P: IntoPromise>(
        self,
        f: impl FnOnce(A) -> P + 'static,
    ) -> Promise<Outcome<P::Value, X>> {
        self.bind(|outcome| match outcome {
            Ok(value) => f(value).into_promise().map(Ok),
            Err(failure) => ready(Err(failure)),
        })
    }

    /// Goes on with the failure, by a function whose promise is of the next failure.
    #[doc(alias = "bind_lwt_error")]
    #[doc(alias = "bind_lwt_err")]
    #[inline]
    pub fn map_err_promise<P: IntoPromise>(
        self,
        f: impl FnOnce(X) -> P + 'static,
    ) -> Promise<Outcome<A, P::Value>> {
        self.bind(|outcome| match outcome {
            Ok(value) => ready(Ok(value)),
            Err(failure) => f(failure).into_promise().map(Err),
        })
    }

    /// Does something with the good value; nothing on a failure, which is dropped.
    #[doc(alias = "iter")]
    #[doc(alias = "inspect_ok")]
    pub fn iter_ok<P: IntoPromise<Value = ()>>(self, f: impl FnOnce(A) -> P + 'static) -> Promise<()> {
        self.bind(|outcome| match outcome {
            Ok(value) => f(value).into_promise(),
            Err(_) => ready(()),
        })
    }

    /// Does something with the failure; nothing on a good value, which is dropped.
    #[doc(alias = "iter_error")]
    #[doc(alias = "inspect_err")]
    pub fn iter_err<P: IntoPromise<Value = ()>>(self, f: impl FnOnce(X) -> P + 'static) -> Promise<()> {
        self.bind(|outcome| match outcome {
            Ok(_) => ready(()),
            Err(failure) => f(failure).into_promise(),
        })
    }

    /// The good value; a failure becomes the rejection.
    ///
    /// ```
    /// let number = lisle_core::ready("x".parse::<u32>()).flatten();
    /// let error = number.try_take().unwrap().unwrap_err();
    /// assert!(error.downcast_ref::<std::num::ParseIntError>().is_some());
    /// ```
    #[doc(alias = "get_exn")]
    #[inline]
    pub fn flatten(self) -> Promise<A>
    where
        X: Into<Error>,
    {
        self.bind(|outcome| outcome)
    }
}

impl<A: 'static> Promise<A> {
    /// The outcome as a value: a rejection, also a cancellation, is caught and becomes `Err`.
    ///
    /// ```
    /// use lisle_core::{Error, Promise, rejected};
    /// let lost: Promise<u32> = rejected(Error::message("lost"));
    /// assert_eq!(lost.caught().try_take().unwrap().unwrap().unwrap_err().to_string(), "lost");
    /// ```
    #[doc(alias = "catch_unwind")]
    #[doc(alias = "into_result")]
    #[inline]
    pub fn caught(self) -> Promise<Result<A>> {
        self.then(|result| settled(Ok(result)))
    }
}

/// Which of two promises failed first.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Left,
    Right,
}

/// Waits for two promises, also after a failure, and promises both good values.
///
/// If both fail, the failure that came first in time counts, whichever side it is on; among two that are
/// there already it is the left one. A rejection of either counts more than any failure. Cancelling reaches
/// both.
///
/// ```
/// use lisle_core::{both_ok, ready};
/// let pair = both_ok(ready(Ok::<_, char>(1)), ready(Ok("a")));
/// assert_eq!(pair.try_take().unwrap().unwrap(), Ok((1, "a")));
/// ```
#[doc(alias = "try_join")]
#[doc(alias = "zip")]
pub fn both_ok<A: 'static, B: 'static, X: 'static>(
    left: Promise<Outcome<A, X>>,
    right: Promise<Outcome<B, X>>,
) -> Promise<Outcome<(A, B), X>> {
    let first = Rc::new(Cell::new(None));
    let both = both(noting(left, Side::Left, &first), noting(right, Side::Right, &first));
    both.map(move |outcomes| match outcomes {
        (Ok(left), Ok(right)) => Ok((left, right)),
        (Err(failure), Ok(_)) | (Ok(_), Err(failure)) => Err(failure),
        (Err(left), Err(right)) => Err(if first.get() == Some(Side::Right) { right } else { left }),
    })
}

/// The same promise, which writes down its side if it is the first to fail.
fn noting<A: 'static, X: 'static>(
    promise: Promise<Outcome<A, X>>,
    side: Side,
    first: &Rc<Cell<Option<Side>>>,
) -> Promise<Outcome<A, X>> {
    let first = first.clone();
    promise.map_err(move |failure| {
        first.set(first.get().or(Some(side)));
        failure
    })
}

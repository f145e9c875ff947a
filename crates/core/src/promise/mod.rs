//! Promises: the handle, its three representations, and how one is made.
//!
//! ```text
//!   Promise ──┬─ Value │ Failed    inline, no allocation: what `ready` makes and what `bind` on it returns
//!             ├─ Cell(rc, watch)   a cell of its own (`cell.rs`): resolvers, nodes, shared promises
//!             ├─ Leaf(table, n)    a token of somebody's table (`crate::source`): pause, timers, tasks, I/O
//!             └─ Taken             moved out by the consumer
//! ```
//!
//! A `Promise` is affine: it has one consumer, which it is moved into (`bind`, `.await`, …). It tells a
//! waiter and the waiter takes the value, so nothing is cloned. [`Shared`] is the same cell with several
//! handles.
//!
//! The files: `cell.rs` states, `waiters.rs` lists, `batch.rs` who is told next, `step.rs` the node of bind,
//! map, catch…, `spare.rs` its allocation's next life, `observe.rs` callbacks without a result, `gather.rs`
//! join, both, all, `choose.rs` choose, pick, …, `cancel.rs` cancellation, `resolver.rs`, `shared.rs`,
//! `future.rs`, `probe.rs` who still looks.

pub(crate) mod batch;
pub(crate) mod cancel;
pub(crate) mod cell;
pub(crate) mod choose;
mod future;
pub(crate) mod gather;
mod observe;
pub(crate) mod probe;
mod resolver;
mod shared;
mod spare;
mod step;
pub(crate) mod waiters;

pub use cancel::Canceler;
pub use cell::Status;
pub use resolver::{Resolver, cancelable, pair};
pub use shared::{Shared, State};

use crate::source::{Leaf, Watched};
use crate::{Error, Result, hook};
use cell::{CancelLink, Plain, PromiseCell, Watch};
pub(crate) use observe::run_callback;
use std::any::Any;
use std::fmt;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use waiters::Waiter;

/// A value that may come later: eager, typed, cancellable, composable.
///
/// The work behind a promise has begun when you hold it. Dropping it detaches: the work goes on, and if it
/// fails and nobody looks, [`crate::hook`] is told. A promise never leaves its thread:
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
///
/// # Names of Lwt's
/// Most are the same here, as methods where there is a promise to call them on. The others:
///
/// | Lwt | here |
/// |---|---|
/// | `wait`, `task` | [`crate::pair`], [`crate::cancelable`] |
/// | `wakeup_later`, `_exn`, `_result` | [`Resolver::resolve`], [`Resolver::reject`], [`Resolver::settle`] |
/// | `wakeup`, `_exn`, `_result` | [`Resolver::resolve_now`], [`Resolver::reject_now`], [`Resolver::settle_now`] |
/// | `return`, `return_unit`, `return_some`, … | [`ready`] of the value, which allocates nothing |
/// | `fail`, `fail_with`, `of_result`, `wrap` | [`rejected`], [`settled`] |
/// | `state`, `is_sleeping`, `poll` | [`Promise::status`], [`Promise::is_pending`], [`Promise::try_take`] |
/// | `async`, `dont_wait` | [`Promise::detach`], [`Promise::detach_with`] |
/// | `async_exception_hook` | [`crate::hook`], one for each thread |
/// | `new_key`, `get`, `with_value` | [`crate::storage::Key`] |
/// | `wakeup_paused`, `paused_count` | [`crate::wake_paused`], [`crate::sched::pause::paused_count`] |
/// | `register_pause_notifier` | none: a loop asks [`crate::sched::has_work`] before it sleeps |
/// | `abandon_paused`, `abandon_wakeups` | [`crate::sched::reset`], after which those who waited are told |
/// | a promise used twice | [`Promise::shared`]; to cancel what was given away, [`Promise::canceler`] |
/// | `reraise`, `backtrace_bind`, … | `?`; nothing escapes from an operation, so there is nothing to catch around it |
/// | `Exception_filter` | none: a panic in a callback rejects, whatever it was |
/// | `add_task_r`, `add_task_l` | none: queues of waiters are inside of what has them |
#[must_use = "dropping a promise detaches its work; say so with `detach`"]
pub struct Promise<T: 'static> {
    pub(crate) repr: Repr<T>,
}

pub(crate) enum Repr<T: 'static> {
    Value(T),
    Failed(Unread),
    Cell(Handle<T>),
    Leaf(Leaf<T>),
    Taken,
}

/// The error of a settled promise, which tells the hook if it is dropped before anybody took it.
///
/// `Promise` itself has no destructor, so that its value can be moved out field by field: with one, the
/// optimiser moves all its words through memory, and a bind on a settled promise costs 14 ns instead of 0.5.
pub(crate) struct Unread(Option<Error>);

impl Unread {
    #[inline]
    pub(crate) fn new(error: Error) -> Unread {
        Unread(Some(error))
    }

    #[inline]
    pub(crate) fn read(mut self) -> Error {
        self.0.take().unwrap_or_else(Error::abandoned)
    }
}

impl Drop for Unread {
    #[inline]
    fn drop(&mut self) {
        if let Some(error) = self.0.take() {
            report_unobserved(error);
        }
    }
}

#[cold]
#[inline(never)]
fn report_unobserved(error: Error) {
    if !error.is_canceled() {
        hook::report(error, hook::FailureKind::Unobserved, None);
    }
}

/// A consuming handle of a cell.
pub(crate) struct Handle<T: 'static> {
    pub(crate) cell: Rc<PromiseCell<T>>,
    pub(crate) watch: Watch,
}

impl<T: 'static> Handle<T> {
    pub(crate) fn new(cell: Rc<PromiseCell<T>>) -> Handle<T> {
        Handle { cell, watch: Watch::NOTHING }
    }

    /// Takes the registration of this handle back.
    #[inline]
    pub(crate) fn unwatch(&mut self) {
        if self.watch != Watch::NOTHING {
            drop(cell::unwatch(&self.cell, mem::replace(&mut self.watch, Watch::NOTHING)));
        }
    }
}

impl<T: 'static> Drop for Handle<T> {
    #[inline]
    fn drop(&mut self) {
        self.unwatch();
    }
}

/// A promise that is fulfilled already. Allocates nothing.
///
/// ```
/// assert_eq!(lisle_core::ready("foo").try_take().unwrap().unwrap(), "foo");
/// ```
#[doc(alias = "return")]
#[doc(alias = "return_unit")]
#[inline]
pub fn ready<T: 'static>(value: T) -> Promise<T> {
    Promise { repr: Repr::Value(value) }
}

/// A promise that is rejected already.
///
/// ```
/// let lost = lisle_core::rejected::<u32>(lisle_core::Error::message("lost"));
/// assert_eq!(lost.try_take().unwrap().unwrap_err().to_string(), "lost");
/// ```
#[doc(alias = "fail")]
#[doc(alias = "fail_with")]
#[inline]
pub fn rejected<T: 'static>(error: impl Into<Error>) -> Promise<T> {
    Promise { repr: Repr::Failed(Unread::new(error.into())) }
}

/// A promise that is settled already.
///
/// ```
/// assert!(lisle_core::settled("x".parse::<u32>().map_err(Into::into)).try_take().unwrap().is_err());
/// ```
#[doc(alias = "of_result")]
#[doc(alias = "wrap")]
#[inline]
pub fn settled<T: 'static>(result: Result<T>) -> Promise<T> {
    match result {
        Ok(value) => ready(value),
        Err(error) => rejected(error),
    }
}

/// What a callback of [`Promise::bind`] may return: a promise of either kind, or a result.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a promise",
    label = "neither a `Promise`, nor a `Shared` one, nor a `Result`",
    note = "a future becomes one as a task: `spawn(future)`, or `try_spawn(future)` if it ends with a `Result`",
    note = "a plain value becomes one by `ready(value)`; a callback that returns one belongs in `map`"
)]
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
    catch_unwind(AssertUnwindSafe(callback)).map_err(caught)
}

/// What a caught panic becomes. A payload that panics when it is dropped has its second payload leaked:
/// dropping that could go on for ever.
#[cold]
fn caught(payload: Box<dyn Any + Send>) -> Error {
    let error = Error::panicked(&*payload);
    if let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        mem::forget(second);
    }
    error
}

impl<T: 'static> Promise<T> {
    pub(crate) fn of_cell(cell: Rc<PromiseCell<T>>) -> Promise<T> {
        Promise { repr: Repr::Cell(Handle::new(cell)) }
    }

    /// The result, if the promise is settled; else the promise itself.
    ///
    /// # Errors
    /// The promise, when it is pending.
    #[doc(alias = "poll")]
    #[inline]
    pub fn try_take(self) -> std::result::Result<Result<T>, Promise<T>> {
        match self.repr {
            Repr::Value(value) => Ok(Ok(value)),
            Repr::Failed(error) => Ok(Err(error.read())),
            repr => Promise { repr }.try_take_pending(),
        }
    }

    #[inline(never)]
    fn try_take_pending(mut self) -> std::result::Result<Result<T>, Promise<T>> {
        match self.take_in_place() {
            Some(result) => Ok(result),
            None => Err(self),
        }
    }

    /// The result, if the promise is settled; `self` is spent then.
    #[inline(always)]
    pub(crate) fn take_in_place(&mut self) -> Option<Result<T>> {
        let result = match &self.repr {
            Repr::Cell(handle) => cell::take(&handle.cell),
            Repr::Leaf(leaf) => leaf.take(),
            Repr::Value(_) | Repr::Failed(_) => return Some(self.take_inline()),
            Repr::Taken => spent(),
        };
        if result.is_some() {
            self.spend();
        }
        result
    }

    /// The result has been taken: a leaf's token is gone and must not be released.
    fn spend(&mut self) {
        if let Repr::Leaf(leaf) = mem::replace(&mut self.repr, Repr::Taken) {
            leaf.forget();
        }
    }

    #[inline(always)]
    pub(crate) fn take_inline(&mut self) -> Result<T> {
        match mem::replace(&mut self.repr, Repr::Taken) {
            Repr::Value(value) => Ok(value),
            Repr::Failed(error) => Err(error.read()),
            _ => unreachable!("only called on an inline result"),
        }
    }

    /// The result of a promise that is known to be settled: called by waiters that were told.
    #[inline(always)]
    pub(crate) fn take_settled(mut self) -> Result<T> {
        if let Repr::Leaf(leaf) = self.repr {
            return match leaf.take() {
                Some(result) => {
                    leaf.forget();
                    result
                }
                None => Err(Error::abandoned()),
            };
        }
        self.take_in_place().unwrap_or_else(|| Err(Error::abandoned()))
    }

    /// How far the promise is.
    #[doc(alias = "state")]
    #[must_use]
    pub fn status(&self) -> Status {
        match &self.repr {
            Repr::Value(_) | Repr::Taken => Status::Fulfilled,
            Repr::Failed(_) => Status::Rejected,
            Repr::Cell(handle) => cell::follow(&handle.cell).status(),
            Repr::Leaf(leaf) => leaf.source.status(leaf.token),
        }
    }

    /// Whether the promise is not settled yet.
    #[doc(alias = "is_sleeping")]
    #[must_use]
    pub fn is_pending(&self) -> bool {
        self.status() == Status::Pending
    }

    /// Registers whom to tell, in place of an earlier registration, which is returned: dropping it may run
    /// anything, also what settles this promise, so a node does so when it is complete. The promise must be
    /// pending.
    #[must_use]
    pub(crate) fn watch(&mut self, waiter: Waiter) -> Option<Waiter> {
        match &mut self.repr {
            Repr::Cell(handle) => {
                let old = match handle.watch {
                    Watch::NOTHING => None,
                    registered => cell::unwatch(&handle.cell, registered),
                };
                let (watch, replaced) = cell::watch(&handle.cell, waiter);
                handle.watch = watch;
                old.or(replaced)
            }
            Repr::Leaf(leaf) => {
                leaf.source.watch(leaf.token, waiter);
                leaf.watched = Watched::Yes;
                None
            }
            Repr::Value(_) | Repr::Failed(_) | Repr::Taken => {
                unreachable!("only pending promises are watched")
            }
        }
    }

    /// Takes the registration of whom to tell back. He is dropped here, which may run anything (a waker of
    /// another executor) and settle this promise: whoever is going to `watch` it and is not ready to be told
    /// before that returns calls this first, and then looks.
    pub(crate) fn unwatch(&mut self) {
        match &mut self.repr {
            Repr::Cell(handle) => handle.unwatch(),
            Repr::Leaf(leaf) => leaf.unwatch(),
            Repr::Value(_) | Repr::Failed(_) | Repr::Taken => {}
        }
    }

    /// The cell of this promise; one is made if it had none.
    pub(crate) fn into_cell(self) -> Rc<PromiseCell<T>> {
        match self.repr {
            Repr::Value(value) => PromiseCell::done(Ok(value)),
            Repr::Failed(error) => PromiseCell::done(Err(error.read())),
            Repr::Taken => PromiseCell::done(Err(Error::abandoned())),
            Repr::Cell(mut handle) => {
                handle.unwatch();
                handle.cell.clone()
            }
            Repr::Leaf(mut leaf) => {
                leaf.unwatch();
                match leaf.take() {
                    Some(result) => {
                        leaf.forget();
                        PromiseCell::done(result)
                    }
                    None => step::cell_of_leaf(leaf),
                }
            }
        }
    }
}

/// A cell without work, for a resolver.
pub(crate) fn plain_cell<T: 'static>(cancel_link: CancelLink) -> Rc<PromiseCell<T>> {
    PromiseCell::pending(cancel_link, Plain)
}

#[cold]
#[inline(never)]
fn spent() -> ! {
    panic!("a promise was used after its value was taken")
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

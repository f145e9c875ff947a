//! A pool: elements that are costly to make, made on demand, lent to one user at a time, kept for the next.
//!
//! ```text
//!            ┌──────────────── idle, oldest first ◄──────────────┐
//!            ▼ validate: false │ error                           │ kept
//!   use ── element ────► dispose ◄──── not kept, or cleared ── given back ◄── body ends
//!    │       ▲              └──► its slot is free: an element is made for the oldest who waits
//!    │       │ factory
//!    ├─ a slot is free ─┘        `count` slots are taken: by what is made, lent, idle, or being disposed of
//!    └─ none ──► in the queue ◄── given back: to the oldest
//! ```
//!
//! No slot becomes free without the oldest who waits being given it (Lwt forgets him where the factory fails,
//! or an element is disposed of after a `clear` or a failed use); and whoever is served counts, so there are
//! never more than `max` elements (Lwt forgets that for replacements).
//!
//! The files: `loan.rs` an element that somebody has. Not here: the queue.

mod loan;

use super::queue::{Home, Queue, stand_in_line};
use crate::promise::{call, run_callback};
use crate::{Error, IntoPromise, Promise, Resolver, Result, pause, ready, rejected};
use loan::Loan;
pub use loan::Pooled;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::fmt;
use std::mem;
use std::rc::Rc;

/// Elements made on demand and lent to one user at a time.
///
/// A `Pool` is a handle: a clone is the same pool. When the last one is dropped and nothing is lent any more,
/// the idle elements are disposed of.
///
/// ```
/// use lisle_core::sync::Pool;
/// use lisle_core::{Error, ready};
/// let buffers = Pool::new(1, || Ok::<_, Error>(Vec::with_capacity(64)));
/// let first = buffers.use_with(|mut buffer| {
///     buffer.push(7u8);
///     ready(buffer.len())
/// });
/// assert_eq!(first.try_take().unwrap().unwrap(), 1);
/// let again = buffers.acquire().try_take().unwrap().unwrap();
/// assert_eq!(again[0], 7); // the same element
/// ```
pub struct Pool<T: 'static> {
    inner: Rc<Inner<T>>,
}

type Validate<T> = Box<dyn Fn(Pooled<T>) -> Promise<bool>>;
type Check<T> = Box<dyn Fn(&mut T) -> bool>;
type Dispose<T> = Box<dyn Fn(T) -> Promise<()>>;

struct Inner<T: 'static> {
    max: usize,
    factory: Box<dyn Fn() -> Promise<T>>,
    validate: Option<Validate<T>>,
    check: Option<Check<T>>,
    dispose: Option<Dispose<T>>,
    /// Slots taken.
    count: Cell<usize>,
    /// See `serve`; none if nobody was served in this lap.
    round: Cell<Option<u64>>,
    /// How often the pool was cleared: an element lent before that is not kept.
    clears: Cell<u64>,
    idle: RefCell<VecDeque<T>>,
    waiters: RefCell<Queue<Resolver<T>>>,
}

impl<T: 'static> Home<Resolver<T>> for Inner<T> {
    fn queue(&self) -> &RefCell<Queue<Resolver<T>>> {
        &self.waiters
    }
}

/// What a [`Pool`] does beside making elements; made by [`Pool::builder`].
#[must_use = "a builder does nothing until `build`"]
pub struct PoolBuilder<T: 'static>(Inner<T>);

impl<T: 'static> PoolBuilder<T> {
    /// Asked before an idle element is lent again: `false` disposes of it and makes a new one; an error
    /// disposes of it and is told to the user that would have had it. It has the element as a user has,
    /// until it drops it. Default: always valid.
    #[doc(alias = "recycle")]
    pub fn validate<P: IntoPromise<Value = bool>>(
        mut self,
        validate: impl Fn(Pooled<T>) -> P + 'static,
    ) -> PoolBuilder<T> {
        self.0.validate = Some(Box::new(move |element| validate(element).into_promise()));
        self
    }

    /// Asked after a use that failed, whether the element is still good. Default: it is.
    pub fn check(mut self, check: impl Fn(&mut T) -> bool + 'static) -> PoolBuilder<T> {
        self.0.check = Some(Box::new(check));
        self
    }

    /// Called with each element that leaves the pool. Its slot is free when that is done, also if it fails.
    /// Default: drop it.
    pub fn dispose<P: IntoPromise<Value = ()>>(
        mut self,
        dispose: impl Fn(T) -> P + 'static,
    ) -> PoolBuilder<T> {
        self.0.dispose = Some(Box::new(move |element| dispose(element).into_promise()));
        self
    }

    /// The pool, without elements yet.
    #[must_use]
    pub fn build(self) -> Pool<T> {
        Pool { inner: Rc::new(self.0) }
    }
}

impl<T: 'static> fmt::Debug for PoolBuilder<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PoolBuilder").field("max", &self.0.max).finish_non_exhaustive()
    }
}

impl<T: 'static> Pool<T> {
    /// A pool of at most `max` elements, made by `factory`.
    ///
    /// # Panics
    /// If `max` is 0: nobody could ever be served.
    #[must_use]
    pub fn new<P: IntoPromise<Value = T>>(max: usize, factory: impl Fn() -> P + 'static) -> Pool<T> {
        Pool::builder(max, factory).build()
    }

    /// As [`Pool::new`], with more to say.
    ///
    /// # Panics
    /// If `max` is 0: nobody could ever be served.
    pub fn builder<P: IntoPromise<Value = T>>(
        max: usize,
        factory: impl Fn() -> P + 'static,
    ) -> PoolBuilder<T> {
        assert!(max > 0, "a pool of at most 0 elements could serve nobody");
        PoolBuilder(Inner {
            max,
            factory: Box::new(move || factory().into_promise()),
            validate: None,
            check: None,
            dispose: None,
            count: Cell::new(0),
            round: Cell::new(None),
            clears: Cell::new(0),
            idle: RefCell::new(VecDeque::new()),
            waiters: RefCell::new(Queue::new()),
        })
    }

    /// Calls `f` with an element, and gives it back when what `f` returned is settled; the result is that
    /// of `f`.
    ///
    /// The element is the one that has been idle longest; else a new one, if there is room; else the next
    /// that is given back, after all who asked before. If `f` fails, the check decides about the element.
    /// If `f` keeps it beyond its promise, it is given back when it is dropped.
    ///
    /// Cancelling while it waits leaves the queue in O(1); then it cancels what the factory or `f`
    /// promised. If the promise is dropped, `f` has its turn all the same.
    ///
    /// # Errors
    /// Those of the factory, of validation, of `f`, and of disposing of the element; `Canceled`. A panic in
    /// one of them is an error.
    #[doc(alias = "use")]
    #[doc(alias = "with")]
    pub fn use_with<P: IntoPromise>(&self, f: impl FnOnce(Pooled<T>) -> P + 'static) -> Promise<P::Value> {
        let inner = self.inner.clone();
        self.inner.acquire().bind(move |element| {
            let loan = Loan::new(&inner, element);
            let body = call(|| f(loan.lend()).into_promise()).unwrap_or_else(rejected);
            let failed = loan.clone();
            body.catch(move |error| failed.end(false).bind(move |()| Err(error)))
                .bind(move |value| loan.end(true).bind(move |()| ready(value)))
        })
    }

    /// An element, given back when it is dropped.
    ///
    /// As [`Pool::use_with`], for code that knows by itself whether the element is still good:
    /// [`Pooled::discard`] says that it is not.
    ///
    /// # Errors
    /// Those of the factory and of validation; `Canceled`.
    #[doc(alias = "get")]
    pub fn acquire(&self) -> Promise<Pooled<T>> {
        let inner = self.inner.clone();
        self.inner.acquire().map(move |element| {
            let loan = Loan::new(&inner, element);
            let lent = loan.lend();
            loan.end(true).detach();
            lent
        })
    }

    /// Disposes of all elements: of the idle ones now, one after the other, and of those in use when they are
    /// given back. The pool can be used meanwhile.
    ///
    /// # Errors
    /// The first of disposing, told when all are disposed of; the others go to [`crate::hook`].
    pub fn clear(&self) -> Promise<()> {
        self.inner.clears.set(self.inner.clears.get() + 1);
        let idle = mem::take(&mut *self.inner.idle.borrow_mut());
        dispose_all(self.inner.clone(), idle, None)
    }

    /// How many users wait, cancelled ones whose callbacks have not all run among them.
    #[must_use]
    pub fn wait_queue_length(&self) -> usize {
        self.inner.wait_queue_length()
    }

    /// How many elements there may be.
    #[must_use]
    pub fn max(&self) -> usize {
        self.inner.max
    }

    /// How many elements there are, those that are being made or disposed of included.
    #[must_use]
    pub fn count(&self) -> usize {
        self.inner.count.get()
    }
}

impl<T: 'static> Inner<T> {
    fn acquire(self: &Rc<Self>) -> Promise<T> {
        let idle = self.idle.borrow_mut().pop_front();
        if let Some(element) = idle {
            return self.validated(element);
        }
        // Some may wait for the next lap though there is a slot: see `serve`.
        if self.count.get() < self.max && !self.waiters.borrow().has_live() {
            self.count.set(self.count.get() + 1);
            return self.make();
        }
        let turn = stand_in_line(self, |resolver: Resolver<T>| resolver);
        self.serve();
        let inner = self.clone();
        turn.bind(move |element| inner.validated(element))
    }

    /// A new element in a slot that is taken already.
    fn make(self: &Rc<Self>) -> Promise<T> {
        let inner = self.clone();
        call(|| (self.factory)()).unwrap_or_else(rejected).catch(move |error| {
            inner.leave_slot();
            Err(error)
        })
    }

    fn validated(self: &Rc<Self>, element: T) -> Promise<T> {
        let Some(validate) = &self.validate else { return ready(element) };
        let loan = Loan::new(self, element);
        let verdict = call(|| validate(loan.lend())).unwrap_or_else(rejected);
        let inner = self.clone();
        verdict.then(move |verdict| loan.come_back().bind(move |element| inner.judged(element, verdict)))
    }

    fn judged(self: &Rc<Self>, element: T, verdict: Result<bool>) -> Promise<T> {
        let inner = self.clone();
        match verdict {
            Ok(true) => ready(element),
            // The slot stays taken, for the new one.
            Ok(false) => self.disposed(element).then(move |disposed| match disposed {
                Ok(()) => inner.make(),
                Err(error) => {
                    inner.leave_slot();
                    rejected(error)
                }
            }),
            Err(error) => self.disposed(element).then(move |disposed| {
                report(disposed);
                inner.leave_slot();
                Err(error)
            }),
        }
    }

    fn disposed(&self, element: T) -> Promise<()> {
        match &self.dispose {
            Some(dispose) => call(|| dispose(element)).unwrap_or_else(rejected),
            None => {
                run_callback(|| drop(element));
                ready(())
            }
        }
    }

    /// Disposes of an element, and then gives its slot away.
    fn remove(self: &Rc<Self>, element: T) -> Promise<()> {
        let inner = self.clone();
        self.disposed(element).then(move |result| {
            inner.leave_slot();
            result
        })
    }

    /// What becomes of an element that is given back.
    fn take_back(self: &Rc<Self>, element: T, is_kept: bool, clears: u64) -> Promise<()> {
        if !is_kept || clears != self.clears.get() {
            return self.remove(element);
        }
        let (next, _dead) = self.waiters.borrow_mut().pop_live();
        match next {
            Some(resolver) => resolver.resolve(element),
            None => self.idle.borrow_mut().push_back(element),
        }
        ready(())
    }

    /// Whether an element is still good after a use that failed. A check that panics says no.
    fn is_good(&self, element: &mut T) -> bool {
        let Some(check) = &self.check else { return true };
        let mut is_good = false;
        run_callback(|| is_good = check(element));
        is_good
    }

    fn leave_slot(self: &Rc<Self>) {
        self.count.set(self.count.get() - 1);
        self.serve();
    }

    /// Makes elements for those who wait, as long as there are slots.
    ///
    /// Once a lap for each who waits: those who come after the first time in a lap are served in the next
    /// one. Otherwise a factory that uses its own pool and fails would be called for ever.
    fn serve(self: &Rc<Self>) {
        while self.count.get() < self.max && self.wait_queue_length() > 0 {
            let round = self.round();
            let (next, _dead) = self.waiters.borrow_mut().pop_live_if(|_, ticket| ticket < round);
            let Some(resolver) = next else { return };
            self.count.set(self.count.get() + 1);
            let made = call(|| (self.factory)()).unwrap_or_else(rejected);
            match made.try_take() {
                // A slot that a failure leaves is given away by the next round.
                Ok(result) => self.hand_over(resolver, result),
                Err(pending) => {
                    let inner = self.clone();
                    let handed = pending.then(move |result| {
                        inner.hand_over(resolver, result);
                        inner.serve();
                        Ok::<(), Error>(())
                    });
                    handed.detach();
                }
            }
        }
    }

    /// The moment until which one must have come to be served in this lap.
    fn round(self: &Rc<Self>) -> u64 {
        if let Some(round) = self.round.get() {
            return round;
        }
        let round = self.waiters.borrow().now();
        self.round.set(Some(round));
        let inner = self.clone();
        let next_lap = pause().then(move |lap| {
            inner.round.set(None);
            lap.map(|()| inner.serve())
        });
        // Rejected only where the runtime is gone.
        next_lap.detach_with(|_| {});
        round
    }

    fn wait_queue_length(&self) -> usize {
        self.waiters.borrow().len()
    }

    fn hand_over(self: &Rc<Self>, resolver: Resolver<T>, made: Result<T>) {
        match made {
            Ok(element) if resolver.is_wanted() => resolver.resolve(element),
            // He was cancelled while it was made.
            Ok(element) => self.take_back(element, true, self.clears.get()).detach(),
            Err(error) => {
                self.count.set(self.count.get() - 1);
                resolver.reject(error);
            }
        }
    }
}

/// Disposes of what is left, one after the other.
fn dispose_all<T: 'static>(
    inner: Rc<Inner<T>>,
    mut rest: VecDeque<T>,
    mut first_error: Option<Error>,
) -> Promise<()> {
    while let Some(element) = rest.pop_front() {
        match inner.remove(element).try_take() {
            Ok(result) => note(&mut first_error, result),
            Err(pending) => {
                return pending.then(move |result| {
                    note(&mut first_error, result);
                    dispose_all(inner, rest, first_error)
                });
            }
        }
    }
    match first_error {
        None => ready(()),
        Some(error) => rejected(error),
    }
}

/// Keeps the first error, and reports a later one.
fn note(first_error: &mut Option<Error>, result: Result<()>) {
    match result {
        Err(error) if first_error.is_none() => *first_error = Some(error),
        result => report(result),
    }
}

/// Tells the hook of an error that has no promise to be told by.
fn report(result: Result<()>) {
    crate::settled(result).detach();
}

impl<T: 'static> Drop for Inner<T> {
    fn drop(&mut self) {
        for element in mem::take(self.idle.get_mut()) {
            self.disposed(element).detach();
        }
    }
}

impl<T: 'static> Clone for Pool<T> {
    fn clone(&self) -> Pool<T> {
        Pool { inner: self.inner.clone() }
    }
}

impl<T: 'static> fmt::Debug for Pool<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool")
            .field("max", &self.max())
            .field("count", &self.count())
            .field("waiters", &self.wait_queue_length())
            .finish_non_exhaustive()
    }
}

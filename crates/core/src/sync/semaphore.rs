//! A counting semaphore: permits, asked for one or many at a time, granted strictly in order.
//!
//! ```text
//!   available ──acquire(n): enough, nobody before──► Permit(n) ──drop──► available; the queue is served
//!                └──else──► in the queue, behind all who asked before
//! ```
//!
//! The oldest request is served first however much it asks: a large one is not starved by small ones that
//! would fit. So a small one may wait though there are permits.

use super::queue::{Entry, Home, Queue, stand_in_line};
use crate::{Error, Promise, Resolver, ready, rejected};
use std::cell::{Cell, RefCell};
use std::fmt;
use std::mem;
use std::rc::Rc;

/// A number of permits, of which each holder has some, to limit how much is done at a time.
///
/// A `Semaphore` is a handle: a clone is the same semaphore. It is fair, also between requests of
/// different sizes.
///
/// ```
/// use lisle_core::sync::Semaphore;
/// let slots = Semaphore::new(2);
/// let (first, second, third) = (slots.acquire(), slots.acquire(), slots.acquire());
/// assert!(!second.is_pending() && third.is_pending());
/// drop(first);
/// assert!(!third.is_pending());
/// ```
pub struct Semaphore {
    inner: Rc<Inner>,
}

struct Inner {
    available: Cell<usize>,
    /// Those available and those held.
    total: Cell<usize>,
    waiters: RefCell<Queue<Request>>,
}

struct Request {
    resolver: Resolver<Permit>,
    permits: usize,
}

impl Entry for Request {
    fn is_live(&self) -> bool {
        self.resolver.is_wanted()
    }
}

impl Home<Request> for Inner {
    fn queue(&self) -> &RefCell<Queue<Request>> {
        &self.waiters
    }

    /// It may have been the one for which the others had to wait.
    fn withdrawn(self: Rc<Self>) {
        self.serve();
    }
}

impl Inner {
    fn serve(self: &Rc<Self>) {
        loop {
            let fits = |request: &Request, _| request.permits <= self.available.get();
            let (next, _dead) = self.waiters.borrow_mut().pop_live_if(fits);
            let Some(request) = next else { return };
            let permit = self.grant(request.permits);
            request.resolver.resolve(permit);
        }
    }

    fn grant(self: &Rc<Self>, permits: usize) -> Permit {
        self.available.set(self.available.get() - permits);
        Permit { inner: self.clone(), permits }
    }

    fn put_back(self: &Rc<Self>, permits: usize) {
        self.available.set(self.available.get() + permits);
        self.serve();
    }
}

/// A request for more permits than a semaphore has in all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooManyPermits {
    /// How many were asked for.
    pub asked: usize,
    /// How many there are, held ones included.
    pub total: usize,
}

impl fmt::Display for TooManyPermits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TooManyPermits { asked, total } = self;
        write!(
            f,
            "asked for {asked} permits of a semaphore that has {total} in all: it would wait for ever; "
        )?;
        write!(f, "ask for fewer, or add permits first")
    }
}

impl std::error::Error for TooManyPermits {}

impl Semaphore {
    /// A semaphore with so many permits.
    #[must_use]
    pub fn new(permits: usize) -> Semaphore {
        let (available, total) = (Cell::new(permits), Cell::new(permits));
        Semaphore { inner: Rc::new(Inner { available, total, waiters: RefCell::new(Queue::new()) }) }
    }

    /// One permit: see [`Semaphore::acquire_many`].
    pub fn acquire(&self) -> Promise<Permit> {
        self.acquire_many(1)
    }

    /// So many permits at once: now, without allocation, if they are there and nobody waits; else after all
    /// who asked before.
    ///
    /// Cancelling gives the place in the queue up, in O(1), and whoever could not go before goes now. A
    /// promise that is dropped while it waits is passed over when its turn comes or anybody acquires.
    ///
    /// # Errors
    /// `Canceled`; [`TooManyPermits`] if there are not so many in all; `Abandoned` if nobody is left who
    /// could give permits back.
    pub fn acquire_many(&self, permits: usize) -> Promise<Permit> {
        if let Some(permit) = self.try_acquire_many(permits) {
            return ready(permit);
        }
        let total = self.inner.total.get();
        if permits > total {
            return rejected(Error::new(TooManyPermits { asked: permits, total }));
        }
        stand_in_line(&self.inner, |resolver| Request { resolver, permits })
    }

    /// One permit, if it is there and nobody waits.
    #[must_use]
    pub fn try_acquire(&self) -> Option<Permit> {
        self.try_acquire_many(1)
    }

    /// So many permits, if they are there and nobody waits.
    #[must_use]
    pub fn try_acquire_many(&self, permits: usize) -> Option<Permit> {
        // Those whose promise was dropped are passed over.
        self.inner.serve();
        let fits = permits <= self.inner.available.get() && self.inner.waiters.borrow().len() == 0;
        fits.then(|| self.inner.grant(permits))
    }

    /// How many permits nobody holds.
    #[doc(alias = "available_permits")]
    #[must_use]
    pub fn available(&self) -> usize {
        self.inner.available.get()
    }

    /// Makes the semaphore larger.
    ///
    /// # Panics
    /// If there would be more permits than a `usize` can count.
    pub fn add_permits(&self, permits: usize) {
        let total = self.inner.total.get().checked_add(permits);
        self.inner.total.set(total.expect("a semaphore with more permits than a usize can count"));
        self.inner.put_back(permits);
    }

    /// How many wait, cancelled waits whose callbacks have not all run among them.
    #[must_use]
    pub fn waiter_count(&self) -> usize {
        self.inner.waiters.borrow().len()
    }
}

impl Clone for Semaphore {
    fn clone(&self) -> Semaphore {
        Semaphore { inner: self.inner.clone() }
    }
}

impl fmt::Debug for Semaphore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Semaphore")
            .field("available", &self.available())
            .field("waiters", &self.waiter_count())
            .finish()
    }
}

/// Permits of a [`Semaphore`]; dropping it gives them back.
#[must_use = "dropping a permit gives it back at once"]
pub struct Permit {
    inner: Rc<Inner>,
    permits: usize,
}

impl Permit {
    /// How many permits it stands for.
    #[must_use]
    pub fn count(&self) -> usize {
        self.permits
    }

    /// Takes so many of them into a permit of their own; none if there are not so many.
    #[must_use]
    pub fn split(&mut self, permits: usize) -> Option<Permit> {
        self.permits = self.permits.checked_sub(permits)?;
        Some(Permit { inner: self.inner.clone(), permits })
    }

    /// Never gives them back: the semaphore is smaller from now on. Who waits for more than is left then
    /// waits until permits are added.
    pub fn forget(mut self) {
        let permits = mem::take(&mut self.permits);
        self.inner.total.set(self.inner.total.get() - permits);
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        match mem::take(&mut self.permits) {
            0 => {}
            permits => self.inner.put_back(permits),
        }
    }
}

impl fmt::Debug for Permit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permit").field("count", &self.permits).finish_non_exhaustive()
    }
}

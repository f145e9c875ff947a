//! A mailbox for one value.
//!
//! ```text
//!            put (nobody takes)                 reserve
//!   Empty ───────────────────────► Full    Empty ──────► Reserved ──put──► Full, or Empty if somebody takes
//!     ▲ └─put (somebody takes)─┐    │                        └────drop───► as after a take
//!     └────────────────────────┴────┘ take: then the oldest put that waits moves in
//! ```
//!
//! Takers wait while there is no value, putters and reservations while there is one or its place is
//! reserved; both oldest first. While a place is passed on it is `Reserved`, so whoever is called meanwhile
//! gets in line.

use super::queue::{Entry, Home, Queue, stand_in_line};
use crate::{Promise, Resolver, ready};
use std::cell::RefCell;
use std::fmt;
use std::mem;
use std::rc::Rc;

/// A place for one value, which `put` fills and `take` empties, each waiting until it can.
///
/// An `MVar` is a handle: a clone is the same place. When the last one is dropped, those who still wait are
/// rejected with `Abandoned`.
///
/// A value handed over by [`MVar::put`] is gone with a cancelled put. Where it must not be, wait for the
/// place first, with [`MVar::reserve`]: cancelling that loses nothing, and filling a place that one has
/// cannot fail.
///
/// ```
/// use lisle_core::sync::MVar;
/// let letters = MVar::empty();
/// let first = letters.take();
/// let sent = letters.put("a");
/// assert_eq!(first.try_take().unwrap().unwrap(), "a");
/// sent.try_take().unwrap().unwrap();
/// ```
#[doc(alias = "channel")]
#[doc(alias = "mailbox")]
pub struct MVar<T: 'static> {
    inner: Rc<Inner<T>>,
}

struct Inner<T: 'static> {
    slot: RefCell<Slot<T>>,
    takers: RefCell<Queue<Resolver<T>>>,
    putters: RefCell<Queue<Putter<T>>>,
}

enum Slot<T> {
    Empty,
    Full(T),
    Reserved,
}

enum Putter<T: 'static> {
    Value(Resolver<()>, T),
    Reservation(Resolver<Vacancy<T>>),
}

impl<T: 'static> Entry for Putter<T> {
    fn is_live(&self) -> bool {
        match self {
            // Its promise may have been dropped: the work goes on, and the value is put.
            Putter::Value(resolver, _) => resolver.is_pending(),
            Putter::Reservation(resolver) => resolver.is_wanted(),
        }
    }
}

impl<T: 'static> Home<Resolver<T>> for Inner<T> {
    fn queue(&self) -> &RefCell<Queue<Resolver<T>>> {
        &self.takers
    }
}

impl<T: 'static> Home<Putter<T>> for Inner<T> {
    fn queue(&self) -> &RefCell<Queue<Putter<T>>> {
        &self.putters
    }
}

impl<T: 'static> Inner<T> {
    fn of(slot: Slot<T>) -> Rc<Inner<T>> {
        let (takers, putters) = (RefCell::new(Queue::new()), RefCell::new(Queue::new()));
        Rc::new(Inner { slot: RefCell::new(slot), takers, putters })
    }

    fn is_vacant(&self) -> bool {
        matches!(*self.slot.borrow(), Slot::Empty)
    }

    fn set(&self, slot: Slot<T>) {
        // What is replaced holds no value.
        *self.slot.borrow_mut() = slot;
    }

    /// Takes the value and leaves the place reserved for whoever calls `pass_on` next.
    fn take_value(&self) -> Option<T> {
        let slot = &mut *self.slot.borrow_mut();
        match mem::replace(slot, Slot::Reserved) {
            Slot::Full(value) => Some(value),
            other => {
                *slot = other;
                None
            }
        }
    }

    /// Gives the value to the oldest taker, or to the place if there is none; whether somebody took it.
    fn deliver(&self, value: T) -> bool {
        let (taker, _dead) = self.takers.borrow_mut().pop_live();
        match taker {
            Some(taker) => {
                taker.resolve(value);
                true
            }
            None => {
                self.set(Slot::Full(value));
                false
            }
        }
    }

    /// Gives the place, which is reserved, to the oldest who waits for it.
    fn pass_on(self: &Rc<Self>) {
        loop {
            let (putter, _dead) = self.putters.borrow_mut().pop_live();
            match putter {
                None => return self.set(Slot::Empty),
                Some(Putter::Reservation(resolver)) => {
                    return resolver.resolve(Vacancy { inner: Some(self.clone()) });
                }
                Some(Putter::Value(resolver, value)) => {
                    if !self.takers.borrow().has_live() {
                        self.set(Slot::Full(value));
                        return resolver.resolve(());
                    }
                    // Told first: if that makes the taker go away, the value has still a place.
                    resolver.resolve(());
                    if !self.deliver(value) {
                        return;
                    }
                }
            }
        }
    }
}

impl<T: 'static> MVar<T> {
    /// A place with a value in it.
    #[doc(alias = "create")]
    #[must_use]
    pub fn new(value: T) -> MVar<T> {
        MVar { inner: Inner::of(Slot::Full(value)) }
    }

    /// An empty place.
    #[doc(alias = "create_empty")]
    #[must_use]
    pub fn empty() -> MVar<T> {
        MVar { inner: Inner::of(Slot::Empty) }
    }

    /// Puts a value in: at once, without allocation, if the place is empty; else after all who asked before.
    ///
    /// Cancelling takes the value out of the queue, in O(1), and drops it. If the promise is dropped, the
    /// value is put all the same.
    ///
    /// # Errors
    /// `Canceled`; `Abandoned` if the last handle of the place is gone.
    #[doc(alias = "send")]
    pub fn put(&self, value: T) -> Promise<()> {
        if !self.inner.is_vacant() {
            return stand_in_line(&self.inner, |resolver| Putter::Value(resolver, value));
        }
        self.inner.deliver(value);
        ready(())
    }

    /// The place itself, to be filled later: nobody else can fill it meanwhile.
    ///
    /// Takes its turn among the puts. Cancelling or dropping loses nothing: there is no value yet.
    ///
    /// ```
    /// use lisle_core::sync::MVar;
    /// let letters = MVar::new("old");
    /// let place = letters.reserve();
    /// assert_eq!(letters.take_available(), Some("old"));
    /// place.try_take().unwrap().unwrap().put("new");
    /// assert_eq!(letters.take_available(), Some("new"));
    /// ```
    ///
    /// # Errors
    /// As [`MVar::put`].
    pub fn reserve(&self) -> Promise<Vacancy<T>> {
        if !self.inner.is_vacant() {
            return stand_in_line(&self.inner, Putter::Reservation);
        }
        self.inner.set(Slot::Reserved);
        ready(Vacancy { inner: Some(self.inner.clone()) })
    }

    /// Takes the value: at once, without allocation, if there is one; else after all who asked before.
    ///
    /// The oldest put that waits moves in. Cancelling leaves the queue in O(1), and takes no value from
    /// another; nor does a promise that is dropped while it waits.
    ///
    /// # Errors
    /// `Canceled`; `Abandoned` if the last handle of the place is gone.
    #[doc(alias = "recv")]
    pub fn take(&self) -> Promise<T> {
        match self.take_available() {
            Some(value) => ready(value),
            None => stand_in_line(&self.inner, |resolver: Resolver<T>| resolver),
        }
    }

    /// Takes the value, if there is one. The oldest put that waits moves in.
    #[doc(alias = "try_recv")]
    pub fn take_available(&self) -> Option<T> {
        let value = self.inner.take_value()?;
        self.inner.pass_on();
        Some(value)
    }

    /// Whether there is no value to take.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        !matches!(*self.inner.slot.borrow(), Slot::Full(_))
    }
}

impl<T: 'static> Clone for MVar<T> {
    fn clone(&self) -> MVar<T> {
        MVar { inner: self.inner.clone() }
    }
}

impl<T: 'static> fmt::Debug for MVar<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MVar").field("empty", &self.is_empty()).finish_non_exhaustive()
    }
}

/// The reserved place of an [`MVar`]. Dropping it gives the place to the next who waits for it.
#[must_use = "dropping it gives the place away"]
pub struct Vacancy<T: 'static> {
    /// Empty once the place is filled.
    inner: Option<Rc<Inner<T>>>,
}

impl<T: 'static> Vacancy<T> {
    /// Fills the place, or gives the value to the oldest who waits for one.
    pub fn put(mut self, value: T) {
        if let Some(inner) = self.inner.take()
            && inner.deliver(value)
        {
            inner.pass_on();
        }
    }
}

impl<T: 'static> Drop for Vacancy<T> {
    fn drop(&mut self) {
        if let Some(inner) = self.inner.take() {
            inner.pass_on();
        }
    }
}

impl<T: 'static> fmt::Debug for Vacancy<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Vacancy")
    }
}

//! A mutex that holds what it protects, and its guard.
//!
//! ```text
//!   free(value) ──lock──► held: the value is in the guard ──drop, nobody waits──► free(value)
//!                              └──drop, somebody waits──► held: the value is in the next guard
//! ```
//!
//! The value moves: it lies in the mutex while that is free, and in the guard while it is held. So no borrow
//! is ever open while somebody waits, and a mutex that is handed on is at no moment free. It is boxed, so
//! that handing on moves one pointer.

use super::queue::{Home, Queue, stand_in_line};
use crate::promise::call;
use crate::{IntoPromise, Promise, Resolver, ready, rejected};
use std::cell::RefCell;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::rc::Rc;

/// Mutual exclusion between the tasks and callbacks of one thread, across their suspensions.
///
/// On one thread nothing interrupts code that does not suspend, so a mutex is wanted only where a lock is
/// held *while waiting*: a protocol on a shared connection, a read-modify-write with I/O between. It holds
/// the value it protects, as Rust users know it, and the guard gives access to it. Lwt's mutex protects
/// nothing but a convention: that is `Mutex<()>`, the default.
///
/// A `Mutex` is a handle: a clone is the same mutex. It is fair: whoever asked first gets it first, and there
/// is no moment between two holders at which a third could take it. There is no poisoning: a panic
/// in a callback drops the guard, which unlocks.
///
/// A lock that was granted but not looked at is held: a promise of a lock kept beside others in one task, and
/// not awaited, blocks whoever asks next, be it this very task. Give a promise away that you will not
/// look at: to `pick`, which cancels the losers, or by dropping it.
///
/// ```
/// use lisle_core::sync::Mutex;
/// let counter = Mutex::new(0);
/// let first = counter.lock();
/// let second = counter.lock().map(|mut count| {
///     *count += 1;
///     *count
/// });
/// assert!(second.is_pending());
/// drop(first);
/// assert_eq!(second.try_take().unwrap().unwrap(), 1);
/// ```
pub struct Mutex<T: 'static = ()> {
    inner: Rc<Inner<T>>,
}

struct Inner<T: 'static> {
    /// Empty while the mutex is held.
    value: RefCell<Option<Box<T>>>,
    waiters: RefCell<Queue<Resolver<MutexGuard<T>>>>,
}

impl<T: 'static> Home<Resolver<MutexGuard<T>>> for Inner<T> {
    fn queue(&self) -> &RefCell<Queue<Resolver<MutexGuard<T>>>> {
        &self.waiters
    }
}

impl<T: 'static> Mutex<T> {
    /// A free mutex that holds `value`.
    #[must_use]
    pub fn new(value: T) -> Mutex<T> {
        let value = RefCell::new(Some(Box::new(value)));
        Mutex { inner: Rc::new(Inner { value, waiters: RefCell::new(Queue::new()) }) }
    }

    /// The lock: now, without allocation, if the mutex is free; else after all who asked before.
    ///
    /// Cancelling gives the place in the queue up, in O(1). A promise that is dropped while it waits is
    /// passed over; one that is dropped when it holds the lock unlocks. Once granted, a lock cannot be
    /// cancelled any more, even if its callbacks have not run yet.
    ///
    /// # Errors
    /// `Canceled`.
    #[doc(alias = "acquire")]
    pub fn lock(&self) -> Promise<MutexGuard<T>> {
        match self.try_lock() {
            Some(guard) => ready(guard),
            None => stand_in_line(&self.inner, |resolver| resolver),
        }
    }

    /// The lock, if the mutex is free.
    #[must_use]
    pub fn try_lock(&self) -> Option<MutexGuard<T>> {
        let value = self.inner.value.borrow_mut().take()?;
        Some(MutexGuard::new(&self.inner, value))
    }

    /// Locks, calls `f`, and unlocks when what `f` returned is settled, however it ended.
    ///
    /// The value is at hand while `f` runs, and locked until its promise ends. To use it in between as
    /// well, take a guard with [`Mutex::lock`].
    ///
    /// ```
    /// use lisle_core::{pause, sync::Mutex, wake_paused};
    /// let log = Mutex::new(Vec::new());
    /// let done = log.with_lock(|lines| {
    ///     lines.push("begun");
    ///     pause()
    /// });
    /// assert!(log.is_locked());
    /// wake_paused();
    /// assert!(!log.is_locked());
    /// # done.try_take().unwrap().unwrap();
    /// ```
    ///
    /// # Errors
    /// `Canceled` while it waits for the lock, then whatever `f` promises. A panic in `f` rejects and
    /// unlocks.
    pub fn with_lock<P: IntoPromise>(&self, f: impl FnOnce(&mut T) -> P + 'static) -> Promise<P::Value> {
        self.lock().bind(move |mut guard| {
            let body = call(|| f(&mut guard).into_promise()).unwrap_or_else(rejected);
            body.finalize(move || {
                drop(guard);
                ready(())
            })
        })
    }

    /// Whether somebody holds it.
    #[must_use]
    pub fn is_locked(&self) -> bool {
        self.inner.value.borrow().is_none()
    }

    /// Whether nobody waits for it; who was cancelled and whose callbacks have not all run, or whose
    /// promise was dropped, may count still.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.inner.waiters.borrow().len() == 0
    }
}

impl<T: 'static> Clone for Mutex<T> {
    fn clone(&self) -> Mutex<T> {
        Mutex { inner: self.inner.clone() }
    }
}

impl<T: Default + 'static> Default for Mutex<T> {
    fn default() -> Mutex<T> {
        Mutex::new(T::default())
    }
}

impl<T: 'static> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mutex").field("locked", &self.is_locked()).finish_non_exhaustive()
    }
}

/// The lock of a [`Mutex`], and access to its value; dropping it unlocks.
///
/// If others wait, the oldest of them has the lock from then on: its callbacks run before the drop
/// returns, or after the resolution in progress. A guard that is leaked keeps its mutex locked.
#[must_use = "dropping a guard unlocks at once"]
pub struct MutexGuard<T: 'static> {
    inner: Rc<Inner<T>>,
    /// Empty once the drop has begun.
    value: Option<Box<T>>,
}

impl<T: 'static> MutexGuard<T> {
    fn new(inner: &Rc<Inner<T>>, value: Box<T>) -> MutexGuard<T> {
        MutexGuard { inner: inner.clone(), value: Some(value) }
    }

    /// The mutex that this is the lock of. Not a method, so that it hides none of the value's.
    #[must_use]
    pub fn mutex(guard: &MutexGuard<T>) -> Mutex<T> {
        Mutex { inner: guard.inner.clone() }
    }
}

impl<T: 'static> Deref for MutexGuard<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.value.as_deref().expect("a guard has its value until it is dropped")
    }
}

impl<T: 'static> DerefMut for MutexGuard<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.value.as_deref_mut().expect("a guard has its value until it is dropped")
    }
}

impl<T: 'static> Drop for MutexGuard<T> {
    fn drop(&mut self) {
        let Some(value) = self.value.take() else { return };
        let (next, _dead) = self.inner.waiters.borrow_mut().pop_live();
        match next {
            Some(resolver) => resolver.resolve(MutexGuard::new(&self.inner, value)),
            None => *self.inner.value.borrow_mut() = Some(value),
        }
    }
}

impl<T: fmt::Debug + 'static> fmt::Debug for MutexGuard<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("MutexGuard").field(&**self).finish()
    }
}

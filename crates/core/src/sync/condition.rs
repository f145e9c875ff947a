//! A condition: waiting until somebody says so, with a value.
//!
//! ```text
//!   wait ──► in the queue ──signal: the oldest │ broadcast: all──► woken with the value
//!                  └──cancel──► rejected           (with a guard: once it has the mutex again)
//! ```
//!
//! A signal that finds nobody is gone: a condition remembers nothing. A broadcast empties the queue before it
//! wakes anybody, so whoever waits again in his callback waits for the next one.
//!
//! What is handed out is a step over the wait, as in Lwt, where it locks the mutex again. Whether anybody
//! looks at a wait is asked of that step: a probe on it stands beside the wait in the queue.

use super::mutex::{Mutex, MutexGuard};
use super::queue::{Entry, Home, Queue, stand_in_line};
use crate::promise::call;
use crate::promise::probe::{InUse, Probe};
use crate::{Error, Promise, Resolver, ready};
use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

/// What one waits for until another says that it has happened, and gives a value along.
///
/// A `Condition` is a handle: a clone is the same condition. When the last one is dropped, those who still
/// wait are rejected with `Abandoned`.
///
/// ```
/// use lisle_core::sync::Condition;
/// let arrived = Condition::new();
/// let (first, second) = (arrived.wait(), arrived.wait());
/// assert!(arrived.signal("parcel"));
/// assert_eq!(first.try_take().unwrap().unwrap(), "parcel");
/// assert!(second.is_pending());
/// ```
#[doc(alias = "Condvar")]
#[doc(alias = "Notify")]
pub struct Condition<T: 'static = ()> {
    inner: Rc<Inner<T>>,
}

struct Inner<T: 'static> {
    waiters: RefCell<Queue<Wait<T>>>,
}

struct Wait<T: 'static> {
    resolver: Resolver<T>,
    /// On the step over it, which is what is handed out.
    probe: Rc<dyn InUse>,
}

impl<T: 'static> Entry for Wait<T> {
    fn is_live(&self) -> bool {
        self.resolver.is_pending() && self.probe.is_in_use()
    }

    fn pass_over(self) {
        // Nobody looks: no failure to be reported.
        self.resolver.reject(Error::canceled());
    }
}

impl<T: 'static> Home<Wait<T>> for Inner<T> {
    fn queue(&self) -> &RefCell<Queue<Wait<T>>> {
        &self.waiters
    }
}

impl<T: 'static> Condition<T> {
    /// A condition that nobody waits for.
    #[must_use]
    pub fn new() -> Condition<T> {
        Condition { inner: Rc::new(Inner { waiters: RefCell::new(Queue::new()) }) }
    }

    /// The value of the signal that wakes this wait.
    ///
    /// Cancelling leaves the queue in O(1); a wait that was cancelled or dropped takes no signal from
    /// another.
    ///
    /// # Errors
    /// `Canceled`; `Abandoned` if the condition is gone; what [`Condition::broadcast_error`] was given.
    #[doc(alias = "notified")]
    pub fn wait(&self) -> Promise<T> {
        self.stand_under(|waiting| waiting.finalize(|| ready(())))
    }

    /// Unlocks while waiting: the wait is in the queue before the mutex is free, so a signal sent by the next
    /// holder of the lock finds it.
    ///
    /// However the wait ends, it ends with the lock: the guard comes with the value, or, there being no place
    /// for it beside an error, is let go as the error is told. So a cancelled wait stays pending until the
    /// lock is free; cancelling it once more gives that up too. A wait whose promise is dropped
    /// takes no signal from another.
    ///
    /// ```
    /// use lisle_core::sync::{Condition, Mutex};
    /// let (queue, filled) = (Mutex::new(Vec::new()), Condition::new());
    /// let guard = queue.try_lock().unwrap();
    /// let popped = filled.wait_with(guard).map(|(mut queue, ())| queue.pop());
    /// queue.try_lock().unwrap().push(7);
    /// filled.signal(());
    /// assert_eq!(popped.try_take().unwrap().unwrap(), Some(7));
    /// ```
    ///
    /// # Errors
    /// As [`Condition::wait`].
    pub fn wait_with<U: 'static>(&self, guard: MutexGuard<U>) -> Promise<(MutexGuard<U>, T)> {
        let mutex: Mutex<U> = MutexGuard::mutex(&guard);
        self.stand_under(move |waiting| {
            drop(guard);
            waiting.then(move |result| mutex.lock().bind(move |guard| result.map(|value| (guard, value))))
        })
    }

    /// What `step` makes over a new wait.
    fn stand_under<U: 'static>(&self, step: impl FnOnce(Promise<T>) -> Promise<U>) -> Promise<U> {
        let probe = Probe::new();
        let on_step = probe.clone();
        let made = step(stand_in_line(&self.inner, |resolver| Wait { resolver, probe: on_step }));
        probe.point_at(&made);
        made
    }

    /// Wakes the oldest wait; whether there was one. If there was none, nothing remembers the signal.
    ///
    /// The callbacks of the wait run before this returns, or after the resolution in progress.
    #[doc(alias = "notify_one")]
    pub fn signal(&self, value: T) -> bool {
        let (next, _dead) = self.inner.waiters.borrow_mut().pop_live();
        match next {
            Some(wait) => {
                wait.resolver.resolve(value);
                true
            }
            None => false,
        }
    }

    /// Wakes all who wait now, oldest first, each with a clone; how many there were. A clone that panics
    /// rejects its wait and leaves the others alone.
    #[doc(alias = "notify_all")]
    pub fn broadcast(&self, value: T) -> usize
    where
        T: Clone,
    {
        self.wake_all(|| call(|| value.clone()))
    }

    /// Wakes all who wait now, oldest first, with an error; how many there were.
    #[doc(alias = "broadcast_exn")]
    pub fn broadcast_error(&self, error: impl Into<Error>) -> usize {
        let error = error.into();
        self.wake_all(|| Err(error.clone()))
    }

    fn wake_all(&self, result: impl Fn() -> crate::Result<T>) -> usize {
        let mut all = self.inner.waiters.borrow_mut().take();
        let mut woken = 0;
        while let Some(wait) = all.pop() {
            // One that was woken first may have cancelled it.
            if wait.is_live() {
                wait.resolver.settle(result());
                woken += 1;
            } else {
                wait.pass_over();
            }
        }
        woken
    }

    /// How many wait, cancelled waits whose callbacks have not all run among them.
    #[must_use]
    pub fn waiter_count(&self) -> usize {
        self.inner.waiters.borrow().len()
    }
}

impl<T: 'static> Clone for Condition<T> {
    fn clone(&self) -> Condition<T> {
        Condition { inner: self.inner.clone() }
    }
}

impl<T: 'static> Default for Condition<T> {
    fn default() -> Condition<T> {
        Condition::new()
    }
}

impl<T: 'static> fmt::Debug for Condition<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Condition").field("waiters", &self.waiter_count()).finish()
    }
}

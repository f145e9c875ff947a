//! Callbacks whose result nobody awaits: `on_success`, `on_failure`, `on_termination`, `on_any`, `on_cancel`,
//! `detach`.
//!
//! Those that need the value consume the promise; those that do not give it back. A panic in one of them goes
//! to [`crate::hook`] and the remaining callbacks still run.

use super::batch::Batch;
use super::cell::{self, PromiseCell};
use super::waiters::{Node, Waiter};
use super::{Promise, call};
use crate::hook::{FailureKind, report};
use crate::storage::{self, Entry};
use crate::{Error, Result};
use std::cell::RefCell;
use std::convert::identity;
use std::panic::Location;
use std::rc::Rc;

/// Runs a callback, or a destructor, whose result nobody awaits.
pub(crate) fn run_callback(callback: impl FnOnce()) {
    if let Err(error) = call(callback) {
        report(error, FailureKind::Callback, None);
    }
}

/// A consumer that is a plain callback.
struct Consumer<T: 'static, F>(RefCell<Option<(Promise<T>, F)>>);

impl<T: 'static, F: FnOnce(Result<T>, Entry) + 'static> Node for Consumer<T, F> {
    fn run(self: Rc<Self>, _index: u32) -> Option<Batch> {
        let entry = Entry::told();
        let taken = self.0.borrow_mut().take();
        if let Some((promise, callback)) = taken {
            let result = promise.take_settled();
            run_callback(|| callback(result, entry));
        }
        None
    }
}

/// An observer that is a plain callback.
struct Observer<F>(RefCell<Option<F>>);

impl<F: FnOnce(Entry) + 'static> Node for Observer<F> {
    fn run(self: Rc<Self>, _index: u32) -> Option<Batch> {
        let entry = Entry::told();
        let callback = self.0.borrow_mut().take();
        if let Some(callback) = callback {
            run_callback(|| callback(entry));
        }
        None
    }
}

fn observer(callback: impl FnOnce(Entry) + 'static) -> Waiter {
    storage::carry(Waiter::node(Rc::new(Observer(RefCell::new(Some(callback)))), 0))
}

fn observe<T: 'static>(cell: &Rc<PromiseCell<T>>, f: impl FnOnce(Entry) + 'static) {
    if cell::follow(cell).status() == cell::Status::Pending {
        cell::observe(cell, observer(f));
    } else {
        run_callback(|| f(Entry::AtOnce));
    }
}

fn observe_termination<T: 'static>(cell: &Rc<PromiseCell<T>>, f: impl FnOnce() + 'static) {
    observe(cell, |entry| {
        entry.begin();
        f();
    });
}

pub(super) fn observe_success<T: 'static>(cell: &Rc<PromiseCell<T>>, f: impl FnOnce(T) + 'static) {
    let root = cell.clone();
    let tell = move |entry: Entry| {
        // An error is left alone: it stays unobserved.
        if cell::follow(&root).status() == cell::Status::Fulfilled
            && let Some(result) = cell::take(&root)
        {
            match result {
                Ok(value) => {
                    entry.begin();
                    f(value);
                }
                Err(error) => drop(super::rejected::<T>(error)),
            }
        }
    };
    observe(cell, tell);
}

pub(super) fn observe_failure<T: 'static>(cell: &Rc<PromiseCell<T>>, f: impl FnOnce(Error) + 'static) {
    let root = cell::follow(cell);
    let tell = move |entry: Entry| {
        if let Some(error) = cell::follow(&root).error() {
            entry.begin();
            f(error);
        }
    };
    observe(cell, tell);
}

pub(super) fn observe_cancel<T: 'static>(cell: &Rc<PromiseCell<T>>, f: impl FnOnce() + 'static) {
    let root = cell::follow(cell);
    if root.status() == cell::Status::Pending {
        let tell = |entry: Entry| {
            entry.begin();
            f();
        };
        cell::on_cancel(&root, observer(tell));
    } else if root.is_canceled() {
        run_callback(f);
    }
}

impl<T: 'static> Promise<T> {
    /// Gives the result to a callback, now or when it is there. `register` gives its
    /// waiter the storage that it is to have.
    fn consume(
        mut self,
        register: impl FnOnce(Waiter) -> Waiter,
        callback: impl FnOnce(Result<T>, Entry) + 'static,
    ) {
        self.unwatch();
        match self.try_take() {
            Ok(result) => run_callback(|| callback(result, Entry::AtOnce)),
            Err(mut pending) => {
                let node = Rc::new(Consumer(RefCell::new(None)));
                let old_waiter = pending.watch(register(Waiter::node(node.clone(), 0)));
                *node.0.borrow_mut() = Some((pending, callback));
                drop(old_waiter);
            }
        }
    }

    /// Calls `f` with the value. An error counts as unobserved and goes to [`crate::hook`].
    pub fn on_success(self, f: impl FnOnce(T) + 'static) {
        self.consume(storage::carry, |result, entry| match result {
            Ok(value) => {
                entry.begin();
                f(value);
            }
            Err(error) => drop(super::rejected::<T>(error)),
        });
    }

    /// Calls `f` with the value or `g` with the error.
    pub fn on_any(self, f: impl FnOnce(T) + 'static, g: impl FnOnce(Error) + 'static) {
        self.consume(storage::carry, |result, entry| {
            entry.begin();
            match result {
                Ok(value) => f(value),
                Err(error) => g(error),
            }
        });
    }

    /// Calls `f` with the error, if there is one, and gives the promise back.
    #[doc(alias = "inspect_err")]
    pub fn on_failure(self, f: impl FnOnce(Error) + 'static) -> Promise<T> {
        let cell = self.into_cell();
        observe_failure(&cell, f);
        Promise::of_cell(cell)
    }

    /// Calls `f` when the promise is settled either way, and gives the promise back.
    pub fn on_termination(self, f: impl FnOnce() + 'static) -> Promise<T> {
        let cell = self.into_cell();
        observe_termination(&cell, f);
        Promise::of_cell(cell)
    }

    /// Calls `f` if the promise is cancelled, before all other callbacks, and gives the promise back.
    ///
    /// On a promise cancelled already `f` runs now; on one settled otherwise never.
    pub fn on_cancel(self, f: impl FnOnce() + 'static) -> Promise<T> {
        let cell = self.into_cell();
        observe_cancel(&cell, f);
        Promise::of_cell(cell)
    }

    /// Lets the work go on unattended; if it fails, [`crate::hook`] is told, with this call's place.
    ///
    /// ```
    /// lisle_core::ready(1).detach(); // nothing to tell
    /// ```
    #[doc(alias = "async")]
    #[doc(alias = "ignore_result")]
    #[doc(alias = "spawn_local")]
    #[track_caller]
    pub fn detach(self) {
        let site = Location::caller();
        self.consume(identity, move |result, _| {
            if let Err(error) = result {
                report(error, FailureKind::Detached, Some(site));
            }
        });
    }

    /// Lets the work go on unattended and gives its error, if any, to `handler`.
    ///
    /// The handler has no [`crate::storage`] of its own: it finds what the resolution that calls it has.
    #[doc(alias = "dont_wait")]
    pub fn detach_with(self, handler: impl FnOnce(Error) + 'static) {
        self.consume(identity, |result, _| {
            if let Err(error) = result {
                handler(error);
            }
        });
    }
}

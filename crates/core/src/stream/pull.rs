//! The pulling source: a function that is called for one element at a time, when a reader wants one.
//!
//! ```text
//!   Idle ──a reader at the tail──► Calling ──pending──► InFlight ──element, end or error──► Idle
//!     └──last reader gone──► stopped     └──settled at once──► Idle
//! ```
//!
//! Readers that wait share the call in flight through `protected`: a cancelled one leaves the call alone, and
//! what it brings is kept for the next read. An error goes to the readers of that call and ends nothing. When
//! the last reader is gone the function is dropped and its call cancelled: who would take the element?

use super::queue::{Moment, Queue};
use crate::promise::{call, run_callback};
use crate::{IntoPromise, Promise, Resolver, Result, Shared, ready};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

type Source<T> = Box<dyn FnMut() -> Promise<Option<T>>>;

/// A pulling source and its call.
pub(super) struct Pull<T: 'static> {
    /// None while it is called, and after the last reader has gone.
    source: RefCell<Option<Source<T>>>,
    is_calling: Cell<bool>,
    in_flight: RefCell<Option<Shared<()>>>,
    /// For readers that come while the function itself runs: one of them was started by it.
    called: Moment,
}

impl<T: 'static> Pull<T> {
    pub(super) fn new<P>(mut source: impl FnMut() -> P + 'static) -> Pull<T>
    where
        P: IntoPromise<Value = Option<T>>,
    {
        Pull {
            source: RefCell::new(Some(Box::new(move || source().into_promise()))),
            is_calling: Cell::new(false),
            in_flight: RefCell::new(None),
            called: Moment::default(),
        }
    }

    fn pending(&self) -> Option<Shared<()>> {
        self.in_flight.borrow().clone().filter(Shared::is_pending)
    }

    /// Calls the function, unless a call is under way.
    pub(super) fn call(&self, queue: &Rc<Queue<T>>) -> Result<()> {
        if self.is_calling.get() || self.pending().is_some() {
            return Ok(());
        }
        let Some(mut source) = self.source.take() else { return Ok(()) };
        self.is_calling.set(true);
        let outcome = call(&mut source).and_then(|promise| match promise.try_take() {
            Ok(result) => result.map(Ok),
            Err(pending) => Ok(Err(pending)),
        });
        self.is_calling.set(false);
        if queue.readers() > 0 {
            self.source.replace(Some(source));
        } else {
            run_callback(move || drop(source));
        }
        let answer = match outcome {
            Ok(Ok(element)) => {
                accept(queue, element);
                Ok(())
            }
            Ok(Err(pending)) => {
                self.keep(queue, pending);
                Ok(())
            }
            Err(error) => Err(error),
        };
        self.called.reach(Resolver::resolve);
        answer
    }

    fn keep(&self, queue: &Rc<Queue<T>>, pending: Promise<Option<T>>) {
        let owner = queue.clone();
        let call = pending.map(move |element| accept(&owner, element)).shared();
        drop(self.in_flight.replace(Some(call)));
    }

    /// Settles when the call in flight has.
    pub(super) fn arrival(&self) -> Promise<()> {
        if self.is_calling.get() {
            return self.called.awaited().protected();
        }
        match self.pending() {
            Some(call) => call.protected(),
            None => ready(()),
        }
    }

    /// Nobody will read any more.
    pub(super) fn stop(&self) {
        let (source, call) = (self.source.take(), self.in_flight.take());
        if let Some(call) = call {
            call.cancel();
        }
        run_callback(move || drop(source));
    }
}

fn accept<T: 'static>(queue: &Rc<Queue<T>>, element: Option<T>) {
    match element {
        Some(value) => queue.append(value),
        None => {
            if queue.finish() {
                queue.close();
            }
        }
    }
}

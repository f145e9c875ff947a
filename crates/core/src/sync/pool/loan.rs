//! An element of a pool that somebody has, and what becomes of it.
//!
//! ```text
//!   lent ──guard dropped──► here ──end──► given back     the two may come in either order
//!    └──end──► ended ──guard dropped──► given back
//! ```
//!
//! The guard says *when* the element is free again, the end of the use says *how well* it went; a `Loan`
//! waits for both. Validation waits for the element alone: it comes back to whoever asked.

use super::Inner;
use crate::{Promise, Resolver, pair, ready};
use std::cell::{Cell, RefCell};
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::rc::Rc;

pub(super) struct Loan<T: 'static> {
    pool: Rc<Inner<T>>,
    /// How often the pool had been cleared when the loan was made.
    clears: u64,
    /// Whether the user said that the element is not to be kept.
    is_discarded: Cell<bool>,
    state: RefCell<State<T>>,
}

enum State<T: 'static> {
    Lent,
    Here(T),
    /// The use has ended, well or not; the guard is still out.
    Ended(bool),
    /// Validation has ended; the guard is still out.
    Awaited(Resolver<T>),
    Over,
}

impl<T: 'static> Loan<T> {
    pub(super) fn new(pool: &Rc<Inner<T>>, element: T) -> Rc<Loan<T>> {
        Rc::new(Loan {
            pool: pool.clone(),
            clears: pool.clears.get(),
            is_discarded: Cell::new(false),
            state: RefCell::new(State::Here(element)),
        })
    }

    /// Gives the element to a user. Called once, before all else.
    pub(super) fn lend(self: &Rc<Self>) -> Pooled<T> {
        let State::Here(element) = self.state.replace(State::Lent) else {
            unreachable!("an element is lent when the loan is made");
        };
        Pooled { element: Some(element), loan: self.clone() }
    }

    /// The use has ended. The promise waits for what is done with the element, if it is here.
    pub(super) fn end(&self, is_success: bool) -> Promise<()> {
        match self.state.replace(State::Over) {
            State::Here(element) => self.give_back(element, is_success),
            _ => {
                self.state.replace(State::Ended(is_success));
                ready(())
            }
        }
    }

    /// The element, once its guard is dropped.
    pub(super) fn come_back(&self) -> Promise<T> {
        match self.state.replace(State::Over) {
            State::Here(element) => ready(element),
            _ => {
                let (promise, resolver) = pair();
                self.state.replace(State::Awaited(resolver));
                promise
            }
        }
    }

    fn returned(&self, element: T) {
        match self.state.replace(State::Over) {
            State::Lent => {
                self.state.replace(State::Here(element));
            }
            State::Ended(is_success) => self.give_back(element, is_success).detach(),
            State::Awaited(resolver) => resolver.resolve(element),
            State::Here(_) | State::Over => unreachable!("there is one guard, and it is dropped once"),
        }
    }

    fn give_back(&self, mut element: T, is_success: bool) -> Promise<()> {
        let is_good = is_success || self.pool.is_good(&mut element);
        self.pool.take_back(element, is_good && !self.is_discarded.get(), self.clears)
    }
}

/// An element on loan from a [`Pool`](super::Pool); dropping it gives it back.
#[must_use = "dropping an element gives it back at once"]
pub struct Pooled<T: 'static> {
    /// Empty once the drop has begun.
    element: Option<T>,
    loan: Rc<Loan<T>>,
}

impl<T: 'static> Pooled<T> {
    /// Says that the element is not good any more, and gives it back: the pool disposes of it. Not a
    /// method, so that it hides none of the element's.
    pub fn discard(element: Pooled<T>) {
        element.loan.is_discarded.set(true);
    }
}

impl<T: 'static> Deref for Pooled<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.element.as_ref().expect("a guard has its element until it is dropped")
    }
}

impl<T: 'static> DerefMut for Pooled<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.element.as_mut().expect("a guard has its element until it is dropped")
    }
}

impl<T: 'static> Drop for Pooled<T> {
    fn drop(&mut self) {
        if let Some(element) = self.element.take() {
            self.loan.returned(element);
        }
    }
}

impl<T: fmt::Debug + 'static> fmt::Debug for Pooled<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Pooled").field(&**self).finish()
    }
}

//! The callbacks that run at once in `iter_n`: a node that is told of each, and promises the next free place.
//!
//! ```text
//!   add ─► running, newest first ──told──► settled, not collected ──collect──► gone, or the newest error
//!                                    └──somebody waits for a place──► collected at once, and told
//! ```
//!
//! Each callback's promise is watched once, from when it is added until it is settled, so an element
//! costs O(log callbacks) however many run. Cancelling the promise of a place asks all that run, newest
//! first. A crew owns the promises that run, and they, as their waiter, own the crew: until they are
//! settled, like the inputs of a join.

use crate::promise::batch::Batch;
use crate::promise::cancel::Walk;
use crate::promise::cell::{self, CancelLink, PromiseCell, Work};
use crate::promise::waiters::{Node, Waiter};
use crate::{Promise, Result, join, ready, rejected};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::mem;
use std::rc::Rc;

/// Callbacks that run at once.
#[derive(Default)]
pub(crate) struct Crew(RefCell<State>);

#[derive(Default)]
struct State {
    running: BTreeMap<u64, Promise<()>>,
    added: u64,
    /// How many are settled and not collected.
    settled: usize,
    /// The newest among those that is rejected; a promise, so that it is reported if nobody asks.
    failed: Option<(u64, Promise<()>)>,
    /// Who waits for a place.
    place: Option<Rc<PromiseCell<(), Place>>>,
}

/// What a place waits for: one of all that run.
struct Place(Rc<Crew>);

impl<T: 'static> Work<T> for Place {
    fn cancel_inputs(&self, walk: &mut Walk) {
        self.0.0.borrow().running.values().rev().for_each(|promise| walk.input(promise));
    }
}

/// The waiter of one that runs.
struct Member {
    crew: Rc<Crew>,
    number: u64,
}

impl Node for Member {
    fn run(self: Rc<Self>, _index: u32) -> Option<Batch> {
        let promise = self.crew.0.borrow_mut().running.remove(&self.number)?;
        self.crew.note(self.number, promise.take_settled());
        let place = self.crew.0.borrow_mut().place.take()?;
        let outcome = self.crew.collect().map_or(Ok(()), Promise::take_settled);
        let cell: Rc<PromiseCell<()>> = place;
        cell::settle(&cell, outcome)
    }
}

impl Crew {
    /// Adds a callback's promise.
    pub(super) fn add(self: &Rc<Self>, mut promise: Promise<()>) {
        let number = self.0.borrow().added;
        self.0.borrow_mut().added += 1;
        promise.unwatch();
        match promise.try_take() {
            Ok(result) => self.note(number, result),
            Err(mut pending) => {
                let member = Rc::new(Member { crew: self.clone(), number });
                let old_waiter = pending.watch(Waiter::node(member, 0));
                self.0.borrow_mut().running.insert(number, pending);
                drop(old_waiter);
            }
        }
    }

    fn note(&self, number: u64, result: Result<()>) {
        let mut state = self.0.borrow_mut();
        state.settled += 1;
        let Err(error) = result else { return };
        let mut older = Some((number, rejected(error)));
        if state.failed.as_ref().is_none_or(|(newest, _)| *newest < number) {
            mem::swap(&mut state.failed, &mut older);
        }
        drop(state);
        // Reported, which is user code.
        drop(older);
    }

    /// How many run or are not collected.
    pub(super) fn count(&self) -> usize {
        let state = self.0.borrow();
        state.running.len() + state.settled
    }

    /// Forgets those that are settled; fulfilled, or rejected with the newest error. None if there are none.
    pub(super) fn collect(&self) -> Option<Promise<()>> {
        let mut state = self.0.borrow_mut();
        if mem::take(&mut state.settled) == 0 {
            return None;
        }
        Some(state.failed.take().map_or(ready(()), |(_, failed)| failed))
    }

    /// Settles when one that runs has; those that are settled by then are collected.
    pub(super) fn place(self: &Rc<Self>) -> Promise<()> {
        let place = PromiseCell::pending(CancelLink::Work, Place(self.clone()));
        let replaced = self.0.borrow_mut().place.replace(place.clone());
        debug_assert!(replaced.is_none(), "one loop waits for its own crew");
        Promise::of_cell(place)
    }

    /// Settles when all that run are; an error from before comes first.
    pub(super) fn all(&self) -> Promise<()> {
        let (failed, running) = {
            let mut state = self.0.borrow_mut();
            (state.failed.take(), mem::take(&mut state.running))
        };
        let failed = failed.map(|(_, failed)| failed);
        join(failed.into_iter().chain(running.into_values().rev()))
    }
}

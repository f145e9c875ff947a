//! Whether anybody still looks at a promise that is one step over another.
//!
//! ```text
//!   queue ─► resolver ─► wait ◄─ step (its promise) ◄─ handles, callbacks
//!     └────────► probe ┄┄┄┄┄┄┄┄┄┄┄┄► is anybody here?
//! ```
//!
//! A wait that has a step over it is always waited for: by the step. Who is to give it something scarce asks
//! a probe on the step instead. It holds nothing alive.

use super::cell::{self, PromiseCell};
use super::{Promise, Repr};
use std::cell::RefCell;
use std::rc::{Rc, Weak};

pub(crate) struct Probe<T: 'static>(RefCell<Option<Weak<PromiseCell<T>>>>);

/// A probe, whatever the promise it points at is a promise of.
pub(crate) trait InUse {
    /// Whether anybody but the input holds the promise or has a callback on it. Yes before it is there.
    fn is_in_use(&self) -> bool;
}

impl<T: 'static> Probe<T> {
    pub(crate) fn new() -> Rc<Probe<T>> {
        Rc::new(Probe(RefCell::new(None)))
    }

    /// Points at a promise that was made by one step over a pending one.
    pub(crate) fn point_at(&self, step: &Promise<T>) {
        if let Repr::Cell(handle) = &step.repr {
            *self.0.borrow_mut() = Some(Rc::downgrade(&handle.cell));
        }
    }
}

impl<T: 'static> InUse for Probe<T> {
    fn is_in_use(&self) -> bool {
        const INPUT_AND_PROBE: usize = 2;
        match &*self.0.borrow() {
            None => true,
            Some(cell) => cell.upgrade().is_some_and(|cell| cell::is_wanted(&cell, INPUT_AND_PROBE)),
        }
    }
}

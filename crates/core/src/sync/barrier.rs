//! A barrier: all wait until so many have arrived, then all go on; and again.
//!
//! ```text
//!   round n:  arrive, arrive, … ──the last arrives──► the queue is emptied, then all are told ──► n + 1
//! ```
//!
//! The queue is emptied before anybody is told: who arrives again while the others are still being told is
//! in the next round.

use super::queue::{Entry, Home, Queue, stand_in_line};
use crate::{Promise, Resolver, ready};
use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

/// A meeting point of a fixed number of participants.
///
/// A `Barrier` is a handle: a clone is the same barrier. When the last one is dropped, those who still
/// wait are rejected with `Abandoned`.
///
/// ```
/// use lisle_core::sync::Barrier;
/// let start = Barrier::new(2);
/// let first = start.wait();
/// assert!(first.is_pending());
/// let second = start.wait();
/// assert!(!first.try_take().unwrap().unwrap().is_leader());
/// assert!(second.try_take().unwrap().unwrap().is_leader());
/// ```
pub struct Barrier {
    inner: Rc<Inner>,
}

struct Inner {
    participants: usize,
    arrived: RefCell<Queue<Participant>>,
}

struct Participant(Resolver<Arrival>);

impl Entry for Participant {
    /// Also one whose promise was dropped has arrived.
    fn is_live(&self) -> bool {
        self.0.is_pending()
    }
}

impl Home<Participant> for Inner {
    fn queue(&self) -> &RefCell<Queue<Participant>> {
        &self.arrived
    }
}

impl Inner {
    /// Whether only one participant is missing. Those that are cancelled and have not left yet do not
    /// count; they are looked for only if it could be so, once a round as a rule.
    fn is_last(&self) -> bool {
        let arrived = self.arrived.borrow();
        arrived.len() + 1 >= self.participants && arrived.live_count() + 1 >= self.participants
    }
}

/// What those who met at a [`Barrier`] are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    is_leader: bool,
}

impl Arrival {
    /// Whether this was the last to arrive, of whom there is one in each round.
    #[must_use]
    pub fn is_leader(self) -> bool {
        self.is_leader
    }
}

impl Barrier {
    /// A barrier for so many; one for none is one for a single participant.
    #[must_use]
    pub fn new(participants: usize) -> Barrier {
        let arrived = RefCell::new(Queue::new());
        Barrier { inner: Rc::new(Inner { participants: participants.max(1), arrived }) }
    }

    /// Arrives, and waits for the others; the last one does not wait.
    ///
    /// Cancelling takes the arrival back. If the promise is dropped, its participant has arrived all the
    /// same. The others are told, oldest first, before the last one's call returns, or after the resolution
    /// in progress.
    ///
    /// # Errors
    /// `Canceled`; `Abandoned` if the last handle of the barrier is gone.
    pub fn wait(&self) -> Promise<Arrival> {
        if !self.inner.is_last() {
            return stand_in_line(&self.inner, Participant);
        }
        let mut round = self.inner.arrived.borrow_mut().take();
        while let Some(Participant(resolver)) = round.pop() {
            resolver.resolve(Arrival { is_leader: false });
        }
        ready(Arrival { is_leader: true })
    }
}

impl Clone for Barrier {
    fn clone(&self) -> Barrier {
        Barrier { inner: self.inner.clone() }
    }
}

impl fmt::Debug for Barrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Barrier").field("participants", &self.inner.participants).finish_non_exhaustive()
    }
}

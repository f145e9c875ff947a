//! The promise of an event's next occurrence.
//!
//! It is a leaf promise: a token of the table here, whose entry owns a vertex that listens to the event. So
//! dropping the promise, or cancelling it, takes the vertex out of the graph at once, and a program that
//! gives up a million of them keeps none.
//!
//! ```text
//!   Promise ──token──► Entry ══► listening vertex ═══► event
//!                        ▲──────── weak ───┘
//! ```

use super::event::Event;
use super::step;
use crate::source::{CancelReply, Source, leaf};
use crate::{Error, Promise, Result, Status, Waiter};
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::{Rc, Weak};

thread_local! {
    static ENTRIES: RefCell<HashMap<u64, Rc<dyn Any>>> = RefCell::new(HashMap::new());
    static TOKENS: Cell<u64> = const { Cell::new(0) };
}

struct Entry<A: 'static> {
    waiter: RefCell<Option<Waiter>>,
    result: RefCell<Option<Result<Rc<A>>>>,
    listener: RefCell<Option<Event<()>>>,
}

impl<A: 'static> Entry<A> {
    /// Settles it, unless it is settled; whom to tell.
    fn settle(&self, result: Result<Rc<A>>) -> Option<Waiter> {
        if self.result.borrow().is_some() {
            return None;
        }
        *self.result.borrow_mut() = Some(result);
        let listener = self.listener.take();
        let waiter = self.waiter.take();
        drop(listener);
        waiter
    }

    fn status(&self) -> Status {
        match &*self.result.borrow() {
            None => Status::Pending,
            Some(Ok(_)) => Status::Fulfilled,
            Some(Err(_)) => Status::Rejected,
        }
    }
}

fn entry<A: 'static>(token: u64) -> Option<Rc<Entry<A>>> {
    let any = ENTRIES.try_with(|entries| entries.borrow().get(&token).cloned()).ok().flatten()?;
    any.downcast().ok()
}

fn remove(token: u64) -> Option<Rc<dyn Any>> {
    ENTRIES.try_with(|entries| entries.borrow_mut().remove(&token)).ok().flatten()
}

/// The table, for occurrences of any type.
struct Nexts;

impl<A: Clone + 'static> Source<A> for Nexts {
    fn take(&self, token: u64) -> Option<Result<A>> {
        let Some(entry) = entry::<A>(token) else { return Some(Err(Error::abandoned())) };
        let result = entry.result.take()?;
        let removed = remove(token);
        drop(removed);
        Some(result.map(Rc::unwrap_or_clone))
    }

    fn status(&self, token: u64) -> Status {
        entry::<A>(token).map_or(Status::Rejected, |entry| entry.status())
    }

    fn watch(&self, token: u64, waiter: Waiter) {
        let old = entry::<A>(token).and_then(|entry| entry.waiter.replace(Some(waiter)));
        drop(old);
    }

    fn unwatch(&self, token: u64) {
        let old = entry::<A>(token).and_then(|entry| entry.waiter.take());
        drop(old);
    }

    fn cancel(&self, token: u64) -> CancelReply {
        match entry::<A>(token) {
            Some(entry) if entry.status() == Status::Pending => {
                CancelReply::Settled(entry.settle(Err(Error::canceled())))
            }
            _ => CancelReply::Later,
        }
    }

    fn release(&self, token: u64) {
        let removed = remove(token);
        drop(removed);
    }
}

impl<A: Clone + 'static> Event<A> {
    /// The value of the next occurrence.
    ///
    /// The promise is fulfilled when the step of the occurrence is over, before the outermost send returns;
    /// what is asked for then is the occurrence after it. Asked for by a function of the graph in a step in
    /// which the event occurs, it is that occurrence.
    ///
    /// Cancelling it, or dropping it, takes it off the event; nothing is lost, since nothing is consumed: an
    /// occurrence between two calls is not seen (see [`Event::to_stream`] for all of them). An event that
    /// can never occur again leaves it pending.
    ///
    /// ```
    /// let (event, sender) = lisle_core::react::event();
    /// let next = event.next();
    /// sender.send(7);
    /// assert_eq!(next.try_take().unwrap().unwrap(), 7);
    /// ```
    pub fn next(&self) -> Promise<A> {
        let token = TOKENS.replace(TOKENS.get() + 1);
        let entry = Rc::new(Entry {
            waiter: RefCell::new(None),
            result: RefCell::new(None),
            listener: RefCell::new(None),
        });
        let weak = Rc::downgrade(&entry);
        *entry.listener.borrow_mut() = Some(self.listen(weak));
        ENTRIES.with_borrow_mut(|entries| entries.insert(token, entry));
        leaf(&Nexts, token)
    }

    /// A vertex that settles the entry, which drops it, when the event has occurred; a second
    /// occurrence before that finds it settled.
    fn listen(&self, entry: Weak<Entry<A>>) -> Event<()> {
        self.effect(move |value| {
            if let Some(waiter) = entry.upgrade().and_then(|entry| entry.settle(Ok(value))) {
                waiter.wake();
            }
        })
    }
}

impl<A: 'static> Event<A> {
    /// Runs `f` with each value when its step is over, as long as the vertex exists.
    pub(super) fn effect(&self, f: impl Fn(Rc<A>) + 'static) -> Event<()> {
        Event::derive(|inputs| {
            let input = inputs.add(&self.node);
            let f = Rc::new(f);
            move || {
                if let Some(value) = input.occurrence() {
                    let f = Rc::downgrade(&f);
                    step::after(move || {
                        if let Some(f) = f.upgrade() {
                            f(value);
                        }
                    });
                }
                None
            }
        })
    }
}

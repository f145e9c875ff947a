//! Events that remember: the value before, an accumulator, or that it is over.
//!
//! What is remembered lies in a cell of the vertex's own and is replaced when the function has returned; so a
//! function that panics leaves it as it was. An event that is over lets go of its input.

use super::event::Event;
use super::signal::Signal;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

impl<A: 'static> Event<A> {
    /// Occurs with `f` of the value and the one before it; so not at the first occurrence.
    pub fn diff<B: 'static>(&self, f: impl Fn(&A, &A) -> B + 'static) -> Event<B> {
        Event::derive(|inputs| {
            let input = inputs.add(&self.node);
            let before: RefCell<Option<Rc<A>>> = RefCell::new(None);
            move || {
                let new = input.occurrence()?;
                let old = before.replace(Some(new.clone()))?;
                Some(Rc::new(f(&new, &old)))
            }
        })
    }

    /// The occurrences whose value is not equal to the one before.
    #[doc(alias = "dedup")]
    pub fn changes(&self) -> Event<A>
    where
        A: PartialEq,
    {
        Event::derive(|inputs| {
            let input = inputs.add(&self.node);
            let before: RefCell<Option<Rc<A>>> = RefCell::new(None);
            move || {
                let new = input.occurrence()?;
                let old = before.borrow().clone();
                if old.as_ref().is_some_and(|old| **old == *new) {
                    return None;
                }
                let forgotten = before.replace(Some(new.clone()));
                drop((old, forgotten));
                Some(new)
            }
        })
    }

    /// The next occurrence and no other.
    pub fn once(&self) -> Event<A> {
        Event::derive(|inputs| {
            let input = RefCell::new(Some(inputs.add(&self.node)));
            move || {
                let occurrence = input.borrow().as_ref()?.occurrence()?;
                let over = input.take();
                drop(over);
                Some(occurrence)
            }
        })
    }

    /// All occurrences but the next.
    pub fn drop_once(&self) -> Event<A> {
        Event::derive(|inputs| {
            let input = inputs.add(&self.node);
            let first = Cell::new(true);
            move || input.occurrence().filter(|_| !first.replace(false))
        })
    }

    /// The occurrences before the first of `end`; one that is simultaneous with it is none.
    #[doc(alias = "take_until")]
    pub fn until<B: 'static>(&self, end: &Event<B>) -> Event<A> {
        Event::derive(|inputs| {
            let both = RefCell::new(Some((inputs.add(&self.node), inputs.add(&end.node))));
            move || {
                let (ended, occurrence) = {
                    let both = both.borrow();
                    let (input, end) = both.as_ref()?;
                    (end.is_fresh(), input.occurrence())
                };
                if ended {
                    let over = both.take();
                    drop(over);
                    return None;
                }
                occurrence
            }
        })
    }

    /// Occurs with each state: `f` of the one before, at first `first`, and the value.
    ///
    /// The state is passed by reference, since the occurrences share it.
    #[doc(alias = "scan")]
    pub fn fold<B: 'static>(&self, first: B, f: impl Fn(&B, &A) -> B + 'static) -> Event<B> {
        self.fold_shared(Rc::new(first), f)
    }

    fn fold_shared<B: 'static>(&self, first: Rc<B>, f: impl Fn(&B, &A) -> B + 'static) -> Event<B> {
        Event::derive(|inputs| {
            let input = inputs.add(&self.node);
            let state = RefCell::new(first);
            move || {
                let value = input.occurrence()?;
                let old = state.borrow().clone();
                let new = Rc::new(f(&old, &value));
                let forgotten = state.replace(new.clone());
                drop((old, forgotten));
                Some(new)
            }
        })
    }

    /// For an event of functions: occurs with each state, the function of the one before.
    ///
    /// ```
    /// use lisle_core::react::{Event, event};
    /// let (functions, sender) = event::<fn(&u32) -> u32>();
    /// let state = functions.accum(20).hold(20);
    /// sender.send(|n| n + 1);
    /// sender.send(|n| n * 2);
    /// assert_eq!(state.value(), 42);
    /// ```
    pub fn accum<B: 'static>(&self, first: B) -> Event<B>
    where
        A: Fn(&B) -> B,
    {
        self.fold(first, |state, f| f(state))
    }
}

impl<A: PartialEq + 'static> Signal<A> {
    /// The state of [`Event::fold`], as a signal.
    pub fn fold<B: 'static>(event: &Event<B>, first: A, f: impl Fn(&A, &B) -> A + 'static) -> Signal<A> {
        let first = Rc::new(first);
        event.fold_shared(first.clone(), f).hold_shared(first)
    }

    /// The state of [`Event::accum`], as a signal.
    pub fn accum<F: Fn(&A) -> A + 'static>(functions: &Event<F>, first: A) -> Signal<A> {
        Signal::fold(functions, first, |state, f| f(state))
    }
}

//! Events: the handle, the primitive with its sender, and what is made of one or several without a memory.
//!
//! A vertex of an event holds its occurrence during the step in which it occurs, and nothing otherwise. The
//! value is behind an `Rc`, so that `filter`, `select` or a signal pass it on without a copy, and a function
//! gets `&A` with nothing borrowed. Not here: combinators that remember (`memory.rs`), dynamic ones
//! (`switch.rs`), those with promises (`next.rs`, `source.rs`, `serial.rs`, `parallel.rs`, `limit.rs`).

use super::graph::{Head, Held, Input, Inputs, Vertex};
use super::signal::Signal;
use super::step::{self, Assignment, Step};
use crate::promise::run_callback;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::rc::{Rc, Weak};

/// A vertex that occurs with an `A`.
pub(super) trait Occurs<A>: Vertex {
    fn occurrence(&self) -> Option<Rc<A>>;
}

pub(super) type EventInput<A> = Input<dyn Occurs<A>>;

struct EventNode<A, W> {
    head: Head,
    occurrence: RefCell<Option<Rc<A>>>,
    work: W,
}

impl<A: 'static, W: Fn() -> Option<Rc<A>> + 'static> Vertex for EventNode<A, W> {
    fn head(&self) -> &Head {
        &self.head
    }

    fn update(&self) -> bool {
        let occurrence = step::shielded(&self.work);
        let occurs = occurrence.is_some();
        let old = self.occurrence.replace(occurrence);
        run_callback(|| drop(old));
        occurs
    }

    fn is_fresh(&self) -> bool {
        self.occurrence.borrow().is_some()
    }

    fn clear(&self) {
        let old = self.occurrence.take();
        drop(old);
    }

    fn into_vertex(self: Rc<Self>) -> Rc<dyn Vertex> {
        self
    }
}

impl<A: 'static, W: Fn() -> Option<Rc<A>> + 'static> Occurs<A> for EventNode<A, W> {
    fn occurrence(&self) -> Option<Rc<A>> {
        self.occurrence.borrow().clone()
    }
}

/// Something that happens now and then, with a value: at most once in a step.
///
/// A handle keeps its event at work, and with it all that the event is made of. When the last handle of an
/// event is dropped, its function never runs again. Clones are handles of the same event; `==` tells whether
/// two are.
///
/// ```
/// use lisle_core::react::event;
/// let (clicks, sender) = event::<u32>();
/// let doubled = clicks.map(|n| n * 2);
/// let total = doubled.fold(0, |sum, n| sum + n).hold(0);
/// sender.send(1);
/// sender.send(20);
/// assert_eq!(total.value(), 42);
/// ```
///
/// Its functions return values; there is nothing in them that could wait:
///
/// ```compile_fail,E0728
/// # let (clicks, _sender) = lisle_core::react::event::<u32>();
/// let waits = clicks.map(|n| { lisle_core::pause().await; n * 2 });
/// ```
///
/// Nor can what is only lent for a while be used in them, such as a fiber or a [`Step`]:
///
/// ```compile_fail,E0373
/// # let (clicks, _sender) = lisle_core::react::event::<u32>();
/// fn with_lent(clicks: &lisle_core::react::Event<u32>, lent: &u32) {
///     let uses = clicks.map(|n| n + lent);
/// }
/// ```
///
/// ```compile_fail,E0521
/// # let (clicks, sender) = lisle_core::react::event::<u32>();
/// lisle_core::react::step(|step| clicks.map(move |n| step.send(&sender, *n)).keep());
/// ```
#[must_use = "an event is at work as long as it has a handle; say so with `keep`"]
pub struct Event<A: 'static> {
    pub(super) node: Held<dyn Occurs<A>>,
}

impl<A: 'static> Event<A> {
    /// An event whose occurrences `work` gives, whenever an input of it is fresh.
    pub(super) fn derive<W>(build: impl FnOnce(&Inputs) -> W) -> Event<A>
    where
        W: Fn() -> Option<Rc<A>> + 'static,
    {
        let mut fresh = false;
        let node = Rc::new_cyclic(|me: &Weak<EventNode<A, W>>| {
            let inputs = Inputs::of(me.clone());
            let work = build(&inputs);
            fresh = inputs.any_fresh();
            EventNode { head: inputs.head(), occurrence: RefCell::new(None), work }
        });
        if fresh {
            let me: Rc<dyn Vertex> = node.clone();
            step::schedule(&Rc::downgrade(&me), &node.head);
        }
        Event { node: Held::new(node) }
    }

    /// An event that never occurs.
    pub fn never() -> Event<A> {
        Event::derive(|_| || None)
    }

    /// This event with each value replaced by `f` of it.
    #[doc(alias = "inspect")]
    #[doc(alias = "trace")]
    pub fn map<B: 'static>(&self, f: impl Fn(&A) -> B + 'static) -> Event<B> {
        Event::derive(|inputs| {
            let input = inputs.add(&self.node);
            move || input.occurrence().map(|a| Rc::new(f(&a)))
        })
    }

    /// This event with each value replaced by the same one.
    pub fn stamp<B: Clone + 'static>(&self, value: B) -> Event<B> {
        self.map(move |_| value.clone())
    }

    /// The occurrences whose value passes the test.
    pub fn filter(&self, test: impl Fn(&A) -> bool + 'static) -> Event<A> {
        Event::derive(|inputs| {
            let input = inputs.add(&self.node);
            move || input.occurrence().filter(|a| test(a))
        })
    }

    /// The occurrences for which `f` gives a value, with that value.
    #[doc(alias = "fmap")]
    pub fn filter_map<B: 'static>(&self, f: impl Fn(&A) -> Option<B> + 'static) -> Event<B> {
        Event::derive(|inputs| {
            let input = inputs.add(&self.node);
            move || input.occurrence().and_then(|a| f(&a)).map(Rc::new)
        })
    }

    /// The occurrences while the condition holds; its value in the same step counts.
    #[doc(alias = "when")]
    #[doc(alias = "when_")]
    pub fn on(&self, condition: &Signal<bool>) -> Event<A> {
        Event::derive(|inputs| {
            let input = inputs.add(&self.node);
            let condition = inputs.add(&condition.node);
            move || input.occurrence().filter(|_| *condition.value())
        })
    }

    /// The occurrences that are not simultaneous with one of `other`.
    pub fn dismiss<B: 'static>(&self, other: &Event<B>) -> Event<A> {
        Event::derive(|inputs| {
            let input = inputs.add(&self.node);
            let other = inputs.add(&other.node);
            move || input.occurrence().filter(|_| other.occurrence().is_none())
        })
    }

    /// Occurs when both events do, with `f` of their values.
    ///
    /// For more than two: `a.l2(&b, pair).l2(&c, f)`.
    #[doc(alias = "both")]
    #[doc(alias = "zip")]
    pub fn l2<B: 'static, C: 'static>(
        &self,
        other: &Event<B>,
        f: impl Fn(&A, &B) -> C + 'static,
    ) -> Event<C> {
        Event::derive(|inputs| {
            let input = inputs.add(&self.node);
            let other = inputs.add(&other.node);
            move || Some(Rc::new(f(&*input.occurrence()?, &*other.occurrence()?)))
        })
    }

    /// For an event of functions: occurs when both events do, with the function of the value.
    pub fn app<B: 'static, C: 'static>(&self, values: &Event<B>) -> Event<C>
    where
        A: Fn(&B) -> C,
    {
        self.l2(values, |f, value| f(value))
    }

    /// Occurs when one of the events does, with the value of the first of those.
    pub fn select(events: impl IntoIterator<Item = Event<A>>) -> Event<A> {
        Event::derive(|inputs| {
            let list: Vec<EventInput<A>> = events.into_iter().map(|e| inputs.add(&e.node)).collect();
            move || list.iter().find_map(|event| event.occurrence())
        })
    }

    /// Occurs when one of the events does, with `f` folded over the values of those that do, in their order.
    ///
    /// ```
    /// use lisle_core::react::{Event, event, step};
    /// let ((a, send_a), (b, send_b)) = (event::<u32>(), event::<u32>());
    /// let sum = Event::merge([a, b], 0, |sum, n| sum + n).hold(0);
    /// step(|step| {
    ///     step.send(&send_a, 1);
    ///     step.send(&send_b, 2);
    /// });
    /// assert_eq!(sum.value(), 3);
    /// ```
    pub fn merge<B: Clone + 'static>(
        events: impl IntoIterator<Item = Event<A>>,
        first: B,
        f: impl Fn(B, &A) -> B + 'static,
    ) -> Event<B> {
        let together = Event::gather(events);
        together.map(move |values| values.iter().fold(first.clone(), |sum, value| f(sum, value)))
    }

    /// The values of those events that occur in a step, in the order of the events.
    pub(super) fn gather(events: impl IntoIterator<Item = Event<A>>) -> Event<Vec<Rc<A>>> {
        Event::derive(|inputs| {
            let list: Vec<EventInput<A>> = events.into_iter().map(|e| inputs.add(&e.node)).collect();
            move || {
                let values: Vec<Rc<A>> = list.iter().filter_map(|event| event.occurrence()).collect();
                (!values.is_empty()).then(|| Rc::new(values))
            }
        })
    }

    /// The same event; what `held` is lives as long as it does.
    pub(super) fn holding<H: 'static>(&self, held: H) -> Event<A> {
        Event::derive(|inputs| {
            let input = inputs.add(&self.node);
            move || {
                let _ = &held;
                input.occurrence()
            }
        })
    }
}

impl<A: 'static> Clone for Event<A> {
    fn clone(&self) -> Event<A> {
        Event { node: self.node.clone() }
    }
}

impl<A: 'static> PartialEq for Event<A> {
    fn eq(&self, other: &Event<A>) -> bool {
        self.node.head().number == other.node.head().number
    }
}

impl<A: 'static> Eq for Event<A> {}

impl<A: 'static> fmt::Debug for Event<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Event({})", self.node.head().number)
    }
}

/// The vertex of an event that is sent from outside.
struct Primitive<A> {
    head: Head,
    occurrence: RefCell<Option<Rc<A>>>,
    /// The last step in which something was sent.
    sent_in: Cell<u64>,
}

impl<A: 'static> Vertex for Primitive<A> {
    fn head(&self) -> &Head {
        &self.head
    }

    fn update(&self) -> bool {
        false
    }

    fn is_fresh(&self) -> bool {
        self.occurrence.borrow().is_some()
    }

    fn clear(&self) {
        let old = self.occurrence.take();
        drop(old);
    }

    fn into_vertex(self: Rc<Self>) -> Rc<dyn Vertex> {
        self
    }
}

impl<A: 'static> Occurs<A> for Primitive<A> {
    fn occurrence(&self) -> Option<Rc<A>> {
        self.occurrence.borrow().clone()
    }
}

/// An event and its sender.
///
/// ```
/// let (event, sender) = lisle_core::react::event();
/// let seen = event.hold(0);
/// sender.send(7);
/// assert_eq!(seen.value(), 7);
/// ```
#[doc(alias = "create")]
pub fn event<A: 'static>() -> (Event<A>, Sender<A>) {
    let node =
        Rc::new(Primitive { head: Head::primitive(), occurrence: RefCell::new(None), sent_in: Cell::new(0) });
    let sender = Sender { node: Rc::downgrade(&node) };
    (Event { node: Held::new(node) }, sender)
}

/// Makes a primitive event occur. Does not keep it alive: when nobody holds the event, sending does nothing.
pub struct Sender<A: 'static> {
    node: Weak<Primitive<A>>,
}

impl<A: 'static> Sender<A> {
    /// Makes the event occur: one step, done when this returns.
    ///
    /// Called from a function of the graph, it is the next step, done when the outermost send returns. Two
    /// functions that send to each other for ever never return.
    pub fn send(&self, value: A) {
        self.send_shared(Rc::new(value));
    }

    pub(super) fn send_shared(&self, value: Rc<A>) {
        step::run_one(Send { node: self.node.clone(), value }, Send::give);
    }

    /// Whether somebody still holds the event, or something made of it.
    #[must_use]
    #[doc(alias = "is_closed")]
    pub fn is_connected(&self) -> bool {
        self.node.upgrade().is_some_and(|node| !Held::<Primitive<A>>::new(node).head.is_dead())
    }
}

impl Step {
    /// Lets the event occur in this step. Of several values for one event the last counts.
    pub fn send<A: 'static>(&mut self, sender: &Sender<A>, value: A) {
        self.add(Send { node: sender.node.clone(), value: Rc::new(value) });
    }
}

struct Send<A> {
    node: Weak<Primitive<A>>,
    value: Rc<A>,
}

impl<A: 'static> Send<A> {
    fn give(self) {
        let Some(node) = self.node.upgrade().map(Held::<Primitive<A>>::new) else { return };
        if !node.head.is_dead() && node.sent_in.replace(step::current()) != step::current() {
            *node.occurrence.borrow_mut() = Some(self.value);
            step::has_occurred(self.node);
            step::schedule_dependents(&node.head);
        }
    }
}

impl<A: 'static> Assignment for Send<A> {
    fn assign(self: Box<Self>) {
        self.give();
    }
}

impl<A: 'static> Clone for Sender<A> {
    fn clone(&self) -> Sender<A> {
        Sender { node: self.node.clone() }
    }
}

impl<A: 'static> fmt::Debug for Sender<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").field("connected", &self.is_connected()).finish()
    }
}

//! Dynamic graphs: events and signals that turn to others while they are at work, and feedback.
//!
//! A switch that turns to another input in a step is updated once more in that step, above the new input
//! (`graph::turn`). It cannot be turned to something that depends on it: that is a panic of the function in
//! which it happens, told to the hook, and the switch stays as it was. Feedback goes through [`Event::fix`],
//! which delays by one step.

use super::event::{Event, event};
use super::graph::turn;
use super::signal::{Signal, signal_shared};
use std::cell::RefCell;
use std::rc::Rc;

impl<A: 'static> Event<A> {
    /// Occurs as this event until `events` occurs, then as the event it occurred last with, including the
    /// occurrence of that event in the same step.
    ///
    /// ```
    /// use lisle_core::react::event;
    /// let ((first, send_first), (second, send_second)) = (event(), event());
    /// let (turns, turn_to) = event();
    /// let seen = first.switch(&turns).hold(0);
    /// send_first.send(1);
    /// turn_to.send(second);
    /// send_first.send(2);
    /// assert_eq!(seen.value(), 1);
    /// send_second.send(3);
    /// assert_eq!(seen.value(), 3);
    /// ```
    pub fn switch(&self, events: &Event<Event<A>>) -> Event<A> {
        Event::derive(|inputs| {
            let outer = inputs.add(&events.node);
            let inner = RefCell::new(inputs.add(&self.node));
            let me = inputs.me();
            move || {
                if let Some(next) = outer.occurrence() {
                    let turned = !inner.borrow().is(&next.node);
                    if turned {
                        turn(&me, &inner, &next.node);
                        return None;
                    }
                }
                inner.borrow().occurrence()
            }
        })
    }

    /// Feedback: `f` gets an event that occurs as its result does, one step later.
    ///
    /// ```
    /// use lisle_core::react::{Event, event};
    /// let (numbers, sender) = event::<u32>();
    /// let halved = Event::fix(|fed_back| {
    ///     let again = fed_back.filter_map(|n| (n % 2 == 0).then_some(n / 2));
    ///     Event::select([numbers.clone(), again])
    /// });
    /// let odd = halved.filter(|n| n % 2 == 1).hold(0);
    /// sender.send(40);
    /// assert_eq!(odd.value(), 5);
    /// ```
    pub fn fix(f: impl FnOnce(&Event<A>) -> Event<A>) -> Event<A> {
        let (fed_back, sender) = event();
        let result = f(&fed_back);
        let link = Event::derive(|inputs| {
            let input = inputs.add(&result.node);
            move || {
                if let Some(value) = input.occurrence() {
                    sender.send_shared(value);
                }
                None::<Rc<()>>
            }
        });
        result.holding((fed_back, link))
    }
}

impl<A: PartialEq + 'static> Signal<Signal<A>> {
    /// The value of the signal that is the value of this one.
    #[doc(alias = "flatten")]
    pub fn switch(&self) -> Signal<A> {
        Signal::derive(None, |inputs| {
            let outer = inputs.add(&self.node);
            let chosen = RefCell::new(outer.value());
            let inner = RefCell::new(inputs.add(&self.node.value().node));
            let me = inputs.me();
            move || {
                let next = outer.value();
                let old = chosen.replace(next.clone());
                // Each is tried once: if it is refused, the signal of before goes on.
                if *old != *next {
                    turn(&me, &inner, &next.node);
                    return None;
                }
                Some(inner.borrow().value())
            }
        })
    }
}

impl<A: 'static> Signal<A> {
    /// The value of the signal that `f` gives for the value; `f` is called at each change.
    ///
    /// ```
    /// use lisle_core::react::{Signal, signal};
    /// let (left, set_left) = signal(1);
    /// let (right, _) = signal(10);
    /// let (use_left, choose_left) = signal(true);
    /// let chosen = use_left.bind(move |&on| if on { left.clone() } else { right.clone() });
    /// set_left.set(2);
    /// assert_eq!(chosen.value(), 2);
    /// choose_left.set(false);
    /// assert_eq!(chosen.value(), 10);
    /// ```
    ///
    /// # Panics
    /// If `f` panics on the value as of now.
    #[doc(alias = "and_then")]
    #[doc(alias = "flat_map")]
    pub fn bind<B: PartialEq + 'static>(&self, f: impl Fn(&A) -> Signal<B> + 'static) -> Signal<B> {
        self.map(f).switch()
    }
}

impl<A: PartialEq + 'static> Signal<A> {
    /// Feedback: `f` gets a signal that is as its result, one step later, and at first `first`.
    pub fn fix(first: A, f: impl FnOnce(&Signal<A>) -> Signal<A>) -> Signal<A> {
        let (fed_back, setter) = signal_shared(Rc::new(first));
        let result = f(&fed_back);
        let feed = setter.clone();
        let link = Event::derive(|inputs| {
            let input = inputs.add(&result.node);
            move || {
                if input.is_fresh() {
                    feed.set_shared(input.value());
                }
                None::<Rc<()>>
            }
        });
        setter.set_shared(result.shared_value());
        result.holding((fed_back, link))
    }
}

//! Signals: the handle, the primitive with its setter, and what is made of one or several.
//!
//! A signal always has a value; it *changes* in a step when the new value differs by `==`. The value is
//! behind an `Rc`, so functions get `&A` with nothing borrowed. Whether it changed in this step is the
//! number of the step in which it last did. Not here: dynamic signals (`switch.rs`), promises
//! (`signal_promises.rs`, `limit.rs`).

use super::event::Event;
use super::graph::{Head, Held, Input, Inputs, Vertex};
use super::step::{self, Assignment, Step};
use crate::promise::run_callback;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::ops::Deref;
use std::rc::{Rc, Weak};

/// A vertex that always has an `A`.
pub(super) trait Keeps<A>: Vertex {
    fn value(&self) -> Rc<A>;
}

pub(super) type SignalInput<A> = Input<dyn Keeps<A>>;

/// The value of a signal, and when it changed.
struct Value<A> {
    /// Empty only until the first value is worked out; nobody has a handle before.
    current: RefCell<Option<Rc<A>>>,
    changed_in: Cell<u64>,
    same: fn(&A, &A) -> bool,
}

impl<A> Value<A> {
    fn new(current: Option<Rc<A>>, same: fn(&A, &A) -> bool) -> Value<A> {
        Value { current: RefCell::new(current), changed_in: Cell::new(0), same }
    }

    fn get(&self) -> Rc<A> {
        self.current.borrow().clone().expect("a signal has its value before it has handles")
    }

    /// Takes a new value over, if it differs; whether it did. Runs the user's `==` and drop.
    fn change(&self, new: Rc<A>) -> bool {
        if (self.same)(&self.get(), &new) {
            return false;
        }
        let old = self.current.replace(Some(new));
        self.changed_in.set(step::current());
        run_callback(|| drop(old));
        true
    }

    fn is_fresh(&self) -> bool {
        step::current() != 0 && self.changed_in.get() == step::current()
    }
}

struct SignalNode<A, W> {
    head: Head,
    value: Value<A>,
    work: W,
}

impl<A: 'static, W: Fn() -> Option<Rc<A>> + 'static> Vertex for SignalNode<A, W> {
    fn head(&self) -> &Head {
        &self.head
    }

    fn update(&self) -> bool {
        let changed = step::shielded(|| {
            let new = (self.work)()?;
            self.value.change(new).then_some(())
        });
        changed.is_some()
    }

    fn is_fresh(&self) -> bool {
        self.value.is_fresh()
    }

    fn clear(&self) {}

    fn into_vertex(self: Rc<Self>) -> Rc<dyn Vertex> {
        self
    }
}

impl<A: 'static, W: Fn() -> Option<Rc<A>> + 'static> Keeps<A> for SignalNode<A, W> {
    fn value(&self) -> Rc<A> {
        self.value.get()
    }
}

/// A value that changes over time, by steps.
///
/// A handle keeps its signal at work, and with it all that the signal is made of. When the last
/// handle of a signal is dropped, its function never runs again. Clones are handles of the same
/// signal; `==` tells whether two are.
///
/// Values are compared by `==`: a step that gives an equal value changes nothing, and nothing that depends on
/// the signal is worked out again. Give a type that cannot be compared, or should not be, as [`Fresh`]; for
/// another equality, a type of its own.
///
/// ```
/// use lisle_core::react::signal;
/// let (celsius, set_celsius) = signal(20.0);
/// let fahrenheit = celsius.map(|c| c * 9.0 / 5.0 + 32.0);
/// assert_eq!(fahrenheit.value(), 68.0);
/// set_celsius.set(100.0);
/// assert_eq!(fahrenheit.value(), 212.0);
/// ```
///
/// The functions of a signal cannot wait, and an `async` block is no value of the right type:
///
/// ```compile_fail,E0308
/// let (on, _set) = lisle_core::react::signal(true);
/// let later = on.filter(false, |on| async move { lisle_core::pause().await; *on });
/// ```
#[must_use = "a signal is at work as long as it has a handle; say so with `keep`"]
pub struct Signal<A: 'static> {
    pub(super) node: Held<dyn Keeps<A>>,
}

impl<A: 'static> Signal<A> {
    /// A signal whose values `work` gives, whenever an input of it is fresh; `None` leaves the value, and at
    /// first gives `first`.
    ///
    /// # Panics
    /// If `work` does, now: there would be no value. Or if it gives none and there is no `first`.
    pub(super) fn derive<W>(first: Option<Rc<A>>, build: impl FnOnce(&Inputs) -> W) -> Signal<A>
    where
        A: PartialEq,
        W: Fn() -> Option<Rc<A>> + 'static,
    {
        Signal::derive_by(A::eq, first, build)
    }

    fn derive_by<W>(
        same: fn(&A, &A) -> bool,
        first: Option<Rc<A>>,
        build: impl FnOnce(&Inputs) -> W,
    ) -> Signal<A>
    where
        W: Fn() -> Option<Rc<A>> + 'static,
    {
        step::build(|| {
            let mut fresh = false;
            let node = Rc::new_cyclic(|me: &Weak<SignalNode<A, W>>| {
                let inputs = Inputs::of(me.clone());
                let work = build(&inputs);
                fresh = inputs.any_fresh();
                SignalNode { head: inputs.head(), value: Value::new(first, same), work }
            });
            let handle = Signal { node: Held::new(node.clone()) };
            if let Some(value) = (node.work)() {
                let unused = node.value.current.replace(Some(value));
                drop(unused);
            }
            if fresh {
                let me: Rc<dyn Vertex> = node.clone();
                step::schedule(&Rc::downgrade(&me), &node.head);
            }
            handle
        })
    }

    /// The value as of now.
    ///
    /// In a function of the graph, a signal that it does not depend on may or may not have changed yet in
    /// this step: make it an input (`l2`, `sample`) instead.
    #[must_use]
    pub fn value(&self) -> A
    where
        A: Clone,
    {
        A::clone(&self.node.value())
    }

    /// Gives the value as of now to `f`, without a clone.
    pub fn with<R>(&self, f: impl FnOnce(&A) -> R) -> R {
        f(&self.node.value())
    }

    /// The value as of now, shared.
    pub(super) fn shared_value(&self) -> Rc<A> {
        self.node.value()
    }

    /// `f` of the value, at all times.
    ///
    /// # Panics
    /// If `f` panics on the value as of now. Later it leaves the value as it was, and [`crate::hook`] is
    /// told; this holds for all functions given to signals.
    #[doc(alias = "l1")]
    #[doc(alias = "trace")]
    pub fn map<B: PartialEq + 'static>(&self, f: impl Fn(&A) -> B + 'static) -> Signal<B> {
        Signal::derive(None, |inputs| {
            let input = inputs.add(&self.node);
            move || Some(Rc::new(f(&input.value())))
        })
    }

    /// The last value that passed the test; `first` before there was one.
    ///
    /// # Panics
    /// If `test` panics on the value as of now.
    pub fn filter(&self, first: A, test: impl Fn(&A) -> bool + 'static) -> Signal<A>
    where
        A: PartialEq,
    {
        Signal::derive(Some(Rc::new(first)), |inputs| {
            let input = inputs.add(&self.node);
            move || Some(input.value()).filter(|value| test(value))
        })
    }

    /// The last value that `f` gave; `first` before there was one.
    ///
    /// # Panics
    /// If `f` panics on the value as of now.
    #[doc(alias = "fmap")]
    pub fn filter_map<B: PartialEq + 'static>(
        &self,
        first: B,
        f: impl Fn(&A) -> Option<B> + 'static,
    ) -> Signal<B> {
        Signal::derive(Some(Rc::new(first)), |inputs| {
            let input = inputs.add(&self.node);
            move || f(&input.value()).map(Rc::new)
        })
    }

    /// Occurs when the signal changes, with the new value.
    pub fn changes(&self) -> Event<A> {
        Event::derive(|inputs| {
            let input = inputs.add(&self.node);
            move || input.is_fresh().then(|| input.value())
        })
    }

    /// Occurs when the signal changes, with `f` of the new value and the one before.
    pub fn diff<B: 'static>(&self, f: impl Fn(&A, &A) -> B + 'static) -> Event<B> {
        Event::derive(|inputs| {
            let before = RefCell::new(self.node.value());
            let input = inputs.add(&self.node);
            move || {
                if !input.is_fresh() {
                    return None;
                }
                let new = input.value();
                let old = before.replace(new.clone());
                // Made within the step of a change, it sees that value twice.
                (!Rc::ptr_eq(&new, &old)).then(|| Rc::new(f(&new, &old)))
            }
        })
    }

    /// Occurs when `event` does, with `f` of its value and the value of the signal in the same step.
    pub fn sample<B: 'static, C: 'static>(
        &self,
        event: &Event<B>,
        f: impl Fn(&B, &A) -> C + 'static,
    ) -> Event<C> {
        Event::derive(|inputs| {
            let event = inputs.add(&event.node);
            let input = inputs.add(&self.node);
            move || event.occurrence().map(|b| Rc::new(f(&b, &input.value())))
        })
    }

    /// The signal while the condition holds, and the last such value while it does not; `first` before it
    /// held.
    #[doc(alias = "when")]
    pub fn on(&self, condition: &Signal<bool>, first: A) -> Signal<A>
    where
        A: PartialEq,
    {
        Signal::derive(Some(Rc::new(first)), |inputs| {
            let input = inputs.add(&self.node);
            let condition = inputs.add(&condition.node);
            move || condition.value().then(|| input.value())
        })
    }

    /// The signal without the changes that are simultaneous with an occurrence of `event`.
    pub fn dismiss<B: 'static>(&self, event: &Event<B>) -> Signal<A>
    where
        A: PartialEq,
    {
        Signal::derive(Some(self.node.value()), |inputs| {
            let input = inputs.add(&self.node);
            let event = inputs.add(&event.node);
            move || (input.is_fresh() && event.occurrence().is_none()).then(|| input.value())
        })
    }

    /// `f` folded over the values of the signals, in their order.
    ///
    /// # Panics
    /// If `f` panics on the values as of now.
    pub fn merge<B: Clone + PartialEq + 'static>(
        signals: impl IntoIterator<Item = Signal<A>>,
        first: B,
        f: impl Fn(B, &A) -> B + 'static,
    ) -> Signal<B> {
        Signal::derive(None, |inputs| {
            let list: Vec<SignalInput<A>> = signals.into_iter().map(|s| inputs.add(&s.node)).collect();
            move || Some(Rc::new(list.iter().fold(first.clone(), |sum, signal| f(sum, &signal.value()))))
        })
    }

    /// The values of all the signals; each change of one is a change.
    pub(super) fn gather(signals: impl IntoIterator<Item = Signal<A>>) -> Signal<Fresh<Vec<Rc<A>>>> {
        Signal::derive(None, |inputs| {
            let list: Vec<SignalInput<A>> = signals.into_iter().map(|s| inputs.add(&s.node)).collect();
            move || Some(Rc::new(Fresh(list.iter().map(|signal| signal.value()).collect())))
        })
    }

    /// The same signal; what `held` is lives as long as it does.
    pub(super) fn holding<H: 'static>(&self, held: H) -> Signal<A> {
        // It is worked out only when the input has changed, so nothing needs to be compared.
        Signal::derive_by(
            |_, _| false,
            None,
            |inputs| {
                let input = inputs.add(&self.node);
                move || {
                    let _ = &held;
                    Some(input.value())
                }
            },
        )
    }
}

impl<A: PartialEq + 'static> Signal<A> {
    /// A signal that never changes.
    #[doc(alias = "const")]
    #[doc(alias = "return")]
    pub fn constant(value: A) -> Signal<A> {
        Signal::derive(Some(Rc::new(value)), |_| || None)
    }
}

impl<A: PartialEq + 'static> Event<A> {
    /// The value of the last occurrence; `first` before there was one.
    pub fn hold(&self, first: A) -> Signal<A> {
        self.hold_shared(Rc::new(first))
    }

    pub(super) fn hold_shared(&self, first: Rc<A>) -> Signal<A> {
        Signal::derive(Some(first), |inputs| {
            let input = inputs.add(&self.node);
            move || input.occurrence()
        })
    }
}

impl<A: 'static> Clone for Signal<A> {
    fn clone(&self) -> Signal<A> {
        Signal { node: self.node.clone() }
    }
}

impl<A: 'static> PartialEq for Signal<A> {
    fn eq(&self, other: &Signal<A>) -> bool {
        self.node.head().number == other.node.head().number
    }
}

impl<A: 'static> Eq for Signal<A> {}

impl<A: 'static> fmt::Debug for Signal<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Signal({})", self.node.head().number)
    }
}

/// A value that equals nothing, not even itself: every set and every update of its signal is a change.
///
/// ```
/// use lisle_core::react::{Fresh, signal};
/// let (handler, set_handler) = signal::<Fresh<fn(u32) -> u32>>(Fresh(|n| n + 1));
/// let answer = handler.map(|f| f(41));
/// set_handler.set(Fresh(|n| n * 2));
/// assert_eq!(answer.value(), 82);
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct Fresh<T>(pub T);

impl<T> PartialEq for Fresh<T> {
    fn eq(&self, _: &Fresh<T>) -> bool {
        false
    }
}

impl<T> Deref for Fresh<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

/// The vertex of a signal that is set from outside.
struct Primitive<A> {
    head: Head,
    value: Value<A>,
    /// The last step in which it was set, be it to an equal value.
    set_in: Cell<u64>,
}

impl<A: 'static> Vertex for Primitive<A> {
    fn head(&self) -> &Head {
        &self.head
    }

    fn update(&self) -> bool {
        false
    }

    fn is_fresh(&self) -> bool {
        self.value.is_fresh()
    }

    fn clear(&self) {}

    fn into_vertex(self: Rc<Self>) -> Rc<dyn Vertex> {
        self
    }
}

impl<A: 'static> Keeps<A> for Primitive<A> {
    fn value(&self) -> Rc<A> {
        self.value.get()
    }
}

/// A signal and its setter.
///
/// ```
/// let (signal, setter) = lisle_core::react::signal("closed");
/// setter.set("open");
/// assert_eq!(signal.value(), "open");
/// ```
#[doc(alias = "create")]
pub fn signal<A: PartialEq + 'static>(value: A) -> (Signal<A>, Setter<A>) {
    signal_shared(Rc::new(value))
}

pub(super) fn signal_shared<A: PartialEq + 'static>(value: Rc<A>) -> (Signal<A>, Setter<A>) {
    let value = Value::new(Some(value), A::eq);
    let node = Rc::new(Primitive { head: Head::primitive(), value, set_in: Cell::new(0) });
    let setter = Setter { node: Rc::downgrade(&node) };
    (Signal { node: Held::new(node) }, setter)
}

/// Changes a primitive signal. Does not keep it alive: when nobody holds the signal, setting does nothing.
pub struct Setter<A: 'static> {
    node: Weak<Primitive<A>>,
}

impl<A: 'static> Setter<A> {
    /// Gives the signal a value: one step, done when this returns.
    ///
    /// Called from a function of the graph, it is the next step, done when the outermost send returns.
    pub fn set(&self, value: A) {
        self.set_shared(Rc::new(value));
    }

    pub(super) fn set_shared(&self, value: Rc<A>) {
        step::run_one(Set { node: self.node.clone(), value }, Set::give);
    }

    /// Whether somebody still holds the signal, or something made of it.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        self.node.upgrade().is_some_and(|node| !Held::<Primitive<A>>::new(node).head.is_dead())
    }
}

impl Step {
    /// Gives the signal a value in this step. Of several values for one signal the last counts.
    pub fn set<A: 'static>(&mut self, setter: &Setter<A>, value: A) {
        self.add(Set { node: setter.node.clone(), value: Rc::new(value) });
    }
}

struct Set<A> {
    node: Weak<Primitive<A>>,
    value: Rc<A>,
}

impl<A: 'static> Set<A> {
    fn give(self) {
        let Some(node) = self.node.upgrade().map(Held::<Primitive<A>>::new) else { return };
        let first = node.set_in.replace(step::current()) != step::current();
        if first && !node.head.is_dead() && node.value.change(self.value) {
            step::schedule_dependents(&node.head);
        }
    }
}

impl<A: 'static> Assignment for Set<A> {
    fn assign(self: Box<Self>) {
        self.give();
    }
}

impl<A: 'static> Clone for Setter<A> {
    fn clone(&self) -> Setter<A> {
        Setter { node: self.node.clone() }
    }
}

impl<A: 'static> fmt::Debug for Setter<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Setter").field("connected", &self.is_connected()).finish()
    }
}

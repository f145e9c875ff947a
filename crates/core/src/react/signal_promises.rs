//! Signals whose functions return promises: each constructor applies its function to the value as of now and
//! promises the signal; later changes go through the queue of `serial.rs`, in their order.
//!
//! Changes that come while the first promise is pending wait in that queue, so none is lost. If it is
//! rejected, so is the promise of the signal.

use super::event::Event;
use super::serial::{Answer, Folder, Serial, ask, fold_promised, some};
use super::signal::Signal;
use crate::{IntoPromise, Promise};
use std::cell::RefCell;
use std::rc::Rc;

/// The first value from `first`, the later ones from `f` of each change.
fn serially<A: 'static, B: PartialEq + 'static>(
    changes: &Event<A>,
    first: impl FnOnce() -> Promise<Rc<B>>,
    f: impl Fn(Rc<A>) -> Answer<B> + 'static,
) -> Promise<Signal<B>> {
    let (results, queue) = Serial::of(changes, true, f);
    first().map(move |value| {
        let signal = results.hold_shared(value);
        Serial::go_on(queue);
        signal
    })
}

/// As `Signal::map_s`, on shared values.
pub(super) fn map_serially<A: 'static, B: PartialEq + 'static>(
    signal: &Signal<A>,
    f: impl Fn(Rc<A>) -> Answer<B> + 'static,
) -> Promise<Signal<B>> {
    filter_serially(signal, None, f)
}

/// As `map_serially`; what gives no value leaves the last one, at first `first`.
fn filter_serially<A: 'static, B: PartialEq + 'static>(
    signal: &Signal<A>,
    first: Option<B>,
    f: impl Fn(Rc<A>) -> Answer<B> + 'static,
) -> Promise<Signal<B>> {
    let f = Rc::new(f);
    let (now, f_now) = (signal.shared_value(), f.clone());
    let start = move || {
        ask(|| f_now(now)).map(|value| {
            value.or(first.map(Rc::new)).expect("a function without a first value always gives one")
        })
    };
    serially(&signal.changes(), start, move |value| f(value))
}

impl<A: 'static> Signal<A> {
    /// Promises the signal of what `f` of the value promises. The functions run one at a time, in the order
    /// of the changes; that of the value as of now runs at once.
    ///
    /// As with all functions of this kind (`_s`): later ones run when the step of their change is over; a
    /// rejection leaves the value and goes to [`crate::hook`], but that of the first is the promise's.
    ///
    /// ```
    /// use lisle_core::react::signal;
    /// use lisle_core::ready;
    /// let (name, set_name) = signal("a");
    /// let length = name.map_s(|name| ready(name.len())).try_take().unwrap().unwrap();
    /// set_name.set("abc");
    /// assert_eq!(length.value(), 3);
    /// ```
    #[doc(alias = "l1_s")]
    #[doc(alias = "run_s")]
    pub fn map_s<P: IntoPromise>(&self, f: impl Fn(&A) -> P + 'static) -> Promise<Signal<P::Value>>
    where
        P::Value: PartialEq,
    {
        map_serially(self, move |value| some(f(&value)))
    }

    /// Promises the signal of the last value that passed; `first` before there was one. See
    /// [`Signal::map_s`].
    pub fn filter_s<P: IntoPromise<Value = bool>>(
        &self,
        first: A,
        test: impl Fn(&A) -> P + 'static,
    ) -> Promise<Signal<A>>
    where
        A: PartialEq,
    {
        filter_serially(self, Some(first), move |value| {
            test(&value).into_promise().map(|passes| passes.then_some(value))
        })
    }

    /// Promises the signal of the last value that `f` gave; `first` before there was one. See
    /// [`Signal::map_s`].
    #[doc(alias = "fmap_s")]
    pub fn filter_map_s<B: PartialEq + 'static, P: IntoPromise<Value = Option<B>>>(
        &self,
        first: B,
        f: impl Fn(&A) -> P + 'static,
    ) -> Promise<Signal<B>> {
        filter_serially(self, Some(first), move |value| {
            f(&value).into_promise().map(|found| found.map(Rc::new))
        })
    }

    /// Promises the signal whose value is that of the signal promised last. See [`Signal::map_s`].
    pub fn bind_s<B: PartialEq + 'static, P: IntoPromise<Value = Signal<B>>>(
        &self,
        f: impl Fn(&A) -> P + 'static,
    ) -> Promise<Signal<B>> {
        self.map_s(f).map(|signals| signals.switch())
    }

    /// Occurs with what `f` of the new value and the one before promises. See [`Event::map_s`].
    pub fn diff_s<P: IntoPromise>(&self, f: impl Fn(&A, &A) -> P + 'static) -> Event<P::Value> {
        let pairs = Event::derive(|inputs| {
            let before = RefCell::new(self.shared_value());
            let input = inputs.add(&self.node);
            move || {
                if !input.is_fresh() {
                    return None;
                }
                let new = input.value();
                let old = before.replace(new.clone());
                Some(Rc::new((new, old)))
            }
        });
        pairs.map_s(move |(new, old)| f(new, old))
    }

    /// Occurs with what `f` of the value of `event` and the value of the signal promises. See
    /// [`Event::map_s`].
    pub fn sample_s<B: 'static, P: IntoPromise>(
        &self,
        event: &Event<B>,
        f: impl Fn(&B, &A) -> P + 'static,
    ) -> Event<P::Value> {
        let pairs = Event::derive(|inputs| {
            let event = inputs.add(&event.node);
            let input = inputs.add(&self.node);
            move || Some(Rc::new((event.occurrence()?, input.value())))
        });
        pairs.map_s(move |(b, a)| f(b, a))
    }

    /// Promises the signal of what `f`, folded over the values of the signals, promises. See
    /// [`Signal::map_s`].
    pub fn merge_s<B: PartialEq + 'static, P: IntoPromise<Value = B>>(
        signals: impl IntoIterator<Item = Signal<A>>,
        first: B,
        f: impl Fn(&B, &A) -> P + 'static,
    ) -> Promise<Signal<B>> {
        let first = Rc::new(first);
        let f: Folder<B, A> = Rc::new(move |b, a| f(b, a).into_promise());
        let values = Signal::gather(signals);
        map_serially(&values, move |values| {
            let values = values.0.clone();
            fold_promised(f.clone(), first.clone(), values.into_iter()).map(Some)
        })
    }
}

impl<A: PartialEq + 'static> Signal<A> {
    /// The state of [`Event::fold_s`], as a signal.
    pub fn fold_s<B: 'static, P: IntoPromise<Value = A>>(
        event: &Event<B>,
        first: A,
        f: impl Fn(&A, &B) -> P + 'static,
    ) -> Signal<A> {
        let first = Rc::new(first);
        event.fold_s_shared(first.clone(), f).hold_shared(first)
    }

    /// The state of [`Event::accum_s`], as a signal.
    pub fn accum_s<F, P>(functions: &Event<F>, first: A) -> Signal<A>
    where
        F: Fn(&A) -> P + 'static,
        P: IntoPromise<Value = A>,
    {
        Signal::fold_s(functions, first, |state, f| f(state))
    }
}

//! Events whose functions return promises, one at a time: `map_s` and its relatives.
//!
//! ```text
//!   input ─► waiting ─► f runs ─► its promise ─► the next one runs
//!                                     └─► the resulting event occurs, in a step of its own
//! ```
//!
//! The function runs as an effect, after the step in which the input occurred, so it may start work,
//! send and look at signals. A promise that is rejected makes no occurrence; its error goes to the hook,
//! unless it is a cancellation. What waits for its turn lies in a queue that grows as long as
//! occurrences come faster than promises settle: put [`Event::limit`] before it where that can be. When
//! the last handle of the resulting event is dropped, what waits is dropped with it; the promise in
//! progress goes on, and its value is dropped.

use super::event::{Event, Sender, event};
use super::step;
use crate::promise::call;
use crate::{Error, IntoPromise, Promise, ready, rejected};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::{Rc, Weak};

/// What a function of the graph promises: an occurrence, none, or a failure.
pub(super) type Answer<B> = Promise<Option<Rc<B>>>;

/// Calls a function that promises something; a panic is a rejection.
pub(super) fn ask<B: 'static>(f: impl FnOnce() -> Answer<B>) -> Answer<B> {
    call(f).unwrap_or_else(rejected)
}

/// Drops an error that nobody awaits, so that the hook is told.
pub(super) fn unobserved(error: Error) {
    drop(rejected::<()>(error));
}

/// The queue of one event. Its vertex owns it; whatever waits for a promise knows it weakly.
pub(super) struct Serial<A, B: 'static> {
    waiting: RefCell<VecDeque<Rc<A>>>,
    busy: Cell<bool>,
    f: Box<dyn Fn(Rc<A>) -> Answer<B>>,
    results: Sender<B>,
}

impl<A: 'static, B: 'static> Serial<A, B> {
    /// The event of results, and its queue: stopped until [`Serial::go_on`] if `stopped`.
    pub(super) fn of(
        input: &Event<A>,
        stopped: bool,
        f: impl Fn(Rc<A>) -> Answer<B> + 'static,
    ) -> (Event<B>, Weak<Serial<A, B>>) {
        let (answers, results) = event();
        let waiting = RefCell::new(VecDeque::new());
        let serial = Rc::new(Serial { waiting, busy: Cell::new(stopped), f: Box::new(f), results });
        let queue = Rc::downgrade(&serial);
        let feed = Event::derive(|inputs| {
            let input = inputs.add(&input.node);
            move || {
                if let Some(value) = input.occurrence() {
                    Serial::enter(&serial, value);
                }
                None::<Rc<()>>
            }
        });
        (answers.holding(feed), queue)
    }

    fn enter(serial: &Rc<Serial<A, B>>, value: Rc<A>) {
        serial.waiting.borrow_mut().push_back(value);
        if !serial.busy.replace(true) {
            let serial = Rc::downgrade(serial);
            step::after(move || Serial::go_on(serial));
        }
    }

    /// Serves the queue until a promise is pending.
    pub(super) fn go_on(weak: Weak<Serial<A, B>>) {
        loop {
            let Some(serial) = weak.upgrade() else { return };
            let Some(value) = serial.waiting.borrow_mut().pop_front() else {
                serial.busy.set(false);
                return;
            };
            let answer = ask(|| (serial.f)(value));
            let results = serial.results.clone();
            drop(serial);
            match answer.try_take() {
                Ok(result) => publish(&results, result),
                Err(pending) => {
                    let (also, publish_to) = (weak.clone(), results.clone());
                    pending.on_any(
                        move |value| {
                            publish(&publish_to, Ok(value));
                            Serial::go_on(weak);
                        },
                        move |error| {
                            publish(&results, Err(error));
                            Serial::go_on(also);
                        },
                    );
                    return;
                }
            }
        }
    }
}

/// Makes the resulting event occur.
pub(super) fn publish<B: 'static>(results: &Sender<B>, answer: crate::Result<Option<Rc<B>>>) {
    match answer {
        Ok(Some(value)) => results.send_shared(value),
        Ok(None) => {}
        Err(error) => unobserved(error),
    }
}

fn serially<A: 'static, B: 'static>(input: &Event<A>, f: impl Fn(Rc<A>) -> Answer<B> + 'static) -> Event<B> {
    Serial::of(input, false, f).0
}

/// An occurrence with what is promised.
pub(super) fn some<P: IntoPromise>(promise: P) -> Answer<P::Value> {
    promise.into_promise().map(|value| Some(Rc::new(value)))
}

/// The function of a fold that promises its states.
pub(super) type Folder<A, B> = Rc<dyn Fn(&A, &B) -> Promise<A>>;

/// Promises the fold of `values`, one function after the other, without stack where they are ready.
pub(super) fn fold_promised<A: 'static, B: 'static>(
    f: Folder<A, B>,
    mut state: Rc<A>,
    values: impl Iterator<Item = Rc<B>> + 'static,
) -> Promise<Rc<A>> {
    let mut values = values;
    while let Some(value) = values.next() {
        match f(&state, &value).try_take() {
            Ok(Ok(new)) => state = Rc::new(new),
            Ok(Err(error)) => return rejected(error),
            Err(pending) => return pending.bind(move |new| fold_promised(f, Rc::new(new), values)),
        }
    }
    ready(state)
}

impl<A: 'static> Event<A> {
    /// Occurs with what `f` of each value promises. The functions run one at a time, in the order of the
    /// occurrences.
    ///
    /// As with all functions of this kind (`_s`): they run when the step of their occurrence is over, before
    /// the outermost send returns; a rejection makes no occurrence and goes to [`crate::hook`]; dropping the
    /// last handle drops what waits, and lets the promise in progress go on.
    ///
    /// ```
    /// use lisle_core::react::event;
    /// let (numbers, sender) = event::<u32>();
    /// let plus_one = numbers.map_s(|&n| lisle_core::pause().map(move |()| n + 1));
    /// let seen = plus_one.hold(0);
    /// sender.send(1);
    /// assert_eq!(seen.value(), 0);
    /// lisle_core::wake_paused();
    /// assert_eq!(seen.value(), 2);
    /// ```
    #[doc(alias = "then")]
    pub fn map_s<P: IntoPromise>(&self, f: impl Fn(&A) -> P + 'static) -> Event<P::Value> {
        serially(self, move |value| some(f(&value)))
    }

    /// The occurrences whose value passes a test that promises its answer. See [`Event::map_s`].
    pub fn filter_s<P: IntoPromise<Value = bool>>(&self, test: impl Fn(&A) -> P + 'static) -> Event<A> {
        serially(self, move |value| test(&value).into_promise().map(|passes| passes.then_some(value)))
    }

    /// The occurrences for which `f` promises a value, with that value. See [`Event::map_s`].
    #[doc(alias = "fmap_s")]
    pub fn filter_map_s<B: 'static, P: IntoPromise<Value = Option<B>>>(
        &self,
        f: impl Fn(&A) -> P + 'static,
    ) -> Event<B> {
        serially(self, move |value| f(&value).into_promise().map(|found| found.map(Rc::new)))
    }

    /// Occurs with what `f` of the value and the one before it promises. See [`Event::map_s`].
    pub fn diff_s<P: IntoPromise>(&self, f: impl Fn(&A, &A) -> P + 'static) -> Event<P::Value> {
        let pairs = Event::derive(|inputs| {
            let input = inputs.add(&self.node);
            let before: RefCell<Option<Rc<A>>> = RefCell::new(None);
            move || {
                let new = input.occurrence()?;
                let old = before.replace(Some(new.clone()))?;
                Some(Rc::new((new, old)))
            }
        });
        serially(&pairs, move |pair| some(f(&pair.0, &pair.1)))
    }

    /// For an event of functions: occurs with what the function of the value promises. See [`Event::map_s`].
    pub fn app_s<B: 'static, P: IntoPromise>(&self, values: &Event<B>) -> Event<P::Value>
    where
        A: Fn(&B) -> P,
    {
        serially(&self.with_value(values), |pair| some((pair.0)(&pair.1)))
    }

    /// Both values, where both events occur.
    pub(super) fn with_value<B: 'static>(&self, values: &Event<B>) -> Event<(Rc<A>, Rc<B>)> {
        Event::derive(|inputs| {
            let input = inputs.add(&self.node);
            let values = inputs.add(&values.node);
            move || Some(Rc::new((input.occurrence()?, values.occurrence()?)))
        })
    }

    /// Occurs with each state that `f` of the one before, at first `first`, and the value promises. A state
    /// whose promise is rejected is skipped. See [`Event::map_s`].
    pub fn fold_s<B: 'static, P: IntoPromise<Value = B>>(
        &self,
        first: B,
        f: impl Fn(&B, &A) -> P + 'static,
    ) -> Event<B> {
        self.fold_s_shared(Rc::new(first), f)
    }

    pub(super) fn fold_s_shared<B: 'static, P: IntoPromise<Value = B>>(
        &self,
        first: Rc<B>,
        f: impl Fn(&B, &A) -> P + 'static,
    ) -> Event<B> {
        let state = Rc::new(RefCell::new(first));
        serially(self, move |value| {
            let before = state.borrow().clone();
            let state = state.clone();
            f(&before, &value).into_promise().map(move |new| {
                let new = Rc::new(new);
                let old = state.replace(new.clone());
                drop(old);
                Some(new)
            })
        })
    }

    /// For an event of functions: occurs with each state that the function of the one before promises. See
    /// [`Event::map_s`].
    pub fn accum_s<B: 'static, P: IntoPromise<Value = B>>(&self, first: B) -> Event<B>
    where
        A: Fn(&B) -> P,
    {
        self.fold_s(first, |state, f| f(state))
    }

    /// Occurs when one of the events does, with what `f`, folded over the values of those that do, promises.
    /// See [`Event::map_s`].
    pub fn merge_s<B: 'static, P: IntoPromise<Value = B>>(
        events: impl IntoIterator<Item = Event<A>>,
        first: B,
        f: impl Fn(&B, &A) -> P + 'static,
    ) -> Event<B> {
        let first = Rc::new(first);
        let f: Folder<B, A> = Rc::new(move |b, a| f(b, a).into_promise());
        serially(&Event::gather(events), move |values| {
            let values = Rc::unwrap_or_clone(values);
            fold_promised(f.clone(), first.clone(), values.into_iter()).map(Some)
        })
    }

    /// For an event of promises that can be shared: occurs with their values, in the order of the
    /// occurrences. See [`Event::map_s`].
    pub fn run_s(&self) -> Event<A::Value>
    where
        A: IntoPromise + Clone,
    {
        self.map_s(A::clone)
    }
}

//! Events that come from promises, and how long the graph's parts live: `from`, `delay`, `with_finaliser`,
//! `keep`.

use super::event::{Event, Sender, event};
use super::serial::unobserved;
use super::signal::Signal;
use crate::promise::{call, run_callback};
use crate::{IntoPromise, Promise, pause, ready, rejected};
use std::any::Any;
use std::cell::RefCell;

/// How many values may come without waiting before the engine gets its turn.
const READY_MAX: u32 = 256;

/// Work that is cancelled when its event is dropped.
struct Worker(Option<Promise<()>>);

impl Drop for Worker {
    fn drop(&mut self) {
        if let Some(work) = self.0.take() {
            work.cancel();
            drop(work);
        }
    }
}

/// What is asked again and again for values: `None` ends it.
pub(super) type Producer<A> = Box<dyn FnMut() -> Promise<Option<A>>>;

/// An event that occurs with all that `produce` promises, begun after one pause and cancelled when the event
/// is dropped.
pub(super) fn produced<A: 'static>(produce: Producer<A>) -> Event<A> {
    let (values, sender) = event();
    let work = pause().bind(move |()| pump(produce, sender)).catch(|error| {
        unobserved(error);
        ready(())
    });
    values.holding(Worker(Some(work)))
}

/// Sends what is ready by a loop, and waits for the rest.
fn pump<A: 'static>(mut produce: Producer<A>, sender: Sender<A>) -> Promise<()> {
    for _ in 0..READY_MAX {
        let promise = call(&mut produce).unwrap_or_else(rejected);
        match promise.try_take() {
            Ok(Ok(Some(value))) => sender.send(value),
            Ok(Ok(None)) => return ready(()),
            Ok(Err(error)) => return rejected(error),
            Err(pending) => {
                return pending.bind(move |value| match value {
                    Some(value) => {
                        sender.send(value);
                        pump_if_wanted(produce, sender)
                    }
                    None => ready(()),
                });
            }
        }
        if !sender.is_connected() {
            return ready(());
        }
    }
    pause().bind(move |()| pump(produce, sender))
}

fn pump_if_wanted<A: 'static>(produce: Producer<A>, sender: Sender<A>) -> Promise<()> {
    if sender.is_connected() { pump(produce, sender) } else { ready(()) }
}

impl<A: 'static> Event<A> {
    /// Occurs with all that `f` promises, one after the other: `f` is called after one pause, and again when
    /// its promise was fulfilled.
    ///
    /// The first rejection ends it and goes to [`crate::hook`]. Dropping the event cancels the promise in
    /// progress. If `f` always returns fulfilled promises, there is a pause now and then, so that others get
    /// their turn.
    pub fn from<P: IntoPromise<Value = A>>(mut f: impl FnMut() -> P + 'static) -> Event<A> {
        produced(Box::new(move || f().into_promise().map(Some)))
    }

    /// Occurs as the promised event, once it is there.
    ///
    /// If the promise is rejected it never occurs, and [`crate::hook`] is told. Dropping the event lets the
    /// promise's work go on.
    pub fn delay(promise: Promise<Event<A>>) -> Event<A> {
        match promise.try_take() {
            Ok(Ok(event)) => event,
            Ok(Err(error)) => {
                unobserved(error);
                Event::never()
            }
            Err(pending) => {
                let (turns, turn_to) = event();
                let delayed = Event::never().switch(&turns);
                pending.on_success(move |event| turn_to.send(event));
                delayed
            }
        }
    }

    /// The same event; `f` runs when its last handle is dropped.
    ///
    /// A handle of what is made of this event is one, too. A panic of `f` goes to [`crate::hook`].
    #[doc(alias = "on_drop")]
    pub fn with_finaliser(&self, f: impl FnOnce() + 'static) -> Event<A> {
        self.holding(Finaliser(Some(f)))
    }

    /// Keeps the event at work until its thread ends.
    pub fn keep(self) {
        keep(self);
    }
}

impl<A: 'static> Signal<A> {
    /// The same signal; `f` runs when its last handle is dropped.
    ///
    /// A handle of what is made of this signal is one, too. A panic of `f` goes to [`crate::hook`].
    #[doc(alias = "on_drop")]
    pub fn with_finaliser(&self, f: impl FnOnce() + 'static) -> Signal<A> {
        self.holding(Finaliser(Some(f)))
    }

    /// Keeps the signal at work until its thread ends.
    pub fn keep(self) {
        keep(self);
    }
}

struct Finaliser<F: FnOnce()>(Option<F>);

impl<F: FnOnce()> Drop for Finaliser<F> {
    fn drop(&mut self) {
        if let Some(f) = self.0.take() {
            run_callback(f);
        }
    }
}

thread_local! {
    static KEPT: RefCell<Vec<Box<dyn Any>>> = const { RefCell::new(Vec::new()) };
}

/// When the thread is being destroyed there is nobody left to keep it for.
fn keep(handle: impl Any) {
    let _ = KEPT.try_with(|kept| kept.borrow_mut().push(Box::new(handle)));
}

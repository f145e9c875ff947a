//! Limiters: an occurrence passes, then a promise must be settled before another may.
//!
//! ```text
//!   open ──occurrence passes──► closed (the limiter's promise is pending) ──settled──► open
//!                                 occurrence: kept, in place of one kept before
//!                                 settled with one kept: it passes, and the limiter starts again
//! ```
//!
//! When the limiter's promise is settled, its callbacks run newest first, as everywhere. One that was
//! registered later than ours may send, find the limiter open, and close it again; then the one kept is
//! dropped, since a newer one has passed.

use super::event::{Event, Sender, event};
use super::serial::unobserved;
use super::signal::Signal;
use super::step;
use crate::promise::call;
use crate::{IntoPromise, Shared, ready, rejected};
use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

/// Owned by the vertex that decides; the callback on the limiter's promise knows it weakly.
struct Limiter<A: 'static> {
    start: Box<dyn Fn() -> Shared<()>>,
    running: RefCell<Shared<()>>,
    /// An occurrence has passed in this step, and the limiter will start when it is over.
    starting: Cell<bool>,
    kept: RefCell<Option<Rc<A>>>,
    late: Sender<A>,
}

impl<A: 'static> Limiter<A> {
    fn is_closed(&self) -> bool {
        self.starting.get() || self.running.borrow().is_pending()
    }

    /// Whether the occurrence passes now; else it is kept.
    fn admit(limiter: &Rc<Limiter<A>>, value: Rc<A>) -> Option<Rc<A>> {
        if !limiter.is_closed() {
            limiter.starting.set(true);
            let limiter = Rc::downgrade(limiter);
            step::after(move || {
                if let Some(limiter) = limiter.upgrade() {
                    Limiter::restart(&limiter);
                }
            });
            return Some(value);
        }
        let before = limiter.kept.replace(Some(value));
        if before.is_none() && !limiter.starting.get() {
            Limiter::watch(limiter);
        }
        drop(before);
        None
    }

    /// Starts the limiter's promise; what is sent while its function runs is kept.
    fn restart(limiter: &Rc<Limiter<A>>) {
        limiter.starting.set(true);
        let running = (limiter.start)();
        let old = limiter.running.replace(running);
        drop(old);
        limiter.starting.set(false);
        let waits = limiter.kept.borrow().is_some();
        if waits {
            Limiter::watch(limiter);
        }
    }

    /// Lets the one that is kept pass when the limiter's promise is settled.
    fn watch(limiter: &Rc<Limiter<A>>) {
        let weak = Rc::downgrade(limiter);
        let running = limiter.running.borrow().clone();
        running.on_termination(move || Limiter::settled(&weak));
    }

    fn settled(weak: &Weak<Limiter<A>>) {
        let Some(limiter) = weak.upgrade() else { return };
        let kept = limiter.kept.take();
        if limiter.is_closed() {
            // A newer one has passed.
            drop(kept);
            return;
        }
        let Some(value) = kept else { return };
        Limiter::restart(&limiter);
        let late = limiter.late.clone();
        drop(limiter);
        late.send_shared(value);
    }
}

/// Calls the function of a limiter. A panic is a rejection, and a rejection opens it; the hook is told.
fn starter<P: IntoPromise<Value = ()>>(f: impl Fn() -> P + 'static) -> impl Fn() -> Shared<()> + 'static {
    move || {
        let running = call(|| f().into_promise()).unwrap_or_else(rejected).shared();
        running.promise().on_any(|()| (), unobserved);
        running
    }
}

fn limited<A: 'static>(
    input: &Event<A>,
    running: Shared<()>,
    start: impl Fn() -> Shared<()> + 'static,
) -> Event<A> {
    let (late_ones, late) = event();
    let limiter = Rc::new(Limiter {
        start: Box::new(start),
        running: RefCell::new(running),
        starting: Cell::new(false),
        kept: RefCell::new(None),
        late,
    });
    let in_time = Event::derive(|inputs| {
        let input = inputs.add(&input.node);
        move || input.occurrence().and_then(|value| Limiter::admit(&limiter, value))
    });
    Event::select([in_time, late_ones])
}

impl<A: 'static> Event<A> {
    /// Lets an occurrence pass, then none until the promise that `limiter` returns is settled. Meanwhile the
    /// last one is kept; it passes then, and the limiter starts again.
    ///
    /// If, when the promise is settled, a callback registered on it later sends first, that occurrence passes
    /// and the one kept is dropped. A limiter that is rejected counts as settled; its error goes to
    /// [`crate::hook`].
    ///
    /// ```
    /// use lisle_core::react::event;
    /// let (moves, sender) = event();
    /// let seen = moves.limit(lisle_core::pause).hold(0);
    /// sender.send(1);
    /// sender.send(2);
    /// sender.send(3);
    /// assert_eq!(seen.value(), 1);
    /// lisle_core::wake_paused();
    /// assert_eq!(seen.value(), 3);
    /// ```
    #[doc(alias = "throttle")]
    pub fn limit<P: IntoPromise<Value = ()>>(&self, limiter: impl Fn() -> P + 'static) -> Event<A> {
        limited(self, ready(()).shared(), starter(limiter))
    }
}

impl<A: PartialEq + 'static> Signal<A> {
    /// The signal with its changes limited as by [`Event::limit`]; the limiter is running from the start.
    #[doc(alias = "throttle")]
    pub fn limit<P: IntoPromise<Value = ()>>(&self, limiter: impl Fn() -> P + 'static) -> Signal<A> {
        let (changes, now) = (self.changes(), self.shared_value());
        let start = starter(limiter);
        let running = start();
        limited(&changes, running, start).hold_shared(now)
    }
}

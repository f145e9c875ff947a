//! Timers that can be started, stopped and changed again and again: watchdogs, idle limits, debounce.
//!
//! ```text
//!              start                      time is up
//!   Stopped ──────────► Running(timer) ──────────────► Stopped, then the action runs
//!      ▲   ◄──────────     │    ▲
//!      │       stop        └────┘ start, change: a fresh timer
//! ```
//!
//! A [`Timeout`] is a handle of shared state: delay, action, and the timer while it runs. A running timer
//! holds the state, so a timeout goes on when its handles are dropped; stopped, it goes with the last handle.
//! Starting is O(1) and one allocation, stopping O(1). In Lwt timeouts fall into buckets of a second and
//! may be a second late; here each is a timer of the wheel, as exact as [`sleep`].
//! Not here: a limit for one piece of work ([`timeout`](crate::time::timeout)).

use crate::time::sleep;
use lisle_core::{Error, IntoPromise, Promise, ready};
use std::cell::{Cell, RefCell};
use std::fmt;
use std::rc::Rc;
use std::time::Duration;

/// An action that runs when a delay has passed undisturbed. Clones are handles of the same timeout.
///
/// ```
/// use lisle::time::sleep;
/// use lisle::timeouts::Timeout;
/// use std::{cell::Cell, rc::Rc, time::Duration};
///
/// lisle::run(async {
///     let idle = Rc::new(Cell::new(false));
///     let told = idle.clone();
///     let watchdog = Timeout::new(Duration::from_secs(60), move |_| told.set(true));
///     for _ in 0..5 {
///         watchdog.start(); // something came in: from the beginning again
///         sleep(Duration::from_millis(1)).await?;
///     }
///     assert!(watchdog.is_running());
///     watchdog.stop();
///     assert!(!idle.get());
///     Ok::<(), lisle::Error>(())
/// })
/// # .unwrap();
/// ```
#[derive(Clone)]
pub struct Timeout {
    state: Rc<State>,
}

struct State {
    delay: Cell<Duration>,
    action: Action,
    handler: RefCell<Option<Handler>>,
    /// The timer with the action behind it; none when stopped.
    timer: RefCell<Option<Promise<()>>>,
}

type Action = Box<dyn Fn(&Timeout) -> Promise<()>>;
type Handler = Rc<dyn Fn(Error)>;

impl Timeout {
    /// A timeout, not started yet, that calls `action` with itself, so that it can be started again there.
    ///
    /// A panic of the action goes to the handler of [`Timeout::on_error`], or to the [hook](crate::hook).
    #[must_use = "it does nothing before it is started"]
    pub fn new(delay: Duration, action: impl Fn(&Timeout) + 'static) -> Timeout {
        Timeout::try_new(delay, move |timeout| {
            action(timeout);
            ready(())
        })
    }

    /// A timeout, not started yet, whose action may fail, now or later; its error goes the way of a panic.
    #[must_use = "it does nothing before it is started"]
    pub fn try_new<P>(delay: Duration, action: impl Fn(&Timeout) -> P + 'static) -> Timeout
    where
        P: IntoPromise<Value = ()>,
    {
        let action: Action = Box::new(move |timeout| action(timeout).into_promise());
        let state =
            State { delay: Cell::new(delay), action, handler: RefCell::new(None), timer: RefCell::new(None) };
        Timeout { state: Rc::new(state) }
    }

    /// Gives errors and panics of the action to `handler`, instead of the hook.
    #[doc(alias = "set_exn_handler")]
    #[must_use = "it does nothing before it is started"]
    pub fn on_error(self, handler: impl Fn(Error) + 'static) -> Timeout {
        let old = self.state.handler.borrow_mut().replace(Rc::new(handler));
        drop(old);
        self
    }

    /// Lets the delay begin now, also if it had begun before.
    #[doc(alias = "reset")]
    pub fn start(&self) {
        self.stop();
        let timeout = self.clone();
        // Cancelled, or abandoned with its runtime, it just ends.
        let timer = sleep(self.state.delay.get()).then(move |slept| {
            if slept.is_ok() {
                timeout.fire();
            }
            ready(())
        });
        *self.state.timer.borrow_mut() = Some(timer);
    }

    /// Stops it: the action does not run. Does nothing if it is not running.
    #[doc(alias = "disarm")]
    pub fn stop(&self) {
        let timer = self.state.timer.borrow_mut().take();
        if let Some(timer) = timer {
            timer.cancel();
        }
    }

    /// Sets another delay. A timeout that is running begins anew with it; one that is not, stays stopped.
    pub fn change(&self, delay: Duration) {
        self.state.delay.set(delay);
        if self.is_running() {
            self.start();
        }
    }

    /// Whether the action is still to run.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.state.timer.borrow().as_ref().is_some_and(Promise::is_pending)
    }

    /// The time is up. The timer, which calls this, is over: the action may start the next one.
    fn fire(&self) {
        let timer = self.state.timer.borrow_mut().take();
        drop(timer);
        let timeout = self.clone();
        // The bind on a settled promise is a plain call that catches panics.
        let acted = ready(()).bind(move |()| (timeout.state.action)(&timeout));
        let handler = self.state.handler.borrow().clone();
        match handler {
            Some(handler) => acted.detach_with(move |error| handler(error)),
            None => acted.detach(),
        }
    }
}

impl fmt::Debug for Timeout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (delay, running) = (self.state.delay.get(), self.is_running());
        f.debug_struct("Timeout").field("delay", &delay).field("running", &running).finish_non_exhaustive()
    }
}

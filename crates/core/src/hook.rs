//! Where failures go that nobody looks at: one hook per thread, called once for each.
//!
//! Three kinds arrive here: a rejected promise that was detached; a panic in a callback whose result nobody
//! awaits, or in a destructor; a rejection whose every handle was dropped unread. The default
//! prints one line on stderr and goes on; it is silent about cancellation, which is not a failure. A reset
//! (`sched::reset`: the runtime is dropped) tells nobody of what it abandons.
//! A panic inside the hook itself is caught and dropped: there is nobody left to tell.

use crate::Error;
use crate::promise::call;
use std::cell::{Cell, RefCell};
use std::panic::Location;
use std::rc::Rc;

/// How a failure escaped attention.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// [`crate::Promise::detach`] was called on a promise that was rejected.
    Detached,
    /// A callback whose result nobody can see (an observer, a handler) panicked.
    Callback,
    /// A promise was rejected and every handle to it dropped without looking.
    Unobserved,
}

/// A failure that nobody looked at.
#[derive(Debug)]
pub struct Failure {
    error: Error,
    kind: FailureKind,
    site: Option<&'static Location<'static>>,
}

impl Failure {
    /// What went wrong.
    #[must_use]
    pub fn error(&self) -> &Error {
        &self.error
    }

    /// How it escaped attention.
    #[must_use]
    pub fn kind(&self) -> FailureKind {
        self.kind
    }

    /// Where the work was detached or spawned, if that is known.
    #[must_use]
    pub fn site(&self) -> Option<&'static Location<'static>> {
        self.site
    }
}

type Hook = Rc<dyn Fn(&Failure)>;

thread_local! {
    static HOOK: RefCell<Option<Hook>> = const { RefCell::new(None) };
    /// Whether the thread's work is being abandoned on purpose.
    static ABANDONING: Cell<bool> = const { Cell::new(false) };
}

/// While it lives, `Abandoned` is no failure: the owner of the work said so.
pub(crate) struct Silence {
    before: bool,
}

impl Silence {
    pub(crate) fn about_abandoned() -> Silence {
        Silence { before: ABANDONING.replace(true) }
    }
}

impl Drop for Silence {
    fn drop(&mut self) {
        ABANDONING.set(self.before);
    }
}

/// Replaces this thread's hook.
///
/// ```
/// use std::{cell::Cell, rc::Rc};
/// let seen = Rc::new(Cell::new(0));
/// let count = seen.clone();
/// lisle_core::hook::set(move |_| count.set(count.get() + 1));
/// lisle_core::rejected::<()>(lisle_core::Error::message("lost")).detach();
/// assert_eq!(seen.get(), 1);
/// # lisle_core::hook::reset();
/// ```
pub fn set(hook: impl Fn(&Failure) + 'static) {
    let old = HOOK.with(|slot| slot.replace(Some(Rc::new(hook))));
    drop(old);
}

/// Puts the default hook back.
pub fn reset() {
    let old = HOOK.with(RefCell::take);
    drop(old);
}

/// Reports a failure, once. Never panics, runs the hook with nothing borrowed.
#[cold]
pub(crate) fn report(error: Error, kind: FailureKind, site: Option<&'static Location<'static>>) {
    if error.is_abandoned() && ABANDONING.get() {
        return;
    }
    let failure = Failure { error, kind, site };
    // During the thread's destruction the hook may be gone; the default still tells.
    let hook = HOOK.try_with(|slot| slot.borrow().clone()).ok().flatten();
    // Caught as a callback's panic is, so that a payload that panics when it is
    // dropped does not get out either.
    let called = call(|| match hook {
        Some(hook) => hook(&failure),
        None => print(&failure),
    });
    drop(called);
}

fn print(failure: &Failure) {
    if failure.error.is_canceled() {
        return;
    }
    let what = match failure.kind {
        FailureKind::Detached => "a detached promise was rejected",
        FailureKind::Callback => "a callback failed",
        FailureKind::Unobserved => "a promise was rejected and nobody looked",
    };
    match failure.site {
        Some(site) => eprintln!("lisle: {what} (from {site}): {}", failure.error),
        None => eprintln!("lisle: {what}: {}", failure.error),
    }
}

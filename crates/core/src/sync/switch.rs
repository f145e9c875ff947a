//! A switch: what is to be cleaned up, kept together until it is turned off.
//!
//! ```text
//!   on: hooks, newest first ──turn_off │ last handle dropped──► off: all hooks are started, none is kept
//! ```
//!
//! A destructor cannot wait, and cleanups are promises; so the owner turns the switch off and waits for
//! what that returns. Where everybody forgot to, the last handle's drop starts the hooks unattended.

use super::queue::{Place, Queue};
use crate::promise::call;
use crate::{IntoPromise, Promise, join, ready, rejected};
use std::cell::{Cell, RefCell};
use std::fmt;
use std::rc::Rc;

/// A group of resources with one end: hooks that run when it is turned off.
///
/// A `Switch` is a handle: a clone is the same switch. Dropping the last one of a switch that is on starts
/// its hooks too; what fails then goes to [`crate::hook`].
///
/// ```
/// use lisle_core::{ready, sync::Switch};
/// use std::{cell::Cell, rc::Rc};
/// let (switch, closed) = (Switch::new(), Rc::new(Cell::new(false)));
/// let close = closed.clone();
/// switch.add_hook(move || {
///     close.set(true);
///     ready(())
/// })?;
/// switch.turn_off().try_take().unwrap()?;
/// assert!(closed.get());
/// assert!(switch.check().is_err());
/// # Ok::<(), lisle_core::Error>(())
/// ```
pub struct Switch {
    inner: Rc<Inner>,
}

type Hook = Box<dyn FnOnce() -> Promise<()>>;

struct Inner {
    is_on: Cell<bool>,
    hooks: RefCell<Queue<Hook>>,
}

/// The switch is off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SwitchOff;

impl fmt::Display for SwitchOff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the switch is off: what belongs to it has ended; use a switch that is on")
    }
}

impl std::error::Error for SwitchOff {}

/// Names a hook of a [`Switch`], to take it back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HookKey(Place);

impl Switch {
    /// A switch that is on.
    #[must_use]
    pub fn new() -> Switch {
        Switch { inner: Rc::new(Inner { is_on: Cell::new(true), hooks: RefCell::new(Queue::new()) }) }
    }

    /// Whether it has not been turned off yet.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.inner.is_on.get()
    }

    /// Fails if the switch is off.
    ///
    /// # Errors
    /// [`SwitchOff`].
    pub fn check(&self) -> Result<(), SwitchOff> {
        if self.is_on() { Ok(()) } else { Err(SwitchOff) }
    }

    /// Adds what is to be done when the switch is turned off.
    ///
    /// It stays until then; on a switch that lives longer than its resources, take the hook of a resource
    /// that has ended back with [`Switch::remove_hook`].
    ///
    /// # Errors
    /// [`SwitchOff`]; the hook is dropped then.
    pub fn add_hook<P>(&self, hook: impl FnOnce() -> P + 'static) -> Result<HookKey, SwitchOff>
    where
        P: IntoPromise<Value = ()>,
    {
        self.check()?;
        let hook: Hook = Box::new(move || hook().into_promise());
        Ok(HookKey(self.inner.hooks.borrow_mut().push(hook)))
    }

    /// Drops a hook of this switch before it was started, in O(1); whether it was there.
    pub fn remove_hook(&self, key: HookKey) -> bool {
        let hook = self.inner.hooks.borrow_mut().remove(key.0);
        hook.is_some()
    }

    /// Adds the hook if the switch is on; else calls it now and promises what it promises.
    ///
    /// # Errors
    /// Those of the hook, if it was called.
    pub fn add_hook_or_exec<P>(&self, hook: impl FnOnce() -> P + 'static) -> Promise<()>
    where
        P: IntoPromise<Value = ()>,
    {
        if !self.is_on() {
            return start(move || hook().into_promise());
        }
        let hook: Hook = Box::new(move || hook().into_promise());
        self.inner.hooks.borrow_mut().push(hook);
        ready(())
    }

    /// Turns the switch off: starts all hooks, newest first, and waits for all.
    ///
    /// The second call, even while hooks are still running, has nothing to wait for.
    ///
    /// # Errors
    /// The first of the hooks', told when all have ended. Cancelling cancels what the hooks promised.
    pub fn turn_off(&self) -> Promise<()> {
        self.inner.turn_off()
    }
}

impl Inner {
    fn turn_off(&self) -> Promise<()> {
        if !self.is_on.replace(false) {
            return ready(());
        }
        let mut hooks = self.hooks.borrow_mut().take();
        let mut ends = Vec::with_capacity(hooks.len());
        while let Some(hook) = hooks.pop_newest() {
            ends.push(start(hook));
        }
        join(ends)
    }
}

fn start(hook: impl FnOnce() -> Promise<()>) -> Promise<()> {
    call(hook).unwrap_or_else(rejected)
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.turn_off().detach();
    }
}

/// Calls `f` with a new switch, and turns it off when what `f` returned is settled, however it ended.
///
/// ```
/// use lisle_core::sync::with_switch;
/// use lisle_core::{Error, ready};
/// let done = with_switch(|switch| {
///     switch.add_hook(|| {
///         println!("closed");
///         ready(())
///     })?;
///     Ok::<_, Error>(7)
/// });
/// assert_eq!(done.try_take().unwrap().unwrap(), 7);
/// ```
///
/// # Errors
/// What a hook promises, else what `f` promises. A panic in either is an error.
pub fn with_switch<P: IntoPromise>(f: impl FnOnce(Switch) -> P) -> Promise<P::Value> {
    let switch = Switch::new();
    let body = call(|| f(switch.clone()).into_promise()).unwrap_or_else(rejected);
    body.finalize(move || switch.turn_off())
}

impl Clone for Switch {
    fn clone(&self) -> Switch {
        Switch { inner: self.inner.clone() }
    }
}

impl Default for Switch {
    fn default() -> Switch {
        Switch::new()
    }
}

impl fmt::Debug for Switch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Switch").field("on", &self.is_on()).finish_non_exhaustive()
    }
}

//! How fibers begin: [`spawn`], [`try_spawn`], [`run`], and a [`Builder`] for those with a stack of another
//! size.
//!
//! All of them queue the fiber: its body runs in the next generation of the run queue, as in Lwt_direct, not
//! before `spawn` returns. The one allocation is the task's; the stack comes from the pool, when the body
//! begins.

use crate::fiber::{Fiber, FiberFuture};
use crate::stack;
use lisle::sched::tasks::{spawn_queued_built, try_spawn_queued_built};
use lisle::{Error, Promise, Runtime};
use std::panic::{Location, resume_unwind};

/// Starts a fiber: queued now, run in the next generation of the run queue.
///
/// The promise is of what the body returns. A panic rejects it with `Panicked`. Dropping the promise detaches
/// the fiber; cancelling it makes the fiber's wait in progress return `Err(Canceled)`.
///
/// ```
/// let promise = lisle_direct::spawn(|fiber| fiber.yield_now().map(|()| 42));
/// assert!(promise.is_pending());
/// # promise.cancel(); promise.detach(); lisle::sched::reset();
/// ```
#[track_caller]
pub fn spawn<T, F>(body: F) -> Promise<T>
where
    T: 'static,
    F: FnOnce(&Fiber<'_>) -> T + 'static,
{
    let site = Location::caller();
    spawn_queued_built(|| FiberFuture::new(body, stack::SIZE_DEFAULT, site))
}

/// Starts a fiber whose body returns a `Result`; its error rejects the promise. Otherwise like [`spawn`].
///
/// ```
/// let promise = lisle_direct::try_spawn(|_| "12".parse::<u32>());
/// # lisle::sched::tasks::run_ready();
/// assert_eq!(promise.try_take().unwrap().unwrap(), 12);
/// ```
#[track_caller]
pub fn try_spawn<T, E, F>(body: F) -> Promise<T>
where
    T: 'static,
    E: Into<Error> + 'static,
    F: FnOnce(&Fiber<'_>) -> Result<T, E> + 'static,
{
    let site = Location::caller();
    try_spawn_queued_built(|| FiberFuture::new(body, stack::SIZE_DEFAULT, site))
}

/// Runs a fiber on a fresh runtime of this thread: a whole program in direct style.
///
/// ```
/// let answer = lisle_direct::run(|fiber| {
///     fiber.wait(lisle::time::sleep(std::time::Duration::from_millis(1)))?;
///     Ok::<_, lisle::Error>(42)
/// });
/// assert_eq!(answer.unwrap(), 42);
/// ```
///
/// # Panics
/// If the body panics, or if no runtime can be started (see [`lisle::run`]).
#[track_caller]
pub fn run<T, F>(body: F) -> T
where
    T: 'static,
    F: FnOnce(&Fiber<'_>) -> T + 'static,
{
    let runtime = Runtime::new().unwrap_or_else(|error| panic!("{error}"));
    match runtime.run_promise(spawn(body)) {
        Ok(output) => output,
        // The panic has been told already, where it happened.
        Err(error) => resume_unwind(Box::new(error.to_string())),
    }
}

/// Fibers with a stack of another size than [`stack::SIZE_DEFAULT`].
///
/// ```
/// let deep = lisle_direct::Builder::new().stack_size(8 << 20);
/// let promise = deep.spawn(|_| "room for deep recursion");
/// # lisle::sched::tasks::run_ready();
/// # promise.try_take().unwrap().unwrap();
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Builder {
    stack_size: usize,
}

impl Default for Builder {
    fn default() -> Builder {
        Builder { stack_size: stack::SIZE_DEFAULT }
    }
}

impl Builder {
    /// A builder with the usual size.
    #[must_use]
    pub fn new() -> Builder {
        Builder::default()
    }

    /// Sets the size of the stack: at least [`stack::SIZE_MIN`], rounded up to whole pages, without the guard
    /// page.
    #[must_use]
    pub fn stack_size(self, bytes: usize) -> Builder {
        Builder { stack_size: stack::rounded(bytes) }
    }

    /// Like [`spawn`].
    #[track_caller]
    pub fn spawn<T, F>(self, body: F) -> Promise<T>
    where
        T: 'static,
        F: FnOnce(&Fiber<'_>) -> T + 'static,
    {
        let site = Location::caller();
        spawn_queued_built(|| FiberFuture::new(body, self.stack_size, site))
    }

    /// Like [`try_spawn`].
    #[track_caller]
    pub fn try_spawn<T, E, F>(self, body: F) -> Promise<T>
    where
        T: 'static,
        E: Into<Error> + 'static,
        F: FnOnce(&Fiber<'_>) -> Result<T, E> + 'static,
    {
        let site = Location::caller();
        try_spawn_queued_built(|| FiberFuture::new(body, self.stack_size, site))
    }
}

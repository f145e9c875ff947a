//! The runtime of a thread: one engine, one scheduler, and the lap that drives both.
//!
//! ```text
//!   lap:  run_ready ─► advance(now) ─► engine turn: collect, then tell waiters ─► wake_paused
//!          one generation               sleeps only if nothing is ready            one generation
//! ```
//!
//! A lap with nothing to submit and nothing pending makes no system call on io_uring; the clock is read
//! only while there are timers. Before it sleeps, the lap parks its mailbox; whoever posts from another
//! thread then wakes the engine, once. When the promise that `run` waits for is settled, by a task, a timer
//! or a completion, the lap ends there; one last turn, which does not sleep, hands to the kernel what was
//! started last. Dropping the runtime drops all tasks, tells everybody who waits `Abandoned`, and drains
//! the engine before memory is freed.
//!
//! Not here: the table of operations (`io.rs`, `multi.rs`, `shape.rs`), time (`clock.rs`), the choice of an
//! engine (`config.rs`).

mod clock;
mod config;
pub(crate) mod io;
pub(crate) mod multi;
pub(crate) mod shape;

pub(crate) use clock::{deadline_at, deadline_in};
pub use config::Builder;

use lisle_core::sched::{self, mailbox, pause, sleep, tasks};
use lisle_core::{Error, Promise, Result};
use lisle_engine::probe::EngineError;
use lisle_engine::{Counters, EngineKind, Wait};
use std::cell::Cell;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::panic::resume_unwind;
use std::sync::Arc;

/// An engine and a scheduler, bound to the thread that made it. One per thread at a time.
///
/// ```
/// let runtime = lisle::Runtime::new()?;
/// let answer = runtime.run(async {
///     lisle::time::sleep(std::time::Duration::from_millis(1)).await.map(|()| 42)
/// });
/// assert_eq!(answer.unwrap(), 42);
/// # Ok::<(), lisle::StartError>(())
/// ```
pub struct Runtime {
    reason: Option<String>,
    /// Not `Send`: all its state is the thread's.
    thread: PhantomData<*const ()>,
}

/// Why a runtime did not start.
#[derive(Debug)]
#[non_exhaustive]
pub enum StartError {
    /// No engine could be opened: the cause and the cure.
    Engine(EngineError),
    /// This thread has a runtime already; one runs inside the other only as a promise of it.
    AlreadyRunning,
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartError::Engine(error) => error.fmt(f),
            StartError::AlreadyRunning => f.write_str(
                "this thread has a runtime already: await the promise here, or start the other runtime on a \
                 thread of its own",
            ),
        }
    }
}

impl std::error::Error for StartError {}

impl From<EngineError> for StartError {
    fn from(error: EngineError) -> StartError {
        StartError::Engine(error)
    }
}

impl Runtime {
    /// A runtime on the engine that `LISLE_ENGINE` names, or the best that works.
    ///
    /// # Errors
    /// When no engine can be opened, with cause and cure, or when the thread has a runtime already.
    pub fn new() -> Result<Runtime, StartError> {
        Builder::new().build()
    }

    /// Chooses the engine first.
    pub fn builder() -> Builder {
        Builder::new()
    }

    /// Runs a future as the main task, until it ends; other tasks stay suspended afterwards, and go on in a
    /// further `run`.
    ///
    /// # Panics
    /// If the future panics, if the engine itself breaks, or inside another `run` of this thread.
    pub fn run<F: Future<Output: 'static> + 'static>(&self, main: F) -> F::Output {
        match self.run_promise(tasks::spawn(main)) {
            Ok(output) => output,
            Err(error) => resume_unwind(Box::new(error.to_string())),
        }
    }

    /// Runs until a promise is settled: what a program in binds calls.
    ///
    /// # Errors
    /// The promise's own.
    ///
    /// # Panics
    /// If the engine itself breaks, or inside another `run` of this thread.
    pub fn run_promise<T: 'static>(&self, promise: Promise<T>) -> Result<T> {
        let _running = Running::enter();
        // Looked at, not taken, while it is pending: taking moves it through memory, 14 ns in each lap.
        if promise.is_pending() {
            while lap(|| promise.is_pending()) {}
        }
        // What was started last reaches the kernel on every engine, also if nobody waits for it.
        turn(Wait::Poll);
        promise.try_take().unwrap_or_else(|_| Err(Error::abandoned()))
    }

    /// Which engine runs.
    #[must_use]
    pub fn engine(&self) -> EngineKind {
        io::kind().expect("a runtime has its engine until it is dropped")
    }

    /// Why the engine is not the best one, if it is not.
    #[must_use]
    pub fn reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }

    /// What the engine has done so far.
    #[must_use]
    pub fn counters(&self) -> Counters {
        io::counters()
    }

    /// Operations in flight.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        io::in_flight()
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        // At the thread's end the state may have gone before its runtime, and with it all there was to do.
        if STATE.try_with(|_| ()).is_err() {
            return;
        }
        mailbox::own().set_notify(None);
        // Tasks first: they hold promises and sockets. What their destructors start is refused once the
        // engine is gone.
        sched::reset();
        io::uninstall();
        sched::reset();
    }
}

impl fmt::Debug for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runtime").field("engine", &io::kind()).field("reason", &self.reason).finish()
    }
}

/// Builds the runtime of this thread out of an engine.
fn start(engine: Box<dyn lisle_engine::Engine>, reason: Option<String>) -> Result<Runtime, StartError> {
    let waker = engine.waker();
    if !io::install(engine) {
        return Err(StartError::AlreadyRunning);
    }
    STATE.with(|_| ());
    mailbox::own().set_notify(Some(Arc::new(move || waker.wake())));
    Ok(Runtime { reason, thread: PhantomData })
}

thread_local! {
    static RUNNING: Cell<bool> = const { Cell::new(false) };
    static STATE: State = State::begin();
}

/// Goes at the thread's end, before the tables of which the state consists: those made last go first.
struct State;

impl State {
    fn begin() -> State {
        // What is in them does not matter: asking makes them.
        let _ = (tasks::task_count(), pause::paused_count(), sleep::sleep_count(), mailbox::own());
        State
    }
}

impl Drop for State {
    fn drop(&mut self) {}
}

/// Marks a thread that is inside `run`.
struct Running;

impl Running {
    fn enter() -> Running {
        assert!(!RUNNING.replace(true), "run inside run: await the promise instead");
        Running
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        RUNNING.set(false);
    }
}

/// One lap, for somebody who waits as long as `is_waiting`; `false` if that ended. See the module page.
fn lap(is_waiting: impl Fn() -> bool) -> bool {
    tasks::run_ready();
    if sleep::sleep_count() > 0 {
        sleep::advance(clock::now());
    }
    if !is_waiting() {
        return false;
    }
    let wait = how_long();
    let parked = wait != Wait::Poll && mailbox::own().park();
    turn(if parked { wait } else { Wait::Poll });
    if parked {
        mailbox::own().unpark();
    }
    pause::wake_paused();
    true
}

fn turn(wait: Wait) {
    if let Err(error) = io::turn(wait) {
        panic!("the {} engine broke: {error}", io::kind().map_or("missing", EngineKind::name));
    }
}

fn how_long() -> Wait {
    if sched::has_work() {
        return Wait::Poll;
    }
    sleep::next_deadline().map_or(Wait::Forever, clock::wait_until)
}

/// Runs a future on a fresh runtime of this thread: the whole program, usually.
///
/// ```
/// assert_eq!(lisle::run(async { 1 + 1 }), 2);
/// ```
///
/// # Panics
/// If no runtime can be started (see [`StartError`]; [`Runtime::new`] returns it instead), or if the future
/// panics.
pub fn run<F: Future<Output: 'static> + 'static>(main: F) -> F::Output {
    match Runtime::new() {
        Ok(runtime) => runtime.run(main),
        Err(error) => panic!("{error}"),
    }
}

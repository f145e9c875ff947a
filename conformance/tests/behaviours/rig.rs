//! What the behaviours share: a log, a hook that collects, results as text, laps without an engine, and an allocator
//! that counts for each thread.
//!
//! Not here: anything that one module of Lwt alone needs.
//!
//! # Safety
//! The only unsafe code here is the counting allocator, which passes every call on to the system's, unchanged.

use lisle_core::{Error, Promise, Result, Shared, State, hook, sched};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::{Cell, RefCell};
use std::fmt::{Debug, Display};
use std::rc::Rc;

/// What ran, in its order.
#[derive(Clone, Default)]
pub(crate) struct Log(Rc<RefCell<Vec<String>>>);

impl Log {
    pub(crate) fn add(&self, line: impl ToString) {
        let line = line.to_string();
        self.0.borrow_mut().push(line);
    }

    /// What ran since the last call, with spaces between.
    pub(crate) fn take(&self) -> String {
        self.0.take().join(" ")
    }

    /// A callback that adds a line, whatever it is given.
    pub(crate) fn adds<T: 'static>(&self, line: &'static str) -> impl FnOnce(T) + use<T> {
        let log = self.clone();
        move |_| log.add(line)
    }

    /// A callback without an argument that adds a line.
    pub(crate) fn says(&self, line: &'static str) -> impl FnOnce() + use<> {
        let log = self.clone();
        move || log.add(line)
    }

    /// A callback that adds what it is given.
    pub(crate) fn shows<T: Display + 'static>(&self) -> impl FnOnce(T) + use<T> {
        let log = self.clone();
        move |shown| log.add(shown)
    }
}

/// Sends what comes to this thread's hook into a log, as the text of its error.
pub(crate) fn hook_log() -> Log {
    let log = Log::default();
    let lines = log.clone();
    hook::set(move |failure| lines.add(failure.error()));
    log
}

/// An error that is only a word.
pub(crate) fn fail(word: &str) -> Error {
    Error::message(word)
}

/// A callback's error: what an exception is in OCaml.
pub(crate) fn raise<T>(word: &str) -> Result<T> {
    Err(fail(word))
}

/// The result of a promise, which must be settled.
#[track_caller]
pub(crate) fn done<T>(promise: Promise<T>) -> Result<T> {
    match promise.try_take() {
        Ok(result) => result,
        Err(_) => panic!("the promise is pending"),
    }
}

/// The value of a promise, which must be fulfilled.
#[track_caller]
pub(crate) fn value<T>(promise: Promise<T>) -> T {
    done(promise).unwrap_or_else(|error| panic!("the promise is rejected: {error}"))
}

/// The error of a promise, which must be rejected.
#[track_caller]
pub(crate) fn error<T>(promise: Promise<T>) -> Error {
    match done(promise) {
        Ok(_) => panic!("the promise is fulfilled"),
        Err(error) => error,
    }
}

/// The result of a promise, which must be settled, as text: `Ok("foo")`, `Err(E)`.
#[track_caller]
pub(crate) fn result<T: Debug>(promise: Promise<T>) -> String {
    match promise.try_take() {
        Ok(result) => format!("{result:?}"),
        Err(_) => panic!("the promise is pending"),
    }
}

/// The state of a promise, as text: `Ok("foo")`, `Err(E)`, `pending`.
pub(crate) fn state<T: Clone + Debug>(promise: &Shared<T>) -> String {
    match promise.state() {
        State::Pending => "pending".to_owned(),
        State::Fulfilled(value) => format!("{:?}", Ok::<_, Error>(value)),
        State::Rejected(error) => format!("{:?}", Err::<T, _>(error)),
    }
}

/// One lap of a runtime without engine and clock.
pub(crate) fn lap() {
    sched::tasks::run_ready();
    sched::pause::wake_paused();
}

/// Laps until there is nothing to do.
pub(crate) fn run() {
    const LAPS_MAX: usize = 20_000_000;
    for _ in 0..LAPS_MAX {
        if !sched::has_work() {
            return;
        }
        lap();
    }
    panic!("there is always more work");
}

/// Runs a test in a thread with a small stack, so that a recursion over all its links cannot pass.
pub(crate) fn with_small_stack(test: impl FnOnce() + Send + 'static) {
    const STACK: usize = 512 << 10;
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(test).expect("a thread");
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

/// Bytes allocated and not freed by this thread.
pub(crate) fn live_bytes() -> isize {
    BYTES.get()
}

/// Allocations of this thread during `work`.
pub(crate) fn allocations(work: impl FnOnce()) -> usize {
    let before = CALLS.get();
    work();
    CALLS.get() - before
}

struct Counting;

thread_local! {
    static CALLS: Cell<usize> = const { Cell::new(0) };
    static BYTES: Cell<isize> = const { Cell::new(0) };
}

fn count(bytes: isize) {
    // The cells have no destructor, so they are there until the thread's last allocation.
    CALLS.set(CALLS.get() + usize::from(bytes > 0));
    BYTES.set(BYTES.get() + bytes);
}

// SAFETY: every call is handed on to the system's allocator as it came; counting touches two thread-local cells and
// does not allocate.
#[expect(unsafe_code, reason = "a global allocator cannot be written without")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller keeps `alloc`'s contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: the caller keeps `dealloc`'s contract, and `at` came from the system's allocator by `alloc` above.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

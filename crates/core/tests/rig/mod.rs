//! What the test files share: a trace, a hook that collects, things that act when dropped, a foreign
//! executor.
#![allow(dead_code, unreachable_pub, reason = "a module of each test file, which uses some of it")]

use lisle_core::hook::{self, FailureKind};
use lisle_core::{Error, Promise, Result, sched};
use std::cell::RefCell;
use std::future::Future;
use std::pin::pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::task::{Context, Poll, Wake, Waker};

/// A trace of what ran.
#[derive(Clone, Default)]
pub struct Trace(Rc<RefCell<Vec<String>>>);

impl Trace {
    pub fn new() -> Trace {
        Trace::default()
    }

    pub fn add(&self, line: impl ToString) {
        let line = line.to_string();
        self.0.borrow_mut().push(line);
    }

    /// What ran since the last call.
    pub fn take(&self) -> String {
        self.0.take().join(" ")
    }

    /// A callback that adds a line.
    pub fn adds<T: 'static>(&self, line: &'static str) -> impl FnOnce(T) + use<T> {
        let trace = self.clone();
        move |_| trace.add(line)
    }

    pub fn says(&self, line: &'static str) -> impl FnOnce() + use<> {
        let trace = self.clone();
        move || trace.add(line)
    }
}

/// Collects what comes to the hook of this thread.
pub fn failures() -> Rc<RefCell<Vec<(FailureKind, String)>>> {
    let seen = Rc::new(RefCell::new(Vec::new()));
    let seen_by_hook = seen.clone();
    hook::set(move |failure| {
        seen_by_hook.borrow_mut().push((failure.kind(), failure.error().to_string()));
    });
    seen
}

/// Runs its closure when dropped.
pub struct OnDrop<F: FnOnce()>(Option<F>);

impl<F: FnOnce()> OnDrop<F> {
    pub fn new(run: F) -> OnDrop<F> {
        OnDrop(Some(run))
    }
}

impl<F: FnOnce()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        if let Some(run) = self.0.take() {
            run();
        }
    }
}

/// Panics when dropped.
pub struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("bomb");
    }
}

/// Something to await that is not a promise; ready when `open` is called. Wakes whom it saw last.
#[derive(Clone, Default)]
pub struct Foreign(Rc<RefCell<(bool, Option<Waker>)>>);

impl Foreign {
    pub fn open(&self) {
        let waker = {
            let mut state = self.0.borrow_mut();
            state.0 = true;
            state.1.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    pub fn waker(&self) -> Option<Waker> {
        self.0.borrow().1.clone()
    }
}

impl Future for Foreign {
    type Output = ();

    fn poll(self: std::pin::Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.0.borrow_mut();
        if state.0 {
            return Poll::Ready(());
        }
        state.1 = Some(cx.waker().clone());
        Poll::Pending
    }
}

/// A waker that counts.
#[derive(Default)]
pub struct Count(AtomicUsize);

impl Count {
    pub fn waker() -> (Arc<Count>, Waker) {
        let count = Arc::new(Count::default());
        let waker = Waker::from(count.clone());
        (count, waker)
    }

    pub fn get(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// Polls once with a waker.
pub fn poll_with<F: Future + Unpin>(future: &mut F, waker: &Waker) -> Poll<F::Output> {
    std::pin::Pin::new(future).poll(&mut Context::from_waker(waker))
}

/// A foreign executor: parks its thread until woken, runs a lap of lisle between polls.
pub fn block_on<F: Future>(future: F) -> F::Output {
    struct Gate(Mutex<bool>, Condvar);
    impl Wake for Gate {
        fn wake(self: Arc<Self>) {
            *self.0.lock().expect("no panic under this lock") = true;
            self.1.notify_one();
        }
    }
    let gate = Arc::new(Gate(Mutex::new(true), Condvar::new()));
    let waker = Waker::from(gate.clone());
    let mut future = pin!(future);
    loop {
        let mut open = gate.0.lock().expect("no panic under this lock");
        while !*open && !sched::has_work() {
            open = gate.1.wait(open).expect("no panic under this lock");
        }
        *open = false;
        drop(open);
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        lap();
    }
}

/// One lap of a runtime without engine and clock.
pub fn lap() {
    sched::tasks::run_ready();
    sched::pause::wake_paused();
}

/// Laps until there is nothing to do.
pub fn run() {
    for _ in 0..1_000_000 {
        if !sched::has_work() {
            return;
        }
        lap();
    }
    panic!("there is always more work");
}

/// The result of a promise that must be settled.
#[track_caller]
pub fn done<T>(promise: Promise<T>) -> Result<T> {
    match promise.try_take() {
        Ok(result) => result,
        Err(_) => panic!("the promise is pending"),
    }
}

/// The value of a promise that must be fulfilled.
#[track_caller]
pub fn value<T>(promise: Promise<T>) -> T {
    match done(promise) {
        Ok(value) => value,
        Err(error) => panic!("the promise is rejected: {error}"),
    }
}

/// The error of a promise that must be rejected.
#[track_caller]
pub fn error<T>(promise: Promise<T>) -> Error {
    match done(promise) {
        Ok(_) => panic!("the promise is fulfilled"),
        Err(error) => error,
    }
}

/// An error that is only a word.
pub fn fail(word: &str) -> Error {
    Error::message(word)
}

/// Runs a test in a thread with a small stack, so that a recursion of a million steps cannot pass.
pub fn with_small_stack(test: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(2 << 20).spawn(test).expect("a thread");
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

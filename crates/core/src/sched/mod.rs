//! The scheduler of one thread: resolution, run queue, pauses, timers. It has no loop and no clock of its
//! own.
//!
//! A runtime drives it; one *lap* is
//!
//! ```text
//!   run_ready()      one generation of the run queue: tasks and fibers that were woken
//!   advance(now)     timers that are due
//!   (engine turn)    completions are collected, then their waiters are told
//!   wake_paused()    the pauses made until here, oldest first
//! ```
//!
//! so neither a task that wakes itself nor a chain of pauses can keep the engine from its turn.
//!
//! # Resolution
//! `NESTING` counts the resolutions on the stack. The immediate flavour runs a batch of waiters where it
//! stands; the deferring flavour queues it if a resolution is in progress, and the outermost resolution
//! drains that queue before it returns. Inside a batch, callbacks that settle further promises hand their
//! batches back instead of calling: depth first, newest first, with a heap stack, so a chain of a million
//! promises needs no more machine stack than one.
//!
//! The files: `tasks.rs` life of a task; `table.rs` slab and run queue; `body.rs` a task's allocation;
//! `flag.rs` what a poll is for; `kept.rs` waiters in a word; `sites.rs` places of spawns; `yields.rs` going
//! to the end of the run queue; `waker.rs` integer wakers (unsafe); `mailbox.rs` wakes from other threads;
//! `pause.rs`, `sleep.rs` leaves, and `rejected.rs` what both remember.

mod body;
mod flag;
mod kept;
pub mod mailbox;
pub mod pause;
mod rejected;
mod sites;
pub mod sleep;
mod table;
pub mod tasks;
pub(crate) mod waker;
mod yields;

use crate::Waiter;
use crate::hook;
use crate::promise::batch::Batch;
use crate::promise::call;
use crate::storage::AtStart;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

pub use tasks::TaskId;

thread_local! {
    static NESTING: Cell<u32> = const { Cell::new(0) };
    /// Whether `DEFERRED` may hold something: spares every resolution a look into it.
    static HAS_DEFERRED: Cell<bool> = const { Cell::new(false) };
    static DEFERRED: RefCell<VecDeque<Batch>> = const { RefCell::new(VecDeque::new()) };
}

/// Counts one resolution; restores the count, and the storage, even if a destructor panics through it.
struct Nesting {
    before: u32,
    _storage: AtStart,
}

impl Nesting {
    fn enter() -> Nesting {
        let before = NESTING.get();
        NESTING.set(before + 1);
        Nesting { before, _storage: AtStart::new() }
    }
}

impl Drop for Nesting {
    fn drop(&mut self) {
        NESTING.set(self.before);
    }
}

/// Resolutions that may stand on each other before a node hands out what is to be run instead of running it.
const NESTING_MAX: u32 = 32;

/// Whether so many resolutions stand on the stack that a node should not add one.
pub(crate) fn is_deep() -> bool {
    NESTING.get() > NESTING_MAX
}

/// Runs a batch now, as a resolution of its own.
pub(crate) fn run_now(batch: Batch) {
    let nesting = Nesting::enter();
    run_batch(batch);
    if nesting.before == 0 {
        drain_deferred();
    }
}

/// Tells one waiter now, as a resolution of its own.
pub(crate) fn run_waiter(waiter: Waiter) {
    if let Err(error) = call(|| run_waiter_uncaught(waiter)) {
        hook::report(error, hook::FailureKind::Callback, None);
        if NESTING.get() == 0 {
            run_now(Batch::default());
        }
    }
}

/// As [`run_waiter`], for a caller that catches what a destructor or a foreign waker throws.
#[inline(always)]
pub(crate) fn run_waiter_uncaught(waiter: Waiter) {
    let nesting = Nesting::enter();
    if let Some(batch) = waiter.step() {
        run_batch(batch);
    }
    if nesting.before == 0 {
        drain_deferred();
    }
}

/// Runs a batch now, or after the resolution in progress.
pub(crate) fn run_or_defer(batch: Batch) {
    if NESTING.get() == 0 {
        run_now(batch);
    } else {
        let mut batch = Some(batch);
        HAS_DEFERRED.set(true);
        let queued = DEFERRED.try_with(|queue| queue.borrow_mut().extend(batch.take()));
        if let (Err(_), Some(batch)) = (queued, batch) {
            // The thread is being destroyed, and the queue is gone before those that it served.
            run_batch(batch);
        }
    }
}

#[inline]
fn drain_deferred() {
    if !HAS_DEFERRED.replace(false) {
        return;
    }
    drain_queue();
}

fn drain_queue() {
    let _storage = AtStart::new();
    while let Ok(Some(batch)) = DEFERRED.try_with(|queue| queue.borrow_mut().pop_front()) {
        run_batch(batch);
    }
}

/// Runs a batch to its end, whatever panics: callbacks are caught where they are called, but a destructor of
/// the user's (a value nobody wants, a closure that was not called) or a foreign waker can panic anywhere.
fn run_batch(mut top: Batch) {
    let mut below: Vec<(Batch, AtStart)> = Vec::new();
    while let Err(error) = call(|| step_batch(&mut top, &mut below)) {
        hook::report(error, hook::FailureKind::Callback, None);
    }
}

fn step_batch(top: &mut Batch, below: &mut Vec<(Batch, AtStart)>) {
    loop {
        let Some(waiter) = top.pop() else {
            match below.pop() {
                Some((batch, _)) => *top = batch,
                None => return,
            }
            continue;
        };
        if let Some(next) = waiter.step() {
            // An exhausted batch is replaced, so that a chain keeps the stack empty.
            let rest = std::mem::replace(top, next);
            if !rest.is_empty() {
                below.push((rest, AtStart::new()));
            }
        }
    }
}

/// Makes room in a slab that is full: by a sixteenth, not by doubling. With a million tasks doubling keeps
/// up to a million empty slots.
fn reserve_some<S>(slab: &mut Vec<S>) {
    const GROWTH_MIN: usize = 16;
    if slab.len() == slab.capacity() {
        slab.reserve_exact((slab.len() / 16).max(GROWTH_MIN));
    }
}

/// Whether a lap has anything to do without waiting: woken tasks, pauses, mail.
#[must_use]
pub fn has_work() -> bool {
    tasks::has_ready() || pause::paused_count() > 0 || mailbox::has_mail()
}

/// Forgets all work of this thread: tasks and pauses are dropped, whoever waits for them is told `Abandoned`.
///
/// Destructors may start new work; that is dropped as well, up to a limit of rounds. Promises that nobody
/// looks at and that are abandoned meanwhile are not told to [`crate::hook`].
pub fn reset() {
    const ROUNDS_MAX: usize = 64;
    let _silence = hook::Silence::about_abandoned();
    for _ in 0..ROUNDS_MAX {
        let dropped = tasks::abandon() + pause::abandon() + sleep::abandon();
        drain_deferred();
        if dropped == 0 {
            return;
        }
    }
}

//! Tasks: futures in slots of a slab, woken by integers, polled from an array ring.
//!
//! ```text
//!              ┌──────────── wake ───────────┐
//!   spawn ─► Running ──Pending──► Idle ──► Queued ──► Running ──Ready──► Done(output) ──taken──► free
//!                                                        └──handle was dropped─────────────────► free
//! ```
//!
//! The table (`table.rs`) holds the slots and the run queue. A slot owns the boxed future while it is idle or
//! queued; while it runs, the poll holds the box and the slot is empty, so nothing is borrowed when user code
//! runs. The output stays in that same box until the promise takes it: one allocation for a task, none for
//! waiting.
//!
//! # Cancelling a task
//! `cancel` sets a flag and queues the task; the next poll runs with `canceling` up, and every promise the
//! task was already waiting for is cancelled as it is polled. So `.await` gives `Err(Canceled)` and the task
//! may clean up, also asynchronously: promises it begins to wait for meanwhile are not touched. If the poll
//! meets no such promise, the task waits for a foreign future: it is dropped there. A task that was running
//! or queued when it was cancelled is polled as usual once and then cancelled. Where the task had its value
//! already, the value wins, and the first promise it waits for next is cancelled, at once; one that makes
//! another promise at each of `POSTPONED_MAX` polls is dropped. Until it is delivered, further calls of
//! `cancel` mean the same cancellation; a later one cancels the clean-up.
//!
//! The run queue is emptied one generation at a time ([`run_ready`]).

use super::body::{Body, BoxedTask, Fallible, Outcome, Plain, Task};
use super::flag::{Canceling, poll_with};
pub(crate) use super::flag::{cancel_delivered, cancel_postponed, canceling};
use super::kept::Kept;
use super::table::{CANCEL, CANCEL_LATER, DETACHED, DONE, Ended, Picked, QUEUED, RUNNING, Table};
pub use super::yields::{YieldNow, yield_now};
use super::{mailbox, waker};
use crate::hook::{FailureKind, report};
use crate::promise::{Status, call, settled};
use crate::source::{CancelReply, Source, leaf};
use crate::storage::{self, TaskPoll};
use crate::{Error, Promise, Result, Waiter};
use std::cell::RefCell;
use std::future::Future;
use std::marker::PhantomData;
use std::panic::Location;
use std::pin::Pin;
use std::task::Poll;

/// A task of this thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskId {
    pub(crate) slot: u32,
    pub(crate) generation: u32,
}

impl TaskId {
    /// No task's: slots are numbered from 0, and never that many.
    pub(crate) const NOBODY: TaskId = TaskId { slot: u32::MAX, generation: 0 };
}

/// How often a task to be cancelled is polled once more, since it has gone on to another promise. One that
/// makes a new promise at each poll would put it off for ever.
const POSTPONED_MAX: u8 = 16;

thread_local! {
    static TABLE: RefCell<Table> = const { RefCell::new(Table::new()) };
}

/// The table; at the thread's end it may be gone, and all tasks with it.
#[inline(always)]
fn with_table<R>(f: impl FnOnce(&mut Table) -> R) -> Option<R> {
    TABLE.try_with(|table| f(&mut table.borrow_mut())).ok()
}

/// Queues a task, if it is alive and not queued yet. Own thread only.
#[inline]
pub(crate) fn wake(id: TaskId) {
    // `try_with`: a destructor at the thread's end may still wake.
    let _ = TABLE.try_with(|table| table.borrow_mut().wake(id));
}

/// As [`wake`], for a waiter that was kept.
pub(super) fn wake_kept(kept: Kept) {
    let _ = TABLE.try_with(|table| table.borrow_mut().wake_kept(kept));
}

/// The task that waits, if it is alive.
pub(super) fn kept_task(kept: Kept) -> Option<TaskId> {
    TABLE.try_with(|table| table.borrow().kept_task(kept)).ok().flatten()
}

/// Whether a task is queued.
pub(crate) fn has_ready() -> bool {
    TABLE.with_borrow(|table| table.ready_count() > 0)
}

/// Tasks that are not finished or whose output was not taken.
#[must_use]
pub fn task_count() -> usize {
    TABLE.with_borrow(Table::live_count)
}

/// Polls the tasks that are queued now, each once; those they wake come in the next generation. Returns how
/// many ran.
pub fn run_ready() -> usize {
    collect_mail();
    let (generation, mut left, mut next) = TABLE.with_borrow_mut(|table| {
        let generation = table.ready_count();
        let mut left = generation;
        let next = table.pick_next(&mut left);
        (generation, left, next)
    });
    while let Some(picked) = next {
        next = poll_picked(picked, &mut left);
    }
    generation
}

fn collect_mail() {
    if mailbox::has_mail() {
        drain_mail();
    }
}

#[cold]
#[inline(never)]
fn drain_mail() {
    let mut letters = Vec::new();
    mailbox::own().drain(&mut letters);
    letters.into_iter().for_each(waker::wake_letter);
}

/// Polls a task and takes the next one.
#[inline(always)]
fn poll_picked(picked: Picked, left: &mut usize) -> Option<Picked> {
    let Picked { mut body, id, cancel } = picked;
    let (mut done, mut canceling) = poll_with(id, cancel, TaskPoll::resumed(id), |cx| body.as_mut().poll(cx));
    if !done && canceling != Canceling::No {
        (done, canceling) = insist(body.as_mut(), id, canceling);
    }
    if done {
        end(id, body);
        return TABLE.with_borrow_mut(|table| table.pick_next(left));
    }
    TABLE.with_borrow_mut(|table| {
        table.put_back(id, body, canceling == Canceling::Delivered);
        table.pick_next(left)
    })
}

/// Sees to it that a cancellation is delivered: a task that has gone on to another promise is
/// polled once more, at once, since by the next generation that promise may have its value, and the
/// one after it too: a loop of pauses. A task that cannot be told is stopped. Whether it is done,
/// and what became of the cancellation.
#[cold]
fn insist(mut body: Pin<&mut (dyn Task + '_)>, id: TaskId, mut canceling: Canceling) -> (bool, Canceling) {
    let mut postponed = 0;
    while canceling == Canceling::Postponed && postponed < POSTPONED_MAX {
        postponed += 1;
        let done;
        (done, canceling) = poll_with(id, true, TaskPoll::resumed(id), |cx| body.as_mut().poll(cx));
        if done {
            return (true, canceling);
        }
    }
    if canceling == Canceling::Delivered {
        return (false, canceling);
    }
    let _own_storage = TaskPoll::resumed(id);
    body.stop(Error::canceled());
    (true, canceling)
}

/// Ends a task whose output is there.
fn end(id: TaskId, body: BoxedTask) {
    storage::task_ended(id);
    match TABLE.with_borrow_mut(|table| table.end(id, body)) {
        Ended::Told => {}
        Ended::Tell(waiter) => waiter.wake(),
        Ended::Lost(mut body, site) => {
            report_lost(body.as_mut(), site);
            drop(TABLE.with_borrow_mut(|table| table.free(id.slot)));
            drop_body(body);
        }
    }
}

fn report_lost(body: Pin<&mut (dyn Task + '_)>, site: &'static Location<'static>) {
    if let Some(error) = body.error()
        && !error.is_canceled()
    {
        report(error, FailureKind::Unobserved, Some(site));
    }
}

#[inline]
fn drop_body<B>(body: B) {
    if let Err(error) = call(move || drop(body)) {
        report(error, FailureKind::Callback, None);
    }
}

/// Starts a future as a task: polled now, up to its first suspension, and later resumed through the run
/// queue.
///
/// The promise is of the output; a panic rejects it with `Panicked`. Dropping the promise detaches the task.
/// Cancelling the promise resumes the task, whose `.await` then gives `Err(Canceled)`: see the crate page.
/// One allocation.
///
/// ```
/// let promise = lisle_core::spawn(async { 1 + 1 });
/// assert_eq!(promise.try_take().unwrap().unwrap(), 2);
/// ```
#[doc(alias = "spawn_local")]
#[track_caller]
pub fn spawn<F: Future<Output: 'static> + 'static>(future: F) -> Promise<F::Output> {
    start::<F, Plain>(future, Location::caller())
}

#[inline]
fn start<F, S>(future: F, site: &'static Location<'static>) -> Promise<S::Value>
where
    F: Future + 'static,
    S: Outcome<F::Output> + 'static,
{
    let mut body = Body::<F, S>::boxed(future);
    let Some(id) = with_table(|table| table.occupy(site, RUNNING, None)) else {
        return promise_of(refuse(body));
    };
    if let (Poll::Ready(output), _) =
        poll_with(id, false, TaskPoll::first(id), |cx| body.as_mut().advance(cx))
    {
        drop_body(body);
        storage::task_ended(id);
        TABLE.with_borrow_mut(|table| table.free_emptied(id.slot));
        return settled(output);
    }
    TABLE.with_borrow_mut(|table| table.put_back(id, body, false));
    promise_of(id)
}

/// Queues a future as a task: first polled in the next generation of the run queue. Otherwise like [`spawn`].
///
/// ```
/// let promise = lisle_core::spawn_queued(async { 1 });
/// assert!(promise.is_pending());
/// lisle_core::sched::tasks::run_ready(); // what a runtime does once a lap
/// assert_eq!(promise.try_take().unwrap().unwrap(), 1);
/// ```
#[track_caller]
pub fn spawn_queued<F: Future<Output: 'static> + 'static>(future: F) -> Promise<F::Output> {
    queue(Body::<F, Plain>::boxed(future), Location::caller())
}

/// As [`spawn_queued`], with a future that is built where it stays, after its allocation: for futures of
/// which moving is a good part of the cost. `build` should not panic; if it does, so does this.
#[inline]
#[track_caller]
pub fn spawn_queued_built<F>(build: impl FnOnce() -> F) -> Promise<F::Output>
where
    F: Future<Output: 'static> + 'static,
{
    queue(Body::<F, Plain>::built(build), Location::caller())
}

/// As [`spawn_queued_built`], with a future of a `Result`, as in [`try_spawn_queued`].
#[inline]
#[track_caller]
pub fn try_spawn_queued_built<T, E, F>(build: impl FnOnce() -> F) -> Promise<T>
where
    T: 'static,
    E: Into<Error> + 'static,
    F: Future<Output = std::result::Result<T, E>> + 'static,
{
    queue(Body::<F, Fallible>::built(build), Location::caller())
}

#[inline]
fn queue<F, S>(body: Pin<Box<Body<F, S>>>, site: &'static Location<'static>) -> Promise<S::Value>
where
    F: Future + 'static,
    S: Outcome<F::Output> + 'static,
{
    let mut body: Option<BoxedTask> = Some(body);
    let id = with_table(|table| {
        let id = table.occupy(site, QUEUED, body.take());
        table.enqueue(id);
        id
    });
    let Some(id) = id else { return promise_of(refuse(body)) };
    storage::task_queued(id);
    promise_of(id)
}

/// Starts a future of a `Result` as a task; its error rejects the promise. Otherwise like [`spawn`].
///
/// ```
/// let promise = lisle_core::try_spawn(async { "x".parse::<u32>() });
/// assert!(promise.try_take().unwrap().is_err());
/// ```
#[track_caller]
pub fn try_spawn<T, E, F>(future: F) -> Promise<T>
where
    T: 'static,
    E: Into<Error> + 'static,
    F: Future<Output = std::result::Result<T, E>> + 'static,
{
    start::<F, Fallible>(future, Location::caller())
}

/// Queues a future of a `Result` as a task; its error rejects the promise. Otherwise like [`spawn_queued`].
///
/// ```
/// let promise = lisle_core::try_spawn_queued(async { "12".parse::<u32>() });
/// lisle_core::sched::tasks::run_ready(); // what a runtime does once a lap
/// assert_eq!(promise.try_take().unwrap().unwrap(), 12);
/// ```
#[track_caller]
pub fn try_spawn_queued<T, E, F>(future: F) -> Promise<T>
where
    T: 'static,
    E: Into<Error> + 'static,
    F: Future<Output = std::result::Result<T, E>> + 'static,
{
    queue(Body::<F, Fallible>::boxed(future), Location::caller())
}

/// What cannot be a task any more is dropped: the promise of no task, which `take` says is abandoned. A leaf as
/// the others, so that whoever waits for a task is built for a leaf.
#[cold]
#[inline(never)]
fn refuse<B>(body: B) -> TaskId {
    drop_body(body);
    TaskId::NOBODY
}

fn promise_of<T: 'static>(id: TaskId) -> Promise<T> {
    let source: &'static Tasks<T> = const { &Tasks(PhantomData) };
    leaf(source, u64::from(id.generation) << 32 | u64::from(id.slot))
}

fn id_of(token: u64) -> TaskId {
    TaskId { slot: token as u32, generation: (token >> 32) as u32 }
}

/// The table of tasks with outputs of type `T`.
struct Tasks<T>(PhantomData<fn() -> T>);

impl<T: 'static> Source<T> for Tasks<T> {
    fn take(&self, token: u64) -> Option<Result<T>> {
        let id = id_of(token);
        let taken = with_table(|table| match table.slot(id) {
            None => Some(None),
            Some(slot) if !slot.has(DONE) => None,
            Some(_) => Some(table.take_done(id.slot)),
        });
        let taken = taken.unwrap_or(Some(None))?;
        let mut output: Option<Result<T>> = None;
        if let Some(body) = taken {
            body.take_output(&mut output);
        }
        // Returned as it lies: taken apart and put together again it would go through memory once more.
        if output.is_none() {
            output = Some(Err(Error::abandoned()));
        }
        output
    }

    fn status(&self, token: u64) -> Status {
        let status = with_table(|table| {
            let Some(slot) = table.slot(id_of(token)) else { return Status::Rejected };
            if !slot.has(DONE) {
                return Status::Pending;
            }
            match slot.body.as_mut().map(|body| body.as_mut().error()) {
                Some(None) => Status::Fulfilled,
                Some(Some(_)) | None => Status::Rejected,
            }
        });
        status.unwrap_or(Status::Rejected)
    }

    fn watch(&self, token: u64, waiter: Waiter) {
        let old = with_table(|table| table.set_waiter(id_of(token), Some(waiter)));
        drop(old);
    }

    fn unwatch(&self, token: u64) {
        let old = with_table(|table| table.set_waiter(id_of(token), None));
        drop(old);
    }

    fn cancel(&self, token: u64) -> CancelReply {
        let id = id_of(token);
        let wakes = with_table(|table| match table.slot(id) {
            // A cancellation that is on its way stands for this one too: a second would hit the clean-up.
            Some(slot) if !slot.has(DONE | CANCEL | CANCEL_LATER) => {
                let busy = slot.has(QUEUED | RUNNING);
                slot.raise(if busy { CANCEL_LATER } else { CANCEL });
                !busy
            }
            _ => false,
        });
        if wakes == Some(true) {
            wake(id);
        }
        CancelReply::Later
    }

    fn release(&self, token: u64) {
        let id = id_of(token);
        let freed = TABLE.try_with(|table| {
            let table = &mut *table.borrow_mut();
            let slot = table.slot(id)?;
            if slot.has(DONE) {
                let site = table.site(id.slot);
                return Some(((table.take_done(id.slot), None), Some(site)));
            }
            slot.raise(DETACHED);
            Some(((None, table.set_waiter(id, None)), None))
        });
        let Ok(Some(((Some(mut body), _), Some(site)))) = freed else { return };
        report_lost(body.as_mut(), site);
        drop_body(body);
    }
}

/// Drops all tasks; whoever waits for one is told `Abandoned`. How many there were.
pub(crate) fn abandon() -> usize {
    let count = TABLE.with_borrow(Table::slot_count);
    let mut dropped = 0;
    for index in 0..count as u32 {
        let freed = TABLE.with_borrow_mut(|table| table.abandon(index));
        let Some((id, (body, waiter))) = freed else { continue };
        dropped += 1;
        // Its destructors are its own code.
        let own_storage = TaskPoll::resumed(id);
        body.into_iter().for_each(drop_body);
        drop(own_storage);
        storage::task_ended(id);
        if let Some(waiter) = waiter {
            waiter.wake();
        }
    }
    TABLE.with_borrow_mut(Table::sweep_ready);
    dropped
}

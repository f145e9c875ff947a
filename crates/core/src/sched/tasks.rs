//! Tasks: futures in slots of a slab, woken by integers, polled from an array ring.
//!
//! ```text
//!              ┌──────────── wake ───────────┐
//!   spawn ─► Running ──Pending──► Idle ──► Queued ──► Running ──Ready──► Done(output) ──taken──► free
//!                                                        └──handle was dropped─────────────────► free
//! ```
//!
//! The slot owns the boxed future while it is idle or queued; while it runs, the poll holds the box and the
//! slot is empty, so nothing is borrowed when user code runs. The output stays in that same box until the
//! promise takes it: one allocation for a task, none for waiting.
//!
//! # Cancelling a task
//! `cancel` sets a flag and queues the task; the next poll runs with `canceling` up, and every promise the
//! task was already waiting for is cancelled as it is polled. So `.await` gives `Err(Canceled)` and the task
//! may clean up, also asynchronously: promises it begins to wait for meanwhile are not touched. If the poll
//! meets no such promise, the task waits for a foreign future: it is dropped there. A task that was running
//! or queued when it was cancelled is polled as usual once and then cancelled. Where the task had its value
//! already, the value wins, and the first promise it waits for next is cancelled, at once. Until then further calls of
//! `cancel` mean the same cancellation; a later one cancels the clean-up.
//!
//! The run queue is emptied one generation at a time ([`run_ready`]).

use super::body::{Body, BoxedTask, Fallible, Outcome, Plain, Task};
use super::flag::{Canceling, poll_with};
pub(crate) use super::flag::{cancel_delivered, cancel_postponed, canceling};
use super::waker::{GENERATION_MASK, SLOTS_MAX};
pub use super::yields::{YieldNow, yield_now};
use super::{mailbox, waker};
use crate::hook::{FailureKind, report};
use crate::promise::waiters::Told;
use crate::promise::{Status, call, settled};
use crate::source::{CancelReply, Source, leaf};
use crate::storage::{self, TaskPoll};
use crate::{Error, Promise, Result, Waiter};
use std::cell::RefCell;
use std::collections::VecDeque;
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

struct Slot {
    /// Empty while the task runs, and in free slots.
    body: Option<BoxedTask>,
    waiter: Option<Waiter>,
    site: &'static Location<'static>,
    generation: u32,
    flags: u8,
}

const QUEUED: u8 = 1;
const RUNNING: u8 = 2;
const DONE: u8 = 4;
/// The promise was dropped: nobody takes the output.
const DETACHED: u8 = 8;
/// The next poll delivers a cancellation.
const CANCEL: u8 = 16;
/// The poll after the next one does.
const CANCEL_LATER: u8 = 32;
/// Freed while it stood in the run queue: nobody's until it has left that.
const STALE: u8 = 64;
/// On the list of free slots.
const FREE: u8 = 128;

/// How often a task to be cancelled is polled once more, since it has gone on to another promise. One that
/// makes a new promise at each poll would put it off for ever.
const POSTPONED_MAX: u8 = 16;

/// Slots and run queue stand behind one borrow: a yield needs two of them, one to wake and one to put the
/// task back and take the next. With a cell for each it took five: 314 instructions instead of 241, and a
/// queued spawn 87 ns instead of 72.
struct Table {
    slots: Vec<Slot>,
    free: Vec<u32>,
    live: usize,
    ready: VecDeque<u32>,
}

thread_local! {
    static TABLE: RefCell<Table> = const {
        RefCell::new(Table { slots: Vec::new(), free: Vec::new(), live: 0, ready: VecDeque::new() })
    };
}

/// A task taken out of its slot to be polled.
struct Picked {
    body: BoxedTask,
    id: TaskId,
    cancel: bool,
}

/// What is left to do for a task that is done, with nothing borrowed.
enum Ended {
    Told,
    Tell(Waiter),
    /// Nobody takes the output of this body.
    Lost(BoxedTask, &'static Location<'static>),
}

impl Table {
    /// A slot with these flags, and this body unless it runs already.
    #[inline]
    fn occupy(&mut self, site: &'static Location<'static>, flags: u8, body: Option<BoxedTask>) -> TaskId {
        self.live += 1;
        if let Some(slot) = self.free.pop() {
            let entry = &mut self.slots[slot as usize];
            entry.body = body;
            entry.flags = flags;
            entry.site = site;
            return TaskId { slot, generation: entry.generation };
        }
        self.grow(Slot { body, waiter: None, site, generation: 0, flags })
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, slot: Slot) -> TaskId {
        assert!(self.slots.len() < SLOTS_MAX, "over {SLOTS_MAX} tasks on one thread");
        self.slots.push(slot);
        TaskId { slot: self.slots.len() as u32 - 1, generation: 0 }
    }

    #[inline]
    fn slot(&mut self, id: TaskId) -> Option<&mut Slot> {
        self.slots.get_mut(id.slot as usize).filter(|slot| slot.generation == id.generation)
    }

    /// Frees a slot; what it held is to be dropped outside of the borrow.
    #[must_use]
    fn free(&mut self, index: u32) -> (Option<BoxedTask>, Option<Waiter>) {
        let slot = &mut self.slots[index as usize];
        let freed = (slot.body.take(), slot.waiter.take());
        self.free_emptied(index);
        freed
    }

    /// Frees a slot that has neither body nor waiter.
    #[inline]
    fn free_emptied(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        slot.generation = slot.generation.wrapping_add(1) & GENERATION_MASK;
        self.live -= 1;
        // A slot that is queued still would wake its next task for nothing.
        if slot.flags & QUEUED != 0 {
            slot.flags = QUEUED | STALE;
        } else {
            slot.flags = FREE;
            self.free.push(index);
        }
    }

    /// A slot has left the run queue. `false` if it was freed while it stood there.
    #[inline]
    fn dequeue(&mut self, index: u32) -> bool {
        let slot = &mut self.slots[index as usize];
        slot.flags &= !QUEUED;
        if slot.flags & STALE == 0 {
            return true;
        }
        slot.flags = FREE;
        self.free.push(index);
        false
    }

    #[inline]
    fn wake(&mut self, id: TaskId) {
        if let Some(slot) = self.slots.get_mut(id.slot as usize)
            && slot.generation == id.generation
            && slot.flags & (QUEUED | DONE | FREE) == 0
        {
            slot.flags |= QUEUED;
            self.ready.push_back(id.slot);
        }
    }

    /// The next task to poll, of a generation of which `left` are left.
    #[inline]
    fn pick_next(&mut self, left: &mut usize) -> Option<Picked> {
        while *left > 0 {
            *left -= 1;
            let index = self.ready.pop_front()?;
            if !self.dequeue(index) {
                continue;
            }
            let slot = &mut self.slots[index as usize];
            if slot.flags & DONE == 0
                && let Some(body) = slot.body.take()
            {
                slot.flags |= RUNNING;
                let id = TaskId { slot: index, generation: slot.generation };
                return Some(Picked { body, id, cancel: slot.flags & CANCEL != 0 });
            }
        }
        None
    }

    /// Puts a polled body back into its slot.
    #[inline]
    fn put_back(&mut self, id: TaskId, body: BoxedTask, cancel_delivered: bool) {
        let slot = &mut self.slots[id.slot as usize];
        slot.body = Some(body);
        slot.flags &= !RUNNING;
        if slot.flags & (CANCEL | CANCEL_LATER) == 0 {
            return;
        }
        if cancel_delivered {
            slot.flags &= !CANCEL;
        }
        if slot.flags & CANCEL_LATER != 0 {
            slot.flags = slot.flags & !CANCEL_LATER | CANCEL;
        }
        if slot.flags & CANCEL != 0 {
            self.wake(id);
        }
    }

    /// Keeps the body of a task that is done until its output is taken. A task that waits for it is queued
    /// here.
    #[inline]
    fn end(&mut self, id: TaskId, body: BoxedTask) -> Ended {
        let slot = &mut self.slots[id.slot as usize];
        if slot.flags & DETACHED != 0 {
            return Ended::Lost(body, slot.site);
        }
        slot.body = Some(body);
        slot.flags = slot.flags & !RUNNING | DONE;
        match &slot.waiter {
            None => Ended::Told,
            Some(Waiter(Told::Task(id))) => {
                let id = *id;
                slot.waiter = None;
                self.wake(id);
                Ended::Told
            }
            Some(_) => slot.waiter.take().map_or(Ended::Told, Ended::Tell),
        }
    }
}

/// Queues a task, if it is alive and not queued yet. Own thread only.
#[inline]
pub(crate) fn wake(id: TaskId) {
    // `try_with`: a destructor at the thread's end may still wake.
    let _ = TABLE.try_with(|table| table.borrow_mut().wake(id));
}

/// Whether a task is queued.
pub(crate) fn has_ready() -> bool {
    TABLE.with_borrow(|table| !table.ready.is_empty())
}

/// Tasks that are not finished or whose output was not taken.
#[must_use]
pub fn task_count() -> usize {
    TABLE.with_borrow(|table| table.live)
}

/// Polls the tasks that are queued now, each once; those they wake come in the next generation. Returns how
/// many ran.
pub fn run_ready() -> usize {
    collect_mail();
    let generation = TABLE.with_borrow(|table| table.ready.len());
    let mut left = generation;
    let mut next = TABLE.with_borrow_mut(|table| table.pick_next(&mut left));
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

/// Sees to it that a cancellation is delivered: a task that has gone on to another promise is polled once more,
/// at once, since by the next generation that promise may have its value, and the one after it too: a loop of
/// pauses. A task that cannot be told is stopped. Whether it is done, and what became of the cancellation.
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
    let id = TABLE.with_borrow_mut(|table| table.occupy(site, RUNNING, None));
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
    queue::<F, Plain>(future, Location::caller())
}

#[inline]
fn queue<F, S>(future: F, site: &'static Location<'static>) -> Promise<S::Value>
where
    F: Future + 'static,
    S: Outcome<F::Output> + 'static,
{
    let body: BoxedTask = Body::<F, S>::boxed(future);
    let id = TABLE.with_borrow_mut(|table| {
        let id = table.occupy(site, QUEUED, Some(body));
        table.ready.push_back(id.slot);
        id
    });
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
    queue::<F, Fallible>(future, Location::caller())
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
        let taken = TABLE.with_borrow_mut(|table| match table.slot(id) {
            None => Some(None),
            Some(slot) if slot.flags & DONE == 0 => None,
            Some(slot) => {
                // Its waiter was told.
                let body = slot.body.take();
                table.free_emptied(id.slot);
                Some(body)
            }
        })?;
        let mut output: Option<Result<T>> = None;
        if let Some(mut body) = taken {
            body.as_mut().take_output(&mut output);
        }
        // Returned as it lies: taken apart and put together again it would go through memory once more.
        if output.is_none() {
            output = Some(Err(Error::abandoned()));
        }
        output
    }

    fn status(&self, token: u64) -> Status {
        TABLE.with_borrow_mut(|table| {
            let Some(slot) = table.slot(id_of(token)) else { return Status::Rejected };
            if slot.flags & DONE == 0 {
                return Status::Pending;
            }
            match slot.body.as_mut().and_then(|body| body.as_mut().error()) {
                Some(_) => Status::Rejected,
                None => Status::Fulfilled,
            }
        })
    }

    fn watch(&self, token: u64, waiter: Waiter) {
        let old = TABLE.with_borrow_mut(|table| table.slot(id_of(token))?.waiter.replace(waiter));
        drop(old);
    }

    fn unwatch(&self, token: u64) {
        let old = TABLE.with_borrow_mut(|table| table.slot(id_of(token))?.waiter.take());
        drop(old);
    }

    fn cancel(&self, token: u64) -> CancelReply {
        let id = id_of(token);
        let wakes = TABLE.with_borrow_mut(|table| match table.slot(id) {
            // A cancellation that is on its way stands for this one too: a second would hit the clean-up.
            Some(slot) if slot.flags & (DONE | CANCEL | CANCEL_LATER) == 0 => {
                let busy = slot.flags & (QUEUED | RUNNING) != 0;
                slot.flags |= if busy { CANCEL_LATER } else { CANCEL };
                !busy
            }
            _ => false,
        });
        if wakes {
            wake(id);
        }
        CancelReply::Later
    }

    fn release(&self, token: u64) {
        let id = id_of(token);
        let freed = TABLE.try_with(|table| {
            let table = &mut *table.borrow_mut();
            let slot = table.slot(id)?;
            if slot.flags & DONE != 0 {
                let site = slot.site;
                return Some((table.free(id.slot), Some(site)));
            }
            slot.flags |= DETACHED;
            Some(((None, slot.waiter.take()), None))
        });
        let Ok(Some(((Some(mut body), _), Some(site)))) = freed else { return };
        report_lost(body.as_mut(), site);
        drop_body(body);
    }
}

/// Drops all tasks; whoever waits for one is told `Abandoned`. How many there were.
pub(crate) fn abandon() -> usize {
    let count = TABLE.with_borrow(|table| table.slots.len());
    let mut dropped = 0;
    for index in 0..count as u32 {
        let freed = TABLE.with_borrow_mut(|table| {
            let slot = &table.slots[index as usize];
            let id = TaskId { slot: index, generation: slot.generation };
            let alive = slot.body.is_some() && slot.flags & (DONE | RUNNING) == 0;
            alive.then(|| (id, table.free(index)))
        });
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
    // What stays queued is running just now: its caller called this.
    TABLE.with_borrow_mut(|table| {
        let mut ready = std::mem::take(&mut table.ready);
        ready.retain(|&index| table.slots[index as usize].flags & STALE == 0 || table.dequeue(index));
        table.ready = ready;
    });
    dropped
}

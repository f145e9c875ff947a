//! Tasks: futures in slots of a slab, woken by integers, polled from an array ring.
//!
//! ```text
//!              ┌──────────── wake ───────────┐
//!   spawn ─► Running ──Pending──► Idle ──► Queued ──► Running ──Ready──► Done(output) ──taken──► free
//!                                                        └──handle was dropped─────────────────► free
//! ```
//!
//! The slot owns the boxed future while it is idle or queued; while it runs, the poll holds the box and the slot is empty, so
//! nothing is borrowed when user code runs. The output stays in that same box until the promise takes it: one allocation
//! for a task, none for waiting.
//!
//! # Cancelling a task
//! `cancel` sets a flag and queues the task; the next poll runs with [`canceling`] up, and every promise the task was already
//! waiting for is cancelled as it is polled. So `.await` gives `Err(Canceled)` and the task may clean up, also asynchronously: promises
//! it begins to wait for meanwhile are not touched. If the poll meets no such promise, the task waits for a foreign future:
//! it is dropped there. A task that was running or queued when it was cancelled is polled as usual once and then cancelled.
//!
//! The run queue is emptied one generation at a time ([`run_ready`]).

use super::waker::{GENERATION_MASK, SLOTS_MAX};
use super::{mailbox, waker};
use crate::hook::{FailureKind, report};
use crate::promise::{Status, call, settled};
use crate::source::{CancelReply, Source, leaf};
use crate::{Error, Promise, Result, Waiter};
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::Future;
use std::marker::PhantomData;
use std::panic::Location;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A task of this thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskId {
    pub(crate) slot: u32,
    pub(crate) generation: u32,
}

pin_project_lite::pin_project! {
    /// The one allocation of a task.
    #[project = BodyProjection]
    enum Body<F: Future> {
        Running { #[pin] future: F },
        Done { output: Option<Result<F::Output>> },
    }
}

/// A body of any type.
trait Task {
    /// Polls; `true` when the output is there.
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> bool;

    /// Drops the future where it stands; the output is this error.
    fn stop(self: Pin<&mut Self>, error: Error);

    /// Moves the output into an `Option<Result<T>>`.
    fn take_output(self: Pin<&mut Self>, output: &mut dyn Any);

    /// The error, if that is the output.
    fn error(self: Pin<&mut Self>) -> Option<Error>;
}

impl<F: Future<Output: 'static> + 'static> Task for Body<F> {
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> bool {
        let polled = match self.as_mut().project() {
            BodyProjection::Running { future } => call(|| future.poll(cx)),
            BodyProjection::Done { .. } => return true,
        };
        let output = match polled {
            Ok(Poll::Pending) => return false,
            Ok(Poll::Ready(value)) => Ok(value),
            Err(panic) => Err(panic),
        };
        self.finish(output);
        true
    }

    fn stop(self: Pin<&mut Self>, error: Error) {
        self.finish(Err(error));
    }

    fn take_output(self: Pin<&mut Self>, output: &mut dyn Any) {
        let slot = output.downcast_mut::<Option<Result<F::Output>>>().expect("a task's promise has its type");
        if let BodyProjection::Done { output } = self.project() {
            *slot = output.take();
        }
    }

    fn error(self: Pin<&mut Self>) -> Option<Error> {
        match self.project() {
            BodyProjection::Done { output: Some(Err(error)) } => Some(error.clone()),
            _ => None,
        }
    }
}

impl<F: Future<Output: 'static> + 'static> Body<F> {
    /// Drops the future and keeps the output. A panic in the future's destructor is reported, not passed on.
    fn finish(mut self: Pin<&mut Self>, output: Result<F::Output>) {
        let dropped = call(|| self.set(Body::Done { output: None }));
        if let Err(error) = dropped {
            report(error, FailureKind::Callback, None);
        }
        self.set(Body::Done { output: Some(output) });
    }
}

type BoxedTask = Pin<Box<dyn Task>>;

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

struct Table {
    slots: Vec<Slot>,
    free: Vec<u32>,
    live: usize,
}

thread_local! {
    static TABLE: RefCell<Table> =
        const { RefCell::new(Table { slots: Vec::new(), free: Vec::new(), live: 0 }) };
    static READY: RefCell<VecDeque<u32>> = const { RefCell::new(VecDeque::new()) };
    static CANCELING: Cell<Canceling> = const { Cell::new(Canceling::No) };
}

/// What the running poll is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Canceling {
    No,
    Undelivered,
    Delivered,
}

/// Whether the task being polled is to be cancelled.
pub(crate) fn canceling() -> bool {
    CANCELING.get() != Canceling::No
}

/// A promise that the task was waiting for has been cancelled.
pub(crate) fn cancel_delivered() {
    CANCELING.set(Canceling::Delivered);
}

impl Table {
    fn reserve(&mut self, site: &'static Location<'static>) -> TaskId {
        self.live += 1;
        if let Some(slot) = self.free.pop() {
            let entry = &mut self.slots[slot as usize];
            entry.flags = RUNNING;
            entry.site = site;
            return TaskId { slot, generation: entry.generation };
        }
        assert!(self.slots.len() < SLOTS_MAX, "over {SLOTS_MAX} tasks on one thread");
        let slot = self.slots.len() as u32;
        self.slots.push(Slot { body: None, waiter: None, site, generation: 0, flags: RUNNING });
        TaskId { slot, generation: 0 }
    }

    fn slot(&mut self, id: TaskId) -> Option<&mut Slot> {
        self.slots.get_mut(id.slot as usize).filter(|slot| slot.generation == id.generation)
    }

    /// Frees a slot; the body is to be dropped outside of the borrow.
    #[must_use]
    fn free(&mut self, index: u32) -> (Option<BoxedTask>, Option<Waiter>) {
        let slot = &mut self.slots[index as usize];
        slot.generation = slot.generation.wrapping_add(1) & GENERATION_MASK;
        slot.flags = 0;
        self.live -= 1;
        self.free.push(index);
        let slot = &mut self.slots[index as usize];
        (slot.body.take(), slot.waiter.take())
    }
}

/// Queues a task, if it is alive and not queued yet. Own thread only.
pub(crate) fn wake(id: TaskId) {
    // `try_with`: a destructor at the thread's end may still wake.
    let woken = TABLE.try_with(|table| {
        let table = &mut *table.borrow_mut();
        let Some(slot) = table.slots.get_mut(id.slot as usize) else { return false };
        let dead = slot.body.is_none() && slot.flags & RUNNING == 0;
        if dead || slot.generation != id.generation || slot.flags & (QUEUED | DONE) != 0 {
            return false;
        }
        slot.flags |= QUEUED;
        true
    });
    if woken == Ok(true) {
        READY.with_borrow_mut(|ready| ready.push_back(id.slot));
    }
}

/// Whether a task is queued.
pub(crate) fn has_ready() -> bool {
    READY.with_borrow(|ready| !ready.is_empty())
}

/// Tasks that are not finished or whose output was not taken.
#[must_use]
pub fn task_count() -> usize {
    TABLE.with_borrow(|table| table.live)
}

/// Polls the tasks that are queued now, each once; those they wake come in the next generation. Returns how many ran.
pub fn run_ready() -> usize {
    collect_mail();
    let generation = READY.with_borrow(VecDeque::len);
    for _ in 0..generation {
        let Some(slot) = READY.with_borrow_mut(VecDeque::pop_front) else { break };
        run_slot(slot);
    }
    generation
}

fn collect_mail() {
    if !mailbox::has_mail() {
        return;
    }
    let mut letters = Vec::new();
    mailbox::own().drain(&mut letters);
    letters.into_iter().for_each(waker::wake_letter);
}

fn run_slot(index: u32) {
    let taken = TABLE.with_borrow_mut(|table| {
        let slot = &mut table.slots[index as usize];
        slot.flags &= !QUEUED;
        let body = slot.body.take()?;
        if slot.flags & DONE != 0 {
            slot.body = Some(body);
            return None;
        }
        slot.flags |= RUNNING;
        let cancel = slot.flags & CANCEL != 0;
        Some((body, TaskId { slot: index, generation: slot.generation }, cancel))
    });
    let Some((mut body, id, cancel)) = taken else { return };
    let (mut done, delivered) = poll_body(body.as_mut(), id, cancel);
    if cancel && !done && !delivered {
        body.as_mut().stop(Error::canceled());
        done = true;
    }
    settle_slot(id, body, done, cancel);
}

/// Polls a body with the cancel flag set as told; whether it is done, and whether the cancellation was delivered.
fn poll_body(body: Pin<&mut (dyn Task + '_)>, id: TaskId, cancel: bool) -> (bool, bool) {
    struct Restore(Canceling);
    impl Drop for Restore {
        fn drop(&mut self) {
            CANCELING.set(self.0);
        }
    }
    let restore = Restore(CANCELING.replace(if cancel { Canceling::Undelivered } else { Canceling::No }));
    let waker = waker::waker(id);
    let done = body.poll(&mut Context::from_waker(&waker));
    let delivered = CANCELING.get() == Canceling::Delivered;
    drop(restore);
    (done, delivered)
}

/// Puts a polled body back into its slot, or ends the task.
fn settle_slot(id: TaskId, mut body: BoxedTask, done: bool, canceled: bool) {
    let index = id.slot as usize;
    if !done {
        let cancel_next = TABLE.with_borrow_mut(|table| {
            let slot = &mut table.slots[index];
            slot.body = Some(body);
            slot.flags &= !RUNNING;
            if canceled {
                slot.flags &= !CANCEL;
            }
            let later = slot.flags & CANCEL_LATER != 0;
            if later {
                slot.flags = slot.flags & !CANCEL_LATER | CANCEL;
            }
            later
        });
        if cancel_next {
            wake(id);
        }
        return;
    }
    let detached = TABLE.with_borrow(|table| {
        let slot = &table.slots[index];
        (slot.flags & DETACHED != 0).then_some(slot.site)
    });
    if let Some(site) = detached {
        report_lost(body.as_mut(), site);
        drop(TABLE.with_borrow_mut(|table| table.free(id.slot)));
        drop_body(body);
        return;
    }
    let waiter = TABLE.with_borrow_mut(|table| {
        let slot = &mut table.slots[index];
        slot.body = Some(body);
        slot.flags = slot.flags & !RUNNING | DONE;
        slot.waiter.take()
    });
    if let Some(waiter) = waiter {
        waiter.wake();
    }
}

fn report_lost(body: Pin<&mut (dyn Task + '_)>, site: &'static Location<'static>) {
    if let Some(error) = body.error()
        && !error.is_canceled()
    {
        report(error, FailureKind::Unobserved, Some(site));
    }
}

fn drop_body(body: BoxedTask) {
    if let Err(error) = call(move || drop(body)) {
        report(error, FailureKind::Callback, None);
    }
}

/// Starts a future as a task: polled now, up to its first suspension, and later resumed through the run queue.
///
/// The promise is of the output; a panic rejects it with `Panicked`. Dropping the promise detaches the task.
/// Cancelling the promise resumes the task, whose `.await` then gives `Err(Canceled)`: see the crate page. One allocation.
///
/// ```
/// let promise = lisle_core::spawn(async { 1 + 1 });
/// assert_eq!(promise.try_take().unwrap().unwrap(), 2);
/// ```
#[doc(alias = "spawn_local")]
#[track_caller]
pub fn spawn<F: Future<Output: 'static> + 'static>(future: F) -> Promise<F::Output> {
    let id = TABLE.with_borrow_mut(|table| table.reserve(Location::caller()));
    let mut body = Box::pin(Body::Running { future });
    let (done, _) = poll_body(body.as_mut(), id, false);
    if done {
        let mut output: Option<Result<F::Output>> = None;
        body.as_mut().take_output(&mut output);
        drop(TABLE.with_borrow_mut(|table| table.free(id.slot)));
        return settled(output.unwrap_or_else(|| Err(Error::abandoned())));
    }
    settle_slot(id, body, false, false);
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
    let id = TABLE.with_borrow_mut(|table| table.reserve(Location::caller()));
    settle_slot(id, Box::pin(Body::Running { future }), false, false);
    wake(id);
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
    spawn(future).bind(|result| result)
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
        let freed = TABLE.with_borrow_mut(|table| match table.slot(id) {
            None => Some((None, None)),
            Some(slot) if slot.flags & DONE != 0 => Some(table.free(id.slot)),
            Some(_) => None,
        });
        let mut output: Option<Result<T>> = None;
        if let (Some(mut body), _) = freed? {
            body.as_mut().take_output(&mut output);
        }
        Some(output.unwrap_or_else(|| Err(Error::abandoned())))
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
            Some(slot) if slot.flags & DONE == 0 => {
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
            (slot.body.is_some() && slot.flags & (DONE | RUNNING) == 0).then(|| table.free(index))
        });
        let Some((body, waiter)) = freed else { continue };
        dropped += 1;
        body.map(drop_body);
        if let Some(waiter) = waiter {
            waiter.wake();
        }
    }
    READY.with_borrow_mut(VecDeque::clear);
    dropped
}

/// Goes behind all tasks that are ready now, and behind one turn of the engine.
///
/// # Errors
/// `Canceled`, when the task was cancelled meanwhile.
pub fn yield_now() -> YieldNow {
    YieldNow { yielded: false }
}

/// The future of [`yield_now`].
#[derive(Debug)]
#[must_use = "futures do nothing unless awaited"]
pub struct YieldNow {
    yielded: bool,
}

impl Future for YieldNow {
    type Output = Result<()>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        if !self.yielded {
            self.yielded = true;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        if canceling() {
            cancel_delivered();
            return Poll::Ready(Err(Error::canceled()));
        }
        Poll::Ready(Ok(()))
    }
}

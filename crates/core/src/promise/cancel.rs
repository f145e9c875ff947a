//! Cancellation: the backward search, the three wrappers that bend it, and a handle that can do nothing else.
//!
//! `cancel(p)` walks from `p` to what it waits for and rejects, with `Canceled`, every promise whose link
//! says so:
//!
//! ```text
//!   phase 1  search: pair ─ stops │ cancelable, pause, sleep ─ found │ bind, map… ─ its input │
//!                    join, choose… ─ each input
//!            every found promise changes state now, before any callback
//!   phase 2  the callbacks of what was found run, last found first, each a resolution of its own
//! ```
//!
//! From there ordinary propagation does the rest: a bind over a canceled input is rejected, a `catch` may
//! intercept. A promise reached twice is found once; a cycle of promises ends the walk (in Lwt it does not).
//! Work that a kernel or a task has in hand is only asked; its promise settles when the answer comes.

use super::batch::Batch;
use super::cell::{self, CancelLink, CancelStep, PromiseCell, Work};
use super::waiters::{Node, Waiter};
use super::{Promise, Repr};
use crate::source::{CancelReply, Source};
use crate::storage::{self, Entry};
use crate::{Error, sched};
use std::cell::{Cell, RefCell};
use std::fmt;
use std::rc::Rc;

/// A search under way.
pub(crate) struct Walk {
    /// What is still to be visited; an explicit stack, since chains may be a million links long.
    stack: Vec<Box<dyn Visit>>,
    found: Vec<Batch>,
    mark: u32,
}

trait Visit {
    fn visit(self: Box<Self>, walk: &mut Walk);
}

thread_local! {
    static LAST_MARK: Cell<u32> = const { Cell::new(0) };
}

impl Walk {
    fn new() -> Walk {
        let mark = LAST_MARK.get().wrapping_add(1).max(1);
        LAST_MARK.set(mark);
        Walk { stack: Vec::new(), found: Vec::new(), mark }
    }

    /// Adds an input to visit. Inputs named in one call of `cancel_inputs` are visited in that order.
    pub(crate) fn input<T: 'static>(&mut self, promise: &Promise<T>) {
        match &promise.repr {
            Repr::Value(_) | Repr::Failed(_) | Repr::Taken => {}
            Repr::Cell(handle) => self.stack.push(Box::new(CellVisit(handle.cell.clone()))),
            Repr::Leaf(leaf) => self.stack.push(Box::new(LeafVisit(leaf.source, leaf.token))),
        }
    }

    fn ask<T: 'static>(&mut self, work: &dyn Work<T>) {
        let from = self.stack.len();
        work.cancel_inputs(self);
        self.stack[from..].reverse();
    }

    fn cell<T: 'static>(&mut self, cell: &Rc<PromiseCell<T>>) {
        match cell::cancel_step(cell, self.mark) {
            CancelStep::Stop => {}
            CancelStep::Reject(root) => self.found.extend(cell::settle(&root, Err(Error::canceled()))),
            CancelStep::AskWork(cell) => self.ask(&cell.work),
            CancelStep::AskLeaf(root, source, token) => {
                // The leaf's waiter is the node that would forward it here; settling the promise itself, now,
                // replaces that.
                if let CancelReply::Settled(waiter) = source.cancel(token) {
                    drop(waiter);
                    self.found.extend(cell::settle(&root, Err(Error::canceled())));
                }
            }
        }
    }

    fn leaf<T: 'static>(&mut self, source: &'static dyn Source<T>, token: u64) {
        if let CancelReply::Settled(Some(waiter)) = source.cancel(token) {
            self.found.push(Batch::one(waiter));
        }
    }

    /// A search that begins at a promise. It borrows nothing: whoever keeps the promise in a table lets go of
    /// that before he runs it.
    pub(super) fn beginning_at<T: 'static>(promise: &Promise<T>) -> Walk {
        let mut walk = Walk::new();
        walk.input(promise);
        walk
    }

    /// Both phases, for a node that goes on afterwards. If the stack is deep, only the first: what is
    /// returned is the second, and then `next`.
    pub(super) fn run_before(mut self, next: impl FnOnce() -> Waiter) -> Option<Batch> {
        self.search();
        if self.found.is_empty() {
            return None;
        }
        if sched::is_deep() {
            return Some(Batch::reversed(self.found, next()));
        }
        if let Some(last) = self.run() {
            sched::run_now(last);
        }
        None
    }

    fn search(&mut self) {
        while let Some(next) = self.stack.pop() {
            next.visit(self);
        }
    }

    /// Both phases, but for the batch that is to run last: it is returned, so that a chain of wrappers needs
    /// no stack.
    fn run(mut self) -> Option<Batch> {
        self.search();
        while self.found.len() > 1
            && let Some(batch) = self.found.pop()
        {
            sched::run_now(batch);
        }
        self.found.pop()
    }
}

/// Cancels a promise that was given away: moved into a `bind`, a race, or a task that awaits it.
///
/// Clones cancel the same promise. A canceler keeps the promise's state until it is dropped, so a rejection
/// that nobody looks at is reported only then.
///
/// ```
/// use lisle_core::{cancelable, ready};
/// let (promise, _resolver) = cancelable::<u32>();
/// let (promise, canceler) = promise.canceler();
/// let waiting = promise.bind(|n| ready(n + 1));
/// canceler.cancel();
/// assert!(waiting.try_take().unwrap().unwrap_err().is_canceled());
/// ```
#[doc(alias = "AbortHandle")]
#[derive(Clone)]
pub struct Canceler(Rc<dyn Cancel>);

impl Canceler {
    /// See [`Promise::cancel`].
    #[doc(alias = "abort")]
    pub fn cancel(&self) {
        self.0.cancel();
    }

    /// Whether there is still something to cancel.
    #[must_use]
    pub fn is_pending(&self) -> bool {
        self.0.is_pending()
    }
}

impl fmt::Debug for Canceler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Canceler").field("pending", &self.is_pending()).finish()
    }
}

/// A promise of any type, to be cancelled.
trait Cancel {
    fn cancel(&self);
    fn is_pending(&self) -> bool;
}

impl<T: 'static> Cancel for Rc<PromiseCell<T>> {
    fn cancel(&self) {
        let mut walk = Walk::new();
        walk.stack.push(Box::new(CellVisit(self.clone())));
        if let Some(last) = walk.run() {
            sched::run_now(last);
        }
    }

    fn is_pending(&self) -> bool {
        cell::follow(self).status() == cell::Status::Pending
    }
}

struct CellVisit<T: 'static>(Rc<PromiseCell<T>>);

impl<T: 'static> Visit for CellVisit<T> {
    fn visit(self: Box<Self>, walk: &mut Walk) {
        walk.cell(&self.0);
    }
}

struct LeafVisit<T: 'static>(&'static dyn Source<T>, u64);

impl<T: 'static> Visit for LeafVisit<T> {
    fn visit(self: Box<Self>, walk: &mut Walk) {
        walk.leaf(self.0, self.1);
    }
}

/// What a wrapper does when it is cancelled itself.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OnCancel {
    /// `no_cancel`: cannot happen.
    Nothing,
    /// `protected`: stop following the input.
    LetGo,
    /// `wrap_in_cancelable`: cancel the input as well.
    CancelInput,
}

/// A promise that follows another one but is cancelled differently.
struct FollowWork<T: 'static> {
    input: RefCell<Option<Promise<T>>>,
    on_cancel: OnCancel,
}

impl<T: 'static> Work<T> for FollowWork<T> {}

/// Index under which a wrapper is told of its input, and of its own cancellation.
const INPUT: u32 = 0;
const CANCELED: u32 = 1;

impl<T: 'static> Node for PromiseCell<T, FollowWork<T>> {
    fn run(self: Rc<Self>, index: u32) -> Option<Batch> {
        let entry = Entry::told();
        // The storage is that of a callback of the user's: what runs after it may find it.
        if index == CANCELED || self.work.on_cancel == OnCancel::CancelInput {
            entry.begin();
        }
        let input = self.work.input.borrow_mut().take()?;
        if index == INPUT {
            let cell: Rc<PromiseCell<T>> = self;
            return cell::settle(&cell, input.take_settled());
        }
        match self.work.on_cancel {
            OnCancel::CancelInput => Walk::beginning_at(&input).run(),
            OnCancel::LetGo | OnCancel::Nothing => None,
        }
    }
}

fn following<T: 'static>(mut input: Promise<T>, link: CancelLink, on_cancel: OnCancel) -> Promise<T> {
    input.unwatch();
    let mut pending = match input.try_take() {
        Ok(result) => return super::settled(result),
        Err(pending) => pending,
    };
    let node = PromiseCell::pending(link, FollowWork { input: RefCell::new(None), on_cancel });
    let cell: Rc<PromiseCell<T>> = node.clone();
    let follower = Waiter::node(node.clone(), INPUT);
    let follower = if on_cancel == OnCancel::CancelInput { storage::carry(follower) } else { follower };
    if on_cancel != OnCancel::Nothing {
        cell::on_cancel(&cell, storage::carry(Waiter::node(node.clone(), CANCELED)));
    }
    let old_waiter = pending.watch(follower);
    *node.work.input.borrow_mut() = Some(pending);
    drop(old_waiter);
    Promise::of_cell(cell)
}

impl<T: 'static> Promise<T> {
    /// Asks the work behind this promise to stop.
    ///
    /// Rejects with `Canceled` the cancelable promises that this one waits for, and so this one too unless a
    /// `catch` on the way decides otherwise. Does nothing on a settled promise or where nothing is
    /// cancelable. What the kernel or a task has in hand settles when it has really stopped, with its value
    /// if it was done.
    ///
    /// ```
    /// use lisle_core::cancelable;
    /// let (promise, _resolver) = cancelable::<()>();
    /// let waiting = promise.map(|()| 1);
    /// waiting.cancel();
    /// assert!(waiting.try_take().unwrap().unwrap_err().is_canceled());
    /// ```
    #[doc(alias = "abort")]
    pub fn cancel(&self) {
        if let Some(last) = Walk::beginning_at(self).run() {
            sched::run_now(last);
        }
    }

    /// Gives the promise back, with a handle that cancels it wherever it has gone.
    ///
    /// A pending promise without a cell of its own (a pause, an operation, a task) gets one: one
    /// allocation, and another for the handle.
    #[doc(alias = "abortable")]
    pub fn canceler(self) -> (Promise<T>, Canceler) {
        let cell = self.into_cell();
        (Promise::of_cell(cell.clone()), Canceler(Rc::new(cell)))
    }

    /// A promise with the same outcome whose cancellation does not reach this one.
    ///
    /// ```
    /// use lisle_core::cancelable;
    /// let (promise, resolver) = cancelable::<u32>();
    /// let shared = promise.shared();
    /// shared.protected().cancel();
    /// assert!(shared.is_pending());
    /// resolver.resolve(1);
    /// ```
    pub fn protected(self) -> Promise<T> {
        following(self, CancelLink::Itself, OnCancel::LetGo)
    }

    /// A promise with the same outcome that cannot be cancelled.
    pub fn no_cancel(self) -> Promise<T> {
        following(self, CancelLink::Never, OnCancel::Nothing)
    }

    /// A promise with the same outcome that is cancelled at once, and this one with it if it can be.
    pub fn wrap_in_cancelable(self) -> Promise<T> {
        following(self, CancelLink::Itself, OnCancel::CancelInput)
    }
}

//! A promise is a `Future`: how tasks and foreign executors wait for it.
//!
//! A pending promise polled by a task of this thread registers the task's integer, which costs nothing;
//! polled by another executor it keeps that executor's waker. Dropping the promise takes the registration
//! back.
//!
//! Cancelling a task is delivered here: the task is polled with its cancel flag up, and each promise it was
//! already waiting for is cancelled in turn (`sched/tasks.rs` tells the whole story).

use super::waiters::{Told, Waiter};
use super::{Promise, Repr, Watch};
use crate::source::Watched;
use crate::{Result, sched};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

impl<T: 'static> Future for Promise<T> {
    type Output = Result<T>;

    /// On a settled promise nothing but the move of the value is left of this, if it
    /// is inlined: 13 ns otherwise.
    #[inline(always)]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<T>> {
        let this = self.get_mut();
        if matches!(this.repr, Repr::Value(_) | Repr::Failed(_)) {
            return Poll::Ready(this.take_inline());
        }
        this.poll_pending(cx)
    }
}

impl<T: 'static> Promise<T> {
    fn poll_pending(&mut self, cx: &mut Context<'_>) -> Poll<Result<T>> {
        if let Some(result) = self.take_in_place() {
            return Poll::Ready(result);
        }
        if sched::tasks::canceling() {
            if !self.is_watched() {
                sched::tasks::cancel_postponed();
            } else {
                self.deliver_cancel();
                if let Some(result) = self.take_in_place() {
                    return Poll::Ready(result);
                }
            }
        }
        if let Some(id) = sched::waker::local_task(cx.waker()) {
            drop(self.watch(Waiter(Told::Task(id))));
            return Poll::Pending;
        }
        let waker = cx.waker().clone();
        // The clone of a foreign waker is foreign code: it may have settled this promise.
        if let Some(result) = self.take_in_place() {
            return Poll::Ready(result);
        }
        drop(self.watch(Waiter::foreign(waker)));
        Poll::Pending
    }

    fn is_watched(&self) -> bool {
        match &self.repr {
            Repr::Cell(handle) => handle.watch != Watch::NOTHING,
            Repr::Leaf(leaf) => leaf.watched == Watched::Yes,
            Repr::Value(_) | Repr::Failed(_) | Repr::Taken => false,
        }
    }

    #[cold]
    fn deliver_cancel(&self) {
        sched::tasks::cancel_delivered();
        self.cancel();
    }
}

// Nothing inside a promise is pinned: its result moves out by value.
impl<T: 'static> Unpin for Promise<T> {}

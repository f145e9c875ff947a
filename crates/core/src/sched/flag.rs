//! What the poll in progress is for: the flag by which a cancellation reaches the promises a task waits for.
//!
//! The story is told in `tasks.rs`; here are the flag and the poll that raises it.

use super::tasks::TaskId;
use super::waker;
use crate::storage::TaskPoll;
use std::cell::Cell;
use std::mem::ManuallyDrop;
use std::task::Context;

thread_local! {
    static CANCELING: Cell<Canceling> = const { Cell::new(Canceling::No) };
}

/// What the running poll is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Canceling {
    No,
    Undelivered,
    /// It met a promise that it had not been waiting for: the next poll cancels that one.
    Postponed,
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

/// The task being cancelled begins to wait for a promise: what it waited for had its value before the cancel
/// came.
pub(crate) fn cancel_postponed() {
    if CANCELING.get() == Canceling::Undelivered {
        CANCELING.set(Canceling::Postponed);
    }
}

/// Polls with the cancel flag set as told and under the task's storage; also what became of the cancellation.
#[inline]
pub(super) fn poll_with<R>(
    id: TaskId,
    cancel: bool,
    own_storage: TaskPoll,
    poll: impl FnOnce(&mut Context<'_>) -> R,
) -> (R, Canceling) {
    struct Restore(Canceling);
    impl Drop for Restore {
        fn drop(&mut self) {
            CANCELING.set(self.0);
        }
    }
    let restore = Restore(CANCELING.replace(if cancel { Canceling::Undelivered } else { Canceling::No }));
    // Dropping it does nothing, by a call through its table.
    let waker = ManuallyDrop::new(waker::waker(id));
    let polled = poll(&mut Context::from_waker(&waker));
    let canceling = CANCELING.get();
    drop(own_storage);
    drop(restore);
    (polled, canceling)
}

//! `yield_now`: how a task lets the others go first.

use super::tasks::{cancel_delivered, cancel_postponed, canceling, wake};
use super::waker::local_task;
use crate::{Error, Result};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

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
            cancel_postponed();
            match local_task(cx.waker()) {
                Some(id) => wake(id),
                None => cx.waker().wake_by_ref(),
            }
            return Poll::Pending;
        }
        if canceling() {
            cancel_delivered();
            return Poll::Ready(Err(Error::canceled()));
        }
        Poll::Ready(Ok(()))
    }
}

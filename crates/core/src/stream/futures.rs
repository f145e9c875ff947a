//! The bridge to `futures_core::Stream`, both ways.
//!
//! [`Futures`] keeps the read that it waits for, so a poll that is given up loses nothing; when it is
//! dropped the read is cancelled. [`of_futures`] polls the foreign stream from a task of this thread, one
//! element at a time, when a reader wants it.

use super::{Stream, from};
use crate::{Promise, Result, spawn};
use std::cell::RefCell;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

/// A stream of ours as a `futures_core::Stream`, made by [`Stream::into_futures`].
pub struct Futures<T: 'static> {
    stream: Stream<T>,
    waiting: Option<Promise<Option<T>>>,
}

impl<T: 'static> Stream<T> {
    /// This stream for the `futures` ecosystem. Its items are results: an error of the
    /// source is an item, and ends nothing.
    ///
    /// ```
    /// use futures_core::Stream;
    /// use std::{pin::pin, task::{Context, Poll, Waker}};
    /// let mut numbers = pin!(lisle_core::stream::of_list([1]).into_futures());
    /// let mut cx = Context::from_waker(Waker::noop());
    /// assert!(matches!(numbers.as_mut().poll_next(&mut cx), Poll::Ready(Some(Ok(1)))));
    /// assert!(matches!(numbers.as_mut().poll_next(&mut cx), Poll::Ready(None)));
    /// ```
    pub fn into_futures(self) -> Futures<T> {
        Futures { stream: self, waiting: None }
    }
}

impl<T: 'static> futures_core::Stream for Futures<T> {
    type Item = Result<T>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<T>>> {
        let mut read = match self.waiting.take() {
            Some(read) => read,
            None => self.stream.get(),
        };
        match Pin::new(&mut read).poll(cx) {
            Poll::Ready(result) => Poll::Ready(result.transpose()),
            Poll::Pending => {
                self.waiting = Some(read);
                Poll::Pending
            }
        }
    }
}

// Nothing inside is pinned: elements move out by value.
impl<T: 'static> Unpin for Futures<T> {}

impl<T: 'static> Drop for Futures<T> {
    fn drop(&mut self) {
        if let Some(read) = &self.waiting {
            read.cancel();
        }
    }
}

impl<T: 'static> fmt::Debug for Futures<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Futures").field("stream", &self.stream).finish()
    }
}

/// A stream of the items of a `futures_core::Stream`, which is polled when a reader wants one.
///
/// When the last reader is dropped, so is the foreign stream.
pub fn of_futures<S>(foreign: S) -> Stream<S::Item>
where
    S: futures_core::Stream<Item: 'static> + 'static,
{
    let foreign = Rc::new(RefCell::new(Some(Box::pin(foreign))));
    from(move || {
        let kept = foreign.clone();
        spawn(poll_fn(move |cx| {
            // Taken out: polling is foreign code.
            let Some(mut foreign) = kept.take() else { return Poll::Ready(None) };
            let polled = foreign.as_mut().poll_next(cx);
            if !matches!(polled, Poll::Ready(None)) {
                kept.replace(Some(foreign));
            }
            polled
        }))
    })
}

//! The unbounded pushing side: a [`Pusher`] puts elements into a stream whenever it likes.
//!
//! Every push is at once in the queue; readers that wait are woken with the deferring flavour. The stream
//! ends with [`Pusher::close`], or when the last clone of the pusher is dropped: nobody could end it any
//! more. Pushers own the queue and its end, but no element: what was pushed belongs to the readers, and goes
//! when they go. There is no bound here; `bounded.rs` has one.

use super::queue::{Feed, Queue};
use super::reader::Reader;
use super::{Stream, StreamError};
use crate::{Error, Promise, Result};
use std::fmt;
use std::rc::Rc;

/// Puts elements into a stream made by [`create`]. Clones push into the same stream.
///
/// Dropping the last clone closes the stream.
#[doc(alias = "Sender")]
pub struct Pusher<T: 'static> {
    side: Rc<PushSide<T>>,
}

/// One for all clones of a pusher.
struct PushSide<T: 'static> {
    queue: Rc<Queue<T>>,
}

/// A stream and the handle that pushes into it, without a bound: whoever pushes faster than it is read fills
/// the memory. [`create_bounded`](super::create_bounded) has a bound.
///
/// ```
/// use lisle_core::stream;
/// let (numbers, pusher) = stream::create();
/// let first = numbers.get();
/// pusher.push(1)?;
/// pusher.push(2)?;
/// assert_eq!(first.try_take().unwrap()?, Some(1));
/// drop(pusher);
/// assert_eq!(numbers.to_list().try_take().unwrap()?, [2]);
/// # Ok::<(), lisle_core::Error>(())
/// ```
#[doc(alias = "channel")]
#[doc(alias = "unbounded")]
pub fn create<T: 'static>() -> (Stream<T>, Pusher<T>) {
    let queue = Queue::new(Feed::Push);
    let stream = Stream::of_reader(Reader::first(queue.clone()));
    (stream, Pusher { side: Rc::new(PushSide { queue }) })
}

impl<T: 'static> Pusher<T> {
    /// Puts an element at the end of the stream. Readers that wait for it have run when this returns,
    /// unless a resolution is in progress.
    ///
    /// # Errors
    /// [`StreamError::Closed`] after [`Pusher::close`], [`StreamError::Unread`] when no reader is left; the
    /// element is dropped then.
    #[doc(alias = "send")]
    pub fn push(&self, value: T) -> Result<()> {
        let queue = &self.side.queue;
        if queue.is_finished() {
            return Err(Error::new(StreamError::Closed));
        }
        if queue.readers() == 0 {
            return Err(Error::new(StreamError::Unread));
        }
        queue.append(value);
        queue.wake_readers();
        Ok(())
    }

    /// Ends the stream: what was pushed can still be read. Does nothing the second time.
    pub fn close(&self) {
        self.side.close();
    }

    /// Whether the stream has been closed.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.side.queue.is_finished()
    }

    /// Settles when the last reader of the stream is gone, so that nothing pushed will be read.
    ///
    /// Cancelling it has no effect.
    pub fn unread(&self) -> Promise<()> {
        self.side.queue.unread()
    }
}

impl<T: 'static> PushSide<T> {
    fn close(&self) {
        if self.queue.finish() {
            self.queue.wake_readers();
            self.queue.close();
        }
    }
}

impl<T: 'static> Drop for PushSide<T> {
    fn drop(&mut self) {
        self.close();
    }
}

impl<T: 'static> Clone for Pusher<T> {
    fn clone(&self) -> Pusher<T> {
        Pusher { side: self.side.clone() }
    }
}

impl<T: 'static> fmt::Debug for Pusher<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pusher").field("closed", &self.is_closed()).finish()
    }
}

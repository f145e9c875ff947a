//! Streams: elements that come one after the other, buffered, with independent readers.
//!
//! ```text
//!   create, create_bounded ──Pusher──►┐
//!   from, of_iter, of_seq, of_futures ┼──► queue ──► Stream, its clones ──► get, peek, iter_s, …
//!   of_list, of_promise ─────────────►┘                   │
//!                                            map, filter, append, choose, … ──► Stream
//! ```
//!
//! A [`Stream`] is a reader's place in a queue. What is pushed waits there until every reader has passed;
//! a pulling source is called only when a reader wants something that is not there.
//!
//! # Who gets an element
//! - *Clones* of a stream are independent readers: each sees every element from where it was cloned.
//! - Reads of *one* reader, also by several handles ([`Stream::same_reader`]), share the
//!   elements out: each goes to one read, in the order in which the reads began. (In Lwt, reads
//!   that wait together all get the same one.)
//! - A read that is cancelled takes none. A read whose promise is dropped goes on,
//!   as any promise, and takes its.
//!
//! With one reader elements are moved, so they need not be `Clone`.
//!
//! # What dropping does
//! - The last pusher: the stream ends, what was pushed can be read.
//! - The last reader: its elements are dropped; pushes are refused with [`StreamError::Unread`], also one
//!   that is blocked; a pulling source is dropped and its call cancelled. So the end of a consumer stops its
//!   producers, through any number of derived streams. A read under way counts as a reader.
//!
//! The files: `node.rs` the linked queue, `queue.rs` what all sides share, `reader.rs` positions and turns;
//! `push.rs`, `bounded.rs`, `pull.rs`, `make.rs` sources; `read.rs`, `through.rs` reading; `derive.rs`,
//! `combine.rs` streams of streams. These run on the loops of `each.rs` (`crew.rs`: what runs at once).
//! `futures.rs` is the bridge.

mod bounded;
mod combine;
mod crew;
mod derive;
mod each;
mod futures;
mod make;
mod node;
mod pull;
mod push;
mod queue;
mod read;
mod reader;
mod through;

pub use bounded::{BoundedPusher, create_bounded};
pub use combine::choose;
pub(crate) use each::{Each, at_most, each, fold, parallel};
pub use futures::{Futures, of_futures};
pub use make::{from, from_direct, of_iter, of_list, of_promise, of_seq, of_value};
pub use push::{Pusher, create};

use crate::Promise;
use reader::Reader;
use std::fmt;
use std::rc::Rc;

/// Why a stream did not take or give an element. Inside an [`Error`](crate::Error): `downcast_ref` it.
///
/// ```
/// use lisle_core::stream::{self, StreamError};
/// let (numbers, pusher) = stream::create();
/// pusher.close();
/// let error = pusher.push(1).unwrap_err();
/// assert_eq!(error.downcast_ref(), Some(&StreamError::Closed));
/// # drop::<lisle_core::stream::Stream<u32>>(numbers);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamError {
    /// A push after the end.
    Closed,
    /// A push into a bounded stream while another one waits for room.
    Full,
    /// A read of an element at the end.
    Empty,
    /// A push into a stream whose last reader is gone.
    Unread,
}

impl fmt::Display for StreamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            StreamError::Closed => "the stream is closed: nothing can be pushed after its end",
            StreamError::Full => "another push waits for room already: wait for it before the next one",
            StreamError::Empty => "the stream has ended: use `get`, which tells the end by `None`",
            StreamError::Unread => "nobody reads the stream any more: stop pushing",
        })
    }
}

impl std::error::Error for StreamError {}

/// A reader of elements that come one after the other. See the [module](self) for what it gives to whom.
///
/// A clone is an independent reader at the same position.
///
/// ```
/// use lisle_core::stream;
/// let numbers = stream::of_list([1, 2]);
/// let others = numbers.clone();
/// assert_eq!(numbers.get().try_take().unwrap()?, Some(1));
/// assert_eq!(others.to_list().try_take().unwrap()?, [1, 2]);
/// # Ok::<(), lisle_core::Error>(())
/// ```
pub struct Stream<T: 'static> {
    reader: Rc<Reader<T>>,
}

impl<T: 'static> Stream<T> {
    fn of_reader(reader: Rc<Reader<T>>) -> Stream<T> {
        Stream { reader }
    }

    /// A second handle of the same reader: what is read through one is not seen by the other.
    ///
    /// So that several workers share the elements out. For a reader of its own, clone the stream.
    ///
    /// ```
    /// use lisle_core::{both, stream};
    /// let (jobs, pusher) = stream::create();
    /// let (ours, theirs) = (jobs.get(), jobs.same_reader().get());
    /// pusher.push("a")?;
    /// pusher.push("b")?;
    /// assert_eq!(both(ours, theirs).try_take().unwrap()?, (Some("a"), Some("b")));
    /// # Ok::<(), lisle_core::Error>(())
    /// ```
    #[must_use]
    pub fn same_reader(&self) -> Stream<T> {
        Stream { reader: self.reader.clone() }
    }

    /// Whether the end has been produced; elements may be left to read.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.reader.queue.is_closed()
    }

    /// Settles when the end has been produced. Its callbacks see [`Stream::is_closed`] true.
    ///
    /// Cancelling it has no effect.
    pub fn closed(&self) -> Promise<()> {
        self.reader.queue.closed()
    }
}

impl<T: Clone + 'static> Clone for Stream<T> {
    fn clone(&self) -> Stream<T> {
        self.reader.queue.share(T::clone);
        Stream { reader: self.reader.fork() }
    }
}

impl<T: 'static> fmt::Debug for Stream<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream").field("closed", &self.is_closed()).finish()
    }
}

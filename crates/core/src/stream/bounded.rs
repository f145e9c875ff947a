//! The bounded pushing side: a push waits while the stream holds as many elements as its size.
//!
//! ```text
//!   push ──room──► in the queue                     refused: Closed, Unread, or Full while another one waits
//!     └──no room──► blocked ──an element was read──► in the queue, and the push is fulfilled
//!                      ├──cancelled──► its element is dropped
//!                      └──closed, or the last reader gone──► refused, its element is dropped
//! ```
//!
//! At most one push is blocked, so size + 1 elements are held. What counts is what the slowest reader has not
//! taken. With size 0 a push meets a read: it waits until one waits at the tail. (In Lwt both wait for ever.)
//! Positions belong to the readers and are shared with this table; the table forgets them when they go.

use super::queue::{Feed, Queue};
use super::reader::Reader;
use super::{Stream, StreamError};
use crate::promise::run_callback;
use crate::{Error, Promise, Resolver, cancelable, ready, rejected};
use std::cell::{Cell, RefCell};
use std::fmt;
use std::rc::Rc;

/// The bound of a queue.
pub(super) struct Bound<T: 'static> {
    size: Cell<usize>,
    /// How many elements were put into the queue.
    admitted: Cell<u64>,
    /// How many each reader has passed.
    positions: RefCell<Vec<Rc<Cell<u64>>>>,
    /// How many readers have a read under way.
    reading: Cell<usize>,
    blocked: RefCell<Option<Blocked<T>>>,
    pushes: Cell<u64>,
}

struct Blocked<T: 'static> {
    value: T,
    resolver: Resolver<()>,
    number: u64,
}

impl<T: 'static> Bound<T> {
    fn new(size: usize) -> Bound<T> {
        Bound {
            size: Cell::new(size),
            admitted: Cell::new(0),
            positions: RefCell::default(),
            reading: Cell::new(0),
            blocked: RefCell::new(None),
            pushes: Cell::new(0),
        }
    }

    pub(super) fn enter(&self, position: Rc<Cell<u64>>) {
        self.positions.borrow_mut().push(position);
    }

    pub(super) fn leave(&self, position: &Rc<Cell<u64>>) {
        self.positions.borrow_mut().retain(|other| !Rc::ptr_eq(other, position));
    }

    /// A read begins (1) or ends (-1).
    pub(super) fn reading(&self, change: isize) {
        self.reading.set(self.reading.get().saturating_add_signed(change));
    }

    /// How many elements the slowest reader has not taken. O(readers).
    fn count(&self) -> usize {
        let slowest = self.positions.borrow().iter().map(|position| position.get()).min();
        slowest.map_or(0, |position| (self.admitted.get() - position) as usize)
    }

    fn has_room(&self) -> bool {
        self.count() < self.size.get()
    }

    fn put(&self, queue: &Queue<T>, value: T) {
        self.admitted.set(self.admitted.get() + 1);
        queue.append(value);
        queue.wake_readers();
    }

    /// Lets the blocked push in, if there is room now.
    pub(super) fn admit(&self, queue: &Queue<T>) {
        if self.has_room() {
            self.let_in(queue);
        }
    }

    /// A reader waits at the tail: if all readers do, a blocked push may hand its element over whatever the
    /// size.
    pub(super) fn meet(&self, queue: &Queue<T>) {
        if self.count() == 0 {
            self.let_in(queue);
        }
    }

    fn let_in(&self, queue: &Queue<T>) {
        let Some(Blocked { value, resolver, .. }) = self.blocked.take() else { return };
        if resolver.is_pending() {
            self.put(queue, value);
            resolver.resolve(());
        } else {
            // Cancelled, and its callback has not run yet.
            run_callback(move || drop(value));
        }
    }

    /// Refuses the blocked push.
    pub(super) fn refuse(&self, reason: StreamError) {
        if let Some(Blocked { value, resolver, .. }) = self.blocked.take() {
            run_callback(move || drop(value));
            resolver.reject(reason);
        }
    }

    fn withdraw(&self, number: u64) {
        let withdrawn = self.blocked.borrow_mut().take_if(|blocked| blocked.number == number);
        run_callback(move || drop(withdrawn));
    }
}

/// Puts elements into a stream made by [`create_bounded`]. Clones push into the same stream.
///
/// Dropping the last clone closes the stream.
#[doc(alias = "Sender")]
pub struct BoundedPusher<T: 'static> {
    side: Rc<BoundedSide<T>>,
}

/// One for all clones of a pusher.
struct BoundedSide<T: 'static> {
    queue: Rc<Queue<T>>,
}

/// A stream that holds at most `size` elements, and the handle that pushes into it.
///
/// With size 0 each push waits for a read, and is fulfilled when that has the element.
///
/// ```
/// use lisle_core::stream;
/// let (numbers, pusher) = stream::create_bounded(1);
/// assert!(!pusher.push(1).is_pending());
/// let second = pusher.push(2);
/// assert!(second.is_pending());
/// assert_eq!(numbers.get().try_take().unwrap()?, Some(1));
/// assert!(!second.is_pending());
/// # Ok::<(), lisle_core::Error>(())
/// ```
#[doc(alias = "channel")]
pub fn create_bounded<T: 'static>(size: usize) -> (Stream<T>, BoundedPusher<T>) {
    let queue = Queue::new(Feed::Bounded(Bound::new(size)));
    let stream = Stream::of_reader(Reader::first(queue.clone()));
    (stream, BoundedPusher { side: Rc::new(BoundedSide { queue }) })
}

impl<T: 'static> BoundedSide<T> {
    fn bound(&self) -> &Bound<T> {
        match &self.queue.feed {
            Feed::Bounded(bound) => bound,
            Feed::Push | Feed::Pull(_) => unreachable!("only `create_bounded` makes this side"),
        }
    }

    fn close(&self) {
        if self.queue.finish() {
            self.bound().refuse(StreamError::Closed);
            self.queue.wake_readers();
            self.queue.close();
        }
    }
}

impl<T: 'static> BoundedPusher<T> {
    /// Puts an element at the end of the stream; fulfilled when there was room for it. O(readers).
    ///
    /// Cancelling a push that waits withdraws its element; a push that is fulfilled stays.
    ///
    /// # Errors
    /// [`StreamError::Closed`] after [`BoundedPusher::close`], [`StreamError::Unread`] when no reader is
    /// left, both also while it waits; [`StreamError::Full`] if another push waits already; `Canceled`.
    /// The element is dropped in each case.
    #[doc(alias = "send")]
    pub fn push(&self, value: T) -> Promise<()> {
        let queue = &self.side.queue;
        let bound = self.side.bound();
        if queue.is_finished() {
            return rejected(StreamError::Closed);
        }
        if queue.readers() == 0 {
            return rejected(StreamError::Unread);
        }
        if bound.blocked.borrow().is_some() {
            return rejected(StreamError::Full);
        }
        if bound.has_room() || (bound.reading.get() > 0 && bound.count() == 0) {
            bound.put(queue, value);
            return ready(());
        }
        let number = bound.pushes.get();
        bound.pushes.set(number + 1);
        let (promise, resolver) = cancelable();
        let blocked = Some(Blocked { value, resolver, number });
        let replaced = bound.blocked.replace(blocked);
        debug_assert!(replaced.is_none(), "one push waits at a time");
        let queue = Rc::downgrade(queue);
        promise.catch(move |error: Error| {
            if error.is_canceled()
                && let Some(queue) = queue.upgrade()
                && let Feed::Bounded(bound) = &queue.feed
            {
                bound.withdraw(number);
            }
            rejected(error)
        })
    }

    /// How many elements the stream may hold.
    #[must_use]
    pub fn size(&self) -> usize {
        self.side.bound().size.get()
    }

    /// Changes how many elements the stream may hold. One that is blocked enters if there is room now; what
    /// is too much already stays until it is read.
    pub fn resize(&self, size: usize) {
        self.side.bound().size.set(size);
        self.side.bound().admit(&self.side.queue);
    }

    /// How many elements the slowest reader has not taken, without the one that is blocked. O(readers).
    #[must_use]
    #[doc(alias = "len")]
    pub fn count(&self) -> usize {
        self.side.bound().count()
    }

    /// Whether a push waits for room.
    #[must_use]
    pub fn is_blocked(&self) -> bool {
        self.side.bound().blocked.borrow().is_some()
    }

    /// Ends the stream: what it holds can still be read, a push that waits is
    /// refused. Does nothing the second time.
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

impl<T: 'static> Drop for BoundedSide<T> {
    fn drop(&mut self) {
        self.close();
    }
}

impl<T: 'static> Clone for BoundedPusher<T> {
    fn clone(&self) -> BoundedPusher<T> {
        BoundedPusher { side: self.side.clone() }
    }
}

impl<T: 'static> fmt::Debug for BoundedPusher<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("BoundedPusher");
        shown.field("size", &self.size()).field("count", &self.count());
        shown.field("blocked", &self.is_blocked()).field("closed", &self.is_closed()).finish()
    }
}

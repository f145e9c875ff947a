//! Streams of something that is there already or is asked for: lists, iterators, functions, sequences,
//! promises.

use super::pull::Pull;
use super::queue::{Feed, Queue};
use super::reader::Reader;
use super::{Stream, create};
use crate::seq::Seq;
use crate::{IntoPromise, Promise, ready};
use std::cell::RefCell;
use std::rc::Rc;

/// A stream that calls `source` for each element, when a reader wants one and none is there.
///
/// One call is in flight at a time; readers that wait share it. `None` ends the stream. An error goes to the
/// readers of that call and ends nothing: the next read calls again. Cancelling a read leaves the call alone,
/// and what it brings is kept. When the last reader is dropped, so is `source`, and its call is cancelled.
///
/// ```
/// use lisle_core::{ready, stream};
/// let mut count = 0;
/// let numbers = stream::from(move || {
///     count += 1;
///     ready((count <= 3).then_some(count))
/// });
/// assert_eq!(numbers.to_list().try_take().unwrap()?, [1, 2, 3]);
/// # Ok::<(), lisle_core::Error>(())
/// ```
#[doc(alias = "unfold")]
#[doc(alias = "poll_fn")]
pub fn from<T, P>(source: impl FnMut() -> P + 'static) -> Stream<T>
where
    T: 'static,
    P: IntoPromise<Value = Option<T>>,
{
    Stream::of_reader(Reader::first(Queue::new(Feed::Pull(Pull::new(source)))))
}

/// As [`from`], with a function that has its element at once.
pub fn from_direct<T: 'static>(mut source: impl FnMut() -> Option<T> + 'static) -> Stream<T> {
    from(move || ready(source()))
}

/// A stream of these elements, which is closed from the start.
///
/// ```
/// let numbers = lisle_core::stream::of_list([1, 2, 3]);
/// assert!(numbers.is_closed());
/// assert_eq!(numbers.next().try_take().unwrap()?, 1);
/// # Ok::<(), lisle_core::Error>(())
/// ```
#[doc(alias = "of_array")]
#[doc(alias = "of_string")]
pub fn of_list<T: 'static>(elements: impl IntoIterator<Item = T>) -> Stream<T> {
    let queue = Queue::new(Feed::Push);
    let stream = Stream::of_reader(Reader::first(queue.clone()));
    for element in elements {
        queue.append(element);
    }
    if queue.finish() {
        queue.close();
    }
    stream
}

/// A stream of one element, which is closed from the start.
#[doc(alias = "return")]
pub fn of_value<T: 'static>(value: T) -> Stream<T> {
    of_list([value])
}

/// A stream that takes each element from the iterator when it is read.
#[doc(alias = "iter")]
pub fn of_iter<I>(elements: I) -> Stream<I::Item>
where
    I: IntoIterator<IntoIter: 'static, Item: 'static>,
{
    let mut elements = elements.into_iter();
    from_direct(move || elements.next())
}

/// A stream that evaluates the sequence as it is read.
#[doc(alias = "of_lwt_seq")]
pub fn of_seq<T: 'static>(seq: Seq<T>) -> Stream<T> {
    let rest = Rc::new(RefCell::new(Some(seq)));
    from(move || {
        let Some(seq) = rest.borrow().clone() else { return ready(None) };
        let rest = rest.clone();
        seq.uncons().map(move |node| {
            let (element, next) = node.unzip();
            drop(rest.replace(next));
            element
        })
    })
}

/// A stream of the promise's value. If it is rejected the stream just ends, and [`crate::hook`] is told.
#[doc(alias = "return_lwt")]
#[doc(alias = "once")]
pub fn of_promise<T: 'static>(promise: Promise<T>) -> Stream<T> {
    let (stream, pusher) = create();
    let pushed = promise.map(move |value| {
        // Refused if nobody reads any more: then nobody wants it.
        let _ = pusher.push(value);
    });
    drop(pushed);
    stream
}

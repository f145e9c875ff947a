//! Streams made of several: `append`, `concat`, `combine`, `choose`.
//!
//! Like those of `derive.rs` they read what they were made from only when they are read, and own it. What
//! waits for several streams at once waits for elements to *stand* there, and takes one only to hand it on:
//! so an element whose turn has not come stays in its stream, also when the combined stream is dropped.

use super::each::{Each, each};
use super::{Stream, from, of_list};
use crate::{Error, Promise, Result, Shared, State, choose as first_of, ready, rejected, settled};
use std::cell::RefCell;
use std::ops::ControlFlow;
use std::rc::Rc;

impl<T: 'static> Stream<T> {
    /// The elements of this stream, then those of the other.
    #[doc(alias = "chain")]
    pub fn append(self, other: Stream<T>) -> Stream<T> {
        of_list([self, other]).concat()
    }

    /// Pairs of elements of both streams, up to the end of the shorter. Both are asked at once. An element
    /// without a partner stays in its stream.
    ///
    /// ```
    /// use lisle_core::stream::of_list;
    /// let pairs = of_list([1, 2, 3]).combine(of_list(["one", "two"]));
    /// assert_eq!(pairs.to_list().try_take().unwrap()?, [(1, "one"), (2, "two")]);
    /// # Ok::<(), lisle_core::Error>(())
    /// ```
    #[doc(alias = "zip")]
    pub fn combine<U: 'static>(self, other: Stream<U>) -> Stream<(T, U)> {
        let streams = Rc::new((self, other));
        let asked = streams.clone();
        let ask = move || {
            let (left, right) = (asked.0.is_empty(), asked.1.is_empty());
            left.then(move |left_is_empty| match left_is_empty {
                Ok(false) => right.map(|right_is_empty| (!right_is_empty).then_some(())),
                // Over, or given up: the other side need not wait any more.
                Ok(true) => {
                    right.cancel();
                    ready(None)
                }
                Err(error) => {
                    right.cancel();
                    rejected(error)
                }
            })
        };
        let step = move |()| settled(take_both(&streams.0, &streams.1));
        let state = Each::new(ask, step);
        from(move || each(&state))
    }
}

/// One element of each, if both are still there: another handle of a reader may have been quicker.
fn take_both<T: 'static, U: 'static>(left: &Stream<T>, right: &Stream<U>) -> Result<ControlFlow<(T, U)>> {
    let mut first = left.get_available_up_to(1)?;
    let mut second = match right.get_available_up_to(1) {
        Ok(second) => second,
        Err(error) => {
            left.reader.put_back(first);
            return Err(error);
        }
    };
    match (first.pop(), second.pop()) {
        (Some(first), Some(second)) => return Ok(ControlFlow::Break((first, second))),
        (Some(first), None) => left.reader.put_back(vec![first]),
        (None, Some(second)) => right.reader.put_back(vec![second]),
        (None, None) => {}
    }
    Ok(ControlFlow::Continue(()))
}

impl<T: 'static> Stream<Stream<T>> {
    /// The elements of the streams in this stream, one stream after the other.
    pub fn concat(self) -> Stream<T> {
        let current: Rc<RefCell<Option<Stream<T>>>> = Rc::default();
        let asked = current.clone();
        // An element of the loop is a stream to read from.
        let next = move || {
            let current = asked.borrow().as_ref().map(Stream::same_reader);
            if current.is_some() {
                return ready(current);
            }
            let asked = asked.clone();
            self.get().map(move |stream| {
                let stream = stream?;
                drop(asked.replace(Some(stream.same_reader())));
                Some(stream)
            })
        };
        let step = move |stream: Stream<T>| {
            let current = current.clone();
            stream.get().map(move |element| match element {
                Some(element) => ControlFlow::Break(element),
                None => {
                    let ended = current.take();
                    drop(ended);
                    ControlFlow::Continue(())
                }
            })
        };
        let state = Each::new(next, step);
        from(move || each(&state))
    }
}

/// One stream that is merged into others.
struct Branch<T: 'static> {
    stream: Stream<T>,
    /// Whether it is at its end, once that is known.
    empty: Option<Shared<bool>>,
}

impl<T: 'static> Drop for Branch<T> {
    fn drop(&mut self) {
        // The read that waits would keep the stream.
        if let Some(empty) = &self.empty {
            empty.cancel();
        }
    }
}

/// The elements of all streams, as they come.
///
/// Streams that have something are served in turn, so none is starved. An error of one goes to the read that
/// met it and ends nothing. When the result is dropped, so are the streams: their sources are stopped and
/// their pushers told. O(streams) for each element.
///
/// ```
/// use lisle_core::stream::{choose, of_list};
/// let merged = choose([of_list([1, 3]), of_list([2])]);
/// assert_eq!(merged.to_list().try_take().unwrap()?, [1, 2, 3]);
/// # Ok::<(), lisle_core::Error>(())
/// ```
#[doc(alias = "merge")]
#[doc(alias = "select_all")]
pub fn choose<T: 'static>(streams: impl IntoIterator<Item = Stream<T>>) -> Stream<T> {
    let branches = streams.into_iter().map(|stream| Branch { stream, empty: None }).collect();
    let branches: Rc<RefCell<Vec<Branch<T>>>> = Rc::new(RefCell::new(branches));
    let asked = branches.clone();
    let next = move || ask_all(&asked);
    let step = move |()| settled(serve(&branches));
    let state = Each::new(next, step);
    from(move || each(&state))
}

/// Waits until one of the streams has something; `None` when there is no stream.
fn ask_all<T: 'static>(branches: &Rc<RefCell<Vec<Branch<T>>>>) -> Promise<Option<()>> {
    // Asking may run sources, which are user code: out of the borrow.
    let mut asked = branches.take();
    for branch in &mut asked {
        let stream = &branch.stream;
        branch.empty.get_or_insert_with(|| stream.is_empty().shared());
    }
    let waiting: Vec<_> =
        asked.iter().filter_map(|branch| branch.empty.as_ref()).map(Shared::promise).collect();
    branches.replace(asked);
    if waiting.is_empty() {
        return ready(None);
    }
    // Which of them it is, and whether it has failed, is looked up by `serve`.
    first_of(waiting).then(|_| Ok::<_, Error>(Some(())))
}

/// Takes an element of the first stream that has told something, or its error, and puts that stream last.
fn serve<T: 'static>(branches: &Rc<RefCell<Vec<Branch<T>>>>) -> Result<ControlFlow<T>> {
    // Reading may run sources, which are user code: out of the borrow.
    let mut all = branches.take();
    let mut served = Ok(ControlFlow::Continue(()));
    let told = all.iter().position(|branch| branch.empty.as_ref().is_some_and(|empty| !empty.is_pending()));
    if let Some(at) = told {
        let mut branch = all.remove(at);
        match branch.empty.take().map(|empty| empty.state()) {
            Some(State::Fulfilled(false)) => {
                let element = branch.stream.get_available_up_to(1).map(|mut element| element.pop());
                served = element.map(|element| element.map_or(ControlFlow::Continue(()), ControlFlow::Break));
                all.push(branch);
            }
            Some(State::Rejected(error)) => {
                served = Err(error);
                all.push(branch);
            }
            Some(State::Fulfilled(true) | State::Pending) | None => drop(branch),
        }
    }
    branches.replace(all);
    served
}

//! Lwt_stream: shared, buffered streams. `rows.rs` has the rows of its suite, `beyond.rs` what no suite asserts.
//!
//! Some rows are shown as Lisle has them: reads that wait together get neighbours and not the same element (STREAM-01,
//! X-STREAM-01), a merge serves its streams in turn (X-STREAM-05), and size 0 is a meeting (X-BOUND-02).

mod beyond;
mod rows;

pub(super) use crate::rig::{done, value};
use lisle_core::stream::{self, Stream, StreamError, create, from};
use lisle_core::{Error, Promise, ready, rejected};
use std::cell::Cell;
use std::rc::Rc;

#[track_caller]
pub(super) fn reason<T>(promise: Promise<T>) -> StreamError {
    *crate::rig::error(promise).downcast_ref().expect("an error of streams")
}

/// A stream with these elements that is still open.
pub(super) fn holding<T: 'static>(elements: impl IntoIterator<Item = T>) -> (Stream<T>, stream::Pusher<T>) {
    let (stream, pusher) = create();
    for element in elements {
        pusher.push(element).expect("it is open");
    }
    (stream, pusher)
}

/// A source that gives these results, one for each call, then the end; and how often it was called.
pub(super) fn script(results: Vec<Result<i32, &'static str>>) -> (Stream<i32>, Rc<Cell<usize>>) {
    let calls = Rc::new(Cell::new(0));
    let (count, mut results) = (calls.clone(), results.into_iter());
    let stream = from(move || {
        count.set(count.get() + 1);
        match results.next() {
            Some(Ok(element)) => ready(Some(element)),
            Some(Err(word)) => rejected(Error::message(word)),
            None => ready(None),
        }
    });
    (stream, calls)
}

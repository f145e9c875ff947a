//! The rows of the suite of Lwt_stream, in their order.

use super::{done, holding, reason, script, value};
use lisle_core::stream::{self, Stream, StreamError, choose, create, create_bounded, from, of_list};
use lisle_core::{Error, Resolver, pair, pause, ready, rejected, seq, wake_paused};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// STREAM-01: reads that wait together on an empty pull stream share one call of the producer; each gets an element of
/// its own, in their order (in Lwt all get the first).
#[test]
fn stream_01_waiting_reads_of_a_pull_stream_get_neighbours() {
    let calls: Rc<RefCell<Vec<Resolver<Option<i32>>>>> = Rc::default();
    let made = calls.clone();
    let stream = from(move || {
        let (promise, resolver) = pair();
        made.borrow_mut().push(resolver);
        promise
    });
    let reads = [stream.next(), stream.next(), stream.next()];
    for element in 1..=3 {
        assert_eq!(calls.borrow().len(), 1, "one call at a time");
        let call = calls.borrow_mut().pop().expect("a call");
        call.resolve(Some(element));
    }
    assert_eq!(reads.map(value), [1, 2, 3]);
}

/// STREAM-02: a stream of one value is closed from the start and gives it.
#[test]
fn stream_02_a_stream_of_a_value_is_closed_from_the_start() {
    let stream = stream::of_value(123);
    assert!(stream.is_closed());
    assert_eq!(value(stream.next()), 123);
    assert!(stream.is_closed());
}

/// STREAM-03: a stream of a promise, fulfilled already or after a pause, gives its value and is closed.
#[test]
fn stream_03_a_stream_of_a_promise_gives_its_value() {
    let stream = stream::of_promise(ready(123));
    assert_eq!(value(stream.next()), 123);
    assert!(stream.is_closed());

    let stream = stream::of_promise(pause().map(|()| 123));
    let next = stream.next();
    assert!(next.is_pending() && !stream.is_closed());
    wake_paused();
    assert_eq!(value(next), 123);
    assert!(stream.is_closed());
}

/// STREAM-04: a stream of a promise that is rejected is empty and closed.
#[test]
fn stream_04_a_stream_of_a_rejected_promise_is_empty() {
    lisle_core::hook::set(|_| {});
    let (promise, resolver) = pair::<i32>();
    let stream = stream::of_promise(promise);
    let next = stream.next();
    assert!(!stream.is_closed());
    resolver.reject(Error::message("lost"));
    assert_eq!(reason(next), StreamError::Empty);
    assert!(stream.is_closed());
    lisle_core::hook::reset();
}

/// STREAM-05: a stream of an iterator asks it for no more than was read.
#[test]
fn stream_05_a_stream_of_an_iterator_is_lazy() {
    let asked = Rc::new(Cell::new(0));
    let count = asked.clone();
    let mut elements = [1].into_iter();
    let stream = stream::of_iter(std::iter::from_fn(move || {
        count.set(count.get() + 1);
        elements.next()
    }));
    assert!(!stream.is_closed());
    assert_eq!((value(stream.get()), asked.get()), (Some(1), 1));
    assert!(!stream.is_closed());
    assert_eq!((value(stream.get()), asked.get()), (None, 2));
    assert!(stream.is_closed());
}

/// STREAM-06: so does a stream of a sequence whose nodes take their time.
#[test]
fn stream_06_a_stream_of_a_delayed_sequence_is_lazy() {
    let forced = Rc::new(Cell::new(false));
    let tail_forced = forced.clone();
    let tail = seq::delayed(move || {
        tail_forced.set(true);
        pause().map(|()| None)
    });
    let stream = stream::of_seq(seq::delayed(move || {
        let tail = tail.clone();
        pause().map(move |()| Some((1, tail)))
    }));
    assert!(!stream.is_closed());
    let first = stream.get();
    wake_paused();
    assert_eq!(value(first), Some(1));
    assert!(!forced.get() && !stream.is_closed());
    let second = stream.get();
    wake_paused();
    assert_eq!(value(second), None);
    assert!(forced.get() && stream.is_closed());
}

/// STREAM-07: three reads of a list give its elements.
#[test]
fn stream_07_next_gives_one_after_the_other() {
    let stream = of_list([1, 2, 3]);
    assert_eq!([stream.next(), stream.next(), stream.next()].map(value), [1, 2, 3]);
}

/// STREAM-08: a clone reads independently.
#[test]
fn stream_08_a_clone_reads_independently() {
    let ours = of_list([1, 2, 3]);
    let theirs = ours.clone();
    let read = [&ours, &theirs, &theirs, &ours, &ours, &theirs].map(|stream| value(stream.next()));
    assert_eq!(read, [1, 1, 2, 2, 3, 3]);
}

/// STREAM-09: a push stream and its clone each give what it holds, then neither has anything.
#[test]
fn stream_09_polling_a_push_stream_and_its_clone() {
    let (ours, _pusher) = holding([1]);
    let theirs = ours.clone();
    let poll = |stream: &Stream<i32>| stream.next().try_take().ok().map(Result::unwrap);
    assert_eq!([poll(&ours), poll(&ours)], [Some(1), None]);
    assert_eq!([poll(&theirs), poll(&theirs)], [Some(1), None]);
}

/// STREAM-10: what was pushed up to the end is collected; dropping the pusher is an end as well.
#[test]
fn stream_10_pushed_elements_up_to_the_end_are_collected() {
    let (stream, pusher) = holding([1, 2, 3]);
    pusher.close();
    assert_eq!(value(stream.to_list()), [1, 2, 3]);

    let (stream, pusher) = holding([1, 2, 3]);
    let list = stream.to_list();
    assert!(list.is_pending());
    drop(pusher);
    assert_eq!(value(list), [1, 2, 3]);
}

/// STREAM-11: a push stream closed before any element is empty.
#[test]
fn stream_11_next_of_a_stream_closed_at_once_is_rejected() {
    let (stream, pusher) = create::<i32>();
    pusher.close();
    assert_eq!(reason(stream.next()), StreamError::Empty);
}

/// STREAM-12: a bounded stream of size 3: full, blocked, admitted, closed.
#[test]
fn stream_12_a_bounded_stream_takes_its_size_and_blocks_one() {
    let (stream, pusher) = create_bounded(3);
    for element in 1..=3 {
        value(pusher.push(element));
    }
    let fourth = pusher.push(4);
    assert!(fourth.is_pending());
    assert_eq!(reason(pusher.push(5)), StreamError::Full);
    assert_eq!(reason(pusher.push(6)), StreamError::Full);
    assert_eq!(value(stream.get()), Some(1));
    wake_paused();
    value(fourth);
    assert_eq!(value(stream.get()), Some(2));
    value(pusher.push(7));
    pusher.close();
    assert_eq!(reason(pusher.push(8)), StreamError::Closed);
    assert_eq!(value(stream.to_list()), [3, 4, 7]);
}

/// STREAM-13: closing a bounded stream ends a reader that collects.
#[test]
fn stream_13_closing_a_bounded_stream_ends_its_reader() {
    let (stream, pusher) = create_bounded(1);
    value(pusher.push(1));
    let list = stream.to_list();
    assert!(list.is_pending());
    pusher.close();
    assert_eq!(value(list), [1]);
}

/// STREAM-14: the longest prefix is taken, the rest stays.
#[test]
fn stream_14_get_while_takes_the_longest_prefix() {
    let stream = of_list(1..=5);
    assert_eq!(value(stream.get_while(|n| *n < 3)), [1, 2]);
    assert_eq!(value(stream.to_list()), [3, 4, 5]);
}

/// STREAM-15: peeking removes nothing.
#[test]
fn stream_15_peek_removes_nothing() {
    let stream = of_list(1..=5);
    assert_eq!([value(stream.peek()), value(stream.peek())], [Some(1), Some(1)]);
    assert_eq!(value(stream.to_list()), [1, 2, 3, 4, 5]);
}

/// STREAM-16: peeking at several removes nothing.
#[test]
fn stream_16_npeek_removes_nothing() {
    let stream = of_list(1..=5);
    assert_eq!(value(stream.npeek(3)), [1, 2, 3]);
    assert_eq!(value(stream.npeek(1)), [1]);
    assert_eq!(value(stream.to_list()), [1, 2, 3, 4, 5]);
}

/// STREAM-17: what is there is given without waiting.
#[test]
fn stream_17_get_available_does_not_wait() {
    let (stream, pusher) = holding([1, 2, 3]);
    assert_eq!(stream.get_available().unwrap(), [1, 2, 3]);
    pusher.push(4).unwrap();
    assert_eq!(value(stream.get()), Some(4));
}

/// STREAM-18: no more than was asked for.
#[test]
fn stream_18_get_available_up_to_leaves_the_rest() {
    let (stream, _pusher) = holding([1, 2, 3, 4]);
    assert_eq!(stream.get_available_up_to(2).unwrap(), [1, 2]);
    assert_eq!(value(stream.get()), Some(3));
}

/// STREAM-19: a derived stream gives its one match, and then has nothing without waiting.
#[test]
fn stream_19_a_filtered_stream_has_nothing_available_after_its_match() {
    let (stream, _pusher) = holding([1, 2, 3, 4]);
    let filtered = stream.filter(|n| *n == 3);
    assert_eq!(value(filtered.get()), Some(3));
    assert_eq!(filtered.get_available().unwrap(), [0; 0]);

    let (stream, _pusher) = holding([1, 2, 3, 4]);
    let mapped = stream.filter_map(|n| (n == 3).then(|| n.to_string()));
    assert_eq!(value(mapped.get()).as_deref(), Some("3"));
    assert!(mapped.get_available().unwrap().is_empty());
}

/// STREAM-20: the newest of what is there.
#[test]
fn stream_20_last_new_gives_the_newest() {
    let (stream, _pusher) = holding([1, 2, 3]);
    assert_eq!(value(stream.last_new()), 3);
}

/// STREAM-21: dropping what is available leaves nothing, cycle after cycle.
#[test]
fn stream_21_junk_available_leaves_nothing() {
    let (stream, pusher) = create();
    for _ in 0..3 {
        stream.junk_available().unwrap();
        assert!(stream.get_available().unwrap().is_empty());
        (1..=3).for_each(|n| pusher.push(n).unwrap());
        stream.junk_available().unwrap();
        assert!(stream.get_available().unwrap().is_empty());
    }
}

/// STREAM-22: a waiting read can be cancelled.
#[test]
fn stream_22_a_waiting_read_can_be_canceled() {
    let (stream, _pusher) = create::<i32>();
    let next = stream.next();
    next.cancel();
    assert!(done(next).unwrap_err().is_canceled());
}

/// STREAM-23: a cancelled read takes nothing.
#[test]
fn stream_23_a_canceled_read_loses_nothing() {
    let (stream, pusher) = create();
    stream.next().cancel();
    pusher.push(1).unwrap();
    assert_eq!(value(stream.next()), 1);
}

/// STREAM-24: cancelling one read leaves the other one waiting.
#[test]
fn stream_24_cancelling_a_read_leaves_the_others() {
    let (stream, pusher) = create();
    let (first, second) = (stream.next(), stream.next());
    first.cancel();
    pusher.push(1).unwrap();
    assert!(done(first).unwrap_err().is_canceled());
    assert_eq!(value(second), 1);
}

/// STREAM-25: a pusher keeps no element of a stream that is gone, and pushing goes on to do no harm.
#[test]
fn stream_25_a_pusher_keeps_no_elements_alive() {
    let element = Rc::new(());
    let (stream, pusher) = holding(vec![element.clone(); 3]);
    assert_eq!(Rc::strong_count(&element), 4);
    drop(stream);
    assert_eq!(Rc::strong_count(&element), 1);
    let error = pusher.push(element.clone()).unwrap_err();
    assert_eq!(error.downcast_ref(), Some(&StreamError::Unread));
    assert_eq!(Rc::strong_count(&element), 1);
}

/// STREAM-26: errors become values, and the stream goes on after them.
#[test]
fn stream_26_errors_as_values() {
    let (stream, _) = script(vec![Ok(1), Err("exit"), Err("plop"), Ok(42), Err("end of file")]);
    let shown = stream.wrap_error().map(|result| result.map_err(|error| error.to_string()));
    let word = |word: &str| Err(word.to_owned());
    let expected = [Ok(1), word("exit"), word("plop"), Ok(42), word("end of file")];
    assert_eq!(value(shown.to_list()), expected);
}

/// STREAM-27: lists are closed at once, a pull stream when its end has been met.
#[test]
fn stream_27_is_closed_says_whether_the_end_was_produced() {
    assert!(of_list([0; 0]).is_closed() && of_list(vec![1, 2]).is_closed() && of_list([1]).is_closed());
    assert!(of_list("".chars()).is_closed() && of_list("text".chars()).is_closed());
    assert!(!from(|| ready(Some(1))).is_closed());
    let ending = from(|| ready(None::<i32>));
    assert!(!ending.is_closed());
    assert_eq!(value(ending.get()), None);
    assert!(ending.is_closed());
}

/// STREAM-28: `closed` settles when the end is met, and its callbacks see the stream closed.
#[test]
fn stream_28_closed_settles_when_the_end_is_met() {
    let (stream, _) = script(vec![Ok(1)]);
    let seen = Rc::new(Cell::new(None));
    let (in_callback, asked) = (seen.clone(), stream.same_reader());
    let closed = stream.closed().map(move |()| in_callback.set(Some(asked.is_closed())));
    assert_eq!(value(stream.peek()), Some(1));
    assert!(closed.is_pending() && seen.get().is_none());
    value(stream.junk());
    assert_eq!(value(stream.peek()), None);
    value(closed);
    assert_eq!(seen.get(), Some(true));
}

/// STREAM-29: on a closed stream a callback on `closed` runs at once.
#[test]
fn stream_29_closed_on_a_closed_stream_is_settled() {
    let ran = Rc::new(Cell::new(false));
    let in_callback = ran.clone();
    of_list([0; 0]).closed().on_success(move |()| in_callback.set(true));
    assert!(ran.get());
}

/// STREAM-30: merging an exhausted stream ends.
#[test]
fn stream_30_merging_an_exhausted_stream_ends() {
    let stream = of_list([1]);
    value(stream.junk());
    assert_eq!(value(choose([stream]).to_list()), [0; 0]);
}

/// STREAM-31: an error of the producer reaches single reads, collecting, and derived streams.
#[test]
fn stream_31_an_error_of_the_producer_reaches_every_read() {
    let failing = || from(|| rejected::<Option<i32>>(Error::message("E")));
    let at_once = || from(|| Err::<Option<i32>, _>(Error::message("E")));
    let later = || from(|| pause().bind(|()| rejected::<Option<i32>>(Error::message("E"))));
    for make in [&failing as &dyn Fn() -> Stream<i32>, &at_once, &later] {
        let (get, list) = (make().get(), make().to_list());
        let mapped = make().map(|n| n).get();
        wake_paused();
        assert_eq!(done(get).unwrap_err().to_string(), "E");
        assert_eq!(done(list).unwrap_err().to_string(), "E");
        assert_eq!(done(mapped).unwrap_err().to_string(), "E");
    }
}

/// STREAM-32: an error does not end the stream.
#[test]
fn stream_32_an_error_does_not_end_the_stream() {
    for pauses in [false, true] {
        let (stream, _) = script(vec![Err("E"), Ok(0)]);
        let stream = if pauses { stream.map_s(|n| pause().map(move |()| n)) } else { stream };
        let read = || {
            let get = stream.get();
            wake_paused();
            done(get)
        };
        assert_eq!(read().unwrap_err().to_string(), "E");
        assert!(!stream.is_closed());
        assert_eq!(read().unwrap(), Some(0));
        assert_eq!(read().unwrap(), None);
        assert!(stream.is_closed());
    }
}

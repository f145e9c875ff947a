//! Streams, pushing: order of wake-ups, the bound, and what dropping either side does.

mod rig;

use lisle_core::stream::{BoundedPusher, Stream, StreamError, create, create_bounded, from};
use lisle_core::{Promise, cancelable, pair, ready};
use rig::*;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

fn reason<T>(promise: Promise<T>) -> StreamError {
    *error(promise).downcast_ref().expect("an error of streams")
}

#[test]
fn a_push_runs_waiting_readers_before_it_returns_and_defers_them_in_a_resolution() {
    let (stream, pusher) = create();
    let trace = Trace::new();
    stream.get().on_success(trace.adds("read"));
    pusher.push(1).unwrap();
    assert_eq!(trace.take(), "read");

    stream.get().on_success(trace.adds("read"));
    let (gate, open) = pair::<()>();
    let inside = trace.clone();
    let pusher_inside = pusher.clone();
    gate.on_success(move |()| {
        pusher_inside.push(2).unwrap();
        inside.add("pushed");
    });
    open.resolve(());
    assert_eq!(trace.take(), "pushed read");
}

#[test]
fn closed_is_told_at_once_also_in_a_resolution() {
    let (stream, pusher) = create::<u32>();
    let trace = Trace::new();
    stream.closed().on_success(trace.adds("closed"));
    stream.get().on_success(trace.adds("read"));
    let (gate, open) = pair::<()>();
    let inside = trace.clone();
    gate.on_success(move |()| {
        pusher.close();
        inside.add("returned");
    });
    open.resolve(());
    assert_eq!(trace.take(), "closed returned read");
}

#[test]
fn a_reader_woken_by_the_end_cannot_push_after_it() {
    let (stream, pusher) = create::<u32>();
    let result = Rc::new(RefCell::new(None));
    let (kept, again) = (result.clone(), pusher.clone());
    stream.get().on_success(move |end| {
        assert_eq!(end, None);
        kept.replace(Some(again.push(1)));
    });
    pusher.close();
    let refused = result.take().expect("the reader ran").unwrap_err();
    assert_eq!(refused.downcast_ref(), Some(&StreamError::Closed));
}

#[test]
fn a_callback_of_a_read_may_push_close_and_clone() {
    let (stream, pusher) = create();
    let (handle, inside) = (stream.same_reader(), pusher.clone());
    let rest = stream.get().bind(move |first| {
        assert_eq!(first, Some(1));
        inside.push(2).unwrap();
        let theirs = handle.clone();
        inside.push(3).unwrap();
        inside.close();
        theirs.to_list()
    });
    pusher.push(1).unwrap();
    assert_eq!(value(rest), [2, 3]);
    assert_eq!(value(stream.to_list()), [2, 3]);
}

#[test]
fn only_the_last_pusher_ends_the_stream_by_going() {
    let (stream, pusher) = create::<u32>();
    let other = pusher.clone();
    let read = stream.get();
    drop(pusher);
    assert!(read.is_pending() && !other.is_closed());
    drop(other);
    assert_eq!(value(read), None);
    assert!(stream.is_closed());
}

#[test]
fn closing_twice_is_nothing() {
    let (stream, pusher) = create::<u32>();
    pusher.close();
    pusher.close();
    drop(pusher);
    assert_eq!(value(stream.get()), None);
}

#[test]
fn pushers_learn_when_the_last_reader_goes() {
    let (stream, pusher) = create::<u32>();
    let other = stream.clone();
    let unread = pusher.unread();
    drop(stream);
    assert!(unread.is_pending());
    drop(other);
    value(unread);
    value(pusher.unread());
    let refused = pusher.push(1).unwrap_err();
    assert_eq!(refused.downcast_ref(), Some(&StreamError::Unread));
}

#[test]
fn a_waiting_read_counts_as_a_reader_until_it_is_over() {
    let (stream, pusher) = create::<u32>();
    let read = stream.get();
    drop(stream);
    let unread = pusher.unread();
    assert!(unread.is_pending());
    read.cancel();
    value(unread);
}

#[test]
fn a_blocked_push_is_refused_when_the_last_reader_goes() {
    let (stream, pusher) = create_bounded(1);
    let element = Rc::new(());
    value(pusher.push(element.clone()));
    let blocked = pusher.push(element.clone());
    drop(stream);
    assert_eq!(reason(blocked), StreamError::Unread);
    assert_eq!(reason(pusher.push(element.clone())), StreamError::Unread);
    assert_eq!(Rc::strong_count(&element), 1);
    assert!(!pusher.is_blocked());
    value(pusher.unread());
}

#[test]
fn dropping_the_last_bounded_pusher_ends_the_stream() {
    let (stream, pusher) = create_bounded(1);
    value(pusher.push(1));
    let blocked = pusher.push(2);
    drop(pusher.clone());
    drop(pusher);
    assert_eq!(reason(blocked), StreamError::Closed);
    assert_eq!(value(stream.to_list()), [1]);
}

#[test]
fn the_slowest_reader_decides_whether_there_is_room() {
    let (fast, pusher) = create_bounded(2);
    let slow = fast.clone();
    value(pusher.push(1));
    value(pusher.push(2));
    assert_eq!(value(fast.nget(2)), [1, 2]);
    assert_eq!(pusher.count(), 2);
    let blocked = pusher.push(3);
    let waiting = fast.get();
    assert!(blocked.is_pending());
    assert_eq!(value(slow.get()), Some(1));
    value(blocked);
    assert_eq!(value(waiting), Some(3));

    let blocked = pusher.push(4);
    drop(slow);
    value(blocked);
    assert_eq!(value(fast.get()), Some(4));
    assert_eq!(pusher.count(), 0);
}

#[test]
fn a_resize_admits_the_blocked_push_and_wakes_the_reader() {
    let (stream, pusher) = create_bounded(1);
    value(pusher.push(1));
    let blocked = pusher.push(2);
    pusher.resize(2);
    value(blocked);
    assert_eq!((pusher.size(), pusher.count()), (2, 2));
    pusher.resize(0);
    assert_eq!(value(stream.nget(2)), [1, 2]);
    let blocked = pusher.push(3);
    assert!(blocked.is_pending());
    let other = stream.clone();
    drop(other);
    assert_eq!(value(stream.peek()), Some(3));
    value(blocked);
}

#[test]
fn with_size_zero_a_cancelled_read_is_no_reader() {
    let (stream, pusher) = create_bounded(0);
    stream.get().cancel();
    let blocked = pusher.push(1);
    assert!(blocked.is_pending());
    assert_eq!(value(stream.get()), Some(1));
    value(blocked);
}

#[test]
fn a_cancelled_push_leaves_its_place_to_another() {
    let (stream, pusher) = create_bounded(1);
    value(pusher.push(1));
    for n in 2..=4 {
        let blocked = pusher.push(n);
        blocked.cancel();
        assert!(error(blocked).is_canceled());
    }
    let admitted = pusher.push(5);
    assert_eq!(value(stream.nget(2)), [1, 5]);
    value(admitted);
}

#[test]
fn an_admitted_push_cannot_be_withdrawn() {
    let (stream, pusher) = create_bounded(1);
    value(pusher.push(1));
    let admitted = pusher.push(2).shared();
    assert_eq!(value(stream.get()), Some(1));
    admitted.cancel();
    value(admitted.promise());
    assert_eq!(value(stream.get()), Some(2));
}

#[test]
fn a_push_that_is_cancelled_while_its_callbacks_wait_is_not_admitted() {
    // One cancel finds the push and another promise; the other one's callback reads before the push's own ran.
    let (stream, pusher) = create_bounded(1);
    value(pusher.push(1));
    let blocked = pusher.push(2);
    let (other, _resolver) = cancelable::<()>();
    let seen = Rc::new(RefCell::new(None));
    let (kept, handle) = (seen.clone(), stream.same_reader());
    let other = other.on_cancel(move || {
        drop(kept.replace(handle.get_available().ok()));
    });
    lisle_core::join([blocked, other]).cancel();
    assert_eq!(seen.take(), Some(vec![1]));
    assert!(stream.get_available().unwrap().is_empty());
    assert!(!pusher.is_blocked());
}

#[test]
fn the_pushers_callback_runs_before_the_read_returns() {
    fn refill(pusher: BoundedPusher<u32>, n: u32) {
        if n < 5 {
            let again = pusher.clone();
            pusher.push(n).on_success(move |()| refill(again, n + 1));
        }
    }
    let (stream, pusher) = create_bounded(1);
    refill(pusher.clone(), 0);
    let read: Vec<_> = (0..5).map(|_| value(stream.get())).collect();
    assert_eq!(read, [Some(0), Some(1), Some(2), Some(3), Some(4)]);
}

#[test]
fn a_source_is_dropped_and_its_call_cancelled_with_the_last_reader() {
    let dropped = Rc::new(Cell::new(false));
    let flag = dropped.clone();
    let guard = OnDrop::new(move || flag.set(true));
    let (promise, resolver) = cancelable::<Option<u32>>();
    let mut call = Some(promise);
    let stream = from(move || {
        let _ = &guard;
        call.take().unwrap_or_else(|| ready(None))
    });
    let other = stream.clone();
    stream.get().cancel();
    drop(stream);
    assert!(resolver.is_pending() && !dropped.get());
    drop(other);
    assert!(!resolver.is_pending() && dropped.get());
}

#[test]
fn a_source_that_drops_its_own_stream_is_dropped_after_its_call() {
    let slot: Rc<RefCell<Option<Stream<u32>>>> = Rc::default();
    let inside = slot.clone();
    let dropped = Rc::new(Cell::new(false));
    let flag = dropped.clone();
    let guard = OnDrop::new(move || flag.set(true));
    let stream = from(move || {
        let _ = &guard;
        drop(inside.take());
        ready(Some(1))
    });
    let read = stream.get_available_up_to(1);
    assert_eq!(read.unwrap(), [1]);
    slot.replace(Some(stream));
    let clone = slot.borrow().as_ref().map(Stream::clone);
    let read = clone.map(|clone| value(clone.get()));
    assert_eq!(read, Some(Some(1)));
    assert!(dropped.get());
}

#[test]
fn destructors_of_elements_may_panic_and_push() {
    let failures = failures();
    let (stream, pusher) = create::<Option<Bomb>>();
    pusher.push(None).unwrap();
    pusher.push(Some(Bomb)).unwrap();
    pusher.push(Some(Bomb)).unwrap();
    value(stream.njunk(2));
    assert_eq!(failures.borrow().len(), 1);
    drop(stream);
    assert_eq!(failures.borrow().len(), 2);

    let (stream, pusher) = create::<OnDrop<Box<dyn FnOnce()>>>();
    let again = pusher.clone();
    let pushed = Rc::new(Cell::new(true));
    let flag = pushed.clone();
    let push: Box<dyn FnOnce()> =
        Box::new(move || flag.set(again.push(OnDrop::new(Box::new(|| {}))).is_ok()));
    pusher.push(OnDrop::new(push)).unwrap();
    drop(stream);
    assert!(!pushed.get(), "nobody reads any more");
}

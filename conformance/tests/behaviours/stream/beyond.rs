//! What the suite of Lwt_stream does not assert, and a fault of other runtimes that concerns merges.

use super::{done, reason, value};
use lisle_core::sched::tasks::{run_ready, task_count};
use lisle_core::stream::{StreamError, choose, create, create_bounded, from, of_list};
use lisle_core::{Error, Resolver, pair, pause, ready, rejected, spawn, wake_paused};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// X-STREAM-01: two reads that wait on a push stream get the first two elements (in Lwt both get the first).
#[test]
fn x_stream_01_waiting_reads_of_a_push_stream_get_neighbours() {
    let (stream, pusher) = create();
    let (first, second) = (stream.get(), stream.get());
    pusher.push(1).unwrap();
    assert_eq!(value(first), Some(1));
    assert!(second.is_pending());
    pusher.push(2).unwrap();
    assert_eq!(value(second), Some(2));
}

/// X-STREAM-02: the end is given every time, and nothing can be pushed after it.
#[test]
fn x_stream_02_the_end_stays_the_end() {
    let (stream, pusher) = create();
    pusher.close();
    assert_eq!([value(stream.get()), value(stream.get())], [None, None]);
    let error = pusher.push(1).unwrap_err();
    assert_eq!(error.downcast_ref(), Some(&StreamError::Closed));
}

/// X-STREAM-03: a cancelled read leaves the producer's call running, and what it brings is kept.
#[test]
fn x_stream_03_a_canceled_read_leaves_the_producer_running() {
    let (promise, resolver) = pair();
    let calls = Rc::new(Cell::new(0));
    let (count, mut first) = (calls.clone(), Some(promise));
    let stream = from(move || {
        count.set(count.get() + 1);
        first.take().unwrap_or_else(|| ready(None))
    });
    let get = stream.get();
    get.cancel();
    assert!(done(get).unwrap_err().is_canceled());
    resolver.resolve(Some(1));
    assert_eq!(value(stream.get()), Some(1));
    assert_eq!(calls.get(), 1);
}

/// A callback that has been started for a letter.
type Running = (char, Resolver<()>);

/// X-STREAM-04: with room for two, the third callback starts when one of the first two is done, and the result waits
/// for all.
#[test]
fn x_stream_04_iter_n_runs_at_most_n() {
    let running: Rc<RefCell<Vec<Running>>> = Rc::default();
    let started = running.clone();
    let all = of_list("abcd".chars()).iter_n(2, move |letter| {
        let (promise, resolver) = pair();
        started.borrow_mut().push((letter, resolver));
        promise
    });
    let names = || running.borrow().iter().map(|(letter, _)| *letter).collect::<String>();
    let finish = |letter| {
        let at = running.borrow().iter().position(|(name, _)| *name == letter).expect("it runs");
        let (_, resolver) = running.borrow_mut().remove(at);
        resolver.resolve(());
    };
    assert_eq!(names(), "ab");
    finish('b');
    assert_eq!(names(), "ac");
    finish('c');
    finish('a');
    assert_eq!(names(), "d");
    assert!(all.is_pending());
    finish('d');
    value(all);
}

/// X-STREAM-05: a merge of two ended streams gives all elements, serving them in turn.
#[test]
fn x_stream_05_a_merge_serves_its_streams_in_turn() {
    let merged = choose([of_list([1, 3]), of_list([2])]);
    assert_eq!(value(merged.to_list()), [1, 2, 3]);
}

/// X-STREAM-06: a parser that fails puts back what it has read.
#[test]
fn x_stream_06_a_failing_parser_restores_the_position() {
    let stream = of_list([1, 2, 3]);
    let parsed = stream.parse(|input| input.nget(2).bind(|_| rejected::<()>(Error::message("no"))));
    assert_eq!(done(parsed).unwrap_err().to_string(), "no");
    assert_eq!(value(stream.get()), Some(1));
    let parsed = stream.parse(|input| input.nget(1));
    assert_eq!(value(parsed), [2]);
    assert_eq!(value(stream.get()), Some(3));
}

/// X-BOUND-01: a blocked push that is cancelled is withdrawn, one that stays is admitted by a read, and closing refuses
/// it.
#[test]
fn x_bound_01_a_blocked_push_is_withdrawn_admitted_or_refused() {
    let (stream, pusher) = create_bounded(1);
    value(pusher.push(1));
    let canceled = pusher.push(2);
    assert!(pusher.is_blocked());
    canceled.cancel();
    assert!(done(canceled).unwrap_err().is_canceled());
    assert_eq!((pusher.is_blocked(), pusher.count()), (false, 1));

    let admitted = pusher.push(3);
    assert!(admitted.is_pending());
    assert_eq!(value(stream.get()), Some(1));
    value(admitted);

    let refused = pusher.push(4);
    assert!(pusher.is_blocked());
    pusher.close();
    assert_eq!(reason(refused), StreamError::Closed);
    assert_eq!(value(stream.to_list()), [3]);
}

/// X-BOUND-02: with size 0 a push and a read meet, whichever comes first; a larger size wakes the reader as well.
#[test]
fn x_bound_02_size_zero_is_a_meeting() {
    let (stream, pusher) = create_bounded(0);
    let pushed = pusher.push(1);
    assert!(pushed.is_pending());
    assert_eq!(value(stream.get()), Some(1));
    value(pushed);

    let get = stream.get();
    assert!(get.is_pending());
    value(pusher.push(2));
    assert_eq!(value(get), Some(2));

    let pushed = pusher.push(3);
    assert!(pushed.is_pending());
    pusher.resize(1);
    value(pushed);
    assert_eq!((value(stream.get()), pusher.size()), (Some(3), 1));
}

/// BR-150: dropping the consumer of a merge of 8 endless producers leaves no producer.
#[test]
fn br_150_ending_a_merge_leaves_no_producer() {
    let ended = Rc::new(Cell::new(0));
    let streams: Vec<_> = (0..8)
        .map(|producer| {
            let (stream, pusher) = create_bounded(1);
            let ended = ended.clone();
            spawn(async move {
                while pusher.push(producer).await.is_ok() {
                    let _ = pause().await;
                }
                ended.set(ended.get() + 1);
            })
            .detach();
            stream
        })
        .collect();
    let merged = choose(streams);
    let ten = merged.nget(10);
    while ten.is_pending() {
        run_ready();
        wake_paused();
    }
    assert_eq!(value(ten).len(), 10);
    assert_eq!(ended.get(), 0);
    drop(merged);
    for _ in 0..4 {
        run_ready();
        wake_paused();
    }
    assert_eq!(ended.get(), 8);
    assert_eq!(task_count(), 0);
}

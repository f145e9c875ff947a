//! Streams made of streams, and loops over them: laziness, order, errors, panics, and who is stopped by a drop.

mod rig;

use lisle_core::stream::{Stream, choose, create, create_bounded, from, of_list};
use lisle_core::{Promise, Resolver, pair, pause, ready, rejected};
use rig::*;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// An endless pull stream, and how often it was asked.
fn counting() -> (Stream<u32>, Rc<Cell<u32>>) {
    let asked = Rc::new(Cell::new(0));
    let count = asked.clone();
    let stream = from(move || {
        count.set(count.get() + 1);
        ready(Some(count.get()))
    });
    (stream, asked)
}

#[test]
fn derived_streams_read_no_more_than_they_need() {
    let (numbers, asked) = counting();
    let odd_squares = numbers.filter(|n| n % 2 == 1).map(|n| n * n);
    assert_eq!(asked.get(), 0);
    assert_eq!(value(odd_squares.nget(2)), [1, 9]);
    assert_eq!(asked.get(), 3);
}

#[test]
fn each_derivation_does_what_it_says() {
    let numbers = || of_list(1..=4);
    assert_eq!(value(numbers().map_s(|n| ready(n * 2)).to_list()), [2, 4, 6, 8]);
    assert_eq!(value(numbers().filter_s(|n| ready(*n > 2)).to_list()), [3, 4]);
    assert_eq!(value(numbers().filter_map(|n| (n > 2).then_some(-n)).to_list()), [-3, -4]);
    assert_eq!(value(numbers().filter_map_s(|n| ready((n > 2).then_some(-n))).to_list()), [-3, -4]);
    assert_eq!(value(numbers().map_list(|n| vec![n; n as usize - 1]).to_list()), [2, 3, 3, 4, 4, 4]);
    assert_eq!(value(numbers().map_list_s(|n| ready(0..n % 2)).to_list()), [0, 0]);
    assert_eq!(value(of_list([vec![1], vec![], vec![2, 3]]).flatten().to_list()), [1, 2, 3]);
    assert_eq!(value(numbers().append(of_list([9])).to_list()), [1, 2, 3, 4, 9]);
    assert_eq!(value(of_list([numbers(), of_list([]), of_list([9])]).concat().to_list()), [1, 2, 3, 4, 9]);
}

#[test]
fn each_loop_does_what_it_says() {
    let numbers = || of_list(1..=4);
    assert_eq!(value(numbers().fold(0, |sum, n| sum * 10 + n)), 1234);
    assert_eq!(value(numbers().fold_s(0, |sum, n| ready(sum * 10 + n))), 1234);
    let (rest, seen) = (numbers(), Rc::new(Cell::new(0)));
    let sum = seen.clone();
    assert_eq!(value(rest.find(|n| *n == 2)), Some(2));
    assert_eq!(value(rest.find_map(|n| (n == 3).then_some("three"))), Some("three"));
    value(rest.iter(move |n| sum.set(sum.get() + n)));
    assert_eq!(seen.get(), 4);
    assert_eq!(value(rest.find_s(|_| ready(true))), None);
    assert_eq!(value(rest.find_map_s(|_| ready(Some(1)))), None);
}

#[test]
fn a_callback_that_fails_rejects_one_read_and_ends_nothing() {
    let stream = of_list(1..=3).map_s(|n| if n == 2 { Err(fail("two")) } else { Ok(n) });
    assert_eq!(value(stream.get()), Some(1));
    assert_eq!(error(stream.get()).to_string(), "two");
    assert_eq!(value(stream.get()), Some(3));
    assert_eq!(value(stream.get()), None);
}

#[test]
fn a_panic_in_a_callback_rejects_one_read_and_ends_nothing() {
    let stream = of_list(1..=3).map(|n| if n == 2 { panic!("two") } else { n });
    assert_eq!(value(stream.get()), Some(1));
    assert_eq!(error(stream.get()).panic_message(), Some("two"));
    assert_eq!(value(stream.to_list()), [3]);
    let mut calls = 0;
    let source = from(move || {
        calls += 1;
        if calls == 1 { panic!("first") } else { ready((calls < 3).then_some(calls)) }
    });
    assert_eq!(error(source.get()).panic_message(), Some("first"));
    assert_eq!(value(source.to_list()), [2]);
}

#[test]
fn a_panic_in_a_loop_rejects_the_loop() {
    let (stream, pusher) = create();
    let all = stream.iter(|n: u32| assert!(n < 2, "two"));
    pusher.push(1).unwrap();
    assert!(all.is_pending());
    pusher.push(2).unwrap();
    pusher.push(3).unwrap();
    assert_eq!(error(all).panic_message(), Some("two"));
    assert_eq!(value(stream.get()), Some(3));
    for run in [Stream::iter_p as fn(&Stream<u32>, _) -> Promise<()>, |stream, f| stream.iter_n(2, f)] {
        let f: fn(u32) -> Promise<()> = |_| panic!("each");
        assert_eq!(error(run(&of_list([1, 2]), f)).panic_message(), Some("each"));
    }
}

#[test]
fn a_callback_of_a_loop_may_read_push_close_and_clone() {
    let (stream, pusher) = create();
    let seen: Rc<RefCell<Vec<String>>> = Rc::default();
    let (handle, again, trace) = (stream.same_reader(), pusher.clone(), seen.clone());
    let all = stream.iter_s(move |n: u32| {
        let taken = handle.get_available_up_to(1).unwrap_or_default();
        trace.borrow_mut().push(format!("{n}{taken:?}"));
        if n == 1 {
            again.push(8).unwrap();
            again.push(9).unwrap();
            again.close();
        }
        let behind = handle.clone();
        behind.peek().map(|_| ())
    });
    for n in [1, 2, 3] {
        // The first push runs the whole loop; it closes the stream.
        let _ = pusher.push(n);
    }
    value(all);
    assert_eq!(seen.take(), ["1[]", "8[9]"]);
}

#[test]
fn iter_s_waits_for_each_callback() {
    let (running, all) = holding_callbacks(|stream, f| stream.iter_s(f));
    assert_eq!(names(&running), [1]);
    finish(&running, 1);
    assert_eq!(names(&running), [2]);
    finish(&running, 2);
    finish(&running, 3);
    value(all);
}

#[test]
fn iter_p_starts_all_and_tells_the_earliest_error() {
    let (running, all) = holding_callbacks(|stream, f| stream.iter_p(f));
    assert_eq!(names(&running), [1, 2, 3]);
    finish(&running, 2);
    finish(&running, 1);
    assert!(all.is_pending());
    finish(&running, 3);
    value(all);

    let (running, all) = holding_callbacks(|stream, f| stream.iter_p(f));
    break_off(&running, 2, "two");
    break_off(&running, 3, "three");
    assert!(all.is_pending(), "the first is not done");
    finish(&running, 1);
    assert_eq!(error(all).to_string(), "two");
}

#[test]
fn iter_n_rejects_with_the_first_error_it_meets() {
    let (running, all) = holding_callbacks(|stream, f| stream.iter_n(2, f));
    assert_eq!(names(&running), [1, 2]);
    break_off(&running, 2, "two");
    assert_eq!(error(all).to_string(), "two");
    assert_eq!(names(&running), [1], "the others go on, and no further one starts");
}

#[test]
fn iter_n_reports_errors_that_come_after_it_was_rejected() {
    let failures = failures();
    let (running, all) = holding_callbacks(|stream, f| stream.iter_n(2, f));
    break_off(&running, 1, "one");
    assert_eq!(error(all).to_string(), "one");
    break_off(&running, 2, "two");
    assert_eq!(failures.borrow().iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>(), ["two"]);
}

#[test]
fn iter_n_tells_the_newest_error_when_it_looks() {
    let (stream, pusher) = create();
    let running: Running = Rc::default();
    let started = running.clone();
    let all = stream.iter_n(3, move |n| {
        let (promise, resolver) = pair();
        started.borrow_mut().push((n, resolver));
        promise
    });
    pusher.push(1).unwrap();
    pusher.push(2).unwrap();
    break_off(&running, 1, "one");
    break_off(&running, 2, "two");
    assert!(all.is_pending(), "it waits for an element, since there is room");
    pusher.push(3).unwrap();
    assert_eq!(error(all).to_string(), "two");
    assert_eq!(names(&running), [3]);
}

#[test]
fn cancelling_iter_n_cancels_what_runs_newest_first() {
    let trace = Trace::new();
    let inside = trace.clone();
    let all = of_list([1, 2, 3]).iter_n(2, move |n: u32| {
        let trace = inside.clone();
        pause().on_cancel(move || trace.add(n))
    });
    all.cancel();
    assert!(error(all).is_canceled());
    assert_eq!(trace.take(), "1 2", "found newest first, so told oldest first");
}

#[test]
fn cancelling_a_loop_that_reads_takes_nothing() {
    let (stream, pusher) = create();
    for run in [Stream::iter_s as fn(&Stream<u32>, _) -> Promise<()>, Stream::iter_p, |s, f| s.iter_n(2, f)] {
        let f: fn(u32) -> Promise<()> = |_| ready(());
        let all = run(&stream, f);
        all.cancel();
        assert!(error(all).is_canceled());
        pusher.push(1).unwrap();
        assert_eq!(value(stream.get()), Some(1));
    }
}

#[test]
fn pairs_leave_an_element_without_partner_in_its_stream() {
    let (left, right) = (of_list([1, 2, 3]), of_list(["a", "b"]));
    let pairs = left.same_reader().combine(right);
    assert_eq!(value(pairs.to_list()), [(1, "a"), (2, "b")]);
    assert_eq!(value(left.get()), Some(3));

    let (left, right) = (of_list([1]), of_list(["a", "b"]));
    let pairs = left.combine(right.same_reader());
    assert_eq!(value(pairs.to_list()), [(1, "a")]);
    assert_eq!(value(right.get()), Some("b"));
}

#[test]
fn pairs_ask_both_sides_at_once_and_survive_an_error() {
    let (numbers, asked) = counting();
    let (slow, pusher) = create();
    let pairs = slow.combine(numbers);
    let pair = pairs.get();
    assert_eq!(asked.get(), 1);
    pusher.push('a').unwrap();
    assert_eq!(value(pair), Some(('a', 1)));

    let mut calls = 0;
    let failing = from(move || {
        calls += 1;
        if calls == 1 { rejected(fail("once")) } else { ready((calls < 4).then_some(calls)) }
    });
    let pairs = of_list(['a', 'b']).combine(failing);
    assert_eq!(error(pairs.get()).to_string(), "once");
    assert_eq!(value(pairs.to_list()), [('a', 2), ('b', 3)]);
}

#[test]
fn a_merge_starves_none_and_ends_with_the_last() {
    let (ours, theirs) = (counting().0.map(|n| (0, n)), counting().0.map(|n| (1, n)));
    let merged = choose([ours, theirs]);
    assert_eq!(value(merged.nget(4)), [(0, 1), (1, 1), (0, 2), (1, 2)]);

    let ((ours, push_ours), (theirs, push_theirs)) = (create(), create());
    let merged = choose([ours, theirs]);
    let all = merged.to_list();
    push_theirs.push(1).unwrap();
    push_ours.push(2).unwrap();
    push_ours.close();
    assert!(all.is_pending());
    push_theirs.push(3).unwrap();
    push_theirs.close();
    assert_eq!(value(all), [1, 2, 3]);
    assert_eq!(value(choose::<u32>([]).to_list()), [0; 0]);
}

#[test]
fn an_error_of_a_merged_stream_is_told_once_and_ends_nothing() {
    let mut calls = 0;
    let failing = from(move || {
        calls += 1;
        if calls == 2 { rejected(fail("once")) } else { ready((calls < 4).then_some(calls)) }
    });
    let merged = choose([of_list([10, 20]), failing]);
    let mut seen = Vec::new();
    loop {
        match done(merged.get()) {
            Ok(Some(n)) => seen.push(n.to_string()),
            Ok(None) => break,
            Err(error) => seen.push(error.to_string()),
        }
    }
    seen.sort();
    assert_eq!(seen, ["1", "10", "20", "3", "once"]);
}

#[test]
fn errors_of_several_merged_streams_are_all_told() {
    let failures = failures();
    let failing = |word: &'static str| {
        let mut calls = 0;
        from(move || {
            calls += 1;
            if calls == 1 { rejected(fail(word)) } else { ready(None::<u32>) }
        })
    };
    let merged = choose([failing("one"), failing("two")]);
    let mut told = [error(merged.get()).to_string(), error(merged.get()).to_string()];
    told.sort();
    assert_eq!(told, ["one", "two"]);
    assert_eq!(value(merged.get()), None);
    drop(merged);
    assert!(failures.borrow().is_empty(), "each was told to a read");
}

#[test]
fn a_dropped_merge_leaves_what_it_had_not_handed_out() {
    let (left, right) = (of_list([1, 3]), of_list([2, 4]));
    let merged = choose([left.same_reader(), right.same_reader()]);
    assert_eq!(value(merged.get()), Some(1));
    drop(merged);
    assert_eq!((value(left.to_list()), value(right.to_list())), (vec![3], vec![2, 4]));
}

#[test]
fn dropping_the_end_of_a_chain_stops_its_producer() {
    let (stream, pusher) = create_bounded(0);
    let (other, other_pusher) = create();
    let chain = choose([
        stream.map(|n| n + 1).filter(|_| true).map_s(ready).append(of_list([])),
        other.combine(counting().0).map(|(n, _)| n),
    ]);
    let read = chain.get();
    value(pusher.push(1));
    assert_eq!(value(read), Some(2));
    let read = chain.get();
    drop(chain);
    assert!(pusher.unread().is_pending(), "a read is under way");
    read.cancel();
    value(pusher.unread());
    value(other_pusher.unread());
    assert!(other_pusher.push(1).is_err());
}

#[test]
fn an_idle_combination_keeps_no_stream_when_it_is_dropped() {
    let ((ours, push_ours), (theirs, push_theirs)) = (create(), create());
    let merged = choose([ours, theirs]);
    let read = merged.get();
    push_ours.push(1).unwrap();
    assert_eq!(value(read), Some(1));
    // No call is in flight, but the merge still waits for both.
    drop(merged);
    assert!(push_ours.push(2).is_err() && push_theirs.push(2).is_err());

    let ((left, push_left), (right, push_right)) = (create::<u32>(), create::<u32>());
    let pairs = left.combine(right);
    pairs.get().cancel();
    drop(pairs);
    assert!(push_left.push(1).is_err() && push_right.push(1).is_err());
}

#[test]
fn a_map_that_takes_its_time_is_cancelled_with_its_stream() {
    let stream = of_list([1, 2]).map_s(|n| pause().map(move |()| n));
    let read = stream.get();
    read.cancel();
    assert_eq!(lisle_core::sched::pause::paused_count(), 1, "a cancelled read leaves the call alone");
    drop(stream);
    assert_eq!(lisle_core::sched::pause::paused_count(), 0);
}

#[test]
fn a_production_that_fails_while_nobody_waits_goes_to_the_hook() {
    let failures = failures();
    let (promise, resolver) = pair::<Option<u32>>();
    let mut call = Some(promise);
    let stream = from(move || call.take().unwrap_or_else(|| ready(Some(1))));
    stream.get().cancel();
    resolver.reject(fail("unseen"));
    assert_eq!(value(stream.get()), Some(1));
    drop(stream);
    assert_eq!(failures.borrow().len(), 1);
}

type Running = Rc<RefCell<Vec<(u32, Resolver<()>)>>>;
type Callback = Box<dyn FnMut(u32) -> Promise<()>>;

/// A loop over 1, 2, 3 whose callbacks are pending until they are finished by hand.
fn holding_callbacks(run: impl FnOnce(&Stream<u32>, Callback) -> Promise<()>) -> (Running, Promise<()>) {
    let running: Running = Rc::default();
    let started = running.clone();
    let callback = move |n| {
        let (promise, resolver) = pair();
        started.borrow_mut().push((n, resolver));
        promise
    };
    let all = run(&of_list([1, 2, 3]), Box::new(callback));
    (running, all)
}

fn names(running: &Running) -> Vec<u32> {
    running.borrow().iter().map(|(n, _)| *n).collect()
}

fn resolver(running: &Running, n: u32) -> Resolver<()> {
    let at = running.borrow().iter().position(|(name, _)| *name == n).expect("it runs");
    running.borrow_mut().remove(at).1
}

fn finish(running: &Running, n: u32) {
    resolver(running, n).resolve(());
}

fn break_off(running: &Running, n: u32, word: &str) {
    resolver(running, n).reject(fail(word));
}

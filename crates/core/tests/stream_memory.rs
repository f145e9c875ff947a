//! Streams, memory: nodes go as the slowest reader passes, nothing grows with the number of elements or of cancelled
//! reads, and no length costs stack.

mod counting;
mod rig;

use counting::{flat, live_bytes};
use lisle_core::stream::{choose, create, create_bounded, from, of_list};
use lisle_core::{Promise, pause, ready, seq, wake_paused};
use rig::*;

const MANY: usize = 1_000_000;

/// For what takes longer: still far more than a stack could bear, or a leak hide in.
const SOME: usize = 100_000;

/// Allocations of `work`, once its tables have grown.
fn allocations(mut work: impl FnMut()) -> usize {
    (0..64).for_each(|_| work());
    counting::allocations(work)
}

#[test]
fn an_element_is_one_allocation_and_a_wait_two() {
    let (stream, pusher) = create();
    let there = allocations(|| {
        pusher.push(1).unwrap();
        value(stream.get());
    });
    let waited_for = allocations(|| {
        let read = stream.get();
        pusher.push(1).unwrap();
        value(read);
    });
    assert_eq!((there, waited_for), (1, 3));
    let mut count = 0;
    let pulled = from(move || {
        count += 1;
        ready(Some(count))
    });
    assert_eq!(allocations(|| assert!(value(pulled.get()).is_some())), 1);
}

#[test]
fn a_million_pushes_and_gets_are_flat() {
    let (stream, pusher) = create();
    flat(MANY, || {
        pusher.push(1).unwrap();
        assert_eq!(value(stream.get()), Some(1));
    });
}

#[test]
fn a_million_waiting_gets_are_flat() {
    let (stream, pusher) = create();
    flat(MANY, || {
        let read = stream.get();
        pusher.push(1).unwrap();
        assert_eq!(value(read), Some(1));
    });
}

#[test]
fn cancelled_gets_are_flat_at_the_front_and_in_the_line() {
    let (stream, pusher) = create::<u32>();
    flat(SOME, || stream.get().cancel());
    let front = stream.get();
    flat(SOME, || stream.get().cancel());
    drop(pusher);
    assert_eq!(value(front), None);
}

#[test]
fn fruitless_looks_are_flat() {
    let (stream, _pusher) = create::<u32>();
    let (pending, _resolver) = lisle_core::pair::<Option<u32>>();
    let mut call = Some(pending);
    let pull = from(move || call.take().unwrap_or_else(|| ready(None)));
    flat(SOME, || {
        assert!(stream.get_available().unwrap().is_empty());
        assert!(pull.get_available().unwrap().is_empty());
    });
}

#[test]
fn bounded_pushes_are_flat_blocked_or_cancelled() {
    let (stream, pusher) = create_bounded(1);
    value(pusher.push(1));
    flat(SOME, || {
        let blocked = pusher.push(1);
        assert_eq!(value(stream.get()), Some(1));
        value(blocked);
    });
    flat(SOME, || pusher.push(2).cancel());
}

#[test]
fn elements_through_every_derivation_are_flat() {
    let mut count = 0;
    let numbers = from(move || {
        count += 1;
        ready(Some(count))
    });
    let (other, pusher) = create();
    let derived = choose([numbers.filter(|n| n % 2 == 0).map_list(|n: u32| [n, n]).map_s(ready)])
        .append(of_list([]))
        .combine(other)
        .wrap_error();
    flat(SOME, || {
        pusher.push(()).unwrap();
        assert!(value(derived.get()).is_some());
    });
}

#[test]
fn clones_that_come_and_go_are_flat() {
    let (stream, pusher) = create();
    let (bounded, bounded_pusher) = create_bounded(2);
    flat(SOME, || {
        let clone = stream.clone();
        pusher.push(1).unwrap();
        assert_eq!((value(clone.get()), value(stream.get())), (Some(1), Some(1)));
        let clone = bounded.clone();
        value(bounded_pusher.push(1));
        drop(clone);
        assert_eq!(value(bounded.get()), Some(1));
    });
}

#[test]
fn a_loop_over_awaited_elements_is_flat() {
    let (stream, pusher) = create();
    let all = stream.iter_s(|_: u32| ready(()));
    let parallel = stream.clone().iter_p(|_| ready(()));
    let some = stream.clone().iter_n(2, |_| ready(()));
    let mapped = stream.clone().map_s(|n| pause().map(move |()| n)).iter(|_| ());
    flat(SOME, || {
        pusher.push(1).unwrap();
        wake_paused();
    });
    drop(pusher);
    [all, parallel, some, mapped].into_iter().for_each(|promise: Promise<()>| value(promise));
}

#[test]
fn the_slowest_reader_alone_keeps_elements() {
    let (fast, pusher) = create();
    let slow = fast.clone();
    (0..MANY).for_each(|n| pusher.push(n).unwrap());
    let held = live_bytes();
    value(fast.njunk(MANY));
    assert!(live_bytes() >= held);
    value(slow.njunk(MANY / 2));
    assert!(live_bytes() <= held - 8 * MANY as isize, "what the slower one has passed is freed");
    drop(slow);
    assert!(live_bytes() < held - 16 * MANY as isize, "the rest goes with it");
}

#[test]
fn dropping_a_million_buffered_elements_uses_no_stack() {
    with_small_stack(|| {
        let (stream, pusher) = create();
        (0..MANY).for_each(|n| pusher.push(Box::new(n)).unwrap());
        let other = stream.clone();
        drop(stream);
        drop(pusher);
        drop(other);
    });
}

#[test]
fn going_through_many_elements_uses_no_stack() {
    with_small_stack(|| {
        let numbers = || of_list(0..SOME);
        assert_eq!(value(numbers().filter(|_| false).get()), None);
        assert_eq!(value(numbers().map_list(|_| [0; 0]).get()), None);
        assert_eq!(value(numbers().find(|n| *n == SOME)), None);
        assert_eq!(value(numbers().fold_s(0, |count, _| ready(count + 1))), SOME);
        value(numbers().iter_p(|_| ready(())));
        value(numbers().iter_n(3, |_| ready(())));
        assert_eq!(value(numbers().map(|n| of_list([n; 0])).concat().get()), None);
        assert_eq!(value(numbers().get_while(|_| true)).len(), SOME);
        assert_eq!(value(choose([numbers(), numbers()]).fold(0, |count, _| count + 1)), 2 * SOME);
        let all = numbers().map_s(|n| if n % 2 == 0 { ready(n) } else { pause().map(move |()| n) }).to_list();
        while all.is_pending() {
            wake_paused();
        }
        assert_eq!(value(all).len(), SOME);
    });
}

#[test]
fn a_hundred_thousand_reads_in_line_are_served_without_stack() {
    with_small_stack(|| {
        let (stream, pusher) = create();
        let reads: Vec<_> = (0..100_000).map(|_| stream.get()).collect();
        (0..100_000).for_each(|n| pusher.push(n).unwrap());
        for (n, read) in (0..100_000).zip(reads) {
            assert_eq!(value(read), Some(n));
        }
        let reads: Vec<_> = (0..100_000).map(|_| stream.get()).collect();
        drop(pusher);
        reads.into_iter().for_each(|read| assert_eq!(value(read), None));
    });
}

#[test]
fn long_sequences_use_no_stack() {
    with_small_stack(|| {
        let numbers = || seq::unfold(0, |n| (n < SOME).then_some((n, n + 1)));
        assert_eq!(value(numbers().fold(0, |count, _| count + 1)), SOME);
        assert!(value(numbers().filter(|_| false).uncons()).is_none());
        assert!(value(numbers().flat_map(|_| seq::empty::<u32>()).uncons()).is_none());
        value(numbers().iter_p(|_| ready(())));
        value(numbers().iter_n(2, |_| ready(())));
        let mut list = seq::empty();
        for n in 0..SOME {
            list = list.cons(n);
        }
        assert_eq!(value(list.fold(0, |count, _| count + 1)), SOME);
        drop(list);
    });
}

//! Who lives how long: handles own, dependents are known weakly, and nothing grows or recurses.

mod counting;
mod rig;

use counting::live_bytes;
use lisle_core::react::{Event, Signal, event, l2, signal};
use lisle_core::{Promise, pause, pick, ready, wake_paused};
use rig::{Trace, failures};
use std::cell::Cell;

/// Runs `work` to grow tables, then `times` more: the live bytes must be the same after.
#[track_caller]
fn flat(times: u32, mut work: impl FnMut(u32)) {
    (0..64).for_each(&mut work);
    let bytes = live_bytes();
    (0..times).for_each(&mut work);
    assert_eq!(live_bytes(), bytes, "live bytes grew");
}

#[test]
fn a_million_sends_leave_nothing() {
    let (numbers, send) = event::<u32>();
    let total = numbers.map(|n| n % 7).filter(|n| *n != 3).fold(0_u32, |sum, n| sum.wrapping_add(*n)).hold(0);
    let (level, set) = signal(0_u32);
    let both = l2(&level, &total, |a, b| a.wrapping_add(*b));
    flat(500_004, |n| {
        send.send(n);
        set.set(n);
    });
    assert_eq!(both.value(), total.value().wrapping_add(500_003));
}

#[test]
fn what_is_made_and_dropped_leaves_nothing() {
    let (numbers, send) = event::<u32>();
    let (level, set) = signal(0);
    flat(10_000, |n| {
        let mapped = numbers.map(|n| n + 1);
        let gone = Event::select([mapped.once(), numbers.until(&mapped)]).hold(0);
        let bound = level.bind(move |_| gone.clone());
        let fixed = Event::fix(|again| Event::select([numbers.clone(), again.filter(|_| false)]));
        let limited = fixed.limit(pause).map_s(|&n| ready(n)).map_p(|&n| ready(n));
        send.send(n);
        set.set(n);
        drop((limited, bound));
        wake_paused();
    });
}

#[test]
fn a_switch_that_turns_for_ever_leaves_nothing() {
    let (numbers, send) = event::<u32>();
    let (choice, choose) = signal(0);
    let source = numbers.hold(0);
    let bound = choice.bind(move |&n| source.map(move |m| m + n));
    flat(10_000, |n| {
        choose.set(n);
        send.send(n);
    });
    assert_eq!(bound.value(), 2 * 9_999);
}

#[test]
fn next_that_is_given_up_leaves_nothing() {
    let (numbers, send) = event::<u32>();
    flat(10_000, |_| {
        drop(numbers.next());
        let raced = pick([numbers.next(), ready(1)]);
        let cancelled = numbers.next();
        cancelled.cancel();
        assert!(matches!(cancelled.try_take(), Ok(Err(error)) if error.is_canceled()));
        assert_eq!(raced.try_take().unwrap().unwrap(), 1);
    });
    flat(10_000, |n| {
        let next = numbers.next();
        send.send(n);
        assert_eq!(next.try_take().unwrap().unwrap(), n);
    });
}

#[test]
fn limiters_queues_and_producers_are_flat() {
    let (numbers, send) = event::<u32>();
    let limited = numbers.limit(pause).hold(0);
    let serial = numbers.map_s(|&n| pause().map(move |()| n)).hold(0);
    let produced = Event::from(|| pause().map(|()| 1)).fold(0, |sum, n| sum + n).hold(0);
    flat(20_000, |n| {
        send.send(n);
        wake_paused();
        wake_paused();
    });
    assert_eq!((limited.value(), serial.value()), (19_999, 19_999));
    assert!(produced.value() > 20_000);
}

#[test]
fn a_handle_owns_what_it_is_made_of_and_a_sender_nothing() {
    let (numbers, send) = event::<u32>();
    let total = numbers.map(|n| n + 1).fold(0, |sum, n| sum + n).hold(0);
    drop(numbers);
    send.send(1);
    assert_eq!(total.value(), 2);
    assert!(send.is_connected());
    drop(total);
    assert!(!send.is_connected());
    send.send(2);
    let (level, set) = signal(1);
    let doubled = level.map(|n| n * 2);
    drop(level);
    set.set(4);
    assert_eq!(doubled.value(), 8);
    drop(doubled);
    assert!(!set.is_connected());
    set.set(5);
}

#[test]
fn what_has_no_handle_does_not_run() {
    let trace = Trace::new();
    let (numbers, send) = event::<u32>();
    let trace_in = trace.clone();
    let recorder = numbers.map(move |n| trace_in.add(n));
    send.send(1);
    let clone = recorder.clone();
    assert_eq!(clone, recorder);
    drop(recorder);
    send.send(2);
    drop(clone);
    send.send(3);
    assert_eq!(trace.take(), "1 2");
    let trace_in = trace.clone();
    numbers.map(move |n| trace_in.add(n)).keep();
    let trace_in = trace.clone();
    let (level, set) = signal(0);
    level.map(move |n| trace_in.add(format!("level {n}"))).keep();
    send.send(4);
    set.set(5);
    assert_eq!(trace.take(), "level 0 4 level 5");
}

#[test]
fn a_panicking_finaliser_is_told() {
    let seen = failures();
    let (numbers, _send) = event::<u32>();
    drop(numbers.with_finaliser(|| panic!("at the end")));
    assert_eq!(seen.borrow().len(), 1);
}

#[test]
fn deep_graphs_are_updated_and_dropped_without_stack() {
    rig::with_small_stack(|| {
        let (numbers, send) = event::<u64>();
        let mut end = numbers.clone();
        for _ in 0..100_000 {
            end = end.map(|n| n + 1);
        }
        let held = end.hold(0);
        send.send(1);
        assert_eq!(held.value(), 100_001);
        drop(end);
        drop(held);
        assert!(send.is_connected());
        drop(numbers);
        assert!(!send.is_connected());
        let (level, set) = signal(0_u64);
        let mut top = level.clone();
        for n in 0..100_000 {
            top = if n % 2 == 0 { top.map(|n| n + 1) } else { l2(&top, &level, |a, b| a + b) };
        }
        set.set(1);
        assert_eq!(top.value(), 100_001);
        drop(level);
        drop(top);
        assert!(!set.is_connected());
    });
}

#[test]
fn captured_handles_are_dropped_without_stack() {
    rig::with_small_stack(|| {
        let (numbers, send) = event::<u32>();
        let mut end = numbers.clone();
        for _ in 0..100_000 {
            let captured = end;
            end = numbers.map(move |n| {
                let _ = &captured;
                *n
            });
        }
        let nested = (0..100_000).fold(Signal::constant(Event::never()), |inner, _| {
            let captured = inner.clone();
            inner.map(move |event: &Event<Signal<u32>>| {
                let _ = &captured;
                event.clone()
            })
        });
        drop((numbers, end, nested));
        assert!(!send.is_connected());
    });
}

#[test]
fn wide_graphs_let_go_of_each_dependent_at_once() {
    let (numbers, send) = event::<u32>();
    let count = std::rc::Rc::new(Cell::new(0_u32));
    let mut all: Vec<Event<()>> = (0..100_000)
        .map(|_| {
            let count = count.clone();
            numbers.map(move |_| count.set(count.get() + 1))
        })
        .collect();
    send.send(1);
    assert_eq!(count.take(), 100_000);
    all.truncate(10);
    send.send(1);
    assert_eq!(count.take(), 10);
}

#[test]
fn a_promise_of_an_event_that_is_gone_stays_pending() {
    let (numbers, send) = event::<u32>();
    let next: Promise<u32> = numbers.next();
    drop(numbers);
    assert!(send.is_connected(), "the promise listens");
    send.send(1);
    assert_eq!(next.try_take().unwrap().unwrap(), 1);
    assert!(!send.is_connected());
}

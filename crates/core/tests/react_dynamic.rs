//! Graphs that change while they are at work: switch, bind, fix, heights that rise, circles that are refused.

mod rig;

use lisle_core::react::{Event, Signal, event, l2, signal, step};
use rig::{Trace, failures};
use std::cell::RefCell;
use std::rc::Rc;

fn record<A: ToString + 'static>(trace: &Trace, event: &Event<A>) -> Event<()> {
    let trace = trace.clone();
    event.map(move |value| trace.add(value.to_string()))
}

#[test]
fn a_switch_takes_the_new_events_occurrence_of_the_same_step() {
    let trace = Trace::new();
    let ((a, send_a), (b, send_b), (turns, turn)) = (event(), event(), event());
    let _seen = record(&trace, &a.switch(&turns));
    step(|step| {
        step.send(&send_a, "a");
        step.send(&send_b, "b");
        step.send(&turn, b.clone());
    });
    assert_eq!(trace.take(), "b");
    send_a.send("a");
    send_b.send("c");
    turn.send(a.clone());
    send_a.send("d");
    turn.send(Event::never());
    send_a.send("e");
    assert_eq!(trace.take(), "c d");
}

#[test]
fn a_switch_rises_above_what_it_turns_to_and_its_dependents_with_it() {
    let trace = Trace::new();
    let ((shallow, send), (turns, turn)) = (event::<u32>(), event());
    let mut deep = shallow.clone();
    for _ in 0..50 {
        deep = deep.map(|n| n + 1);
    }
    let switched = shallow.switch(&turns);
    let after = switched.map(|n| n + 1000).map(|n| n + 1000);
    let _together = record(&trace, &after.l2(&shallow, |a, s| format!("{a}/{s}")));
    send.send(1);
    assert_eq!(trace.take(), "2001/1");
    step(|step| {
        step.send(&turn, deep.clone());
        step.send(&send, 2);
    });
    assert_eq!(trace.take(), "2052/2");
    send.send(3);
    assert_eq!(trace.take(), "2053/3");
}

#[test]
fn bind_makes_and_drops_parts_of_the_graph() {
    let (count, dropped) = (Rc::new(RefCell::new(0)), Rc::new(RefCell::new(0)));
    let ((choice, choose), (base, set)) = (signal(0), signal(100));
    let (made, gone) = (count.clone(), dropped.clone());
    let chosen = choice.bind(move |&n| {
        *made.borrow_mut() += 1;
        let gone = gone.clone();
        base.map(move |b| b + n).with_finaliser(move || *gone.borrow_mut() += 1)
    });
    assert_eq!(chosen.value(), 100);
    for n in 1..=100 {
        step(|step| {
            step.set(&choose, n);
            step.set(&set, 1000 * n);
        });
        assert_eq!(chosen.value(), 1000 * n + n);
    }
    assert_eq!((*count.borrow(), *dropped.borrow()), (101, 100));
    drop(chosen);
    assert_eq!(*dropped.borrow(), 101);
}

#[test]
fn what_is_made_within_a_step_takes_part_in_it() {
    let trace = Trace::new();
    let (numbers, send) = event::<u32>();
    let held = Rc::new(RefCell::new(Vec::new()));
    let (source, keep, trace_in) = (numbers.clone(), held.clone(), trace.clone());
    let _maker = numbers.once().map(move |_| {
        let total = source.fold(10, |sum, n| sum + n);
        keep.borrow_mut().push(record(&trace_in, &total));
    });
    send.send(1);
    send.send(2);
    assert_eq!(trace.take(), "11 13");
}

#[test]
fn a_switch_is_not_turned_to_what_depends_on_it() {
    let seen = failures();
    let ((a, send), (turns, turn)) = (event::<u32>(), event());
    let switched = a.switch(&turns);
    let depends = switched.map(|n| n + 1).map(|n| n + 1);
    let held = switched.hold(0);
    turn.send(depends);
    turn.send(switched.clone());
    send.send(5);
    assert_eq!(held.value(), 5);
    assert_eq!(seen.borrow().len(), 2);
    assert!(seen.borrow()[0].1.contains("depends on this switch"), "{:?}", seen.borrow());
}

#[test]
fn a_bind_to_what_depends_on_it_is_told_once_and_keeps_the_old() {
    let seen = failures();
    let ((choice, choose), (base, set)) = (signal(0), signal(1));
    let later: Rc<RefCell<Option<Signal<i32>>>> = Rc::default();
    let (circle, other) = (later.clone(), base.clone());
    let bound = choice.bind(move |&n| match n {
        1 => circle.borrow().clone().expect("it is there by then"),
        _ => other.clone(),
    });
    *later.borrow_mut() = Some(bound.map(|n| n + 1));
    choose.set(1);
    set.set(2);
    set.set(3);
    assert_eq!((bound.value(), seen.borrow().len()), (3, 1));
    choose.set(2);
    set.set(4);
    assert_eq!((bound.value(), seen.borrow().len()), (4, 1));
    later.take();
}

#[test]
fn a_refused_circle_leaves_the_heights_right() {
    let _seen = failures();
    let ((a, send), (turns, turn)) = (event::<u32>(), event());
    let trace = Trace::new();
    let switched = a.switch(&turns);
    let near = switched.map(|n| n + 1);
    let mut far = near.clone();
    for _ in 0..10 {
        far = far.map(|n| n + 1);
    }
    let both = near.l2(&far, |near, far| format!("{near},{far}"));
    let _end = record(&trace, &both.l2(&switched, |pair, s| format!("{s}:{pair}")));
    turn.send(far.clone());
    send.send(1);
    assert_eq!(trace.take(), "1:2,12");
}

#[test]
fn feedback_comes_one_step_later() {
    let trace = Trace::new();
    let (start, send) = event::<u32>();
    let trace_in = trace.clone();
    let counted = Event::fix(move |again| {
        let (trace_start, trace_again) = (trace_in.clone(), trace_in.clone());
        let start = start.map(move |&n| {
            trace_start.add("start");
            n
        });
        let again = again.filter_map(move |&n| {
            trace_again.add(n);
            (n > 0).then(|| n - 1)
        });
        Event::select([start, again])
    });
    let last = counted.hold(9);
    send.send(3);
    assert_eq!((last.value(), trace.take().as_str()), (0, "start 3 2 1 0"));
    drop((counted, last));
    send.send(3);
    assert_eq!(trace.take(), "");
    assert!(!send.is_connected());
}

#[test]
fn a_signal_fed_back_settles() {
    let (target, set) = signal(10_000_i32);
    let level = Signal::fix(0, |level| l2(level, &target, |level, to| level + (to - level).signum()));
    assert_eq!(level.value(), 10_000);
    set.set(9_000);
    assert_eq!(level.value(), 9_000);
    drop(level);
    drop(target);
    assert!(!set.is_connected());
}

#[test]
fn heights_rise_by_a_loop() {
    rig::with_small_stack(|| {
        let ((a, send), (turns, turn)) = (event::<u32>(), event());
        let mut end = a.switch(&turns);
        for _ in 0..100_000 {
            end = end.map(|n| n + 1);
        }
        let last = end.hold(0);
        turn.send(a.map(|n| n + 1).map(|n| n + 1));
        send.send(1);
        assert_eq!(last.value(), 100_003);
    });
}

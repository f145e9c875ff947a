//! One step: no glitch, nothing twice, sends from within are the next step, panics spoil nothing else.

mod rig;

use lisle_core::hook::FailureKind;
use lisle_core::react::{Event, Fresh, Signal, event, l2, signal, step};
use rig::{Trace, failures};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

/// Collects what an event occurs with.
fn record<A: ToString + 'static>(trace: &Trace, event: &Event<A>) -> Event<()> {
    let trace = trace.clone();
    event.map(move |value| trace.add(value.to_string()))
}

#[test]
fn the_sides_of_a_diamond_are_never_seen_apart() {
    let trace = Trace::new();
    let (top, set) = signal(1);
    let left = top.map(|n| n + 1);
    let longer = top.map(|n| n * 10).map(|n| n + 1).map(|n| n - 1);
    let trace_in = trace.clone();
    let bottom = l2(&left, &longer, move |l, r| {
        trace_in.add(format!("{l}:{r}"));
        l + r
    });
    set.set(2);
    assert_eq!(bottom.value(), 23);
    assert_eq!(trace.take(), "2:10 3:20");
}

#[test]
fn an_equal_value_is_no_change() {
    let trace = Trace::new();
    let (number, set) = signal(1);
    let even = number.map(|n| n % 2 == 0);
    let _seen = record(&trace, &even.changes());
    set.set(3);
    set.set(3);
    assert_eq!(trace.take(), "");
    set.set(4);
    assert_eq!(trace.take(), "true");
    let (fresh, set) = signal(Fresh(1));
    let _seen = record(&trace, &fresh.changes().map(|n| n.0));
    set.set(Fresh(1));
    assert_eq!(trace.take(), "1");
}

#[test]
fn what_a_step_collects_is_simultaneous() {
    let trace = Trace::new();
    let ((a, send_a), (b, send_b)) = (event::<u32>(), event::<u32>());
    let _first = record(&trace, &Event::select([a.clone(), b.clone()]));
    let _both = record(&trace, &a.l2(&b, |a, b| format!("{a}+{b}")));
    let _alone = record(&trace, &a.dismiss(&b).map(|a| format!("alone {a}")));
    let given = step(|step| {
        step.send(&send_b, 2);
        step.send(&send_a, 1);
        "back"
    });
    assert_eq!((given, trace.take().as_str()), ("back", "1 1+2"));
    send_a.send(3);
    assert_eq!(trace.take(), "3 alone 3");
    step(|_| ());
    assert_eq!(trace.take(), "");
}

#[test]
fn of_several_values_in_a_step_the_last_counts() {
    let trace = Trace::new();
    let ((signal, set), (event, send)) = (signal(0), event::<u32>());
    let _changes = record(&trace, &signal.changes().map(|n| format!("change {n}")));
    let _occurrences = record(&trace, &event);
    step(|step| {
        step.set(&set, 1);
        step.set(&set, 0);
        step.send(&send, 1);
        step.send(&send, 2);
    });
    assert_eq!(trace.take(), "2");
}

#[test]
fn a_step_whose_function_panics_sends_nothing() {
    let (signal, set) = signal(0);
    let caught = catch_unwind(AssertUnwindSafe(|| {
        step(|step| {
            step.set(&set, 1);
            panic!("half way");
        })
    }));
    assert!(caught.is_err());
    assert_eq!(signal.value(), 0);
    set.set(2);
    assert_eq!(signal.value(), 2);
}

#[test]
fn a_send_from_within_is_the_next_step() {
    let trace = Trace::new();
    let ((a, send_a), (b, send_b)) = (event::<u32>(), event::<u32>());
    let trace_in = trace.clone();
    let _echo = a.map(move |&n| {
        send_b.send(n * 10);
        trace_in.add("sent");
    });
    let _a = record(&trace, &a);
    let _b = record(&trace, &b);
    let _together = record(&trace, &a.l2(&b, |_, _| "together"));
    send_a.send(1);
    assert_eq!(trace.take(), "sent 1 10");
}

#[test]
fn many_steps_from_within_use_no_stack() {
    rig::with_small_stack(|| {
        let (down, send) = event::<u32>();
        let last = down.hold(1);
        let again = send.clone();
        let _loop = down.map(move |&n| {
            if n > 0 {
                again.send(n - 1);
            }
        });
        send.send(200_000);
        assert_eq!(last.value(), 0);
    });
}

#[test]
fn a_function_that_panics_spoils_nothing_else() {
    let seen = failures();
    let trace = Trace::new();
    let (numbers, send) = event::<u32>();
    let odd_only = |n: &u32| if n.is_multiple_of(2) { panic!("even {n}") } else { *n };
    let _before = record(&trace, &numbers);
    let mapped = numbers.map(odd_only);
    let _mapped = record(&trace, &mapped.map(|n| format!("mapped {n}")));
    let total = numbers.fold(0, move |sum, n| sum + odd_only(n));
    let _total = record(&trace, &total.map(|n| format!("total {n}")));
    let held = numbers.hold(1);
    let odd = held.map(odd_only);
    for n in [1, 2, 3] {
        send.send(n);
    }
    assert_eq!(trace.take(), "1 mapped 1 total 1 2 3 mapped 3 total 4");
    assert_eq!((held.value(), odd.value()), (3, 3));
    let told = seen.borrow();
    assert_eq!(told.len(), 3, "once for each panic");
    assert!(told.iter().all(|(kind, text)| *kind == FailureKind::Callback && text == "panicked: even 2"));
}

#[test]
fn a_panic_leaves_a_signal_as_it_was() {
    let seen = failures();
    let (number, set) = signal(1);
    let checked = number.map(|&n| if n == 2 { panic!("two") } else { n });
    set.set(2);
    assert_eq!((number.value(), checked.value()), (2, 1));
    set.set(3);
    assert_eq!(checked.value(), 3);
    assert_eq!(seen.borrow().len(), 1);
}

#[test]
fn a_signal_that_cannot_begin_panics_where_it_is_made() {
    let (number, set) = signal(1);
    let made = catch_unwind(AssertUnwindSafe(|| number.map(|n| assert_ne!(*n, 1, "not one"))));
    assert!(made.is_err());
    // Nothing is left of it: no dependent, and the graph is not busy.
    let seen = failures();
    let doubled = number.map(|n| n * 2);
    set.set(1);
    set.set(4);
    assert_eq!(doubled.value(), 8);
    assert!(seen.borrow().is_empty());
}

#[test]
fn an_equality_or_destructor_that_panics_is_told() {
    #[derive(Clone)]
    struct Picky(u32);
    impl PartialEq for Picky {
        fn eq(&self, other: &Picky) -> bool {
            assert_ne!(other.0, 13, "unlucky");
            self.0 == other.0
        }
    }
    let seen = failures();
    let (picky, set) = signal(Picky(1));
    let number = picky.map(|picky| picky.0);
    set.set(Picky(13));
    assert_eq!(number.value(), 1);
    set.set(Picky(2));
    assert_eq!(number.value(), 2);
    assert_eq!(seen.borrow().len(), 1);
    let (bombs, send) = event::<rig::Bomb>();
    let count = bombs.fold(0, |count, _| count + 1).hold(0);
    send.send(rig::Bomb);
    send.send(rig::Bomb);
    assert_eq!(count.value(), 2);
    assert_eq!(seen.borrow().len(), 3);
}

#[test]
fn functions_may_send_look_and_make_while_a_signal_is_made() {
    let (number, set) = signal(1);
    let doubled = number.map(move |&n| {
        if n < 4 {
            set.set(n + 1);
        }
        n * 2
    });
    assert_eq!((number.value(), doubled.value()), (4, 8));
}

#[test]
fn what_is_dropped_in_a_step_does_not_run_in_it() {
    let trace = Trace::new();
    let (numbers, send) = event::<u32>();
    let victim: Rc<Cell<Option<Event<()>>>> = Rc::default();
    let to_drop = victim.clone();
    let killer = numbers.map(move |_| drop(to_drop.take()));
    let later = numbers.map(|n| n + 1).map(|n| n + 1);
    victim.set(Some(record(&trace, &later)));
    send.send(1);
    assert_eq!(trace.take(), "");
    drop(killer);
    victim.set(Some(record(&trace, &later)));
    send.send(1);
    assert_eq!(trace.take(), "3");
}

#[test]
fn an_event_may_drop_itself_in_its_function() {
    let trace = Trace::new();
    let (numbers, send) = event::<u32>();
    let own: Rc<Cell<Option<Event<()>>>> = Rc::default();
    let (me, trace_in) = (Rc::downgrade(&own), trace.clone());
    own.set(Some(numbers.map(move |n| {
        trace_in.add(n);
        drop(me.upgrade().and_then(|own| own.take()));
    })));
    send.send(1);
    send.send(2);
    assert_eq!(trace.take(), "1");
}

#[test]
fn those_of_one_height_run_in_the_order_of_their_making() {
    let trace = Trace::new();
    let (numbers, send) = event::<u32>();
    let recorders: Vec<Event<()>> = (0..5).map(|i| record(&trace, &numbers.map(move |n| n + i))).collect();
    send.send(0);
    assert_eq!(trace.take(), "0 1 2 3 4");
    drop(recorders);
    send.send(0);
    assert_eq!(trace.take(), "");
}

#[test]
fn events_remember_and_end() {
    let trace = Trace::new();
    let ((numbers, send), (end, stop)) = (event::<u32>(), event::<()>());
    let gate = numbers.map(|n| n % 2 == 1).hold(false);
    let kept: Vec<Event<()>> = vec![
        record(&trace, &numbers.diff(|new, old| format!("diff{}", new - old))),
        record(&trace, &numbers.changes().map(|n| format!("new{n}"))),
        record(&trace, &numbers.once().map(|n| format!("once{n}"))),
        record(&trace, &numbers.drop_once().stamp("rest")),
        record(&trace, &numbers.until(&end).map(|n| format!("until{n}"))),
        record(&trace, &numbers.on(&gate).map(|n| format!("on{n}"))),
        record(&trace, &Event::<u32>::never()),
    ];
    send.send(1);
    assert_eq!(trace.take(), "new1 once1 until1 on1");
    send.send(1);
    assert_eq!(trace.take(), "diff0 rest until1 on1");
    step(|step| {
        step.send(&send, 4);
        step.send(&stop, ());
    });
    assert_eq!(trace.take(), "diff3 new4 rest");
    send.send(5);
    assert_eq!(trace.take(), "diff1 new5 rest on5");
    drop(kept);
}

#[test]
fn signals_filter_merge_and_accumulate() {
    let trace = Trace::new();
    let ((number, set), (other, set_other)) = (signal(1), signal(10));
    let ((adders, add), (tick, send_tick)) = (event::<fn(&u32) -> u32>(), event::<u32>());
    let even = number.filter(0, |n| n % 2 == 0);
    let half = number.filter_map(9, |n| (n % 2 == 0).then_some(n / 2));
    let on_even = other.on(&number.map(|n| n % 2 == 0), 7);
    let sum = Signal::merge([number.clone(), other.clone()], 0, |sum, n| sum + n);
    let state = Signal::accum(&adders, 5);
    let product = Signal::fold(&tick, 1, |product, n| product * n);
    let quiet = number.dismiss(&tick);
    let _diff = record(&trace, &number.diff(|new, old| format!("{old}>{new}")));
    let _sample = record(&trace, &number.sample(&tick, |tick, n| format!("{tick}@{n}")));
    let all = || (even.value(), half.value(), on_even.value(), sum.value(), quiet.value());
    assert_eq!(all(), (0, 9, 7, 11, 1));
    set.set(4);
    set_other.set(20);
    assert_eq!(all(), (4, 2, 20, 24, 4));
    step(|step| {
        step.set(&set, 5);
        step.send(&send_tick, 3);
    });
    add.send(|n| n + 1);
    set_other.set(30);
    assert_eq!(all(), (4, 2, 20, 35, 4));
    assert_eq!((state.value(), product.value(), Signal::constant(1).value()), (6, 3, 1));
    assert_eq!(trace.take(), "1>4 4>5 3@5");
    assert_eq!(number.with(|n| n + 1), 6);
}

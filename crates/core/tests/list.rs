//! Iteration with promises: order, errors, panics, cancelling at each moment, a million elements.

mod rig;

use lisle_core::{Error, Promise, Resolver, cancelable, list, live_waiters, pair, pause, ready, rejected};
use rig::*;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// Promises that a test opens by hand, in the order in which callbacks asked for them.
#[derive(Clone, Default)]
struct Gates(Rc<RefCell<Vec<Option<Resolver<u32>>>>>);

impl Gates {
    fn promise(&self, cancels: bool) -> Promise<u32> {
        let (promise, resolver) = if cancels { cancelable() } else { pair() };
        self.0.borrow_mut().push(Some(resolver));
        promise
    }

    fn begun(&self) -> usize {
        self.0.borrow().len()
    }

    fn take(&self, index: usize) -> Resolver<u32> {
        self.0.borrow_mut()[index].take().expect("opened once")
    }

    fn open(&self, index: usize, value: u32) {
        let resolver = self.take(index);
        resolver.resolve(value);
    }

    fn fail(&self, index: usize, word: &str) {
        let resolver = self.take(index);
        resolver.reject(fail(word));
    }
}

/// `map` in one of the three forms, over `count` gates.
fn map(form: char, count: u32, gates: &Gates, cancels: bool) -> Promise<Vec<u32>> {
    let gates = gates.clone();
    let f = move |_| gates.promise(cancels);
    match form {
        's' => list::map_s(0..count, f),
        'p' => list::map_p(0..count, f),
        _ => list::map_n(2, 0..count, f),
    }
}

#[test]
fn no_elements_give_the_empty_result_at_once() {
    let none = || Vec::<u32>::new();
    value(list::iter_s(none(), |_| ready(())));
    value(list::iter_p(none(), |_| ready(())));
    value(list::iter_n(1, none(), |_| ready(())));
    assert_eq!(value(list::map_s(none(), ready)), none());
    assert_eq!(value(list::map_p(none(), ready)), none());
    assert_eq!(value(list::map_n(3, none(), ready)), none());
    assert_eq!(value(list::fold_left_s(none(), 7, |sum, n| ready(sum + n))), 7);
    assert_eq!(value(list::fold_right_s(none(), 7, |n, sum| ready(sum + n))), 7);
    assert!(value(list::for_all_s(none(), |_| ready(false))));
    assert!(value(list::for_all_p(none(), |_| ready(false))));
    assert!(value(list::for_all_n(1, none(), |_| ready(false))));
    assert!(!value(list::exists_s(none(), |_| ready(true))));
    assert!(!value(list::exists_n(1, none(), |_| ready(true))));
    assert_eq!(value(list::find_s(none(), |_| ready(true))), None);
    assert_eq!(value(list::partition_n(1, none(), |_| ready(true))), (none(), none()));
}

#[test]
fn values_come_in_the_order_of_the_elements_whatever_is_done_first() {
    for form in ['p', 'n'] {
        let gates = Gates::default();
        let values = map(form, 4, &gates, false);
        gates.open(1, 1);
        if form == 'n' {
            assert_eq!(gates.begun(), 3, "one was done, so one more has begun");
            gates.open(2, 2);
            gates.open(3, 3);
        } else {
            assert_eq!(gates.begun(), 4);
            gates.open(3, 3);
            gates.open(2, 2);
        }
        assert!(values.is_pending());
        gates.open(0, 0);
        assert_eq!(value(values), [0, 1, 2, 3]);
    }
    let gates = Gates::default();
    let values = map('s', 2, &gates, false);
    assert_eq!(gates.begun(), 1);
    gates.open(0, 10);
    assert_eq!(gates.begun(), 2);
    gates.open(1, 11);
    assert_eq!(value(values), [10, 11]);
}

#[test]
fn every_bounded_operation_agrees_with_its_serial_form() {
    let numbers = || 0..7;
    let even = |n: &i32| {
        let holds = *n % 2 == 0;
        pause().map(move |()| holds)
    };
    for max in 1..5 {
        let kept = list::filter_n(max, numbers(), even);
        let parts = list::partition_n(max, numbers(), even);
        let halves = list::filter_map_n(max, numbers(), |n| pause().map(move |()| (n > 2).then_some(n * 2)));
        let indexed = list::mapi_n(max, [5, 5, 5], |i, n| pause().map(move |()| n + i));
        let small = list::for_all_n(max, numbers(), |n| pause().map(move |()| n < 7));
        let large = list::exists_n(max, numbers(), |n| pause().map(move |()| n > 5));
        let sum = Rc::new(Cell::new(0));
        let add = sum.clone();
        let added = list::iteri_n(max, numbers(), move |i, n| {
            add.set(add.get() + i + n as usize);
            pause()
        });
        run();
        assert_eq!(value(kept), [0, 2, 4, 6]);
        assert_eq!(value(parts), (vec![0, 2, 4, 6], vec![1, 3, 5]));
        assert_eq!(value(halves), [6, 8, 10, 12]);
        assert_eq!(value(indexed), [5, 6, 7]);
        assert!(value(small) && value(large));
        value(added);
        assert_eq!(sum.get(), 42);
    }
}

#[test]
fn never_more_than_max_run_and_no_room_is_left_unused() {
    for max in [1, 2, 3, 10, 100, usize::MAX] {
        let (running, peak) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
        let (inside, most) = (running.clone(), peak.clone());
        let done = list::iter_n(max, 0..20, move |n| {
            inside.set(inside.get() + 1);
            most.set(most.get().max(inside.get()));
            let left = inside.clone();
            let pauses = 1 + n % 3;
            list::iter_s(0..pauses, |_| pause()).map(move |()| left.set(left.get() - 1))
        });
        run();
        value(done);
        assert_eq!((running.get(), peak.get()), (0, max.min(20)));
    }
}

#[test]
fn after_an_error_a_serial_form_stops_a_bounded_one_waits_a_parallel_one_runs_all() {
    for (form, begun) in [('s', 1), ('n', 2), ('p', 5)] {
        let gates = Gates::default();
        let values = map(form, 5, &gates, false);
        gates.fail(0, "first");
        assert_eq!(gates.begun(), begun, "in {form}");
        for index in 1..begun {
            assert!(values.is_pending(), "those that run are waited for");
            gates.fail(index, "later");
        }
        assert_eq!(error(values).to_string(), "first");
    }
    assert_eq!(live_waiters(), 0);
}

#[test]
fn the_first_error_in_time_wins_not_the_first_in_order() {
    for form in ['n', 'p'] {
        let gates = Gates::default();
        let values = map(form, 2, &gates, false);
        gates.fail(1, "first in time");
        gates.fail(0, "second in time");
        assert_eq!(error(values).to_string(), "first in time");
    }
}

#[test]
fn a_search_that_is_decided_begins_no_more() {
    for (bounded, begun) in [(false, 1), (true, 3)] {
        let gates = Gates::default();
        let inside = gates.clone();
        let ask = move |_| inside.promise(false).map(|n| n == 1);
        let found = if bounded { list::exists_n(3, 0.., ask) } else { list::exists_s(0.., ask) };
        assert_eq!(gates.begun(), begun);
        gates.open(0, 1);
        assert_eq!(gates.begun(), begun, "it is decided");
        for index in 1..begun {
            assert!(found.is_pending(), "those that run are waited for");
            gates.open(index, 0);
        }
        assert!(value(found));
    }
}

#[test]
fn a_panic_in_a_callback_is_a_rejection() {
    let boom = |n: u32| -> Promise<u32> { if n == 1 { panic!("boom {n}") } else { ready(n) } };
    let begun = Rc::new(Cell::new(0));
    let count = begun.clone();
    let counted = move |n| {
        count.set(count.get() + 1);
        boom(n)
    };
    for (form, expected) in [('s', 2), ('p', 4), ('n', 2)] {
        begun.set(0);
        let promise = match form {
            's' => list::map_s(0..4, counted.clone()),
            'p' => list::map_p(0..4, counted.clone()),
            _ => list::map_n(2, 0..4, counted.clone()),
        };
        assert_eq!(error(promise).panic_message(), Some("boom 1"));
        assert_eq!(begun.get(), expected, "in {form}");
    }
    // After a wait too: inside a resolution, where nobody stands who could catch it.
    let (gate, open) = pair::<()>();
    let gate = gate.shared();
    let waits = move |n| gate.promise().bind(move |()| boom(n));
    let serial = list::map_s(0..4, waits.clone());
    let bounded = list::map_n(1, 0..4, waits);
    open.resolve(());
    assert_eq!(error(serial).panic_message(), Some("boom 1"));
    assert_eq!(error(bounded).panic_message(), Some("boom 1"));
}

#[test]
fn a_panic_of_the_iterator_is_a_rejection_and_the_end_of_the_elements() {
    let broken = || (0..5).inspect(|&n| assert!(n < 2, "no element {n}"));
    let (gate, open) = pair::<()>();
    let gate = gate.shared();
    let held = gate.clone();
    let waits = move |n| held.promise().map(move |()| n);
    let serial = list::map_s(broken(), ready);
    assert_eq!(error(serial).panic_message(), Some("no element 2"));
    let (parallel, bounded) = (list::map_p(broken(), waits.clone()), list::map_n(9, broken(), waits));
    assert!(parallel.is_pending() && bounded.is_pending(), "two elements have begun");
    open.resolve(());
    assert_eq!(error(parallel).panic_message(), Some("no element 2"));
    assert_eq!(error(bounded).panic_message(), Some("no element 2"));
}

#[test]
#[should_panic(expected = "pass 1 or more")]
fn none_at_a_time_is_a_mistake() {
    list::iter_n(0, [1], |_| ready(())).detach();
}

#[test]
fn cancelling_reaches_all_that_run_at_each_moment() {
    for form in ['s', 'p', 'n'] {
        for done in 0..4 {
            let gates = Gates::default();
            let values = map(form, 4, &gates, true);
            for index in 0..done {
                gates.open(index, 0);
            }
            let begun = gates.begun();
            values.cancel();
            assert!(error(values).is_canceled(), "{form} after {done}");
            assert_eq!(gates.begun(), begun, "nothing begins after the cancellation");
            for index in done..begun {
                assert!(!gates.take(index).is_pending());
            }
        }
    }
    assert_eq!(live_waiters(), 0);
}

#[test]
fn what_cannot_be_cancelled_takes_its_time() {
    for form in ['s', 'p', 'n'] {
        let gates = Gates::default();
        let values = map(form, 3, &gates, false);
        values.cancel();
        assert!(values.is_pending());
        for index in 0..3 {
            gates.open(index, 1);
        }
        assert_eq!(value(values), [1, 1, 1], "nothing was lost in {form}");
    }
    // One of two can: its cancellation is the error, the other is waited for.
    let stubborn = Gates::default();
    let inside = stubborn.clone();
    let values = list::map_n(2, 0..9, move |n| inside.promise(n == 1));
    values.cancel();
    assert!(values.is_pending());
    stubborn.open(0, 5);
    assert!(error(values).is_canceled());
    assert_eq!(stubborn.begun(), 2);
}

#[test]
fn dropping_the_result_lets_the_iteration_go_on() {
    for form in ['s', 'p', 'n'] {
        let gates = Gates::default();
        drop(map(form, 3, &gates, true));
        for index in 0..3 {
            gates.open(index, 1);
        }
        assert_eq!(gates.begun(), 3, "in {form}");
    }
    assert_eq!(live_waiters(), 0);
}

#[test]
fn a_callback_may_settle_those_before_it() {
    // Each callback opens the gate of the one before, at once and from inside: `f` is running meanwhile.
    for max in [1, 2, 3] {
        let gates = Gates::default();
        let inside = gates.clone();
        let values = list::map_n(max, 0..6, move |n: usize| {
            let promise = inside.promise(false);
            if n > 0 && n + 1 >= max {
                let earlier = inside.0.borrow_mut()[n + 1 - max].take();
                if let Some(resolver) = earlier {
                    resolver.resolve_now(n as u32);
                }
            }
            promise
        });
        for index in 0..gates.begun() {
            let left = gates.0.borrow_mut()[index].take();
            if let Some(resolver) = left {
                resolver.resolve(9);
            }
        }
        assert_eq!(value(values).len(), 6, "with {max} at a time");
    }
}

#[test]
fn a_callback_that_fails_its_neighbour_is_still_waited_for() {
    // The second callback rejects the first promise while it runs; nothing runs then but the callback itself.
    let gates = Gates::default();
    let inside = gates.clone();
    let values = list::map_n(2, 0..9, move |n| {
        if n == 1 {
            let first = inside.take(0);
            first.reject_now(fail("by its neighbour"));
        }
        inside.promise(false)
    });
    assert!(values.is_pending(), "the second has begun, so it is waited for");
    assert_eq!(gates.begun(), 2);
    gates.open(1, 1);
    assert_eq!(error(values).to_string(), "by its neighbour");
}

#[test]
fn a_callback_may_cancel_the_iteration_it_belongs_to() {
    let slot: Rc<RefCell<Option<Promise<Vec<u32>>>>> = Rc::default();
    let gates = Gates::default();
    let (shared, inside) = (slot.clone(), gates.clone());
    let values = list::map_n(2, 0..9, move |n| {
        let promise = inside.promise(n == 1);
        let own = shared.borrow_mut().take();
        if let Some(own) = own {
            own.cancel();
            *shared.borrow_mut() = Some(own);
        }
        promise
    });
    *slot.borrow_mut() = Some(values);
    gates.open(0, 0);
    assert_eq!(gates.begun(), 3, "the third has begun, and cancelled the second");
    assert!(!gates.take(1).is_pending());
    let values = slot.borrow_mut().take().expect("put there");
    assert!(values.is_pending(), "the third is waited for");
    gates.open(2, 2);
    assert!(error(values).is_canceled());
}

#[test]
fn elements_that_panic_when_dropped_stop_nobody() {
    let seen = failures();
    let (gate, open) = pair::<()>();
    let gate = gate.shared();
    let kept = list::filter_n(2, vec![Some(Bomb), None, None], move |_| gate.promise().map(|()| true));
    open.reject(fail("no"));
    assert_eq!(error(kept).to_string(), "no");
    assert!(seen.borrow().iter().all(|(_, text)| text.contains("bomb")), "{:?}", seen.borrow());
}

#[test]
fn the_callback_and_the_rest_of_the_elements_go_when_the_iteration_has_failed() {
    let held = Rc::new(());
    for form in ['s', 'n'] {
        let (rest, state) = (vec![held.clone(); 5], held.clone());
        let gates = Gates::default();
        let inside = gates.clone();
        let f = move |_| {
            let _state = &state;
            inside.promise(false)
        };
        let values = if form == 's' { list::map_s(rest, f) } else { list::map_n(2, rest, f) };
        gates.fail(0, "first");
        assert_eq!(Rc::strong_count(&held), 1, "though one of {form} may still run");
        if form == 'n' {
            gates.open(1, 1);
        }
        error(values);
    }
}

#[test]
fn a_million_settled_elements_need_no_stack() {
    const COUNT: usize = 1_000_000;
    with_small_stack(|| {
        let total = Rc::new(Cell::new(0));
        let add = || {
            let total = total.clone();
            move |n: usize| {
                total.set(total.get() + n % 2);
                ready(())
            }
        };
        value(list::iter_s(0..COUNT, add()));
        value(list::iter_p(0..COUNT, add()));
        value(list::iter_n(3, 0..COUNT, add()));
        assert_eq!(total.get(), 3 * COUNT / 2);
        assert_eq!(value(list::map_s(0..COUNT, ready)).len(), COUNT);
        assert_eq!(value(list::map_n(3, 0..COUNT, ready)).len(), COUNT);
    });
}

#[test]
fn a_million_pending_elements_need_no_stack() {
    const COUNT: usize = 1_000_000;
    with_small_stack(|| {
        // Each promise is settled in a lap of its own …
        let serial = list::iter_s(0..COUNT, |_| pause());
        let bounded = list::iter_n(1000, 0..COUNT, |_| pause());
        run_laps(COUNT);
        value(serial);
        value(bounded);
        // … or all of them inside one resolution, each by the callback of the one before.
        for bound in [None, Some(1), Some(2)] {
            let next: Rc<RefCell<Option<Resolver<()>>>> = Rc::default();
            let inside = next.clone();
            let step = move |_| {
                let (promise, resolver) = pair();
                let before = inside.borrow_mut().replace(resolver);
                if let Some(before) = before {
                    before.resolve(());
                }
                promise
            };
            let walked = match bound {
                None => list::iter_p(0..COUNT, step),
                Some(max) => list::iter_n(max, 0..COUNT, step),
            };
            for _ in 0..COUNT {
                let last = next.borrow_mut().take();
                let Some(last) = last else { break };
                last.resolve(());
            }
            value(walked);
        }
        assert_eq!(live_waiters(), 0);
    });
}

fn run_laps(laps: usize) {
    for _ in 0..=laps {
        lap();
    }
}

#[test]
fn a_walk_over_pending_promises_keeps_memory_flat() {
    let gates: Rc<RefCell<Option<Resolver<()>>>> = Rc::default();
    let inside = gates.clone();
    let held = Rc::new(());
    let element = held.clone();
    let walked = list::iter_s(std::iter::repeat_with(move || element.clone()).take(10_000), move |_held| {
        let (promise, resolver) = pair();
        *inside.borrow_mut() = Some(resolver);
        promise
    });
    let waiters = live_waiters();
    for _ in 0..9_999 {
        let next = gates.borrow_mut().take().expect("one waits");
        next.resolve(());
        assert!(live_waiters() <= waiters && Rc::strong_count(&held) <= 3);
    }
    let last = gates.borrow_mut().take().expect("the last one waits");
    last.resolve(());
    value(walked);
    assert_eq!(Rc::strong_count(&held), 1);
}

#[test]
fn callbacks_may_return_results_and_shared_promises() {
    let parsed = list::map_p(["1", "2"], |text| text.parse::<u32>());
    assert_eq!(value(parsed), [1, 2]);
    let (gate, open) = pair::<u32>();
    let gate = gate.shared();
    let all = list::map_n(2, 0..3, move |_| gate.clone());
    open.resolve(4);
    assert_eq!(value(all), [4, 4, 4]);
    let failed: Promise<Vec<u32>> = list::map_s([1], |_| rejected::<u32>(Error::message("no")));
    assert_eq!(error(failed).to_string(), "no");
}

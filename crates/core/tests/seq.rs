//! Delayed sequences: evaluated when asked and each time, errors and panics where they are met.

mod rig;

use lisle_core::seq::{self, Seq};
use lisle_core::{Promise, Resolver, pair, pause, ready};
use rig::*;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// 1, 2, 3, and how often a node was evaluated.
fn counting() -> (Seq<u32>, Rc<Cell<u32>>) {
    let evaluated = Rc::new(Cell::new(0));
    let count = evaluated.clone();
    let numbers = seq::unfold(1, move |n| {
        count.set(count.get() + 1);
        (n <= 3).then_some((n, n + 1))
    });
    (numbers, evaluated)
}

#[test]
fn nothing_is_evaluated_before_it_is_asked_for_and_all_of_it_again() {
    let (numbers, evaluated) = counting();
    let derived = numbers
        .append(seq::of_list([9]))
        .map(|n| n + 1)
        .filter(|n| *n != 3)
        .filter_map(|n| (n > 0).then_some(n))
        .flat_map(|n| seq::of_list([n, n]))
        .cons(0);
    assert_eq!(evaluated.get(), 0);
    let (first, rest) = value(derived.uncons()).expect("an element");
    assert_eq!((first, evaluated.get()), (0, 0));
    assert_eq!(value(rest.uncons()).map(|(n, _)| n), Some(2));
    assert_eq!(evaluated.get(), 1);
    assert_eq!(value(derived.to_list()), [0, 2, 2, 4, 4, 10, 10]);
    assert_eq!(evaluated.get(), 5);
    assert_eq!(value(derived.to_list()), [0, 2, 2, 4, 4, 10, 10]);
    assert_eq!(evaluated.get(), 9);
}

#[test]
fn small_sequences() {
    assert_eq!(value(seq::empty::<u32>().to_list()), [0; 0]);
    assert_eq!(value(seq::of_value(1).append(seq::empty()).to_list()), [1]);
    assert_eq!(value(seq::of_promise(ready(1)).cons_promise(ready(0)).to_list()), [0, 1]);
    assert_eq!(value(seq::of_iter([1, 2].into_iter()).to_list()), [1, 2]);
    let (promise, resolver) = pair();
    let late = seq::of_promise(promise);
    let lists = (late.to_list(), late.to_list());
    assert!(lists.0.is_pending());
    resolver.resolve(5);
    assert_eq!((value(lists.0), value(lists.1)), (vec![5], vec![5]));
}

#[test]
fn a_failing_node_rejects_whoever_goes_through_it_each_time() {
    let numbers = seq::of_list([1, 2, 3]).map_s(|n| if n == 3 { Err(fail("three")) } else { Ok(n) });
    for _ in 0..2 {
        assert_eq!(error(numbers.to_list()).to_string(), "three");
    }
    let (_, rest) = value(numbers.uncons()).expect("an element");
    assert_eq!(value(rest.uncons()).map(|(n, _)| n), Some(2));
}

#[test]
fn a_panic_becomes_a_rejection_wherever_it_happens() {
    let broken: Seq<u32> = seq::delayed(|| -> Promise<seq::Node<u32>> { panic!("node") });
    assert_eq!(error(broken.uncons()).panic_message(), Some("node"));
    assert_eq!(error(broken.append(seq::empty()).to_list()).panic_message(), Some("node"));
    let numbers = seq::of_list([1, 2]);
    assert_eq!(error(numbers.clone().map(|_| -> u32 { panic!("f") }).to_list()).panic_message(), Some("f"));
    assert_eq!(error(numbers.fold(0, |_, _| panic!("f"))).panic_message(), Some("f"));
    assert_eq!(error(numbers.iter_p(|_| -> Promise<()> { panic!("f") })).panic_message(), Some("f"));
}

/// How many nodes have been evaluated while callbacks are pending, and a way to finish one.
fn started(run: impl FnOnce(Seq<u32>, Box<dyn FnMut(u32) -> Promise<()>>) -> Promise<()>) -> (u32, u32) {
    let (numbers, evaluated) = counting();
    let running: Rc<RefCell<Vec<Resolver<()>>>> = Rc::default();
    let made = running.clone();
    let all = run(
        numbers,
        Box::new(move |_| {
            let (promise, resolver) = pair();
            made.borrow_mut().push(resolver);
            promise
        }),
    );
    let before = evaluated.get();
    let first = running.borrow_mut().remove(0);
    first.resolve(());
    let after = evaluated.get();
    for _ in 0..3 {
        running.take().into_iter().for_each(|resolver| resolver.resolve(()));
    }
    value(all);
    (before, after)
}

#[test]
fn a_node_is_asked_for_when_its_loop_has_use_for_it() {
    assert_eq!(started(|seq, f| seq.iter_s(f)), (1, 2));
    assert_eq!(started(|seq, f| seq.iter_n(2, f)), (2, 3));
    assert_eq!(started(|seq, f| seq.iter_p(f)), (4, 4));
}

#[test]
fn cancelling_a_loop_cancels_what_it_waits_for() {
    let slow = seq::unfold_s(0, |n| pause().map(move |()| Some((n, n + 1))));
    let sum = slow.fold(0, |sum, n| sum + n);
    lap();
    sum.cancel();
    assert!(error(sum).is_canceled());
    assert_eq!(lisle_core::sched::pause::paused_count(), 0);
}

#[test]
#[should_panic(expected = "give at least 1")]
fn iter_n_without_room_is_a_mistake() {
    seq::of_list([1]).iter_n(0, |_| ready(())).detach();
}

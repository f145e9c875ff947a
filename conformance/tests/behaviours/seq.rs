//! Lwt_seq: delayed sequences, and the same over grids of functions, lists and constants.

use lisle_core::seq::{self, Seq};
use lisle_core::{Error, Promise, pause, ready, wake_paused};
use std::cell::Cell;
use std::rc::Rc;

/// The value of a promise, after as many laps as it takes.
#[track_caller]
fn value<T: std::fmt::Debug>(promise: Promise<T>) -> T {
    for _ in 0..10_000 {
        if !promise.is_pending() {
            break;
        }
        wake_paused();
    }
    promise.try_take().expect("the promise is settled").expect("it is fulfilled")
}

fn numbers() -> Seq<i64> {
    seq::of_list([1, 2, 3, 4, 5])
}

/// The same sequence with a pause before each node.
fn pausing<T: Clone + 'static>(seq: Seq<T>) -> Seq<T> {
    seq::delayed(move || {
        let seq = seq.clone();
        pause().bind(move |()| seq.uncons().map(|node| node.map(|(element, rest)| (element, pausing(rest)))))
    })
}

/// SEQ-01: both folds visit the elements in their order.
#[test]
fn seq_01_folds_visit_in_order() {
    let next = |before: i64, n: i64| {
        assert_eq!(n, before + 1);
        n
    };
    assert_eq!(value(numbers().fold(0, next)), 5);
    assert_eq!(value(numbers().fold_s(0, move |before, n| pause().map(move |()| next(before, n)))), 5);
}

/// SEQ-02: both maps.
#[test]
fn seq_02_maps() {
    assert_eq!(value(numbers().map(|n| n * 2).to_list()), [2, 4, 6, 8, 10]);
    assert_eq!(value(numbers().map_s(|n| pause().map(move |()| n * 2)).to_list()), [2, 4, 6, 8, 10]);
}

/// SEQ-03: both filters.
#[test]
fn seq_03_filters() {
    assert_eq!(value(numbers().filter(|n| n % 2 == 0).to_list()), [2, 4]);
    let filtered = numbers().filter_s(|n| {
        let even = n % 2 == 0;
        pause().map(move |()| even)
    });
    assert_eq!(value(filtered.to_list()), [2, 4]);
}

/// SEQ-04: never more callbacks than allowed, and each element once.
#[test]
fn seq_04_iter_n_keeps_its_limit() {
    for limit in [1, 2, 100] {
        for seq in [numbers(), pausing(numbers())] {
            let (running, sum) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
            let (in_callback, total) = (running.clone(), sum.clone());
            value(seq.iter_n(limit, move |n| {
                in_callback.set(in_callback.get() + 1);
                assert!(in_callback.get() <= limit);
                total.set(total.get() + n);
                let ended = in_callback.clone();
                pause().map(move |()| ended.set(ended.get() - 1))
            }));
            assert_eq!((running.get(), sum.get()), (0, 15));
        }
    }
}

/// SEQ-05: both filtering maps.
#[test]
fn seq_05_filter_maps() {
    let double = |n: i64| (n % 2 == 0).then_some(n * 2);
    assert_eq!(value(numbers().filter_map(double).to_list()), [4, 8]);
    assert_eq!(value(numbers().filter_map_s(move |n| pause().map(move |()| double(n))).to_list()), [4, 8]);
}

/// SEQ-06: both unfolds, of a range and of an empty one.
#[test]
fn seq_06_unfolds() {
    let range = |last: i64| move |n: i64| (n <= last).then_some((n, n + 1));
    assert_eq!(value(seq::unfold(1, range(3)).to_list()), [1, 2, 3]);
    assert_eq!(value(seq::unfold(1, range(0)).to_list()), [0; 0]);
    let later = |last: i64| move |n: i64| pause().map(move |()| range(last)(n));
    assert_eq!(value(seq::unfold_s(1, later(3)).to_list()), [1, 2, 3]);
    assert_eq!(value(seq::unfold_s(1, later(0)).to_list()), [0; 0]);
}

/// SEQ-07: an iterator of results or promises that fails, at once or after two elements, rejects the fold.
#[test]
fn seq_07_a_failing_source_rejects_the_fold() {
    let failure = || Error::message("E");
    for good in [0, 2] {
        let results: Vec<Result<i64, Error>> = (0..good).map(Ok).chain([Err(failure())]).collect();
        let folded = seq::of_promises(results.clone().into_iter()).fold(0, |sum, n| sum + n);
        assert_eq!(folded.try_take().unwrap().unwrap_err().to_string(), "E");
        let promises = results.into_iter().map(|result| pause().bind(move |()| result));
        let folded = seq::of_promises(promises).fold(0, |sum, n| sum + n);
        (0..=good).for_each(|_| wake_paused());
        assert_eq!(folded.try_take().unwrap().unwrap_err().to_string(), "E");
    }
}

type Function = fn(i64, i64) -> i64;

/// Five functions of two numbers, with accumulators that do not depend on the order.
const FUNCTIONS: [Function; 5] =
    [|a, b| a.wrapping_add(b), |a, b| a.wrapping_mul(b), |a, b| a.min(b), |a, b| a.max(b), |a, b| a ^ b];

const CONSTANTS: [i64; 6] = [0, 1, -1, 42, i64::MIN, i64::MAX];

fn lists() -> [Vec<i64>; 7] {
    let list: Vec<i64> = (1..=5).collect();
    let (tripled, reversed) = ([&list[..]; 3].concat(), list.iter().rev().copied().collect());
    [vec![], list, tripled, reversed, vec![0; 5], vec![i64::MIN, i64::MAX], vec![i64::MAX, -1, i64::MIN]]
}

/// Runs `check` on the whole grid: its answer for the sequence must be the list's.
fn grid(check: impl Fn(Seq<i64>, Function, i64) -> (Vec<i64>, bool)) {
    let mut cases = 0;
    for function in FUNCTIONS {
        for list in lists() {
            for constant in CONSTANTS {
                let (found, folds) = check(seq::of_list(list.clone()), function, constant);
                let expected: Vec<i64> = match folds {
                    true => vec![list.iter().fold(constant, |sum, n| function(sum, *n))],
                    false => list.iter().map(|n| function(constant, *n)).collect(),
                };
                assert_eq!(found, expected, "{list:?} with {constant}");
                cases += 1;
            }
        }
    }
    assert_eq!(cases, 5 * 7 * 6);
}

/// Iterates in one of several ways and gives the last value of an accumulator.
fn accumulate(
    first: i64,
    function: Function,
    pauses: bool,
    iterate: impl FnOnce(Step) -> Promise<()>,
) -> Vec<i64> {
    let sum = Rc::new(Cell::new(first));
    let total = sum.clone();
    let add = move |n| total.set(function(total.get(), n));
    let step: Step = match pauses {
        false => Box::new(move |n| {
            add(n);
            ready(())
        }),
        true => Box::new(move |n| {
            let add = add.clone();
            pause().bind(move |()| {
                add(n);
                pause()
            })
        }),
    };
    value(iterate(step));
    vec![sum.get()]
}

type Step = Box<dyn FnMut(i64) -> Promise<()>>;

/// SEQFUZZ-01: mapping a sequence is mapping the list.
#[test]
fn seqfuzz_01_map_is_the_lists_map() {
    grid(|seq, function, constant| (value(seq.map(move |n| function(constant, n)).to_list()), false));
    grid(|seq, function, constant| {
        (value(seq.map_s(move |n| ready(function(constant, n))).to_list()), false)
    });
}

/// SEQFUZZ-02: iterating a sequence is folding the list.
#[test]
fn seqfuzz_02_iter_is_the_lists_fold() {
    grid(|seq, function, constant| {
        let run = |mut step: Step| seq.iter(move |n| step(n).detach());
        (accumulate(constant, function, false, run), true)
    });
    grid(|seq, function, constant| (accumulate(constant, function, false, |step| seq.iter_s(step)), true));
}

/// SEQFUZZ-03: so is iterating in parallel, with callbacks that end at once or pause.
#[test]
fn seqfuzz_03_iter_p_is_the_lists_fold() {
    for pauses in [false, true] {
        grid(|seq, function, constant| {
            (accumulate(constant, function, pauses, |step| seq.iter_p(step)), true)
        });
    }
}

/// SEQFUZZ-04: so is iterating with a limit of 1 to 5.
#[test]
fn seqfuzz_04_iter_n_is_the_lists_fold() {
    for pauses in [false, true] {
        for limit in 1..=5 {
            grid(|seq, function, constant| {
                (accumulate(constant, function, pauses, |step| seq.iter_n(limit, step)), true)
            });
        }
    }
}

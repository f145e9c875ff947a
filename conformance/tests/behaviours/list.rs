//! Rows LIST-…: iteration over lists, one at a time and side by side.

use crate::rig::{error, value};
use lisle_core::{Error, IntoPromise, Promise, Resolver, cancelable, list, pair, ready, rejected};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

fn failure() -> Error {
    Error::message("E")
}

type Counters = Vec<Rc<Cell<u32>>>;

fn counters() -> Counters {
    (0..3).map(|_| Rc::default()).collect()
}

fn read(counters: &Counters) -> Vec<u32> {
    counters.iter().map(|counter| counter.get()).collect()
}

fn increment(counter: &Cell<u32>) -> u32 {
    counter.set(counter.get() + 1);
    counter.get()
}

type Iter = fn(Counters, Box<dyn FnMut(Rc<Cell<u32>>) -> Promise<()>>) -> Promise<()>;

/// The script of the first two rows: at once, with a second callback that waits, with one that fails.
fn three_counters(iter: Iter, while_pending: [u32; 3]) {
    let counted = counters();
    value(iter(
        counted.clone(),
        Box::new(|counter| {
            increment(&counter);
            ready(())
        }),
    ));
    assert_eq!(read(&counted), [1, 1, 1]);

    let counted = counters();
    let (gate, open) = pair::<()>();
    let mut gates = vec![ready(()), gate, ready(())].into_iter();
    let walked = iter(
        counted.clone(),
        Box::new(move |counter| {
            gates.next().expect("three").map(move |()| {
                increment(&counter);
            })
        }),
    );
    assert!(walked.is_pending());
    assert_eq!(read(&counted), while_pending);
    open.resolve(());
    assert_eq!(read(&counted), [1, 1, 1]);
    value(walked);

    let mut calls = 0;
    let failed = iter(
        counters(),
        Box::new(move |_| {
            calls += 1;
            if calls == 2 { rejected(failure()) } else { ready(()) }
        }),
    );
    assert_eq!(error(failed).to_string(), "E");
}

/// LIST-01: side by side, the third counter does not wait for the second callback; a failing callback rejects.
#[test]
fn list_01_iter_p_runs_all_and_waits_for_all() {
    three_counters(list::iter_p, [1, 0, 1]);
}

/// LIST-02: one at a time, the third callback has not begun while the second waits.
#[test]
fn list_02_iter_s_waits_for_each() {
    three_counters(list::iter_s, [1, 0, 0]);
}

type Map = fn(Vec<Promise<()>>, Box<dyn FnMut(Promise<()>) -> Promise<u32>>) -> Promise<Vec<u32>>;

/// Three runs over one counter: at once, waiting at the second element, cancelled at the one that is named.
fn three_maps(map: Map, canceled: usize, released: [u32; 3]) {
    let counter: Rc<Cell<u32>> = Rc::default();
    let count = || -> Box<dyn FnMut(Promise<()>) -> Promise<u32>> {
        let counter = counter.clone();
        Box::new(move |gate| {
            let counter = counter.clone();
            gate.map(move |()| increment(&counter))
        })
    };
    assert_eq!(value(map(vec![ready(()), ready(()), ready(())], count())), [1, 2, 3]);
    let (gate, open) = pair();
    let second = map(vec![ready(()), gate, ready(())], count());
    assert!(second.is_pending());
    let (gate, _resolver) = cancelable();
    let gate = gate.shared();
    let mut gates = vec![ready(()), ready(())];
    gates.insert(canceled, gate.promise());
    let third = map(gates, count());
    gate.cancel();
    assert!(error(third).is_canceled());
    open.resolve(());
    assert_eq!(value(second), released);
}

/// LIST-03: side by side, elements 1 and 3 have run before element 2 is released.
#[test]
fn list_03_map_p_counts_in_the_order_of_completion() {
    three_maps(list::map_p, 1, [4, 8, 5]);
}

/// LIST-04: one at a time, the third element of a run only begins after its second.
#[test]
fn list_04_map_s_counts_in_the_order_of_the_elements() {
    three_maps(list::map_s, 2, [4, 7, 8]);
}

/// LIST-05: a fold that puts each element in front reverses the list.
#[test]
fn list_05_fold_left_goes_from_the_left() {
    let folded = list::fold_left_s([1, 2, 3], Vec::new(), |mut list, n| {
        list.insert(0, n);
        ready(list)
    });
    assert_eq!(value(folded), [3, 2, 1]);
}

/// LIST-06: true for all.
#[test]
fn list_06_for_all() {
    assert!(value(list::for_all_s([true, true], ready)));
    assert!(value(list::for_all_p([true, true], ready)));
}

/// LIST-07: true for one.
#[test]
fn list_07_exists_finds_one() {
    assert!(value(list::exists_s([true, false], ready)));
    assert!(value(list::exists_p([true, false], ready)));
}

/// LIST-08: true for none.
#[test]
fn list_08_exists_finds_none() {
    assert!(!value(list::exists_s([true, true], |holds: bool| ready(!holds))));
    assert!(!value(list::exists_p([true, true], |holds: bool| ready(!holds))));
}

fn is_even(n: &u32) -> Promise<bool> {
    ready(n.is_multiple_of(2))
}

/// LIST-09: what is kept stays in order.
#[test]
fn list_09_filter() {
    assert_eq!(value(list::filter_s([1, 2, 3, 4], is_even)), [2, 4]);
    assert_eq!(value(list::filter_p([1, 2, 3, 4], is_even)), [2, 4]);
}

/// LIST-10: both parts stay in order.
#[test]
fn list_10_partition() {
    let parts = (vec![1, 2], vec![3, 4]);
    assert_eq!(value(list::partition_p([1, 2, 3, 4], |&n| ready(n <= 2))), parts);
    assert_eq!(value(list::partition_s([1, 2, 3, 4], |&n| ready(n <= 2))), parts);
}

fn doubled_if_even(n: u32) -> Promise<Option<u32>> {
    ready(n.is_multiple_of(2).then_some(2 * n))
}

/// LIST-11: kept and changed in one go.
#[test]
fn list_11_filter_map() {
    assert_eq!(value(list::filter_map_p([1, 2, 3, 4], doubled_if_even)), [4, 8]);
    assert_eq!(value(list::filter_map_s([1, 2, 3, 4], doubled_if_even)), [4, 8]);
}

/// LIST-12: the numbers of the elements begin at 0.
#[test]
fn list_12_iteri() {
    let sum = Rc::new(Cell::new(0));
    let add = || {
        let sum = sum.clone();
        move |index: usize, n: usize| {
            sum.set(sum.get() + index + n);
            ready(())
        }
    };
    value(list::iteri_p([1, 2, 3], add()));
    assert_eq!(sum.replace(0), 9);
    value(list::iteri_s([1, 2, 3], add()));
    assert_eq!(sum.get(), 9);
}

/// LIST-13: a map that sees the number of each element.
#[test]
fn list_13_mapi() {
    assert_eq!(value(list::mapi_p([0, 0, 0], |index, n| ready(index + n))), [0, 1, 2]);
    assert_eq!(value(list::mapi_s([0, 0, 0], |index, n| ready(index + n))), [0, 1, 2]);
}

/// LIST-14: the first that fits.
#[test]
fn list_14_find() {
    assert_eq!(value(list::find_s([1, 2, 3], is_even)), Some(2));
}

/// LIST-15: that none fits is an answer, not an error.
#[test]
fn list_15_find_finds_none() {
    assert_eq!(value(list::find_s([1, 3], is_even)), None);
}

/// LIST-16: doubled and reversed.
#[test]
fn list_16_rev_map() {
    assert_eq!(value(list::rev_map_p([1, 2, 3], |n| ready(2 * n))), [6, 4, 2]);
    assert_eq!(value(list::rev_map_s([1, 2, 3], |n| ready(2 * n))), [6, 4, 2]);
}

/// LIST-17: a fold from the right adds up to the same sum.
#[test]
fn list_17_fold_right() {
    assert_eq!(value(list::fold_right_s([1, 2, 3], 0, |n, sum| ready(n + sum))), 6);
}

/// A callback whose second call fails. It is made for each operation's type of value.
fn second_fails<A, B: 'static>(good: impl Fn() -> B + 'static) -> impl FnMut(A) -> Promise<B> + 'static {
    let mut calls = 0;
    move |_| {
        calls += 1;
        if calls == 2 { rejected(failure()) } else { ready(good()) }
    }
}

/// Each operation under the same kind of callback, as promises of nothing.
type Operations = Vec<(&'static str, Promise<()>)>;

/// LIST-18: each parallel operation gives a promise that is rejected already.
#[test]
fn list_18_a_failing_callback_rejects_each_parallel_operation() {
    let items = || [1, 2, 3];
    let mut numbered = (second_fails(|| ()), second_fails(|| 0));
    let operations: Operations = vec![
        ("iter", list::iter_p(items(), second_fails(|| ()))),
        ("iteri", list::iteri_p(items(), move |_, n: u32| numbered.0(n))),
        ("map", list::map_p(items(), second_fails(|| 0)).map(drop)),
        ("mapi", list::mapi_p(items(), move |_, n: u32| numbered.1(n)).map(drop)),
        ("rev_map", list::rev_map_p(items(), second_fails(|| 0)).map(drop)),
        ("for_all", list::for_all_p(items(), second_fails(|| true)).map(drop)),
        ("exists", list::exists_p(items(), second_fails(|| false)).map(drop)),
        ("filter", list::filter_p(items(), by_reference(second_fails(|| true))).map(drop)),
        ("filter_map", list::filter_map_p(items(), second_fails(|| Some(0))).map(drop)),
        ("partition", list::partition_p(items(), by_reference(second_fails(|| true))).map(drop)),
    ];
    all_fail(operations);
}

/// LIST-19: each serial operation does too.
#[test]
fn list_19_a_failing_callback_rejects_each_serial_operation() {
    let items = || [1, 2, 3];
    let mut numbered = (second_fails(|| ()), second_fails(|| 0));
    let mut folding = (second_fails(|| 0), second_fails(|| 0));
    let operations: Operations = vec![
        ("iter", list::iter_s(items(), second_fails(|| ()))),
        ("iteri", list::iteri_s(items(), move |_, n: u32| numbered.0(n))),
        ("map", list::map_s(items(), second_fails(|| 0)).map(drop)),
        ("mapi", list::mapi_s(items(), move |_, n: u32| numbered.1(n)).map(drop)),
        ("rev_map", list::rev_map_s(items(), second_fails(|| 0)).map(drop)),
        ("fold_left", list::fold_left_s(items(), 0, move |_, n: u32| folding.0(n)).map(drop)),
        ("fold_right", list::fold_right_s(items(), 0, move |n: u32, _| folding.1(n)).map(drop)),
        ("for_all", list::for_all_s(items(), second_fails(|| true)).map(drop)),
        ("exists", list::exists_s(items(), second_fails(|| false)).map(drop)),
        ("find", list::find_s(items(), by_reference(second_fails(|| false))).map(drop)),
        ("filter", list::filter_s(items(), by_reference(second_fails(|| true))).map(drop)),
        ("filter_map", list::filter_map_s(items(), second_fails(|| Some(0))).map(drop)),
        ("partition", list::partition_s(items(), by_reference(second_fails(|| true))).map(drop)),
    ];
    all_fail(operations);
}

fn by_reference<P: IntoPromise>(mut f: impl FnMut(u32) -> P) -> impl FnMut(&u32) -> P {
    move |n| f(*n)
}

fn all_fail(operations: Operations) {
    for (name, promise) in operations {
        assert!(!promise.is_pending(), "{name}");
        assert_eq!(error(promise).to_string(), "E", "{name}");
    }
}

/// A callback whose first call waits for a promise that the second call fulfils.
fn second_helps_first<A, B: 'static>(good: impl Fn() -> B + 'static) -> impl FnMut(A) -> Promise<B> {
    let (gate, open) = pair::<()>();
    let (mut gate, mut open) = (Some(gate), Some(open));
    let good = Rc::new(good);
    move |_| {
        let good = good.clone();
        if let Some(gate) = gate.take() {
            return gate.map(move |()| good());
        }
        if let Some(open) = open.take() {
            open.resolve(());
        }
        ready(good())
    }
}

/// LIST-20: all callbacks of a parallel operation begin before any is waited for.
#[test]
fn list_20_parallel_operations_begin_all_callbacks_first() {
    let items = || [0, 1];
    let mut numbered = (second_helps_first(|| ()), second_helps_first(|| 0));
    let operations: Operations = vec![
        ("iter", list::iter_p(items(), second_helps_first(|| ()))),
        ("iteri", list::iteri_p(items(), move |_, n: u32| numbered.0(n))),
        ("map", list::map_p(items(), second_helps_first(|| 0)).map(drop)),
        ("mapi", list::mapi_p(items(), move |_, n: u32| numbered.1(n)).map(drop)),
        ("rev_map", list::rev_map_p(items(), second_helps_first(|| 0)).map(drop)),
        ("for_all", list::for_all_p(items(), second_helps_first(|| true)).map(drop)),
        ("exists", list::exists_p(items(), second_helps_first(|| false)).map(drop)),
        ("filter", list::filter_p(items(), by_reference(second_helps_first(|| true))).map(drop)),
        ("filter_map", list::filter_map_p(items(), second_helps_first(|| Some(0))).map(drop)),
        ("partition", list::partition_p(items(), by_reference(second_helps_first(|| true))).map(drop)),
    ];
    for (name, promise) in operations {
        assert!(!promise.is_pending(), "{name}");
        value(promise);
    }
}

/// What the callbacks of one operation have done.
#[derive(Clone, Default)]
struct Script {
    begun: Rc<RefCell<Vec<u32>>>,
    gates: Rc<RefCell<Vec<Resolver<()>>>>,
}

impl Script {
    /// A callback that writes its element down and waits.
    fn waits<B, G>(&self, good: G) -> impl FnMut(u32) -> Promise<B> + use<B, G>
    where
        B: 'static,
        G: Fn() -> B + 'static,
    {
        let (script, good) = (self.clone(), Rc::new(good));
        move |n| {
            let (gate, open) = pair();
            script.begun.borrow_mut().push(n);
            script.gates.borrow_mut().push(open);
            let good = good.clone();
            gate.map(move |()| good())
        }
    }

    /// Runs an operation over the elements 0 and 1: each callback begins only when the one before is done.
    fn is_serial(name: &str, order: [u32; 2], operation: impl FnOnce(&Script) -> Promise<()>) {
        let script = Script::default();
        let promise = operation(&script);
        for done in 0..2 {
            assert_eq!(*script.begun.borrow(), order[..=done], "{name}");
            let gate = script.gates.borrow_mut().remove(0);
            gate.resolve(());
        }
        value(promise);
        assert_eq!(*script.begun.borrow(), order, "{name}");
    }
}

/// LIST-21: the second callback of a serial operation has not begun while the first waits.
#[test]
fn list_21_serial_operations_begin_one_callback_at_a_time() {
    let serial = |name, operation: fn(&Script) -> Promise<()>| Script::is_serial(name, [0, 1], operation);
    serial("iter", |s| list::iter_s([0, 1], s.waits(|| ())));
    serial("iteri", |s| {
        let mut f = s.waits(|| ());
        list::iteri_s([0, 1], move |_, n| f(n))
    });
    serial("map", |s| list::map_s([0, 1], s.waits(|| 0)).map(drop));
    serial("mapi", |s| {
        let mut f = s.waits(|| 0);
        list::mapi_s([0, 1], move |_, n| f(n)).map(drop)
    });
    serial("rev_map", |s| list::rev_map_s([0, 1], s.waits(|| 0)).map(drop));
    serial("fold_left", |s| {
        let mut f = s.waits(|| 0);
        list::fold_left_s([0, 1], 0, move |_, n| f(n)).map(drop)
    });
    serial("for_all", |s| list::for_all_s([0, 1], s.waits(|| true)).map(drop));
    serial("exists", |s| list::exists_s([0, 1], s.waits(|| false)).map(drop));
    serial("find", |s| {
        let found = list::find_s([0, 1], by_reference(s.waits(|| false)));
        found.map(|found| assert_eq!(found, None))
    });
    serial("filter", |s| list::filter_s([0, 1], by_reference(s.waits(|| true))).map(drop));
    serial("filter_map", |s| list::filter_map_s([0, 1], s.waits(|| Some(0))).map(drop));
    serial("partition", |s| list::partition_s([0, 1], by_reference(s.waits(|| true))).map(drop));
}

/// LIST-22: the right fold begins with the last element.
#[test]
fn list_22_fold_right_is_serial_from_the_right() {
    Script::is_serial("fold_right", [1, 0], |s| {
        let mut f = s.waits(|| 0);
        list::fold_right_s([0, 1], 0, move |n, _| f(n)).map(drop)
    });
}

const MANY: usize = 1_000_000;

fn on_stack(size: usize) {
    let test = || {
        let many = || 0..MANY;
        let even = |n: &usize| ready(n.is_multiple_of(2));
        value(list::iter_s(many(), |_| ready(())));
        value(list::iter_p(many(), |_| ready(())));
        value(list::iteri_s(many(), |_, _| ready(())));
        value(list::iteri_p(many(), |_, _| ready(())));
        assert_eq!(value(list::map_s(many(), ready)).len(), MANY);
        assert_eq!(value(list::map_p(many(), ready)).len(), MANY);
        assert_eq!(value(list::mapi_s(many(), |i, _| ready(i))).len(), MANY);
        assert_eq!(value(list::mapi_p(many(), |i, _| ready(i))).len(), MANY);
        assert_eq!(value(list::rev_map_s(many(), ready))[0], MANY - 1);
        assert_eq!(value(list::rev_map_p(many(), ready))[0], MANY - 1);
        assert_eq!(value(list::fold_left_s(many(), 0, |count, _| ready(count + 1))), MANY);
        assert_eq!(value(list::fold_right_s(many(), 0, |_, count| ready(count + 1))), MANY);
        assert!(value(list::for_all_s(many(), |n| ready(n < MANY))));
        assert!(value(list::for_all_p(many(), |n| ready(n < MANY))));
        assert!(!value(list::exists_s(many(), |n| ready(n == MANY))));
        assert!(!value(list::exists_p(many(), |n| ready(n == MANY))));
        assert_eq!(value(list::find_s(many(), |&n| ready(n == MANY))), None);
        assert_eq!(value(list::filter_s(many(), even)).len(), MANY / 2);
        assert_eq!(value(list::filter_p(many(), even)).len(), MANY / 2);
        assert_eq!(value(list::filter_map_s(many(), |n| ready(Some(n)))).len(), MANY);
        assert_eq!(value(list::filter_map_p(many(), |n| ready(Some(n)))).len(), MANY);
        assert_eq!(value(list::partition_s(many(), even)).1.len(), MANY / 2);
        assert_eq!(value(list::partition_p(many(), even)).1.len(), MANY / 2);
    };
    let thread = std::thread::Builder::new().stack_size(size).spawn(test).expect("a thread");
    thread.join().expect("no overflow");
}

/// LIST-23: a million settled elements need no more stack than one, in each operation.
#[test]
fn list_23_a_million_elements_on_the_stack_of_a_worker() {
    on_stack(2 << 20);
}

/// X-LIST-01: a failing callback does not keep the others from beginning, in order; the result waits for all,
/// and has the first error in time, wherever it stands. (In Lwt the last element is looked at first.)
#[test]
fn x_list_01_parallel_operations_wait_for_all_and_keep_the_first_error_in_time() {
    let begun: Rc<RefCell<Vec<u32>>> = Rc::default();
    let log = begun.clone();
    let values = list::map_p(0..4, move |n| {
        log.borrow_mut().push(n);
        if n == 1 { rejected::<u32>(failure()) } else { ready(n) }
    });
    assert_eq!(error(values).to_string(), "E");
    assert_eq!(begun.take(), [0, 1, 2, 3]);
    for first in 0..2 {
        let (promises, mut resolvers): (Vec<_>, Vec<_>) = (0..2).map(|_| pair::<u32>()).unzip();
        let mut promises = promises.into_iter();
        let values = list::map_p(0..2, |_| promises.next().expect("two"));
        let (early, late) = (resolvers.remove(first), resolvers.remove(0));
        early.reject(Error::message("early"));
        assert!(values.is_pending(), "the other one is waited for");
        late.reject(Error::message("late"));
        assert_eq!(error(values).to_string(), "early");
    }
}

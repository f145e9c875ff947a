//! `join`, `all`, `both`: they wait for all, also after a failure, and keep the first error.

mod rig;

use lisle_core::{Promise, all, both, join, pair, ready, rejected};
use rig::*;
use std::cell::RefCell;
use std::rc::Rc;

#[test]
fn values_come_in_order_of_the_inputs() {
    let ((a, resolve_a), (c, resolve_c)) = (pair(), pair());
    let values = all([a, ready(2), c]);
    resolve_c.resolve(3);
    assert!(values.is_pending());
    resolve_a.resolve(1);
    assert_eq!(value(values), [1, 2, 3]);
    assert_eq!(value(all([ready(1), ready(2)])), [1, 2]);
    assert_eq!(value(all(Vec::<Promise<u32>>::new())), []);
    value(join(Vec::<Promise<u32>>::new()));
}

#[test]
fn a_failure_waits_for_the_rest_and_the_first_in_time_wins() {
    let ((a, resolve_a), (b, resolve_b), (c, resolve_c)) = (pair(), pair(), pair::<u32>());
    let joined = join([a, b, c]);
    resolve_b.reject(fail("first"));
    assert!(joined.is_pending());
    resolve_a.reject(fail("second"));
    assert!(joined.is_pending());
    resolve_c.resolve(1);
    assert_eq!(error(joined).to_string(), "first");
    let (late, resolver) = pair::<u32>();
    let joined = all([late, rejected(fail("at the call")), rejected(fail("too"))]);
    assert!(joined.is_pending());
    resolver.reject(fail("late"));
    assert_eq!(error(joined).to_string(), "at the call");
}

#[test]
fn both_takes_two_types_and_either_order() {
    for first_goes_first in [true, false] {
        let ((a, resolve_a), (b, resolve_b)) = (pair(), pair());
        let both = both(a, b);
        if first_goes_first {
            resolve_a.resolve(1);
            resolve_b.resolve("b");
        } else {
            resolve_b.resolve("b");
            assert!(both.is_pending());
            resolve_a.resolve(1);
        }
        assert_eq!(value(both), (1, "b"));
    }
    let ((a, resolve_a), (b, resolve_b)) = (pair::<u32>(), pair::<u32>());
    let failed = both(a, b);
    resolve_b.reject(fail("first"));
    resolve_a.reject(fail("second"));
    assert_eq!(error(failed).to_string(), "first");
    let now = both(rejected::<u32>(fail("first")), rejected::<u32>(fail("second")));
    assert_eq!(error(now).to_string(), "first");
}

#[test]
fn the_work_of_all_inputs_has_begun() {
    let trace = Trace::new();
    let work = |line: &'static str| {
        trace.add(line);
        let (promise, resolver) = pair::<u32>();
        (promise, resolver)
    };
    let ((a, resolve_a), (b, resolve_b)) = (work("a"), work("b"));
    let both = both(a, b);
    assert_eq!(trace.take(), "a b");
    drop((resolve_a, resolve_b));
    assert!(error(both).is_abandoned());
}

#[test]
fn a_value_that_is_not_wanted_may_do_anything_when_dropped() {
    // `join` drops each value: this one settles the next input, at once.
    let (a, resolve_a) = pair();
    let (b, resolve_b) = pair();
    let joined = join([a, b]);
    let mut resolve_b = Some(resolve_b);
    type Value = Option<OnDrop<Box<dyn FnOnce()>>>;
    let chain: Value = Some(OnDrop::new(Box::new(move || {
        if let Some(resolver) = resolve_b.take() {
            resolver.resolve_now(None);
        }
    })));
    resolve_a.resolve(chain);
    value(joined);

    // After a failure `both` drops the value that it had: this one cancels the result while that is about to
    // settle.
    let ((a, resolve_a), (b, resolve_b)) = (pair(), pair::<u32>());
    let slot: Rc<RefCell<Option<Promise<()>>>> = Rc::default();
    let inside = slot.clone();
    let result = both(a, b).map(|_| ());
    resolve_a.resolve(OnDrop::new(move || {
        let result = inside.take().expect("filled below");
        result.cancel();
        assert!(result.is_pending());
        *inside.borrow_mut() = Some(result);
    }));
    *slot.borrow_mut() = Some(result);
    resolve_b.reject(fail("b"));
    let result = slot.take().expect("put back");
    assert_eq!(error(result).to_string(), "b");
}

#[test]
fn a_value_with_a_panicking_destructor_stops_nobody() {
    let seen = failures();
    let ((a, resolve_a), (b, resolve_b)) = (pair::<Option<Bomb>>(), pair());
    let joined = join([a, b]);
    resolve_a.resolve(Some(Bomb));
    resolve_b.resolve(None);
    assert_eq!(seen.borrow().len(), 1);
    value(joined);
}

#[test]
fn inputs_settled_within_one_resolution_are_all_seen() {
    let (gate, open) = pair::<()>();
    let ((a, resolve_a), (b, resolve_b)) = (pair(), pair());
    let values = all([a, b]);
    gate.on_success(move |()| {
        resolve_b.resolve(2);
        resolve_a.resolve(1);
    });
    open.resolve(());
    assert_eq!(value(values), [1, 2]);
}

#[test]
fn the_same_shared_promise_counts_for_each_input() {
    let (a, resolve) = pair();
    let a = a.shared();
    let values = all([a.promise(), a.promise(), a.promise()]);
    resolve.resolve(1);
    assert_eq!(value(values), [1, 1, 1]);
}

#[test]
fn inputs_may_settle_each_other_while_they_are_made() {
    let mut before: Option<lisle_core::Resolver<u32>> = None;
    let mut chain = |count: u32, rejects: bool| {
        let inputs = (0..count).map(|n| {
            match before.take() {
                Some(earlier) if rejects => earlier.reject(fail("by the next")),
                Some(earlier) => earlier.resolve(n),
                None => {}
            }
            let (promise, resolver) = pair();
            before = Some(resolver);
            promise
        });
        let values = all(inputs);
        assert!(values.is_pending());
        before.take().expect("the last one").resolve(9);
        done(values)
    };
    assert_eq!(chain(4, false).unwrap(), [1, 2, 3, 9]);
    assert_eq!(chain(2, true).unwrap_err().to_string(), "by the next");
}

#[test]
fn a_clone_may_settle_another_input() {
    struct Settles(Rc<RefCell<Option<lisle_core::Resolver<Settles>>>>);
    impl Clone for Settles {
        fn clone(&self) -> Settles {
            let other = self.0.borrow_mut().take();
            if let Some(other) = other {
                other.resolve(Settles(Rc::default()));
            }
            Settles(self.0.clone())
        }
    }
    for pairwise in [false, true] {
        let (first, resolve_first) = pair();
        let second = ready(Settles(Rc::new(RefCell::new(Some(resolve_first))))).shared();
        if pairwise {
            value(both(first, second.promise()));
        } else {
            value(join([first, second.promise()]));
        }
    }
}

//! `bind` and `map`. The twins of `bind` that carry a place of the source are the same function here.

use crate::rig::{Log, fail, raise, result, state};
use lisle_core::{Promise, Shared, pair, ready, rejected};
use std::cell::RefCell;
use std::rc::Rc;

/// Promises its argument with an end.
fn ends_with(end: &'static str) -> impl FnOnce(&'static str) -> Promise<String> {
    move |text| ready(text.to_owned() + end)
}

fn unreachable_callback(_: &'static str) -> Promise<String> {
    panic!("it must not run")
}

/// BIND-01: on a fulfilled promise the callback runs during the call, and the result is there when it returns.
#[test]
fn bind_01_on_a_fulfilled_promise() {
    let log = Log::default();
    let says = log.clone();
    let promise = ready("foo").bind(move |text| {
        says.add("ran");
        ready(text.to_owned() + "bar")
    });
    log.add("returned");
    assert_eq!((log.take().as_str(), result(promise).as_str()), ("ran returned", r#"Ok("foobar")"#));
}

/// BIND-02: an error of the callback is the rejection of the result, whether the input was settled or not.
#[test]
fn bind_02_an_error_on_a_fulfilled_promise() {
    assert_eq!(result(ready("foo").bind(|_| raise::<u32>("E"))), "Err(E)");
    assert_eq!(result(ready("foo").bind(|_| rejected::<u32>(fail("E")))), "Err(E)");
}

/// BIND-03: on a rejected promise the callback does not run.
#[test]
fn bind_03_on_a_rejected_promise() {
    assert_eq!(result(rejected(fail("E")).bind(unreachable_callback)), "Err(E)");
}

/// BIND-04: on a pending promise the result is pending and the callback has not run.
#[test]
fn bind_04_on_a_pending_promise() {
    let (promise, _resolver) = pair();
    assert!(promise.bind(unreachable_callback).is_pending());
}

/// BIND-05: the result is there when the resolving call returns.
#[test]
fn bind_05_fulfilled_later() {
    let (promise, resolver) = pair();
    let bound = promise.bind(ends_with("bar"));
    resolver.resolve("foo");
    assert_eq!(result(bound), r#"Ok("foobar")"#);
}

/// BIND-06: an error of the callback rejects the result and does not come back to who resolved.
#[test]
fn bind_06_an_error_later() {
    let (promise, resolver) = pair::<()>();
    let bound = promise.bind(|()| raise::<u32>("E"));
    let () = resolver.resolve(());
    assert_eq!(result(bound), "Err(E)");
}

/// BIND-07: a rejection passes by the callback.
#[test]
fn bind_07_rejected_later() {
    let (promise, resolver) = pair();
    let bound = promise.bind(unreachable_callback);
    resolver.reject(fail("E"));
    assert_eq!(result(bound), "Err(E)");
}

/// BIND-08: a chain of two binds is settled to its end when the resolving call returns.
#[test]
fn bind_08_a_chain() {
    let (promise, resolver) = pair();
    let bound = promise.bind(ends_with("bar")).bind(|text| ready(text + "!!1"));
    resolver.resolve("foo");
    assert_eq!(result(bound), r#"Ok("foobar!!1")"#);
}

/// BIND-09: a callback may return the result of an older bind, whose own callback runs after it.
#[test]
fn bind_09_a_chain_that_is_resolved_backward() {
    let log = Log::default();
    let (p1, resolver) = pair::<()>();
    let p1 = p1.shared();
    let (older, newer) = (log.clone(), log.clone());
    let p3 = p1.bind(move |()| {
        older.add("p3");
        ready("foo")
    });
    let p4 = p1.bind(move |()| {
        newer.add("p4");
        assert!(p3.is_pending());
        p3
    });
    resolver.resolve(());
    assert_eq!((log.take().as_str(), result(p4).as_str()), ("p4 p3", r#"Ok("foo")"#));
}

/// BIND-10: several binds on one shared promise each get the value.
#[test]
fn bind_10_several_on_one_promise() {
    let (promise, resolver) = pair();
    let promise = promise.shared();
    let bound = ["bar", "!!1", "omg"].map(|end| promise.bind(ends_with(end)));
    resolver.resolve("foo");
    assert_eq!(bound.map(result), [r#"Ok("foobar")"#, r#"Ok("foo!!1")"#, r#"Ok("fooomg")"#]);
}

/// BIND-11: the result waits for the promise that the callback returned.
#[test]
fn bind_11_the_callback_returns_a_pending_promise() {
    let ((p1, resolve_1), (p2, resolve_2)) = (pair::<()>(), pair());
    let bound = p1.bind(move |()| p2).shared();
    resolve_1.resolve(());
    assert_eq!(state(&bound), "pending");
    resolve_2.resolve("bar");
    assert_eq!(state(&bound), r#"Ok("bar")"#);
}

/// BIND-12: a callback may return the very promise that it was bound to.
#[test]
fn bind_12_the_callback_returns_its_input() {
    let (promise, resolver) = pair();
    let promise = promise.shared();
    let again = promise.clone();
    let bound = promise.bind(move |_| again);
    resolver.resolve("foo");
    assert_eq!(result(bound), r#"Ok("foo")"#);
}

/// BIND-13: a bind inside the callback of a bind.
#[test]
fn bind_13_nested() {
    let ((p1, resolve_1), (p2, resolve_2)) = (pair::<&str>(), pair::<&str>());
    let bound = p1.bind(move |first| p2.bind(move |second| ready(first.to_owned() + second)));
    resolve_1.resolve("foo");
    assert!(bound.is_pending());
    resolve_2.resolve("bar");
    assert_eq!(result(bound), r#"Ok("foobar")"#);
}

/// BIND-14: promises that were returned one by the other's callback read the same, all of them.
#[test]
fn bind_14_a_chain_of_merged_promises() {
    let ((p1, resolve_1), (p2, resolve_2), (p3, resolve_3)) = (pair::<()>(), pair::<()>(), pair());
    let p3 = p3.shared();
    let inner = p3.clone();
    let p4 = p1.bind(move |()| inner).shared();
    let middle = p4.clone();
    let p5 = p2.bind(move |()| middle).shared();
    resolve_1.resolve(());
    resolve_2.resolve(());
    assert_eq!([&p3, &p4, &p5].map(state), ["pending"; 3]);
    resolve_3.resolve("bar");
    assert_eq!([&p3, &p4, &p5].map(state), [r#"Ok("bar")"#; 3]);
}

/// BIND-15: a promise that waits for itself stays pending, and harms nobody.
#[test]
fn bind_15_a_cycle() {
    let (promise, resolver) = pair::<()>();
    let own: Rc<RefCell<Option<Shared<u32>>>> = Rc::default();
    let inside = own.clone();
    let cycle = promise.bind(move |()| inside.take().expect("filled below")).shared();
    *own.borrow_mut() = Some(cycle.clone());
    resolver.resolve(());
    assert_eq!(state(&cycle), "pending");
    let follower = cycle.map(|n| n + 1);
    assert!(follower.is_pending());
}

/// BIND-16: a promise may be merged into another while its own callback runs; what that returns settles both.
#[test]
fn bind_16_merged_during_its_callback() {
    let ((p1, resolve_1), (p2, resolve_2)) = (pair::<()>(), pair::<()>());
    let p3 = p1.bind(move |()| {
        resolve_2.resolve_now(());
        ready(true)
    });
    let p3 = p3.shared();
    let returned = p3.clone();
    let p4 = p2.bind(move |()| returned);
    resolve_1.resolve_now(());
    assert_eq!((result(p4).as_str(), state(&p3).as_str()), ("Ok(true)", "Ok(true)"));
}

/// MAP-01: on a fulfilled promise the result is there when the call returns.
#[test]
fn map_01_on_a_fulfilled_promise() {
    assert_eq!(result(ready("foo").map(|text| text.to_owned() + "bar")), r#"Ok("foobar")"#);
}

/// MAP-02: an error of the function is the rejection of the result.
#[test]
fn map_02_an_error_on_a_fulfilled_promise() {
    assert_eq!(result(ready("foo").try_map(|_| raise::<u32>("E"))), "Err(E)");
}

/// MAP-03: on a rejected promise the result is rejected with the same error.
#[test]
fn map_03_on_a_rejected_promise() {
    let never = |_: u32| -> u32 { panic!("it must not run") };
    assert_eq!(result(rejected(fail("E")).map(never)), "Err(E)");
}

/// MAP-04: on a pending promise the result is pending and the function has not run.
#[test]
fn map_04_on_a_pending_promise() {
    let (promise, _resolver) = pair::<u32>();
    let mapped = promise.map(|_| -> u32 { panic!("it must not run") });
    assert!(mapped.is_pending());
}

/// MAP-05: the result is there when the resolving call returns.
#[test]
fn map_05_fulfilled_later() {
    let (promise, resolver) = pair::<&str>();
    let mapped = promise.map(|text| text.to_owned() + "bar");
    resolver.resolve("foo");
    assert_eq!(result(mapped), r#"Ok("foobar")"#);
}

/// MAP-06: an error of the function rejects the result.
#[test]
fn map_06_an_error_later() {
    let (promise, resolver) = pair::<()>();
    let mapped = promise.try_map(|()| raise::<u32>("E"));
    resolver.resolve(());
    assert_eq!(result(mapped), "Err(E)");
}

/// MAP-07: a rejection passes by the function.
#[test]
fn map_07_rejected_later() {
    let (promise, resolver) = pair::<u32>();
    let mapped = promise.map(|_| -> u32 { panic!("it must not run") });
    resolver.reject(fail("E"));
    assert_eq!(result(mapped), "Err(E)");
}

/// MAP-08: a mapped promise may be merged into another while its function runs.
#[test]
fn map_08_merged_during_its_function() {
    let ((p1, resolve_1), (p2, resolve_2)) = (pair::<()>(), pair::<()>());
    let p3 = p1.map(move |()| {
        resolve_2.resolve_now(());
        true
    });
    let p4 = p2.bind(move |()| p3);
    resolve_1.resolve_now(());
    assert_eq!(result(p4), "Ok(true)");
}

//! What is syntax in OCaml: operators, let-bindings, lifting of plain functions. Here they are methods, `async` blocks
//! and closures; and the queue of waiters that Lwt shows for its own modules.

use crate::rig::{Log, fail, raise, result, run};
use lisle_core::sched::pause::{paused_count, wake_paused};
use lisle_core::{Error, Promise, Result, both, choose, join, pair, pause, ready, rejected, try_spawn};

/// INFIX-01: bind, called on the promise or with the promise last.
#[test]
fn infix_01_bind() {
    let bar = |text: &'static str| ready(text.to_owned() + "bar");
    let flipped = |f: fn(&'static str) -> Promise<String>, promise: Promise<&'static str>| promise.bind(f);
    let ((p1, resolve_1), (p2, resolve_2)) = (pair(), pair());
    let bound = [p1.bind(bar), flipped(bar, p2)];
    resolve_1.resolve("foo");
    resolve_2.resolve("foo");
    assert_eq!(bound.map(result), [r#"Ok("foobar")"#; 2]);
}

/// INFIX-02: map, called on the promise or with the promise last.
#[test]
fn infix_02_map() {
    let bar = |text: &'static str| text.to_owned() + "bar";
    let flipped = |f: fn(&'static str) -> String, promise: Promise<&'static str>| promise.map(f);
    let ((p1, resolve_1), (p2, resolve_2)) = (pair(), pair());
    let mapped = [p1.map(bar), flipped(bar, p2)];
    resolve_1.resolve("foo");
    resolve_2.resolve("foo");
    assert_eq!(mapped.map(result), [r#"Ok("foobar")"#; 2]);
}

/// INFIX-03: the join of two.
#[test]
fn infix_03_join() {
    let (promise, resolver) = pair();
    let joined = join([promise, ready(())]);
    assert!(joined.is_pending());
    resolver.resolve(());
    assert_eq!(result(joined), "Ok(())");
}

/// INFIX-04: the first of two.
#[test]
fn infix_04_choose() {
    let ((p1, resolve_1), (p2, resolve_2)) = (pair(), pair());
    let chosen = choose([p1, p2]);
    resolve_2.resolve("second");
    resolve_1.resolve("first");
    assert_eq!(result(chosen), r#"Ok("second")"#);
}

/// LETSYN-01: two waits one after the other are two awaits in an `async` block, or nested binds.
#[test]
fn letsyn_01_one_after_the_other() {
    let ((p1, resolve_1), (p2, resolve_2)) = (pair::<&str>(), pair::<&str>());
    let (p1, p2) = (p1.shared(), p2.shared());
    let (first, second) = (p1.clone(), p2.clone());
    let awaited = try_spawn(async move { Ok::<_, Error>(first.await?.to_owned() + second.await?) });
    let bound = p1.bind(move |first| p2.map(move |second| first.to_owned() + second));
    resolve_1.resolve("foo");
    run();
    assert!(awaited.is_pending() && bound.is_pending());
    resolve_2.resolve("bar");
    run();
    assert_eq!([awaited, bound].map(result), [r#"Ok("foobar")"#; 2]);
}

/// LETSYN-02: two waits at once, whichever comes first.
#[test]
fn letsyn_02_both_at_once() {
    let ((p1, resolve_1), (p2, resolve_2)) = (pair::<&str>(), pair::<&str>());
    let (p1, p2) = (p1.shared(), p2.shared());
    let mapped = both(p1.promise(), p2.promise()).map(|(first, second)| first.to_owned() + second);
    let bound = both(p1.promise(), p2.promise()).bind(|(first, second)| ready(first.to_owned() + second));
    resolve_2.resolve("bar");
    assert!(mapped.is_pending() && bound.is_pending());
    resolve_1.resolve("foo");
    assert_eq!([mapped, bound].map(result), [r#"Ok("foobar")"#; 2]);
}

/// ADDTASK-01: waiters stand in a queue, pending and in order; a cancelled one is rejected and leaves, and it alone.
/// The queue that can be seen is that of the pauses.
#[test]
fn addtask_01_a_cancelled_waiter_leaves_its_queue() {
    let log = Log::default();
    let (first, second) = (pause(), pause());
    assert!(first.is_pending() && second.is_pending());
    assert_eq!(paused_count(), 2);
    first.cancel();
    assert_eq!((result(first).as_str(), paused_count()), ("Err(Canceled)", 1));
    assert!(second.is_pending());
    second.on_success(log.adds("second"));
    pause().on_success(log.adds("third"));
    wake_paused();
    assert_eq!((log.take().as_str(), paused_count()), ("second third", 0));
}

/// LIFT-01: a function that makes a promise, applied; if it raises, the promise is rejected.
#[test]
fn lift_01_apply() {
    let (promise, resolver) = pair();
    let applied = ready(()).bind(|()| promise);
    resolver.resolve("foo");
    assert_eq!(result(applied), r#"Ok("foo")"#);
    assert_eq!(result(ready(()).bind(|()| raise::<u32>("E"))), "Err(E)");
    assert_eq!(result(ready(()).bind(|()| rejected::<u32>(fail("E")))), "Err(E)");
}

/// LIFT-02: a plain function's result becomes a promise.
#[test]
fn lift_02_wrap() {
    let wrap = |f: fn() -> Result<&'static str>| Promise::from(f());
    assert_eq!(result(wrap(|| Ok("foo"))), r#"Ok("foo")"#);
    assert_eq!(result(wrap(|| raise("E"))), "Err(E)");
}

/// LIFT-03: a closure captures its arguments, so one form of lifting serves any number of them.
#[test]
fn lift_03_any_number_of_arguments() {
    for last in 1..=7_u32 {
        let arguments: Vec<u32> = (1..=last).collect();
        let sum: u32 = last * (last + 1) / 2;
        assert_eq!(result(ready(arguments).map(|all| all.iter().sum::<u32>())), format!("Ok({sum})"));
        assert_eq!(result(ready(last).try_map(|_| raise::<u32>("E"))), "Err(E)");
    }
}

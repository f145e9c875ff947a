//! Promises that are settled from the start, pairs of promise and resolver, and why there is no second resolution.

use crate::rig::{allocations, fail, hook_log, raise, result, state};
use lisle_core::{Error, Promise, Resolver, Result, cancelable, pair, ready, rejected, settled};
use std::io;

type Pair<T> = (Promise<T>, Resolver<T>);

/// Both kinds of pair.
fn pairs<T: 'static>() -> [Pair<T>; 2] {
    [pair(), cancelable()]
}

/// TRIV-01: a promise made from a value is fulfilled at once, without a loop.
#[test]
fn triv_01_a_value() {
    let promise = ready("v");
    assert!(!promise.is_pending());
    assert_eq!(result(promise), r#"Ok("v")"#);
}

/// TRIV-02: a promise made from an error is rejected at once, and the hook is not told.
#[test]
fn triv_02_an_error() {
    let hook = hook_log();
    let promise = rejected::<u32>(fail("E"));
    assert!(!promise.is_pending());
    assert_eq!((hook.take().as_str(), result(promise).as_str()), ("", "Err(E)"));
    assert_eq!(hook.take(), "");
}

/// TRIV-03: a result becomes the promise of the same outcome.
#[test]
fn triv_03_a_result() {
    assert_eq!(result(settled(Ok("foo"))), r#"Ok("foo")"#);
    assert_eq!(result(settled(raise::<u32>("E"))), "Err(E)");
    assert_eq!(result(Promise::from(Ok("foo"))), r#"Ok("foo")"#);
    assert_eq!(result(Promise::from(raise::<u32>("E"))), "Err(E)");
}

/// TRIV-04: unit, true, false and none are made anew each time, at no cost; using one up leaves the next as it was.
#[test]
fn triv_04_the_constants() {
    let calls = allocations(|| drop((ready(()), ready(true), ready(false), ready(None::<u32>))));
    assert_eq!(calls, 0);
    for _ in 0..2 {
        assert_eq!(result(ready(())), "Ok(())");
        assert_eq!(result(ready(None::<u32>)), "Ok(None)");
        assert_eq!((result(ready(true)).as_str(), result(ready(false)).as_str()), ("Ok(true)", "Ok(false)"));
        assert_eq!(result(ready(true).map(|truth| !truth)), "Ok(false)");
    }
}

/// TRIV-05: some, ok and error are values with which a promise is fulfilled; the last is no rejection.
#[test]
fn triv_05_wrapped_values() {
    assert_eq!(result(ready(Some("foo"))), r#"Ok(Some("foo"))"#);
    assert_eq!(result(ready(Ok::<_, u32>("foo"))), r#"Ok(Ok("foo"))"#);
    assert_eq!(result(ready(Err::<u32, _>("foo"))), r#"Ok(Err("foo"))"#);
}

/// TRIV-06: a plain failure and an invalid argument both carry their text and can be told apart.
#[test]
fn triv_06_two_kinds_of_failure() {
    let error_of = |promise: Promise<u32>| promise.try_take().expect("rejected").expect_err("rejected");
    let failure = error_of(rejected(Error::message("foo")));
    let invalid = error_of(rejected(io::Error::new(io::ErrorKind::InvalidInput, "foo")));
    assert_eq!((failure.to_string().as_str(), invalid.to_string().as_str()), ("foo", "foo"));
    assert_eq!(invalid.io_kind(), io::ErrorKind::InvalidInput);
    assert_eq!(failure.io_kind(), io::ErrorKind::Other);
    assert!(invalid.downcast_ref::<io::Error>().is_some() && failure.downcast_ref::<io::Error>().is_none());
}

/// INIT-01: a fresh promise of either kind is pending, and stays so while its resolver is there. Here Lisle differs
/// from Lwt on purpose: when the resolver is dropped, nobody could ever settle the promise, and it says so.
#[test]
fn init_01_a_fresh_promise_is_pending() {
    for (promise, resolver) in pairs::<u32>() {
        let promise = promise.shared();
        assert_eq!((state(&promise).as_str(), resolver.is_pending()), ("pending", true));
        drop(resolver);
        assert_eq!(state(&promise), "Err(Abandoned)");
    }
}

/// INIT-02: fulfilling at once shows when the call returns.
#[test]
fn init_02_fulfilled_by_its_resolver() {
    for (promise, resolver) in pairs() {
        resolver.resolve_now("foo");
        assert_eq!(result(promise), r#"Ok("foo")"#);
    }
}

/// INIT-03: rejecting at once shows when the call returns.
#[test]
fn init_03_rejected_by_its_resolver() {
    for (promise, resolver) in pairs::<u32>() {
        resolver.reject_now(fail("E"));
        assert_eq!(result(promise), "Err(E)");
    }
}

/// INIT-04: a pair is settled from a result.
#[test]
fn init_04_settled_by_its_resolver() {
    for (promise, resolver) in pairs() {
        resolver.settle_now(Ok("foo"));
        assert_eq!(result(promise), r#"Ok("foo")"#);
    }
}

/// Has a method for what can be cloned; the trait below has one of the same name for all else. The method of the
/// value itself goes first.
struct Copies<T>(std::marker::PhantomData<T>);

impl<T: Clone> Copies<T> {
    fn can_be_cloned(&self) -> bool {
        true
    }
}

trait Otherwise {
    fn can_be_cloned(&self) -> bool {
        false
    }
}

impl<T> Otherwise for Copies<T> {}

/// Whether a resolver could be had twice: only by a clone, since all its operations take it by value.
fn resolver_can_be_cloned() -> bool {
    assert!(Copies::<u32>(std::marker::PhantomData).can_be_cloned(), "the probe says yes where it should");
    Copies::<Resolver<u32>>(std::marker::PhantomData).can_be_cloned()
}

/// DBL-01: fulfilling consumes the resolver, of which there is one, so a second time does not compile.
#[test]
fn dbl_01_nobody_fulfils_twice() {
    let fulfil: [fn(Resolver<u32>, u32); 2] = [Resolver::resolve, Resolver::resolve_now];
    for (promise, resolver) in pairs() {
        fulfil[1](resolver, 1);
        assert_eq!(result(promise), "Ok(1)");
    }
    assert!(!resolver_can_be_cloned());
}

/// DBL-02: rejecting consumes the resolver too.
#[test]
fn dbl_02_nobody_rejects_twice() {
    let reject: [fn(Resolver<u32>, Error); 2] = [Resolver::reject, Resolver::reject_now];
    for (promise, resolver) in pairs() {
        reject[1](resolver, fail("E"));
        assert_eq!(result(promise), "Err(E)");
    }
    assert!(!resolver_can_be_cloned());
}

/// DBL-03: settling from a result consumes the resolver too.
#[test]
fn dbl_03_nobody_settles_twice() {
    let settle: [fn(Resolver<u32>, Result<u32>); 2] = [Resolver::settle, Resolver::settle_now];
    for (promise, resolver) in pairs() {
        settle[1](resolver, raise("E"));
        assert_eq!(result(promise), "Err(E)");
    }
    assert!(!resolver_can_be_cloned());
}

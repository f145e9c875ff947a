//! States, the two flavours of resolution, and the order in which callbacks run.
//!
//! The altered Lwts that only these rows catch: ordinary callbacks oldest first (X-ORDER-01, 03, 04), cancel callbacks
//! oldest first (X-ORDER-02), a bind that forwards instead of merging (X-ORDER-03, and `bounds.rs`), deferring
//! resolution always immediate (X-DEFER-01, 02), immediate resolution deferred (WAKEUP-01, X-DEFER-02), inner
//! propagation deferred (X-DEFER-03).

use crate::rig::{Log, fail, raise, result, state};
use lisle_core::{
    Promise, Resolver, Shared, Status, all, both, cancelable, choose, join, nchoose, npick, pair, pick,
};
use lisle_core::{ready, rejected};

fn shared_pair<T: Clone + 'static>() -> (Shared<T>, Resolver<T>) {
    let (promise, resolver) = pair();
    (promise.shared(), resolver)
}

/// STATE-01: a promise is pending until it is settled either way.
#[test]
fn state_01_pending_or_not() {
    let (promise, _resolver) = pair::<u32>();
    assert!(!ready(1).is_pending() && !rejected::<u32>(fail("E")).is_pending() && promise.is_pending());
    let statuses = [ready(1).status(), rejected::<u32>(fail("E")).status(), promise.status()];
    assert_eq!(statuses, [Status::Fulfilled, Status::Rejected, Status::Pending]);
}

/// STATE-02: a promise that was merged into another is pending as long as that is.
#[test]
fn state_02_of_a_merged_promise() {
    let ((p1, resolve_1), (p2, _resolver)) = (pair::<()>(), shared_pair::<u32>());
    let returned = p2.clone();
    let outer = p1.bind(move |()| returned);
    resolve_1.resolve(());
    assert!(p2.is_pending() && outer.is_pending());
    assert_eq!(state(&p2), "pending");
    assert!(p2.promise().try_take().is_err());
}

/// STATE-03: looking gives the value, the error, or neither, and raises nothing.
#[test]
fn state_03_looking_without_waiting() {
    let look = |promise: Promise<&'static str>| promise.try_take().ok().map(|result| format!("{result:?}"));
    assert_eq!(look(ready("foo")).as_deref(), Some(r#"Ok("foo")"#));
    assert_eq!(look(rejected(fail("E"))).as_deref(), Some("Err(E)"));
    let (promise, _resolver) = pair();
    assert_eq!(look(promise), None);
}

/// WAKEUP-01: resolving at once inside a callback runs the callbacks before the inner call returns.
#[test]
fn wakeup_01_immediate_inside_a_callback() {
    let log = Log::default();
    let ((p1, resolve_1), (p2, resolve_2)) = (pair::<()>(), shared_pair::<&str>());
    p2.on_success(log.shows());
    let (says, seen) = (log.clone(), p2.clone());
    p1.on_success(move |()| {
        resolve_2.resolve_now("foobar");
        says.add(format!("returned, {}", state(&seen)));
    });
    resolve_1.resolve_now(());
    assert_eq!(log.take(), r#"foobar returned, Ok("foobar")"#);
}

/// WLATER-01: resolving outside any callback defers nothing.
#[test]
fn wlater_01_deferring_at_the_top() {
    let (promise, resolver) = pair::<&str>();
    let bound = promise.bind(|text| ready(text.to_owned() + "bar"));
    resolver.resolve("foo");
    assert_eq!(result(bound), r#"Ok("foobar")"#);
}

/// WLATER-02: each of the three deferring operations consumes the resolver, so a second one does not compile; a promise
/// that was cancelled meanwhile ignores it and stays as it is.
#[test]
fn wlater_02_nobody_resolves_twice() {
    let operations: [fn(Resolver<u32>); 3] = [
        |resolver| Resolver::resolve(resolver, 1),
        |resolver| Resolver::reject(resolver, fail("E")),
        |resolver| Resolver::settle(resolver, Ok(1)),
    ];
    for (operation, expected) in operations.into_iter().zip(["Ok(1)", "Err(E)", "Ok(1)"]) {
        for (promise, resolver) in [pair(), cancelable()] {
            operation(resolver);
            assert_eq!(result(promise), expected);
        }
        let (promise, resolver) = cancelable();
        promise.cancel();
        assert!(!resolver.is_pending());
        operation(resolver);
        assert_eq!(result(promise), "Err(Canceled)");
    }
}

/// WLATER-03: resolving inside a callback shows in the state at once; the callbacks run when the outer resolution has
/// run its own.
#[test]
fn wlater_03_deferring_inside_a_callback() {
    let log = Log::default();
    let ((p1, resolve_1), (p2, resolve_2)) = (pair::<()>(), shared_pair::<&str>());
    p2.on_success(log.shows());
    let (says, seen) = (log.clone(), p2.clone());
    p1.on_success(move |()| {
        resolve_2.resolve("foobar");
        says.add(format!("inside, {}", state(&seen)));
    });
    resolve_1.resolve(());
    assert_eq!(log.take(), r#"inside, Ok("foobar") foobar"#);
}

/// WLATER-04: resolving and rejecting show when the call returns.
#[test]
fn wlater_04_the_state_after_deferring() {
    let (promise, resolver) = pair();
    resolver.resolve("foo");
    assert_eq!(result(promise), r#"Ok("foo")"#);
    let (promise, resolver) = pair::<u32>();
    resolver.reject(fail("E"));
    assert_eq!(result(promise), "Err(E)");
}

/// X-ORDER-01: the callbacks of one promise run newest first. Fails for an altered core that runs the oldest first.
#[test]
fn x_order_01_newest_first() {
    let log = Log::default();
    let (promise, resolver) = shared_pair::<()>();
    for line in ["a", "b", "c"] {
        promise.on_success(log.adds(line));
    }
    resolver.resolve(());
    assert_eq!(log.take(), "c b a");
    // Of all kinds, among each other.
    let (promise, resolver) = shared_pair::<()>();
    let mapped = promise.map(log.adds("map"));
    promise.on_termination(log.says("end"));
    let says = log.clone();
    let bound = promise.bind(move |()| {
        says.add("bind");
        ready(())
    });
    promise.on_any(log.adds("any"), |_| {});
    resolver.resolve(());
    assert_eq!(log.take(), "any bind end map");
    drop((mapped, bound));
}

/// X-ORDER-02: cancel callbacks run newest first, and before any other. Fails for one that runs those oldest first.
#[test]
fn x_order_02_cancel_callbacks_newest_first_then_the_others() {
    let log = Log::default();
    let (promise, _resolver) = cancelable::<()>();
    let promise = promise.shared();
    promise.on_cancel(log.says("a"));
    promise.on_cancel(log.says("b"));
    promise.on_failure(log.adds("f"));
    promise.on_cancel(log.says("c"));
    promise.cancel();
    assert_eq!(log.take(), "c b a f");
}

/// X-ORDER-03: merging puts the callbacks of the outer promise before those of the inner one, and what is added later
/// before both: one list. Fails for a bind that forwards instead of merging, and for one that merges the other way.
#[test]
fn x_order_03_merged_lists() {
    let log = Log::default();
    let ((gate, open), (inner, resolver)) = (pair::<()>(), shared_pair::<()>());
    let returned = inner.clone();
    let outer = gate.bind(move |()| returned).shared();
    inner.on_success(log.adds("i1"));
    inner.on_success(log.adds("i2"));
    outer.on_success(log.adds("o1"));
    outer.on_success(log.adds("o2"));
    open.resolve(());
    assert_eq!(log.take(), "");
    inner.on_success(log.adds("i3"));
    outer.on_success(log.adds("o3"));
    resolver.resolve(());
    assert_eq!(log.take(), "o3 i3 o2 o1 i2 i1");
}

/// X-ORDER-04: what a callback settles is propagated to its end before the next older callback. Fails if inner
/// propagation is deferred.
#[test]
fn x_order_04_depth_first() {
    let log = Log::default();
    let (promise, resolver) = shared_pair::<()>();
    promise.on_success(log.adds("older"));
    let mapped = promise.map(log.adds("map"));
    mapped.on_success(log.adds("of-map"));
    promise.on_success(log.adds("newer"));
    resolver.resolve(());
    assert_eq!(log.take(), "newer map of-map older");
}

/// X-DEFER-01: deferred callbacks run when the whole outer list has run, in the order of the resolutions; what they
/// defer goes to the end. Fails if the deferring resolutions are always immediate, or queued last in first out.
#[test]
fn x_defer_01_first_in_first_out() {
    let log = Log::default();
    let ((a, resolve_a), (b, resolve_b)) = (shared_pair::<()>(), shared_pair::<()>());
    let ((c, resolve_c), (d, resolve_d)) = (shared_pair::<()>(), shared_pair::<()>());
    d.on_success(log.adds("d"));
    c.on_success(log.adds("c"));
    let says = log.clone();
    b.on_success(move |()| {
        resolve_d.resolve(());
        says.add("b");
    });
    a.on_success(log.adds("a-older"));
    let (says, seen) = (log.clone(), [b, c]);
    a.on_success(move |()| {
        resolve_b.resolve(());
        resolve_c.resolve(());
        says.add(format!("inside,{},{}", state(&seen[0]), state(&seen[1])));
    });
    resolve_a.resolve(());
    assert_eq!(log.take(), "inside,Ok(()),Ok(()) a-older b c d");
}

/// X-DEFER-02: an immediate resolution after a deferred one goes first. Fails if either is made the other.
#[test]
fn x_defer_02_immediate_overtakes_deferred() {
    let log = Log::default();
    let (a, resolve_a) = pair::<()>();
    let ((b, resolve_b), (c, resolve_c)) = (shared_pair::<()>(), shared_pair::<()>());
    b.on_success(log.adds("b"));
    c.on_success(log.adds("c"));
    let says = log.clone();
    a.on_success(move |()| {
        resolve_b.resolve(());
        resolve_c.resolve_now(());
        says.add("inside");
    });
    resolve_a.resolve(());
    assert_eq!(log.take(), "c inside b");
}

/// Everything that can stand on a promise; each adds its name when the promise has come to its end.
fn dependents(promise: &Shared<u32>, log: &Log) -> Vec<&'static str> {
    let one = || promise.promise();
    let ((gate, open), (later, end)) = (pair::<()>(), pair::<u32>());
    let merged = gate.bind(move |()| later);
    open.resolve(());
    promise.on_success(move |n| end.resolve_now(n));
    let ends: Vec<(&'static str, Promise<()>)> = vec![
        ("bind", promise.bind(|_| ready(()))),
        ("map", promise.map(drop)),
        ("catch", promise.catch(Err).map(drop)),
        ("try-bind", promise.try_bind(|_| ready(()), Err::<(), _>)),
        ("finalize", promise.finalize(|| ready(())).map(drop)),
        ("merged", merged.map(drop)),
        ("join", join([one(), one()])),
        ("both", both(one(), one()).map(drop)),
        ("all", all([one(), one()]).map(drop)),
        ("choose", choose([one()]).map(drop)),
        ("pick", pick([one()]).map(drop)),
        ("nchoose", nchoose([one()]).map(drop)),
        ("npick", npick([one()]).map(drop)),
        ("protected", promise.protected().map(drop)),
        ("no-cancel", promise.no_cancel().map(drop)),
        ("wrapped", promise.wrap_in_cancelable().map(drop)),
    ];
    let names = ends.iter().map(|(name, _)| *name).collect();
    ends.into_iter().for_each(|(name, end)| end.on_success(log.adds(name)));
    names
}

/// X-DEFER-03: bind, join, choose and all the rest propagate at once, at any depth: only the deferring resolutions of
/// a resolver are ever queued, and only while a resolution is in progress. Fails if inner propagation is deferred.
#[test]
fn x_defer_03_propagation_is_immediate() {
    let log = Log::default();
    let ((a, resolve_a), (b, resolve_b)) = (pair::<()>(), shared_pair::<u32>());
    let mut names = dependents(&b, &log);
    names.sort_unstable();
    let says = log.clone();
    a.on_success(move |()| {
        resolve_b.resolve_now(1);
        says.add("|");
    });
    resolve_a.resolve(());
    let ran = log.take();
    let inside = ran.strip_suffix(" |").expect("all has run before the inner resolution returned");
    let mut inside: Vec<&str> = inside.split(' ').collect();
    inside.sort_unstable();
    assert_eq!(inside, names);
    // With no resolution in progress the deferring ones do not queue either.
    let operations: [fn(Resolver<u32>); 3] =
        [|r| r.resolve(1), |r| r.reject(fail("E")), |r| r.settle(raise("E"))];
    for operation in operations {
        let (promise, resolver) = shared_pair::<u32>();
        promise.on_termination(log.says("ended"));
        operation(resolver);
        assert_eq!(log.take(), "ended");
    }
}

/// X-DEFER-04: of two inputs resolved in one callback, `nchoose` has both values and `choose` that of the first
/// resolved, wherever it stands.
#[test]
fn x_defer_04_races_over_inputs_resolved_in_one_callback() {
    let (gate, open) = pair::<()>();
    let ((a, resolve_a), (b, resolve_b)) = (shared_pair::<&str>(), shared_pair::<&str>());
    let several = nchoose([a.promise(), b.promise()]);
    let first = choose([b.promise(), a.promise()]);
    gate.on_success(move |()| {
        resolve_a.resolve("a");
        resolve_b.resolve("b");
    });
    open.resolve(());
    assert_eq!((result(several).as_str(), result(first).as_str()), (r#"Ok(["a", "b"])"#, r#"Ok("a")"#));
}

/// X-REENTR-01: within a callback its promise is settled already: it can be looked at, cancelled to no effect, and
/// given callbacks, which run at once.
#[test]
fn x_reentr_01_a_callback_may_use_its_own_promise() {
    let log = Log::default();
    for outcome in [Ok(1), raise("E")] {
        let (promise, resolver) = cancelable::<u32>();
        let promise = promise.shared();
        promise.on_termination(log.says("older"));
        let (own, says) = (promise.clone(), log.clone());
        promise.on_termination(move || {
            says.add(state(&own));
            own.cancel();
            own.on_termination(says.says("added"));
            own.on_cancel(says.says("canceled"));
            let follower = own.then(|result| ready(result.is_ok()));
            says.add(format!("{},{}", state(&own), result(follower)));
        });
        resolver.settle(outcome.clone());
        let shown = format!("{outcome:?}");
        assert_eq!(log.take(), format!("{shown} added {shown},Ok({}) older", outcome.is_ok()));
    }
}

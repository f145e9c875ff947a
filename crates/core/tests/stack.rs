//! A million links need no more machine stack than one: resolving, cancelling and dropping are loops.

mod rig;

use lisle_core::sched::sleep::{advance, sleep_until};
use lisle_core::{Promise, Resolver, all, both, cancelable, choose, join, live_waiters, nchoose, pair, pick};
use lisle_core::{pause, ready, sched, spawn};
use rig::*;
use std::cell::Cell;
use std::rc::Rc;

const LINKS: usize = 1_000_000;

/// A chain over a promise, through each kind of node.
fn chain(mut promise: Promise<u64>, links: usize) -> Promise<u64> {
    for link in 0..links {
        promise = match link % 6 {
            0 => promise.map(|n| n + 1),
            1 => promise.bind(|n| ready(n + 1)),
            2 => promise.catch(|_| ready(0)).map(|n| n + 1),
            3 => promise.try_bind(|n| ready(n + 1), Err::<u64, _>),
            4 => promise.finalize(|| ready(())).map(|n| n + 1),
            _ => both(promise, ready(1)).map(|(n, one)| n + one),
        };
    }
    promise
}

fn wrapped(mut promise: Promise<u64>, links: usize) -> Promise<u64> {
    for link in 0..links {
        promise = match link % 3 {
            0 => promise.protected(),
            1 => promise.no_cancel(),
            _ => promise.wrap_in_cancelable(),
        };
    }
    promise
}

#[test]
fn a_chain_is_resolved() {
    with_small_stack(|| {
        let (promise, resolver) = pair();
        let end = chain(promise, LINKS);
        resolver.resolve(0);
        assert_eq!(value(end), LINKS as u64);
        let (promise, resolver) = pair();
        let end = wrapped(promise, LINKS);
        resolver.resolve_now(7);
        assert_eq!(value(end), 7);
    });
}

#[test]
fn a_chain_is_dropped_in_each_order() {
    with_small_stack(|| {
        for build in [chain, wrapped] {
            let (promise, resolver) = pair();
            let end = build(promise, LINKS);
            drop(resolver);
            drop(end);
            let (promise, resolver) = pair();
            let end = build(promise, LINKS);
            drop(end);
            drop(resolver);
            let (promise, resolver) = pair();
            let end = build(promise, LINKS);
            drop(end);
            resolver.resolve(1);
        }
        // A chain whose results are dropped one by one, from either end.
        for backward in [false, true] {
            let (promise, resolver) = pair::<u64>();
            let mut handles = vec![promise.shared()];
            for link in 0..LINKS {
                handles.push(handles[link].map(|n| n + 1).shared());
            }
            if backward {
                handles.reverse();
            }
            handles.into_iter().for_each(drop);
            drop(resolver);
        }
        assert_eq!(live_waiters(), 0);
    });
}

#[test]
fn a_chain_is_cancelled() {
    with_small_stack(|| {
        let (promise, _resolver) = cancelable::<u64>();
        let mut end = promise;
        for link in 0..LINKS {
            end = if link % 2 == 0 { end.map(|n| n) } else { end.bind(ready) };
        }
        end.cancel();
        assert!(error(end).is_canceled());
    });
}

#[test]
fn a_chain_of_wrappers_is_cancelled() {
    with_small_stack(|| {
        let (promise, resolver) = cancelable::<u64>();
        let mut end = promise;
        for _ in 0..LINKS {
            end = end.wrap_in_cancelable();
        }
        end.cancel();
        assert!(!resolver.is_pending());
        assert!(error(end).is_canceled());
    });
}

#[test]
fn nested_races_and_gathers_are_resolved_cancelled_and_dropped() {
    with_small_stack(|| {
        let nest = || -> (Promise<u64>, Resolver<u64>) {
            let (mut promise, resolver) = cancelable();
            for link in 0..LINKS {
                promise = match link % 4 {
                    0 => choose([promise]),
                    1 => pick([promise]),
                    2 => nchoose([promise]).map(|mut values| values.remove(0)),
                    _ => all([promise]).map(|mut values| values.remove(0)),
                };
            }
            (promise, resolver)
        };
        let (end, resolver) = nest();
        resolver.resolve(3);
        assert_eq!(value(end), 3);
        let (end, resolver) = nest();
        end.cancel();
        assert!(error(end).is_canceled());
        drop(resolver);
        let (end, resolver) = nest();
        drop(end);
        drop(resolver);
    });
}

/// `links` promises, each the result of a callback of the one before: resolved from the outside inward, or
/// the other way, so that they merge in a chain.
fn merges(links: usize, inward: bool) {
    let mut gates = Vec::new();
    let (mut promise, last) = pair::<u32>();
    for _ in 0..links {
        let (gate, open) = pair::<()>();
        let inner = promise;
        promise = gate.bind(move |()| inner);
        gates.push(open);
    }
    // The gates were made from the inside out.
    if inward {
        gates.reverse();
    }
    gates.into_iter().for_each(|open| open.resolve(()));
    assert!(promise.is_pending());
    last.resolve(5);
    assert_eq!(value(promise), 5);
}

#[test]
fn a_million_merges_are_followed_and_dropped() {
    with_small_stack(|| {
        merges(LINKS, true);
        merges(LINKS, false);
    });
}

#[test]
fn a_chain_of_merges_is_dropped_unresolved() {
    with_small_stack(|| {
        for inward in [true, false] {
            let (mut promise, last) = pair::<u32>();
            let mut gates = Vec::new();
            for _ in 0..LINKS {
                let (gate, open) = pair::<()>();
                let inner = promise;
                promise = gate.bind(move |()| inner);
                gates.push(open);
            }
            if inward {
                gates.reverse();
            }
            gates.into_iter().for_each(|open| open.resolve(()));
            drop(promise);
            drop(last);
        }
    });
}

#[test]
fn a_chain_of_aliases_held_by_handles_is_dropped() {
    with_small_stack(|| {
        let (promise, last) = pair::<u32>();
        let mut shared = promise.shared();
        let mut handles = Vec::new();
        for _ in 0..LINKS {
            let (gate, open) = pair::<()>();
            let inner = shared.clone();
            shared = gate.bind(move |()| inner).shared();
            open.resolve(());
            handles.push(shared.clone());
        }
        drop(handles);
        last.resolve(1);
        assert_eq!(value(shared.promise()), 1);
    });
}

#[test]
fn a_million_inputs() {
    with_small_stack(|| {
        let pairs = || -> (Vec<Promise<usize>>, Vec<Resolver<usize>>) { (0..LINKS).map(|_| pair()).unzip() };
        let (promises, resolvers) = pairs();
        let chosen = choose(promises);
        resolvers.into_iter().enumerate().rev().for_each(|(at, resolver)| resolver.resolve(at));
        assert_eq!(value(chosen), LINKS - 1);
        let (promises, resolvers) = pairs();
        let joined = join(promises);
        drop(resolvers);
        assert!(error(joined).is_abandoned());
        let (promises, resolvers) = pairs();
        let joined = all(promises);
        resolvers.into_iter().enumerate().for_each(|(at, resolver)| resolver.resolve(at));
        assert_eq!(value(joined)[LINKS - 1], LINKS - 1);
        let (promises, resolvers) = pairs();
        drop(pick(promises));
        drop(resolvers);
    });
}

#[test]
fn a_million_deferred_resolutions() {
    with_small_stack(|| {
        let ran = Rc::new(Cell::new(0));
        let (first, start) = pair();
        let mut next = start;
        let mut starts = Vec::new();
        starts.push(first);
        // Each resolution is made inside the callback of the one before.
        for _ in 0..LINKS {
            let (promise, resolver) = pair::<()>();
            let ran = ran.clone();
            promise.on_success(move |()| {
                ran.set(ran.get() + 1);
                next.resolve(());
            });
            next = resolver;
        }
        next.resolve(());
        assert_eq!(ran.get(), LINKS);
        value(starts.remove(0));
    });
}

#[test]
fn a_million_waiters_on_a_shared_promise() {
    with_small_stack(|| {
        let (promise, resolver) = pair::<u32>();
        let shared = promise.shared();
        let results: Vec<_> = (0..LINKS).map(|_| shared.map(|n| n)).collect();
        drop(results);
        drop(shared);
        drop(resolver);
        let (promise, resolver) = pair::<u32>();
        let shared = promise.shared();
        let handles: Vec<_> = (0..LINKS).map(|_| spawn(shared.promise())).collect();
        resolver.resolve(1);
        run();
        handles.into_iter().for_each(|handle| assert_eq!(value(handle).ok(), Some(1)));
        assert_eq!(live_waiters(), 0);
    });
}

#[test]
fn a_million_tasks_in_a_row_are_joined_and_cancelled() {
    with_small_stack(|| {
        for cancel in [false, true] {
            let mut task: Promise<lisle_core::Result<()>> = spawn(sleep_until(1));
            for _ in 0..LINKS / 10 {
                task = spawn(async move { task.await? });
            }
            if cancel {
                task.cancel();
            } else {
                advance(1);
            }
            run();
            assert_eq!(value(task).is_err(), cancel);
        }
        // Dropped with the runtime.
        let mut task: Promise<lisle_core::Result<()>> = spawn(pause());
        for _ in 0..LINKS / 10 {
            task = spawn(async move { task.await? });
        }
        drop(task);
        sched::reset();
    });
}

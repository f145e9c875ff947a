//! A million at once: storms of cancellation, gathers and races that are dropped, trees of races. All on a
//! small stack, and nothing is left afterwards.
//!
//! Beside `stack.rs`, which has the chains, and `memory.rs`, which counts bytes.

mod rig;

use lisle_core::sched::{pause::paused_count, pause::wake_paused, reset};
use lisle_core::{
    Promise, Resolver, all, both, cancelable, choose, join, live_waiters, nchoose, npick, pair, pause, pick,
    ready,
};
use rig::*;
use std::cell::Cell;
use std::rc::Rc;

const MANY: usize = 1_000_000;
const DEEP: usize = 100_000;

/// Many promises made one.
type Gather = fn(Vec<Promise<u64>>) -> Promise<u64>;

fn many(count: usize) -> (Vec<Promise<u64>>, Vec<Resolver<u64>>) {
    (0..count).map(|_| cancelable()).unzip()
}

/// Runs a test on a small stack; afterwards no waiter may be left, and no failure may have been reported, except that
/// what was dropped is told of as abandoned.
fn leaves_nothing(test: impl FnOnce() + Send + 'static) {
    with_small_stack(move || {
        let failures = failures();
        test();
        reset();
        assert_eq!(live_waiters(), 0, "waiters are left");
        let told: Vec<_> =
            failures.take().into_iter().filter(|(_, text)| !text.starts_with("abandoned")).collect();
        assert_eq!(told, [], "somebody was told of a failure");
    });
}

#[test]
fn a_million_joins_are_cancelled_one_by_one() {
    leaves_nothing(|| {
        let (stop, _resolver) = pair::<u64>();
        let stop = stop.shared();
        let (promises, resolvers) = many(MANY);
        let joins: Vec<_> = promises.into_iter().map(|own| join([own, stop.promise()])).collect();
        joins.iter().for_each(Promise::cancel);
        assert!(resolvers.iter().all(|resolver| !resolver.is_pending()));
        // Each waits for the one that cannot be cancelled.
        assert!(joins.iter().all(Promise::is_pending));
        drop(joins);
        drop(stop);
    });
}

#[test]
fn a_million_joins_on_one_promise_are_cancelled_at_once() {
    leaves_nothing(|| {
        let (stop, _resolver) = cancelable::<u64>();
        let stop = stop.shared();
        let joins: Vec<_> = (0..MANY).map(|_| join([stop.promise()])).collect();
        join(joins).cancel();
        assert!(!stop.is_pending());
        let boths: Vec<_> = (0..MANY / 4).map(|_| both(pause(), pause())).collect();
        assert_eq!(paused_count(), MANY / 2);
        boths.iter().for_each(Promise::cancel);
        assert_eq!(paused_count(), 0);
        assert!(boths.into_iter().all(|promise| error(promise).is_canceled()));
    });
}

#[test]
fn a_gather_or_race_of_a_million_is_cancelled() {
    leaves_nothing(|| {
        let gathers: [Gather; 6] = [
            |inputs| join(inputs).map(|()| 0),
            |inputs| all(inputs).map(|values| values.len() as u64),
            choose,
            pick,
            |inputs| nchoose(inputs).map(|values| values.len() as u64),
            |inputs| npick(inputs).map(|values| values.len() as u64),
        ];
        for gather in gathers {
            let (promises, resolvers) = many(MANY / 4);
            let gathered = gather(promises);
            gathered.cancel();
            assert!(resolvers.iter().all(|resolver| !resolver.is_pending()));
            assert!(error(gathered).is_canceled());
        }
    });
}

#[test]
fn a_gather_or_race_of_a_million_is_dropped_in_either_order() {
    leaves_nothing(|| {
        let gathers: [Gather; 5] = [
            |inputs| join(inputs).map(|()| 0),
            |inputs| all(inputs).map(|values| values.len() as u64),
            choose,
            |inputs| nchoose(inputs).map(|values| values.len() as u64),
            |inputs| npick(inputs).map(|values| values.len() as u64),
        ];
        for gather in gathers {
            let (promises, resolvers) = many(MANY / 4);
            drop(gather(promises));
            drop(resolvers);
            let (promises, resolvers) = many(MANY / 4);
            let gathered = gather(promises);
            drop(resolvers);
            assert!(error(gathered).is_abandoned());
        }
    });
}

#[test]
fn a_deep_tree_of_races_is_resolved_cancelled_and_dropped() {
    /// Each race has the one before as an input, and one more.
    fn tree(race: fn([Promise<u64>; 2]) -> Promise<u64>, depth: usize) -> (Promise<u64>, Vec<Resolver<u64>>) {
        let (mut promise, first) = cancelable();
        let mut resolvers = vec![first];
        for _ in 0..depth {
            let (input, resolver) = cancelable();
            promise = race([promise, input]);
            resolvers.push(resolver);
        }
        (promise, resolvers)
    }
    leaves_nothing(|| {
        for race in [choose, pick] {
            let (end, mut resolvers) = tree(race, DEEP);
            resolvers.remove(0).resolve(7);
            assert_eq!(value(end), 7);
            let (end, resolvers) = tree(race, DEEP);
            drop(end);
            drop(resolvers);
        }
        // Each pick of a cancelled tree cancels what is below it once more, as in Lwt: quadratic, so not so deep.
        for (race, depth) in [(choose as fn(_) -> _, DEEP), (pick, DEEP / 100)] {
            let (end, resolvers) = tree(race, depth);
            end.cancel();
            assert!(error(end).is_canceled());
            assert!(resolvers.iter().all(|resolver| !resolver.is_pending()));
        }
    });
}

#[test]
fn a_wide_tree_of_races_is_resolved_from_any_leaf() {
    leaves_nothing(|| {
        for winner in [0, DEEP / 2, DEEP - 1] {
            let (mut layer, mut resolvers) = many(DEEP);
            while layer.len() > 1 {
                let mut inputs = layer.into_iter();
                let mut next = Vec::new();
                while let Some(first) = inputs.next() {
                    next.push(pick([first].into_iter().chain(inputs.by_ref().take(9))));
                }
                layer = next;
            }
            resolvers.swap_remove(winner).resolve(winner as u64);
            assert_eq!(value(layer.remove(0)), winner as u64);
            // The losers that shared a race with the winner or its winners are cancelled, and so all are.
            assert!(resolvers.iter().all(|resolver| !resolver.is_pending()));
        }
    });
}

#[test]
fn a_cascade_of_picks_each_cancelled_by_the_one_before() {
    leaves_nothing(|| {
        let (promises, mut resolvers) = many(DEEP);
        let losers: Vec<_> = promises.into_iter().map(Promise::shared).collect();
        let picks: Vec<_> = losers.windows(2).map(|two| pick([two[0].promise(), two[1].promise()])).collect();
        resolvers.remove(0).resolve(1);
        assert!(picks.iter().all(|picked| !picked.is_pending()));
        assert!(resolvers.iter().all(|resolver| !resolver.is_pending()));
    });
}

#[test]
fn a_cascade_of_cancel_callbacks() {
    leaves_nothing(|| {
        let ran = Rc::new(Cell::new(0));
        let (promises, resolvers) = many(DEEP);
        let promises: Vec<_> = promises.into_iter().map(Promise::shared).collect();
        for two in promises.windows(2) {
            let (next, ran) = (two[1].clone(), ran.clone());
            two[0].on_cancel(move || {
                ran.set(ran.get() + 1);
                // Through the queue: a callback that cancels stands on the stack of the one that it was
                // called from.
                pause().on_success(move |()| next.cancel());
            });
        }
        promises[0].cancel();
        while paused_count() > 0 {
            wake_paused();
        }
        assert_eq!(ran.get(), DEEP - 1);
        assert!(resolvers.iter().all(|resolver| !resolver.is_pending()));
    });
}

#[test]
fn a_million_binds_wait_for_one_promise_that_is_cancelled_or_dropped() {
    leaves_nothing(|| {
        for cancel in [true, false] {
            let (promise, resolver) = cancelable::<u64>();
            let promise = promise.shared();
            let waiting: Vec<_> =
                (0..MANY / 2).map(|_| promise.bind(|n| ready(n + 1)).catch(|_| ready(0))).collect();
            match cancel {
                true => promise.cancel(),
                false => drop(resolver),
            }
            assert!(waiting.into_iter().all(|promise| value(promise) == 0));
        }
    });
}

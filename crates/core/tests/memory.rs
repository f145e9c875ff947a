//! Memory: what allocates, how often, and that nothing grows with the number of iterations (I3, I12).
//!
//! A counting allocator per thread. The budgets are exact where the documentation promises a number.

mod counting;
mod rig;

use counting::{allocation_count, allocations, flat, live_bytes};
use lisle_core::sched::sleep::{advance, sleep_count, sleep_until};
use lisle_core::sched::tasks::{run_ready, task_count};
use lisle_core::sched::{pause::paused_count, pause::wake_paused, reset};
use lisle_core::storage::Key;
use lisle_core::{
    Promise, all, cancelable, choose, join, live_waiters, pair, pause, pick, ready, rejected, spawn,
    yield_now,
};
use rig::*;
use std::cell::Cell;
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::task::Poll;

fn pauses(left: u64) -> Promise<u64> {
    match left {
        0 => ready(0),
        _ => pause().bind(move |()| pauses(left - 1)),
    }
}

#[test]
fn a_pause_chain_of_two_million_steps_is_flat_and_allocates_nothing() {
    const STEPS: u64 = 2_000_000;
    let chain = pauses(STEPS);
    for _ in 0..100 {
        wake_paused();
    }
    let (bytes, calls) = (live_bytes(), allocation_count());
    while paused_count() > 0 {
        wake_paused();
        assert!(live_bytes() <= bytes);
    }
    assert_eq!(allocation_count() - calls, 0, "each step lives in the allocation of the one before the last");
    assert_eq!(value(chain), 0);
    assert_eq!(live_waiters(), 0);
}

/// BR-147: a loop of continuations keeps one step alive, whichever kind of callback makes the next.
#[test]
fn br_147_a_loop_of_five_million_steps_with_error_handlers_is_flat() {
    fn step(left: u64) -> Promise<u64> {
        let next = move |()| step(left - 1);
        match left % 8 {
            0 if left == 0 => ready(0),
            0 => pause().bind(next),
            1 => rejected::<u64>(fail("at once")).catch(move |_| step(left - 1)),
            2 => ready(()).bind(move |()| pause().bind(next)),
            3 => pause().bind(|()| Err::<(), _>(fail("later"))).catch(|_| ready(())).bind(next),
            4 => pause().bind(|()| Err::<u64, _>(fail("later"))).catch(move |_| step(left - 1)),
            5 => pause().try_bind(next, Err::<u64, _>),
            6 => pause().finalize(|| ready(())).bind(next),
            _ => pause().then(move |_| step(left - 1)),
        }
    }
    let end = step(5_000_000);
    (0..100).for_each(|_| wake_paused());
    let mut most = live_bytes();
    (0..100).for_each(|_| {
        wake_paused();
        most = most.max(live_bytes());
    });
    while paused_count() > 0 {
        wake_paused();
        assert!(live_bytes() <= most);
    }
    assert_eq!((value(end), live_waiters()), (0, 0));
}

#[test]
fn a_chain_of_merged_promises_is_flat() {
    fn inward(left: u64) -> Promise<()> {
        let (promise, resolver) = pair();
        pause().map(move |()| resolver.resolve(())).detach();
        if left == 0 { promise } else { promise.bind(move |()| inward(left - 1)) }
    }
    let chain = inward(1_000_000);
    (0..100).for_each(|_| wake_paused());
    let bytes = live_bytes();
    while paused_count() > 0 {
        wake_paused();
        assert!(live_bytes() <= bytes);
    }
    value(chain);
}

#[test]
fn sharing_a_pending_promise_allocates_nothing() {
    let (promise, resolver) = pair::<u32>();
    let mut shared = None;
    assert_eq!(allocations(|| shared = Some(promise.shared())), 0);
    resolver.resolve(1);
    assert_eq!(shared.map(|shared| value(shared.promise())), Some(1));
}

#[test]
fn a_spare_node_keeps_nothing_of_its_last_life() {
    fn wait(left: u32, kept: Rc<u32>) -> Promise<u32> {
        if left == 0 { ready(*kept) } else { pause().bind(move |()| wait(left - 1, kept)) }
    }
    let kept = Rc::new(0);
    let chain = wait(3, kept.clone());
    (0..3).for_each(|_| wake_paused());
    value(chain);
    assert_eq!(Rc::strong_count(&kept), 1);

    // A node that somebody still holds is not given to others.
    let held = Rc::new(Cell::new(None));
    let keep = held.clone();
    let outer = pause().bind(move |()| {
        let inner = pause().bind(|()| pause().bind(|()| ready(5))).shared();
        keep.set(Some(inner.clone()));
        inner.promise()
    });
    (0..2).for_each(|_| wake_paused());
    let others: Vec<_> = (0..3).map(|_| wait(2, kept.clone())).collect();
    (0..3).for_each(|_| wake_paused());
    assert_eq!(value(outer), 5);
    assert_eq!(held.take().map(|shared| value(shared.promise())), Some(5));
    others.into_iter().for_each(|other| assert_eq!(value(other), 0));
    assert_eq!(Rc::strong_count(&kept), 1);
}

/// BR-145: a race against a promise that lives long leaves nothing on it, whoever wins and however deep.
#[test]
fn br_145_a_million_picks_against_one_promise_leave_nothing_on_it() {
    let (stop, resolver) = pair::<()>();
    let stop = stop.shared();
    let mut now = 0;
    flat(1_000_000, || {
        value(pick([ready(()), stop.promise()]));
        let (work, done_now) = pair();
        let picked = pick([work, stop.promise()]);
        done_now.resolve(());
        value(picked);
        now += 1;
        let timer = pick([stop.promise(), sleep_until(now)]);
        advance(now);
        value(timer);
        let (work, done_now) = pair();
        let nested = pick([stop.promise(), pick([stop.promise(), choose([work, stop.promise()])])]);
        done_now.resolve(());
        value(nested);
        assert!(live_waiters() <= 1, "no more than the head of the promise's list");
    });
    resolver.resolve(());
}

#[test]
fn a_million_awaited_selects_against_one_promise_leave_nothing_on_it() {
    let (stop, resolver) = pair::<()>();
    let stop = stop.shared();
    let (_count, waker) = Count::waker();
    flat(1_000_000, || {
        let mut handle = stop.promise();
        assert!(poll_with(&mut handle, &waker).is_pending());
        drop(handle);
    });
    let task = spawn(async move {
        for _ in 0..200_000 {
            let mut handle = stop.promise();
            let mut turn = std::pin::pin!(yield_now());
            poll_fn(|cx| match Pin::new(&mut handle).poll(cx) {
                Poll::Ready(_) => Poll::Ready(()),
                Poll::Pending => turn.as_mut().poll(cx).map(drop),
            })
            .await;
        }
    });
    run_ready();
    let (bytes, waiters) = (live_bytes(), live_waiters());
    run();
    assert!(live_bytes() <= bytes && live_waiters() <= waiters);
    value(task);
    resolver.resolve(());
}

/// BR-149: work that is done takes its timer away.
#[test]
fn br_149_a_million_timeouts_leave_nothing_in_the_wheel() {
    let mut now = 0;
    flat(1_000_000, || {
        now += 1;
        let (work, done_later) = pair();
        let limited = pick([work, sleep_until(now + 1_000_000)]);
        advance(now);
        done_later.resolve(());
        value(limited);
        assert_eq!(sleep_count(), 0);
    });
    flat(100_000, || {
        now += 1;
        let (work, _never) = pair();
        let limited = pick([work, sleep_until(now)]);
        advance(now);
        value(limited);
    });
}

#[test]
fn a_million_cancelled_leaves_keep_no_error() {
    flat(1_000_000, || {
        let paused = pause();
        paused.cancel();
        drop(paused);
        let slept = sleep_until(u64::MAX).map(|()| ());
        slept.cancel();
        assert!(error(slept).is_canceled());
        wake_paused();
    });
}

#[test]
fn bind_on_a_settled_promise_allocates_nothing() {
    let calls = allocations(|| {
        let sum = ready(1).bind(|n| ready(n + 1)).map(|n| n * 2).catch(ready_error).finalize(|| ready(()));
        assert_eq!(value(sum), 4);
    });
    assert_eq!(calls, 0);
}

fn ready_error(_: lisle_core::Error) -> Promise<i32> {
    ready(0)
}

#[test]
fn awaiting_leaves_and_yielding_allocates_nothing() {
    let task = spawn(async {
        for turn in 0.. {
            yield_now().await?;
            pause().await?;
            sleep_until(turn).await?;
        }
        Ok::<_, lisle_core::Error>(())
    });
    let mut now = 0;
    let mut turn = || {
        run_ready();
        wake_paused();
        now += 1;
        advance(now);
    };
    (0..100).for_each(|_| turn());
    assert_eq!(allocations(|| (0..10_000).for_each(|_| turn())), 0);
    assert!(task.is_pending());
    drop(task);
    reset();
}

#[test]
fn awaiting_a_task_or_a_resolver_costs_only_those() {
    value(spawn(async {}));
    let calls = allocations(|| value(spawn(async {})));
    assert_eq!(calls, 1, "a task that is done at once");
    let join = || {
        let outer = spawn(async { spawn(yield_now()).await });
        run();
        value(outer).expect("not cancelled").expect("not cancelled");
    };
    join();
    assert_eq!(allocations(join), 2, "one for each of two tasks, none for the waiting");
    let pair_and_await = || {
        let (promise, resolver) = pair::<u32>();
        let task = spawn(promise);
        resolver.resolve(1);
        run();
        value(task).expect("fulfilled");
    };
    pair_and_await();
    assert_eq!(allocations(pair_and_await), 2, "a pair and a task");
}

#[test]
fn a_million_tasks_are_flat() {
    flat(1_000_000, || {
        let task = spawn(yield_now());
        run_ready();
        value(task).expect("not cancelled");
    });
    flat(100_000, || {
        let mut tasks: Vec<_> = (0..4).map(|_| spawn(yield_now())).collect();
        tasks[0].cancel();
        tasks.truncate(2);
        drop(tasks);
        run();
    });
    assert_eq!(task_count(), 0);
}

#[test]
fn storms_and_cascades_of_cancellation_are_flat() {
    // The default one prints, and the test's output is memory too.
    lisle_core::hook::set(|_| {});
    flat(300, || {
        let (promises, resolvers): (Vec<_>, Vec<_>) = (0..100).map(|_| cancelable::<u32>()).unzip();
        let losers: Vec<_> = promises.into_iter().map(Promise::shared).collect();
        // Deeper than the stack that a cascade may take.
        let picks: Vec<_> = losers.windows(2).map(|two| pick([two[0].promise(), two[1].promise()])).collect();
        let joined = join(losers.iter().map(lisle_core::Shared::promise));
        let raced = choose(losers.iter().map(lisle_core::Shared::promise));
        losers[0].cancel();
        assert!(picks.into_iter().all(|picked| error(picked).is_canceled()));
        assert!(error(joined).is_canceled() && error(raced).is_canceled());
        drop(resolvers);
        let (promises, resolvers): (Vec<_>, Vec<_>) = (0..100).map(|_| cancelable::<u32>()).unzip();
        let all_of_them = all(promises);
        all_of_them.cancel();
        drop(resolvers);
        let (promises, resolvers): (Vec<_>, Vec<_>) = (0..100).map(|_| cancelable::<u32>()).unzip();
        drop((all(promises), resolvers));
    });
}

#[test]
fn a_loop_of_cancelled_tasks_is_flat() {
    flat(100_000, || {
        let task = spawn(async {
            let canceled = sleep_until(u64::MAX).await;
            yield_now().await.ok();
            canceled
        });
        task.cancel();
        run();
        assert!(value(task).is_err());
    });
    assert_eq!((task_count(), sleep_count()), (0, 0));
}

#[test]
fn resets_are_flat() {
    flat(1_000, || {
        let inner = spawn(async { sleep_until(u64::MAX).await });
        let waits = spawn(async { inner.await.and_then(|result| result) });
        let again = OnDrop::new(|| drop(spawn(pause())));
        drop(spawn(async move {
            let _again = again;
            std::future::pending::<()>().await;
        }));
        pause().map(|()| ()).on_any(|()| {}, |_| {});
        drop(lisle_core::spawn_queued(async {}));
        let slept = sleep_until(7).map(|()| ());
        reset();
        assert!(done(waits).is_err());
        assert!(error(slept).is_abandoned());
        assert_eq!((task_count(), sleep_count(), paused_count()), (0, 0, 0));
    });
}

#[test]
fn cycles_of_promises_are_freed() {
    use std::{cell::RefCell, rc::Rc};
    flat(1_000, || {
        // Each of two promises waits for the other.
        let ((x, go_x), (y, go_y)) = (pair::<()>(), pair::<()>());
        let slot: Rc<RefCell<Option<Promise<()>>>> = Rc::default();
        let later = slot.clone();
        let second = y.bind(move |()| later.take().expect("filled below"));
        let first = x.bind(move |()| second).shared();
        *slot.borrow_mut() = Some(first.promise());
        go_x.resolve(());
        go_y.resolve(());
        assert!(first.is_pending());
        first.cancel();
    });
}

#[test]
fn storage_costs_an_allocation_where_a_callback_waits_with_a_value_and_none_elsewhere() {
    let key = Key::new();
    let chain = || {
        let count = allocations(|| pause().map(|()| 1).detach());
        wake_paused();
        count
    };
    // The two tables of pauses grow at the first ones.
    chain();
    chain();
    let bare = chain();
    key.with_value(1, || {
        assert_eq!(chain(), bare + 1, "a snapshot");
        assert_eq!(allocations(|| drop(ready(1).bind(|n| ready(n + 1)))), 0);
    });
    assert_eq!(chain(), bare, "nothing is left of it");
    let kept = key.with_value(1, || pause().map(|()| 1));
    assert_eq!(chain(), bare, "a value that others keep costs nothing here");
    wake_paused();
    assert_eq!(value(kept), 1);
}

#[test]
fn storage_is_flat() {
    let key = Key::new();
    flat(100_000, || {
        let chain = key.with_value([0; 32], || pauses(2));
        let task = key.with_value([1; 32], || spawn(async { pause().await }));
        (0..3).for_each(|_| {
            wake_paused();
            run_ready();
        });
        drop((value(chain), value(task)));
    });
    flat(100_000, || Key::new().with_value(1, || ()));
}

/// Live bytes that `work` leaves behind for each of `count` things.
fn bytes_each<T>(count: usize, work: impl FnOnce() -> T) -> (f64, T) {
    let before = live_bytes();
    let kept = work();
    ((live_bytes() - before) as f64 / count as f64, kept)
}

/// A future of so many bytes that waits for ever.
struct Idle<const BYTES: usize>([u8; BYTES]);

impl<const BYTES: usize> Future for Idle<BYTES> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _cx: &mut std::task::Context<'_>) -> Poll<()> {
        Poll::Pending
    }
}

/// What an idle task costs beside its future: a slot of 24 bytes, an origin of 4, a sixteenth of that at most
/// for growth, and 8 bytes in its box. An output that is larger than the future needs its place from the
/// start: at least 16 bytes, for an error.
#[test]
fn an_idle_task_costs_38_bytes_beside_its_future() {
    const COUNT: usize = 100_000;
    let (each, ()) = bytes_each(COUNT, || (0..COUNT).for_each(|_| drop(spawn(Idle([0; 64])))));
    assert!(each <= 64.0 + 38.0, "{each}");
    reset();
    let (each, ()) = bytes_each(COUNT, || (0..COUNT).for_each(|_| drop(spawn(Idle([])))));
    assert!(each <= 16.1, "the slots are there already: the output's place, {each}");
    reset();
}

#[test]
fn who_waits_for_a_task_costs_that_task_nothing() {
    const COUNT: usize = 100_000;
    let (each, ()) = bytes_each(COUNT, || {
        (0..COUNT).for_each(|_| drop(spawn(spawn(Idle([0; 64])))));
    });
    let (inner, outer) = (64.0 + 38.0, size_of::<Promise<()>>() as f64 + 38.0);
    assert!(each <= inner + outer, "{each}");
    reset();
}

/// Links and deadline 16 bytes, waiter 4, an eighth of that at most for growth.
#[test]
fn a_timer_costs_23_bytes_beside_its_handle() {
    const COUNT: u64 = 100_000;
    let (each, timers) = bytes_each(COUNT as usize, || {
        let mut timers = Vec::with_capacity(COUNT as usize);
        timers.extend((0..COUNT).map(|number| sleep_until(1000 + number * 7 % 4_000_000)));
        timers
    });
    let handle = size_of::<Promise<()>>() as f64;
    assert_eq!(handle, 32.0);
    assert!(each <= handle + 22.6, "{each}");
    drop(timers);
}

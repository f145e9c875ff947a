//! Tasks: order, cancellation in each state, clean-up, `reset`.

mod rig;

use lisle_core::sched::sleep::sleep_until;
use lisle_core::sched::tasks::{run_ready, task_count};
use lisle_core::sched::{has_work, reset};
use lisle_core::{
    Error, Promise, cancelable, pair, pause, pick, ready, spawn, spawn_queued, try_spawn, yield_now,
};
use rig::*;
use std::cell::{Cell, RefCell};
use std::future::{pending, poll_fn};
use std::rc::Rc;
use std::task::Poll;

#[test]
fn spawn_runs_at_once_and_spawn_queued_in_the_next_generation() {
    let trace = Trace::new();
    let (a, b) = (trace.clone(), trace.clone());
    let first = spawn(async move { a.add("at once") });
    let second = spawn_queued(async move { b.add("queued") });
    trace.add("main");
    assert_eq!(trace.take(), "at once main");
    run_ready();
    assert_eq!(trace.take(), "queued");
    value(first);
    value(second);
    assert!(error(try_spawn(async { "x".parse::<u32>() })).to_string().contains("invalid digit"));
}

#[test]
fn a_cancelled_await_gives_canceled_and_the_clean_up_may_wait() {
    let trace = Trace::new();
    let says = trace.clone();
    let task = spawn(async move {
        let outcome = sleep_until(u64::MAX).await;
        says.add(outcome.is_err_and(|error| error.is_canceled()));
        pause().await.expect("the clean-up is not cancelled");
        yield_now().await.expect("nor is this");
        says.add("cleaned up");
        7
    });
    task.cancel();
    task.cancel();
    assert!(task.is_pending());
    run();
    assert_eq!((trace.take().as_str(), value(task)), ("true cleaned up", 7));
}

#[test]
fn a_second_cancel_reaches_the_clean_up() {
    let task = spawn(async {
        let first = sleep_until(u64::MAX).await.is_err();
        let second = sleep_until(u64::MAX).await.is_err();
        (first, second)
    });
    task.cancel();
    run();
    assert!(task.is_pending());
    task.cancel();
    run();
    assert_eq!(value(task), (true, true));
}

#[test]
fn cancel_before_the_first_poll_while_queued_and_after_the_end() {
    let task = spawn_queued(async { sleep_until(u64::MAX).await.is_err() });
    task.cancel();
    run();
    assert!(value(task), "it began, and was cancelled where it waited");
    let task = spawn(async { (yield_now().await.is_ok(), sleep_until(u64::MAX).await.is_err()) });
    task.cancel();
    run();
    assert_eq!(value(task), (true, true));
    let task = spawn(async { yield_now().await.is_ok() });
    run();
    task.cancel();
    assert!(value(task));
}

#[test]
fn a_task_may_cancel_itself() {
    let slot: Rc<RefCell<Option<lisle_core::Shared<bool>>>> = Rc::default();
    let inside = slot.clone();
    let task = spawn(async move {
        yield_now().await.expect("not cancelled yet");
        let own = inside.take().expect("filled below");
        own.cancel();
        own.cancel();
        sleep_until(u64::MAX).await.is_err() && pause().await.is_ok()
    })
    .shared();
    *slot.borrow_mut() = Some(task.clone());
    run();
    assert!(value(task.promise()));
}

#[test]
fn a_foreign_future_is_dropped_where_it_stands() {
    let trace = Trace::new();
    let guard = OnDrop::new(trace.says("dropped"));
    let task = spawn(async move {
        let _guard = guard;
        pending::<()>().await;
    });
    task.cancel();
    run_ready();
    assert_eq!(trace.take(), "dropped");
    assert!(error(task).is_canceled());
}

#[test]
fn a_value_that_was_there_wins_and_the_next_promise_is_cancelled() {
    let (promise, resolver) = cancelable::<u32>();
    let task = spawn(async move {
        let first = promise.await;
        let second = sleep_until(u64::MAX).await;
        let third = pause().await;
        (first.ok(), second.is_err(), third.is_ok())
    });
    task.cancel();
    resolver.resolve(1);
    run();
    assert_eq!(value(task), (Some(1), true, true));
}

#[test]
fn a_task_that_makes_a_new_promise_at_each_poll_can_be_cancelled() {
    let (promise, _resolver) = pair::<u32>();
    let shared = promise.shared();
    let task = spawn(poll_fn(move |cx| {
        let mut fresh = shared.promise();
        poll_with(&mut fresh, cx.waker()).map(drop)
    }));
    task.cancel();
    run();
    assert!(error(task).is_canceled());
}

#[test]
fn waiting_for_two_cancels_both() {
    let ((a, resolve_a), (b, resolve_b)) = (cancelable::<u32>(), cancelable::<u32>());
    let (mut a, mut b) = (Some(a), Some(b));
    let (mut outcomes, mut polls) = (Vec::new(), 0);
    let task = spawn(poll_fn(move |cx| {
        polls += 1;
        for slot in [&mut a, &mut b] {
            if let Some(promise) = slot
                && let Poll::Ready(outcome) = poll_with(promise, cx.waker())
            {
                outcomes.push(outcome.is_err());
                *slot = None;
            }
        }
        if outcomes.len() == 2 { Poll::Ready((std::mem::take(&mut outcomes), polls)) } else { Poll::Pending }
    }));
    task.cancel();
    run();
    assert_eq!(value(task), (vec![true, true], 2));
    assert!(!resolve_a.is_pending() && !resolve_b.is_pending());
}

#[test]
fn a_slot_used_again_is_not_woken_by_its_former_task() {
    // The first task wakes itself and ends in the same poll: its entry in the run queue must not serve the
    // second.
    value(spawn(poll_fn(|cx| {
        cx.waker().wake_by_ref();
        Poll::Ready(())
    })));
    let task = spawn(yield_now());
    run_ready();
    value(task).expect("not cancelled");
    let polls = Rc::new(std::cell::Cell::new(0));
    value(spawn(poll_fn(|cx| {
        cx.waker().wake_by_ref();
        Poll::Ready(())
    })));
    let count = polls.clone();
    let task = spawn(poll_fn(move |_| {
        count.set(count.get() + 1);
        Poll::<()>::Pending
    }));
    run();
    assert_eq!(polls.get(), 1);
    drop(task);
    reset();
    assert_eq!(task_count(), 0);
}

#[test]
fn reset_inside_a_task_lets_that_task_go_on() {
    let task = spawn(async {
        yield_now().await?;
        let victim = spawn(pending::<()>());
        let mut woken = false;
        poll_fn(|cx| {
            if std::mem::replace(&mut woken, true) {
                return Poll::Ready(());
            }
            cx.waker().wake_by_ref();
            reset();
            Poll::Pending
        })
        .await;
        assert!(error(victim).is_abandoned());
        Ok::<_, lisle_core::Error>(5)
    });
    run();
    assert_eq!(value(task).ok(), Some(5));
}

#[test]
fn reset_drops_futures_tells_joiners_and_bears_destructors() {
    let seen = failures();
    let trace = Trace::new();
    let inner = spawn(pending::<()>());
    let joiner = inner.on_termination(trace.says("told"));
    let spawns = OnDrop::new(|| {
        drop(spawn(async {
            let _again = OnDrop::new(|| drop(spawn_queued(pause())));
            pending::<()>().await;
        }));
    });
    drop(spawn(async move {
        let _spawns = spawns;
        pending::<()>().await;
    }));
    drop(spawn(async {
        let _bomb = Bomb;
        pending::<()>().await;
    }));
    reset();
    assert!(error(joiner).is_abandoned());
    assert_eq!((trace.take().as_str(), task_count(), has_work()), ("told", 0, false));
    assert_eq!(seen.borrow().len(), 1);
}

#[test]
fn a_panic_in_a_destructor_of_the_future_does_not_hide_its_value() {
    let seen = failures();
    let bomb = Bomb;
    let task = spawn(poll_fn(move |_| {
        let _held = &bomb;
        Poll::Ready(1)
    }));
    assert_eq!(value(task), 1);
    assert_eq!(seen.borrow().len(), 1);
}

#[test]
fn an_awaited_promise_may_change_its_waker_and_then_be_bound() {
    let ((old, old_waker), (new, new_waker)) = (Count::waker(), Count::waker());
    let (mut promise, resolver) = pair::<u32>();
    assert!(poll_with(&mut promise, &old_waker).is_pending());
    assert!(poll_with(&mut promise, &new_waker).is_pending());
    let end = promise.map(|n| n + 1);
    resolver.resolve(1);
    assert_eq!((old.get(), new.get(), value(end)), (0, 0, 2));
}

#[test]
fn a_waker_whose_destructor_settles_the_promise_it_waited_for() {
    struct Settles;
    thread_local! {
        static RESOLVER: RefCell<Option<lisle_core::Resolver<u32>>> = const { RefCell::new(None) };
    }
    impl std::task::Wake for Settles {
        fn wake(self: std::sync::Arc<Self>) {}
    }
    impl Drop for Settles {
        fn drop(&mut self) {
            if let Some(resolver) = RESOLVER.take() {
                resolver.resolve_now(1);
            }
        }
    }
    type Next = fn(Promise<u32>) -> Promise<u32>;
    let nexts: [Next; 8] = [
        |promise| promise.map(|n| n),
        |promise| lisle_core::choose([promise]),
        |promise| lisle_core::all([promise]).map(|values| values[0]),
        |promise| lisle_core::both(promise, ready(1)).map(|(n, _)| n),
        |promise| promise.no_cancel(),
        |promise| promise.shared().promise(),
        |promise| {
            let (out, resolver) = pair();
            promise.on_success(|n| resolver.resolve(n));
            out
        },
        |mut promise| {
            let (_count, waker) = Count::waker();
            assert!(poll_with(&mut promise, &waker).is_pending());
            promise
        },
    ];
    for next in nexts {
        let (mut promise, resolver) = pair::<u32>();
        RESOLVER.set(Some(resolver));
        let waker = std::task::Waker::from(std::sync::Arc::new(Settles));
        assert!(poll_with(&mut promise, &waker).is_pending());
        drop(waker);
        assert_eq!(value(next(promise)), 1);
    }
}

#[test]
fn a_promise_under_a_foreign_executor() {
    let (promise, resolver) = pair::<u32>();
    let task = spawn(async move {
        pause().await.ok();
        resolver.resolve(4);
    });
    assert_eq!(block_on(promise).ok(), Some(4));
    value(task);
    let slept = sleep_until(0).shared().protected().no_cancel().catch(Err);
    lisle_core::sched::sleep::advance(0);
    assert!(block_on(slept).is_ok());
}

/// Eight tasks that go on until they are cancelled; the first ends after some laps, if at all.
fn producers(laps: &Rc<Cell<u64>>, ends_after: Option<u64>) -> Vec<Promise<u64>> {
    let producer = |number: u64| {
        let laps = laps.clone();
        try_spawn(async move {
            let mut own_laps = 0;
            while number > 0 || ends_after != Some(own_laps) {
                own_laps += 1;
                laps.set(laps.get() + 1);
                yield_now().await?;
            }
            Ok::<_, Error>(number)
        })
    };
    (0..8).map(producer).collect()
}

/// BR-150: ending a merge ends its producers, whether it was read to its end or its reader was cancelled.
#[test]
fn br_150_a_merge_that_ends_leaves_no_producer() {
    let laps = Rc::new(Cell::new(0));
    let (own, endless) = (laps.clone(), laps.clone());
    let ten = try_spawn(async move {
        for round in 0..10 {
            assert_eq!(pick(producers(&own, Some(round))).await?, 0);
        }
        Ok::<_, Error>(())
    });
    run();
    value(ten);
    assert_eq!(task_count(), 0);
    let reader = try_spawn(async move { pick(producers(&endless, None)).await });
    (0..10).for_each(|_| lap());
    assert_eq!(task_count(), 9);
    reader.cancel();
    run();
    assert!(error(reader).is_canceled());
    assert_eq!(task_count(), 0, "a producer goes on");
    assert!(laps.get() > 80);
}

#[test]
fn a_loop_of_pauses_is_cancelled_at_its_next_pause_and_cleans_up() {
    // Cancelled when it waits, and when it is queued since its pause was over.
    for queued in [false, true] {
        let task = spawn(async {
            let mut laps = 0;
            while pause().await.is_ok() {
                laps += 1;
            }
            pause().await.expect("a cancellation is delivered once");
            laps
        });
        lap();
        if !queued {
            run_ready();
        }
        task.cancel();
        for _ in 0..5 {
            lap();
        }
        let laps = value(task);
        assert!(laps <= 2, "{laps} laps before the cancellation came");
    }
}

#[test]
fn a_wake_that_a_lap_inside_of_the_poll_comes_upon_is_not_lost() {
    for queued in [false, true] {
        let polls = Rc::new(Cell::new(0));
        let counter = polls.clone();
        let future = poll_fn(move |cx| {
            counter.set(counter.get() + 1);
            if counter.get() > 1 {
                return Poll::Ready(());
            }
            cx.waker().wake_by_ref();
            run_ready();
            assert!(!has_work(), "what runs just now is no work for a lap inside of it");
            Poll::Pending
        });
        let task = if queued { spawn_queued(future) } else { spawn(future) };
        run();
        assert_eq!(polls.get(), 2);
        value(task);
    }
}

#[test]
fn promises_that_a_reset_left_behind_are_abandoned_however_they_go() {
    let (taken, looked_at) = (spawn_queued(async { "text" }), spawn(pending::<()>()));
    let (dropped, awaited) = (spawn(pending::<()>()), spawn(pending::<()>()).map(|()| 1));
    reset();
    assert_eq!(task_count(), 0);
    assert!(!has_work());
    assert!(!looked_at.is_pending());
    let (first, second) = (spawn_queued(async { 1 }), spawn_queued(async { 2 }));
    assert_eq!(task_count(), 2);
    drop(dropped);
    looked_at.cancel();
    assert!(error(taken).to_string().contains("abandoned"));
    error(looked_at);
    error(awaited);
    run();
    assert_eq!((value(first), value(second)), (1, 2));
    assert_eq!(task_count(), 0);
}

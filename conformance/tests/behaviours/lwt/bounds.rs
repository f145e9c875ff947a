//! What must not grow, overflow or be corrupted: memory, stack, the resolution in progress; and what dropping does.
//!
//! The altered Lwts that only these rows catch: dead callbacks of races never taken away (CLEAN-01), a bind that
//! forwards instead of merging (X-STACK-02).

use crate::rig::{Log, allocations, fail, hook_log, live_bytes, result, run, state, with_small_stack};
use lisle_core::sched::pause::{paused_count, wake_paused};
use lisle_core::{
    Error, Promise, Resolver, cancelable, choose, hook, live_waiters, pair, pause, pick, ready,
};
use lisle_core::{rejected, spawn, try_spawn, yield_now};
use std::process::Command;

const LINKS: usize = 1_000_000;

/// CLEAN-01: a promise that loses one race after the other keeps no callback of them; its live ones survive. Fails if
/// the losers keep the callbacks of races that are over.
#[test]
fn clean_01_lost_races_leave_nothing() {
    let (p1, resolver) = pair::<&str>();
    let p1 = p1.shared();
    let bound = p1.bind(|text| ready(text.to_owned() + "bar"));
    let (other, _never) = pair();
    let chosen = choose([p1.promise(), other]);
    let before = live_waiters();
    for race in 0..1_000 {
        let (winner, win) = pair();
        let lost = choose([p1.promise(), winner]);
        assert!(live_waiters() <= before + 3, "in race {race}");
        win.resolve("other");
        assert_eq!(result(lost), r#"Ok("other")"#);
        assert_eq!(live_waiters(), before, "after race {race}");
    }
    resolver.resolve("foo");
    assert_eq!((result(bound).as_str(), result(chosen).as_str()), (r#"Ok("foobar")"#, r#"Ok("foo")"#));
}

/// CLEAN-02: so do two promises that are merged afterwards; what is mapped on either runs.
#[test]
fn clean_02_lost_races_over_promises_that_merge() {
    let ((p1, resolve_1), (p2, resolve_2)) = (pair::<()>(), pair::<()>());
    let p2 = p2.shared();
    let returned = p2.clone();
    let p3 = p1.bind(move |()| returned).shared();
    let mapped = [p2.map(|()| ()), p3.map(|()| ())];
    let before = live_waiters();
    for _ in 0..22 {
        let (winner, win) = pair();
        let lost = choose([p2.promise(), p3.promise(), winner]);
        win.resolve(());
        assert_eq!(result(lost), "Ok(())");
        assert_eq!(live_waiters(), before);
    }
    resolve_1.resolve(());
    assert_eq!(state(&p3), "pending");
    resolve_2.resolve(());
    assert_eq!(mapped.map(result), ["Ok(())"; 2]);
}

/// TAIL-01: ten million waits for promises that are fulfilled already need no stack, written as a loop in an `async`
/// block. (A bind on a fulfilled promise is a plain call and promises no more: a recursion of binds needs a wait.)
#[test]
fn tail_01_ten_million_settled_waits() {
    with_small_stack(|| {
        let task = try_spawn(async {
            let mut sum = 0_u64;
            for _ in 0..10_000_000 {
                sum += ready(1).bind(ready).await?;
            }
            Ok::<_, Error>(sum)
        });
        assert_eq!(result(task), "Ok(10000000)");
    });
}

/// X-IDENT-01: on a settled promise `protected`, `no_cancel`, `wrap_in_cancelable` and `catch` are the promise itself,
/// and so is the choice of it: nothing is allocated.
#[test]
fn x_ident_01_wrappers_of_a_settled_promise_are_free() {
    let calls = allocations(|| {
        let promise = ready(1).protected().no_cancel().wrap_in_cancelable().catch(|_| ready(2));
        assert!(promise.try_take().is_ok_and(|result| result.is_ok_and(|n| n == 1)));
    });
    assert_eq!(calls, 0);
    let (pending, _resolver) = pair();
    assert_eq!(result(choose([pending, ready("it")])), r#"Ok("it")"#);
}

/// X-PANIC-01: after a panic of a handler, of an observer or of the hook itself, in a resolution, the next one defers
/// nothing: what was queued has run, and the count of resolutions in progress is right.
#[test]
fn x_panic_01_a_panic_leaves_the_queue_in_order() {
    let log = Log::default();
    let panics: [fn(Promise<()>); 3] = [
        |promise| promise.detach_with(|_| panic!("handler")),
        |promise| promise.on_any(drop, |_| panic!("observer")),
        |promise| promise.detach(),
    ];
    for observe in panics {
        hook::set(|_| panic!("hook"));
        let ((p1, resolve_1), (p2, resolve_2)) = (pair::<()>(), pair::<()>());
        observe(p1);
        let (gate, open) = pair::<()>();
        p2.on_success(log.adds("deferred"));
        gate.on_success(move |()| {
            resolve_2.resolve(());
            resolve_1.reject_now(fail("E"));
        });
        open.resolve(());
        assert_eq!(log.take(), "deferred");
        let (next, resolver) = pair::<()>();
        next.on_success(log.adds("next"));
        resolver.resolve(());
        assert_eq!(log.take(), "next");
    }
    hook::reset();
}

/// X-PANIC-02: a panic of one callback does not keep the others of its promise from running.
#[test]
fn x_panic_02_the_other_callbacks_run() {
    let (log, hook) = (Log::default(), hook_log());
    let (promise, resolver) = pair::<()>();
    let promise = promise.shared();
    promise.on_success(log.adds("older"));
    promise.on_success(|()| panic!("E"));
    let failed = promise.map(|()| -> u32 { panic!("E2") });
    promise.on_success(log.adds("newer"));
    resolver.resolve(());
    assert_eq!((log.take().as_str(), hook.take().as_str()), ("newer older", "panicked: E"));
    assert_eq!(result(failed), "Err(panicked: E2)");
}

/// X-HOOK-01: with no hook set, a failure that nobody looked at is told on the standard error stream. It does not end
/// the process, which has neighbours; a program that wants that sets a hook, for its thread.
#[test]
fn x_hook_01_the_hook_that_is_there_at_first() {
    const CHILD: &str = "LISLE_BEHAVIOUR_CHILD";
    if let Ok(kind) = std::env::var(CHILD) {
        if kind == "exits" {
            hook::set(|failure| {
                eprintln!("fatal: {}", failure.error());
                std::process::exit(2);
            });
        }
        rejected::<()>(fail("nobody looked")).detach();
        eprintln!("goes on");
        return;
    }
    let child = |kind: &str| {
        let program = std::env::current_exe().expect("a running program has a path");
        let mut command = Command::new(program);
        command.args(["lwt::bounds::x_hook_01_the_hook_that_is_there_at_first", "--exact", "--nocapture"]);
        let output = command.env(CHILD, kind).output().expect("the child starts");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, text) = child("default");
    assert!(
        text.contains("nobody looked") && text.contains("bounds.rs:") && text.contains("goes on"),
        "{text}"
    );
    assert_eq!(code, Some(0));
    let (code, text) = child("exits");
    assert!(text.contains("fatal: nobody looked") && !text.contains("goes on"), "{text}");
    assert_eq!(code, Some(2));
}

/// A chain of pending maps or binds over a promise.
fn chain(mut promise: Promise<u64>) -> Promise<u64> {
    for link in 0..LINKS {
        promise = if link % 2 == 0 { promise.map(|n| n + 1) } else { promise.bind(|n| ready(n + 1)) };
    }
    promise
}

/// X-STACK-01: resolving the head of a million pending maps and binds needs no more stack than one.
#[test]
fn x_stack_01_a_million_pending_maps() {
    with_small_stack(|| {
        let ways: [fn(Resolver<u64>); 2] =
            [|resolver| resolver.resolve(0), |resolver| resolver.resolve_now(0)];
        for resolve in ways {
            let (promise, resolver) = pair();
            let end = chain(promise);
            resolve(resolver);
            assert_eq!(result(end), format!("Ok({LINKS})"));
        }
    });
}

/// X-STACK-02: a loop of pauses keeps one step alive: each result is merged into the outermost promise. Fails for a
/// bind that forwards by a callback.
#[test]
fn x_stack_02_a_loop_of_pauses_is_flat() {
    fn count_down(left: usize) -> Promise<usize> {
        if left == 0 { ready(0) } else { pause().bind(move |()| count_down(left - 1)) }
    }
    fn inward(left: usize) -> Promise<()> {
        let (promise, resolver) = pair();
        pause().on_success(move |()| resolver.resolve(()));
        if left == 0 { promise } else { promise.bind(move |()| inward(left - 1)) }
    }
    let flat = |steps: usize| {
        let mut most = isize::MAX;
        for step in 0.. {
            if paused_count() == 0 {
                assert!(step >= steps);
                return;
            }
            wake_paused();
            // The tables have their size after some steps.
            if step == 100 {
                most = live_bytes();
            }
            assert!(live_bytes() <= most, "in step {step}");
        }
    };
    // Over leaves, which are forwarded, and over promises with a cell of their own, which are merged.
    let end = count_down(LINKS);
    flat(LINKS);
    assert_eq!(result(end), "Ok(0)");
    let end = inward(LINKS / 10);
    flat(LINKS / 10);
    assert_eq!(result(end), "Ok(())");
}

/// X-DROP-01: dropping a chain of a million pending binds needs no more stack than one, from either end.
#[test]
fn x_drop_01_a_million_pending_binds_are_dropped() {
    with_small_stack(|| {
        let (promise, resolver) = pair();
        let end = chain(promise);
        drop(resolver);
        assert_eq!(format!("{end:?}"), "Promise(Rejected)");
        drop(end);
        let (promise, resolver) = pair();
        drop(chain(promise));
        drop(resolver);
        let (promise, resolver) = pair();
        let end = chain(promise).shared();
        let other = end.clone();
        drop(resolver);
        drop(end);
        drop(other);
        assert_eq!(live_waiters(), 0);
    });
}

/// X-DROP-02: dropping a promise, the result of a bind or of a spawn cancels nothing: the work goes on.
#[test]
fn x_drop_02_dropping_detaches() {
    let log = Log::default();
    let (promise, resolver) = cancelable::<()>();
    let promise = promise.shared();
    promise.on_cancel(log.says("canceled"));
    drop(promise.map(log.adds("map")));
    drop(promise.bind(|()| pause()).map(log.adds("bind")));
    let (waited, says) = (promise.promise(), log.clone());
    drop(spawn(async move {
        waited.await.expect("fulfilled");
        yield_now().await.expect("not cancelled");
        says.add("task");
    }));
    drop(pick([promise.promise(), promise.promise()]));
    drop(promise);
    assert!(resolver.is_pending());
    resolver.resolve(());
    run();
    let mut ran: Vec<String> = log.take().split(' ').map(str::to_owned).collect();
    ran.sort_unstable();
    assert_eq!(ran, ["bind", "map", "task"]);
}

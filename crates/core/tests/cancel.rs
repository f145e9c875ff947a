//! Cancellation of promises: the search, its two phases, and the wrappers.

mod rig;

use lisle_core::sched::sleep::sleep_until;
use lisle_core::{
    Error, Promise, Resolver, all, both, cancelable, choose, join, pair, pause, pick, ready, spawn,
};
use rig::*;
use std::cell::RefCell;
use std::rc::Rc;

#[test]
fn a_pair_is_not_cancelled_and_a_settled_promise_neither() {
    let (promise, resolver) = pair();
    promise.cancel();
    assert!(promise.is_pending() && resolver.is_pending());
    resolver.resolve(1);
    promise.cancel();
    assert_eq!(value(promise), 1);
    let now = ready(1);
    now.cancel();
    assert_eq!(value(now), 1);
}

#[test]
fn a_cancelled_promise_ignores_its_resolver_and_a_second_cancel() {
    let trace = Trace::new();
    let (promise, resolver) = cancelable::<u32>();
    let promise = promise.on_cancel(trace.says("cancelled")).on_termination(trace.says("ended"));
    promise.cancel();
    promise.cancel();
    assert!(!resolver.is_pending());
    resolver.resolve(1);
    assert_eq!(trace.take(), "cancelled ended");
    assert!(error(promise).is_canceled());
}

#[test]
fn the_search_goes_through_every_kind_of_node() {
    let through: [fn(Promise<u32>) -> Promise<u32>; 10] = [
        |input| input.map(|n| n),
        |input| input.bind(ready),
        |input| input.catch(Err),
        |input| input.finalize(|| ready(())),
        |input| join([input]).map(|()| 0),
        |input| all([input]).map(|_| 0),
        |input| both(ready(1), input).map(|_| 0),
        |input| both(input, ready(1)).map(|_| 0),
        |input| choose([input]),
        |input| pick([input]),
    ];
    for (at, node) in through.into_iter().enumerate() {
        let (input, resolver) = cancelable();
        let end = node(input);
        end.cancel();
        assert!(!resolver.is_pending(), "node {at}");
        assert!(error(end).is_canceled(), "node {at}");
        for leaf in [pause(), sleep_until(9)] {
            let end = node(leaf.map(|()| 1));
            end.cancel();
            assert!(error(end).is_canceled(), "node {at} over a leaf");
        }
    }
}

#[test]
fn all_states_change_before_any_callback_and_the_last_found_runs_first() {
    let trace = Trace::new();
    let pairs: Vec<(Promise<u32>, Resolver<u32>)> = (0..3).map(|_| cancelable()).collect();
    let (inputs, resolvers): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
    let inputs: Vec<_> = inputs.into_iter().map(Promise::shared).collect();
    for (input, line) in inputs.iter().zip(["a", "b", "c"]) {
        let (trace, all) = (trace.clone(), inputs.clone());
        input.on_termination(move || {
            assert!(all.iter().all(|input| !input.is_pending()));
            trace.add(line);
        });
    }
    let joined = join(inputs.iter().map(|input| input.promise()));
    joined.cancel();
    assert_eq!(trace.take(), "c b a");
    assert!(error(joined).is_canceled());
    drop(resolvers);
}

#[test]
fn a_promise_reached_twice_is_cancelled_once() {
    let trace = Trace::new();
    let (promise, _resolver) = cancelable::<u32>();
    let shared = promise.shared();
    shared.on_cancel(trace.says("once"));
    let end = both(shared.map(|n| n), choose([shared.promise(), shared.promise()]));
    end.cancel();
    assert_eq!(trace.take(), "once");
    assert!(error(end).is_canceled());
}

#[test]
fn cancel_follows_what_the_callback_returned() {
    let (gate, open) = cancelable::<()>();
    let (inner, resolver) = cancelable::<u32>();
    let end = gate.bind(move |()| inner);
    open.resolve(());
    end.cancel();
    assert!(!resolver.is_pending());
    assert!(error(end).is_canceled());
    // And a leaf, and what stands behind a merged node.
    let (gate, open) = pair::<()>();
    let end = gate.bind(|()| sleep_until(9)).map(|()| 1);
    open.resolve(());
    end.cancel();
    assert!(error(end).is_canceled());
    assert_eq!(lisle_core::sched::sleep::sleep_count(), 0);
    let (gate, open) = pair::<()>();
    let (deep, resolver) = cancelable::<u32>();
    let end = gate.bind(move |()| deep.map(|n| n).map(|n| n));
    open.resolve(());
    end.cancel();
    assert!(!resolver.is_pending() && error(end).is_canceled());
}

#[test]
fn a_catch_may_intercept() {
    let (promise, _resolver) = cancelable::<u32>();
    let end = promise.catch(|error| if error.is_canceled() { Ok(7) } else { Err(error) });
    end.cancel();
    assert_eq!(value(end), 7);
}

#[test]
fn cancel_callbacks_run_before_the_others_only_on_cancel_and_survive_a_panic() {
    let seen = failures();
    let trace = Trace::new();
    let (promise, _resolver) = cancelable::<u32>();
    let promise = promise
        .on_termination(trace.says("termination"))
        .on_cancel(trace.says("older"))
        .on_cancel(|| panic!("in between"))
        .on_cancel(trace.says("newer"));
    promise.cancel();
    assert_eq!(trace.take(), "newer older termination");
    assert_eq!(seen.borrow().len(), 1);
    drop(promise.on_cancel(trace.says("late")));
    assert_eq!(trace.take(), "late");
    let (promise, resolver) = cancelable::<u32>();
    let promise = promise.on_cancel(trace.says("never"));
    resolver.reject(fail("other"));
    let promise = promise.on_cancel(trace.says("never either"));
    assert!(error(promise).to_string() == "other" && trace.take().is_empty());
}

#[test]
fn a_bomb_in_an_uncalled_cancel_callback_loses_no_waiter() {
    let seen = failures();
    let (promise, resolver) = cancelable::<u32>();
    let bomb = Bomb;
    let promise = promise.on_cancel(move || drop(bomb)).map(|n| n + 1);
    resolver.resolve(1);
    assert_eq!(value(promise), 2);
    assert_eq!(seen.borrow().len(), 1);
}

#[test]
fn callbacks_may_cancel_resolve_and_drop_the_neighbours() {
    let (a, _keep_a) = cancelable::<u32>();
    let (b, resolve_b) = cancelable::<u32>();
    let (a, b) = (a.shared(), b.shared());
    let other = b.clone();
    a.on_cancel(move || other.cancel());
    let again = a.clone();
    b.on_cancel(move || again.cancel());
    a.cancel();
    assert!(error(a.promise()).is_canceled() && error(b.promise()).is_canceled());
    assert!(!resolve_b.is_pending());

    // A callback resolves what the search has found but not yet told.
    let ((a, _keep_a), (b, resolve_b)) = (cancelable::<u32>(), cancelable::<u32>());
    let slot = Rc::new(RefCell::new(Some(resolve_b)));
    let b = b.on_termination(move || drop(slot.take()));
    let end = both(b, a);
    end.cancel();
    assert!(error(end).is_canceled());
}

#[test]
fn protected_lets_go_of_its_input_when_cancelled() {
    let (promise, resolver) = cancelable::<u32>();
    let shared = promise.shared();
    let guarded = shared.protected();
    let follows = shared.protected();
    let waiters = lisle_core::live_waiters();
    guarded.cancel();
    assert!(lisle_core::live_waiters() < waiters);
    assert!(error(guarded).is_canceled());
    resolver.resolve(3);
    assert_eq!(value(follows), 3);
    assert_eq!(error(rejected_now().protected()).to_string(), "now");
}

fn rejected_now() -> Promise<u32> {
    lisle_core::rejected(fail("now"))
}

#[test]
fn no_cancel_and_wrap_in_cancelable() {
    let (promise, resolver) = cancelable::<u32>();
    let fixed = promise.no_cancel();
    fixed.cancel();
    assert!(fixed.is_pending());
    resolver.resolve(1);
    assert_eq!(value(fixed), 1);
    // The wrapper is cancelled also where its input cannot be, and takes the input along where it can.
    let (promise, resolver) = pair::<u32>();
    let wrapped = promise.wrap_in_cancelable();
    wrapped.cancel();
    assert!(error(wrapped).is_canceled() && resolver.is_pending());
    let (promise, inner) = cancelable::<u32>();
    let wrapped = promise.wrap_in_cancelable();
    wrapped.cancel();
    assert!(error(wrapped).is_canceled() && !inner.is_pending());
    resolver.resolve(1);
    let (promise, resolver) = cancelable::<u32>();
    let wrapped = promise.wrap_in_cancelable();
    resolver.reject(Error::canceled());
    assert!(error(wrapped).is_canceled());
}

#[test]
fn cancelling_a_bind_over_a_task_waits_for_the_task() {
    let (promise, _resolver) = cancelable::<u32>();
    let task = spawn(async move {
        let outcome = promise.await;
        pause().await?;
        outcome
    });
    let end = task.bind(|result| result);
    end.cancel();
    assert!(end.is_pending());
    run();
    assert!(error(end).is_canceled());
}

#[test]
fn cancelling_a_leaf_that_is_due_already_lets_the_value_win() {
    let seen: Rc<RefCell<Vec<Promise<()>>>> = Rc::default();
    let (first, second) = (pause(), pause());
    let second = second.map(|()| ()).shared();
    let victim = second.clone();
    first.on_success(move |()| victim.cancel());
    seen.borrow_mut().push(second.promise());
    run();
    assert!(error(second.promise()).is_canceled(), "a later pause of the lap can be cancelled");
    let (first, second) = (sleep_until(1), sleep_until(1));
    let second = second.map(|()| ()).shared();
    let victim = second.clone();
    first.on_success(move |()| victim.cancel());
    lisle_core::sched::sleep::advance(1);
    value(second.promise());
}

#[test]
fn a_canceler_reaches_what_was_given_away() {
    let (input, resolver) = cancelable::<u32>();
    let (input, canceler) = input.canceler();
    let bound = input.map(|n| n + 1);
    assert!(canceler.is_pending());
    canceler.clone().cancel();
    assert!(!canceler.is_pending() && !resolver.is_pending());
    assert!(error(bound).is_canceled());
    canceler.cancel();

    let (paused, canceler) = pause().canceler();
    let task = spawn(async move { paused.await.unwrap_err().is_canceled() });
    canceler.cancel();
    run();
    assert!(value(task));
}

#[test]
fn a_canceler_follows_its_promise_into_the_one_that_it_was_merged_into() {
    let (first, start) = pair::<()>();
    let (inner, resolver) = cancelable::<u32>();
    let (inner, canceler) = inner.canceler();
    let outer = first.bind(move |()| inner);
    start.resolve(());
    canceler.cancel();
    assert!(!resolver.is_pending());
    assert!(error(outer).is_canceled());
}

#[test]
fn a_canceler_of_a_settled_promise_does_nothing() {
    let (promise, canceler) = ready(1).canceler();
    canceler.cancel();
    assert_eq!(value(promise), 1);
    let (promise, resolver) = pair();
    let (promise, canceler) = promise.canceler();
    canceler.cancel();
    assert!(canceler.is_pending(), "a pair cannot be cancelled");
    resolver.resolve(1);
    assert_eq!((value(promise), canceler.is_pending()), (1, false));
}

//! Cancelling a fiber: at each kind of wait, with clean-up, and where it cannot be delivered.

use lisle::sched::tasks::{run_ready, task_count};
use lisle::{Error, Promise, cancelable, pair, pause, ready, wake_paused};
use lisle_direct::{Fiber, spawn, try_spawn};
use std::cell::Cell;
use std::rc::Rc;

fn drain() {
    while lisle::sched::has_work() {
        run_ready();
        wake_paused();
    }
}

/// Starts a fiber, cancels it where it waits, and tells what its wait returned.
fn canceled_at<T: 'static>(wait: impl FnOnce(&Fiber) -> Result<T, Error> + 'static) -> Result<T, Error> {
    let promise = spawn(wait);
    run_ready();
    assert!(promise.is_pending(), "the fiber waits");
    promise.cancel();
    drain();
    promise.try_take().expect("settled").expect("the body returned")
}

#[test]
fn a_wait_for_a_cancelable_promise_is_canceled() {
    let (promise, resolver) = cancelable::<u32>();
    assert!(canceled_at(|fiber| fiber.wait(promise)).unwrap_err().is_canceled());
    drop(resolver);
}

#[test]
fn a_wait_for_a_pause_is_canceled() {
    assert!(canceled_at(|fiber| fiber.wait(pause())).unwrap_err().is_canceled());
}

#[test]
fn a_wait_for_a_bind_is_canceled() {
    assert!(canceled_at(|fiber| fiber.wait(pause().bind(|()| ready(1)))).unwrap_err().is_canceled());
}

#[test]
fn a_yield_is_canceled() {
    // Cancelled while it is queued: it is polled as usual once, and the next wait is cancelled.
    let promise =
        spawn(|fiber| (0..).find_map(|yields| fiber.yield_now().err().map(|error| (yields, error))));
    run_ready();
    promise.cancel();
    drain();
    let (yields, error) = promise.try_take().unwrap().unwrap().unwrap();
    assert!(error.is_canceled());
    assert!(yields <= 1, "{yields} yields before the cancellation came");
}

#[test]
fn a_wait_for_a_future_with_a_promise_inside_is_canceled() {
    let result = canceled_at(|fiber| fiber.wait_future(async { pause().await })?);
    assert!(result.unwrap_err().is_canceled());
}

#[test]
fn a_wait_for_a_fiber_cancels_that_fiber() {
    let seen = Rc::new(Cell::new(false));
    let inner_seen = seen.clone();
    let inner = try_spawn(move |fiber| {
        let result = fiber.wait(cancelable::<u32>().0);
        inner_seen.set(result.as_ref().is_err_and(Error::is_canceled));
        result
    });
    let never = cancelable::<()>();
    let inner = inner.map(move |n| (n, never));
    assert!(canceled_at(|fiber| fiber.wait(inner).map(drop)).is_err());
    assert!(seen.get(), "the inner fiber was resumed with the cancellation");
}

#[test]
fn a_promise_that_cannot_be_canceled_still_gives_its_value() {
    let (promise, resolver) = pair::<u32>();
    let fiber = try_spawn(|fiber| fiber.wait(promise));
    run_ready();
    fiber.cancel();
    drain();
    assert!(fiber.is_pending(), "nobody can stop that promise");
    resolver.resolve(5);
    drain();
    assert_eq!(fiber.try_take().unwrap().unwrap(), 5);
}

#[test]
fn a_foreign_future_drops_the_fiber_where_it_waits() {
    let value = Rc::new(());
    let held = value.clone();
    let promise = spawn(move |fiber| {
        let _held = held;
        fiber.wait_future(std::future::pending::<()>()).unwrap();
    });
    run_ready();
    assert_eq!(Rc::strong_count(&value), 2);
    promise.cancel();
    drain();
    assert!(promise.try_take().unwrap().unwrap_err().is_canceled());
    assert_eq!(Rc::strong_count(&value), 1, "its stack was unwound");
}

#[test]
fn clean_up_may_wait_again() {
    let (promise, _resolver) = cancelable::<u32>();
    let fiber = spawn(|fiber| {
        let error = fiber.wait(promise).unwrap_err();
        let mut laps = 0;
        for _ in 0..3 {
            fiber.wait(pause()).unwrap();
            fiber.yield_now().unwrap();
            laps += 1;
        }
        (error.is_canceled(), laps)
    });
    run_ready();
    fiber.cancel();
    drain();
    assert_eq!(fiber.try_take().unwrap().unwrap(), (true, 3), "a cancellation is delivered once");
}

#[test]
fn clean_up_can_be_canceled_too() {
    let fiber = spawn(|fiber| {
        let first = fiber.wait(cancelable::<()>().0.map(|()| ())).is_err();
        let (promise, resolver) = cancelable::<()>();
        let second = fiber.wait(promise).unwrap_err().is_canceled();
        drop(resolver);
        (first, second)
    });
    run_ready();
    fiber.cancel();
    drain();
    fiber.cancel();
    drain();
    assert_eq!(fiber.try_take().unwrap().unwrap(), (true, true));
}

#[test]
fn a_fiber_canceled_before_it_began_is_canceled_at_its_first_wait() {
    let began = Rc::new(Cell::new(false));
    let inside = began.clone();
    let fiber = try_spawn(move |fiber| {
        inside.set(true);
        let (promise, resolver) = cancelable::<()>();
        let result = fiber.wait(promise);
        drop(resolver);
        result
    });
    fiber.cancel();
    drain();
    assert!(fiber.try_take().unwrap().unwrap_err().is_canceled());
    assert!(began.get(), "its body runs, and may clean up");
}

#[test]
fn canceling_a_finished_fiber_changes_nothing() {
    let fiber = spawn(|_| 3);
    drain();
    fiber.cancel();
    drain();
    assert_eq!(fiber.try_take().unwrap().unwrap(), 3);
}

#[test]
fn dropping_the_promise_detaches() {
    let done = Rc::new(Cell::new(false));
    let inside = done.clone();
    drop(spawn(move |fiber| {
        fiber.yield_now().unwrap();
        inside.set(true);
    }));
    drain();
    assert!(done.get());
}

#[test]
fn a_canceled_fiber_reports_no_failure_but_the_cancellation() {
    let reports = Rc::new(Cell::new(0));
    let count = reports.clone();
    lisle::hook::set(move |failure| count.set(count.get() + u32::from(!failure.error().is_canceled())));
    let promise: Promise<()> = try_spawn(|fiber| fiber.wait(pause()));
    run_ready();
    promise.cancel();
    promise.detach();
    drain();
    lisle::hook::reset();
    assert_eq!((reports.get(), task_count()), (0, 0));
}

//! When fibers run: queued from the start, first come first served, settled waits without a switch.

use lisle::sched::tasks::run_ready;
use lisle::{Error, pair, pause, ready, wake_paused};
use lisle_direct::{Fiber, spawn, try_spawn};
use std::cell::RefCell;
use std::rc::Rc;

#[derive(Clone, Default)]
struct Trace(Rc<RefCell<Vec<String>>>);

impl Trace {
    fn add(&self, what: impl Into<String>) {
        self.0.borrow_mut().push(what.into());
    }

    fn take(&self) -> String {
        self.0.take().join(" ")
    }
}

#[test]
fn a_fiber_is_queued_from_the_start() {
    let trace = Trace::default();
    let inside = trace.clone();
    let promise = spawn(move |_| inside.add("fiber"));
    trace.add("after spawn");
    assert!(promise.is_pending());
    run_ready();
    assert_eq!(trace.take(), "after spawn fiber");
    promise.try_take().unwrap().unwrap();
}

#[test]
fn a_wait_for_a_settled_promise_does_not_switch() {
    let trace = Trace::default();
    let (first, second) = (trace.clone(), trace.clone());
    let a = try_spawn(move |fiber| {
        first.add("a1");
        fiber.wait(ready(1))?;
        fiber.wait(Ok::<_, Error>(1))?;
        first.add("a2");
        Ok::<_, Error>(())
    });
    let b = spawn(move |_| second.add("b"));
    run_ready();
    assert_eq!(trace.take(), "a1 a2 b");
    a.try_take().unwrap().unwrap();
    b.try_take().unwrap().unwrap();
}

#[test]
fn yields_go_round_one_generation_each() {
    let trace = Trace::default();
    for name in ["a", "b", "c"] {
        let trace = trace.clone();
        let body = move |fiber: &Fiber| {
            (0..3).try_for_each(|i| {
                trace.add(format!("{name}{i}"));
                fiber.yield_now()
            })
        };
        spawn(body).detach();
    }
    assert_eq!(run_ready(), 3);
    assert_eq!(trace.take(), "a0 b0 c0");
    assert_eq!(run_ready(), 3);
    assert_eq!(trace.take(), "a1 b1 c1");
    assert_eq!(run_ready(), 3);
    assert_eq!(trace.take(), "a2 b2 c2");
    assert_eq!(run_ready(), 3);
    assert_eq!(run_ready(), 0);
}

#[test]
fn fibers_are_resumed_in_the_order_of_their_resolutions() {
    let trace = Trace::default();
    let mut resolvers = Vec::new();
    for name in ["a", "b", "c"] {
        let (promise, resolver) = pair::<()>();
        resolvers.push(resolver);
        let trace = trace.clone();
        spawn(move |fiber| fiber.wait(promise).map(|()| trace.add(name))).detach();
    }
    run_ready();
    for resolver in resolvers.into_iter().rev() {
        resolver.resolve(());
    }
    assert_eq!(trace.take(), "", "a resolution queues, it does not resume");
    run_ready();
    assert_eq!(trace.take(), "c b a");
}

#[test]
fn a_fiber_spawned_by_a_fiber_comes_in_the_next_generation() {
    let trace = Trace::default();
    let outer = trace.clone();
    spawn(move |_| {
        let inner = outer.clone();
        spawn(move |_| inner.add("inner")).detach();
        outer.add("outer");
    })
    .detach();
    run_ready();
    assert_eq!(trace.take(), "outer");
    run_ready();
    assert_eq!(trace.take(), "inner");
}

#[test]
fn a_task_starts_at_once_a_fiber_later_a_callback_inside_the_resolution() {
    let trace = Trace::default();
    let (promise, resolver) = pair::<()>();
    let shared = promise.shared();
    let (in_fiber, in_task, in_bind) = (trace.clone(), trace.clone(), trace.clone());
    let (for_fiber, for_task) = (shared.promise(), shared.promise());
    spawn(move |fiber| {
        in_fiber.add("fiber-start");
        fiber.wait(for_fiber).unwrap();
        in_fiber.add("fiber-end");
    })
    .detach();
    lisle::spawn(async move {
        in_task.add("task-start");
        for_task.await.unwrap();
        in_task.add("task-end");
    })
    .detach();
    shared.promise().map(move |()| in_bind.add("callback")).detach();
    run_ready();
    resolver.resolve(());
    trace.add("resolved");
    run_ready();
    let trace = trace.take();
    assert!(trace.starts_with("task-start fiber-start callback resolved "), "{trace}");
    assert!(trace.ends_with("fiber-end task-end") || trace.ends_with("task-end fiber-end"), "{trace}");
}

#[test]
fn a_fiber_that_pauses_goes_on_after_the_lap() {
    let trace = Trace::default();
    let inside = trace.clone();
    spawn(move |fiber| {
        fiber.wait(pause()).unwrap();
        inside.add("after pause");
    })
    .detach();
    run_ready();
    run_ready();
    assert_eq!(trace.take(), "");
    wake_paused();
    run_ready();
    assert_eq!(trace.take(), "after pause");
}

//! What comes out of a fiber: values, errors, panics; and that fibers, tasks and binds mix.

use lisle::sched::tasks::run_ready;
use lisle::{Error, Promise, Result, both, hook, join, pair, pause, ready, rejected, wake_paused};
use lisle_direct::{Fiber, spawn, try_spawn};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// Laps without an engine, until nothing is left to do.
fn drain() {
    while lisle::sched::has_work() {
        run_ready();
        wake_paused();
    }
}

fn outcome<T>(promise: Promise<T>) -> Result<T> {
    drain();
    promise.try_take().expect("settled")
}

#[test]
fn a_body_gives_its_value() {
    assert_eq!(outcome(spawn(|_| 42)).unwrap(), 42);
    assert_eq!(outcome(spawn(|_| String::from("text"))).unwrap(), "text");
    assert_eq!(outcome(spawn(|_| [7_u8; 4096])).unwrap(), [7; 4096]);
    outcome(spawn(|_| ())).unwrap();
}

#[test]
fn a_wait_gives_the_value_of_a_promise_that_comes_later() {
    let (promise, resolver) = pair::<String>();
    let fiber = try_spawn(|fiber| fiber.wait(promise));
    drain();
    assert!(fiber.is_pending());
    resolver.resolve("late".into());
    assert_eq!(outcome(fiber).unwrap(), "late");
}

#[test]
fn promises_started_before_are_waited_for_in_any_order() {
    let (a, one) = pair::<u32>();
    let (b, two) = pair::<u32>();
    let (c, three) = pair::<u32>();
    let sum = try_spawn(move |fiber| Ok::<_, Error>([fiber.wait(c)?, fiber.wait(a)?, fiber.wait(b)?]));
    drain();
    two.resolve(2);
    one.resolve(1);
    three.resolve(3);
    assert_eq!(outcome(sum).unwrap(), [3, 1, 2]);
}

#[test]
fn a_rejection_is_an_error_at_the_wait_and_can_be_handled_there() {
    let handled = spawn(|fiber| {
        let failing = pause().bind(|()| rejected::<u32>(Error::message("no")));
        fiber.wait(failing).unwrap_err().to_string()
    });
    assert_eq!(outcome(handled).unwrap(), "no");
    assert_eq!(
        outcome(spawn(|fiber| fiber.wait(Err::<(), _>(Error::os(2))))).unwrap().unwrap_err().raw_os_error(),
        Some(2)
    );
}

#[test]
fn an_error_of_the_body_rejects_the_promise() {
    let error = outcome(try_spawn(|fiber| {
        fiber.yield_now()?;
        "x".parse::<u32>().map_err(Error::new)
    }))
    .unwrap_err();
    assert!(error.downcast_ref::<std::num::ParseIntError>().is_some());
    assert_eq!(outcome(try_spawn(|_| Ok::<_, Error>(1))).unwrap(), 1);
}

#[test]
fn a_result_of_spawn_is_a_value() {
    let failed: Result<Result<u32, std::num::ParseIntError>> = outcome(spawn(|_| "x".parse::<u32>()));
    assert!(failed.unwrap().is_err());
}

#[test]
fn an_abandoned_promise_ends_the_wait() {
    let (promise, resolver) = pair::<u32>();
    let fiber = try_spawn(|fiber| fiber.wait(promise));
    drain();
    drop(resolver);
    assert!(outcome(fiber).unwrap_err().is_abandoned());
}

#[test]
fn a_panic_rejects_the_promise_and_the_neighbours_go_on() {
    let at_once = spawn(|_| -> u32 { panic!("at once") });
    let later = spawn(|fiber| -> u32 {
        fiber.yield_now().unwrap();
        panic!("after {} yield", 1)
    });
    let neighbour = spawn(|fiber| {
        (0..5).for_each(|_| fiber.yield_now().unwrap());
        5
    });
    drain();
    assert_eq!(outcome(at_once).unwrap_err().panic_message(), Some("at once"));
    assert_eq!(outcome(later).unwrap_err().panic_message(), Some("after 1 yield"));
    assert_eq!(outcome(neighbour).unwrap(), 5);
}

#[test]
fn a_panic_runs_the_destructors_of_the_body() {
    let value = Rc::new(());
    let (captured, local) = (value.clone(), value.clone());
    let fiber = spawn(move |fiber| {
        let _local = local;
        fiber.yield_now().unwrap();
        drop(captured.clone());
        panic!("with values on the stack");
    });
    drain();
    assert!(outcome::<()>(fiber).unwrap_err().panic_message().is_some());
    assert_eq!(Rc::strong_count(&value), 1);
}

#[test]
fn a_panic_can_be_caught_inside_of_the_fiber() {
    let fiber = spawn(|fiber| {
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            fiber.yield_now().unwrap();
            panic!("inner");
        }));
        fiber.yield_now().unwrap();
        caught.is_err()
    });
    assert!(outcome(fiber).unwrap());
}

#[test]
fn failures_of_detached_fibers_go_to_the_hook_with_the_place_of_the_spawn() {
    let seen = Rc::new(RefCell::new(Vec::new()));
    let list = seen.clone();
    hook::set(move |failure| {
        list.borrow_mut().push((failure.error().to_string(), failure.site().map(|site| site.line())))
    });
    let line = line!() + 1;
    drop(spawn(|fiber| fiber.yield_now().map(|()| panic!("lost"))));
    drop(try_spawn(|_| Err::<(), _>(Error::message("lost too"))));
    drain();
    hook::reset();
    let seen = seen.borrow();
    assert_eq!(seen.len(), 2, "{seen:?}");
    assert!(seen.contains(&("panicked: lost".into(), Some(line))), "{seen:?}");
    assert!(seen.iter().any(|(text, _)| text == "lost too"), "{seen:?}");
}

#[test]
fn spawning_recursively_gives_fibonacci() {
    fn fibonacci(n: u32) -> Promise<u32> {
        try_spawn(move |fiber| {
            if n < 2 {
                return Ok(n);
            }
            let (a, b) = (fibonacci(n - 1), fibonacci(n - 2));
            Ok::<_, Error>(fiber.wait(a)? + fiber.wait(b)?)
        })
    }
    assert_eq!(outcome(fibonacci(12)).unwrap(), 144);
}

#[test]
fn a_hundred_fibers_that_yield_differently_often_sum_up() {
    let fibers: Vec<Promise<u32>> = (0..=100)
        .map(|i| {
            try_spawn(move |fiber| {
                (0..1 + i % 5).try_for_each(|_| fiber.yield_now())?;
                fiber.wait(ready(i))
            })
        })
        .collect();
    assert_eq!(outcome(lisle::all(fibers)).unwrap().iter().sum::<u32>(), 5050);
}

#[test]
fn thousands_of_fibers_live_at_once() {
    const FIBERS: usize = 10_000;
    let (gate, opener) = pair::<u32>();
    let gate = gate.shared();
    let fibers: Vec<Promise<u32>> = (0..FIBERS)
        .map(|_| {
            let gate = gate.clone();
            try_spawn(move |fiber| fiber.wait(gate.promise()))
        })
        .collect();
    drain();
    opener.resolve(1);
    assert_eq!(outcome(lisle::all(fibers)).unwrap().len(), FIBERS);
}

#[test]
fn fibers_tasks_and_binds_wait_for_each_other() {
    let fiber = spawn(|fiber| fiber.yield_now().map(|()| 1_u32)).bind(|result| result);
    let task = lisle::spawn(async move {
        lisle::yield_now().await?;
        Ok::<_, Error>(fiber.await? + 10)
    });
    let bound = task.bind(|result| result).map(|n| n + 100);
    let last = try_spawn(|fiber| {
        let inside = try_spawn(|fiber| fiber.wait(pause()).map(|()| 1000));
        fiber.wait(both(bound, inside)).map(|(a, b)| a + b)
    });
    assert_eq!(outcome(last).unwrap(), 1111);
}

#[test]
fn futures_live_on_the_stack_of_the_fiber() {
    let fiber = try_spawn(|fiber: &Fiber| {
        let mut borrowed = vec![1];
        fiber.wait_future(async {
            borrowed.push(2);
            lisle::yield_now().await.unwrap();
            borrowed.push(3);
        })?;
        Ok::<_, Error>(borrowed)
    });
    assert_eq!(outcome(fiber).unwrap(), [1, 2, 3]);
}

#[test]
fn a_future_polled_on_a_fiber_may_wait_in_that_fiber() {
    let fiber = try_spawn(|fiber| fiber.wait_future(async { fiber.wait(pause().map(|()| 3)) })?);
    assert_eq!(outcome(fiber).unwrap(), 3);
}

#[test]
fn a_wake_from_another_thread_resumes_the_fiber() {
    let runtime = lisle::Runtime::new().unwrap();
    let woken = try_spawn(|fiber| {
        let done = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
        fiber.wait_future(std::future::poll_fn(move |cx| {
            if done.load(std::sync::atomic::Ordering::Acquire) {
                return std::task::Poll::Ready(());
            }
            let (done, waker) = (done.clone(), cx.waker().clone());
            std::thread::spawn(move || {
                done.store(true, std::sync::atomic::Ordering::Release);
                waker.wake();
            });
            std::task::Poll::Pending
        }))
    });
    runtime.run_promise(woken).unwrap();
}

#[test]
fn join_waits_for_fibers() {
    let ran = Rc::new(Cell::new(0));
    let fibers = (0..10).map(|_| {
        let ran = ran.clone();
        try_spawn(move |fiber| fiber.yield_now().map(|()| ran.set(ran.get() + 1)))
    });
    outcome(join(fibers)).unwrap();
    assert_eq!(ran.get(), 10);
}

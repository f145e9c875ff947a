//! Fibers dropped half-way: their stacks unwind, destructors run and may not suspend, nothing leaks.

use lisle::sched::reset;
use lisle::sched::tasks::{run_ready, task_count};
use lisle::{Error, hook, pair, pause, ready};
use lisle_direct::{Fiber, spawn, stack, try_spawn};
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

/// Waits in its destructor, and tells what the wait returned.
struct WaitsInDrop<'a, 'f> {
    fiber: &'a Fiber<'f>,
    told: Rc<RefCell<Vec<Result<(), Error>>>>,
}

impl Drop for WaitsInDrop<'_, '_> {
    fn drop(&mut self) {
        let mut told = self.told.borrow_mut();
        told.push(self.fiber.wait(pause()));
        told.push(self.fiber.yield_now());
        told.push(self.fiber.wait_future(std::future::pending()));
        told.push(self.fiber.wait(ready(())));
    }
}

fn assert_three_canceled_one_settled(told: &[Result<(), Error>]) {
    assert_eq!(told.len(), 4);
    assert!(told[..3].iter().all(|result| result.as_ref().is_err_and(Error::is_canceled)), "{told:?}");
    assert!(told[3].is_ok(), "a settled promise gives its value");
}

#[test]
fn the_end_of_the_runtime_unwinds_suspended_fibers_a_thousand_times() {
    let value = Rc::new(());
    for round in 0..1000 {
        for depth in 0..8 {
            let value = value.clone();
            spawn(move |fiber| recurse(fiber, depth, &value)).detach();
        }
        let fresh = value.clone();
        run_ready();
        spawn(move |_| drop(fresh)).detach();
        assert_eq!(task_count(), 9);
        reset();
        assert_eq!((Rc::strong_count(&value), task_count()), (1, 0), "round {round}");
    }
    assert_eq!(stack::idle_count(), 8, "stacks come back to the pool, and fresh fibers take none");
}

fn recurse(fiber: &Fiber, depth: u32, value: &Rc<()>) {
    let _held = (value.clone(), vec![depth; 10]);
    if depth > 0 {
        return recurse(fiber, depth - 1, value);
    }
    fiber.wait(pair::<()>().0.map(|()| ())).ok();
    fiber.wait_future(std::future::pending::<()>()).unwrap();
}

#[test]
fn destructors_that_wait_while_a_fiber_is_dropped_are_told_canceled() {
    let told = Rc::new(RefCell::new(Vec::new()));
    let inside = told.clone();
    spawn(move |fiber| {
        let _guard = WaitsInDrop { fiber, told: inside };
        fiber.wait_future(std::future::pending::<()>()).unwrap();
    })
    .detach();
    run_ready();
    reset();
    assert_three_canceled_one_settled(&told.borrow());
}

#[test]
fn destructors_that_wait_while_a_panic_passes_are_told_canceled() {
    let told = Rc::new(RefCell::new(Vec::new()));
    let inside = told.clone();
    let promise = spawn(move |fiber| {
        let _guard = WaitsInDrop { fiber, told: inside };
        fiber.yield_now().unwrap();
        panic!("through the guard");
    });
    run_ready();
    run_ready();
    assert!(promise.try_take().unwrap().is_err());
    assert_three_canceled_one_settled(&told.borrow());
    assert!(!std::thread::panicking());
}

#[test]
fn destructors_may_wait_when_nothing_unwinds() {
    struct YieldsInDrop<'a, 'f>(&'a Fiber<'f>, Rc<Cell<bool>>);
    impl Drop for YieldsInDrop<'_, '_> {
        fn drop(&mut self) {
            self.1.set(self.0.yield_now().is_ok());
        }
    }
    let yielded = Rc::new(Cell::new(false));
    let inside = yielded.clone();
    spawn(move |fiber| drop(YieldsInDrop(fiber, inside))).detach();
    run_ready();
    assert!(!yielded.get());
    run_ready();
    assert!(yielded.get());
}

#[test]
fn a_body_that_catches_the_unwinding_returns_and_is_dropped() {
    let steps = Rc::new(RefCell::new(Vec::new()));
    let inside = steps.clone();
    spawn(move |fiber| {
        let caught =
            catch_unwind(AssertUnwindSafe(|| fiber.wait_future(std::future::pending::<()>()))).is_err();
        inside.borrow_mut().push(caught);
        inside.borrow_mut().push(fiber.wait(pause()).is_err());
        inside.borrow_mut().push(fiber.yield_now().is_err());
    })
    .detach();
    run_ready();
    reset();
    assert_eq!(*steps.borrow(), [true, true, true]);
}

#[test]
fn a_panic_in_place_of_the_unwinding_is_reported_and_the_stack_reused() {
    let reports = Rc::new(RefCell::new(Vec::new()));
    let list = reports.clone();
    hook::set(move |failure| list.borrow_mut().push(failure.error().to_string()));
    drop(spawn(move |fiber| {
        let caught = catch_unwind(AssertUnwindSafe(|| fiber.wait_future(std::future::pending::<()>())));
        assert!(caught.is_ok(), "another panic");
    }));
    run_ready();
    reset();
    hook::reset();
    assert_eq!(*reports.borrow(), ["panicked: another panic"]);
    assert_eq!(stack::idle_count(), 1);
}

#[test]
fn a_fiber_may_be_dropped_by_a_fiber() {
    let value = Rc::new(());
    let held = value.clone();
    spawn(move |fiber| {
        let _held = held;
        fiber.wait_future(std::future::pending::<()>()).unwrap();
    })
    .detach();
    let other = try_spawn(|fiber| {
        fiber.yield_now()?;
        reset(); // drops all fibers but the one that runs
        Ok::<_, Error>(())
    });
    run_ready();
    run_ready();
    assert_eq!(Rc::strong_count(&value), 1);
    drop(other);
    assert_eq!(task_count(), 0);
}

#[test]
fn fibers_that_are_left_at_the_end_of_the_thread_do_no_harm() {
    std::thread::spawn(|| {
        spawn(|fiber| fiber.wait(pause())).detach();
        spawn(|_| ()).detach();
        run_ready();
    })
    .join()
    .unwrap();
}

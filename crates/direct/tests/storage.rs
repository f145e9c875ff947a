//! A fiber is a task, so it has storage of its own: its spawner's at the spawn, then what it sets.

use lisle::storage::Key;
use lisle::{Promise, pause, sched, wake_paused};
use lisle_direct::{Fiber, spawn};

fn laps(until: &Promise<impl Sized>) {
    for _ in 0..100 {
        if !until.is_pending() {
            return;
        }
        sched::tasks::run_ready();
        wake_paused();
    }
    panic!("the fiber does not end");
}

fn value<T>(promise: Promise<T>) -> T {
    promise.try_take().ok().and_then(Result::ok).expect("the fiber has ended well")
}

#[test]
fn storage_is_captured_at_the_spawn_and_kept_over_waits() {
    let key = Key::new();
    let fiber = key.with_value(1, || {
        spawn(move |fiber| {
            let at_first = key.get();
            fiber.yield_now().unwrap();
            fiber.wait(pause()).unwrap();
            (at_first, key.get())
        })
    });
    assert_eq!(key.get(), None);
    key.with_value(9, || laps(&fiber));
    assert_eq!(value(fiber), (Some(1), Some(1)));
}

#[test]
fn what_a_fiber_sets_is_its_own_until_it_ends() {
    let key = Key::new();
    let body = move |own: u32| {
        move |fiber: &Fiber<'_>| {
            key.set(own);
            fiber.yield_now().unwrap();
            assert_eq!(key.get(), Some(own));
            let hidden = key.with_value(None, || {
                fiber.wait(pause()).unwrap();
                key.get()
            });
            (hidden, key.get())
        }
    };
    let (first, second) = (spawn(body(1)), spawn(body(2)));
    laps(&first);
    laps(&second);
    assert_eq!(key.get(), None);
    assert_eq!((value(first), value(second)), ((None, Some(1)), (None, Some(2))));
}

#[test]
fn a_fiber_that_is_dropped_amid_a_wait_drops_its_values() {
    let key = Key::new();
    let counted = std::rc::Rc::new(());
    let fiber =
        key.with_value(counted.clone(), || spawn(move |fiber| key.with_value(None, || fiber.wait(pause()))));
    sched::tasks::run_ready();
    assert!(std::rc::Rc::strong_count(&counted) > 1);
    sched::reset();
    assert!(!fiber.is_pending());
    assert_eq!(std::rc::Rc::strong_count(&counted), 1);
    assert!(key.get().is_none());
}

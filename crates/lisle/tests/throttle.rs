//! Rates by key: who passes, who waits, who is turned away, and that nothing is kept for long.

use lisle::sched::sleep::sleep_count;
use lisle::throttle::Throttle;
use lisle::time::sleep;
use lisle::{Promise, join, live_waiters};
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

const PERIOD: Duration = Duration::from_millis(2);

fn value<T>(promise: Promise<T>) -> T {
    promise.try_take().expect("settled").expect("fulfilled")
}

#[test]
fn those_who_wait_pass_in_order_so_many_a_period() {
    lisle::run(async {
        let throttle = Throttle::with_period(2, PERIOD, 10);
        let order: Rc<RefCell<Vec<u32>>> = Rc::default();
        let waits: Vec<_> = (0..7)
            .map(|n| {
                let order = order.clone();
                throttle.wait("key").map(move |passes| {
                    assert!(passes);
                    order.borrow_mut().push(n);
                })
            })
            .collect();
        assert_eq!(*order.borrow(), [0, 1]);
        assert_eq!(throttle.waiting(), 5);
        join(waits).await.unwrap();
        assert_eq!(*order.borrow(), [0, 1, 2, 3, 4, 5, 6]);
        assert_eq!(throttle.waiting(), 0);
    });
}

#[test]
fn room_to_wait_is_shared_by_all_keys() {
    let throttle = Throttle::new(1, 2);
    let passed: Vec<bool> = (0..3).map(|key| value(throttle.wait(key))).collect();
    assert_eq!(passed, [true; 3]);
    let (first, second) = (throttle.wait(0), throttle.wait(1));
    assert!(first.is_pending() && second.is_pending());
    assert!(!value(throttle.wait(2)));
    assert!(!value(throttle.wait(0)));
    assert!(value(throttle.wait(3)), "a key with its own rate left needs no room");
    lisle::sched::reset();
}

#[test]
fn a_cancelled_one_gives_its_place_up_at_each_position() {
    for canceled in 0..3 {
        lisle::run(async move {
            let throttle = Throttle::with_period(1, PERIOD, 3);
            assert!(value(throttle.wait('k')));
            let mut waits: Vec<_> = (0..3).map(|_| throttle.wait('k')).collect();
            let gone = waits.remove(canceled);
            gone.cancel();
            assert!(gone.await.unwrap_err().is_canceled());
            assert_eq!(throttle.waiting(), 2);
            waits.push(throttle.wait('k'));
            assert_eq!(throttle.waiting(), 3);
            for wait in waits {
                assert!(wait.await.unwrap());
            }
        });
    }
}

#[test]
fn one_may_be_cancelled_by_another_that_passes() {
    lisle::run(async {
        let throttle = Throttle::with_period(2, PERIOD, 2);
        assert!(value(throttle.wait(())) && value(throttle.wait(())));
        let (first, second) = (throttle.wait(()), throttle.wait(()).shared());
        let other = second.clone();
        let again = throttle.clone();
        let third = first.bind(move |_| {
            other.cancel(); // it passes in the same period: nothing to cancel any more
            again.wait(())
        });
        assert!(second.await.unwrap());
        assert!(third.await.unwrap());
    });
}

/// Acts when it is dropped.
struct OnDrop(Option<Box<dyn FnOnce()>>);

impl Drop for OnDrop {
    fn drop(&mut self) {
        if let Some(act) = self.0.take() {
            act();
        }
    }
}

#[test]
fn one_that_is_cancelled_late_takes_nobody_elses_place() {
    lisle::run(async {
        let throttle = Throttle::with_period(2, PERIOD, 2);
        assert!(value(throttle.wait(0)) && value(throttle.wait(0)));
        let (first, second) = (throttle.wait(0), throttle.wait(0).shared());
        let third: Rc<RefCell<Option<Promise<bool>>>> = Rc::default();
        let (line, late, slot) = (throttle.clone(), second.clone(), third.clone());
        // Dropped when the first is told to go on: the second has left the line by then, but is not told yet.
        let act = OnDrop(Some(Box::new(move || {
            *slot.borrow_mut() = Some(line.wait(0));
            late.cancel();
            assert_eq!(line.waiting(), 1, "the third stands where the second stood");
        })));
        let first = first.on_cancel(move || drop(act));
        assert!(first.await.unwrap());
        assert!(second.await.unwrap_err().is_canceled());
        let third = third.borrow_mut().take().expect("it waits");
        assert!(third.await.unwrap());
    });
}

#[test]
fn cancelling_a_million_times_keeps_nothing() {
    let throttle = Throttle::new(1, 2);
    assert!(value(throttle.wait(0)));
    let held = throttle.wait(0);
    for _ in 0..1_000_000 {
        throttle.wait(0).cancel();
    }
    assert_eq!(throttle.waiting(), 1);
    drop(held);
    lisle::sched::reset();
}

#[test]
fn unused_keys_are_forgotten_and_the_timer_ends() {
    lisle::run(async {
        let key = Rc::new(7);
        let throttle = Throttle::with_period(1, PERIOD, 0);
        assert!(value(throttle.wait(key.clone())));
        assert_eq!((Rc::strong_count(&key), sleep_count()), (2, 1));
        while sleep_count() > 0 {
            // Not by `sleep`, which would be a timer too.
            lisle::pause().await.unwrap();
        }
        assert_eq!(Rc::strong_count(&key), 1);
        assert!(value(throttle.wait(key.clone())), "and it begins anew");
    });
    assert_eq!(live_waiters(), 0);
}

#[test]
fn those_who_wait_are_served_though_the_throttle_is_dropped() {
    lisle::run(async {
        let throttle = Throttle::with_period(1, PERIOD, 1);
        assert!(value(throttle.wait(())));
        let waits = throttle.wait(());
        drop(throttle);
        assert!(waits.await.unwrap());
    });
}

#[test]
fn a_throttle_works_in_the_next_runtime() {
    let throttle = Throttle::with_period(1, PERIOD, 1);
    for _ in 0..2 {
        let inside = throttle.clone();
        lisle::run(async move {
            inside.wait(()).await.unwrap();
            assert!(inside.wait(()).await.unwrap());
            sleep(PERIOD * 3).await.unwrap();
        });
    }
}

#[test]
#[should_panic(expected = "use 1 or more")]
fn a_rate_of_0_is_a_mistake() {
    let _ = Throttle::<u32>::new(0, 1);
}

//! Restartable timeouts: what runs, how often, what goes where when it fails, and what is left behind.

use lisle::sched::sleep::sleep_count;
use lisle::time::sleep;
use lisle::timeouts::Timeout;
use lisle::{Error, pause, rejected};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

const SOON: Duration = Duration::from_millis(1);
const HOUR: Duration = Duration::from_secs(3600);

/// Long enough for all that is due soon.
async fn a_while() {
    sleep(SOON * 5).await.expect("nobody cancels");
}

fn counting(delay: Duration) -> (Timeout, Rc<Cell<u32>>) {
    let fired = Rc::new(Cell::new(0));
    let count = fired.clone();
    (Timeout::new(delay, move |_| count.set(count.get() + 1)), fired)
}

#[test]
fn each_state_is_told() {
    lisle::run(async {
        let (timeout, fired) = counting(SOON);
        assert!(!timeout.is_running());
        timeout.start();
        assert!(timeout.is_running());
        a_while().await;
        assert_eq!((fired.get(), timeout.is_running()), (1, false));
        timeout.start();
        timeout.stop();
        timeout.stop();
        a_while().await;
        assert_eq!((fired.get(), timeout.is_running(), sleep_count()), (1, false, 0));
    });
}

#[test]
fn starting_again_a_million_times_leaves_one_timer() {
    lisle::run(async {
        let (timeout, fired) = counting(HOUR);
        for _ in 0..1_000_000 {
            timeout.start();
        }
        assert_eq!((sleep_count(), fired.get()), (1, 0));
        timeout.stop();
        assert_eq!(sleep_count(), 0);
    });
}

#[test]
fn a_started_timeout_outlives_its_handles_a_stopped_one_does_not() {
    lisle::run(async {
        let held = Rc::new(Cell::new(0));
        let inside = held.clone();
        Timeout::new(SOON, move |_| inside.set(inside.get() + 1)).start();
        a_while().await;
        assert_eq!((held.get(), Rc::strong_count(&held)), (1, 1), "it ran, and is gone");
        let inside = held.clone();
        let stopped = Timeout::new(HOUR, move |_| inside.set(inside.get() + 1));
        stopped.start();
        stopped.stop();
        drop(stopped);
        assert_eq!(Rc::strong_count(&held), 1);
    });
}

#[test]
fn the_action_may_start_stop_and_change_its_own_timeout() {
    lisle::run(async {
        let fired = Rc::new(Cell::new(0));
        let count = fired.clone();
        let timeout = Timeout::new(SOON, move |timeout| {
            count.set(count.get() + 1);
            timeout.start();
            match count.get() {
                1 => timeout.change(SOON * 2),
                2 => {}
                _ => timeout.stop(),
            }
        });
        timeout.start();
        while timeout.is_running() {
            a_while().await;
        }
        assert_eq!(fired.get(), 3);
    });
}

#[test]
fn errors_now_and_later_and_panics_go_to_the_handler() {
    lisle::run(async {
        let seen: Rc<RefCell<Vec<String>>> = Rc::default();
        let log = seen.clone();
        let round = Cell::new(0);
        let timeout = Timeout::try_new(SOON, move |_| {
            round.set(round.get() + 1);
            match round.get() {
                1 => rejected(Error::message("now")),
                2 => pause().bind(|()| Err::<(), _>(Error::message("later"))),
                _ => panic!("panic"),
            }
        })
        .on_error(move |error| log.borrow_mut().push(error.to_string()));
        for _ in 0..3 {
            timeout.start();
            a_while().await;
        }
        assert_eq!(seen.take(), ["now", "later", "panicked: panic"]);
    });
}

#[test]
fn any_duration_is_a_delay() {
    lisle::run(async {
        let (at_once, fired) = counting(Duration::ZERO);
        let (never, not_fired) = counting(Duration::MAX);
        at_once.start();
        never.start();
        assert_eq!(fired.get(), 0, "not inside of start");
        a_while().await;
        assert_eq!((fired.get(), not_fired.get()), (1, 0));
        assert!(never.is_running());
    });
}

#[test]
fn the_end_of_the_runtime_is_the_end_of_the_timeout() {
    let reports = Rc::new(Cell::new(0));
    let count = reports.clone();
    lisle::hook::set(move |_| count.set(count.get() + 1));
    let (timeout, fired) = counting(HOUR);
    let handle = timeout.clone();
    lisle::run(async move { handle.start() });
    assert!(!timeout.is_running());
    drop(timeout);
    lisle::hook::reset();
    assert_eq!((fired.get(), Rc::strong_count(&fired), reports.get()), (0, 1, 0));
}

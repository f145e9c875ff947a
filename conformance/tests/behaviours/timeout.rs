//! Rows TIMEOUT-…: timeouts that are started, stopped and changed. A second of the original is two
//! milliseconds here; that something does not fire is shown by what fires after it.

use lisle::hook::{self, FailureKind};
use lisle::time::sleep;
use lisle::timeouts::Timeout;
use lisle::{Error, rejected};
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// A second of the original.
const SECOND: Duration = Duration::from_millis(2);
const HOUR: Duration = Duration::from_secs(3600);

/// What fired, in order.
#[derive(Clone, Default)]
struct Fired(Rc<RefCell<Vec<&'static str>>>);

impl Fired {
    fn timeout(&self, name: &'static str, delay: Duration) -> Timeout {
        let fired = self.0.clone();
        Timeout::new(delay, move |_| fired.borrow_mut().push(name))
    }

    fn take(&self) -> Vec<&'static str> {
        self.0.take()
    }
}

fn run<F: Future<Output = ()> + 'static>(test: impl FnOnce(Fired) -> F) {
    let fired = Fired::default();
    lisle::run(test(fired));
}

/// Three seconds of the original: what was started for less before this call fires before it is over.
async fn three_seconds() {
    sleep(3 * SECOND).await.expect("nobody cancels");
}

/// TIMEOUT-01: a started timeout fires once, and not early.
#[test]
fn timeout_01_fires_once() {
    run(|_| async {
        let (begin, fired) = (Instant::now(), Rc::new(Cell::new(None)));
        let slot = fired.clone();
        let timeout = Timeout::new(SECOND, move |_| assert!(slot.replace(Some(Instant::now())).is_none()));
        timeout.start();
        three_seconds().await;
        assert!(fired.get().expect("it fired") - begin >= SECOND);
        assert!(!timeout.is_running());
    });
}

/// TIMEOUT-02: without a start nothing fires.
#[test]
fn timeout_02_not_started() {
    run(|fired| async move {
        let _timeout = fired.timeout("it", SECOND);
        three_seconds().await;
        assert!(fired.take().is_empty());
    });
}

/// TIMEOUT-03: two starts are one.
#[test]
fn timeout_03_started_twice() {
    run(|fired| async move {
        let timeout = fired.timeout("it", SECOND);
        timeout.start();
        timeout.start();
        three_seconds().await;
        assert_eq!(fired.take(), ["it"]);
    });
}

/// TIMEOUT-04: the action may start its own timeout again.
#[test]
fn timeout_04_restarted_by_its_action() {
    run(|fired| async move {
        let inside = fired.clone();
        let timeout = Timeout::new(SECOND, move |timeout| {
            inside.0.borrow_mut().push("it");
            if inside.0.borrow().len() == 1 {
                timeout.start();
            }
        });
        timeout.start();
        while timeout.is_running() {
            three_seconds().await;
        }
        assert_eq!(fired.take(), ["it", "it"]);
    });
}

/// TIMEOUT-05: stopped in time, it does not fire.
#[test]
fn timeout_05_stopped() {
    run(|fired| async move {
        let timeout = fired.timeout("it", SECOND);
        timeout.start();
        timeout.stop();
        three_seconds().await;
        assert!(fired.take().is_empty());
    });
}

/// TIMEOUT-06: to stop what does not run is harmless.
#[test]
fn timeout_06_stopped_without_a_start() {
    run(|fired| async move {
        let timeout = fired.timeout("it", SECOND);
        timeout.stop();
        timeout.start();
        three_seconds().await;
        timeout.stop();
        assert_eq!(fired.take(), ["it"]);
    });
}

/// TIMEOUT-07: a delay of 0, from the start or by a change, is a delay like others: it fires, once, and not
/// inside of the start.
#[test]
fn timeout_07_a_delay_of_0() {
    run(|fired| async move {
        let created = fired.timeout("created", Duration::ZERO);
        let changed = fired.timeout("changed", HOUR);
        created.start();
        changed.start();
        changed.change(Duration::ZERO);
        assert!(fired.take().is_empty());
        three_seconds().await;
        assert_eq!(fired.take(), ["created", "changed"]);
    });
}

/// TIMEOUT-08: a change before the start counts.
#[test]
fn timeout_08_changed_before_the_start() {
    run(|fired| async move {
        let timeout = fired.timeout("it", HOUR);
        timeout.change(SECOND);
        timeout.start();
        three_seconds().await;
        assert_eq!(fired.take(), ["it"]);
    });
}

/// TIMEOUT-09: a change does not start.
#[test]
fn timeout_09_changed_when_stopped() {
    run(|fired| async move {
        let timeout = fired.timeout("it", HOUR);
        timeout.change(SECOND);
        assert!(!timeout.is_running());
        three_seconds().await;
        assert!(fired.take().is_empty());
    });
}

/// TIMEOUT-10: a change after the start counts from now.
#[test]
fn timeout_10_changed_after_the_start() {
    run(|fired| async move {
        let timeout = fired.timeout("it", HOUR);
        timeout.start();
        timeout.change(SECOND);
        assert!(timeout.is_running());
        three_seconds().await;
        assert_eq!(fired.take(), ["it"]);
    });
}

/// TIMEOUT-11: the error of an action goes to the hook.
#[test]
fn timeout_11_an_error_goes_to_the_hook() {
    run(|_| async {
        let seen: Rc<RefCell<Vec<(FailureKind, String)>>> = Rc::default();
        let log = seen.clone();
        hook::set(move |failure| log.borrow_mut().push((failure.kind(), failure.error().to_string())));
        Timeout::try_new(SECOND, |_| rejected(Error::message("E"))).start();
        three_seconds().await;
        hook::reset();
        assert_eq!(seen.take(), [(FailureKind::Detached, "E".to_owned())]);
    });
}

/// TIMEOUT-12: with a handler of its own, the handler gets the error instead.
#[test]
fn timeout_12_an_error_goes_to_the_handler() {
    run(|_| async {
        let (seen, reports): (Rc<RefCell<Vec<String>>>, Rc<Cell<u32>>) = Default::default();
        let (log, count) = (seen.clone(), reports.clone());
        hook::set(move |_| count.set(count.get() + 1));
        let timeout = Timeout::try_new(SECOND, |_| rejected(Error::message("E")));
        timeout.on_error(move |error| log.borrow_mut().push(error.to_string())).start();
        three_seconds().await;
        hook::reset();
        assert_eq!((seen.take(), reports.get()), (vec!["E".to_owned()], 0));
    });
}

/// TIMEOUT-13: the shorter one fires first.
#[test]
fn timeout_13_two_delays_in_order() {
    run(|fired| async move {
        let (short, long) = (fired.timeout("one", SECOND), fired.timeout("two", 2 * SECOND));
        short.start();
        long.start();
        three_seconds().await;
        assert_eq!(fired.take(), ["one", "two"]);
    });
}

/// TIMEOUT-14: two of the same delay both fire.
#[test]
fn timeout_14_two_of_the_same_delay() {
    run(|fired| async move {
        let (first, second) = (fired.timeout("first", SECOND), fired.timeout("second", SECOND));
        first.start();
        second.start();
        three_seconds().await;
        assert_eq!(fired.take(), ["first", "second"]);
    });
}

/// TIMEOUT-15: to stop one leaves the other alone.
#[test]
fn timeout_15_one_of_two_is_stopped() {
    run(|fired| async move {
        let (first, second) = (fired.timeout("one", SECOND), fired.timeout("two", 2 * SECOND));
        first.start();
        second.start();
        first.stop();
        three_seconds().await;
        assert_eq!(fired.take(), ["two"]);
    });
}

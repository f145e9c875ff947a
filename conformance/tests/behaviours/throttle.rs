//! Row X-THROTTLE-01: rates by key.

use lisle::throttle::Throttle;
use std::time::Duration;

/// X-THROTTLE-01: two pass at once, the third waits, the fourth is turned away; another key passes; in a later
/// period the third passes.
#[test]
fn x_throttle_01_two_a_period_and_one_waits() {
    lisle::run(async {
        let throttle = Throttle::with_period(2, Duration::from_millis(2), 1);
        let at_once = |key| throttle.wait(key).try_take().expect("at once").expect("fulfilled");
        assert!(at_once("one"));
        assert!(at_once("one"));
        let third = throttle.wait("one");
        assert!(third.is_pending());
        assert!(!at_once("one"));
        assert!(at_once("another"));
        assert!(third.await.unwrap());
    });
}

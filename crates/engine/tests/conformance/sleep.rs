//! Sleeping: as long as told, never shorter, and not at all when there is something to hand out.

use crate::rig::{Watchdog, pair, write};
use lisle_engine::{Op, Wait};
use std::time::{Duration, Instant};

on_every_engine!(a_sleep_is_never_too_short, |rig| {
    let (_a, b) = pair();
    for time in [Duration::from_micros(300), Duration::from_millis(3), Duration::from_millis(20)] {
        let begun = Instant::now();
        assert_eq!(rig.turn(Wait::For(time)), 0);
        assert!(begun.elapsed() >= time);
        // The first turn after a descriptor is new has reports to digest; they are no reason to return.
        rig.recv(&b, 16);
        let begun = Instant::now();
        assert_eq!(rig.turn(Wait::For(time)), 0);
        assert!(begun.elapsed() >= time);
    }
});

on_every_engine!(times_out_of_range_are_for_ever, |rig| {
    let _watchdog = Watchdog::new();
    let (a, b) = pair();
    let token = rig.recv(&b, 16);
    write(&a, b"x");
    while rig.is_open(token) {
        rig.turn(Wait::For(Duration::MAX));
    }
    assert_eq!(rig.received(&b, 0), b"");
    rig.turn(Wait::For(Duration::ZERO));
});

on_every_engine!(what_is_finished_is_handed_out_without_sleeping, |rig| {
    let _watchdog = Watchdog::new();
    let (_a, b) = pair();
    let waiting = rig.recv(&b, 16);
    let nops: Vec<_> = (0..10).map(|_| rig.start(Op::Nop)).collect();
    while nops.iter().any(|&token| rig.is_open(token)) {
        rig.turn(Wait::Forever);
    }
    assert!(rig.is_open(waiting));
});

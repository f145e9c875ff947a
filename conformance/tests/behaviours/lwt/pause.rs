//! Pauses and their generations. Rows PAUSE, X-PAUSE.
//!
//! Lwt's pause observer (PAUSE-03, PAUSE-05, PAUSE-06) exists to nudge a foreign event loop. Here a loop asks
//! `sched::has_work`, so nothing is called from within `pause`, and there is no re-entrance to get wrong.
//! The altered Lwt that wakes the newest pause first fails at X-PAUSE-01, on core's laps and on each engine's; the two
//! that wake pauses before the engine's turn, or many generations a lap, fail at the test after PAUSE-04.

use crate::rig::{Log, result};
use lisle::{EngineKind, Runtime};
use lisle_core::sched::has_work;
use lisle_core::sched::pause::{paused_count, wake_paused};
use lisle_core::{Promise, pause, ready};

/// PAUSE-01: with no pause the count is 0, and to wake them is no harm.
#[test]
fn pause_01_without_a_pause() {
    assert_eq!(paused_count(), 0);
    wake_paused();
    assert_eq!(paused_count(), 0);
}

/// PAUSE-02: pauses are pending and counted until their generation is woken.
#[test]
fn pause_02_pending_and_counted() {
    for count in [1, 2] {
        let pauses: Vec<_> = (0..count).map(|_| pause()).collect();
        assert_eq!(paused_count(), count);
        assert!(pauses.iter().all(Promise::is_pending));
        wake_paused();
        assert_eq!(paused_count(), 0);
        pauses.into_iter().for_each(|pause| assert_eq!(result(pause), "Ok(())"));
    }
}

/// PAUSE-03, PAUSE-05, PAUSE-06: what Lwt tells an observer, that there is something to wake, a loop learns by asking
/// before it sleeps.
#[test]
fn pause_03_a_loop_is_told_of_a_pause() {
    assert!(!has_work());
    let first = pause();
    assert!(has_work());
    let second = pause();
    assert_eq!(paused_count(), 2);
    wake_paused();
    assert!(!has_work());
    assert_eq!((result(first).as_str(), result(second).as_str()), ("Ok(())", "Ok(())"));
}

/// PAUSE-04: a pause made by the callback of a pause belongs to the next generation.
#[test]
fn pause_04_the_next_generation() {
    let again = pause().bind(|()| pause());
    wake_paused();
    assert_eq!(paused_count(), 1);
    assert!(again.is_pending());
    wake_paused();
    assert_eq!((paused_count(), result(again).as_str()), (0, "Ok(())"));
}

/// In a lap the engine's turn comes first and then one generation: the bytes that are there are told before the pause
/// that was made earlier, and the pause after it has to wait for the next lap.
#[test]
fn a_lap_is_a_turn_and_then_one_generation() {
    fn pauses(log: Log, left: u32) -> Promise<()> {
        pause().bind(move |()| {
            log.add("pause");
            if left == 1 { ready(()) } else { pauses(log, left - 1) }
        })
    }
    for kind in EngineKind::ALL {
        let runtime = Runtime::builder().engine(kind).build().expect("every engine opens here");
        let (ours, theirs) = lisle::net::UnixStream::pair().expect("a pair of sockets");
        runtime.run_promise(theirs.write_all("x")).expect("room for a byte");
        let log = Log::default();
        let paused = pauses(log.clone(), 3);
        ours.read(lisle::Buf::with_capacity(8)).on_success(log.adds("read"));
        let lap = || {
            runtime.run_promise(pause()).expect("a lap");
            log.take()
        };
        assert_eq!([lap(), lap(), lap()], ["read pause", "pause", "pause"], "on {}", kind.name());
        assert_eq!(result(paused), "Ok(())");
    }
}

/// X-PAUSE-01: the pauses of one generation are woken in the order of their making, whoever laps.
#[test]
fn x_pause_01_oldest_first() {
    let log = Log::default();
    let make = || ["a", "b", "c"].into_iter().for_each(|name| pause().on_success(log.adds(name)));
    make();
    wake_paused();
    assert_eq!(log.take(), "a b c");
    for kind in EngineKind::ALL {
        let runtime = Runtime::builder().engine(kind).build().expect("every engine opens here");
        make();
        runtime.run_promise(pause()).expect("a lap");
        assert_eq!(log.take(), "a b c", "on {}", kind.name());
    }
}

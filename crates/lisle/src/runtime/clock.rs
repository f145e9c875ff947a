//! The clock of a thread: ticks of one millisecond since the runtime began.
//!
//! Deadlines are rounded up and the present down, so no timer is ever early. Durations beyond the range of
//! the clock saturate at a deadline that never comes.

use lisle_engine::Wait;
use std::cell::Cell;
use std::time::{Duration, Instant};

thread_local! {
    static START: Cell<Option<Instant>> = const { Cell::new(None) };
}

fn start() -> Instant {
    START.get().unwrap_or_else(|| {
        let now = Instant::now();
        START.set(Some(now));
        now
    })
}

/// Full ticks that have passed.
pub(crate) fn now() -> u64 {
    u64::try_from(start().elapsed().as_millis()).unwrap_or(u64::MAX)
}

/// The first tick at which `duration` from now has passed.
pub(crate) fn deadline_in(duration: Duration) -> u64 {
    let end = start().elapsed().checked_add(duration);
    let ticks = end.map(|end| end.as_nanos().div_ceil(1_000_000));
    ticks.and_then(|ticks| u64::try_from(ticks).ok()).unwrap_or(u64::MAX)
}

/// The first tick at which `moment` has come.
pub(crate) fn deadline_at(moment: Instant) -> u64 {
    let ticks = moment.saturating_duration_since(start()).as_nanos().div_ceil(1_000_000);
    u64::try_from(ticks).unwrap_or(u64::MAX)
}

/// How long the engine may sleep until `deadline`.
pub(crate) fn wait_until(deadline: u64) -> Wait {
    match start().checked_add(Duration::from_millis(deadline)) {
        Some(end) => match end.saturating_duration_since(Instant::now()) {
            Duration::ZERO => Wait::Poll,
            left => Wait::For(left),
        },
        None => Wait::Forever,
    }
}

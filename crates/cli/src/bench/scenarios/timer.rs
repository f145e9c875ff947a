//! A timer that is set and then cancelled while a million others are live, as a timeout is that never
//! strikes: the usual fate of timers. One operation sets one and cancels an older one.

use super::Scenario;
use crate::bench::case::{Case, Label, Style, check};
use crate::bench::measure::{Sample, Stopwatch};
use crate::bench::plan::Plan;
use lisle::time::sleep;
use lisle::{Promise, sched};
use std::time::Duration;

const NAME: &str = "timer";

/// Operations in one repetition.
const BATCH: u64 = 1000;

pub(super) const SCENARIO: Scenario =
    Scenario { name: NAME, about: "set a timer and cancel another while a million are live", cases };

fn cases(plan: &Plan) -> Vec<Case> {
    let live = plan.width * plan.length;
    let label = Label::new(NAME, Style::Bind);
    vec![Case::new(label, plan.cpu_round, move |repeat| measure(live as usize, repeat * BATCH))]
}

fn measure(live: usize, operations: u64) -> Result<Sample, String> {
    let mut durations = Durations(1);
    let mut timers: Vec<Promise<()>> = (0..live).map(|_| sleep(durations.next())).collect();
    let watch = Stopwatch::start(None);
    for operation in 0..operations {
        timers[operation as usize % live] = sleep(durations.next());
    }
    let sample = watch.stop(operations, None);
    check(&sched::sleep::sleep_count(), &live)?;
    drop(timers);
    check(&sched::sleep::sleep_count(), &0)?;
    Ok(sample)
}

/// Timeouts from one second to about an hour, always the same ones (xorshift).
pub(super) struct Durations(pub(super) u32);

impl Durations {
    pub(super) fn next(&mut self) -> Duration {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        Duration::from_millis(1000 + u64::from(self.0 % (1 << 22)))
    }
}

#[cfg(test)]
mod tests {
    use super::Durations;
    use std::time::Duration;

    #[test]
    fn timeouts_are_spread_and_never_short() {
        let mut durations = Durations(1);
        let drawn: Vec<Duration> = (0..1000).map(|_| durations.next()).collect();
        assert!(drawn.iter().all(|drawn| *drawn >= Duration::from_secs(1)));
        assert!(drawn.iter().any(|drawn| *drawn > Duration::from_secs(3000)));
    }
}

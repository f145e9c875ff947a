//! How much to measure: the length of rounds and of chains, and the engines that take part.

use crate::args::BenchOptions;
use lisle_engine::EngineKind;
use std::time::Duration;

/// Rounds of a full run.
const ROUNDS: u32 = 7;

/// Rounds of the selection that runs without arguments.
const ROUNDS_OF_SELECTION: u32 = 5;

/// Long enough that reading the clock and a stray interrupt vanish in it.
const CPU_ROUND: Duration = Duration::from_millis(25);

/// Long enough for a few thousand round trips.
const IO_ROUND: Duration = Duration::from_millis(60);

/// What a run does.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) rounds: u32,
    /// How long a round of computing takes at least.
    pub(crate) cpu_round: Duration,
    /// How long a round of I/O takes at least.
    pub(crate) io_round: Duration,
    /// Tasks, fibers or chains that are alive at the same time.
    pub(crate) width: u64,
    /// Steps of each of them in one repetition.
    pub(crate) length: u64,
    /// Everything in every size, or the selection for a first look.
    pub(crate) full: bool,
    /// Which engines take part; those that do not work here are still reported.
    pub(crate) engines: Vec<EngineKind>,
}

impl Plan {
    /// What the options ask for.
    pub(crate) fn new(options: &BenchOptions) -> Plan {
        let full = !options.scenarios.is_empty();
        let rounds = if full { ROUNDS } else { ROUNDS_OF_SELECTION };
        let engines =
            if options.engines.is_empty() { EngineKind::ALL.to_vec() } else { options.engines.clone() };
        let plan = Plan {
            rounds: options.rounds.unwrap_or(rounds),
            cpu_round: CPU_ROUND,
            io_round: IO_ROUND,
            width: 1000,
            length: 1000,
            full,
            engines,
        };
        if options.quick { plan.quick(options.rounds) } else { plan }
    }

    /// As short as can be: shows that everything works.
    fn quick(self, rounds: Option<u32>) -> Plan {
        let round = Duration::from_micros(200);
        Plan { rounds: rounds.unwrap_or(1), cpu_round: round, io_round: round, length: 10, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::Plan;
    use crate::args::BenchOptions;
    use lisle_engine::EngineKind;

    #[test]
    fn named_scenarios_are_measured_in_full() {
        assert!(!Plan::new(&BenchOptions::default()).full);
        let options = BenchOptions { scenarios: vec!["pause".to_owned()], ..BenchOptions::default() };
        let plan = Plan::new(&options);
        assert!(plan.full);
        assert_eq!(plan.engines, EngineKind::ALL);
    }

    #[test]
    fn rounds_and_engines_are_taken_from_the_options() {
        let engines = vec![EngineKind::Poll];
        let options = BenchOptions { rounds: Some(3), engines, quick: true, ..BenchOptions::default() };
        let plan = Plan::new(&options);
        assert_eq!((plan.rounds, plan.engines.as_slice()), (3, [EngineKind::Poll].as_slice()));
        assert!(plan.cpu_round < Plan::new(&BenchOptions::default()).cpu_round);
    }
}

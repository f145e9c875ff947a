//! One measurement: time or memory, allocations and system calls around a piece of work; and what several of
//! them have in common.

use crate::alloc;
use std::time::{Duration, Instant};

/// What one round of one case gave.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Sample {
    pub(crate) operations: u64,
    pub(crate) time: Duration,
    /// Bytes that are kept, where the question is about memory and not about time.
    pub(crate) kept_bytes: Option<i64>,
    pub(crate) allocations: u64,
    /// `None` where no engine takes part.
    pub(crate) system_calls: Option<u64>,
}

/// A measurement in progress.
#[derive(Debug)]
pub(crate) struct Stopwatch {
    allocations: u64,
    system_calls: Option<u64>,
    started: Instant,
}

impl Stopwatch {
    /// Starts; `system_calls` is what the engine has counted so far.
    pub(crate) fn start(system_calls: Option<u64>) -> Stopwatch {
        Stopwatch { allocations: alloc::allocations(), system_calls, started: Instant::now() }
    }

    /// Stops; `system_calls` is what the engine has counted by now.
    pub(crate) fn stop(self, operations: u64, system_calls: Option<u64>) -> Sample {
        let time = self.started.elapsed();
        let allocations = alloc::allocations() - self.allocations;
        let system_calls = system_calls.zip(self.system_calls).map(|(now, before)| now - before);
        Sample { operations, time, kept_bytes: None, allocations, system_calls }
    }
}

/// In what a result is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Nanoseconds,
    Bytes,
}

impl Unit {
    /// As reports write it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Unit::Nanoseconds => "ns",
            Unit::Bytes => "B",
        }
    }
}

/// What the rounds of one case say together.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Summary {
    pub(crate) unit: Unit,
    pub(crate) median: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
    /// The value of each round, in the order of the rounds: what ran in the same round can be compared.
    pub(crate) rounds: Vec<f64>,
    pub(crate) allocations: f64,
    pub(crate) system_calls: Option<f64>,
}

impl Summary {
    /// Sums up; `None` if there is nothing to sum up. Counts are medians too: they are exact, apart from a
    /// buffer that grows once.
    pub(crate) fn of(samples: &[Sample]) -> Option<Summary> {
        let rounds: Vec<f64> = samples.iter().map(Sample::value).collect();
        let allocations: Vec<f64> = samples.iter().map(|s| per_operation(s.allocations, s)).collect();
        let calls: Vec<f64> =
            samples.iter().filter_map(|s| Some(per_operation(s.system_calls?, s))).collect();
        Some(Summary {
            unit: samples.first()?.unit(),
            median: median(&rounds)?,
            min: rounds.iter().copied().fold(f64::INFINITY, f64::min),
            max: rounds.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            allocations: median(&allocations)?,
            system_calls: median(&calls),
            rounds,
        })
    }

    /// This against another, round by round: the median of the ratios, and the middle half of them.
    pub(crate) fn ratio(&self, other: &Summary) -> Option<Ratio> {
        let ratios: Vec<f64> = self.rounds.iter().zip(&other.rounds).map(|(a, b)| a / b).collect();
        Ratio::of(&ratios)
    }
}

/// How one thing compares with another, in several rounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Ratio {
    pub(crate) median: f64,
    /// A quarter of the rounds lie below.
    pub(crate) low: f64,
    /// A quarter of the rounds lie above.
    pub(crate) high: f64,
}

impl Ratio {
    /// Sums up the ratios of several rounds.
    pub(crate) fn of(ratios: &[f64]) -> Option<Ratio> {
        let mut sorted = ratios.to_vec();
        sorted.sort_by(f64::total_cmp);
        let quarter = sorted.len() / 4;
        let high = sorted.len().checked_sub(quarter + 1)?;
        Some(Ratio { median: median(&sorted)?, low: sorted[quarter], high: sorted[high] })
    }
}

impl Sample {
    /// This sample, with the allocations of another one of the same case. Where memory is the question, a case
    /// counts for itself.
    pub(crate) fn with_allocations_of(self, counted: &Sample) -> Sample {
        if self.kept_bytes.is_some() {
            return self;
        }
        let allocations = counted.allocations as u128 * u128::from(self.operations);
        Sample { allocations: (allocations / u128::from(counted.operations.max(1))) as u64, ..self }
    }

    /// What one operation costs, in the unit of the question.
    fn value(&self) -> f64 {
        let total = self.kept_bytes.map_or(self.time.as_nanos() as f64, |bytes| bytes as f64);
        total / self.operations as f64
    }

    fn unit(&self) -> Unit {
        if self.kept_bytes.is_some() { Unit::Bytes } else { Unit::Nanoseconds }
    }
}

fn per_operation(count: u64, sample: &Sample) -> f64 {
    count as f64 / sample.operations as f64
}

/// The middle of the values, or the mean of the two in the middle.
pub(crate) fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let half = sorted.len() / 2;
    let upper = *sorted.get(half)?;
    Some(if sorted.len() % 2 == 1 { upper } else { f64::midpoint(sorted[half - 1], upper) })
}

#[cfg(test)]
mod tests {
    use super::{Ratio, Sample, Stopwatch, Summary, Unit, median};
    use std::hint::black_box;
    use std::time::Duration;

    fn sample(ns: u64, allocations: u64, system_calls: Option<u64>) -> Sample {
        let time = Duration::from_nanos(ns);
        Sample { operations: 10, time, kept_bytes: None, allocations, system_calls }
    }

    #[test]
    fn the_median_of_an_even_number_is_the_mean_of_the_middle_two() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0]), Some(3.0));
        assert_eq!(median(&[9.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 100.0]), Some(3.0));
    }

    #[test]
    fn a_summary_is_per_operation() {
        assert_eq!(Summary::of(&[]), None);
        let samples = [sample(300, 10, Some(5)), sample(100, 10, Some(5)), sample(200, 11, Some(5))];
        let summary = Summary::of(&samples).unwrap();
        assert_eq!((summary.median, summary.min, summary.max), (20.0, 10.0, 30.0));
        assert_eq!(summary.rounds, [30.0, 10.0, 20.0]);
        assert_eq!((summary.allocations, summary.system_calls), (1.0, Some(0.5)));
        assert_eq!(Summary::of(&[sample(1, 0, None)]).unwrap().system_calls, None);
    }

    #[test]
    fn memory_is_summed_up_in_bytes() {
        let kept = Sample { kept_bytes: Some(480), ..sample(1, 0, None) };
        let summary = Summary::of(&[kept]).unwrap();
        assert_eq!((summary.median, summary.unit), (48.0, Unit::Bytes));
    }

    #[test]
    fn ratios_are_taken_within_rounds() {
        let fast = Summary::of(&[sample(100, 0, None), sample(1000, 0, None)]).unwrap();
        let slow = Summary::of(&[sample(200, 0, None), sample(2000, 0, None)]).unwrap();
        assert_eq!(fast.ratio(&slow), Some(Ratio { median: 0.5, low: 0.5, high: 0.5 }));
    }

    #[test]
    fn a_ratio_has_its_middle_half() {
        assert_eq!(Ratio::of(&[]), None);
        let ratio = Ratio::of(&[0.1, 0.9, 1.0, 1.1, 9.0]).unwrap();
        assert_eq!(ratio, Ratio { median: 1.0, low: 0.9, high: 1.1 });
    }

    #[test]
    fn a_stopwatch_counts_what_happens_between_start_and_stop() {
        let watch = Stopwatch::start(Some(3));
        let block = black_box(Box::new(1_u64));
        let sample = watch.stop(1, Some(7));
        drop(block);
        assert_eq!((sample.allocations, sample.system_calls), (1, Some(4)));
    }
}

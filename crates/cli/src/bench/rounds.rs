//! The order of measuring: warm up and size each case once, then rounds in which the cases take turns.
//!
//! ```text
//!   size A, B, C          repeat until one round takes long enough; this warms up, and allocations are counted
//!   A B C  A B C  A B C   one sample each per round
//! ```
//!
//! Machines drift: their clock rises and falls within seconds. If A ran all its rounds before B, the drift
//! would be taken for a difference; taking turns lets both have the same weather. So ratios within one run
//! can be trusted and absolute figures only orient. Rounds are timed with nothing counted: counting costs time.

use super::case::Case;
use super::measure::{Sample, Summary};
use super::progress::Progress;
use crate::alloc;
use lisle_engine::cpu::Pinned;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

/// A round is never repeated more often than this, however short its unit is.
const REPEAT_MAX: u64 = 1 << 32;

/// How long a case may take to be sized, in attempts.
const SIZING_ATTEMPTS_MAX: u32 = 40;

/// What a case gave: figures, or why there are none.
pub(crate) type Measured = Result<Summary, String>;

/// Measures all cases in turn, and returns what each gave, in the same order.
pub(crate) fn measure(cases: &[Case], rounds: u32, progress: &Progress) -> Vec<Measured> {
    let mut sizes = Vec::with_capacity(cases.len());
    for case in cases {
        progress.show(&case.label);
        sizes.push(size(case));
        progress.step();
    }
    let mut samples: Vec<Vec<Sample>> = cases.iter().map(|_| Vec::new()).collect();
    for _ in 0..rounds {
        for (index, case) in cases.iter().enumerate() {
            progress.show(&case.label);
            if let Ok(size) = &sizes[index] {
                match alloc::uncounted(|| run(case, size.repeat)) {
                    Ok(sample) => samples[index].push(sample.with_allocations_of(&size.counted)),
                    Err(error) => sizes[index] = Err(error),
                }
            }
            progress.step();
        }
    }
    let summed = sizes.into_iter().zip(samples);
    summed.map(|(sized, samples)| sized.and(Summary::of(&samples).ok_or("no rounds".to_owned()))).collect()
}

/// Runs a case. One that panics is one line that failed, and no reason to lose the others.
///
/// A case without an engine stays on one processor while it runs. One with an engine may not be pinned: the
/// ring's kernel workers inherit the mask. Where pinning is refused, the case runs all the same.
fn run(case: &Case, repeat: u64) -> Result<Sample, String> {
    let _pinned = case.label.engine.is_none().then(Pinned::to_one);
    catch_unwind(AssertUnwindSafe(|| (case.run)(repeat))).unwrap_or_else(|_| Err("panicked".to_owned()))
}

/// How long a case's rounds are, and one round in which allocations were counted.
#[derive(Debug)]
struct Size {
    repeat: u64,
    counted: Sample,
}

/// How often a case is to be repeated so that a round takes as long as it asks for.
fn size(case: &Case) -> Result<Size, String> {
    let mut repeat = 1;
    for _ in 0..SIZING_ATTEMPTS_MAX {
        let counted = run(case, repeat)?;
        if counted.time >= case.round || repeat >= REPEAT_MAX {
            return Ok(Size { repeat, counted });
        }
        repeat = next_repeat(repeat, counted.time, case.round);
    }
    Ok(Size { repeat, counted: run(case, repeat)? })
}

/// The next attempt: what the last one suggests and a little more, at most ten times as many.
fn next_repeat(repeat: u64, time: Duration, wanted: Duration) -> u64 {
    let factor = wanted.as_secs_f64() / time.as_secs_f64().max(1e-9) * 1.1;
    let suggested = repeat as f64 * factor.clamp(1.0, 10.0);
    (suggested.ceil() as u64).clamp(repeat + 1, REPEAT_MAX)
}

#[cfg(test)]
mod tests {
    use super::{Size, measure, next_repeat, size};
    use crate::bench::case::{Case, Label, Style};
    use crate::bench::measure::Sample;
    use crate::bench::progress::Progress;
    use std::cell::RefCell;
    use std::rc::Rc;
    use std::time::Duration;

    /// A case of which one repetition "takes" a microsecond, and which notes that it ran.
    fn case(name: &'static str, log: &Rc<RefCell<Vec<&'static str>>>, fails: bool) -> Case {
        let log = log.clone();
        Case::new(Label::new(name, Style::Bind), Duration::from_millis(1), move |repeat| {
            log.borrow_mut().push(name);
            if fails {
                return Err("wrong".to_owned());
            }
            let time = Duration::from_micros(repeat);
            Ok(Sample { operations: repeat, time, kept_bytes: None, allocations: 0, system_calls: None })
        })
    }

    #[test]
    fn cases_take_turns() {
        let log = Rc::default();
        let cases = [case("a", &log, false), case("b", &log, true), case("c", &log, false)];
        cases.iter().for_each(|case| drop(size(case)));
        log.borrow_mut().clear();
        let measured = measure(&cases, 2, &Progress::hidden());
        let ran = log.borrow().clone();
        assert_eq!(ran[ran.len() - 4..], ["a", "c", "a", "c"]);
        assert!((measured[0].as_ref().unwrap().median - 1000.0).abs() < 1.0);
        assert_eq!(measured[1].as_ref().unwrap_err(), "wrong");
    }

    #[test]
    fn a_case_is_repeated_until_it_takes_long_enough() {
        let Size { repeat, .. } = size(&case("a", &Rc::default(), false)).unwrap();
        assert!((1_000..=1_200).contains(&repeat), "{repeat}");
    }

    #[test]
    fn sizing_goes_up_and_never_too_fast() {
        let millisecond = Duration::from_millis(1);
        assert_eq!(next_repeat(1, Duration::ZERO, millisecond), 10);
        assert_eq!(next_repeat(100, millisecond, millisecond), 111);
        assert_eq!(next_repeat(7, Duration::from_secs(1), millisecond), 8);
    }
}

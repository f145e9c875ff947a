//! `lisle bench`: what promises, tasks, fibers and I/O cost on this machine, on each engine and in each
//! style.
//!
//! ```text
//!   options ─► plan ─► scenarios give cases ─► rounds: A B C A B C ─► summaries ─► table, sentence or JSON lines
//! ```
//!
//! | file | holds |
//! |---|---|
//! | `plan.rs` | how much to measure |
//! | `scenarios/` | one question each |
//! | `case.rs` | one line of the table: its name, and how to run it |
//! | `rig.rs` | where a case runs |
//! | `rounds.rs`, `measure.rs` | the order of measuring; time, allocations, system calls |
//! | `report.rs`, `headline.rs` | table and JSON; the answer in one sentence |
//! | `progress.rs` | the bar |
//!
//! Not here: comparisons with other runtimes, which need programs of their own (the workspace `bench`).

pub(crate) mod case;
mod headline;
mod measure;
mod plan;
mod progress;
mod report;
mod rig;
mod rounds;
pub(crate) mod scenarios;

use crate::args::BenchOptions;
use crate::output;
use case::Case;
use lisle_engine::EngineKind;
use lisle_engine::probe::{self, Choice};
use plan::Plan;
use progress::Progress;
use report::Line;

/// Measures what the options ask for and prints it.
pub(crate) fn run(options: &BenchOptions) -> Result<(), String> {
    let plan = Plan::new(options);
    let cases = chosen_cases(options, &plan);
    if cases.is_empty() {
        return Err(
            "nothing to measure: no scenario of those exists in that style or on that engine".to_owned()
        );
    }
    let lines = measure(cases, &plan);
    let text = if options.json { report::json_lines(&lines) } else { report::text(&plan, &lines) };
    output::print(&text)?;
    verdict(&lines)
}

/// The cases of the chosen scenarios, in the chosen styles.
fn chosen_cases(options: &BenchOptions, plan: &Plan) -> Vec<Case> {
    let everything =
        options.scenarios.is_empty() || options.scenarios.iter().any(|name| name == scenarios::EVERYTHING);
    let scenarios = scenarios::ALL
        .iter()
        .filter(|scenario| everything || options.scenarios.iter().any(|name| name == scenario.name));
    let in_style = |case: &Case| options.styles.is_empty() || options.styles.contains(&case.label.style);
    scenarios.flat_map(|scenario| (scenario.cases)(plan)).filter(in_style).collect()
}

/// Measures the cases whose engine works here; the others keep their line, with the reason.
fn measure(cases: Vec<Case>, plan: &Plan) -> Vec<Line> {
    let obstacles: Vec<(EngineKind, String)> = plan
        .engines
        .iter()
        .filter_map(|&kind| Some((kind, probe::open(Choice::Only(kind)).err()?.to_string())))
        .collect();
    let obstacle = |case: &Case| {
        let found = obstacles.iter().find(|(kind, _)| case.label.engine == Some(*kind));
        found.map(|(_, reason)| reason.clone())
    };
    let reasons: Vec<Option<String>> = cases.iter().map(obstacle).collect();
    let labels: Vec<_> = cases.iter().map(|case| case.label.clone()).collect();
    let possible: Vec<Case> = cases
        .into_iter()
        .zip(&reasons)
        .filter_map(|(case, reason)| reason.is_none().then_some(case))
        .collect();

    let progress = Progress::new(possible.len() as u64 * u64::from(plan.rounds + 1));
    let mut measured = rounds::measure(&possible, plan.rounds, &progress).into_iter();
    progress.clear();

    let line = |(label, reason): (_, Option<String>)| match reason {
        Some(reason) => Line { label, result: Err(format!("not measured: {reason}")), failed: false },
        None => {
            let result = measured.next().unwrap_or_else(|| Err("never ran".to_owned()));
            let failed = result.is_err();
            Line { label, result: result.map_err(|error| format!("FAILED: {error}")), failed }
        }
    };
    labels.into_iter().zip(reasons).map(line).collect()
}

/// Whether the run answers what was asked: a case that computed something wrong does not, nor does a run
/// without a single figure.
fn verdict(lines: &[Line]) -> Result<(), String> {
    let failed: Vec<String> =
        lines.iter().filter(|line| line.failed).map(|line| line.label.to_string()).collect();
    if !failed.is_empty() {
        return Err(format!("failed: {}", failed.join(", ")));
    }
    if lines.iter().all(|line| line.result.is_err()) {
        return Err("nothing could be measured here; `lisle doctor` says why".to_owned());
    }
    Ok(())
}

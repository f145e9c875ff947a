//! `lisle doctor`: which engine would run here, why, and what to change for a better one.
//!
//! All facts come from `lisle_engine::probe`, which tries what the engines do instead of reading version
//! numbers. This file only puts them into an order: the machine, each engine, the opcodes; last the answer,
//! and the cure for what is missing.

use crate::output::{self, Align, Table};
use lisle_engine::probe::{self, Choice, EngineError, Report};

/// Prints the facts and the answer; fails if no engine runs here.
pub(crate) fn run() -> Result<(), String> {
    let report = probe::report();
    output::print(&format!("{}\n{}\n{}\n", machine(&report), engines(&report), opcodes(&report)))?;
    let choice = Choice::from_env().map_err(|error| error.to_string())?;
    let opened = probe::open(choice).map_err(|error| error.to_string())?;
    let cures = cures(&report).unwrap_or_else(|| "Nothing is missing.".to_owned());
    let answer =
        format!("A program started now runs on {}, because {}.", opened.kind.name(), because(choice));
    output::print(&format!("{answer}\n{cures}\n"))
}

fn because(choice: Choice) -> String {
    match choice {
        Choice::Auto => "it is the best that works here".to_owned(),
        Choice::Only(kind) => format!("{}={} asks for it", probe::VARIABLE, kind.name()),
    }
}

fn machine(report: &Report) -> Table {
    let mut table = Table::new(&[("machine", Align::Left), ("", Align::Left)]);
    let mut fact = |name: &str, value: String| table.row(vec![name.to_owned(), value]);
    fact("kernel", report.kernel_release.clone());
    fact("kernel.io_uring_disabled", report.io_uring_disabled.map_or("no such switch".to_owned(), meaning));
    fact("seccomp filter", if report.seccomp_filter { "yes" } else { "no" }.to_owned());
    fact("locked memory (ulimit -l)", show_limits(report.memlock_bytes, " bytes"));
    fact("descriptors (ulimit -n)", show_limits(report.nofile, ""));
    fact("ring", report.ring_mode.map_or("none".to_owned(), |mode| format!("{mode:?}")));
    table
}

fn meaning(level: u8) -> String {
    let who = match level {
        0 => "all may use it",
        1 => "only kernel.io_uring_group may use it",
        _ => "nobody may use it",
    };
    format!("{level}: {who}")
}

fn show_limits((soft, hard): (Option<u64>, Option<u64>), unit: &str) -> String {
    let show = |limit: Option<u64>| limit.map_or("unlimited".to_owned(), |limit| format!("{limit}{unit}"));
    format!("{} (may be raised to {})", show(soft), show(hard))
}

fn engines(report: &Report) -> Table {
    let mut table = Table::new(&[("engine", Align::Left), ("", Align::Left)]);
    for (kind, usable) in &report.engines {
        let answer = match usable {
            Ok(()) => "works".to_owned(),
            Err(EngineError::Unavailable(obstacle)) => obstacle.to_string(),
            Err(error) => error.to_string(),
        };
        table.row(vec![kind.name().to_owned(), answer]);
    }
    table
}

fn opcodes(report: &Report) -> Table {
    let mut table = Table::new(&[("opcode of io_uring", Align::Left), ("", Align::Left)]);
    for (name, supported) in &report.opcodes {
        table.row(vec![(*name).to_owned(), if *supported { "there" } else { "missing" }.to_owned()]);
    }
    if report.opcodes.is_empty() {
        table.row(vec!["no ring, so none".to_owned()]);
    }
    table
}

/// What to do about each engine that does not work.
fn cures(report: &Report) -> Option<String> {
    let cures: Vec<String> = report
        .engines
        .iter()
        .filter_map(|(kind, usable)| match usable {
            Err(EngineError::Unavailable(obstacle)) => {
                Some(format!("To have {}: {}.", kind.name(), obstacle.cure))
            }
            _ => None,
        })
        .collect();
    (!cures.is_empty()).then(|| cures.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::{cures, engines, machine, opcodes};
    use lisle_engine::EngineKind;
    use lisle_engine::probe::{EngineError, Obstacle, Report, report};

    /// A machine whose kernel refuses the ring. The errno is taken from an error of ours, since its type
    /// stays behind a fence.
    fn without_ring() -> Report {
        let obstacle = Obstacle {
            kind: EngineKind::IoUring,
            step: "io_uring_setup",
            errno: lisle_engine::readiness::BEYOND_SELECT,
            cause: "kernel.io_uring_disabled=2".to_owned(),
            cure: "sysctl kernel.io_uring_disabled=0".to_owned(),
        };
        let mut report = report();
        report.engines[0] = (EngineKind::IoUring, Err(EngineError::Unavailable(obstacle)));
        report.opcodes.clear();
        report.ring_mode = None;
        report.io_uring_disabled = Some(2);
        report
    }

    #[test]
    fn what_is_missing_is_named_with_its_cure() {
        let report = without_ring();
        assert!(engines(&report).to_string().contains("io_uring: not available"));
        assert!(machine(&report).to_string().contains("2: nobody may use it"));
        assert!(opcodes(&report).to_string().contains("no ring"));
        let cures = cures(&report).unwrap();
        assert!(cures.contains("To have io_uring: sysctl kernel.io_uring_disabled=0."), "{cures}");
    }
}

//! Everything that must hold before a change is taken, in the order in which a mistake is cheapest to find.
//! There is no other list: what is not here is not checked.
//!
//! Stops at the first failure and says how to run that step again. The last line is «N passed, M failed»,
//! summed over all tests, golden traces and models that ran.

use crate::step::{self, Count, Proof, Step};
use crate::{behaviours, faults};
use std::path::{Path, PathBuf};

/// The list.
fn steps() -> Vec<Step> {
    let loom_target = target_folder().join("loom").display().to_string();
    let mut steps = vec![
        Step::new("format", &["cargo", "fmt", "--all", "--check"]),
        Step::new(
            "clippy",
            &["cargo", "clippy", "--locked", "--workspace", "--all-targets", "--", "-D", "warnings"],
        ),
        Step::new("tidy", &["cargo", "xtask", "tidy"]),
    ];
    steps.extend(rows_step("behaviours", &behaviours::FINISHED));
    steps.extend(rows_step("faults", &faults::FINISHED));
    steps.extend([
        Step::new("tests", &["cargo", "test", "--workspace"]).proven_by(Proof::TestResults),
        golden_step(None).needs("conformance/Cargo.toml"),
        Step::new(
            "loom models",
            &[
                "cargo",
                "test",
                "-p",
                "lisle-core",
                "--release",
                "--test",
                "loom",
                "--target-dir",
                &loom_target,
            ],
        )
        .with("RUSTFLAGS", "--cfg loom")
        .proven_by(Proof::TestResults)
        .needs("crates/core/tests/loom.rs"),
        Step::new("fuzz", &["cargo", "xtask", "fuzz"])
            .proven_by(Proof::LastLineUnlessSkipped)
            .needs("fuzz/Cargo.toml"),
        Step::new("documentation", &["cargo", "doc", "--workspace", "--no-deps"])
            .with("RUSTDOCFLAGS", "-D warnings"),
        Step::new("programs", &["cargo", "build", "--workspace", "--bins", "--examples"]),
        Step::new(
            "benchmark",
            &["cargo", "run", "--release", "-q", "-p", "lisle-cli", "--", "bench", "--quick"],
        )
        .needs("crates/cli/Cargo.toml"),
    ]);
    steps
}

/// Every corpus file of a folder; without one, the recorded families.
fn golden_step(folder: Option<&str>) -> Step {
    let mut words = vec!["cargo", "run", "--release", "-q", "-p", "lisle-conformance", "--"];
    words.extend(folder);
    Step::new("golden traces", &words).proven_by(Proof::LastLine)
}

/// The finished groups of a table, each of whose rows has a test. Without one there is nothing to check.
fn rows_step(name: &'static str, finished: &[&str]) -> Option<Step> {
    let mut words = vec!["cargo", "xtask", name];
    words.extend(finished);
    (!finished.is_empty()).then(|| Step::new(name, &words).proven_by(Proof::LastLine))
}

/// Where cargo builds, relative to the root.
pub(crate) fn target_folder() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from)
}

/// Runs the list; tells whether all passed.
pub(crate) fn run(root: &Path) -> bool {
    run_steps(root, &steps())
}

/// Compares the programs of `folder`, or the recorded ones, with their traces.
pub(crate) fn golden(root: &Path, folder: Option<&str>) -> bool {
    let report = step::run(root, &golden_step(folder));
    if let Some(failure) = &report.failure {
        eprintln!("golden traces: {failure}");
    }
    report.failure.is_none()
}

fn run_steps(root: &Path, steps: &[Step]) -> bool {
    let mut total = Count::default();
    for (index, step) in steps.iter().enumerate() {
        let head = format!("ci {}/{} {}", index + 1, steps.len(), step.name);
        if let Some(path) = step.needs.filter(|path| !root.join(path).exists()) {
            println!("{head}: skipped, there is no {path}");
            continue;
        }
        println!("{head}: {step}");
        let report = step::run(root, step);
        total.add(report.count);
        let seconds = report.time.as_secs_f64();
        if let Some(failure) = report.failure {
            println!("{head}: FAILED after {seconds:.1} s: {failure}");
            println!("to run it again: {step}");
            total.failed = total.failed.max(1);
            println!("{total}");
            return false;
        }
        println!("{head}: ok, {seconds:.1} s");
    }
    println!("{total}");
    total.failed == 0
}

#[cfg(test)]
mod tests {
    use super::{Step, run_steps, steps};
    use crate::step::Proof;
    use std::path::Path;

    const HERE: &str = env!("CARGO_MANIFEST_DIR");

    #[test]
    fn the_list_runs_until_something_fails() {
        let passing = Step::new("a", &["echo", "2 passed, 0 failed"]).proven_by(Proof::LastLine);
        let failing = Step::new("b", &["false"]);
        let skipped = failing.clone().needs("no/such/file");
        assert!(run_steps(Path::new(HERE), &[passing.clone(), skipped]));
        assert!(!run_steps(Path::new(HERE), &[passing, failing]));
    }

    #[test]
    fn the_list_names_each_step_once() {
        let mut names: Vec<&str> = steps().iter().map(|step| step.name).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}

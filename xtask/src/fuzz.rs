//! `cargo xtask fuzz`: builds the targets of `fuzz/` as libFuzzer wants them, and runs them for a while.
//!
//! ```text
//!   nightly toolchain and C++ compiler there? ── no ──► «skipped: …», which is no failure
//!        │ yes
//!   build with coverage and the address sanitizer ─► each target, its share of the seconds ─► «N passed, M failed»
//! ```
//!
//! Built directly and not by cargo-fuzz: that would be one more program to install, for a dozen flags. What
//! the fuzzer learns is kept in `fuzz/corpus/`, what it breaks in `fuzz/artifacts/`; git ignores both. A file
//! of the latter in place of the seconds is run alone.

use crate::step::Count;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The targets of `fuzz/Cargo.toml`.
const TARGETS: [&str; 3] = ["promises", "tasks", "timers"];
/// How long all of them take together, unless told otherwise.
const SECONDS: u64 = 60;
/// The longest input that is tried: beyond it programs become slower and not stranger.
const INPUT_BYTES_MAX: u32 = 600;
/// Coverage for libFuzzer, as cargo-fuzz asks for it, and the sanitizer.
const FLAGS: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares -Zsanitizer=address --cfg fuzzing";

/// What to run.
#[derive(Debug, PartialEq, Eq)]
struct Plan<'a> {
    targets: Vec<&'a str>,
    seconds: u64,
    /// Run this input alone.
    input: Option<&'a str>,
}

impl<'a> Plan<'a> {
    /// Reads `[TARGET] [--seconds N | FILE]`.
    fn read(words: &[&'a str]) -> Option<Plan<'a>> {
        let (targets, rest) = match words {
            [target, rest @ ..] if TARGETS.contains(target) => (vec![*target], rest),
            rest => (TARGETS.to_vec(), rest),
        };
        match rest {
            [] => Some(Plan { targets, seconds: SECONDS, input: None }),
            ["--seconds", seconds] => Some(Plan { targets, seconds: seconds.parse().ok()?, input: None }),
            [input] if targets.len() == 1 && !input.starts_with('-') => {
                Some(Plan { targets, seconds: SECONDS, input: Some(input) })
            }
            _ => None,
        }
    }
}

/// Runs what the words ask for; none if they ask for nothing that is there.
pub(crate) fn run(root: &Path, target_folder: &Path, words: &[&str]) -> Option<bool> {
    let plan = Plan::read(words)?;
    let host = match prerequisites() {
        Ok(host) => host,
        Err(reason) => {
            println!("skipped: {reason}");
            return Some(true);
        }
    };
    let folder = root.join(target_folder).join("fuzz");
    let built = nightly("cargo")
        .args(["build", "--release", "--manifest-path", "fuzz/Cargo.toml", "--target", &host])
        .arg("--target-dir")
        .arg(&folder)
        .env("RUSTFLAGS", FLAGS)
        .current_dir(root)
        .status();
    if !built.is_ok_and(|status| status.success()) {
        println!("the fuzz targets do not build\n0 passed, 1 failed");
        return Some(false);
    }
    let programs = folder.join(&host).join("release");
    let mut count = Count::default();
    for target in &plan.targets {
        let passed = run_target(root, &programs.join(target), target, &plan);
        count.add(Count { passed: u64::from(passed), failed: u64::from(!passed) });
    }
    println!("{count}");
    Some(count.failed == 0)
}

/// A program of the nightly toolchain.
fn nightly(program: &str) -> Command {
    let mut command = Command::new("rustup");
    command.args(["run", "nightly", program]);
    command
}

/// The host's triple, or what is missing.
fn prerequisites() -> Result<String, String> {
    let version = nightly("rustc").arg("-vV").output().ok().filter(|output| output.status.success());
    let Some(version) = version else {
        return Err("fuzzing needs a nightly toolchain: rustup toolchain install nightly".to_owned());
    };
    let compiler = Command::new("c++").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !compiler.is_ok_and(|status| status.success()) {
        return Err("fuzzing needs a C++ compiler named c++, to build libFuzzer: install g++".to_owned());
    }
    let text = String::from_utf8_lossy(&version.stdout).into_owned();
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| "the nightly rustc does not tell its host".to_owned())
}

/// Whether a target ran, and found nothing.
fn run_target(root: &Path, program: &Path, target: &str, plan: &Plan<'_>) -> bool {
    let folders = ["corpus", "artifacts"].map(|kind| root.join("fuzz").join(kind).join(target));
    if let Some(error) = folders.iter().find_map(|folder| std::fs::create_dir_all(folder).err()) {
        println!("fuzz {target}: {error}");
        return false;
    }
    let output = fuzzer(program, &folders, plan).current_dir(root).output();
    let report = match &output {
        Ok(output) => String::from_utf8_lossy(&output.stderr).into_owned(),
        Err(error) => format!("{}: {error}", program.display()),
    };
    let succeeded = output.is_ok_and(|output| output.status.success());
    // A run that tells no number of inputs did not run.
    let inputs = if plan.input.is_some() { Some(1) } else { executed(&report) };
    match inputs.filter(|&inputs| succeeded && inputs > 0) {
        Some(inputs) => {
            println!("fuzz {target}: {inputs} inputs, nothing found");
            true
        }
        None => {
            println!(
                "{report}\nfuzz {target}: FAILED; an input that breaks it is in fuzz/artifacts/{target}/"
            );
            false
        }
    }
}

fn fuzzer(program: &Path, [corpus, artifacts]: &[PathBuf; 2], plan: &Plan<'_>) -> Command {
    let mut command = Command::new(program);
    command.arg("-timeout=20");
    if let Some(input) = plan.input {
        command.arg(input);
        return command;
    }
    let share = (plan.seconds / plan.targets.len() as u64).max(1);
    // Long inputs from the start: a short run never gets to them otherwise.
    command.args([format!("-max_total_time={share}"), format!("-max_len={INPUT_BYTES_MAX}")]);
    command.args(["-len_control=0", "-print_final_stats=1"]);
    command.arg(format!("-artifact_prefix={}/", artifacts.display())).arg(corpus);
    command
}

/// How many inputs libFuzzer says it ran.
fn executed(report: &str) -> Option<u64> {
    let line = report.lines().find_map(|line| line.strip_prefix("stat::number_of_executed_units:"))?;
    line.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{Plan, SECONDS, TARGETS, executed};

    #[test]
    fn plans_are_read() {
        let all = Plan { targets: TARGETS.to_vec(), seconds: SECONDS, input: None };
        assert_eq!(Plan::read(&[]), Some(all));
        let short = Plan { targets: TARGETS.to_vec(), seconds: 5, input: None };
        assert_eq!(Plan::read(&["--seconds", "5"]), Some(short));
        let one = Plan { targets: vec!["tasks"], seconds: SECONDS, input: Some("crash-1") };
        assert_eq!(Plan::read(&["tasks", "crash-1"]), Some(one));
        for words in [&["--seconds"][..], &["--seconds", "x"], &["nothing"], &["tasks", "--what"]] {
            assert_eq!(Plan::read(words), None, "{words:?}");
        }
    }

    #[test]
    fn the_number_of_inputs_is_read() {
        assert_eq!(executed("#1 NEW\nstat::number_of_executed_units: 42\n"), Some(42));
        assert_eq!(executed("==1== ERROR"), None);
    }
}

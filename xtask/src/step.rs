//! One step of the checks: a command, run and watched. Its output is passed on line by line, and the tests
//! that it reports are counted on the way, so that the last line of `ci` is a sum and not a hope.

use std::fmt;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How a step proves that it ran tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Proof {
    /// It runs none: its exit status is all there is.
    Status,
    /// Each `test result:` line of a Rust test run counts; there must be a test among them.
    TestResults,
    /// Its last line is `N passed, M failed`.
    LastLine,
    /// The same, or `skipped: why`: what it needs is not on every machine.
    LastLineUnlessSkipped,
}

/// A command with a name.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    /// A word or two.
    pub(crate) name: &'static str,
    /// The program and its arguments.
    pub(crate) command: Vec<String>,
    /// Variables for this step only.
    pub(crate) environment: Vec<(&'static str, String)>,
    /// How it is counted.
    pub(crate) proof: Proof,
    /// A file without which there is nothing to check yet.
    pub(crate) needs: Option<&'static str>,
}

impl Step {
    /// A step that is judged by its exit status.
    pub(crate) fn new(name: &'static str, command: &[&str]) -> Step {
        let command = command.iter().map(|&word| word.to_owned()).collect();
        Step { name, command, environment: Vec::new(), proof: Proof::Status, needs: None }
    }

    /// With a variable in its environment.
    pub(crate) fn with(mut self, variable: &'static str, value: impl Into<String>) -> Step {
        self.environment.push((variable, value.into()));
        self
    }

    /// Counted.
    pub(crate) fn proven_by(mut self, proof: Proof) -> Step {
        self.proof = proof;
        self
    }

    /// Skipped when this file is missing.
    pub(crate) fn needs(mut self, path: &'static str) -> Step {
        self.needs = Some(path);
        self
    }
}

/// The command as one would type it.
impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (variable, value) in &self.environment {
            write!(f, "{variable}={} ", quoted(value))?;
        }
        let words: Vec<String> = self.command.iter().map(|word| quoted(word)).collect();
        f.write_str(&words.join(" "))
    }
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+".contains(c);
    if !word.is_empty() && word.chars().all(plain) { word.to_owned() } else { format!("'{word}'") }
}

/// Tests that ran.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Count {
    /// Those that passed.
    pub(crate) passed: u64,
    /// Those that did not.
    pub(crate) failed: u64,
}

impl Count {
    /// Adds another run.
    pub(crate) fn add(&mut self, other: Count) {
        self.passed += other.passed;
        self.failed += other.failed;
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)
    }
}

/// What became of a step.
#[derive(Debug)]
pub(crate) struct Report {
    /// The tests it ran.
    pub(crate) count: Count,
    /// How long it took.
    pub(crate) time: Duration,
    /// Why it failed, if it did.
    pub(crate) failure: Option<String>,
}

/// Runs a step in `root`, passing its output on.
pub(crate) fn run(root: &Path, step: &Step) -> Report {
    let begin = Instant::now();
    let mut watcher = Watcher::new(step.proof);
    let failure = match watch(root, step, &mut watcher) {
        Ok(true) => watcher.verdict(),
        Ok(false) => Some("the command failed".to_owned()),
        Err(error) => Some(format!("the command could not be run: {error}")),
    };
    Report { count: watcher.count, time: begin.elapsed(), failure }
}

fn watch(root: &Path, step: &Step, watcher: &mut Watcher) -> std::io::Result<bool> {
    let mut command = Command::new(&step.command[0]);
    command.args(&step.command[1..]).current_dir(root).stdout(Stdio::piped());
    // What cargo told this program about itself is not meant for the cargo that it starts.
    for (variable, _) in std::env::vars_os() {
        let name = variable.to_string_lossy();
        if name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&variable);
        }
    }
    command.envs(step.environment.iter().map(|(variable, value)| (variable, value)));
    let mut child = command.spawn()?;
    let mut output = BufReader::new(child.stdout.take().expect("the output was asked for"));
    let mut line = Vec::new();
    while output.read_until(b'\n', &mut line)? > 0 {
        let text = String::from_utf8_lossy(&line);
        print!("{text}");
        watcher.see(text.trim());
        line.clear();
    }
    Ok(child.wait()?.success())
}

/// Reads the output of a step and counts.
#[derive(Debug)]
struct Watcher {
    proof: Proof,
    count: Count,
    last_line: Option<Count>,
    skipped: bool,
}

impl Watcher {
    fn new(proof: Proof) -> Watcher {
        Watcher { proof, count: Count::default(), last_line: None, skipped: false }
    }

    fn see(&mut self, line: &str) {
        match self.proof {
            Proof::Status => {}
            Proof::TestResults => {
                if let Some(count) = line.strip_prefix("test result:").and_then(count) {
                    self.count.add(count);
                }
            }
            Proof::LastLine | Proof::LastLineUnlessSkipped if line.is_empty() => {}
            Proof::LastLine | Proof::LastLineUnlessSkipped => {
                self.skipped = self.proof == Proof::LastLineUnlessSkipped && line.starts_with("skipped: ");
                self.last_line = count(line);
                self.count = self.last_line.unwrap_or_default();
            }
        }
    }

    /// Why the step does not count as passed although its command succeeded.
    fn verdict(&self) -> Option<String> {
        if self.proof == Proof::Status || self.skipped {
            None
        } else if self.proof != Proof::TestResults && self.last_line.is_none() {
            Some("its last line is not «N passed, M failed», so nothing proves that it ran".to_owned())
        } else if self.count.failed > 0 {
            Some(format!("{} tests failed", self.count.failed))
        } else if self.count.passed == 0 {
            Some("no test ran".to_owned())
        } else {
            None
        }
    }
}

/// Reads `N passed` and `M failed` out of a line that has both.
fn count(line: &str) -> Option<Count> {
    let number_before = |word: &str| {
        let (before, _) = line.split_once(word)?;
        before.rsplit(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
    };
    Some(Count { passed: number_before(" passed")?, failed: number_before(" failed")? })
}

#[cfg(test)]
mod tests {
    use super::{Count, Proof, Step, Watcher, count, run};
    use std::path::Path;

    fn seen(proof: Proof, lines: &[&str]) -> Watcher {
        let mut watcher = Watcher::new(proof);
        lines.iter().for_each(|line| watcher.see(line));
        watcher
    }

    #[test]
    fn counts_are_read() {
        let line = "ok. 12 passed; 1 failed; 3 ignored; 0 measured; 0 filtered out; finished in 0.00s";
        assert_eq!(count(line), Some(Count { passed: 12, failed: 1 }));
        assert_eq!(count("7 passed, 0 failed"), Some(Count { passed: 7, failed: 0 }));
        assert_eq!(count("passed and failed"), None);
    }

    #[test]
    fn test_results_are_summed() {
        let lines = [
            "test result: ok. 2 passed; 0 failed",
            "9 passed, 9 failed",
            "test result: ok. 3 passed; 0 failed",
        ];
        let watcher = seen(Proof::TestResults, &lines);
        assert_eq!((watcher.count, watcher.verdict()), (Count { passed: 5, failed: 0 }, None));
        assert_eq!(seen(Proof::TestResults, &["ok"]).verdict().as_deref(), Some("no test ran"));
    }

    #[test]
    fn the_last_line_decides() {
        assert_eq!(seen(Proof::LastLine, &["x", "3 passed, 0 failed", ""]).verdict(), None);
        assert!(seen(Proof::LastLine, &["3 passed, 0 failed", "more"]).verdict().is_some());
        assert!(seen(Proof::LastLine, &["3 passed, 1 failed"]).verdict().is_some());
        assert!(seen(Proof::LastLine, &[]).verdict().is_some());
        assert!(seen(Proof::LastLine, &["skipped: no such thing"]).verdict().is_some());
        assert_eq!(seen(Proof::LastLineUnlessSkipped, &["skipped: no nightly"]).verdict(), None);
        assert!(
            seen(Proof::LastLineUnlessSkipped, &["skipped: no", "0 passed, 1 failed"]).verdict().is_some()
        );
    }

    #[test]
    fn a_command_can_be_typed_again() {
        let step = Step::new("x", &["cargo", "test", "--", "-D warnings"]).with("RUSTFLAGS", "--cfg loom");
        assert_eq!(step.to_string(), "RUSTFLAGS='--cfg loom' cargo test -- '-D warnings'");
    }

    #[test]
    fn a_failing_command_fails_its_step() {
        let here = Path::new(".");
        assert!(run(here, &Step::new("x", &["false"])).failure.is_some());
        assert!(run(here, &Step::new("x", &["no-such-program-here"])).failure.is_some());
        assert!(run(here, &Step::new("x", &["true"])).failure.is_none());
        let echo =
            Step::new("x", &["echo", "test result: ok. 4 passed; 0 failed"]).proven_by(Proof::TestResults);
        assert_eq!(run(here, &echo).count, Count { passed: 4, failed: 0 });
    }
}

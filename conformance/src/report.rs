//! A family of cases, run and counted.

use std::collections::BTreeSet;
use std::fmt;

use crate::deviations::Deviations;
use crate::parse::{Case, Problem, cases};
use crate::verdict::{Laps, Verdict, judge_with};

/// The counts of one corpus file. Every case is in exactly one of `passed`, `deviating`, `failing`.
#[derive(Clone, Debug, Default)]
pub struct Family {
    /// Its name: `core`.
    pub name: String,
    /// How many cases it has.
    pub cases: usize,
    /// How many gave the expected trace.
    pub passed: usize,
    /// How many differ and are listed.
    pub deviating: usize,
    /// The others: name, and what is wrong in one line.
    pub failing: Vec<(String, String)>,
    /// What is wrong with the list itself: listed cases that pass, or that do not exist.
    pub stale: Vec<String>,
}

impl Family {
    /// Runs all cases of a corpus file.
    ///
    /// # Errors
    /// The text is no corpus file.
    pub fn judge(name: &str, text: &str, deviations: &Deviations, laps: Laps) -> Result<Self, Problem> {
        let cases = cases(text)?;
        let mut family = Family { name: name.to_owned(), cases: cases.len(), ..Family::default() };
        for case in &cases {
            family.count(case, judge_with(case, laps), deviations.reason(&case.name));
        }
        let names: BTreeSet<&str> = cases.iter().map(|case| case.name.as_str()).collect();
        let absent = deviations.of_family(name).filter(|listed| !names.contains(listed));
        family.stale.extend(absent.map(|listed| format!("#{listed} is listed, but there is no such case")));
        Ok(family)
    }

    fn count(&mut self, case: &Case, verdict: Verdict, listed: Option<&str>) {
        match (verdict, listed) {
            (Verdict::Passed, None) => self.passed += 1,
            (Verdict::Passed, Some(_)) => {
                self.passed += 1;
                self.stale.push(format!("#{} passes: remove it from the list", case.name));
            }
            (Verdict::Differs(_), Some(_)) => self.deviating += 1,
            // A panic or an endless loop is nobody's purpose, so the list does not excuse it.
            (verdict, _) => self.failing.push((case.name.clone(), verdict.reason(case))),
        }
    }

    /// Cases gone wrong, and each fault of the list.
    #[must_use]
    pub fn failed(&self) -> usize {
        self.failing.len() + self.stale.len()
    }
}

/// `core: 1990 of 2000`, and what else there is to count.
impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} of {}", self.name, self.passed, self.cases)?;
        if self.deviating > 0 {
            write!(f, ", {} listed deviations", self.deviating)?;
        }
        if !self.failing.is_empty() {
            write!(f, ", {} failing", self.failing.len())?;
        }
        Ok(())
    }
}

//! Which rows of a table are shown by a test: the rows, the exceptions, the tests that claim
//! them (`claims.rs`), and the report.
//!
//! ```text
//!   row ──┬─ a test that runs claims it       covered
//!         ├─ the table or the list of         excepted, with the reason
//!         │  exceptions says why not
//!         └─ else                             missing: fails
//! ```
//!
//! The last line of a report is `N passed, M failed`: rows covered, and rows missing plus mistakes. What a
//! table means, and where its tests stand: `behaviours.rs`, `faults.rs`.

pub(crate) mod claims;

use crate::step::Count;
use crate::tidy::Violation;
use crate::tree::Tree;
use claims::{Claim, Standing};
use std::collections::{BTreeMap, BTreeSet};

/// One row of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    /// What tests call it.
    pub(crate) id: String,
    /// The module or area under which it is reported.
    pub(crate) group: String,
    /// What it asks for.
    pub(crate) duty: Duty,
}

/// What a row asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Duty {
    /// A test.
    Test,
    /// A test, or an exception with a reason.
    TestOrReason,
    /// Nothing, for the reason that the table gives.
    Nothing(String),
}

/// A table with what is known about its rows.
#[derive(Debug)]
pub(crate) struct Coverage {
    /// The table, in its order.
    pub(crate) rows: Vec<Row>,
    /// How an excepted row is called in the report.
    pub(crate) excepted: &'static str,
    /// Rows that need no test, each with the reason.
    pub(crate) exceptions: BTreeMap<String, String>,
    /// The tests.
    pub(crate) claims: Vec<Claim>,
    /// What is wrong, however many rows are covered.
    pub(crate) violations: Vec<Violation>,
}

/// A report: its text, and the counts of its last line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Report {
    /// All lines but the last.
    pub(crate) lines: Vec<String>,
    /// Rows covered; rows missing plus mistakes.
    pub(crate) count: Count,
}

impl Coverage {
    /// Reads the exceptions (`ID<TAB>reason`) and checks them and the claims against the rows.
    pub(crate) fn new(
        rows: Vec<Row>,
        excepted: &'static str,
        (exceptions_path, exceptions): (&str, &str),
        (claims, violations): (Vec<Claim>, Vec<Violation>),
    ) -> Coverage {
        let mut coverage = Coverage { rows, excepted, exceptions: BTreeMap::new(), claims, violations };
        coverage.read_exceptions(exceptions_path, exceptions);
        coverage.check_claims();
        coverage
    }

    fn duties(&self) -> BTreeMap<&str, &Duty> {
        self.rows.iter().map(|row| (row.id.as_str(), &row.duty)).collect()
    }

    fn read_exceptions(&mut self, path: &str, text: &str) {
        let duties = self.duties();
        let (mut exceptions, mut wrong) = (BTreeMap::new(), Vec::new());
        for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.is_empty()) {
            let mut say = |advice: String| wrong.push(Violation::new(path, index + 1, advice));
            let (id, reason) = line.split_once('\t').unwrap_or((line, ""));
            match duties.get(id) {
                None => say(format!("{id} is not in the table: correct the id")),
                Some(Duty::TestOrReason) if reason.trim().is_empty() => {
                    say(format!("{id} has no reason: write `{id}<TAB>why`"));
                }
                Some(Duty::TestOrReason) => {
                    if exceptions.insert(id.to_owned(), reason.trim().to_owned()).is_some() {
                        say(format!("{id} stands here twice: delete one line"));
                    }
                }
                Some(Duty::Test) => {
                    say(format!("{id} asks for a test and takes no exception: write the test"))
                }
                Some(Duty::Nothing(_)) => say(format!("{id} asks for nothing: delete the line")),
            }
        }
        self.exceptions = exceptions;
        self.violations.extend(wrong);
    }

    fn check_claims(&mut self) {
        let duties = self.duties();
        let (mut names, mut wrong) = (BTreeMap::new(), Vec::new());
        for claim in &self.claims {
            let mut say = |advice: String| wrong.push(Violation::new(&claim.path, claim.line, advice));
            for id in &claim.ids {
                if !duties.contains_key(id.as_str()) {
                    say(format!("{} claims {id}, which is not in the table: correct the id", claim.name));
                }
                if self.exceptions.contains_key(id) && claim.standing == Standing::Runs {
                    say(format!(
                        "{} shows {id}, which is listed as {}: delete it there",
                        claim.name, self.excepted
                    ));
                }
            }
            if let Some(other) = names.insert(&claim.name, &claim.path) {
                say(format!("{} stands in {other} too: one name, one test", claim.name));
            }
        }
        self.violations.extend(wrong);
    }

    /// The groups of the table, in its order.
    pub(crate) fn groups(&self) -> Vec<&str> {
        let mut seen = BTreeSet::new();
        self.rows.iter().map(|row| row.group.as_str()).filter(|group| seen.insert(*group)).collect()
    }

    /// Reports on some groups, or on all.
    ///
    /// # Errors
    /// A sentence, if there is no such group.
    pub(crate) fn report(&self, wanted: &[&str]) -> Result<Report, String> {
        let groups = self.groups();
        if let Some(unknown) = wanted.iter().find(|group| !groups.contains(*group)) {
            return Err(format!("there is no «{unknown}»: choose among {}", groups.join(" ")));
        }
        let mut report = Report { lines: Vec::new(), count: Count::default() };
        for group in groups.iter().filter(|group| wanted.is_empty() || wanted.contains(*group)) {
            self.report_group(group, &mut report);
        }
        report.lines.extend(self.violations.iter().map(ToString::to_string));
        report.count.failed += self.violations.len() as u64;
        Ok(report)
    }

    fn report_group(&self, group: &str, report: &mut Report) {
        let claimed = |standing: Standing| -> BTreeSet<&str> {
            let claims = self.claims.iter().filter(|claim| claim.standing == standing);
            claims.flat_map(|claim| claim.ids.iter().map(String::as_str)).collect()
        };
        let (shown, ignored) = (claimed(Standing::Runs), claimed(Standing::Ignored));
        let (mut covered, mut excepted, mut missing) = (0, Vec::new(), Vec::new());
        for row in self.rows.iter().filter(|row| row.group == group) {
            let reason = match &row.duty {
                Duty::Nothing(reason) => Some(reason),
                Duty::Test | Duty::TestOrReason => self.exceptions.get(&row.id),
            };
            match reason {
                _ if shown.contains(row.id.as_str()) => covered += 1,
                Some(reason) => excepted.push(format!("    {}: {reason}", row.id)),
                None if ignored.contains(row.id.as_str()) => missing.push(format!("{} (ignored)", row.id)),
                None => missing.push(row.id.clone()),
            }
        }
        report.lines.push(format!(
            "{group}: {covered} covered, {} {}, {} missing",
            excepted.len(),
            self.excepted,
            missing.len()
        ));
        report.lines.extend(excepted);
        report.lines.extend((!missing.is_empty()).then(|| format!("    missing: {}", missing.join(" "))));
        report.count.add(Count { passed: covered, failed: missing.len() as u64 });
    }

    /// Prints a report; tells whether nothing is missing and nothing is wrong.
    pub(crate) fn print(&self, wanted: &[&str]) -> bool {
        match self.report(wanted) {
            Ok(report) => {
                report.lines.iter().for_each(|line| println!("{line}"));
                println!("{}", report.count);
                report.count.failed == 0
            }
            Err(advice) => {
                eprintln!("{advice}");
                false
            }
        }
    }
}

/// Every claim in the Rust files that `stands` picks.
pub(crate) fn claims_in(tree: &Tree, stands: impl Fn(&str) -> bool) -> (Vec<Claim>, Vec<Violation>) {
    let (mut claims, mut violations) = (Vec::new(), Vec::new());
    for (path, text) in tree.with_extension("rs").filter(|(path, _)| stands(path)) {
        let (found, wrong) = claims::find(path, text);
        claims.extend(found);
        violations.extend(wrong);
    }
    (claims, violations)
}

/// The fields of each line of a table but the first, which names them.
pub(crate) fn fields<'a>(tree: &'a Tree, path: &str) -> Result<Vec<Vec<&'a str>>, String> {
    let text = tree.text(path).ok_or_else(|| format!("{path} is missing: the table stands there"))?;
    Ok(text.lines().skip(1).map(|line| line.split('\t').collect()).collect())
}

#[cfg(test)]
mod tests {
    use super::{Count, Coverage, Duty, Row, claims};

    fn coverage(exceptions: &str, source: &str) -> Coverage {
        let row = |id: &str, group: &str, duty| Row { id: id.into(), group: group.into(), duty };
        let rows = vec![
            row("A-1", "a", Duty::Test),
            row("A-2", "a", Duty::TestOrReason),
            row("A-3", "a", Duty::Nothing("no syntax".into())),
            row("B-1", "b", Duty::Test),
        ];
        Coverage::new(rows, "excepted", ("list.tsv", exceptions), claims::find("a.rs", source))
    }

    #[track_caller]
    fn check(exceptions: &str, source: &str, expected: &[&str], passed: u64, failed: u64) {
        let report = coverage(exceptions, source).report(&["a"]).unwrap();
        assert_eq!(report.lines, expected);
        assert_eq!(report.count, Count { passed, failed });
    }

    const BOTH: &str = "/// A-1, A-2: x\n#[test]\nfn a_1_x() {}\n";
    const FIRST: &str = "/// A-1: x\n#[test]\nfn a_1_x() {}\n";

    #[test]
    fn rows_are_covered_excepted_or_missing() {
        let nothing = "    A-3: no syntax";
        check("", BOTH, &["a: 2 covered, 1 excepted, 0 missing", nothing], 2, 0);
        check("A-2\twhy\n", FIRST, &["a: 1 covered, 2 excepted, 0 missing", "    A-2: why", nothing], 1, 0);
        check("", "", &["a: 0 covered, 1 excepted, 2 missing", nothing, "    missing: A-1 A-2"], 0, 2);
    }

    #[test]
    fn a_test_that_is_switched_off_does_not_count() {
        let source = BOTH.replace("#[test]", "#[test]\n#[ignore = \"x\"]");
        let missing = "    missing: A-1 (ignored) A-2 (ignored)";
        check("", &source, &["a: 0 covered, 1 excepted, 2 missing", "    A-3: no syntax", missing], 0, 2);
    }

    #[test]
    fn a_row_that_asks_for_nothing_may_be_shown() {
        let source = format!("{BOTH}/// A-3: y\n#[test]\nfn a_3_y() {{}}");
        check("", &source, &["a: 3 covered, 0 excepted, 0 missing"], 3, 0);
    }

    #[test]
    fn groups_are_chosen_by_name() {
        let coverage = coverage("", BOTH);
        assert_eq!(coverage.groups(), ["a", "b"]);
        assert_eq!(coverage.report(&[]).unwrap().count, Count { passed: 2, failed: 1 });
        assert!(coverage.report(&["c"]).unwrap_err().contains("there is no «c»"));
    }

    #[test]
    fn mistakes_are_said_and_fail() {
        let said = |exceptions: &str, source: &str, expected: &str| {
            let coverage = coverage(exceptions, source);
            let said: Vec<String> = coverage.violations.iter().map(ToString::to_string).collect();
            assert!(said.len() == 1 && said[0].contains(expected), "{said:?}");
            assert!(coverage.report(&["b"]).unwrap().count.failed >= 1);
        };
        said("A-9\twhy", BOTH, "list.tsv:1: A-9 is not in the table");
        said("A-2", FIRST, "A-2 has no reason");
        said("A-2\twhy\nA-2\tsee", FIRST, "list.tsv:2: A-2 stands here twice");
        said("A-1\twhy", BOTH, "A-1 asks for a test");
        said("A-3\twhy", BOTH, "A-3 asks for nothing");
        said("A-2\twhy", BOTH, "a.rs:3: a_1_x shows A-2, which is listed");
        said("", "/// C-1: x\n#[test]\nfn c_1_x() {}", "c_1_x claims C-1, which is not in the table");
        said("", &format!("{BOTH}{BOTH}"), "a.rs:6: a_1_x stands in a.rs too");
    }
}

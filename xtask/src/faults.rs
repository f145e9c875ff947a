//! `cargo xtask faults`: which real faults of other runtimes are shown, by a test, not to be ours.
//!
//! The rows are `conformance/known-faults.tsv`; a test of any crate may claim one. A fault that cannot
//! occur, whatever the code does, stands in `conformance/faults-by-construction.tsv` with the reason,
//! which names the file that makes it so.

use crate::coverage::{Coverage, Duty, Row, claims_in, fields};
use crate::tidy::Violation;
use crate::tree::Tree;
use std::path::Path;

const TABLE: &str = "conformance/known-faults.tsv";
const EXCEPTIONS: &str = "conformance/faults-by-construction.tsv";

/// The areas whose every row is shown or impossible, and must stay so. May only grow.
pub(crate) const FINISHED: [&str; 3] = ["promises", "sync", "direct-style"];

/// Reports on some areas, or on all; tells whether no row is missing.
pub(crate) fn run(root: &Path, areas: &[&str]) -> bool {
    match Tree::read(root).and_then(|tree| coverage(&tree)) {
        Ok(coverage) => coverage.print(areas),
        Err(error) => {
            eprintln!("faults: {error}");
            false
        }
    }
}

fn coverage(tree: &Tree) -> Result<Coverage, String> {
    let mut rows = Vec::new();
    for line in fields(tree, TABLE)? {
        let [id, area, ..] = line[..] else {
            return Err(format!("{TABLE}: «{}» has no area", line.join(" ")));
        };
        rows.push(Row { id: id.to_owned(), group: area.to_owned(), duty: Duty::TestOrReason });
    }
    let (mut claims, mut violations) = claims_in(tree, may_claim);
    // Behaviours claim other rows, see `behaviours.rs`, which judges them.
    for claim in &mut claims {
        claim.ids.retain(|id| id.starts_with("BR-"));
    }
    claims.retain(|claim| !claim.ids.is_empty());
    violations.retain(|violation| !violation.path.starts_with("conformance/tests/behaviours/"));
    let exceptions = tree.text(EXCEPTIONS).unwrap_or_default();
    violations.extend(reasons_without_a_file(tree, exceptions));
    let mut coverage = Coverage::new(rows, "by construction", (EXCEPTIONS, exceptions), (claims, violations));
    coverage.violations.sort();
    Ok(coverage)
}

/// Sources and tests of the crates, the conformance tests, the examples.
fn may_claim(path: &str) -> bool {
    let crates = path.starts_with("crates/") && (path.contains("/src/") || path.contains("/tests/"));
    crates || path.starts_with("conformance/tests/") || path.starts_with("examples/")
}

/// The reason names the file that makes the fault impossible, so that who changes it can find out.
fn reasons_without_a_file(tree: &Tree, exceptions: &str) -> Vec<Violation> {
    let names_a_file = |reason: &str| {
        let words = reason.split(|c: char| c.is_whitespace() || "`,;()".contains(c));
        words
            .map(|word| word.trim_end_matches('.'))
            .any(|word| word.contains('/') && tree.text(word).is_some())
    };
    let lines = exceptions.lines().enumerate().filter(|(_, line)| !line.is_empty() && !names_a_file(line));
    lines
        .map(|(index, _)| {
            let advice = "names no file of the repository: say which one makes the fault impossible";
            Violation::new(EXCEPTIONS, index + 1, advice)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{EXCEPTIONS, FINISHED, Path, TABLE, Tree, coverage};

    const ROWS: &str = "id\tarea\tsymptom\nBR-1\tnet\tx\nBR-2\tnet\ty\nBR-3\tfs\tz\n";
    const TEST: &str = "/// BR-1: x\n#[test]\nfn br_1_x() {}\n";

    fn lines(files: &[(&str, &str)], areas: &[&str]) -> Vec<String> {
        let mut all = vec![(TABLE, ROWS)];
        all.extend(files);
        coverage(&Tree::of(&all)).unwrap().report(areas).unwrap().lines
    }

    #[test]
    fn a_fault_is_shown_in_any_crate_or_impossible() {
        let files = [
            ("crates/a/tests/x.rs", TEST),
            ("crates/a/src/b.rs", ""),
            (EXCEPTIONS, "BR-2\tsuch a value has no type, see `crates/a/src/b.rs`.\n"),
        ];
        let expected = [
            "net: 1 covered, 1 by construction, 0 missing",
            "    BR-2: such a value has no type, see `crates/a/src/b.rs`.",
        ];
        assert_eq!(lines(&files, &["net"]), expected);
        assert_eq!(
            lines(&files, &["fs"]),
            ["fs: 0 covered, 0 by construction, 1 missing", "    missing: BR-3"]
        );
        assert_eq!(lines(&[("xtask/src/x.rs", TEST)], &["net"])[1], "    missing: BR-1 BR-2");
    }

    #[test]
    fn a_behaviour_may_show_a_fault_too() {
        let test = "/// A-1, BR-1: x\n#[test]\nfn a_1_x() {}\n/// A-2: y\nfn wrong() {}\n";
        let files = [("conformance/tests/behaviours/a.rs", test)];
        let expected = ["net: 1 covered, 0 by construction, 1 missing", "    missing: BR-2"];
        assert_eq!(lines(&files, &["net"]), expected);
    }

    #[test]
    fn a_reason_names_a_file() {
        let said = lines(&[(EXCEPTIONS, "BR-2\tit cannot be\nBR-3\tsee crates/a/none.rs\n")], &["fs"]);
        let count = said.iter().filter(|line| line.contains("names no file of the repository")).count();
        assert_eq!(count, 2, "{said:?}");
    }

    #[test]
    fn the_table_and_the_finished_areas_are_there() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let coverage = coverage(&Tree::read(root).unwrap()).unwrap();
        assert_eq!(coverage.rows.len(), 147);
        let groups = coverage.groups();
        assert!(FINISHED.iter().all(|area| groups.contains(area)));
    }
}

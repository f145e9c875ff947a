//! `cargo xtask behaviours`: which behaviours of OCaml Lwt's own suites are shown by tests of ours.
//!
//! The rows are `conformance/lwt-behaviours.tsv`, their tests stand in one binary,
//! `conformance/tests/behaviours/`. A row that Lwt's module has and Rust cannot have is marked `n-a` in the
//! table; one that turned out to be so later stands with its reason in
//! `conformance/behaviours-not-applicable.tsv`, which takes only rows marked `adapted`.

use crate::coverage::{Coverage, Duty, Row, claims_in, fields};
use crate::lex;
use crate::tidy::Violation;
use crate::tree::Tree;
use std::path::Path;

const TABLE: &str = "conformance/lwt-behaviours.tsv";
const EXCEPTIONS: &str = "conformance/behaviours-not-applicable.tsv";
const TESTS: &str = "conformance/tests/behaviours/";

/// The modules whose every row is shown or excepted, and must stay so. May only grow.
pub(crate) const FINISHED: [&str; 17] = [
    "lwt",
    "list",
    "stream",
    "seq",
    "switch",
    "mutex",
    "result",
    "mvar",
    "condition",
    "pool",
    "sequence",
    "timeout",
    "throttle",
    "direct",
    "react",
    "retry",
    "ppx",
];

/// Reports on some modules, or on all; tells whether no row is missing.
pub(crate) fn run(root: &Path, modules: &[&str]) -> bool {
    match Tree::read(root).and_then(|tree| coverage(&tree)) {
        Ok(coverage) => coverage.print(modules),
        Err(error) => {
            eprintln!("behaviours: {error}");
            false
        }
    }
}

fn coverage(tree: &Tree) -> Result<Coverage, String> {
    let mut rows = Vec::new();
    for line in fields(tree, TABLE)? {
        let [id, module, _, _, _, verdict] = line[..] else {
            return Err(format!("{TABLE}: «{}» has not six fields", line.join(" ")));
        };
        rows.push(Row { id: id.to_owned(), group: short_name(module).to_owned(), duty: duty(verdict)? });
    }
    let (mut claims, mut violations) = claims_in(tree, |path| path.starts_with(TESTS));
    // A test here may show a fault too, see `faults.rs`.
    for claim in &mut claims {
        claim.ids.retain(|id| !id.starts_with("BR-"));
    }
    violations.extend(files_outside_the_binary(tree));
    let exceptions = tree.text(EXCEPTIONS).unwrap_or_default();
    Ok(Coverage::new(rows, "not applicable", (EXCEPTIONS, exceptions), (claims, violations)))
}

/// `lwt_mutex` is reported as `mutex`.
fn short_name(module: &str) -> &str {
    module.strip_prefix("lwt_").unwrap_or(module)
}

/// What the last column asks for: `yes …`, `adapted: how` or `n-a: why`.
fn duty(verdict: &str) -> Result<Duty, String> {
    if verdict.starts_with("yes") {
        Ok(Duty::Test)
    } else if verdict.starts_with("adapted") {
        Ok(Duty::TestOrReason)
    } else if let Some(reason) = verdict.strip_prefix("n-a") {
        Ok(Duty::Nothing(reason.trim_start_matches(':').trim().to_owned()))
    } else {
        Err(format!("{TABLE}: «{verdict}» is none of yes, adapted, n-a"))
    }
}

/// A file that no `mod` names is not compiled, so its tests do not run.
fn files_outside_the_binary(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (path, _) in tree.with_extension("rs").filter(|(path, _)| path.starts_with(TESTS)) {
        let inside = &path[TESTS.len()..path.len() - ".rs".len()];
        if inside == "main" {
            continue;
        }
        let module = inside.strip_suffix("/mod").unwrap_or(inside);
        let (parents, name) = match module.rsplit_once('/') {
            None => (vec![format!("{TESTS}main.rs")], module),
            Some((parent, name)) => {
                (vec![format!("{TESTS}{parent}.rs"), format!("{TESTS}{parent}/mod.rs")], name)
            }
        };
        if !parents.iter().any(|parent| declares(tree.text(parent).unwrap_or_default(), name)) {
            let advice =
                format!("is not compiled, since {} has no `mod {name};`: add it", parents.join(" or "));
            violations.push(Violation::new(path, 0, advice));
        }
    }
    violations
}

fn declares(source: &str, module: &str) -> bool {
    let declaration = format!("mod {module};");
    lex::lines(source).iter().any(|line| line.code.trim() == declaration)
}

#[cfg(test)]
mod tests {
    use super::{EXCEPTIONS, FINISHED, Path, TABLE, Tree, coverage};

    const ROWS: &str = "id\tmodule\tn\torig\tbehaviour\trust\n\
                        A-01\tlwt_a\t1\tx\ty\tyes (so)\nA-02\tlwt_a\t1\tx\ty\tadapted: else\n\
                        B-01\tlwt\t1\tx\ty\tn-a: no syntax\n";
    const TEST: &str = "//! A.\n/// A-01, BR-1: x\n#[test]\nfn a_01_x() {}\n";

    fn lines(files: &[(&str, &str)]) -> Vec<String> {
        let mut all = vec![(TABLE, ROWS)];
        all.extend(files);
        coverage(&Tree::of(&all)).unwrap().report(&[]).unwrap().lines
    }

    #[test]
    fn rows_are_matched_with_tests_and_exceptions() {
        let files = [
            ("conformance/tests/behaviours/main.rs", "//! M.\nmod a;\n"),
            ("conformance/tests/behaviours/a.rs", TEST),
            ("conformance/tests/golden.rs", "/// A-02: elsewhere\n#[test]\nfn a_02_x() {}"),
            (EXCEPTIONS, "A-02\tno such thing\n"),
        ];
        let expected = [
            "a: 1 covered, 1 not applicable, 0 missing",
            "    A-02: no such thing",
            "lwt: 0 covered, 1 not applicable, 0 missing",
            "    B-01: no syntax",
        ];
        assert_eq!(lines(&files), expected);
    }

    #[test]
    fn a_file_that_is_not_compiled_is_found() {
        let says = |files: &[(&str, &str)], expected: &str| {
            let lines = lines(files);
            assert_eq!(lines.iter().any(|line| line.contains("is not compiled")), !expected.is_empty());
            assert!(lines.iter().any(|line| line.contains(expected)), "{lines:?}");
        };
        let (main, inner) = ("conformance/tests/behaviours/main.rs", "conformance/tests/behaviours/a/b.rs");
        says(&[(main, "mod a;"), (inner, TEST)], "a/b.rs: is not compiled, since");
        says(&[(main, "// mod a;"), ("conformance/tests/behaviours/a/mod.rs", "")], "has no `mod a;`");
        says(&[(main, "mod a;"), ("conformance/tests/behaviours/a.rs", "mod b;"), (inner, TEST)], "");
        says(&[(main, "mod a;"), ("conformance/tests/behaviours/a/mod.rs", "mod b;"), (inner, TEST)], "");
    }

    #[test]
    fn the_table_and_the_finished_modules_are_there() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let coverage = coverage(&Tree::read(root).unwrap()).unwrap();
        assert_eq!(coverage.rows.len(), 671);
        let groups = coverage.groups();
        assert!(FINISHED.iter().all(|module| groups.contains(module)));
    }
}

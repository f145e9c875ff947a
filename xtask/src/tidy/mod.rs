//! The laws that a compiler does not know. Each rule is one function from the tree to violations; each
//! violation says what to do about it.
//!
//! | file | laws |
//! |---|---|
//! | `arrows.rs` | which crate may import which, and which foreign crates stay behind a fence |
//! | `ledger.rs` | where unsafe code may stand, and that each block has its remark |
//! | `text.rs` | heads of files, length, names, leftovers, machine paths |
//! | `documents.rs` | links, and the map in `ARCHITECTURE.md` |
//! | `drift.rs` | every operation has a test; the hashes beside the walk |
//!
//! What the rules compare against stands in `ARCHITECTURE.md`, in fenced blocks named `arrows`, `fences`,
//! `unsafe-ledger`, `map` and `hashes`: the document and the check are one.

mod arrows;
mod documents;
mod drift;
mod ledger;
mod text;

use crate::tree::Tree;
use std::fmt;
use std::path::Path;

/// The document that holds the tables.
pub(crate) const ARCHITECTURE: &str = "ARCHITECTURE.md";

/// One broken law.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Violation {
    /// The file.
    pub(crate) path: String,
    /// The line, counted from 1; 0 means the file as a whole.
    pub(crate) line: usize,
    /// What is wrong and what to do.
    pub(crate) advice: String,
}

impl Violation {
    pub(crate) fn new(path: &str, line: usize, advice: impl Into<String>) -> Violation {
        Violation { path: path.to_owned(), line, advice: advice.into() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.advice),
            line => write!(f, "{}:{line}: {}", self.path, self.advice),
        }
    }
}

/// What to do with the hashes in `ARCHITECTURE.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hashes {
    /// A difference is a violation.
    Compare,
    /// Write the new ones: the author has read the walk and it is still true.
    Rewrite,
}

/// Checks the repository at `root`, prints what is wrong, and tells whether nothing is.
pub(crate) fn run(root: &Path, hashes: Hashes) -> bool {
    match check_repository(root, hashes) {
        Ok((rules, violations)) if violations.is_empty() => {
            println!("tidy: {rules} rules kept");
            true
        }
        Ok((_, violations)) => {
            for violation in &violations {
                println!("{violation}");
            }
            println!("tidy: {} violations", violations.len());
            false
        }
        Err(error) => {
            println!("tidy: {error}");
            false
        }
    }
}

fn check_repository(root: &Path, hashes: Hashes) -> Result<(usize, Vec<Violation>), String> {
    let mut tree = Tree::read(root)?;
    if hashes == Hashes::Rewrite {
        let text = tree.text(ARCHITECTURE).ok_or("ARCHITECTURE.md is missing: nothing to bless")?;
        let blessed = drift::bless(&tree, text);
        std::fs::write(root.join(ARCHITECTURE), blessed).map_err(|e| format!("{ARCHITECTURE}: {e}"))?;
        tree = Tree::read(root)?;
    }
    let metadata = arrows::metadata(root)?;
    let mut violations = arrows::check(&tree, &metadata);
    for rule in RULES {
        violations.extend(rule(&tree));
    }
    violations.sort();
    Ok((RULES.len() + 1, violations))
}

type Rule = fn(&Tree) -> Vec<Violation>;

/// Every rule that needs nothing but the tree.
const RULES: &[Rule] = &[
    ledger::unsafe_stands_in_the_ledger,
    ledger::unsafe_blocks_have_remarks,
    ledger::lint_table_is_inherited,
    text::files_open_with_a_head_comment,
    text::files_are_short,
    text::lines_are_short,
    text::names_say_something,
    text::nothing_is_left_over,
    text::no_trailing_whitespace,
    text::no_machine_paths,
    text::lock_file_names_one_registry,
    documents::links_resolve,
    documents::named_paths_exist,
    documents::map_is_true,
    drift::operations_are_tested,
    drift::hashes_match,
];

/// The lines of the fenced block called `name` in `ARCHITECTURE.md`, with their numbers. Blank
/// lines and `#` comments are left out.
fn block<'a>(tree: &'a Tree, name: &str) -> Result<Vec<(usize, &'a str)>, Violation> {
    let missing = || {
        Violation::new(
            ARCHITECTURE,
            0,
            format!("has no block ```{name}: write one, tidy compares the code with it"),
        )
    };
    let text = tree.text(ARCHITECTURE).ok_or_else(missing)?;
    let opening = format!("```{name}");
    let mut lines = text.lines().enumerate().skip_while(|(_, line)| line.trim_end() != opening);
    lines.next().ok_or_else(missing)?;
    Ok(lines
        .take_while(|(_, line)| !line.starts_with("```"))
        .map(|(index, line)| (index + 1, line))
        .filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'))
        .collect())
}

/// The short name of a package: `lisle-core` is `core`.
fn short_name(package: &str) -> &str {
    package.strip_prefix("lisle-").unwrap_or(package)
}

/// Asserts that a rule, run on `files`, says exactly what `expected` says: one fragment for each violation.
#[cfg(test)]
#[track_caller]
fn expect(rule: Rule, files: &[(&str, &str)], expected: &[&str]) {
    expect_violations(&rule(&Tree::of(files)), expected);
}

#[cfg(test)]
#[track_caller]
fn expect_violations(violations: &[Violation], expected: &[&str]) {
    let said: Vec<String> = violations.iter().map(Violation::to_string).collect();
    let all_there = said.len() == expected.len() && said.iter().zip(expected).all(|(s, e)| s.contains(e));
    assert!(all_there, "expected {expected:#?}, got {said:#?}");
}

#[cfg(test)]
mod tests {
    use super::{ARCHITECTURE, Tree, block, short_name};

    #[test]
    fn blocks_are_found_by_name() {
        let tree = Tree::of(&[(ARCHITECTURE, "a\n```map\nx  y\n\n# z\n  w\n```\n```other\nv\n```\n")]);
        assert_eq!(block(&tree, "map").unwrap(), [(3, "x  y"), (6, "  w")]);
        assert!(block(&tree, "ma").is_err());
    }

    #[test]
    fn packages_have_short_names() {
        assert_eq!(short_name("lisle-core"), "core");
        assert_eq!(short_name("lisle"), "lisle");
    }
}

//! Laws about things that drift apart: operations and their tests, the walk in
//! `ARCHITECTURE.md` and the code it walks.
//!
//! The block `hashes` has one line for each file that the walk describes: its path and the hash of its text.
//! When the file changes, its author reads the walk again and runs `cargo xtask tidy --bless`. The hash
//! (FNV-1a, 64 bits) finds changes; it guards against nothing else.

use super::{ARCHITECTURE, Tree, Violation, block};
use crate::lex;

const OPERATIONS: &str = "crates/engine/src/op.rs";
const ENGINE_TESTS: &str = "crates/engine/tests/";

/// Each variant of `Op` is named in a test of the engines.
pub(super) fn operations_are_tested(tree: &Tree) -> Vec<Violation> {
    let Some(source) = tree.text(OPERATIONS) else {
        return Vec::new();
    };
    let variants = variants(source);
    if variants.is_empty() {
        return vec![Violation::new(
            OPERATIONS,
            0,
            "holds no `pub enum Op`: the check did not run; teach it the new place",
        )];
    }
    let tests: Vec<String> = tree
        .with_extension("rs")
        .filter(|(path, _)| path.starts_with(ENGINE_TESTS))
        .flat_map(|(_, text)| lex::lines(text).into_iter().map(|line| line.code))
        .collect();
    let tested = |name: &str| {
        let used = format!("Op::{name}");
        tests.iter().any(|code| lex::words(code, &used).next().is_some())
    };
    variants
        .into_iter()
        .filter(|(_, name)| !tested(name))
        .map(|(line, name)| {
            let advice =
                format!("`Op::{name}` has no test: write one in {ENGINE_TESTS} that runs on every engine");
            Violation::new(OPERATIONS, line, advice)
        })
        .collect()
}

/// The variants of `pub enum Op`, with their line numbers.
fn variants(source: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut depth = 0_usize;
    let mut inside = false;
    for (index, line) in lex::lines(source).iter().enumerate() {
        let code = line.code.trim();
        if !inside {
            inside = code.starts_with("pub enum Op ") || code == "pub enum Op{";
            depth = usize::from(inside);
            continue;
        }
        if depth == 1 && code.starts_with(char::is_uppercase) {
            found.push((index + 1, code.chars().take_while(|&c| lex::is_name(c)).collect()));
        }
        for character in code.chars() {
            match character {
                '{' | '(' => depth += 1,
                '}' | ')' => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        if depth == 0 {
            break;
        }
    }
    found
}

/// The hash of a text.
fn hash(text: &str) -> String {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    format!("{:016x}", text.bytes().fold(0xcbf2_9ce4_8422_2325, step))
}

/// The files beside the walk are the ones that the walk describes.
pub(super) fn hashes_match(tree: &Tree) -> Vec<Violation> {
    let lines = match block(tree, "hashes") {
        Ok(lines) => lines,
        Err(violation) => return vec![violation],
    };
    let mut violations = Vec::new();
    for (number, line) in lines {
        let mut words = line.split_whitespace();
        let (path, written) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        match tree.text(path) {
            Some(text) if hash(text) != written => {
                let advice = format!(
                    "{path} has changed since the walk was read: read the walk again, correct it, then run \
                     `cargo xtask tidy --bless`"
                );
                violations.push(Violation::new(ARCHITECTURE, number, advice));
            }
            None if tree.has_home_of(path) => {
                let advice = format!(
                    "the walk goes through {path}, which is not there: correct the walk and the block"
                );
                violations.push(Violation::new(ARCHITECTURE, number, advice));
            }
            None => println!("tidy: note: {path} is not written yet, so its hash is not compared"),
            Some(_) => {}
        }
    }
    violations
}

/// The document with the hashes of today in its block `hashes`.
pub(super) fn bless(tree: &Tree, document: &str) -> String {
    let mut inside = false;
    let mut blessed = String::new();
    for line in document.lines() {
        if line.starts_with("```") {
            inside = line.trim_end() == "```hashes";
        }
        let path = line.split_whitespace().next().unwrap_or_default();
        match tree.text(path) {
            Some(text) if inside => blessed.push_str(&format!("{path:<36} {}", hash(text))),
            _ => blessed.push_str(line),
        }
        blessed.push('\n');
    }
    blessed
}

#[cfg(test)]
mod tests {
    use super::super::{expect, expect_violations};
    use super::{ARCHITECTURE, OPERATIONS, Tree, bless, hash, hashes_match, operations_are_tested};

    #[test]
    fn each_operation_has_a_test() {
        let source = "/// Ops.\npub enum Op {\n    /// A.\n    Nop,\n    Send {\n        Fd: u8,\n    },\n    \
                      Pair(A,\n  B),\n}\npub enum Outcome {\n    Done,\n}\n";
        let check = |tests: &str, expected: &[&str]| {
            expect(
                operations_are_tested,
                &[(OPERATIONS, source), ("crates/engine/tests/a.rs", tests)],
                expected,
            );
        };
        check("Op::Nop; Op::Send { .. }; Op::Pair(a, b);", &[]);
        check(
            "Op::Nop; Op::SendAll; // Op::Pair",
            &["op.rs:5: `Op::Send` has no test", "op.rs:8: `Op::Pair`"],
        );
        expect(operations_are_tested, &[], &[]);
        expect(operations_are_tested, &[(OPERATIONS, "enum Ops {}")], &["the check did not run"]);
    }

    #[test]
    fn hashes_find_changes_and_blessing_takes_them() {
        let document = "walk\n```hashes\ncrates/a/x.rs  0\ncrates/later/y.rs  -\n```\ncrates/a/x.rs  0\n";
        let files = [(ARCHITECTURE, document), ("crates/a/x.rs", "x"), ("crates/a/Cargo.toml", "")];
        expect(hashes_match, &files, &["ARCHITECTURE.md:3: crates/a/x.rs has changed"]);
        let blessed = bless(&Tree::of(&files), document);
        assert!(blessed.ends_with("crates/later/y.rs  -\n```\ncrates/a/x.rs  0\n"), "{blessed}");
        let files = [(ARCHITECTURE, blessed.as_str()), files[1]];
        expect(hashes_match, &files, &[]);
    }

    #[test]
    fn the_walk_goes_through_what_is_there() {
        let tree =
            Tree::of(&[(ARCHITECTURE, "```hashes\ncrates/a/x.rs 0\n```"), ("crates/a/Cargo.toml", "")]);
        expect_violations(&hashes_match(&tree), &["which is not there"]);
        expect(hashes_match, &[], &["has no block ```hashes"]);
    }

    #[test]
    fn the_hash_is_fnv_1a() {
        assert_eq!(hash(""), "cbf29ce484222325");
        assert_eq!(hash("a"), "af63dc4c8601ec8c");
    }
}

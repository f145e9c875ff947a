//! Where unsafe code may stand. The block `unsafe-ledger` of `ARCHITECTURE.md` has one line for each file:
//! its path (`*` stands for any name in a folder), then what for. Elsewhere the word `unsafe` is a violation.
//!
//! Tests and benchmarks (`tests/`, `benches/`, and the workspaces `bench/` and `fuzz/`) may be unsafe without
//! a line in the ledger, but not without a remark.

use super::{ARCHITECTURE, Tree, Violation, block};
use crate::lex::{self, Line};

/// How far above an unsafe block its remark may end.
const REMARK_DISTANCE_LINES_MAX: usize = 7;

/// The first line (from 1) on which `unsafe` is a word of the code, or on which the lint is switched off.
fn first_unsafe_line(source: &str) -> Option<usize> {
    let is_unsafe = |code: &str| lex::words(code, "unsafe").next().is_some() || switches_lint_off(code);
    lex::lines(source).iter().position(|line| is_unsafe(&line.code)).map(|index| index + 1)
}

fn switches_lint_off(code: &str) -> bool {
    lex::words(code, "unsafe_code").next().is_some()
        && ["allow", "expect", "warn"].iter().any(|level| lex::words(code, level).next().is_some())
}

fn is_test(path: &str) -> bool {
    path.starts_with("bench/")
        || path.starts_with("fuzz/")
        || path.split('/').any(|part| part == "tests" || part == "benches")
}

/// Whether `path` is what `pattern` says; one `*` stands for anything but a `/`.
fn matches(pattern: &str, path: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == path,
        Some((start, end)) => path
            .strip_prefix(start)
            .and_then(|rest| rest.strip_suffix(end))
            .is_some_and(|middle| !middle.contains('/')),
    }
}

/// Unsafe code is in the ledger, and the ledger lists no more than there is.
pub(super) fn unsafe_stands_in_the_ledger(tree: &Tree) -> Vec<Violation> {
    let ledger: Vec<(usize, &str)> = match block(tree, "unsafe-ledger") {
        Ok(lines) => {
            lines.into_iter().filter_map(|(n, line)| Some((n, line.split_whitespace().next()?))).collect()
        }
        Err(violation) => return vec![violation],
    };
    let mut violations = Vec::new();
    for (path, text) in tree.with_extension("rs").filter(|(path, _)| !is_test(path)) {
        let found = first_unsafe_line(text);
        let entry = ledger.iter().find(|(_, pattern)| matches(pattern, path));
        match (entry, found) {
            (None, Some(line)) => violations.push(Violation::new(
                path,
                line,
                format!(
                    "unsafe code outside the ledger: use safe code, or move it into a file of the ledger; a new \
                     ledger file needs a line in {ARCHITECTURE} and `#![allow(unsafe_code)]` at its own top"
                ),
            )),
            (Some(&(line, pattern)), None) if !pattern.contains('*') => violations.push(Violation::new(
                ARCHITECTURE,
                line,
                format!("{path} has no unsafe code any more: take it out of the ledger"),
            )),
            _ => {}
        }
    }
    for (line, pattern) in ledger {
        if tree.has_home_of(pattern) && !tree.paths().any(|path| matches(pattern, path)) {
            let advice =
                format!("the ledger lists {pattern}, and there is no such file: correct the line or drop it");
            violations.push(Violation::new(ARCHITECTURE, line, advice));
        }
    }
    violations
}

/// Each unsafe block and `unsafe impl` has a `SAFETY:` remark close above.
pub(super) fn unsafe_blocks_have_remarks(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (path, text) in tree.with_extension("rs") {
        let lines = lex::lines(text);
        for index in 0..lines.len() {
            if opens_unsafe(&lines, index) && !has_remark(&lines, index) {
                let advice = "an unsafe block without a remark: write `// SAFETY:` above it, and say there who keeps \
                              the promise and until when";
                violations.push(Violation::new(path, index + 1, advice));
            }
        }
    }
    violations
}

/// Whether the line holds `unsafe {` or `unsafe impl`; the brace may stand on the next line.
fn opens_unsafe(lines: &[Line], index: usize) -> bool {
    let code = &lines[index].code;
    lex::words(code, "unsafe").any(|at| {
        let rest = code[at + "unsafe".len()..].trim_start();
        let next = lines.get(index + 1).map_or("", |line| line.code.trim_start());
        let follows = if rest.is_empty() { next } else { rest };
        follows.starts_with('{') || lex::words(follows, "impl").next() == Some(0)
    })
}

fn has_remark(lines: &[Line], index: usize) -> bool {
    lines[index.saturating_sub(REMARK_DISTANCE_LINES_MAX)..=index]
        .iter()
        .any(|line| line.comment.contains("SAFETY:"))
}

/// Each member takes over the one lint table, and that table denies unsafe code.
pub(super) fn lint_table_is_inherited(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (path, text) in tree.texts().filter(|(path, _)| path.ends_with("Cargo.toml")) {
        if path == "Cargo.toml" {
            let denied = section(text, "[workspace.lints.rust]")
                .any(|line| line == "unsafe_code = \"deny\"" || line == "unsafe_code = \"forbid\"");
            if !denied {
                let advice = "the lint table does not deny unsafe code: write `unsafe_code = \"deny\"` under \
                              [workspace.lints.rust]";
                violations.push(Violation::new(path, 0, advice));
            }
        } else if !path.starts_with("bench/")
            && !path.starts_with("fuzz/")
            && text.lines().any(|line| line.trim() == "[package]")
            && !section(text, "[lints]").any(|line| line == "workspace = true")
        {
            violations.push(Violation::new(
                path,
                0,
                "does not take over the lint table: add `[lints]` and `workspace = true`",
            ));
        }
    }
    violations
}

/// The lines of one section of a manifest, without spaces around.
fn section<'a>(manifest: &'a str, header: &'a str) -> impl Iterator<Item = &'a str> {
    manifest
        .lines()
        .map(str::trim)
        .skip_while(move |line| *line != header)
        .skip(1)
        .take_while(|line| !line.starts_with('['))
}

#[cfg(test)]
mod tests {
    use super::super::expect;
    use super::{
        ARCHITECTURE, lint_table_is_inherited, unsafe_blocks_have_remarks, unsafe_stands_in_the_ledger,
    };

    const LEDGER: (&str, &str) = (
        ARCHITECTURE,
        "```unsafe-ledger\ncrates/a/src/ring.rs  the ring\ncrates/a/src/sys/*.rs  calls\n```\n",
    );
    const RING: (&str, &str) = ("crates/a/src/ring.rs", "unsafe {}");
    const SYS: (&str, &str) = ("crates/a/src/sys/signal.rs", "unsafe {}");
    const MANIFEST: (&str, &str) = ("crates/a/Cargo.toml", "");

    #[track_caller]
    fn check_file(path: &str, text: &str, expected: &[&str]) {
        expect(unsafe_stands_in_the_ledger, &[LEDGER, RING, SYS, MANIFEST, (path, text)], expected);
    }

    #[test]
    fn the_ledger_is_where_unsafe_stands() {
        check_file("crates/a/src/lib.rs", "// unsafe\n#![forbid(unsafe_code)]\nfn f() { \"unsafe\"; }", &[]);
        check_file("crates/a/src/sys/more.rs", "unsafe impl A {}", &[]);
        check_file(
            "crates/a/src/lib.rs",
            "\nunsafe impl A {}",
            &["lib.rs:2: unsafe code outside the ledger"],
        );
        check_file(
            "crates/a/src/lib.rs",
            "#[allow(unsafe_code)]\nmod x;",
            &["lib.rs:1: unsafe code outside"],
        );
        check_file("crates/a/src/sys/deep/x.rs", "unsafe {}", &["outside the ledger"]);
    }

    #[test]
    fn tests_and_benchmarks_need_no_line() {
        check_file("crates/a/tests/x.rs", "unsafe {}", &[]);
        check_file("bench/peers/x/main.rs", "unsafe {}", &[]);
        check_file("crates/a/src/tests.rs", "unsafe {}", &["outside the ledger"]);
    }

    #[test]
    fn the_ledger_lists_no_more_than_there_is() {
        let safe = ("crates/a/src/ring.rs", "fn f() {}");
        expect(unsafe_stands_in_the_ledger, &[LEDGER, safe, SYS, MANIFEST], &["no unsafe code any more"]);
        expect(unsafe_stands_in_the_ledger, &[LEDGER, RING, MANIFEST], &["there is no such file"]);
        expect(unsafe_stands_in_the_ledger, &[LEDGER], &[]);
        expect(unsafe_stands_in_the_ledger, &[], &["has no block ```unsafe-ledger"]);
    }

    #[test]
    fn remarks_stand_close_above() {
        let check =
            |text: &str, expected: &[&str]| expect(unsafe_blocks_have_remarks, &[("a.rs", text)], expected);
        check("// SAFETY: because\nlet x = unsafe { f() };", &[]);
        check("/// # Safety\nunsafe fn f() {}\ntype F = unsafe fn();", &[]);
        check("let x =\n    unsafe { f() };", &["a.rs:2: an unsafe block without"]);
        check("unsafe impl Send for X {}", &["a.rs:1"]);
        check("unsafe\n{ f() }", &["a.rs:1"]);
        check("// SAFETY: too far\n\n\n\n\n\n\n\nunsafe { f() }", &["a.rs:9"]);
        check("\"SAFETY:\"; unsafe { f() }", &["a.rs:1"]);
    }

    #[test]
    fn members_take_over_the_table() {
        let root = ("Cargo.toml", "[workspace.lints.rust]\nunsafe_code = \"deny\"\n");
        let good = ("crates/a/Cargo.toml", "[package]\n[lints]\nworkspace = true\n");
        let bad = ("crates/b/Cargo.toml", "[package]\n[lints]\n[x]\nworkspace = true\n");
        expect(lint_table_is_inherited, &[root, good], &[]);
        expect(lint_table_is_inherited, &[root, good, bad], &["crates/b/Cargo.toml: does not take over"]);
        expect(lint_table_is_inherited, &[("Cargo.toml", "[workspace]")], &["does not deny unsafe code"]);
    }
}

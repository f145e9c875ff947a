//! Laws about single files and lines: how a file opens, how long it may be, what may not be in it.
//!
//! Data (`golden/`, `record/`, `.snap`, `.stderr`) is recorded, not written: only
//! the law on machine paths holds there.

use super::{Tree, Violation};
use crate::lex;
use std::path::Path;

const FILE_LINES_MAX: usize = 600;
const LINE_COLUMNS_MAX: usize = 120;

/// Names that say nothing about what is inside.
const EMPTY_NAMES: &[&str] = &["utils", "util", "helpers", "helper", "common", "misc"];

/// Macros that mark unfinished work.
const LEFTOVERS: &[&str] = &["todo", "unimplemented", "dbg"];

/// Places that exist on one machine only. Written in two parts, so that this file keeps the law.
const MACHINE_PATHS: &[&str] = &[
    concat!("/wo", "rk/"),
    concat!("/ro", "ot/"),
    concat!("/ho", "me/"),
    concat!("/Us", "ers/"),
    concat!("/tmp/tar", "get"),
];

/// Hosts and forms of package registries, which belong into a machine's own configuration.
const REGISTRIES: &[&str] = &[
    concat!("sparse", "+http"),
    concat!("index.", "crates.io"),
    concat!("static.", "crates.io"),
    concat!("replace", "-with"),
];

/// The one source that the lock file may name.
const LOCK_SOURCE: &str = "registry+https://github.com/rust-lang/crates.io-index";

fn is_data(path: &str) -> bool {
    path.split('/').any(|part| part == "golden" || part == "record")
        || Path::new(path).extension().is_some_and(|e| e == "snap" || e == "stderr")
}

/// Each `.rs` file opens with `//!`, before any attribute.
pub(super) fn files_open_with_a_head_comment(tree: &Tree) -> Vec<Violation> {
    tree.with_extension("rs")
        .filter(|(path, text)| !is_data(path) && !text.starts_with("//!"))
        .map(|(path, _)| {
            let advice = "does not open with `//!`: say in the first lines what this file holds, who owns what until \
                          when, and what is deliberately not here; attributes come after";
            Violation::new(path, 1, advice)
        })
        .collect()
}

/// No `.rs` file is too long to be read at one sitting.
pub(super) fn files_are_short(tree: &Tree) -> Vec<Violation> {
    tree.with_extension("rs")
        .filter(|(path, _)| !is_data(path))
        .map(|(path, text)| (path, text.lines().count()))
        .filter(|&(_, lines)| lines > FILE_LINES_MAX)
        .map(|(path, lines)| {
            let advice =
                format!("has {lines} lines, {FILE_LINES_MAX} is the wall: part it where its subject parts");
            Violation::new(path, 0, advice)
        })
        .collect()
}

/// Lines of code and prose fit on a screen. Tables and lines that hold a web address are free.
pub(super) fn lines_are_short(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (path, text) in tree.with_extension("rs").chain(tree.with_extension("md")) {
        if is_data(path) {
            continue;
        }
        for (index, line) in text.lines().enumerate() {
            let columns = line.chars().count();
            let inside = line.trim_start().trim_start_matches(['/', '!']).trim_start();
            if columns > LINE_COLUMNS_MAX && !inside.starts_with('|') && !line.contains("://") {
                let advice = format!("has {columns} columns, {LINE_COLUMNS_MAX} is the wall: break the line");
                violations.push(Violation::new(path, index + 1, advice));
            }
        }
    }
    violations
}

/// No file, folder or module has a name that could hold anything.
pub(super) fn names_say_something(tree: &Tree) -> Vec<Violation> {
    let advice = |name: &str| format!("the name `{name}` says nothing: name it after what it does");
    let mut violations = Vec::new();
    for path in tree.paths() {
        let empty = path
            .split('/')
            .map(|part| part.split('.').next().unwrap_or(part))
            .find(|name| EMPTY_NAMES.contains(name));
        violations.extend(empty.map(|name| Violation::new(path, 0, advice(name))));
    }
    for (path, text) in tree.with_extension("rs") {
        for (index, line) in lex::lines(text).iter().enumerate() {
            let named = lex::words(&line.code, "mod")
                .map(|at| line.code[at + "mod".len()..].trim_start())
                .map(|rest| rest.split(|c| !lex::is_name(c)).next().unwrap_or_default())
                .find(|name| EMPTY_NAMES.contains(name));
            violations.extend(named.map(|name| Violation::new(path, index + 1, advice(name))));
        }
    }
    violations
}

/// No unfinished work, and no test that is switched off without a word.
pub(super) fn nothing_is_left_over(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (path, text) in tree.with_extension("rs") {
        for (index, line) in lex::lines(text).iter().enumerate() {
            for name in LEFTOVERS {
                let used = lex::words(&line.code, name)
                    .any(|at| line.code[at + name.len()..].trim_start().starts_with('!'));
                if used {
                    let advice = format!("`{name}!` marks unfinished work: finish it or take it out");
                    violations.push(Violation::new(path, index + 1, advice));
                }
            }
            let dense: String = line.code.split_whitespace().collect();
            if dense.contains("#[ignore]") {
                let advice =
                    "a test switched off without a reason: write `#[ignore = \"why, and until when\"]`";
                violations.push(Violation::new(path, index + 1, advice));
            }
        }
    }
    violations
}

/// Lines end where their text ends.
pub(super) fn no_trailing_whitespace(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (path, text) in tree.texts().filter(|(path, _)| !is_data(path)) {
        for (index, line) in text.split('\n').enumerate() {
            if line.ends_with([' ', '\t', '\r']) {
                violations.push(Violation::new(
                    path,
                    index + 1,
                    "whitespace at the end of the line: delete it",
                ));
            }
        }
    }
    violations
}

/// Nothing in the repository depends on the machine on which it was written.
pub(super) fn no_machine_paths(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (path, text) in tree.texts() {
        for (index, line) in text.lines().enumerate() {
            if let Some(place) = MACHINE_PATHS.iter().find(|place| names_place(line, place)) {
                let advice =
                    format!("`{place}` exists on one machine only: write a path relative to the repository");
                violations.push(Violation::new(path, index + 1, advice));
            }
            if let Some(host) = REGISTRIES.iter().find(|host| line.contains(*host)) {
                let advice =
                    format!("`{host}` configures a registry: that belongs into the machine's configuration");
                violations.push(Violation::new(path, index + 1, advice));
            }
        }
    }
    violations
}

/// Whether `place` begins a path in `line`, and is not the middle of a longer one.
fn names_place(line: &str, place: &str) -> bool {
    line.match_indices(place).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| lex::is_name(c) || matches!(c, '.' | '-' | '/' | '}' | '*'))
    })
}

/// Every crate comes from the public registry, under its public name.
pub(super) fn lock_file_names_one_registry(tree: &Tree) -> Vec<Violation> {
    let lock = tree.text("Cargo.lock").unwrap_or_default();
    lock.lines()
        .enumerate()
        .filter_map(|(index, line)| Some((index, line.strip_prefix("source = ")?.trim_matches('"'))))
        .filter(|&(_, source)| source != LOCK_SOURCE)
        .map(|(index, source)| {
            let advice = format!("a crate comes from {source}: only {LOCK_SOURCE} may be named");
            Violation::new("Cargo.lock", index + 1, advice)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::expect;
    use super::{
        files_are_short, files_open_with_a_head_comment, lines_are_short, lock_file_names_one_registry,
        names_say_something, no_machine_paths, no_trailing_whitespace, nothing_is_left_over,
    };

    #[test]
    fn heads() {
        let rule = files_open_with_a_head_comment;
        expect(rule, &[("a.rs", "//! A.\n#![allow(x)]\n"), ("a.txt", "x"), ("x/golden/a.rs", "x")], &[]);
        expect(rule, &[("a.rs", "#![allow(x)]\n//! A.\n")], &["a.rs:1: does not open with `//!`"]);
        expect(rule, &[("a.rs", "// A.\n")], &["does not open"]);
    }

    #[test]
    fn long_files() {
        expect(files_are_short, &[("a.rs", &"\n".repeat(600)), ("a.md", &"\n".repeat(900))], &[]);
        expect(files_are_short, &[("a.rs", &"\n".repeat(601))], &["a.rs: has 601 lines"]);
    }

    #[test]
    fn long_lines() {
        let long = "x".repeat(121);
        expect(lines_are_short, &[("a.rs", &"ü".repeat(120))], &[]);
        expect(lines_are_short, &[("a.rs", &long), ("a.txt", &long)], &["a.rs:1: has 121 columns"]);
        expect(
            lines_are_short,
            &[("a.md", &format!("| {long} |")), ("a.rs", &format!("//! | {long} |"))],
            &[],
        );
        expect(lines_are_short, &[("a.md", &format!("https://{long}"))], &[]);
    }

    #[test]
    fn empty_names() {
        expect(names_say_something, &[("src/a.rs", "mod utilities; // mod utils")], &[]);
        expect(names_say_something, &[("src/utils.rs", "")], &["src/utils.rs: the name `utils`"]);
        expect(names_say_something, &[("tests/common/mod.rs", "")], &["the name `common`"]);
        expect(names_say_something, &[("a.rs", "pub mod helpers {}")], &["a.rs:1: the name `helpers`"]);
    }

    #[test]
    fn leftovers() {
        expect(nothing_is_left_over, &[("a.rs", "// todo!()\nlet todo = \"dbg!\"; #[ignore = \"\"]")], &[]);
        expect(nothing_is_left_over, &[("a.rs", "fn f() { todo!() }")], &["`todo!` marks unfinished"]);
        expect(
            nothing_is_left_over,
            &[("a.rs", "dbg !(x); unimplemented!()")],
            &["`unimplemented!`", "`dbg!`"],
        );
        expect(nothing_is_left_over, &[("a.rs", "#[ ignore ]")], &["switched off without a reason"]);
    }

    #[test]
    fn trailing_whitespace() {
        expect(no_trailing_whitespace, &[("a.rs", "a\n b\n"), ("x/golden/a", "a ")], &[]);
        expect(no_trailing_whitespace, &[("a.md", "a \nb\t\nc\r\n")], &["a.md:1", "a.md:2", "a.md:3"]);
    }

    #[test]
    fn machine_paths() {
        let place = concat!("/ho", "me/x");
        expect(no_machine_paths, &[("a", &format!("https://a.b{place} src{place}"))], &[]);
        expect(no_machine_paths, &[("a", &format!("see {place}"))], &["a:1: "]);
        expect(
            no_machine_paths,
            &[("a.toml", concat!("\nregistry = 'sparse", "+https://a'"))],
            &["a.toml:2: "],
        );
    }

    #[test]
    fn lock_sources() {
        let public = "source = \"registry+https://github.com/rust-lang/crates.io-index\"\n";
        expect(lock_file_names_one_registry, &[("Cargo.lock", public)], &[]);
        expect(lock_file_names_one_registry, &[("Cargo.lock", "source = \"git+x\"")], &["comes from git+x"]);
    }
}

//! Which crate may import which. The block `arrows` of `ARCHITECTURE.md` has one line for each crate,
//! `crate: the crates it may import` (`*` means any); the block `fences` has one line for each foreign
//! crate that only some of ours may import, `foreign = ours, ours`. A fence holds for the whole family
//! (`tokio` also fences `tokio-util`).
//!
//! Dev-dependencies are free, except where a fence ends in `, even in tests`.

use super::{ARCHITECTURE, Tree, Violation, block, short_name};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

const EVEN_IN_TESTS: &str = "even in tests";

/// What `cargo metadata` says about the members of the workspace.
pub(super) fn metadata(root: &Path) -> Result<Value, String> {
    let output = Command::new("cargo")
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .current_dir(root)
        .output()
        .map_err(|error| format!("cannot run cargo metadata: {error}"))?;
    if !output.status.success() {
        return Err(format!("cargo metadata failed: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| format!("cargo metadata: {error}"))
}

struct Table {
    arrows: BTreeMap<String, BTreeSet<String>>,
    fences: Vec<Fence>,
}

struct Fence {
    foreign: String,
    inside: BTreeSet<String>,
    even_in_tests: bool,
}

impl Fence {
    fn keeps_out(&self, from: &str, dependency: &str, in_tests: bool) -> bool {
        let rest = dependency.strip_prefix(self.foreign.as_str());
        let fenced = rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'));
        fenced && !self.inside.contains(from) && (!in_tests || self.even_in_tests)
    }
}

fn table(tree: &Tree) -> Result<Table, Violation> {
    let mut arrows = BTreeMap::new();
    for (number, line) in block(tree, "arrows")? {
        let (from, to) = line.split_once(':').ok_or_else(|| {
            Violation::new(ARCHITECTURE, number, "an arrow is written `crate: the crates it may import`")
        })?;
        arrows.insert(from.trim().to_owned(), to.split_whitespace().map(str::to_owned).collect());
    }
    let mut fences = Vec::new();
    for (number, line) in block(tree, "fences")? {
        let (foreign, inside) = line.split_once('=').ok_or_else(|| {
            Violation::new(ARCHITECTURE, number, "a fence is written `foreign = our crates, with commas`")
        })?;
        let mut inside: BTreeSet<String> = inside.split(',').map(|name| name.trim().to_owned()).collect();
        let even_in_tests = inside.remove(EVEN_IN_TESTS);
        fences.push(Fence { foreign: foreign.trim().to_owned(), inside, even_in_tests });
    }
    Ok(Table { arrows, fences })
}

/// Compares the members of the workspace with the table.
pub(super) fn check(tree: &Tree, metadata: &Value) -> Vec<Violation> {
    let table = match table(tree) {
        Ok(table) => table,
        Err(violation) => return vec![violation],
    };
    let packages = metadata["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let members: BTreeSet<&str> = packages.iter().filter_map(|package| package["name"].as_str()).collect();
    let mut violations = Vec::new();
    if members.is_empty() {
        violations.push(Violation::new(
            "Cargo.toml",
            0,
            "cargo metadata names no package: the check did not run",
        ));
    }
    for package in packages {
        check_package(&table, &members, package, &mut violations);
    }
    violations.extend(strangers(tree, &members));
    violations
}

/// Packages that stand in the repository and not in the workspace: no check would ever see them.
fn strangers(tree: &Tree, members: &BTreeSet<&str>) -> Vec<Violation> {
    tree.texts()
        .filter(|(path, _)| {
            path.ends_with("/Cargo.toml") && !path.starts_with("bench/") && !path.starts_with("fuzz/")
        })
        .filter_map(|(path, text)| Some((path, text.split_once("[package]")?.1)))
        .filter(|(_, package)| !members.iter().any(|name| package.contains(&format!("name = \"{name}\""))))
        .map(|(path, _)| {
            Violation::new(
                path,
                0,
                "is no member of the workspace, so nothing checks it: add it to `members` in Cargo.toml",
            )
        })
        .collect()
}

fn check_package(table: &Table, members: &BTreeSet<&str>, package: &Value, violations: &mut Vec<Violation>) {
    let from = short_name(package["name"].as_str().unwrap_or_default());
    let manifest = format!("{from} (Cargo.toml)");
    let Some(allowed) = table.arrows.get(from) else {
        let advice =
            format!("has no line in the block ```arrows of {ARCHITECTURE}: say there what it may import");
        violations.push(Violation::new(&manifest, 0, advice));
        return;
    };
    for dependency in package["dependencies"].as_array().into_iter().flatten() {
        let name = dependency["name"].as_str().unwrap_or_default();
        let in_tests = dependency["kind"] == "dev";
        if members.contains(name) {
            let to = short_name(name);
            if !in_tests && !allowed.contains(to) && !allowed.contains("*") {
                let advice = format!(
                    "imports `{to}`, and {ARCHITECTURE} draws no arrow from `{from}` to `{to}`: move the code to a \
                     crate that may, or change the drawing and say why in DECISIONS.md"
                );
                violations.push(Violation::new(&manifest, 0, advice));
            }
        } else if let Some(fence) = table.fences.iter().find(|fence| fence.keeps_out(from, name, in_tests)) {
            let inside = fence.inside.iter().cloned().collect::<Vec<_>>().join(", ");
            let advice = format!(
                "imports `{name}`, which only {inside} may: go through that crate, or move the fence in \
                 {ARCHITECTURE} and say why in DECISIONS.md"
            );
            violations.push(Violation::new(&manifest, 0, advice));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::expect_violations;
    use super::{ARCHITECTURE, Tree, check};
    use serde_json::{Value, json};

    const TABLE: &str = "```arrows\ncore:\nlisle: core\ncli: *\n```\n\
        ```fences\nrustix = lisle\ntokio = compat, even in tests\n```\n";

    fn metadata(name: &str, dependency: &str, kind: &Value) -> Value {
        json!({ "packages": [
            { "name": "lisle-core", "dependencies": [] },
            { "name": "lisle", "dependencies": [] },
            { "name": name, "dependencies": [{ "name": dependency, "kind": kind }] },
        ]})
    }

    #[track_caller]
    fn check_import(name: &str, dependency: &str, kind: &Value, expected: &[&str]) {
        let tree = Tree::of(&[(ARCHITECTURE, TABLE)]);
        expect_violations(&check(&tree, &metadata(name, dependency, kind)), expected);
    }

    #[test]
    fn arrows_of_the_table_are_allowed() {
        check_import("lisle", "lisle-core", &Value::Null, &[]);
        check_import("lisle-cli", "lisle", &Value::Null, &[]);
        check_import("lisle", "rustix", &Value::Null, &[]);
    }

    #[test]
    fn other_arrows_are_not() {
        check_import("lisle-core", "lisle", &Value::Null, &["draws no arrow from `core` to `lisle`"]);
        check_import("lisle-core", "lisle", &json!("build"), &["draws no arrow"]);
        check_import("lisle-new", "lisle", &Value::Null, &["has no line in the block"]);
    }

    #[test]
    fn fences_keep_families_in() {
        check_import("lisle-core", "rustix", &Value::Null, &["which only lisle may"]);
        check_import("lisle-cli", "tokio-util", &Value::Null, &["imports `tokio-util`"]);
        check_import("lisle-cli", "rustixy", &Value::Null, &[]);
    }

    #[test]
    fn tests_may_import_all_but_the_strictest() {
        check_import("lisle-core", "lisle", &json!("dev"), &[]);
        check_import("lisle-core", "rustix", &json!("dev"), &[]);
        check_import("lisle-core", "tokio", &json!("dev"), &["which only compat may"]);
    }

    #[test]
    fn each_package_is_a_member() {
        let check_manifest = |path: &str, name: &str, expected: &[&str]| {
            let manifest = format!("[package]\nname = \"{name}\"\n");
            let tree = Tree::of(&[(ARCHITECTURE, TABLE), (path, &manifest)]);
            expect_violations(&check(&tree, &metadata("lisle-cli", "lisle", &Value::Null)), expected);
        };
        check_manifest("crates/cli/Cargo.toml", "lisle-cli", &[]);
        check_manifest("bench/peers/x/Cargo.toml", "x", &[]);
        check_manifest("conformance/Cargo.toml", "lisle-conformance", &["is no member of the workspace"]);
    }

    #[test]
    fn a_check_that_saw_nothing_fails() {
        let tree = Tree::of(&[(ARCHITECTURE, TABLE)]);
        expect_violations(&check(&tree, &json!({})), &["the check did not run"]);
        expect_violations(&check(&Tree::default(), &json!({})), &["has no block ```arrows"]);
    }
}

//! Laws about the documents: a link leads somewhere, and the map shows what is there.
//!
//! The block `map` of `ARCHITECTURE.md` is a tree of two levels: a line at the margin begins with a path, a
//! line indented by two spaces with a path below it; deeper lines continue a remark. A path whose crate is
//! not written yet may stand there; a crate that stands nowhere may not exist.

use super::{ARCHITECTURE, Tree, Violation, block};
use crate::lex;

/// Each relative link of each document leads to a file, and to a heading if it names one.
pub(super) fn links_resolve(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (path, text) in tree.with_extension("md") {
        for (number, target) in links(text) {
            let (file, heading) = target.split_once('#').unwrap_or((target, ""));
            let Some(file) = resolve(path, file) else {
                let advice = format!("the link {target} leads out of the repository: link inside it");
                violations.push(Violation::new(path, number, advice));
                continue;
            };
            if !tree.exists(&file) {
                let advice = format!("the link {target} leads nowhere: correct it or write {file}");
                violations.push(Violation::new(path, number, advice));
            } else if !heading.is_empty()
                && tree.text(&file).is_some_and(|text| !headings(text).any(|slug| slug == heading))
            {
                let advice = format!("the link {target} names no heading of {file}: correct it");
                violations.push(Violation::new(path, number, advice));
            }
        }
    }
    violations
}

/// Each path in backquotes that begins in a folder of ours is there, if its crate
/// is. The changelog speaks of the past.
pub(super) fn named_paths_exist(tree: &Tree) -> Vec<Violation> {
    const FOLDERS: &[&str] = &["crates/", "xtask/", "conformance/", "examples/", "bench/", "fuzz/"];
    let mut violations = Vec::new();
    for (path, text) in tree.with_extension("md").filter(|(path, _)| *path != "CHANGELOG.md") {
        for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.starts_with("```")) {
            let quoted =
                line.split('`').enumerate().filter(|(part, _)| part % 2 == 1).map(|(_, quoted)| quoted);
            for place in quoted.filter(|place| FOLDERS.iter().any(|folder| place.starts_with(folder))) {
                let plain = place.chars().all(|c| lex::is_name(c) || "/.-".contains(c));
                if plain && tree.has_home_of(place) && !tree.exists(place) {
                    let advice =
                        format!("names {place}, which is not there: correct the document or write the file");
                    violations.push(Violation::new(path, index + 1, advice));
                }
            }
        }
    }
    violations
}

/// The lines of prose, with their numbers: fenced code and code in backquotes are left out.
fn prose(text: &str) -> impl Iterator<Item = (usize, String)> {
    let mut fenced = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
            return None;
        }
        let parts = line.split('`').enumerate().filter(|(part, _)| part % 2 == 0);
        (!fenced).then(|| (index + 1, parts.map(|(_, part)| part).collect()))
    })
}

/// The relative targets of the links in `text`, with their line numbers.
fn links(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    for (number, line) in prose(text) {
        let original = text.lines().nth(number - 1).unwrap_or_default();
        for (at, _) in line.match_indices("](") {
            let target = line[at + 2..].split([')', ' ']).next().unwrap_or_default();
            let foreign = target.contains("://") || target.starts_with("mailto:");
            // The target as it stands in the document, so that it outlives the line that was cleaned of code.
            if let (false, Some(start)) = (foreign || target.is_empty(), original.find(target)) {
                found.push((number, &original[start..start + target.len()]));
            }
        }
    }
    found
}

/// The path to which `link` leads from the document at `from`; none if it leaves the repository.
fn resolve(from: &str, link: &str) -> Option<String> {
    if link.is_empty() {
        return Some(from.to_owned());
    }
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in link.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

/// The names under which the headings of a document can be linked.
fn headings(text: &str) -> impl Iterator<Item = String> + '_ {
    let mut fenced = false;
    text.lines().filter_map(move |line| {
        fenced ^= line.trim_start().starts_with("```");
        let title = line.strip_prefix('#').filter(|_| !fenced)?.trim_start_matches('#').trim();
        let kept = title.chars().filter(|&c| lex::is_name(c) || c == '-' || c == ' ');
        Some(kept.map(|c| if c == ' ' { '-' } else { c }).collect::<String>().to_lowercase())
    })
}

/// The map names what is there, and every crate.
pub(super) fn map_is_true(tree: &Tree) -> Vec<Violation> {
    let lines = match block(tree, "map") {
        Ok(lines) => lines,
        Err(violation) => return vec![violation],
    };
    let mut violations = Vec::new();
    let mut places = Vec::new();
    let mut base = "";
    for (number, line) in lines {
        let name = line.split_whitespace().next().unwrap_or_default();
        match line.len() - line.trim_start().len() {
            0 => {
                base = name;
                places.push((number, name.to_owned()));
            }
            2 => places.push((number, format!("{}/{name}", base.trim_end_matches('/')))),
            _ => {}
        }
    }
    for (number, place) in &places {
        if tree.has_home_of(place) && !tree.exists(place) {
            let advice = format!("the map shows {place}, which is not there: write it or correct the map");
            violations.push(Violation::new(ARCHITECTURE, *number, advice));
        }
    }
    for path in tree.paths() {
        let Some(folder) = path.strip_suffix("/Cargo.toml").filter(|folder| folder.starts_with("crates/"))
        else {
            continue;
        };
        if !places.iter().any(|(_, place)| place.trim_end_matches('/') == folder) {
            let advice =
                format!("is not on the map: give {folder}/ a line in the block ```map of {ARCHITECTURE}");
            violations.push(Violation::new(path, 0, advice));
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::super::expect;
    use super::{ARCHITECTURE, links_resolve, map_is_true, named_paths_exist};

    #[test]
    fn links_lead_to_files() {
        let check = |text: &str, expected: &[&str]| {
            let files = [("docs/a.md", text), ("docs/b.md", "# One `two`: three\n"), ("src/c.rs", "")];
            expect(links_resolve, &files, expected);
        };
        check("[b](b.md), [c](../src/c.rs), [src](../src), [web](https://x.y/z), [top](/../docs)", &[]);
        check("`[x](y)`\n```text\n[x](y)\n```\n", &[]);
        check("[b](b.md#one-two-three)\n\n# Here\n[here](#here)", &[]);
        check(
            "\n[c](src/c.rs)",
            &["docs/a.md:2: the link src/c.rs leads nowhere: correct it or write docs/src/c.rs"],
        );
        check("[c](../../c.rs)", &["leads out of the repository"]);
        check("[b](b.md#four)", &["names no heading of docs/b.md"]);
        check("`code` [a](no.md) and [b](nor.md)", &["no.md leads", "nor.md leads"]);
    }

    #[test]
    fn named_paths_are_there() {
        let check = |text: &str, expected: &[&str]| {
            expect(named_paths_exist, &[("a.md", text), ("crates/a/Cargo.toml", "")], expected);
        };
        check("`crates/a/Cargo.toml`, `crates/later/x.rs`, `crates/<name>/y.rs`, `src/z.rs`", &[]);
        check("\n`crates/a/src/x.rs` crates/a/y", &["a.md:2: names crates/a/src/x.rs"]);
    }

    #[test]
    fn the_map_shows_what_is_there() {
        let check = |map: &str, expected: &[&str]| {
            let architecture = format!("```map\n{map}\n```");
            let files = [
                (ARCHITECTURE, architecture.as_str()),
                ("crates/a/Cargo.toml", ""),
                ("crates/a/src/lib.rs", ""),
            ];
            expect(map_is_true, &files, expected);
        };
        check(
            "crates/a/  first\n  src/lib.rs  the\n           door\ncrates/later/  soon\n  src/x.rs  x",
            &[],
        );
        check("crates/a/\n  src/x.rs  x", &["ARCHITECTURE.md:3: the map shows crates/a/src/x.rs"]);
        check("crates/later/", &["crates/a/Cargo.toml: is not on the map"]);
        check("crates/a/\nLICENSE", &["the map shows LICENSE"]);
    }
}

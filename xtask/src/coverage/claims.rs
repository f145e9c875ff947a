//! Tests that claim rows of a table: found by their doc comments, as text, so that nothing has to be built.
//!
//! ```text
//!   /// MUTEX-01, MUTEX-02: one sentence of what is shown.     the ids, a colon
//!   #[test]                                                    or `#[lisle::test(…)]`; before or after the comment
//!   fn mutex_01_waiters_get_the_lock_in_order() { … }          begins with the first id
//! ```
//!
//! An id is words of capitals and a number, joined by hyphens. Not known here: which ids there are
//! (`mod.rs`), and whether a test shows what its row says: that is for its reader.

use crate::lex;
use crate::tidy::Violation;

/// A function whose doc comment opens with ids.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Claim {
    /// The file.
    pub(crate) path: String,
    /// The line of the function's name, counted from 1.
    pub(crate) line: usize,
    /// The function.
    pub(crate) name: String,
    /// The rows, in the order of the comment.
    pub(crate) ids: Vec<String>,
    /// Whether the test runner runs it.
    pub(crate) standing: Standing,
}

/// What the attributes make of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// A test.
    Runs,
    /// A test that is switched off.
    Ignored,
    /// No test at all.
    NoTest,
}

/// Whether `word` has the form of an id: `BR-145`, `X-ORDER-01`.
pub(crate) fn is_id(word: &str) -> bool {
    let Some((words, number)) = word.rsplit_once('-') else { return false };
    let capitals = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_uppercase());
    !number.is_empty() && number.chars().all(|c| c.is_ascii_digit()) && words.split('-').all(capitals)
}

/// How the name of a test begins that shows `id` first.
pub(crate) fn name_of(id: &str) -> String {
    format!("{}_", id.to_ascii_lowercase().replace('-', "_"))
}

/// Every claim in a source file, and what is wrong with the form of each.
pub(crate) fn find(path: &str, source: &str) -> (Vec<Claim>, Vec<Violation>) {
    let mut reader = Reader { path, item: Item::default(), claims: Vec::new(), violations: Vec::new() };
    for (index, line) in lex::lines(source).iter().enumerate() {
        reader.see(index + 1, line);
    }
    (reader.claims, reader.violations)
}

/// What has been read of the item that is being read.
#[derive(Default)]
struct Item {
    doc: String,
    attribute: String,
    is_test: bool,
    is_ignored: bool,
}

struct Reader<'a> {
    path: &'a str,
    item: Item,
    claims: Vec<Claim>,
    violations: Vec<Violation>,
}

impl Reader<'_> {
    fn see(&mut self, number: usize, line: &lex::Line) {
        let code = line.code.trim();
        if !code.is_empty() {
            self.see_code(number, code);
        } else if let Some(text) = line.comment.strip_prefix("///") {
            self.item.doc.push_str(text);
        }
    }

    fn see_code(&mut self, number: usize, code: &str) {
        let mut rest = code;
        while !self.item.attribute.is_empty() || rest.starts_with("#[") {
            let Some(length) = end_of_attribute(&self.item.attribute, rest) else {
                self.item.attribute.push_str(rest);
                return;
            };
            self.item.attribute.push_str(&rest[..length]);
            self.end_attribute();
            rest = rest[length..].trim_start();
        }
        if rest.is_empty() {
            return;
        }
        let item = std::mem::take(&mut self.item);
        if let Some(at) = lex::words(rest, "fn").next() {
            let name: String = rest[at + 2..].trim_start().chars().take_while(|&c| lex::is_name(c)).collect();
            self.end_function(number, name, &item);
        }
    }

    fn end_attribute(&mut self) {
        let attribute = std::mem::take(&mut self.item.attribute);
        let path: String = attribute[2..].chars().take_while(|c| !"(=]".contains(*c)).collect();
        let path = path.trim();
        self.item.is_test |= path == "test" || path.ends_with("::test");
        self.item.is_ignored |= path == "ignore";
    }

    fn end_function(&mut self, line: usize, name: String, item: &Item) {
        let ids = match ids(&item.doc) {
            Ok(ids) if ids.is_empty() => return,
            Ok(ids) => ids,
            Err(advice) => return self.violations.push(Violation::new(self.path, line, advice)),
        };
        let standing = match item {
            Item { is_test: false, .. } => Standing::NoTest,
            Item { is_ignored: true, .. } => Standing::Ignored,
            _ => Standing::Runs,
        };
        if standing == Standing::NoTest {
            let advice = format!("{name} claims {} but is no test: write `#[test]` above it", ids[0]);
            self.violations.push(Violation::new(self.path, line, advice));
        }
        if !name.starts_with(&name_of(&ids[0])) {
            let advice =
                format!("{name} claims {} first: let its name begin with `{}`", ids[0], name_of(&ids[0]));
            self.violations.push(Violation::new(self.path, line, advice));
        }
        self.claims.push(Claim { path: self.path.to_owned(), line, name, ids, standing });
    }
}

/// Where the attribute that `before` opened, or that `rest` opens, ends in `rest`.
fn end_of_attribute(before: &str, rest: &str) -> Option<usize> {
    let step = |depth: i32, c: char| depth + i32::from(c == '[') - i32::from(c == ']');
    let mut depth = before.chars().fold(0, step);
    for (at, c) in rest.char_indices() {
        depth = step(depth, c);
        if depth == 0 && c == ']' {
            return Some(at + 1);
        }
    }
    None
}

/// The ids with which a doc comment opens; none if it opens with anything else.
fn ids(doc: &str) -> Result<Vec<String>, String> {
    let doc = doc.trim();
    let first = doc.split(|c: char| c.is_whitespace() || ",:".contains(c)).next().unwrap_or_default();
    if !is_id(first) {
        return Ok(Vec::new());
    }
    let list = doc.split_once(':').map_or(doc, |(list, _)| list);
    let ids: Vec<String> = list.split(',').map(|id| id.trim().to_owned()).collect();
    match ids.iter().find(|id| !is_id(id)) {
        None => Ok(ids),
        Some(wrong) => {
            let shown: String = wrong.chars().take(20).collect();
            Err(format!("«{shown}» is no id: open the comment with `ID, ID: sentence`"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Standing, find, is_id};

    fn claims(source: &str) -> Vec<(String, String, Standing)> {
        let (claims, violations) = find("a.rs", source);
        assert_eq!(violations, [], "{source}");
        claims.into_iter().map(|claim| (claim.name, claim.ids.join(" "), claim.standing)).collect()
    }

    fn claim(name: &str, ids: &str, standing: Standing) -> (String, String, Standing) {
        (name.into(), ids.into(), standing)
    }

    #[test]
    fn ids_are_capitals_and_a_number() {
        for id in ["BR-145", "X-ORDER-01"] {
            assert!(is_id(id), "{id}");
        }
        for word in ["BR", "BR-", "-1", "br-1", "BR-1a", "UTF8-1", "A--1", ""] {
            assert!(!is_id(word), "{word}");
        }
    }

    #[test]
    fn a_claim_is_a_comment_a_test_and_a_name() {
        let source = "/// A-1, A-2: shown.\n#[test]\nfn a_1_x() {\n    let y = 1;\n}\n";
        assert_eq!(claims(source), [claim("a_1_x", "A-1 A-2", Standing::Runs)]);
        let source =
            "#[lisle::test(engine = \"]\")]\n/// X-B-01,\n/// B-2: c\n// remark\nasync fn x_b_01_() {}";
        assert_eq!(claims(source), [claim("x_b_01_", "X-B-01 B-2", Standing::Runs)]);
        assert_eq!(claims("#[test] /// A-1: x\nfn other() {}\nlet s = \"/// A-1: x\";\nfn a() {}"), []);
    }

    #[test]
    fn attributes_may_take_several_lines() {
        let source = "/// A-1: x\n#[lisle::test(\n    seeds = [1, 2],\n)]\n#[cfg(unix)] fn a_1_x() {}";
        assert_eq!(claims(source), [claim("a_1_x", "A-1", Standing::Runs)]);
    }

    #[test]
    fn a_comment_belongs_to_the_next_item_only() {
        assert_eq!(claims("/// A-1: x\nconst X: u32 = 1;\n#[test]\nfn a_1_x() {}"), []);
        assert_eq!(claims("/// Not A-1: x\n#[test]\nfn f() {}"), []);
    }

    #[test]
    fn a_test_that_is_switched_off_is_told_apart() {
        let source = "/// A-1: x\n#[test]\n#[ignore = \"why\"]\nfn a_1_x() {}";
        assert_eq!(claims(source), [claim("a_1_x", "A-1", Standing::Ignored)]);
    }

    #[test]
    fn mistakes_of_form_are_said() {
        let said = |source: &str, expected: &str| {
            let (_, violations) = find("a.rs", source);
            let said: Vec<String> = violations.iter().map(ToString::to_string).collect();
            assert!(said.len() == 1 && said[0].contains(expected), "{said:?}");
        };
        said("/// A-1: x\n#[test]\nfn a_2_x() {}", "a.rs:3: a_2_x claims A-1 first");
        said("/// A-1: x\nfn a_1_x() {}", "a.rs:2: a_1_x claims A-1 but is no test");
        said("/// A-1, shown\n#[test]\nfn a_1_x() {}", "«shown» is no id");
        said("/// A-1 to A-3: x\n#[test]\nfn a_1_x() {}", "«A-1 to A-3» is no id");
    }
}

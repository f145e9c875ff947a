//! The corpus is read whole, and what is not of the language is refused with its line.

use std::fs;
use std::path::Path;

use lisle_conformance::{Case, Deviations, cases};

fn only(program: &str, trace: &str) -> Result<Case, String> {
    let text = format!("#one -\n{program}--\n{trace}");
    cases(&text).map(|mut cases| cases.remove(0)).map_err(|problem| problem.to_string())
}

fn refusal(program: &str) -> String {
    only(program, "=\n").expect_err("this program is not of the language")
}

#[test]
fn every_file_of_the_corpus_is_read() {
    let mut count = 0;
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden");
    for family in ["cancel", "combine", "core", "pause", "storage", "stream", "sync"] {
        let text =
            fs::read_to_string(golden.join(format!("{family}.txt"))).expect("the corpus is checked in");
        let cases = cases(&text).unwrap_or_else(|problem| panic!("{family}.txt: {problem}"));
        let lines: usize = cases.iter().map(|case| case.source.len() + case.expected.len() + 2).sum();
        assert_eq!(lines, text.lines().count(), "{family}.txt: every line belongs to a case");
        count += cases.len();
    }
    assert_eq!(count, 8668);
}

#[test]
fn a_case_has_name_tags_program_and_trace() {
    let text = "#a-1 -\nready p0 1\n--\n= 1\n#a-2 shared-read,pick-late\n--\n=\n";
    let cases = cases(text).expect("well formed");
    assert_eq!(cases[0].name, "a-1");
    assert!(cases[0].tags.is_empty());
    assert_eq!(cases[0].source, ["ready p0 1"]);
    assert_eq!(cases[0].expected, ["= 1"]);
    assert_eq!(cases[1].tags, ["shared-read", "pick-late"]);
    assert!(cases[1].source.is_empty());
}

#[test]
fn blocks_nest_and_follow_each_other() {
    let program = "try p2 p0 {1\nbind p3 p1 {2\nval x+1\n}\nval x+1\n} {30\nret p1\n}\nstate p2\n";
    assert!(only(program, "=\n").is_ok());
}

#[test]
fn blocks_must_be_closed_and_wanted() {
    assert_eq!(refusal("succ p0 {1\n"), "line 2: its block is not closed");
    assert_eq!(refusal("state p0\n}\n"), "line 3: \"}\" closes nothing");
    assert_eq!(refusal("succ p0 {1\n} {2\n}\n"), "line 2: \"succ p0\": block 2 is too many");
    assert_eq!(refusal("succ p0\n"), "line 2: \"succ p0\": a block is missing");
    assert_eq!(refusal("succ p0 {1\n}x\n"), "line 3: \"}x\" is neither '}' nor '} {M'");
}

#[test]
fn last_lines_stand_last_and_in_blocks() {
    assert_eq!(refusal("val 3\n"), "line 2: val, err, ret stand only in a block");
    let early = "bind p1 p0 {1\nval 3\nstate p0\n}\n";
    assert_eq!(refusal(early), "line 4: val, err, ret stand only in the last line of a block");
}

#[test]
fn operands_are_read_strictly() {
    assert_eq!(refusal("fly p0\n"), "line 2: \"fly p0\": there is no such statement");
    assert_eq!(refusal("state u0\n"), "line 2: \"state u0\": operand \"u0\" is not a register pN");
    assert_eq!(refusal("state p+1\n"), "line 2: \"state p+1\": operand \"p+1\" is not a register pN");
    assert_eq!(refusal("fail p0 7\n"), "line 2: \"fail p0 7\": operand \"7\" is not an error EN, C or e");
    assert_eq!(refusal("ready p0\n"), "line 2: \"ready p0\": an operand is missing");
    assert_eq!(refusal("state p0 p1\n"), "line 2: \"state p0 p1\": operand \"p1\" is too many");
    assert_eq!(refusal("pick p0\n"), "line 2: \"pick p0\": its list is empty");
}

#[test]
fn deviations_need_a_name_and_a_reason() {
    let list =
        Deviations::parse("prose\n#core-0001 lost a wake-up\n#cancel-0002 why\n").expect("well formed");
    assert_eq!(list.reason("core-0001"), Some("lost a wake-up"));
    assert_eq!(list.reason("core-0002"), None);
    assert_eq!(list.of_family("cancel").collect::<Vec<_>>(), ["cancel-0002"]);
    assert!(Deviations::parse("#core-0001\n").is_err());
    assert!(Deviations::parse("#a-1 x\n#a-1 y\n").is_err());
}

//! The golden families that must pass, apart from the cases listed in `deviations.txt`.

use std::fs;
use std::path::Path;

use lisle_conformance::{Deviations, Family};

fn holds(name: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("golden/{name}.txt"));
    let text = fs::read_to_string(path).expect("the corpus is checked in");
    let deviations = Deviations::checked_in().expect("the list is checked in");
    let family = Family::judge(name, &text, &deviations).expect("the corpus is well formed");
    println!("{family}");
    assert!(family.passed > 0, "a family without a passing case has not been checked");
    let failing: Vec<String> =
        family.failing.iter().map(|(case, reason)| format!("\n#{case} {reason}")).take(20).collect();
    assert_eq!(family.failed(), 0, "{family}{}\n{}", failing.concat(), family.stale.join("\n"));
}

#[test]
fn core() {
    holds("core");
}

#[test]
fn cancel() {
    holds("cancel");
}

#[test]
fn combine() {
    holds("combine");
}

#[test]
fn storage() {
    holds("storage");
}

#[test]
fn pause() {
    holds("pause");
}

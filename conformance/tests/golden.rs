//! The golden families that must pass, apart from the cases listed in `deviations.txt`. Those with pauses must
//! pass on each engine too: a lap with an engine's turn in it wakes the same promises in the same order.

use std::fs;
use std::path::Path;

use lisle::EngineKind;
use lisle_conformance::{Deviations, Family, Laps};

fn holds(name: &str) {
    holds_with(name, Laps::Core);
}

fn holds_with(name: &str, laps: Laps) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("golden/{name}.txt"));
    let text = fs::read_to_string(path).expect("the corpus is checked in");
    let deviations = Deviations::checked_in().expect("the list is checked in");
    let family = Family::judge(name, &text, &deviations, laps).expect("the corpus is well formed");
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

#[test]
fn pause_on_every_engine() {
    for kind in EngineKind::ALL {
        println!("on {}", kind.name());
        holds_with("pause", Laps::Engine(kind));
    }
}

#[test]
fn stream() {
    holds("stream");
}

#[test]
fn sync() {
    holds("sync");
}

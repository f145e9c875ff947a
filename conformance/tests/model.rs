//! The model is proved before it proves anything: on every recorded program of the families that it knows it
//! gives the recorded trace, and calls none of them outside of what is defined.

use std::fs;
use std::path::Path;

use lisle_conformance::{cases, model};

fn proves(name: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("golden/{name}.txt"));
    let text = fs::read_to_string(path).expect("the corpus is checked in");
    let cases = cases(&text).expect("the corpus is well formed");
    let mut differing = Vec::new();
    for case in &cases {
        let run = model::run(case).unwrap_or_else(|word| panic!("#{}: no {word} in the model", case.name));
        let tags: Vec<&str> = case.tags.iter().map(String::as_str).collect();
        if run.trace != case.expected || run.outside != tags {
            differing.push(format!("#{} {:?}\n  {}", case.name, run.outside, run.trace.join("\n  ")));
        }
    }
    assert!(cases.len() > 500, "{name}: {} programs are no proof", cases.len());
    let shown = differing[..differing.len().min(5)].join("\n");
    assert!(differing.is_empty(), "{} of {} differ\n{shown}", differing.len(), cases.len());
}

#[test]
fn the_model_gives_the_recorded_traces_of_core() {
    proves("core");
}

#[test]
fn the_model_gives_the_recorded_traces_of_cancel() {
    proves("cancel");
}

#[test]
fn the_model_gives_the_recorded_traces_of_combine() {
    proves("combine");
}

#[test]
fn the_model_gives_the_recorded_traces_of_pause() {
    proves("pause");
}

#[test]
fn the_model_refuses_what_it_does_not_know() {
    let case = &cases("#a -\nbind p1 p0 {1\nget k0\n}\n--\n= 0 0\n").expect("well formed")[0];
    let refused = model::run(case).expect_err("storage is not in the model");
    assert!(refused.starts_with("Storage(Get("), "{refused}");
}

//! Runs the program as a user does: what it prints, and with which code it ends.

use serde_json::Value;
use std::process::{Command, Output};

fn lisle(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_lisle")).args(arguments).output().expect("the program starts")
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The lines of a run with `--json`.
fn measured(arguments: &[&str]) -> Vec<Value> {
    let output = lisle(&[&["bench", "--quick", "--json"], arguments].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    stdout(&output).lines().map(|line| serde_json::from_str(line).expect("each line is an object")).collect()
}

#[test]
fn each_line_of_json_is_a_result_with_all_keys() {
    let lines = measured(&["bind-resolved", "yield", "spawn"]);
    let of = |scenario: &str| lines.iter().filter(|line| line["scenario"] == scenario).count();
    assert_eq!((of("bind-resolved"), of("yield"), of("spawn")), (4, 2, 3));
    for line in &lines {
        assert_eq!(line["unit"], "ns");
        assert_eq!(line["engine"], "-");
        let figure = |key: &str| line[key].as_f64().unwrap_or_else(|| panic!("no {key} in {line}"));
        assert!(figure("min") > 0.0);
        assert!(figure("min") <= figure("median") && figure("median") <= figure("max"));
        assert!(figure("allocs_per_op") >= 0.0);
        assert!(line["syscalls_per_op"].is_null() && line["size"].is_null());
    }
}

#[test]
fn loops_of_binds_allocate_nothing_whether_they_wait_or_not() {
    let lines = measured(&["bind-resolved", "pause", "--style", "bind", "--engine", "poll"]);
    assert_eq!(lines.len(), 3);
    for line in lines {
        let allocations = line["allocs_per_op"].as_f64().unwrap();
        // Joining the chains costs a few allocations for each chain, and in so short a run a chain is short.
        let most = if line["scenario"] == "pause" { 0.5 } else { 0.05 };
        assert!(allocations < most, "{line}");
    }
}

#[test]
fn every_engine_has_its_line_measured_or_not() {
    let lines = measured(&["bind-suspended", "--style", "async"]);
    let engines: Vec<&str> = lines.iter().map(|line| line["engine"].as_str().unwrap()).collect();
    assert_eq!(engines, ["io_uring", "epoll", "poll", "select"]);
    assert!(lines.iter().all(|line| line["median"].is_number() != line["reason"].is_string()), "{lines:?}");
}

#[test]
fn each_style_throws_the_ball_to_and_fro() {
    let lines = measured(&["pingpong", "--engine", "epoll", "--rounds", "1"]);
    for style in ["bind", "async", "direct"] {
        let sizes: Vec<u64> =
            lines.iter().filter(|l| l["style"] == style).map(|l| l["size"].as_u64().unwrap()).collect();
        assert_eq!(sizes, [1, 64, 1024, 16_384, 262_144]);
    }
    assert!(lines.iter().all(|line| line["syscalls_per_op"].as_f64().unwrap() >= 2.0));
}

#[test]
fn every_scenario_runs() {
    let lines = measured(&["all"]);
    let names = "bind-resolved bind-suspended pause yield spawn timer pingpong echo churn memory";
    for name in names.split(' ') {
        assert!(lines.iter().any(|line| line["scenario"] == name && line["median"].is_number()), "{name}");
    }
}

#[test]
fn memory_is_given_in_bytes() {
    let lines = measured(&["memory", "--engine", "select"]);
    assert_eq!(lines.len(), 3);
    for line in lines {
        assert_eq!(line["unit"], "B");
        assert!((1.0..10_000.0).contains(&line["median"].as_f64().unwrap()), "{line}");
    }
}

#[test]
fn the_table_has_a_head_and_a_row_for_each_result() {
    let output = lisle(&["bench", "--quick", "yield", "--rounds", "2"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.contains("2 rounds"), "{text}");
    assert!(text.lines().any(|line| line.starts_with("scenario") && line.ends_with("syscalls/op")), "{text}");
    assert_eq!(text.lines().filter(|line| line.starts_with("yield")).count(), 2, "{text}");
    assert!(stderr(&output).is_empty(), "no progress bar without a terminal: {}", stderr(&output));
}

#[test]
fn unknown_names_fail_with_the_list_of_those_there_are() {
    let output = lisle(&["bench", "nonsense"]);
    assert_eq!(output.status.code(), Some(2));
    let names =
        "bind-resolved, bind-suspended, pause, yield, spawn, timer, pingpong, echo, churn, memory, all";
    assert!(stderr(&output).contains(names), "{}", stderr(&output));
    let output = lisle(&["bench", "--engine", "kqueue"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("io_uring, epoll, poll, select"), "{}", stderr(&output));
    assert_eq!(lisle(&["brench"]).status.code(), Some(2));
}

#[test]
fn a_scenario_that_does_not_exist_in_a_style_is_said_so() {
    let output = lisle(&["bench", "--quick", "yield", "--style", "bind"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("nothing to measure"), "{}", stderr(&output));
}

#[test]
fn the_doctor_names_the_engine_and_the_reason() {
    let output = lisle(&["doctor"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    for fact in ["kernel", "descriptors", "io_uring", "select", "A program started now runs on"] {
        assert!(text.contains(fact), "{fact} is missing in {text}");
    }
}

#[test]
fn the_doctor_heeds_the_environment() {
    let doctor = |engine: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lisle"));
        command.arg("doctor").env("LISLE_ENGINE", engine).output().expect("the program starts")
    };
    let output = doctor("poll");
    assert_eq!(output.status.code(), Some(0));
    assert!(
        stdout(&output).contains("runs on poll, because LISLE_ENGINE=poll asks for it"),
        "{}",
        stdout(&output)
    );
    let output = doctor("kqueue");
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("kqueue"), "{}", stderr(&output));
}

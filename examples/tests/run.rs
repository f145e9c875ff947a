//! Every example runs to its end, says what it should, and does so on every engine.

use std::process::Command;

const ENGINES: [&str; 4] = ["io_uring", "epoll", "poll", "select"];

fn says(program: &str, expected: &[&str]) {
    for engine in ENGINES {
        let output = Command::new(program).env("LISLE_ENGINE", engine).output().expect("the example starts");
        let text = String::from_utf8_lossy(&output.stdout);
        let error = String::from_utf8_lossy(&output.stderr);
        if engine == "io_uring" && error.contains("not available") {
            eprintln!("{engine} is not available here: {error}");
            continue;
        }
        assert!(output.status.success(), "{program} on {engine}: {error}");
        assert_eq!(text.lines().collect::<Vec<_>>(), expected, "{program} on {engine}");
    }
}

#[test]
fn echo_async() {
    says(env!("CARGO_BIN_EXE_echo_async"), &["the server said: hello"]);
}

#[test]
fn echo_bind() {
    says(env!("CARGO_BIN_EXE_echo_bind"), &["the server said: hello"]);
}

#[test]
fn echo_direct() {
    says(env!("CARGO_BIN_EXE_echo_direct"), &["the server said: hello, 5 bytes"]);
}

#[test]
fn cancel_and_clean_up() {
    let lines = ["the task said goodbye", "the peer heard: goodbye", "not lost: late"];
    says(env!("CARGO_BIN_EXE_cancel_and_clean_up"), &lines);
}

#[test]
fn race_and_timeout() {
    says(env!("CARGO_BIN_EXE_race_and_timeout"), &["first: the hare", "gave up: true", "told: [14, 28, 42]"]);
}

#[test]
fn three_orders() {
    let lines = [
        "1. the task runs at once, and suspends",
        "2. nothing else has run",
        "3. the callback runs inside resolve",
        "4. resolve has returned",
        "5. the fiber begins: it was queued when it was made",
        "6. the task goes on: it was queued by resolve",
    ];
    says(env!("CARGO_BIN_EXE_three_orders"), &lines);
}

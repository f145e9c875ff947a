//! The stacks: reuse and sizes. What happens at the guard page is in `overflow.rs`.

use lisle::sched::tasks::run_ready;
use lisle_direct::{Builder, spawn, stack};
use std::hint::black_box;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;

const CHILD: &str = "LISLE_DIRECT_CHILD";

#[test]
fn a_thousand_fibers_spawned_again_and_again_use_the_same_stacks() {
    for _ in 0..20 {
        for _ in 0..1000 {
            spawn(|fiber| fiber.yield_now()).detach();
        }
        while run_ready() > 0 {}
        assert_eq!(stack::idle_count(), 1000);
    }
}

#[test]
fn fibers_that_never_suspend_share_one_stack() {
    for _ in 0..1000 {
        spawn(|_| ()).detach();
    }
    assert_eq!(stack::idle_count(), 0, "a fiber that has not begun holds none");
    run_ready();
    assert_eq!(stack::idle_count(), 1);
}

#[test]
fn the_pool_has_a_limit_and_can_be_emptied() {
    for _ in 0..stack::IDLE_MAX + 100 {
        spawn(|fiber| fiber.yield_now()).detach();
    }
    while run_ready() > 0 {}
    assert_eq!(stack::idle_count(), stack::IDLE_MAX);
    stack::drop_idle();
    assert_eq!(stack::idle_count(), 0);
}

#[test]
fn sizes_do_not_mix() {
    let deep = Builder::new().stack_size(4 << 20);
    for _ in 0..3 {
        let small = spawn(|_| ());
        let large = deep.spawn(|_| deepest(1 << 20));
        run_ready();
        small.try_take().unwrap().unwrap();
        assert!(large.try_take().unwrap().unwrap() >= 1024);
        assert_eq!(stack::idle_count(), 2);
    }
}

#[test]
fn a_stack_that_cannot_be_mapped_rejects_the_fiber_and_says_why() {
    let fiber = Builder::new().stack_size(1 << 60).spawn(|_| ());
    let neighbour = spawn(|_| ());
    run_ready();
    let error = fiber.try_take().unwrap().unwrap_err();
    assert!(error.panic_message().is_some_and(|text| text.contains("vm.max_map_count")), "{error}");
    neighbour.try_take().unwrap().unwrap();
}

#[test]
fn tiny_wishes_are_raised_to_what_a_panic_message_needs() {
    let fiber = Builder::new().stack_size(1).spawn(|_| format!("{:?} {:.3}", vec![1; 3], 0.1));
    run_ready();
    assert_eq!(fiber.try_take().unwrap().unwrap(), "[1, 1, 1] 0.100");
}

#[test]
fn wishes_beyond_the_address_space_reject_the_fiber_and_do_not_wrap_around() {
    // In release, sums of these began again at zero: a stack of one page, with a guard page that was none.
    for wish in [usize::MAX, usize::MAX - 4095, usize::MAX - 8191, isize::MAX as usize] {
        let promise = Builder::new().stack_size(wish).spawn(|_| ());
        run_ready();
        let error = promise.try_take().unwrap().unwrap_err();
        assert!(error.panic_message().is_some_and(|text| text.contains("no stack for a fiber")), "{error}");
    }
}

/// Recurses until `bytes` of stack are used; how many calls that took.
fn deepest(bytes: usize) -> usize {
    let frame = black_box([0_u8; 1024]);
    if bytes < frame.len() { 1 } else { 1 + black_box(deepest(bytes - frame.len())) }
}

/// How a child process ended.
struct End {
    signal: Option<i32>,
    stdout: String,
    stderr: String,
}

/// Runs one test of this program in a child process.
fn child(test: &str) -> End {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(CHILD, test)
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    End { signal: output.status.signal(), stdout: text(&output.stdout), stderr: text(&output.stderr) }
}

fn is_child(test: &str) -> bool {
    std::env::var(CHILD).is_ok_and(|name| name == test)
}

#[test]
fn a_panic_with_a_backtrace_fits_on_the_usual_stack() {
    const TEST: &str = "a_panic_with_a_backtrace_fits_on_the_usual_stack";
    if is_child(TEST) {
        let promise: lisle::Promise<()> = spawn(|_| panic!("{}", std::backtrace::Backtrace::force_capture()));
        run_ready();
        assert!(promise.try_take().unwrap().unwrap_err().panic_message().is_some());
        println!("survived");
        return;
    }
    let end = child(TEST);
    assert_eq!(end.signal, None, "{}", end.stderr);
    assert!(end.stdout.contains("survived"), "{}", end.stdout);
}

//! Choosing an engine: names, refusals of every kind, and a real sandbox in a child process.
//!
//! The child is this test program run again with `CHILD` set, so that its seccomp filter dies with it.

#![allow(unsafe_code)]

use lisle_engine::probe::{self, Choice, EngineError};
use lisle_engine::uring::Config;
use lisle_engine::{EngineKind, Op, Submitted, Token, Wait};
use rustix::io::Errno;
use std::process::Command;

const CHILD: &str = "LISLE_TEST_SECCOMP_ERRNO";

#[test]
fn names_are_known_and_others_are_told_what_is() {
    assert_eq!("auto".parse(), Ok(Choice::Auto));
    for kind in EngineKind::ALL {
        assert_eq!(kind.name().parse(), Ok(Choice::Only(kind)));
    }
    let error = "kqueue".parse::<Choice>().unwrap_err();
    let said = error.to_string();
    assert_eq!(said, "unknown engine 'kqueue'; LISLE_ENGINE may be auto, io_uring, epoll, poll, select");
}

#[test]
fn each_engine_opens_and_says_its_name() {
    for kind in EngineKind::ALL {
        match probe::open(Choice::Only(kind)) {
            Ok(mut opened) => {
                assert_eq!((opened.kind, opened.engine.kind(), opened.reason), (kind, kind, None));
                assert_eq!(
                    opened.engine.counters(),
                    Default::default(),
                    "the probe's own work is not counted"
                );
                let mut done = Vec::new();
                if let Submitted::Pending = opened.engine.submit(Token(1), Op::Nop) {
                    opened.engine.turn(Wait::Forever, &mut done).unwrap();
                    assert_eq!(done.len(), 1);
                }
            }
            Err(error) => assert_eq!(kind, EngineKind::IoUring, "{error}"),
        }
    }
}

#[test]
fn auto_falls_back_and_says_why_in_one_line() {
    for errno in [Errno::PERM, Errno::NOSYS, Errno::NOMEM, Errno::INVAL, Errno::MFILE] {
        let config = Config { inject_setup_errno: Some(errno), ..Config::default() };
        let opened = probe::open_with(Choice::Auto, &config).unwrap();
        assert_eq!(opened.kind, EngineKind::Epoll);
        let reason = opened.reason.unwrap();
        assert!(reason.starts_with("io_uring: not available (E"), "{reason}");
        assert!(reason.contains("Likely cause: ") && reason.contains("Using epoll; to change: "), "{reason}");
        assert_eq!(reason.lines().count(), 1, "{reason}");

        let refused = probe::open_with(Choice::Only(EngineKind::IoUring), &config).unwrap_err();
        let EngineError::Unavailable(obstacle) = &refused else { panic!("{refused:?}") };
        assert_eq!((obstacle.kind, obstacle.errno), (EngineKind::IoUring, errno));
        assert!(!obstacle.cause.is_empty() && refused.to_string().ends_with(&obstacle.cure));
    }
}

#[test]
fn each_refusal_has_its_own_cure() {
    let say = |errno| {
        let config = Config { inject_setup_errno: Some(errno), ..Config::default() };
        probe::open_with(Choice::Only(EngineKind::IoUring), &config).unwrap_err().to_string()
    };
    assert!(say(Errno::NOSYS).contains("Linux 6.1 or later"));
    assert!(say(Errno::NOMEM).contains("RLIMIT_MEMLOCK"));
    assert!(say(Errno::MFILE).contains("ulimit -n"));
    let denied = say(Errno::PERM);
    assert!(denied.contains("seccomp") || denied.contains("kernel.io_uring_disabled"), "{denied}");
}

#[test]
fn the_report_is_complete() {
    let report = probe::report();
    assert_eq!(report.engines.iter().map(|(kind, _)| *kind).collect::<Vec<_>>(), EngineKind::ALL);
    let ring = report.engines[0].1.is_ok();
    assert!(!ring || report.ring_mode.is_some() && report.opcodes.iter().all(|(_, supported)| *supported));
    let shown = report.to_string();
    assert!(shown.contains(&report.kernel_release) && shown.contains("RLIMIT_MEMLOCK"), "{shown}");
}

#[test]
fn a_sandbox_that_forbids_io_uring_leads_to_epoll() {
    for (errno, name, cause) in [(libc::EPERM, "EPERM", "seccomp profile"), (libc::ENOSYS, "ENOSYS", "lacks")]
    {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "child_in_a_sandbox", "--nocapture"])
            .env(CHILD, errno.to_string())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
        assert!(said.contains("auto opened epoll because io_uring: not available"), "{said}");
        assert!(said.contains(name) && said.contains(cause), "{said}");
        assert!(said.contains("only io_uring failed"), "{said}");
    }
}

/// Does nothing unless started by the test above.
#[test]
fn child_in_a_sandbox() {
    let Some(errno) = std::env::var(CHILD).ok().and_then(|errno| errno.parse().ok()) else { return };
    forbid_io_uring(errno);
    let opened = probe::open(Choice::Auto).unwrap();
    println!("auto opened {} because {}", opened.kind.name(), opened.reason.unwrap());
    let refused = probe::open(Choice::Only(EngineKind::IoUring)).unwrap_err();
    println!("only io_uring failed: {refused}");
    println!("{}", probe::report());
}

/// From now on the three system calls of io_uring fail in this thread with `errno`; all others work.
fn forbid_io_uring(errno: u32) {
    const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    const JUMP_IF_LESS: u16 = (libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K) as u16;
    const JUMP_IF_MORE: u16 = (libc::BPF_JMP | libc::BPF_JGT | libc::BPF_K) as u16;
    const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
    let (first, last) = (libc::SYS_io_uring_setup as u32, libc::SYS_io_uring_register as u32);
    let line = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    let mut filter = [
        // The number of the call is the first word of `struct seccomp_data`.
        line(LOAD, 0, 0, 0),
        line(JUMP_IF_LESS, 0, 2, first),
        line(JUMP_IF_MORE, 1, 0, last),
        line(RETURN, 0, 0, libc::SECCOMP_RET_ERRNO | errno),
        line(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: takes numbers only.
    let privileges = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
    assert_eq!(privileges, 0);
    // SAFETY: `program` and `filter` live until the call returns; the kernel copies them.
    let installed =
        unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) };
    assert_eq!(installed, 0, "{}", std::io::Error::last_os_error());
}

//! Signals: an engine is interrupted at every moment and neither fails nor loses anything.
//!
//! # Safety
//! The only unsafe code of the suite: handlers that do nothing at all, so they may run at any moment, and
//! signals sent to a thread that is joined or still running when they are sent.
#![allow(unsafe_code)]

use crate::rig::{Watchdog, bytes, pair, tcp_pair};
use lisle_engine::{Buf, Op, Outcome, Wait};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

extern "C" fn do_nothing(_: libc::c_int) {}

/// Makes `SIGUSR1` interrupt system calls, without `SA_RESTART`.
fn interrupt_by_sigusr1() {
    // SAFETY: an all-zero `sigaction` is a valid value: no flags, empty mask.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    let handler: extern "C" fn(libc::c_int) = do_nothing;
    action.sa_sigaction = handler as libc::sighandler_t;
    // SAFETY: `action` is initialised and outlives the call; the handler touches nothing, whenever it runs.
    let result = unsafe { libc::sigaction(libc::SIGUSR1, &action, std::ptr::null_mut()) };
    assert_eq!(result, 0);
}

/// Gives `SIGPIPE` back its default: to end the process. (Rust programs start with it ignored.)
pub(crate) fn default_sigpipe() {
    // SAFETY: SIG_DFL is a valid disposition; no handler is installed.
    let former = unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
    assert_ne!(former, libc::SIG_ERR);
}

/// Sends signals to the calling thread until dropped.
struct Storm {
    over: Arc<AtomicBool>,
    sent: Arc<AtomicU64>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Storm {
    fn over_this_thread() -> Storm {
        interrupt_by_sigusr1();
        let (over, sent) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        // SAFETY: no preconditions; names the calling thread.
        let target = unsafe { libc::pthread_self() };
        let thread = {
            let (over, sent) = (over.clone(), sent.clone());
            std::thread::spawn(move || {
                while !over.load(Ordering::Acquire) {
                    // SAFETY: `Storm` joins this thread before it is dropped by the target, which thus still
                    // runs.
                    let result = unsafe { libc::pthread_kill(target, libc::SIGUSR1) };
                    assert_eq!(result, 0);
                    sent.fetch_add(1, Ordering::Relaxed);
                    std::thread::sleep(Duration::from_micros(50));
                }
            })
        };
        Storm { over, sent, thread: Some(thread) }
    }
}

impl Drop for Storm {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Release);
        let result = self.thread.take().map(|thread| thread.join());
        assert!(std::thread::panicking() || matches!(result, Some(Ok(()))));
    }
}

on_every_engine!(a_sleep_without_end_ends_and_does_not_fail, |rig| {
    let _watchdog = Watchdog::new();
    let (_a, b) = pair();
    let token = rig.recv(&b, 16);
    let storm = Storm::over_this_thread();
    for _ in 0..20 {
        assert_eq!(rig.turn(Wait::Forever), 0);
    }
    assert!(storm.sent.load(Ordering::Relaxed) > 0);
    assert!(rig.is_open(token));
});

on_every_engine!(a_storm_of_signals_changes_nothing, |rig| {
    const LENGTH: usize = 1 << 20;
    let _storm = Storm::over_this_thread();
    for (a, b) in [pair(), tcp_pair()] {
        let content: Vec<u8> = (0..LENGTH).map(|index| ((index * 31) >> 5) as u8).collect();
        let token = rig.start(Op::SendAll { fd: a, buf: Buf::from(content.clone()) });
        let mut all = Vec::new();
        while all.len() < LENGTH {
            let receive = rig.recv(&b, 1500);
            all.extend(bytes(rig.finish(receive)));
        }
        assert!(matches!(rig.finish(token), Outcome::Sent { sent: LENGTH, .. }));
        assert!(all == content);
    }
    let (listening, address) = crate::rig::listener();
    for _ in 0..50 {
        let client = crate::rig::tcp_socket();
        let connect = rig.start(Op::Connect { fd: client.clone(), addr: Box::new(crate::rig::any(address)) });
        let accept = rig.start(Op::Accept { fd: listening.clone() });
        assert!(matches!(rig.finish(connect), Outcome::Done));
        crate::rig::accepted(rig.finish(accept));
    }
});

//! Kernel faults we work around, found by trying, since stable kernels get fixes that no version number
//! shows.
//!
//! One so far. On some kernels a multishot receive on a Unix socket loses the end of the
//! stream when data and shutdown arrive between two turns: both wake-ups are counted as one event, the data
//! is delivered, and nothing ever tells of the end (liburing issue 1549). There, single receives are
//! repeated instead: one more entry, no more system calls.
//! Not here: answers of the kernel that differ by version (`encode.rs` falls back per operation).

use super::{Config, Uring};
use crate::pool::PoolConfig;
use crate::{Engine, Fd, Op, Token, Wait};
use rustix::net::{AddressFamily, Shutdown, SocketFlags, SocketType, shutdown, socketpair};
use std::sync::OnceLock;

/// Whether multishot receives lose the end of a stream. Tried once in a process, in about 150 µs, with a
/// ring of its own.
pub(super) fn recv_multishot_loses_end() -> bool {
    static ANSWER: OnceLock<bool> = OnceLock::new();
    *ANSWER.get_or_init(|| sees_end().is_none_or(|sees| !sees))
}

/// `None` if it could not be tried.
fn sees_end() -> Option<bool> {
    let pool = PoolConfig { buffer_bytes: 64, buffers_max: 2 };
    let mut engine = Uring::open(&Config { sq_entries: 4, cq_entries: 8, pool, ..Config::default() }).ok()?;
    // Else the engine would ask itself.
    engine.recv_single_shot = Some(false);
    let (ours, theirs) =
        socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None).ok()?;
    let mut done = Vec::new();
    let _pending = engine.submit(Token(0), Op::RecvMulti { fd: Fd::new(ours) });
    engine.turn(Wait::Poll, &mut done).ok()?;
    rustix::io::write(&theirs, b"data").ok()?;
    shutdown(&theirs, Shutdown::Write).ok()?;
    // The deferred work of both wake-ups runs in the first of these; the others are for kernels that take a
    // detour.
    for _ in 0..3 {
        engine.turn(Wait::Poll, &mut done).ok()?;
    }
    Some(done.iter().any(|completion| !completion.more))
}

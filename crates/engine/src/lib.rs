//! Operations, completions, and the engines that perform them.
//!
//! This crate is the whole seam between Lisle and an operating system. It knows no promises and runs no
//! callbacks: it takes an [`Op`], which owns every buffer and descriptor the kernel may touch, and gives
//! back a [`Completion`] when the kernel is done with them.
//!
//! ```text
//!   submit(token, op) ──► Done(outcome)            the engine could finish at once
//!            │
//!            └──────────► Pending ──turn──► Completion { token, outcome, more }
//!                            │                    more: the op goes on (multishot)
//!                            └─cancel──►  still exactly one last completion
//! ```
//!
//! # The contract of an engine
//!
//! 1. Each submitted operation gets exactly one *last* completion (`more == false`), either from `submit` or
//!    from a later `turn`. Only multishot operations (`AcceptMulti`, `RecvMulti`) get others before it,
//!    always from `turn`.
//! 2. The engine owns the operation (descriptor and buffer) until that last completion; then the buffer
//!    comes back in the [`Outcome`].
//! 3. `cancel` only asks. The last completion says what happened: the value if it was done, else
//!    [`Outcome::Canceled`]. Cancelling an unknown or finished token does nothing.
//! 4. `turn` appends completions to a list and runs nothing else. It returns early for a completion, a
//!    wake-up or a signal; it never fails for `EINTR`.
//! 5. With [`Wait::Poll`] and nothing to submit and nothing pending, `turn` makes no system call (readiness
//!    engines poll once per turn while an operation waits).
//! 6. Dropping an engine first cancels and drains what the kernel still holds, then frees memory.
//! 7. `submit` never fails: an error is an outcome.
//! 8. Sends on one descriptor take effect in the order of their submission, and so do receives: a new one
//!    does not overtake one that waits. A shutdown lets earlier sends go as far as the socket has room.
//!
//! Not here: timers (the caller passes the time until its next deadline to `turn`), promises, callbacks,
//! threads.

pub mod buf;
pub mod cpu;
pub mod fd;
pub mod op;
pub mod pool;
pub mod probe;
pub mod readiness;
mod sys;
pub mod uring;
pub mod waker;

pub use buf::Buf;
pub use fd::Fd;
pub use op::{Completion, Interest, Op, Outcome, Token};
pub use waker::EngineWaker;

use std::io;
use std::time::Duration;

/// How long [`Engine::turn`] may sleep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// Collect what is there and return at once.
    Poll,
    /// Sleep until a completion, a wake-up or the end of this time. Rounded up, never down.
    For(Duration),
    /// Sleep until a completion or a wake-up.
    Forever,
}

/// What [`Engine::submit`] answers.
#[derive(Debug)]
#[must_use]
pub enum Submitted {
    /// Finished during the call; no completion will follow.
    Done(Outcome),
    /// Completions for the token will come from [`Engine::turn`].
    Pending,
}

/// What an engine has done so far. Exact, cheap, always on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// System calls made by the engine itself on the caller's behalf.
    pub system_calls: u64,
    /// Operations given to [`Engine::submit`].
    pub submitted: u64,
    /// Last completions handed out.
    pub completed: u64,
    /// Calls of [`Engine::turn`].
    pub turns: u64,
}

/// A way to perform operations: one value per worker thread, used by that thread only.
///
/// See the crate page for the numbered contract.
pub trait Engine {
    /// Starts an operation.
    fn submit(&mut self, token: Token, op: Op) -> Submitted;

    /// Asks that the operation end soon. Its last completion still comes, from [`Engine::turn`].
    fn cancel(&mut self, token: Token);

    /// Submits what is queued, waits as told, and appends completions to `done`.
    ///
    /// # Errors
    /// Only for a broken engine (the ring or the poller itself failed): a bug or an exhausted system.
    fn turn(&mut self, wait: Wait, done: &mut Vec<Completion>) -> io::Result<()>;

    /// A handle with which other threads end a sleeping [`Engine::turn`].
    fn waker(&self) -> EngineWaker;

    /// Which engine this is.
    fn kind(&self) -> EngineKind;

    /// Operations submitted and not yet finished.
    fn in_flight(&self) -> usize;

    /// What has been done so far.
    fn counters(&self) -> Counters;
}

/// The engines there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EngineKind {
    /// Completions by `io_uring` (Linux 6.0 or later; at its best from 6.1 on, see [`uring::Mode`]).
    IoUring,
    /// Readiness by edge-triggered `epoll`.
    Epoll,
    /// Readiness by `poll`.
    Poll,
    /// Readiness by `select`: descriptors below 1024 only.
    Select,
}

impl EngineKind {
    /// All engines, best first.
    pub const ALL: [EngineKind; 4] =
        [EngineKind::IoUring, EngineKind::Epoll, EngineKind::Poll, EngineKind::Select];

    /// The name used in `LISLE_ENGINE`, on the command line and in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            EngineKind::IoUring => "io_uring",
            EngineKind::Epoll => "epoll",
            EngineKind::Poll => "poll",
            EngineKind::Select => "select",
        }
    }
}

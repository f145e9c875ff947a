//! One suite, each test on every engine: what an engine promises, attacked from all sides.
//!
//! `on_every_engine!(name, |rig| { … })` makes four tests, `name::epoll` … `name::io_uring`. The ring's is
//! skipped, with a line that says why, only where the kernel refuses a ring; elsewhere it must pass like the
//! others. No test asserts how long something took, except that a sleep was not too short.
//! Not here: units of one engine (beside their code), promises (crates/lisle/tests).

#[macro_use]
#[path = "conformance/rig.rs"]
mod rig;

#[path = "conformance/calls.rs"]
mod calls;
#[path = "conformance/cancel.rs"]
mod cancel;
#[path = "conformance/connect.rs"]
mod connect;
#[path = "conformance/multi.rs"]
mod multi;
#[path = "conformance/numbers.rs"]
mod numbers;
#[path = "conformance/receive.rs"]
mod receive;
#[path = "conformance/send.rs"]
mod send;
#[path = "conformance/signals.rs"]
mod signals;
#[path = "conformance/sleep.rs"]
mod sleep;
#[path = "conformance/wake.rs"]
mod wake;

//! Promises without an operating system: Lwt's semantics in Rust.
//!
//! A [`Promise`] is a value that may come later. The work behind it has begun when you hold it (nothing is
//! polled into life); it resolves to `Result<T, Error>`; it can be bound, awaited, joined, raced, shared and
//! cancelled; and suspension is visible, since only a `Promise` (or a future) in a type can suspend.
//!
//! ```
//! use lisle_core::{both, pair, ready};
//! let (answer, resolver) = pair::<u32>();
//! let sum = both(answer, ready(2)).map(|(a, b)| a + b);
//! assert!(sum.is_pending());
//! resolver.resolve(40);
//! assert_eq!(sum.try_take().unwrap().unwrap(), 42);
//! ```
//!
//! # Three ways to resume
//! - A callback of `bind` (or `map`, `catch`, …) runs inside the resolution of its input, depth first; on an
//!   input settled already it runs at once.
//! - A task ([`spawn`]) is polled at once, up to its first suspension, and later resumed through the run
//!   queue.
//! - A fiber (`lisle-direct`) is queued from the start and resumed through the same queue.
//!
//! The run queue is emptied one generation at a time between engine turns, so nothing on it can starve I/O.
//!
//! This crate knows no OS and reads no clock: a runtime drives it through [`sched`], and brings in its
//! operations through [`source`]. Unsafe stands in one file, `sched/waker.rs`.

pub mod error;
pub mod hook;
pub mod list;
mod promise;
pub mod react;
mod result;
pub mod sched;
pub mod seq;
pub mod source;
pub mod storage;
pub mod stream;
pub mod sync;
pub mod timers;

pub use error::{Error, Result};
pub use promise::choose::{choose, nchoose, nchoose_split, npick, pick};
pub use promise::gather::{all, both, join};
pub use promise::waiters::{Waiter, live_waiters};
pub use promise::{
    Canceler, IntoPromise, Promise, Resolver, Shared, State, Status, cancelable, pair, ready, rejected,
    settled,
};
pub use result::both_ok;
pub use sched::pause::{pause, wake_paused};
pub use sched::tasks::{YieldNow, spawn, spawn_queued, try_spawn, try_spawn_queued, yield_now};

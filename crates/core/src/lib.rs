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
//! This crate knows no OS and reads no clock: a runtime drives it through [`sched`], and brings in its
//! operations through [`source`]. Unsafe stands in one file, `sched/waker.rs`. For those who know Lwt or tokio,
//! `lisle` has a guide each, name by name. The tutorial below is `tutorial.md`.
#![doc = include_str!("tutorial.md")]

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

//! What tasks and callbacks of one thread arrange with each other: who goes first, and who waits.
//!
//! | | |
//! |---|---|
//! | [`Mutex`] | one at a time has the value |
//! | [`Semaphore`] | so many at a time |
//! | [`Condition`] | wait until somebody says so |
//! | [`MVar`] | hand values over, one at a time |
//! | [`Barrier`] | wait until all are there |
//! | [`Pool`] | share elements that are costly to make |
//! | [`Switch`] | end resources together |
//!
//! All are handles: `clone` gives another handle of the same thing, so they need no `Rc` around them. All are
//! fair: first come, first served. What is free is given at once, without allocation.
//!
//! # Turns
//! Whoever waits is told with the deferring flavour: his promise is settled at once, his callbacks run after
//! the resolution in progress, if there is one. While they run nothing here is borrowed: they may lock,
//! unlock, signal, cancel and drop anything.
//!
//! # Giving up
//! Cancelling a wait takes it out of its queue in O(1), and no turn is lost on it. A promise that is
//! *dropped* is not cancelled (nothing is), but nobody could see its turn come; so waits to *get* something
//! are then passed over, while what was *given* (a value put, an arrival at a barrier, the body of a use)
//! goes on. Memory stays flat in both cases.
//!
//! # The files
//! One for each of them; `queue.rs` the queue in which they all wait.

mod barrier;
mod condition;
mod mutex;
mod mvar;
mod pool;
mod queue;
mod semaphore;
mod switch;

pub use barrier::{Arrival, Barrier};
pub use condition::Condition;
pub use mutex::{Mutex, MutexGuard};
pub use mvar::{MVar, Vacancy};
pub use pool::{Pool, PoolBuilder, Pooled};
pub use semaphore::{Permit, Semaphore, TooManyPermits};
pub use switch::{HookKey, Switch, SwitchOff, with_switch};

//! Lwt's core module, in the order of its interface:
//!
//! | file | rows |
//! |---|---|
//! | `creation.rs` | promises settled from the start, pairs, second resolutions |
//! | `sequence.rs` | `bind`, `map` |
//! | `errors.rs` | `catch`, `try_bind`, `finalize` |
//! | `observers.rs` | callbacks without a result; detached work and the hook |
//! | `compose.rs` | `join`, `all`, `both` |
//! | `race.rs` | `choose`, `nchoose`, `nchoose_split`, `pick`, `npick` |
//! | `cancel.rs` | `cancel`, `on_cancel`, the three wrappers, the order of a cancellation |
//! | `cancel_through.rs` | cancelling what is made of other promises |
//! | `wakeup.rs` | states, immediate and deferred resolution, the order of callbacks |
//! | `storage.rs` | values that follow a sequence of callbacks |
//! | `pause.rs` | pauses and their generations |
//! | `syntax.rs` | what is syntax, operators or lifting in OCaml |
//! | `bounds.rs` | memory, stack, panics, dropping |
//!
//! Where a row says that a callback raises, it returns an error here; a panic is a matter of rows of its own.

mod bounds;
mod cancel;
mod cancel_through;
mod compose;
mod creation;
mod errors;
mod observers;
mod pause;
mod race;
mod sequence;
mod storage;
mod syntax;
mod wakeup;

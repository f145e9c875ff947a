//! Module `Lwt`: promises, their resolution, sequence, composition, cancellation and storage.
//!
//! | file | rows |
//! |---|---|
//! | `compose.rs` | `join`, `all`, `both` |
//! | `race.rs` | `choose`, `nchoose`, `nchoose_split`, `pick`, `npick` |
//! | `cancel.rs` | `cancel`, `on_cancel`, the three wrappers, the order of a cancellation |
//! | `cancel_through.rs` | cancelling what is made of other promises |
//! | `storage.rs` | values that follow a sequence of callbacks |
//! | `pause.rs` | pauses and their generations |

mod cancel;
mod cancel_through;
mod compose;
mod pause;
mod race;
mod storage;

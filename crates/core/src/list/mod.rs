//! Iteration with promises: what `Iterator` has for values, for callbacks that promise theirs.
//!
//! Each operation comes in up to three forms, told by the last letter of its name:
//!
//! | form | what runs | file |
//! |---|---|---|
//! | `_s` | one callback at a time: the next begins when the promise of the one before is fulfilled | `serial.rs` |
//! | `_p` | all callbacks begin during the call, in order; their promises run side by side | `parallel.rs` |
//! | `_n` | as many at a time as you say; the next begins when one of them is done | `bounded.rs` |
//!
//! ```
//! use lisle_core::{list, pause, ready};
//! let squares = list::map_p([1, 2, 3], |n| ready(n * n));
//! assert_eq!(squares.try_take().unwrap().unwrap(), [1, 4, 9]);
//! let paused = list::iter_n(2, 0..1000, |_| pause()); // two pauses at a time
//! assert!(paused.is_pending());
//! ```
//!
//! What is common to all of them:
//! - **Order.** Results come in the order of the elements, whatever is done first. Callbacks run inside the
//!   resolution that they waited for, as those of `bind` do. As long as promises are settled already, all
//!   runs at once, in a loop: a million elements need no stack, and `_s` and `_n` keep nothing of those that
//!   are done but their place in the result.
//! - **Errors.** A callback fails by the promise or `Result` it returns; a panic in it (or in the iterator)
//!   counts as a rejection with `Panicked`. `_s` stops there. `_p` begins all the others all the same, and
//!   waits for them; `_n` begins no further one, and waits for those that run. Either then rejects with the
//!   first error in time. So nothing goes on behind the back of whoever got the error.
//! - **Cancelling** the result cancels every promise that runs: it becomes an error like others if it can be
//!   cancelled, and takes its time if not.
//! - **Dropping** the result detaches, as always: the iteration goes on.
//!
//! In Lwt the parallel forms with a value look at the last element first, so that an error of the first one
//! waits for all the others, and cancelling reaches one of them only. Here they all wait as `join` does.
//! `bounded.rs` rests on a node of its own, `window.rs`. Not here: sequences that come over time
//! (streams).

mod bounded;
mod parallel;
mod serial;
mod window;

pub use bounded::{exists_n, filter_map_n, filter_n, for_all_n, iter_n, iteri_n, map_n, mapi_n, partition_n};
pub use parallel::{
    exists_p, filter_map_p, filter_p, for_all_p, iter_p, iteri_p, map_p, mapi_p, partition_p, rev_map_p,
};
pub use serial::{
    exists_s, filter_map_s, filter_s, find_s, fold_left_s, fold_right_s, for_all_s, iter_s, iteri_s, map_s,
    mapi_s, partition_s, rev_map_s,
};

/// Both parts of a list, from each element and whether it belongs into the first.
fn parted<T>(judged: Vec<(T, bool)>) -> (Vec<T>, Vec<T>) {
    let mut parts = (Vec::new(), Vec::new());
    for (item, belongs) in judged {
        if belongs { parts.0.push(item) } else { parts.1.push(item) }
    }
    parts
}

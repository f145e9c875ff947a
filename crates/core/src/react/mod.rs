//! Functional reactive programming: values that change, events that occur, and all that follows from them.
//!
//! An [`Event`] occurs now and then with a value; a [`Signal`] always has one. Both are made of others by
//! plain functions (`map`, `filter`, `fold`, `l2`, …), and driven from outside by a [`Sender`] or [`Setter`]:
//!
//! ```
//! use lisle_core::react::{event, l2, signal};
//! let (price, set_price) = signal(10);
//! let (clicks, click) = event::<u32>();
//! let count = clicks.fold(0, |count, n| count + n).hold(0);
//! let total = l2(&price, &count, |price, count| price * count);
//! click.send(3);
//! set_price.set(20);
//! assert_eq!(total.value(), 60);
//! ```
//!
//! # One step
//! A send is one *step*: all that depends on it is updated, each event and signal at most once and after all
//! that it depends on, before `send` returns. So no function ever sees one half of a change, whatever the
//! shape of the graph. [`step`] sends several things in one.
//!
//! A step cannot be interrupted, and the types say so: its functions are `Fn(&A) -> B`. They are
//! no `async` functions, so there is nothing to await in; they live in the graph (`'static`), so
//! no fiber can be lent to them; and what happens in a step is collected in a [`Step`], which
//! neither outlives it nor leaves the thread.
//!
//! - *A send from within a step* (from such a function) is the next step; it is done when the outermost send
//!   returns. Functions that send for ever keep everything else waiting, like any endless loop.
//! - *A function that panics* gives nothing: no occurrence, no change, no new state. The rest of the step
//!   takes place, and [`crate::hook`] is told once. Only while a signal is made, when there would be no
//!   value, the panic reaches the caller.
//! - *Promises* are made, started and settled when a step is over, before the outermost send returns, in the
//!   order of their occurrences. So their callbacks see a graph at rest; what they send happens at once.
//!
//! # Who lives how long
//! Handles own what they are made of; events and signals know what is made of them weakly. What no
//! handle leads to is freed, at once, and its functions never run again: keep the handle, or say
//! [`Event::keep`]. Senders and setters keep nothing alive. Since what a function captures belongs to
//! its event, one that captures a handle of what is made of this event would keep both for ever; capture
//! a [`Sender`], or use [`Event::fix`].
//!
//! # What is not here
//! There is no equality argument (`==` of the type decides, see [`Fresh`]), no `stop` (drop the handle), no
//! `trace` (`map`), no lifted operators, no `S.app` (`l2` with a signal of functions) and no `S.run_s`
//! (`map_s` with the promise as its own function's result). `E.l3` and up are `l2` of `l2`.
//!
//! Inside: `graph.rs` vertices and ownership, `step.rs` the update, `event.rs`, `signal.rs`, `memory.rs`,
//! `lift.rs`, `switch.rs` plain combinators, `next.rs`, `source.rs`, `serial.rs`, `parallel.rs`,
//! `signal_promises.rs`, `limit.rs`, `streams.rs` those with promises. The model of semantics is the library
//! `react` by Daniel Bünzli, and `Lwt_react` for promises.

mod event;
mod graph;
mod lift;
mod limit;
mod memory;
mod next;
mod parallel;
mod serial;
mod signal;
mod signal_promises;
mod source;
mod step;
mod streams;
mod switch;

pub use event::{Event, Sender, event};
pub use lift::{l2, l2_s, l3, l3_s, l4, l4_s, l5, l5_s, l6, l6_s};
pub use signal::{Fresh, Setter, Signal, signal};
pub use step::{Step, step};

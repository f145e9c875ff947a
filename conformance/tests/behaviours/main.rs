//! The behaviours that OCaml Lwt's own suites check, and some that they leave unchecked, as tests: one file or folder
//! for each module of Lwt, in the order of `conformance/lwt-behaviours.tsv`.
//!
//! The comment of each test opens with the ids of the rows that it shows, its name begins with the first of them;
//! `cargo xtask behaviours` compares the tests with the table. What a row's number says more than once is said once.

mod condition;
mod direct;
mod list;
mod lwt;
mod mutex;
mod mvar;
mod pool;
mod ppx;
mod react;
mod result;
mod retry;
mod rig;
mod seq;
mod sequence;
mod stream;
mod switch;
mod throttle;
mod timeout;

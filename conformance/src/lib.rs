//! Does the library do what its reference does? Thousands of small promise programs, each with the trace
//! that OCaml Lwt gives for it, are run over the library, and the traces are compared line by line.
//!
//! ```text
//! golden/core.txt ─ parse ─► Case ─ verdict ─► Verdict ─ report ─► "core: 2000 of 2000"
//!                   program          run, machine       deviations
//! ```
//!
//! `golden/FORMAT.md` describes the files and the language, `README.md` where they come from. The binary of
//! this package prints the counts and single cases; `tests/golden.rs` holds the families that must pass.
//!
//! ```
//! let case = "#first -\nwait p0 u0\nbind p1 p0 {1\nval x+1\n}\nwake u0 4\n--\n>1 4\n= 4 5\n";
//! let cases = lisle_conformance::cases(case)?;
//! assert_eq!(lisle_conformance::judge(&cases[0]), lisle_conformance::Verdict::Passed);
//! # Ok::<(), lisle_conformance::Problem>(())
//! ```

#![forbid(unsafe_code)]

mod deviations;
mod machine;
pub mod model;
mod parse;
mod program;
mod report;
mod run;
mod verdict;

pub use deviations::Deviations;
pub use parse::{Case, Problem, cases};
pub use report::Family;
pub use verdict::{Laps, Verdict, judge, judge_with, trace};

//! A model of the reference, to run programs that nobody recorded.
//!
//! ```text
//!                    ┌─ the library (`trace`) ──► trace ─┐
//!   Draft ─► Case ───┤                                   ├─ must be equal, if the program is inside
//!                    └─ the model (`run`) ──► Run ───────┘
//! ```
//!
//! The model is as plain as can be (`promise.rs`, `machine.rs`) and proved on the recorded corpus: on every
//! program of the families that it knows, it gives the recorded trace (`tests/model.rs`). Then programs are
//! drawn at random (`draft.rs`), by `tests/random.rs` and by the fuzz target.
//!
//! Not here: statements about storage, locks, pools, switches and streams. A program with one of them is
//! refused; to add them, an arm in `Machine::statements` and rows in `draft::FORMS`.

mod draft;
mod machine;
mod promise;

pub use draft::{Draft, DraftBlock, DraftStatement, Form, forms};

use crate::parse::Case;

/// What the model makes of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// The trace.
    pub trace: Vec<String>,
    /// Why the reference's behaviour is not defined for this program: it draws lots, or it does not end.
    /// Empty for a program that is inside.
    pub outside: Vec<&'static str>,
    /// A promise waits for itself, directly or by a way round, so nobody can ever settle it: it stays
    /// in memory with whoever waits for it.
    pub knotted: bool,
}

/// Runs a program over the model.
///
/// # Errors
/// The first statement that the model does not have.
pub fn run(case: &Case) -> Result<Run, String> {
    if let Some(statement) = machine::missing(&case.program) {
        return Err(format!("{statement:?}"));
    }
    Ok(machine::Machine::run(&case.program, case.highest))
}

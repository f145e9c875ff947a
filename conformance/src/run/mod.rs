//! Executes statements: one file for each part of the language, one match arm for each statement.
//!
//! Each arm keeps the order that programs can observe: read the operands, run the operation, then assign the
//! result.
//!
//! A statement that the library cannot run yet is named by `missing`, which is asked before a program
//! starts. To add a part (locks, pool, switch, streams): a file here like `cancellation`, its arm
//! in `statements`, and its arm in `missing` goes.

mod cancellation;
mod composition;
mod creation;
mod pause;
mod sequencing;
mod storage;
pub(crate) mod stream;
pub(crate) mod sync;

use crate::machine::{Machine, Scope};
use crate::program::Action;

/// Runs statements in their order.
pub(crate) fn statements(machine: &Machine, scope: &Scope, statements: &[Action]) {
    for statement in statements {
        match statement {
            Action::Creation(action) => creation::run(machine, scope, action),
            Action::Sequencing(action) => sequencing::run(machine, scope, action),
            Action::Cancellation(action) => cancellation::run(machine, action),
            Action::Pause(action) => pause::run(machine, action),
            Action::Composition(action) => composition::run(machine, action),
            Action::Storage(action) => storage::run(machine, scope, action),
            Action::Lock(action) => sync::lock(machine, scope, action),
            Action::Pool(action) => sync::pool(machine, scope, action),
            Action::Switch(action) => sync::switch(machine, scope, action),
            Action::Source(action) => stream::source(machine, scope, action),
            Action::Read(action) => stream::read(machine, scope, action),
            Action::Derive(action) => stream::derive(machine, scope, action),
        }
    }
}

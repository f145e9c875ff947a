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

use crate::machine::{Machine, Scope};
use crate::program::{Action, Block, Statement};

/// Runs statements in their order.
pub(crate) fn statements(machine: &Machine, scope: &Scope, statements: &[Statement]) {
    for statement in statements {
        match &statement.action {
            Action::Creation(action) => creation::run(machine, scope, action),
            Action::Sequencing(action) => sequencing::run(machine, scope, action),
            Action::Cancellation(action) => cancellation::run(machine, action),
            Action::Pause(action) => pause::run(machine, action),
            Action::Composition(action) => composition::run(machine, action),
            Action::Storage(action) => storage::run(machine, scope, action),
            Action::Lock(_) | Action::Pool(_) | Action::Switch(_) => unsupported(statement),
            Action::Source(action) => stream::source(machine, scope, action),
            Action::Read(action) => stream::read(machine, scope, action),
            Action::Derive(action) => stream::derive(machine, scope, action),
        }
    }
}

fn unsupported(statement: &Statement) -> ! {
    unreachable!("`missing` names {:?}, so no program with it is started", statement.word)
}

/// The first statement of a block, at any depth, that cannot be executed yet.
pub(crate) fn missing(block: &Block) -> Option<&str> {
    block.statements.iter().find_map(|statement| match &statement.action {
        Action::Lock(_) | Action::Pool(_) | Action::Switch(_) => Some(&*statement.word),
        action => action.bodies().into_iter().find_map(|body| missing(body)),
    })
}

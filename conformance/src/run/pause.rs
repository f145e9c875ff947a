//! `pause lap`.

use lisle_core::pause;

use crate::machine::Machine;
use crate::program::Pause;

pub(super) fn run(machine: &Machine, action: &Pause) {
    match *action {
        Pause::Pause(to) => machine.assign(to, pause().map(|()| 0)),
        Pause::Lap => machine.lap(),
    }
}

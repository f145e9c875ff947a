//! `cancel protected nocancel wrapc`.

use crate::machine::Machine;
use crate::program::Cancellation;

pub(super) fn run(machine: &Machine, action: &Cancellation) {
    match *action {
        Cancellation::Cancel(register) => machine.promise(register).cancel(),
        Cancellation::Protected(to, from) => machine.assign(to, machine.promise(from).protected()),
        Cancellation::NoCancel(to, from) => machine.assign(to, machine.promise(from).no_cancel()),
        Cancellation::WrapInCancelable(to, from) => {
            machine.assign(to, machine.promise(from).wrap_in_cancelable());
        }
    }
}

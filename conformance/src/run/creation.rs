//! Promises and their resolution: `ready fail wait task wake wakex later laterx state`.

use lisle_core::{Error, cancelable, pair, ready, rejected};

use crate::machine::{Machine, Scope};
use crate::program::{Creation, Flavour, U};

pub(super) fn run(machine: &Machine, scope: &Scope, action: &Creation) {
    match *action {
        Creation::Ready(to, value) => machine.assign(to, ready(scope.value(value))),
        Creation::Fail(to, fault) => machine.assign(to, rejected(scope.error(fault))),
        Creation::Wait(to, resolver) => machine.connect(to, resolver, pair()),
        Creation::Task(to, resolver) => machine.connect(to, resolver, cancelable()),
        Creation::Fulfil(flavour, resolver, value) => {
            settle(machine, flavour, resolver, Ok(scope.value(value)));
        }
        Creation::Reject(flavour, resolver, fault) => {
            settle(machine, flavour, resolver, Err(scope.error(fault)));
        }
        Creation::State(register) => machine.log(format!("p{} {}", register.0, machine.state(register))),
    }
}

fn settle(machine: &Machine, flavour: Flavour, resolver: U, outcome: Result<i64, Error>) {
    let Some(resolver) = machine.claim(resolver) else { return };
    match (flavour, outcome) {
        (Flavour::Immediate, Ok(value)) => resolver.resolve_now(value),
        (Flavour::Immediate, Err(error)) => resolver.reject_now(error),
        (Flavour::Deferring, Ok(value)) => resolver.resolve(value),
        (Flavour::Deferring, Err(error)) => resolver.reject(error),
    }
}

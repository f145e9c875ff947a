//! Callbacks: `bind map catch try fin succ failure term any oncancel async dontwait`.

use lisle_core::Promise;

use crate::machine::{Closure, Given, Machine, Scope};
use crate::program::{Body, Sequencing};

pub(super) fn run(machine: &Machine, scope: &Scope, action: &Sequencing) {
    match action {
        Sequencing::OnSuccess(..)
        | Sequencing::OnFailure(..)
        | Sequencing::OnTermination(..)
        | Sequencing::OnAny(..)
        | Sequencing::OnCancel(..) => watch(machine, scope, action),
        _ => chain(machine, scope, action),
    }
}

/// Operations whose blocks return a promise.
fn chain(machine: &Machine, scope: &Scope, action: &Sequencing) {
    let closure = |body: &Body| Closure::new(machine, scope, body);
    match action {
        Sequencing::Bind(to, from, f) => {
            let f = closure(f);
            let promise = machine.promise(*from).bind(move |value| f.promise(Given::Value(value)));
            machine.assign(*to, promise);
        }
        Sequencing::Map(to, from, f) => {
            let f = closure(f);
            let promise = machine.promise(*from).try_map(move |value| f.result(Given::Value(value)));
            machine.assign(*to, promise);
        }
        Sequencing::Catch(to, from, h) => {
            let h = closure(h);
            let promise = machine.promise(*from).catch(move |error| h.promise(Given::Error(error)));
            machine.assign(*to, promise);
        }
        Sequencing::Try(to, from, f, h) => {
            let (f, h) = (closure(f), closure(h));
            let promise = machine.promise(*from).try_bind(
                move |value| f.promise(Given::Value(value)),
                move |error| h.promise(Given::Error(error)),
            );
            machine.assign(*to, promise);
        }
        Sequencing::Finalize(to, from, f) => {
            let f = closure(f);
            let promise = machine.promise(*from).finalize(move || without_value(f.promise(Given::Nothing)));
            machine.assign(*to, promise);
        }
        Sequencing::Async(f) => closure(f).promise(Given::Nothing).detach(),
        Sequencing::DontWait(f, h) => {
            let h = closure(h);
            closure(f).promise(Given::Nothing).detach_with(move |error| h.run(Given::Error(error)));
        }
        _ => unreachable!("`run` hands {action:?} to `watch`"),
    }
}

/// Operations that make no promise.
fn watch(machine: &Machine, scope: &Scope, action: &Sequencing) {
    let closure = |body: &Body| Closure::new(machine, scope, body);
    match action {
        Sequencing::OnSuccess(from, f) => {
            let f = closure(f);
            machine.promise(*from).on_success(move |value| f.run(Given::Value(value)));
        }
        Sequencing::OnFailure(from, f) => {
            let f = closure(f);
            machine.promise(*from).on_failure(move |error| f.run(Given::Error(error)));
        }
        Sequencing::OnTermination(from, f) => {
            let f = closure(f);
            machine.promise(*from).on_termination(move || f.run(Given::Nothing));
        }
        Sequencing::OnAny(from, f, g) => {
            let (f, g) = (closure(f), closure(g));
            machine
                .promise(*from)
                .on_any(move |value| f.run(Given::Value(value)), move |error| g.run(Given::Error(error)));
        }
        Sequencing::OnCancel(from, f) => {
            let f = closure(f);
            machine.promise(*from).on_cancel(move || f.run(Given::Nothing));
        }
        _ => unreachable!("`run` hands {action:?} to `chain`"),
    }
}

/// A cleanup's promise: the language ignores its value, the library asks for none.
fn without_value(promise: Promise<i64>) -> Promise<()> {
    promise.map(|_| ())
}

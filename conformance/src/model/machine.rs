//! Runs a program of the language over the model's promises.
//!
//! A second interpreter, on purpose: it shares the tree of the program with `run` and `machine`, and nothing
//! else, so a mistake in one of the two shows as a difference.
//!
//! Not here: what an operation does (`promise.rs`).

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use super::Run;
use super::promise::{Failure, Link, Outcome, Promise, Value, When, World};
use crate::program::{
    self, Action, Block, Body, Cancellation, Composition, Creation, Ending, Fault, Flavour, P, Pause,
    Sequencing, U,
};

/// `x` and `e`.
#[derive(Clone, Copy)]
struct Scope {
    x: i64,
    e: Failure,
}

impl Scope {
    fn value(self, value: program::Value) -> i64 {
        match value {
            program::Value::Number(number) => number,
            program::Value::Given => self.x,
            program::Value::GivenPlus(number) => self.x + number,
        }
    }

    fn failure(self, fault: Fault) -> Failure {
        match fault {
            Fault::Code(number) => Failure::Code(number),
            Fault::Canceled => Failure::Canceled,
            Fault::Given => self.e,
        }
    }
}

#[derive(Default)]
struct Registers {
    promises: RefCell<Vec<Promise>>,
    resolvers: RefCell<BTreeMap<usize, Promise>>,
    /// The promises of all resolvers, also of those that lost their register.
    resolvable: RefCell<Vec<Promise>>,
    trace: RefCell<Vec<String>>,
    /// Blocks do nothing any more.
    closed: Cell<bool>,
}

#[derive(Clone, Default)]
pub(super) struct Machine {
    world: World,
    registers: Rc<Registers>,
}

fn shown(failure: Failure) -> String {
    match failure {
        Failure::Code(number) => format!("E{number}"),
        Failure::Canceled => "C".to_owned(),
    }
}

/// FORMAT.md's `enc`.
fn encoded(values: &[i64]) -> Value {
    let mut code = 0;
    for value in values {
        code = (code * 7 + value + 1) % 1000;
    }
    vec![code]
}

impl Machine {
    /// Runs a program to its end.
    pub(super) fn run(program: &Block, highest: Option<usize>) -> Run {
        let machine = Machine::default();
        let count = highest.map_or(0, |highest| highest + 1);
        machine.registers.promises.borrow_mut().resize_with(count, || Promise::done(Ok(vec![0])));
        machine.statements(Scope { x: 0, e: Failure::Code(0) }, &program.statements);
        let states: String =
            (0..count).map(|index| format!(" {}", machine.state(program::Register(index)))).collect();
        machine.log(format!("={states}"));
        let (trace, outside) = (machine.registers.trace.take(), machine.world.reasons());
        machine.registers.closed.set(true);
        machine.settle_all();
        let knotted = machine.world.is_any_pending();
        machine.world.end();
        Run { trace, outside, knotted }
    }

    /// Settles whatever somebody could have settled.
    fn settle_all(&self) {
        self.world.lap();
        let resolvable = self.registers.resolvable.take();
        for promise in resolvable {
            if promise.is_pending() {
                self.world.resolve(&promise, Err(Failure::Code(0)), When::Now);
            }
        }
    }

    fn log(&self, line: String) {
        self.registers.trace.borrow_mut().push(line);
    }

    fn read(&self, register: P) -> Promise {
        self.registers.promises.borrow()[register.0].clone()
    }

    fn list(&self, registers: &[P]) -> Vec<Promise> {
        registers.iter().map(|register| self.read(*register)).collect()
    }

    fn assign(&self, register: P, promise: Promise) {
        let old = std::mem::replace(&mut self.registers.promises.borrow_mut()[register.0], promise);
        drop(old);
    }

    fn state(&self, register: P) -> String {
        match self.read(register).outcome() {
            None => "-".to_owned(),
            Some(Ok(value)) => value[0].to_string(),
            Some(Err(failure)) => shown(failure),
        }
    }

    fn statements(&self, scope: Scope, statements: &[Action]) {
        for statement in statements {
            match statement {
                Action::Creation(action) => self.creation(scope, action),
                Action::Sequencing(action) => self.sequencing(scope, action),
                Action::Cancellation(action) => self.cancellation(action),
                Action::Pause(Pause::Pause(to)) => {
                    // A map, as over the library, whose pauses promise nothing: a cancel that finds several
                    // changes the state of the pauses at once, and of these promises as their callbacks run.
                    let paused = self.world.pause();
                    self.assign(*to, self.world.map(&paused, |_| vec![0]));
                }
                Action::Pause(Pause::Lap) => self.world.lap(),
                Action::Composition(action) => self.composition(action),
                _ => panic!("`missing` refuses a program with {statement:?}"),
            }
        }
    }

    fn creation(&self, scope: Scope, action: &Creation) {
        match *action {
            Creation::Ready(to, value) => self.assign(to, Promise::done(Ok(vec![scope.value(value)]))),
            Creation::Fail(to, fault) => self.assign(to, Promise::done(Err(scope.failure(fault)))),
            Creation::Wait(to, resolver) => self.connect(to, resolver, Link::Nothing),
            Creation::Task(to, resolver) => self.connect(to, resolver, Link::Itself),
            Creation::Fulfil(flavour, resolver, value) => {
                self.settle(flavour, resolver, Ok(vec![scope.value(value)]));
            }
            Creation::Reject(flavour, resolver, fault) => {
                self.settle(flavour, resolver, Err(scope.failure(fault)));
            }
            Creation::State(register) => self.log(format!("p{} {}", register.0, self.state(register))),
        }
    }

    fn connect(&self, to: P, resolver: U, link: Link) {
        let promise = self.world.pending(link);
        self.registers.resolvers.borrow_mut().insert(resolver.0, promise.clone());
        self.registers.resolvable.borrow_mut().push(promise.clone());
        self.assign(to, promise);
    }

    fn settle(&self, flavour: Flavour, resolver: U, outcome: Outcome) {
        let promise = self.registers.resolvers.borrow().get(&resolver.0).cloned();
        let when = match flavour {
            Flavour::Immediate => When::Now,
            Flavour::Deferring => When::AfterTheResolutionInProgress,
        };
        match promise.as_ref().map(|promise| (promise, promise.outcome())) {
            Some((promise, None)) => self.world.resolve(promise, outcome, when),
            Some((_, Some(Err(Failure::Canceled)))) => {}
            _ => self.log(format!("invalid u{}", resolver.0)),
        }
    }

    fn cancellation(&self, action: &Cancellation) {
        match *action {
            Cancellation::Cancel(register) => self.world.cancel(&self.read(register)),
            Cancellation::Protected(to, from) => {
                self.assign(to, self.world.follow(&self.read(from), Link::Itself));
            }
            Cancellation::NoCancel(to, from) => {
                self.assign(to, self.world.follow(&self.read(from), Link::Nothing));
            }
            Cancellation::WrapInCancelable(to, from) => {
                self.assign(to, self.world.wrap_in_cancelable(&self.read(from)));
            }
        }
    }

    fn composition(&self, action: &Composition) {
        let world = &self.world;
        let coded = |promise: &Promise| world.map(promise, |values| encoded(&values));
        match action {
            Composition::Join(to, list) => self.assign(*to, world.join(&self.list(list))),
            Composition::Both(to, p, q) => self.assign(*to, coded(&world.all(&self.list(&[*p, *q])))),
            Composition::All(to, list) => self.assign(*to, coded(&world.all(&self.list(list)))),
            Composition::Choose(to, list) => self.assign(*to, world.choose(&self.list(list))),
            Composition::Pick(to, list) => self.assign(*to, world.pick(&self.list(list))),
            Composition::NChoose(to, list) => self.assign(*to, coded(&world.nchoose(&self.list(list)))),
            Composition::NPick(to, list) => self.assign(*to, coded(&world.npick(&self.list(list)))),
            Composition::NChooseSplit(to, list) => {
                let split = world.nchoose_split(&self.list(list));
                let code = |mut values: Value| {
                    let pending = values.pop().expect("the number of those that are pending");
                    encoded(&[encoded(&values)[0], pending])
                };
                self.assign(*to, world.map(&split, code));
            }
        }
    }

    fn sequencing(&self, scope: Scope, action: &Sequencing) {
        match action {
            Sequencing::OnSuccess(..)
            | Sequencing::OnFailure(..)
            | Sequencing::OnTermination(..)
            | Sequencing::OnAny(..)
            | Sequencing::OnCancel(..) => self.observe(scope, action),
            _ => self.chain(scope, action),
        }
    }

    fn chain(&self, scope: Scope, action: &Sequencing) {
        let world = &self.world;
        let block = |body: &Body| Callback { machine: self.clone(), scope, block: body.clone() };
        match action {
            Sequencing::Bind(to, from, f) | Sequencing::Map(to, from, f) => {
                let f = block(f);
                self.assign(*to, world.bind(&self.read(*from), move |value| f.call(Given::Value(value))));
            }
            Sequencing::Catch(to, from, h) => {
                let h = block(h);
                let caught = world.then(&self.read(*from), move |outcome| match outcome {
                    Ok(value) => Promise::done(Ok(value)),
                    Err(failure) => h.call(Given::Failure(failure)),
                });
                self.assign(*to, caught);
            }
            Sequencing::Try(to, from, f, h) => {
                let (f, h) = (block(f), block(h));
                let tried = world.then(&self.read(*from), move |outcome| match outcome {
                    Ok(value) => f.call(Given::Value(value)),
                    Err(failure) => h.call(Given::Failure(failure)),
                });
                self.assign(*to, tried);
            }
            Sequencing::Finalize(to, from, f) => {
                let f = block(f);
                self.assign(*to, world.finalize(&self.read(*from), move || f.call(Given::Nothing)));
            }
            Sequencing::Async(f) => {
                let machine = self.clone();
                world.on_any(&block(f).call(Given::Nothing), move |outcome| {
                    if let Err(failure) = outcome {
                        machine.log(format!("hook {}", shown(failure)));
                    }
                });
            }
            Sequencing::DontWait(f, h) => {
                let h = block(h);
                world.on_any(&block(f).call(Given::Nothing), move |outcome| {
                    if let Err(failure) = outcome {
                        h.call(Given::Failure(failure));
                    }
                });
            }
            _ => unreachable!("`sequencing` hands {action:?} to `observe`"),
        }
    }

    fn observe(&self, scope: Scope, action: &Sequencing) {
        let block = |body: &Body| Some(Callback { machine: self.clone(), scope, block: body.clone() });
        let (from, success, failure) = match action {
            Sequencing::OnSuccess(from, f) => (from, block(f), None),
            Sequencing::OnFailure(from, f) => (from, None, block(f)),
            Sequencing::OnAny(from, f, g) => (from, block(f), block(g)),
            Sequencing::OnTermination(from, f) => {
                let f = Callback { machine: self.clone(), scope, block: f.clone() };
                return self.world.on_any(&self.read(*from), move |_| drop(f.call(Given::Nothing)));
            }
            Sequencing::OnCancel(from, f) => {
                let f = Callback { machine: self.clone(), scope, block: f.clone() };
                return self.world.on_cancel(&self.read(*from), move || drop(f.call(Given::Nothing)));
            }
            _ => unreachable!("`sequencing` hands {action:?} to `chain`"),
        };
        self.world.on_any(&self.read(*from), move |outcome| {
            let (callback, given) = match outcome {
                Ok(value) => (success, Given::Value(value)),
                Err(error) => (failure, Given::Failure(error)),
            };
            if let Some(callback) = callback {
                callback.call(given);
            }
        });
    }
}

enum Given {
    Nothing,
    Value(Value),
    Failure(Failure),
}

/// A block with the environment in which its statement was executed.
struct Callback {
    machine: Machine,
    scope: Scope,
    block: Body,
}

impl Callback {
    fn call(mut self, given: Given) -> Promise {
        let label = self.block.label;
        match given {
            Given::Nothing => self.machine.log(format!(">{label}")),
            Given::Value(value) => {
                self.scope.x = value[0];
                self.machine.log(format!(">{label} {}", self.scope.x));
            }
            Given::Failure(failure) => {
                self.scope.e = failure;
                self.machine.log(format!(">{label} {}", shown(failure)));
            }
        }
        if !self.machine.registers.closed.get() {
            self.machine.statements(self.scope, &self.block.statements);
        }
        match self.block.ending {
            Ending::Nothing => Promise::done(Ok(vec![0])),
            Ending::Val(value) => Promise::done(Ok(vec![self.scope.value(value)])),
            Ending::Err(fault) => Promise::done(Err(self.scope.failure(fault))),
            Ending::Ret(_) if self.machine.registers.closed.get() => Promise::done(Ok(vec![0])),
            Ending::Ret(register) => self.machine.read(register),
        }
    }
}

/// The first statement, at any depth, that the model does not have.
pub(super) fn missing(block: &Block) -> Option<&Action> {
    block.statements.iter().find_map(|statement| match statement {
        Action::Creation(_) | Action::Cancellation(_) | Action::Pause(_) | Action::Composition(_) => None,
        Action::Sequencing(action) => action.bodies().into_iter().find_map(|body| missing(body)),
        _ => Some(statement),
    })
}

//! What a running program has: its registers, its trace, and the blocks that are callbacks.
//!
//! Callbacks run inside library calls and use the same registers, so no borrow here lasts longer than one
//! method and no method calls an operation of the library while it borrows. Values that are replaced are
//! dropped after the borrow for the same reason: a drop may run anything.
//!
//! Nobody but the program may settle its promises. A resolver that is dropped would (with `Abandoned`), so
//! one that loses its register is kept in `displaced` until the program is over. From `close` on blocks do
//! nothing, so that what the end of the program settles cannot run it any further.
//!
//! Not here: what a statement does (`run`), and how a program is started and compared (`verdict`).

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::{error, fmt, mem};

use lisle::Runtime;
use lisle_core::storage::Key;
use lisle_core::stream::StreamError;
use lisle_core::{Error, Promise, Resolver, Shared, State, Status, pause, ready, rejected, wake_paused};

use crate::program::{Block, Ending, Fault, K, P, Register, U, Value};
use crate::run::stream::Streams;
use crate::run::{self, sync::Shelf};

/// Error number N of the language.
#[derive(Debug)]
struct Code(u32);

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "E{}", self.0)
    }
}

impl error::Error for Code {}

/// An error as the trace writes it.
pub(crate) fn shown(error: &Error) -> String {
    if error.is_canceled() {
        return "C".to_owned();
    }
    if let Some(error) = error.downcast_ref::<StreamError>() {
        return format!("{error:?}");
    }
    match error.downcast_ref::<Code>() {
        Some(code) => code.to_string(),
        // No error of the language: written so that it is found, and cannot equal an expected line.
        None => format!("?{error}"),
    }
}

/// `x` and `e`: what the innermost enclosing blocks received.
#[derive(Clone)]
pub(crate) struct Scope {
    x: i64,
    e: Error,
}

impl Scope {
    pub(crate) fn top() -> Self {
        Scope { x: 0, e: Error::new(Code(0)) }
    }

    pub(crate) fn value(&self, value: Value) -> i64 {
        match value {
            Value::Number(number) => number,
            Value::Given => self.x,
            Value::GivenPlus(number) => self.x + number,
        }
    }

    pub(crate) fn error(&self, fault: Fault) -> Error {
        match fault {
            Fault::Code(number) => Error::new(Code(number)),
            Fault::Canceled => Error::canceled(),
            Fault::Given => self.e.clone(),
        }
    }
}

/// The resolver in a register, and the promise by which a second use of it is judged.
struct Seat {
    /// None once it was used: the library's resolver is consumed, the language's is not.
    resolver: Option<Resolver<i64>>,
    promise: Shared<i64>,
}

/// k0 to k3 are there from the start.
const KEYS: usize = 4;

struct Registers {
    promises: RefCell<Vec<Shared<i64>>>,
    /// The promises of nothing from which registers were made: these have their states.
    units: RefCell<BTreeMap<usize, Shared<()>>>,
    seats: RefCell<BTreeMap<usize, Seat>>,
    displaced: RefCell<Vec<Seat>>,
    keys: [Key<i64>; KEYS],
    streams: RefCell<Streams>,
    /// Promises that lost their registers. To the language they go on existing: they take what they wait for.
    displaced_promises: RefCell<Vec<Shared<i64>>>,
    shelf: Shelf,
    trace: RefCell<Vec<String>>,
    closed: Cell<bool>,
    /// The runtime whose laps the program has; without one, a lap is what core has of it.
    runtime: Option<Runtime>,
}

/// A handle to the registers and the trace of one program.
#[derive(Clone)]
pub(crate) struct Machine(Rc<Registers>);

impl Machine {
    /// A machine with promise registers p0 to `highest`; none at all for a program without any.
    pub(crate) fn new(highest: Option<usize>, runtime: Option<Runtime>) -> Self {
        let count = highest.map_or(0, |highest| highest + 1);
        let promises = (0..count).map(|_| ready(0).shared()).collect();
        Machine(Rc::new(Registers {
            promises: RefCell::new(promises),
            units: RefCell::default(),
            seats: RefCell::default(),
            displaced: RefCell::default(),
            keys: Default::default(),
            streams: RefCell::default(),
            displaced_promises: RefCell::default(),
            shelf: Shelf::default(),
            trace: RefCell::default(),
            closed: Cell::new(false),
            runtime,
        }))
    }

    pub(crate) fn log(&self, line: String) {
        if !self.0.closed.get() {
            self.0.trace.borrow_mut().push(line);
        }
    }

    pub(crate) fn promise(&self, register: P) -> Shared<i64> {
        self.0.promises.borrow()[register.0].clone()
    }

    pub(crate) fn key(&self, register: K) -> Key<i64> {
        self.0.keys[register.0]
    }

    pub(crate) fn promises(&self, registers: &[P]) -> Vec<Promise<i64>> {
        registers.iter().map(|register| self.promise(*register).promise()).collect()
    }

    pub(crate) fn assign(&self, register: P, promise: Promise<i64>) {
        self.assign_shared(register, promise.shared());
    }

    /// Assigns a promise of nothing as a 0. It is settled at once where what is mapped from it waits until
    /// deferred callbacks run, and the language shows the difference.
    pub(crate) fn assign_unit(&self, register: P, promise: Promise<()>) {
        let unit = promise.shared();
        self.assign(register, unit.map(|()| 0));
        self.0.units.borrow_mut().insert(register.0, unit);
    }

    fn assign_shared(&self, register: P, promise: Shared<i64>) {
        let old_unit = self.0.units.borrow_mut().remove(&register.0);
        drop(old_unit);
        let old = mem::replace(&mut self.0.promises.borrow_mut()[register.0], promise);
        self.0.displaced_promises.borrow_mut().push(old);
    }

    /// The registers of locks, pools and switches.
    pub(crate) fn shelf(&self) -> &Shelf {
        &self.0.shelf
    }

    /// Gives access to the stream registers; nothing is dropped or called inside.
    pub(crate) fn with_streams<R>(&self, access: impl FnOnce(&mut Streams) -> R) -> R {
        access(&mut self.0.streams.borrow_mut())
    }

    /// Puts a new promise and its resolver into their registers.
    pub(crate) fn connect(&self, promise: P, resolver: U, made: (Promise<i64>, Resolver<i64>)) {
        let shared = made.0.shared();
        let seat = Seat { resolver: Some(made.1), promise: shared.clone() };
        if let Some(old) = self.0.seats.borrow_mut().insert(resolver.0, seat) {
            self.0.displaced.borrow_mut().push(old);
        }
        self.assign_shared(promise, shared);
    }

    /// The resolver, if a resolving statement may use it now; writes the line that the language asks for if
    /// not.
    #[must_use]
    pub(crate) fn claim(&self, register: U) -> Option<Resolver<i64>> {
        let promise = self.0.seats.borrow().get(&register.0).map(|seat| seat.promise.clone());
        let line = match promise.map(|promise| promise.state()) {
            Some(State::Pending) => {
                let mut seats = self.0.seats.borrow_mut();
                let resolver = seats.get_mut(&register.0).and_then(|seat| seat.resolver.take());
                if resolver.is_some() {
                    return resolver;
                }
                format!("?u{} was used, its promise is pending", register.0)
            }
            Some(State::Rejected(error)) if error.is_canceled() => return None,
            _ => format!("invalid u{}", register.0),
        };
        self.log(line);
        None
    }

    /// Has one lap, which wakes one generation of pauses. A runtime's lap is had by waiting for a pause,
    /// which is the last of its generation.
    pub(crate) fn lap(&self) {
        match &self.0.runtime {
            Some(runtime) => runtime.run_promise(pause()).expect("nobody cancels this pause"),
            None => wake_paused(),
        }
    }

    /// The state of a register as the trace writes it.
    pub(crate) fn state(&self, register: P) -> String {
        let unit = self.0.units.borrow().get(&register.0).cloned();
        if unit.is_some_and(|unit| unit.status() == Status::Fulfilled) {
            return "0".to_owned();
        }
        match self.promise(register).state() {
            State::Pending => "-".to_owned(),
            State::Fulfilled(value) => value.to_string(),
            State::Rejected(error) => shown(&error),
        }
    }

    /// Writes the last line and hands the trace out; nothing is written after it, and no block runs any more.
    pub(crate) fn close(&self) -> Vec<String> {
        let count = self.0.promises.borrow().len();
        let states = (0..count).map(|i| format!(" {}", self.state(Register(i)))).collect::<String>();
        self.log(format!("={states}"));
        self.0.closed.set(true);
        self.0.trace.take()
    }

    /// Drops what a closed program holds: promises and callbacks point at each other through the registers.
    pub(crate) fn empty(&self) {
        assert!(self.0.closed.get(), "registers are emptied after the program only");
        let (promises, seats) = (self.0.promises.take(), self.0.seats.take());
        let displaced = (self.0.displaced.take(), self.0.displaced_promises.take(), self.0.units.take());
        let streams = self.0.streams.take();
        drop((displaced, seats, promises, streams));
        self.0.shelf.empty();
    }
}

/// What a block receives when it is entered.
pub(crate) enum Given {
    Nothing,
    Value(i64),
    Error(Error),
}

/// A block with the environment in which its statement was executed: a callback, to be called at most once.
pub(crate) struct Closure {
    machine: Machine,
    scope: Scope,
    block: Arc<Block>,
}

impl Closure {
    pub(crate) fn new(machine: &Machine, scope: &Scope, block: &Arc<Block>) -> Self {
        Closure { machine: machine.clone(), scope: scope.clone(), block: block.clone() }
    }

    /// Writes the block's line and runs its statements; gives the environment inside of it for its last line.
    fn enter(&self, given: Given) -> Scope {
        let mut scope = self.scope.clone();
        let label = self.block.label;
        match given {
            Given::Nothing => self.machine.log(format!(">{label}")),
            Given::Value(value) => {
                self.machine.log(format!(">{label} {value}"));
                scope.x = value;
            }
            Given::Error(error) => {
                self.machine.log(format!(">{label} {}", shown(&error)));
                scope.e = error;
            }
        }
        if !self.machine.0.closed.get() {
            run::statements(&self.machine, &scope, &self.block.statements);
        }
        scope
    }

    /// Runs a block of a callback that returns nothing.
    pub(crate) fn run(self, given: Given) {
        debug_assert_eq!(self.block.ending, Ending::Nothing, "block {} returns nothing", self.block.label);
        self.enter(given);
    }

    /// Runs a block that is a function returning a promise.
    pub(crate) fn promise(self, given: Given) -> Promise<i64> {
        let scope = self.enter(given);
        match self.block.ending {
            Ending::Nothing => ready(0),
            Ending::Val(value) => ready(scope.value(value)),
            Ending::Err(fault) => rejected(scope.error(fault)),
            // A closed program has no registers any more.
            Ending::Ret(_) if self.machine.0.closed.get() => ready(0),
            // Read after the block's statements, and the same promise rather than a copy: it is merged.
            Ending::Ret(register) => self.machine.promise(register).promise(),
        }
    }

    /// Runs a block that is a plain function.
    pub(crate) fn result(self, given: Given) -> Result<i64, Error> {
        let scope = self.enter(given);
        match self.block.ending {
            Ending::Nothing => Ok(0),
            Ending::Val(value) => Ok(scope.value(value)),
            Ending::Err(fault) => Err(scope.error(fault)),
            Ending::Ret(_) => unreachable!("FORMAT.md: blocks of map end with val or err"),
        }
    }
}

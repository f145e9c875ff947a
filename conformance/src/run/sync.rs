//! Mutex, condition, mvar, pool and switch: `lock unlock withlock locked cwait cwaitm signal broadcast
//! broadcastx put take grab`, `pool use clear waiters`, `switch hook hookx off ison withswitch`.
//!
//! In the reference a value that loses its register goes on existing: a lock stays held, a switch on. So what
//! is displaced here is kept until the program is over.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use lisle_core::sync::{
    Condition, MVar, Mutex, MutexGuard, Pool as ElementPool, Switch as HookSwitch, with_switch,
};
use lisle_core::{Promise, ready};

use crate::machine::{Closure, Given, Machine, Scope};
use crate::program::{Body, C, G, Lock, M, O, Pool, S, Switch, V};

/// The registers of these statements.
#[derive(Default)]
pub(crate) struct Shelf {
    mutexes: Row<Mutex>,
    guards: RefCell<BTreeMap<usize, MutexGuard<()>>>,
    displaced_guards: RefCell<Vec<MutexGuard<()>>>,
    conditions: Row<Condition<i64>>,
    mvars: Row<Mailbox>,
    pools: Row<Option<ElementPool<i64>>>,
    switches: Row<HookSwitch>,
}

/// An mvar is empty from the start.
#[derive(Clone)]
struct Mailbox(MVar<i64>);

impl Default for Mailbox {
    fn default() -> Self {
        Mailbox(MVar::empty())
    }
}

/// Registers of one kind; what is not assigned is there from the start.
struct Row<A> {
    now: RefCell<BTreeMap<usize, A>>,
    displaced: RefCell<Vec<A>>,
}

impl<A> Default for Row<A> {
    fn default() -> Self {
        Row { now: RefCell::default(), displaced: RefCell::default() }
    }
}

impl<A: Clone + Default> Row<A> {
    fn get(&self, number: usize) -> A {
        self.now.borrow_mut().entry(number).or_default().clone()
    }

    fn set(&self, number: usize, made: A) {
        let old = self.now.borrow_mut().insert(number, made);
        self.displaced.borrow_mut().extend(old);
    }

    fn empty(&self) {
        drop((self.now.take(), self.displaced.take()));
    }
}

impl Shelf {
    fn put_guard(&self, slot: G, guard: MutexGuard<()>) {
        let old = self.guards.borrow_mut().insert(slot.0, guard);
        self.displaced_guards.borrow_mut().extend(old);
    }

    fn take_guard(&self, slot: G) -> Option<MutexGuard<()>> {
        self.guards.borrow_mut().remove(&slot.0)
    }

    fn mutex(&self, register: M) -> Mutex {
        self.mutexes.get(register.0)
    }

    fn condition(&self, register: C) -> Condition<i64> {
        self.conditions.get(register.0)
    }

    fn mvar(&self, register: V) -> MVar<i64> {
        self.mvars.get(register.0).0
    }

    fn pool(&self, register: O) -> ElementPool<i64> {
        self.pools.get(register.0).expect("FORMAT.md: a pool is made before it is used")
    }

    fn switch(&self, register: S) -> HookSwitch {
        self.switches.get(register.0)
    }

    /// Drops what a closed program holds.
    pub(crate) fn empty(&self) {
        drop((self.guards.take(), self.displaced_guards.take()));
        self.mutexes.empty();
        self.conditions.empty();
        self.mvars.empty();
        self.pools.empty();
        self.switches.empty();
    }
}

pub(super) fn lock(machine: &Machine, scope: &Scope, action: &Lock) {
    let shelf = machine.shelf();
    match action {
        Lock::Acquire(to, mutex, slot) => {
            let (keeper, slot) = (machine.clone(), *slot);
            let locked = shelf.mutex(*mutex).lock().map(move |guard| {
                keeper.shelf().put_guard(slot, guard);
                0
            });
            machine.assign(*to, locked);
        }
        Lock::Release(slot) => drop(shelf.take_guard(*slot)),
        Lock::Holding(to, mutex, body) => {
            let body = Closure::new(machine, scope, body);
            let done = shelf.mutex(*mutex).with_lock(|()| body.promise(Given::Nothing));
            machine.assign(*to, done);
        }
        Lock::IsHeld(mutex) => {
            let state = if shelf.mutex(*mutex).is_locked() { "locked" } else { "free" };
            machine.log(format!("m{} {state}", mutex.0));
        }
        Lock::Put(to, mvar, value) => {
            machine.assign_unit(*to, shelf.mvar(*mvar).put(scope.value(*value)));
        }
        Lock::Take(to, mvar) => machine.assign(*to, shelf.mvar(*mvar).take()),
        Lock::Grab(mvar) => {
            let value = shelf.mvar(*mvar).take_available();
            let text = value.map_or("none".to_owned(), |value| value.to_string());
            machine.log(format!("v{} {text}", mvar.0));
        }
        _ => condition(machine, scope, action),
    }
}

fn condition(machine: &Machine, scope: &Scope, action: &Lock) {
    let shelf = machine.shelf();
    match *action {
        Lock::Wait(to, condition) => machine.assign(to, shelf.condition(condition).wait()),
        Lock::WaitWithMutex(to, condition, slot) => {
            let waiting = match shelf.take_guard(slot) {
                None => ready(-1),
                Some(guard) => wait_with(machine, condition, slot, guard),
            };
            machine.assign(to, waiting);
        }
        Lock::Signal(condition, value) => {
            shelf.condition(condition).signal(scope.value(value));
        }
        Lock::Broadcast(condition, value) => {
            shelf.condition(condition).broadcast(scope.value(value));
        }
        Lock::BroadcastError(condition, fault) => {
            shelf.condition(condition).broadcast_error(scope.error(fault));
        }
        _ => unreachable!("`lock` does the others"),
    }
}

fn wait_with(machine: &Machine, condition: C, slot: G, guard: MutexGuard<()>) -> Promise<i64> {
    let keeper = machine.clone();
    machine.shelf().condition(condition).wait_with(guard).map(move |(guard, value)| {
        keeper.shelf().put_guard(slot, guard);
        value
    })
}

pub(super) fn pool(machine: &Machine, scope: &Scope, action: &Pool) {
    let shelf = machine.shelf();
    match action {
        Pool::Create(register, max, factory) => {
            let max = usize::try_from(scope.value(*max)).expect("FORMAT.md: the size of a pool");
            let factory = numbered(machine, scope, factory);
            shelf.pools.set(register.0, Some(ElementPool::new(max, factory)));
        }
        Pool::Use(to, register, body) => {
            let body = Closure::new(machine, scope, body);
            let used = shelf.pool(*register).use_with(|element| body.promise(Given::Value(*element)));
            machine.assign(*to, used);
        }
        Pool::Clear(to, register) => machine.assign(*to, shelf.pool(*register).clear().map(|()| 0)),
        Pool::Waiters(register) => {
            let count = shelf.pool(*register).wait_queue_length();
            machine.log(format!("o{} {count}", register.0));
        }
    }
}

/// A block that is called any number of times, with the number of earlier calls.
fn numbered(machine: &Machine, scope: &Scope, body: &Body) -> impl Fn() -> Promise<i64> + use<> {
    let (machine, scope, body, calls) = (machine.clone(), scope.clone(), body.clone(), Cell::new(0));
    move || {
        let number = calls.replace(calls.get() + 1);
        Closure::new(&machine, &scope, &body).promise(Given::Value(number))
    }
}

pub(super) fn switch(machine: &Machine, scope: &Scope, action: &Switch) {
    let shelf = machine.shelf();
    let hook = |body: &Body| {
        let body = Closure::new(machine, scope, body);
        move || body.promise(Given::Nothing).map(|_| ())
    };
    match action {
        Switch::Create(register) => shelf.switches.set(register.0, HookSwitch::new()),
        Switch::Hook(register, body) => {
            if shelf.switch(*register).add_hook(hook(body)).is_err() {
                machine.log(format!("s{} Off", register.0));
            }
        }
        Switch::HookOrRun(to, register, body) => {
            let switch = shelf.switch(*register);
            let body = Closure::new(machine, scope, body);
            let done = if switch.is_on() {
                switch.add_hook_or_exec(move || body.promise(Given::Nothing).map(|_| ())).map(|()| 0)
            } else {
                body.promise(Given::Nothing)
            };
            machine.assign(*to, done);
        }
        Switch::Off(to, register) => machine.assign(*to, shelf.switch(*register).turn_off().map(|()| 0)),
        Switch::IsOn(register) => {
            let state = if shelf.switch(*register).is_on() { "on" } else { "off" };
            machine.log(format!("s{} {state}", register.0));
        }
        Switch::With(to, register, body) => {
            let (keeper, body, register) = (machine.clone(), Closure::new(machine, scope, body), *register);
            let done = with_switch(move |switch| {
                keeper.shelf().switches.set(register.0, switch);
                body.promise(Given::Nothing)
            });
            machine.assign(*to, done);
        }
    }
}

//! Lwt's promises as one would write them on a blackboard: the model's cells and operations.
//!
//! ```text
//!   Pending(callbacks, cancel callbacks, link) ──► Done(outcome)
//!                       └── merged into another ──► Alias(that other)
//! ```
//!
//! Written from the description of the semantics (`golden/FORMAT.md`, sections 4 and 6), and from nothing of
//! the library: vectors, clones and recursion, no lists that unlink, no inline values, no tables. Where the
//! reference draws lots or does not end, the world notes why the program is outside of what is defined.
//!
//! Every promise carries a list of integers; an integer is a list of one, nothing is the integer 0.
//! No borrow is held while a callback runs. Not here: the language (`machine.rs`).

use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, VecDeque};
use std::mem;
use std::rc::Rc;

/// An error of the language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    Code(u32),
    Canceled,
}

pub(super) type Value = Vec<i64>;
pub(super) type Outcome = Result<Value, Failure>;

/// A callback that can be taken away by whoever else holds the slot.
type Slot = Rc<RefCell<Option<Box<dyn FnOnce(Outcome)>>>>;

/// What a cancel that arrives at a pending promise does.
#[derive(Clone)]
pub(super) enum Link {
    Nothing,
    Itself,
    Inputs(Vec<Promise>),
}

/// Both lists oldest first; they are run from the end.
struct Pending {
    callbacks: Vec<Slot>,
    cancel_callbacks: Vec<Box<dyn FnOnce()>>,
    link: Link,
}

enum State {
    Pending(Pending),
    Done(Outcome),
    Alias(Promise),
}

#[derive(Clone)]
pub(super) struct Promise(Rc<RefCell<State>>);

impl Promise {
    pub(super) fn done(outcome: Outcome) -> Promise {
        Promise(Rc::new(RefCell::new(State::Done(outcome))))
    }

    fn root(&self) -> Promise {
        match &*self.0.borrow() {
            State::Alias(next) => next.root(),
            _ => self.clone(),
        }
    }

    fn is(&self, other: &Promise) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }

    pub(super) fn outcome(&self) -> Option<Outcome> {
        match &*self.root().0.borrow() {
            State::Done(outcome) => Some(outcome.clone()),
            _ => None,
        }
    }

    pub(super) fn is_pending(&self) -> bool {
        self.outcome().is_none()
    }

    fn link(&self) -> Option<Link> {
        match &*self.root().0.borrow() {
            State::Pending(pending) => Some(pending.link.clone()),
            _ => None,
        }
    }

    /// Changes the state of a pending promise; what it held is handed out.
    fn replace(&self, state: State) -> Pending {
        match self.root().0.replace(state) {
            State::Pending(pending) => pending,
            _ => panic!("the model settled a promise twice"),
        }
    }

    fn add(&self, slot: Slot) {
        match &mut *self.root().0.borrow_mut() {
            State::Pending(pending) => pending.callbacks.push(slot),
            _ => panic!("callbacks are added to pending promises only"),
        }
    }
}

fn slot(callback: impl FnOnce(Outcome) + 'static) -> Slot {
    Rc::new(RefCell::new(Some(Box::new(callback))))
}

/// What all promises of one program share.
#[derive(Clone, Default)]
pub(super) struct World(Rc<Shared>);

#[derive(Default)]
struct Shared {
    nesting: Cell<u32>,
    deferred: RefCell<VecDeque<(Pending, Outcome)>>,
    paused: RefCell<Vec<Promise>>,
    /// Every promise that was pending once: callbacks and links make cycles of them.
    made: RefCell<Vec<Promise>>,
    outside: RefCell<BTreeSet<&'static str>>,
}

/// When the callbacks of a resolution run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum When {
    Now,
    AfterTheResolutionInProgress,
}

/// Beginning and end.
impl World {
    pub(super) fn pending(&self, link: Link) -> Promise {
        let pending = Pending { callbacks: Vec::new(), cancel_callbacks: Vec::new(), link };
        let promise = Promise(Rc::new(RefCell::new(State::Pending(pending))));
        self.0.made.borrow_mut().push(promise.clone());
        promise
    }

    /// Whether some promise is pending. Asked when all resolvers were used: that one waits for itself, by
    /// whatever way round.
    pub(super) fn is_any_pending(&self) -> bool {
        self.0.made.borrow().iter().any(Promise::is_pending)
    }

    /// Empties all promises: the program is over.
    pub(super) fn end(&self) {
        for promise in self.0.made.take() {
            let held = promise.0.replace(State::Done(Ok(Vec::new())));
            drop(held);
        }
    }

    /// Notes why the reference's behaviour is not defined for this program.
    fn outside(&self, reason: &'static str) {
        self.0.outside.borrow_mut().insert(reason);
    }

    pub(super) fn reasons(&self) -> Vec<&'static str> {
        self.0.outside.borrow().iter().copied().collect()
    }
}

/// Resolution.
impl World {
    pub(super) fn resolve(&self, promise: &Promise, outcome: Outcome, when: When) {
        let held = promise.replace(State::Done(outcome.clone()));
        if when == When::AfterTheResolutionInProgress && self.0.nesting.get() > 0 {
            self.0.deferred.borrow_mut().push_back((held, outcome));
        } else {
            self.run(held, outcome);
        }
    }

    /// One resolution; the outermost one also runs what was deferred meanwhile.
    fn run(&self, held: Pending, outcome: Outcome) {
        self.0.nesting.set(self.0.nesting.get() + 1);
        run_callbacks(held, outcome);
        if self.0.nesting.get() == 1 {
            loop {
                let next = self.0.deferred.borrow_mut().pop_front();
                let Some((held, outcome)) = next else { break };
                run_callbacks(held, outcome);
            }
        }
        self.0.nesting.set(self.0.nesting.get() - 1);
    }

    /// `inner` was returned by the callback that `outer` is the promise of.
    fn merge(&self, outer: &Promise, inner: &Promise) {
        let (outer, inner) = (outer.root(), inner.root());
        if outer.is(&inner) {
            return;
        }
        if let Some(outcome) = inner.outcome() {
            return self.resolve(&outer, outcome, When::Now);
        }
        let mut held = inner.replace(State::Alias(outer.clone()));
        let State::Pending(pending) = &mut *outer.0.borrow_mut() else {
            panic!("the model merged into a settled promise")
        };
        // The outer one's run first, so they stand last.
        held.callbacks.append(&mut pending.callbacks);
        held.cancel_callbacks.append(&mut pending.cancel_callbacks);
        *pending = held;
    }
}

fn run_callbacks(held: Pending, outcome: Outcome) {
    if outcome == Err(Failure::Canceled) {
        held.cancel_callbacks.into_iter().rev().for_each(|callback| callback());
    }
    for slot in held.callbacks.into_iter().rev() {
        let callback = slot.borrow_mut().take();
        if let Some(callback) = callback {
            callback(outcome.clone());
        }
    }
}

/// Sequencing.
impl World {
    /// The promise of the promise that `callback` returns: bind, map, catch, try.
    pub(super) fn then(
        &self,
        input: &Promise,
        callback: impl FnOnce(Outcome) -> Promise + 'static,
    ) -> Promise {
        if let Some(outcome) = input.outcome() {
            return callback(outcome);
        }
        let result = self.pending(Link::Inputs(vec![input.clone()]));
        let (world, outer) = (self.clone(), result.clone());
        input.add(slot(move |outcome| world.merge(&outer, &callback(outcome))));
        result
    }

    pub(super) fn bind(&self, input: &Promise, f: impl FnOnce(Value) -> Promise + 'static) -> Promise {
        self.then(input, |outcome| match outcome {
            Ok(value) => f(value),
            Err(failure) => Promise::done(Err(failure)),
        })
    }

    pub(super) fn map(&self, input: &Promise, f: impl FnOnce(Value) -> Value + 'static) -> Promise {
        self.bind(input, |value| Promise::done(Ok(f(value))))
    }

    pub(super) fn finalize(&self, input: &Promise, cleanup: impl FnOnce() -> Promise + 'static) -> Promise {
        let world = self.clone();
        self.then(input, move |outcome| world.bind(&cleanup(), move |_| Promise::done(outcome)))
    }

    /// Calls back now or once the promise is settled.
    pub(super) fn on_any(&self, input: &Promise, callback: impl FnOnce(Outcome) + 'static) {
        match input.outcome() {
            Some(outcome) => callback(outcome),
            None => input.add(slot(callback)),
        }
    }

    pub(super) fn on_cancel(&self, promise: &Promise, callback: impl FnOnce() + 'static) {
        match promise.outcome() {
            Some(Err(Failure::Canceled)) => callback(),
            Some(_) => {}
            None => match &mut *promise.root().0.borrow_mut() {
                State::Pending(pending) => pending.cancel_callbacks.push(Box::new(callback)),
                _ => unreachable!("it is pending"),
            },
        }
    }
}

/// Cancellation.
impl World {
    pub(super) fn cancel(&self, promise: &Promise) {
        let mut found = Vec::new();
        self.search(promise, &mut Vec::new(), &mut Vec::new(), &mut found);
        found.into_iter().rev().for_each(|held| self.run(held, Err(Failure::Canceled)));
    }

    /// `path` leads here; `seen` was searched before.
    fn search(
        &self,
        promise: &Promise,
        path: &mut Vec<Promise>,
        seen: &mut Vec<Promise>,
        found: &mut Vec<Pending>,
    ) {
        let promise = promise.root();
        let Some(link) = promise.link() else { return };
        if path.iter().any(|earlier| earlier.is(&promise)) {
            return self.outside("cancel on a cycle");
        }
        if seen.iter().any(|earlier| earlier.is(&promise)) {
            return;
        }
        match link {
            Link::Nothing => {}
            Link::Itself => found.push(promise.replace(State::Done(Err(Failure::Canceled)))),
            Link::Inputs(inputs) => {
                path.push(promise.clone());
                inputs.iter().for_each(|input| self.search(input, path, seen, found));
                path.pop();
                seen.push(promise);
            }
        }
    }

    /// A new promise that is settled as the input is, unless it was settled before. Cancelling it withdraws
    /// its callback.
    pub(super) fn follow(&self, input: &Promise, link: Link) -> Promise {
        if !input.is_pending() {
            return input.clone();
        }
        let result = self.pending(link);
        let (world, follower) = (self.clone(), result.clone());
        let callback = slot(move |outcome| {
            if follower.is_pending() {
                world.resolve(&follower, outcome, When::Now);
            }
        });
        input.add(callback.clone());
        self.on_cancel(&result, move || drop(callback.take()));
        result
    }

    pub(super) fn wrap_in_cancelable(&self, input: &Promise) -> Promise {
        if !input.is_pending() {
            return input.clone();
        }
        let result = self.pending(Link::Itself);
        let (world, canceled) = (self.clone(), input.clone());
        self.on_cancel(&result, move || world.cancel(&canceled));
        let (world, follower) = (self.clone(), result.clone());
        self.on_any(input, move |outcome| {
            if follower.is_pending() {
                world.resolve(&follower, outcome, When::Now);
            }
        });
        result
    }
}

/// Pauses.
impl World {
    pub(super) fn pause(&self) -> Promise {
        let promise = self.pending(Link::Itself);
        self.0.paused.borrow_mut().push(promise.clone());
        promise
    }

    pub(super) fn lap(&self) {
        let generation = mem::take(&mut *self.0.paused.borrow_mut());
        for promise in generation {
            if promise.is_pending() {
                self.resolve(&promise, Ok(vec![0]), When::Now);
            }
        }
    }
}

/// Several to one.
impl World {
    pub(super) fn join(&self, inputs: &[Promise]) -> Promise {
        let result = self.pending(Link::Inputs(inputs.to_vec()));
        let failure = Rc::new(Cell::new(None));
        let waiting = Rc::new(Cell::new(0));
        for input in inputs {
            match input.outcome() {
                Some(Ok(_)) => {}
                Some(Err(error)) => failure.set(failure.get().or(Some(error))),
                None => {
                    waiting.set(waiting.get() + 1);
                    let (world, result) = (self.clone(), result.clone());
                    let (failure, waiting) = (failure.clone(), waiting.clone());
                    input.add(slot(move |outcome| {
                        failure.set(failure.get().or(outcome.err()));
                        waiting.set(waiting.get() - 1);
                        if waiting.get() == 0 {
                            world.resolve(&result, joined(failure.get()), When::Now);
                        }
                    }));
                }
            }
        }
        if waiting.get() == 0 { Promise::done(joined(failure.get())) } else { result }
    }

    /// The values of all, in order; also what both is made of.
    pub(super) fn all(&self, inputs: &[Promise]) -> Promise {
        let values = Rc::new(RefCell::new(vec![0; inputs.len()]));
        let stored: Vec<Promise> = inputs
            .iter()
            .enumerate()
            .map(|(index, input)| {
                let values = values.clone();
                self.map(input, move |value| {
                    values.borrow_mut()[index] = value[0];
                    vec![0]
                })
            })
            .collect();
        self.map(&self.join(&stored), move |_| values.take())
    }

    /// The first of several that are pending, by one callback that they share: `decide` makes the outcome.
    fn race(
        &self,
        inputs: &[Promise],
        decide: impl FnOnce(&World, &[Promise], Outcome) -> Outcome + 'static,
    ) -> Promise {
        let result = self.pending(Link::Inputs(inputs.to_vec()));
        let (world, racers, winner) = (self.clone(), inputs.to_vec(), result.clone());
        let callback = slot(move |outcome| {
            let outcome = decide(&world, &racers, outcome);
            world.resolve(&winner, outcome, When::Now);
        });
        inputs.iter().for_each(|input| input.add(callback.clone()));
        result
    }

    /// The settled inputs among which the reference draws lots; outside unless they are all alike.
    fn drawn(&self, inputs: &[Promise]) -> Vec<Outcome> {
        let settled: Vec<Outcome> = inputs.iter().filter_map(Promise::outcome).collect();
        let failed: Vec<Outcome> = settled.iter().filter(|outcome| outcome.is_err()).cloned().collect();
        let drawn = if failed.is_empty() { settled } else { failed };
        if drawn.iter().any(|outcome| *outcome != drawn[0]) {
            self.outside("a random choice");
        }
        drawn
    }

    pub(super) fn choose(&self, inputs: &[Promise]) -> Promise {
        match self.drawn(inputs).into_iter().next() {
            Some(outcome) => Promise::done(outcome),
            None => self.race(inputs, |_, _, outcome| outcome),
        }
    }

    pub(super) fn pick(&self, inputs: &[Promise]) -> Promise {
        let drawn = self.drawn(inputs);
        match drawn.first() {
            None => self.race(inputs, |world, inputs, outcome| {
                world.cancel_all(inputs);
                outcome
            }),
            Some(Err(failure)) => {
                self.cancel_all(inputs);
                Promise::done(Err(*failure))
            }
            Some(Ok(_)) => self.pick_fulfilled(inputs),
        }
    }

    /// Cancels on the way to the first settled input, which wins, and then the rest.
    fn pick_fulfilled(&self, inputs: &[Promise]) -> Promise {
        let were_pending: Vec<bool> = inputs.iter().map(Promise::is_pending).collect();
        for (index, input) in inputs.iter().enumerate() {
            if input.is_pending() {
                self.cancel(input);
                continue;
            }
            if were_pending[index] {
                self.outside("pick-late");
            }
            self.cancel_all(&inputs[index + 1..]);
            return input.clone();
        }
        unreachable!("a settled input stays settled")
    }

    fn cancel_all(&self, inputs: &[Promise]) {
        inputs.iter().for_each(|input| self.cancel(input));
    }

    pub(super) fn nchoose(&self, inputs: &[Promise]) -> Promise {
        if inputs.iter().all(Promise::is_pending) {
            return self.race(inputs, |_, inputs, _| fulfilled(inputs));
        }
        Promise::done(fulfilled(inputs))
    }

    pub(super) fn npick(&self, inputs: &[Promise]) -> Promise {
        let decide = |world: &World, inputs: &[Promise], _| {
            let outcome = fulfilled(inputs);
            world.cancel_all(inputs);
            outcome
        };
        if inputs.iter().all(Promise::is_pending) {
            return self.race(inputs, decide);
        }
        Promise::done(decide(self, inputs, Ok(Vec::new())))
    }

    /// The values of those that are fulfilled, and after them the number of those that are pending.
    pub(super) fn nchoose_split(&self, inputs: &[Promise]) -> Promise {
        let decide = |_: &World, inputs: &[Promise], _| {
            let mut values = fulfilled(inputs)?;
            values.push(inputs.iter().filter(|input| input.is_pending()).count() as i64);
            Ok(values)
        };
        if inputs.iter().all(Promise::is_pending) {
            return self.race(inputs, decide);
        }
        Promise::done(decide(self, inputs, Ok(Vec::new())))
    }
}

fn joined(failure: Option<Failure>) -> Outcome {
    failure.map_or(Ok(vec![0]), Err)
}

/// The values of the fulfilled inputs in order, or the first failure.
fn fulfilled(inputs: &[Promise]) -> Outcome {
    let mut values = Vec::new();
    for outcome in inputs.iter().filter_map(Promise::outcome) {
        values.extend(outcome?);
    }
    Ok(values)
}

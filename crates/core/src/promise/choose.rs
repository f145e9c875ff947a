//! Waiting for the first: `choose`, `pick`, `nchoose`, `npick`, `nchoose_split`.
//!
//! One node is told of each input. The first input to settle decides; then the handles of the others are
//! dropped, which takes the node off their lists, so a promise that takes part in a million races keeps none
//! of them. The `pick`s also cancel the others, in order, before the result is settled.
//! If inputs are settled at the call, a rejected one goes first, then the first in order (Lwt draws lots
//! here).

use super::batch::Batch;
use super::cancel::Walk;
use super::cell::{self, CancelLink, PromiseCell, Work};
use super::waiters::{Node, Waiter};
use super::{Promise, Status, run_callback, settled};
use crate::Result;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// What a race makes of its inputs.
trait Race<T: 'static> {
    type Output: 'static;

    /// Input `index` has settled (and perhaps others): the result. Inputs that are not wanted any more are
    /// left in place.
    fn decide(inputs: &mut [Option<Promise<T>>], index: usize) -> Result<Self::Output>;

    /// Whether the losers are cancelled.
    const CANCELS: bool;
}

struct First<const CANCELS: bool>;

impl<T: 'static, const CANCELS: bool> Race<T> for First<CANCELS> {
    type Output = T;
    const CANCELS: bool = CANCELS;

    fn decide(inputs: &mut [Option<Promise<T>>], index: usize) -> Result<T> {
        inputs[index].take().expect("the input that was told is there").take_settled()
    }
}

struct AllSettled<const CANCELS: bool>;

impl<T: 'static, const CANCELS: bool> Race<T> for AllSettled<CANCELS> {
    type Output = Vec<T>;
    const CANCELS: bool = CANCELS;

    fn decide(inputs: &mut [Option<Promise<T>>], _index: usize) -> Result<Vec<T>> {
        let mut outcome = Ok(Vec::new());
        for input in inputs {
            let Some(result) = input.as_mut().and_then(Promise::take_in_place) else { continue };
            *input = None;
            match (&mut outcome, result) {
                (Ok(values), Ok(value)) => values.push(value),
                (Ok(_), Err(error)) => outcome = Err(error),
                (Err(_), _) => {}
            }
        }
        outcome
    }
}

struct Split;

impl<T: 'static> Race<T> for Split {
    type Output = (Vec<T>, Vec<Promise<T>>);
    const CANCELS: bool = false;

    fn decide(inputs: &mut [Option<Promise<T>>], index: usize) -> Result<Self::Output> {
        let values = AllSettled::<false>::decide(inputs, index)?;
        let mut pending: Vec<_> = inputs.iter_mut().filter_map(Option::take).collect();
        pending.iter_mut().for_each(Promise::unwatch);
        Ok((values, pending))
    }
}

struct RaceWork<T: 'static, R: Race<T>> {
    /// All but the winner stay until the losers are cancelled: a cancel of the race that comes by meanwhile
    /// goes on to them.
    inputs: RefCell<Vec<Option<Promise<T>>>>,
    decided: Cell<bool>,
    /// The outcome, while the losers before `next_loser` have been cancelled and the others not.
    outcome: Cell<Option<Result<R::Output>>>,
    next_loser: Cell<u32>,
}

impl<T: 'static, R: Race<T>, O: 'static> Work<O> for RaceWork<T, R> {
    fn cancel_inputs(&self, walk: &mut Walk) {
        self.inputs.borrow().iter().flatten().for_each(|input| walk.input(input));
    }
}

impl<T: 'static, R: Race<T>> RaceWork<T, R> {
    /// The search that cancels the next loser; it is run with nothing borrowed.
    fn next_walk(&self) -> Option<Walk> {
        let inputs = self.inputs.borrow();
        loop {
            let input = inputs.get(self.next_loser.get() as usize)?;
            self.next_loser.set(self.next_loser.get() + 1);
            if let Some(input) = input {
                return Some(Walk::beginning_at(input));
            }
        }
    }
}

/// Index under which a race is told to go on with its losers, after the callbacks of the last one have run.
const GO_ON: u32 = u32::MAX;

impl<T: 'static, R: Race<T> + 'static> Node for PromiseCell<R::Output, RaceWork<T, R>> {
    fn run(self: Rc<Self>, index: u32) -> Option<Batch> {
        if index == GO_ON {
            return cancel_losers(self);
        }
        if self.work.decided.replace(true) {
            return None;
        }
        let mut inputs = self.work.inputs.take();
        // May clone values: outside of the table.
        let outcome = R::decide(&mut inputs, index as usize);
        if R::CANCELS {
            *self.work.inputs.borrow_mut() = inputs;
            self.work.outcome.set(Some(outcome));
            return cancel_losers(self);
        }
        end(self, inputs, outcome)
    }
}

/// Cancels the losers that are left, in order; then the race is settled. A cascade of races, each decided by
/// the losers of the one before, goes on through what is returned and not over the stack.
fn cancel_losers<T: 'static, R: Race<T> + 'static>(
    node: Rc<PromiseCell<R::Output, RaceWork<T, R>>>,
) -> Option<Batch> {
    while let Some(walk) = node.work.next_walk() {
        let callbacks = walk.run_before(|| Waiter::node(node.clone(), GO_ON));
        if callbacks.is_some() {
            return callbacks;
        }
    }
    let (inputs, outcome) = (node.work.inputs.take(), node.work.outcome.take()?);
    end(node, inputs, outcome)
}

fn end<T: 'static, R: Race<T> + 'static>(
    node: Rc<PromiseCell<R::Output, RaceWork<T, R>>>,
    inputs: Vec<Option<Promise<T>>>,
    outcome: Result<R::Output>,
) -> Option<Batch> {
    // Values of losers may be dropped here, and panic.
    run_callback(move || drop(inputs));
    let cell: Rc<PromiseCell<R::Output>> = node;
    cell::settle(&cell, outcome)
}

fn race<T: 'static, R: Race<T> + 'static>(mut inputs: Vec<Option<Promise<T>>>) -> Promise<R::Output> {
    let work = RaceWork::<T, R> {
        inputs: RefCell::default(),
        decided: Cell::new(false),
        outcome: Cell::new(None),
        next_loser: Cell::new(0),
    };
    let node = PromiseCell::pending(CancelLink::Work, work);
    let old_waiters: Vec<_> = (0..)
        .zip(inputs.iter_mut().flatten())
        .filter_map(|(index, input)| input.watch(Waiter::node(node.clone(), index)))
        .collect();
    *node.work.inputs.borrow_mut() = inputs;
    drop(old_waiters);
    Promise::of_cell(node)
}

fn collect<T: 'static>(
    promises: impl IntoIterator<Item = Promise<T>>,
    name: &str,
) -> Vec<Option<Promise<T>>> {
    let mut inputs: Vec<_> = promises.into_iter().map(Some).collect();
    inputs.iter_mut().flatten().for_each(Promise::unwatch);
    assert!(!inputs.is_empty(), "{name} of no promises would never settle");
    inputs
}

fn position<T: 'static>(inputs: &[Option<Promise<T>>], status: Status) -> Option<usize> {
    inputs.iter().position(|input| input.as_ref().is_some_and(|input| input.status() == status))
}

fn cancel_all<T: 'static>(inputs: &[Option<Promise<T>>]) {
    inputs.iter().flatten().for_each(Promise::cancel);
}

/// Promises the outcome of the first to settle; the others go on. O(n).
///
/// # Panics
/// If there are no promises.
#[doc(alias = "select")]
#[doc(alias = "race")]
pub fn choose<T: 'static>(promises: impl IntoIterator<Item = Promise<T>>) -> Promise<T> {
    let mut inputs = collect(promises, "choose");
    let settled_at = position(&inputs, Status::Rejected).or_else(|| position(&inputs, Status::Fulfilled));
    match settled_at {
        Some(index) => settled(First::<false>::decide(&mut inputs, index)),
        None => race::<T, First<false>>(inputs),
    }
}

/// Promises the outcome of the first to settle and cancels the others. O(n).
///
/// ```
/// use lisle_core::{cancelable, pick, ready};
/// let (slow, _resolver) = cancelable();
/// let slow = slow.shared();
/// assert_eq!(pick([slow.promise(), ready(1)]).try_take().unwrap().unwrap(), 1);
/// assert!(!slow.is_pending());
/// ```
///
/// # Panics
/// If there are no promises.
#[doc(alias = "select")]
#[doc(alias = "race")]
pub fn pick<T: 'static>(promises: impl IntoIterator<Item = Promise<T>>) -> Promise<T> {
    let mut inputs = collect(promises, "pick");
    if let Some(index) = position(&inputs, Status::Rejected) {
        cancel_all(&inputs);
        return settled(First::<true>::decide(&mut inputs, index));
    }
    if position(&inputs, Status::Fulfilled).is_none() {
        return race::<T, First<true>>(inputs);
    }
    // Cancel on the way to the first settled input, which wins, and then the rest.
    for index in 0..inputs.len() {
        let input = inputs[index].as_ref().expect("inputs are taken only below");
        if input.is_pending() {
            input.cancel();
            continue;
        }
        // Not those before: each is cancelled once, and may have gone on since.
        cancel_all(&inputs[index + 1..]);
        return settled(First::<true>::decide(&mut inputs, index));
    }
    unreachable!("a settled input stays settled")
}

/// Waits for at least one and promises the values of all that are fulfilled by then; the others go on. Any
/// rejected one rejects. O(n).
///
/// # Panics
/// If there are no promises.
pub fn nchoose<T: 'static>(promises: impl IntoIterator<Item = Promise<T>>) -> Promise<Vec<T>> {
    let mut inputs = collect(promises, "nchoose");
    match any_settled(&inputs) {
        true => settled(AllSettled::<false>::decide(&mut inputs, 0)),
        false => race::<T, AllSettled<false>>(inputs),
    }
}

/// As [`nchoose`], and cancels the others. O(n).
///
/// # Panics
/// If there are no promises.
pub fn npick<T: 'static>(promises: impl IntoIterator<Item = Promise<T>>) -> Promise<Vec<T>> {
    let mut inputs = collect(promises, "npick");
    if !any_settled(&inputs) {
        return race::<T, AllSettled<true>>(inputs);
    }
    let outcome = AllSettled::<true>::decide(&mut inputs, 0);
    cancel_all(&inputs);
    settled(outcome)
}

/// As [`nchoose`], and gives the promises back that are still pending, in order. O(n).
///
/// If an input is rejected, so is the result, and what is pending goes on detached: [`Promise::shared`] keeps
/// a handle.
///
/// ```
/// use lisle_core::{nchoose_split, pair, ready};
/// let (slow, _resolver) = pair();
/// let (values, pending) = nchoose_split([ready(1), slow, ready(3)]).try_take().unwrap().unwrap();
/// assert_eq!((values, pending.len()), (vec![1, 3], 1));
/// ```
///
/// # Panics
/// If there are no promises.
pub fn nchoose_split<T: 'static>(
    promises: impl IntoIterator<Item = Promise<T>>,
) -> Promise<(Vec<T>, Vec<Promise<T>>)> {
    let mut inputs = collect(promises, "nchoose_split");
    match any_settled(&inputs) {
        true => settled(Split::decide(&mut inputs, 0)),
        false => race::<T, Split>(inputs),
    }
}

fn any_settled<T: 'static>(inputs: &[Option<Promise<T>>]) -> bool {
    inputs.iter().flatten().any(|input| !input.is_pending())
}

//! Waiting for all: `join`, `all`, `both`.
//!
//! One node is told of each input, collects, and settles when none is left: also after a failure. The error is the first in
//! time among the inputs that were pending at the call; inputs already rejected at the call come first, in order.

use super::cancel::Walk;
use super::cell::{self, Batch, CancelLink, PromiseCell, Work};
use super::waiters::{Node, Waiter};
use super::{Promise, ready, rejected, settled};
use crate::{Error, Result};
use std::cell::RefCell;
use std::mem;
use std::rc::Rc;

/// What is made of the values.
trait Collect<T> {
    type Output: 'static;

    fn put(&mut self, index: usize, value: T);

    fn finish(self) -> Self::Output;
}

/// `join`: nothing.
struct Ignore;

impl<T> Collect<T> for Ignore {
    type Output = ();

    fn put(&mut self, _index: usize, _value: T) {}

    fn finish(self) {}
}

/// `all`: the values in order of the inputs.
struct InOrder<T>(Vec<Option<T>>);

impl<T: 'static> Collect<T> for InOrder<T> {
    type Output = Vec<T>;

    fn put(&mut self, index: usize, value: T) {
        if self.0.len() <= index {
            self.0.resize_with(index + 1, || None);
        }
        self.0[index] = Some(value);
    }

    fn finish(self) -> Vec<T> {
        self.0.into_iter().flatten().collect()
    }
}

struct GatherWork<T: 'static, C>(RefCell<Gather<T, C>>);

struct Gather<T: 'static, C> {
    inputs: Vec<Option<Promise<T>>>,
    pending: usize,
    error: Option<Error>,
    values: Option<C>,
}

impl<T: 'static, C: Collect<T>> Gather<T, C> {
    /// Takes one input's result; the collected result once all are there. The value or error that is not wanted is returned
    /// to be dropped outside of any borrow.
    fn put(&mut self, index: usize, result: Result<T>) -> Option<T> {
        match result {
            Ok(value) if self.error.is_none() => {
                if let Some(values) = &mut self.values {
                    values.put(index, value);
                }
                None
            }
            Ok(value) => Some(value),
            Err(error) => {
                self.error.get_or_insert(error);
                None
            }
        }
    }

    fn finish(&mut self) -> Option<(Option<C>, Option<Error>)> {
        (self.pending == 0).then(|| (self.values.take(), self.error.take()))
    }
}

fn conclude<T, C: Collect<T>>((values, error): (Option<C>, Option<Error>)) -> Result<C::Output> {
    match (error, values) {
        (None, Some(values)) => Ok(values.finish()),
        (error, _) => Err(error.unwrap_or_else(Error::abandoned)),
    }
}

impl<T: 'static, C> Work for GatherWork<T, C> {
    fn cancel_inputs(&self, walk: &mut Walk) {
        self.0.borrow().inputs.iter().flatten().for_each(|input| walk.input(input));
    }
}

impl<T: 'static, C: Collect<T> + 'static> Node for PromiseCell<C::Output, GatherWork<T, C>> {
    fn run(self: Rc<Self>, index: u32) -> Option<Batch> {
        let index = index as usize;
        let input = self.work.0.borrow_mut().inputs[index].take()?;
        let result = input.take_settled();
        let (unwanted, end) = {
            let gather = &mut *self.work.0.borrow_mut();
            gather.pending -= 1;
            (gather.put(index, result), gather.finish())
        };
        drop(unwanted);
        let outcome = conclude(end?);
        let cell: Rc<PromiseCell<C::Output>> = self;
        cell::settle(&cell, outcome)
    }
}

fn gather<T: 'static, C: Collect<T> + 'static>(
    promises: impl IntoIterator<Item = Promise<T>>,
    values: C,
) -> Promise<C::Output> {
    let mut gather = Gather { inputs: Vec::new(), pending: 0, error: None, values: Some(values) };
    for (index, promise) in promises.into_iter().enumerate() {
        match promise.try_take() {
            Ok(result) => {
                drop(gather.put(index, result));
                gather.inputs.push(None);
            }
            Err(pending) => {
                gather.pending += 1;
                gather.inputs.push(Some(pending));
            }
        }
    }
    if let Some(end) = gather.finish() {
        return settled(conclude(end));
    }
    let mut inputs = mem::take(&mut gather.inputs);
    let node = PromiseCell::pending(CancelLink::OwnWork, GatherWork(RefCell::new(gather)));
    for (index, input) in (0..).zip(&mut inputs) {
        if let Some(input) = input {
            input.watch(Waiter::node(node.clone(), index));
        }
    }
    node.work.0.borrow_mut().inputs = inputs;
    Promise::of_cell(node)
}

/// Waits for all, also after a failure, and ignores the values. O(n).
///
/// ```
/// use lisle_core::{join, ready};
/// assert!(join([ready(1), ready(2)]).try_take().unwrap().is_ok());
/// ```
#[doc(alias = "join_all")]
pub fn join<T: 'static>(promises: impl IntoIterator<Item = Promise<T>>) -> Promise<()> {
    gather(promises, Ignore)
}

/// Waits for all, also after a failure, and promises the values in order of the inputs. O(n).
///
/// ```
/// use lisle_core::{all, ready};
/// assert_eq!(all([ready(1), ready(2)]).try_take().unwrap().unwrap(), [1, 2]);
/// ```
#[doc(alias = "join_all")]
#[doc(alias = "try_join_all")]
pub fn all<T: 'static>(promises: impl IntoIterator<Item = Promise<T>>) -> Promise<Vec<T>> {
    gather(promises, InOrder(Vec::new()))
}

struct BothWork<A: 'static, B: 'static>(RefCell<Pair<A, B>>);

struct Pair<A: 'static, B: 'static> {
    first: Side<A>,
    second: Side<B>,
    error: Option<Error>,
}

enum Side<T: 'static> {
    Waiting(Promise<T>),
    Value(T),
    Ended,
}

impl<T: 'static> Side<T> {
    fn of(promise: Promise<T>, error: &mut Option<Error>) -> Side<T> {
        match promise.try_take() {
            Ok(result) => Side::settled(result, error),
            Err(pending) => Side::Waiting(pending),
        }
    }

    fn settled(result: Result<T>, error: &mut Option<Error>) -> Side<T> {
        match result {
            Ok(value) => Side::Value(value),
            Err(reason) => {
                error.get_or_insert(reason);
                Side::Ended
            }
        }
    }

    fn watch(&mut self, waiter: Waiter) {
        if let Side::Waiting(promise) = self {
            promise.watch(waiter);
        }
    }

    fn start(&mut self) -> Option<Promise<T>> {
        match mem::replace(self, Side::Ended) {
            Side::Waiting(promise) => Some(promise),
            other => {
                *self = other;
                None
            }
        }
    }
}

impl<A: 'static, B: 'static> Pair<A, B> {
    fn finish(&mut self) -> Option<Result<(A, B)>> {
        if matches!(self.first, Side::Waiting(_)) || matches!(self.second, Side::Waiting(_)) {
            return None;
        }
        let values = (mem::replace(&mut self.first, Side::Ended), mem::replace(&mut self.second, Side::Ended));
        Some(match (values, self.error.take()) {
            ((Side::Value(a), Side::Value(b)), None) => Ok((a, b)),
            (_, error) => Err(error.unwrap_or_else(Error::abandoned)),
        })
    }
}

impl<A: 'static, B: 'static> Work for BothWork<A, B> {
    fn cancel_inputs(&self, walk: &mut Walk) {
        let pair = self.0.borrow();
        if let Side::Waiting(first) = &pair.first {
            walk.input(first);
        }
        if let Side::Waiting(second) = &pair.second {
            walk.input(second);
        }
    }
}

impl<A: 'static, B: 'static> Node for PromiseCell<(A, B), BothWork<A, B>> {
    fn run(self: Rc<Self>, index: u32) -> Option<Batch> {
        if index == 0 {
            let input = self.work.0.borrow_mut().first.start()?;
            let result = input.take_settled();
            let pair = &mut *self.work.0.borrow_mut();
            pair.first = Side::settled(result, &mut pair.error);
        } else {
            let input = self.work.0.borrow_mut().second.start()?;
            let result = input.take_settled();
            let pair = &mut *self.work.0.borrow_mut();
            pair.second = Side::settled(result, &mut pair.error);
        }
        let outcome = self.work.0.borrow_mut().finish()?;
        let cell: Rc<PromiseCell<(A, B)>> = self;
        cell::settle(&cell, outcome)
    }
}

/// Waits for two promises of different types, also after a failure.
///
/// ```
/// use lisle_core::{both, ready};
/// assert_eq!(both(ready(1), ready("a")).try_take().unwrap().unwrap(), (1, "a"));
/// ```
#[doc(alias = "zip")]
#[doc(alias = "try_join")]
pub fn both<A: 'static, B: 'static>(first: Promise<A>, second: Promise<B>) -> Promise<(A, B)> {
    let mut error = None;
    let first = Side::of(first, &mut error);
    let second = Side::of(second, &mut error);
    let mut pair = Pair { first, second, error };
    match pair.finish() {
        Some(Ok(values)) => return ready(values),
        Some(Err(error)) => return rejected(error),
        None => {}
    }
    let empty = Pair { first: Side::Ended, second: Side::Ended, error: None };
    let node = PromiseCell::pending(CancelLink::OwnWork, BothWork(RefCell::new(empty)));
    pair.first.watch(Waiter::node(node.clone(), 0));
    pair.second.watch(Waiter::node(node.clone(), 1));
    *node.work.0.borrow_mut() = pair;
    Promise::of_cell(node)
}

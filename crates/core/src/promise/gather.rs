//! Waiting for all: `join`, `all`, `both`.
//!
//! One node is told of each input, collects, and settles when none is left: also after a failure. The error
//! is the first in time among the inputs that were pending at the call; inputs already rejected at the call
//! come first, in order.

use super::batch::Batch;
use super::cancel::Walk;
use super::cell::{self, CancelLink, PromiseCell, Work};
use super::waiters::{Node, Waiter};
use super::{Promise, call, run_callback, settled};
use crate::{Error, Result};
use std::cell::RefCell;
use std::mem;
use std::rc::Rc;

/// What is made of the values.
trait Collect<T> {
    type Output: 'static;

    /// Keeps a value, or gives it back: dropping it may run anything.
    fn put(&mut self, index: usize, value: T) -> Option<T>;

    fn finish(self) -> Self::Output;
}

/// `join`: nothing.
struct Ignore;

impl<T> Collect<T> for Ignore {
    type Output = ();

    fn put(&mut self, _index: usize, value: T) -> Option<T> {
        Some(value)
    }

    fn finish(self) {}
}

/// `all`: the values in order of the inputs.
struct InOrder<T>(Vec<Option<T>>);

impl<T: 'static> Collect<T> for InOrder<T> {
    type Output = Vec<T>;

    fn put(&mut self, index: usize, value: T) -> Option<T> {
        if self.0.len() <= index {
            self.0.resize_with(index + 1, || None);
        }
        self.0[index].replace(value)
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
    /// Takes one input's result; the collected result once all are there. The value or error that is not
    /// wanted is returned to be dropped outside of any borrow.
    fn put(&mut self, index: usize, result: Result<T>) -> Option<Result<T>> {
        match (result, &mut self.values) {
            (Ok(value), Some(values)) if self.error.is_none() => values.put(index, value).map(Ok),
            (Err(error), _) if self.error.is_none() => {
                self.error = Some(error);
                None
            }
            (unwanted, _) => Some(unwanted),
        }
    }

    /// Takes the results that are there. Whether it took any: a clone or a drop may have
    /// settled an input that was passed by.
    fn take_settled(&mut self, inputs: &mut [Option<Promise<T>>]) -> bool {
        let mut took = false;
        for (index, input) in inputs.iter_mut().enumerate() {
            let Some(result) = input.as_mut().and_then(Promise::take_in_place) else { continue };
            *input = None;
            drop(self.put(index, result));
            took = true;
        }
        took
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

impl<T: 'static, C, O: 'static> Work<O> for GatherWork<T, C> {
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
        run_callback(move || drop(unwanted));
        let end = end?;
        let outcome = call(|| conclude(end)).unwrap_or_else(Err);
        let cell: Rc<PromiseCell<C::Output>> = self;
        cell::settle(&cell, outcome)
    }
}

fn gather<T: 'static, C: Collect<T> + 'static>(
    promises: impl IntoIterator<Item = Promise<T>>,
    values: C,
) -> Promise<C::Output> {
    // All of them first: what makes the next one may settle those before it.
    let mut inputs: Vec<_> = promises.into_iter().map(Some).collect();
    inputs.iter_mut().flatten().for_each(Promise::unwatch);
    let mut gather = Gather { inputs: Vec::new(), pending: 0, error: None, values: Some(values) };
    while gather.take_settled(&mut inputs) {}
    gather.pending = inputs.iter().flatten().count();
    if let Some(end) = gather.finish() {
        return settled(conclude(end));
    }
    let node = PromiseCell::pending(CancelLink::Work, GatherWork(RefCell::new(gather)));
    let old_waiters: Vec<_> = (0..)
        .zip(&mut inputs)
        .filter_map(|(index, input)| input.as_mut()?.watch(Waiter::node(node.clone(), index)))
        .collect();
    node.work.0.borrow_mut().inputs = inputs;
    drop(old_waiters);
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
            Ok(Ok(value)) => Side::Value(value),
            Ok(Err(reason)) => {
                error.get_or_insert(reason);
                Side::Ended
            }
            Err(pending) => Side::Waiting(pending),
        }
    }

    /// Keeps the value, or the first error; a later error is returned to be dropped outside of any borrow.
    fn put(&mut self, result: Result<T>, error: &mut Option<Error>) -> Option<Error> {
        match result {
            Ok(value) => *self = Side::Value(value),
            Err(reason) if error.is_some() => return Some(reason),
            Err(reason) => *error = Some(reason),
        }
        None
    }

    fn watch(&mut self, waiter: Waiter) -> Option<Waiter> {
        match self {
            Side::Waiting(promise) => promise.watch(waiter),
            Side::Value(_) | Side::Ended => None,
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
    fn put_first(&mut self, result: Result<A>) -> Option<Error> {
        self.first.put(result, &mut self.error)
    }

    fn put_second(&mut self, result: Result<B>) -> Option<Error> {
        self.second.put(result, &mut self.error)
    }

    /// Both sides and the error, once none is waited for. To be used with nothing borrowed: values may be
    /// dropped.
    fn finish(&mut self) -> Option<Pair<A, B>> {
        if matches!(self.first, Side::Waiting(_)) || matches!(self.second, Side::Waiting(_)) {
            return None;
        }
        Some(mem::replace(self, Pair { first: Side::Ended, second: Side::Ended, error: None }))
    }

    fn conclude(self) -> Result<(A, B)> {
        match (self.first, self.second, self.error) {
            (Side::Value(a), Side::Value(b), None) => Ok((a, b)),
            (_, _, error) => Err(error.unwrap_or_else(Error::abandoned)),
        }
    }
}

impl<A: 'static, B: 'static, O: 'static> Work<O> for BothWork<A, B> {
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
        let unwanted = if index == 0 {
            let input = self.work.0.borrow_mut().first.start()?;
            let side = input.take_settled();
            self.work.0.borrow_mut().put_first(side)
        } else {
            let input = self.work.0.borrow_mut().second.start()?;
            let side = input.take_settled();
            self.work.0.borrow_mut().put_second(side)
        };
        drop(unwanted);
        let end = self.work.0.borrow_mut().finish()?;
        let cell: Rc<PromiseCell<(A, B)>> = self;
        cell::settle(&cell, call(|| end.conclude()).unwrap_or_else(Err))
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
pub fn both<A: 'static, B: 'static>(mut first: Promise<A>, mut second: Promise<B>) -> Promise<(A, B)> {
    first.unwatch();
    second.unwatch();
    let mut error = None;
    let mut first = Side::of(first, &mut error);
    let second = Side::of(second, &mut error);
    // To take the second may run anything (a clone), also what settles the first.
    if let Some(promise) = first.start() {
        first = Side::of(promise, &mut error);
    }
    let mut pair = Pair { first, second, error };
    if let Some(end) = pair.finish() {
        return settled(end.conclude());
    }
    let empty = Pair { first: Side::Ended, second: Side::Ended, error: None };
    let node = PromiseCell::pending(CancelLink::Work, BothWork(RefCell::new(empty)));
    let old_first = pair.first.watch(Waiter::node(node.clone(), 0));
    let old_second = pair.second.watch(Waiter::node(node.clone(), 1));
    *node.work.0.borrow_mut() = pair;
    drop((old_first, old_second));
    Promise::of_cell(node)
}

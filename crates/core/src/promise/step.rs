//! The node behind `bind`, `map`, `try_map`, `catch`, `try_bind` and `finalize`: one allocation that is the callback waiting
//! for the input and the cell of the result at once.
//!
//! ```text
//!   Waiting(input, f) ──input settled──► f(result) ──► settled: settle own cell
//!                                                  ├─► pending cell: merge it into own cell
//!                                                  └─► pending leaf: Forwarding(leaf) ──settled──► settle own cell
//! ```
//!
//! On a settled input nothing of this exists: the callback runs at once, as a plain call, and what it returns is the result.
//! A panic in the callback rejects the result with `Panicked`, in both cases alike.
//!
//! Why a leaf is forwarded and not given a cell to merge: the cell would be a second allocation for each step of a loop of
//! pauses or reads. The result's cancel link points at the leaf, so that cancel rejects both in the same phase, as merging would.

use super::cancel::Walk;
use super::cell::{self, Batch, CancelLink, PromiseCell, Work};
use super::waiters::{Node, Waiter};
use super::{IntoPromise, Promise, Repr, call, ready, rejected, settled};
use crate::source::Leaf;
use crate::{Error, Result};
use std::cell::RefCell;
use std::mem;
use std::rc::Rc;

/// The work of a node with one input.
struct StepWork<A: 'static, B: 'static, F>(RefCell<Stage<A, B, F>>);

enum Stage<A: 'static, B: 'static, F> {
    Waiting(Promise<A>, F),
    Forwarding(Leaf<B>),
    Ended,
}

type StepNode<A, B, F> = PromiseCell<B, StepWork<A, B, F>>;

impl<A: 'static, B: 'static, F> Work for StepWork<A, B, F> {
    fn cancel_inputs(&self, walk: &mut Walk) {
        if let Stage::Waiting(input, _) = &*self.0.borrow() {
            walk.input(input);
        }
    }
}

impl<A, B, F> Node for StepNode<A, B, F>
where
    A: 'static,
    B: 'static,
    F: FnOnce(Result<A>) -> Promise<B> + 'static,
{
    fn run(self: Rc<Self>, _index: u32) -> Option<Batch> {
        let stage = mem::replace(&mut *self.work.0.borrow_mut(), Stage::Ended);
        match stage {
            Stage::Waiting(input, callback) => {
                let result = input.take_settled();
                let returned = call(|| callback(result)).unwrap_or_else(rejected);
                adopt(self, returned)
            }
            Stage::Forwarding(leaf) => {
                let result = leaf.take().unwrap_or_else(|| Err(Error::abandoned()));
                leaf.forget();
                let cell: Rc<PromiseCell<B>> = self;
                cell::settle(&cell, result)
            }
            Stage::Ended => None,
        }
    }
}

/// Makes what the callback returned the result of the node.
fn adopt<A, B, F>(node: Rc<StepNode<A, B, F>>, returned: Promise<B>) -> Option<Batch>
where
    A: 'static,
    B: 'static,
    F: FnOnce(Result<A>) -> Promise<B> + 'static,
{
    match returned.into_repr() {
        Repr::Settled(result) => {
            let cell: Rc<PromiseCell<B>> = node;
            cell::settle(&cell, result)
        }
        Repr::Cell(handle) => {
            let cell: Rc<PromiseCell<B>> = node;
            // The handle was the consumer; from here on the merged promise has the outer one's.
            let inner = handle.cell.clone();
            drop(handle);
            cell::merge(&cell, &inner)
        }
        Repr::Leaf(leaf) => forward(node, leaf),
        Repr::Taken => unreachable!("a promise cannot be returned after it was taken"),
    }
}

/// Lets a pending leaf settle the node's promise.
fn forward<A, B, F>(node: Rc<StepNode<A, B, F>>, leaf: Leaf<B>) -> Option<Batch>
where
    A: 'static,
    B: 'static,
    F: FnOnce(Result<A>) -> Promise<B> + 'static,
{
    let cell: Rc<PromiseCell<B>> = node.clone();
    if let Some(result) = leaf.take() {
        leaf.forget();
        return cell::settle(&cell, result);
    }
    cell::set_leaf(&cell::follow(&cell), leaf.source, leaf.token);
    leaf.source.watch(leaf.token, Waiter::node(node.clone(), 0));
    *node.work.0.borrow_mut() = Stage::Forwarding(leaf);
    None
}

/// A cell that a leaf settles: what a leaf becomes when it is shared or observed.
pub(super) fn cell_of_leaf<T: 'static>(leaf: Leaf<T>) -> Rc<PromiseCell<T>> {
    type Never<T> = fn(Result<T>) -> Promise<T>;
    let link = CancelLink::Leaf(leaf.source, leaf.token);
    let (source, token) = (leaf.source, leaf.token);
    let node: Rc<StepNode<T, T, Never<T>>> =
        PromiseCell::pending(link, StepWork(RefCell::new(Stage::Forwarding(leaf))));
    source.watch(token, Waiter::node(node.clone(), 0));
    node
}

/// The promise of `callback`'s promise, once `input` is settled.
fn step<A, B, F>(mut input: Promise<A>, callback: F) -> Promise<B>
where
    A: 'static,
    B: 'static,
    F: FnOnce(Result<A>) -> Promise<B> + 'static,
{
    let node: Rc<StepNode<A, B, F>> =
        PromiseCell::pending(CancelLink::OwnWork, StepWork(RefCell::new(Stage::Ended)));
    input.watch(Waiter::node(node.clone(), 0));
    *node.work.0.borrow_mut() = Stage::Waiting(input, callback);
    Promise::of_cell(node)
}

impl<T: 'static> Promise<T> {
    /// Runs `f` with the value and promises what it returns; an error passes through.
    ///
    /// On a fulfilled promise `f` runs now, nothing is allocated and nothing suspends; on a pending one it runs inside the
    /// resolution. Cancelling the result cancels this promise until `f` has run, then whatever `f` returned.
    /// A panic in `f` rejects the result.
    ///
    /// ```
    /// use lisle_core::ready;
    /// let sum = ready(1).bind(|a| ready(2).map(move |b| a + b));
    /// assert_eq!(sum.try_take().unwrap().unwrap(), 3);
    /// ```
    #[doc(alias = "and_then")]
    #[doc(alias = "then")]
    #[doc(alias = "flat_map")]
    #[inline]
    pub fn bind<P: IntoPromise>(self, f: impl FnOnce(T) -> P + 'static) -> Promise<P::Value> {
        match self.try_take() {
            Ok(Ok(value)) => call(|| f(value).into_promise()).unwrap_or_else(rejected),
            Ok(Err(error)) => rejected(error),
            Err(pending) => step(pending, |result| match result {
                Ok(value) => f(value).into_promise(),
                Err(error) => rejected(error),
            }),
        }
    }

    /// Promises `f` of the value.
    #[inline]
    pub fn map<U: 'static>(self, f: impl FnOnce(T) -> U + 'static) -> Promise<U> {
        match self.try_take() {
            Ok(Ok(value)) => settled(call(|| f(value))),
            Ok(Err(error)) => rejected(error),
            Err(pending) => step(pending, |result| match result {
                Ok(value) => ready(f(value)),
                Err(error) => rejected(error),
            }),
        }
    }

    /// Promises `f` of the value, which may fail.
    ///
    /// ```
    /// let parsed = lisle_core::ready("42").try_map(|text| text.parse::<u32>());
    /// assert_eq!(parsed.try_take().unwrap().unwrap(), 42);
    /// ```
    #[inline]
    pub fn try_map<U: 'static, E: Into<Error>>(
        self,
        f: impl FnOnce(T) -> Result<U, E> + 'static,
    ) -> Promise<U> {
        self.bind(f)
    }

    /// Runs `handler` with the error and promises what it returns; a value passes through.
    #[doc(alias = "or_else")]
    #[doc(alias = "recover")]
    #[inline]
    pub fn catch<P: IntoPromise<Value = T>>(self, handler: impl FnOnce(Error) -> P + 'static) -> Promise<T> {
        match self.try_take() {
            Ok(Ok(value)) => ready(value),
            Ok(Err(error)) => call(|| handler(error).into_promise()).unwrap_or_else(rejected),
            Err(pending) => step(pending, |result| match result {
                Ok(value) => ready(value),
                Err(error) => handler(error).into_promise(),
            }),
        }
    }

    /// Runs `f` with the value or `handler` with the error. An error of `f` is not given to `handler`.
    #[inline]
    pub fn try_bind<P, Q>(
        self,
        f: impl FnOnce(T) -> P + 'static,
        handler: impl FnOnce(Error) -> Q + 'static,
    ) -> Promise<P::Value>
    where
        P: IntoPromise,
        Q: IntoPromise<Value = P::Value>,
    {
        match self.try_take() {
            Ok(Ok(value)) => call(|| f(value).into_promise()).unwrap_or_else(rejected),
            Ok(Err(error)) => call(|| handler(error).into_promise()).unwrap_or_else(rejected),
            Err(pending) => step(pending, |result| match result {
                Ok(value) => f(value).into_promise(),
                Err(error) => handler(error).into_promise(),
            }),
        }
    }

    /// Runs `cleanup` after either outcome and keeps that outcome, unless the cleanup itself fails.
    ///
    /// ```
    /// use lisle_core::{ready, rejected, Error, Promise};
    /// let kept: Promise<u32> = rejected(Error::message("first")).finalize(|| ready(()));
    /// assert_eq!(kept.try_take().unwrap().unwrap_err().to_string(), "first");
    /// ```
    #[doc(alias = "finally")]
    #[inline]
    pub fn finalize<P: IntoPromise<Value = ()>>(self, cleanup: impl FnOnce() -> P + 'static) -> Promise<T> {
        match self.try_take() {
            Ok(result) => after_cleanup(call(|| cleanup().into_promise()).unwrap_or_else(rejected), result),
            Err(pending) => step(pending, |result| {
                // The outcome must survive a panic in the cleanup only as far as the cleanup's error wins.
                after_cleanup(cleanup().into_promise(), result)
            }),
        }
    }
}

fn after_cleanup<T: 'static>(cleanup: Promise<()>, result: Result<T>) -> Promise<T> {
    cleanup.bind(move |()| result)
}

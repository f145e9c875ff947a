//! The node behind `bind`, `map`, `try_map`, `catch`, `try_bind` and `finalize`: one allocation that is the
//! callback waiting for the input and the cell of the result at once.
//!
//! ```text
//!   Waiting(input, f) ─ settled ─► f(result) ──► settled: settle own cell
//!                                            ├─► pending cell: merge it into own cell
//!                                            └─► pending leaf: Forwarding(leaf) ─ settled ─► settle own cell
//! ```
//!
//! Once told, and not forwarding, a node is `Ended`. One that was itself merged into another promise and that
//! nobody else holds leaves its allocation to the next step of its kind (`spare.rs`).
//!
//! On a settled input nothing of this exists: the callback runs at once, as a plain call, and what it returns
//! is the result. A panic in the callback rejects the result with `Panicked`, in both cases alike.
//!
//! Why a leaf is forwarded and not given a cell to merge: the cell would be a second allocation for each step
//! of a loop of pauses or reads. The search of cancel asks the node for its leaf, and rejects both in the same
//! phase, as merging would.

use super::batch::Batch;
use super::cancel::Walk;
use super::cell::{self, CancelLink, PromiseCell, Work};
use super::waiters::{Node, Waiter};
use super::{IntoPromise, Promise, Repr, call, ready, rejected, settled, spare};
use crate::source::{Leaf, Source, Watched};
use crate::storage::{self, Entry};
use crate::{Error, Result};
use std::cell::Cell;
use std::rc::Rc;

/// The work of a node with one input.
struct StepWork<A: 'static, B: 'static, F>(Cell<Stage<A, B, F>>);

enum Stage<A: 'static, B: 'static, F> {
    Waiting(Promise<A>, F),
    Forwarding(Leaf<B>),
    Ended,
}

type StepNode<A, B, F> = PromiseCell<B, StepWork<A, B, F>>;

impl<A: 'static, B: 'static, F> Work<B> for StepWork<A, B, F> {
    fn cancel_inputs(&self, walk: &mut Walk) {
        let stage = self.0.replace(Stage::Ended);
        if let Stage::Waiting(input, _) = &stage {
            walk.input(input);
        }
        self.0.set(stage);
    }

    fn forwarded_leaf(&self) -> Option<(&'static dyn Source<B>, u64)> {
        let stage = self.0.replace(Stage::Ended);
        let leaf = match &stage {
            Stage::Forwarding(leaf) => Some((leaf.source, leaf.token)),
            _ => None,
        };
        self.0.set(stage);
        leaf
    }
}

impl<A, B, F> Node for StepNode<A, B, F>
where
    A: 'static,
    B: 'static,
    F: FnOnce(Result<A>, Entry) -> Promise<B> + 'static,
{
    fn run(self: Rc<Self>, _index: u32) -> Option<Batch> {
        let entry = Entry::told();
        match self.work.0.replace(Stage::Ended) {
            Stage::Waiting(input, callback) => {
                let result = input.take_settled();
                match call(|| callback(result, entry)) {
                    Ok(returned) => adopt(self, returned),
                    Err(panic) => {
                        let cell: Rc<PromiseCell<B>> = self;
                        cell::settle(&cell, Err(panic))
                    }
                }
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
#[inline]
fn adopt<A, B, F>(node: Rc<StepNode<A, B, F>>, returned: Promise<B>) -> Option<Batch>
where
    A: 'static,
    B: 'static,
    F: FnOnce(Result<A>, Entry) -> Promise<B> + 'static,
{
    match returned.repr {
        Repr::Value(value) => {
            let cell: Rc<PromiseCell<B>> = node;
            cell::settle(&cell, Ok(value))
        }
        Repr::Failed(error) => {
            let cell: Rc<PromiseCell<B>> = node;
            cell::settle(&cell, Err(error.read()))
        }
        Repr::Cell(mut handle) => {
            let cell: Rc<PromiseCell<B>> = node.clone();
            // The handle was the consumer; from here on the merged promise has the outer one's.
            handle.unwatch();
            match cell::merge(cell, &handle.cell) {
                // Not as it is: that would be copied to where it is returned, in other widths.
                None => {
                    spare::keep(node);
                    None
                }
                some => some,
            }
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
    F: FnOnce(Result<A>, Entry) -> Promise<B> + 'static,
{
    let cell: Rc<PromiseCell<B>> = node.clone();
    if let Some(result) = leaf.take() {
        leaf.forget();
        return cell::settle(&cell, result);
    }
    let (source, token) = (leaf.source, leaf.token);
    // Before it is watched: the drop of a waiter of before, who may be foreign, may settle it.
    node.work.0.set(Stage::Forwarding(leaf));
    source.watch(token, Waiter::node(node, 0));
    None
}

/// A cell that a leaf settles: what a leaf becomes when it is shared or observed.
pub(super) fn cell_of_leaf<T: 'static>(leaf: Leaf<T>) -> Rc<PromiseCell<T>> {
    type Never<T> = fn(Result<T>, Entry) -> Promise<T>;
    let (source, token) = (leaf.source, leaf.token);
    let node: Rc<StepNode<T, T, Never<T>>> =
        PromiseCell::pending(CancelLink::Work, StepWork(Cell::new(Stage::Forwarding(leaf))));
    source.watch(token, Waiter::node(node.clone(), 0));
    node
}

/// The promise of `callback`'s promise: at once if the input's cell or leaf is settled, else once it is.
///
/// A leaf is handed on in words, not as a whole: what is stored in words and loaded in pairs stalls.
#[inline(always)]
fn step<A, B, F>(repr: Repr<A>, callback: F) -> Promise<B>
where
    A: 'static,
    B: 'static,
    F: FnOnce(Result<A>, Entry) -> Promise<B> + 'static,
{
    match repr {
        Repr::Leaf(leaf) => {
            let (source, token) = (leaf.source, leaf.token);
            leaf.forget();
            step_of_leaf(source, token, callback)
        }
        repr => step_of_cell(Promise { repr }, callback),
    }
}

#[inline(never)]
fn step_of_leaf<A, B, F>(source: &'static dyn Source<A>, token: u64, callback: F) -> Promise<B>
where
    A: 'static,
    B: 'static,
    F: FnOnce(Result<A>, Entry) -> Promise<B> + 'static,
{
    if let Some(result) = source.take(token) {
        return run(|| callback(result, Entry::AtOnce));
    }
    let work = || {
        let input = Promise { repr: Repr::Leaf(Leaf { source, token, watched: Watched::Yes }) };
        StepWork(Cell::new(Stage::Waiting(input, callback)))
    };
    let node: Rc<StepNode<A, B, F>> = new_node(work);
    source.watch(token, storage::carry(Waiter::node(node.clone(), 0)));
    Promise::of_cell(node)
}

/// A node in the allocation of an ended one, if there is a spare of this kind.
#[inline(always)]
fn new_node<A: 'static, B: 'static, F: 'static>(
    work: impl FnOnce() -> StepWork<A, B, F>,
) -> Rc<StepNode<A, B, F>> {
    match spare::take() {
        Some(spare) => PromiseCell::renew(spare, work),
        None => PromiseCell::build(CancelLink::Work, work),
    }
}

#[inline(never)]
fn step_of_cell<A, B, F>(mut input: Promise<A>, callback: F) -> Promise<B>
where
    A: 'static,
    B: 'static,
    F: FnOnce(Result<A>, Entry) -> Promise<B> + 'static,
{
    if let Some(result) = input.take_in_place() {
        return run(|| callback(result, Entry::AtOnce));
    }
    let node: Rc<StepNode<A, B, F>> = new_node(|| StepWork(Cell::new(Stage::Ended)));
    let old_waiter = input.watch(storage::carry(Waiter::node(node.clone(), 0)));
    node.work.0.set(Stage::Waiting(input, callback));
    // It may run anything, also this node: that is complete.
    drop(old_waiter);
    Promise::of_cell(node)
}

/// Runs a callback on a settled input: as a plain call.
#[inline(always)]
fn run<P: IntoPromise>(callback: impl FnOnce() -> P) -> Promise<P::Value> {
    match call(|| callback().into_promise()) {
        Ok(promise) => promise,
        Err(panic) => rejected(panic),
    }
}

/// Runs a user's function that had to wait, under the storage of its registration.
#[inline(always)]
fn entered<P: IntoPromise>(entry: Entry, function: impl FnOnce() -> P) -> Promise<P::Value> {
    entry.begin();
    function().into_promise()
}

impl<T: 'static> Promise<T> {
    /// Runs `f` with the value and promises what it returns; an error passes through.
    ///
    /// On a fulfilled promise `f` runs now, nothing is allocated and nothing suspends; on a pending one it
    /// runs inside the resolution. Cancelling the result cancels this promise until `f` has run, then
    /// whatever `f` returned. A panic in `f` rejects the result.
    ///
    /// ```
    /// use lisle_core::ready;
    /// let sum = ready(1).bind(|a| ready(2).map(move |b| a + b));
    /// assert_eq!(sum.try_take().unwrap().unwrap(), 3);
    /// ```
    #[doc(alias = "and_then")]
    #[doc(alias = "flat_map")]
    #[inline(always)]
    pub fn bind<P: IntoPromise>(self, f: impl FnOnce(T) -> P + 'static) -> Promise<P::Value> {
        match self.repr {
            Repr::Value(value) => run(|| f(value)),
            Repr::Failed(error) => Promise { repr: Repr::Failed(error) },
            repr => step(repr, |result, entry| match result {
                Ok(value) => entered(entry, || f(value)),
                Err(error) => rejected(error),
            }),
        }
    }

    /// Promises `f` of the value.
    ///
    /// ```
    /// let doubled = lisle_core::ready(21).map(|n| n * 2);
    /// assert_eq!(doubled.try_take().unwrap().unwrap(), 42);
    /// ```
    #[inline(always)]
    pub fn map<U: 'static>(self, f: impl FnOnce(T) -> U + 'static) -> Promise<U> {
        match self.repr {
            Repr::Value(value) => settled(call(|| f(value))),
            Repr::Failed(error) => Promise { repr: Repr::Failed(error) },
            repr => step(repr, |result, entry| match result {
                Ok(value) => {
                    entry.begin();
                    ready(f(value))
                }
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

    /// Runs `handler` with the error and promises what it returns; a value passes through. To tell of the
    /// error and be done, see [`Promise::detach_with`].
    ///
    /// ```
    /// use lisle_core::{ready, rejected, Error};
    /// let healed = rejected(Error::message("lost")).catch(|error| ready(error.to_string()));
    /// assert_eq!(healed.try_take().unwrap().unwrap(), "lost");
    /// ```
    #[doc(alias = "or_else")]
    #[doc(alias = "recover")]
    #[inline]
    pub fn catch<P: IntoPromise<Value = T>>(self, handler: impl FnOnce(Error) -> P + 'static) -> Promise<T> {
        match self.repr {
            Repr::Value(value) => ready(value),
            Repr::Failed(error) => run(|| handler(error.read())),
            repr => step(repr, |result, entry| match result {
                Ok(value) => ready(value),
                Err(error) => entered(entry, || handler(error)),
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
        match self.repr {
            Repr::Value(value) => run(|| f(value)),
            Repr::Failed(error) => run(|| handler(error.read())),
            repr => step(repr, |result, entry| match result {
                Ok(value) => entered(entry, || f(value)),
                Err(error) => entered(entry, || handler(error)),
            }),
        }
    }

    /// Runs `f` with the result, whichever it is, and promises what it returns.
    ///
    /// ```
    /// let told = lisle_core::ready(1).then(|result| Ok::<_, lisle_core::Error>(result.is_ok()));
    /// assert!(told.try_take().unwrap().unwrap());
    /// ```
    #[inline]
    pub fn then<P: IntoPromise>(self, f: impl FnOnce(Result<T>) -> P + 'static) -> Promise<P::Value> {
        match self.repr {
            Repr::Value(value) => run(|| f(Ok(value))),
            Repr::Failed(error) => run(|| f(Err(error.read()))),
            repr => step(repr, |result, entry| entered(entry, || f(result))),
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
        match self.repr {
            Repr::Value(value) => after_cleanup(run(cleanup), Ok(value)),
            Repr::Failed(error) => after_cleanup(run(cleanup), Err(error.read())),
            // A panic in the cleanup is the cleanup's error, which wins.
            repr => step(repr, |result, entry| after_cleanup(entered(entry, cleanup), result)),
        }
    }
}

fn after_cleanup<T: 'static>(cleanup: Promise<()>, result: Result<T>) -> Promise<T> {
    cleanup.bind(move |()| result)
}

//! The shared cell of a promise that was pending once. The only file that changes a promise's state.
//!
//! ```text
//!   Pending ──1──► Done ──3──► Taken(error?)     1 settle   2 merge (a callback returned this promise)
//!     ▲  └────2────► Alias(outer)                3 the one consumer moved the value out
//!     └──5── Taken ◄──4──┘                       4 retire   5 renew (the same allocation, another promise)
//! ```
//!
//! A cell is reached by its resolver or node, its handles, and the link of the promise it was merged into.
//! After 2 every road leads to `outer`: [`follow`] walks and shortens the chain. No road sees `Done` or
//! `Taken` go back: 4 and 5 happen to a cell that nobody else holds (`spare.rs`).
//!
//! Who owns what until when: the value belongs to the cell from 1 until its consumer takes it (3), or, once
//! [`share`] was called, for good, and consumers get clones. The waiters belong to the cell until 1 moves
//! them out as a [`Batch`], which the scheduler runs with nothing borrowed. Where the work of a merged cell
//! goes on for the outer one, each owns the other (`merged`, `Alias`) until 1. No user code runs inside this
//! file while a state is mutably borrowed.
//!
//! Not here: what a batch is and when it runs (`batch.rs`, `sched`), what a node computes (`step.rs`), how
//! cancel searches (`cancel.rs`).

use super::batch::Batch;
use super::cancel::Walk;
use super::waiters::{Key, Waiter, WaiterList};
use crate::source::Source;
use crate::{Error, Result, hook};
use std::cell::{Cell, RefCell, RefMut};
use std::mem;
use std::rc::Rc;

/// A promise's cell, with what it does when its inputs are settled in the same allocation.
pub(crate) struct PromiseCell<T: 'static, W: ?Sized = dyn Work<T>> {
    state: RefCell<State<T>>,
    /// Whether a rejection was seen by anybody.
    observed: Flag,
    pub(crate) work: W,
}

/// A flag as wide as a word. After a byte, the compiler copies the rest of the cell from an odd address.
struct Flag(Cell<u64>);

impl Flag {
    fn new() -> Flag {
        Flag(Cell::new(0))
    }

    fn set(&self) {
        self.0.set(1);
    }

    fn is_set(&self) -> bool {
        self.0.get() != 0
    }
}

/// What a cell waits for; asked only by the search of cancel.
pub(crate) trait Work<T: 'static> {
    /// Shows the search this node's inputs, in order.
    fn cancel_inputs(&self, _walk: &mut Walk) {}

    /// The leaf that will settle this promise as it is, if there is one.
    fn forwarded_leaf(&self) -> Option<(&'static dyn Source<T>, u64)> {
        None
    }
}

/// The work of a promise that only its resolver settles.
pub(crate) struct Plain;

impl<T: 'static> Work<T> for Plain {}

enum State<T: 'static> {
    Pending(Pending<T>),
    Done(Result<T>, Option<CloneFn<T>>),
    Taken(Option<Error>),
    Alias(Rc<PromiseCell<T>>),
}

type CloneFn<T> = fn(&T) -> T;

struct Pending<T: 'static> {
    /// The one consumer of a promise that is not shared, or nobody: no list, no allocation.
    consumer: Waiter,
    waiters: WaiterList,
    cancel_callbacks: WaiterList,
    cancel_link: CancelLink,
    /// The last search of cancel that came by, so that a cycle ends.
    cancel_mark: u32,
    /// The promise that was merged into this one, if its work goes on for this one.
    merged: Option<Rc<PromiseCell<T>>>,
    /// Where the consumer stands in the list, once a shared promise was merged in: newer callbacks may come
    /// now.
    listed_consumer: Watch,
    /// How to clone the value; only promises that are shared know.
    clone: Option<CloneFn<T>>,
}

/// What cancel does when it reaches a pending promise.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum CancelLink {
    /// Nothing: the search stops.
    Never,
    /// This promise is rejected.
    Itself,
    /// The search goes on to the inputs of its work: its own, or that of the promise that was merged into it.
    Work,
}

/// What the search of cancel has to do with a promise; nothing is borrowed any more.
pub(crate) enum CancelStep<T: 'static> {
    Stop,
    Reject(Rc<PromiseCell<T>>),
    AskWork(Rc<PromiseCell<T>>),
    AskLeaf(Rc<PromiseCell<T>>, &'static dyn Source<T>, u64),
}

/// How far a promise is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Not settled yet.
    Pending,
    /// Settled with a value.
    Fulfilled,
    /// Settled with an error.
    Rejected,
}

impl<T: 'static, W> PromiseCell<T, W> {
    #[inline]
    pub(crate) fn pending(cancel_link: CancelLink, work: W) -> Rc<PromiseCell<T, W>> {
        PromiseCell::build(cancel_link, || work)
    }

    /// Builds the cell where it stays, and the work in it: `Rc::new` builds on the stack and copies, which
    /// costs 4 ns more; `new_cyclic` allocates first. Also making the link in place was 1 ns slower: the rest
    /// went over the stack again.
    #[inline(always)]
    pub(crate) fn build(cancel_link: CancelLink, work: impl FnOnce() -> W) -> Rc<PromiseCell<T, W>> {
        Rc::new_cyclic(|_| PromiseCell {
            state: RefCell::new(State::pending(cancel_link)),
            observed: Flag::new(),
            work: work(),
        })
    }

    /// Empties a cell that was merged away and that nobody else holds. Tells whether it is such a one.
    #[inline]
    pub(crate) fn retire(cell: &mut Rc<PromiseCell<T, W>>) -> bool {
        let Some(cell) = Rc::get_mut(cell) else { return false };
        let state = cell.state.get_mut();
        match state {
            State::Alias(next) if Rc::strong_count(next) > 1 => {
                *state = State::Taken(None);
                true
            }
            _ => false,
        }
    }

    /// Makes a retired cell a pending one.
    #[inline(always)]
    pub(crate) fn renew(
        mut retired: Rc<PromiseCell<T, W>>,
        work: impl FnOnce() -> W,
    ) -> Rc<PromiseCell<T, W>> {
        let cell = Rc::get_mut(&mut retired).expect("nobody else holds a retired cell");
        let old = mem::replace(cell.state.get_mut(), State::pending(CancelLink::Work));
        debug_assert!(matches!(old, State::Taken(None)), "a retired cell is empty");
        mem::forget(old);
        cell.observed = Flag::new();
        cell.work = work();
        retired
    }
}

impl<T: 'static> State<T> {
    #[inline(always)]
    fn pending(cancel_link: CancelLink) -> State<T> {
        State::Pending(Pending {
            consumer: Waiter::NOBODY,
            waiters: WaiterList::new(),
            cancel_callbacks: WaiterList::new(),
            cancel_link,
            cancel_mark: 0,
            merged: None,
            listed_consumer: Watch::NOTHING,
            clone: None,
        })
    }
}

impl<T: 'static> PromiseCell<T, Plain> {
    pub(crate) fn done(result: Result<T>) -> Rc<PromiseCell<T, Plain>> {
        let state = RefCell::new(State::Done(result, None));
        Rc::new(PromiseCell { state, observed: Flag::new(), work: Plain })
    }
}

/// The cell that now stands for `cell`; shortens the chain of aliases on the way.
#[inline]
pub(crate) fn follow<T: 'static>(cell: &Rc<PromiseCell<T>>) -> Rc<PromiseCell<T>> {
    root(cell.clone())
}

#[inline]
fn root<T: 'static>(cell: Rc<PromiseCell<T>>) -> Rc<PromiseCell<T>> {
    let Some(next) = cell.alias() else { return cell };
    if next.is_root() { next } else { follow_on(&cell, next) }
}

fn follow_on<T: 'static>(cell: &Rc<PromiseCell<T>>, mut root: Rc<PromiseCell<T>>) -> Rc<PromiseCell<T>> {
    let mut steps = 0;
    while let Some(next) = root.alias() {
        root = next;
        steps += 1;
    }
    if steps > 0 {
        shorten(cell, &root);
    }
    root
}

#[cold]
fn shorten<T: 'static>(cell: &Rc<PromiseCell<T>>, root: &Rc<PromiseCell<T>>) {
    let mut at = cell.clone();
    while !Rc::ptr_eq(&at, root) {
        let old = mem::replace(&mut *at.state.borrow_mut(), State::Alias(root.clone()));
        let State::Alias(next) = old else { unreachable!("only aliases lie before the root") };
        at = next;
    }
}

impl<T: 'static> PromiseCell<T> {
    #[inline]
    fn alias(&self) -> Option<Rc<PromiseCell<T>>> {
        match &*self.state.borrow() {
            State::Alias(next) => Some(next.clone()),
            _ => None,
        }
    }

    #[inline]
    fn is_root(&self) -> bool {
        !matches!(&*self.state.borrow(), State::Alias(_))
    }
}

/// Settles a promise, if it is pending, and returns the waiters to run. A second settling is ignored: the
/// value is dropped.
pub(crate) fn settle<T: 'static>(cell: &Rc<PromiseCell<T>>, result: Result<T>) -> Option<Batch> {
    if let Some(next) = cell.alias() {
        return settle(&follow_on(cell, next), result);
    }
    let canceled = matches!(&result, Err(error) if error.is_canceled());
    // Borrowed while a clone is made: settled already.
    let mut state = cell.state.try_borrow_mut().ok()?;
    let State::Pending(pending) = &mut *state else {
        drop(state);
        drop(result);
        return None;
    };
    let mut batch = Batch {
        cancel_callbacks: mem::take(&mut pending.cancel_callbacks),
        consumer: mem::take(&mut pending.consumer),
        waiters: mem::take(&mut pending.waiters),
    };
    let merged = pending.merged.take();
    let clone = pending.clone;
    *state = State::Done(result, clone);
    drop(state);
    // From here on destructors of user closures may run: nothing is borrowed.
    drop(merged);
    if !canceled {
        drop(mem::take(&mut batch.cancel_callbacks));
    }
    Some(batch)
}

/// Whether anybody but `holders` who do not count could still learn how a pending promise ends.
pub(crate) fn is_wanted<T: 'static>(cell: &Rc<PromiseCell<T>>, holders: usize) -> bool {
    let root = follow(cell);
    let (known_of_cell, known_of_root) = match Rc::ptr_eq(&root, cell) {
        true => (holders + 1, holders + 1),
        // The cell is also held by the link of the promise that it was merged into; that one by the alias.
        false => (holders + usize::from(root.links_to(cell)), 2),
    };
    Rc::strong_count(cell) > known_of_cell
        || Rc::strong_count(&root) > known_of_root
        || root.pending_mut().is_some_and(|pending| pending.is_awaited())
}

impl<T: 'static> PromiseCell<T> {
    fn links_to(&self, inner: &Rc<PromiseCell<T>>) -> bool {
        let pending = self.pending_mut();
        pending.is_some_and(|pending| pending.merged.as_ref().is_some_and(|cell| Rc::ptr_eq(cell, inner)))
    }
}

impl<T: 'static> Pending<T> {
    fn is_awaited(&self) -> bool {
        !self.consumer.is_nobody() || !self.waiters.is_empty()
    }
}

/// Says that this very cell's rejection need not be looked at.
pub(crate) fn forgive<T: 'static>(cell: &PromiseCell<T>) {
    cell.observed.set();
}

/// Makes `inner`, which a callback of `outer` returned, the same promise as `outer`; the outer one survives,
/// so that a tail-recursive loop keeps one live promise. Returns what to run if `inner` was settled already.
#[inline]
pub(crate) fn merge<T: 'static>(outer: Rc<PromiseCell<T>>, inner: &Rc<PromiseCell<T>>) -> Option<Batch> {
    let outer = root(outer);
    let is_pending = matches!(&*inner.state.borrow(), State::Pending(_));
    if !is_pending || Rc::ptr_eq(&outer, inner) {
        return merge_rest(&outer, &follow(inner));
    }
    join_cells(outer, inner);
    None
}

/// Merges what is not simply two pending cells.
#[inline(never)]
fn merge_rest<T: 'static>(outer: &Rc<PromiseCell<T>>, inner: &Rc<PromiseCell<T>>) -> Option<Batch> {
    if Rc::ptr_eq(outer, inner) {
        // A promise that waits for itself: pending for ever, as in Lwt. What was merged into it may own it
        // (`merged`): let go.
        let merged = outer.pending_mut().and_then(|mut pending| {
            pending.cancel_link = CancelLink::Never;
            pending.merged.take()
        });
        drop(merged);
        return None;
    }
    if inner.status() != Status::Pending {
        return take(inner).and_then(|result| settle(outer, result));
    }
    join_cells(outer.clone(), inner);
    None
}

/// Moves everything of the pending `inner` to `outer`, if that is pending.
///
/// Word by word and with no tuple on the way: what is stored in words and loaded in pairs stalls the
/// processor. Returning the two old parts as a tuple cost 8 ns of a suspended bind. And each state by one
/// reference: to get from an `Rc` of an unsized cell to its fields takes six instructions, each time.
#[inline]
fn join_cells<T: 'static>(outer: Rc<PromiseCell<T>>, inner: &Rc<PromiseCell<T>>) {
    let (outer_state, inner_state) = (&outer.state, &inner.state);
    // Borrowed while a clone is made: settled already.
    let Ok(mut outer_state) = outer_state.try_borrow_mut() else { return };
    let State::Pending(pending) = &mut *outer_state else { return };
    let mut inner_state = inner_state.borrow_mut();
    let State::Pending(merged) = &mut *inner_state else { unreachable!("checked by merge") };
    if let Some(clone) = merged.clone {
        pending.clone.get_or_insert(clone);
        if let Some(consumer) = pending.consumer.take() {
            pending.listed_consumer = Watch(pending.waiters.push(consumer).to_word());
        }
    }
    pending.waiters.append(mem::take(&mut merged.waiters));
    pending.cancel_callbacks.append(mem::take(&mut merged.cancel_callbacks));
    let worker = match merged.cancel_link {
        CancelLink::Work => merged.merged.take().or_else(|| Some(inner.clone())),
        CancelLink::Never | CancelLink::Itself => None,
    };
    pending.cancel_link = merged.cancel_link;
    let old_worker = mem::replace(&mut pending.merged, worker);
    // `inner` had one handle, which took its registration back: no consumer as a rule.
    let consumer = merged.consumer.take();
    drop(outer_state);
    // All is moved out: there is nothing to drop in what is overwritten.
    mem::forget(mem::replace(&mut *inner_state, State::Alias(outer)));
    drop(inner_state);
    drop(old_worker);
    drop(consumer);
}

/// The result, if the promise is settled: moved out, or cloned if it is shared.
pub(crate) fn take<T: 'static>(cell: &Rc<PromiseCell<T>>) -> Option<Result<T>> {
    let alias = match &*cell.state.borrow() {
        State::Pending(_) => return None,
        State::Alias(next) => Some(next.clone()),
        // A clone is the user's code, and runs with the state borrowed: all who write look first whether it
        // is pending.
        State::Done(Ok(value), Some(clone)) => return Some(super::call(|| clone(value))),
        State::Done(Err(error), _) => {
            cell.observed.set();
            return Some(Err(error.clone()));
        }
        State::Taken(error) => return Some(Err(error.clone().unwrap_or_else(Error::abandoned))),
        State::Done(Ok(_), None) => None,
    };
    if let Some(next) = alias {
        return take(&follow_on(cell, next));
    }
    match mem::replace(&mut *cell.state.borrow_mut(), State::Taken(None)) {
        State::Done(result, _) => Some(result),
        _ => unreachable!("it was done a line ago"),
    }
}

/// Lets the value be cloned instead of moved out: there may be several handles from now on.
pub(crate) fn share<T: 'static>(cell: &Rc<PromiseCell<T>>, clone: CloneFn<T>) {
    let root = follow(cell);
    // Borrowed while a clone is made: then it is shared already.
    let Ok(mut state) = root.state.try_borrow_mut() else { return };
    match &mut *state {
        State::Pending(pending) => pending.clone = Some(clone),
        State::Done(_, slot) => *slot = Some(clone),
        State::Taken(_) | State::Alias(_) => {}
    }
}

/// How a handle's waiter is registered: a key, or one of two words that are no key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Watch(u64);

impl Watch {
    pub(crate) const NOTHING: Watch = Watch(0);
    const CONSUMER: Watch = Watch(u64::MAX);
}

/// Registers the waiter of a handle that consumes. The promise must be pending.
/// Also returns the waiter that this one replaces: dropping it may run anything.
pub(crate) fn watch<T: 'static>(cell: &Rc<PromiseCell<T>>, waiter: Waiter) -> (Watch, Option<Waiter>) {
    let root = follow(cell);
    let mut pending = root.pending_mut().expect("only pending promises are watched");
    if pending.clone.is_some() {
        return (Watch(pending.waiters.push(waiter).to_word()), None);
    }
    let mut replaced = mem::replace(&mut pending.consumer, waiter);
    (Watch::CONSUMER, replaced.take())
}

/// Takes back the registration of a handle; nothing if it has run. Dropping what is returned may run
/// anything.
#[must_use]
pub(crate) fn unwatch<T: 'static>(cell: &Rc<PromiseCell<T>>, watch: Watch) -> Option<Waiter> {
    match watch {
        Watch::NOTHING => None,
        Watch::CONSUMER => {
            let root = follow(cell);
            let mut pending = root.pending_mut()?;
            match mem::replace(&mut pending.listed_consumer, Watch::NOTHING) {
                Watch::NOTHING => pending.consumer.take(),
                Watch(key) => super::waiters::remove(Key::of_word(key)),
            }
        }
        Watch(key) => super::waiters::remove(Key::of_word(key)),
    }
}

/// Adds a waiter that only observes. `false` if the promise is settled already.
pub(crate) fn observe<T: 'static>(cell: &Rc<PromiseCell<T>>, waiter: Waiter) -> bool {
    let root = follow(cell);
    let Some(mut pending) = root.pending_mut() else { return false };
    pending.waiters.push(waiter);
    true
}

/// Adds a callback for cancellation. `false` if the promise is settled already.
pub(crate) fn on_cancel<T: 'static>(cell: &Rc<PromiseCell<T>>, waiter: Waiter) -> bool {
    let root = follow(cell);
    let Some(mut pending) = root.pending_mut() else { return false };
    pending.cancel_callbacks.push(waiter);
    true
}

/// One step of the search of cancel.
pub(crate) fn cancel_step<T: 'static>(cell: &Rc<PromiseCell<T>>, mark: u32) -> CancelStep<T> {
    let root = follow(cell);
    let Some(mut pending) = root.pending_mut() else { return CancelStep::Stop };
    let node = match pending.cancel_link {
        CancelLink::Never => return CancelStep::Stop,
        CancelLink::Itself => return CancelStep::Reject(root.clone()),
        CancelLink::Work => pending.merged.as_ref().unwrap_or(&root).clone(),
    };
    if mem::replace(&mut pending.cancel_mark, mark) == mark {
        return CancelStep::Stop;
    }
    match node.work.forwarded_leaf() {
        Some((source, token)) => CancelStep::AskLeaf(root.clone(), source, token),
        None => CancelStep::AskWork(node),
    }
}

impl<T: 'static> PromiseCell<T> {
    /// What a pending promise holds, to be changed. A state that is borrowed is one that is being cloned
    /// from: settled.
    fn pending_mut(&self) -> Option<RefMut<'_, Pending<T>>> {
        let state = self.state.try_borrow_mut().ok()?;
        RefMut::filter_map(state, |state| match state {
            State::Pending(pending) => Some(pending),
            _ => None,
        })
        .ok()
    }

    /// How far this very cell is; follow aliases first.
    pub(crate) fn status(&self) -> Status {
        match &*self.state.borrow() {
            State::Pending(_) | State::Alias(_) => Status::Pending,
            State::Done(Ok(_), _) | State::Taken(None) => Status::Fulfilled,
            State::Done(Err(_), _) | State::Taken(Some(_)) => Status::Rejected,
        }
    }

    /// Whether this very cell is rejected with `Canceled`.
    pub(crate) fn is_canceled(&self) -> bool {
        match &*self.state.borrow() {
            State::Done(Err(error), _) | State::Taken(Some(error)) => error.is_canceled(),
            _ => false,
        }
    }

    /// The error, if this very cell is rejected.
    pub(crate) fn error(&self) -> Option<Error> {
        match &*self.state.borrow() {
            State::Done(Err(error), _) | State::Taken(Some(error)) => {
                self.observed.set();
                Some(error.clone())
            }
            _ => None,
        }
    }
}

impl<T: 'static, W: ?Sized> Drop for PromiseCell<T, W> {
    fn drop(&mut self) {
        match self.state.get_mut() {
            State::Done(Err(error), _) if !self.observed.is_set() && !error.is_canceled() => {
                hook::report(error.clone(), hook::FailureKind::Unobserved, None);
            }
            State::Alias(next) if Rc::strong_count(next) == 1 => {
                let next = next.clone();
                *self.state.get_mut() = State::Taken(None);
                drop_aliases(next);
            }
            _ => {}
        }
    }
}

/// A chain of aliases is dropped in a loop: its length must not cost stack.
fn drop_aliases<T: 'static>(mut next: Rc<PromiseCell<T>>) {
    while let Some(cell) = Rc::get_mut(&mut next) {
        let State::Alias(further) = cell.state.get_mut() else { return };
        let further = further.clone();
        *cell.state.get_mut() = State::Taken(None);
        next = further;
    }
}

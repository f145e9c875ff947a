//! The node behind the `_n` forms: promises in flight, and the elements that wait for room.
//!
//! ```text
//!   elements ─► begin (while there is room) ─┬─► settled already: collect
//!      ▲                                     └─► pending: a seat, 0 to max-1 ─ settled ─► collect ──┐
//!      └──────────────────────────── room ◄─────────────────────────────────────────────────────────┘
//!
//!   source (elements and callback):  idle ⇄ busy, while one of them runs ──► ended: no more will begin
//! ```
//!
//! The node settles when the source has ended, is not busy, and no seat is taken. The first error ends the
//! source; later results are dropped. The source belongs to the node, and to [`fill`] while it is busy. What
//! the user's code settles meanwhile comes back into `run`, finds the source busy, and leaves the rest to the
//! loop that is at work. So neither a million elements nor callbacks that settle each other need stack, and
//! the node holds no more than `max` promises.

use crate::promise::batch::Batch;
use crate::promise::cancel::Walk;
use crate::promise::cell::{self, CancelLink, PromiseCell, Work};
use crate::promise::waiters::{Node, Waiter};
use crate::promise::{call, run_callback};
use crate::{Error, IntoPromise, Promise, Result, rejected, settled};
use std::cell::RefCell;
use std::ops::ControlFlow;
use std::rc::Rc;

/// What is made of the values.
pub(super) trait Collect<T> {
    type Output: 'static;

    /// Keeps a value; `Break` if no further element need begin. Runs with the node borrowed, so it may drop
    /// nothing of the user's.
    fn put(&mut self, index: usize, value: T) -> ControlFlow<()>;

    fn finish(self) -> Self::Output;
}

struct WindowWork<I, F, T: 'static, C>(RefCell<Window<I, F, T, C>>);

struct Window<I, F, T: 'static, C> {
    /// The elements and the callback; out while one of them runs, gone when the source has ended.
    source: Option<(I, F)>,
    busy: bool,
    ended: bool,
    max: usize,
    /// How many elements have begun.
    begun: usize,
    seats: Vec<Option<Flight<T>>>,
    /// Seats that are empty.
    free: Vec<u32>,
    error: Option<Error>,
    /// Empty once the end has come.
    values: Option<C>,
}

/// A promise on its seat.
struct Flight<T: 'static> {
    index: usize,
    promise: Promise<T>,
}

type WindowNode<I, F, T, C> = PromiseCell<<C as Collect<T>>::Output, WindowWork<I, F, T, C>>;

/// What a window comes to.
struct End<C> {
    error: Option<Error>,
    values: C,
}

/// What is not wanted any more: to be dropped with nothing borrowed.
type Unwanted<I, F, T> = (Option<Result<T>>, Option<(I, F)>);

impl<I, F, T: 'static, C: Collect<T>> Window<I, F, T, C> {
    /// Takes the source out, if an element may begin now.
    fn open(&mut self) -> Option<(I, F)> {
        if self.seats.len() - self.free.len() >= self.max {
            return None;
        }
        let source = self.source.take()?;
        self.busy = true;
        Some(source)
    }

    /// Puts the source back, unless it has ended meanwhile: then it comes back to be dropped.
    #[must_use]
    fn close(&mut self, source: (I, F)) -> Option<(I, F)> {
        self.busy = false;
        if self.ended {
            return Some(source);
        }
        self.source.replace(source)
    }

    #[must_use]
    fn put(&mut self, index: usize, result: Result<T>) -> Unwanted<I, F, T> {
        let unwanted = match (result, &mut self.values) {
            (Ok(value), Some(values)) if self.error.is_none() => match values.put(index, value) {
                ControlFlow::Continue(()) => return (None, None),
                ControlFlow::Break(()) => None,
            },
            (Err(error), _) if self.error.is_none() => {
                self.error = Some(error);
                None
            }
            (unwanted, _) => Some(unwanted),
        };
        self.ended = true;
        (unwanted, self.source.take())
    }

    /// A seat for the next promise.
    fn seat(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            let seat = u32::try_from(self.seats.len()).expect("over 4 billion promises at a time");
            self.seats.push(None);
            seat
        })
    }

    fn leave(&mut self, seat: u32) -> Option<Flight<T>> {
        let flight = self.seats[seat as usize].take()?;
        self.free.push(seat);
        Some(flight)
    }

    /// The end, once, when nothing runs and nothing more will begin.
    fn end(&mut self) -> Option<End<C>> {
        if self.busy || !self.ended || self.seats.len() > self.free.len() {
            return None;
        }
        Some(End { error: self.error.take(), values: self.values.take()? })
    }
}

impl<C> End<C> {
    fn conclude<T: 'static>(self) -> Result<C::Output>
    where
        C: Collect<T>,
    {
        match self.error {
            None => Ok(self.values.finish()),
            Some(error) => Err(error),
        }
    }
}

impl<I, F, T: 'static, C, O: 'static> Work<O> for WindowWork<I, F, T, C> {
    fn cancel_inputs(&self, walk: &mut Walk) {
        self.0.borrow().seats.iter().flatten().for_each(|flight| walk.input(&flight.promise));
    }
}

impl<I, F, P, C> Node for WindowNode<I, F, P::Value, C>
where
    I: Iterator + 'static,
    P: IntoPromise,
    F: FnMut(I::Item) -> P + 'static,
    C: Collect<P::Value> + 'static,
{
    fn run(self: Rc<Self>, seat: u32) -> Option<Batch> {
        let flight = self.work.0.borrow_mut().leave(seat)?;
        let result = flight.promise.take_settled();
        collect(&self, flight.index, result);
        let outcome = fill(&self)?;
        let cell: Rc<PromiseCell<C::Output>> = self;
        cell::settle(&cell, outcome)
    }
}

/// Keeps a result; drops what it makes superfluous.
fn collect<I: 'static, F: 'static, T: 'static, C: Collect<T> + 'static>(
    node: &WindowNode<I, F, T, C>,
    index: usize,
    result: Result<T>,
) {
    let unwanted = node.work.0.borrow_mut().put(index, result);
    run_callback(move || drop(unwanted));
}

/// The iterator panicked: its elements end here.
fn fail<I, F, T: 'static, C: Collect<T>>(node: &WindowNode<I, F, T, C>, panic: Error) {
    let mut window = node.work.0.borrow_mut();
    window.ended = true;
    window.error.get_or_insert(panic);
}

/// Begins elements while there is room; the outcome, if that was all.
fn fill<I, F, P, C>(node: &Rc<WindowNode<I, F, P::Value, C>>) -> Option<Result<C::Output>>
where
    I: Iterator + 'static,
    P: IntoPromise,
    F: FnMut(I::Item) -> P + 'static,
    C: Collect<P::Value> + 'static,
{
    loop {
        let opened = node.work.0.borrow_mut().open();
        let Some((mut items, mut callback)) = opened else { break };
        match call(|| items.next()) {
            Ok(Some(item)) => {
                let promise = call(|| callback(item).into_promise()).unwrap_or_else(rejected);
                board(node, promise);
            }
            Ok(None) => node.work.0.borrow_mut().ended = true,
            Err(panic) => fail(node, panic),
        }
        let unwanted = node.work.0.borrow_mut().close((items, callback));
        run_callback(move || drop(unwanted));
    }
    let end = node.work.0.borrow_mut().end()?;
    Some(call(|| end.conclude()).unwrap_or_else(Err))
}

/// Collects a promise that is settled, and gives a seat to one that is not.
fn board<I, F, P, C>(node: &Rc<WindowNode<I, F, P::Value, C>>, mut promise: Promise<P::Value>)
where
    I: Iterator + 'static,
    P: IntoPromise,
    F: FnMut(I::Item) -> P + 'static,
    C: Collect<P::Value> + 'static,
{
    let index = super::serial::number(&mut node.work.0.borrow_mut().begun);
    promise.unwatch();
    match promise.try_take() {
        Ok(result) => collect(node, index, result),
        Err(mut promise) => {
            let mut window = node.work.0.borrow_mut();
            let seat = window.seat();
            let old_waiter = promise.watch(Waiter::node(node.clone(), seat));
            window.seats[seat as usize] = Some(Flight { index, promise });
            drop(window);
            // It may run anything, also what settles the promise: that is on its seat.
            run_callback(move || drop(old_waiter));
        }
    }
}

/// Runs `f` for `max` elements at a time.
#[track_caller]
pub(super) fn window<I, P, F, C>(max: usize, items: I, f: F, values: C) -> Promise<C::Output>
where
    I: IntoIterator + 'static,
    P: IntoPromise,
    F: FnMut(I::Item) -> P + 'static,
    C: Collect<P::Value> + 'static,
{
    assert!(max > 0, "at most 0 at a time: nothing could ever begin; pass 1 or more");
    let window = Window {
        source: Some((items.into_iter(), f)),
        busy: false,
        ended: false,
        max,
        begun: 0,
        seats: Vec::new(),
        free: Vec::new(),
        error: None,
        values: Some(values),
    };
    let node = PromiseCell::pending(CancelLink::Work, WindowWork(RefCell::new(window)));
    match fill::<I::IntoIter, F, P, C>(&node) {
        Some(outcome) => settled(outcome),
        None => Promise::of_cell(node),
    }
}

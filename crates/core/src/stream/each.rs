//! Loops over elements that come as promises: one after the other, all at once, at most so many at once.
//!
//! Streams and sequences run on these. An [`Each`] is where the elements come from and what is done with one;
//! it is shared by the steps of one loop, which follow each other, so it is taken out while user code runs
//! and put back after. Elements that are there already are walked in a loop, so their number costs no stack;
//! where something is waited for, the rest of the loop is the callback of a bind, and the promises merge.

use super::crew::Crew;
use crate::promise::call;
use crate::{Error, IntoPromise, Promise, Status, ready, rejected};
use std::cell::RefCell;
use std::ops::ControlFlow;
use std::rc::Rc;

/// Where elements come from, and what is done with each.
pub(crate) struct Each<N, F>(RefCell<Option<(N, F)>>);

impl<N, F> Each<N, F> {
    pub(crate) fn new(next: N, step: F) -> Rc<Each<N, F>> {
        Rc::new(Each(RefCell::new(Some((next, step)))))
    }

    /// Runs user code with the two, out of any borrow. A panic in it becomes a rejection.
    fn with<R: 'static>(&self, run: impl FnOnce(&mut N, &mut F) -> Promise<R>) -> Promise<R> {
        let Some((mut next, mut step)) = self.0.take() else {
            return rejected(Error::message("a callback of a loop ran the same loop again"));
        };
        let result = call(|| run(&mut next, &mut step));
        self.0.replace(Some((next, step)));
        result.unwrap_or_else(rejected)
    }

    fn next<T: 'static>(&self) -> Promise<Option<T>>
    where
        N: FnMut() -> Promise<Option<T>>,
    {
        self.with(|next, _step| next())
    }

    fn step<T, P: IntoPromise>(&self, element: T) -> Promise<P::Value>
    where
        F: FnMut(T) -> P,
    {
        self.with(|_next, step| step(element).into_promise())
    }
}

/// Does `step` with one element after the other until it breaks; `None` at the end of the elements.
pub(crate) fn each<T, R, N, F>(state: &Rc<Each<N, F>>) -> Promise<Option<R>>
where
    T: 'static,
    R: 'static,
    N: FnMut() -> Promise<Option<T>> + 'static,
    F: FnMut(T) -> Promise<ControlFlow<R>> + 'static,
{
    loop {
        let flow = match state.next().try_take() {
            Ok(Ok(Some(element))) => state.step(element),
            Ok(Ok(None)) => return ready(None),
            Ok(Err(error)) => return rejected(error),
            Err(pending) => {
                let state = state.clone();
                return pending.bind(move |element| match element {
                    Some(element) => follow(state.step(element), &state),
                    None => ready(None),
                });
            }
        };
        match flow.try_take() {
            Ok(Ok(ControlFlow::Continue(()))) => {}
            Ok(Ok(ControlFlow::Break(result))) => return ready(Some(result)),
            Ok(Err(error)) => return rejected(error),
            Err(pending) => return follow(pending, state),
        }
    }
}

fn follow<T, R, N, F>(flow: Promise<ControlFlow<R>>, state: &Rc<Each<N, F>>) -> Promise<Option<R>>
where
    T: 'static,
    R: 'static,
    N: FnMut() -> Promise<Option<T>> + 'static,
    F: FnMut(T) -> Promise<ControlFlow<R>> + 'static,
{
    let state = state.clone();
    flow.bind(move |flow| match flow {
        ControlFlow::Continue(()) => each(&state),
        ControlFlow::Break(result) => ready(Some(result)),
    })
}

/// Combines all elements into one value, one after the other.
pub(crate) fn fold<T, A, P, N, F>(next: N, first: A, mut f: F) -> Promise<A>
where
    T: 'static,
    A: 'static,
    P: IntoPromise<Value = A>,
    N: FnMut() -> Promise<Option<T>> + 'static,
    F: FnMut(A, T) -> P + 'static,
{
    let sum = Rc::new(RefCell::new(Some(first)));
    let kept = sum.clone();
    let step = move |element| {
        let kept = kept.clone();
        let Some(before) = kept.take() else { return ready(ControlFlow::Break(())) };
        f(before, element).into_promise().map(move |after| {
            kept.replace(Some(after));
            ControlFlow::Continue(())
        })
    };
    each(&Each::new(next, step)).try_map(move |_| sum.take().ok_or_else(Error::abandoned))
}

/// Starts `step` on every element as soon as it is there; settles when all are done.
///
/// The result waits for the first callback, then for the rest: an error of a late element shows only after
/// the earlier ones are done, and cancelling reaches the earliest that is pending.
pub(crate) fn parallel<T, P, N, F>(state: &Rc<Each<N, F>>) -> Promise<()>
where
    T: 'static,
    P: IntoPromise<Value = ()>,
    N: FnMut() -> Promise<Option<T>> + 'static,
    F: FnMut(T) -> P + 'static,
{
    let mut started = Vec::new();
    let rest = loop {
        match state.next().try_take() {
            Ok(Ok(Some(element))) => {
                let promise = state.step(element);
                if promise.status() != Status::Fulfilled {
                    started.push(promise);
                }
            }
            Ok(Ok(None)) => break ready(()),
            Ok(Err(error)) => break rejected(error),
            Err(pending) => {
                let state = state.clone();
                break pending.bind(move |element| match element {
                    Some(element) => {
                        let first = state.step(element);
                        let rest = parallel(&state);
                        first.bind(move |()| rest)
                    }
                    None => ready(()),
                });
            }
        }
    };
    started.into_iter().rev().fold(rest, |rest, promise| promise.bind(move |()| rest))
}

/// As [`parallel`], with at most `room` callbacks pending; an element is asked for only when there is room.
pub(crate) fn at_most<T, P, N, F>(state: &Rc<Each<N, F>>, crew: Rc<Crew>, room: usize) -> Promise<()>
where
    T: 'static,
    P: IntoPromise<Value = ()>,
    N: FnMut() -> Promise<Option<T>> + 'static,
    F: FnMut(T) -> P + 'static,
{
    loop {
        if crew.count() >= room {
            match crew.collect() {
                Some(collected) if collected.status() == Status::Fulfilled => {}
                Some(failed) => return failed,
                None => {
                    let state = state.clone();
                    return crew.place().bind(move |()| at_most(&state, crew, room));
                }
            }
        }
        match state.next().try_take() {
            Ok(Ok(Some(element))) => crew.add(state.step(element)),
            Ok(Ok(None)) => return crew.all(),
            Ok(Err(error)) => return rejected(error),
            Err(pending) => {
                let state = state.clone();
                return pending.bind(move |element| match element {
                    Some(element) => {
                        crew.add(state.step(element));
                        at_most(&state, crew, room)
                    }
                    None => crew.all(),
                });
            }
        }
    }
}

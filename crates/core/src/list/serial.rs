//! One at a time: the next callback begins when the promise of the one before is fulfilled.
//!
//! ```text
//!   advance ─ next element ─► begin ─► settled ─► take ──┐
//!      ▲                         └──► pending: bind ─────┤ its callback goes on here
//!      └─────────────────────────────────────────────────┘
//! ```
//!
//! A [`Walk`] owns the iterator, the callback and the result so far. While a promise is pending, the bind on
//! it owns the walk; that bind merges with the one before, so a walk over any number of pending promises is
//! one live promise, and cancelling it reaches the promise it stands at.

use crate::{IntoPromise, Promise, ready, rejected};
use std::ops::ControlFlow;

/// An iteration under way. `begin` starts an element's promise, `take` takes its value; both see the
/// result.
struct Walk<I, A, B, C> {
    items: I,
    result: A,
    begin: B,
    take: C,
}

/// Starts a walk; a panic, also of the iterator, rejects it.
fn walk<I, P, A, B, C>(items: I, result: A, begin: B, take: C) -> Promise<A>
where
    I: IntoIterator + 'static,
    P: IntoPromise,
    A: 'static,
    B: FnMut(&mut A, I::Item) -> P + 'static,
    C: FnMut(&mut A, P::Value) -> ControlFlow<()> + 'static,
{
    // The bind on a settled promise is a plain call that catches panics.
    ready(()).bind(move |()| advance(Walk { items: items.into_iter(), result, begin, take }))
}

/// Goes on until a promise is pending, or to the end.
fn advance<I, P, A, B, C>(mut walk: Walk<I, A, B, C>) -> Promise<A>
where
    I: Iterator + 'static,
    P: IntoPromise,
    A: 'static,
    B: FnMut(&mut A, I::Item) -> P + 'static,
    C: FnMut(&mut A, P::Value) -> ControlFlow<()> + 'static,
{
    while let Some(item) = walk.items.next() {
        match (walk.begin)(&mut walk.result, item).into_promise().try_take() {
            Ok(Ok(value)) => {
                if (walk.take)(&mut walk.result, value).is_break() {
                    break;
                }
            }
            Ok(Err(error)) => return rejected(error),
            Err(pending) => {
                return pending.bind(move |value| match (walk.take)(&mut walk.result, value) {
                    ControlFlow::Continue(()) => advance(walk),
                    ControlFlow::Break(()) => ready(walk.result),
                });
            }
        }
    }
    ready(walk.result)
}

/// Calls `f` for each element, one at a time.
///
/// ```
/// use lisle_core::{list, pause};
/// let seen = std::rc::Rc::new(std::cell::Cell::new(0));
/// let count = seen.clone();
/// let walked = list::iter_s(0..3, move |_| {
///     count.set(count.get() + 1);
///     pause()
/// });
/// assert_eq!(seen.get(), 1, "the second waits for the first");
/// # drop(walked);
/// ```
#[doc(alias = "for_each")]
#[doc(alias = "try_for_each")]
pub fn iter_s<I, P, F>(items: I, mut f: F) -> Promise<()>
where
    I: IntoIterator + 'static,
    P: IntoPromise<Value = ()>,
    F: FnMut(I::Item) -> P + 'static,
{
    walk(items, (), move |_, item| f(item), |_, ()| ControlFlow::Continue(()))
}

/// Calls `f` with the number of each element, from 0, and the element, one at a time.
#[doc(alias = "enumerate")]
pub fn iteri_s<I, P, F>(items: I, mut f: F) -> Promise<()>
where
    I: IntoIterator + 'static,
    P: IntoPromise<Value = ()>,
    F: FnMut(usize, I::Item) -> P + 'static,
{
    let mut index = 0;
    iter_s(items, move |item| f(number(&mut index), item))
}

/// Promises the values of `f`, called one at a time.
///
/// ```
/// use lisle_core::{list, ready};
/// let lengths = list::map_s(["a", "bcd"], |word| ready(word.len()));
/// assert_eq!(lengths.try_take().unwrap().unwrap(), [1, 3]);
/// ```
#[doc(alias = "then")]
pub fn map_s<I, P, F>(items: I, mut f: F) -> Promise<Vec<P::Value>>
where
    I: IntoIterator + 'static,
    P: IntoPromise,
    F: FnMut(I::Item) -> P + 'static,
{
    walk(
        items,
        Vec::new(),
        move |_, item| f(item),
        |values, value| {
            values.push(value);
            ControlFlow::Continue(())
        },
    )
}

/// As [`map_s`], with the number of each element, from 0.
#[doc(alias = "enumerate")]
pub fn mapi_s<I, P, F>(items: I, mut f: F) -> Promise<Vec<P::Value>>
where
    I: IntoIterator + 'static,
    P: IntoPromise,
    F: FnMut(usize, I::Item) -> P + 'static,
{
    let mut index = 0;
    map_s(items, move |item| f(number(&mut index), item))
}

/// As [`map_s`], with the values in reverse order. The callbacks run in the order of the elements.
#[doc(alias = "rev")]
pub fn rev_map_s<I, P, F>(items: I, f: F) -> Promise<Vec<P::Value>>
where
    I: IntoIterator + 'static,
    P: IntoPromise,
    F: FnMut(I::Item) -> P + 'static,
{
    map_s(items, f).map(reversed)
}

/// Passes `first` through all elements: `f` gets what the call before promised, and the element.
///
/// ```
/// use lisle_core::{list, ready};
/// let sum = list::fold_left_s(1..=4, 0, |sum, n| ready(sum + n));
/// assert_eq!(sum.try_take().unwrap().unwrap(), 10);
/// ```
#[doc(alias = "fold")]
#[doc(alias = "try_fold")]
#[doc(alias = "reduce")]
pub fn fold_left_s<I, T, P, F>(items: I, first: T, mut f: F) -> Promise<T>
where
    I: IntoIterator + 'static,
    T: 'static,
    P: IntoPromise<Value = T>,
    F: FnMut(T, I::Item) -> P + 'static,
{
    let begin =
        move |held: &mut Option<T>, item| f(held.take().expect("given back by the call before"), item);
    walk(items, Some(first), begin, |held, value| {
        *held = Some(value);
        ControlFlow::Continue(())
    })
    .map(|held| held.expect("given back by the last call"))
}

/// As [`fold_left_s`], from the last element to the first.
#[doc(alias = "rfold")]
pub fn fold_right_s<I, T, P, F>(items: I, first: T, mut f: F) -> Promise<T>
where
    I: IntoIterator<IntoIter: DoubleEndedIterator> + 'static,
    T: 'static,
    P: IntoPromise<Value = T>,
    F: FnMut(I::Item, T) -> P + 'static,
{
    fold_left_s(items.into_iter().rev(), first, move |value, item| f(item, value))
}

/// Whether `f` promises `true` for all elements. Stops at the first `false`.
#[doc(alias = "all")]
pub fn for_all_s<I, P, F>(items: I, mut f: F) -> Promise<bool>
where
    I: IntoIterator + 'static,
    P: IntoPromise<Value = bool>,
    F: FnMut(I::Item) -> P + 'static,
{
    walk(
        items,
        true,
        move |_, item| f(item),
        |all, holds| {
            *all = holds;
            if holds { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        },
    )
}

/// Whether `f` promises `true` for any element. Stops there.
///
/// ```
/// use lisle_core::{list, ready};
/// assert!(list::exists_s(1.., |n| ready(n == 7)).try_take().unwrap().unwrap());
/// ```
#[doc(alias = "any")]
pub fn exists_s<I, P, F>(items: I, mut f: F) -> Promise<bool>
where
    I: IntoIterator + 'static,
    P: IntoPromise<Value = bool>,
    F: FnMut(I::Item) -> P + 'static,
{
    walk(
        items,
        false,
        move |_, item| f(item),
        |any, holds| {
            *any = holds;
            if holds { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        },
    )
}

/// The first element for which `f` promises `true`; none if there is none, which is no error. Stops there.
///
/// ```
/// use lisle_core::{list, ready};
/// let found = list::find_s([1, 2, 3], |&n| ready(n % 2 == 0));
/// assert_eq!(found.try_take().unwrap().unwrap(), Some(2));
/// ```
pub fn find_s<I, P, F>(items: I, mut f: F) -> Promise<Option<I::Item>>
where
    I: IntoIterator + 'static,
    P: IntoPromise<Value = bool>,
    F: FnMut(&I::Item) -> P + 'static,
{
    let begin = move |found: &mut Option<I::Item>, item: I::Item| {
        let judged = f(&item);
        *found = Some(item);
        judged
    };
    walk(items, None, begin, |found, holds| {
        if holds {
            return ControlFlow::Break(());
        }
        *found = None;
        ControlFlow::Continue(())
    })
}

/// The elements for which `f` promises `true`, in order.
#[doc(alias = "retain")]
pub fn filter_s<I, P, F>(items: I, mut f: F) -> Promise<Vec<I::Item>>
where
    I: IntoIterator + 'static,
    P: IntoPromise<Value = bool>,
    F: FnMut(&I::Item) -> P + 'static,
{
    // Each element waits at the end for its judgement.
    let begin = move |kept: &mut Vec<I::Item>, item: I::Item| {
        let judged = f(&item);
        kept.push(item);
        judged
    };
    walk(items, Vec::new(), begin, |kept, holds| {
        if !holds {
            drop(kept.pop());
        }
        ControlFlow::Continue(())
    })
}

/// What is in the values of `f`, in order.
pub fn filter_map_s<I, U, P, F>(items: I, mut f: F) -> Promise<Vec<U>>
where
    I: IntoIterator + 'static,
    U: 'static,
    P: IntoPromise<Value = Option<U>>,
    F: FnMut(I::Item) -> P + 'static,
{
    walk(
        items,
        Vec::new(),
        move |_, item| f(item),
        |kept, value| {
            kept.extend(value);
            ControlFlow::Continue(())
        },
    )
}

/// The elements for which `f` promises `true`, and the others, each in order.
///
/// ```
/// use lisle_core::{list, ready};
/// let (small, large) = list::partition_s([1, 9, 2], |&n| ready(n < 5)).try_take().unwrap().unwrap();
/// assert_eq!((small, large), (vec![1, 2], vec![9]));
/// ```
pub fn partition_s<I, T, P, F>(items: I, mut f: F) -> Promise<(Vec<T>, Vec<T>)>
where
    I: IntoIterator<Item = T> + 'static,
    T: 'static,
    P: IntoPromise<Value = bool>,
    F: FnMut(&T) -> P + 'static,
{
    // Each element waits at the end of the first part for its judgement.
    let begin = move |parts: &mut (Vec<T>, Vec<T>), item: T| {
        let judged = f(&item);
        parts.0.push(item);
        judged
    };
    walk(items, (Vec::new(), Vec::new()), begin, |parts, belongs| {
        if !belongs {
            parts.1.extend(parts.0.pop());
        }
        ControlFlow::Continue(())
    })
}

/// The next number, from 0.
pub(super) fn number(next: &mut usize) -> usize {
    let index = *next;
    *next += 1;
    index
}

pub(super) fn reversed<T>(mut values: Vec<T>) -> Vec<T> {
    values.reverse();
    values
}

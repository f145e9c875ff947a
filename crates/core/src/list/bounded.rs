//! So many at a time: the next callback begins when one of those that run is done. All rest on the one node
//! of `window.rs`; here stand the ways in which values are collected.

use super::parted;
use super::window::{Collect, window};
use crate::{IntoPromise, Promise};
use std::ops::ControlFlow;

/// Nothing is made of the values.
struct Ignore;

impl Collect<()> for Ignore {
    type Output = ();

    fn put(&mut self, _index: usize, (): ()) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn finish(self) {}
}

/// The values in the order of the elements.
struct InOrder<T>(Vec<Option<T>>);

impl<T: 'static> Collect<T> for InOrder<T> {
    type Output = Vec<T>;

    fn put(&mut self, index: usize, value: T) -> ControlFlow<()> {
        if self.0.len() <= index {
            self.0.resize_with(index + 1, || None);
        }
        self.0[index] = Some(value);
        ControlFlow::Continue(())
    }

    fn finish(self) -> Vec<T> {
        self.0.into_iter().flatten().collect()
    }
}

/// Whether this answer was among the values: it ends the search.
struct Search {
    wanted: bool,
    found: bool,
}

impl Collect<bool> for Search {
    type Output = bool;

    fn put(&mut self, _index: usize, answer: bool) -> ControlFlow<()> {
        self.found |= answer == self.wanted;
        if self.found { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn finish(self) -> bool {
        self.found
    }
}

/// Calls `f` for each element, `max` at a time.
///
/// ```
/// use lisle_core::{list, pause, wake_paused};
/// let begun = std::rc::Rc::new(std::cell::Cell::new(0));
/// let count = begun.clone();
/// let all = list::iter_n(3, 0..10, move |_| {
///     count.set(count.get() + 1);
///     pause()
/// });
/// assert_eq!(begun.get(), 3);
/// wake_paused();
/// assert_eq!(begun.get(), 6);
/// # drop(all);
/// ```
///
/// # Panics
/// If `max` is 0: nothing could ever begin.
#[doc(alias = "for_each_concurrent")]
#[doc(alias = "buffer_unordered")]
#[track_caller]
pub fn iter_n<I, P, F>(max: usize, items: I, f: F) -> Promise<()>
where
    I: IntoIterator + 'static,
    P: IntoPromise<Value = ()>,
    F: FnMut(I::Item) -> P + 'static,
{
    window(max, items, f, Ignore)
}

/// As [`iter_n`], with the number of each element, from 0.
///
/// # Panics
/// If `max` is 0.
#[doc(alias = "enumerate")]
#[track_caller]
pub fn iteri_n<I, P, F>(max: usize, items: I, mut f: F) -> Promise<()>
where
    I: IntoIterator + 'static,
    P: IntoPromise<Value = ()>,
    F: FnMut(usize, I::Item) -> P + 'static,
{
    iter_n(max, items.into_iter().enumerate(), move |(index, item)| f(index, item))
}

/// Promises the values of `f`, called for `max` elements at a time.
///
/// ```
/// use lisle_core::{list, ready};
/// let squares = list::map_n(2, 1..=3, |n| ready(n * n));
/// assert_eq!(squares.try_take().unwrap().unwrap(), [1, 4, 9]);
/// ```
///
/// # Panics
/// If `max` is 0.
#[doc(alias = "buffered")]
#[track_caller]
pub fn map_n<I, P, F>(max: usize, items: I, f: F) -> Promise<Vec<P::Value>>
where
    I: IntoIterator + 'static,
    P: IntoPromise,
    F: FnMut(I::Item) -> P + 'static,
{
    window(max, items, f, InOrder(Vec::new()))
}

/// As [`map_n`], with the number of each element, from 0.
///
/// # Panics
/// If `max` is 0.
#[doc(alias = "enumerate")]
#[track_caller]
pub fn mapi_n<I, P, F>(max: usize, items: I, mut f: F) -> Promise<Vec<P::Value>>
where
    I: IntoIterator + 'static,
    P: IntoPromise,
    F: FnMut(usize, I::Item) -> P + 'static,
{
    map_n(max, items.into_iter().enumerate(), move |(index, item)| f(index, item))
}

/// Whether `f` promises `true` for all elements, `max` at a time. After a `false` no further one is asked.
///
/// # Panics
/// If `max` is 0.
#[doc(alias = "all")]
#[track_caller]
pub fn for_all_n<I, P, F>(max: usize, items: I, f: F) -> Promise<bool>
where
    I: IntoIterator + 'static,
    P: IntoPromise<Value = bool>,
    F: FnMut(I::Item) -> P + 'static,
{
    window(max, items, f, Search { wanted: false, found: false }).map(|found| !found)
}

/// Whether `f` promises `true` for any element, `max` at a time. After a `true` no further one is asked.
///
/// # Panics
/// If `max` is 0.
#[doc(alias = "any")]
#[track_caller]
pub fn exists_n<I, P, F>(max: usize, items: I, f: F) -> Promise<bool>
where
    I: IntoIterator + 'static,
    P: IntoPromise<Value = bool>,
    F: FnMut(I::Item) -> P + 'static,
{
    window(max, items, f, Search { wanted: true, found: false })
}

/// The elements for which `f` promises `true`, in order, `max` at a time.
///
/// # Panics
/// If `max` is 0.
#[doc(alias = "retain")]
#[track_caller]
pub fn filter_n<I, P, F>(max: usize, items: I, mut f: F) -> Promise<Vec<I::Item>>
where
    I: IntoIterator + 'static,
    P: IntoPromise<Value = bool>,
    F: FnMut(&I::Item) -> P + 'static,
{
    filter_map_n(max, items, move |item| f(&item).into_promise().map(move |holds| holds.then_some(item)))
}

/// What is in the values of `f`, in order, `max` at a time.
///
/// # Panics
/// If `max` is 0.
#[track_caller]
pub fn filter_map_n<I, U, P, F>(max: usize, items: I, f: F) -> Promise<Vec<U>>
where
    I: IntoIterator + 'static,
    U: 'static,
    P: IntoPromise<Value = Option<U>>,
    F: FnMut(I::Item) -> P + 'static,
{
    map_n(max, items, f).map(|values| values.into_iter().flatten().collect())
}

/// The elements for which `f` promises `true`, and the others, each in order, `max` at a time.
///
/// # Panics
/// If `max` is 0.
#[track_caller]
pub fn partition_n<I, T, P, F>(max: usize, items: I, mut f: F) -> Promise<(Vec<T>, Vec<T>)>
where
    I: IntoIterator<Item = T> + 'static,
    T: 'static,
    P: IntoPromise<Value = bool>,
    F: FnMut(&T) -> P + 'static,
{
    map_n(max, items, move |item| f(&item).into_promise().map(move |belongs| (item, belongs))).map(parted)
}

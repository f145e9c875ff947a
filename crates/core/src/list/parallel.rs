//! All at once: every callback begins during the call, in the order of the elements; then all their promises
//! are waited for, as [`join`] and [`all`] do.
//!
//! ```text
//!   Started: an iterator of promises ─► join │ all ─► the result is put together
//! ```
//!
//! A panic of a callback is that element's rejection; a panic of the iterator is one more rejection, and the
//! end of the elements. Nothing is kept here: neither the elements nor the callbacks outlive the call.

use super::parted;
use super::serial::reversed;
use crate::promise::call;
use crate::{IntoPromise, Promise, all, join, rejected};

/// The promises of the callbacks, begun one by one as they are asked for.
struct Started<I, F> {
    items: Option<I>,
    callback: F,
}

fn started<I: IntoIterator, F>(items: I, callback: F) -> Started<I::IntoIter, F> {
    Started { items: Some(items.into_iter()), callback }
}

impl<I: Iterator, P: IntoPromise, F: FnMut(I::Item) -> P> Iterator for Started<I, F> {
    type Item = Promise<P::Value>;

    fn next(&mut self) -> Option<Promise<P::Value>> {
        let items = self.items.as_mut()?;
        let item = match call(|| items.next()) {
            Ok(item) => item?,
            Err(panic) => {
                self.items = None;
                return Some(rejected(panic));
            }
        };
        Some(call(|| (self.callback)(item).into_promise()).unwrap_or_else(rejected))
    }
}

/// Calls `f` for each element, all side by side.
///
/// ```
/// use lisle_core::{list, pair};
/// let mut resolvers = Vec::new();
/// let done = list::iter_p(0..3, |_| {
///     let (promise, resolver) = pair();
///     resolvers.push(resolver);
///     promise
/// });
/// assert_eq!(resolvers.len(), 3, "all have begun");
/// resolvers.into_iter().rev().for_each(|resolver| resolver.resolve(()));
/// assert!(done.try_take().unwrap().is_ok());
/// ```
#[doc(alias = "for_each_concurrent")]
pub fn iter_p<I, P, F>(items: I, f: F) -> Promise<()>
where
    I: IntoIterator,
    P: IntoPromise<Value = ()>,
    F: FnMut(I::Item) -> P,
{
    join(started(items, f))
}

/// Calls `f` with the number of each element, from 0, and the element, all side by side.
#[doc(alias = "enumerate")]
pub fn iteri_p<I, P, F>(items: I, mut f: F) -> Promise<()>
where
    I: IntoIterator,
    P: IntoPromise<Value = ()>,
    F: FnMut(usize, I::Item) -> P,
{
    iter_p(items.into_iter().enumerate(), move |(index, item)| f(index, item))
}

/// Promises the values of `f`, called for all elements side by side.
///
/// ```
/// use lisle_core::{list, pause};
/// let slow = list::map_p([1, 2], |n| pause().map(move |()| 10 * n));
/// lisle_core::wake_paused();
/// assert_eq!(slow.try_take().unwrap().unwrap(), [10, 20]);
/// ```
#[doc(alias = "join_all")]
#[doc(alias = "try_join_all")]
pub fn map_p<I, P, F>(items: I, f: F) -> Promise<Vec<P::Value>>
where
    I: IntoIterator,
    P: IntoPromise,
    F: FnMut(I::Item) -> P,
{
    all(started(items, f))
}

/// As [`map_p`], with the number of each element, from 0.
#[doc(alias = "enumerate")]
pub fn mapi_p<I, P, F>(items: I, mut f: F) -> Promise<Vec<P::Value>>
where
    I: IntoIterator,
    P: IntoPromise,
    F: FnMut(usize, I::Item) -> P,
{
    map_p(items.into_iter().enumerate(), move |(index, item)| f(index, item))
}

/// As [`map_p`], with the values in reverse order. The callbacks begin in the order of the elements.
#[doc(alias = "rev")]
pub fn rev_map_p<I, P, F>(items: I, f: F) -> Promise<Vec<P::Value>>
where
    I: IntoIterator,
    P: IntoPromise,
    F: FnMut(I::Item) -> P,
{
    map_p(items, f).map(reversed)
}

/// Whether `f` promises `true` for all elements. All are asked, and waited for.
#[doc(alias = "all")]
pub fn for_all_p<I, P, F>(items: I, f: F) -> Promise<bool>
where
    I: IntoIterator,
    P: IntoPromise<Value = bool>,
    F: FnMut(I::Item) -> P,
{
    map_p(items, f).map(|answers| answers.into_iter().all(|holds| holds))
}

/// Whether `f` promises `true` for any element. All are asked, and waited for.
#[doc(alias = "any")]
pub fn exists_p<I, P, F>(items: I, f: F) -> Promise<bool>
where
    I: IntoIterator,
    P: IntoPromise<Value = bool>,
    F: FnMut(I::Item) -> P,
{
    map_p(items, f).map(|answers| answers.into_iter().any(|holds| holds))
}

/// The elements for which `f` promises `true`, in order.
#[doc(alias = "retain")]
pub fn filter_p<I, P, F>(items: I, mut f: F) -> Promise<Vec<I::Item>>
where
    I: IntoIterator<Item: 'static>,
    P: IntoPromise<Value = bool>,
    F: FnMut(&I::Item) -> P,
{
    filter_map_p(items, move |item| f(&item).into_promise().map(move |holds| holds.then_some(item)))
}

/// What is in the values of `f`, in order.
pub fn filter_map_p<I, U, P, F>(items: I, f: F) -> Promise<Vec<U>>
where
    I: IntoIterator,
    U: 'static,
    P: IntoPromise<Value = Option<U>>,
    F: FnMut(I::Item) -> P,
{
    map_p(items, f).map(|values| values.into_iter().flatten().collect())
}

/// The elements for which `f` promises `true`, and the others, each in order.
pub fn partition_p<I, T, P, F>(items: I, mut f: F) -> Promise<(Vec<T>, Vec<T>)>
where
    I: IntoIterator<Item = T>,
    T: 'static,
    P: IntoPromise<Value = bool>,
    F: FnMut(&T) -> P,
{
    map_p(items, move |item| f(&item).into_promise().map(move |belongs| (item, belongs))).map(parted)
}

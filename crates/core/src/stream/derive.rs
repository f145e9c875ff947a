//! Streams made of one stream: map, filter, and their relatives.
//!
//! Each is a pulling source that reads the stream it was made from, and only when it is read itself. It owns
//! that reader: dropping the derived stream gives up the read under way, which takes no element, and leaves
//! the stream below if nobody else reads it. To go on reading that as well, derive from a clone (both see
//! every element) or from [`Stream::same_reader`] (they share the elements out).
//!
//! A callback that fails rejects the read that wanted the element and ends nothing; the element is gone.

use super::each::{Each, each};
use super::through::{choose_map, keep};
use super::{Stream, from};
use crate::{IntoPromise, Promise, Result, ready};
use std::cell::RefCell;
use std::ops::ControlFlow;
use std::rc::Rc;

impl<T: 'static> Stream<T> {
    fn derive<U: 'static>(self, step: impl FnMut(T) -> Promise<ControlFlow<U>> + 'static) -> Stream<U> {
        let state = Each::new(move || self.get(), step);
        from(move || each(&state))
    }

    /// `f` of each element.
    ///
    /// ```
    /// let doubled = lisle_core::stream::of_list([1, 2]).map(|n| n * 2);
    /// assert_eq!(doubled.to_list().try_take().unwrap()?, [2, 4]);
    /// # Ok::<(), lisle_core::Error>(())
    /// ```
    pub fn map<U: 'static>(self, mut f: impl FnMut(T) -> U + 'static) -> Stream<U> {
        self.derive(move |element| ready(ControlFlow::Break(f(element))))
    }

    /// What `f` of each element promises, one after the other; it may also return a `Result`.
    #[doc(alias = "then")]
    pub fn map_s<P: IntoPromise>(self, mut f: impl FnMut(T) -> P + 'static) -> Stream<P::Value> {
        self.derive(move |element| f(element).into_promise().map(ControlFlow::Break))
    }

    /// The elements for which `f` holds.
    pub fn filter(self, mut f: impl FnMut(&T) -> bool + 'static) -> Stream<T> {
        self.derive(keep(move |element: &T| ready(f(element))))
    }

    /// The elements for which `f` promises `true`, asked one after the other; it may also return a `Result`.
    pub fn filter_s<P: IntoPromise<Value = bool>>(self, mut f: impl FnMut(&T) -> P + 'static) -> Stream<T> {
        self.derive(keep(move |element: &T| f(element).into_promise()))
    }

    /// The values that `f` makes of some elements.
    pub fn filter_map<U: 'static>(self, mut f: impl FnMut(T) -> Option<U> + 'static) -> Stream<U> {
        self.derive(choose_map(move |element| ready(f(element))))
    }

    /// The values that `f` promises for some elements, asked one after the other; it
    /// may also return a `Result`.
    pub fn filter_map_s<U, P>(self, mut f: impl FnMut(T) -> P + 'static) -> Stream<U>
    where
        U: 'static,
        P: IntoPromise<Value = Option<U>>,
    {
        self.derive(choose_map(move |element| f(element).into_promise()))
    }

    /// The elements of the lists that `f` makes of each element.
    #[doc(alias = "flat_map")]
    pub fn map_list<I>(self, mut f: impl FnMut(T) -> I + 'static) -> Stream<I::Item>
    where
        I: IntoIterator<IntoIter: 'static, Item: 'static> + 'static,
    {
        self.map_list_s(move |element| ready(f(element)))
    }

    /// The elements of the lists that `f` promises for each element; it may also return a `Result`.
    pub fn map_list_s<P>(
        self,
        mut f: impl FnMut(T) -> P + 'static,
    ) -> Stream<<P::Value as IntoIterator>::Item>
    where
        P: IntoPromise<Value: IntoIterator<IntoIter: 'static, Item: 'static>>,
    {
        let rest = Rc::new(RefCell::new(None));
        let kept = rest.clone();
        let step = move |element| {
            let kept = kept.clone();
            f(element).into_promise().map(move |list| {
                let mut list = list.into_iter();
                match list.next() {
                    Some(first) => {
                        drop(kept.replace(Some(list)));
                        ControlFlow::Break(first)
                    }
                    None => ControlFlow::Continue(()),
                }
            })
        };
        let state = Each::new(move || self.get(), step);
        from(move || {
            // Taken out: iterators are user code.
            if let Some(mut list) = rest.take()
                && let Some(element) = list.next()
            {
                rest.replace(Some(list));
                return ready(Some(element));
            }
            each(&state)
        })
    }

    /// The elements of the lists in this stream.
    pub fn flatten(self) -> Stream<T::Item>
    where
        T: IntoIterator<IntoIter: 'static, Item: 'static>,
    {
        self.map_list(|list| list)
    }

    /// Each element as `Ok`, each failure of the source as `Err`; never fails.
    /// Endless if the source fails for ever.
    #[doc(alias = "wrap_exn")]
    pub fn wrap_error(self) -> Stream<Result<T>> {
        from(move || self.get().then(|result| Ok::<_, crate::Error>(result.transpose())))
    }
}

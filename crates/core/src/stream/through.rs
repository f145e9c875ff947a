//! Going through a whole stream with a callback: fold, iterate, find.
//!
//! Each element is taken before its callback runs, and the turn is free meanwhile: a callback may read from
//! the stream itself, and what it takes the loop does not see. The promise is that of the loop; cancelling it
//! cancels what the loop waits for, a read (which takes nothing then) or a callback.

use super::Stream;
use super::each::{Each, at_most, each, fold, parallel};
use crate::{IntoPromise, Promise, ready};
use std::ops::ControlFlow;
use std::rc::Rc;

impl<T: 'static> Stream<T> {
    /// Reads one element after the other.
    pub(super) fn elements(&self) -> impl FnMut() -> Promise<Option<T>> + 'static {
        let stream = self.same_reader();
        move || stream.get()
    }

    /// Combines all elements into one value, in their order.
    ///
    /// ```
    /// let sum = lisle_core::stream::of_list([1, 2, 3]).fold(0, |sum, n| sum + n);
    /// assert_eq!(sum.try_take().unwrap()?, 6);
    /// # Ok::<(), lisle_core::Error>(())
    /// ```
    pub fn fold<A: 'static>(&self, first: A, mut f: impl FnMut(A, T) -> A + 'static) -> Promise<A> {
        self.fold_s(first, move |sum, element| ready(f(sum, element)))
    }

    /// As [`Stream::fold`], with a function that promises or may fail. The next element is read when that is
    /// settled.
    pub fn fold_s<A, P>(&self, first: A, f: impl FnMut(A, T) -> P + 'static) -> Promise<A>
    where
        A: 'static,
        P: IntoPromise<Value = A>,
    {
        fold(self.elements(), first, f)
    }

    /// Runs `f` on each element, in order.
    pub fn iter(&self, mut f: impl FnMut(T) + 'static) -> Promise<()> {
        self.iter_s(move |element| {
            f(element);
            ready(())
        })
    }

    /// Runs `f` on each element, in order, each when the promise of the one before is settled.
    #[doc(alias = "for_each")]
    pub fn iter_s<P: IntoPromise<Value = ()>>(&self, mut f: impl FnMut(T) -> P + 'static) -> Promise<()> {
        let step = move |element| f(element).into_promise().map(ControlFlow::<()>::Continue);
        each(&Each::new(self.elements(), step)).map(|_| ())
    }

    /// Starts `f` on each element as soon as that is there; settles when all are done.
    ///
    /// An error of a late element shows only after the earlier ones are done, and cancelling reaches the
    /// earliest that is pending. There is no bound on how many run: [`Stream::iter_n`] has one.
    #[doc(alias = "for_each_concurrent")]
    pub fn iter_p<P: IntoPromise<Value = ()>>(&self, f: impl FnMut(T) -> P + 'static) -> Promise<()> {
        parallel(&Each::new(self.elements(), f))
    }

    /// Runs `f` on each element, at most `max` at once; settles when all are done. An element is read
    /// only when there is room for it.
    ///
    /// The first error that is met rejects; the others that run go on. O(log `max`) for each element.
    ///
    /// # Panics
    /// If `max` is 0.
    #[doc(alias = "for_each_concurrent")]
    #[doc(alias = "buffer_unordered")]
    pub fn iter_n<P>(&self, max: usize, f: impl FnMut(T) -> P + 'static) -> Promise<()>
    where
        P: IntoPromise<Value = ()>,
    {
        assert!(max > 0, "iter_n with room for no callback would never end: give at least 1");
        at_most(&Each::new(self.elements(), f), Rc::default(), max)
    }

    /// Takes elements up to the first for which `f` holds, and promises that; `None`
    /// if the stream ends before.
    pub fn find(&self, mut f: impl FnMut(&T) -> bool + 'static) -> Promise<Option<T>> {
        self.find_s(move |element| ready(f(element)))
    }

    /// As [`Stream::find`], with a function that promises or may fail.
    pub fn find_s<P>(&self, mut f: impl FnMut(&T) -> P + 'static) -> Promise<Option<T>>
    where
        P: IntoPromise<Value = bool>,
    {
        each(&Each::new(self.elements(), keep(move |element: &T| f(element).into_promise())))
    }

    /// Takes elements up to the first for which `f` gives a value, and promises
    /// that; `None` if the stream ends before.
    pub fn find_map<U: 'static>(&self, mut f: impl FnMut(T) -> Option<U> + 'static) -> Promise<Option<U>> {
        self.find_map_s(move |element| ready(f(element)))
    }

    /// As [`Stream::find_map`], with a function that promises or may fail.
    pub fn find_map_s<U, P>(&self, mut f: impl FnMut(T) -> P + 'static) -> Promise<Option<U>>
    where
        U: 'static,
        P: IntoPromise<Value = Option<U>>,
    {
        each(&Each::new(self.elements(), choose_map(move |element| f(element).into_promise())))
    }
}

/// A step that breaks with the element for which the predicate holds.
pub(super) fn keep<T: 'static>(
    mut f: impl FnMut(&T) -> Promise<bool>,
) -> impl FnMut(T) -> Promise<ControlFlow<T>> {
    move |element| {
        f(&element).map(move |kept| match kept {
            true => ControlFlow::Break(element),
            false => ControlFlow::Continue(()),
        })
    }
}

/// A step that breaks with the first value that the function gives.
pub(super) fn choose_map<T: 'static, U: 'static>(
    mut f: impl FnMut(T) -> Promise<Option<U>>,
) -> impl FnMut(T) -> Promise<ControlFlow<U>> {
    move |element| {
        f(element).map(|found| match found {
            Some(value) => ControlFlow::Break(value),
            None => ControlFlow::Continue(()),
        })
    }
}

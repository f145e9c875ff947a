//! Delayed sequences: nothing is computed before it is asked for, and nothing is kept.
//!
//! A [`Seq`] is a function to a promise of nothing or of an element and the rest. Going through it twice
//! evaluates it twice, so functions given to it are `Fn`. What happens once, and is buffered, is a
//! [stream](crate::stream).
//!
//! ```text
//!   Seq ──uncons──► Promise of  None │ Some(element, Seq) ──uncons──► …
//! ```
//!
//! Functions that make sequences (`map`, `append`, …) return at once and compute nothing; those that go
//! through one (`fold`, `iter`, `to_list`, …) begin at once. A sequence owns what its function captured, and
//! a `cons` its tail; long chains are dropped in a loop.

use crate::promise::call;
use crate::stream::{Each, at_most, each, fold, parallel};
use crate::{IntoPromise, Promise, Shared, ready, rejected};
use std::cell::RefCell;
use std::fmt;
use std::ops::ControlFlow;
use std::rc::Rc;

/// What evaluating a sequence gives: its end, or an element and the rest.
pub type Node<T> = Option<(T, Seq<T>)>;

/// A sequence whose elements are computed, as promises, each time they are asked for.
///
/// ```
/// use lisle_core::seq::{self, Seq};
/// let squares = seq::of_list([1, 2, 3]).map(|n| n * n);
/// assert_eq!(squares.to_list().try_take().unwrap()?, [1, 4, 9]);
/// assert_eq!(squares.to_list().try_take().unwrap()?, [1, 4, 9]);
/// # Ok::<(), lisle_core::Error>(())
/// ```
pub struct Seq<T: 'static> {
    /// None is the empty sequence.
    node: Option<Rc<dyn Delayed<T>>>,
}

/// How a sequence is evaluated.
trait Delayed<T: 'static> {
    fn evaluate(&self) -> Promise<Node<T>>;

    /// The tail that would be dropped with this node, so that it can be dropped in a loop.
    fn take_tail(&mut self) -> Seq<T> {
        empty()
    }
}

impl<T: 'static, F: Fn() -> Promise<Node<T>>> Delayed<T> for F {
    fn evaluate(&self) -> Promise<Node<T>> {
        self()
    }
}

struct Cons<H, T: 'static> {
    head: H,
    tail: Seq<T>,
}

impl<T: Clone + 'static> Delayed<T> for Cons<Shared<T>, T> {
    fn evaluate(&self) -> Promise<Node<T>> {
        let tail = self.tail.clone();
        self.head.map(move |head| Some((head, tail)))
    }

    fn take_tail(&mut self) -> Seq<T> {
        std::mem::replace(&mut self.tail, empty())
    }
}

/// The empty sequence.
#[must_use]
pub fn empty<T: 'static>() -> Seq<T> {
    Seq { node: None }
}

/// A sequence of one element.
#[doc(alias = "return")]
pub fn of_value<T: Clone + 'static>(value: T) -> Seq<T> {
    empty().cons(value)
}

/// A sequence of one element, the value of a promise. Evaluating it rejects if that does.
#[doc(alias = "return_lwt")]
pub fn of_promise<T: Clone + 'static>(promise: Promise<T>) -> Seq<T> {
    empty().cons_promise(promise)
}

/// A sequence that `node` computes, each time it is asked.
///
/// ```
/// use lisle_core::{pause, seq, seq::Seq};
/// fn from(n: u32) -> Seq<u32> {
///     seq::delayed(move || pause().map(move |()| Some((n, from(n + 1)))))
/// }
/// let endless = from(0);
/// # let _ = endless;
/// ```
pub fn delayed<T, P>(node: impl Fn() -> P + 'static) -> Seq<T>
where
    T: 'static,
    P: IntoPromise<Value = Node<T>>,
{
    Seq { node: Some(Rc::new(move || node().into_promise())) }
}

/// The elements that `f` computes one after the other from a state, until it gives none.
///
/// ```
/// let numbers = lisle_core::seq::unfold(1, |n| (n <= 3).then_some((n, n + 1)));
/// assert_eq!(numbers.to_list().try_take().unwrap()?, [1, 2, 3]);
/// # Ok::<(), lisle_core::Error>(())
/// ```
pub fn unfold<T: 'static, S: Clone + 'static>(state: S, f: impl Fn(S) -> Option<(T, S)> + 'static) -> Seq<T> {
    unfold_s(state, move |state| ready(f(state)))
}

/// As [`unfold`], with a function that promises or may fail.
#[doc(alias = "unfold_lwt")]
pub fn unfold_s<T, S, P>(state: S, f: impl Fn(S) -> P + 'static) -> Seq<T>
where
    T: 'static,
    S: Clone + 'static,
    P: IntoPromise<Value = Option<(T, S)>>,
{
    fn at<T, S, P>(state: S, f: Rc<dyn Fn(S) -> P>) -> Seq<T>
    where
        T: 'static,
        S: Clone + 'static,
        P: IntoPromise<Value = Option<(T, S)>> + 'static,
    {
        delayed(move || {
            let f = f.clone();
            f(state.clone()).into_promise().map(move |node| node.map(|(value, next)| (value, at(next, f))))
        })
    }
    at(state, Rc::new(move |state| f(state).into_promise()))
}

/// The elements of a list.
pub fn of_list<T: Clone + 'static>(elements: impl Into<Rc<[T]>>) -> Seq<T> {
    let elements: Rc<[T]> = elements.into();
    unfold(0, move |at: usize| elements.get(at).map(|element| (element.clone(), at + 1)))
}

/// The elements of an iterator, whose state is cloned for each evaluation.
#[doc(alias = "of_seq")]
pub fn of_iter<I>(elements: I) -> Seq<I::Item>
where
    I: Iterator<Item: 'static> + Clone + 'static,
{
    unfold(elements, |mut elements| {
        let element = elements.next()?;
        Some((element, elements))
    })
}

/// The values of an iterator of promises or results, whose state is cloned for each evaluation.
///
/// ```
/// let failing = [Ok(1), Err(lisle_core::Error::message("no more"))];
/// let sum = lisle_core::seq::of_promises(failing.into_iter()).fold(0, |sum, n| sum + n);
/// assert_eq!(sum.try_take().unwrap().unwrap_err().to_string(), "no more");
/// ```
#[doc(alias = "of_seq_lwt")]
pub fn of_promises<I>(elements: I) -> Seq<<I::Item as IntoPromise>::Value>
where
    I: Iterator<Item: IntoPromise> + Clone + 'static,
{
    unfold_s(elements, |mut elements: I| match elements.next() {
        Some(element) => element.into_promise().map(move |value| Some((value, elements))),
        None => ready(None),
    })
}

/// Where a loop stands in a sequence.
type Rest<T> = Rc<RefCell<Seq<T>>>;

/// Evaluates one element after the other.
fn elements<T: 'static>(rest: Rest<T>) -> impl FnMut() -> Promise<Option<T>> + 'static {
    move || {
        let seq = rest.borrow().clone();
        let rest = rest.clone();
        seq.uncons().map(move |node| {
            let (element, next) = node?;
            drop(rest.replace(next));
            Some(element)
        })
    }
}

impl<T: 'static> Seq<T> {
    /// Evaluates the sequence as far as its first element. A panic on the way rejects.
    #[doc(alias = "next")]
    pub fn uncons(&self) -> Promise<Node<T>> {
        match &self.node {
            None => ready(None),
            Some(node) => call(|| node.evaluate()).unwrap_or_else(rejected),
        }
    }

    /// This sequence with an element before it.
    pub fn cons(self, head: T) -> Seq<T>
    where
        T: Clone,
    {
        self.cons_promise(ready(head))
    }

    /// This sequence with the value of a promise before it.
    #[doc(alias = "cons_lwt")]
    pub fn cons_promise(self, head: Promise<T>) -> Seq<T>
    where
        T: Clone,
    {
        Seq { node: Some(Rc::new(Cons { head: head.shared(), tail: self })) }
    }

    /// The elements of this sequence, then those of the other.
    #[doc(alias = "chain")]
    pub fn append(self, other: Seq<T>) -> Seq<T> {
        delayed(move || {
            let other = other.clone();
            self.uncons().bind(move |node| match node {
                Some((element, rest)) => ready(Some((element, rest.append(other)))),
                None => other.uncons(),
            })
        })
    }

    /// `f` of each element.
    pub fn map<U: 'static>(self, f: impl Fn(T) -> U + 'static) -> Seq<U> {
        self.map_s(move |element| ready(f(element)))
    }

    /// What `f` of each element promises; it may also return a `Result`.
    #[doc(alias = "then")]
    pub fn map_s<P: IntoPromise>(self, f: impl Fn(T) -> P + 'static) -> Seq<P::Value> {
        self.search(Rc::new(move |element| f(element).into_promise().map(ControlFlow::Break)))
    }

    /// The elements for which `f` holds.
    pub fn filter(self, f: impl Fn(&T) -> bool + 'static) -> Seq<T> {
        self.filter_s(move |element| ready(f(element)))
    }

    /// The elements for which `f` promises `true`; it may also return a `Result`.
    pub fn filter_s<P: IntoPromise<Value = bool>>(self, f: impl Fn(&T) -> P + 'static) -> Seq<T> {
        self.search(Rc::new(move |element| {
            f(&element).into_promise().map(move |keep| match keep {
                true => ControlFlow::Break(element),
                false => ControlFlow::Continue(()),
            })
        }))
    }

    /// The values that `f` makes of some elements.
    pub fn filter_map<U: 'static>(self, f: impl Fn(T) -> Option<U> + 'static) -> Seq<U> {
        self.filter_map_s(move |element| ready(f(element)))
    }

    /// The values that `f` promises for some elements; it may also return a `Result`.
    pub fn filter_map_s<U, P>(self, f: impl Fn(T) -> P + 'static) -> Seq<U>
    where
        U: 'static,
        P: IntoPromise<Value = Option<U>>,
    {
        self.search(Rc::new(move |element| {
            f(element).into_promise().map(|found| match found {
                Some(value) => ControlFlow::Break(value),
                None => ControlFlow::Continue(()),
            })
        }))
    }

    /// The elements of the sequences that `f` makes of each element, one after the other.
    pub fn flat_map<U: 'static>(self, f: impl Fn(T) -> Seq<U> + 'static) -> Seq<U> {
        fn outer<T: 'static, U: 'static>(seq: Seq<T>, f: Rc<dyn Fn(T) -> Seq<U>>) -> Seq<U> {
            delayed(move || {
                let (of, rest) = (f.clone(), f.clone());
                // An inner sequence that is empty is passed in the loop, as an element that does not match.
                let search: Rc<Step<T, (U, Seq<U>)>> = Rc::new(move |element| {
                    of(element).uncons().map(|node| match node {
                        Some(node) => ControlFlow::Break(node),
                        None => ControlFlow::Continue(()),
                    })
                });
                find(seq.clone(), search).map(move |found| {
                    let ((first, inner), seq) = found?;
                    Some((first, inner.append(outer(seq, rest))))
                })
            })
        }
        outer(self, Rc::new(f))
    }

    /// What `step` finds, again and again.
    fn search<U: 'static>(self, step: Rc<Step<T, U>>) -> Seq<U> {
        delayed(move || {
            let rest_step = step.clone();
            find(self.clone(), step.clone())
                .map(move |found| found.map(|(value, rest)| (value, rest.search(rest_step))))
        })
    }

    fn elements(&self) -> impl FnMut() -> Promise<Option<T>> + 'static {
        elements(Rc::new(RefCell::new(self.clone())))
    }

    /// Combines the elements into one value, in their order.
    ///
    /// ```
    /// let sum = lisle_core::seq::of_list([1, 2, 3]).fold(0, |sum, n| sum + n);
    /// assert_eq!(sum.try_take().unwrap()?, 6);
    /// # Ok::<(), lisle_core::Error>(())
    /// ```
    #[doc(alias = "fold_left")]
    pub fn fold<A: 'static>(&self, first: A, mut f: impl FnMut(A, T) -> A + 'static) -> Promise<A> {
        self.fold_s(first, move |sum, element| ready(f(sum, element)))
    }

    /// As [`Seq::fold`], with a function that promises or may fail. The next element
    /// is evaluated when that is settled.
    #[doc(alias = "fold_left_s")]
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

    /// Starts `f` on each element as soon as that is evaluated; settles when all are done.
    ///
    /// The next element is asked for at once. There is no bound on how many run: [`Seq::iter_n`] has one.
    #[doc(alias = "for_each_concurrent")]
    pub fn iter_p<P: IntoPromise<Value = ()>>(&self, f: impl FnMut(T) -> P + 'static) -> Promise<()> {
        parallel(&Each::new(self.elements(), f))
    }

    /// Runs `f` on each element, at most `max` at once; settles when all are done. An element is
    /// evaluated only when there is room for it.
    ///
    /// # Panics
    /// If `max` is 0.
    #[doc(alias = "for_each_concurrent")]
    pub fn iter_n<P>(&self, max: usize, f: impl FnMut(T) -> P + 'static) -> Promise<()>
    where
        P: IntoPromise<Value = ()>,
    {
        assert!(max > 0, "iter_n with room for no callback would never end: give at least 1");
        at_most(&Each::new(self.elements(), f), Rc::default(), max)
    }

    /// All elements.
    #[doc(alias = "collect")]
    pub fn to_list(&self) -> Promise<Vec<T>> {
        self.fold(Vec::new(), |mut list, element| {
            list.push(element);
            list
        })
    }
}

type Step<T, R> = dyn Fn(T) -> Promise<ControlFlow<R>>;

/// Goes through a sequence until `step` breaks; what it broke with, and the rest.
fn find<T: 'static, R: 'static>(seq: Seq<T>, step: Rc<Step<T, R>>) -> Promise<Option<(R, Seq<T>)>> {
    let rest: Rest<T> = Rc::new(RefCell::new(seq));
    let found = each(&Each::new(elements(rest.clone()), move |element| step(element)));
    found.map(move |found| found.map(|result| (result, rest.borrow().clone())))
}

impl<T: 'static> Clone for Seq<T> {
    fn clone(&self) -> Seq<T> {
        Seq { node: self.node.clone() }
    }
}

impl<T: 'static> Drop for Seq<T> {
    fn drop(&mut self) {
        let mut node = self.node.take();
        while let Some(mut last) = node {
            node = Rc::get_mut(&mut last).and_then(|last| last.take_tail().node.take());
        }
    }
}

impl<T: 'static> fmt::Debug for Seq<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.node.is_none() { "Seq(empty)" } else { "Seq(..)" })
    }
}

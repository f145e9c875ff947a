//! Events whose functions return promises, all at once: `map_p` and its relatives.
//!
//! As `serial.rs`, but nobody waits for another: the resulting event occurs in the order in which the
//! promises are fulfilled. How many are in progress is up to who sends.

use super::event::{Event, Sender, event};
use super::serial::{Answer, ask, publish, some, unobserved};
use super::step;
use crate::IntoPromise;
use std::rc::{Rc, Weak};

/// Owned by the vertex that is fed; whatever will still run knows it weakly.
struct Parallel<A, B: 'static> {
    f: Box<dyn Fn(Rc<A>) -> Answer<B>>,
    results: Sender<B>,
}

impl<A: 'static, B: 'static> Parallel<A, B> {
    fn start(weak: &Weak<Parallel<A, B>>, value: Rc<A>) {
        let Some(parallel) = weak.upgrade() else { return };
        let answer = ask(|| (parallel.f)(value));
        let results = parallel.results.clone();
        drop(parallel);
        answer.on_any(move |value| publish(&results, Ok(value)), unobserved);
    }
}

fn in_parallel<A: 'static, B: 'static>(
    input: &Event<A>,
    f: impl Fn(Rc<A>) -> Answer<B> + 'static,
) -> Event<B> {
    let (answers, results) = event();
    let parallel = Rc::new(Parallel { f: Box::new(f), results });
    let feed = Event::derive(|inputs| {
        let input = inputs.add(&input.node);
        move || {
            if let Some(value) = input.occurrence() {
                let parallel = Rc::downgrade(&parallel);
                step::after(move || Parallel::start(&parallel, value));
            }
            None::<Rc<()>>
        }
    });
    answers.holding(feed)
}

impl<A: 'static> Event<A> {
    /// Occurs with what `f` of each value promises, as soon as it is there: perhaps in another order.
    ///
    /// As with all functions of this kind (`_p`): they run when the step of their occurrence is over, before
    /// the outermost send returns; a rejection makes no occurrence and goes to [`crate::hook`].
    pub fn map_p<P: IntoPromise>(&self, f: impl Fn(&A) -> P + 'static) -> Event<P::Value> {
        in_parallel(self, move |value| some(f(&value)))
    }

    /// The occurrences whose value passes a test that promises its answer. See [`Event::map_p`].
    pub fn filter_p<P: IntoPromise<Value = bool>>(&self, test: impl Fn(&A) -> P + 'static) -> Event<A> {
        in_parallel(self, move |value| test(&value).into_promise().map(|passes| passes.then_some(value)))
    }

    /// The occurrences for which `f` promises a value, with that value. See [`Event::map_p`].
    #[doc(alias = "fmap_p")]
    pub fn filter_map_p<B: 'static, P: IntoPromise<Value = Option<B>>>(
        &self,
        f: impl Fn(&A) -> P + 'static,
    ) -> Event<B> {
        in_parallel(self, move |value| f(&value).into_promise().map(|found| found.map(Rc::new)))
    }

    /// For an event of functions: occurs with what the function of the value promises. See [`Event::map_p`].
    pub fn app_p<B: 'static, P: IntoPromise>(&self, values: &Event<B>) -> Event<P::Value>
    where
        A: Fn(&B) -> P,
    {
        in_parallel(&self.with_value(values), |pair| some((pair.0)(&pair.1)))
    }

    /// For an event of promises that can be shared: occurs with their values. See [`Event::map_p`].
    pub fn run_p(&self) -> Event<A::Value>
    where
        A: IntoPromise + Clone,
    {
        self.map_p(A::clone)
    }
}

//! A promise that another executor has polled is handed on: the waker that is dropped then is foreign code, and may
//! settle the promise at that very moment. Whoever gets the promise must not miss it.

mod rig;

use lisle_core::sched::tasks::run_ready;
use lisle_core::{
    Promise, all, both, choose, join, list, nchoose, pair, pause, pick, ready, spawn, stream, wake_paused,
};
use std::cell::Cell;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Wake, Waker};

/// Fulfils all pauses when it is dropped.
struct WakesPaused;

impl Wake for WakesPaused {
    fn wake(self: Arc<Self>) {}
}

impl Drop for WakesPaused {
    fn drop(&mut self) {
        wake_paused();
    }
}

/// A pause that is fulfilled as soon as anybody else is registered on it.
fn polled() -> Promise<()> {
    let mut promise = pause();
    let waker = Waker::from(Arc::new(WakesPaused));
    let polled = Future::poll(Pin::new(&mut promise), &mut Context::from_waker(&waker));
    assert!(polled.is_pending());
    promise
}

#[track_caller]
fn is_told(name: &str, promise: Promise<()>) {
    wake_paused();
    run_ready();
    wake_paused();
    assert!(promise.try_take().is_ok_and(|result| result.is_ok()), "{name} missed it");
}

#[test]
fn who_is_given_a_promise_learns_that_a_waker_settled_it() {
    is_told("map", polled().map(|()| ()));
    is_told("shared", polled().shared().promise());
    is_told("on_termination", polled().on_termination(|| ()));
    is_told("protected", polled().protected());
    is_told("no_cancel", polled().no_cancel());
    is_told("wrap_in_cancelable", polled().wrap_in_cancelable());
    is_told("join", join([polled()]));
    is_told("all", all([polled(), polled()]).map(drop));
    is_told("both", both(polled(), polled()).map(drop));
    is_told("choose", choose([polled(), polled()]));
    is_told("pick", pick([polled(), polled()]));
    is_told("nchoose", nchoose([polled(), polled()]).map(drop));
    is_told("iter_p", list::iter_p(0..2, |_| polled()));
    is_told("iter_n", list::iter_n(2, 0..5, |_| polled()));
    is_told("iter_s", list::iter_s(0..2, |_| polled().map(|()| ())));
    is_told("a crew", stream::of_list(0..5).iter_n(2, |_| polled()));
    is_told("a task", spawn(async { polled().await.unwrap() }));
    let (first, resolver) = pair::<()>();
    let later = first.bind(|()| polled());
    resolver.resolve(());
    is_told("a later callback's result", later);
    is_told("a callback's result", ready(()).bind(|()| polled()).map(|()| ()));
}

#[test]
fn a_consumer_learns_that_a_waker_settled_its_promise() {
    let count = Rc::new(Cell::new(0));
    let (once, also) = (count.clone(), count.clone());
    polled().on_success(move |()| once.set(once.get() + 1));
    polled().on_any(move |()| also.set(also.get() + 1), |_| ());
    wake_paused();
    assert_eq!(count.get(), 2);
}

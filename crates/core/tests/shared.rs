//! `Shared`: many handles of one cell, and a `Clone` that misbehaves.

mod rig;

use lisle_core::{Promise, Shared, State, cancelable, pair, ready};
use rig::*;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

type Inside = Rc<RefCell<Option<Box<dyn FnMut()>>>>;

/// A value whose clone runs something.
struct Clones(Inside);

impl Clone for Clones {
    fn clone(&self) -> Clones {
        let run = self.0.take();
        if let Some(mut run) = run {
            run();
        }
        Clones(self.0.clone())
    }
}

#[test]
fn every_handle_gets_the_value_and_the_state_can_be_looked_at() {
    let (promise, resolver) = pair::<String>();
    let shared = promise.shared();
    assert!(matches!(shared.state(), State::Pending));
    let other = shared.clone();
    resolver.resolve("a".into());
    assert_eq!(value(shared.promise()), "a");
    assert_eq!(value(other.map(|text| text + "b")), "ab");
    assert!(matches!(other.state(), State::Fulfilled(text) if text == "a"));
    let failed = Promise::<u32>::from(Err(fail("no"))).shared();
    assert!(matches!(failed.state(), State::Rejected(_)));
}

#[test]
fn a_promise_may_be_shared_after_it_was_awaited_bound_and_settled() {
    let (count, waker) = Count::waker();
    let (mut promise, resolver) = pair::<u32>();
    assert!(poll_with(&mut promise, &waker).is_pending());
    let shared = promise.shared();
    let again = shared.promise().shared();
    resolver.resolve(1);
    assert_eq!((count.get(), value(shared.promise()), value(again.promise())), (0, 1, 1));
    assert_eq!(value(ready(2).shared().promise()), 2);
}

#[test]
fn dropped_handles_take_their_waiters_along() {
    let (promise, resolver) = pair::<u32>();
    let shared = promise.shared();
    let (count, waker) = Count::waker();
    let mut handles: Vec<_> = (0..10).map(|_| shared.promise()).collect();
    for handle in &mut handles {
        assert!(poll_with(handle, &waker).is_pending());
    }
    handles.drain(3..8);
    resolver.resolve(1);
    assert_eq!(count.get(), 5);
    drop((handles, shared));
    assert_eq!(lisle_core::live_waiters(), 0);
}

#[test]
fn a_clone_may_use_the_promise_it_comes_from() {
    let inside: Inside = Rc::default();
    let (promise, resolver) = cancelable();
    let shared = promise.shared();
    resolver.resolve(Clones(inside.clone()));
    let ran = Rc::new(Cell::new(0));
    let (own, count) = (shared.clone(), ran.clone());
    *inside.borrow_mut() = Some(Box::new(move || {
        count.set(count.get() + 1);
        own.cancel();
        own.on_termination(|| {});
        own.on_cancel(|| panic!("it was not cancelled"));
        drop(own.promise().shared());
        drop(value(own.map(|value| value)));
        assert!(!own.is_pending());
        drop(own.clone());
    }));
    drop(value(shared.promise()));
    assert_eq!(ran.get(), 1);
}

#[test]
fn a_clone_may_drop_the_last_handle() {
    let inside: Inside = Rc::default();
    let (promise, resolver) = pair();
    let slot: Rc<RefCell<Option<Shared<Clones>>>> = Rc::new(RefCell::new(Some(promise.shared())));
    let mapped = slot.borrow().as_ref().expect("just put there").map(|_| 1);
    let other = slot.clone();
    *inside.borrow_mut() = Some(Box::new(move || drop(other.take())));
    resolver.resolve(Clones(inside));
    assert!(slot.borrow().is_none());
    assert_eq!(value(mapped), 1);
}

#[test]
fn a_clone_may_settle_what_waits_for_it() {
    // The clone is made inside a resolution, for the first of two consumers, and resolves a third promise at
    // once.
    let inside: Inside = Rc::default();
    let ((a, resolve_a), (b, resolve_b)) = (pair(), pair::<u32>());
    let a = a.shared();
    let (one, two) = (a.map(|_| 1), a.map(|_| 2));
    let waits = b.bind(move |_| two);
    let mut resolve_b = Some(resolve_b);
    *inside.borrow_mut() = Some(Box::new(move || {
        if let Some(resolver) = resolve_b.take() {
            resolver.resolve_now(1);
        }
    }));
    resolve_a.resolve(Clones(inside));
    assert_eq!((value(one), value(waits)), (1, 2));
}

#[test]
fn a_clone_that_panics_rejects_its_consumer_alone() {
    let seen = failures();
    let inside: Inside = Rc::default();
    let (promise, resolver) = pair();
    let shared = promise.shared();
    let ends = [shared.map(drop), shared.map(drop), shared.map(drop)];
    *inside.borrow_mut() = Some(Box::new(|| panic!("clone")));
    resolver.resolve(Clones(inside.clone()));
    let panicked = ends.into_iter().map(done).filter(Result::is_err).count();
    assert_eq!(panicked, 1);
    *inside.borrow_mut() = Some(Box::new(|| panic!("clone")));
    assert!(matches!(shared.state(), State::Rejected(error) if error.panic_message() == Some("clone")));
    *inside.borrow_mut() = Some(Box::new(|| panic!("clone")));
    assert_eq!(error(shared.promise()).panic_message(), Some("clone"));
    assert!(matches!(shared.state(), State::Fulfilled(_)));
    assert!(seen.borrow().is_empty());
}

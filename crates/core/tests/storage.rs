//! Storage where it can go wrong: panics, destructors and clones of values, abandoned work, the thread's end. What it
//! does when nothing goes wrong is in `conformance/tests/behaviours/lwt/storage.rs`, what it costs in `memory.rs`.

mod rig;

use lisle_core::sched::pause::wake_paused;
use lisle_core::sched::{reset, tasks::run_ready};
use lisle_core::storage::Key;
use lisle_core::{pair, pause, ready, spawn, spawn_queued};
use rig::*;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// A value that is counted: how many of it there are besides the test's own.
fn counted() -> (Rc<()>, impl Fn() -> usize) {
    let value = Rc::new(());
    let own = value.clone();
    (value, move || Rc::strong_count(&own) - 1)
}

#[test]
fn a_panic_in_a_callback_leaves_storage_as_it_was() {
    let seen = failures();
    let key = Key::new();
    let (promise, resolver) = pair::<u32>();
    let promise = promise.shared();
    key.with_value(1, || {
        promise.on_success(|_| panic!("observer"));
        promise.map(|_| -> u32 { panic!("map") }).detach();
        promise.on_success(|_| drop(Bomb));
    });
    key.with_value(2, || {
        resolver.resolve(0);
        assert_eq!(key.get(), Some(2));
    });
    assert_eq!((key.get(), seen.borrow().len()), (None, 3));
}

#[test]
fn a_panic_of_a_destructor_leaves_storage_as_it_was() {
    let seen = failures();
    let key = Key::new();
    let (promise, resolver) = pair::<Bomb>();
    key.with_value(1, || promise.map(|_| ()).detach());
    key.with_value(2, || {
        resolver.resolve(Bomb);
        assert_eq!(key.get(), Some(2));
    });
    assert_eq!((key.get(), seen.borrow().len()), (None, 1));
}

/// A value that looks at its own key, and changes it, when it is cloned and when it is dropped.
struct Meddler(Key<Rc<Meddler>>, Rc<RefCell<Vec<&'static str>>>);

impl Drop for Meddler {
    fn drop(&mut self) {
        self.1.borrow_mut().push("dropped");
        let _ = self.0.get();
        self.0.set(None);
    }
}

#[test]
fn destructors_of_values_may_use_storage() {
    let key = Key::new();
    let log = Rc::new(RefCell::new(Vec::new()));
    let meddler = || Rc::new(Meddler(key, log.clone()));
    key.with_value(meddler(), || {
        key.set(meddler());
        key.set(meddler());
    });
    assert!(key.get().is_none());
    let kept = key.with_value(meddler(), || pause().map(move |()| key.get().is_some()));
    wake_paused();
    assert!(value(kept));
    assert!(key.get().is_none());
    assert_eq!(log.borrow().len(), 4);
}

#[derive(Debug)]
struct Cloned(Key<Cloned>);

impl Clone for Cloned {
    fn clone(&self) -> Cloned {
        self.0.set(None);
        Cloned(self.0)
    }
}

#[test]
fn a_clone_of_a_value_may_take_the_value_away() {
    let key = Key::new();
    key.with_value(Cloned(key), || {
        assert!(key.get().is_some());
        assert!(key.get().is_none());
    });
}

#[test]
fn a_value_is_dropped_when_the_last_callback_has_run_or_was_given_up() {
    let key = Key::new();
    let (value, count) = counted();
    let (first, resolver) = pair::<()>();
    let (second, given_up) = pair::<()>();
    key.with_value(value, || {
        first.map(|()| ()).detach();
        second.map(|()| ()).detach_with(drop);
    });
    assert_eq!(count(), 1);
    resolver.resolve(());
    assert_eq!(count(), 1);
    drop(given_up);
    assert_eq!(count(), 0);
}

#[test]
fn a_task_that_ends_or_is_stopped_or_abandoned_drops_its_values() {
    let key = Key::new();
    let (value, count) = counted();
    let foreign = Foreign::default();
    let (done, stopped, abandoned, queued) = key.with_value(value, || {
        (
            spawn(async { pause().await }),
            spawn(foreign.clone()),
            spawn(async { pause().await }),
            spawn_queued(async {}),
        )
    });
    assert!(count() > 0);
    drop((done, abandoned));
    stopped.cancel();
    run_ready();
    assert!(error(stopped).is_canceled());
    drop(queued);
    assert!(count() > 0);
    wake_paused();
    run_ready();
    assert_eq!(count(), 0);

    let (value, count) = counted();
    key.with_value(value, || spawn(async { pause().await }).detach_with(drop));
    assert!(count() > 0);
    reset();
    assert_eq!(count(), 0);
}

#[test]
fn a_task_polled_inside_of_another_has_its_own_map() {
    let key = Key::new();
    let seen = Rc::new(Cell::new(None));
    let see = seen.clone();
    let outer = spawn(async move {
        key.set(1);
        let inner = spawn(async move {
            assert_eq!(key.get(), Some(1), "it is its spawner's at the spawn");
            key.set(2);
            pause().await.unwrap();
            see.set(key.get());
        });
        assert_eq!(key.get(), Some(1));
        inner.await.unwrap();
        key.get()
    });
    key.with_value(9, run);
    assert_eq!((value(outer), seen.get(), key.get()), (Some(1), Some(2), None));
}

#[test]
fn set_in_a_callback_lasts_for_its_resolution() {
    let key = Key::new();
    let (promise, resolver) = pair::<()>();
    let (next, next_resolver) = pair::<()>();
    let seen = next.then(move |_| ready(key.get()));
    promise.on_success(move |()| {
        key.set(1);
        next_resolver.resolve_now(());
        assert_eq!(key.get(), Some(1));
    });
    resolver.resolve(());
    assert_eq!((value(seen), key.get()), (None, None));
}

#[test]
fn a_thread_may_end_with_a_value_stored() {
    struct Asks(Key<Rc<Asks>>);
    impl Drop for Asks {
        fn drop(&mut self) {
            assert!(self.0.get().is_none());
            self.0.set(None);
        }
    }
    with_small_stack(|| {
        let key = Key::new();
        key.set(Rc::new(Asks(key)));
        spawn(async { pause().await }).detach_with(drop);
        assert!(key.get().is_some());
    });
}

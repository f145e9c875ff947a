//! Values that follow a sequence of callbacks. Rows STOR, X-STORE, and what tasks add.
//!
//! The altered Lwt in which storage is not restored after a resolution fails at each test that resolves under 42:
//! STOR-06, STOR-07, STOR-08.

use crate::rig::{Log, fail, result};
use lisle_core::sched::tasks::run_ready;
use lisle_core::storage::Key;
use lisle_core::{
    Promise, Resolver, Result, cancelable, pair, pause, ready, rejected, spawn, spawn_queued, wake_paused,
};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// STOR-01: nothing is stored under a fresh key.
#[test]
fn stor_01_a_fresh_key_has_nothing() {
    assert_eq!(Key::<u32>::new().get(), None);
}

/// STOR-02: the value is there inside the call and gone after it.
#[test]
fn stor_02_a_value_inside_the_call() {
    let key = Key::new();
    let inside = key.with_value(42, || key.get());
    assert_eq!((inside, key.get()), (Some(42), None));
}

/// STOR-03: when the function returns an error or panics, the value is gone too.
#[test]
fn stor_03_a_function_that_fails() {
    let key = Key::new();
    let failed: Result<()> = key.with_value(42, || Err(fail("E")));
    assert_eq!((failed.unwrap_err().to_string().as_str(), key.get()), ("E", None));
    let panic = catch_unwind(AssertUnwindSafe(|| key.with_value(42, || panic!("E")))).unwrap_err();
    assert_eq!((panic.downcast_ref::<&str>(), key.get()), (Some(&"E"), None));
}

/// STOR-04: an inner call hides the value of the outer one, also with none.
#[test]
fn stor_04_calls_inside_of_calls() {
    let key = Key::new();
    key.with_value(42, || {
        assert_eq!(key.with_value(1337, || key.get()), Some(1337));
        assert_eq!(key.get(), Some(42));
        assert_eq!(key.with_value(None, || key.get()), None);
        assert_eq!(key.get(), Some(42));
    });
}

/// STOR-05: keys do not know of each other, whatever their types.
#[test]
fn stor_05_two_keys() {
    let (number, other, text) = (Key::new(), Key::<u32>::new(), Key::new());
    number.with_value(42, || {
        assert_eq!(other.get(), None);
        text.with_value("foo", || assert_eq!((number.get(), text.get()), (Some(42), Some("foo"))));
    });
}

/// Registers under 1337, on a pending promise, resolves under 42; what the callback saw.
fn seen_by<T: 'static>(
    register: impl FnOnce(Promise<u32>, Box<dyn FnOnce()>) -> T,
    resolve: fn(Resolver<u32>),
) -> Option<u32> {
    let key = Key::new();
    let seen = std::rc::Rc::new(std::cell::Cell::new(None));
    let see = seen.clone();
    let (promise, resolver) = cancelable();
    let kept = key.with_value(1337, || register(promise, Box::new(move || see.set(key.get()))));
    assert_eq!(key.get(), None, "after the registration");
    key.with_value(42, || {
        resolve(resolver);
        assert_eq!(key.get(), Some(42), "the value of whoever resolves is there again");
    });
    assert_eq!(key.get(), None, "after the resolution");
    drop(kept);
    seen.get()
}

const WITH_VALUE: fn(Resolver<u32>) = |resolver| resolver.resolve(1);
const WITH_ERROR: fn(Resolver<u32>) = |resolver| resolver.reject(fail("E"));

/// STOR-06: the callback of bind, map, catch and both of `try_bind` sees the value of its registration, and whoever
/// resolves gets his own back.
#[test]
fn stor_06_callbacks_that_promise() {
    let unseen = |_| -> Promise<u32> { unreachable!("the other side") };
    let through: [(Option<u32>, &str); 6] = [
        (seen_by(|p, see| p.bind(|n| (see(), ready(n)).1), WITH_VALUE), "bind"),
        (seen_by(|p, see| p.map(|n| (see(), n).1), WITH_VALUE), "map"),
        (seen_by(|p, see| p.catch(|_| (see(), ready(1)).1), WITH_ERROR), "catch"),
        (seen_by(|p, see| p.try_bind(|n| (see(), ready(n)).1, unseen), WITH_VALUE), "try_bind, value"),
        (
            seen_by(
                |p, see| p.try_bind(|_| -> Promise<u32> { unreachable!() }, |_| (see(), ready(1)).1),
                WITH_ERROR,
            ),
            "try_bind, error",
        ),
        (seen_by(|p, see| p.then(|_| (see(), ready(1)).1), WITH_ERROR), "then"),
    ];
    for (seen, name) in through {
        assert_eq!(seen, Some(1337), "{name}");
    }
}

/// STOR-07: so do a cleanup, and callbacks without a result, on either outcome.
#[test]
fn stor_07_cleanups_and_observers() {
    let through: [(Option<u32>, &str); 8] = [
        (seen_by(|p, see| p.finalize(|| (see(), ready(())).1), WITH_VALUE), "finalize, value"),
        (seen_by(|p, see| p.finalize(|| (see(), ready(())).1), WITH_ERROR), "finalize, error"),
        (seen_by(|p, see| p.on_success(|_| see()), WITH_VALUE), "on_success"),
        (seen_by(|p, see| p.on_failure(|_| see()), WITH_ERROR), "on_failure"),
        (seen_by(|p, see| p.on_termination(see), WITH_VALUE), "on_termination, value"),
        (seen_by(|p, see| p.on_termination(see), WITH_ERROR), "on_termination, error"),
        (seen_by(|p, see| p.on_any(|_| see(), drop), WITH_VALUE), "on_any, value"),
        (seen_by(|p, see| p.on_any(drop, |_| see()), WITH_ERROR), "on_any, error"),
    ];
    for (seen, name) in through {
        assert_eq!(seen, Some(1337), "{name}");
    }
}

/// STOR-08: so does a callback for cancellation.
#[test]
fn stor_08_cancel_callbacks() {
    let key = Key::new();
    let log = Log::default();
    let (promise, _resolver) = cancelable::<()>();
    let seen = log.clone();
    let promise = key.with_value(1337, || promise.on_cancel(move || seen.add(format!("{:?}", key.get()))));
    key.with_value(42, || {
        promise.cancel();
        assert_eq!(key.get(), Some(42));
    });
    assert_eq!((log.take().as_str(), key.get()), ("Some(1337)", None));
}

/// X-STORE-01: a callback registered with no value sees none, whatever the value of whoever resolves.
#[test]
fn x_store_01_no_value_is_a_snapshot_too() {
    let key = Key::new();
    let (promise, resolver) = pair();
    let seen = promise.map(move |()| key.get());
    key.with_value(42, || {
        resolver.resolve(());
        assert_eq!(key.get(), Some(42));
    });
    assert_eq!(result(seen), "Ok(None)");
}

/// X-STORE-02: the handler of detached work has no snapshot, as in Lwt: it sees what the resolution has that calls it.
/// Work that wants its own there catches its error itself.
#[test]
fn x_store_02_a_detached_handler_has_no_snapshot() {
    let key = Key::new();
    let log = Log::default();
    let ((p, reject_p), (q, reject_q)) = (pair::<()>(), pair::<()>());
    let (plain, own) = (log.clone(), log.clone());
    key.with_value(1337, || {
        p.detach_with(move |_| plain.add(format!("{:?}", key.get())));
        q.catch(move |_| {
            own.add(format!("{:?}", key.get()));
            ready(())
        })
        .detach();
    });
    key.with_value(42, || {
        reject_p.reject(fail("E"));
        reject_q.reject(fail("E"));
    });
    assert_eq!(log.take(), "Some(42) Some(1337)");
}

/// X-STORE-03: a callback on a settled promise runs at once, under the current value.
#[test]
fn x_store_03_a_settled_promise_needs_no_snapshot() {
    let key = Key::new();
    let (promise, resolver) = pair();
    let promise = promise.shared();
    resolver.resolve(());
    let registered = key.with_value(42, || {
        [promise.map(move |()| key.get()), ready(()).map(move |()| key.get())].map(result)
    });
    assert_eq!(registered, ["Ok(Some(42))", "Ok(Some(42))"]);
    let handled = key.with_value(42, || {
        rejected::<Option<u32>>(fail("E")).catch(move |_| Ok::<_, lisle_core::Error>(key.get()))
    });
    assert_eq!(result(handled), "Ok(Some(42))");
}

/// A callback's own callbacks go on with its value, however often they wait; the value is gone with the last of them.
#[test]
fn a_value_follows_a_chain_of_waits() {
    let key = Key::new();
    let counted = std::rc::Rc::new(());
    let chain = key.with_value(counted.clone(), || {
        pause()
            .bind(|()| pause())
            .map(move |()| key.get().is_some())
            .bind(move |there| pause().map(move |()| (there, key.get().is_some())))
    });
    while chain.is_pending() {
        wake_paused();
        assert!(key.get().is_none());
    }
    assert_eq!(result(chain), "Ok((true, true))");
    assert_eq!(std::rc::Rc::strong_count(&counted), 1, "nobody keeps the value");
}

/// A task has a map of its own: taken at its spawn, kept while it is suspended, changed by nobody else.
#[test]
fn a_task_has_storage_of_its_own() {
    let key = Key::new();
    let work = move |own: u32| async move {
        let at_first = key.get();
        key.set(own);
        pause().await.unwrap();
        (at_first, key.get())
    };
    let now = key.with_value(1, || {
        let task = spawn(work(2));
        assert_eq!(key.get(), Some(1), "what a task sets is its own");
        task
    });
    let queued = key.with_value(3, || spawn_queued(work(4)));
    let plain = spawn(work(5));
    assert_eq!(key.get(), None);
    for _ in 0..3 {
        run_ready();
        key.with_value(99, wake_paused);
        assert_eq!(key.get(), None);
    }
    assert_eq!(result(now), "Ok((Some(1), Some(2)))");
    assert_eq!(result(queued), "Ok((Some(3), Some(4)))");
    assert_eq!(result(plain), "Ok((None, Some(5)))");
}

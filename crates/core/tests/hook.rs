//! The hook: each unobserved failure once, no observed one, no cancellation; and a hook that misbehaves.

mod rig;

use lisle_core::hook::{self, FailureKind};
use lisle_core::sched::reset;
use lisle_core::{
    Promise, both, cancelable, choose, join, pair, pause, ready, rejected, spawn, spawn_queued, try_spawn,
    try_spawn_queued, yield_now,
};
use rig::*;

fn texts(seen: &std::cell::RefCell<Vec<(FailureKind, String)>>) -> Vec<String> {
    seen.take().into_iter().map(|(_, text)| text).collect()
}

#[test]
fn an_unobserved_rejection_is_reported_once_wherever_it_stands() {
    let seen = failures();
    drop(rejected::<u32>(fail("inline")));
    let (promise, resolver) = pair::<u32>();
    resolver.reject(fail("cell"));
    drop(promise);
    let (promise, resolver) = pair::<u32>();
    drop(promise);
    resolver.reject(fail("detached by a drop"));
    drop(ready(1).bind(|_| rejected::<u32>(fail("bound"))));
    let (promise, resolver) = pair::<u32>();
    let shared = promise.shared();
    let other = shared.clone();
    resolver.reject(fail("shared"));
    drop(shared);
    assert_eq!(texts(&seen), ["inline", "cell", "detached by a drop", "bound"]);
    drop(other);
    drop(spawn(async { panic!("task at once") }));
    let late = spawn(async {
        yield_now().await.ok();
        panic!("task later")
    });
    drop(late);
    run();
    assert_eq!(texts(&seen), ["shared", "panicked: task at once", "panicked: task later"]);
}

#[test]
fn one_look_through_any_handle_is_enough() {
    let seen = failures();
    let (promise, resolver) = pair::<u32>();
    let shared = promise.shared();
    let (a, b) = (shared.map(|n| n), shared.promise());
    resolver.reject(fail("seen"));
    drop((b, shared));
    assert_eq!(error(a).to_string(), "seen");
    let _ = error(rejected::<u32>(fail("taken")));
    value(rejected::<u32>(fail("caught")).catch(|_| ready(1)));
    drop(rejected::<u32>(fail("watched")).on_failure(drop));
    let joined = join([rejected::<u32>(fail("joined"))]);
    error(both(joined, ready(1)));
    error(choose([rejected::<u32>(fail("chosen"))]));
    block_on(async { assert!(rejected::<u32>(fail("awaited")).await.is_err()) });
    assert!(seen.borrow().is_empty(), "{seen:?}");
}

#[test]
fn cancellation_and_two_dropped_ends_are_no_failures() {
    let seen = failures();
    let (promise, _resolver) = cancelable::<u32>();
    promise.cancel();
    drop(promise);
    drop(rejected::<u32>(lisle_core::Error::canceled()));
    let task = spawn(async { std::future::pending::<()>().await });
    task.cancel();
    drop(task);
    run();
    let (promise, resolver) = pair::<u32>();
    drop(promise);
    drop(resolver);
    assert!(seen.borrow().is_empty(), "{seen:?}");
    // Whoever could have looked and did not is told.
    let (promise, resolver) = pair::<u32>();
    drop(resolver);
    drop(promise);
    assert_eq!(seen.borrow().len(), 1);
}

#[test]
fn a_hook_may_panic_fail_anew_and_replace_itself() {
    hook::set(|_| panic!("hook"));
    drop(rejected::<u32>(fail("a")));
    let seen = failures();
    hook::set({
        let seen = seen.clone();
        move |failure| {
            seen.borrow_mut().push((failure.kind(), failure.error().to_string()));
            hook::reset();
            hook::set(|_| {});
            drop(rejected::<u32>(fail("nested")));
        }
    });
    drop(rejected::<u32>(fail("b")));
    drop::<Promise<u32>>(rejected(fail("c")));
    assert_eq!(texts(&seen), ["b"]);
}

#[test]
fn a_reset_is_silent_about_what_it_abandons() {
    let seen = failures();
    let (promise, resolver) = pair::<()>();
    spawn(async move {
        let _resolver = resolver;
        pause().await
    })
    .detach();
    promise.map(|()| 1).detach();
    pause().bind(|()| pause()).detach();
    drop(pause().map(|()| ()));
    try_spawn_queued(async { pause().await }).detach();
    let waited = spawn(std::future::pending::<()>());
    drop(spawn(async { waited.await.map_err(|_| fail("told")) }));
    reset();
    assert!(seen.borrow().is_empty(), "{seen:?}");
    // Only what a reset abandons.
    let (promise, resolver) = pair::<()>();
    drop(resolver);
    drop(promise);
    assert_eq!(seen.borrow().len(), 1);
}

#[test]
fn a_spawned_failure_is_told_with_the_place_of_the_spawn() {
    type Sites = std::rc::Rc<std::cell::RefCell<Vec<(String, String, u32)>>>;
    let seen: Sites = Sites::default();
    let told = seen.clone();
    hook::set(move |failure| {
        let site = failure.site().expect("known");
        told.borrow_mut().push((failure.error().to_string(), site.file().to_owned(), site.line()));
    });
    let line = line!();
    drop(spawn(async { yield_now().await.map(|()| panic!("spawn")) }));
    drop(spawn_queued(async { panic!("queued") }));
    drop(try_spawn(async { yield_now().await.and(Err::<(), _>(fail("try"))) }));
    drop(try_spawn_queued(async { Err::<(), _>(fail("try queued")) }));
    run();
    let mut seen = seen.take();
    seen.sort_by_key(|failure| failure.2);
    let texts = ["panicked: spawn", "panicked: queued", "try", "try queued"];
    let expected = texts.iter().zip(line + 1..).map(|(text, line)| ((*text).into(), file!().into(), line));
    assert_eq!(seen, expected.collect::<Vec<(String, String, u32)>>());
}

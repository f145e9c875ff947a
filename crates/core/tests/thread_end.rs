//! Threads that end while things are alive: a destructor of the user's that runs after the library's own tables are
//! gone meets abandoned promises, and no panic (which would end the process there).
//!
//! A thread's locals go in the reverse order of their first use. So what was kept before the library was used goes
//! after the library's tables; what was kept later, before them; both are tried.

mod rig;

use lisle_core::sched::sleep::{sleep_count, sleep_until};
use lisle_core::sched::{pause::paused_count, tasks::task_count};
use lisle_core::sync::{Condition, Mutex};
use lisle_core::{
    Promise, cancelable, live_waiters, pair, pause, react, seq, spawn, spawn_queued, storage, stream,
};
use rig::{OnDrop, lap, with_small_stack};
use std::any::Any;
use std::cell::RefCell;
use std::panic;
use std::sync::atomic::{AtomicUsize, Ordering};

thread_local! {
    static KEPT: RefCell<Vec<Box<dyn Any>>> = const { RefCell::new(Vec::new()) };
}

fn at_the_end(act: impl FnOnce() + 'static) {
    KEPT.with_borrow_mut(|kept| kept.push(Box::new(OnDrop::new(act))));
}

/// Uses all of the library's locals.
fn use_all() {
    assert_eq!((task_count(), paused_count(), sleep_count(), live_waiters()), (0, 0, 0, 0));
    storage::Key::new().with_value(1, || {
        let (promise, resolver) = pair::<u32>();
        let shared = promise.shared();
        let both = (shared.map(|n| n), shared.map(|n| n));
        resolver.resolve(1);
        drop(both);
        drop(spawn_queued(async { pause().await }));
    });
    (0..3).for_each(|_| lap());
    let (event, sender) = react::event::<u32>();
    let doubled = event.map(|n| n * 2);
    sender.send(1);
    drop(doubled);
}

/// What is looked at, told, cancelled and made at the end.
fn looked_at<T: 'static>(promise: Promise<T>) {
    at_the_end(move || {
        let _ = promise.status();
        promise.cancel();
        drop(promise.map(drop).on_termination(|| ()));
    });
}

type Case = fn();

const CASES: &[Case] = &[
    || looked_at(pause()),
    || looked_at(sleep_until(9)),
    || looked_at(sleep_until(9).map(drop)),
    || looked_at(spawn(async { sleep_until(9).await })),
    || at_the_end(|| drop((pause(), sleep_until(1), spawn(async { pause().await }), spawn_queued(async {})))),
    || {
        // Two lists of waiters are joined.
        let ((first, now), (second, later)) = (pair::<()>(), pair::<u32>());
        let second = second.on_termination(|| ());
        let outer = first.bind(move |()| second).on_termination(|| ()).on_failure(drop);
        at_the_end(move || {
            now.resolve(());
            later.resolve(3);
            drop(outer);
        });
    },
    || {
        let mutex = Mutex::new(1);
        let guard = mutex.try_lock();
        let waiting: Vec<_> = (0..3).map(|_| mutex.lock().map(drop)).collect();
        at_the_end(move || drop((guard, waiting)));
    },
    || {
        let condition = Condition::<u32>::new();
        let waiting = (condition.wait(), condition.wait());
        at_the_end(move || drop((condition.broadcast(1), waiting)));
    },
    || {
        let stream = stream::from(|| pause().map(|()| Some(1)));
        let (element, numbers) = (stream.get(), seq::unfold_s(0, |n| pause().map(move |()| Some((n, n)))));
        let all = numbers.iter(drop);
        at_the_end(move || {
            drop(stream);
            element.cancel();
            all.cancel();
        });
    },
    || {
        let (event, sender) = react::event::<u32>();
        // Goes with the library's own list, and cancels its work then.
        react::Event::from(pause).keep();
        let served = event.map_s(|_: &u32| cancelable::<u32>().0);
        at_the_end(move || {
            sender.send(1);
            served.map(|n| *n).keep();
        });
    },
];

#[test]
fn destructors_that_run_after_the_library_is_gone_meet_abandoned_promises() {
    static PANICS: AtomicUsize = AtomicUsize::new(0);
    panic::set_hook(Box::new(|info| {
        eprintln!("{info}");
        PANICS.fetch_add(1, Ordering::Relaxed);
    }));
    for case in CASES {
        for early in [false, true] {
            with_small_stack(move || {
                if early {
                    at_the_end(|| ());
                }
                use_all();
                case();
            });
        }
    }
    assert_eq!(PANICS.load(Ordering::Relaxed), 0);
}

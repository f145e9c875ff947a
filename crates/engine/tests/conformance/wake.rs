//! Waking a sleeping engine from another thread.

use crate::rig::{Watchdog, pair, write};
use lisle_engine::{EngineWaker, Wait};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

fn is_send<T: Send + Sync + Clone>(_: &T) {}

on_every_engine!(before_the_sleep, |rig| {
    let _watchdog = Watchdog::new();
    let waker = rig.engine.waker();
    is_send(&waker);
    for _ in 0..10 {
        waker.wake();
        waker.wake();
        assert_eq!(rig.turn(Wait::Forever), 0);
    }
});

on_every_engine!(ten_thousand_rounds_lose_none, |rig| {
    const ROUNDS: u64 = 10_000;
    let _watchdog = Watchdog::new();
    let (asked, answered) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let waker = rig.engine.waker();
    let other = {
        let (asked, answered) = (asked.clone(), answered.clone());
        std::thread::spawn(move || {
            for round in 1..=ROUNDS {
                while answered.load(Ordering::Acquire) < round - 1 {
                    std::hint::spin_loop();
                    if round % 2 == 0 {
                        // Half of the rounds give the engine time to fall asleep.
                        std::thread::yield_now();
                    }
                }
                asked.store(round, Ordering::Release);
                waker.wake();
            }
        })
    };
    for round in 1..=ROUNDS {
        while asked.load(Ordering::Acquire) < round {
            rig.turn(Wait::Forever);
        }
        answered.store(round, Ordering::Release);
    }
    other.join().unwrap();
});

on_every_engine!(many_wakers_at_once_while_bytes_arrive, |rig| {
    let _watchdog = Watchdog::new();
    let (a, b) = pair();
    let waker = rig.engine.waker();
    let threads: Vec<_> = (0..3)
        .map(|_| {
            let waker = waker.clone();
            std::thread::spawn(move || (0..1000).for_each(|_| waker.wake()))
        })
        .collect();
    for _ in 0..1000 {
        let token = rig.recv(&b, 16);
        write(&a, b"x");
        while rig.is_open(token) {
            rig.turn(Wait::Forever);
        }
        rig.finish(token);
    }
    for thread in threads {
        thread.join().unwrap();
    }
});

on_every_engine!(after_the_engine_is_gone, |rig| {
    let kind = rig.kind();
    let rig = crate::rig::Rig::open(kind, Default::default()).unwrap();
    let waker: EngineWaker = rig.engine.waker();
    drop(rig);
    waker.wake();
    waker.clone().wake();
});

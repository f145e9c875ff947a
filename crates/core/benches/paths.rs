//! The paths of the core alone, without a runtime and an engine: what DECISIONS.md quotes where it says
//! «without an engine». `cargo bench -p lisle-core`, or with names of rows; pin it (`taskset -c 1`) on a
//! machine that is quiet.
//!
//! Each row is the best and the median of fifteen rounds, in nanoseconds per operation. `lisle bench`
//! measures the same under a runtime, in all styles and with allocations and system calls; this is for
//! looking at one path with `perf` or `callgrind`. Binds on settled promises are in `lisle bench
//! bind-resolved`.

#![expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

use lisle_core::sched::tasks::run_ready;
use lisle_core::{Promise, join, pause, ready, spawn, spawn_queued, wake_paused, yield_now};
use std::hint::black_box;
use std::time::Instant;

const ROUNDS: usize = 15;
const STEPS: u64 = 1_000_000;
const CHAINS: u64 = 1000;

type Row = (&'static str, fn());

/// Each of them does [`STEPS`] operations.
const ROWS: [Row; 6] = [
    ("await-settled", await_settled),
    ("pause-chain", pause_chain),
    ("pause-1000-chains", pause_chains),
    ("yield-1000-tasks", yields),
    ("spawn", spawns),
    ("spawn-queued", queued_spawns),
];

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    for (name, row) in ROWS {
        if wanted.is_empty() || wanted.iter().any(|word| word == name) {
            measure(name, row);
        }
    }
}

fn measure(name: &str, row: fn()) {
    row();
    let mut rounds: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            row();
            start.elapsed().as_nanos() as f64 / STEPS as f64
        })
        .collect();
    rounds.sort_by(f64::total_cmp);
    println!("{name:18} {:7.2} ns best, {:7.2} ns median", rounds[0], rounds[ROUNDS / 2]);
}

fn value<T>(promise: Promise<T>) -> T {
    promise.try_take().ok().and_then(Result::ok).expect("the work is done")
}

fn await_settled() {
    let sum = spawn(async {
        let mut sum = 0;
        for step in 0..STEPS {
            sum ^= ready(black_box(step)).await.unwrap_or(0);
        }
        sum
    });
    black_box(value(sum));
}

fn chain(steps: u64) -> Promise<()> {
    if steps == 0 { ready(()) } else { pause().bind(move |()| chain(steps - 1)) }
}

fn pause_chain() {
    finish(chain(STEPS), wake_paused);
}

fn pause_chains() {
    finish(join((0..CHAINS).map(|_| chain(STEPS / CHAINS))), wake_paused);
}

fn yields() {
    let task = || {
        spawn(async {
            for _ in 0..STEPS / CHAINS {
                yield_now().await.expect("nobody cancels");
            }
        })
    };
    finish(join((0..CHAINS).map(|_| task())), || {
        run_ready();
    });
}

fn spawns() {
    let sum = spawn(async {
        let mut sum = 0;
        for step in 0..STEPS {
            sum += spawn(async move { black_box(step) }).await.unwrap_or(0);
        }
        sum
    });
    assert_eq!(value(sum), STEPS * (STEPS - 1) / 2);
}

fn queued_spawns() {
    let sum = spawn(async {
        let mut sum = 0;
        for step in 0..STEPS {
            sum += spawn_queued(async move { black_box(step) }).await.unwrap_or(0);
        }
        assert_eq!(sum, STEPS * (STEPS - 1) / 2);
    });
    finish(join([sum]), || {
        run_ready();
    });
}

fn finish(promise: Promise<()>, lap: fn()) {
    while promise.is_pending() {
        lap();
    }
    value(promise);
}

//! What fibers cost without a runtime and an engine. `cargo bench -p lisle-direct`, or with names of rows.
//!
//! Each row is the best and the median of many short rounds, in nanoseconds per operation; see the benchmark of
//! `lisle-core` for the like without stacks.

use lisle::sched::tasks::run_ready;
use lisle::{Promise, all, spawn};
use std::hint::black_box;
use std::time::Instant;

const ROUNDS: usize = 101;
const STEPS: u64 = 50_000;
const WIDTH: u64 = 1000;

type Row = (&'static str, fn());

/// Each of them does [`STEPS`] operations.
const ROWS: [Row; 2] = [("spawn-fiber", spawns), ("yield-1000-fibers", yields)];

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

/// A thousand at a time are started and waited for, by a task.
fn spawns() {
    let sum = spawn(async {
        let mut sum = 0;
        let mut batch: Vec<Promise<u64>> = Vec::with_capacity(WIDTH as usize);
        for first in (0..STEPS).step_by(WIDTH as usize) {
            batch.extend((first..first + WIDTH).map(|n| lisle_direct::spawn(move |_| black_box(n))));
            for started in batch.drain(..) {
                sum += started.await.unwrap_or(0);
            }
        }
        sum
    });
    while sum.is_pending() {
        run_ready();
    }
    assert_eq!(value(sum), STEPS * (STEPS - 1) / 2);
}

fn yields() {
    let fiber = |_| {
        lisle_direct::spawn(|fiber| {
            for _ in 0..STEPS / WIDTH {
                fiber.yield_now().expect("nobody cancels");
            }
        })
    };
    let fibers = all((0..WIDTH).map(fiber));
    while fibers.is_pending() {
        run_ready();
    }
    value(fibers);
}

fn value<T>(promise: Promise<T>) -> T {
    promise.try_take().ok().and_then(Result::ok).expect("the work is done")
}

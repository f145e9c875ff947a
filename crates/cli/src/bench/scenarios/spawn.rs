//! Starting a task or a fiber and waiting for its end. *Eager*: the task ends in its first poll, as most do.
//! *Queued*: it is polled from the run queue, a thousand at a time; fibers are always queued.

use super::Scenario;
use crate::bench::case::{Case, Label, Style, check};
use crate::bench::measure::Sample;
use crate::bench::plan::Plan;
use crate::bench::rig::Rig;
use lisle::{Error, Promise, spawn, spawn_queued, try_spawn};
use std::hint::black_box;

const NAME: &str = "spawn";

/// Tasks that are alive at the same time in the queued variant, and tasks in one repetition of both.
const BATCH: u64 = 1000;

pub(super) const SCENARIO: Scenario =
    Scenario { name: NAME, about: "start a task or a fiber and wait for its end", cases };

fn cases(plan: &Plan) -> Vec<Case> {
    let case = |style, variant, work: fn(u64) -> Promise<u64>| {
        let label = Label::new(NAME, style).variant(variant);
        Case::new(label, plan.cpu_round, move |repeat| measure(repeat * BATCH, work))
    };
    let queued = case(Style::Async, "queued", |tasks| in_batches(tasks, task));
    vec![case(Style::Async, "eager", eager), queued, case(Style::Direct, "queued", |n| in_batches(n, fiber))]
}

fn measure(tasks: u64, work: fn(u64) -> Promise<u64>) -> Result<Sample, String> {
    let rig = Rig::scheduler();
    // Once unmeasured: tables grow to their size, a stack is mapped.
    rig.drive(work(BATCH))?;
    let (sample, sum) = rig.measure(tasks, || work(tasks))?;
    check(&sum, &(tasks * (tasks - 1) / 2))?;
    Ok(sample)
}

fn eager(tasks: u64) -> Promise<u64> {
    try_spawn(async move {
        let mut sum = 0;
        for number in 0..tasks {
            sum += spawn(async move { black_box(number) }).await?;
        }
        Ok::<_, Error>(sum)
    })
}

fn task(number: u64) -> Promise<u64> {
    spawn_queued(async move { black_box(number) })
}

fn fiber(number: u64) -> Promise<u64> {
    lisle_direct::spawn(move |_| black_box(number))
}

fn in_batches(tasks: u64, start: fn(u64) -> Promise<u64>) -> Promise<u64> {
    try_spawn(async move {
        let mut sum = 0;
        let mut batch: Vec<Promise<u64>> = Vec::with_capacity(BATCH as usize);
        for first in (0..tasks).step_by(BATCH as usize) {
            batch.extend((first..first + BATCH).map(start));
            for started in batch.drain(..) {
                sum += started.await?;
            }
        }
        Ok::<_, Error>(sum)
    })
}

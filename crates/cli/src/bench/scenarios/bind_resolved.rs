//! `bind` on a promise that is resolved already: what a layer of abstraction costs when nothing has to wait.
//!
//! *Visible*: the optimiser sees that the promise is resolved and what the callback does, as where one
//! function calls another that need not wait. *Opaque*: the callback is reached through a pointer that the
//! optimiser cannot follow, and the promise lies in memory between two steps, so that the whole protocol is
//! really performed.

use super::Scenario;
use crate::bench::case::{Case, Label, Style, check};
use crate::bench::measure::Sample;
use crate::bench::plan::Plan;
use crate::bench::rig::Rig;
use lisle::{Error, Promise, ready, settled, try_spawn};
use std::hint::black_box;

const NAME: &str = "bind-resolved";

/// Steps in one repetition.
const STEPS: u64 = 1000;

pub(super) const SCENARIO: Scenario =
    Scenario { name: NAME, about: "bind, await or wait for a promise that is resolved already", cases };

fn cases(plan: &Plan) -> Vec<Case> {
    let case = |style, variant, work: fn(u64) -> Promise<u64>| {
        let label = Label::new(NAME, style).variant(variant);
        Case::new(label, plan.cpu_round, move |repeat| measure(repeat * STEPS, work))
    };
    vec![
        case(Style::Bind, "visible", visible),
        case(Style::Bind, "opaque", opaque),
        case(Style::Async, "visible", awaited),
        case(Style::Direct, "visible", waited),
    ]
}

/// Each form promises the sum of 1, 2, …, `steps`, and takes one step for each number.
fn measure(steps: u64, work: fn(u64) -> Promise<u64>) -> Result<Sample, String> {
    let (sample, sum) = Rig::scheduler().measure(steps, || work(steps))?;
    check(&sum, &(steps * (steps + 1) / 2))?;
    Ok(sample)
}

/// The value is opaque here and below, or the whole loop would be folded into a formula; promise and callback
/// are not.
fn visible(steps: u64) -> Promise<u64> {
    let mut sum = 0_u64;
    for step in 0..steps {
        match ready(black_box(step)).bind(|step| ready(step + 1)).try_take() {
            Ok(Ok(value)) => sum += value,
            Ok(Err(error)) => return settled(Err(error)),
            Err(pending) => return pending,
        }
    }
    ready(sum)
}

type Callback = fn(u64) -> Promise<u64>;

#[inline(never)]
fn increment(value: u64) -> Promise<u64> {
    ready(value + 1)
}

#[inline(never)]
fn bind_once(promise: Promise<u64>, callback: Callback) -> Promise<u64> {
    promise.bind(callback)
}

/// Counts, one step for each number; the sum follows from the count.
fn opaque(steps: u64) -> Promise<u64> {
    let callback: Callback = black_box(increment);
    let mut count = ready(0);
    for _ in 0..steps {
        count = bind_once(count, callback);
    }
    count.map(|count| count * (count + 1) / 2)
}

fn awaited(steps: u64) -> Promise<u64> {
    try_spawn(async move {
        let mut sum = 0_u64;
        for step in 0..steps {
            sum += ready(black_box(step)).await? + 1;
        }
        Ok::<_, Error>(sum)
    })
}

fn waited(steps: u64) -> Promise<u64> {
    lisle_direct::try_spawn(move |fiber| {
        let mut sum = 0_u64;
        for step in 0..steps {
            sum += fiber.wait(ready(black_box(step)))? + 1;
        }
        Ok::<_, Error>(sum)
    })
}

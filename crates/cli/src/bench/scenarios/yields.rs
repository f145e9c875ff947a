//! A thousand tasks that give way to each other: the cheapest switch there is, through the run queue.

use super::Scenario;
use crate::bench::case::{Case, Label, Style, check};
use crate::bench::measure::Sample;
use crate::bench::plan::Plan;
use crate::bench::rig::Rig;
use lisle::{Error, Promise, all, try_spawn, yield_now};

const NAME: &str = "yield";

pub(super) const SCENARIO: Scenario =
    Scenario { name: NAME, about: "one yield of 1000 tasks or fibers that yield 1000 times each", cases };

fn cases(plan: &Plan) -> Vec<Case> {
    let (width, length) = (plan.width, plan.length);
    let case = |style, start: fn(u64) -> Promise<u64>| {
        Case::new(Label::new(NAME, style), plan.cpu_round, move |repeat| {
            measure(width, length * repeat, start)
        })
    };
    vec![case(Style::Async, task), case(Style::Direct, fiber)]
}

fn measure(width: u64, length: u64, start: fn(u64) -> Promise<u64>) -> Result<Sample, String> {
    let rig = Rig::scheduler();
    // Once unmeasured: tables grow to their size, stacks are mapped and touched.
    rig.drive(all((0..width).map(|_| start(1)).collect::<Vec<_>>()))?;
    let many = all((0..width).map(|_| start(length)).collect::<Vec<_>>());
    let (sample, counts) = rig.measure(width * length, || many)?;
    check(&counts.iter().sum::<u64>(), &(width * length))?;
    Ok(sample)
}

fn task(length: u64) -> Promise<u64> {
    try_spawn(async move {
        let mut yielded = 0;
        for _ in 0..length {
            yield_now().await?;
            yielded += 1;
        }
        Ok::<_, Error>(yielded)
    })
}

fn fiber(length: u64) -> Promise<u64> {
    lisle_direct::try_spawn(move |fiber| {
        let mut yielded = 0;
        for _ in 0..length {
            fiber.yield_now()?;
            yielded += 1;
        }
        Ok::<_, Error>(yielded)
    })
}

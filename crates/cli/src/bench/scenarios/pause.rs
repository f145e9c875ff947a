//! Many chains of pauses side by side: what suspension costs when a lap wakes a thousand at once.

use super::{Scenario, on_each_engine};
use crate::bench::case::{Case, Style};
use crate::bench::plan::Plan;
use lisle::{Error, Promise, all, pause, ready, try_spawn};

const NAME: &str = "pause";

pub(super) const SCENARIO: Scenario =
    Scenario { name: NAME, about: "one pause of 1000 chains of 1000 pauses each", cases };

fn cases(plan: &Plan) -> Vec<Case> {
    let (width, length) = (plan.width, plan.length);
    let styles = [
        (Style::Bind, chain_bind as fn(u64) -> _),
        (Style::Async, chain_async),
        (Style::Direct, chain_direct),
    ];
    let cases = styles.map(|(style, chain)| {
        on_each_engine(plan, NAME, style, width * length, move || many(width, length, chain))
    });
    cases.into_iter().flatten().collect()
}

/// `width` chains of `length` pauses; promises how many pauses there were.
fn many(width: u64, length: u64, chain: fn(u64) -> Promise<u64>) -> Promise<u64> {
    let chains: Vec<Promise<u64>> = (0..width).map(|_| chain(length)).collect();
    all(chains).map(|counts| counts.iter().sum())
}

/// A chain of pauses, each bound to the rest; promises its length.
pub(super) fn chain_bind(length: u64) -> Promise<u64> {
    step(length, 0)
}

fn step(left: u64, paused: u64) -> Promise<u64> {
    if left == 0 {
        return ready(paused);
    }
    pause().bind(move |()| step(left - 1, paused + 1))
}

/// The same in a task.
pub(super) fn chain_async(length: u64) -> Promise<u64> {
    try_spawn(async move {
        let mut paused = 0;
        for _ in 0..length {
            pause().await?;
            paused += 1;
        }
        Ok::<_, Error>(paused)
    })
}

/// The same in a fiber.
pub(super) fn chain_direct(length: u64) -> Promise<u64> {
    lisle_direct::try_spawn(move |fiber| {
        let mut paused = 0;
        for _ in 0..length {
            fiber.wait(pause())?;
            paused += 1;
        }
        Ok::<_, Error>(paused)
    })
}

//! The scenarios: one file each. A scenario answers one question and yields a case for each style and engine
//! in which the question makes sense.
//!
//! To add one: a file here, with a function from [`Plan`] to cases, and a line in [`ALL`].

mod bind_resolved;
mod bind_suspended;
mod churn;
mod echo;
mod memory;
mod pause;
mod pingpong;
mod spawn;
mod timer;
mod yields;

use super::case::{Case, Label, Style, check};
use super::plan::Plan;
use super::rig::Rig;
use lisle::{EngineKind, Promise};

/// The name that stands for all scenarios.
pub(crate) const EVERYTHING: &str = "all";

/// One question.
#[derive(Debug)]
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    /// What one operation is, in one line.
    pub(crate) about: &'static str,
    pub(crate) cases: fn(&Plan) -> Vec<Case>,
}

/// All scenarios, in the order in which they are reported.
pub(crate) const ALL: &[Scenario] = &[
    bind_resolved::SCENARIO,
    bind_suspended::SCENARIO,
    pause::SCENARIO,
    yields::SCENARIO,
    spawn::SCENARIO,
    timer::SCENARIO,
    pingpong::SCENARIO,
    echo::SCENARIO,
    churn::SCENARIO,
    memory::SCENARIO,
];

/// A case on each engine for work that is one promise of how many operations it was.
fn on_each_engine(
    plan: &Plan,
    scenario: &'static str,
    style: Style,
    operations: u64,
    work: impl Fn() -> Promise<u64> + Copy + 'static,
) -> Vec<Case> {
    let case = |&kind: &EngineKind| {
        Case::new(Label::new(scenario, style).on(kind), plan.cpu_round, move |repeat| {
            let rig = Rig::on(kind)?.with_idle_connection()?;
            // Once unmeasured: tables grow to their size, stacks are mapped.
            check(&rig.drive(work())?, &operations)?;
            let (sample, done) = rig.measure(operations * repeat, || repeated(repeat, work))?;
            check(&done, &(operations * repeat))?;
            Ok(sample)
        })
    };
    plan.engines.iter().map(case).collect()
}

/// The same work several times, one after the other; promises the sum.
fn repeated(times: u64, work: impl Fn() -> Promise<u64> + Copy + 'static) -> Promise<u64> {
    if times == 0 {
        return lisle::ready(0);
    }
    work().bind(move |done| repeated(times - 1, work).map(move |more| done + more))
}

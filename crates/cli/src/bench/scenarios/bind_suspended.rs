//! One chain of pauses: each step waits, and each has one turn of the engine to itself. What suspension costs
//! when it really happens and nothing else goes on.
//!
//! The readiness engines make a system call for each turn, the ring makes none: here its price shows
//! undiluted.

use super::pause::{chain_async, chain_bind, chain_direct};
use super::{Scenario, on_each_engine};
use crate::bench::case::{Case, Style};
use crate::bench::plan::Plan;

const NAME: &str = "bind-suspended";

pub(super) const SCENARIO: Scenario =
    Scenario { name: NAME, about: "one step of a chain of 1000 pauses, with an engine turn for each", cases };

fn cases(plan: &Plan) -> Vec<Case> {
    let steps = plan.length;
    let styles = [
        (Style::Bind, chain_bind as fn(u64) -> _),
        (Style::Async, chain_async),
        (Style::Direct, chain_direct),
    ];
    let cases = styles.map(|(style, chain)| on_each_engine(plan, NAME, style, steps, move || chain(steps)));
    cases.into_iter().flatten().collect()
}

//! Several promises to one: `join both all choose pick nchoose npick nsplit`.

use lisle_core::{Promise, all, both, choose, join, nchoose, nchoose_split, npick, pick};

use crate::machine::Machine;
use crate::program::Composition;

pub(super) fn run(machine: &Machine, action: &Composition) {
    match action {
        Composition::Join(to, list) => machine.assign(*to, join(machine.promises(list)).map(|()| 0)),
        Composition::Both(to, p, q) => {
            let pair = both(machine.promise(*p).promise(), machine.promise(*q).promise());
            machine.assign(*to, pair.map(|(v, w)| encoded([v, w])));
        }
        Composition::All(to, list) => machine.assign(*to, all(machine.promises(list)).map(encoded)),
        Composition::Choose(to, list) => machine.assign(*to, choose(machine.promises(list))),
        Composition::Pick(to, list) => machine.assign(*to, pick(machine.promises(list))),
        Composition::NChoose(to, list) => machine.assign(*to, nchoose(machine.promises(list)).map(encoded)),
        Composition::NPick(to, list) => machine.assign(*to, npick(machine.promises(list)).map(encoded)),
        Composition::NChooseSplit(to, list) => {
            let split = nchoose_split(machine.promises(list));
            let count = |(values, pending): (Vec<i64>, Vec<Promise<i64>>)| {
                encoded([encoded(values), i64::try_from(pending.len()).expect("a program is short")])
            };
            machine.assign(*to, split.map(count));
        }
    }
}

/// FORMAT.md's `enc`: a list as one small integer.
pub(super) fn encoded(values: impl IntoIterator<Item = i64>) -> i64 {
    values.into_iter().fold(0, |code, value| (code * 7 + value + 1) % 1000)
}

//! The timer wheel against a sorted map: inserts, cancels and jumps of the clock, as bytes say.
//!
//! The same laws as in `crates/core/tests/timers.rs`; here the fuzzer looks for the programs.

#![no_main]

use std::collections::BTreeMap;

use libfuzzer_sys::fuzz_target;
use lisle_core::timers::{TimerKey, Timers};

/// Names a timer; of one deadline the smaller one was inserted first.
type Id = usize;

#[derive(Default)]
struct Pair {
    timers: Timers<Id>,
    model: BTreeMap<(u64, Id), TimerKey>,
    keys: Vec<(TimerKey, u64)>,
    now: u64,
}

impl Pair {
    fn insert(&mut self, deadline: u64) {
        let id = self.keys.len();
        let key = self.timers.insert(deadline, id);
        self.model.insert((deadline, id), key);
        self.keys.push((key, deadline));
    }

    fn cancel(&mut self, number: u64) {
        let Some(id) = (number as usize).checked_rem(self.keys.len()) else { return };
        let (key, deadline) = self.keys[id];
        let expected = self.model.remove(&(deadline, id)).map(|_| id);
        assert_eq!(self.timers.get_mut(key).copied(), expected);
        assert_eq!(self.timers.cancel(key), expected);
    }

    fn expire(&mut self, now: u64) {
        self.now = self.now.max(now);
        let is_due = |&(deadline, _): &(u64, Id)| deadline <= self.now && deadline < u64::MAX;
        let due: Vec<_> = self.model.keys().copied().take_while(is_due).collect();
        self.model.retain(|timer, _| !due.contains(timer));
        let mut actual = Vec::new();
        self.timers.expire(now, &mut actual);
        assert_eq!(actual, due.into_iter().map(|(_, id)| id).collect::<Vec<_>>());
    }

    fn drain(&mut self) {
        let mut drained = Vec::new();
        self.timers.drain(&mut drained);
        assert_eq!(drained, self.model.keys().map(|timer| timer.1).collect::<Vec<_>>());
        self.model.clear();
    }

    fn check(&self) {
        assert_eq!(self.timers.len(), self.model.len());
        let earliest = self.model.keys().next().map(|timer| timer.0).filter(|&deadline| deadline < u64::MAX);
        let next = self.timers.next_deadline();
        assert_eq!(next.is_some(), earliest.is_some());
        if let (Some(next), Some(earliest)) = (next, earliest) {
            assert!(next <= earliest, "{next} is later than {earliest}");
            assert!(next > self.now || earliest <= self.now, "{next} would spin");
        }
    }
}

/// A byte of command, and a number with as many bits as the next byte says.
fn command<'a>(bytes: &mut impl Iterator<Item = &'a u8>) -> Option<(u8, u64)> {
    let (kind, bits) = (*bytes.next()?, u32::from(*bytes.next()?) % 64);
    let number = (0..=bits / 8).try_fold(0_u64, |number, _| Some(number << 8 | u64::from(*bytes.next()?)))?;
    Some((kind, number & (u64::MAX >> (63 - bits))))
}

fuzz_target!(|bytes: &[u8]| {
    let mut pair = Pair::default();
    let mut bytes = bytes.iter();
    while let Some((kind, number)) = command(&mut bytes) {
        match kind % 16 {
            0..5 => pair.insert(pair.now.saturating_add(number)),
            5 => pair.insert(pair.now.saturating_sub(number)),
            6 => pair.insert(u64::MAX - number),
            7..10 => pair.cancel(number),
            10..13 => pair.expire(pair.now.saturating_add(number)),
            13 => pair.expire(pair.now.saturating_sub(number)),
            14 => pair.expire(pair.timers.next_deadline().unwrap_or(0)),
            _ => pair.drain(),
        }
        pair.check();
    }
});

//! The timer wheel: first each promise of its interface by itself, then random programs against a sorted map.

use std::collections::BTreeMap;
use std::rc::Rc;

use lisle_core::timers::{TimerKey, Timers};

/// What `expire(now)` hands out.
fn expired<W>(timers: &mut Timers<W>, now: u64) -> Vec<W> {
    let mut due = Vec::new();
    timers.expire(now, &mut due);
    due
}

/// Marsaglia's xorshift: small, the same everywhere, and seeded, so that a failure can be run again.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// Near and far alike: each number of bits is equally likely.
    fn distance(&mut self) -> u64 {
        let bits = self.below(64);
        self.next() >> bits
    }
}

/// 64^k and its neighbours, for every level, and the ends of the range.
fn boundaries() -> Vec<u64> {
    let mut ticks = vec![0, 1, 2, 63, 64, 65, 127, 128, u64::MAX - 1];
    for level in 1..=10 {
        let width = 64_u64.pow(level);
        ticks.extend([width - 1, width, width + 1, 2 * width - 1, 2 * width, 15 * width + 1]);
    }
    ticks.sort_unstable();
    ticks.dedup();
    ticks
}

// ── Insert ─────────────────────────────────────────────────────────────────────────────────────────────────

#[test]
fn an_empty_wheel_has_nothing_to_say() {
    let mut timers: Timers<u8> = Timers::default();
    assert!(timers.is_empty());
    assert_eq!(timers.len(), 0);
    assert_eq!(timers.next_deadline(), None);
    assert!(expired(&mut timers, 1 << 40).is_empty());
    assert!(format!("{timers:?}").contains("len: 0"));
}

#[test]
fn a_past_deadline_is_due_at_the_next_expire() {
    let mut timers = Timers::new();
    assert!(expired(&mut timers, 1_000).is_empty());
    timers.insert(1_000, "now");
    timers.insert(0, "long ago");
    assert_eq!(timers.next_deadline(), Some(0));
    assert_eq!(expired(&mut timers, 1_000), ["long ago", "now"]);
    timers.insert(999, "just now");
    assert_eq!(timers.next_deadline(), Some(999));
    assert_eq!(expired(&mut timers, 1_000), ["just now"]);
    assert_eq!(timers.next_deadline(), None);
}

#[test]
fn past_deadlines_come_in_order_and_before_the_others() {
    let mut timers = Timers::new();
    timers.insert(101, (101, 'a'));
    expired(&mut timers, 100);
    for timer in [(7, 'b'), (9, 'c'), (7, 'd'), (100, 'e'), (0, 'f'), (9, 'g')] {
        timers.insert(timer.0, timer);
    }
    let order = [(0, 'f'), (7, 'b'), (7, 'd'), (9, 'c'), (9, 'g'), (100, 'e'), (101, 'a')];
    assert_eq!(expired(&mut timers, 101), order);
}

#[test]
fn the_last_tick_never_comes() {
    let mut timers = Timers::new();
    let never = timers.insert(u64::MAX, "never");
    timers.insert(u64::MAX - 1, "almost never");
    assert_eq!(expired(&mut timers, u64::MAX - 2), [""; 0]);
    assert_eq!(expired(&mut timers, u64::MAX), ["almost never"]);
    let never_either = timers.insert(u64::MAX, "never either");
    assert_eq!(expired(&mut timers, u64::MAX), [""; 0]);
    assert_eq!((timers.len(), timers.next_deadline()), (2, None));
    assert_eq!(timers.cancel(never), Some("never"));
    assert_eq!(timers.cancel(never_either), Some("never either"));
    assert!(timers.is_empty());
}

// ── Cancel and keys ────────────────────────────────────────────────────────────────────────────────────────

#[test]
fn cancel_takes_any_place_of_a_list() {
    for victim in 0..3 {
        for deadline in [0, 5, 64, 1 << 30, u64::MAX] {
            let mut timers = Timers::new();
            let keys = [0, 1, 2].map(|id| timers.insert(deadline, id));
            assert_eq!(timers.cancel(keys[victim]), Some(victim));
            let rest: Vec<usize> = (0..3).filter(|&id| id != victim).collect();
            if deadline == u64::MAX {
                assert_eq!(timers.len(), 2);
            } else {
                assert_eq!(expired(&mut timers, deadline), rest);
            }
        }
    }
}

#[test]
fn cancelling_the_last_timer_of_a_slot_clears_its_deadline() {
    for deadline in boundaries() {
        let mut timers = Timers::new();
        let key = timers.insert(deadline, ());
        assert!(timers.next_deadline().is_some_and(|tick| tick <= deadline));
        assert_eq!(timers.cancel(key), Some(()));
        assert_eq!(timers.next_deadline(), None);
    }
}

#[test]
fn cancel_finds_a_timer_that_has_cascaded() {
    let mut timers = Timers::new();
    let keys = [0, 1, 2].map(|id| timers.insert(64 * 64 + 70, id));
    expired(&mut timers, 64 * 64);
    assert_eq!(timers.cancel(keys[1]), Some(1));
    expired(&mut timers, 64 * 64 + 64);
    assert_eq!(timers.cancel(keys[0]), Some(0));
    assert_eq!(expired(&mut timers, 64 * 64 + 70), [2]);
}

#[test]
fn keys_are_stale_once_their_timer_has_gone_even_when_the_seat_is_taken_again() {
    let mut timers = Timers::new();
    let cancelled = timers.insert(5, "cancelled");
    timers.cancel(cancelled);
    let fired = timers.insert(5, "fired");
    assert_eq!(expired(&mut timers, 5), ["fired"]);
    let fired_late = timers.insert(5, "fired late");
    assert_eq!(expired(&mut timers, 5), ["fired late"]);
    let mut living = timers.insert(10, "living");
    for key in [cancelled, fired, fired_late] {
        assert_ne!(key, living);
        assert_eq!(timers.get_mut(key), None);
        assert_eq!(timers.cancel(key), None);
    }
    for _ in 0..1_000 {
        let stale = living;
        assert_eq!(timers.cancel(stale), Some("living"));
        living = timers.insert(10, "living");
        assert_eq!(timers.cancel(stale), None);
    }
    assert_eq!(timers.len(), 1);
}

#[test]
fn a_key_of_another_wheel_is_no_danger() {
    let mut large = Timers::new();
    let far = (0..100).map(|id| large.insert(id, id)).last().expect("a hundred keys");
    let mut small = Timers::new();
    small.insert(1, 1);
    assert_eq!(small.cancel(far), None);
}

#[test]
fn get_mut_changes_what_is_handed_out() {
    let mut timers = Timers::new();
    let key = timers.insert(70, 1);
    *timers.get_mut(key).expect("a living timer") = 2;
    assert_eq!(expired(&mut timers, 70), [2]);
    assert_eq!(timers.get_mut(key), None);
}

// ── Expire ─────────────────────────────────────────────────────────────────────────────────────────────────

#[test]
fn expire_appends_and_keeps_what_is_there() {
    let mut timers = Timers::new();
    timers.insert(1, "new");
    let mut due = vec!["old"];
    timers.expire(1, &mut due);
    assert_eq!(due, ["old", "new"]);
}

#[test]
fn each_boundary_fires_at_its_tick_and_not_one_before() {
    for start in [0, 1, 62, 63, 64, 4_095, 4_096, 1_000_000_007] {
        for distance in boundaries() {
            let Some(deadline) = distance.checked_add(start).filter(|&tick| tick < u64::MAX) else {
                continue;
            };
            let mut timers = Timers::new();
            expired(&mut timers, start);
            timers.insert(deadline, deadline);
            if distance > 0 {
                assert!(expired(&mut timers, deadline - 1).is_empty(), "{start} + {distance} came early");
                assert_eq!(timers.next_deadline(), Some(deadline), "{start} + {distance}, one tick before");
            }
            assert_eq!(expired(&mut timers, deadline), [deadline], "{start} + {distance}");
        }
    }
}

#[test]
fn all_boundaries_together_come_in_order() {
    let ticks = boundaries();
    let mut timers = Timers::new();
    for &tick in ticks.iter().rev() {
        timers.insert(tick, tick);
    }
    assert_eq!(expired(&mut timers, u64::MAX), ticks);
}

#[test]
fn a_jump_takes_all_that_is_due_and_nothing_else() {
    const JUMP: u64 = 1_000_000_000_000;
    let mut timers = Timers::new();
    for deadline in [JUMP + 1, JUMP, JUMP - 1, 1, 64, JUMP * 2] {
        timers.insert(deadline, deadline);
    }
    assert_eq!(expired(&mut timers, JUMP), [1, 64, JUMP - 1, JUMP]);
    assert_eq!(timers.next_deadline(), Some(JUMP + 1));
    assert_eq!(expired(&mut timers, JUMP * 2), [JUMP + 1, JUMP * 2]);
}

#[test]
fn time_does_not_run_backwards() {
    let mut timers = Timers::new();
    expired(&mut timers, 500);
    timers.insert(400, "past");
    timers.insert(600, "future");
    assert_eq!(expired(&mut timers, 3), ["past"]);
    timers.insert(500, "now");
    assert_eq!(expired(&mut timers, 0), ["now"]);
    assert_eq!(expired(&mut timers, 600), ["future"]);
}

#[test]
fn equal_deadlines_fire_as_inserted_although_some_came_from_higher_levels() {
    const DEADLINE: u64 = 64 * 64 * 64 + 64 * 64 + 64 + 1;
    let mut timers = Timers::new();
    let mut id = 0;
    // Each stop is inside another level as seen from the deadline, so the timers start on levels 3, 2, 1 and
    // 0.
    for stop in [0, 5, 64 * 64 * 64, 64 * 64 * 64 + 64 * 64, DEADLINE - 1] {
        assert!(expired(&mut timers, stop).is_empty());
        for _ in 0..3 {
            timers.insert(DEADLINE, id);
            id += 1;
        }
    }
    assert_eq!(expired(&mut timers, DEADLINE), (0..id).collect::<Vec<_>>());
}

#[test]
fn following_next_deadline_reaches_every_timer_at_its_tick_in_few_steps() {
    for deadline in boundaries() {
        let mut timers = Timers::new();
        timers.insert(deadline, ());
        let mut now = 0;
        let mut steps = 0;
        while let Some(tick) = timers.next_deadline() {
            assert!(tick <= deadline);
            assert!(tick > now || steps == 0, "a step that does not go on would spin");
            now = tick;
            steps += 1;
            assert_eq!(expired(&mut timers, now).len(), usize::from(now == deadline));
        }
        assert_eq!(now, deadline);
        assert!(steps <= 11, "{steps} steps to {deadline}");
    }
}

#[test]
fn waiters_are_dropped_once_and_by_nobody_else() {
    let token = Rc::new(());
    let mut timers = Timers::new();
    let key = timers.insert(1, Rc::clone(&token));
    timers.insert(2, Rc::clone(&token));
    timers.insert(3_000, Rc::clone(&token));
    timers.insert(u64::MAX, Rc::clone(&token));
    drop(timers.cancel(key));
    assert_eq!(Rc::strong_count(&token), 4);
    let due = expired(&mut timers, 2);
    assert_eq!(Rc::strong_count(&token), 4);
    drop(due);
    assert_eq!(Rc::strong_count(&token), 3);
    drop(timers);
    assert_eq!(Rc::strong_count(&token), 1);
}

// ── Drain ──────────────────────────────────────────────────────────────────────────────────────────────────

#[test]
fn drain_hands_out_everything_by_deadline_and_every_key_is_stale_after() {
    let mut timers = Timers::new();
    expired(&mut timers, 1_000);
    let deadlines = [u64::MAX, 5, 2_000, 1_001, u64::MAX - 1, 5, 1 << 40, 0, 2_000, u64::MAX];
    let keys: Vec<_> =
        (0..).zip(deadlines).map(|(id, deadline)| timers.insert(deadline, (deadline, id))).collect();
    timers.cancel(keys[3]);
    let mut drained = vec![(7, 7)];
    timers.drain(&mut drained);
    let mut expected: Vec<_> =
        deadlines.into_iter().zip(0..).filter(|&(deadline, _)| deadline != 1_001).collect();
    expected.sort_unstable();
    assert_eq!(drained.remove(0), (7, 7));
    assert_eq!(drained, expected);
    assert!(timers.is_empty() && timers.next_deadline().is_none());
    for deadline in deadlines {
        timers.insert(deadline, (deadline, 100));
    }
    for key in keys {
        assert_eq!(timers.cancel(key), None);
    }
    assert_eq!(timers.len(), deadlines.len());
    timers.insert(999, (999, 0));
    assert_eq!(timers.next_deadline(), Some(0), "time goes on from where it was");
}

// ── Against a model ────────────────────────────────────────────────────────────────────────────────────────

/// The wheel, and beside it a map that is sorted by (deadline, order of insertion) and so obviously right.
#[derive(Default)]
struct Pair {
    timers: Timers<u64>,
    model: BTreeMap<(u64, u64), TimerKey>,
    /// Every key ever given out, with what it stood for: most are stale, and have to be refused.
    keys: Vec<(TimerKey, u64)>,
    now: u64,
}

impl Pair {
    fn insert(&mut self, deadline: u64) {
        let id = self.keys.len() as u64;
        let key = self.timers.insert(deadline, id);
        self.model.insert((deadline, id), key);
        self.keys.push((key, deadline));
    }

    fn cancel(&mut self, id: u64) {
        let (key, deadline) = self.keys[id as usize];
        let expected = self.model.remove(&(deadline, id)).map(|_| id);
        assert_eq!(self.timers.get_mut(key).copied(), expected);
        assert_eq!(self.timers.cancel(key), expected);
    }

    fn expire(&mut self, now: u64) {
        self.now = self.now.max(now);
        let mut expected = Vec::new();
        while let Some(first) = self.model.first_entry() {
            let (deadline, id) = *first.key();
            if deadline > self.now || deadline == u64::MAX {
                break;
            }
            expected.push(id);
            first.remove();
        }
        assert_eq!(expired(&mut self.timers, now), expected, "now = {now}");
    }

    fn check(&self) {
        assert_eq!(self.timers.len(), self.model.len());
        assert_eq!(self.timers.is_empty(), self.model.is_empty());
        let earliest = self.model.keys().next().map(|key| key.0).filter(|&deadline| deadline < u64::MAX);
        let next = self.timers.next_deadline();
        assert_eq!(next.is_some(), earliest.is_some());
        if let (Some(next), Some(earliest)) = (next, earliest) {
            assert!(next <= earliest, "{next} is later than {earliest}");
            assert!(next > self.now || earliest <= self.now, "{next} would spin");
            if earliest > self.now && earliest / 64 == self.now / 64 {
                assert_eq!(next, earliest, "exact within the block of 64 ticks");
            }
        }
    }
}

/// One random program. `spread` bounds the usual distance: a small one makes many equal deadlines.
fn random_program(seed: u64, spread: u64, steps: u64) {
    let mut random = Random(seed);
    let mut pair = Pair::default();
    for _ in 0..steps {
        match random.below(100) {
            0..45 => pair.insert(pair.now.saturating_add(random.below(spread))),
            45..50 => pair.insert(pair.now.saturating_add(random.distance())),
            50..53 => pair.insert(pair.now.saturating_sub(random.below(spread))),
            53..54 => pair.insert(u64::MAX),
            54..75 if !pair.keys.is_empty() => {
                let id = random.below(pair.keys.len() as u64);
                pair.cancel(id);
            }
            75..90 => pair.expire(pair.now + random.below(spread / 8 + 2)),
            90..98 => {
                let next = pair.timers.next_deadline().unwrap_or(0);
                pair.expire(next);
            }
            98 => pair.expire(pair.now.saturating_sub(random.below(1_000))),
            99 => pair.expire(pair.now.saturating_add(random.distance() >> 20)),
            _ => {}
        }
        pair.check();
    }
    pair.expire(u64::MAX - 1);
    pair.check();
}

#[test]
fn random_programs_agree_with_a_sorted_map() {
    for seed in 1..=40 {
        for spread in [4, 64, 200, 5_000, 300_000, 1 << 40] {
            random_program(seed * 0x9E37_79B9, spread, 1_500);
        }
    }
}

#[test]
fn random_programs_agree_near_the_end_of_time() {
    for seed in 1..=40 {
        let mut random = Random(seed);
        let mut pair = Pair::default();
        pair.expire(u64::MAX - 100_000);
        for _ in 0..1_000 {
            pair.insert(u64::MAX - random.below(110_000));
            let id = random.below(pair.keys.len() as u64 * 2);
            if id < pair.keys.len() as u64 {
                pair.cancel(id);
            }
            pair.expire(pair.now.saturating_add(random.below(120)));
            pair.check();
        }
        pair.expire(u64::MAX);
        pair.check();
    }
}

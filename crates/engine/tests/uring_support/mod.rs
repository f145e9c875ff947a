//! What the ring's own test files share.
#![allow(dead_code, reason = "each test file uses a part")]

use lisle_engine::uring::{Config, Uring};
use lisle_engine::{Completion, Engine, Fd, Op, Outcome, Submitted, Token, Wait};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// A hang becomes a failure after this many turns of `STEP`.
pub(crate) const TURNS_MAX: usize = 1000;
pub(crate) const STEP: Wait = Wait::For(Duration::from_millis(20));

pub(crate) fn open(config: Config) -> Option<Uring> {
    match Uring::open(&config) {
        Ok(engine) => Some(engine),
        Err(refusal) => {
            eprintln!("skipped: no io_uring here: {refusal}");
            None
        }
    }
}

pub(crate) fn pair() -> (Fd, UnixStream) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    ours.set_nonblocking(true).unwrap();
    (Fd::new(OwnedFd::from(ours)), theirs)
}

pub(crate) fn start(engine: &mut Uring, token: u64, op: Op) {
    assert!(matches!(engine.submit(Token(token), op), Submitted::Pending));
}

/// Turns until `enough` says so.
pub(crate) fn turn_until(
    engine: &mut Uring,
    mut enough: impl FnMut(&[Completion]) -> bool,
) -> Vec<Completion> {
    let mut done = Vec::new();
    for _ in 0..TURNS_MAX {
        if enough(&done) {
            return done;
        }
        engine.turn(STEP, &mut done).unwrap();
    }
    panic!("still waiting after {TURNS_MAX} turns; so far {done:?}; {engine:?}");
}

pub(crate) fn turn_until_last(engine: &mut Uring, count: usize) -> Vec<Completion> {
    turn_until(engine, |done| done.iter().filter(|completion| !completion.more).count() >= count)
}

pub(crate) fn one(engine: &mut Uring) -> Outcome {
    let mut done = turn_until_last(engine, 1);
    assert_eq!(done.len(), 1, "{done:?}");
    done.remove(0).outcome
}

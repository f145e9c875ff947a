//! What the ring costs, counted and not timed: system calls from the engine's own counters, allocations from
//! the allocator.

#![allow(unsafe_code)]

mod uring_support;

use lisle_engine::uring::{Config, Uring};
use lisle_engine::{Buf, Completion, Engine, Fd, Op, Outcome, Submitted, Token, Wait};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::os::fd::OwnedFd;
use uring_support::{open, pair, start};

/// Counts the allocations of each thread.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call is passed to `System` unchanged, which keeps the trait's promises.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // `try_with`: a thread may allocate while its storage is torn down.
        let _counted = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: `ptr` came from `alloc` above, which is `System`'s, with this layout.
        unsafe { System.dealloc(ptr, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn an_idle_lap_makes_no_system_call() {
    let Some(mut engine) = open(Config::default()) else { return };
    let _waker = engine.waker();
    let (fd, _peer) = pair();
    let mut done = Vec::new();
    for _ in 0..100 {
        engine.turn(Wait::Poll, &mut done).unwrap();
    }
    assert_eq!(engine.counters().system_calls, 0, "nothing in flight");
    start(&mut engine, 1, Op::Recv { fd, buf: Buf::with_capacity(64) });
    engine.turn(Wait::Poll, &mut done).unwrap();
    assert_eq!(engine.counters().system_calls, 1, "submitted");
    for _ in 0..100 {
        engine.turn(Wait::Poll, &mut done).unwrap();
    }
    assert_eq!(engine.counters().system_calls, 1, "a receive is pending, and nothing to do for it");
    assert_eq!(engine.counters().turns, 201);
    assert!(done.is_empty());
}

/// Two ends in one engine: each sends 64 bytes when it has received 64, and receives again in the same turn.
struct PingPong {
    engine: Uring,
    ends: [Fd; 2],
    spare: [Option<Buf>; 2],
    done: Vec<Completion>,
}

const RECV: u64 = 0;
const SEND: u64 = 2;

impl PingPong {
    fn new(mut engine: Uring) -> PingPong {
        let (first, second) = pair();
        let ends = [first, Fd::new(OwnedFd::from(second))];
        for (end, fd) in ends.iter().enumerate() {
            start(&mut engine, RECV + end as u64, Op::Recv { fd: fd.clone(), buf: Buf::with_capacity(64) });
        }
        start(&mut engine, SEND, Op::SendAll { fd: ends[0].clone(), buf: Buf::from(vec![7; 64]) });
        PingPong { engine, ends, spare: [None, Some(Buf::from(vec![7; 64]))], done: Vec::with_capacity(8) }
    }

    /// Turns until the first end has received `rounds` times.
    fn run(&mut self, rounds: usize) {
        let mut received = 0;
        while received < rounds {
            self.engine.turn(Wait::Forever, &mut self.done).unwrap();
            for completion in self.done.drain(..) {
                let end = (completion.token.0 % 2) as usize;
                match completion.outcome {
                    Outcome::Sent { sent: 64, buf } => self.spare[end] = Some(buf),
                    Outcome::Received { buf } if buf.len() == 64 => {
                        received += usize::from(end == 0);
                        let fd = &self.ends[end];
                        let send = Op::SendAll { fd: fd.clone(), buf: self.spare[end].take().unwrap() };
                        let recv = Op::Recv { fd: fd.clone(), buf };
                        for (kind, op) in [(SEND, send), (RECV, recv)] {
                            let submitted = self.engine.submit(Token(kind + end as u64), op);
                            assert!(matches!(submitted, Submitted::Pending));
                        }
                    }
                    other => panic!("{other:?}"),
                }
            }
        }
    }
}

#[test]
fn a_round_trip_costs_two_system_calls_and_no_allocation() {
    let Some(engine) = open(Config::default()) else { return };
    let mut pingpong = PingPong::new(engine);
    pingpong.run(100);
    let before = (pingpong.engine.counters().system_calls, ALLOCATIONS.get());
    pingpong.run(10_000);
    let after = (pingpong.engine.counters().system_calls, ALLOCATIONS.get());
    assert_eq!(after.0 - before.0, 20_000, "system calls");
    assert_eq!(after.1 - before.1, 0, "allocations");
    assert_eq!(pingpong.engine.oddities().restarts, 0);
}

#[test]
fn many_ops_share_one_system_call() {
    let Some(mut engine) = open(Config::default()) else { return };
    let mut done = Vec::new();
    for token in 0..256 {
        start(&mut engine, token, Op::Nop);
    }
    engine.turn(Wait::Forever, &mut done).unwrap();
    assert_eq!((done.len(), engine.counters().system_calls), (256, 1));
}

#[test]
fn a_wake_up_costs_no_system_call_of_its_own() {
    let Some(mut engine) = open(Config::default()) else { return };
    let (waker, mut done) = (engine.waker(), Vec::new());
    for _ in 0..100 {
        waker.wake();
        engine.turn(Wait::Forever, &mut done).unwrap();
    }
    assert_eq!(engine.counters().system_calls, 100, "one sleep each");
}

//! Descriptors and rings are given back: counted over many rounds, in a process of their own.
//!
//! Every test here holds `alone()`, since the count is the process's.

mod uring_support;

use lisle_engine::uring::{Config, Uring};
use lisle_engine::{Buf, Engine, Fd, Op, Outcome, Token, Wait};
use std::net::{TcpListener, TcpStream};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use uring_support::{one, open, pair, start, turn_until, turn_until_last};

fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn open_descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

#[test]
fn multishot_accept_goes_on_after_the_kernel_ends_it() {
    let _alone = alone();
    let Some(mut engine) = open(Config { sq_entries: 4, cq_entries: 4, ..Config::default() }) else { return };
    let before = open_descriptors();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let addr = listener.local_addr().unwrap();
    start(&mut engine, 1, Op::AcceptMulti { fd: Fd::new(listener.into()) });
    let mut done = Vec::new();
    engine.turn(Wait::Poll, &mut done).unwrap();
    // More connections than the completion queue has room for, so that the kernel ends the multishot.
    let clients: Vec<TcpStream> = (0..100).map(|_| TcpStream::connect(addr).unwrap()).collect();
    let done = turn_until(&mut engine, |done| done.len() == 100);
    assert!(done.iter().all(|c| c.more && matches!(c.outcome, Outcome::Accepted(_))), "{done:?}");
    assert!(engine.oddities().restarts > 0, "it has been armed again");
    engine.cancel(Token(1));
    assert!(matches!(one(&mut engine), Outcome::Canceled { buf: None }));
    drop((clients, done));
    assert_eq!(open_descriptors(), before, "the listener and all connections are closed");
}

#[test]
fn a_connection_that_comes_with_a_cancel_is_not_lost() {
    let _alone = alone();
    let Some(mut engine) = open(Config::default()) else { return };
    let before = open_descriptors();
    for round in 0..100 {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        start(&mut engine, round, Op::AcceptMulti { fd: Fd::new(listener.into()) });
        let mut done = Vec::new();
        engine.turn(Wait::Poll, &mut done).unwrap();
        let client = TcpStream::connect(addr).unwrap();
        engine.cancel(Token(round));
        let done = turn_until_last(&mut engine, 1);
        let accepted = done.iter().filter(|c| matches!(c.outcome, Outcome::Accepted(_))).count();
        assert_eq!(
            done.len() - accepted,
            usize::from(!matches!(done.last().unwrap().outcome, Outcome::Accepted(_)))
        );
        drop((client, done));
        assert_eq!(open_descriptors(), before, "round {round}");
    }
}

#[test]
fn dropping_an_engine_with_a_hundred_receives_closes_everything_two_hundred_times() {
    let _alone = alone();
    if open(Config::default()).is_none() {
        return;
    }
    let before = open_descriptors();
    for round in 0..200 {
        let mut engine = open(Config::default()).unwrap();
        let _waker = engine.waker();
        let (fd, peer) = pair();
        for token in 0..100 {
            let op = match token % 3 {
                0 => Op::Recv { fd: fd.clone(), buf: Buf::with_capacity(64) },
                1 => Op::RecvPool { fd: fd.clone() },
                _ => Op::RecvMulti { fd: fd.clone() },
            };
            start(&mut engine, token, op);
        }
        // Some rounds leave everything in the submission queue.
        if round % 2 == 0 {
            engine.turn(Wait::For(Duration::from_micros(1)), &mut Vec::new()).unwrap();
        }
        drop(engine);
        assert_eq!(fd.holders(), 1, "round {round}: operations have let go");
        drop((fd, peer, _waker));
        assert_eq!(open_descriptors(), before, "round {round}");
    }
}

#[test]
fn a_thousand_rings_in_one_process() {
    let _alone = alone();
    if open(Config::default()).is_none() {
        return;
    }
    for round in 0..1000 {
        let mut engine =
            Uring::open(&Config::default()).unwrap_or_else(|refusal| panic!("{round}: {refusal}"));
        start(&mut engine, 1, Op::Nop);
        assert!(matches!(one(&mut engine), Outcome::Done));
    }
}

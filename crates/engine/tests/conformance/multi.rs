//! Multishot operations and the buffer pool.

use crate::rig::{Rig, bytes, failure, listener, pair, peer, reset, tcp_pair, write};
use lisle_engine::pool::PoolConfig;
use lisle_engine::readiness::{ACCEPTS_PER_TURN, RECEIVES_PER_TURN};
use lisle_engine::{EngineKind, Fd, Op, Outcome, Wait};
use rustix::io::Errno;
use std::collections::HashSet;
use std::net::TcpStream;
use std::time::Duration;

on_every_engine!(accept_multi_takes_a_hundred, |rig| {
    let (listening, address) = listener();
    let token = rig.start(Op::AcceptMulti { fd: listening });
    let mut servers = Vec::new();
    let mut clients = Vec::new();
    for round in [1, 60, 39] {
        clients.extend((0..round).map(|_| TcpStream::connect(address).unwrap()));
        while servers.len() < clients.len() {
            let completion = rig.next(token);
            assert!(completion.more);
            servers.push(crate::rig::accepted(completion.outcome));
        }
        rig.settle();
        assert!(rig.take(token).is_empty(), "no connection twice");
    }
    let peers: HashSet<_> = servers.iter().map(peer).collect();
    let expected: HashSet<_> = clients.iter().map(|client| client.local_addr().unwrap()).collect();
    assert_eq!(peers, expected);
    rig.engine.cancel(token);
    assert!(matches!(rig.finish(token), Outcome::Canceled { buf: None }));
});

on_every_engine!(a_flood_of_connects_does_not_fill_a_turn, |rig| {
    let (listening, address) = listener();
    let clients: Vec<_> = (0..100).map(|_| TcpStream::connect(address).unwrap()).collect();
    let token = rig.start(Op::AcceptMulti { fd: listening });
    let mut taken = 0;
    while taken < clients.len() {
        // What is left over from the turn before must not be slept on.
        let brought = rig.turn(Wait::Forever);
        assert!(rig.is_ring() || brought <= ACCEPTS_PER_TURN);
        taken += rig.take(token).len();
    }
});

on_every_engine!(accept_multi_survives_a_reset_peer, |rig| {
    let (listening, address) = listener();
    let token = rig.start(Op::AcceptMulti { fd: listening });
    reset(Fd::new(TcpStream::connect(address).unwrap().into()));
    let _client = TcpStream::connect(address).unwrap();
    assert!(rig.next(token).more);
    assert!(rig.next(token).more);
});

on_every_engine!(recv_pool_once, |rig| {
    for (a, b) in [pair(), tcp_pair()] {
        let token = rig.start(Op::RecvPool { fd: b.clone() });
        rig.settle();
        write(&a, b"pooled");
        assert_eq!(bytes(rig.finish(token)), b"pooled");
        write(&a, b"again");
        let token = rig.start(Op::RecvPool { fd: b.clone() });
        assert_eq!(bytes(rig.finish(token)), b"again");
        drop(a);
        let token = rig.start(Op::RecvPool { fd: b });
        assert_eq!(bytes(rig.finish(token)), b"");
    }
});

on_every_engine!(recv_multi_until_the_end, |rig| {
    for (a, b) in [pair(), tcp_pair()] {
        let token = rig.start(Op::RecvMulti { fd: b.clone() });
        for part in ["one", "two", "three"] {
            write(&a, part.as_bytes());
            let completion = rig.next(token);
            assert!(completion.more);
            assert_eq!(bytes(completion.outcome), part.as_bytes());
        }
        drop(a);
        assert_eq!(bytes(rig.finish(token)), b"");
        assert_eq!(b.holders(), 1);
    }
});

on_every_engine!(recv_multi_sees_an_end_that_comes_with_the_bytes, |rig| {
    for (a, b) in [pair(), tcp_pair()] {
        let token = rig.start(Op::RecvMulti { fd: b });
        rig.settle();
        write(&a, b"bye");
        drop(a);
        assert_eq!(bytes(rig.next(token).outcome), b"bye");
        assert_eq!(bytes(rig.finish(token)), b"");
    }
});

on_every_engine!(recv_multi_ends_with_a_reset, |rig| {
    let (a, b) = tcp_pair();
    let token = rig.start(Op::RecvMulti { fd: b });
    write(&a, b"then");
    assert_eq!(bytes(rig.next(token).outcome), b"then");
    reset(a);
    assert_eq!(failure(rig.finish(token)).0, Errno::CONNRESET);
});

on_every_engine!(a_fast_sender_does_not_fill_a_turn, |rig| {
    let (a, b) = pair();
    let token = rig.start(Op::RecvMulti { fd: b });
    rig.settle();
    write(&a, &[1; 10 * 4096]);
    let mut arrived = 0;
    while arrived < 10 * 4096 {
        let brought = rig.turn(Wait::Forever);
        assert!(rig.is_ring() || brought <= RECEIVES_PER_TURN);
        arrived +=
            rig.take(token).into_iter().map(|completion| bytes(completion.outcome).len()).sum::<usize>();
    }
});

on_every_engine!(cancelling_recv_multi_loses_no_byte, |rig| {
    let (a, b) = pair();
    let token = rig.start(Op::RecvMulti { fd: b.clone() });
    rig.settle();
    write(&a, b"precious");
    rig.engine.cancel(token);
    let mut all = Vec::new();
    loop {
        let completion = rig.next(token);
        match completion.outcome {
            Outcome::Received { buf } => all.extend_from_slice(&buf),
            Outcome::Canceled { buf: None } => {}
            other => panic!("{other:?}"),
        }
        if !completion.more {
            break;
        }
    }
    if all.is_empty() {
        all = rig.received(&b, 64);
    }
    assert_eq!(all, b"precious");
});

/// A rig whose pool has two buffers of 16 bytes.
fn poor(kind: EngineKind) -> Rig {
    Rig::open(kind, PoolConfig { buffer_bytes: 16, buffers_max: 2 }).unwrap()
}

on_every_engine!(a_dry_pool_only_delays, |rig| {
    let mut rig = poor(rig.kind());
    let (a, b) = pair();
    let token = rig.start(Op::RecvMulti { fd: b });
    let content: Vec<u8> = (0..200).collect();
    write(&a, &content);
    drop(a);
    let mut all = Vec::new();
    let mut held = Vec::new();
    loop {
        let completion = rig.next(token);
        let last = !completion.more;
        let Outcome::Received { buf } = completion.outcome else { panic!("{completion:?}") };
        all.extend_from_slice(&buf);
        held.push(buf);
        if last {
            break;
        }
        if held.len() >= 2 {
            // All buffers are out: more turns bring nothing, and do not fail.
            rig.settle();
            held.clear();
        }
    }
    assert_eq!(all, content);
});

on_every_engine!(a_receive_that_waits_for_the_pool_can_be_cancelled, |rig| {
    let mut rig = poor(rig.kind());
    let (a, b) = pair();
    let multi = rig.start(Op::RecvMulti { fd: b.clone() });
    write(&a, &[7; 64]);
    let held = [rig.next(multi), rig.next(multi)];
    rig.settle();
    assert!(rig.take_all().is_empty(), "both buffers are out");
    rig.engine.cancel(multi);
    assert!(matches!(rig.finish(multi), Outcome::Canceled { buf: None }));
    // Whoever brings a buffer is not held up by the pool.
    assert_eq!(rig.received(&b, 8), [7; 8]);
    let waiting = rig.start(Op::RecvPool { fd: b });
    rig.settle();
    assert!(rig.is_open(waiting));
    drop(held);
    assert_eq!(bytes(rig.finish(waiting)), [7; 16]);
});

on_every_engine!(waiting_for_the_pool_is_no_spinning, |rig| {
    let mut rig = poor(rig.kind());
    let (a, b) = pair();
    let multi = rig.start(Op::RecvMulti { fd: b });
    write(&a, &[7; 64]);
    let held = [rig.next(multi), rig.next(multi)];
    rig.settle();
    let before = rig.engine.counters().system_calls;
    assert_eq!(rig.turn(Wait::For(Duration::from_millis(20))), 0);
    assert!(rig.engine.counters().system_calls - before <= 2, "bytes wait, but nobody can take them");
    drop(held);
    assert!(rig.next(multi).more);
});

on_every_engine!(behind_a_receive_that_waits_for_the_pool, |rig| {
    let mut rig = poor(rig.kind());
    let (a, b) = pair();
    let multi = rig.start(Op::RecvMulti { fd: b.clone() });
    write(&a, &[7; 40]);
    let held = [rig.next(multi), rig.next(multi)];
    rig.settle();
    // Bytes are waiting and this one has a buffer, but it came later; when the other gives up, its turn has
    // come.
    let later = rig.recv(&b, 64);
    rig.settle();
    assert!(rig.is_open(later));
    rig.engine.cancel(multi);
    assert!(matches!(rig.finish(multi), Outcome::Canceled { buf: None }));
    assert_eq!(bytes(rig.finish(later)), [7; 8]);
    drop(held);
});

//! System calls: counted exactly, and few. The figures are targets of the project (TARGETS.md).

use crate::rig::{Rig, bytes, pair, tcp_pair};
use lisle_engine::{Buf, EngineKind, Fd, Op, Outcome, Token, Wait};
use rustix::net::{self, SendFlags};
use std::collections::HashMap;

on_every_engine!(a_lap_with_nothing_makes_no_call, |rig| {
    // Twice: fresh, and after a life of work.
    for _ in 0..2 {
        for _ in 0..3 {
            rig.turn(Wait::Poll);
        }
        let before = rig.engine.counters();
        for _ in 0..100 {
            assert_eq!(rig.turn(Wait::Poll), 0);
        }
        let after = rig.engine.counters();
        assert_eq!(after.system_calls, before.system_calls);
        assert_eq!(after.turns, before.turns + 100);
        let (a, b) = pair();
        rig.send_all(&a, b"work".to_vec());
        assert_eq!(rig.received(&b, 64), b"work");
        let token = rig.recv(&b, 64);
        rig.engine.cancel(token);
        rig.finish(token);
    }
});

on_every_engine!(operations_and_turns_are_counted, |rig| {
    let (a, b) = pair();
    rig.send_all(&a, b"x".to_vec());
    let pending = rig.recv(&b, 64);
    bytes(rig.finish(pending));
    let token = rig.recv(&b, 64);
    let counters = rig.engine.counters();
    assert_eq!((counters.submitted, counters.completed), (3, 2));
    rig.engine.cancel(token);
    rig.finish(token);
    let nop = rig.start(Op::Nop);
    rig.finish(nop);
    let counters = rig.engine.counters();
    assert_eq!((counters.submitted, counters.completed), (4, 4));
});

/// One message there and back, both ends in this thread.
fn ping_pong(rig: &mut Rig, a: &Fd, b: &Fd) {
    for (from, to) in [(a, b), (b, a)] {
        let token = rig.recv(to, 4096);
        rig.send_all(from, vec![1; 64]);
        assert_eq!(bytes(rig.finish(token)).len(), 64);
    }
}

on_every_engine!(ping_pong_costs_six, |rig| {
    const ROUNDS: u64 = 1000;
    for (a, b, name) in [pair(), tcp_pair()].into_iter().zip(["unix", "tcp"]).map(|((a, b), n)| (a, b, n)) {
        for _ in 0..4 {
            ping_pong(rig, &a, &b);
        }
        let before = rig.engine.counters().system_calls;
        for _ in 0..ROUNDS {
            ping_pong(rig, &a, &b);
        }
        let calls = rig.engine.counters().system_calls - before;
        println!(
            "pingpong {name} on {}: {} calls per round trip",
            rig.kind().name(),
            calls as f64 / ROUNDS as f64
        );
        assert!(calls <= 6 * ROUNDS);
    }
});

/// What an echo connection does next.
enum Role {
    ServerReceives(usize),
    ServerSends(usize),
    ClientReceives(usize),
    ClientSends(usize),
}

/// Runs request and answer over all connections at once until each has made `rounds`.
fn echo(rig: &mut Rig, connections: &[(Fd, Fd)], rounds: usize) {
    let mut roles: HashMap<Token, Role> = HashMap::new();
    let mut left = vec![rounds; connections.len()];
    let send = |fd: &Fd| Op::SendAll { fd: fd.clone(), buf: Buf::from(vec![1; 64]) };
    let receive = |fd: &Fd| Op::Recv { fd: fd.clone(), buf: Buf::with_capacity(4096) };
    for (index, (client, server)) in connections.iter().enumerate() {
        roles.insert(rig.start(receive(server)), Role::ServerReceives(index));
        roles.insert(rig.start(send(client)), Role::ClientSends(index));
    }
    while !roles.is_empty() {
        let mut completions = rig.take_all();
        if completions.is_empty() {
            rig.turn(Wait::Forever);
            completions = rig.take_all();
        }
        for completion in completions {
            match roles.remove(&completion.token).expect("its own token") {
                Role::ServerReceives(index) => {
                    assert_eq!(bytes(completion.outcome).len(), 64);
                    roles.insert(rig.start(send(&connections[index].1)), Role::ServerSends(index));
                }
                Role::ServerSends(index) if left[index] > 1 => {
                    roles.insert(rig.start(receive(&connections[index].1)), Role::ServerReceives(index));
                }
                Role::ServerSends(_) => {}
                Role::ClientSends(index) => {
                    roles.insert(rig.start(receive(&connections[index].0)), Role::ClientReceives(index));
                }
                Role::ClientReceives(index) => {
                    assert_eq!(bytes(completion.outcome).len(), 64);
                    left[index] -= 1;
                    if left[index] > 0 {
                        roles.insert(rig.start(send(&connections[index].0)), Role::ClientSends(index));
                    }
                }
            }
        }
    }
}

on_every_engine!(echo_over_a_hundred_connections_costs_four, |rig| {
    const ROUNDS: usize = 100;
    let connections: Vec<_> = (0..100).map(|_| tcp_pair()).collect();
    echo(rig, &connections, 4);
    let before = rig.engine.counters().system_calls;
    echo(rig, &connections, ROUNDS);
    let calls = (rig.engine.counters().system_calls - before) as f64 / (ROUNDS * 100) as f64;
    println!("echo over 100 connections on {}: {calls} calls per round trip", rig.kind().name());
    assert!(calls <= 4.1);
});

on_every_engine!(an_idle_wait_costs_one_call_per_turn, |rig| {
    let (a, b) = tcp_pair();
    let token = rig.recv(&b, 64);
    rig.settle();
    let before = rig.engine.counters().system_calls;
    for _ in 0..100 {
        rig.turn(Wait::Poll);
    }
    assert!(rig.engine.counters().system_calls - before <= 100);
    rig.send_all(&a, b"x".to_vec());
    assert!(matches!(rig.finish(token), Outcome::Received { .. }));
});

on_every_engine!(a_filled_buffer_is_followed_by_a_try_and_a_short_one_is_not, |rig| {
    if rig.kind() != EngineKind::Epoll {
        return;
    }
    let (a, b) = tcp_pair();
    for _ in 0..3 {
        ping_pong(rig, &a, &b);
    }
    let mut calls = rig.engine.counters().system_calls;
    let mut spent = |rig: &mut Rig| {
        let former = std::mem::replace(&mut calls, rig.engine.counters().system_calls);
        calls - former
    };
    let token = rig.recv(&b, 64);
    assert_eq!(spent(rig), 0, "the last one was short");
    rig.send_all(&a, vec![1; 128]);
    rig.finish(token);
    assert_eq!(spent(rig), 3, "send, epoll_wait, recv");
    assert_eq!(rig.received(&b, 128).len(), 64);
    assert_eq!(spent(rig), 1, "the last one was full, so more was likely");
    let token = rig.recv(&b, 64);
    assert_eq!(spent(rig), 0, "that one was short again");
    rig.send_all(&a, vec![1; 1]);
    rig.finish(token);
});

on_every_engine!(short_receives_are_trusted_again_after_urgent_data, |rig| {
    if rig.kind() != EngineKind::Epoll {
        return;
    }
    let (a, b) = tcp_pair();
    for _ in 0..3 {
        ping_pong(rig, &a, &b);
    }
    let token = rig.recv(&b, 64);
    net::send(&a, b"!", SendFlags::NOSIGNAL | SendFlags::OOB).unwrap();
    rig.settle();
    rig.send_all(&a, b"after".to_vec());
    rig.finish(token);
    for _ in 0..2 {
        ping_pong(rig, &a, &b);
    }
    let before = rig.engine.counters().system_calls;
    let token = rig.recv(&b, 64);
    assert_eq!(rig.engine.counters().system_calls, before);
    rig.engine.cancel(token);
});

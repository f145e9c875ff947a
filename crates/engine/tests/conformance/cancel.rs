//! Cancelling, at each stage of an operation: one last completion, the buffer back, the descriptor let go,
//! nothing lost.

use crate::rig::{accepted, any, bytes, listener, pair, peer, tcp_pair, tcp_socket, write};
use lisle_engine::{Buf, Fd, Interest, Op, Outcome, Token, Wait};
use rustix::net::sockopt;
use std::net::TcpStream;

/// The buffer of a cancelled operation.
#[track_caller]
fn canceled(outcome: Outcome) -> Option<Buf> {
    match outcome {
        Outcome::Canceled { buf } => buf,
        other => panic!("not cancelled: {other:?}"),
    }
}

on_every_engine!(the_unknown_is_ignored, |rig| {
    rig.engine.cancel(Token(u64::MAX));
    let nop = rig.start(Op::Nop);
    assert!(matches!(rig.finish(nop), Outcome::Done));
    rig.engine.cancel(nop);
    rig.settle();
    assert!(rig.take_all().is_empty());
});

on_every_engine!(a_pending_receive_gives_all_back, |rig| {
    for (_a, b) in [pair(), tcp_pair()] {
        for settled in [false, true] {
            let token = rig.recv(&b, 64);
            if settled {
                rig.settle();
            }
            assert!(b.holders() > 1, "an operation in flight holds its descriptor");
            rig.engine.cancel(token);
            rig.engine.cancel(token);
            assert_eq!(canceled(rig.finish(token)).map(|buf| buf.capacity()), Some(64));
            rig.settle();
            assert!(rig.take_all().is_empty(), "one completion, however often it is cancelled");
            assert_eq!(b.holders(), 1);
        }
    }
});

on_every_engine!(the_turn_after_a_cancel_does_not_sleep, |rig| {
    let _watchdog = crate::rig::Watchdog::new();
    let (_a, b) = pair();
    let token = rig.recv(&b, 64);
    rig.engine.cancel(token);
    while rig.is_open(token) {
        rig.turn(Wait::Forever);
    }
});

on_every_engine!(bytes_that_came_before_the_cancel_are_not_lost, |rig| {
    for (a, b) in [pair(), tcp_pair()] {
        for _ in 0..3 {
            let token = rig.recv(&b, 64);
            rig.settle();
            write(&a, b"precious");
            rig.engine.cancel(token);
            match rig.finish(token) {
                Outcome::Received { buf } => assert_eq!(&*buf, b"precious"),
                Outcome::Canceled { buf } => {
                    assert!(buf.is_some());
                    assert_eq!(rig.received(&b, 64), b"precious");
                }
                other => panic!("{other:?}"),
            }
        }
    }
});

on_every_engine!(a_finished_operation_stays_finished, |rig| {
    let (a, b) = pair();
    write(&a, b"done");
    let token = rig.recv(&b, 64);
    while rig.is_open(token) {
        rig.turn(Wait::Forever);
    }
    rig.engine.cancel(token);
    rig.settle();
    assert_eq!(bytes(rig.finish(token)), b"done");
    assert!(rig.take_all().is_empty());
});

on_every_engine!(in_the_middle_of_a_queue, |rig| {
    let (a, b) = pair();
    let tokens: Vec<_> = (0..5).map(|_| rig.recv(&b, 1)).collect();
    rig.settle();
    for index in [2, 0, 4] {
        rig.engine.cancel(tokens[index]);
        canceled(rig.finish(tokens[index]));
    }
    write(&a, b"xy");
    assert_eq!(bytes(rig.finish(tokens[1])), b"x");
    assert_eq!(bytes(rig.finish(tokens[3])), b"y");
});

on_every_engine!(a_large_send_tells_how_far_it_came, |rig| {
    const LENGTH: usize = 8 << 20;
    for (a, b) in [pair(), tcp_pair()] {
        sockopt::set_socket_send_buffer_size(&a, 4096).unwrap();
        let token = rig.start(Op::SendAll { fd: a.clone(), buf: Buf::from(vec![7; LENGTH]) });
        let mut arrived = rig.received(&b, 1000).len();
        rig.settle();
        assert!(rig.is_open(token));
        rig.engine.cancel(token);
        let promised = match rig.finish(token) {
            Outcome::Sent { sent, buf } => {
                assert!(sent < LENGTH && buf.len() == LENGTH);
                sent
            }
            other => panic!("bytes have arrived: {other:?}"),
        };
        drop(a);
        loop {
            let some = rig.received(&b, 1 << 20);
            if some.is_empty() {
                break;
            }
            arrived += some.len();
        }
        assert_eq!(arrived, promised);
    }
});

on_every_engine!(a_send_that_never_began, |rig| {
    let (a, _b) = pair();
    let first = rig.start(Op::SendAll { fd: a.clone(), buf: Buf::from(vec![7; 8 << 20]) });
    rig.settle();
    let second = rig.start(Op::SendAll { fd: a.clone(), buf: Buf::from("never") });
    rig.engine.cancel(second);
    assert_eq!(canceled(rig.finish(second)).as_deref(), Some(&b"never"[..]));
    rig.engine.cancel(first);
    assert!(matches!(rig.finish(first), Outcome::Sent { .. }));
});

on_every_engine!(accepts_lose_no_connection, |rig| {
    let (listening, address) = listener();
    for multi in [false, true] {
        let fd = listening.clone();
        let token = rig.start(if multi { Op::AcceptMulti { fd } } else { Op::Accept { fd } });
        rig.settle();
        let client = TcpStream::connect(address).unwrap();
        rig.engine.cancel(token);
        let mut found = Vec::new();
        while rig.is_open(token) {
            rig.turn(Wait::Forever);
        }
        for completion in rig.take(token) {
            match completion.outcome {
                Outcome::Accepted(fd) => found.push(Fd::new(fd)),
                Outcome::Canceled { buf: None } => assert!(!completion.more),
                other => panic!("{other:?}"),
            }
        }
        if found.is_empty() {
            found.push(accepted(rig.run(Op::Accept { fd: listening.clone() })));
        }
        assert_eq!(found.len(), 1);
        assert_eq!(peer(&found[0]), client.local_addr().unwrap());
    }
});

on_every_engine!(everything_else_that_waits, |rig| {
    let (_a, b) = pair();
    // A listener whose queue is full drops what comes, so that connecting takes for ever.
    let listening = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listening.local_addr().unwrap();
    rustix::net::listen(&listening, 0).unwrap();
    let clients: Vec<_> = (0..4).map(|_| tcp_socket()).collect();
    let connects: Vec<_> = clients
        .iter()
        .map(|fd| rig.start(Op::Connect { fd: fd.clone(), addr: Box::new(any(address)) }))
        .collect();
    let mut tokens = vec![
        rig.start(Op::Ready { fd: b.clone(), interest: Interest::Read }),
        rig.start(Op::RecvPool { fd: b.clone() }),
        rig.start(Op::RecvMulti { fd: b.clone() }),
    ];
    rig.settle();
    tokens.extend(connects.into_iter().filter(|&token| rig.is_open(token)));
    assert!(tokens.len() > 3, "four connections fit into a queue of none");
    rig.take_all();
    for &token in &tokens {
        rig.engine.cancel(token);
    }
    for token in tokens {
        assert!(canceled(rig.finish(token)).is_none());
    }
    assert_eq!(b.holders(), 1);
});

on_every_engine!(ten_thousand_in_flight, |rig| {
    const PAIRS: usize = 50;
    const EACH: usize = 200;
    let pairs: Vec<_> = (0..PAIRS).map(|_| pair()).collect();
    let mut tokens = Vec::new();
    for _ in 0..EACH {
        for (_a, b) in &pairs {
            tokens.push(rig.recv(b, 16));
        }
    }
    rig.settle();
    assert_eq!(rig.engine.in_flight(), PAIRS * EACH);
    // In an order that is neither first nor last in, first out.
    for step in 0..tokens.len() {
        rig.engine.cancel(tokens[step * 7919 % tokens.len()]);
    }
    let _watchdog = crate::rig::Watchdog::new();
    while rig.engine.in_flight() > 0 {
        rig.turn(Wait::Forever);
    }
    let completions = rig.take_all();
    assert_eq!(completions.len(), PAIRS * EACH);
    for completion in completions {
        assert_eq!(canceled(completion.outcome).map(|buf| buf.capacity()), Some(16));
    }
    for (a, b) in &pairs {
        assert_eq!(b.holders(), 1);
        write(a, b"still usable");
        assert_eq!(rig.received(b, 64), b"still usable");
    }
});

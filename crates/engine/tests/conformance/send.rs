//! Sending: all of it, in order, without signals, and with an exact count when it ends early.

use crate::rig::{Rig, bytes, failure, in_own_process, pair, reset, tcp_pair};
use lisle_engine::{Buf, Fd, Op, Outcome};
use rustix::io::Errno;
use rustix::net::sockopt;

/// Bytes that show where they belong.
fn pattern(length: usize, seed: u64) -> Vec<u8> {
    (0..length as u64).map(|index| (index.wrapping_mul(seed | 1) >> 3) as u8 ^ seed as u8).collect()
}

fn sum(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |sum, &byte| (sum ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

/// Receives until this many bytes have come.
fn receive_exactly(rig: &mut Rig, fd: &Fd, length: usize) -> Vec<u8> {
    let mut all = Vec::with_capacity(length);
    while all.len() < length {
        let some = rig.received(fd, 64 * 1024);
        assert!(!some.is_empty(), "ended after {} of {length} bytes", all.len());
        all.extend(some);
    }
    all
}

on_every_engine!(send_from_the_middle, |rig| {
    let (a, b) = pair();
    match rig.run(Op::Send { fd: a, buf: Buf::from("hello"), start: 2 }) {
        Outcome::Sent { sent, buf } => assert_eq!((sent, &*buf), (3, &b"hello"[..])),
        other => panic!("{other:?}"),
    }
    assert_eq!(rig.received(&b, 16), b"llo");
});

on_every_engine!(nothing_to_send_is_sent_at_once, |rig| {
    let (a, _b) = pair();
    for op in [
        Op::Send { fd: a.clone(), buf: Buf::from(""), start: 0 },
        Op::Send { fd: a.clone(), buf: Buf::from("done"), start: 4 },
        Op::SendAll { fd: a.clone(), buf: Buf::from("") },
    ] {
        assert!(matches!(rig.run(op), Outcome::Sent { sent: 0, .. }));
    }
});

on_every_engine!(send_may_be_short_and_says_so, |rig| {
    let (a, b) = pair();
    sockopt::set_socket_send_buffer_size(&a, 4096).unwrap();
    let content = pattern(1 << 20, 5);
    let mut start = 0;
    let mut arrived = Vec::new();
    while start < content.len() {
        let token = rig.start(Op::Send { fd: a.clone(), buf: Buf::from(content.clone()), start });
        if rig.is_open(token) {
            arrived.extend(rig.received(&b, 64 * 1024));
        }
        match rig.finish(token) {
            Outcome::Sent { sent, buf } => {
                assert!(sent > 0 && buf.len() == content.len());
                start += sent;
            }
            other => panic!("{other:?}"),
        }
    }
    let rest = content.len() - arrived.len();
    arrived.extend(receive_exactly(rig, &b, rest));
    assert_eq!(sum(&arrived), sum(&content));
});

on_every_engine!(eight_mebibytes_both_ways_through_small_buffers, |rig| {
    const LENGTH: usize = 8 << 20;
    for (a, b) in [pair(), tcp_pair()] {
        for fd in [&a, &b] {
            sockopt::set_socket_send_buffer_size(fd, 4096).unwrap();
        }
        let (there, back) = (pattern(LENGTH, 3), pattern(LENGTH, 7));
        let first = rig.start(Op::SendAll { fd: a.clone(), buf: Buf::from(there.clone()) });
        let second = rig.start(Op::SendAll { fd: b.clone(), buf: Buf::from(back.clone()) });
        let mut at_b = Vec::new();
        let mut at_a = Vec::new();
        while at_b.len() < LENGTH || at_a.len() < LENGTH {
            if at_b.len() < LENGTH {
                at_b.extend(rig.received(&b, 64 * 1024));
            }
            if at_a.len() < LENGTH {
                at_a.extend(rig.received(&a, 64 * 1024));
            }
        }
        for token in [first, second] {
            assert!(matches!(rig.finish(token), Outcome::Sent { sent: LENGTH, .. }));
        }
        assert_eq!((sum(&at_b), sum(&at_a)), (sum(&there), sum(&back)));
    }
});

on_every_engine!(queued_sends_keep_their_order, |rig| {
    const LENGTH: usize = 300_000;
    let (a, b) = tcp_pair();
    sockopt::set_socket_send_buffer_size(&a, 4096).unwrap();
    let parts: Vec<_> = (1..=4).map(|digit: u8| vec![digit; LENGTH]).collect();
    let tokens: Vec<_> = parts
        .iter()
        .map(|part| rig.start(Op::SendAll { fd: a.clone(), buf: Buf::from(part.clone()) }))
        .collect();
    let all = receive_exactly(rig, &b, 4 * LENGTH);
    for token in tokens {
        assert!(matches!(rig.finish(token), Outcome::Sent { sent: LENGTH, .. }));
    }
    assert!(all == parts.concat(), "the parts are mixed");
});

on_every_engine!(peer_resets_during_a_large_send, |rig| {
    let (a, b) = tcp_pair();
    let content = pattern(8 << 20, 9);
    let token = rig.start(Op::SendAll { fd: a, buf: Buf::from(content.clone()) });
    rig.settle();
    assert!(rig.is_open(token), "nobody reads");
    reset(b);
    let (error, buf) = failure(rig.finish(token));
    assert!(matches!(error, Errno::CONNRESET | Errno::PIPE), "{error}");
    assert_eq!(buf.as_deref(), Some(&content[..]));
});

on_every_engine!(peer_closes_during_a_large_send, |rig| {
    let (a, b) = pair();
    let token = rig.start(Op::SendAll { fd: a, buf: Buf::from(vec![1; 8 << 20]) });
    rig.settle();
    assert!(rig.is_open(token), "nobody reads");
    drop(b);
    let (error, buf) = failure(rig.finish(token));
    assert!(matches!(error, Errno::CONNRESET | Errno::PIPE), "{error}");
    assert_eq!(buf.map(|buf| buf.len()), Some(8 << 20));
});

on_every_engine!(no_signal_with_the_default_disposition, |rig| {
    let kind = rig.kind();
    in_own_process(|| {
        crate::signals::default_sigpipe();
        let mut rig = Rig::open(kind, Default::default()).unwrap();
        for (a, b) in [pair(), tcp_pair()] {
            drop(b);
            // TCP learns from the first send that the peer is gone.
            let _ = rig.run(Op::SendAll { fd: a.clone(), buf: Buf::from("x") });
            rig.settle();
            for op in [
                Op::Send { fd: a.clone(), buf: Buf::from("into the void"), start: 0 },
                Op::SendAll { fd: a.clone(), buf: Buf::from("into the void") },
            ] {
                let (error, buf) = failure(rig.run(op));
                assert!(matches!(error, Errno::PIPE | Errno::CONNRESET), "{error}");
                assert_eq!(buf.as_deref(), Some(&b"into the void"[..]));
            }
        }
    });
});

on_every_engine!(a_reader_that_waits_gets_what_is_sent, |rig| {
    let (a, b) = tcp_pair();
    let token = rig.recv(&b, 16);
    rig.send_all(&a, b"ping".to_vec());
    assert_eq!(bytes(rig.finish(token)), b"ping");
});

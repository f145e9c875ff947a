//! Receiving: bytes, ends and resets, each of which must be seen whatever the engine guesses about readiness.

use crate::rig::{bytes, failure, pair, pair_of, reset, tcp_pair, write};
use lisle_engine::{Buf, Fd, Interest, Op, Outcome, Wait};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::net::{self, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketType};
use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::net::UdpSocket;
use std::os::fd::AsFd;

on_every_engine!(nop_completes_at_the_next_turn, |rig| {
    let token = rig.start(Op::Nop);
    assert!(rig.is_open(token));
    assert_eq!(rig.turn(Wait::Forever), 1);
    assert!(matches!(rig.finish(token), Outcome::Done));
});

on_every_engine!(bytes_before_and_after_the_receive, |rig| {
    for (a, b) in [pair(), tcp_pair()] {
        write(&a, b"early");
        assert_eq!(rig.received(&b, 64), b"early");
        let token = rig.recv(&b, 64);
        rig.settle();
        assert!(rig.is_open(token));
        write(&a, b"late");
        assert_eq!(bytes(rig.finish(token)), b"late");
    }
});

on_every_engine!(full_buffers_leave_the_rest, |rig| {
    for (a, b) in [pair(), tcp_pair()] {
        write(&a, b"one two three ");
        assert_eq!(rig.received(&b, 4), b"one ");
        assert_eq!(rig.received(&b, 4), b"two ");
        assert_eq!(rig.received(&b, 64), b"three ");
        let token = rig.recv(&b, 64);
        write(&a, b"four");
        assert_eq!(bytes(rig.finish(token)), b"four");
    }
});

on_every_engine!(zero_capacity_completes_at_once, |rig| {
    let (_a, b) = pair();
    assert_eq!(rig.received(&b, 0), b"");
    let full = Op::Recv { fd: b.clone(), buf: Buf::from("fixed") };
    assert_eq!(bytes(rig.run(full)), b"", "a static slice has no room");
});

on_every_engine!(end_of_file_stays, |rig| {
    for (a, b) in [pair(), tcp_pair()] {
        drop(a);
        for _ in 0..3 {
            assert_eq!(rig.received(&b, 64), b"");
        }
    }
});

on_every_engine!(end_in_the_same_breath_as_the_bytes, |rig| {
    for (a, b) in [pair(), tcp_pair()] {
        write(&a, b"bye");
        drop(a);
        assert_eq!(rig.received(&b, 64), b"bye");
        assert_eq!(rig.received(&b, 64), b"");
    }
});

on_every_engine!(end_in_the_same_event_as_the_bytes, |rig| {
    for (a, b) in [pair(), tcp_pair()] {
        // Twice before, so that a readiness engine knows the descriptor and trusts short receives.
        for _ in 0..2 {
            let token = rig.recv(&b, 64);
            write(&a, b"hello");
            assert_eq!(bytes(rig.finish(token)), b"hello");
        }
        let token = rig.recv(&b, 64);
        rig.settle();
        write(&a, b"bye");
        drop(a);
        assert_eq!(bytes(rig.finish(token)), b"bye");
        assert_eq!(rig.received(&b, 64), b"");
        assert_eq!(rig.received(&b, 64), b"");
    }
});

on_every_engine!(end_right_after_a_short_receive, |rig| {
    for (a, b) in [pair(), tcp_pair()] {
        for _ in 0..3 {
            let token = rig.recv(&b, 64);
            write(&a, b"hello");
            assert_eq!(bytes(rig.finish(token)), b"hello");
        }
        drop(a);
        assert_eq!(rig.received(&b, 64), b"");
    }
});

on_every_engine!(half_close_still_carries_the_other_way, |rig| {
    let (client, server) = tcp_pair();
    rig.send_all(&client, b"question".to_vec());
    let down = Op::Shutdown { fd: client.clone(), how: net::Shutdown::Write };
    assert!(matches!(rig.run(down), Outcome::Done));
    assert_eq!(rig.received(&server, 64), b"question");
    assert_eq!(rig.received(&server, 64), b"");
    rig.send_all(&server, b"answer".to_vec());
    assert_eq!(rig.received(&client, 64), b"answer");
});

on_every_engine!(shutdown_ends_a_pending_receive, |rig| {
    for (_a, b) in [pair(), tcp_pair()] {
        let token = rig.recv(&b, 64);
        rig.settle();
        let down = Op::Shutdown { fd: b.clone(), how: net::Shutdown::Both };
        assert!(matches!(rig.run(down), Outcome::Done));
        assert_eq!(bytes(rig.finish(token)), b"");
    }
});

on_every_engine!(shutdown_of_the_unconnected_fails, |rig| {
    let down = Op::Shutdown { fd: crate::rig::tcp_socket(), how: net::Shutdown::Both };
    assert_eq!(failure(rig.run(down)).0, Errno::NOTCONN);
});

on_every_engine!(peer_resets_before_the_receive, |rig| {
    let (client, server) = tcp_pair();
    reset(client);
    let token = rig.recv(&server, 64);
    let (error, buf) = failure(rig.finish(token));
    assert_eq!(error, Errno::CONNRESET);
    assert_eq!(buf.map(|buf| buf.capacity()), Some(64));
    assert_eq!(rig.received(&server, 64), b"", "the error is told once");
});

on_every_engine!(peer_resets_during_the_receive, |rig| {
    let (client, server) = tcp_pair();
    for _ in 0..2 {
        write(&client, b"hello");
        assert_eq!(rig.received(&server, 64), b"hello");
    }
    let token = rig.recv(&server, 64);
    rig.settle();
    reset(client);
    assert_eq!(failure(rig.finish(token)).0, Errno::CONNRESET);
});

on_every_engine!(first_in_first_out_on_one_descriptor, |rig| {
    let (a, b) = pair();
    let tokens: Vec<_> = (0..8).map(|_| rig.recv(&b, 4)).collect();
    rig.settle();
    write(&a, b"000011112222333344445555666677");
    for (index, token) in tokens.into_iter().enumerate() {
        let digit = b'0' + u8::try_from(index).unwrap();
        let expected = if index == 7 { vec![digit; 2] } else { vec![digit; 4] };
        assert_eq!(bytes(rig.finish(token)), expected);
    }
});

on_every_engine!(one_event_does_not_serve_twice, |rig| {
    let (a, b) = pair();
    let (first, second) = (rig.recv(&b, 64), rig.recv(&b, 64));
    write(&a, b"for the first");
    assert_eq!(bytes(rig.finish(first)), b"for the first");
    rig.settle();
    assert!(rig.is_open(second));
    write(&a, b"for the second");
    assert_eq!(bytes(rig.finish(second)), b"for the second");
});

on_every_engine!(datagrams_that_came_together_are_all_received, |rig| {
    let (one, two) = (UdpSocket::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
    one.connect(two.local_addr().unwrap()).unwrap();
    two.connect(one.local_addr().unwrap()).unwrap();
    two.set_nonblocking(true).unwrap();
    let udp = (Fd::new(one.into()), Fd::new(two.into()));
    for (a, b) in [udp, pair_of(SocketType::SEQPACKET), pair_of(SocketType::DGRAM)] {
        for _ in 0..3 {
            let token = rig.recv(&b, 64);
            for datagram in [b"one", b"two", b"six"] {
                write(&a, datagram);
            }
            assert_eq!(bytes(rig.finish(token)), b"one");
            assert_eq!(rig.received(&b, 64), b"two");
            assert_eq!(rig.received(&b, 64), b"six");
        }
    }
});

on_every_engine!(attached_descriptors_hide_no_bytes, |rig| {
    let (a, b) = pair();
    for _ in 0..3 {
        // Descriptors end a receive early: to a careless engine it looks as if the socket were empty.
        let token = rig.recv(&b, 64);
        rig.settle();
        let attached = [a.as_fd()];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        assert!(control.push(SendAncillaryMessage::ScmRights(&attached)));
        net::sendmsg(&a, &[IoSlice::new(b"with")], &mut control, SendFlags::NOSIGNAL).unwrap();
        write(&a, b"without");
        let mut all = bytes(rig.finish(token));
        while all.len() < b"withwithout".len() {
            all.extend(rig.received(&b, 64));
        }
        assert_eq!(all, b"withwithout");
    }
});

on_every_engine!(urgent_data_hides_no_bytes, |rig| {
    let (a, b) = tcp_pair();
    for _ in 0..3 {
        let token = rig.recv(&b, 64);
        rig.settle();
        write(&a, b"before");
        net::send(&a, b"!", SendFlags::NOSIGNAL | SendFlags::OOB).unwrap();
        write(&a, b"after");
        let mut all = bytes(rig.finish(token));
        while !all.ends_with(b"after") {
            all.extend(rig.received(&b, 64));
        }
        assert_eq!(all, b"beforeafter");
    }
});

on_every_engine!(errors_are_outcomes_with_the_buffer, |rig| {
    let idle = crate::rig::tcp_socket();
    let token = rig.recv(&idle, 64);
    let (error, buf) = failure(rig.finish(token));
    assert_eq!(error, Errno::NOTCONN);
    assert_eq!(buf.map(|buf| buf.capacity()), Some(64));
});

on_every_engine!(ready_waits_for_either_direction, |rig| {
    let (a, b) = pair();
    let read = rig.start(Op::Ready { fd: b.clone(), interest: Interest::Read });
    assert!(matches!(rig.run(Op::Ready { fd: b.clone(), interest: Interest::Write }), Outcome::Done));
    rig.settle();
    assert!(rig.is_open(read));
    write(&a, b"x");
    assert!(matches!(rig.finish(read), Outcome::Done));
    assert_eq!(rig.received(&b, 4), b"x", "looking takes nothing");
});

on_every_engine!(ready_on_pipes_and_their_hang_up, |rig| {
    let (reader, writer) = rustix::pipe::pipe().unwrap();
    let (reader, writer) = (Fd::new(reader), Fd::new(writer));
    let token = rig.start(Op::Ready { fd: reader.clone(), interest: Interest::Read });
    rig.settle();
    assert!(rig.is_open(token));
    drop(writer);
    assert!(matches!(rig.finish(token), Outcome::Done));
});

on_every_engine!(ready_on_a_regular_file_is_at_once, |rig| {
    let file = rustix::fs::open("/proc/self/exe", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).unwrap();
    let file = Fd::new(file);
    for interest in [Interest::Read, Interest::Write] {
        assert!(matches!(rig.run(Op::Ready { fd: file.clone(), interest }), Outcome::Done));
    }
});

on_every_engine!(receiving_from_no_socket_fails, |rig| {
    let file = rustix::fs::open("/proc/self/exe", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).unwrap();
    let token = rig.recv(&Fd::new(file), 16);
    assert_eq!(failure(rig.finish(token)).0, Errno::NOTSOCK);
});

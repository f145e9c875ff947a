//! What only the ring can get wrong: full queues, overflow, multishots that end, a dry pool, memory under the
//! kernel's hands.
//!
//! What every engine must do alike is in `conformance.rs`; descriptors are counted in `uring_leaks.rs`,
//! system calls and allocations in `uring_costs.rs`. No test looks at a clock. On a machine without io_uring
//! each test says so and passes.

mod uring_support;

use lisle_engine::pool::PoolConfig;
use lisle_engine::uring::{Config, Mode};
use lisle_engine::{Buf, Engine, Fd, Interest, Op, Outcome, Submitted, Token, Wait};
use rustix::io::Errno;
use rustix::net::{AddressFamily, Shutdown, SocketFlags, SocketType};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::Duration;
use uring_support::{STEP, TURNS_MAX, one, open, pair, start, turn_until, turn_until_last};

#[test]
fn a_thousand_ops_through_four_entries_in_one_turn() {
    let Some(mut engine) = open(Config { sq_entries: 4, cq_entries: 8, ..Config::default() }) else { return };
    for token in 0..1000 {
        start(&mut engine, token, Op::Nop);
    }
    let mut done = Vec::new();
    engine.turn(Wait::Poll, &mut done).unwrap();
    let mut tokens: Vec<u64> = done.iter().map(|completion| completion.token.0).collect();
    tokens.sort_unstable();
    assert_eq!(tokens, (0..1000).collect::<Vec<_>>());
    assert_eq!(engine.in_flight(), 0);
    assert_eq!(engine.counters().completed, 1000);
    assert!(engine.oddities().overflows > 0, "the queue of 8 must have overflown");
}

#[test]
fn receives_that_complete_together_survive_a_tiny_completion_queue() {
    let Some(mut engine) = open(Config { sq_entries: 4, cq_entries: 4, ..Config::default() }) else { return };
    let mut peers = Vec::new();
    for token in 0..200 {
        let (fd, peer) = pair();
        start(&mut engine, token, Op::Recv { fd, buf: Buf::with_capacity(8) });
        peers.push(peer);
    }
    let mut done = Vec::new();
    engine.turn(Wait::Poll, &mut done).unwrap();
    assert!(done.is_empty());
    for (token, peer) in peers.iter_mut().enumerate() {
        peer.write_all(&[token as u8]).unwrap();
    }
    let done = turn_until_last(&mut engine, 200);
    for completion in &done {
        let Outcome::Received { buf } = &completion.outcome else { panic!("{completion:?}") };
        assert_eq!(&**buf, &[completion.token.0 as u8]);
    }
    assert_eq!((done.len(), engine.in_flight()), (200, 0));
}

#[test]
fn accept_on_a_socket_that_does_not_listen_fails_once() {
    let Some(mut engine) = open(Config::default()) else { return };
    let socket =
        rustix::net::socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None);
    start(&mut engine, 1, Op::AcceptMulti { fd: Fd::new(socket.unwrap()) });
    assert!(matches!(one(&mut engine), Outcome::Failed { error: Errno::INVAL, buf: None }));
}

#[test]
fn blocking_and_non_blocking_sockets_both_work_without_retries() {
    let Some(mut engine) = open(Config::default()) else { return };
    for nonblocking in [false, true] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(nonblocking).unwrap();
        let addr = listener.local_addr().unwrap();
        let flags = if nonblocking { SocketFlags::NONBLOCK } else { SocketFlags::empty() };
        let socket = rustix::net::socket_with(AddressFamily::INET, SocketType::STREAM, flags, None).unwrap();
        let client = Fd::new(socket);
        start(&mut engine, 1, Op::Accept { fd: Fd::new(listener.into()) });
        let mut done = Vec::new();
        engine.turn(Wait::Poll, &mut done).unwrap();
        assert!(done.is_empty(), "nobody there yet");
        start(&mut engine, 2, Op::Connect { fd: client.clone(), addr: Box::new(addr.into()) });
        let mut done = turn_until_last(&mut engine, 2);
        done.sort_by_key(|completion| completion.token);
        assert!(matches!(done[1].outcome, Outcome::Done), "{done:?}");
        let Outcome::Accepted(server) = done.swap_remove(0).outcome else { panic!("{done:?}") };
        let flags = rustix::fs::fcntl_getfl(&server).unwrap();
        assert!(flags.contains(rustix::fs::OFlags::NONBLOCK));
        assert!(rustix::io::fcntl_getfd(&server).unwrap().contains(rustix::io::FdFlags::CLOEXEC));
        let server = Fd::new(server);
        for op in [
            Op::Recv { fd: client.clone(), buf: Buf::with_capacity(16) },
            Op::RecvPool { fd: client.clone() },
        ] {
            start(&mut engine, 3, op);
            engine.turn(Wait::Poll, &mut done).unwrap();
            start(&mut engine, 4, Op::Send { fd: server.clone(), buf: Buf::from("hello"), start: 1 });
            let mut done = turn_until_last(&mut engine, 2);
            done.sort_by_key(|completion| completion.token);
            assert!(matches!(&done[0].outcome, Outcome::Received { buf } if **buf == *b"ello"), "{done:?}");
            assert!(
                matches!(&done[1].outcome, Outcome::Sent { sent: 4, buf } if **buf == *b"hello"),
                "{done:?}"
            );
        }
    }
    assert_eq!(engine.oddities().restarts, 0, "the kernel waits by itself, O_NONBLOCK or not");
}

#[test]
fn connect_to_nobody_is_refused() {
    let Some(mut engine) = open(Config::default()) else { return };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    drop(listener);
    let flags = SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::INET, SocketType::STREAM, flags, None).unwrap();
    start(&mut engine, 1, Op::Connect { fd: Fd::new(socket), addr: Box::new(addr.into()) });
    assert!(matches!(one(&mut engine), Outcome::Failed { error: Errno::CONNREFUSED, .. }));
}

#[test]
fn send_all_sends_all_to_a_slow_reader() {
    let Some(mut engine) = open(Config::default()) else { return };
    let (fd, mut peer) = pair();
    let bytes: Vec<u8> = (0..4 << 20).map(|i: u32| (i / 7) as u8).collect();
    start(&mut engine, 1, Op::SendAll { fd, buf: Buf::from(bytes.clone()) });
    peer.set_nonblocking(true).unwrap();
    let (mut got, mut chunk, mut done) = (Vec::new(), vec![0; 10_000], Vec::new());
    while got.len() < bytes.len() {
        engine.turn(Wait::Poll, &mut done).unwrap();
        match peer.read(&mut chunk) {
            Ok(len) => got.extend_from_slice(&chunk[..len]),
            Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock),
        }
    }
    assert!(got == bytes);
    if done.is_empty() {
        done = turn_until_last(&mut engine, 1);
    }
    assert!(
        matches!(&done[0].outcome, Outcome::Sent { sent, buf } if *sent == bytes.len() && **buf == *bytes)
    );
}

#[test]
fn send_all_cancelled_halfway_says_how_much_went_out() {
    let Some(mut engine) = open(Config::default()) else { return };
    let (fd, mut peer) = pair();
    start(&mut engine, 1, Op::SendAll { fd: fd.clone(), buf: Buf::from(vec![7; 4 << 20]) });
    let mut done = Vec::new();
    engine.turn(Wait::Poll, &mut done).unwrap();
    assert!(done.is_empty(), "the socket's buffer is smaller");
    engine.cancel(Token(1));
    let Outcome::Sent { sent, buf } = one(&mut engine) else { panic!("some bytes went out") };
    assert_eq!(buf.len(), 4 << 20);
    drop(fd);
    let mut got = Vec::new();
    peer.read_to_end(&mut got).unwrap();
    assert_eq!(got.len(), sent);
}

#[test]
fn cancelling_ends_an_op_wherever_it_is_and_unknown_tokens_nowhere() {
    let pool = PoolConfig { buffer_bytes: 64, buffers_max: 1 };
    let Some(mut engine) = open(Config { pool, ..Config::default() }) else { return };
    let (fd, mut peer) = pair();
    let mut done = Vec::new();
    engine.cancel(Token(77));
    // Queued in the ring, not yet submitted.
    start(&mut engine, 1, Op::Recv { fd: fd.clone(), buf: Buf::with_capacity(9) });
    engine.cancel(Token(1));
    assert!(matches!(one(&mut engine), Outcome::Canceled { buf: Some(buf) } if buf.capacity() == 9));
    // In the kernel.
    start(&mut engine, 2, Op::Ready { fd: fd.clone(), interest: Interest::Read });
    engine.turn(Wait::Poll, &mut done).unwrap();
    engine.cancel(Token(2));
    engine.cancel(Token(2));
    assert!(matches!(one(&mut engine), Outcome::Canceled { buf: None }));
    // Waiting for the next turn.
    start(&mut engine, 3, Op::Shutdown { fd: fd.clone(), how: Shutdown::Both });
    engine.cancel(Token(3));
    assert!(matches!(one(&mut engine), Outcome::Canceled { buf: None }));
    // Waiting for a buffer.
    peer.write_all(b"first").unwrap();
    start(&mut engine, 4, Op::RecvPool { fd: fd.clone() });
    let Outcome::Received { buf: held } = one(&mut engine) else { panic!("data is there") };
    peer.write_all(b"second").unwrap();
    start(&mut engine, 5, Op::RecvPool { fd: fd.clone() });
    engine.turn(Wait::Poll, &mut done).unwrap();
    assert_eq!((engine.oddities().starved, engine.in_flight()), (1, 1));
    engine.cancel(Token(5));
    assert!(matches!(one(&mut engine), Outcome::Canceled { buf: None }));
    // And no byte was lost by it.
    drop(held);
    start(&mut engine, 6, Op::RecvPool { fd });
    assert!(matches!(one(&mut engine), Outcome::Received { buf } if *buf == *b"second"));
    engine.cancel(Token(6));
    engine.turn(Wait::Poll, &mut done).unwrap();
    assert!(done.is_empty(), "each operation ended once: {done:?}");
    assert_eq!(engine.oddities().late, 0);
}

#[test]
fn a_dry_pool_delays_receives_and_loses_nothing() {
    let pool = PoolConfig { buffer_bytes: 16, buffers_max: 3 };
    let Some(mut engine) = open(Config { pool, ..Config::default() }) else { return };
    let mut peers = Vec::new();
    for token in 0..10 {
        let (fd, mut peer) = pair();
        peer.write_all(&[token as u8; 100]).unwrap();
        peer.shutdown(std::net::Shutdown::Write).unwrap();
        start(&mut engine, token, Op::RecvMulti { fd });
        peers.push(peer);
    }
    // An idle connection must not keep a returned buffer from those who have data.
    let (idle, idle_peer) = pair();
    start(&mut engine, 99, Op::RecvMulti { fd: idle });
    let (mut kept, mut lens, mut ended) = (Vec::new(), BTreeMap::<u64, usize>::new(), 0);
    for _ in 0..TURNS_MAX {
        if ended == 10 {
            break;
        }
        let mut done = Vec::new();
        engine.turn(STEP, &mut done).unwrap();
        for completion in done {
            let Outcome::Received { buf } = completion.outcome else { panic!("{completion:?}") };
            assert!(buf.iter().all(|byte| u64::from(*byte) == completion.token.0));
            assert_eq!(buf.is_empty(), !completion.more);
            *lens.entry(completion.token.0).or_default() += buf.len();
            ended += usize::from(!completion.more);
            kept.push(buf);
        }
        // Hold buffers for a while, so that the pool is dry most of the time.
        if kept.len() >= 3 {
            kept.clear();
        }
    }
    assert_eq!(lens, (0..10).map(|token| (token, 100)).collect());
    assert!(engine.oddities().starved > 0);
    assert!(engine.pool().made() <= 3);
    drop(idle_peer);
    assert!(matches!(one(&mut engine), Outcome::Received { buf } if buf.is_empty()));
    kept.clear();
}

#[test]
fn the_pool_grows_with_need_and_not_beyond_its_limit() {
    let pool = PoolConfig { buffer_bytes: 16, buffers_max: 200 };
    let Some(mut engine) = open(Config { pool, ..Config::default() }) else { return };
    assert_eq!(engine.pool().made(), 0);
    let (fd, peer) = pair();
    start(&mut engine, 1, Op::RecvMulti { fd });
    let first = engine.pool().made();
    assert!(first > 0 && first < 200);
    let mut kept = Vec::new();
    for _ in 0..TURNS_MAX {
        (&peer).write_all(&[1; 16]).unwrap();
        engine.turn(Wait::Poll, &mut kept).unwrap();
        if kept.len() == 200 {
            break;
        }
    }
    assert_eq!((kept.len(), engine.pool().made()), (200, 200));
    kept.clear();
    engine.turn(Wait::Poll, &mut kept).unwrap();
    assert_eq!(engine.pool().made(), 200);
}

#[test]
fn a_buffer_outlives_its_engine() {
    let Some(mut engine) = open(Config::default()) else { return };
    let (fd, mut peer) = pair();
    peer.write_all(b"kept").unwrap();
    start(&mut engine, 1, Op::RecvPool { fd });
    let Outcome::Received { buf } = one(&mut engine) else { panic!("data is there") };
    drop(engine);
    assert_eq!(&*buf, b"kept");
}

#[test]
fn wake_ups_end_a_sleep_and_are_forgotten() {
    let Some(mut engine) = open(Config::default()) else { return };
    let (waker, mut done) = (engine.waker(), Vec::new());
    // Before the sleep; at first the engine does not even watch.
    waker.wake();
    engine.turn(Wait::Forever, &mut done).unwrap();
    assert_eq!(engine.oddities().wake_ups, 1);
    // During it.
    let thread = std::thread::spawn({
        let waker = waker.clone();
        move || waker.wake()
    });
    engine.turn(Wait::Forever, &mut done).unwrap();
    thread.join().unwrap();
    let wake_ups = engine.oddities().wake_ups;
    for _ in 0..10 {
        engine.turn(Wait::For(Duration::from_millis(1)), &mut done).unwrap();
    }
    assert!(engine.oddities().wake_ups - wake_ups <= 1, "an old wake-up ends no later sleep");
    assert_eq!((engine.in_flight(), done.len()), (0, 0));
    drop(engine);
    waker.wake();
}

#[test]
fn shutdown_comes_after_what_was_submitted_before_it() {
    let Some(mut engine) = open(Config::default()) else { return };
    let (fd, mut peer) = pair();
    start(&mut engine, 1, Op::SendAll { fd: fd.clone(), buf: Buf::from("last words") });
    start(&mut engine, 2, Op::Shutdown { fd: fd.clone(), how: Shutdown::Write });
    let done = turn_until_last(&mut engine, 2);
    assert!(
        done.iter().all(|c| matches!(c.outcome, Outcome::Done | Outcome::Sent { sent: 10, .. })),
        "{done:?}"
    );
    let mut got = String::new();
    peer.read_to_string(&mut got).unwrap();
    assert_eq!(got, "last words");
}

#[test]
fn ops_with_nothing_to_do_are_done_at_once() {
    let Some(mut engine) = open(Config::default()) else { return };
    let (fd, _peer) = pair();
    let recv = engine.submit(Token(1), Op::Recv { fd: fd.clone(), buf: Buf::from("static") });
    assert!(matches!(recv, Submitted::Done(Outcome::Received { buf }) if buf.is_empty()));
    let send = engine.submit(Token(2), Op::SendAll { fd, buf: Buf::with_capacity(5) });
    assert!(matches!(send, Submitted::Done(Outcome::Sent { sent: 0, .. })));
    assert_eq!((engine.in_flight(), engine.counters().system_calls), (0, 0));
    assert_eq!(engine.counters().completed, 2);
}

#[test]
fn memory_is_not_written_after_it_came_back() {
    const LEN: usize = 4096;
    for drop_engine in [false, true] {
        let Some(mut engine) = open(Config::default()) else { return };
        let (mut fds, mut peers, mut done) = (Vec::new(), Vec::new(), Vec::new());
        for token in 0..64 {
            let (fd, peer) = pair();
            start(&mut engine, token, Op::Recv { fd: fd.clone(), buf: Buf::with_capacity(LEN) });
            fds.push(fd);
            peers.push(peer);
        }
        engine.turn(Wait::Poll, &mut done).unwrap();
        let kept = if drop_engine {
            drop(engine);
            None
        } else {
            (0..64).for_each(|token| engine.cancel(Token(token)));
            drop(turn_until_last(&mut engine, 64));
            Some(engine)
        };
        // The allocator gives the freed buffers out again; a late write of the kernel would show in the
        // pattern.
        let canaries: Vec<Vec<u8>> = (0..256).map(|_| vec![0xA5; LEN]).collect();
        for peer in &mut peers {
            peer.write_all(&[0x5A; LEN]).unwrap();
        }
        std::thread::sleep(Duration::from_millis(20));
        assert!(canaries.iter().flatten().all(|byte| *byte == 0xA5));
        // The bytes are still where they belong.
        for fd in fds {
            let mut got = vec![0; LEN];
            assert_eq!(rustix::io::read(&fd, &mut got).unwrap(), LEN);
        }
        drop(kept);
    }
}

#[test]
fn the_end_of_a_stream_is_told_whenever_it_comes() {
    // Data and shutdown before the receive is armed, and both between two turns; less and more than a buffer.
    let Some(mut engine) = open(Config::default()) else { return };
    for (token, (armed, len)) in [(false, 4), (false, 5000), (true, 4), (true, 4096)].into_iter().enumerate()
    {
        let (fd, mut peer) = pair();
        let mut done = Vec::new();
        if armed {
            start(&mut engine, token as u64, Op::RecvMulti { fd: fd.clone() });
            engine.turn(Wait::Poll, &mut done).unwrap();
        }
        peer.write_all(&vec![1; len]).unwrap();
        peer.shutdown(std::net::Shutdown::Write).unwrap();
        if !armed {
            start(&mut engine, token as u64, Op::RecvMulti { fd });
        }
        let done = turn_until_last(&mut engine, 1);
        let lens =
            done.iter().map(|c| if let Outcome::Received { buf } = &c.outcome { buf.len() } else { 0 });
        assert_eq!(lens.sum::<usize>(), len, "{done:?}");
    }
}

#[test]
fn the_end_of_a_stream_is_told_while_another_thread_sends() {
    let Some(mut engine) = open(Config::default()) else { return };
    for token in 0..500 {
        let (fd, mut peer) = pair();
        start(&mut engine, token, Op::RecvMulti { fd });
        let sender = std::thread::spawn(move || {
            peer.write_all(&[1; 123]).unwrap();
            peer.shutdown(std::net::Shutdown::Write).unwrap();
            peer
        });
        turn_until_last(&mut engine, 1);
        sender.join().unwrap();
    }
}

#[test]
fn lesser_modes_of_older_kernels_work_too() {
    for mode in [Mode::Deferred, Mode::Cooperative, Mode::Interrupting] {
        let Some(mut engine) = open(Config { inject_mode: Some(mode), ..Config::default() }) else { return };
        assert_eq!(engine.mode(), mode);
        let waker = engine.waker();
        let (fd, mut peer) = pair();
        start(&mut engine, 1, Op::RecvMulti { fd: fd.clone() });
        for _ in 0..10 {
            let mut done = Vec::new();
            engine.turn(Wait::Poll, &mut done).unwrap();
            peer.write_all(b"data").unwrap();
            let done = turn_until(&mut engine, |done| !done.is_empty());
            assert!(matches!(&done[0].outcome, Outcome::Received { buf } if **buf == *b"data"), "{done:?}");
        }
        waker.wake();
        engine.turn(Wait::Forever, &mut Vec::new()).unwrap();
        engine.cancel(Token(1));
        assert!(matches!(one(&mut engine), Outcome::Canceled { .. }));
        let calls = engine.counters().system_calls;
        engine.turn(Wait::Poll, &mut Vec::new()).unwrap();
        assert_eq!(engine.counters().system_calls, calls, "idle");
        start(&mut engine, 2, Op::Recv { fd: fd.clone(), buf: Buf::with_capacity(1) });
        drop(engine);
        assert_eq!(fd.holders(), 1);
    }
}

#[test]
fn a_descriptor_moves_to_another_engine_with_ops_pending_in_the_first() {
    let (Some(mut first), Some(mut second)) = (open(Config::default()), open(Config::default())) else {
        return;
    };
    let (fd, mut peer) = pair();
    let recv = || Op::Recv { fd: fd.clone(), buf: Buf::with_capacity(1) };
    for token in 0..3 {
        start(&mut first, token, recv());
    }
    first.turn(Wait::Poll, &mut Vec::new()).unwrap();
    // A flight of the second engine that has the same place and age as the head of the lane in the first.
    start(&mut second, 0, Op::Nop);
    drop(first);
    start(&mut second, 1, recv());
    start(&mut second, 2, recv());
    peer.write_all(b"ab").unwrap();
    let done = turn_until_last(&mut second, 3);
    let got = done.iter().filter_map(|c| match &c.outcome {
        Outcome::Received { buf } => Some((c.token.0, buf[0])),
        _ => None,
    });
    assert_eq!(got.collect::<Vec<_>>(), [(1, b'a'), (2, b'b')]);
}

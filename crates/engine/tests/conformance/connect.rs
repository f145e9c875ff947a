//! Making and taking connections.

use crate::rig::{Rig, accepted, any, failure, in_own_process, listener, peer, reset, tcp_socket};
use lisle_engine::{Fd, Op, Outcome};
use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::path::PathBuf;

on_every_engine!(connect_and_accept_over_tcp, |rig| {
    let (listening, address) = listener();
    for accept_first in [true, false] {
        let client = tcp_socket();
        let early = accept_first.then(|| rig.start(Op::Accept { fd: listening.clone() }));
        let connect = Op::Connect { fd: client.clone(), addr: Box::new(any(address)) };
        assert!(matches!(rig.run(connect), Outcome::Done));
        let accept = early.unwrap_or_else(|| rig.start(Op::Accept { fd: listening.clone() }));
        let server = accepted(rig.finish(accept));
        rig.send_all(&client, b"hello".to_vec());
        assert_eq!(rig.received(&server, 16), b"hello");
    }
});

on_every_engine!(accepted_sockets_are_nonblocking_and_close_on_exec, |rig| {
    let (listening, address) = listener();
    let _client = TcpStream::connect(address).unwrap();
    let server = accepted(rig.run(Op::Accept { fd: listening }));
    assert!(rustix::fs::fcntl_getfl(&server).unwrap().contains(rustix::fs::OFlags::NONBLOCK));
    assert!(rustix::io::fcntl_getfd(&server).unwrap().contains(rustix::io::FdFlags::CLOEXEC));
});

on_every_engine!(accept_waits_in_line, |rig| {
    let (listening, address) = listener();
    let tokens: Vec<_> = (0..3).map(|_| rig.start(Op::Accept { fd: listening.clone() })).collect();
    rig.settle();
    let clients: Vec<_> = (0..3).map(|_| TcpStream::connect(address).unwrap()).collect();
    for (token, client) in tokens.into_iter().zip(&clients) {
        let server = accepted(rig.finish(token));
        assert_eq!(peer(&server), client.local_addr().unwrap());
    }
});

on_every_engine!(connect_refused, |rig| {
    let (listening, address) = listener();
    drop(listening);
    let client = tcp_socket();
    let connect = Op::Connect { fd: client.clone(), addr: Box::new(any(address)) };
    assert_eq!(failure(rig.run(connect)).0, Errno::CONNREFUSED);
});

on_every_engine!(accept_then_peer_resets, |rig| {
    let (listening, address) = listener();
    let client = TcpStream::connect(address).unwrap();
    reset(Fd::new(client.into()));
    let server = accepted(rig.run(Op::Accept { fd: listening.clone() }));
    let token = rig.recv(&server, 16);
    assert_eq!(failure(rig.finish(token)).0, Errno::CONNRESET);
    // The listener is none the worse.
    let _next = TcpStream::connect(address).unwrap();
    accepted(rig.run(Op::Accept { fd: listening }));
});

on_every_engine!(accept_on_no_listener_fails, |rig| {
    assert_eq!(failure(rig.run(Op::Accept { fd: tcp_socket() })).0, Errno::INVAL);
});

/// A path for a Unix socket, removed at the end.
struct SocketPath(PathBuf);

impl SocketPath {
    fn new(rig: &Rig, name: &str) -> SocketPath {
        let file = format!("lisle-{}-{}-{name}", std::process::id(), rig.kind().name());
        SocketPath(std::env::temp_dir().join(file))
    }

    fn listen(&self, backlog: i32) -> Fd {
        let listening = unix_socket();
        net::bind(&listening, &self.address()).unwrap();
        net::listen(&listening, backlog).unwrap();
        listening
    }

    fn address(&self) -> SocketAddrUnix {
        SocketAddrUnix::new(&self.0).unwrap()
    }
}

impl Drop for SocketPath {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn unix_socket() -> Fd {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    Fd::new(net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).unwrap())
}

on_every_engine!(connect_to_a_unix_path, |rig| {
    let path = SocketPath::new(rig, "path");
    let missing = Op::Connect { fd: unix_socket(), addr: Box::new(path.address().into()) };
    assert_eq!(failure(rig.run(missing)).0, Errno::NOENT);
    let listening = path.listen(8);
    let client = unix_socket();
    let connect = Op::Connect { fd: client.clone(), addr: Box::new(path.address().into()) };
    assert!(matches!(rig.run(connect), Outcome::Done));
    let server = accepted(rig.run(Op::Accept { fd: listening }));
    rig.send_all(&client, b"by path".to_vec());
    assert_eq!(rig.received(&server, 16), b"by path");
});

on_every_engine!(connect_waits_while_a_unix_listener_is_full, |rig| {
    let path = SocketPath::new(rig, "full");
    let listening = path.listen(1);
    let clients: Vec<_> = (0..6).map(|_| unix_socket()).collect();
    let tokens: Vec<_> = clients
        .iter()
        .map(|client| rig.start(Op::Connect { fd: client.clone(), addr: Box::new(path.address().into()) }))
        .collect();
    rig.settle();
    let waiting = tokens.iter().filter(|&&token| rig.is_open(token)).count();
    assert!(waiting > 0, "six connections fit into a queue of one");
    let calls = rig.engine.counters().system_calls;
    rig.settle();
    assert!(rig.engine.counters().system_calls - calls < 200, "it spins");
    for _ in 0..6 {
        accepted(rig.run(Op::Accept { fd: listening.clone() }));
    }
    for token in tokens {
        assert!(matches!(rig.finish(token), Outcome::Done));
    }
});

on_every_engine!(a_connect_that_waits_for_a_unix_listener_can_be_cancelled, |rig| {
    let path = SocketPath::new(rig, "cancel");
    let _listening = path.listen(0);
    let clients: Vec<_> = (0..4).map(|_| unix_socket()).collect();
    let tokens: Vec<_> = clients
        .iter()
        .map(|client| rig.start(Op::Connect { fd: client.clone(), addr: Box::new(path.address().into()) }))
        .collect();
    rig.settle();
    let last = tokens[3];
    assert!(rig.is_open(last));
    for token in tokens {
        rig.engine.cancel(token);
    }
    assert!(matches!(rig.finish(last), Outcome::Canceled { buf: None }));
});

on_every_engine!(descriptors_run_out_and_come_back, |rig| {
    let kind = rig.kind();
    in_own_process(|| {
        let mut rig = Rig::open(kind, Default::default()).unwrap();
        let (listening, address) = listener();
        let clients: Vec<_> = (0..3).map(|_| TcpStream::connect(address).unwrap()).collect();
        // Warm: whatever the engine opens lazily is open now.
        let server = accepted(rig.run(Op::Accept { fd: listening.clone() }));
        let spare = rustix::io::fcntl_dupfd_cloexec(&server, 0).unwrap();
        let limit = getrlimit(Resource::Nofile);
        let used = std::os::fd::AsRawFd::as_raw_fd(&spare.as_fd()) as u64 + 1;
        setrlimit(Resource::Nofile, Rlimit { current: Some(used), maximum: limit.maximum }).unwrap();
        assert_eq!(failure(rig.run(Op::Accept { fd: listening.clone() })).0, Errno::MFILE);
        let multi = rig.start(Op::AcceptMulti { fd: listening.clone() });
        assert_eq!(failure(rig.finish(multi)).0, Errno::MFILE);
        drop(spare);
        // Neither attempt has cost a connection.
        let second = accepted(rig.run(Op::Accept { fd: listening.clone() }));
        setrlimit(Resource::Nofile, limit).unwrap();
        let third = accepted(rig.run(Op::Accept { fd: listening }));
        for (server, client) in [server, second, third].iter().zip(&clients) {
            assert_eq!(peer(server), client.local_addr().unwrap());
        }
    });
});

//! What every test stands on: an engine with an inbox, sockets, and a process of one's own.
//!
//! A [`Rig`] submits operations under fresh tokens and keeps each completion until a test asks for it,
//! checking the contract on the way: no completion for an unknown token, none after the last one, `more`
//! only from multishot operations. Not here: any test.

use lisle_engine::pool::PoolConfig;
use lisle_engine::uring::{Config, Uring};
use lisle_engine::{Buf, Completion, Engine, EngineKind, Fd, Op, Outcome, Submitted, Token, Wait, readiness};
use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SocketAddrAny, SocketFlags, SocketType, sockopt};
use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::process::Command;
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// How long a test may wait for one completion before it counts as lost.
const LOST: Duration = Duration::from_secs(30);

/// Makes one test per engine out of one body.
macro_rules! on_every_engine {
    ($(#[$attribute:meta])* $name:ident, |$rig:ident| $body:block) => {
        $(#[$attribute])*
        mod $name {
            #[allow(unused_imports)]
            use super::*;

            fn check($rig: &mut crate::rig::Rig) $body

            #[test]
            fn epoll() {
                crate::rig::run(lisle_engine::EngineKind::Epoll, check);
            }

            #[test]
            fn poll() {
                crate::rig::run(lisle_engine::EngineKind::Poll, check);
            }

            #[test]
            fn select() {
                crate::rig::run(lisle_engine::EngineKind::Select, check);
            }

            #[test]
            fn io_uring() {
                crate::rig::run(lisle_engine::EngineKind::IoUring, check);
            }
        }
    };
}

/// Runs a test on an engine, unless this machine has a reason not to offer it.
pub(crate) fn run(kind: EngineKind, check: fn(&mut Rig)) {
    if let Some(mut rig) = Rig::open(kind, PoolConfig::default()) {
        check(&mut rig);
    }
}

/// An engine, the tokens given to it, and the completions it gave back.
pub(crate) struct Rig {
    pub(crate) engine: Box<dyn Engine>,
    next_token: u64,
    /// Operations without a last completion, and whether they are multishot.
    open: HashMap<Token, bool>,
    inbox: Vec<Completion>,
}

impl Rig {
    pub(crate) fn open(kind: EngineKind, pool: PoolConfig) -> Option<Rig> {
        let engine = if kind == EngineKind::IoUring {
            match Uring::open(&Config { pool, ..Config::default() }) {
                Ok(ring) => Box::new(ring),
                Err(refusal) => {
                    let excuses = [Errno::NOSYS, Errno::PERM, Errno::ACCESS, Errno::NOMEM];
                    assert!(excuses.contains(&refusal.errno), "no excuse for the ring to fail: {refusal}");
                    println!("skipped on io_uring: {refusal}");
                    return None;
                }
            }
        } else {
            readiness::open_with(kind, pool).expect("a readiness engine opens")
        };
        assert_eq!(engine.kind(), kind);
        Some(Rig { engine, next_token: 1, open: HashMap::new(), inbox: Vec::new() })
    }

    pub(crate) fn kind(&self) -> EngineKind {
        self.engine.kind()
    }

    pub(crate) fn is_ring(&self) -> bool {
        self.kind() == EngineKind::IoUring
    }

    /// Submits; what is done at once lies in the inbox.
    pub(crate) fn start(&mut self, op: Op) -> Token {
        let token = Token(self.next_token);
        self.next_token += 1;
        let multi = matches!(op, Op::AcceptMulti { .. } | Op::RecvMulti { .. });
        match self.engine.submit(token, op) {
            Submitted::Done(outcome) => {
                assert!(!multi, "results of multishot operations come from turns");
                self.inbox.push(Completion { token, outcome, more: false });
            }
            Submitted::Pending => {
                self.open.insert(token, multi);
            }
        }
        assert_eq!(self.engine.in_flight(), self.open.len());
        token
    }

    /// One turn; how many completions it brought.
    pub(crate) fn turn(&mut self, wait: Wait) -> usize {
        let before = self.inbox.len();
        self.engine.turn(wait, &mut self.inbox).expect("the engine is sound");
        for completion in &self.inbox[before..] {
            let multi = *self.open.get(&completion.token).expect("one last completion for each operation");
            assert!(multi || !completion.more, "only multishot operations go on");
            if !completion.more {
                self.open.remove(&completion.token);
            }
        }
        assert_eq!(self.engine.in_flight(), self.open.len());
        self.inbox.len() - before
    }

    /// Turns without sleeping, so often that anything that could happen has happened.
    pub(crate) fn settle(&mut self) {
        for _ in 0..5 {
            self.turn(Wait::Poll);
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    pub(crate) fn is_open(&self, token: Token) -> bool {
        self.open.contains_key(&token)
    }

    /// The completions of a token so far, oldest first.
    pub(crate) fn take(&mut self, token: Token) -> Vec<Completion> {
        self.inbox.extract_if(.., |completion| completion.token == token).collect()
    }

    /// All completions so far, oldest first.
    pub(crate) fn take_all(&mut self) -> Vec<Completion> {
        std::mem::take(&mut self.inbox)
    }

    /// Turns until this operation has a completion, and gives the oldest.
    pub(crate) fn next(&mut self, token: Token) -> Completion {
        let begun = Instant::now();
        loop {
            if let Some(index) = self.inbox.iter().position(|completion| completion.token == token) {
                return self.inbox.remove(index);
            }
            assert!(self.is_open(token), "nothing more will come for {token:?}");
            assert!(begun.elapsed() < LOST, "the completion of {token:?} is lost");
            self.turn(Wait::For(LOST));
        }
    }

    /// Turns until this operation has ended.
    pub(crate) fn finish(&mut self, token: Token) -> Outcome {
        let completion = self.next(token);
        assert!(!completion.more, "expected the last completion, got {completion:?}");
        completion.outcome
    }

    pub(crate) fn run(&mut self, op: Op) -> Outcome {
        let token = self.start(op);
        self.finish(token)
    }

    pub(crate) fn recv(&mut self, fd: &Fd, capacity: usize) -> Token {
        self.start(Op::Recv { fd: fd.clone(), buf: Buf::with_capacity(capacity) })
    }

    /// Receives once.
    pub(crate) fn received(&mut self, fd: &Fd, capacity: usize) -> Vec<u8> {
        let token = self.recv(fd, capacity);
        bytes(self.finish(token))
    }

    pub(crate) fn send_all(&mut self, fd: &Fd, content: Vec<u8>) {
        let length = content.len();
        match self.run(Op::SendAll { fd: fd.clone(), buf: Buf::from(content) }) {
            Outcome::Sent { sent, buf } => assert_eq!((sent, buf.len()), (length, length)),
            other => panic!("sent nothing: {other:?}"),
        }
    }
}

/// The bytes received.
#[track_caller]
pub(crate) fn bytes(outcome: Outcome) -> Vec<u8> {
    match outcome {
        Outcome::Received { buf } => buf.to_vec(),
        other => panic!("received nothing: {other:?}"),
    }
}

/// The error, and the buffer that came back.
#[track_caller]
pub(crate) fn failure(outcome: Outcome) -> (Errno, Option<Buf>) {
    match outcome {
        Outcome::Failed { error, buf } => (error, buf),
        other => panic!("did not fail: {other:?}"),
    }
}

/// The connection taken.
#[track_caller]
pub(crate) fn accepted(outcome: Outcome) -> Fd {
    match outcome {
        Outcome::Accepted(fd) => Fd::new(fd),
        other => panic!("accepted nothing: {other:?}"),
    }
}

/// Two connected Unix stream sockets, non-blocking.
pub(crate) fn pair() -> (Fd, Fd) {
    pair_of(SocketType::STREAM)
}

pub(crate) fn pair_of(kind: SocketType) -> (Fd, Fd) {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let (a, b) = net::socketpair(AddressFamily::UNIX, kind, flags, None).unwrap();
    (Fd::new(a), Fd::new(b))
}

/// A listening TCP socket on loopback, non-blocking, and its address.
pub(crate) fn listener() -> (Fd, SocketAddr) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    (Fd::new(listener.into()), address)
}

/// Two connected TCP sockets, non-blocking, without Nagle's delay.
pub(crate) fn tcp_pair() -> (Fd, Fd) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (server, _) = listener.accept().unwrap();
    for stream in [&client, &server] {
        stream.set_nonblocking(true).unwrap();
        stream.set_nodelay(true).unwrap();
    }
    (Fd::new(client.into()), Fd::new(server.into()))
}

/// A fresh TCP socket, non-blocking.
pub(crate) fn tcp_socket() -> Fd {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    Fd::new(net::socket_with(AddressFamily::INET, SocketType::STREAM, flags, None).unwrap())
}

pub(crate) fn any(address: SocketAddr) -> SocketAddrAny {
    match address {
        SocketAddr::V4(v4) => SocketAddrV4::new(*v4.ip(), v4.port()).into(),
        SocketAddr::V6(v6) => v6.into(),
    }
}

/// Whom a socket is connected to.
pub(crate) fn peer(fd: &Fd) -> SocketAddr {
    let address = net::getpeername(fd).unwrap().expect("connected over IP");
    SocketAddr::try_from(address).unwrap()
}

/// Closes a socket so that its peer sees a reset.
pub(crate) fn reset(fd: Fd) {
    let owned: OwnedFd = fd.try_into_owned().expect("nobody else holds it");
    sockopt::set_socket_linger(&owned, Some(Duration::ZERO)).unwrap();
}

/// Writes to a socket from outside of the engine.
pub(crate) fn write(fd: &Fd, content: &[u8]) {
    assert_eq!(net::send(fd, content, net::SendFlags::NOSIGNAL).unwrap(), content.len());
}

/// Runs the body in a process of its own: this test again, alone, in a child. For what changes the whole
/// process, or looks at all of its descriptors.
pub(crate) fn in_own_process(body: impl FnOnce()) {
    if std::env::var_os("LISLE_CONFORMANCE_CHILD").is_some() {
        body();
        return;
    }
    let name = std::thread::current().name().expect("a test thread has its test's name").to_owned();
    let output = Command::new(std::env::current_exe().unwrap())
        .args([&name, "--exact", "--nocapture", "--test-threads=1"])
        .env("LISLE_CONFORMANCE_CHILD", "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{name} failed in its own process ({}):\n{said}\n{complained}",
        output.status
    );
}

/// How many descriptors this process has open. Only meaningful in a process of one's own.
pub(crate) fn descriptors_open() -> usize {
    // The listing itself opens one.
    std::fs::read_dir("/proc/self/fd").unwrap().count() - 1
}

/// Ends the process if a test hangs: for sleeps without end, where a lost wake-up would otherwise go
/// unnoticed.
pub(crate) struct Watchdog(#[allow(dead_code)] mpsc::Sender<()>);

impl Watchdog {
    pub(crate) fn new() -> Watchdog {
        let name = std::thread::current().name().unwrap_or("?").to_owned();
        let (alive, watch) = mpsc::channel::<()>();
        std::thread::spawn(move || {
            if watch.recv_timeout(Duration::from_secs(120)) == Err(mpsc::RecvTimeoutError::Timeout) {
                eprintln!("{name} hangs: a wake-up or completion was lost");
                std::process::abort();
            }
        });
        Watchdog(alive)
    }
}

//! Running a test on every engine under a watchdog, connected pairs, and this test binary as a child process.
#![allow(dead_code, reason = "each test file uses its part of it")]

use lisle::net::{TcpListener, TcpStream};
use lisle::{Buf, EngineKind, Runtime};
use std::future::Future;
use std::net::SocketAddr;
use std::process::{Command, Output};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

/// No test takes nearly as long; one that does hangs.
const HANG: Duration = Duration::from_secs(120);

/// Ends the process if it is not dropped in time.
pub(crate) struct Watchdog(#[allow(dead_code)] Sender<()>);

impl Watchdog {
    pub(crate) fn new() -> Watchdog {
        let name = thread::current().name().unwrap_or("?").to_owned();
        let (alive, watched) = channel();
        thread::spawn(move || {
            if watched.recv_timeout(HANG) == Err(RecvTimeoutError::Timeout) {
                eprintln!("{name} hangs");
                std::process::abort();
            }
        });
        Watchdog(alive)
    }
}

pub(crate) fn runtime(kind: EngineKind) -> Runtime {
    Runtime::builder().engine(kind).build().expect("every engine opens here")
}

/// Runs a test on each engine; all of them have to be there.
pub(crate) fn each<F: Future<Output = lisle::Result<()>> + 'static>(test: impl Fn() -> F) {
    each_runtime(|runtime| runtime.run(test()).expect("the test succeeds"));
}

pub(crate) fn each_runtime(test: impl Fn(&Runtime)) {
    let _watchdog = Watchdog::new();
    for kind in EngineKind::ALL {
        println!("on {}", kind.name());
        test(&runtime(kind));
    }
}

pub(crate) fn listen() -> lisle::Result<(TcpListener, SocketAddr)> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let addr = listener.local_addr()?;
    Ok((listener, addr))
}

pub(crate) async fn tcp_pair() -> lisle::Result<(TcpStream, TcpStream)> {
    let (listener, addr) = listen()?;
    let (client, server) = lisle::both(TcpStream::connect(addr), listener.accept()).await?;
    Ok((client, server))
}

/// Reads exactly this many bytes, or what there was before the end.
pub(crate) async fn read_up_to<S: lisle::net::Stream>(stream: &S, count: usize) -> lisle::Result<Vec<u8>> {
    let mut all = Vec::new();
    while all.len() < count {
        let buf = stream.read(Buf::with_capacity((count - all.len()).min(64 * 1024))).await?;
        if buf.is_empty() {
            break;
        }
        all.extend_from_slice(&buf);
    }
    Ok(all)
}

/// Bytes that tell where they belong.
pub(crate) fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|index| ((index * 31) >> 5) as u8).collect()
}

/// A laps's worth of patience, a few times: completions that are under way arrive.
pub(crate) async fn laps(count: usize) -> lisle::Result<()> {
    for _ in 0..count {
        lisle::pause().await?;
    }
    Ok(())
}

/// A reproducible source of numbers (xorshift).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

const CHILD: &str = "LISLE_TEST_CHILD";

/// Whether this process was started by [`run_child`].
pub(crate) fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

/// Runs one test of this binary in a process of its own, where [`is_child`] is true.
pub(crate) fn run_child(test: &str, variables: &[(&str, &str)]) -> Output {
    let program = std::env::current_exe().expect("a running program has a path");
    let mut command = Command::new(program);
    command
        .args([test, "--exact", "--nocapture", "--test-threads=1"])
        .env(CHILD, "1")
        .env_remove("LISLE_ENGINE");
    command.envs(variables.iter().copied()).output().expect("the child starts")
}

/// As [`run_child`]; the child's test must succeed.
pub(crate) fn run_child_well(test: &str, variables: &[(&str, &str)]) {
    let output = run_child(test, variables);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{:?}\n{text}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Open descriptors of this process.
pub(crate) fn open_fds() -> usize {
    // The folder that is being read counts itself.
    std::fs::read_dir("/proc/self/fd").expect("/proc is there").count() - 1
}

//! Promises on io_uring, epoll, poll or select: network, time and a scheduler, in the style you like.
//!
//! A [`Promise`] is a value that may come later. Its work has begun when you hold it; it resolves to a
//! [`Result`]; it can be bound, awaited, raced, shared and cancelled. Suspension is visible: only a
//! `Promise` (or a future) in a type can suspend. This page is a short tour of what a program does with
//! them. The tutorial, from the first promise to cancellation that cleans up, is the page of [`lisle_core`];
//! it says in one place in which of [three ways](lisle_core#three-ways-to-resume) work is resumed. Who knows
//! Lwt or tokio finds each name in a [`guide`].
//!
//! | | |
//! |---|---|
//! | promises | [`Promise`], [`pair`], [`both`], [`pick`], …; [`list`] over many; [`spawn`] for `async`; [`storage`] |
//! | the world | [`net`], [`io`]; the main task: [`run`], [`main`], [`Runtime`] |
//! | time | [`time`], [`timeouts`] that are started again and again, [`retry`], [`throttle`] |
//! | between tasks | [`sync`]: locks, queues, pools; [`stream`], [`seq`]; [`react`]: values that change |
//! | failures | [`Error`], and [`hook`] for those that nobody looks at |
//!
//! # A server
//! Tasks read like any `async` code. This one answers every connection with what it says:
//!
//! ```no_run
//! use lisle::net::TcpListener;
//!
//! #[lisle::main]
//! async fn main() -> lisle::Result<()> {
//!     let listener = TcpListener::bind("127.0.0.1:8080")?;
//!     listener.serve(|stream| async move {
//!         let (mut r, mut w) = stream.split();
//!         lisle::io::copy(&mut r, &mut w).await
//!     })
//! }
//! ```
//!
//! [`serve`](net::TcpListener::serve) makes a task of each connection, sorts the errors of `accept`, keeps
//! a limit and stops gracefully. Below it are [`accept`](net::TcpListener::accept),
//! [`read`](net::TcpStream::read) and [`write_all`](net::TcpStream::write_all). Operations own their
//! buffers: a [`Buf`] moves in, and comes back with the promise, so nothing is copied or allocated on the
//! way.
//!
//! ```
//! use lisle::net::{TcpListener, TcpStream};
//! use lisle::{Buf, Error, try_spawn};
//!
//! async fn echo(stream: TcpStream) -> lisle::Result<()> {
//!     let mut buf = Buf::with_capacity(4096);
//!     loop {
//!         buf = stream.read(buf).await?;
//!         if buf.is_empty() {
//!             return Ok(());
//!         }
//!         buf = stream.write_all(buf).await?;
//!     }
//! }
//!
//! lisle::run(async {
//!     let listener = TcpListener::bind("127.0.0.1:0")?;
//!     let addr = listener.local_addr()?;
//!     try_spawn(async move { echo(listener.accept().await?).await }).detach();
//!
//!     let client = TcpStream::connect(addr).await?;
//!     client.write_all("hello").await?;
//!     assert_eq!(&*client.read(Buf::with_capacity(64)).await?, b"hello");
//!     Ok::<(), Error>(())
//! })
//! # .unwrap();
//! ```
//!
//! # The same in binds
//! A callback runs as soon as its promise is there, at once if it is there already. The recursion below is
//! a loop: it keeps one live promise, however long the connection lasts.
//!
//! ```
//! use lisle::net::{TcpListener, TcpStream};
//! use lisle::{Buf, Error, Promise, Runtime, both, ready};
//!
//! fn echo(stream: TcpStream, buf: Buf) -> Promise<()> {
//!     stream.read(buf).bind(move |buf| {
//!         if buf.is_empty() {
//!             return ready(());
//!         }
//!         stream.write_all(buf).bind(move |buf| echo(stream, buf))
//!     })
//! }
//!
//! let runtime = Runtime::new()?;
//! let listener = TcpListener::bind("127.0.0.1:0").unwrap();
//! let addr = listener.local_addr().unwrap();
//! let served = listener.accept().bind(|stream| echo(stream, Buf::with_capacity(4096)));
//! let client = TcpStream::connect(addr).bind(|stream| {
//!     let written = stream.write_all("hello");
//!     written.bind(move |_| stream.read(Buf::with_capacity(64))).map(|buf| assert_eq!(&*buf, b"hello"))
//! });
//! runtime.run_promise(both(served, client)).unwrap();
//! # Ok::<(), lisle::StartError>(())
//! ```
//!
//! # Cancellation
//! [`Promise::cancel`] asks the work to stop. A sleep is over at once; an operation is over when the kernel
//! says so, with its value if it had one by then; a task is resumed with `Err(Canceled)` where it waits and
//! may clean up. Nothing is lost: bytes that arrive for a read that was given up go to the next one.
//! Dropping a promise lets the work go on.
//!
//! ```
//! use lisle::net::UnixStream;
//! use lisle::time::{TimedOut, timeout};
//! use lisle::{Buf, Error};
//! use std::time::Duration;
//!
//! lisle::run(async {
//!     let (ours, theirs) = UnixStream::pair()?;
//!     let late = timeout(Duration::from_millis(2), ours.read(Buf::with_capacity(64))).await;
//!     assert!(late.unwrap_err().downcast_ref::<TimedOut>().is_some());
//!
//!     let cancelled = ours.read(Buf::with_capacity(64));
//!     cancelled.cancel();
//!     assert!(cancelled.await.unwrap_err().is_canceled());
//!
//!     theirs.write_all("not lost").await?;
//!     assert_eq!(&*ours.read(Buf::with_capacity(64)).await?, b"not lost");
//!     Ok::<(), Error>(())
//! })
//! # .unwrap();
//! ```
//!
//! # The engine
//! The same program gives the same result on every engine. `LISLE_ENGINE=auto|io_uring|epoll|poll|select`
//! chooses one, [`Runtime::builder`] does it in code, and otherwise it is the best that works; if that is
//! not io_uring, one line on stderr says why. [`Runtime::engine`] tells which it is.
#![forbid(unsafe_code)]

#[doc(hidden)]
#[path = "entry.rs"]
pub mod __private;
pub mod guide;
pub mod io;
pub mod net;
pub mod retry;
mod runtime;
pub mod throttle;
pub mod time;
pub mod timeouts;

pub use lisle_core::{
    Canceler, Error, IntoPromise, Promise, Resolver, Result, Shared, State, Status, YieldNow, all, both,
    both_ok, cancelable, choose, hook, join, list, nchoose, nchoose_split, npick, pair, pause, pick, react,
    ready, rejected, seq, settled, spawn, spawn_queued, storage, stream, sync, try_spawn, try_spawn_queued,
    yield_now,
};
/// For crates that drive the scheduler themselves, such as tests and benchmarks. May change at any time.
#[doc(hidden)]
pub use lisle_core::{live_waiters, sched, wake_paused};
pub use lisle_engine::probe::EngineError;
pub use lisle_engine::{Buf, Counters, EngineKind};
pub use lisle_macros::{main, test};
pub use runtime::{Builder, Runtime, StartError, run};

//! Serving: take connections, run a handler for each as a task, survive all that goes wrong, stop in good
//! order.
//!
//! ```text
//!   Accepting ──stop promise, broken listener──► Draining ──all ended──► done
//!      │  ▲                                          └──time is up──► connections are cancelled
//!      │  └─ a connection ended, or a timer ─┐
//!      └─ limit reached / out of descriptors ┘
//! ```
//!
//! One task holds all of this. The kernel accepts by itself (a multishot operation); at the limit it is
//! told to stop, and what it took before waits in the queue. A connection is a task of its own: its error
//! or panic goes to [`lisle_core::hook`] and reaches neither the server nor its neighbours. Not here: what
//! errors of `accept` mean (`accept.rs`).

use super::accept::Trouble;
use super::socket::Handle;
use crate::runtime::io::Kind;
use crate::runtime::multi::{Multishot, start_multi};
use crate::runtime::shape::Accepted;
use crate::time::sleep;
use lisle_core::{Error, IntoPromise, Promise, Result, rejected, spawn, try_spawn};
use lisle_engine::Op;
use slab::Slab;
use std::cell::RefCell;
use std::fmt;
use std::future::{Future, IntoFuture, poll_fn};
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

/// How many connections [`Serve`] has at the same time, unless told otherwise.
pub const CONNECTIONS_MAX: usize = 10_000;
/// How long [`Serve`] waits for connections after it was stopped, unless told otherwise.
pub const DRAIN_MAX: Duration = Duration::from_secs(30);
/// The first pause when descriptors or memory have run out; each further one is twice as long.
const BACKOFF_MIN: Duration = Duration::from_millis(1);
/// The longest such pause.
const BACKOFF_MAX: Duration = Duration::from_secs(1);
/// How many connections in a row may fail before they are taken for exhaustion: no error may become a busy
/// loop.
const FAILURES_MAX: u32 = 16;

/// What a connection's handler may end with: nothing, or a result whose error goes to [`lisle_core::hook`].
pub trait Handled: 'static {
    /// The error, if it is one.
    ///
    /// # Errors
    /// The handler's.
    fn handled(self) -> Result<()>;
}

impl Handled for () {
    fn handled(self) -> Result<()> {
        Ok(())
    }
}

impl<T: 'static, E: Into<Error> + 'static> Handled for Result<T, E> {
    fn handled(self) -> Result<()> {
        self.map(drop).map_err(Into::into)
    }
}

/// A server about to start: `.await` it, or turn it into a promise with [`IntoPromise`].
///
/// The promise is fulfilled after a graceful stop, when all connections have ended; it is rejected when the
/// listener breaks. Cancelling it stops accepting, cancels the connections and is over when these have
/// ended.
///
/// ```
/// use lisle::IntoPromise;
/// use lisle::net::{TcpListener, TcpStream};
/// lisle::run(async {
///     let listener = TcpListener::bind("127.0.0.1:0")?;
///     let addr = listener.local_addr()?;
///     let (stop, stopper) = lisle::pair::<()>();
///     let server = listener.serve(|stream| async move { stream.write_all("hello").await });
///     let server = server.limit(100).graceful(stop).into_promise();
///     let client = TcpStream::connect(addr).await?;
///     assert_eq!(&*client.read(lisle::Buf::with_capacity(9)).await?, b"hello");
///     stopper.resolve(());
///     server.await
/// })
/// # .unwrap();
/// ```
#[must_use = "a server starts when it is awaited"]
pub struct Serve {
    settings: Settings,
    start: Box<dyn FnOnce(Settings) -> Promise<()>>,
}

struct Settings {
    limit: usize,
    drain: Duration,
    stop: Option<Promise<()>>,
}

impl Serve {
    /// Begins, without waiting: the promise is of the end. `.await` does this as well.
    pub fn start(self) -> Promise<()> {
        self.into_promise()
    }

    /// At most this many connections at the same time; the others wait in the kernel. At least one.
    pub fn limit(mut self, connections: usize) -> Serve {
        self.settings.limit = connections.max(1);
        self
    }

    /// Stops accepting as soon as `stop` is settled, either way; then waits for the connections in progress.
    pub fn graceful<P: IntoPromise<Value = ()>>(mut self, stop: P) -> Serve {
        self.settings.stop = Some(stop.into_promise());
        self
    }

    /// How long connections may go on after the stop, before they are cancelled.
    pub fn drain(mut self, duration: Duration) -> Serve {
        self.settings.drain = duration;
        self
    }
}

impl IntoPromise for Serve {
    type Value = ();

    fn into_promise(self) -> Promise<()> {
        (self.start)(self.settings)
    }
}

impl IntoFuture for Serve {
    type Output = Result<()>;
    type IntoFuture = Promise<()>;

    fn into_future(self) -> Promise<()> {
        self.into_promise()
    }
}

impl fmt::Debug for Serve {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Serve")
            .field("limit", &self.settings.limit)
            .field("drain", &self.settings.drain)
            .finish_non_exhaustive()
    }
}

/// Serves the connections of a listener; `stream_of` makes a stream of a descriptor.
pub(super) fn serve<S, H, F>(listener: Handle, stream_of: fn(OwnedFd) -> S, handler: H) -> Serve
where
    S: 'static,
    H: FnMut(S) -> F + 'static,
    F: Future<Output: Handled> + 'static,
{
    let handler = Rc::new(RefCell::new(handler));
    let serve_one = move |fd, ended| {
        let handler = handler.clone();
        spawn(async move {
            let _ended: Ended = ended;
            let connection = (handler.borrow_mut())(stream_of(fd));
            connection.await.handled()
        })
    };
    let settings = Settings { limit: CONNECTIONS_MAX, drain: DRAIN_MAX, stop: None };
    let start = move |settings| {
        let mut server = Server::new(listener, settings, serve_one);
        try_spawn(async move { poll_fn(move |cx| server.poll(cx)).await })
    };
    Serve { settings, start: Box::new(start) }
}

/// Connections that have ended and were not looked at yet, and the server's waker.
#[derive(Default)]
struct Endings {
    ended: Vec<usize>,
    server: Option<Waker>,
}

/// Held by a connection's task; its drop tells the server, also after a panic.
struct Ended {
    endings: Rc<RefCell<Endings>>,
    id: usize,
}

impl Drop for Ended {
    fn drop(&mut self) {
        let mut endings = self.endings.borrow_mut();
        endings.ended.push(self.id);
        let server = endings.server.take();
        drop(endings);
        if let Some(server) = server {
            server.wake();
        }
    }
}

/// How far a server is.
enum Phase {
    Accepting,
    /// Waits for its connections; then it ends like this. The timer is gone once they were cancelled.
    Draining(Result<()>, Option<Promise<()>>),
}

struct Server<C> {
    listener: Handle,
    settings: Settings,
    serve_one: C,
    phase: Phase,
    connections: Slab<Promise<Result<()>>>,
    endings: Rc<RefCell<Endings>>,
    /// Before `accepts`, since it refers to it.
    next: Option<Promise<OwnedFd>>,
    accepts: Option<Multishot<Accepted<OwnedFd>>>,
    accepts_stopped: bool,
    backoff: Option<Promise<()>>,
    backoff_next: Duration,
    failures: u32,
    /// Always waited for, so that a cancellation of the server finds it, whatever else it waits for.
    never: Option<Promise<()>>,
}

impl<C: FnMut(OwnedFd, Ended) -> Promise<Result<()>>> Server<C> {
    fn new(listener: Handle, settings: Settings, serve_one: C) -> Server<C> {
        Server {
            listener,
            settings,
            serve_one,
            phase: Phase::Accepting,
            connections: Slab::new(),
            endings: Rc::default(),
            next: None,
            accepts: None,
            accepts_stopped: false,
            backoff: None,
            backoff_next: BACKOFF_MIN,
            failures: 0,
            never: Some(sleep(Duration::MAX)),
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<()>> {
        self.endings.borrow_mut().server = Some(cx.waker().clone());
        if is_settled(&mut self.never, cx) {
            self.stop_accepting(Err(Error::canceled()));
            self.cancel_connections();
        }
        if let Phase::Accepting = self.phase {
            self.poll_accepting(cx);
        }
        self.reap();
        let Phase::Draining(_, timer) = &mut self.phase else { return Poll::Pending };
        if !self.connections.is_empty() {
            if is_settled(timer, cx) {
                self.cancel_connections();
            }
            return Poll::Pending;
        }
        match std::mem::replace(&mut self.phase, Phase::Accepting) {
            Phase::Draining(result, _) => Poll::Ready(result),
            Phase::Accepting => unreachable!("checked above"),
        }
    }

    fn poll_accepting(&mut self, cx: &mut Context<'_>) {
        if is_settled(&mut self.settings.stop, cx) {
            return self.stop_accepting(Ok(()));
        }
        loop {
            self.reap();
            if self.connections.len() >= self.settings.limit {
                if let Some(accepts) = self.accepts.as_ref().filter(|_| !self.accepts_stopped) {
                    accepts.stop();
                    self.accepts_stopped = true;
                }
                return;
            }
            if self.backoff.is_some() && !is_settled(&mut self.backoff, cx) {
                return;
            }
            match self.poll_next(cx) {
                Poll::Pending => return,
                Poll::Ready(Ok(fd)) => self.start(fd),
                Poll::Ready(Err(error)) => match self.failed(&error) {
                    Trouble::Listener => return self.stop_accepting(Err(error)),
                    Trouble::Exhausted => self.back_off(),
                    Trouble::Connection => {}
                },
            }
        }
    }

    /// The next connection, from wherever there is one.
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Result<OwnedFd>> {
        let socket = self.listener.socket();
        loop {
            if let Some(next) = &mut self.next {
                let taken = ready!(Pin::new(next).poll(cx));
                self.next = None;
                return Poll::Ready(taken);
            }
            if let Some(fd) = socket.kept_connection() {
                return Poll::Ready(Ok(fd));
            }
            // Somebody accepted before and gave up; what comes for him is ours, and comes first.
            if socket.has_orphans() {
                self.next = Some(socket.accept());
                continue;
            }
            if let Some(accepts) = self.accepts.as_ref().filter(|accepts| !accepts.is_ended()) {
                self.next = Some(accepts.next());
                continue;
            }
            self.accepts =
                Some(start_multi(Op::AcceptMulti { fd: socket.fd().clone() }, Kind::Accept, socket)?);
            self.accepts_stopped = false;
        }
    }

    fn start(&mut self, fd: OwnedFd) {
        self.failures = 0;
        self.backoff_next = BACKOFF_MIN;
        let entry = self.connections.vacant_entry();
        let ended = Ended { endings: self.endings.clone(), id: entry.key() };
        entry.insert((self.serve_one)(fd, ended));
    }

    fn failed(&mut self, error: &Error) -> Trouble {
        // The last word of an operation that was stopped at the limit.
        if error.is_canceled() {
            return Trouble::Connection;
        }
        self.failures += 1;
        match Trouble::of(error) {
            Trouble::Connection if self.failures > FAILURES_MAX => Trouble::Exhausted,
            trouble => trouble,
        }
    }

    fn back_off(&mut self) {
        self.backoff = Some(sleep(self.backoff_next));
        self.backoff_next = (self.backoff_next * 2).min(BACKOFF_MAX);
    }

    /// Takes leave of connections that have ended; what they used may be what `accept` was short of.
    fn reap(&mut self) {
        loop {
            let Some(id) = self.endings.borrow_mut().ended.pop() else { return };
            let Some(connection) = self.connections.try_remove(id) else { continue };
            self.backoff = None;
            connection.on_any(|result| result.unwrap_or_else(report), report);
        }
    }

    /// What was accepted and not taken goes to the next acceptor of the listener, if there is one.
    fn stop_accepting(&mut self, result: Result<()>) {
        self.next = None;
        self.accepts = None;
        self.backoff = None;
        self.phase = Phase::Draining(result, Some(sleep(self.settings.drain)));
    }
}

impl<C> Server<C> {
    fn cancel_connections(&mut self) {
        if let Phase::Draining(_, timer) = &mut self.phase {
            *timer = None;
        }
        self.connections.iter().for_each(|(_, connection)| connection.cancel());
    }
}

impl<C> Drop for Server<C> {
    fn drop(&mut self) {
        self.cancel_connections();
    }
}

/// Whether something is waited for and there now; it is dropped then.
fn is_settled(slot: &mut Option<Promise<()>>, cx: &mut Context<'_>) -> bool {
    let settled = slot.as_mut().is_some_and(|promise| Pin::new(promise).poll(cx).is_ready());
    if settled {
        *slot = None;
    }
    settled
}

/// Tells the hook of a connection's failure.
#[cold]
fn report(error: Error) {
    if !error.is_canceled() {
        rejected::<()>(error).detach();
    }
}

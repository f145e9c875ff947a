//! Connections that live for one request: connect, 64 bytes there and back, close. What a server pays that
//! cannot keep its clients. One operation is the whole life of a connection, both sides of it.
//!
//! Fifty clients do this one connection after the other; each answer is checked. The system calls counted are
//! those of the engine: opening and closing the sockets comes on top.

use super::Scenario;
use crate::bench::case::{Case, Label, Style, check};
use crate::bench::measure::Sample;
use crate::bench::plan::Plan;
use crate::bench::rig::{Rig, text};
use lisle::net::{TcpListener, TcpStream};
use lisle::{
    Buf, EngineKind, Error, IntoPromise, Promise, Result, all, both, pair, ready, rejected, try_spawn,
};
use lisle_direct::Fiber;
use std::cell::Cell;
use std::net::SocketAddr;
use std::rc::Rc;

const NAME: &str = "churn";

/// Clients at the same time.
const CLIENTS: u64 = 50;

/// Bytes of the request and the answer.
const SIZE: usize = 64;

/// Bytes of a buffer: neither side knows how much will come.
const BUFFER: usize = 1024;

/// Connections of each client in one repetition.
const CONNECTIONS: u64 = 4;

pub(super) const SCENARIO: Scenario =
    Scenario { name: NAME, about: "one TCP connection: connect, a request of 64 B, close", cases };

fn cases(plan: &Plan) -> Vec<Case> {
    let accepting = Style::ALL.map(|style| (style, Server::AcceptLoop));
    let mut cases = Vec::new();
    for (style, server) in accepting.into_iter().chain([(Style::Async, Server::Serve)]) {
        for &kind in &plan.engines {
            let label = Label::new(NAME, style).variant(server.name()).on(kind);
            cases.push(Case::new(label, plan.io_round, move |repeat| {
                measure(kind, style, server, CONNECTIONS * repeat)
            }));
        }
    }
    cases
}

/// How connections are taken.
#[derive(Clone, Copy)]
enum Server {
    /// By one `accept` after the other, as one writes it by hand.
    AcceptLoop,
    /// By `TcpListener::serve`, for which the kernel accepts by itself.
    Serve,
}

impl Server {
    fn name(self) -> &'static str {
        match self {
            Server::AcceptLoop => "accept loop",
            Server::Serve => "serve",
        }
    }
}

fn measure(
    kind: EngineKind,
    style: Style,
    server: Server,
    connections: u64,
) -> std::result::Result<Sample, String> {
    let rig = Rig::on(kind)?;
    let listener = TcpListener::bind("127.0.0.1:0").map_err(text)?;
    let addr = listener.local_addr().map_err(text)?;
    let play = |connections: u64| {
        let clients = all_clients(style, addr, connections);
        match server {
            Server::AcceptLoop => both(accept_loop(style, &listener, connections * CLIENTS), clients),
            Server::Serve => serve(&listener, clients),
        }
    };
    // Once unmeasured: tables grow to their size.
    check(&rig.drive(play(1))?, &(CLIENTS, CLIENTS))?;
    let total = connections * CLIENTS;
    let (sample, (accepted, answered)) = rig.measure(total, || play(connections))?;
    check(&(accepted, answered), &(total, total))?;
    Ok(sample)
}

/// Serves until all clients are content; promises how many connections were accepted, and how many answers
/// came.
fn serve(listener: &TcpListener, clients: Promise<u64>) -> Promise<(u64, u64)> {
    let accepted = Rc::new(Cell::new(0));
    let count = accepted.clone();
    let (stop, stopper) = pair();
    let handler = move |stream| {
        count.set(count.get() + 1);
        awaited::serve(stream)
    };
    let server = listener.serve(handler).graceful(stop).into_promise();
    clients.bind(move |answered| {
        stopper.resolve(());
        server.map(move |()| (accepted.get(), answered))
    })
}

/// All clients at once; promises how many answers they got.
fn all_clients(style: Style, addr: SocketAddr, connections: u64) -> Promise<u64> {
    let client = |_| match style {
        Style::Bind => bound::client(addr, connections, 0),
        Style::Async => try_spawn(awaited::client(addr, connections)),
        Style::Direct => lisle_direct::try_spawn(move |fiber| waited::client(fiber, addr, connections)),
    };
    all((0..CLIENTS).map(client).collect::<Vec<_>>()).map(|answers| answers.iter().sum())
}

/// Accepts so many connections and serves each to its end; promises how many those were.
fn accept_loop(style: Style, listener: &TcpListener, connections: u64) -> Promise<u64> {
    let listener = listener.clone();
    match style {
        Style::Bind => bound::accept(listener, connections, Vec::with_capacity(connections as usize)),
        Style::Async => try_spawn(awaited::accept(listener, connections)),
        Style::Direct => lisle_direct::try_spawn(move |fiber| waited::accept(fiber, &listener, connections)),
    }
}

/// The request, in a buffer with room for the answer.
fn message() -> Buf {
    let mut message = Buf::with_capacity(BUFFER);
    message.storage_mut()[..SIZE].fill(b'?');
    message.set_len(SIZE);
    message
}

/// Loopback does not part 64 bytes that were sent at once.
fn check_answer(answer: &Buf) -> Result<()> {
    if answer.len() == SIZE && answer[0] == b'?' {
        return Ok(());
    }
    Err(Error::message(format!("an answer of {} bytes", answer.len())))
}

/// In binds.
mod bound {
    use super::{
        BUFFER, Buf, Promise, SocketAddr, TcpListener, TcpStream, all, check_answer, message, ready, rejected,
    };

    pub(super) fn client(addr: SocketAddr, left: u64, answered: u64) -> Promise<u64> {
        if left == 0 {
            return ready(answered);
        }
        let connected = TcpStream::connect(addr);
        let answer = connected.bind(|stream| stream.write_all(message()).bind(move |buf| stream.read(buf)));
        answer.bind(move |answer| match check_answer(&answer) {
            Ok(()) => client(addr, left - 1, answered + 1),
            Err(error) => rejected(error),
        })
    }

    pub(super) fn accept(listener: TcpListener, left: u64, mut served: Vec<Promise<()>>) -> Promise<u64> {
        if left == 0 {
            return all(served).map(|served| served.len() as u64);
        }
        let connected = listener.accept();
        connected.bind(move |stream| {
            served.push(serve(stream, Buf::with_capacity(BUFFER)));
            accept(listener, left - 1, served)
        })
    }

    /// Answers until the client is gone.
    fn serve(stream: TcpStream, buf: Buf) -> Promise<()> {
        let received = stream.read(buf);
        received.bind(move |buf| {
            if buf.is_empty() {
                return ready(());
            }
            let sent = stream.write_all(buf);
            sent.bind(move |buf| serve(stream, buf))
        })
    }
}

/// In async functions.
mod awaited {
    use super::{
        BUFFER, Buf, Result, SocketAddr, TcpListener, TcpStream, all, check_answer, message, try_spawn,
    };

    pub(super) async fn client(addr: SocketAddr, connections: u64) -> Result<u64> {
        for _ in 0..connections {
            let stream = TcpStream::connect(addr).await?;
            let buf = stream.write_all(message()).await?;
            check_answer(&stream.read(buf).await?)?;
        }
        Ok(connections)
    }

    pub(super) async fn accept(listener: TcpListener, connections: u64) -> Result<u64> {
        let mut served = Vec::with_capacity(connections as usize);
        for _ in 0..connections {
            served.push(try_spawn(serve(listener.accept().await?)));
        }
        Ok(all(served).await?.len() as u64)
    }

    pub(super) async fn serve(stream: TcpStream) -> Result<()> {
        let mut buf = stream.read(Buf::with_capacity(BUFFER)).await?;
        while !buf.is_empty() {
            buf = stream.write_all(buf).await?;
            buf = stream.read(buf).await?;
        }
        Ok(())
    }
}

/// In fibers.
mod waited {
    use super::{BUFFER, Buf, Fiber, Result, SocketAddr, TcpListener, TcpStream, all, check_answer, message};

    pub(super) fn client(fiber: &Fiber, addr: SocketAddr, connections: u64) -> Result<u64> {
        for _ in 0..connections {
            let stream = fiber.wait(TcpStream::connect(addr))?;
            let buf = fiber.wait(stream.write_all(message()))?;
            check_answer(&fiber.wait(stream.read(buf))?)?;
        }
        Ok(connections)
    }

    pub(super) fn accept(fiber: &Fiber, listener: &TcpListener, connections: u64) -> Result<u64> {
        let mut served = Vec::with_capacity(connections as usize);
        for _ in 0..connections {
            let stream = fiber.wait(listener.accept())?;
            served.push(lisle_direct::try_spawn(move |fiber| serve(fiber, &stream)));
        }
        Ok(fiber.wait(all(served))?.len() as u64)
    }

    fn serve(fiber: &Fiber, stream: &TcpStream) -> Result<()> {
        let mut buf = fiber.wait(stream.read(Buf::with_capacity(BUFFER)))?;
        while !buf.is_empty() {
            buf = fiber.wait(stream.write_all(buf))?;
            buf = fiber.wait(stream.read(buf))?;
        }
        Ok(())
    }
}

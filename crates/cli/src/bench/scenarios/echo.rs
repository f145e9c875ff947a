//! A server that sends back what it gets, and a hundred clients that each wait for their answer, all on one
//! thread over TCP: throughput of small requests. One operation is the round trip of one request.
//!
//! Connections are made beforehand. Each request bears its number, and each client checks the answer.

use super::Scenario;
use crate::bench::case::{Case, Label, Style, check};
use crate::bench::measure::Sample;
use crate::bench::plan::Plan;
use crate::bench::rig::{Rig, text};
use lisle::net::{TcpListener, TcpStream};
use lisle::{Buf, EngineKind, Error, Promise, Result, all, both, pair, ready, rejected, try_spawn};
use lisle_direct::Fiber;

const NAME: &str = "echo";

/// Connections, each with one request under way.
const CONNECTIONS: u64 = 100;

/// Bytes of a request and its answer.
const SIZE: usize = 64;

/// Bytes of a buffer: neither side knows how much will come. And a read that fills its buffer says nothing
/// about what is left, so a readiness engine would have to ask once more.
const BUFFER: usize = 4096;

/// Requests of each connection: a full run is as long as the plan's chains, the selection a fifth of it.
const SELECTION_DIVISOR: u64 = 5;

pub(super) const SCENARIO: Scenario =
    Scenario { name: NAME, about: "one of 100 x 1000 requests of 64 B to an echo server over TCP", cases };

fn cases(plan: &Plan) -> Vec<Case> {
    let requests = if plan.full { plan.length } else { (plan.length / SELECTION_DIVISOR).max(1) };
    let mut cases = Vec::new();
    for style in Style::ALL {
        for &kind in &plan.engines {
            let label = Label::new(NAME, style).sized(SIZE).on(kind);
            cases
                .push(Case::new(label, plan.io_round, move |repeat| measure(kind, style, requests * repeat)));
        }
    }
    cases
}

fn measure(kind: EngineKind, style: Style, requests: u64) -> std::result::Result<Sample, String> {
    let rig = Rig::on(kind)?;
    let connections = connect(&rig).map_err(text)?;
    let (clients, servers): (Vec<_>, Vec<_>) = connections.into_iter().unzip();
    let served: Vec<Promise<u64>> = servers.into_iter().map(|stream| serve(style, stream)).collect();

    // Once unmeasured: tables grow to their size, and every server has its buffer.
    rig.drive(all(clients.iter().map(|stream| request(style, stream, 1, ready(()))).collect::<Vec<_>>()))?;
    let (gates, openers): (Vec<_>, Vec<_>) = clients.iter().map(|_| pair::<()>()).unzip();
    let asked = clients.iter().zip(gates).map(|(stream, gate)| request(style, stream, requests, gate));
    let asked = all(asked.collect::<Vec<_>>());
    let (sample, answers) = rig.measure_gated(requests * CONNECTIONS, openers, asked)?;
    check(&answers.iter().sum::<u64>(), &(requests * CONNECTIONS))?;

    drop(clients);
    let served = rig.drive(all(served))?;
    check(&served.iter().sum::<u64>(), &((requests + 1) * CONNECTIONS))?;
    Ok(sample)
}

/// Pairs of a client's and the server's end.
fn connect(rig: &Rig) -> std::result::Result<Vec<(TcpStream, TcpStream)>, String> {
    let listener = TcpListener::bind("127.0.0.1:0").map_err(text)?;
    let addr = listener.local_addr().map_err(text)?;
    let mut connections = Vec::new();
    for _ in 0..CONNECTIONS {
        let (client, server) = rig.drive(both(TcpStream::connect(addr), listener.accept()))?;
        client.set_nodelay(true).map_err(text)?;
        server.set_nodelay(true).map_err(text)?;
        connections.push((client, server));
    }
    Ok(connections)
}

/// A client that begins once the gate is open; promises how many answers it got.
fn request(style: Style, stream: &TcpStream, requests: u64, gate: Promise<()>) -> Promise<u64> {
    let stream = stream.clone();
    let message = Buf::with_capacity(BUFFER);
    match style {
        Style::Bind => gate.bind(move |()| bound::request(stream, message, requests, 0)),
        Style::Async => try_spawn(async move {
            gate.await?;
            awaited::request(stream, message, requests).await
        }),
        Style::Direct => lisle_direct::try_spawn(move |fiber| {
            fiber.wait(gate)?;
            waited::request(fiber, &stream, message, requests)
        }),
    }
}

/// A server of one connection; promises how many requests it answered.
fn serve(style: Style, stream: TcpStream) -> Promise<u64> {
    let buf = Buf::with_capacity(BUFFER);
    match style {
        Style::Bind => bound::serve(stream, buf, 0),
        Style::Async => try_spawn(awaited::serve(stream, buf)),
        Style::Direct => lisle_direct::try_spawn(move |fiber| waited::serve(fiber, &stream, buf)),
    }
}

/// The request with this number, in the buffer of the last answer: its first byte says so.
fn numbered(mut message: Buf, number: u64) -> Buf {
    message.storage_mut()[0] = number as u8;
    message.set_len(SIZE);
    message
}

/// Whether this is the answer to request `number`. Loopback does not part 64 bytes that were sent at once.
fn check_answer(answer: &Buf, number: u64) -> Result<()> {
    if answer.len() == SIZE && answer[0] == number as u8 {
        return Ok(());
    }
    Err(Error::message(format!("request {number} got an answer of {} bytes", answer.len())))
}

/// In binds.
mod bound {
    use super::{Buf, Promise, TcpStream, check_answer, numbered, ready, rejected};

    pub(super) fn request(stream: TcpStream, message: Buf, left: u64, answered: u64) -> Promise<u64> {
        if left == 0 {
            return ready(answered);
        }
        let sent = stream.write_all(numbered(message, left));
        sent.bind(move |message| {
            let answer = stream.read(message);
            answer.bind(move |message| match check_answer(&message, left) {
                Ok(()) => request(stream, message, left - 1, answered + 1),
                Err(error) => rejected(error),
            })
        })
    }

    pub(super) fn serve(stream: TcpStream, buf: Buf, served: u64) -> Promise<u64> {
        let received = stream.read(buf);
        received.bind(move |buf| {
            if buf.is_empty() {
                return ready(served);
            }
            let sent = stream.write_all(buf);
            sent.bind(move |buf| serve(stream, buf, served + 1))
        })
    }
}

/// In async functions.
mod awaited {
    use super::{Buf, Result, TcpStream, check_answer, numbered};

    pub(super) async fn request(stream: TcpStream, mut message: Buf, requests: u64) -> Result<u64> {
        for number in 0..requests {
            message = stream.write_all(numbered(message, number)).await?;
            message = stream.read(message).await?;
            check_answer(&message, number)?;
        }
        Ok(requests)
    }

    pub(super) async fn serve(stream: TcpStream, mut buf: Buf) -> Result<u64> {
        let mut served = 0;
        loop {
            buf = stream.read(buf).await?;
            if buf.is_empty() {
                return Ok(served);
            }
            buf = stream.write_all(buf).await?;
            served += 1;
        }
    }
}

/// In fibers.
mod waited {
    use super::{Buf, Fiber, Result, TcpStream, check_answer, numbered};

    pub(super) fn request(fiber: &Fiber, stream: &TcpStream, mut message: Buf, requests: u64) -> Result<u64> {
        for number in 0..requests {
            message = fiber.wait(stream.write_all(numbered(message, number)))?;
            message = fiber.wait(stream.read(message))?;
            check_answer(&message, number)?;
        }
        Ok(requests)
    }

    pub(super) fn serve(fiber: &Fiber, stream: &TcpStream, mut buf: Buf) -> Result<u64> {
        let mut served = 0;
        loop {
            buf = fiber.wait(stream.read(buf))?;
            if buf.is_empty() {
                return Ok(served);
            }
            buf = fiber.wait(stream.write_all(buf))?;
            served += 1;
        }
    }
}

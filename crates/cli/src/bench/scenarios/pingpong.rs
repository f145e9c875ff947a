//! Two ends of a socket pair on one thread throw a message to and fro: the latency of one write, one wake-up
//! and one read, twice. One operation is a round trip.
//!
//! Each message bears its number, and each end checks it, so bytes that got lost or mixed up do not go
//! unnoticed. Buffers are made beforehand and travel through the operations; nothing but the library
//! allocates.

use super::Scenario;
use crate::bench::case::{Case, Label, Style, check};
use crate::bench::measure::Sample;
use crate::bench::plan::Plan;
use crate::bench::rig::{Rig, text};
use lisle::net::UnixStream;
use lisle::{Buf, EngineKind, Error, Promise, Result, both, pair, ready, rejected, try_spawn};
use lisle_direct::Fiber;

const NAME: &str = "pingpong";

/// Bytes of a message: what a full run measures.
const SIZES: [usize; 5] = [1, 64, 1 << 10, 16 << 10, 256 << 10];

/// A typical request, and a size at which copying is all that counts.
const SIZES_OF_SELECTION: [usize; 2] = [64, 256 << 10];

/// Round trips in one repetition, and before the measurement.
const ROUND_TRIPS: u64 = 10;

pub(super) const SCENARIO: Scenario =
    Scenario { name: NAME, about: "one round trip of a message between two ends of a socket pair", cases };

fn cases(plan: &Plan) -> Vec<Case> {
    let sizes: &[usize] = if plan.full { &SIZES } else { &SIZES_OF_SELECTION };
    let mut cases = Vec::new();
    for &size in sizes {
        for style in Style::ALL {
            for &kind in &plan.engines {
                let label = Label::new(NAME, style).sized(size).on(kind);
                cases.push(Case::new(label, plan.io_round, move |repeat| {
                    measure(kind, style, size, repeat * ROUND_TRIPS)
                }));
            }
        }
    }
    cases
}

fn measure(kind: EngineKind, style: Style, size: usize, trips: u64) -> std::result::Result<Sample, String> {
    let rig = Rig::on(kind)?;
    let (near, far) = UnixStream::pair().map_err(text)?;
    let ping = End { stream: near, size, answers: false };
    let pong = End { stream: far, size, answers: true };
    // Once unmeasured: tables grow to their size, stacks are mapped, buffers touched.
    let warm = |end: &End| run(style, end.clone(), Buffers::new(size), ROUND_TRIPS, ready(()));
    let (pings, pongs) = rig.drive(both(warm(&ping), warm(&pong)))?;

    let ((ping_gate, open_ping), (pong_gate, open_pong)) = (pair(), pair());
    let played = both(run(style, ping, pings, trips, ping_gate), run(style, pong, pongs, trips, pong_gate));
    let (sample, (pings, pongs)) = rig.measure_gated(trips, vec![open_ping, open_pong], played)?;
    // That every message arrived whole and in order, both ends have checked; here, that they got to the last
    // one.
    check(&(pings.outbox[0], pongs.outbox[0]), &(1, 1))?;
    Ok(sample)
}

/// Plays one end for so many round trips once the gate is open, and gives the buffers back.
fn run(style: Style, end: End, buffers: Buffers, trips: u64, gate: Promise<()>) -> Promise<Buffers> {
    match style {
        Style::Bind => gate.bind(move |()| bound::play(end, buffers, trips)),
        Style::Async => try_spawn(async move {
            gate.await?;
            awaited::play(end, buffers, trips).await
        }),
        Style::Direct => lisle_direct::try_spawn(move |fiber| {
            fiber.wait(gate)?;
            waited::play(fiber, &end, buffers, trips)
        }),
    }
}

/// One end of the pair.
#[derive(Clone)]
struct End {
    stream: UnixStream,
    size: usize,
    /// Reads first and answers, or begins and waits for the answer.
    answers: bool,
}

/// What an end needs for one message in each direction.
struct Buffers {
    inbox: Buf,
    outbox: Buf,
}

/// How much more than a message the reader has room for. A reader seldom knows how much will come; and a read
/// that fills its buffer says nothing about what is left, so a readiness engine must ask once more.
const SPARE: usize = 64;

impl Buffers {
    fn new(size: usize) -> Buffers {
        Buffers { inbox: Buf::with_capacity(size + SPARE), outbox: Buf::from(vec![0; size]) }
    }
}

/// The message with this number: its first byte says so.
fn numbered(mut message: Buf, number: u64) -> Buf {
    message.storage_mut()[0] = number as u8;
    message
}

/// Takes in one part of message `number`; how many bytes of it are there now.
fn take_in(part: &Buf, received: usize, number: u64) -> Result<usize> {
    if part.is_empty() {
        return Err(Error::message("the other end is gone"));
    }
    if received == 0 && part[0] != number as u8 {
        return Err(Error::message("a message came out of order"));
    }
    Ok(received + part.len())
}

/// In binds. A step calls the next from its callback; the outer promise survives, so memory stays flat.
mod bound {
    use super::{Buf, Buffers, End, Promise, numbered, ready, rejected, take_in};

    pub(super) fn play(end: End, buffers: Buffers, trips: u64) -> Promise<Buffers> {
        if trips == 0 {
            return ready(buffers);
        }
        let Buffers { inbox, outbox } = buffers;
        if end.answers { receive(end, inbox, outbox, 0, trips) } else { send(end, inbox, outbox, trips) }
    }

    fn send(end: End, inbox: Buf, outbox: Buf, trips: u64) -> Promise<Buffers> {
        let sent = end.stream.write_all(numbered(outbox, trips));
        sent.bind(move |outbox| {
            if end.answers {
                play(end, Buffers { inbox, outbox }, trips - 1)
            } else {
                receive(end, inbox, outbox, 0, trips)
            }
        })
    }

    fn receive(end: End, inbox: Buf, outbox: Buf, received: usize, trips: u64) -> Promise<Buffers> {
        let part = end.stream.read(inbox);
        part.bind(move |inbox| match take_in(&inbox, received, trips) {
            Err(error) => rejected(error),
            Ok(received) if received < end.size => receive(end, inbox, outbox, received, trips),
            Ok(_) if end.answers => send(end, inbox, outbox, trips),
            Ok(_) => play(end, Buffers { inbox, outbox }, trips - 1),
        })
    }
}

/// In an async function.
mod awaited {
    use super::{Buf, Buffers, End, Result, numbered, take_in};

    pub(super) async fn play(end: End, mut buffers: Buffers, trips: u64) -> Result<Buffers> {
        for number in (1..=trips).rev() {
            if end.answers {
                buffers.inbox = receive(&end, buffers.inbox, number).await?;
                buffers.outbox = end.stream.write_all(numbered(buffers.outbox, number)).await?;
            } else {
                buffers.outbox = end.stream.write_all(numbered(buffers.outbox, number)).await?;
                buffers.inbox = receive(&end, buffers.inbox, number).await?;
            }
        }
        Ok(buffers)
    }

    async fn receive(end: &End, mut inbox: Buf, number: u64) -> Result<Buf> {
        let mut received = 0;
        while received < end.size {
            inbox = end.stream.read(inbox).await?;
            received = take_in(&inbox, received, number)?;
        }
        Ok(inbox)
    }
}

/// In a fiber.
mod waited {
    use super::{Buf, Buffers, End, Fiber, Result, numbered, take_in};

    pub(super) fn play(fiber: &Fiber, end: &End, mut buffers: Buffers, trips: u64) -> Result<Buffers> {
        for number in (1..=trips).rev() {
            if end.answers {
                buffers.inbox = receive(fiber, end, buffers.inbox, number)?;
                buffers.outbox = fiber.wait(end.stream.write_all(numbered(buffers.outbox, number)))?;
            } else {
                buffers.outbox = fiber.wait(end.stream.write_all(numbered(buffers.outbox, number)))?;
                buffers.inbox = receive(fiber, end, buffers.inbox, number)?;
            }
        }
        Ok(buffers)
    }

    fn receive(fiber: &Fiber, end: &End, mut inbox: Buf, number: u64) -> Result<Buf> {
        let mut received = 0;
        while received < end.size {
            inbox = fiber.wait(end.stream.read(inbox))?;
            received = take_in(&inbox, received, number)?;
        }
        Ok(inbox)
    }
}

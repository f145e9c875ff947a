//! What is kept for something that only waits: a task, a timer, a connection with a read outstanding. In
//! bytes of the heap, everything included that the library allocates for it (tables, handles, the task
//! itself).
//!
//! Each measurement has a thread of its own: tables that grew once keep their size as long as their thread
//! lives. What the kernel keeps for a socket is not counted, nor the stack of a fiber, which is mapped and
//! not allocated.

use super::Scenario;
use super::timer::Durations;
use crate::alloc;
use crate::bench::case::{Case, Label, Style, check};
use crate::bench::measure::{Sample, Stopwatch};
use crate::bench::plan::Plan;
use crate::bench::rig::{Rig, text};
use lisle::net::UnixStream;
use lisle::time::sleep;
use lisle::{EngineKind, Promise, pause, sched, spawn};
use std::thread;
use std::time::Duration;

const NAME: &str = "memory";

/// Connections. Both ends together stay below 1024 descriptors: select ends there, and many a limit.
const CONNECTIONS: usize = 448;

/// Connections made before, so that what is there once for all of them does not count.
const CONNECTIONS_BEFORE: usize = 32;

pub(super) const SCENARIO: Scenario =
    Scenario { name: NAME, about: "bytes kept for an idle task, timer or connection", cases };

fn cases(plan: &Plan) -> Vec<Case> {
    // A power of two, which tables that double are full at.
    let many = (plan.width * plan.length / 8).next_power_of_two() as usize;
    let mut cases = vec![
        case(Label::new(NAME, Style::Async).variant("task"), move || tasks(many)),
        case(Label::new(NAME, Style::Bind).variant("timer"), move || timers(many)),
    ];
    cases.extend(plan.engines.iter().map(|&kind| {
        case(Label::new(NAME, Style::Async).variant("connection").on(kind), move || connections(kind))
    }));
    cases
}

/// A case that runs in a fresh thread each time. Its length is fixed, so a round may be as short as it likes.
fn case(label: Label, work: impl Fn() -> Result<Sample, String> + Copy + Send + 'static) -> Case {
    let quietly = move || {
        // What waits when the thread ends is abandoned, on purpose here: nobody needs to be told of each.
        lisle::hook::set(|_| ());
        work()
    };
    Case::new(label, Duration::ZERO, move |_| {
        thread::spawn(quietly).join().unwrap_or_else(|_| Err("panicked".to_owned()))
    })
}

/// Counts what `work` leaves behind.
fn kept<T>(count: usize, work: impl FnOnce() -> T) -> (Sample, T) {
    let before = alloc::live_bytes();
    let watch = Stopwatch::start(None);
    let value = work();
    let sample = watch.stop(count as u64, None);
    (Sample { kept_bytes: Some(alloc::live_bytes() - before), ..sample }, value)
}

/// Tasks that wait for ever; their future is of size zero, so what is counted is what a task costs beside it.
fn tasks(count: usize) -> Result<Sample, String> {
    let (sample, ()) = kept(count, || (0..count).for_each(|_| drop(spawn(std::future::pending::<()>()))));
    check(&sched::tasks::task_count(), &count)?;
    sched::reset();
    Ok(sample)
}

/// Timers with the handles by which they can be cancelled.
fn timers(count: usize) -> Result<Sample, String> {
    let mut durations = Durations(1);
    let (sample, timers) = kept(count, || {
        let mut timers: Vec<Promise<()>> = Vec::with_capacity(count);
        timers.extend((0..count).map(|_| sleep(durations.next())));
        timers
    });
    check(&sched::sleep::sleep_count(), &count)?;
    drop(timers);
    Ok(sample)
}

/// Connections with a task each that waits for the first bytes, in a buffer that is taken only when they
/// come.
fn connections(kind: EngineKind) -> Result<Sample, String> {
    let rig = Rig::on(kind)?;
    let mut ends = pairs(CONNECTIONS_BEFORE + CONNECTIONS)?;
    let before = ends.split_off(CONNECTIONS);
    let far_before = wait_on_each(&rig, before)?;
    let (sample, far) = kept(CONNECTIONS, || wait_on_each(&rig, ends));
    let far = far?;
    check(&sched::tasks::task_count(), &(CONNECTIONS_BEFORE + CONNECTIONS))?;
    drop((far, far_before));
    Ok(sample)
}

type Ends = (std::os::unix::net::UnixStream, std::os::unix::net::UnixStream);

/// Descriptors only: the library has not seen them yet, and the far ends it never sees.
fn pairs(count: usize) -> Result<Vec<Ends>, String> {
    let pair = |_| {
        let (near, far) = std::os::unix::net::UnixStream::pair()?;
        near.set_nonblocking(true)?;
        Ok((near, far))
    };
    (0..count).map(pair).collect::<std::io::Result<_>>().map_err(text)
}

/// Starts a reader for each near end and lets the engine see it. Gives back the far ends, which keep them
/// idle.
fn wait_on_each(rig: &Rig, ends: Vec<Ends>) -> Result<Vec<std::os::unix::net::UnixStream>, String> {
    let mut kept_open = Vec::new();
    for (near, far) in ends {
        let stream = UnixStream::from_fd(near.into());
        drop(spawn(async move { stream.read_pool().await.map(drop) }));
        kept_open.push(far);
    }
    rig.drive(pause().bind(|()| pause()))?;
    Ok(kept_open)
}

//! Runs one case and compares its trace with the reference's.
//!
//! A case runs on a thread of its own: the library keeps its queues per thread, so each program starts with
//! fresh ones, and a program that panics or never ends spoils no other. Its laps are core's alone, or those
//! of a runtime on some engine ([`Laps`]): the trace is the same.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use lisle::{EngineKind, Runtime};
use lisle_core::hook::{self, FailureKind};
use lisle_core::wake_paused;

use crate::machine::{Machine, Scope, shown};
use crate::parse::Case;
use crate::run;

/// Programs take microseconds; one that takes this long does not end.
const CASE_TIME_MAX: Duration = Duration::from_secs(20);

/// Whose laps a program has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Laps {
    /// Core's: pauses are woken, and there is nothing else.
    #[default]
    Core,
    /// A runtime's on this engine, whose turn is before the pauses.
    Engine(EngineKind),
}

/// What came of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Its trace is the expected one.
    Passed,
    /// Its trace is this one.
    Differs(Vec<String>),
    /// It panicked with this message.
    Panicked(String),
    /// It did not end.
    Hung,
}

impl Verdict {
    /// The verdict in one line; for a trace, where it first differs.
    #[must_use]
    pub fn reason(&self, case: &Case) -> String {
        match self {
            Verdict::Passed => "passed".to_owned(),
            Verdict::Differs(actual) => {
                let count = actual.len().max(case.expected.len());
                let first = (0..count).find(|i| case.expected.get(*i) != actual.get(*i)).unwrap_or(count);
                let line =
                    |trace: &[String]| trace.get(first).map_or("no line".to_owned(), |l| format!("{l:?}"));
                let (expected, actual) = (line(&case.expected), line(actual));
                format!("trace line {}: expected {expected}, is {actual}", first + 1)
            }
            Verdict::Panicked(message) => format!("panicked: {message}"),
            Verdict::Hung => format!("did not end within {} s", CASE_TIME_MAX.as_secs()),
        }
    }
}

/// Runs a case.
///
/// # Panics
/// If the system gives no thread.
#[must_use]
pub fn judge(case: &Case) -> Verdict {
    judge_with(case, Laps::Core)
}

/// Runs a case with the laps of an engine. If that cannot be opened the case panicked.
///
/// # Panics
/// If the system gives no thread.
#[must_use]
pub fn judge_with(case: &Case, laps: Laps) -> Verdict {
    let (sender, receiver) = mpsc::channel();
    let copy = case.clone();
    let thread = thread::Builder::new().name(case.name.clone());
    let runner = thread
        .spawn(move || {
            let trace = catch_unwind(AssertUnwindSafe(|| trace(&copy, laps)));
            // The receiver is gone only if this case was given up as hung.
            let _ = sender.send(trace.map_err(|payload| message(&*payload)));
        })
        .expect("the system gives a thread");
    let Ok(trace) = receiver.recv_timeout(CASE_TIME_MAX) else { return Verdict::Hung };
    // Joined, so that what a case leaves in its thread is dropped before the next one starts.
    match (trace, runner.join()) {
        (Err(message), _) => Verdict::Panicked(message),
        (Ok(_), Err(payload)) => Verdict::Panicked(message(&*payload)),
        (Ok(trace), Ok(())) if trace == case.expected => Verdict::Passed,
        (Ok(trace), Ok(())) => Verdict::Differs(trace),
    }
}

/// Runs a case's program on this thread and gives its trace.
///
/// # Panics
/// If the library panics, or the engine of these laps cannot be opened.
#[must_use]
pub fn trace(case: &Case, laps: Laps) -> Vec<String> {
    let runtime = match laps {
        Laps::Core => None,
        Laps::Engine(kind) => Some(Runtime::builder().engine(kind).build().expect("the engine opens")),
    };
    let machine = Machine::new(case.highest, runtime);
    let listener = machine.clone();
    hook::set(move |failure| match failure.kind() {
        FailureKind::Detached | FailureKind::Callback => {
            listener.log(format!("hook {}", shown(failure.error())));
        }
        // What the reference never reports, such as a failure that nobody looked at, is no event of the
        // trace.
        _ => {}
    });
    run::statements(&machine, &Scope::top(), &case.program.statements);
    let trace = machine.close();
    // What is still pending is now settled or dropped, so that every path of the library's teardown is
    // walked too.
    hook::set(|_| {});
    wake_paused();
    machine.empty();
    hook::reset();
    trace
}

fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("no message").to_owned()
}

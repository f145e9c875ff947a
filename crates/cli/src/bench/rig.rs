//! Where scenarios run: on the scheduler alone, or on a runtime with an engine.
//!
//! The scheduler alone is the shortest possible loop over `lisle::sched`: what a scenario costs there has
//! nothing to do with engines. A runtime is the real one, opened for each round anew, so that no case
//! inherits another's state.

use super::case::check;
use super::measure::{Sample, Stopwatch};
use lisle::net::UnixStream;
use lisle::{Buf, EngineKind, Promise, Resolver, Runtime, pause, sched};
use std::fmt;

/// A connection on which nothing ever arrives, with a read outstanding. Without one an engine has nothing to
/// watch and may skip its turn altogether; a server always has something to watch, and that is what a turn
/// must cost.
struct IdleConnection {
    _read: Promise<Buf>,
    _ends: (UnixStream, UnixStream),
}

/// A scheduler, with or without an engine. What waits on it is dropped before it.
pub(crate) struct Rig {
    idle: Option<IdleConnection>,
    runtime: Option<Runtime>,
}

impl Rig {
    /// The scheduler of this thread, without an engine.
    pub(crate) fn scheduler() -> Rig {
        Rig { idle: None, runtime: None }
    }

    /// A runtime on this engine.
    pub(crate) fn on(kind: EngineKind) -> Result<Rig, String> {
        let runtime = Runtime::builder().engine(kind).build().map_err(text)?;
        Ok(Rig { idle: None, runtime: Some(runtime) })
    }

    /// Gives the engine something to watch: see [`IdleConnection`].
    pub(crate) fn with_idle_connection(mut self) -> Result<Rig, String> {
        let ends = UnixStream::pair().map_err(text)?;
        let read = ends.0.read(Buf::with_capacity(64));
        check(&read.is_pending(), &true)?;
        self.idle = Some(IdleConnection { _read: read, _ends: ends });
        Ok(self)
    }

    /// Laps until the promise is settled.
    pub(crate) fn drive<T: 'static>(&self, promise: Promise<T>) -> Result<T, String> {
        match &self.runtime {
            Some(runtime) => runtime.run_promise(promise).map_err(text),
            None => drive_without_engine(promise),
        }
    }

    /// Drives what `work` starts and measures it; `operations` is what it consists of.
    pub(crate) fn measure<T: 'static>(
        &self,
        operations: u64,
        work: impl FnOnce() -> Promise<T>,
    ) -> Result<(Sample, T), String> {
        let watch = Stopwatch::start(self.system_calls());
        let value = self.drive(work())?;
        Ok((watch.stop(operations, self.system_calls()), value))
    }

    /// Measures work that was started before and waits at gates: opens them, then drives the work to its end.
    /// So what starting costs (tasks, stacks, buffers) stays outside.
    pub(crate) fn measure_gated<T: 'static>(
        &self,
        operations: u64,
        gates: Vec<Resolver<()>>,
        work: Promise<T>,
    ) -> Result<(Sample, T), String> {
        // A lap or two, so that fibers, which are queued from the start, get to their gate.
        self.drive(pause().bind(|()| pause()))?;
        self.measure(operations, || {
            gates.into_iter().for_each(|gate| gate.resolve(()));
            work
        })
    }

    /// What the engine has counted so far.
    fn system_calls(&self) -> Option<u64> {
        self.runtime.as_ref().map(|runtime| runtime.counters().system_calls)
    }
}

fn drive_without_engine<T: 'static>(mut promise: Promise<T>) -> Result<T, String> {
    loop {
        match promise.try_take() {
            Ok(result) => return result.map_err(text),
            Err(pending) => promise = pending,
        }
        // What can never end must not hang: without an engine, work comes from tasks and pauses alone.
        if !sched::has_work() {
            return Err("the promise is pending and nothing is left to do".to_owned());
        }
        sched::tasks::run_ready();
        sched::pause::wake_paused();
    }
}

impl fmt::Debug for Rig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let idle = self.idle.is_some();
        f.debug_struct("Rig").field("runtime", &self.runtime).field("idle", &idle).finish()
    }
}

/// An error as the text that ends up in the table.
pub(crate) fn text(error: impl fmt::Display) -> String {
    error.to_string()
}

#[cfg(test)]
mod tests {
    use super::Rig;
    use lisle::{EngineKind, pair, pause};

    #[test]
    fn a_pause_ends_with_and_without_an_engine() {
        Rig::scheduler().drive(pause()).unwrap();
        let rig = Rig::on(EngineKind::Poll).unwrap().with_idle_connection().unwrap();
        let (sample, ()) = rig.measure(1, pause).unwrap();
        assert!(sample.system_calls >= Some(1), "the idle connection makes the engine ask the kernel");
    }

    #[test]
    fn what_cannot_end_is_an_error() {
        let (promise, _resolver) = pair::<()>();
        assert!(Rig::scheduler().drive(promise).is_err());
    }
}

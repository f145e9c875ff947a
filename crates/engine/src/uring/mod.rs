//! The engine over `io_uring`: operations in flight, submitting, cancelling, turning, draining on drop.
//!
//! ```text
//!              ┌────────────────── restart (short send, EINTR, multishot ended) ◄─┐
//!   submit ──► Kernel ──completion──► judge ──┬── last ──► caller                 │
//!      │          ▲                           ├── more ──► caller, stays          │
//!      │          │ room in the ring          └── restart ────────────────────────┘
//!      ├──► Lane (others are ahead on this descriptor)
//!      ├──► Backlog (the ring is full)            └── pool dry ──► Starved ──a buffer returned──► Kernel
//!      └──► Shutdowns (made at the next turn)
//! ```
//!
//! One `io_uring_enter` per turn submits, lets the kernel finish deferred work, and sleeps. A flight stays
//! in the table, with its descriptor and buffer, until its last completion: that is the promise `ring.rs`
//! rests on. Cancelling a flight that is not in the kernel's hands ends it at the next turn; any other is
//! cancelled by the kernel.
//! Not here: what operations mean to the kernel (`encode.rs`), unsafe code (`ring.rs`), choosing this engine
//! (`probe.rs`).

mod encode;
mod flights;
mod lend;
mod quirk;
mod ring;

pub use ring::Mode;

use crate::pool::{Pool, PoolConfig};
use crate::{Completion, Counters, Engine, EngineKind, EngineWaker, Op, Outcome, Submitted, Token, Wait};
use encode::Verdict;
use flights::{Flights, Key, Place, Tag};
use lend::Lender;
use ring::{Ring, Seen};
use rustix::io::Errno;
use std::cell::Cell;
use std::collections::VecDeque;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;
use std::{fmt, io, mem};

/// How often one turn goes back to the kernel to empty an overflown completion queue or a backlog.
const ROUNDS_MAX: usize = 256;
/// How often the kernel may answer that it cannot find what we want cancelled, before we leave it alone.
const CANCEL_MISSES_MAX: u8 = 8;
/// How long, and how often, dropping an engine waits for cancelled operations: two seconds in all.
const DRAIN_WAIT: Duration = Duration::from_millis(10);
const DRAIN_ROUNDS_MAX: usize = 200;

/// Sizes and limits of the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Entries that fit into the submission queue before an extra system call is needed. 256.
    pub sq_entries: u32,
    /// Completions that fit into the completion queue before the kernel has to keep them aside. 1024: with
    /// these sizes a ring and its buffer list take 52 KiB, below the smallest usual `RLIMIT_MEMLOCK`. Where
    /// that leaves no room, smaller queues are made.
    pub cq_entries: u32,
    /// The receive buffers.
    pub pool: PoolConfig,
    /// For tests: pretend that the kernel refused to create the ring.
    #[doc(hidden)]
    pub inject_setup_errno: Option<Errno>,
    /// For tests: pretend that the kernel knows no better mode.
    #[doc(hidden)]
    pub inject_mode: Option<Mode>,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            sq_entries: 256,
            cq_entries: 1024,
            pool: PoolConfig::default(),
            inject_setup_errno: None,
            inject_mode: None,
        }
    }
}

/// Why the kernel gave us no ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refusal {
    /// What was asked for.
    pub step: &'static str,
    /// The answer.
    pub errno: Errno,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.step, self.errno)
    }
}

impl std::error::Error for Refusal {}

/// What happened that a caller need not know, for tests and diagnosis.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Oddities {
    /// Completions that came for nobody: late or twice.
    pub late: u64,
    /// Wake-ups seen.
    pub wake_ups: u64,
    /// Times an operation had to wait for a pool buffer.
    pub starved: u64,
    /// Times the completion queue had overflown.
    pub overflows: u64,
    /// Entries that had to be submitted again: short sends, `EINTR`, `EAGAIN`, multishots ended by the
    /// kernel.
    pub restarts: u64,
}

/// Something to submit that found no room.
#[derive(Debug, Clone, Copy)]
enum Queued {
    Start(Key),
    Cancel(Key),
}

/// See the head of the file.
#[derive(Debug)]
pub struct Uring {
    ring: Ring,
    flights: Flights,
    lender: Lender,
    backlog: VecDeque<Queued>,
    starved: VecDeque<Key>,
    shutdowns: VecDeque<Key>,
    /// Last completions of flights that ended in our own queues, for the next turn.
    ready: Vec<Completion>,
    seen: Vec<Seen>,
    waker: EngineWaker,
    waker_given: Cell<bool>,
    watch_armed: bool,
    /// Repeat single receives instead of multishots; known once the first one was asked for. See `quirk.rs`.
    recv_single_shot: Option<bool>,
    counters: Counters,
    oddities: Oddities,
}

impl Uring {
    /// A ring for the calling thread.
    ///
    /// # Errors
    /// When the kernel refuses; [`crate::probe`] explains why and what to do.
    pub fn open(config: &Config) -> Result<Uring, Refusal> {
        let waker = EngineWaker::new().map_err(|error| Refusal {
            step: "eventfd",
            errno: Errno::from_io_error(&error).unwrap_or(Errno::MFILE),
        })?;
        Ok(Uring {
            ring: Ring::open(config)?,
            flights: Flights::new(),
            lender: Lender::new(Pool::new(config.pool)),
            backlog: VecDeque::new(),
            starved: VecDeque::new(),
            shutdowns: VecDeque::new(),
            ready: Vec::new(),
            seen: Vec::new(),
            waker,
            waker_given: Cell::new(false),
            watch_armed: false,
            recv_single_shot: None,
            counters: Counters::default(),
            oddities: Oddities::default(),
        })
    }

    /// The receive buffers of this engine.
    #[must_use]
    pub fn pool(&self) -> &Pool {
        self.lender.pool()
    }

    /// How the kernel delivers completions.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.ring.mode()
    }

    /// See [`Oddities`].
    #[must_use]
    pub fn oddities(&self) -> Oddities {
        self.oddities
    }

    /// Which opcodes the kernel knows, for the probe.
    pub(crate) fn opcodes(&mut self) -> io::Result<io_uring::Probe> {
        self.ring.opcodes()
    }

    /// Registers the list of pool buffers now instead of at the first operation that needs it, for the probe.
    pub(crate) fn register_pool(&mut self) -> Result<(), Errno> {
        self.lender.register(&mut self.ring)
    }

    /// Counts from here on: what the probe did is not the caller's.
    pub(crate) fn reset_counters(&mut self) {
        self.counters = Counters::default();
        self.ring.reset_system_calls();
    }

    /// Puts a flight's next entry into the ring, or into the backlog if neither ring nor kernel has room.
    fn start(&mut self, key: Key) {
        let Some(flight) = self.flights.get_mut(key) else { return };
        if self.backlog.is_empty() {
            flight.place = Place::Kernel;
            let entry = encode::entry(flight, key);
            if push(&mut self.ring, &entry) {
                return;
            }
        }
        flight.place = Place::Backlog;
        self.backlog.push_back(Queued::Start(key));
    }

    fn start_cancel(&mut self, key: Key) {
        let Some(flight) = self.flights.get_mut(key) else { return };
        if !self.backlog.is_empty() || !push(&mut self.ring, &encode::cancel_entry(flight, key)) {
            self.backlog.push_back(Queued::Cancel(key));
        }
    }

    /// Moves the backlog into the ring as far as there is room.
    fn shrink_backlog(&mut self) {
        while let Some(&next) = self.backlog.front() {
            let (Queued::Start(key) | Queued::Cancel(key)) = next;
            // Flights that were cancelled here meanwhile are gone.
            if let Some(flight) = self.flights.get_mut(key) {
                let entry = match next {
                    Queued::Start(_) => encode::entry(flight, key),
                    Queued::Cancel(_) => encode::cancel_entry(flight, key),
                };
                if !push(&mut self.ring, &entry) {
                    return;
                }
                if let Queued::Start(_) = next {
                    flight.place = Place::Kernel;
                }
            }
            self.backlog.pop_front();
        }
    }

    /// Lends returned buffers again and restarts those who wait for one, at most as many as there are
    /// buffers: so one returned buffer does not restart a thousand receives.
    fn feed_starved(&mut self) {
        self.lender.top_up(&mut self.ring);
        for _ in 0..self.lender.lent() {
            let Some(key) = self.starved.pop_front() else { return };
            self.start(key);
        }
    }

    /// Shutdowns are made directly, after everything submitted before them has had its chance. The kernel
    /// would hand each to a worker thread (its opcode never runs inline): 30 µs more, measured 2026-11, than
    /// the call's own 1 µs.
    fn perform_shutdowns(&mut self, done: &mut Vec<Completion>) {
        while let Some(key) = self.shutdowns.pop_front() {
            let Some(flight) = self.flights.get_mut(key) else { continue };
            let Op::Shutdown { fd, how } = &flight.op else { continue };
            self.counters.system_calls += 1;
            let ended = rustix::net::shutdown(fd, *how).map(|()| 0);
            self.finish(key, ended, None, done);
        }
    }

    /// Watches the waker's eventfd before the first sleep after somebody asked for a handle, and says
    /// whether it is safe to sleep. No turn that does not sleep needs the watch, so it always travels with a
    /// system call that is made anyway.
    fn arm_watch(&mut self) -> bool {
        if self.waker_given.get() && !self.watch_armed {
            self.watch_armed = push(&mut self.ring, &encode::watch_entry(self.waker.as_fd().as_raw_fd()));
            return self.watch_armed;
        }
        true
    }

    /// Takes completions out of the ring until it is empty, and out of the kernel if the ring had overflown.
    fn collect(&mut self, done: &mut Vec<Completion>) -> io::Result<()> {
        let mut seen = mem::take(&mut self.seen);
        for _ in 0..ROUNDS_MAX {
            self.ring.drain(&mut seen);
            for completion in seen.drain(..) {
                self.complete(completion, done);
            }
            if !self.ring.is_overflown() {
                break;
            }
            self.oddities.overflows += 1;
            self.ring.enter(Wait::Poll)?;
        }
        self.seen = seen;
        Ok(())
    }

    fn complete(&mut self, seen: Seen, done: &mut Vec<Completion>) {
        let (tag, key) = Key::unpack(seen.user_data);
        // Whoever it is for: a buffer that the kernel picked is ours again.
        let arrived = seen.buffer_id().and_then(|id| self.lender.take(id));
        match tag {
            Tag::Op | Tag::OpFd => self.complete_op(tag, key, seen, arrived, done),
            Tag::Cancel => self.complete_cancel(key, seen),
            Tag::Watch => {
                self.oddities.wake_ups += u64::from(seen.result > 0);
                self.watch_armed = seen.more();
            }
        }
    }

    fn complete_op(
        &mut self,
        tag: Tag,
        key: Key,
        seen: Seen,
        arrived: Option<crate::Buf>,
        done: &mut Vec<Completion>,
    ) {
        let Some(flight) = self.flights.get_mut(key) else {
            self.oddities.late += 1;
            if let (Tag::OpFd, Ok(number)) = (tag, seen.value()) {
                drop(ring::adopt(number));
            }
            return;
        };
        match encode::judge(flight, seen) {
            Verdict::Last(ended) => self.finish(key, ended, arrived, done),
            Verdict::More(value) => {
                let outcome = encode::more_outcome(&flight.op, value, arrived);
                done.push(Completion { token: flight.token, outcome, more: true });
            }
            Verdict::MoreAndRestart(value) => {
                let outcome = encode::more_outcome(&flight.op, value, arrived);
                done.push(Completion { token: flight.token, outcome, more: true });
                self.oddities.restarts += 1;
                self.start(key);
            }
            Verdict::Restart => {
                self.oddities.restarts += 1;
                self.start(key);
            }
            Verdict::Starved => {
                flight.place = Place::Starved;
                self.oddities.starved += 1;
                self.lender.grow();
                self.starved.push_back(key);
            }
        }
    }

    /// A cancellation speaks only if it failed. Not found, though the flight is still there: it was just
    /// between two places inside the kernel, so ask again.
    fn complete_cancel(&mut self, key: Key, seen: Seen) {
        if seen.value() == Err(Errno::NOENT)
            && let Some(flight) = self.flights.get_mut(key)
            && flight.place == Place::Kernel
            && flight.cancel_misses < CANCEL_MISSES_MAX
        {
            flight.cancel_misses += 1;
            self.start_cancel(key);
        }
    }

    fn finish(
        &mut self,
        key: Key,
        ended: Result<u32, Errno>,
        arrived: Option<crate::Buf>,
        done: &mut Vec<Completion>,
    ) {
        let Some(flight) = self.flights.remove(key) else { return };
        self.counters.completed += 1;
        if let Some(next) = flight.successor() {
            self.start(next);
        }
        let token = flight.token;
        done.push(Completion { token, outcome: encode::outcome(flight, ended, arrived), more: false });
    }

    /// Drops keys of flights that are gone, once they outnumber the live ones: the queues stay bounded by
    /// the table.
    fn prune_queues(&mut self) {
        let limit = 2 * self.flights.len() + ROUNDS_MAX;
        if self.starved.len() > limit {
            self.starved.retain(|key| self.flights.contains(*key));
        }
        if self.shutdowns.len() > limit {
            self.shutdowns.retain(|key| self.flights.contains(*key));
        }
        if self.backlog.len() > 2 * limit {
            let (flights, live) = (&self.flights, |queued: &Queued| match *queued {
                Queued::Start(key) | Queued::Cancel(key) => key,
            });
            self.backlog.retain(|queued| flights.contains(live(queued)));
        }
    }

    /// Cancels everything and waits, within limits, until the kernel has let go. Says whether it has.
    fn drain(&mut self) -> bool {
        self.backlog.clear();
        self.flights.close();
        let mut ended = Vec::new();
        for _ in 0..DRAIN_ROUNDS_MAX {
            if self.flights.len() == 0 && !self.watch_armed {
                return true;
            }
            // Each round anew: something may have been between two places inside the kernel.
            push(&mut self.ring, &encode::cancel_any_entry());
            if self.ring.enter(Wait::For(DRAIN_WAIT)).is_err() || self.collect(&mut ended).is_err() {
                return false;
            }
            ended.clear();
        }
        false
    }
}

/// Pushes, making room once if there is none.
fn push(ring: &mut Ring, entry: &io_uring::squeue::Entry) -> bool {
    // Errors other than "no room" will come again in the turn's own call, which reports them.
    ring.push(entry) || (ring.flush().is_ok() && ring.push(entry))
}

impl Engine for Uring {
    fn submit(&mut self, token: Token, op: Op) -> Submitted {
        self.counters.submitted += 1;
        let op = match encode::admit(op) {
            Ok(op) => op,
            Err(outcome) => {
                self.counters.completed += 1;
                return Submitted::Done(outcome);
            }
        };
        let refused = if self.flights.is_full() {
            Some(Errno::NOBUFS)
        } else if op.uses_pool() {
            self.lender.prepare(&mut self.ring).err()
        } else {
            None
        };
        if let Some(error) = refused {
            self.counters.completed += 1;
            return Submitted::Done(Outcome::Failed { error, buf: op.into_buf() });
        }
        if let Op::Shutdown { .. } = op {
            let (key, _) = self.flights.insert(token, op, Place::Shutdowns);
            self.shutdowns.push_back(key);
        } else {
            let single_shot = matches!(op, Op::RecvMulti { .. })
                && *self.recv_single_shot.get_or_insert_with(quirk::recv_multishot_loses_end);
            let (key, flight) = self.flights.insert(token, op, Place::Kernel);
            flight.single_shot = single_shot;
            if flight.place != Place::Lane {
                self.start(key);
            }
        }
        Submitted::Pending
    }

    fn cancel(&mut self, token: Token) {
        let Some(key) = self.flights.find(token) else { return };
        let Some(flight) = self.flights.get_mut(key) else { return };
        if mem::replace(&mut flight.cancel_asked, true) {
            return;
        }
        if flight.place == Place::Kernel {
            self.start_cancel(key);
        } else {
            let mut ready = mem::take(&mut self.ready);
            self.finish(key, Err(Errno::CANCELED), None, &mut ready);
            self.ready = ready;
            self.prune_queues();
        }
    }

    fn turn(&mut self, wait: Wait, done: &mut Vec<Completion>) -> io::Result<()> {
        self.counters.turns += 1;
        let before = done.len();
        done.append(&mut self.ready);
        self.shrink_backlog();
        self.feed_starved();
        // Something of ours is left to do: come back at once.
        let busy = done.len() > before
            || !self.shutdowns.is_empty()
            || !self.backlog.is_empty()
            || (!self.starved.is_empty() && self.lender.lent() > 0);
        let sleep = !busy && wait != Wait::Poll && wait != Wait::For(Duration::ZERO) && self.arm_watch();
        self.ring.enter(if sleep { wait } else { Wait::Poll })?;
        self.collect(done)?;
        for _ in 0..ROUNDS_MAX {
            // Before a shutdown, sends that were submitted before it, and their successors in the lane, have
            // their chance.
            let sends_first = !self.shutdowns.is_empty() && self.ring.has_queued();
            if self.backlog.is_empty() && !sends_first {
                break;
            }
            self.shrink_backlog();
            self.ring.enter(Wait::Poll)?;
            self.collect(done)?;
        }
        self.perform_shutdowns(done);
        Ok(())
    }

    fn waker(&self) -> EngineWaker {
        self.waker_given.set(true);
        self.waker.clone()
    }

    fn kind(&self) -> EngineKind {
        EngineKind::IoUring
    }

    fn in_flight(&self) -> usize {
        self.flights.len() + self.ready.len()
    }

    fn counters(&self) -> Counters {
        Counters { system_calls: self.counters.system_calls + self.ring.system_calls(), ..self.counters }
    }
}

impl Drop for Uring {
    /// Cancels and drains. If something will not end within the limits, its memory is leaked, never freed
    /// under the kernel's hands.
    fn drop(&mut self) {
        if !self.drain() {
            mem::forget(mem::replace(&mut self.flights, Flights::new()));
            self.lender.leak();
            self.ring.leak_buf_list();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Fd;
    use rustix::pipe::pipe;

    /// A completion as the kernel would send it, for a key that is `age` uses old.
    fn late(key: Key, tag: Tag, result: i32) -> Seen {
        Seen { user_data: key.pack(tag), result, flags: 0 }
    }

    #[test]
    fn late_and_extra_completions_are_ignored_and_counted() {
        let Ok(mut engine) = Uring::open(&Config::default()) else { return };
        let mut done = Vec::new();
        let (key, _) = engine.flights.insert(Token(1), Op::Nop, Place::Kernel);
        engine.complete(late(key, Tag::Op, 0), &mut done);
        assert_eq!(done.len(), 1);
        // Once more for the same slot, also after the slot has been given out again.
        engine.complete(late(key, Tag::Op, 0), &mut done);
        let (reused, _) = engine.flights.insert(Token(2), Op::Nop, Place::Kernel);
        engine.complete(late(key, Tag::Op, -libc::EIO), &mut done);
        engine.complete(late(Key::NOBODY, Tag::Op, 0), &mut done);
        assert_eq!((done.len(), engine.oddities().late, engine.in_flight()), (1, 3, 1));
        engine.complete(late(reused, Tag::Op, 0), &mut done);
        assert_eq!((done.len(), engine.in_flight()), (2, 0));
    }

    #[test]
    fn a_kernel_that_says_try_again_is_asked_when_ready() {
        let Ok(mut engine) = Uring::open(&Config::default()) else { return };
        let (mut done, (ours, theirs)) = (Vec::new(), std::os::unix::net::UnixStream::pair().unwrap());
        let buf = crate::Buf::with_capacity(8);
        let op = Op::Recv { fd: Fd::new(ours.into()), buf };
        let (key, _) = engine.flights.insert(Token(1), op, Place::Kernel);
        engine.complete(late(key, Tag::Op, -libc::EAGAIN), &mut done);
        engine.turn(Wait::Poll, &mut done).unwrap();
        assert_eq!((done.len(), engine.in_flight(), engine.oddities().restarts), (0, 1, 1), "it waits");
        rustix::io::write(&theirs, b"now").unwrap();
        while done.is_empty() {
            engine.turn(Wait::Forever, &mut done).unwrap();
        }
        assert!(matches!(&done[0].outcome, Outcome::Received { buf } if **buf == *b"now"), "{done:?}");
        assert_eq!(engine.oddities().restarts, 2, "once for the poll, once for the receive");
    }

    #[test]
    fn a_late_connection_is_closed() {
        let Ok(mut engine) = Uring::open(&Config::default()) else { return };
        let (mut done, (read_end, write_end)) = (Vec::new(), pipe().unwrap());
        let op = Op::Accept { fd: Fd::new(read_end.try_clone().unwrap()) };
        let (key, _) = engine.flights.insert(Token(1), op, Place::Kernel);
        engine.complete(late(key, Tag::OpFd, -libc::ECONNABORTED), &mut done);
        let number = std::os::fd::IntoRawFd::into_raw_fd(write_end);
        engine.complete(late(key, Tag::OpFd, number), &mut done);
        assert_eq!(engine.oddities().late, 1);
        // All write ends are closed, so the pipe has ended.
        assert_eq!(rustix::io::read(&read_end, &mut [0; 1]), Ok(0));
    }
}

//! An engine over anything that tells readiness: epoll, poll or select.
//!
//! Completions are made from readiness: try the call first; if it would block, queue the operation on its
//! descriptor and direction; when the poller says ready, try again.
//!
//! ```text
//!   submit ─► prepare ─► attempt ─► Done                       queue empty and worth trying
//!                           │Wait
//!                           ▼
//!                  Side's queue ◄── arm: watch in the poller, or list at once if worth trying
//!                           │
//!   turn:  parked ─► list   │    what waits for a pool buffer or a Unix listener, when its time has come
//!          poll ───► list   ▼    events: Guess::Try, sides with a queue are listed
//!          list ───► serve: attempt the head, next head, … until Wait or the limit of this turn
//! ```
//!
//! The system calls that are *not* made are the point. A receive that took less than it could has emptied
//! the socket, so the next one queues without an attempt; under edge-triggered epoll that is sound for
//! streams only (epoll(7), Q9), so each descriptor is asked once what it is, at its second receive.
//! Level-triggered pollers report again what is left.
//!
//! Order: operations on one descriptor and direction finish first in, first out; a new one does not
//! overtake. A multishot operation gets a limited number of results per turn; then the others have theirs,
//! and the next turn does not sleep. Not here: system calls (`perform.rs`, the pollers), what is known per
//! descriptor (`table.rs`), queues (`queue.rs`).

mod epoll;
mod perform;
mod poll;
mod queue;
mod select;
mod table;

use crate::pool::{Pool, PoolConfig};
use crate::{Completion, Counters, Engine, EngineKind, EngineWaker, Fd, Interest, Op, Outcome, Submitted};
use crate::{Token, Wait};
use perform::{Prepared, Step, Work};
use queue::{Key, Queued, Queues};
use rustix::event::Timespec;
use rustix::io::Errno;
use std::collections::VecDeque;
use std::io;
use std::os::fd::RawFd;
use std::time::{Duration, Instant};
use table::{Entry, Guess, Kind, Place, Table};

/// Connections one multishot accept takes per turn. More would let a flood of connects starve those already
/// served.
pub const ACCEPTS_PER_TURN: usize = 16;

/// Buffers one multishot receive fills per turn. More would let one fast sender starve the others.
pub const RECEIVES_PER_TURN: usize = 4;

/// How long a connect to a Unix listener with a full queue waits before it asks again; no event tells when
/// to.
pub const CONNECT_RETRY: Duration = Duration::from_millis(5);

/// How an operation fails on the select engine when its descriptor is 1024 or higher: select's sets end
/// there. No socket call fails with this, so the meaning is certain; the cure is another engine.
pub const BEYOND_SELECT: Errno = Errno::RANGE;

/// Opens a readiness engine with a pool of default size.
///
/// # Errors
/// When the process or the system has no descriptor left; [`io::ErrorKind::InvalidInput`] for
/// [`EngineKind::IoUring`].
pub fn open(kind: EngineKind) -> io::Result<Box<dyn Engine>> {
    open_with(kind, PoolConfig::default())
}

/// Opens a readiness engine whose pool of receive buffers has this size.
///
/// # Errors
/// As [`open`].
pub fn open_with(kind: EngineKind, pool: PoolConfig) -> io::Result<Box<dyn Engine>> {
    Ok(match kind {
        EngineKind::Epoll => Box::new(Readiness::<epoll::Epoll>::open(pool)?),
        EngineKind::Poll => Box::new(Readiness::<poll::Poll>::open(pool)?),
        EngineKind::Select => Box::new(Readiness::<select::Select>::open(pool)?),
        EngineKind::IoUring => {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "io_uring is not a readiness engine"));
        }
    })
}

/// A descriptor that became ready, as a poller reports it.
#[derive(Debug, Clone, Copy)]
struct Heard {
    /// As given to [`Poller::watch`].
    name: u64,
    readable: bool,
    writable: bool,
    /// Hang-up, error or urgent data: bytes may not be all there is to see.
    hung_up: bool,
}

/// What tells readiness.
trait Poller: Sized {
    const KIND: EngineKind;
    /// Reports changes only, and watches both directions from the first `watch` until the descriptor closes.
    const EDGE: bool;
    /// Descriptors from here on are refused.
    const FD_LIMIT: RawFd;

    /// A poller that watches the waker.
    fn open(waker: &EngineWaker) -> io::Result<Self>;

    /// Reports this direction from now on, beginning with the state it is in.
    fn watch(&mut self, fd: &Fd, name: u64, side: Interest, calls: &mut u64) -> Result<(), Errno>;

    /// Reports this direction no longer (level-triggered pollers only).
    fn unwatch(&mut self, raw: RawFd, side: Interest);

    /// Waits for reports; no timeout means for ever. Answers whether the waker fired.
    fn wait(
        &mut self,
        timeout: Option<&Timespec>,
        heard: &mut Vec<Heard>,
        calls: &mut u64,
    ) -> Result<bool, Errno>;
}

/// See the module.
#[derive(Debug)]
struct Readiness<P> {
    poller: P,
    waker: EngineWaker,
    pool: Pool,
    table: Table,
    queues: Queues,
    /// Sides whose head is worth an attempt.
    list: VecDeque<Place>,
    /// Sides whose head waits for a pool buffer.
    dry: Vec<Place>,
    /// Sides whose head waits for a Unix listener's queue, until `backlog_until`.
    backlog: Vec<Place>,
    backlog_until: Option<Instant>,
    /// Completions that did not come from a turn; the next one hands them out.
    finished: Vec<Completion>,
    heard: Vec<Heard>,
    counters: Counters,
}

impl<P: Poller> Readiness<P> {
    fn open(pool: PoolConfig) -> io::Result<Readiness<P>> {
        let waker = EngineWaker::new()?;
        Ok(Readiness {
            poller: P::open(&waker)?,
            waker,
            pool: Pool::new(pool),
            table: Table::default(),
            queues: Queues::default(),
            list: VecDeque::new(),
            dry: Vec::new(),
            backlog: Vec::new(),
            backlog_until: None,
            finished: Vec::new(),
            heard: Vec::new(),
            counters: Counters::default(),
        })
    }

    fn start(&mut self, token: Token, fd: Fd, mut work: Work) -> Submitted {
        if fd.raw() >= P::FD_LIMIT {
            return self.done(work.failed(BEYOND_SELECT));
        }
        let place = Place { raw: fd.raw(), side: work.side() };
        let calls = &mut self.counters.system_calls;
        let entry = self.table.open(&fd);
        if work.needs_nonblocking() && !entry.nonblocking {
            // Whatever is wrong with the descriptor, the call itself will say it better.
            *calls += 1;
            let _ = rustix::io::ioctl_fionbio(&fd, true);
            entry.nonblocking = true;
        }
        let mut step = None;
        let first = entry.side(place.side).is_empty();
        if first && !work.is_multi() {
            step = attempt::<P>(entry, &fd, &mut work, &self.pool, calls);
            if let Some(Step::Last(outcome)) = step {
                return self.done(outcome);
            }
        }
        self.queues.push(entry.side(place.side), place, token, fd, work);
        if first {
            self.settle(place, step.as_ref());
        }
        Submitted::Pending
    }

    fn done(&mut self, outcome: Outcome) -> Submitted {
        self.counters.completed += 1;
        Submitted::Done(outcome)
    }

    fn attempt_queued(&mut self, key: Key) -> Option<Step> {
        let op = self.queues.get(key);
        let entry = self.table.entry(op.place.raw);
        attempt::<P>(entry, &op.fd, &mut op.work, &self.pool, &mut self.counters.system_calls)
    }

    /// Sees to it that the head of a queue is tried again when that makes sense, given what its last attempt
    /// came to.
    fn settle(&mut self, place: Place, step: Option<&Step>) {
        match step {
            Some(Step::Dry) => self.park(place, false),
            Some(Step::Backlog) => self.park(place, true),
            _ => self.arm(place),
        }
    }

    /// Waits for something that no poller reports. Level-triggered ones would go on reporting readiness
    /// meanwhile.
    fn park(&mut self, place: Place, backlog: bool) {
        self.unwatch(place);
        let side = self.table.side(place);
        if std::mem::replace(&mut side.parked, true) {
            return;
        }
        if backlog {
            self.backlog_until.get_or_insert_with(|| Instant::now() + CONNECT_RETRY);
            self.backlog.push(place);
        } else {
            self.dry.push(place);
        }
    }

    /// Lists the parked sides whose time has come.
    fn unpark(&mut self) {
        if !self.dry.is_empty() && self.pool.available() > 0 {
            let mut places = std::mem::take(&mut self.dry);
            self.list_again(&mut places);
            self.dry = places;
        }
        if self.backlog_until.is_some_and(|until| Instant::now() >= until) {
            self.backlog_until = None;
            let mut places = std::mem::take(&mut self.backlog);
            self.list_again(&mut places);
            self.backlog = places;
        }
    }

    fn list_again(&mut self, places: &mut Vec<Place>) {
        for place in places.drain(..) {
            let side = self.table.side(place);
            side.parked = false;
            side.wake(false);
            self.enlist(place);
        }
    }

    /// Watches a side, or lists it if it is watched already and worth an attempt.
    fn arm(&mut self, place: Place) {
        let side = self.table.side(place);
        debug_assert!(!side.is_empty(), "nobody waits");
        if side.watched {
            if side.guess() != Guess::Wait {
                self.enlist(place);
            }
            return;
        }
        let head = side.head;
        let name = self.table.name(place.raw);
        let fd = &self.queues.get(head).fd;
        if let Err(error) = self.poller.watch(fd, name, place.side, &mut self.counters.system_calls) {
            self.refuse_all(place, error);
            return;
        }
        let entry = self.table.entry(place.raw);
        // A poller begins with the state that it finds, so nothing is missed by waiting for it.
        entry.side(place.side).learn(Guess::Wait);
        entry.side(place.side).watched = true;
        if P::EDGE {
            entry.side(Interest::Read).watched = true;
            entry.side(Interest::Write).watched = true;
        }
    }

    fn unwatch(&mut self, place: Place) {
        if P::EDGE {
            return;
        }
        if std::mem::replace(&mut self.table.side(place).watched, false) {
            self.poller.unwatch(place.raw, place.side);
        }
    }

    /// The poller will not watch this descriptor, so nothing can wait for it.
    fn refuse_all(&mut self, place: Place, error: Errno) {
        while let Some(op) = self.pop(place) {
            let outcome = op.work.failed(error);
            self.finished.push(Completion { token: op.token, outcome, more: false });
        }
    }

    fn enlist(&mut self, place: Place) {
        if !std::mem::replace(&mut self.table.side(place).listed, true) {
            self.list.push_back(place);
        }
    }

    fn pop(&mut self, place: Place) -> Option<Queued> {
        let side = self.table.side(place);
        if side.is_empty() {
            return None;
        }
        let head = side.head;
        Some(self.queues.remove(side, head))
    }

    /// Tries the operations of one side, in order, as long as it pays and within the limit of a turn.
    fn serve(&mut self, place: Place, done: &mut Vec<Completion>) {
        let mut results = 0;
        loop {
            let head = self.table.side(place).head;
            if head == queue::NONE {
                return self.unwatch(place);
            }
            match self.attempt_queued(head) {
                Some(Step::Last(outcome)) => {
                    let op = self.pop(place).expect("its head was just tried");
                    done.push(Completion { token: op.token, outcome, more: false });
                }
                Some(Step::More(outcome)) => {
                    let limit = match outcome {
                        Outcome::Accepted(_) => ACCEPTS_PER_TURN,
                        _ => RECEIVES_PER_TURN,
                    };
                    done.push(Completion { token: self.queues.get(head).token, outcome, more: true });
                    results += 1;
                    if results == limit {
                        return self.enlist(place);
                    }
                }
                step => return self.settle(place, step.as_ref()),
            }
        }
    }

    /// Serves the sides listed by now; those that list themselves again wait for the next turn.
    fn serve_listed(&mut self, done: &mut Vec<Completion>) {
        for _ in 0..self.list.len() {
            let place = self.list.pop_front().expect("counted");
            self.table.side(place).listed = false;
            self.serve(place, done);
        }
    }

    /// Asks the poller, and lists what can go on. Answers whether a waker or a signal wants the turn to end.
    fn ask_poller(&mut self, timeout: Option<Duration>) -> io::Result<bool> {
        // A time beyond the clock's range is for ever.
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        let mut heard = std::mem::take(&mut self.heard);
        let result = self.poller.wait(timeout.as_ref(), &mut heard, &mut self.counters.system_calls);
        for report in heard.drain(..) {
            // Reports for a former owner of the number have no addressee.
            let Some(raw) = self.table.known(report.name) else { continue };
            if report.readable {
                self.wake(Place { raw, side: Interest::Read }, report.hung_up);
            }
            if report.writable {
                self.wake(Place { raw, side: Interest::Write }, report.hung_up);
            }
        }
        self.heard = heard;
        match result {
            Ok(woken) => Ok(woken),
            Err(Errno::INTR) => Ok(true),
            Err(error) => Err(error.into()),
        }
    }

    fn wake(&mut self, place: Place, hung_up: bool) {
        let side = self.table.side(place);
        side.wake(hung_up);
        if !side.is_empty() {
            self.enlist(place);
        }
    }

    /// How long the poller may sleep, at most until the next try of a backlogged connect.
    fn time_left(&self, deadline: Option<Instant>) -> Option<Duration> {
        let until = match (deadline, self.backlog_until) {
            (Some(deadline), Some(backlog)) => deadline.min(backlog),
            (deadline, backlog) => deadline.or(backlog)?,
        };
        Some(until.saturating_duration_since(Instant::now()))
    }

    fn run_turn(&mut self, wait: Wait, done: &mut Vec<Completion>) -> io::Result<()> {
        let before = done.len();
        let mut may_sleep = !matches!(wait, Wait::Poll | Wait::For(Duration::ZERO));
        let mut deadline = None;
        loop {
            self.unpark();
            done.append(&mut self.finished);
            may_sleep &= done.len() == before && self.list.is_empty();
            let mut timeout = Some(Duration::ZERO);
            if may_sleep {
                if let Wait::For(time) = wait {
                    // A time beyond the clock's range is for ever.
                    deadline = deadline.or_else(|| Instant::now().checked_add(time));
                }
                timeout = self.time_left(deadline);
            }
            let mut over = !may_sleep;
            if may_sleep || !self.queues.is_empty() {
                over |= self.ask_poller(timeout)?;
            }
            self.serve_listed(done);
            done.append(&mut self.finished);
            // Reports that completed nothing (the first of a descriptor, room to write) do not end the sleep.
            over |= done.len() > before || deadline.is_some_and(|deadline| Instant::now() >= deadline);
            if over {
                let last = done[before..].iter().filter(|completion| !completion.more);
                self.counters.completed += last.count() as u64;
                return Ok(());
            }
        }
    }
}

/// Makes the system call of an operation, unless it would merely say EAGAIN.
fn attempt<P: Poller>(
    entry: &mut Entry,
    fd: &Fd,
    work: &mut Work,
    pool: &Pool,
    calls: &mut u64,
) -> Option<Step> {
    let side = work.side();
    match entry.side(side).guess() {
        Guess::Try => {}
        Guess::Wait => return None,
        Guess::Short => {
            if is_drained::<P>(entry, fd, calls) {
                entry.side(side).learn(Guess::Wait);
                return None;
            }
        }
    }
    let (step, guess) = work.attempt(fd, entry.kind, pool, calls);
    entry.side(side).learn(guess);
    Some(step)
}

/// Whether a short receive means that nothing is left. Asks the kernel what the descriptor is, once.
fn is_drained<P: Poller>(entry: &mut Entry, fd: &Fd, calls: &mut u64) -> bool {
    if !P::EDGE {
        return true; // If not, the poller reports it again.
    }
    let first = entry.kind == Kind::Unknown;
    if first {
        entry.kind = perform::classify(fd, calls);
    }
    match entry.kind {
        Kind::Tcp => true,
        // The receive before the question was not made with `recvmsg`, so nobody knows whether it stopped
        // early.
        Kind::UnixStream => !first,
        Kind::Unknown | Kind::Other => false,
    }
}

impl<P: Poller> Engine for Readiness<P> {
    fn submit(&mut self, token: Token, op: Op) -> Submitted {
        self.counters.submitted += 1;
        match perform::prepare(op, &mut self.counters.system_calls) {
            Prepared::Now(outcome) => self.done(outcome),
            Prepared::NextTurn(outcome) => {
                self.finished.push(Completion { token, outcome, more: false });
                Submitted::Pending
            }
            Prepared::Work(fd, work) => self.start(token, fd, work),
        }
    }

    fn cancel(&mut self, token: Token) {
        let Some(key) = self.queues.find(token) else { return };
        let place = self.queues.get(key).place;
        let side = self.table.side(place);
        let was_head = side.head == key;
        let op = self.queues.remove(side, key);
        let rest = !side.is_empty();
        self.finished.push(Completion { token, outcome: op.work.canceled(), more: false });
        if !rest {
            self.unwatch(place);
        } else if was_head {
            // The next one may wait for something else.
            self.arm(place);
        }
    }

    fn turn(&mut self, wait: Wait, done: &mut Vec<Completion>) -> io::Result<()> {
        self.counters.turns += 1;
        self.run_turn(wait, done)
    }

    fn waker(&self) -> EngineWaker {
        self.waker.clone()
    }

    fn kind(&self) -> EngineKind {
        P::KIND
    }

    fn in_flight(&self) -> usize {
        self.queues.len() + self.finished.len()
    }

    fn counters(&self) -> Counters {
        self.counters
    }
}

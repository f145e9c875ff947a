//! Sleeping, timeouts and intervals.
//!
//! All of it rests on the timer wheel of the thread: ticks of one millisecond, O(1) to set and to take
//! back, never early. A duration beyond the clock's range is a timer that never fires, not a panic.
//!
//! ```
//! use lisle::time::{TimedOut, sleep, timeout};
//! use std::time::Duration;
//!
//! lisle::run(async {
//!     sleep(Duration::from_millis(2)).await?;
//!     let (never, _resolver) = lisle::pair::<u32>();
//!     let error = timeout(Duration::from_millis(2), never).await.unwrap_err();
//!     assert!(error.downcast_ref::<TimedOut>().is_some());
//!     Ok::<(), lisle::Error>(())
//! })
//! # .unwrap();
//! ```

use crate::runtime::{deadline_at, deadline_in};
use lisle_core::sched::sleep as wheel;
use lisle_core::{Error, IntoPromise, Promise, Result, pause, ready, settled, try_spawn};
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

/// A promise fulfilled after `duration`, never earlier. Cancelable; dropping it forgets the timer.
/// Allocates nothing.
#[doc(alias = "delay")]
pub fn sleep(duration: Duration) -> Promise<()> {
    wheel::sleep_until(deadline_in(duration))
}

/// A promise fulfilled at `moment`, never earlier; soon if that has passed. Otherwise like [`sleep`].
pub fn sleep_until(moment: Instant) -> Promise<()> {
    wheel::sleep_until(deadline_at(moment))
}

/// The error of a [`timeout`].
///
/// ```
/// # use lisle::time::{TimedOut, timeout};
/// # use std::time::Duration;
/// # lisle::run(async {
/// let work = lisle::time::sleep(Duration::MAX);
/// let error = timeout(Duration::from_millis(1), work).await.unwrap_err();
/// assert_eq!(error.downcast_ref::<TimedOut>().unwrap().after(), Duration::from_millis(1));
/// # })
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimedOut {
    after: Duration,
}

impl TimedOut {
    /// The time that was given.
    #[must_use]
    pub fn after(&self) -> Duration {
        self.after
    }
}

impl fmt::Display for TimedOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "timed out after {:?}", self.after)
    }
}

impl std::error::Error for TimedOut {}

/// How many laps cancelled work has to hand over a value that it had already. The kernel answers a
/// cancellation in the next turn, and a task or two may stand between it and the result; none of these laps
/// sleeps.
const SETTLE_LAPS_MAX: u32 = 8;

/// Promises the outcome of `work`, or [`TimedOut`] if that takes longer than `duration`; the work is
/// cancelled then.
///
/// Nothing is lost: a value that is there when the time is up wins, also one that the kernel had in hand
/// when it was asked to stop. Work that cannot be cancelled goes on unattended. The timer goes as soon as
/// the work is done, and on settled work no timer is set at all. A future is to be spawned by the caller, so
/// that its cancellation is that of a task; for one that borrows there is [`timeout_future`].
///
/// ```
/// use lisle::{time::timeout, try_spawn};
/// # use std::time::Duration;
/// # lisle::run(async {
/// let answer = timeout(Duration::from_secs(1), try_spawn(async { Ok::<_, lisle::Error>(42) }));
/// assert_eq!(answer.await.unwrap(), 42);
/// # })
/// ```
///
/// Cancelling the promise cancels the work, and is over when the work is.
#[doc(alias = "with_timeout")]
pub fn timeout<P: IntoPromise>(duration: Duration, work: P) -> Promise<P::Value> {
    match work.into_promise().try_take() {
        Ok(result) => settled(result),
        Err(pending) => {
            let timed = Timed { work: pending, timer: sleep(duration), is_up: false };
            try_spawn(limit(timed, duration))
        }
    }
}

/// The output of `future`, or [`TimedOut`] if that takes longer than `duration`; the future is dropped then,
/// where it stands.
///
/// Unlike [`timeout`] it takes any future, also one that borrows, and it is lazy as futures are. The price:
/// there is no clean-up after the time is up. An operation that the future waited for goes on; what it
/// brings goes to the next reader or acceptor.
///
/// ```
/// use lisle::time::{sleep, timeout_future};
/// # use std::time::Duration;
/// # lisle::run(async {
/// let mut log = vec![];
/// let slow = async {
///     log.push("begun");
///     sleep(Duration::from_secs(60)).await
/// };
/// assert!(timeout_future(Duration::from_millis(1), slow).await.is_err());
/// assert_eq!(log, ["begun"]);
/// # })
/// ```
///
/// # Errors
/// [`TimedOut`].
pub async fn timeout_future<F: Future>(duration: Duration, future: F) -> Result<F::Output> {
    let mut future = pin!(future);
    let mut timer = Some(sleep(duration));
    poll_fn(|cx| {
        if let Poll::Ready(output) = future.as_mut().poll(cx) {
            return Poll::Ready(Ok(output));
        }
        let Some(Poll::Ready(fired)) = timer.as_mut().map(|timer| Pin::new(timer).poll(cx)) else {
            return Poll::Pending;
        };
        timer = None;
        match fired {
            Ok(()) => Poll::Ready(Err(Error::new(TimedOut { after: duration }))),
            // Cancelled together with what the future waits for: it may clean up, without a limit.
            Err(_) => Poll::Pending,
        }
    })
    .await
}

/// Work and its timer, whichever is first.
struct Timed<T: 'static> {
    work: Promise<T>,
    timer: Promise<()>,
    is_up: bool,
}

impl<T: 'static> Timed<T> {
    /// The outcome of the work, or `None` when the time is up.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<T>>> {
        if let Poll::Ready(result) = Pin::new(&mut self.work).poll(cx) {
            return Poll::Ready(Some(result));
        }
        if self.is_up {
            return Poll::Pending;
        }
        match Pin::new(&mut self.timer).poll(cx) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(fired) => {
                self.is_up = true;
                // A timer that did not fire was cancelled together with the work: only that counts from
                // here on.
                if fired.is_ok() { Poll::Ready(None) } else { Poll::Pending }
            }
        }
    }
}

async fn limit<T: 'static>(mut timed: Timed<T>, after: Duration) -> Result<T> {
    if let Some(result) = poll_fn(|cx| timed.poll(cx)).await {
        return result;
    }
    let mut work = timed.work;
    work.cancel();
    for _ in 0..SETTLE_LAPS_MAX {
        match work.try_take() {
            Ok(Err(error)) if error.is_canceled() => return Err(TimedOut { after }.into()),
            Ok(result) => return result,
            Err(pending) => work = pending,
        }
        pause().await?;
    }
    drop(work);
    Err(TimedOut { after }.into())
}

/// What an [`Interval`] does about ticks that nobody took in time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum MissedTicks {
    /// They come at once, one after the other, until the interval has caught up.
    #[default]
    Burst,
    /// One comes at once, and the period begins anew there.
    Delay,
    /// One comes at once; the others are left out, and the rhythm is kept.
    Skip,
}

/// Ticks at a fixed period. Made by [`interval`].
#[derive(Debug, Clone)]
pub struct Interval {
    period: Duration,
    /// When the next tick is due; `None` is beyond the clock's range.
    due: Option<Instant>,
    missed: MissedTicks,
    /// `due` was handed out, and may have been taken.
    asked: bool,
}

/// The shortest period: a tick of the clock. A shorter one would leave no time for anything else.
const PERIOD_MIN: Duration = Duration::from_millis(1);

/// Ticks every `period`, from now on: the first tick is due at once. Periods below a millisecond count as
/// one.
///
/// ```
/// # use std::time::{Duration, Instant};
/// # lisle::run(async {
/// let begin = Instant::now();
/// let mut ticks = lisle::time::interval(Duration::from_millis(2));
/// for _ in 0..3 {
///     ticks.tick().await.unwrap();
/// }
/// assert!(begin.elapsed() >= Duration::from_millis(4));
/// # })
/// ```
#[must_use]
pub fn interval(period: Duration) -> Interval {
    let period = period.max(PERIOD_MIN);
    Interval { period, due: Some(Instant::now()), missed: MissedTicks::default(), asked: false }
}

impl Interval {
    /// Chooses what happens to missed ticks.
    #[must_use]
    pub fn missed_ticks(mut self, missed: MissedTicks) -> Interval {
        self.missed = missed;
        self
    }

    /// The next tick. One that was cancelled or dropped before it was due is not lost: it is the next again.
    pub fn tick(&mut self) -> Promise<()> {
        let now = Instant::now();
        if std::mem::take(&mut self.asked) && self.due.is_some_and(|due| due <= now) {
            self.due = self.due.and_then(|due| due.checked_add(self.period));
        }
        let Some(due) = self.due else { return sleep(Duration::MAX) };
        if due <= now {
            self.due = self.after_late(due, now);
            return ready(());
        }
        self.asked = true;
        sleep_until(due)
    }

    /// The tick after one that is handed out at `now`, though it was due before.
    fn after_late(&self, due: Instant, now: Instant) -> Option<Instant> {
        let next = due.checked_add(self.period)?;
        match self.missed {
            _ if next > now => Some(next),
            MissedTicks::Burst => Some(next),
            MissedTicks::Delay => now.checked_add(self.period),
            MissedTicks::Skip => {
                let past = now.duration_since(due).as_nanos() % self.period.as_nanos();
                // Less than a period, so it fits.
                let left = self.period - Duration::from_nanos(u64::try_from(past).unwrap_or(u64::MAX));
                now.checked_add(left)
            }
        }
    }
}

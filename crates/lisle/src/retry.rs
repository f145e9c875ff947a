//! Trying again: an operation that may fail for now, or for good, with waits in between.
//!
//! ```text
//!   on_error(operation) ─► Attempts ─┬─ attempt(): the next one, on demand
//!                                    └─ n_times(n): up to n more after the first
//!
//!   attempt ─┬─ Ok ──────────────► the end
//!            ├─ Failure::Fatal ──► the end
//!            ├─ Failure::Retry ──► wait as with_sleep says ─► the next attempt, if one is wanted
//!            └─ rejected ────────► the promise is rejected: cancelled, a panic, …
//! ```
//!
//! ```
//! use lisle::retry::{self, Failure};
//! use lisle::ready;
//! use std::time::Duration;
//!
//! lisle::run(async {
//!     let mut calls = 0;
//!     let flaky = move || {
//!         calls += 1;
//!         ready(if calls < 3 { Err(Failure::<_, &str>::Retry("busy")) } else { Ok(calls) })
//!     };
//!     let waits = retry::exponential(Duration::from_millis(1), Duration::from_secs(1));
//!     let answer = retry::on_error(flaky).with_sleep(retry::jitter(7, waits)).n_times(5);
//!     assert_eq!(answer.await.unwrap().unwrap(), 3);
//! })
//! ```
//!
//! Who owns what until when: the operation and the schedule stand in a `Machine`, which the attempt that is
//! running owns and gives back when it is over. So attempts never overlap, and none is made that nobody asked
//! for. Waits come between attempts, never after the last. Not here: what is worth a retry; the operation
//! says so.

use crate::time::sleep;
use lisle_core::{Error, IntoPromise, Promise, Resolver, pair, ready, rejected, settled};
use std::error;
use std::fmt;
use std::mem;
use std::ops::ControlFlow;
use std::time::Duration;

/// Why an attempt failed, and whether another one may help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure<R, F> {
    /// For now: another attempt may help.
    Retry(R),
    /// For good: it is the last attempt.
    Fatal(F),
}

impl<R: fmt::Display, F: fmt::Display> fmt::Display for Failure<R, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Retry(reason) => write!(f, "for now: {reason}"),
            Failure::Fatal(reason) => write!(f, "for good: {reason}"),
        }
    }
}

/// An attempt that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failed<R, F> {
    /// Why.
    pub failure: Failure<R, F>,
    /// Which attempt it was, counted from 1.
    pub attempt: u64,
}

impl<R: fmt::Display, F: fmt::Display> fmt::Display for Failed<R, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "attempt {} failed {}", self.attempt, self.failure)
    }
}

impl<R, F> error::Error for Failed<R, F>
where
    R: fmt::Debug + fmt::Display,
    F: fmt::Debug + fmt::Display,
{
}

type Outcome<A, R, F> = Result<A, Failed<R, F>>;
type Operation<A, R, F> = Box<dyn FnMut() -> Promise<Result<A, Failure<R, F>>>>;
type Schedule = Box<dyn FnMut(u64) -> Duration>;

/// Attempts of one operation, made on demand. See [`on_error`].
#[must_use = "no attempt is made before it is asked for"]
pub struct Attempts<A: 'static, R: 'static, F: 'static> {
    /// Pending while an attempt runs.
    machine: Promise<Machine<A, R, F>>,
}

/// What makes the attempts.
struct Machine<A: 'static, R: 'static, F: 'static> {
    /// None when no further attempt will be made.
    operation: Option<Operation<A, R, F>>,
    schedule: Option<Schedule>,
    /// How many attempts have failed.
    failed: u64,
}

/// Attempts of an operation that tells which of its failures are worth another one.
///
/// None is made before it is asked for, by [`Attempts::attempt`] or [`Attempts::n_times`]. What is rejected
/// (cancelled, a panic) is never tried again: the attempt is rejected in the same way.
pub fn on_error<A, R, F, P>(mut operation: impl FnMut() -> P + 'static) -> Attempts<A, R, F>
where
    A: 'static,
    R: 'static,
    F: 'static,
    P: IntoPromise<Value = Result<A, Failure<R, F>>>,
{
    let operation: Operation<A, R, F> = Box::new(move || operation().into_promise());
    Attempts { machine: ready(Machine { operation: Some(operation), schedule: None, failed: 0 }) }
}

/// Attempts of an operation that is rejected when it fails; `is_fatal` tells which errors are worth no other.
///
/// A cancellation and a panic are never tried again.
///
/// ```
/// use lisle::{Error, rejected, retry};
/// # lisle::run(async {
/// let never = retry::on_rejection(|| rejected::<u32>(Error::message("closed")), |_| false);
/// let failed = never.n_times(2).await.unwrap().unwrap_err();
/// assert_eq!(failed.to_string(), "attempt 3 failed for now: closed");
/// # })
/// ```
pub fn on_rejection<P: IntoPromise>(
    mut operation: impl FnMut() -> P + 'static,
    is_fatal: impl Fn(&Error) -> bool + Clone + 'static,
) -> Attempts<P::Value, Error, Error> {
    on_error(move || {
        let is_fatal = is_fatal.clone();
        operation().into_promise().then(move |result| match result {
            Ok(value) => Ok(Ok(value)),
            Err(error) if error.is_canceled() || error.panic_message().is_some() => Err(error),
            Err(error) if is_fatal(&error) => Ok(Err(Failure::Fatal(error))),
            Err(error) => Ok(Err(Failure::Retry(error))),
        })
    })
}

impl<A: 'static, R: 'static, F: 'static> Attempts<A, R, F> {
    /// Waits after each failed attempt, before the next one: `schedule` gets the number of the failed one,
    /// from 1. See [`constant`], [`exponential`] and [`jitter`].
    pub fn with_sleep(self, schedule: impl FnMut(u64) -> Duration + 'static) -> Attempts<A, R, F> {
        let schedule: Schedule = Box::new(schedule);
        Attempts { machine: self.machine.map(|machine| Machine { schedule: Some(schedule), ..machine }) }
    }

    /// Makes the next attempt; `None` after a success, a fatal failure or a panic of the operation. It begins
    /// when the one before is over and the wait has passed.
    ///
    /// Cancelling it cancels the wait or the operation; it counts as an attempt only if the operation failed
    /// by itself, and the next one can be asked for.
    ///
    /// ```
    /// use lisle::retry::{self, Failure};
    /// # lisle::run(async {
    /// let mut attempts = retry::on_error(|| Ok::<_, lisle::Error>(Err::<(), _>(Failure::<_, ()>::Retry("no"))));
    /// let first = attempts.attempt().await.unwrap().unwrap();
    /// assert_eq!(first.unwrap_err().attempt, 1);
    /// # })
    /// ```
    #[doc(alias = "next")]
    pub fn attempt(&mut self) -> Promise<Option<Outcome<A, R, F>>> {
        let (next, back) = pair();
        let machine = mem::replace(&mut self.machine, next);
        machine.bind(move |machine| machine.attempt(back))
    }

    /// Makes attempts until one succeeds or fails for good, and at most `retries` more than the first;
    /// promises the last outcome. Any number of them needs no stack and keeps memory flat.
    ///
    /// Cancelling the promise cancels the operation, or the wait; that is not tried again.
    pub fn n_times(self, retries: u64) -> Promise<Outcome<A, R, F>> {
        self.machine.bind(move |machine| {
            if machine.operation.is_none() {
                return rejected(Error::message("no attempt is left: the one before was the last"));
            }
            machine.repeat(retries)
        })
    }
}

impl<A: 'static, R: 'static, F: 'static> Machine<A, R, F> {
    /// The wait that stands before the next attempt.
    fn delay(&mut self) -> Duration {
        match &mut self.schedule {
            Some(schedule) if self.failed > 0 => schedule(self.failed),
            _ => Duration::ZERO,
        }
    }

    /// Calls the operation. If it panics it is gone, and no further attempt will be made.
    fn begin(&mut self) -> Promise<Result<A, Failure<R, F>>> {
        let Some(mut operation) = self.operation.take() else { return rejected(Error::abandoned()) };
        // The map on a settled promise is a plain call that catches panics.
        let called = ready(()).map(move |()| (operation(), operation));
        match called.try_take() {
            Ok(Ok((promise, operation))) => {
                self.operation = Some(operation);
                promise
            }
            Ok(Err(panic)) => rejected(panic),
            Err(_) => unreachable!("a map on a settled promise is settled"),
        }
    }

    /// Counts an attempt; `Break` if it is the last.
    fn judge(&mut self, result: Result<A, Failure<R, F>>) -> ControlFlow<Outcome<A, R, F>, Failed<R, F>> {
        match result {
            Ok(value) => {
                self.operation = None;
                ControlFlow::Break(Ok(value))
            }
            Err(failure) => {
                self.failed += 1;
                let is_fatal = matches!(failure, Failure::Fatal(_));
                let failed = Failed { failure, attempt: self.failed };
                if is_fatal {
                    self.operation = None;
                    return ControlFlow::Break(Err(failed));
                }
                ControlFlow::Continue(failed)
            }
        }
    }

    fn attempt(mut self, back: Resolver<Self>) -> Promise<Option<Outcome<A, R, F>>> {
        if self.operation.is_none() {
            back.resolve(self);
            return ready(None);
        }
        let delay = self.delay();
        if delay.is_zero() {
            return self.try_once(back);
        }
        sleep(delay).then(move |slept| match slept {
            Ok(()) => self.try_once(back),
            Err(error) => {
                back.resolve(self);
                rejected(error)
            }
        })
    }

    fn try_once(mut self, back: Resolver<Self>) -> Promise<Option<Outcome<A, R, F>>> {
        self.begin().then(move |result| {
            let outcome = result.map(|result| match self.judge(result) {
                ControlFlow::Break(outcome) => Some(outcome),
                ControlFlow::Continue(failed) => Some(Err(failed)),
            });
            back.resolve(self);
            settled(outcome)
        })
    }

    /// Attempts in a loop, as long as they are settled at once; else the loop goes on in a callback.
    fn repeat(mut self, mut retries: u64) -> Promise<Outcome<A, R, F>> {
        loop {
            let result = match self.begin().try_take() {
                Ok(Ok(result)) => result,
                Ok(Err(error)) => return rejected(error),
                Err(pending) => {
                    return pending.bind(move |result| match self.go_on(result, &mut retries) {
                        ControlFlow::Break(outcome) => ready(outcome),
                        ControlFlow::Continue(delay) if delay.is_zero() => self.repeat(retries),
                        ControlFlow::Continue(delay) => sleep(delay).bind(move |()| self.repeat(retries)),
                    });
                }
            };
            match self.go_on(result, &mut retries) {
                ControlFlow::Break(outcome) => return ready(outcome),
                ControlFlow::Continue(delay) if delay.is_zero() => {}
                ControlFlow::Continue(delay) => return sleep(delay).bind(move |()| self.repeat(retries)),
            }
        }
    }

    /// The last outcome, or the wait before the next attempt.
    fn go_on(
        &mut self,
        result: Result<A, Failure<R, F>>,
        retries: &mut u64,
    ) -> ControlFlow<Outcome<A, R, F>, Duration> {
        let failed = self.judge(result)?;
        let Some(left) = retries.checked_sub(1) else { return ControlFlow::Break(Err(failed)) };
        *retries = left;
        ControlFlow::Continue(self.delay())
    }
}

impl<A, R, F> fmt::Debug for Attempts<A, R, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attempts").field("running", &self.machine.is_pending()).finish()
    }
}

/// Always the same wait.
pub fn constant(delay: Duration) -> impl FnMut(u64) -> Duration {
    move |_| delay
}

/// `first` after the first failure, then twice as long each time, up to `max`.
///
/// ```
/// use std::time::Duration;
/// let mut waits = lisle::retry::exponential(Duration::from_millis(100), Duration::from_secs(1));
/// let waits: Vec<u128> = (1..=5).map(|failed| waits(failed).as_millis()).collect();
/// assert_eq!(waits, [100, 200, 400, 800, 1000]);
/// ```
#[doc(alias = "backoff")]
pub fn exponential(first: Duration, max: Duration) -> impl FnMut(u64) -> Duration {
    move |failed| {
        let doublings = u32::try_from(failed.saturating_sub(1)).unwrap_or(u32::MAX);
        let times = 2_u32.checked_pow(doublings).unwrap_or(u32::MAX);
        first.saturating_mul(times).min(max)
    }
}

/// A wait between half of what `schedule` says and the whole of it, so that clients that failed together do
/// not come back together. The same seed gives the same waits: let it differ between clients.
pub fn jitter(seed: u64, mut schedule: impl FnMut(u64) -> Duration) -> impl FnMut(u64) -> Duration {
    let mut state = seed;
    move |failed| {
        let half = schedule(failed) / 2;
        // 32 bits of chance are enough for a wait.
        let chance = f64::from((split_mix(&mut state) >> 32) as u32) / f64::from(u32::MAX);
        half.saturating_add(half.mul_f64(chance))
    }
}

/// SplitMix64, by Steele, Lea and Flood: one word of state, and any seed is a good one.
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut word = *state;
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

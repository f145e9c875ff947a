//! Time on every engine: never early, in order, timeouts that keep what was done, intervals. Nothing here
//! asserts that something was fast enough.

mod support;

use lisle::net::UnixStream;
use lisle::time::{Interval, MissedTicks, TimedOut, interval, sleep, sleep_until, timeout, timeout_future};
use lisle::{Buf, Error, Promise, join, pair, pause, ready, rejected, spawn, try_spawn};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};
use support::{Random, each, laps};

const SOON: Duration = Duration::from_millis(2);
const LATER: Duration = Duration::from_secs(3600);

fn sleeps() -> usize {
    lisle::sched::sleep::sleep_count()
}

#[test]
fn never_early() {
    each(|| async {
        let mut random = Random(3);
        let sleeps = (0..200).map(|_| {
            let (begin, time) = (Instant::now(), Duration::from_micros(random.below(30_000)));
            sleep(time).map(move |()| assert!(begin.elapsed() >= time))
        });
        join(sleeps.collect::<Vec<_>>()).await?;
        let moment = Instant::now() + SOON;
        sleep_until(moment).await?;
        assert!(Instant::now() >= moment);
        sleep_until(moment).await
    });
}

#[test]
fn in_the_order_of_their_deadlines() {
    each(|| async {
        let order = Rc::new(RefCell::new(Vec::new()));
        let sleeps = [9, 1, 5, 3, 7].map(|time| {
            let order = order.clone();
            sleep(Duration::from_millis(time)).map(move |()| order.borrow_mut().push(time))
        });
        join(sleeps.into_iter().collect::<Vec<_>>()).await?;
        assert_eq!(*order.borrow(), [1, 3, 5, 7, 9]);
        Ok(())
    });
}

#[test]
fn times_beyond_the_clock_never_come() {
    each(|| async {
        let never = [
            sleep(Duration::MAX),
            sleep(Duration::from_millis(u64::MAX)),
            sleep(Duration::from_secs(u64::MAX)),
            sleep(Duration::from_secs(1 << 40)),
            timeout(Duration::MAX, pair::<()>().0.wrap_in_cancelable()).map(drop),
            interval(Duration::MAX).tick().bind(|()| sleep(Duration::MAX)),
        ];
        // Waiting for something near goes on working with something far in the wheel.
        sleep(SOON).await?;
        let (held, resolver) = pair::<()>();
        let held = timeout(Duration::MAX, held);
        let mut far = interval(Duration::MAX);
        far.tick().await?;
        let far = far.tick();
        sleep(SOON).await?;
        assert!(far.is_pending() && held.is_pending());
        resolver.resolve(());
        held.await?;
        never.iter().filter(|never| never.is_pending()).for_each(Promise::cancel);
        Ok(())
    });
}

#[test]
fn sleeping_alone_ends_the_run() {
    support::each_runtime(|runtime| {
        runtime.run_promise(sleep(SOON)).unwrap();
        runtime.run(sleep(SOON)).unwrap();
        runtime.run(async { sleep(SOON).await }).unwrap();
        runtime.run_promise(timeout(SOON, sleep(LATER))).unwrap_err();
    });
}

#[test]
fn work_in_time_is_not_touched_and_its_timer_goes() {
    each(|| async {
        let before = sleeps();
        assert_eq!(timeout(LATER, ready(1)).await?, 1);
        assert_eq!(sleeps(), before, "no timer for what is done");
        assert_eq!(timeout(LATER, Ok::<_, Error>(1)).await?, 1);
        assert_eq!(timeout(LATER, lisle::pause().map(|()| 2)).await?, 2);
        assert_eq!(sleeps(), before);
        let error = timeout(LATER, rejected::<()>(Error::message("mine"))).await.unwrap_err();
        assert_eq!(error.to_string(), "mine");
        let (work, resolver) = pair();
        let timed = timeout(LATER, work);
        assert_eq!(sleeps(), before + 1);
        resolver.resolve(3);
        laps(1).await?;
        assert_eq!(sleeps(), before);
        assert_eq!(timed.await?, 3);
        Ok(())
    });
}

#[test]
fn work_that_takes_too_long_is_cancelled() {
    each(|| async {
        let cleaned = Rc::new(Cell::new(false));
        let clean = cleaned.clone();
        let begin = Instant::now();
        let work = try_spawn(async move {
            let error = sleep(LATER).await.unwrap_err();
            assert!(error.is_canceled());
            lisle::pause().await?;
            clean.set(true);
            Err::<(), _>(error)
        });
        let error = timeout(SOON, work).await.unwrap_err();
        assert!(begin.elapsed() >= SOON);
        assert_eq!(error.downcast_ref::<TimedOut>().map(TimedOut::after), Some(SOON));
        assert_eq!(error.to_string(), "timed out after 2ms");
        assert!(cleaned.get(), "it had its time to clean up");
        Ok(())
    });
}

#[test]
fn a_value_wins_over_the_timeout() {
    each(|| async {
        let work = spawn(async {
            // Whatever happens, this has a value.
            sleep(LATER).await.ok();
            lisle::pause().await.ok();
            7
        });
        assert_eq!(timeout(SOON, work).await?, 7);
        Ok(())
    });
}

#[test]
fn work_that_cannot_be_cancelled_does_not_hold_up_the_timeout() {
    each(|| async {
        let (work, resolver) = pair::<u32>();
        assert!(timeout(SOON, work).await.unwrap_err().downcast_ref::<TimedOut>().is_some());
        resolver.resolve(1);
        let stubborn = sleep(LATER).no_cancel();
        assert!(timeout(Duration::ZERO, stubborn).await.unwrap_err().downcast_ref::<TimedOut>().is_some());
        Ok(())
    });
}

#[test]
fn cancelling_a_timeout_cancels_the_work() {
    each(|| async {
        let before = sleeps();
        let timed = timeout(LATER, sleep(LATER));
        laps(1).await?;
        timed.cancel();
        assert!(timed.await.unwrap_err().is_canceled());
        assert_eq!(sleeps(), before);
        Ok(())
    });
}

/// BR-149: a timeout of an hour around fast work leaves no timer.
#[test]
fn br_149_a_million_timeouts_of_an_hour_leave_nothing() {
    each(|| async {
        let before = (sleeps(), lisle::sched::tasks::task_count(), lisle::live_waiters());
        for round in 0..1_000_000 {
            match round % 10 {
                0 => timeout(LATER, lisle::pause()).await?,
                _ => timeout(LATER, ready(())).await?,
            }
        }
        assert_eq!((sleeps(), lisle::sched::tasks::task_count(), lisle::live_waiters()), before);
        Ok(())
    });
}

#[test]
fn intervals_keep_their_period() {
    each(|| async {
        let (begin, mut ticks) = (Instant::now(), interval(SOON));
        for count in 0..5 {
            ticks.tick().await?;
            assert!(begin.elapsed() >= SOON * count);
        }
        Ok(())
    });
}

#[test]
fn a_tick_that_was_given_up_comes_again() {
    each(|| async {
        let mut ticks = interval(Duration::from_millis(40));
        ticks.tick().await?;
        let begin = Instant::now();
        let given_up = ticks.tick();
        given_up.cancel();
        drop(given_up);
        drop(ticks.tick());
        ticks.tick().await?;
        // Not two periods later; how much later than one is the machine's business, so only the order is
        // asserted.
        assert!(begin.elapsed() >= Duration::from_millis(35));
        Ok(())
    });
}

/// How many ticks are there at once after `missed` whole periods were slept through.
async fn at_once(mut ticks: Interval, period: Duration, missed: u32) -> lisle::Result<usize> {
    ticks.tick().await?;
    #[expect(clippy::disallowed_methods, reason = "the worker is late on purpose")]
    std::thread::sleep(period * missed + period / 2);
    let mut count = 0;
    while count < 100 && !ticks.tick().is_pending() {
        count += 1;
    }
    Ok(count)
}

#[test]
fn missed_ticks_follow_the_policy() {
    each(|| async {
        let period = Duration::from_millis(50);
        let burst = at_once(interval(period).missed_ticks(MissedTicks::Burst), period, 3).await?;
        assert!(burst >= 3, "{burst}");
        assert_eq!(at_once(interval(period).missed_ticks(MissedTicks::Delay), period, 3).await?, 1);
        assert_eq!(at_once(interval(period).missed_ticks(MissedTicks::Skip), period, 3).await?, 1);
        let mut zero = interval(Duration::ZERO);
        zero.tick().await?;
        zero.tick().await
    });
}

#[test]
fn skipping_keeps_the_rhythm() {
    each(|| async {
        let period = Duration::from_millis(20);
        let begin = Instant::now();
        let mut ticks = interval(period).missed_ticks(MissedTicks::Skip);
        ticks.tick().await?;
        #[expect(clippy::disallowed_methods, reason = "the worker is late on purpose")]
        std::thread::sleep(period * 2 + period / 2);
        ticks.tick().await?;
        let next = ticks.tick();
        next.await?;
        assert!(begin.elapsed() >= period * 3);
        Ok(())
    });
}

#[test]
fn a_future_that_borrows_has_a_limit_and_loses_no_byte() {
    each(|| async {
        let (a, b) = UnixStream::pair()?;
        let mut seen = Vec::new();
        let reading = async {
            loop {
                seen.extend_from_slice(&a.read(Buf::with_capacity(8)).await?);
            }
            #[expect(unreachable_code, reason = "it names the type of the block")]
            Ok::<(), lisle::Error>(())
        };
        b.write_all("one").await?;
        let late = timeout_future(Duration::from_millis(5), reading).await;
        assert!(late.unwrap_err().downcast_ref::<TimedOut>().is_some());
        assert_eq!(seen, b"one");
        b.write_all("two").await?;
        assert_eq!(&*a.read(Buf::with_capacity(8)).await?, b"two");
        Ok(())
    });
}

#[test]
fn a_limited_future_that_is_cancelled_cleans_up() {
    each(|| async {
        let task = try_spawn(async {
            let limited = async {
                let error = sleep(Duration::MAX).await.unwrap_err();
                sleep(Duration::from_millis(1)).await?;
                Ok::<bool, lisle::Error>(error.is_canceled())
            };
            timeout_future(Duration::from_secs(3600), limited).await?
        });
        pause().await?;
        task.cancel();
        assert!(task.await?);
        Ok(())
    });
}

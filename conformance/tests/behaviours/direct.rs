//! Lwt_direct: fibers, in the order of the table.
//!
//! A body's exception is an error it returns; `await` is [`Fiber::wait`].

use lisle::net::UnixStream;
use lisle::sched::tasks::{run_ready, task_count};
use lisle::sched::{has_work, pause::paused_count, pause::wake_paused};
use lisle::storage::Key;
use lisle::stream::create_bounded;
use lisle::time::sleep;
use lisle::{Buf, Error, Promise, Result, all, hook, pair, pause, ready, rejected};
use lisle_direct::{ByteStream, Fiber, run, spawn, try_spawn};
use std::cell::{Cell, RefCell};
use std::io::{self, BufRead, BufReader, Write};
use std::rc::Rc;
use std::time::Duration;

const MICROSECOND: Duration = Duration::from_micros(1);

/// Laps without an engine, until nothing is left to do.
fn laps() {
    while has_work() {
        run_ready();
        wake_paused();
    }
}

#[track_caller]
fn value<T>(promise: Promise<T>) -> T {
    promise.try_take().unwrap_or_else(|_| panic!("pending")).unwrap()
}

/// DIRECT-01: a fiber that waits for a sleep of one microsecond and then returns 42 gives a promise of 42.
#[test]
fn direct_01_a_fiber_that_sleeps_gives_its_value() {
    let answer = run(|fiber| {
        let promise = try_spawn(|fiber| {
            fiber.wait(sleep(MICROSECOND))?;
            Ok::<_, Error>(42)
        });
        assert!(promise.is_pending());
        fiber.wait(promise)
    });
    assert_eq!(answer.unwrap(), 42);
}

/// DIRECT-02: a fiber that waits in turn for three promises made before it began sees all their values.
#[test]
fn direct_02_promises_made_before_are_waited_for_in_order() {
    let numbered = |number: u32| pause().map(move |()| number);
    let promises = [numbered(1), numbered(2), numbered(3)];
    let seen = try_spawn(move |fiber| {
        let [first, second, third] = promises;
        Ok::<_, Error>([fiber.wait(first)?, fiber.wait(second)?, fiber.wait(third)?])
    });
    laps();
    assert_eq!(value(seen), [1, 2, 3]);
}

/// DIRECT-03: waits for 101 settled promises inside an ordinary iteration sum up to 5050, without a switch.
#[test]
fn direct_03_waits_inside_an_ordinary_iteration() {
    let sum = spawn(|fiber| (0..=100).map(|number| fiber.wait(ready(number)).unwrap()).sum::<u32>());
    assert_eq!(run_ready(), 1);
    assert_eq!(value(sum), 5050);
}

/// DIRECT-04: of 101 fibers at once, each yields one to five times and returns its number; they sum up to 5050.
#[test]
fn direct_04_many_fibers_at_once() {
    let fiber = |number: u32| {
        try_spawn(move |fiber| {
            (0..1 + number % 5).try_for_each(|_| fiber.yield_now())?;
            Ok::<_, Error>(number)
        })
    };
    let sum = all((0..=100).map(fiber)).map(|numbers| numbers.iter().sum::<u32>());
    laps();
    assert_eq!(value(sum), 5050);
}

/// DIRECT-05: a fiber pushes 1 to 10 through a bounded stream of size 2, waiting for each push, and closes it; another
/// one gets them in order.
#[test]
fn direct_05_a_producer_and_a_consumer() {
    let (numbers, pusher) = create_bounded(2);
    let producer = try_spawn(move |fiber| {
        for number in 1..=10 {
            fiber.wait(pusher.push(number))?;
        }
        pusher.close();
        Ok::<_, Error>(())
    });
    let consumer = try_spawn(move |fiber| {
        let mut seen = Vec::new();
        while let Some(number) = fiber.wait(numbers.get())? {
            seen.push(number);
        }
        Ok::<_, Error>(seen)
    });
    laps();
    value(producer);
    assert_eq!(value(consumer), (1..=10).collect::<Vec<u32>>());
}

/// DIRECT-06: a yield before each of 101 waits changes nothing: the sum is 5050.
#[test]
fn direct_06_yields_before_each_wait() {
    let sum = try_spawn(|fiber| {
        let mut sum = 0;
        for number in 0..=100 {
            fiber.yield_now()?;
            sum += fiber.wait(ready(number))?;
        }
        Ok::<u32, Error>(sum)
    });
    laps();
    assert_eq!(value(sum), 5050);
}

fn fails_later() -> Promise<()> {
    pause().bind(|()| sleep(MICROSECOND)).bind(|()| rejected::<()>(Error::message("E")))
}

/// DIRECT-07: a promise that is rejected after a pause and a sleep is an error at the wait, where it can be
/// handled.
#[test]
fn direct_07_a_rejection_is_an_error_at_the_wait() {
    let handled = run(|fiber| match fiber.wait(fails_later()) {
        Ok(()) => "no error".to_owned(),
        Err(error) => format!("handled {error}"),
    });
    assert_eq!(handled, "handled E");
}

/// DIRECT-08: the error of a body rejects its promise, which another fiber waits for.
#[test]
fn direct_08_an_error_of_the_body_rejects_its_promise() {
    let error = run(|fiber| {
        let fails = try_spawn(|fiber| {
            fiber.wait(fails_later())?;
            Ok::<_, Error>(())
        });
        let other = spawn(|fiber| fiber.wait(fails).unwrap_err().to_string());
        fiber.wait(other)
    });
    assert_eq!(error.unwrap(), "E");
}

/// DIRECT-09: Fibonacci of 12, with a fiber for each call, is 144.
#[test]
fn direct_09_recursive_spawning() {
    fn fibonacci(n: u32) -> Promise<u32> {
        try_spawn(move |fiber| {
            if n < 2 {
                return Ok::<_, Error>(n);
            }
            let (one, other) = (fibonacci(n - 1), fibonacci(n - 2));
            Ok(fiber.wait(one)? + fiber.wait(other)?)
        })
    }
    let result = fibonacci(12);
    laps();
    assert_eq!(value(result), 144);
}

/// A channel in memory, which gives its bytes in pieces of three, each after a pause.
struct Memory(RefCell<&'static [u8]>);

impl ByteStream for Memory {
    fn read(&self, mut buf: Buf) -> Promise<Buf> {
        let mut rest = self.0.borrow_mut();
        let (piece, left) = rest.split_at(rest.len().min(3).min(buf.capacity()));
        *rest = left;
        buf.storage_mut()[..piece.len()].copy_from_slice(piece);
        buf.set_len(piece.len());
        pause().map(|()| buf)
    }

    fn write_all(&self, _buf: Buf) -> Promise<Buf> {
        rejected(Error::message("this channel is for reading"))
    }
}

/// DIRECT-10: in a fiber, keys that were not set have no value; setting one, setting another one and clearing one
/// change the key that is named, and no other.
#[test]
fn direct_10_storage_of_a_fiber() {
    let (first, second) = (Key::new(), Key::new());
    let seen = spawn(move |_| {
        let values = || (first.get(), second.get());
        let mut seen = vec![values()];
        first.set(1);
        seen.push(values());
        second.set("a");
        first.set(2);
        seen.push(values());
        first.set(None);
        seen.push(values());
        seen
    });
    laps();
    assert_eq!(value(seen), [(None, None), (Some(1), None), (Some(2), Some("a")), (None, Some("a"))]);
    assert_eq!((first.get(), second.get()), (None, None));
}

/// DIRECT-11: three fibers at once each keep their value over waits and yields, and callbacks that run under another
/// value of the same key do not disturb it.
#[test]
fn direct_11_storage_survives_waits() {
    let key = Key::new();
    let fibers: Vec<_> = (1..=3)
        .map(|number: u32| {
            try_spawn(move |fiber| {
                key.set(number);
                let mut seen = Vec::new();
                for round in 0..3 {
                    let inside = key.with_value(10 * number + round, || pause().map(move |()| key.get()));
                    fiber.yield_now()?;
                    seen.push((key.get(), fiber.wait(inside)?));
                }
                Ok::<_, Error>(seen)
            })
        })
        .collect();
    laps();
    for (number, fiber) in (1..).zip(fibers) {
        let expected: Vec<_> = (0..3).map(|round| (Some(number), Some(10 * number + round))).collect();
        assert_eq!(value(fiber), expected);
    }
}

/// DIRECT-12: lines are read in a loop, with yields between; the loop ends by the end of the channel, and there
/// were exactly the three lines.
#[test]
fn direct_12_lines_of_a_channel_in_memory() {
    let lines = spawn(|fiber| {
        let channel = Memory(RefCell::new(b"some\ninteresting\ntext string here!\n"));
        let mut reader = BufReader::new(fiber.io(&channel));
        let (mut lines, mut line) = (Vec::new(), String::new());
        while reader.read_line(&mut line)? > 0 {
            fiber.yield_now()?;
            lines.push(std::mem::take(&mut line));
        }
        Ok::<_, io::Error>(lines)
    });
    laps();
    assert_eq!(value(lines).unwrap(), ["some\n", "interesting\n", "text string here!\n"]);
}

/// DIRECT-13: a fiber in the background writes 1 to 100 as lines, one at a time, and closes; another one sums
/// them up to the end of the stream: 5050.
#[test]
fn direct_13_a_writer_in_the_background_and_a_reader() {
    let sum = run(|fiber| {
        let (ours, theirs) = UnixStream::pair()?;
        try_spawn(move |fiber| {
            let mut writer = fiber.io(&theirs);
            for number in 1..=100 {
                writeln!(writer, "{number}")?;
                writer.flush()?;
            }
            Ok::<_, io::Error>(())
        })
        .detach();
        let reader = try_spawn(move |fiber| {
            let mut sum = 0;
            for line in BufReader::new(fiber.io(&ours)).lines() {
                sum += line?.parse::<u32>().map_err(io::Error::other)?;
            }
            Ok::<_, io::Error>(sum)
        });
        fiber.wait(reader)
    });
    assert_eq!(sum.unwrap(), 5050);
}

/// X-DIRECT-01: a body does not begin at its spawn, but in the next lap; a wait for a settled promise does not
/// let others go first.
#[test]
fn x_direct_01_a_fiber_is_queued_and_a_settled_wait_does_not_switch() {
    let log: Rc<RefCell<Vec<&str>>> = Rc::default();
    let (first, second) = (log.clone(), log.clone());
    spawn(move |fiber| {
        first.borrow_mut().push("begins");
        fiber.wait(ready(())).unwrap();
        first.borrow_mut().push("goes on");
    })
    .detach();
    spawn(move |_| second.borrow_mut().push("other")).detach();
    assert!(log.borrow().is_empty());
    assert_eq!(run_ready(), 2);
    assert_eq!(*log.borrow(), ["begins", "goes on", "other"]);
}

/// X-DIRECT-02: fibers that yield for ever run once a lap each, so that pauses and the engine have their turn; as
/// long as one is queued there is work, and no lap sleeps.
#[test]
fn x_direct_02_fibers_that_yield_for_ever_starve_nobody() {
    let turns = Rc::new(Cell::new(0));
    let fibers: Vec<_> = (0..10)
        .map(|_| {
            let turns = turns.clone();
            spawn(move |fiber: &Fiber| {
                while fiber.yield_now().is_ok() {
                    turns.set(turns.get() + 1);
                }
            })
        })
        .collect();
    run_ready();
    for lap in 1..=100 {
        let paused = pause();
        assert_eq!((run_ready(), turns.get()), (10, 10 * lap));
        wake_paused();
        value(paused);
        assert!(has_work());
    }
    assert_eq!(paused_count(), 0);
    fibers.iter().for_each(Promise::cancel);
    laps();
    assert_eq!(task_count(), 10);
    fibers.into_iter().for_each(value);
    // With an engine: a timer strikes beside a fiber that never rests.
    let rounds = run(|fiber| {
        let restless = spawn(|fiber: &Fiber| while fiber.yield_now().is_ok() {});
        let slept = fiber.wait(sleep(Duration::from_millis(2)));
        restless.cancel();
        fiber.wait(restless).and(slept)
    });
    rounds.unwrap();
}

/// X-DIRECT-03: cancelling a fiber's promise does not settle it: the fiber is told, where it waits, and what it
/// returns counts. A failing fiber in the background goes to the hook.
#[test]
fn x_direct_03_cancel_asks_and_failures_in_the_background_are_told() {
    let (waited_for, resolver) = pair::<u32>();
    let fiber = try_spawn(move |fiber| Ok::<_, Error>(fiber.wait(waited_for)? + 1));
    run_ready();
    fiber.cancel();
    assert!(fiber.is_pending(), "cancel asks");
    laps();
    assert!(fiber.is_pending(), "it waits for a promise that cannot be cancelled");
    resolver.resolve(41);
    laps();
    assert_eq!(value(fiber), 42);

    let goes_on = spawn(|fiber| match fiber.wait(pause()) {
        Err(error) if error.is_canceled() => "told",
        _ => "not told",
    });
    run_ready();
    goes_on.cancel();
    laps();
    assert_eq!(value(goes_on), "told");

    let told: Rc<RefCell<Vec<String>>> = Rc::default();
    let lines = told.clone();
    hook::set(move |failure| lines.borrow_mut().push(failure.error().to_string()));
    try_spawn(|_| Result::<()>::Err(Error::message("E"))).detach();
    laps();
    hook::reset();
    assert_eq!(*told.borrow(), ["E"]);
}

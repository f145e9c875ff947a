//! `Lwt_react`: events and signals that are bound to promises and streams.
//!
//! Time is the tick that is given to `advance`, so a sleep of a second takes none.

use lisle_core::react::{Event, Signal, event, signal};
use lisle_core::sched::sleep::{advance, sleep_until};
use lisle_core::{Promise, Resolver, hook, pair, pause, ready, rejected, stream, wake_paused};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// What an event occurred with, as long as it is held.
struct Record<A: 'static> {
    seen: Rc<RefCell<Vec<A>>>,
    _listener: Event<()>,
}

impl<A: Clone + 'static> Record<A> {
    fn of(event: &Event<A>) -> Record<A> {
        let seen = Rc::new(RefCell::new(Vec::new()));
        let list = seen.clone();
        Record { seen, _listener: event.map(move |value| list.borrow_mut().push(value.clone())) }
    }

    /// All that was seen since the last call.
    fn take(&self) -> Vec<A> {
        self.seen.take()
    }
}

/// The clock of a test.
#[derive(Clone, Default)]
struct Clock(Rc<Cell<u64>>);

impl Clock {
    fn sleep(&self, ticks: u64) -> Promise<()> {
        sleep_until(self.0.get() + ticks)
    }

    fn run(&self, ticks: u64) {
        for _ in 0..ticks {
            self.0.set(self.0.get() + 1);
            advance(self.0.get());
        }
    }
}

/// A limiter that is released by hand: Lwt's test waits for a condition.
#[derive(Clone, Default)]
struct Gate(Rc<RefCell<Vec<Resolver<()>>>>);

impl Gate {
    fn wait(&self) -> Promise<()> {
        let (promise, resolver) = pair();
        self.0.borrow_mut().push(resolver);
        promise
    }

    fn release(&self) {
        let waiting = self.0.take();
        waiting.into_iter().for_each(|resolver| resolver.resolve(()));
    }
}

fn value<T>(promise: Promise<T>) -> T {
    promise.try_take().expect("the promise is settled").expect("the promise is fulfilled")
}

/// REACT-01: a read of the stream that waits gets 42 as soon as 42 is sent.
#[test]
fn react_01_a_waiting_read_gets_what_is_sent() {
    let (event, sender) = event();
    let stream = event.to_stream();
    let next = stream.next();
    assert!(next.is_pending());
    sender.send(42);
    assert_eq!(value(next), 42);
}

/// REACT-02: what is sent before it is read is in the stream, in order.
#[test]
fn react_02_a_stream_keeps_what_is_sent() {
    let (event, sender) = event();
    let stream = event.to_stream();
    for n in [1, 2, 3] {
        sender.send(n);
    }
    assert_eq!(value(stream.nget(3)), [1, 2, 3]);
}

/// REACT-03: with functions that answer at once, `map_s` and `map_p` occur before the send returns.
#[test]
fn react_03_an_answer_at_once_occurs_during_the_send() {
    let (numbers, sender) = event::<u32>();
    let serial = Record::of(&numbers.map_s(|&n| ready(n)));
    let parallel = Record::of(&numbers.map_p(|&n| ready(n)));
    sender.send(42);
    assert_eq!((serial.take(), parallel.take()), (vec![42], vec![42]));
}

/// REACT-04: when the limiter ends, a callback registered on it later sends first and takes the slot: the one kept
/// is dropped.
#[test]
fn react_04_a_later_callback_of_the_limiter_takes_the_slot() {
    let (clock, (numbers, sender)) = (Clock::default(), event());
    let (time, again) = (clock.clone(), sender.clone());
    let limited = numbers.limit(move || {
        let limiter = time.sleep(1000).shared();
        let (registered, again) = (limiter.clone(), again.clone());
        time.sleep(100).on_success(move |()| registered.on_success(move |()| again.send(2)));
        limiter.promise()
    });
    let seen = Record::of(&limited);
    sender.send(0);
    sender.send(1);
    clock.run(2500);
    assert_eq!(seen.take(), [0, 2, 2]);
}

/// REACT-05: elements pushed before the loop runs are all emitted, in order, when the pauses are woken.
#[test]
fn react_05_a_stream_is_emitted_from_the_first_pause() {
    let (stream, pusher) = stream::create();
    let seen = Record::of(&Event::of_stream(stream));
    for n in [1, 2, 3] {
        pusher.push(n).expect("the stream is read");
    }
    assert_eq!(seen.take(), []);
    wake_paused();
    assert_eq!(seen.take(), [1, 2, 3]);
    pusher.push(4).expect("the stream is read");
    assert_eq!(seen.take(), [4]);
}

/// REACT-06: of what comes while the limiter runs the last one is emitted when it is released.
#[test]
fn react_06_a_limited_event_emits_the_last_one_kept() {
    let (gate, (numbers, sender)) = (Gate::default(), event());
    let opener = gate.clone();
    let seen = Record::of(&numbers.limit(move || opener.wait()));
    for n in [1, 0, 2] {
        sender.send(n);
    }
    assert_eq!(seen.take(), [1]);
    gate.release();
    assert_eq!(seen.take(), [2]);
    sender.send(3);
    assert_eq!(seen.take(), []);
    gate.release();
    assert_eq!(seen.take(), [3]);
    for n in [0, 4] {
        sender.send(n);
    }
    gate.release();
    assert_eq!(seen.take(), [4]);
}

/// REACT-07: a finaliser, of an event and of a signal, runs when the last handle is dropped, not before.
#[test]
fn react_07_a_finaliser_runs_with_the_last_handle() {
    let done = Rc::new(Cell::new(0));
    let finaliser = || {
        let done = done.clone();
        move || done.set(done.get() + 1)
    };
    let (numbers, sender) = event::<u32>();
    let finalised = numbers.with_finaliser(finaliser());
    let derived = Record::of(&finalised);
    sender.send(1);
    drop(finalised);
    sender.send(2);
    assert_eq!((derived.take(), done.get()), (vec![1, 2], 0));
    drop(derived);
    assert_eq!(done.get(), 1);
    let (level, setter) = signal(1);
    let finalised = level.with_finaliser(finaliser());
    let derived = finalised.map(|n| n + 1);
    drop((level, finalised));
    setter.set(2);
    assert_eq!((derived.value(), done.get()), (3, 1));
    drop(derived);
    assert_eq!(done.get(), 2);
}

/// REACT-08: a limited signal shows 1, then 2 (0 is overwritten), then 3, then 4.
#[test]
fn react_08_a_limited_signal_shows_the_last_one_kept() {
    let (gate, (level, setter)) = (Gate::default(), signal(0));
    let opener = gate.clone();
    let limited = level.limit(move || opener.wait());
    let seen = Record::of(&limited.changes());
    setter.set(1);
    assert_eq!((limited.value(), seen.take()), (0, vec![]));
    gate.release();
    assert_eq!(seen.take(), [1]);
    for n in [0, 2] {
        setter.set(n);
    }
    assert_eq!(seen.take(), []);
    gate.release();
    assert_eq!(seen.take(), [2]);
    setter.set(3);
    gate.release();
    assert_eq!(seen.take(), [3]);
    for n in [0, 4] {
        setter.set(n);
    }
    gate.release();
    assert_eq!((limited.value(), seen.take()), (4, vec![4]));
}

/// REACT-09: a signal whose first limiter is asleep; a callback registered on it later sets 2 first, so there is
/// one change.
#[test]
fn react_09_a_later_callback_of_the_first_limiter_takes_the_slot() {
    let (clock, (level, setter)) = (Clock::default(), signal(0));
    let (time, again) = (clock.clone(), setter.clone());
    let limited = level.limit(move || {
        let limiter = time.sleep(1000).shared();
        let (registered, again) = (limiter.clone(), again.clone());
        time.sleep(100).on_success(move |()| registered.on_success(move |()| again.set(2)));
        limiter.promise()
    });
    let seen = Record::of(&limited.changes());
    setter.set(1);
    clock.run(2000);
    assert_eq!(seen.take(), [2]);
}

/// X-REACT-01: `next` is fulfilled by the first later occurrence, before the send returns; cancelling it takes it
/// off the event.
#[test]
fn x_react_01_next_is_the_first_later_occurrence() {
    let (numbers, sender) = event();
    sender.send(1);
    let next = numbers.next();
    sender.send(2);
    sender.send(3);
    assert_eq!(value(next), 2);
    let canceled = numbers.next();
    drop(numbers);
    assert!(sender.is_connected());
    canceled.cancel();
    assert!(!sender.is_connected(), "nothing listens any more");
    assert!(canceled.try_take().expect("it is settled").expect_err("it is rejected").is_canceled());
}

/// X-REACT-02: the functions of `map_s` run one at a time, in the order of the occurrences; those of `map_p` may
/// answer in another order; a rejection emits nothing (and goes to the hook).
#[test]
fn x_react_02_serial_functions_keep_the_order_and_parallel_ones_do_not() {
    let failures = Rc::new(Cell::new(0));
    let count = failures.clone();
    hook::set(move |_| count.set(count.get() + 1));
    let (clock, (ticks, sender)) = (Clock::default(), event::<u64>());
    let running = Rc::new(Cell::new(0));
    let answer = |running: Rc<Cell<u32>>| {
        let time = clock.clone();
        move |&ticks: &u64| {
            running.set(running.get() + 1);
            let running = running.clone();
            time.sleep(ticks).bind(move |()| {
                running.set(running.get() - 1);
                if ticks == 20 { rejected("unwanted".parse::<u64>().unwrap_err()) } else { ready(ticks) }
            })
        }
    };
    let serial = Record::of(&ticks.map_s(answer(running.clone())));
    let parallel = Record::of(&ticks.map_p(answer(Rc::default())));
    for n in [30, 20, 10] {
        sender.send(n);
        assert_eq!(running.get(), 1);
    }
    clock.run(30);
    assert_eq!((serial.take(), parallel.take()), (vec![30], vec![10, 30]));
    clock.run(30);
    assert_eq!(serial.take(), [10]);
    assert_eq!((running.get(), failures.get()), (0, 2));
    let first: Promise<Signal<u32>> = signal(1).0.map_s(|&n| pause().map(move |()| n + 1));
    assert!(first.is_pending());
    wake_paused();
    assert_eq!(value(first).value(), 2);
    hook::reset();
}

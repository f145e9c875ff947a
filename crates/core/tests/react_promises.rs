//! Events and signals with promises: when their functions and callbacks run, what is kept, dropped, told.

mod rig;

use lisle_core::react::{Event, Fresh, Sender, Signal, event, l2_s, l3_s, signal, step};
use lisle_core::{Error, Promise, Resolver, cancelable, pair, pause, ready, rejected, stream, wake_paused};
use rig::{Trace, done, failures, value};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

fn record<A: ToString + 'static>(trace: &Trace, event: &Event<A>) -> Event<()> {
    let trace = trace.clone();
    event.map(move |value| trace.add(value.to_string()))
}

/// Promises that are settled by hand, in the order in which they were asked for.
#[derive(Clone)]
struct Desk<T: 'static>(Rc<RefCell<Vec<Resolver<T>>>>);

impl<T: 'static> Desk<T> {
    fn new() -> Desk<T> {
        Desk(Rc::default())
    }

    fn ask(&self) -> Promise<T> {
        let (promise, resolver) = pair();
        self.0.borrow_mut().push(resolver);
        promise
    }

    fn len(&self) -> usize {
        self.0.borrow().len()
    }

    /// Takes out the oldest.
    fn first(&self) -> Resolver<T> {
        self.0.borrow_mut().remove(0)
    }
}

#[test]
fn callbacks_of_next_see_a_graph_at_rest() {
    let trace = Trace::new();
    let ((level, set), (ticks, tick)) = (signal(1), event::<u32>());
    let deep = level.map(|n| n * 10).map(|n| n + 1).map(|n| n + 1);
    let (trace_in, watched, events) = (trace.clone(), deep.clone(), ticks.clone());
    ticks.next().on_success(move |n| {
        trace_in.add(format!("{n}:{}", watched.value()));
        // The next one, not this one again.
        assert!(events.next().is_pending());
    });
    step(|step| {
        step.send(&tick, 5);
        step.set(&set, 2);
    });
    assert_eq!(trace.take(), "5:22");
}

#[test]
fn what_a_callback_of_a_step_sends_happens_at_once() {
    let trace = Trace::new();
    let ((a, send_a), (level, set)) = (event::<u32>(), signal(0));
    let doubled = level.map(|n| n * 2);
    let (trace_in, seen) = (trace.clone(), doubled.clone());
    a.next().on_success(move |n| {
        set.set(n);
        trace_in.add(format!("now {}", seen.value()));
    });
    let _later = record(&trace, &a.map_s(|n| ready(format!("second {n}"))));
    send_a.send(4);
    assert_eq!(trace.take(), "now 8 second 4");
}

#[test]
fn next_asked_for_by_a_function_of_the_step_is_this_occurrence() {
    let (numbers, send) = event::<u32>();
    let promises: Rc<RefCell<Vec<Promise<u32>>>> = Rc::default();
    let (list, source) = (promises.clone(), numbers.clone());
    let _asker = numbers.once().map(move |_| list.borrow_mut().push(source.next()));
    send.send(1);
    send.send(2);
    assert_eq!(value(promises.borrow_mut().remove(0)), 1);
}

#[test]
fn a_loop_over_next_sees_one_occurrence_in_each_send() {
    fn follow(numbers: &Event<u32>, trace: &Trace) -> Promise<()> {
        let (again, trace) = (numbers.clone(), trace.clone());
        numbers.next().bind(move |n| {
            trace.add(n);
            follow(&again, &trace)
        })
    }
    let trace = Trace::new();
    let (numbers, send) = event::<u32>();
    let following = follow(&numbers, &trace);
    for n in 1..=3 {
        send.send(n);
    }
    assert_eq!(trace.take(), "1 2 3");
    following.cancel();
    assert!(done(following).unwrap_err().is_canceled());
    send.send(4);
    assert_eq!(trace.take(), "");
}

#[test]
fn callbacks_that_send_for_callbacks_use_no_stack() {
    fn follow(numbers: &Event<u32>, send: &Sender<u32>) {
        let (again, sender) = (numbers.clone(), send.clone());
        numbers.next().on_success(move |n| {
            if n > 0 {
                follow(&again, &sender);
                sender.send(n - 1);
            }
        });
    }
    rig::with_small_stack(|| {
        let (numbers, send) = event::<u32>();
        let last = numbers.hold(1);
        follow(&numbers, &send);
        send.send(100_000);
        assert_eq!(last.value(), 0);
    });
}

#[test]
fn next_can_be_awaited_by_a_task() {
    let (numbers, send) = event::<u32>();
    let task = lisle_core::spawn(async move {
        let mut sum = 0;
        while sum < 6 {
            sum += numbers.next().await?;
        }
        Ok::<u32, Error>(sum)
    });
    for n in 1..=3 {
        send.send(n);
        rig::run();
    }
    assert_eq!(value(task).unwrap(), 6);
}

#[test]
fn serial_functions_run_one_after_the_other_and_outlive_failures() {
    let seen = failures();
    let trace = Trace::new();
    let desk = Desk::<u32>::new();
    let (numbers, send) = event::<u32>();
    let asked = desk.clone();
    let _seen = record(
        &trace,
        &numbers.map_s(move |&n| {
            assert_ne!(n, 9, "nine");
            asked.ask().map(move |m| n * 10 + m)
        }),
    );
    for n in [1, 9, 2, 3] {
        send.send(n);
    }
    assert_eq!(desk.len(), 1);
    desk.first().resolve(1);
    assert_eq!((trace.take().as_str(), desk.len()), ("11", 1));
    desk.first().reject(rig::fail("no"));
    assert_eq!((trace.take().as_str(), desk.len()), ("", 1));
    desk.first().resolve(5);
    assert_eq!(trace.take(), "35");
    let told: Vec<String> = seen.borrow().iter().map(|(_, text)| text.clone()).collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].contains("nine") && told[1] == "no", "{told:?}");
}

#[test]
fn dropping_a_serial_event_drops_what_waits_but_not_what_runs() {
    let trace = Trace::new();
    let (desk, (numbers, send)) = (Desk::<()>::new(), event::<u32>());
    let (asked, trace_in) = (desk.clone(), trace.clone());
    let served = numbers.map_s(move |&n| {
        trace_in.add(format!("start {n}"));
        let trace = trace_in.clone();
        asked.ask().map(move |()| trace.add(format!("end {n}")))
    });
    send.send(1);
    send.send(2);
    drop(served);
    send.send(3);
    desk.first().resolve(());
    assert_eq!((trace.take().as_str(), desk.len()), ("start 1 end 1", 0));
}

#[test]
fn a_long_queue_that_is_ready_uses_no_stack() {
    rig::with_small_stack(|| {
        let (desk, (numbers, send)) = (Desk::<()>::new(), event::<u32>());
        let asked = desk.clone();
        let served = numbers.map_s(move |&n| if n == 0 { asked.ask().map(|()| 0) } else { ready(n) });
        let count = served.fold(0, |count, _| count + 1).hold(0);
        (0..100_000).for_each(|n| send.send(n));
        assert_eq!(count.value(), 0);
        desk.first().resolve(());
        assert_eq!(count.value(), 100_000);
    });
}

#[test]
fn the_other_serial_and_parallel_functions() {
    let trace = Trace::new();
    let ((numbers, send), (functions, send_f)) = (event::<u32>(), event::<fn(&u32) -> Promise<u32>>());
    let shared = numbers.map(|&n| pause().map(move |()| n).shared());
    let kept = vec![
        record(&trace, &numbers.filter_s(|&n| ready(n % 2 == 1)).map(|n| format!("odd{n}"))),
        record(&trace, &numbers.filter_p(|&n| ready(n % 2 == 1)).map(|n| format!("oddp{n}"))),
        record(&trace, &numbers.filter_map_s(|&n| ready(n.checked_sub(2))).map(|n| format!("less{n}"))),
        record(&trace, &numbers.filter_map_p(|&n| ready(n.checked_sub(2))).map(|n| format!("lessp{n}"))),
        record(&trace, &numbers.diff_s(|&new, &old| ready(format!("diff{}", new - old)))),
        record(&trace, &numbers.fold_s(10, |sum, &n| ready(sum + n)).map(|n| format!("sum{n}"))),
        record(&trace, &functions.app_s(&numbers).map(|n| format!("app{n}"))),
        record(&trace, &functions.app_p(&numbers).map(|n| format!("appp{n}"))),
        record(&trace, &functions.accum_s(1).map(|n| format!("acc{n}"))),
        record(&trace, &shared.run_s().map(|n| format!("run{n}"))),
        record(&trace, &shared.run_p().map(|n| format!("runp{n}"))),
    ];
    send.send(1);
    assert_eq!(trace.take(), "odd1 oddp1 sum11");
    step(|step| {
        step.send(&send, 4);
        step.send(&send_f, |n| ready(n + 1));
    });
    assert_eq!(trace.take(), "less2 lessp2 sum15 acc2 diff3 app5 appp5");
    wake_paused();
    assert_eq!(trace.take(), "runp1 run1 run4 runp4");
    drop(kept);
}

#[test]
fn a_serial_merge_folds_what_is_simultaneous() {
    let trace = Trace::new();
    let ((a, send_a), (b, send_b)) = (event::<u32>(), event::<u32>());
    let merged =
        Event::merge_s(
            [a, b],
            100,
            |&sum, &n| {
                if n == 7 { pause().map(move |()| sum + n) } else { ready(sum + n) }
            },
        );
    let _seen = record(&trace, &merged);
    step(|step| {
        step.send(&send_b, 1);
        step.send(&send_a, 7);
    });
    send_a.send(2);
    assert_eq!(trace.take(), "");
    wake_paused();
    assert_eq!(trace.take(), "108 102");
}

#[test]
fn signals_with_promised_functions_begin_with_the_value_as_of_now() {
    let desk = Desk::<u32>::new();
    let (level, set) = signal(1);
    let asked = desk.clone();
    let promise = level.map_s(move |&n| asked.ask().map(move |m| n * 10 + m));
    // Changes while the first answer is awaited are kept, and served after it.
    set.set(2);
    set.set(3);
    assert!(promise.is_pending() && desk.len() == 1);
    desk.first().resolve(1);
    let mapped = value(promise);
    assert_eq!((mapped.value(), desk.len()), (11, 1));
    desk.first().resolve(2);
    desk.first().resolve(3);
    assert_eq!(mapped.value(), 33);
    let (level, _) = signal(1);
    let failed: Promise<Signal<u32>> = level.map_s(|_| rejected(rig::fail("first")));
    assert_eq!(done(failed).unwrap_err().to_string(), "first");
    let (asked, panicked) = (signal(1).0, "at first");
    let failed: Promise<Signal<u32>> = asked.map_s(move |_| -> Promise<u32> { panic!("{panicked}") });
    assert_eq!(done(failed).unwrap_err().panic_message(), Some("at first"));
}

#[test]
fn the_other_promised_signals() {
    let trace = Trace::new();
    let ((a, set_a), (b, set_b), (ticks, tick)) = (signal(1), signal(10), event::<u32>());
    let (functions, send_f) = event::<fn(&u32) -> Promise<u32>>();
    let odd = value(a.filter_s(0, |&n| ready(n % 2 == 1)));
    let less = value(a.filter_map_s(99, |n: &u32| ready(n.checked_sub(2))));
    let (other, runs) = (b.clone(), Rc::new(Cell::new(0)));
    let bound = value(a.bind_s(move |&n| ready(other.map(move |m| m + n))));
    let (sum, count) = (value(l2_s(&a, &b, |a, b| ready(a + b))), runs.clone());
    let parity = value(l3_s(&a, &b, &b, move |a, _, _| {
        count.set(count.get() + 1);
        ready(a % 2)
    }));
    let merged = value(Signal::merge_s([a.clone(), b.clone()], 100, |sum, n| ready(sum + n)));
    let folded = Signal::fold_s(&ticks, 1, |state, n| ready(state * n));
    let accumulated = Signal::accum_s(&functions, 1);
    let _diff = record(&trace, &a.diff_s(|new, old| ready(format!("{old}>{new}"))));
    let _sample = record(&trace, &a.sample_s(&ticks, |tick, n| ready(format!("{tick}@{n}"))));
    let all = || (odd.value(), less.value(), bound.value(), sum.value(), merged.value());
    assert_eq!(all(), (1, 99, 11, 11, 111));
    set_a.set(4);
    set_b.set(20);
    assert_eq!(all(), (1, 2, 24, 24, 124));
    set_a.set(5);
    assert_eq!((all(), parity.value(), runs.get()), ((5, 3, 25, 25, 125), 1, 4));
    tick.send(6);
    send_f.send(|n| ready(n + 5));
    assert_eq!((folded.value(), accumulated.value()), (6, 6));
    assert_eq!(trace.take(), "1>4 4>5 6@5");
}

#[test]
fn a_limiter_that_fails_opens_and_is_told() {
    let seen = failures();
    let trace = Trace::new();
    let (desk, (numbers, send)) = (Desk::<()>::new(), event::<u32>());
    let asked = desk.clone();
    let limited = numbers.limit(move || asked.ask());
    let _seen = record(&trace, &limited);
    send.send(1);
    send.send(2);
    desk.first().reject(rig::fail("limiter"));
    assert_eq!((trace.take().as_str(), seen.borrow().len()), ("1 2", 1));
    let panics = numbers.limit(|| -> Promise<()> { panic!("limiter") });
    let _seen = record(&trace, &panics.map(|n| format!("p{n}")));
    send.send(3);
    send.send(4);
    assert_eq!((trace.take().as_str(), seen.borrow().len()), ("p3 p4", 3));
}

#[test]
fn a_limiter_is_closed_before_its_promise_is_asked_for() {
    let trace = Trace::new();
    let (desk, (numbers, send)) = (Desk::<()>::new(), event::<u32>());
    // Its callback runs between the occurrence that passes and the start of the limiter.
    let again = send.clone();
    numbers.next().on_success(move |_| again.send(2));
    let (asked, within) = (desk.clone(), send.clone());
    let limited = numbers.limit(move || {
        within.send(3 + asked.len() as u32);
        asked.ask()
    });
    let _seen = record(&trace, &limited);
    send.send(1);
    assert_eq!((trace.take().as_str(), desk.len()), ("1", 1));
    desk.first().resolve(());
    assert_eq!((trace.take().as_str(), desk.len()), ("3", 1));
}

#[test]
fn what_a_limiter_kept_yields_to_what_a_later_callback_sends() {
    let trace = Trace::new();
    let (numbers, send) = event::<u32>();
    let (promise, resolver) = pair::<()>();
    let (promise, (second, _second)) = (promise.shared(), pair::<()>());
    let limits = RefCell::new(vec![second.shared(), promise.clone()]);
    let _seen = record(&trace, &numbers.limit(move || limits.borrow_mut().pop().expect("two").promise()));
    send.send(1);
    send.send(2);
    let again = send.clone();
    promise.on_success(move |()| again.send(3));
    resolver.resolve(());
    assert_eq!(trace.take(), "1 3");
}

#[test]
fn a_limited_event_that_is_dropped_forgets_what_it_kept() {
    let trace = Trace::new();
    let (desk, (numbers, send)) = (Desk::<()>::new(), event::<rig::OnDrop<Box<dyn FnOnce()>>>());
    let asked = desk.clone();
    let limited = numbers.limit(move || asked.ask());
    send.send(rig::OnDrop::new(Box::new(trace.says("first"))));
    send.send(rig::OnDrop::new(Box::new(trace.says("second"))));
    send.send(rig::OnDrop::new(Box::new(trace.says("third"))));
    assert_eq!(trace.take(), "first second");
    drop(limited);
    assert_eq!(trace.take(), "third");
    desk.first().resolve(());
}

#[test]
fn from_asks_again_and_again_until_it_fails_or_is_dropped() {
    let seen = failures();
    let trace = Trace::new();
    let desk = Desk::<u32>::new();
    let asked = desk.clone();
    let values = Event::from(move || asked.ask());
    let _seen = record(&trace, &values);
    drop(values);
    assert_eq!(desk.len(), 0);
    wake_paused();
    desk.first().resolve(1);
    desk.first().resolve(2);
    assert_eq!((trace.take().as_str(), desk.len()), ("1 2", 1));
    desk.first().reject(rig::fail("the end"));
    assert_eq!((desk.len(), seen.borrow().len()), (0, 1));
    let (promise, resolver) = cancelable::<u32>();
    let mut once = Some(promise);
    let dropped = Event::from(move || once.take().expect("asked once"));
    wake_paused();
    assert!(resolver.is_pending());
    drop(dropped);
    assert!(!resolver.is_pending(), "it was cancelled");
    assert_eq!(seen.borrow().len(), 1);
}

#[test]
fn from_may_drop_itself_and_lets_others_run() {
    let count = Rc::new(Cell::new(0_u32));
    let own: Rc<RefCell<Option<Event<()>>>> = Rc::default();
    let (me, counted) = (Rc::downgrade(&own), count.clone());
    let endless = Event::from(|| ready(1)).map(move |n| {
        counted.set(counted.get() + n);
        if counted.get() == 1000 {
            drop(me.upgrade().and_then(|own| own.take()));
        }
    });
    *own.borrow_mut() = Some(endless);
    wake_paused();
    let first = count.get();
    assert!(first > 0 && first < 1000, "it pauses now and then: {first}");
    (0..100).for_each(|_| wake_paused());
    assert_eq!(count.get(), 1000);
}

#[test]
fn delay_gives_the_event_when_it_is_there() {
    let seen = failures();
    let trace = Trace::new();
    let (numbers, send) = event::<u32>();
    let (promise, resolver) = pair();
    let _late = record(&trace, &Event::delay(promise));
    let _now = record(&trace, &Event::delay(ready(numbers.map(|n| n * 10))));
    let never: Event<u32> = Event::delay(rejected(rig::fail("no event")));
    let (promise, failing) = pair::<Event<u32>>();
    let never = [never, Event::delay(promise)];
    send.send(1);
    resolver.resolve(numbers.clone());
    failing.reject(rig::fail("no event"));
    send.send(2);
    assert_eq!(trace.take(), "10 2 20");
    assert_eq!(seen.borrow().len(), 2);
    drop(never);
}

#[test]
fn a_stream_keeps_its_event_until_its_last_reader_is_gone() {
    let (numbers, send) = event::<u32>();
    let stream = numbers.map(|n| n + 1).to_stream();
    drop(numbers);
    let clone = stream.clone();
    drop(stream);
    send.send(1);
    assert_eq!(value(clone.get()), Some(2));
    drop(clone);
    assert!(!send.is_connected());
}

#[test]
fn an_event_of_a_stream_ends_with_it_and_lets_go_of_it_when_dropped() {
    let seen = failures();
    let trace = Trace::new();
    let (elements, pusher) = stream::create::<u32>();
    let of_stream = Event::of_stream(elements);
    let listener = record(&trace, &of_stream);
    drop(of_stream);
    wake_paused();
    pusher.push(1).unwrap();
    drop(listener);
    assert!(pusher.push(2).is_err(), "nobody reads any more");
    let ended = Event::of_stream(stream::of_list([3, 4]));
    let _listener = record(&trace, &ended);
    wake_paused();
    assert_eq!((trace.take().as_str(), seen.borrow().len()), ("1 3 4", 0));
    let failing = Event::<u32>::of_stream(stream::from(|| rejected(rig::fail("source"))));
    wake_paused();
    assert_eq!(seen.borrow().len(), 1);
    drop(failing);
}

#[test]
fn values_without_equality_or_clone_travel_too() {
    struct Token(u32);
    let (tokens, send) = event::<Token>();
    let (held, set) = signal(Fresh(Token(1)));
    let numbers = tokens.filter(|t| t.0 > 1).map_s(|t| ready(t.0)).hold(0);
    let twice = value(held.map_s(|t| ready(t.0.0 * 2)));
    send.send(Token(1));
    send.send(Token(2));
    set.set(Fresh(Token(4)));
    assert_eq!((numbers.value(), twice.value(), held.with(|t| t.0.0)), (2, 8, 4));
}

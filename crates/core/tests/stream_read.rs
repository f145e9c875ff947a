//! Streams, reading: each element goes to one read, in the order of the reads, whatever is cancelled and when.

mod rig;

use lisle_core::stream::{self, Stream, StreamError, create, create_bounded, from, of_list};
use lisle_core::{Promise, Resolver, both, live_waiters, pair, pause, ready, rejected, spawn};
use rig::*;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// An element that cannot be cloned.
#[derive(Debug, PartialEq)]
struct Only(u32);

#[test]
fn elements_that_are_not_clone_are_moved_to_their_reader() {
    let (stream, pusher) = create();
    let first = stream.get();
    for n in 1..=6 {
        pusher.push(Only(n)).unwrap();
    }
    assert_eq!(value(first), Some(Only(1)));
    assert_eq!(value(stream.get_while(|only| only.0 < 3)), [Only(2)]);
    assert_eq!(value(stream.nget(2)), [Only(3), Only(4)]);
    assert_eq!(stream.get_available_up_to(1).unwrap(), [Only(5)]);
    drop(pusher);
    assert_eq!(value(stream.map(|only| only.0).to_list()), [6]);
}

#[test]
fn the_last_reader_moves_an_element_and_the_others_clone() {
    struct Counted(Rc<Cell<u32>>);
    impl Clone for Counted {
        fn clone(&self) -> Counted {
            self.0.set(self.0.get() + 1);
            Counted(self.0.clone())
        }
    }
    let clones = Rc::new(Cell::new(0));
    let ours = of_list([Counted(clones.clone()), Counted(clones.clone())]);
    let theirs = ours.clone();
    drop(value(ours.nget(2)));
    assert_eq!(clones.get(), 2);
    drop(value(theirs.nget(2)));
    assert_eq!(clones.get(), 2, "nobody else can reach them any more");
}

/// What two waiting reads and one later read get, if this happens to the first before and after the push.
fn three_reads(before: impl Fn(&Promise<Option<u32>>), after: impl Fn(&Promise<Option<u32>>)) -> String {
    let (stream, pusher) = create();
    let (first, second) = (stream.get(), stream.get());
    before(&first);
    pusher.push(1).unwrap();
    after(&first);
    pusher.push(2).unwrap();
    let third = stream.get();
    pusher.close();
    let show = |read: Promise<Option<u32>>| match done(read) {
        Ok(element) => element.map_or("end".to_owned(), |n| n.to_string()),
        Err(error) => error.to_string(),
    };
    [first, second, third].map(show).join(" ")
}

#[test]
fn a_read_cancelled_at_any_moment_takes_nothing_it_does_not_hand_out() {
    assert_eq!(three_reads(|_| {}, |_| {}), "1 2 end");
    assert_eq!(three_reads(Promise::cancel, |_| {}), "canceled 1 2");
    assert_eq!(three_reads(|_| {}, Promise::cancel), "1 2 end");
}

#[test]
fn a_read_cancelled_between_the_wake_and_its_turn_takes_nothing() {
    // Inside a resolution the push wakes later: the cancel comes between.
    let (stream, pusher) = create();
    let read = stream.get().shared();
    let (gate, open) = pair::<()>();
    let in_callback = read.clone();
    gate.on_success(move |()| {
        pusher.push(1).unwrap();
        assert!(in_callback.is_pending());
        in_callback.cancel();
    });
    open.resolve(());
    assert!(error(read.promise()).is_canceled());
    assert_eq!(value(stream.get()), Some(1));
}

#[test]
fn a_read_in_line_that_is_cancelled_leaves_the_line() {
    let (stream, pusher) = create();
    let first = stream.get();
    let second = stream.get();
    let third = stream.get();
    second.cancel();
    assert!(error(second).is_canceled());
    pusher.push(1).unwrap();
    pusher.push(2).unwrap();
    assert_eq!((value(first), value(third)), (Some(1), Some(2)));
}

#[test]
fn cancelled_reads_leave_nothing_in_the_line() {
    let (stream, pusher) = create();
    let first = stream.get();
    let waiters = live_waiters();
    for _ in 0..1000 {
        stream.get().cancel();
    }
    assert_eq!(live_waiters(), waiters);
    pusher.push(1).unwrap();
    assert_eq!(value(first), Some(1));
    assert_eq!(live_waiters(), 0);
}

#[test]
fn a_read_of_many_gets_neighbours_and_the_next_read_what_follows() {
    let (stream, pusher) = create();
    let (three, one) = (stream.nget(3), stream.get());
    for n in 1..=4 {
        assert_eq!((three.is_pending(), one.is_pending()), (n <= 3, true));
        pusher.push(n).unwrap();
    }
    assert_eq!((value(three), value(one)), (vec![1, 2, 3], Some(4)));
}

#[test]
fn a_cancelled_read_of_many_puts_back_what_it_has() {
    for read in
        [Stream::to_list as fn(&Stream<u32>) -> Promise<Vec<u32>>, |s| s.nget(9), |s| s.get_while(|_| true)]
    {
        let (stream, pusher) = create();
        (1..=3).for_each(|n| pusher.push(n).unwrap());
        let many = read(&stream);
        let behind = stream.get();
        pusher.push(4).unwrap();
        many.cancel();
        assert!(error(many).is_canceled());
        assert_eq!(value(behind), Some(1));
        assert_eq!(stream.get_available().unwrap(), [2, 3, 4]);
    }
}

#[test]
fn what_is_put_back_counts_again() {
    let (stream, pusher) = create_bounded(2);
    let all = stream.to_list();
    for n in 1..=4 {
        value(pusher.push(n));
    }
    assert_eq!(pusher.count(), 0);
    all.cancel();
    assert_eq!(pusher.count(), 4);
    let blocked = pusher.push(5);
    assert_eq!(value(stream.nget(2)), [1, 2]);
    assert!(blocked.is_pending(), "still as many as it may hold");
    assert_eq!(value(stream.get()), Some(3));
    value(blocked);
}

#[test]
fn a_predicate_that_fails_leaves_all_in_the_stream() {
    let stream = of_list([1, 2, 3]);
    let failed = stream.get_while_s(|n| if *n < 3 { Ok(true) } else { Err(fail("three")) });
    assert_eq!(error(failed).to_string(), "three");
    assert_eq!(value(stream.to_list()), [1, 2, 3]);
}

#[test]
fn a_slow_predicate_holds_the_turn() {
    let stream = of_list([1, 2, 3]);
    let asked: Rc<RefCell<Vec<Resolver<bool>>>> = Rc::default();
    let made = asked.clone();
    let prefix = stream.get_while_s(move |_| {
        let (promise, resolver) = pair();
        made.borrow_mut().push(resolver);
        promise
    });
    let behind = stream.get();
    assert!(behind.is_pending());
    let answer = |yes| {
        let resolver = asked.borrow_mut().pop().expect("one is asked");
        resolver.resolve(yes);
    };
    answer(true);
    assert!(behind.is_pending());
    answer(false);
    assert_eq!((value(prefix), value(behind)), (vec![1], Some(2)));
}

#[test]
fn a_slow_predicate_that_is_cancelled_puts_back() {
    let stream = of_list([1, 2]);
    let prefix = stream.get_while_s(|n| if *n == 1 { ready(true) } else { pause().map(|()| true) });
    assert!(prefix.is_pending());
    prefix.cancel();
    assert!(error(prefix).is_canceled());
    assert_eq!(value(stream.to_list()), [1, 2]);
}

#[test]
fn junk_drops_elements() {
    let stream = of_list(1..=8);
    value(stream.junk());
    value(stream.njunk(2));
    value(stream.junk_while(|n| *n < 6));
    value(stream.junk_while_s(|n| ready(*n == 6)));
    assert_eq!(value(stream.to_list()), [7, 8]);
    value(stream.junk());
    value(stream.njunk(5));
    value(stream.njunk(0));
}

#[test]
fn reads_of_nothing_take_nothing_and_do_not_wait() {
    let (stream, _pusher) = create::<u32>();
    assert_eq!(value(stream.nget(0)), [0; 0]);
    assert_eq!(value(stream.npeek(0)), [0; 0]);
    assert_eq!(stream.get_available_up_to(0).unwrap(), [0; 0]);
}

#[test]
fn npeek_waits_for_what_is_not_there_yet() {
    let (stream, pusher) = create();
    pusher.push(1).unwrap();
    let two = stream.npeek(2);
    let nine = stream.clone().npeek(9);
    assert!(two.is_pending());
    pusher.push(2).unwrap();
    assert_eq!(value(two), [1, 2]);
    pusher.close();
    assert_eq!(value(nine), [1, 2]);
    assert_eq!(value(stream.to_list()), [1, 2]);
}

#[test]
fn is_empty_waits_until_it_is_known() {
    let (stream, pusher) = create();
    let empty = stream.is_empty();
    assert!(empty.is_pending());
    pusher.push(1).unwrap();
    assert!(!value(empty));
    pusher.close();
    value(stream.junk());
    assert!(value(stream.is_empty()));
}

#[test]
fn nothing_is_available_while_a_read_waits() {
    let (stream, pusher) = create();
    let waiting = stream.get();
    assert!(stream.get_available().unwrap().is_empty());
    stream.junk_available().unwrap();
    pusher.push(1).unwrap();
    assert_eq!(value(waiting), Some(1));
}

#[test]
fn what_is_available_stays_if_the_source_fails() {
    let mut calls = 0;
    let stream = from(move || {
        calls += 1;
        if calls == 3 { rejected(fail("third")) } else { ready((calls < 5).then_some(calls)) }
    });
    assert_eq!(stream.get_available().unwrap_err().to_string(), "third");
    assert_eq!(stream.get_available().unwrap(), [1, 2, 4]);
}

#[test]
fn last_new_keeps_the_newest_if_the_source_fails() {
    let mut calls = 0;
    let stream = from(move || {
        calls += 1;
        if calls == 3 { rejected(fail("third")) } else { ready((calls < 5).then_some(calls)) }
    });
    assert_eq!(error(stream.last_new()).to_string(), "third");
    assert_eq!(value(stream.get()), Some(2));
    assert_eq!(value(stream.last_new()), 4);
    assert_eq!(error(stream.last_new()).downcast_ref(), Some(&StreamError::Empty));
}

#[test]
fn last_new_waits_for_one_if_there_is_none() {
    let (stream, pusher) = create();
    let newest = stream.last_new();
    assert!(newest.is_pending());
    pusher.push(1).unwrap();
    assert_eq!(value(newest), 1);
}

#[test]
fn readers_of_a_pull_stream_share_one_call() {
    let calls = Rc::new(Cell::new(0));
    let (count, (promise, resolver)) = (calls.clone(), pair());
    let mut first = Some(promise);
    let ours = from(move || {
        count.set(count.get() + 1);
        first.take().unwrap_or_else(|| ready(None))
    });
    let theirs = ours.clone();
    let reads = both(ours.get(), theirs.get());
    assert_eq!(calls.get(), 1);
    resolver.resolve(Some(7));
    assert_eq!((value(reads), calls.get()), ((Some(7), Some(7)), 1));
}

#[test]
fn a_source_that_reads_its_own_stream_waits_for_itself_and_others_still_read() {
    // The function reads a clone of the stream that it feeds.
    let slot: Rc<RefCell<Option<Stream<u32>>>> = Rc::default();
    let (inside, seen) = (slot.clone(), Rc::new(RefCell::new(None)));
    let (kept, mut calls) = (seen.clone(), 0);
    let stream = from(move || {
        calls += 1;
        if calls == 1 {
            let clone = inside.borrow().as_ref().map(Stream::clone);
            kept.replace(clone.map(|clone| clone.get()));
        }
        ready((calls < 3).then_some(calls))
    });
    slot.replace(Some(stream.clone()));
    assert_eq!(value(stream.get()), Some(1));
    assert_eq!(value(seen.take().expect("it was called")), Some(1));
    assert_eq!(value(stream.to_list()), [2]);
    slot.take();
}

#[test]
fn a_read_started_by_a_predicate_of_the_same_reader_stands_in_line() {
    let stream = of_list([1, 2, 3]);
    let (inner, inside) = (Rc::new(RefCell::new(None)), stream.same_reader());
    let kept = inner.clone();
    let prefix = stream.get_while(move |n| {
        if *n == 1 {
            kept.replace(Some(inside.get()));
        }
        *n < 3
    });
    assert_eq!(value(prefix), [1, 2]);
    assert_eq!(value(inner.take().expect("it was started")), Some(3));
}

#[test]
fn a_panic_in_a_predicate_rejects_the_read_and_the_next_one_goes_on() {
    let stream = of_list([1, 2]);
    let prefix = stream.get_while(|n| if *n == 2 { panic!("two") } else { true });
    assert_eq!(error(prefix).panic_message(), Some("two"));
    assert_eq!(value(stream.to_list()), [1, 2]);
}

#[test]
fn a_clone_that_panics_rejects_one_read() {
    #[derive(Debug)]
    struct Fragile(u32);
    impl Clone for Fragile {
        fn clone(&self) -> Fragile {
            if self.0 == 1 { panic!("fragile") } else { Fragile(self.0) }
        }
    }
    let stream = of_list([Fragile(1), Fragile(2)]);
    let other = stream.clone();
    assert_eq!(error(stream.get()).panic_message(), Some("fragile"));
    assert_eq!(value(stream.get()).map(|fragile| fragile.0), Some(2));
    assert_eq!(value(other.get()).map(|fragile| fragile.0), Some(1));
}

#[test]
fn workers_on_one_reader_share_the_elements_out() {
    let (jobs, pusher) = create();
    let done: Rc<RefCell<Vec<(u32, u32)>>> = Rc::default();
    for worker in 0..3 {
        let (jobs, done) = (jobs.same_reader(), done.clone());
        spawn(async move {
            while let Ok(Some(job)) = jobs.get().await {
                done.borrow_mut().push((worker, job));
                let _ = pause().await;
            }
        })
        .detach();
    }
    for job in 0..9 {
        pusher.push(job).unwrap();
    }
    drop(pusher);
    run();
    let done = done.take();
    let mut jobs: Vec<_> = done.iter().map(|(_, job)| *job).collect();
    jobs.sort_unstable();
    assert_eq!(jobs, (0..9).collect::<Vec<_>>());
    assert!((0..3).all(|worker| done.iter().any(|(name, _)| *name == worker)));
}

#[test]
fn a_cancelled_task_takes_no_element() {
    let (stream, pusher) = create();
    let handle = stream.same_reader();
    let task = spawn(async move { handle.get().await.is_err() });
    task.cancel();
    run();
    assert!(value(task));
    pusher.push(1).unwrap();
    assert_eq!(value(stream.get()), Some(1));
}

#[test]
fn a_read_outlives_its_stream() {
    let (stream, pusher) = create();
    let read = stream.get();
    drop(stream);
    pusher.push(1).unwrap();
    assert_eq!(value(read), Some(1));
    assert!(pusher.push(2).is_err());
}

#[test]
fn texts() {
    assert_eq!(value(of_list("text".chars()).to_text()), "text");
    assert_eq!(value(stream::of_value('x').to_text()), "x");
}

//! `Pool`: whoever waits is served, the limit is kept, and no element is lost, whatever fails, panics or is
//! cancelled.

mod rig;
use lisle_core::sync::{Pool, Pooled};
use lisle_core::{Error, Promise, Resolver, cancelable, live_waiters, pair, pause, ready, rejected, spawn};
use rig::*;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

/// A pool's outer world: how many elements exist, and how many there were at most.
#[derive(Clone, Default)]
struct World(Rc<(Cell<u32>, Cell<u32>, Cell<u32>)>);

impl World {
    fn make(&self) -> Element {
        let (alive, most, made) = &*self.0;
        alive.set(alive.get() + 1);
        most.set(most.get().max(alive.get()));
        made.set(made.get() + 1);
        Element { number: made.get(), world: self.clone() }
    }

    fn alive(&self) -> u32 {
        self.0.0.get()
    }

    fn most(&self) -> u32 {
        self.0.1.get()
    }

    fn pool(&self, max: usize) -> Pool<Element> {
        let world = self.clone();
        Pool::new(max, move || ready(world.make()))
    }
}

struct Element {
    number: u32,
    world: World,
}

impl Drop for Element {
    fn drop(&mut self) {
        let alive = &self.world.0.0;
        alive.set(alive.get() - 1);
    }
}

type Step = Rc<RefCell<VecDeque<Resolver<()>>>>;

/// A promise whose end the test decides, in order of the calls.
fn step(steps: &Step) -> Promise<()> {
    let (promise, resolver) = cancelable();
    steps.borrow_mut().push_back(resolver);
    promise
}

fn next(steps: &Step) -> Resolver<()> {
    steps.borrow_mut().pop_front().expect("a step was begun")
}

fn number(element: Pooled<Element>) -> Promise<u32> {
    ready(element.number)
}

#[test]
fn a_failed_factory_leaves_its_slot_to_who_waits() {
    let (steps, world) = (Step::default(), World::default());
    let (begun, made) = (steps.clone(), world.clone());
    let pool = Pool::new(1, move || {
        let made = made.clone();
        step(&begun).map(move |()| made.make())
    });
    let (first, second, third) = (pool.use_with(number), pool.use_with(number), pool.use_with(number));
    next(&steps).reject(fail("down"));
    assert_eq!(error(first).to_string(), "down");
    next(&steps).reject(fail("still down"));
    assert_eq!(error(second).to_string(), "still down");
    next(&steps).resolve(());
    assert_eq!(value(third), 1);
    assert_eq!((pool.count(), pool.wait_queue_length()), (1, 0));
}

#[test]
fn an_element_cleared_in_use_is_replaced_for_who_waits() {
    let world = World::default();
    let pool = world.pool(1);
    let (lasts, end) = pair::<()>();
    let first = pool.use_with(|_element| lasts);
    let second = pool.use_with(number);
    value(pool.clear());
    assert!(second.is_pending());
    end.resolve(());
    value(first);
    assert_eq!(value(second), 2);
    assert_eq!((world.alive(), world.most()), (1, 1));
}

#[test]
fn a_factory_that_uses_its_own_pool_and_fails_is_called_once_a_lap() {
    let own: Rc<RefCell<Option<Pool<u32>>>> = Rc::default();
    let (inside, calls) = (own.clone(), Rc::new(Cell::new(0)));
    let counted = calls.clone();
    let pool = Pool::new(1, move || {
        counted.set(counted.get() + 1);
        let pool = inside.borrow().clone();
        if let Some(pool) = pool {
            pool.use_with(|_| ready(())).detach_with(|_| {});
        }
        Err(fail("factory"))
    });
    *own.borrow_mut() = Some(pool.clone());
    assert_eq!(error(pool.use_with(|_| ready(()))).to_string(), "factory");
    for laps in 0..3 {
        assert_eq!(calls.get(), 2 + laps);
        lap();
    }
    own.take();
    run();
    assert_eq!((pool.count(), pool.wait_queue_length()), (0, 0));
}

#[test]
fn who_comes_while_others_wait_for_a_slot_does_not_overtake_them() {
    let (steps, world) = (Step::default(), World::default());
    let (begun, made) = (steps.clone(), world.clone());
    let pool = Pool::new(1, move || {
        let made = made.clone();
        step(&begun).map(move |()| made.make())
    });
    let first = pool.use_with(number);
    let second = pool.use_with(number);
    next(&steps).reject(fail("first"));
    error(first);
    next(&steps).reject(fail("second"));
    error(second);
    // This lap's round is over: who comes now and finds a slot is served at once, in order.
    let third = pool.use_with(number);
    let fourth = pool.use_with(number);
    next(&steps).reject(fail("third"));
    error(third);
    assert!(steps.borrow().is_empty() && fourth.is_pending());
    let fifth = pool.use_with(number);
    assert!(fifth.is_pending() && steps.borrow().is_empty(), "no element is made for the later one");
    lap();
    next(&steps).resolve(());
    assert_eq!((value(fourth), value(fifth)), (1, 1));
    run();
    assert_eq!(lisle_core::sched::pause::paused_count(), 0);
}

#[test]
fn panics_are_errors_and_cost_no_slot() {
    let seen = failures();
    let fails = Rc::new(Cell::new(""));
    let place = |name: &'static str| {
        let fails = fails.clone();
        move || assert!(fails.get() != name, "{name}")
    };
    let (factory, validate, check, dispose) =
        (place("factory"), place("validate"), place("check"), place("dispose"));
    let pool = Pool::builder(1, move || {
        factory();
        Ok::<u32, Error>(0)
    })
    .validate(move |_element| {
        validate();
        Ok::<_, Error>(true)
    })
    .check(move |_| {
        check();
        false
    })
    .dispose(move |_| {
        dispose();
        ready(())
    })
    .build();
    let panicked = |promise: Promise<()>| error(promise).panic_message().map(str::to_owned);
    fails.set("factory");
    assert_eq!(panicked(pool.use_with(|_| ready(()))).as_deref(), Some("factory"));
    fails.set("");
    value(pool.use_with(|_| ready(())));
    fails.set("validate");
    assert_eq!(panicked(pool.use_with(|_| ready(()))).as_deref(), Some("validate"));
    assert_eq!(pool.count(), 0);
    fails.set("check");
    let body = pool.use_with(|_| -> Promise<()> { panic!("body") });
    assert_eq!(panicked(body).as_deref(), Some("body"));
    assert_eq!(seen.borrow().iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>(), ["panicked: check"]);
    assert_eq!(pool.count(), 0);
    fails.set("dispose");
    assert_eq!(panicked(pool.use_with(|_| rejected(fail("body")))).as_deref(), Some("dispose"));
    assert_eq!(pool.count(), 0);
    fails.set("");
    value(pool.use_with(|_| ready(())));
}

#[test]
fn a_use_may_be_cancelled_at_each_moment() {
    let (steps, world) = (Step::default(), World::default());
    let (begun, made) = (steps.clone(), world.clone());
    let factory = move || {
        let made = made.clone();
        step(&begun).map(move |()| made.make())
    };
    let judged = steps.clone();
    let pool = Pool::builder(1, factory).validate(move |_element| step(&judged).map(|()| true)).build();

    let making = pool.use_with(number);
    making.cancel();
    assert!(error(making).is_canceled());
    assert_eq!(pool.count(), 0);
    steps.take();

    let working = pool.use_with(|_element| cancelable::<()>().0);
    next(&steps).resolve(());
    assert!(error(working).is_abandoned(), "its resolver was dropped");
    let (work, _never) = cancelable::<()>();
    let working = pool.use_with(|_element| work);
    next(&steps).resolve(());
    let waiting = pool.use_with(number);
    waiting.cancel();
    assert!(error(waiting).is_canceled());
    assert_eq!(pool.wait_queue_length(), 0);
    working.cancel();
    assert!(error(working).is_canceled());
    assert_eq!((pool.count(), world.alive()), (1, 1), "kept");

    let validating = pool.use_with(number);
    let next_user = pool.use_with(number);
    validating.cancel();
    assert!(error(validating).is_canceled());
    assert_eq!(world.alive(), 0, "an element that was not judged is not kept");
    steps.borrow_mut().pop_front();
    next(&steps).resolve(());
    next(&steps).resolve(());
    assert_eq!(value(next_user), 2);
    assert_eq!((world.alive(), world.most()), (1, 1));
}

#[test]
fn an_element_made_for_one_who_was_cancelled_goes_to_the_next() {
    let (steps, world) = (Step::default(), World::default());
    let (begun, made) = (steps.clone(), world.clone());
    let pool = Pool::new(1, move || {
        let made = made.clone();
        step(&begun).map(move |()| made.make())
    });
    let (first, second, third) = (pool.use_with(number), pool.use_with(number), pool.use_with(number));
    next(&steps).reject(fail("down"));
    error(first);
    second.cancel();
    assert!(error(second).is_canceled());
    assert!(third.is_pending());
    next(&steps).resolve(());
    assert_eq!(value(third), 1);
}

#[test]
fn a_body_may_keep_its_element_beyond_its_promise() {
    let world = World::default();
    let pool = world.pool(1);
    let kept = value(pool.use_with(ready));
    let second = pool.use_with(number);
    assert!(second.is_pending());
    drop(kept);
    assert_eq!(value(second), 1);

    let kept = Rc::new(RefCell::new(None));
    let slot = kept.clone();
    let failed: Promise<()> = pool.use_with(move |element| {
        *slot.borrow_mut() = Some(element);
        rejected(fail("body"))
    });
    assert_eq!(error(failed).to_string(), "body");
    value(pool.clear());
    let third = pool.use_with(number);
    assert!(third.is_pending());
    drop(kept.take());
    assert_eq!(value(third), 2);
    assert_eq!(world.most(), 1);
}

#[test]
fn a_validation_may_keep_its_element_beyond_its_promise() {
    let (world, kept) = (World::default(), Rc::new(RefCell::new(None)));
    let (made, slot) = (world.clone(), kept.clone());
    let pool = Pool::builder(1, move || ready(made.make()))
        .validate(move |element| {
            *slot.borrow_mut() = Some(element);
            Ok::<_, Error>(true)
        })
        .build();
    assert_eq!(value(pool.use_with(number)), 1);
    let second = pool.use_with(number);
    assert!(second.is_pending());
    drop(kept.take());
    assert_eq!(value(second), 1);
}

#[test]
fn a_discarded_element_is_disposed_of() {
    let (world, trace) = (World::default(), Trace::new());
    let (made, told) = (world.clone(), trace.clone());
    let pool = Pool::builder(1, move || ready(made.make()))
        .dispose(move |element| {
            told.add(element.number);
            ready(())
        })
        .build();
    Pooled::discard(value(pool.acquire()));
    assert_eq!((trace.take().as_str(), pool.count()), ("1", 0));
    value(pool.use_with(|element| {
        Pooled::discard(element);
        ready(())
    }));
    assert_eq!((trace.take().as_str(), pool.count()), ("2", 0));
    assert_eq!(value(pool.use_with(number)), 3);
    drop(pool);
    assert_eq!((trace.take().as_str(), world.alive()), ("3", 0), "the last handle disposes of idle elements");
}

#[test]
fn clear_disposes_of_all_one_after_the_other_and_tells_the_first_error() {
    let (steps, world, seen) = (Step::default(), World::default(), failures());
    let (begun, made) = (steps.clone(), world.clone());
    let pool = Pool::builder(3, move || ready(made.make())).dispose(move |_element| step(&begun)).build();
    let elements: Vec<_> = (0..3).map(|_| value(pool.acquire())).collect();
    drop(elements);
    let cleared = pool.clear();
    for word in ["first", "second"] {
        assert_eq!(steps.borrow().len(), 1);
        next(&steps).reject(fail(word));
    }
    assert_eq!(pool.count(), 1);
    next(&steps).resolve(());
    assert_eq!(error(cleared).to_string(), "first");
    assert_eq!(seen.borrow()[0].1, "second");
    assert_eq!(pool.count(), 0);
}

#[test]
fn a_slot_is_taken_until_its_element_is_disposed_of() {
    let (steps, world) = (Step::default(), World::default());
    let (begun, made) = (steps.clone(), world.clone());
    let pool = Pool::builder(1, move || ready(made.make()))
        .dispose(move |element| step(&begun).map(move |()| drop(element)))
        .build();
    Pooled::discard(value(pool.acquire()));
    let second = pool.use_with(number);
    assert!(second.is_pending());
    next(&steps).reject(fail("dispose"));
    assert_eq!(value(second), 2, "also if disposing fails");
    assert_eq!((world.most(), world.alive()), (1, 1));
}

#[test]
fn handles_may_go_while_elements_are_lent_and_waited_for() {
    let world = World::default();
    let pool = world.pool(1);
    let element = value(pool.acquire());
    let second = pool.use_with(number);
    drop(pool);
    drop(element);
    assert_eq!(value(second), 1);
    assert_eq!(world.alive(), 0);
}

#[test]
#[should_panic(expected = "could serve nobody")]
fn a_pool_of_nothing_is_refused() {
    let _pool: Pool<u32> = Pool::new(0, || ready(0));
}

#[test]
fn a_million_users_need_no_stack_and_keep_their_order() {
    const USERS: u32 = 300_000;
    with_small_stack(|| {
        for is_discarding in [false, true] {
            let pool = Pool::new(1, || ready(0));
            let held = value(pool.acquire());
            let served = Rc::new(Cell::new(0));
            for user in 0..USERS {
                let served = served.clone();
                let body = move |element| {
                    assert_eq!(served.replace(user + 1), user);
                    if is_discarding {
                        Pooled::<i32>::discard(element);
                    }
                    ready(())
                };
                pool.use_with(body).detach();
            }
            drop(held);
            run();
            assert_eq!(served.get(), USERS);
            assert_eq!(pool.wait_queue_length(), 0);
        }
        assert_eq!(live_waiters(), 0);
    });
}

#[test]
fn the_limit_is_kept_and_everybody_is_served_whatever_happens() {
    const MAX: u32 = 3;
    let mut random = 3_u64;
    let mut below = move |limit: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % limit
    };
    let (world, dice) = (World::default(), Rc::new(Cell::new(0)));
    let (made, luck) = (world.clone(), dice.clone());
    let factory = move || -> Promise<Element> {
        match luck.get() % 4 {
            0 => rejected(fail("factory")),
            1 => {
                let made = made.clone();
                pause().map(move |()| made.make())
            }
            _ => ready(made.make()),
        }
    };
    let (valid, good) = (dice.clone(), dice.clone());
    let pool = Pool::builder(MAX as usize, factory)
        .validate(move |_element| -> Promise<bool> {
            match valid.get() % 5 {
                0 => ready(false),
                1 => rejected(fail("validation")),
                2 => pause().map(|()| true),
                _ => ready(true),
            }
        })
        .check(move |_| u64::is_multiple_of(good.get(), 2))
        .dispose(|element| pause().map(move |()| drop(element)))
        .build();
    let mut uses: Vec<Promise<()>> = Vec::new();
    for _ in 0..50_000 {
        dice.set(below(1 << 20));
        match below(8) {
            0 | 1 => uses.push(pool.use_with(|_element| pause())),
            2 => uses.push(pool.use_with(|element| {
                drop(element);
                pause().bind(|()| Err(fail("body")))
            })),
            3 => uses.push(pool.acquire().bind(|element| pause().map(move |()| Pooled::discard(element)))),
            4 if !uses.is_empty() => uses.swap_remove(below(uses.len() as u64) as usize).cancel(),
            5 if below(10) == 0 => pool.clear().detach(),
            _ => lap(),
        }
        assert!(world.alive() <= MAX && pool.count() <= MAX as usize);
    }
    dice.set(3);
    run();
    uses.into_iter().for_each(|ended| drop(done(ended)));
    assert_eq!(pool.wait_queue_length(), 0);
    assert_eq!(pool.count(), world.alive() as usize, "each slot has its element");
    assert!(world.most() == MAX);
}

#[test]
fn tasks_share_elements() {
    let world = World::default();
    let pool = world.pool(2);
    let tasks: Vec<_> = (0..10)
        .map(|_| {
            let pool = pool.clone();
            spawn(async move {
                let element = pool.acquire().await?;
                pause().await?;
                Ok::<_, Error>(element.number)
            })
        })
        .collect();
    run();
    let numbers: Vec<u32> = tasks.into_iter().map(|task| value(task).expect("no error")).collect();
    assert_eq!((numbers.len(), world.most()), (10, 2));
}

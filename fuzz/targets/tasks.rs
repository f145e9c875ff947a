//! Tasks, wakers, sleeps and pauses, in any order that bytes say: tasks that wait, spawn, panic, cancel and
//! keep wakers; between their turns handles are cancelled and dropped, wakers of the living and the dead are
//! woken, the clock goes on, the runtime is reset.
//!
//! Checked: no sleep ends early, each task's state is dropped exactly once, and after a last reset nothing is
//! left: no task, sleep, pause or waiter. The sanitizer sees the rest.

#![no_main]

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::panic::resume_unwind;
use std::rc::Rc;
use std::task::{Poll, Waker};

use libfuzzer_sys::fuzz_target;
use lisle_core::sched::sleep::{advance, sleep_count, sleep_until};
use lisle_core::sched::tasks::{run_ready, task_count};
use lisle_core::sched::{pause::paused_count, pause::wake_paused, reset};
use lisle_core::{
    Promise, Resolver, Shared, cancelable, hook, live_waiters, pair, pause, pick, spawn, spawn_queued,
    yield_now,
};

/// Tasks of one program: a task may spawn, and bytes may be many.
const TASKS_MAX: usize = 200;

#[derive(Default)]
struct Shelves {
    bytes: RefCell<Vec<u8>>,
    handles: RefCell<Vec<Promise<()>>>,
    shared: RefCell<Vec<Shared<u8>>>,
    resolvers: RefCell<Vec<Resolver<u8>>>,
    wakers: RefCell<Vec<Waker>>,
    now: Cell<u64>,
    started: Cell<usize>,
    alive: Cell<isize>,
}

/// Counts the states of tasks.
struct Alive(World);

impl Drop for Alive {
    fn drop(&mut self) {
        let alive = &self.0.0.alive;
        alive.set(alive.get() - 1);
    }
}

#[derive(Clone)]
struct World(Rc<Shelves>);

/// Takes an element that a byte names; what is taken is dropped or used with nothing borrowed.
fn take<T>(shelf: &RefCell<Vec<T>>, number: u8) -> Option<T> {
    let mut shelf = shelf.borrow_mut();
    let index = usize::from(number).checked_rem(shelf.len())?;
    Some(shelf.swap_remove(index))
}

impl World {
    fn next(&self) -> Option<u8> {
        self.0.bytes.borrow_mut().pop()
    }

    fn number(&self) -> u8 {
        self.next().unwrap_or(0)
    }

    fn make_pair(&self) {
        let (promise, resolver) = if self.number() % 2 == 0 { pair() } else { cancelable() };
        self.0.shared.borrow_mut().push(promise.shared());
        self.0.resolvers.borrow_mut().push(resolver);
    }

    fn any_shared(&self) -> Option<Shared<u8>> {
        let shared = self.0.shared.borrow();
        let index = usize::from(self.number()).checked_rem(shared.len())?;
        Some(shared[index].clone())
    }

    fn start(&self) -> Option<Promise<()>> {
        if self.0.started.get() == TASKS_MAX {
            return None;
        }
        self.0.started.set(self.0.started.get() + 1);
        self.0.alive.set(self.0.alive.get() + 1);
        let (alive, world) = (Alive(self.clone()), self.clone());
        let body = async move {
            let _alive = alive;
            world.live().await;
        };
        Some(if self.number() % 4 == 0 { spawn_queued(body) } else { spawn(body) })
    }

    fn keep(&self, handle: Option<Promise<()>>) {
        self.0.handles.borrow_mut().extend(handle);
    }

    /// What a task does: one step after the other, until a byte says stop.
    async fn live(&self) {
        while let Some(byte) = self.next() {
            match byte % 16 {
                0..3 => return,
                3 | 4 => drop(yield_now().await),
                5 => drop(pause().await),
                6 | 7 => {
                    let deadline = self.0.now.get() + u64::from(self.number());
                    if sleep_until(deadline).await.is_ok() {
                        assert!(self.0.now.get() >= deadline, "early");
                    }
                }
                8 => {
                    if let Some(shared) = self.any_shared() {
                        drop(shared.promise().await);
                    }
                }
                9 => {
                    // Boxed by `start`: a future that holds itself has no size.
                    if let Some(child) = self.start() {
                        drop(child.await);
                    }
                }
                10 => self.keep(self.start()),
                11 => {
                    let limit = sleep_until(self.0.now.get() + u64::from(self.number()));
                    let limited = self.any_shared().map(|shared| pick([shared.map(drop), limit]));
                    if let Some(limited) = limited {
                        drop(limited.await);
                    }
                }
                // Keeps its waker, and is woken once if anybody does.
                12 => {
                    let mut asked = false;
                    poll_fn(|context| {
                        self.0.wakers.borrow_mut().push(context.waker().clone());
                        if std::mem::replace(&mut asked, true) { Poll::Ready(()) } else { Poll::Pending }
                    })
                    .await;
                }
                // A panic without the hook, which would end the fuzzer.
                13 => resume_unwind(Box::new("thrown by a task")),
                _ => self.act(byte / 16),
            }
        }
    }

    /// What may be done from anywhere, also from inside a task.
    fn act(&self, kind: u8) {
        match kind % 10 {
            0 => self.make_pair(),
            1 => drop(take(&self.0.handles, self.number())),
            2 => {
                // Out of the shelf while it is cancelled: callbacks use the shelf.
                let handle = take(&self.0.handles, self.number());
                handle.iter().for_each(Promise::cancel);
                self.keep(handle);
            }
            3 => {
                if let Some(resolver) = take(&self.0.resolvers, self.number()) {
                    resolver.resolve(1);
                }
            }
            4 => drop(take(&self.0.resolvers, self.number())),
            5 => {
                if let Some(waker) = take(&self.0.wakers, self.number()) {
                    waker.wake();
                }
            }
            6 => drop(take(&self.0.shared, self.number())),
            7 => {
                if let Some(shared) = self.any_shared() {
                    shared.cancel();
                }
            }
            8 => {
                if let (Some(shared), Some(handle)) =
                    (self.any_shared(), take(&self.0.handles, self.number()))
                {
                    self.keep(Some(shared.bind(move |_| handle)));
                }
            }
            _ => self.keep(self.start()),
        }
    }

    fn lap(&self, kind: u8) {
        match kind {
            0 => drop(run_ready()),
            1 => wake_paused(),
            2 => {
                self.0.now.set(self.0.now.get() + u64::from(self.number()));
                advance(self.0.now.get());
            }
            _ => reset(),
        }
    }
}

fuzz_target!(|bytes: &[u8]| {
    hook::set(|_| {});
    let world = World(Rc::new(Shelves::default()));
    // The clock of the thread goes on; every program starts where the last one ended.
    thread_local!(static CLOCK: Cell<u64> = const { Cell::new(0) });
    world.0.now.set(CLOCK.get());
    world.0.bytes.replace(bytes.iter().rev().copied().collect());
    while let Some(byte) = world.next() {
        match byte % 8 {
            kind @ 0..3 => world.lap(kind),
            3 if byte == 251 => world.lap(3),
            _ => world.act(byte / 8),
        }
    }
    drop(world.0.handles.take());
    drop(world.0.resolvers.take());
    drop(world.0.shared.take());
    reset();
    drop(world.0.wakers.take());
    assert_eq!((task_count(), sleep_count(), paused_count()), (0, 0, 0));
    assert_eq!(world.0.alive.get(), 0, "states of tasks that were not dropped once");
    assert_eq!(live_waiters(), 0);
    CLOCK.set(world.0.now.get());
    hook::reset();
});

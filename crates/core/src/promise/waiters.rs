//! Who is told when a promise is settled, and the lists that hold them.
//!
//! A [`Waiter`] is only *told*; it then takes the result from the promise it holds. So waiters have no type
//! parameter, one queue serves promises of all types, and a value is moved to its one consumer instead of
//! being passed through callbacks.
//!
//! Lists live in one slab per thread, doubly linked by index around a sentinel:
//!
//! ```text
//!   WaiterList ─► sentinel ⇄ newest ⇄ … ⇄ oldest ⇄ (sentinel)      0 = no list yet
//! ```
//!
//! A [`Key`] (index and generation) unlinks its entry in O(1) whoever owns the list by then: the promise,
//! another promise it was merged into, or the queue of deferred callbacks. Joining two lists is O(1). Slots
//! are reused. Newest first is Lwt's order. Not here: when waiters run (`sched`).

use super::batch::Batch;
use crate::sched::TaskId;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::rc::Rc;
use std::task::Waker;

/// Someone to be told, once, that a promise or a [`crate::source::Source`] token is settled.
pub struct Waiter(pub(crate) Told);

pub(crate) enum Told {
    /// A node of the promise graph, about its first input.
    Node(Rc<dyn Node>),
    /// A task of this thread.
    Task(TaskId),
}

// Two words travel in registers. Three, with the number of the input, went through memory and stalled
// there: a pause beside 999 others cost 5 ns more (45 → 40).
const _: () = assert!(size_of::<Waiter>() == 2 * size_of::<usize>());

/// A node of the promise graph that waits for others.
pub(crate) trait Node {
    /// Input number `index` is settled. Returns the waiters that must run next, in tail position.
    fn run(self: Rc<Self>, index: u32) -> Option<Batch>;
}

impl Default for Waiter {
    fn default() -> Waiter {
        Waiter::NOBODY
    }
}

impl Waiter {
    /// Told of nothing: what stands in a place for a waiter that is empty. `Option` would cost a third word.
    pub(crate) const NOBODY: Waiter = Waiter(Told::Task(TaskId::NOBODY));

    #[inline]
    pub(crate) fn is_nobody(&self) -> bool {
        matches!(&self.0, Told::Task(id) if *id == TaskId::NOBODY)
    }

    /// Empties the place.
    #[inline]
    pub(crate) fn take(&mut self) -> Option<Waiter> {
        if self.is_nobody() { None } else { Some(std::mem::take(self)) }
    }

    /// A waiter for one of a node's inputs. All but the first need a small allocation for their number.
    #[inline(always)]
    pub(crate) fn node(node: Rc<dyn Node>, index: u32) -> Waiter {
        match index {
            0 => Waiter(Told::Node(node)),
            _ => Waiter(Told::Node(Rc::new(Input { node, index }))),
        }
    }

    /// A waiter for another executor's task.
    pub(crate) fn foreign(waker: Waker) -> Waiter {
        Waiter(Told::Node(Rc::new(Foreign(Cell::new(Some(waker))))))
    }

    /// Tells the waiter, with the immediate flavour: nodes run their callbacks before this returns, tasks are
    /// queued.
    pub fn wake(self) {
        match self.0 {
            Told::Task(id) => crate::sched::tasks::wake(id),
            Told::Node(_) => crate::sched::run_waiter(self),
        }
    }

    /// As [`Waiter::wake`], for a caller that catches what a destructor or a foreign waker throws.
    #[inline(always)]
    pub(crate) fn wake_uncaught(self) {
        match self.0 {
            Told::Task(id) => crate::sched::tasks::wake(id),
            Told::Node(_) => crate::sched::run_waiter_uncaught(self),
        }
    }

    /// Tells the waiter and returns what must run next, so that chains need no stack.
    #[inline(always)]
    pub(crate) fn step(self) -> Option<Batch> {
        match self.0 {
            Told::Node(node) => node.run(0),
            Told::Task(id) => {
                crate::sched::tasks::wake(id);
                None
            }
        }
    }
}

/// Says which of a node's inputs is meant.
struct Input {
    node: Rc<dyn Node>,
    index: u32,
}

impl Node for Input {
    fn run(self: Rc<Self>, _index: u32) -> Option<Batch> {
        self.node.clone().run(self.index)
    }
}

/// The task of another executor. Foreign code: it may panic, and whoever runs waiters bears that.
struct Foreign(Cell<Option<Waker>>);

impl Node for Foreign {
    fn run(self: Rc<Self>, _index: u32) -> Option<Batch> {
        if let Some(waker) = self.0.take() {
            waker.wake();
        }
        None
    }
}

impl fmt::Debug for Waiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Told::Node(_) => f.write_str("Waiter::Node"),
            Told::Task(id) => write!(f, "Waiter::Task({id:?})"),
        }
    }
}

/// Names one entry of one list, as long as it is in some list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key {
    index: u32,
    generation: u32,
}

impl Key {
    /// Neither 0 (index 0 is never handed out) nor, with under 2^32 - 1 slots, the highest word.
    pub(crate) fn to_word(self) -> u64 {
        u64::from(self.index) << 32 | u64::from(self.generation)
    }

    pub(crate) fn of_word(word: u64) -> Key {
        Key { index: (word >> 32) as u32, generation: word as u32 }
    }
}

/// An owned list of waiters. Dropping it drops the waiters.
#[derive(Debug, Default)]
pub(crate) struct WaiterList(u32);

struct Entry {
    waiter: Option<Waiter>,
    newer: u32,
    older: u32,
    generation: u32,
}

struct Slab {
    entries: Vec<Entry>,
    /// Head of the free slots, linked through `older`; 0 = none.
    free: u32,
    live: usize,
}

thread_local! {
    static SLAB: RefCell<Slab> = const { RefCell::new(Slab { entries: Vec::new(), free: 0, live: 0 }) };
}

impl Slab {
    fn take_slot(&mut self, waiter: Option<Waiter>) -> u32 {
        if self.entries.is_empty() {
            // Index 0 means "no list", so it is never handed out.
            self.entries.push(Entry { waiter: None, newer: 0, older: 0, generation: 0 });
        }
        self.live += 1;
        if self.free != 0 {
            let index = self.free;
            let entry = &mut self.entries[index as usize];
            self.free = entry.older;
            entry.waiter = waiter;
            return index;
        }
        let index = u32::try_from(self.entries.len()).expect("over 4 billion waiters on one thread");
        self.entries.push(Entry { waiter, newer: 0, older: 0, generation: 0 });
        index
    }

    fn link_between(&mut self, newer: u32, older: u32, index: u32) {
        self.entries[newer as usize].older = index;
        self.entries[older as usize].newer = index;
        let entry = &mut self.entries[index as usize];
        entry.newer = newer;
        entry.older = older;
    }

    /// Takes the slot out of its ring and frees it.
    fn unlink(&mut self, index: u32) -> Option<Waiter> {
        let Entry { newer, older, .. } = self.entries[index as usize];
        // The ring first: a sentinel alone is its own neighbour.
        self.entries[newer as usize].older = older;
        self.entries[older as usize].newer = newer;
        let entry = &mut self.entries[index as usize];
        let waiter = entry.waiter.take();
        entry.generation = entry.generation.wrapping_add(1);
        entry.older = self.free;
        self.free = index;
        self.live -= 1;
        waiter
    }
}

impl WaiterList {
    pub(crate) const fn new() -> WaiterList {
        WaiterList(0)
    }

    /// Whether nothing was ever pushed, or all was popped; a list emptied by removals may say no.
    pub(crate) fn is_unused(&self) -> bool {
        self.0 == 0
    }

    /// Whether nobody is in it.
    pub(crate) fn is_empty(&self) -> bool {
        let is_sentinel_alone = |slab: &RefCell<Slab>| slab.borrow().entries[self.0 as usize].older == self.0;
        self.0 == 0 || SLAB.try_with(is_sentinel_alone).unwrap_or(true)
    }

    /// Adds the newest waiter.
    pub(crate) fn push(&mut self, waiter: Waiter) -> Key {
        let pushed = SLAB.try_with(|slab| {
            let slab = &mut *slab.borrow_mut();
            if self.0 == 0 {
                let sentinel = slab.take_slot(None);
                slab.link_between(sentinel, sentinel, sentinel);
                self.0 = sentinel;
            }
            let index = slab.take_slot(Some(waiter));
            let newest = slab.entries[self.0 as usize].older;
            slab.link_between(self.0, newest, index);
            Key { index, generation: slab.entries[index as usize].generation }
        });
        // At the thread's end the slab is gone, and nobody is told any more.
        pushed.unwrap_or(Key { index: 0, generation: 0 })
    }

    /// Takes the newest waiter.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Waiter> {
        if self.0 == 0 { None } else { self.pop_listed() }
    }

    #[inline(never)]
    fn pop_listed(&mut self) -> Option<Waiter> {
        let popped = SLAB.try_with(|slab| {
            let slab = &mut *slab.borrow_mut();
            let newest = slab.entries[self.0 as usize].older;
            if newest == self.0 {
                slab.unlink(self.0);
                self.0 = 0;
                return None;
            }
            slab.unlink(newest)
        });
        popped.unwrap_or_else(|_| {
            self.0 = 0;
            None
        })
    }

    /// Puts a list of older waiters behind these.
    #[inline]
    pub(crate) fn append(&mut self, older: WaiterList) {
        if older.0 != 0 {
            self.append_listed(older);
        }
    }

    #[inline(never)]
    fn append_listed(&mut self, mut older: WaiterList) {
        if self.0 == 0 {
            std::mem::swap(self, &mut older);
            return;
        }
        // At the thread's end the slab is gone, and the waiters with it.
        let _ = SLAB.try_with(|slab| {
            let slab = &mut *slab.borrow_mut();
            let (first, last) = {
                let sentinel = &slab.entries[older.0 as usize];
                (sentinel.older, sentinel.newer)
            };
            if first != older.0 {
                let oldest = slab.entries[self.0 as usize].newer;
                slab.entries[oldest as usize].older = first;
                slab.entries[first as usize].newer = oldest;
                slab.entries[last as usize].older = self.0;
                slab.entries[self.0 as usize].newer = last;
                slab.link_between(older.0, older.0, older.0);
            }
        });
    }
}

impl Drop for WaiterList {
    #[inline]
    fn drop(&mut self) {
        if self.0 != 0 {
            self.drop_listed();
        }
    }
}

impl WaiterList {
    #[inline(never)]
    fn drop_listed(&mut self) {
        // Each waiter is dropped with the slab unborrowed: its destructor may come back here. At the thread's
        // end the slab may be gone, and the waiters with it.
        while self.0 != 0 && SLAB.try_with(|_| ()).is_ok() {
            let waiter = self.pop();
            super::run_callback(move || drop(waiter));
        }
    }
}

/// Unlinks one entry, wherever its list is by now; nothing if it has run or was removed.
pub(crate) fn remove(key: Key) -> Option<Waiter> {
    SLAB.try_with(|slab| {
        let slab = &mut *slab.borrow_mut();
        let entry = slab.entries.get(key.index as usize)?;
        (entry.generation == key.generation).then(|| slab.unlink(key.index)).flatten()
    })
    .ok()
    .flatten()
}

/// Slots in use on this thread: entries and list heads. For tests of memory.
#[must_use]
pub fn live_waiters() -> usize {
    SLAB.with_borrow(|slab| slab.live)
}

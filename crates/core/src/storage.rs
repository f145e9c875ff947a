//! Values that follow a sequence of callbacks: Lwt's sequence-associated storage.
//!
//! One *current* map from keys to values. A callback that must wait takes the map along when it is
//! registered, and finds it current again when it runs:
//!
//! ```text
//!   with_value ─► current ──registered on a pending promise──► snapshot, kept by the waiter
//!                    ▲                                                      │
//!                    └── restored when the resolution ends ◄── current ◄── callback runs
//! ```
//!
//! A map is immutable: setting a value makes a new one, so a snapshot is one count. The empty map is no map,
//! and a waiter registered under it is not wrapped: a program without storage pays one look at a counter of
//! living maps, in which nothing is written. Only where the current map is not empty does a waiting callback
//! get a second, small allocation for its snapshot (`carry`).
//!
//! Tasks and fibers own their map: taken at the spawn, current while they are polled (the poller's is in
//! `POLLERS` meanwhile), kept in `TASKS` while they are suspended. Values and their destructors are the
//! user's: they run with nothing borrowed here.
//!
//! Not here: which callbacks take a snapshot (`promise/step.rs`, `promise/observe.rs`, `promise/cancel.rs`)
//! and where a resolution begins and ends (`sched`).

use crate::Waiter;
use crate::promise::batch::Batch;
use crate::promise::run_callback;
use crate::promise::waiters::{Node, Told};
use crate::sched::TaskId;
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fmt;
use std::marker::PhantomData;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Names one value of the current storage.
///
/// Keys are cheap to copy and may be shared by threads; the values never leave theirs.
///
/// ```
/// use lisle_core::pair;
/// use lisle_core::storage::Key;
///
/// let request = Key::new();
/// let (promise, resolver) = pair::<()>();
/// let seen = request.with_value(7, || promise.map(move |()| request.get()));
/// assert_eq!(request.get(), None);
/// resolver.resolve(());
/// assert_eq!(seen.try_take().unwrap().unwrap(), Some(7));
/// ```
#[doc(alias = "new_key")]
#[doc(alias = "task_local")]
pub struct Key<T> {
    number: u64,
    value: PhantomData<fn(T) -> T>,
}

static NEXT_KEY: AtomicU64 = AtomicU64::new(0);

impl<T: Clone + 'static> Key<T> {
    /// A key that nothing is stored under.
    #[must_use]
    pub fn new() -> Key<T> {
        Key { number: NEXT_KEY.fetch_add(1, Ordering::Relaxed), value: PhantomData }
    }

    /// A clone of the value stored under this key. O(log keys).
    #[must_use]
    pub fn get(self) -> Option<T> {
        if !in_use() {
            return None;
        }
        let map = snapshot().0?;
        map.value(self.number).and_then(|value| value.downcast_ref::<T>()).cloned()
    }

    /// Runs `f` with this value, or with none, stored under the key. What was stored before is stored again
    /// when `f` returns or panics. O(keys).
    ///
    /// Callbacks that are registered inside `f` on pending promises keep the value, and so does a task that
    /// is spawned there. An `async` block that is only made there does not: spawn it inside.
    ///
    /// ```
    /// let key = lisle_core::storage::Key::new();
    /// key.with_value(1, || {
    ///     assert_eq!(key.get(), Some(1));
    ///     key.with_value(None, || assert_eq!(key.get(), None));
    /// });
    /// assert_eq!(key.get(), None);
    /// ```
    ///
    /// # Panics
    /// If `f` panics.
    pub fn with_value<R>(self, value: impl Into<Option<T>>, f: impl FnOnce() -> R) -> R {
        let before = snapshot();
        let inside = before.with(self.number, value.into().map(|value| Rc::new(value) as Rc<dyn Any>));
        let _restore = Restore(Some(before));
        install(inside);
        f()
    }

    /// Stores this value, or none, from here on: in a task or fiber until it ends, in a callback until the
    /// resolution that called it ends, elsewhere until an enclosing [`Key::with_value`] ends. O(keys).
    ///
    /// ```
    /// let key = lisle_core::storage::Key::new();
    /// lisle_core::spawn(async move {
    ///     key.set(1);
    ///     lisle_core::pause().await.unwrap();
    ///     assert_eq!(key.get(), Some(1));
    /// }).detach();
    /// assert_eq!(key.get(), None);
    /// # lisle_core::wake_paused(); lisle_core::sched::tasks::run_ready();
    /// ```
    #[doc(alias = "remove")]
    pub fn set(self, value: impl Into<Option<T>>) {
        install(snapshot().with(self.number, value.into().map(|value| Rc::new(value) as Rc<dyn Any>)));
    }
}

impl<T: Clone + 'static> Default for Key<T> {
    fn default() -> Key<T> {
        Key::new()
    }
}

impl<T> Clone for Key<T> {
    fn clone(&self) -> Key<T> {
        *self
    }
}

impl<T> Copy for Key<T> {}

impl<T> fmt::Debug for Key<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({})", self.number)
    }
}

/// Values by number of their key, in that order; never empty.
struct Map {
    values: Vec<(u64, Rc<dyn Any>)>,
}

impl Map {
    fn new(values: Vec<(u64, Rc<dyn Any>)>) -> Map {
        MAPS.set(MAPS.get() + 1);
        Map { values }
    }

    fn value(&self, key: u64) -> Option<&Rc<dyn Any>> {
        let at = self.values.binary_search_by_key(&key, |(key, _)| *key).ok()?;
        Some(&self.values[at].1)
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        MAPS.set(MAPS.get() - 1);
    }
}

thread_local! {
    /// How many maps are alive: as long as there is none, the current one is empty and so are all snapshots.
    static MAPS: Cell<usize> = const { Cell::new(0) };
    static CURRENT: Cell<Snapshot> = const { Cell::new(Snapshot(None)) };
    /// The snapshot of the waiter that is being told, until its node takes it.
    static CARRIED: Cell<Snapshot> = const { Cell::new(Snapshot(None)) };
    /// The maps of those who poll, while a task's is current.
    static POLLERS: RefCell<Vec<(TaskId, Snapshot)>> = const { RefCell::new(Vec::new()) };
    /// The maps of suspended tasks; no entry for the empty one.
    static TASKS: RefCell<HashMap<(u32, u32), Snapshot>> = RefCell::new(HashMap::new());
}

/// A map as it was at some moment; `None` is the empty one.
#[derive(Clone, Default)]
pub(crate) struct Snapshot(Option<Rc<Map>>);

impl Snapshot {
    fn with(&self, key: u64, value: Option<Rc<dyn Any>>) -> Snapshot {
        let others = self.0.iter().flat_map(|map| &map.values).filter(|(other, _)| *other != key);
        let mut values: Vec<_> = others.cloned().collect();
        if let Some(value) = value {
            let at = values.partition_point(|(other, _)| *other < key);
            values.insert(at, (key, value));
        }
        Snapshot((!values.is_empty()).then(|| Rc::new(Map::new(values))))
    }
}

/// Whether there is any map on this thread: nothing else need be done if there is none.
#[inline(always)]
pub(crate) fn in_use() -> bool {
    MAPS.get() != 0
}

/// The current map.
#[inline]
pub(crate) fn snapshot() -> Snapshot {
    if in_use() { copy_current() } else { Snapshot(None) }
}

#[cold]
fn copy_current() -> Snapshot {
    CURRENT.try_with(copy_of).unwrap_or_default()
}

fn copy_of(cell: &Cell<Snapshot>) -> Snapshot {
    let snapshot = cell.take();
    cell.set(snapshot.clone());
    snapshot
}

/// Makes a map current. The one before is dropped here, and its values may be.
#[cold]
#[inline(never)]
fn install(snapshot: Snapshot) {
    // At the thread's end the cell may be gone, and with it all storage.
    if let Ok(before) = CURRENT.try_with(|current| current.replace(snapshot)) {
        run_callback(move || drop(before));
    }
}

/// Makes a map current again when it is dropped.
struct Restore(Option<Snapshot>);

impl Drop for Restore {
    fn drop(&mut self) {
        install(self.0.take().unwrap_or_default());
    }
}

/// The map at the start of a resolution, to be current again at its end.
pub(crate) struct AtStart(Snapshot);

impl AtStart {
    #[inline(always)]
    pub(crate) fn new() -> AtStart {
        AtStart(snapshot())
    }
}

impl Drop for AtStart {
    #[inline(always)]
    fn drop(&mut self) {
        if in_use() {
            install(std::mem::take(&mut self.0));
        }
    }
}

/// How a callback is entered: by the call that registers it, or later, under the map of its registration.
pub(crate) enum Entry {
    /// Its promise was settled at the call, or there is no storage: the current map is the right one.
    AtOnce,
    /// It had to wait, and had this map.
    Told(Snapshot),
}

impl Entry {
    /// The entry of a node that is told. Asked once, before anything else is run.
    #[inline(always)]
    pub(crate) fn told() -> Entry {
        if in_use() { carried() } else { Entry::AtOnce }
    }

    /// To be called just before the user's function is.
    #[inline(always)]
    pub(crate) fn begin(self) {
        if let Entry::Told(snapshot) = self {
            install(snapshot);
        }
    }
}

#[cold]
#[inline(never)]
fn carried() -> Entry {
    Entry::Told(CARRIED.try_with(Cell::take).unwrap_or_default())
}

/// The waiter of a callback that must wait: it takes the current map along, if that is not empty.
#[inline(always)]
pub(crate) fn carry(waiter: Waiter) -> Waiter {
    if in_use() { with_snapshot(waiter) } else { waiter }
}

#[cold]
#[inline(never)]
fn with_snapshot(waiter: Waiter) -> Waiter {
    let snapshot = copy_current();
    match waiter.0 {
        Told::Node(node) if snapshot.0.is_some() => {
            Waiter(Told::Node(Rc::new(Carrier { node, snapshot: Cell::new(snapshot) })))
        }
        told => Waiter(told),
    }
}

/// A node together with the map under which its callback was registered.
struct Carrier {
    node: Rc<dyn Node>,
    snapshot: Cell<Snapshot>,
}

impl Node for Carrier {
    fn run(self: Rc<Self>, index: u32) -> Option<Batch> {
        drop(CARRIED.try_with(|carried| carried.replace(self.snapshot.take())));
        self.node.clone().run(index)
    }
}

/// A task's map is current as long as this lives: for one poll. When dropped, it is kept for the next
/// poll and the poller's is current again.
pub(crate) struct TaskPoll(TaskId);

impl TaskPoll {
    /// The poll of a spawn: the current map becomes the task's own.
    #[inline(always)]
    pub(crate) fn first(id: TaskId) -> TaskPoll {
        if in_use() {
            push_poller(id);
        }
        TaskPoll(id)
    }

    /// A poll out of the run queue, or the end of a task that is dropped.
    #[inline(always)]
    pub(crate) fn resumed(id: TaskId) -> TaskPoll {
        if in_use() {
            push_poller(id);
            install(take_of_task(id));
        }
        TaskPoll(id)
    }
}

impl Drop for TaskPoll {
    #[inline(always)]
    fn drop(&mut self) {
        if in_use() {
            end_poll(self.0);
        }
    }
}

/// Keeps the poller's map in a list and not on the stack, where each poll of a program without storage would
/// pay for the place: 10 instructions of a spawn.
#[cold]
#[inline(never)]
fn push_poller(id: TaskId) {
    let poller = copy_current();
    // The empty one is not kept: when the poll ends, no entry means just that.
    if poller.0.is_some() {
        let _ = POLLERS.try_with(|pollers| pollers.borrow_mut().push((id, poller)));
    }
}

#[cold]
#[inline(never)]
fn end_poll(id: TaskId) {
    keep_for_task(id);
    let poller = POLLERS.try_with(|pollers| pollers.borrow_mut().pop_if(|(polled, _)| *polled == id));
    install(poller.ok().flatten().map(|(_, poller)| poller).unwrap_or_default());
}

/// A task is queued: the current map is its own.
#[inline(always)]
pub(crate) fn task_queued(id: TaskId) {
    if in_use() {
        keep_for_task(id);
    }
}

/// A task is done, or dropped.
#[inline(always)]
pub(crate) fn task_ended(id: TaskId) {
    if in_use() {
        let map = take_of_task(id);
        run_callback(move || drop(map));
    }
}

#[cold]
#[inline(never)]
fn keep_for_task(id: TaskId) {
    let snapshot = copy_current();
    if snapshot.0.is_some() {
        let before = TASKS.try_with(|tasks| tasks.borrow_mut().insert((id.slot, id.generation), snapshot));
        run_callback(move || drop(before));
    }
}

#[cold]
#[inline(never)]
fn take_of_task(id: TaskId) -> Snapshot {
    let taken = TASKS.try_with(|tasks| tasks.borrow_mut().remove(&(id.slot, id.generation)));
    taken.ok().flatten().unwrap_or_default()
}

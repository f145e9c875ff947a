//! One update of the graph: all that is sent together happens together, in order of height, without a pause.
//!
//! ```text
//!   idle ──send──► assign ─► update, lowest rank first ─► clear ──► idle ─► steps sent meanwhile ─► effects
//!                  └───────────── busy: sends are queued ─────┘             (each a step like this)
//! ```
//!
//! A vertex is updated once, when all its inputs have been: so nobody sees half of a change. While the
//! graph is *busy* nothing but the plain functions of its vertices runs, and these return values, not
//! promises to be waited for; a send they make is the next step. *Effects* are what concerns promises:
//! settling a `next`, starting the function of a `map_s`. They run when the graph is idle again, first
//! in, first out, before the outermost send returns; so their callbacks see a graph that is consistent,
//! and what they send happens at once.
//!
//! The queues of steps and effects hold what the functions of one step sent; they are emptied before the
//! outermost send returns. Not here: what a vertex works out.

use super::graph::{Head, Vertex, release};
use crate::promise::{call, run_callback};
use std::cell::{Cell, RefCell};
use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Weak;

/// Something that a step gives a primitive. The last one that a primitive is given in a step counts.
pub(super) trait Assignment {
    /// Gives it; later calls in the same step do nothing.
    fn assign(self: Box<Self>);
}

/// What will happen together: sends and sets, collected by the function given to [`step`].
///
/// It cannot be made or replaced otherwise, cannot leave that function and cannot be moved to another thread:
///
/// ```compile_fail,E0277
/// let taken = lisle_core::react::step(|step| std::mem::take(step)); // there is no empty one
/// ```
///
/// ```compile_fail,E0521
/// let mut kept = None;
/// lisle_core::react::step(|step| kept = Some(step)); // would outlive its step
/// ```
///
/// ```compile_fail,E0277
/// lisle_core::react::step(|step| {
///     std::thread::scope(|threads| {
///         threads.spawn(move || drop(step)); // another thread has another graph
///     });
/// });
/// ```
pub struct Step {
    assignments: Vec<Box<dyn Assignment>>,
}

impl Step {
    fn empty() -> Step {
        Step { assignments: Vec::new() }
    }

    pub(super) fn add(&mut self, assignment: impl Assignment + 'static) {
        self.assignments.push(Box::new(assignment));
    }
}

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Step").field("assignments", &self.assignments.len()).finish()
    }
}

/// Sends and sets several things at once: one step, in which they are simultaneous.
///
/// The function only collects; the graph is updated when it has returned. If it panics, nothing happens.
/// Called from a function of the graph, the step is the next one.
///
/// ```
/// use lisle_core::react::{l2, signal, step};
/// let (width, set_width) = signal(2);
/// let (height, set_height) = signal(3);
/// let area = l2(&width, &height, |w, h| w * h);
/// let seen = area.changes().fold(0, |count, _| count + 1).hold(0);
/// step(|step| {
///     step.set(&set_width, 20);
///     step.set(&set_height, 30);
/// });
/// assert_eq!((area.value(), seen.value()), (600, 1)); // never 20 × 3
/// ```
///
/// It cannot wait for anything, since it is no `async` function, and none can be made of it:
///
/// ```compile_fail,E0728
/// lisle_core::react::step(|step| lisle_core::pause().await);
/// ```
///
/// ```compile_fail,E0308
/// # let (event, sender) = lisle_core::react::event();
/// // «One type is more general than the other»: the future would keep the step.
/// let future = lisle_core::react::step(async |step| step.send(&sender, 1));
/// ```
#[doc(alias = "batch")]
#[doc(alias = "transaction")]
pub fn step<R>(collect: impl FnOnce(&mut Step) -> R) -> R {
    let mut step = Step::empty();
    let result = collect(&mut step);
    run(step);
    result
}

type Effect = Box<dyn FnOnce()>;

struct Due {
    rank: u32,
    number: u64,
    vertex: Weak<dyn Vertex>,
}

impl Ord for Due {
    /// The greatest is who is lowest in the graph, and of those the oldest.
    fn cmp(&self, other: &Due) -> Ordering {
        (other.rank, other.number).cmp(&(self.rank, self.number))
    }
}

impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Due) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Due {
    fn eq(&self, other: &Due) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Due {}

struct Machine {
    numbers: Cell<u64>,
    /// How many steps there were; 0 stands for none.
    steps: Cell<u64>,
    /// The step in progress, or 0.
    current: Cell<u64>,
    /// Whether functions of the graph run.
    busy: Cell<bool>,
    /// Whether an effect runs: the loop that called it will call the next.
    in_effect: Cell<bool>,
    due: RefCell<BinaryHeap<Due>>,
    occurred: RefCell<Vec<Weak<dyn Vertex>>>,
    sent: RefCell<VecDeque<Step>>,
    effects: RefCell<VecDeque<Effect>>,
}

thread_local! {
    static MACHINE: Machine = const { Machine {
        numbers: Cell::new(0),
        steps: Cell::new(0),
        current: Cell::new(0),
        busy: Cell::new(false),
        in_effect: Cell::new(false),
        due: RefCell::new(BinaryHeap::new()),
        occurred: RefCell::new(Vec::new()),
        sent: RefCell::new(VecDeque::new()),
        effects: RefCell::new(VecDeque::new()),
    } };
}

/// The machine, unless the thread is being destroyed: nothing is sent then.
fn machine<R>(f: impl FnOnce(&Machine) -> R) -> Option<R> {
    MACHINE.try_with(f).ok()
}

/// A number that no vertex of this thread has.
pub(super) fn next_number() -> u64 {
    machine(|m| m.numbers.replace(m.numbers.get() + 1)).unwrap_or(u64::MAX)
}

/// The number of the step in progress, or 0.
pub(super) fn current() -> u64 {
    machine(|m| m.current.get()).unwrap_or(0)
}

/// Queues a vertex for its update in this step.
pub(super) fn schedule(vertex: &Weak<dyn Vertex>, head: &Head) {
    if current() != 0 && !head.is_dead() && head.enter_queue() {
        let due = Due { rank: head.rank(), number: head.number, vertex: vertex.clone() };
        machine(|m| m.due.borrow_mut().push(due));
    }
}

/// Queues all that depend on what has just occurred or changed.
pub(super) fn schedule_dependents(head: &Head) {
    head.for_each_dependent(|weak, vertex| schedule(weak, vertex.head()));
}

/// Remembers that this occurred, so that it is forgotten when the step is over.
pub(super) fn has_occurred(vertex: Weak<dyn Vertex>) {
    machine(|m| m.occurred.borrow_mut().push(vertex));
}

/// Runs something when the graph is consistent again, before the outermost send returns.
pub(super) fn after(effect: impl FnOnce() + 'static) {
    machine(|m| m.effects.borrow_mut().push_back(Box::new(effect)));
}

fn is_busy() -> bool {
    machine(|m| m.busy.get()).unwrap_or(true)
}

fn run(step: Step) {
    if step.assignments.is_empty() {
        return;
    }
    if is_busy() {
        machine(|m| m.sent.borrow_mut().push_back(step));
    } else {
        propagate(|| assign_all(step));
        settle();
    }
}

/// As a step with one assignment, without its allocations when the graph is idle.
pub(super) fn run_one<T: Assignment + 'static>(assignment: T, assign: impl FnOnce(T)) {
    if is_busy() {
        let mut step = Step::empty();
        step.add(assignment);
        machine(|m| m.sent.borrow_mut().push_back(step));
    } else {
        propagate(|| run_callback(|| assign(assignment)));
        settle();
    }
}

/// Newest first, since the last assignment to a primitive counts.
fn assign_all(step: Step) {
    for assignment in step.assignments.into_iter().rev() {
        run_callback(|| assignment.assign());
    }
}

/// Marks the graph as busy, and as idle again whatever happens.
struct Busy;

impl Busy {
    fn enter() -> Busy {
        machine(|m| m.busy.set(true));
        Busy
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        machine(|m| {
            m.current.set(0);
            m.busy.set(false);
        });
    }
}

/// One step.
fn propagate(assign: impl FnOnce()) {
    let _busy = Busy::enter();
    machine(|m| {
        m.steps.set(m.steps.get() + 1);
        m.current.set(m.steps.get());
    });
    assign();
    while let Some(due) = machine(|m| m.due.borrow_mut().pop()).flatten() {
        update(due);
    }
    clear();
}

fn update(due: Due) {
    let Some(vertex) = due.vertex.upgrade() else { return };
    let head = vertex.head();
    head.leave_queue();
    if head.rank() > due.rank {
        // It was lifted while it waited.
        schedule(&due.vertex, head);
    } else if !head.is_dead() && vertex.update() {
        schedule_dependents(head);
        has_occurred(due.vertex);
    }
    release(vertex);
}

fn clear() {
    let Some(mut occurred) = machine(|m| m.occurred.take()) else { return };
    for weak in occurred.drain(..) {
        if let Some(vertex) = weak.upgrade() {
            run_callback(|| vertex.clear());
            release(vertex);
        }
    }
    // The list is kept for its room.
    machine(|m| m.occurred.replace(occurred));
}

/// The steps that functions of the graph sent, then the effects; an effect that runs already leaves the
/// others to the loop that called it, so chains of effects need no stack.
fn settle() {
    loop {
        while let Some(step) = machine(|m| m.sent.borrow_mut().pop_front()).flatten() {
            propagate(|| assign_all(step));
        }
        if machine(|m| m.in_effect.get()).unwrap_or(true) {
            return;
        }
        let Some(effect) = machine(|m| m.effects.borrow_mut().pop_front()).flatten() else { return };
        machine(|m| m.in_effect.set(true));
        run_callback(effect);
        machine(|m| m.in_effect.set(false));
    }
}

/// Builds a part of the graph: what the functions called meanwhile send happens when it stands.
pub(super) fn build<R>(build: impl FnOnce() -> R) -> R {
    if is_busy() {
        return build();
    }
    let busy = Busy::enter();
    let built = catch_unwind(AssertUnwindSafe(build));
    drop(busy);
    settle();
    built.unwrap_or_else(|panic| resume_unwind(panic))
}

/// Runs a function of a vertex; one that panics gives nothing, and the hook is told.
pub(super) fn shielded<R>(f: impl FnOnce() -> Option<R>) -> Option<R> {
    match call(f) {
        Ok(result) => result,
        Err(error) => {
            crate::hook::report(error, crate::hook::FailureKind::Callback, None);
            None
        }
    }
}

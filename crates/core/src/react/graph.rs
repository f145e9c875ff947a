//! The graph under events and signals: vertices, who owns whom, and the heights that order a step.
//!
//! ```text
//!   primitive ◄═══ Input ═══ map ◄═══ Input ═══ filter ◄═══ handle            ═══ owns (strong)
//!       └───────── weak ─────►└─────── weak ──────►                           ─── knows (weak)
//! ```
//!
//! A vertex owns its inputs, and an input knows its dependents weakly: what no handle leads to is freed, and
//! a freed vertex takes itself out of its inputs' lists in O(1). So a dependent whose last handle was dropped
//! never runs again, also within the step that is in progress.
//!
//! The *rank* of a vertex is greater than the ranks of its inputs. It rises (never falls) when a switch turns
//! to an input of greater rank, and that of its dependents with it.
//!
//! [`Held`] is a strong handle whose drop needs no stack: chains of 10^5 vertices are taken apart by a loop.
//! Not here: when a vertex is updated (`step.rs`), and what it works out (`event.rs`, `signal.rs`).

use super::step;
use crate::promise::run_callback;
use std::cell::{Cell, RefCell};
use std::ops::Deref;
use std::rc::{Rc, Weak};

/// An event or signal without its type.
pub(super) trait Vertex: 'static {
    fn head(&self) -> &Head;

    /// Works out what it is in this step; whether its dependents must be told.
    /// Panics of user code are caught.
    fn update(&self) -> bool;

    /// Whether it has occurred or changed in the step in progress.
    fn is_fresh(&self) -> bool;

    /// The step is over: an occurrence is forgotten.
    fn clear(&self);

    fn into_vertex(self: Rc<Self>) -> Rc<dyn Vertex>;
}

/// What all vertices have.
pub(super) struct Head {
    /// Distinguishes vertices; older ones have smaller numbers, and go first among those of one rank.
    pub(super) number: u64,
    rank: Cell<u32>,
    queued: Cell<bool>,
    /// Its last handle is gone, and its turn to be dropped will come.
    dead: Cell<bool>,
    dependents: RefCell<Dependents>,
}

impl Head {
    fn new(rank: u32) -> Head {
        Head {
            number: step::next_number(),
            rank: Cell::new(rank),
            queued: Cell::new(false),
            dead: Cell::new(false),
            dependents: RefCell::new(Dependents { slots: Vec::new(), free: Vec::new() }),
        }
    }

    pub(super) fn primitive() -> Head {
        Head::new(0)
    }

    pub(super) fn rank(&self) -> u32 {
        self.rank.get()
    }

    pub(super) fn is_dead(&self) -> bool {
        self.dead.get()
    }

    /// Marks it as waiting for its update; whether it was not.
    pub(super) fn enter_queue(&self) -> bool {
        !self.queued.replace(true)
    }

    pub(super) fn leave_queue(&self) {
        self.queued.set(false);
    }

    /// The dependents that still exist. Runs no user code: it is always somebody else's handle that is last.
    pub(super) fn for_each_dependent(&self, mut visit: impl FnMut(&Weak<dyn Vertex>, &dyn Vertex)) {
        for weak in self.dependents.borrow().slots.iter().flatten() {
            if let Some(vertex) = weak.upgrade() {
                visit(weak, &*vertex);
            }
        }
    }
}

/// A list with O(1) removal, whose slots are used again.
struct Dependents {
    slots: Vec<Option<Weak<dyn Vertex>>>,
    free: Vec<u32>,
}

impl Dependents {
    fn insert(&mut self, dependent: Weak<dyn Vertex>) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = Some(dependent);
            return slot;
        }
        self.slots.push(Some(dependent));
        u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 dependents of one event or signal")
    }

    #[must_use]
    fn remove(&mut self, slot: u32) -> Option<Weak<dyn Vertex>> {
        self.free.push(slot);
        self.slots[slot as usize].take()
    }
}

/// A strong handle of a vertex. Empty only while it is dropped.
pub(super) struct Held<N: Vertex + ?Sized>(Option<Rc<N>>);

impl<N: Vertex + ?Sized> Held<N> {
    pub(super) fn new(node: Rc<N>) -> Held<N> {
        Held(Some(node))
    }
}

impl<N: Vertex + ?Sized> Deref for Held<N> {
    type Target = Rc<N>;

    fn deref(&self) -> &Rc<N> {
        self.0.as_ref().expect("a handle is emptied only by its drop")
    }
}

impl<N: Vertex + ?Sized> Clone for Held<N> {
    fn clone(&self) -> Held<N> {
        Held(self.0.clone())
    }
}

impl<N: Vertex + ?Sized> Drop for Held<N> {
    fn drop(&mut self) {
        if let Some(node) = self.0.take() {
            release(node.into_vertex());
        }
    }
}

thread_local! {
    /// Vertices without handles that wait for their turn to be dropped.
    static RELEASED: RefCell<Vec<Rc<dyn Vertex>>> = const { RefCell::new(Vec::new()) };
    static RELEASING: Cell<bool> = const { Cell::new(false) };
}

/// Gives up one strong reference. The last one of a vertex frees its inputs, which may free theirs, and so
/// on: by a loop. What destructors of the user's panic with goes to the hook.
pub(super) fn release(vertex: Rc<dyn Vertex>) {
    if Rc::strong_count(&vertex) > 1 {
        return;
    }
    vertex.head().dead.set(true);
    let mut vertex = Some(vertex);
    if RELEASING.get() && RELEASED.try_with(|list| list.borrow_mut().extend(vertex.take())).is_ok() {
        return;
    }
    RELEASING.set(true);
    while let Some(next) = vertex {
        run_callback(|| drop(next));
        vertex = RELEASED.try_with(|list| list.borrow_mut().pop()).ok().flatten();
    }
    RELEASING.set(false);
}

/// One edge: a vertex owns an input, and stands in its list of dependents.
pub(super) struct Input<N: Vertex + ?Sized> {
    node: Held<N>,
    slot: u32,
}

impl<N: Vertex + ?Sized> Input<N> {
    fn new(node: &Held<N>, dependent: &Weak<dyn Vertex>) -> Input<N> {
        let slot = node.head().dependents.borrow_mut().insert(dependent.clone());
        Input { node: node.clone(), slot }
    }

    pub(super) fn is(&self, node: &Held<N>) -> bool {
        self.node.head().number == node.head().number
    }
}

impl<N: Vertex + ?Sized> Deref for Input<N> {
    type Target = N;

    fn deref(&self) -> &N {
        &self.node
    }
}

impl<N: Vertex + ?Sized> Drop for Input<N> {
    fn drop(&mut self) {
        // A weak reference: dropping it runs nothing.
        let removed = self.node.head().dependents.borrow_mut().remove(self.slot);
        drop(removed);
    }
}

/// What a vertex being made learns from the inputs it asks for.
pub(super) struct Inputs {
    me: Weak<dyn Vertex>,
    rank: Cell<u32>,
    fresh: Cell<bool>,
}

impl Inputs {
    pub(super) fn of(me: Weak<dyn Vertex>) -> Inputs {
        Inputs { me, rank: Cell::new(0), fresh: Cell::new(false) }
    }

    pub(super) fn add<N: Vertex + ?Sized>(&self, node: &Held<N>) -> Input<N> {
        self.rank.set(self.rank.get().max(node.head().rank() + 1));
        self.fresh.set(self.fresh.get() || node.is_fresh());
        Input::new(node, &self.me)
    }

    pub(super) fn me(&self) -> Weak<dyn Vertex> {
        self.me.clone()
    }

    pub(super) fn head(&self) -> Head {
        Head::new(self.rank.get())
    }

    /// Whether the vertex takes part in the step in progress, since an input of it already does.
    pub(super) fn any_fresh(&self) -> bool {
        self.fresh.get()
    }
}

/// Turns one input of `me` to another vertex, and updates `me` again later in this step: when all that is
/// below it has been updated, which may now be more.
///
/// # Panics
/// If `node` depends on `me`. The input stays as it was then.
pub(super) fn turn<N: Vertex + ?Sized>(me: &Weak<dyn Vertex>, input: &RefCell<Input<N>>, node: &Held<N>) {
    let Some(vertex) = me.upgrade() else { return };
    let raised = raise(&vertex, node.head());
    assert!(raised, "a switch was turned to an event or signal that depends on this switch: give it another");
    let new = Input::new(node, me);
    let old = input.replace(new);
    step::schedule(me, vertex.head());
    drop(old);
    release(vertex);
}

/// Lifts `vertex` above `input`, and its dependents above it. False if `input` is one of those, which are
/// lifted all the same: each must stay above its own inputs.
fn raise(vertex: &Rc<dyn Vertex>, input: &Head) -> bool {
    let mut apart = vertex.head().number != input.number;
    let mut to_raise: Vec<(Rc<dyn Vertex>, u32)> = vec![(vertex.clone(), input.rank() + 1)];
    while let Some((vertex, rank)) = to_raise.pop() {
        if vertex.head().rank() >= rank {
            continue;
        }
        apart &= vertex.head().number != input.number;
        vertex.head().rank.set(rank);
        let dependents = vertex.head().dependents.borrow();
        to_raise.extend(dependents.slots.iter().flatten().filter_map(Weak::upgrade).map(|d| (d, rank + 1)));
    }
    apart
}

//! Spare nodes: the allocation of a step that was merged away serves the next step of the same kind.
//!
//! ```text
//!   node runs ─► its callback waits again ─► merged into the outer promise ──keep──► spare ──renew──► node
//!                                                        └── somebody else holds it: dropped when they let go
//! ```
//!
//! So loops of binds allocate in their first rounds only. A kind is a type: input, output and callback. Each
//! thread has [`SLOTS`] places, found by the hash of the type, with up to [`SPARES_MAX`] spares of one kind; a
//! newer kind takes the place of an older one. A spare holds nothing of its last life: no value, no callback,
//! no promise.
//!
//! Why more than one: a lap of the ring ends the reads of many connections before it begins their writes. With
//! one spare of each kind, an echo server of 100 connections in binds allocated 3.9 times for each request.
//!
//! Not here: when a node is merged (`step.rs`), what it holds while it is one (`cell.rs`).

use super::cell::PromiseCell;
use std::any::{Any, TypeId};
use std::cell::RefCell;
use std::hash::{Hash, Hasher};
use std::rc::Rc;

/// Kinds of nodes that a thread keeps spares of.
const SLOTS: usize = 64;

/// Spares of one kind. A node has 100 to 200 bytes as a rule.
const SPARES_MAX: usize = 256;

type Slot = RefCell<Vec<Rc<dyn Any>>>;

thread_local! {
    static SPARES: [Slot; SLOTS] = const { [const { RefCell::new(Vec::new()) }; SLOTS] };
}

/// Keeps the allocation of a node that was merged into another promise, if nobody else holds it.
#[inline]
pub(super) fn keep<T: 'static, W: 'static>(mut node: Rc<PromiseCell<T, W>>) {
    if !PromiseCell::retire(&mut node) {
        return;
    }
    // At the thread's end there are no places any more. What is dropped here is empty, and runs nothing.
    let _ = SPARES.try_with(|slots| {
        let spares = &mut *slots[slot::<PromiseCell<T, W>>()].borrow_mut();
        if spares.last().is_some_and(|last| !last.is::<PromiseCell<T, W>>()) {
            spares.clear();
        }
        if spares.len() < SPARES_MAX {
            spares.push(node);
        }
    });
}

/// A spare of this kind, if there is one; only its allocation means anything.
#[inline]
pub(super) fn take<N: 'static>() -> Option<Rc<N>> {
    let spare = SPARES.try_with(|slots| {
        let spares = &mut *slots[slot::<N>()].borrow_mut();
        spares.pop()?.downcast().map_err(|other| spares.push(other)).ok()
    });
    spare.ok()?
}

fn slot<N: 'static>() -> usize {
    let mut hash = Folded(0);
    TypeId::of::<N>().hash(&mut hash);
    hash.0 as usize % SLOTS
}

/// Types' numbers are hashes already: nothing is to be mixed.
struct Folded(u64);

impl Hasher for Folded {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = self.0.rotate_left(8) ^ u64::from(*byte));
    }

    #[inline]
    fn write_u64(&mut self, word: u64) {
        self.0 ^= word;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

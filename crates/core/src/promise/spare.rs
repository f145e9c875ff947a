//! Spare nodes: the allocation of a step that was merged away serves the next step of the same kind.
//!
//! ```text
//!   node runs ─► its callback waits again ─► merged into the outer promise ──keep──► spare ──renew──► node
//!                                                        └── somebody else holds it: dropped when they let go
//! ```
//!
//! So a loop of binds allocates in its first two rounds only. A kind is a type: input, output and callback.
//! Each thread has [`SLOTS`] places, found by the hash of the type; a newer kind takes the place of an older
//! one. A spare holds nothing of its last life: no value, no callback, no promise.
//!
//! Not here: when a node is merged (`step.rs`), what it holds while it is one (`cell.rs`).

use super::cell::PromiseCell;
use std::any::{Any, TypeId};
use std::cell::Cell;
use std::hash::{Hash, Hasher};
use std::rc::Rc;

/// Kinds of nodes that a thread keeps a spare of, at most one of each. A node has 100 to 200 bytes as a rule.
const SLOTS: usize = 64;

type Slot = Cell<Option<Rc<dyn Any>>>;

thread_local! {
    static SPARES: [Slot; SLOTS] = const { [const { Cell::new(None) }; SLOTS] };
}

/// Keeps the allocation of a node that was merged into another promise, if nobody else holds it.
#[inline]
pub(super) fn keep<T: 'static, W: 'static>(mut node: Rc<PromiseCell<T, W>>) {
    if !PromiseCell::retire(&mut node) {
        return;
    }
    // At the thread's end there are no places any more.
    let older = SPARES.try_with(|slots| slots[slot::<PromiseCell<T, W>>()].replace(Some(node)));
    drop(older);
}

/// A spare of this kind, if there is one; only its allocation means anything.
#[inline]
pub(super) fn take<N: 'static>() -> Option<Rc<N>> {
    SPARES.try_with(|slots| slots[slot::<N>()].take()).ok()??.downcast().ok()
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

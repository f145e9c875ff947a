//! Promises whose state lives in somebody else's table: pauses, timers, tasks, operations in flight.
//!
//! Such a *leaf* needs no allocation: the promise is a reference to its table and a token. Only when it
//! becomes shared or gets observers is a cell made for it. A [`Source`] is that table's face, and this
//! crate's only opening for others: whoever joins it to an engine implements `Source` for each type of
//! result.
//!
//! ```text
//!   token:  Waiting ──settled by the table──► Settled ──take──► gone
//!              └──────────────release (the handle was dropped)──► gone, when the table is done with it
//! ```
//!
//! The table tells the registered [`Waiter`] when the token is settled; the waiter then calls `take`.

use crate::promise::{Repr, Status};
use crate::{Promise, Result, Waiter};

/// A table of pending results of type `T`. See the module page for a token's life.
///
/// Implementations are unit structs that find their table through a thread-local, so that a promise can
/// outlive it: for a token unknown by then `take` returns `Some(Err(Error::abandoned()))`.
pub trait Source<T: 'static>: Sync + 'static {
    /// The result, if there is one; the token is gone then.
    fn take(&self, token: u64) -> Option<Result<T>>;

    /// How far the token is.
    fn status(&self, token: u64) -> Status;

    /// Registers whom to tell, in place of an earlier waiter. Called only after `take` returned `None`.
    fn watch(&self, token: u64, waiter: Waiter);

    /// Forgets the waiter; the token stays.
    fn unwatch(&self, token: u64);

    /// Asks for the end of the work.
    fn cancel(&self, token: u64) -> CancelReply;

    /// The handle was dropped: nobody will take the result.
    fn release(&self, token: u64);
}

/// What a table answers to `cancel`.
#[derive(Debug)]
pub enum CancelReply {
    /// The token is settled with `Canceled` as of now; this waiter is to be told (by the caller).
    Settled(Option<Waiter>),
    /// The token will settle when the table knows how the work ended, or is settled already.
    Later,
}

/// The handle of a leaf promise.
pub(crate) struct Leaf<T: 'static> {
    pub(crate) source: &'static dyn Source<T>,
    pub(crate) token: u64,
    pub(crate) watched: Watched,
}

/// Whether a waiter was registered; a whole word, for the tag of a promise's representation is kept in its
/// spare values. As a `bool` it made every move of a promise copy odd bytes, which the processor cannot
/// forward from the stores before: 12 ns of a suspended bind.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
pub(crate) enum Watched {
    No,
    Yes,
}

impl<T: 'static> Leaf<T> {
    pub(crate) fn take(&self) -> Option<Result<T>> {
        self.source.take(self.token)
    }

    /// Takes the registration of whom to tell back; see [`Promise::unwatch`].
    pub(crate) fn unwatch(&mut self) {
        if self.watched == Watched::Yes {
            self.source.unwatch(self.token);
            self.watched = Watched::No;
        }
    }

    /// The token is gone: its handle must not release it.
    pub(crate) fn forget(self) {
        std::mem::forget(self);
    }
}

impl<T: 'static> Drop for Leaf<T> {
    fn drop(&mut self) {
        self.source.release(self.token);
    }
}

/// The promise of a table's token. The table must settle or outlive it; the handle takes or releases it,
/// once.
pub fn leaf<T: 'static>(source: &'static dyn Source<T>, token: u64) -> Promise<T> {
    Promise { repr: Repr::Leaf(Leaf { source, token, watched: Watched::No }) }
}

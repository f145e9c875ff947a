//! Pauses: promises that are fulfilled once a lap, one generation at a time.
//!
//! ```text
//!   pause() ─► current generation ──wake_paused──► waking, oldest first ──► fulfilled
//!                     └───cancel───────┴───► rejected
//! ```
//!
//! A pause is a leaf: an entry in a vector, no allocation of its own. The two vectors are swapped and keep
//! their capacity. Pauses made while a generation is woken belong to the next one, so each has the engine's
//! turn before it.

use super::TaskId;
use super::rejected::Rejected;
use crate::hook::{FailureKind, report};
use crate::promise::waiters::{Node, Told};
use crate::promise::{Status, call};
use crate::source::{CancelReply, Source, leaf};
use crate::{Error, Promise, Result, Waiter};
use std::cell::RefCell;
use std::mem;
use std::rc::Rc;

/// The waiter is taken apart: as a whole it would be stored in words and loaded in a pair, which stalls the
/// processor (1000 chains of pauses: 42.7 ns a step, 41.3 without).
enum Entry {
    /// Paused, nobody waits for it yet.
    Idle,
    /// Paused, and a node waits for it.
    Node(Rc<dyn Node>),
    /// Paused, and a task waits for it.
    Task(TaskId),
    /// Paused, and its handle was dropped: nobody will ever wait for it.
    Released,
    /// Cancelled or woken: not counted any more.
    Gone,
}

impl Entry {
    /// Whoever waits. Nothing else is in an entry.
    #[inline(always)]
    fn into_waiter(self) -> Option<Waiter> {
        match self {
            Entry::Node(node) => Some(Waiter(Told::Node(node))),
            Entry::Task(id) => Some(Waiter(Told::Task(id))),
            Entry::Idle | Entry::Released | Entry::Gone => None,
        }
    }
}

struct Table {
    current: Vec<Entry>,
    /// Number of the current generation.
    generation: u32,
    /// The generation being woken, and how many of its entries have been.
    waking: Vec<Entry>,
    woken: u32,
    is_waking: bool,
    live: usize,
    /// Tokens rejected and not taken yet.
    rejected: Rejected,
}

thread_local! {
    static TABLE: RefCell<Table> = const {
        RefCell::new(Table {
            current: Vec::new(),
            generation: 1,
            waking: Vec::new(),
            woken: 0,
            is_waking: false,
            live: 0,
            rejected: Rejected::new(),
        })
    };
}

struct Pauses;

/// The table; at the thread's end it may be gone, and with it whatever could fulfil a pause.
#[inline(always)]
fn with_table<R>(f: impl FnOnce(&mut Table) -> R) -> Option<R> {
    TABLE.try_with(|table| f(&mut table.borrow_mut())).ok()
}

fn token(generation: u32, index: usize) -> u64 {
    // 2^32 pauses in one lap would need 100 GB; the index fits.
    u64::from(generation) << 32 | index as u64
}

impl Table {
    /// The entry of a token that is still paused.
    #[inline]
    fn entry(&mut self, token: u64) -> Option<&mut Entry> {
        let (generation, index) = ((token >> 32) as u32, token as u32 as usize);
        let entry = if generation == self.generation {
            self.current.get_mut(index)
        } else if self.is_waking
            && generation == self.generation.wrapping_sub(1)
            && index as u32 >= self.woken
        {
            self.waking.get_mut(index)
        } else {
            None
        };
        entry.filter(|entry| !matches!(entry, Entry::Gone))
    }
}

impl Source<()> for Pauses {
    fn take(&self, token: u64) -> Option<Result<()>> {
        let taken = TABLE.try_with(|table| {
            let table = &mut *table.borrow_mut();
            if table.entry(token).is_some() {
                return None;
            }
            Some(table.rejected.result(token))
        });
        match taken {
            Ok(result) => result,
            Err(_) => Some(Err(Error::abandoned())),
        }
    }

    fn status(&self, token: u64) -> Status {
        let status = with_table(|table| {
            if table.entry(token).is_some() {
                return Status::Pending;
            }
            table.rejected.status(token)
        });
        status.unwrap_or(Status::Rejected)
    }

    #[inline]
    fn watch(&self, token: u64, waiter: Waiter) {
        let new = match waiter.0 {
            Told::Node(node) => Entry::Node(node),
            Told::Task(id) => Entry::Task(id),
        };
        let old = with_table(|table| match table.entry(token) {
            // Nearly always. The entry has just been written: to take it out as a whole would stall too.
            Some(entry @ Entry::Idle) => {
                *entry = new;
                Entry::Idle
            }
            Some(entry) => mem::replace(entry, new),
            None => new,
        });
        drop(old);
    }

    fn unwatch(&self, token: u64) {
        let old = with_table(|table| table.entry(token).map(|entry| mem::replace(entry, Entry::Idle)));
        drop(old);
    }

    fn cancel(&self, token: u64) -> CancelReply {
        let reply = with_table(|table| {
            let Some(entry) = table.entry(token) else { return CancelReply::Later };
            let old = mem::replace(entry, Entry::Gone);
            table.live -= 1;
            table.rejected.put(token, Error::canceled());
            CancelReply::Settled(old.into_waiter())
        });
        reply.unwrap_or(CancelReply::Later)
    }

    /// A pause that nobody waits for still counts as one: its lap does not sleep, as in Lwt.
    fn release(&self, token: u64) {
        let old = with_table(|table| {
            table.rejected.forget(token);
            table.entry(token).map(|entry| mem::replace(entry, Entry::Released))
        });
        drop(old);
    }
}

/// A promise that is fulfilled after the engine had one turn.
///
/// A loop of pauses cannot starve I/O, whatever the engine. Cancelable. Allocates nothing.
///
/// ```
/// let promise = lisle_core::pause();
/// assert!(promise.is_pending());
/// lisle_core::sched::pause::wake_paused(); // what a runtime does once a lap
/// assert!(!promise.is_pending());
/// ```
pub fn pause() -> Promise<()> {
    let token = with_table(|table| {
        let index = table.current.len();
        // Written in place; `push` builds the entry on the stack first.
        table.current.resize_with(index + 1, || Entry::Idle);
        table.live += 1;
        token(table.generation, index)
    });
    // At the thread's end a token of nothing, which `take` says is abandoned. Always a leaf: the node that waits
    // for it is then built from registers (a chain's step on the ring: 53.9 ns, otherwise 64.7).
    leaf(&Pauses, token.unwrap_or_default())
}

/// How many pauses wait for their lap to end.
#[must_use]
pub fn paused_count() -> usize {
    TABLE.with_borrow(|table| table.live)
}

/// Fulfils the current generation of pauses, oldest first, each as a resolution of its own.
///
/// For runtimes, once a lap. Does nothing when called from inside itself.
pub fn wake_paused() {
    if !begin_waking() {
        return;
    }
    // One catch for the whole generation: callbacks are caught where they are called, so what arrives here is
    // rare (a destructor, a foreign waker), and the rest of the generation is woken all the same.
    while let Err(error) = call(wake_rest) {
        report(error, FailureKind::Callback, None);
    }
}

fn wake_rest() {
    while let Some(waiter) = next_woken() {
        waiter.wake_uncaught();
    }
}

fn begin_waking() -> bool {
    TABLE.with_borrow_mut(|table| {
        if table.is_waking || table.current.is_empty() {
            return false;
        }
        mem::swap(&mut table.current, &mut table.waking);
        table.generation = table.generation.wrapping_add(1);
        table.woken = 0;
        table.is_waking = true;
        true
    })
}

/// The next waiter of the generation that is woken; after its last entry the generation ends.
fn next_woken() -> Option<Waiter> {
    TABLE.with_borrow_mut(|table| {
        while let Some(entry) = table.waking.get_mut(table.woken as usize) {
            table.woken += 1;
            if matches!(entry, Entry::Gone) {
                continue;
            }
            table.live -= 1;
            if let Some(waiter) = mem::replace(entry, Entry::Gone).into_waiter() {
                return Some(waiter);
            }
        }
        // All of it is `Gone`: nothing is dropped here.
        table.waking.clear();
        table.is_waking = false;
        None
    })
}

/// Rejects all pauses with `Abandoned`; how many there were.
pub(crate) fn abandon() -> usize {
    let entries = TABLE.with_borrow_mut(|table| {
        let mut entries = Vec::new();
        if table.is_waking {
            // Called by a callback of a pause: the rest of its generation is older than the current one.
            let generation = table.generation.wrapping_sub(1);
            for index in table.woken as usize..table.waking.len() {
                entries.push((token(generation, index), mem::replace(&mut table.waking[index], Entry::Gone)));
            }
        }
        let current = mem::take(&mut table.current);
        entries.extend((0..).zip(current).map(|(index, entry)| (token(table.generation, index), entry)));
        for (token, entry) in &entries {
            if matches!(entry, Entry::Node(_) | Entry::Task(_) | Entry::Idle) {
                table.rejected.put(*token, Error::abandoned());
            }
        }
        table.generation = table.generation.wrapping_add(1);
        table.live = 0;
        entries
    });
    let count = entries.len();
    for (_, entry) in entries {
        if let Some(waiter) = entry.into_waiter() {
            waiter.wake();
        }
    }
    count
}

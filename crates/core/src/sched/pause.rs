//! Pauses: promises that are fulfilled once a lap, one generation at a time.
//!
//! ```text
//!   pause() ─► current generation ──wake_paused──► waking, oldest first ──► fulfilled
//!                     └───cancel───────┴───► rejected
//! ```
//!
//! A pause is a leaf: an entry in a vector, no allocation of its own. The two vectors are swapped and keep their capacity.
//! Pauses made while a generation is woken belong to the next one, so each has the engine's turn before it.

use crate::promise::Status;
use crate::source::{CancelReply, Source, leaf};
use crate::{Error, Promise, Result, Waiter};
use std::cell::RefCell;
use std::collections::HashMap;
use std::mem;

#[derive(Default)]
enum Entry {
    /// Paused, nobody waits for it yet.
    #[default]
    Idle,
    Watched(Waiter),
    /// Cancelled or released: not counted any more.
    Gone,
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
    rejected: Option<HashMap<u64, Error>>,
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
            rejected: None,
        })
    };
}

struct Pauses;

fn token(generation: u32, index: usize) -> u64 {
    // 2^32 pauses in one lap would need 100 GB; the index fits.
    u64::from(generation) << 32 | index as u64
}

impl Table {
    /// The entry of a token that is still paused.
    fn entry(&mut self, token: u64) -> Option<&mut Entry> {
        let (generation, index) = ((token >> 32) as u32, token as u32 as usize);
        let entry = if generation == self.generation {
            self.current.get_mut(index)
        } else if self.is_waking && generation == self.generation.wrapping_sub(1) && index as u32 >= self.woken {
            self.waking.get_mut(index)
        } else {
            None
        };
        entry.filter(|entry| !matches!(entry, Entry::Gone))
    }

    fn reject(&mut self, token: u64, error: Error) {
        self.rejected.get_or_insert_with(HashMap::new).insert(token, error);
    }

    fn rejection(&mut self, token: u64) -> Option<Error> {
        self.rejected.as_mut()?.remove(&token)
    }
}

impl Source<()> for Pauses {
    fn take(&self, token: u64) -> Option<Result<()>> {
        TABLE.with_borrow_mut(|table| match table.entry(token) {
            Some(_) => None,
            None => Some(table.rejection(token).map_or(Ok(()), Err)),
        })
    }

    fn status(&self, token: u64) -> Status {
        TABLE.with_borrow_mut(|table| {
            if table.entry(token).is_some() {
                return Status::Pending;
            }
            let rejected = table.rejected.as_ref().is_some_and(|rejected| rejected.contains_key(&token));
            if rejected { Status::Rejected } else { Status::Fulfilled }
        })
    }

    fn watch(&self, token: u64, waiter: Waiter) {
        let old = TABLE.with_borrow_mut(|table| {
            table.entry(token).map(|entry| mem::replace(entry, Entry::Watched(waiter)))
        });
        drop(old);
    }

    fn unwatch(&self, token: u64) {
        let old = TABLE
            .with_borrow_mut(|table| table.entry(token).map(|entry| mem::replace(entry, Entry::Idle)));
        drop(old);
    }

    fn cancel(&self, token: u64) -> CancelReply {
        TABLE.with_borrow_mut(|table| {
            let Some(entry) = table.entry(token) else { return CancelReply::Later };
            let old = mem::replace(entry, Entry::Gone);
            table.live -= 1;
            table.reject(token, Error::canceled());
            match old {
                Entry::Watched(waiter) => CancelReply::Settled(Some(waiter)),
                _ => CancelReply::Settled(None),
            }
        })
    }

    /// A pause that nobody waits for still counts as one: its lap does not sleep, as in Lwt.
    fn release(&self, token: u64) {
        let old = TABLE.try_with(|table| {
            let table = &mut *table.borrow_mut();
            table.rejection(token);
            table.entry(token).map(|entry| mem::replace(entry, Entry::Idle))
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
#[doc(alias = "yield_now")]
pub fn pause() -> Promise<()> {
    let token = TABLE.with_borrow_mut(|table| {
        table.current.push(Entry::Idle);
        table.live += 1;
        token(table.generation, table.current.len() - 1)
    });
    leaf(&Pauses, token)
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
    let guard = Waking;
    while let Some(entry) = next_woken() {
        if let Entry::Watched(waiter) = entry {
            waiter.wake();
        }
    }
    drop(guard);
}

/// Ends the waking also when a destructor panics through it; what was not woken yet counts as fulfilled.
struct Waking;

impl Drop for Waking {
    fn drop(&mut self) {
        let rest = TABLE.with_borrow_mut(|table| {
            table.is_waking = false;
            mem::take(&mut table.waking)
        });
        drop_keeping_capacity(rest);
    }
}

fn drop_keeping_capacity(mut entries: Vec<Entry>) {
    entries.clear();
    TABLE.with_borrow_mut(|table| table.waking = entries);
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

fn next_woken() -> Option<Entry> {
    TABLE.with_borrow_mut(|table| {
        let entry = table.waking.get_mut(table.woken as usize)?;
        let entry = mem::replace(entry, Entry::Gone);
        table.woken += 1;
        if !matches!(entry, Entry::Gone) {
            table.live -= 1;
        }
        Some(entry)
    })
}

/// Rejects all pauses with `Abandoned`; how many there were.
pub(crate) fn abandon() -> usize {
    let entries = TABLE.with_borrow_mut(|table| {
        let entries = mem::take(&mut table.current);
        let generation = table.generation;
        for (index, entry) in entries.iter().enumerate() {
            if matches!(entry, Entry::Watched(_)) {
                table.reject(token(generation, index), Error::abandoned());
            }
        }
        table.generation = generation.wrapping_add(1);
        table.live = 0;
        entries
    });
    let count = entries.len();
    for entry in entries {
        if let Entry::Watched(waiter) = entry {
            waiter.wake();
        }
    }
    count
}

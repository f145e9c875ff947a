//! Wakes from other threads: one mailbox per thread, found by the number in the waker.
//!
//! ```text
//!   foreign thread                         owner
//!   lock; push; parked? take it; unlock    park: lock; mail? no: parked = true; unlock; sleep
//!   parked was set: notify                 unpark; drain: lock; take all; unlock
//! ```
//!
//! Deciding to sleep and posting share one lock, so no wake-up is lost, and a sleep is ended by one
//! notification however many posts there are. Posting never blocks on anything but that short lock, and
//! posting to a thread that is gone does nothing. Numbers are reused by later threads: a stale wake then hits
//! a foreign task at worst, which is a spurious poll. Checked by the models in `tests/loom.rs`.

use std::cell::{Cell, OnceCell};
use std::fmt;

#[cfg(loom)]
use loom::sync::Mutex;
#[cfg(loom)]
use loom::sync::atomic::{AtomicBool, Ordering};
#[cfg(not(loom))]
use std::sync::Mutex;
#[cfg(not(loom))]
use std::sync::atomic::{AtomicBool, Ordering};

/// Ends the sleep of a mailbox's owner.
pub type Notify = std::sync::Arc<dyn Fn() + Send + Sync>;

/// Letters are tasks to wake, as packed by the waker.
pub struct Mailbox {
    inner: Mutex<Inner>,
    /// Whether there may be mail; a hint that saves the owner the lock.
    has_mail: AtomicBool,
}

struct Inner {
    letters: Vec<u64>,
    letters_max: usize,
    parked: bool,
    notify: Option<Notify>,
}

/// Letters that may lie here before they are looked through for repetitions.
const LETTERS_MIN: usize = 1024;

impl Inner {
    /// Adds a letter. Wakes of one task in a loop, while the owner computes, must not cost memory: when the
    /// letters have doubled since the last time, repetitions are thrown out. So there are at most twice as
    /// many letters as tasks that were woken, or `LETTERS_MIN`. Sorting forgets the order of wakes, which
    /// between threads is nobody's anyway.
    fn put(&mut self, letter: u64) {
        if self.letters.len() >= self.letters_max {
            self.letters.sort_unstable();
            self.letters.dedup();
            self.letters_max = LETTERS_MIN.max(2 * self.letters.len());
        }
        self.letters.push(letter);
    }
}

impl Default for Mailbox {
    fn default() -> Mailbox {
        Mailbox::new()
    }
}

impl Mailbox {
    /// An empty mailbox whose owner is awake.
    #[must_use]
    pub fn new() -> Mailbox {
        let inner = Inner { letters: Vec::new(), letters_max: LETTERS_MIN, parked: false, notify: None };
        Mailbox { inner: Mutex::new(inner), has_mail: AtomicBool::new(false) }
    }

    fn lock<R>(&self, use_inner: impl FnOnce(&mut Inner) -> R) -> R {
        // A panic cannot happen under this lock, so poisoning carries no news.
        match self.inner.lock() {
            Ok(mut inner) => use_inner(&mut inner),
            Err(poisoned) => use_inner(&mut poisoned.into_inner()),
        }
    }

    /// Leaves a letter and ends the owner's sleep if it sleeps. Any thread.
    pub fn post(&self, letter: u64) {
        let notify = self.lock(|inner| {
            inner.put(letter);
            self.has_mail.store(true, Ordering::Release);
            if std::mem::take(&mut inner.parked) { inner.notify.clone() } else { None }
        });
        if let Some(notify) = notify {
            notify();
        }
    }

    /// Moves all letters out. Owner only.
    pub fn drain(&self, letters: &mut Vec<u64>) {
        if !self.has_mail() {
            return;
        }
        self.lock(|inner| {
            self.has_mail.store(false, Ordering::Relaxed);
            letters.append(&mut inner.letters);
        });
    }

    /// Whether there is mail.
    #[must_use]
    pub fn has_mail(&self) -> bool {
        self.has_mail.load(Ordering::Acquire)
    }

    /// Says that the owner is about to sleep; `false` if there is mail, so that it must not.
    #[must_use]
    pub fn park(&self) -> bool {
        self.lock(|inner| {
            inner.parked = inner.letters.is_empty();
            inner.parked
        })
    }

    /// Says that the owner is awake: posts need not notify.
    pub fn unpark(&self) {
        self.lock(|inner| inner.parked = false);
    }

    /// Sets what ends the owner's sleep.
    pub fn set_notify(&self, notify: Option<Notify>) {
        let old = self.lock(|inner| std::mem::replace(&mut inner.notify, notify));
        drop(old);
    }
}

impl fmt::Debug for Mailbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mailbox").field("has_mail", &self.has_mail()).finish_non_exhaustive()
    }
}

/// All mailboxes by worker number; number 0 is never given out.
static REGISTRY: std::sync::RwLock<Vec<Option<std::sync::Arc<Mailbox>>>> = std::sync::RwLock::new(Vec::new());

/// The number of this thread, and its mailbox, from first use to the thread's end.
struct Registration {
    number: u16,
    mailbox: std::sync::Arc<Mailbox>,
}

thread_local! {
    static OWN: OnceCell<Registration> = const { OnceCell::new() };
    /// The number alone, for each wake: without a destructor it costs one load. 0 = ask `OWN`.
    static NUMBER: Cell<u16> = const { Cell::new(0) };
}

impl Registration {
    fn new() -> Registration {
        let mailbox = std::sync::Arc::new(Mailbox::new());
        let mut registry = REGISTRY.write().unwrap_or_else(std::sync::PoisonError::into_inner);
        if registry.is_empty() {
            registry.push(None);
        }
        let free = (1..registry.len()).find(|&number| registry[number].is_none());
        let number = free.unwrap_or_else(|| {
            registry.push(None);
            registry.len() - 1
        });
        registry[number] = Some(mailbox.clone());
        let number = u16::try_from(number).expect("over 65535 threads with tasks at the same time");
        NUMBER.set(number);
        Registration { number, mailbox }
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        NUMBER.set(0);
        let mut registry = REGISTRY.write().unwrap_or_else(std::sync::PoisonError::into_inner);
        registry[usize::from(self.number)] = None;
    }
}

/// This thread's number, given on first use; 0 while the thread is being destroyed.
#[inline]
pub(crate) fn own_number() -> u16 {
    match NUMBER.get() {
        0 => register(),
        number => number,
    }
}

#[cold]
fn register() -> u16 {
    OWN.try_with(|own| own.get_or_init(Registration::new).number).unwrap_or(0)
}

/// This thread's mailbox.
#[must_use]
pub fn own() -> std::sync::Arc<Mailbox> {
    OWN.with(|own| std::sync::Arc::clone(&own.get_or_init(Registration::new).mailbox))
}

/// Whether this thread has mail.
pub(crate) fn has_mail() -> bool {
    OWN.try_with(|own| own.get().is_some_and(|own| own.mailbox.has_mail())).unwrap_or(false)
}

/// Leaves a letter for another thread; nothing if that thread is gone.
pub(crate) fn post(number: u16, letter: u64) {
    let mailbox = {
        let registry = REGISTRY.read().unwrap_or_else(std::sync::PoisonError::into_inner);
        registry.get(usize::from(number)).and_then(Clone::clone)
    };
    if let Some(mailbox) = mailbox {
        mailbox.post(letter);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{LETTERS_MIN, Mailbox};

    #[test]
    fn letters_to_one_task_do_not_pile_up() {
        let mailbox = Mailbox::new();
        (0..100 * LETTERS_MIN as u64).for_each(|letter| mailbox.post(letter % 3));
        let mut letters = Vec::new();
        mailbox.drain(&mut letters);
        assert!(letters.len() <= LETTERS_MIN, "{} letters for 3 tasks", letters.len());
        letters.sort_unstable();
        letters.dedup();
        assert_eq!(letters, [0, 1, 2]);
    }

    #[test]
    fn letters_to_many_tasks_are_all_kept() {
        let mailbox = Mailbox::new();
        let count = 10 * LETTERS_MIN as u64;
        (0..count).for_each(|letter| mailbox.post(letter));
        let mut letters = Vec::new();
        mailbox.drain(&mut letters);
        letters.sort_unstable();
        assert!(letters.into_iter().eq(0..count));
    }
}

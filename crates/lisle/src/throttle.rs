//! So much per second and key: logins of a user, requests of an address.
//!
//! ```text
//!   wait(key) ─┬─ under the key's rate in this period ──► true, at once
//!              ├─ room to wait ──────────────────────────► pending ─ a later period has room ─► true
//!              └─ no room ───────────────────────────────► false, at once
//! ```
//!
//! A period begins for all keys alike, when the first one is used, and goes on as long as any key is in
//! use. At its end each key serves those who wait, first come, first served, and counts them for the next
//! period; a key that was not used at all is forgotten. So what is kept is bounded by the keys of one
//! period and by the number of those who may wait. Those who wait stand in one slab, linked by key: a
//! cancelled one leaves in O(1). The timer of the period holds the state; when nothing is in use there is
//! none. Not here: smoothing within a period.

use crate::time::sleep;
use lisle_core::{Promise, Resolver, cancelable, ready};
use slab::Slab;
use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::rc::{Rc, Weak};
use std::time::Duration;

/// Limits how often something is done, for each key by itself. Clones are handles of the same throttle.
///
/// ```
/// use lisle::throttle::Throttle;
/// lisle::run(async {
///     let logins = Throttle::new(2, 0); // two a second for each name, and nobody waits
///     assert!(logins.wait("ann").await.unwrap());
///     assert!(logins.wait("ann").await.unwrap());
///     assert!(!logins.wait("ann").await.unwrap(), "the third of this second");
///     assert!(logins.wait("bob").await.unwrap());
/// })
/// ```
pub struct Throttle<K> {
    shared: Rc<Shared<K>>,
}

struct Shared<K> {
    rate: u32,
    period: Duration,
    waiting_max: usize,
    state: RefCell<State<K>>,
}

struct State<K> {
    /// Where the key stands in `lines`.
    keys: HashMap<K, usize>,
    lines: Slab<Line>,
    waiting: Slab<Waiting>,
    /// The number of the next one who waits: a place in the slab is used again, a number is not.
    next_number: u64,
    has_timer: bool,
}

/// One key: how much of its rate is used, and who waits.
struct Line {
    used: u32,
    first: Option<usize>,
    last: Option<usize>,
}

/// One who waits; its neighbours in the line of its key.
struct Waiting {
    number: u64,
    resolver: Resolver<bool>,
    line: usize,
    before: Option<usize>,
    behind: Option<usize>,
}

/// The shortest period: a tick of the clock.
const PERIOD_MIN: Duration = Duration::from_millis(1);

impl<K: Hash + Eq + 'static> Throttle<K> {
    /// Lets each key pass `rate` times a second; up to `waiting_max` others, of all keys together, may wait.
    ///
    /// # Panics
    /// If `rate` is 0: nobody could ever pass.
    #[must_use]
    pub fn new(rate: u32, waiting_max: usize) -> Throttle<K> {
        Throttle::with_period(rate, Duration::from_secs(1), waiting_max)
    }

    /// As [`Throttle::new`], with another period than a second. One below a millisecond counts as one.
    ///
    /// # Panics
    /// If `rate` is 0.
    #[must_use]
    pub fn with_period(rate: u32, period: Duration, waiting_max: usize) -> Throttle<K> {
        assert!(rate > 0, "a rate of 0 lets nobody pass: use 1 or more, and a longer period");
        let period = period.max(PERIOD_MIN);
        let state = RefCell::new(State::empty());
        Throttle { shared: Rc::new(Shared { rate, period, waiting_max, state }) }
    }

    /// Promises `true` when `key` may go on: now, or when it is its turn; `false` at once if too many wait
    /// already. O(1).
    ///
    /// Cancelling gives the place up. Dropping the promise does not: its turn is used up.
    ///
    /// # Panics
    /// If `Hash` or `Eq` of the key use this same throttle.
    pub fn wait(&self, key: K) -> Promise<bool> {
        // `Hash` and `Eq` of the key run with the state borrowed, its destructor never does.
        let entered = self.shared.state.borrow_mut().enter(&self.shared, &key);
        let promise = match entered {
            Some(Entered::Full) => return ready(false),
            Some(Entered::Passed) => ready(true),
            Some(Entered::Waits(number, place, promise)) => self.cancelable(promise, number, place),
            None => {
                self.shared.state.borrow_mut().open_line(key);
                ready(true)
            }
        };
        self.shared.clone().begin_period();
        promise
    }

    /// How many wait now.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.shared.state.borrow().waiting.len()
    }

    fn cancelable(&self, promise: Promise<bool>, number: u64, place: usize) -> Promise<bool> {
        let shared: Weak<Shared<K>> = Rc::downgrade(&self.shared);
        promise.on_cancel(move || {
            if let Some(shared) = shared.upgrade() {
                let left = shared.state.borrow_mut().leave(number, place);
                drop(left);
            }
        })
    }
}

/// What became of somebody whose key is known.
enum Entered {
    Passed,
    Full,
    Waits(u64, usize, Promise<bool>),
}

impl<K: Hash + Eq> State<K> {
    fn empty() -> State<K> {
        State {
            keys: HashMap::new(),
            lines: Slab::new(),
            waiting: Slab::new(),
            next_number: 0,
            has_timer: false,
        }
    }

    /// `None` if the key is new.
    fn enter(&mut self, shared: &Shared<K>, key: &K) -> Option<Entered> {
        let at = *self.keys.get(key)?;
        let line = &mut self.lines[at];
        if line.used < shared.rate {
            line.used += 1;
            return Some(Entered::Passed);
        }
        if self.waiting.len() >= shared.waiting_max {
            return Some(Entered::Full);
        }
        let (promise, resolver) = cancelable();
        let number = self.next_number;
        self.next_number += 1;
        let before = line.last;
        let place = self.waiting.insert(Waiting { number, resolver, line: at, before, behind: None });
        line.last = Some(place);
        match before {
            Some(before) => self.waiting[before].behind = Some(place),
            None => line.first = Some(place),
        }
        Some(Entered::Waits(number, place, promise))
    }

    fn open_line(&mut self, key: K) {
        let at = self.lines.insert(Line { used: 1, first: None, last: None });
        self.keys.insert(key, at);
    }

    /// Takes somebody out, if it is still there.
    fn leave(&mut self, number: u64, place: usize) -> Option<Resolver<bool>> {
        self.waiting.get(place).filter(|waiting| waiting.number == number)?;
        let Waiting { resolver, line, before, behind, .. } = self.waiting.remove(place);
        let line = &mut self.lines[line];
        match before {
            Some(before) => self.waiting[before].behind = behind,
            None => line.first = behind,
        }
        match behind {
            Some(behind) => self.waiting[behind].before = before,
            None => line.last = before,
        }
        Some(resolver)
    }

    /// A new period: who may pass now, and the keys that are forgotten.
    fn turn(&mut self, rate: u32) -> (Vec<Resolver<bool>>, Vec<(K, usize)>) {
        let mut passing = Vec::new();
        let places: Vec<usize> = self.lines.iter().map(|(at, _)| at).collect();
        for at in places {
            self.lines[at].used = 0;
            while self.lines[at].used < rate
                && let Some(place) = self.lines[at].first
            {
                self.lines[at].used += 1;
                let number = self.waiting[place].number;
                passing.extend(self.leave(number, place));
            }
        }
        let lines = &self.lines;
        let forgotten: Vec<_> = self.keys.extract_if(|_, at| lines[*at].used == 0).collect();
        for (_, at) in &forgotten {
            self.lines.remove(*at);
        }
        (passing, forgotten)
    }
}

impl<K: Hash + Eq + 'static> Shared<K> {
    /// Sets the timer of the period, if there is none and a key is in use.
    fn begin_period(self: Rc<Self>) {
        {
            let state = &mut *self.state.borrow_mut();
            if state.has_timer || state.keys.is_empty() {
                return;
            }
            state.has_timer = true;
        }
        let timer = sleep(self.period).then(move |slept| {
            self.state.borrow_mut().has_timer = false;
            // Else the runtime is gone.
            if slept.is_ok() {
                self.end_period();
            }
            ready(())
        });
        timer.detach();
    }

    fn end_period(self: Rc<Self>) {
        let (passing, forgotten) = self.state.borrow_mut().turn(self.rate);
        self.begin_period();
        for resolver in passing {
            resolver.resolve(true);
        }
        drop(forgotten);
    }
}

impl<K> Clone for Throttle<K> {
    fn clone(&self) -> Throttle<K> {
        Throttle { shared: self.shared.clone() }
    }
}

impl<K> fmt::Debug for Throttle<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shared { rate, period, waiting_max, .. } = &*self.shared;
        let shown = &mut f.debug_struct("Throttle");
        shown.field("rate", rate).field("period", period).field("waiting_max", waiting_max);
        shown.finish_non_exhaustive()
    }
}

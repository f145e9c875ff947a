//! Every kind of callback × everything a callback may do to its surroundings × every way to be called.
//!
//! One law for all: nothing escapes to whoever resolved; a panic is reported once and anything else not at
//! all; the neighbours on the same promise run; nothing stays borrowed, nested or registered.
//!
//! Whoever adds a callback to the library adds its row to `KINDS`; whoever adds an operation, to `ACTIONS`.

mod rig;

use lisle_core::sched::sleep::{advance, sleep_count, sleep_until};
use lisle_core::sched::tasks::{run_ready, task_count};
use lisle_core::sched::{pause::paused_count, pause::wake_paused, reset};
use lisle_core::{
    Promise, Resolver, Shared, all, both, cancelable, choose, hook, join, live_waiters, npick, pair, pause,
    pick, ready, rejected, spawn, spawn_queued,
};
use rig::*;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Wake, Waker};

type Act = Box<dyn FnOnce()>;
type Slot = Rc<RefCell<Option<Act>>>;

/// A value that may act, once, when it is cloned and when it is dropped.
#[derive(Default)]
struct Charge {
    on_clone: Slot,
    on_drop: Slot,
}

fn fire(slot: &Slot) {
    let act = slot.borrow_mut().take();
    if let Some(act) = act {
        act();
    }
}

impl Clone for Charge {
    fn clone(&self) -> Charge {
        fire(&self.on_clone);
        Charge { on_clone: self.on_clone.clone(), on_drop: self.on_drop.clone() }
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        fire(&self.on_drop);
    }
}

/// What a callback finds around it.
struct Stage {
    /// The promise it waits for; a callback may drop it.
    subject: RefCell<Option<Shared<Charge>>>,
    resolver: RefCell<Option<Resolver<Charge>>>,
    /// What the subject will be resolved with is charged with these.
    on_clone: Slot,
    on_drop: Slot,
    /// The promise that the callback is the work of, if it is.
    result: RefCell<Option<Promise<Charge>>>,
    /// A promise that has nothing to do with it.
    other: Shared<Charge>,
    other_resolver: RefCell<Option<Resolver<Charge>>>,
    kept: RefCell<Vec<Promise<Charge>>>,
    trace: Trace,
    reports: Rc<Cell<usize>>,
}

impl Stage {
    fn new() -> Rc<Stage> {
        let ((subject, resolver), (other, other_resolver)) = (cancelable(), cancelable());
        let other = other.shared();
        other.on_failure(drop);
        let reports = Rc::new(Cell::new(0));
        let told = reports.clone();
        hook::set(move |_| told.set(told.get() + 1));
        Rc::new(Stage {
            subject: RefCell::new(Some(subject.shared())),
            resolver: RefCell::new(Some(resolver)),
            on_clone: Slot::default(),
            on_drop: Slot::default(),
            result: RefCell::new(None),
            other,
            other_resolver: RefCell::new(Some(other_resolver)),
            kept: RefCell::default(),
            trace: Trace::new(),
            reports,
        })
    }

    /// The subject; after it was dropped another promise that is settled.
    fn subject(&self) -> Shared<Charge> {
        let subject = self.subject.borrow().clone();
        subject.unwrap_or_else(|| ready(Charge::default()).shared())
    }

    fn result_is(&self, result: Promise<Charge>) {
        *self.result.borrow_mut() = Some(result);
    }

    /// Keeps a promise whose failure is of no interest, unless it is a panic, which counts as reported.
    fn keep(&self, promise: Promise<Charge>) {
        let reports = self.reports.clone();
        let promise = promise.catch(move |error| {
            reports.set(reports.get() + usize::from(error.panic_message().is_some()));
            ready(Charge::default())
        });
        self.kept.borrow_mut().push(promise);
    }

    fn trigger(&self, outcome: Outcome, now: bool) {
        if outcome == Outcome::Canceled {
            return self.subject().cancel();
        }
        let resolver = self.resolver.borrow_mut().take().expect("triggered once");
        let charge = || Charge { on_clone: self.on_clone.clone(), on_drop: self.on_drop.clone() };
        match (outcome, now) {
            (Outcome::Value, false) => resolver.resolve(charge()),
            (Outcome::Value, true) => resolver.resolve_now(charge()),
            (_, false) => resolver.reject(fail("subject")),
            (_, true) => resolver.reject_now(fail("subject")),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Value,
    Failure,
    Canceled,
}

/// When a kind of callback can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    Always,
    /// Not on a settled promise: there it is no callback, or the caller's own stack.
    PendingOnly,
}

use Outcome::{Canceled, Failure, Value};
use Reach::{Always, PendingOnly};

type Kind = (&'static str, Outcome, Reach, fn(&Rc<Stage>, Act));

/// Each registers its callback, which acts.
const KINDS: &[Kind] = &[
    ("bind", Value, Always, |stage, act| {
        stage.result_is(stage.subject().bind(|value| {
            act();
            ready(value)
        }));
    }),
    ("map", Value, Always, |stage, act| {
        stage.result_is(stage.subject().map(|value| {
            act();
            value
        }));
    }),
    ("try_map", Value, Always, |stage, act| {
        stage.result_is(stage.subject().try_map(|value| {
            act();
            lisle_core::Result::<_, lisle_core::Error>::Ok(value)
        }));
    }),
    ("catch", Failure, Always, |stage, act| {
        stage.result_is(stage.subject().catch(|_| {
            act();
            ready(Charge::default())
        }));
    }),
    ("catch of a cancellation", Canceled, Always, |stage, act| {
        stage.result_is(stage.subject().catch(|_| {
            act();
            ready(Charge::default())
        }));
    }),
    ("try_bind, value", Value, Always, |stage, act| {
        let f = |value| {
            act();
            ready(value)
        };
        stage.result_is(stage.subject().try_bind(f, rejected::<Charge>));
    }),
    ("try_bind, handler", Failure, Always, |stage, act| {
        let handler = |_| {
            act();
            ready(Charge::default())
        };
        stage.result_is(stage.subject().try_bind(ready::<Charge>, handler));
    }),
    ("then", Value, Always, |stage, act| {
        stage.result_is(stage.subject().then(|result| {
            act();
            result
        }));
    }),
    ("finalize", Value, Always, |stage, act| {
        stage.result_is(stage.subject().finalize(|| {
            act();
            ready(())
        }));
    }),
    ("a late promise", Value, Always, |stage, act| {
        let inner = pause().map(|()| {
            act();
            Charge::default()
        });
        stage.result_is(stage.subject().bind(move |_| inner));
    }),
    ("on_success", Value, Always, |stage, act| stage.subject().on_success(|_| act())),
    ("on_failure", Failure, Always, |stage, act| stage.subject().on_failure(|_| act())),
    ("on_termination", Value, Always, |stage, act| stage.subject().on_termination(act)),
    ("on_termination of a failure", Failure, Always, |stage, act| stage.subject().on_termination(act)),
    ("on_any, value", Value, Always, |stage, act| stage.subject().on_any(|_| act(), drop)),
    ("on_any, failure", Failure, Always, |stage, act| stage.subject().on_any(drop, |_| act())),
    ("on_cancel", Canceled, Always, |stage, act| stage.subject().on_cancel(act)),
    ("on_cancel of a wrapper", Canceled, PendingOnly, |stage, act| {
        stage.keep(stage.subject().wrap_in_cancelable().on_cancel(act));
    }),
    ("detach_with", Failure, Always, |stage, act| stage.subject().detach_with(|_| act())),
    ("a task", Value, Always, |stage, act| {
        let subject = stage.subject().promise();
        stage.result_is(spawn(async move {
            drop(subject.await);
            act();
            Charge::default()
        }));
    }),
    ("a queued task", Canceled, Always, |stage, act| {
        let subject = stage.subject().promise();
        stage.result_is(spawn_queued(async move {
            drop(subject.await);
            act();
            Charge::default()
        }));
    }),
    ("a destructor in a task", Value, Always, |stage, act| {
        let subject = stage.subject().promise();
        drop(spawn(async move {
            let _acts = OnDrop::new(act);
            drop(subject.await);
        }));
    }),
    ("a value that join drops", Value, PendingOnly, |stage, act| {
        *stage.on_drop.borrow_mut() = Some(act);
        drop(join([stage.subject().promise()]));
    }),
    ("a value that all drops for an error", Value, PendingOnly, |stage, act| {
        *stage.on_drop.borrow_mut() = Some(act);
        drop(all([rejected(lisle_core::Error::canceled()), stage.subject().promise()]));
    }),
    ("a value that nobody takes", Value, PendingOnly, |stage, act| {
        *stage.on_drop.borrow_mut() = Some(act);
        drop(stage.subject().promise().map(drop));
    }),
    ("a clone", Value, PendingOnly, |stage, act| {
        *stage.on_clone.borrow_mut() = Some(act);
        stage.result_is(stage.subject().map(|value| value));
    }),
    ("a clone for both", Value, PendingOnly, |stage, act| {
        *stage.on_clone.borrow_mut() = Some(act);
        let subject = stage.subject();
        stage.result_is(both(subject.promise(), ready(())).map(|(value, ())| value));
    }),
    ("a clone for a pick", Value, PendingOnly, |stage, act| {
        *stage.on_clone.borrow_mut() = Some(act);
        stage.result_is(pick([stage.other.promise(), stage.subject().promise()]));
    }),
    ("a closure that is not called", Failure, PendingOnly, |stage, act| {
        let acts = OnDrop::new(act);
        stage.keep(stage.subject().map(move |value| {
            drop(acts);
            value
        }));
    }),
    ("a cancel callback that is not called", Value, PendingOnly, |stage, act| {
        let acts = OnDrop::new(act);
        stage.subject().on_cancel(move || drop(acts));
    }),
    ("the hook", Value, PendingOnly, |stage, act| {
        let (reports, act) = (stage.reports.clone(), Slot::new(RefCell::new(Some(act))));
        hook::set(move |_| {
            reports.set(reports.get() + 1);
            fire(&act);
        });
        drop(stage.subject().try_map(|_| Err::<(), _>(fail("for the hook"))));
    }),
    ("a waker", Value, PendingOnly, |stage, act| {
        WOKEN.set(Some(act));
        let mut handle = stage.subject().promise();
        assert!(poll_with(&mut handle, &Waker::from(Arc::new(ActsWhenWoken))).is_pending());
        stage.kept.borrow_mut().push(handle);
    }),
];

thread_local! {
    static WOKEN: RefCell<Option<Act>> = const { RefCell::new(None) };
}

struct ActsWhenWoken;

impl Wake for ActsWhenWoken {
    fn wake(self: Arc<Self>) {
        if let Some(act) = WOKEN.take() {
            act();
        }
    }
}

type Action = (&'static str, fn(&Rc<Stage>));

/// What a callback does.
const ACTIONS: &[Action] = &[
    ("nothing", |_| {}),
    ("panics", |_| panic!("acting")),
    ("panics with a payload that panics", |_| panic_any(Bomb)),
    ("resolves another", |stage| {
        if let Some(resolver) = stage.other_resolver.take() {
            resolver.resolve(Charge::default());
        }
    }),
    ("resolves another now", |stage| {
        if let Some(resolver) = stage.other_resolver.take() {
            resolver.resolve_now(Charge::default());
        }
    }),
    ("drops another's resolver", |stage| drop(stage.other_resolver.take())),
    ("resolves the subject again", |stage| {
        if let Some(resolver) = stage.resolver.take() {
            resolver.resolve_now(Charge::default());
        }
    }),
    ("cancels the subject", |stage| stage.subject().cancel()),
    ("cancels another", |stage| stage.other.cancel()),
    ("cancels its own result", |stage| {
        let result = stage.result.take();
        if let Some(result) = result {
            result.cancel();
            stage.result_is(result);
        }
    }),
    ("drops its own result", |stage| drop(stage.result.take())),
    ("shares its own result", |stage| {
        if let Some(result) = stage.result.take() {
            stage.result_is(result.shared().promise());
        }
    }),
    ("binds its own result", |stage| {
        if let Some(result) = stage.result.take() {
            stage.result_is(result.bind(ready).finalize(|| ready(())));
        }
    }),
    ("binds the subject", |stage| stage.keep(stage.subject().bind(ready))),
    ("observes the subject", |stage| {
        stage.subject().on_any(drop, drop);
        stage.subject().on_termination(|| {});
        stage.subject().on_cancel(|| {});
    }),
    ("binds another", |stage| stage.keep(stage.other.bind(ready))),
    ("looks at the subject", |stage| drop(stage.subject().state())),
    ("drops the subject", |stage| drop(stage.subject.take())),
    ("joins the subject and another", |stage| {
        let inputs = || [stage.subject().promise(), stage.other.promise()];
        stage.keep(join(inputs()).map(|()| Charge::default()));
        stage.keep(all(inputs()).map(|_| Charge::default()));
    }),
    ("chooses between the subject and another", |stage| {
        let inputs = || [stage.other.promise(), stage.subject().promise()];
        stage.keep(choose(inputs()));
        stage.keep(npick(inputs()).map(|_| Charge::default()));
    }),
    ("wraps the subject", |stage| {
        stage.keep(stage.subject().protected());
        stage.keep(stage.subject().no_cancel());
        stage.keep(stage.subject().wrap_in_cancelable());
    }),
    ("spawns", |stage| {
        let (subject, other) = (stage.subject().promise(), stage.other.promise());
        drop(spawn(async move { (subject.await.is_ok(), other.await.is_ok()) }));
        drop(spawn_queued(pause()));
    }),
    ("sleeps and pauses", |_| {
        drop(sleep_until(5).map(|()| ()));
        drop(pause().map(|()| ()));
    }),
    ("fails unseen", |stage| {
        // Reported, and so not counted.
        let before = stage.reports.get();
        drop(rejected::<()>(fail("unseen")));
        stage.reports.set(before);
    }),
    ("runs a lap", |_| {
        run_ready();
        wake_paused();
        advance(1);
    }),
    ("resets the runtime", |_| reset()),
];

/// How the subject is settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Deferring,
    Immediate,
    InsideOfAResolution,
    InsideOfManyResolutions,
    BeforeTheCallbackIsThere,
}

/// So many that nodes stop to run on the stack what they can hand out.
const RESOLUTIONS: u32 = 50;

/// Calls `inside` from a callback of a callback of …
fn nested(levels: u32, inside: Act) {
    let (gate, open) = pair::<()>();
    gate.on_success(move |()| if levels == 0 { inside() } else { nested(levels - 1, inside) });
    open.resolve_now(());
}

/// Runs one cell of the table.
fn play(kind: &Kind, action: &Action, way: Way) {
    let (name, outcome, reach, arrange) = *kind;
    if way == Way::BeforeTheCallbackIsThere && reach == PendingOnly {
        return;
    }
    let stage = Stage::new();
    let acts: Act = {
        let (stage, act) = (Rc::downgrade(&stage), action.1);
        Box::new(move || {
            let stage = stage.upgrade().expect("the stage outlives the play");
            stage.trace.add("acts");
            act(&stage);
        })
    };
    let subject = stage.subject();
    subject.on_failure(drop);
    subject.on_termination(stage.trace.says("older"));
    if way == Way::BeforeTheCallbackIsThere {
        stage.trigger(outcome, false);
    }
    arrange(&stage, acts);
    subject.on_termination(stage.trace.says("newer"));
    drop(subject);
    match way {
        Way::Deferring => stage.trigger(outcome, false),
        Way::Immediate => stage.trigger(outcome, true),
        Way::InsideOfAResolution => {
            let (gate, open) = pair::<()>();
            let inside = stage.clone();
            gate.on_success(move |()| inside.trigger(outcome, false));
            open.resolve(());
        }
        Way::InsideOfManyResolutions => {
            let inside = stage.clone();
            nested(RESOLUTIONS, Box::new(move || inside.trigger(outcome, true)));
        }
        Way::BeforeTheCallbackIsThere => {}
    }
    run();
    let mut ran: Vec<String> = stage.trace.take().split(' ').map(str::to_owned).collect();
    ran.sort();
    assert_eq!(ran, ["acts", "newer", "older"], "each once");
    strike(&stage);
    let expected = usize::from(name == "the hook" || action.0.starts_with("panics"));
    assert_eq!(stage.reports.get(), expected, "reports");
}

/// Drops everything and looks whether the thread is as it was.
fn strike(stage: &Rc<Stage>) {
    // Nobody minds what becomes of these.
    let silent = stage.reports.get();
    let _ = catch_unwind(AssertUnwindSafe(|| drop(stage.other_resolver.take())));
    assert_eq!(stage.reports.get(), silent, "whoever waits for another looks at its failure");
    drop(stage.result.take());
    drop(stage.resolver.take());
    drop(stage.kept.take());
    drop(stage.subject.take());
    let reports = stage.reports.get();
    reset();
    assert_eq!(stage.reports.get(), reports, "a reset tells nobody");
    assert_eq!((task_count(), sleep_count(), paused_count()), (0, 0, 0), "left after a reset");
    assert_eq!(live_waiters(), 0, "waiters are left");
    // Nothing counts as a resolution in progress: what defers runs at once.
    let (promise, resolver) = pair::<u32>();
    promise.on_success(stage.trace.adds("at once"));
    resolver.resolve(1);
    assert_eq!(stage.trace.take(), "at once");
}

fn plays(way: Way) {
    let mut failures = Vec::new();
    for kind in KINDS {
        for action in ACTIONS {
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| play(kind, action, way))) {
                let text = panic.downcast_ref::<String>().cloned().unwrap_or_else(|| "a panic".to_owned());
                failures.push(format!("{} × {}: {text}", kind.0, action.0));
            }
            hook::reset();
        }
    }
    assert!(failures.is_empty(), "{way:?}:\n{}", failures.join("\n"));
}

#[test]
fn callbacks_of_a_deferring_resolution() {
    plays(Way::Deferring);
}

#[test]
fn callbacks_of_an_immediate_resolution() {
    plays(Way::Immediate);
}

#[test]
fn callbacks_of_a_resolution_inside_of_another() {
    plays(Way::InsideOfAResolution);
}

#[test]
fn callbacks_of_a_resolution_deep_inside_of_others() {
    plays(Way::InsideOfManyResolutions);
}

#[test]
fn callbacks_on_a_promise_that_is_settled_already() {
    plays(Way::BeforeTheCallbackIsThere);
}

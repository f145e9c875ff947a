//! Cancelling a promise: what is cancelable, callbacks for it, the wrappers, the order. Rows CANCEL, ONCANCEL, PROT,
//! WRAPC, NOCANCEL, RESCANC, X-CANCEL.
//!
//! The altered Lwts that only these tests catch: cancel callbacks oldest first (ONCANCEL-02), and a cancel that runs
//! each promise's callbacks as it finds it (X-CANCEL-01).

use crate::rig::{Log, fail, result, state};
use lisle_core::sched::pause::{paused_count, wake_paused};
use lisle_core::{Promise, Resolver, Shared, cancelable, join, npick, pair, pause, pick, ready, rejected};

type Waiting = (Shared<&'static str>, Resolver<&'static str>);

fn fixed() -> Waiting {
    let (promise, resolver) = pair();
    (promise.shared(), resolver)
}

fn soft() -> Waiting {
    let (promise, resolver) = cancelable();
    (promise.shared(), resolver)
}

/// CANCEL-01: a settled promise stays as it is.
#[test]
fn cancel_01_a_settled_promise() {
    let (value, error) = (ready("foo").shared(), rejected::<()>(fail("E")).shared());
    value.cancel();
    error.cancel();
    assert_eq!((state(&value).as_str(), state(&error).as_str()), (r#"Ok("foo")"#, "Err(E)"));
}

/// CANCEL-02, CANCEL-03: a promise of the kind that is not cancelable stays pending, the other is rejected on return.
#[test]
fn cancel_02_both_kinds() {
    let ((p, _p), (q, _q)) = (fixed(), soft());
    p.cancel();
    q.cancel();
    assert_eq!((state(&p).as_str(), state(&q).as_str()), ("pending", "Err(Canceled)"));
}

/// CANCEL-04: callbacks have run when `cancel` returns.
#[test]
fn cancel_04_callbacks_have_run_on_return() {
    let log = Log::default();
    let (p, _p) = soft();
    p.on_failure(log.shows());
    p.cancel();
    assert_eq!(log.take(), "canceled");
}

/// CANCEL-05: also inside a callback `cancel` is at once, state and callbacks.
#[test]
fn cancel_05_inside_a_callback() {
    let log = Log::default();
    let ((p, _p), (q, _q)) = (soft(), soft());
    let (inner, seen) = (log.clone(), q.clone());
    q.on_failure(log.adds("callback of p2"));
    p.on_failure(move |_| {
        seen.cancel();
        inner.add(format!("p2 {}", state(&seen)));
    });
    p.cancel();
    assert_eq!(log.take(), "callback of p2 p2 Err(Canceled)");
}

/// ONCANCEL-01: the callback runs when the promise is cancelled.
#[test]
fn oncancel_01_runs_when_cancelled() {
    let log = Log::default();
    let (p, _p) = soft();
    p.on_cancel(log.says("cancelled"));
    assert_eq!(log.take(), "");
    p.cancel();
    assert_eq!(log.take(), "cancelled");
}

/// ONCANCEL-02: several run all, the newest first.
#[test]
fn oncancel_02_several() {
    let log = Log::default();
    let (p, _p) = soft();
    ["a", "b", "c"].into_iter().for_each(|name| p.on_cancel(log.says(name)));
    p.cancel();
    assert_eq!(log.take(), "c b a");
}

/// ONCANCEL-03: they run before any other callback, whenever they were registered.
#[test]
fn oncancel_03_before_all_others() {
    let log = Log::default();
    let (p, _p) = soft();
    p.on_cancel(log.says("c1"));
    p.on_failure(log.adds("f"));
    p.on_cancel(log.says("c2"));
    p.cancel();
    assert_eq!(log.take(), "c2 c1 f");
}

/// ONCANCEL-04, ONCANCEL-05: on a promise that is settled already the callback runs at once if it was cancelled, else
/// never.
#[test]
fn oncancel_04_on_a_settled_promise() {
    let log = Log::default();
    ready("foo").on_cancel(log.says("fulfilled")).detach();
    rejected::<()>(fail("E")).on_cancel(log.says("rejected")).detach_with(drop);
    let (p, _p) = soft();
    p.cancel();
    p.on_cancel(log.says("cancelled"));
    assert_eq!(log.take(), "cancelled");
}

/// ONCANCEL-06: only the error matters: a promise of the kind that is not cancelable, rejected with `Canceled`.
#[test]
fn oncancel_06_rejected_with_canceled_by_the_resolver() {
    let log = Log::default();
    let ((p, resolver), (q, other)) = (fixed(), fixed());
    p.on_cancel(log.says("p"));
    q.on_cancel(log.says("q"));
    resolver.reject(lisle_core::Error::canceled());
    other.reject(fail("E"));
    assert_eq!(log.take(), "p");
}

type Wrapper = fn(&Shared<&'static str>) -> Promise<&'static str>;
const PROTECTED: Wrapper = |source| source.protected();
const NO_CANCEL: Wrapper = |source| source.no_cancel();
const IN_CANCELABLE: Wrapper = |source| source.wrap_in_cancelable();

/// A wrapper of a settled source has its outcome; of a pending one of either kind it is pending, and follows it.
fn follows(wrap: Wrapper) {
    assert_eq!(result(wrap(&ready("foo").shared())), r#"Ok("foo")"#);
    assert_eq!(result(wrap(&rejected(fail("E")).shared())), "Err(E)");
    for kind in [fixed, soft] {
        let ((p, resolver), (q, rejecter)) = (kind(), kind());
        let (wrapper, failing) = (wrap(&p), wrap(&q));
        assert!(wrapper.is_pending() && p.is_pending());
        resolver.resolve("foo");
        rejecter.reject(fail("E"));
        assert_eq!((result(wrapper).as_str(), state(&p).as_str()), (r#"Ok("foo")"#, r#"Ok("foo")"#));
        assert_eq!(result(failing), "Err(E)");
    }
}

/// A wrapper that a callback returned, and so was merged, follows its source too.
fn follows_when_merged(wrap: Wrapper) {
    let ((p, resolver), (first, start)) = (soft(), pair::<()>());
    let wrapper = wrap(&p).shared();
    let returned = wrapper.clone();
    let outer = first.bind(move |()| returned);
    start.resolve(());
    assert!(outer.is_pending());
    resolver.resolve("foo");
    assert_eq!((result(outer).as_str(), state(&wrapper).as_str()), (r#"Ok("foo")"#, r#"Ok("foo")"#));
}

/// PROT-01, PROT-02, PROT-03: a protected wrapper follows its source.
#[test]
fn prot_01_follows() {
    follows(PROTECTED);
}

/// PROT-04, PROT-05: cancelling the wrapper leaves the source alone, and the wrapper does not follow it any more.
#[test]
fn prot_04_the_source_is_left_alone() {
    let (p, resolver) = soft();
    let wrapper = p.protected().shared();
    wrapper.cancel();
    assert_eq!((state(&wrapper).as_str(), state(&p).as_str()), ("Err(Canceled)", "pending"));
    resolver.resolve("foo");
    assert_eq!((state(&wrapper).as_str(), state(&p).as_str()), ("Err(Canceled)", r#"Ok("foo")"#));
}

/// PROT-06: also when the wrapper was merged.
#[test]
fn prot_06_merged() {
    follows_when_merged(PROTECTED);
}

/// WRAPC-01, WRAPC-02, WRAPC-03: a wrapper in a cancelable follows its source.
#[test]
fn wrapc_01_follows() {
    follows(IN_CANCELABLE);
}

/// WRAPC-04, WRAPC-06: cancelling the wrapper cancels a cancelable source, whose resolver is then ignored.
#[test]
fn wrapc_04_a_cancelable_source() {
    let (p, resolver) = soft();
    let wrapper = p.wrap_in_cancelable().shared();
    wrapper.cancel();
    assert_eq!((state(&wrapper).as_str(), state(&p).as_str()), ("Err(Canceled)", "Err(Canceled)"));
    resolver.resolve("foo");
    assert_eq!((state(&wrapper).as_str(), state(&p).as_str()), ("Err(Canceled)", "Err(Canceled)"));
}

/// WRAPC-05, WRAPC-07: a source that cannot be cancelled goes on; the wrapper is cancelled all the same, for good.
#[test]
fn wrapc_05_a_source_that_is_not_cancelable() {
    let (p, resolver) = fixed();
    let wrapper = p.wrap_in_cancelable().shared();
    wrapper.cancel();
    assert_eq!((state(&wrapper).as_str(), state(&p).as_str()), ("Err(Canceled)", "pending"));
    resolver.resolve("foo");
    assert_eq!((state(&wrapper).as_str(), state(&p).as_str()), ("Err(Canceled)", r#"Ok("foo")"#));
}

/// WRAPC-08: also when the wrapper was merged.
#[test]
fn wrapc_08_merged() {
    follows_when_merged(IN_CANCELABLE);
}

/// NOCANCEL-01, NOCANCEL-02: a wrapper that cannot be cancelled follows its source.
#[test]
fn nocancel_01_follows() {
    follows(NO_CANCEL);
    follows_when_merged(NO_CANCEL);
}

/// NOCANCEL-03: cancelling it does nothing.
#[test]
fn nocancel_03_cannot_be_cancelled() {
    let (p, _p) = soft();
    let wrapper = p.no_cancel();
    wrapper.cancel();
    assert!(wrapper.is_pending() && p.is_pending());
}

/// RESCANC-01: the resolver of a cancelled promise is ignored, in either flavour.
#[test]
fn rescanc_01_a_late_resolution_is_ignored() {
    let resolutions: [fn(Resolver<&'static str>); 4] = [
        |resolver| resolver.resolve("foo"),
        |resolver| resolver.resolve_now("foo"),
        |resolver| resolver.reject(fail("E")),
        |resolver| resolver.reject_now(fail("E")),
    ];
    for resolve in resolutions {
        let (p, resolver) = soft();
        p.cancel();
        assert!(!resolver.is_pending(), "which can be asked");
        resolve(resolver);
        assert_eq!(state(&p), "Err(Canceled)");
    }
}

/// X-CANCEL-01: all that a cancel finds is cancelled before any callback runs; then callbacks run, last found first.
#[test]
fn x_cancel_01_first_all_states_then_callbacks_last_found_first() {
    let log = Log::default();
    let inputs = [soft(), soft(), soft()];
    for (index, (p, _)) in inputs.iter().enumerate() {
        let (log, all) = (log.clone(), [&inputs[0].0, &inputs[1].0, &inputs[2].0].map(Shared::clone));
        p.on_failure(move |_| {
            let canceled = all.iter().filter(|p| !p.is_pending()).count();
            log.add(format!("p{} of {canceled}", index + 1));
        });
    }
    let joined = join(inputs.iter().map(|(p, _)| p.promise()));
    joined.cancel();
    assert_eq!(log.take(), "p3 of 3 p2 of 3 p1 of 3");
    assert_eq!(result(joined), "Err(Canceled)");
}

/// X-CANCEL-02: the losers of a pick are cancelled in order, each with its callbacks; the pick is resolved last.
#[test]
fn x_cancel_02_losers_in_order_and_the_pick_last() {
    let log = Log::default();
    let ((p, resolver), (q, _q), (r, _r)) = (soft(), soft(), soft());
    let picked = pick([p.promise(), q.promise(), r.promise()]).shared();
    for (loser, name) in [(&q, "p2"), (&r, "p3")] {
        let (log, picked, third) = (log.clone(), picked.clone(), r.clone());
        loser.on_failure(move |_| {
            log.add(format!("{name}, p3 {}, pick {}", state(&third), state(&picked)));
        });
    }
    picked.on_success(log.shows());
    resolver.resolve("foo");
    assert_eq!(log.take(), "p2, p3 pending, pick pending p3, p3 Err(Canceled), pick pending foo");
}

/// X-CANCEL-03: a promise rejected with `Canceled` by its resolver is a cancelled one. (A second resolution does not
/// compile; one that comes from elsewhere, the cancel of what it was merged into, is ignored.)
#[test]
fn x_cancel_03_rejected_with_canceled_by_the_resolver() {
    let (p, resolver) = fixed();
    let wrapper = p.wrap_in_cancelable().shared();
    resolver.reject(lisle_core::Error::canceled());
    wrapper.cancel();
    p.cancel();
    assert_eq!((state(&p).as_str(), state(&wrapper).as_str()), ("Err(Canceled)", "Err(Canceled)"));
}

/// X-CANCEL-04: a cancelled pause is rejected and does not count any more, so the loop may sleep.
#[test]
fn x_cancel_04_a_cancelled_pause_does_not_count() {
    let (paused, other) = (pause(), pause());
    paused.cancel();
    assert_eq!((result(paused).as_str(), paused_count()), ("Err(Canceled)", 1));
    wake_paused();
    assert_eq!((result(other).as_str(), paused_count()), ("Ok(())", 0));
}

/// X-CANCEL-05: `npick` lists its values before it cancels the losers, `pick` cancels them before it looks; what is
/// settled already is not touched by either.
#[test]
fn x_cancel_05_values_are_listed_before_the_losers_are_cancelled() {
    // A loser whose cancellation settles a further input: too late for the list of `npick`.
    let made = || {
        let ((loser, resolver), (late, late_resolver)) = (soft(), soft());
        loser.on_cancel(move || late_resolver.resolve("late"));
        (loser, resolver, late)
    };
    let (loser, _resolver, late) = made();
    let listed = npick([loser.promise(), late.promise(), ready("foo")]);
    assert_eq!((result(listed).as_str(), state(&late).as_str()), (r#"Ok(["foo"])"#, r#"Ok("late")"#));
    let (loser, _resolver, late) = made();
    let picked = pick([loser.promise(), late.promise(), ready("foo")]);
    assert_eq!((result(picked).as_str(), state(&late).as_str()), (r#"Ok("late")"#, r#"Ok("late")"#));
}

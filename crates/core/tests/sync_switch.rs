//! `Switch`: each hook runs once, whatever happens to the switch and to the others.

mod rig;
use lisle_core::sync::{Switch, SwitchOff, with_switch};
use lisle_core::{Error, Promise, cancelable, pause, ready, rejected};
use rig::*;

#[test]
fn a_hook_that_panics_is_an_error_and_the_others_run() {
    let (switch, trace) = (Switch::new(), Trace::new());
    for word in ["first", "last"] {
        let say = trace.says(word);
        switch.add_hook(move || ready(()).map(|()| say())).expect("on");
        switch.add_hook(|| -> Promise<()> { panic!("hook") }).expect("on");
    }
    assert_eq!(error(switch.turn_off()).panic_message(), Some("hook"));
    assert_eq!(trace.take(), "last first");
    let late: Promise<()> = switch.add_hook_or_exec(|| -> Promise<()> { panic!("late") });
    assert_eq!(error(late).panic_message(), Some("late"));
}

#[test]
fn a_hook_finds_the_switch_off() {
    let (switch, trace) = (Switch::new(), Trace::new());
    let (inside, told) = (switch.clone(), trace.clone());
    let hook = move || {
        told.add(inside.is_on());
        told.add(inside.add_hook(|| ready(())) == Err(SwitchOff));
        let again = told.clone();
        inside
            .turn_off()
            .bind(move |()| inside.add_hook_or_exec(move || ready(()).map(move |()| again.add("now"))))
    };
    switch.add_hook(hook).expect("on");
    value(switch.turn_off());
    assert_eq!(trace.take(), "false true now");
}

#[test]
fn the_last_handle_starts_the_hooks_and_what_fails_goes_to_the_hook_of_failures() {
    let (switch, trace, seen) = (Switch::new(), Trace::new(), failures());
    let say = trace.says("done");
    switch.add_hook(move || pause().map(move |()| say())).expect("on");
    switch.add_hook(|| rejected::<()>(fail("lost"))).expect("on");
    let other = switch.clone();
    drop(switch);
    assert!(seen.borrow().is_empty());
    drop(other);
    run();
    assert_eq!(trace.take(), "done");
    assert_eq!(seen.borrow().len(), 1);
    assert_eq!(seen.borrow()[0].1, "lost");
}

#[test]
fn a_hook_may_be_taken_back() {
    let (switch, trace) = (Switch::new(), Trace::new());
    let add = |word| {
        let say = trace.says(word);
        switch.add_hook(move || ready(()).map(|()| say())).expect("on")
    };
    let (first, second, _third) = (add("first"), add("second"), add("third"));
    assert!(switch.remove_hook(second));
    assert!(!switch.remove_hook(second));
    let fourth = add("fourth");
    assert!(!switch.remove_hook(second), "the place is another's now");
    value(switch.turn_off());
    assert_eq!(trace.take(), "fourth third first");
    assert!(!switch.remove_hook(first) && !switch.remove_hook(fourth));
}

#[test]
fn a_scope_whose_body_panics_or_is_cancelled_is_turned_off() {
    let trace = Trace::new();
    let say = trace.says("closed");
    let panicked: Promise<()> = with_switch(move |switch| -> Promise<()> {
        switch.add_hook(move || ready(()).map(|()| say())).expect("on");
        panic!("body")
    });
    assert_eq!(error(panicked).panic_message(), Some("body"));
    assert_eq!(trace.take(), "closed");

    let say = trace.says("closed");
    let (work, _never) = cancelable::<()>();
    let canceled = with_switch(move |switch| {
        switch.add_hook(move || pause().map(move |()| say())).expect("on");
        work
    });
    canceled.cancel();
    assert!(canceled.is_pending(), "the hook is awaited");
    run();
    assert!(error(canceled).is_canceled());
    assert_eq!(trace.take(), "closed");
}

#[test]
fn cancelling_turn_off_cancels_what_the_hooks_wait_for() {
    let switch = Switch::new();
    let (work, _never) = cancelable::<()>();
    switch.add_hook(move || work).expect("on");
    let off = switch.turn_off();
    value(switch.turn_off());
    off.cancel();
    assert!(error(off).is_canceled());
}

#[test]
fn the_error_of_a_hook_wins_over_the_value_and_says_what_is_off() {
    let failed = with_switch(|switch| {
        switch.add_hook(|| rejected::<()>(fail("hook")))?;
        Ok::<_, Error>(1)
    });
    assert_eq!(error(failed).to_string(), "hook");
    let switch = Switch::default();
    value(switch.turn_off());
    let reason = switch.check().expect_err("off").to_string();
    assert!(reason.starts_with("the switch is off"), "{reason}");
}

//! Lwt_switch.

use crate::rig::{done, error, fail, value};
use lisle_core::sync::{Switch, SwitchOff, with_switch};
use lisle_core::{Error, Promise, pause, ready, rejected, wake_paused};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

type Hook = Box<dyn FnOnce() -> Promise<()>>;

/// A counter, and a maker of hooks that count.
fn counter() -> (Rc<Cell<u32>>, impl Fn() -> Hook) {
    let count = Rc::new(Cell::new(0));
    let counted = count.clone();
    let hook = move || {
        let counted = counted.clone();
        Box::new(move || {
            counted.set(counted.get() + 1);
            ready(())
        }) as Hook
    };
    (count, hook)
}

/// SWITCH-01: hooks run once, at the first `turn_off`; a switch that is off takes no hook.
#[test]
fn switch_01_hooks_run_once_when_it_is_turned_off() {
    let switch = Switch::new();
    let (count, hook) = counter();
    switch.add_hook(hook()).expect("on");
    switch.add_hook(hook()).expect("on");
    assert_eq!(count.get(), 0);
    value(switch.turn_off());
    assert_eq!(count.get(), 2);
    value(switch.turn_off());
    assert_eq!(count.get(), 2);
    assert_eq!(switch.add_hook(hook()), Err(SwitchOff));
    drop(switch);
    assert_eq!(count.get(), 2);

    // The guard of the group: the last handle turns it off.
    let switch = Switch::new();
    switch.add_hook(hook()).expect("on");
    let other = switch.clone();
    drop(switch);
    assert_eq!(count.get(), 2);
    drop(other);
    assert_eq!(count.get(), 3);
}

/// SWITCH-02: the error of a hook is that of `turn_off`.
#[test]
fn switch_02_the_error_of_a_hook_is_told_by_turn_off() {
    let switch = Switch::new();
    switch.add_hook(|| rejected::<()>(fail("hook"))).expect("on");
    assert_eq!(error(switch.turn_off()).to_string(), "hook");
}

/// SWITCH-03: a scoped switch is turned off when its body completes, and when it fails, before the error is
/// told.
#[test]
fn switch_03_a_scoped_switch_ends_with_its_body() {
    let (count, hook) = counter();
    let first = hook();
    let completed = with_switch(move |switch| {
        switch.add_hook(first)?;
        Ok::<_, Error>(7)
    });
    assert_eq!((value(completed), count.get()), (7, 1));

    let second = hook();
    let failed: Promise<()> = with_switch(move |switch| {
        switch.add_hook(second)?;
        Err(fail("body"))
    });
    assert_eq!((error(failed).to_string().as_str(), count.get()), ("body", 2));
}

/// SWITCH-04: `check` is silent without a switch and with one that is on, and fails after `turn_off`.
#[test]
fn switch_04_check() {
    let check = |switch: Option<&Switch>| switch.map_or(Ok(()), Switch::check);
    let switch = Switch::new();
    assert_eq!(check(None), Ok(()));
    assert_eq!(check(Some(&switch)), Ok(()));
    value(switch.turn_off());
    assert_eq!(check(Some(&switch)), Err(SwitchOff));
}

/// SWITCH-05: a switch is on until it is turned off.
#[test]
fn switch_05_is_on() {
    let switch = Switch::new();
    assert!(switch.is_on());
    value(switch.turn_off());
    assert!(!switch.is_on());
}

/// SWITCH-06: `add_hook_or_exec` runs nothing without a switch, later with one that is on, at once if it is
/// off.
#[test]
fn switch_06_add_hook_or_exec() {
    let (count, hook) = counter();
    let add = |switch: Option<&Switch>| switch.map_or(ready(()), |switch| switch.add_hook_or_exec(hook()));
    let switch = Switch::new();
    value(add(None));
    assert_eq!(count.get(), 0);
    value(add(Some(&switch)));
    assert_eq!(count.get(), 0);
    value(switch.turn_off());
    assert_eq!(count.get(), 1);
    value(add(Some(&switch)));
    assert_eq!(count.get(), 2);
}

/// A hook that pauses, then counts.
fn pausing(count: &Rc<Cell<u32>>) -> impl FnOnce() -> Promise<()> + use<> {
    let count = count.clone();
    move || pause().map(move |()| count.set(count.get() + 1))
}

/// SWITCH-07: `turn_off` waits for hooks that pause.
#[test]
fn switch_07_turn_off_waits_for_its_hooks() {
    let (switch, count) = (Switch::new(), Rc::new(Cell::new(0)));
    switch.add_hook(pausing(&count)).expect("on");
    switch.add_hook(pausing(&count)).expect("on");
    let off = switch.turn_off();
    assert!(off.is_pending());
    wake_paused();
    value(off);
    assert_eq!(count.get(), 2);
}

/// SWITCH-08: `turn_off` waits for all hooks also when one of them fails.
#[test]
fn switch_08_turn_off_waits_for_the_others_of_a_failure() {
    let (switch, count) = (Switch::new(), Rc::new(Cell::new(0)));
    switch.add_hook(pausing(&count)).expect("on");
    switch.add_hook(|| rejected::<()>(fail("hook"))).expect("on");
    switch.add_hook(pausing(&count)).expect("on");
    let off = switch.turn_off();
    assert!(off.is_pending());
    wake_paused();
    assert_eq!(count.get(), 2);
    assert_eq!(done(off).expect_err("a hook failed").to_string(), "hook");
}

/// X-SWITCH-01: hooks are started newest first, all before any is awaited.
#[test]
fn x_switch_01_hooks_are_started_newest_first() {
    let (switch, order) = (Switch::new(), Rc::new(RefCell::new(Vec::new())));
    for number in 0..3 {
        let order = order.clone();
        let hook = move || {
            order.borrow_mut().push(number);
            pause()
        };
        switch.add_hook(hook).expect("on");
    }
    let off = switch.turn_off();
    assert_eq!(*order.borrow(), [2, 1, 0]);
    assert!(off.is_pending());
    wake_paused();
    value(off);
}

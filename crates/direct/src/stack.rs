//! The machine stacks of fibers: how large, how they are guarded, how they are reused.
//!
//! ```text
//!            lowest address                                               highest
//!   mapping: ├─ guard page ─┤╌╌╌╌ untouched: costs nothing ╌╌╌╌├─ used ─┤ stagger ┤
//!                  ▲ a fiber that grows into it ends the process (`overflow.rs`); nothing below is written
//!
//!   idle ──acquire──► a fiber's first poll … until it is done, or dropped and unwound ──release──► idle
//! ```
//!
//! A stack belongs to an `Occupied`, together with its coroutine, until that is done; only then can it come
//! back here. Idle stacks lie in a
//! pool per thread, last in, first out, since the one used last is in the caches. The pool keeps the pages
//! that were touched: at most [`IDLE_MAX`] stacks of each size, and [`drop_idle`] lets them all go.
//!
//! # Stagger
//! Mappings end at page boundaries, so the tops of all stacks would lie in the same few sets of the caches.
//! Each is therefore moved down by some lines. Measured over 1000 fibers, medians of alternating rounds: a
//! yield takes 20.4 ns without, 18.0 over 16 lines, 16.8 over 32.
//!
//! # Safety
//! Unsafe for one `impl`: a foreign trait asks us to promise what a stack is.
//!
//! Not here: a fiber that was spawned and has not run yet has no stack.
#![allow(unsafe_code)]

use crate::overflow::Guarded;
use corosensei::stack::{DefaultStack, Stack as _, StackPointer};
use corosensei::{Coroutine, CoroutineResult, Yielder};
use std::cell::{Cell, RefCell};
use std::io;
use std::panic::Location;

/// The usual size of a stack. Address space only: of these bytes, a fiber costs the pages it has touched.
///
/// 256 KiB, because formatting, a backtrace printed by a panic and a TLS handshake each want tens of KiB,
/// more so in unoptimised programs.
pub const SIZE_DEFAULT: usize = 256 * 1024;

/// The least size; smaller wishes are raised to it. Printing a panic message must fit.
pub const SIZE_MIN: usize = 16 * 1024;

/// Larger wishes are lowered to it: no system has room for one, and with less than this no sum overflows.
const SIZE_MAX: usize = 1 << (usize::BITS - 2);

/// How many idle stacks of one size a thread keeps.
pub const IDLE_MAX: usize = 1024;

/// For how many different sizes. Sizes are few by nature; a program that invents ever new ones gets no pool
/// for them.
pub const SIZES_MAX: usize = 8;

/// Sizes are rounded up to this, a page nearly everywhere, so that they fall into few classes.
const SIZE_STEP: usize = 4096;

/// The top of each stack is moved down by a cache line more than that of the stack mapped before…
const STAGGER_STEP: usize = 64;

/// … and after so many steps begins at the page boundary again.
const STAGGER_STEPS: usize = 32;

/// What the stagger takes is added to the mapping.
const STAGGER_ROOM: usize = SIZE_STEP;

const _: () = assert!(STAGGER_STEP * STAGGER_STEPS <= STAGGER_ROOM);
const _: () = assert!(STAGGER_STEP.is_multiple_of(corosensei::stack::STACK_ALIGNMENT));

/// A mapping with a guard page, and where its stack begins. One word, so that it travels in a register.
pub(crate) struct Stack(Box<Mapping>);

struct Mapping {
    base: StackPointer,
    /// Goes before the pages: another stack may lie there at once.
    guarded: Guarded,
    pages: DefaultStack,
}

/// Where a stack lies, for the coroutine on it.
pub(crate) struct Bounds {
    base: StackPointer,
    limit: StackPointer,
}

// SAFETY: the mapping keeps the contract (guard page at its limit, aligned base). It stays mapped as long as
// the coroutine that has these bounds: only `Occupied::begin` makes any, and an `Occupied` gives its stack
// away, or drops it, only after its coroutine. `base` is set once, in `map`: below the mapping's own by a
// multiple of the alignment and no more than `STAGGER_ROOM`, which was added to the size; so at least
// SIZE_MIN bytes lie between it and the guard page.
unsafe impl corosensei::stack::Stack for Bounds {
    #[inline]
    fn base(&self) -> StackPointer {
        self.base
    }

    #[inline]
    fn limit(&self) -> StackPointer {
        self.limit
    }
}

/// A stack and the coroutine on it, or nothing yet, or nothing any more.
///
/// The stack lies beside the coroutine, not in it: to get it out, the coroutine would be moved, and in other
/// widths than the switch has just written it in. That stalls: 4 ns of 45 for spawning and joining a fiber.
pub(crate) struct Occupied<T> {
    coroutine: Option<Coroutine<(), (), T, Bounds>>,
    /// Goes after the coroutine: fields are dropped in their order.
    stack: Option<Stack>,
}

impl<T: 'static> Occupied<T> {
    /// Makes a coroutine of `body`, which begins with the first [`Occupied::resume`]. Only on a vacant one.
    #[inline]
    pub(crate) fn begin(
        &mut self,
        stack: Stack,
        site: &'static Location<'static>,
        body: impl FnOnce(&Yielder<(), ()>) -> T + 'static,
    ) {
        assert!(self.coroutine.is_none(), "a stack has one coroutine");
        stack.0.guarded.set_site(site);
        let bounds = Bounds { base: stack.0.base, limit: stack.0.pages.limit() };
        self.stack = Some(stack);
        self.coroutine = Some(Coroutine::with_stack(bounds, move |yielder, ()| body(yielder)));
    }

    /// Lets the coroutine go on; `None` if there is none.
    #[inline]
    pub(crate) fn resume(&mut self) -> Option<CoroutineResult<(), T>> {
        Some(self.coroutine.as_mut()?.resume(()))
    }
}

impl<T> Occupied<T> {
    pub(crate) const VACANT: Occupied<T> = Occupied { coroutine: None, stack: None };

    /// Whether the coroutine has not come to its end.
    #[inline]
    pub(crate) fn is_suspended(&self) -> bool {
        self.coroutine.as_ref().is_some_and(|coroutine| !coroutine.done())
    }

    /// Whether there is no coroutine.
    #[inline]
    pub(crate) fn is_vacant(&self) -> bool {
        self.coroutine.is_none()
    }

    /// Runs the destructors of a suspended coroutine; a panic of theirs comes out of here.
    pub(crate) fn unwind(&mut self) {
        if let Some(coroutine) = &mut self.coroutine {
            coroutine.force_unwind();
        }
    }

    /// Gives back the stack of a coroutine that has come to its end.
    #[inline]
    pub(crate) fn vacate(&mut self) -> Option<Stack> {
        // Before its stack: it may still have to be unwound.
        self.coroutine = None;
        self.stack.take()
    }
}

/// The idle stacks of one size.
struct Class {
    size: usize,
    idle: Vec<Stack>,
}

thread_local! {
    static CLASSES: RefCell<Vec<Class>> = const { RefCell::new(Vec::new()) };
    /// How many stacks this thread has mapped so far; only the stagger asks.
    static MAPPED: Cell<usize> = const { Cell::new(0) };
}

/// The size that a wish becomes.
pub(crate) fn rounded(size: usize) -> usize {
    size.clamp(SIZE_MIN, SIZE_MAX).next_multiple_of(SIZE_STEP)
}

/// An idle stack of this rounded size. A call, so that the stack goes in registers.
#[inline(never)]
pub(crate) fn acquire(size: usize) -> Option<Stack> {
    let idle = CLASSES
        .try_with(|classes| classes.borrow_mut().iter_mut().find(|class| class.size == size)?.idle.pop());
    idle.ok().flatten()
}

/// A new stack of this rounded size.
#[cold]
pub(crate) fn map(size: usize) -> io::Result<Stack> {
    debug_assert!(size >= SIZE_MIN);
    let pages = DefaultStack::new(size + STAGGER_ROOM)?;
    let mapped = MAPPED.replace(MAPPED.get().wrapping_add(1));
    let stagger = mapped % STAGGER_STEPS * STAGGER_STEP;
    let base = StackPointer::new(pages.base().get() - stagger).expect("no mapping begins at zero");
    let guard = pages.limit().get()..pages.base().get() - size - STAGGER_ROOM;
    Ok(Stack(Box::new(Mapping { base, guarded: Guarded::new(guard, size), pages })))
}

/// Takes back a stack whose coroutine is done. A call, so that the stack comes in registers.
#[inline(never)]
pub(crate) fn release(size: usize, stack: Stack) {
    // At the thread's end the pool may be gone before the last fiber is; the stack is unmapped then.
    let _ = CLASSES.try_with(|classes| keep(&mut classes.borrow_mut(), size, stack));
}

/// Puts a stack into its class; unmaps it if the class is full.
#[inline]
fn keep(classes: &mut Vec<Class>, size: usize, stack: Stack) {
    match classes.iter_mut().find(|class| class.size == size) {
        Some(class) if class.idle.len() < IDLE_MAX => class.idle.push(stack),
        Some(_) => drop(stack),
        None => keep_first_of_its_size(classes, size, stack),
    }
}

#[cold]
fn keep_first_of_its_size(classes: &mut Vec<Class>, size: usize, stack: Stack) {
    if classes.len() < SIZES_MAX {
        classes.push(Class { size, idle: vec![stack] });
    }
}

/// How many idle stacks this thread keeps.
#[must_use]
pub fn idle_count() -> usize {
    CLASSES.with_borrow(|classes| classes.iter().map(|class| class.idle.len()).sum())
}

/// Unmaps the idle stacks of this thread. Worth a call after an unusual crowd of fibers, or deep recursion in
/// many.
pub fn drop_idle() {
    CLASSES.take();
}

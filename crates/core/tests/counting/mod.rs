//! An allocator that counts, for each thread by itself: shared by the tests of memory.
//!
//! Who names this module has it as the global allocator of the test binary. Not here: what may be allocated
//! (the tests), and what else the tests share (`rig/`).
#![allow(unsafe_code, reason = "a global allocator cannot be written without")]
#![allow(dead_code, unreachable_pub, reason = "a module of some test files, each of which uses some of it")]

use lisle_core::live_waiters;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

thread_local! {
    static CALLS: Cell<usize> = const { Cell::new(0) };
    static BYTES: Cell<isize> = const { Cell::new(0) };
}

fn count(bytes: isize) {
    // The cells have no destructor, so they are there until the thread's last allocation.
    if bytes > 0 {
        CALLS.set(CALLS.get() + 1);
    }
    BYTES.set(BYTES.get() + bytes);
}

// SAFETY: every call is handed on to the system's allocator as it came; counting touches two thread-local
// cells and does not allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller keeps `alloc`'s contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: the caller keeps `dealloc`'s contract, and `at` came from the system's allocator by `alloc`
        // above.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Bytes that are allocated now, less those freed here that others allocated.
pub fn live_bytes() -> isize {
    BYTES.get()
}

/// Allocations so far.
pub fn allocation_count() -> usize {
    CALLS.get()
}

/// Allocations during `work`.
pub fn allocations(work: impl FnOnce()) -> usize {
    let before = CALLS.get();
    work();
    CALLS.get() - before
}

/// Runs `work` some times to grow tables, then `times` more: live bytes and waiters must be the same after.
#[track_caller]
pub fn flat(times: usize, mut work: impl FnMut()) {
    (0..64).for_each(|_| work());
    let (bytes, waiters) = (BYTES.get(), live_waiters());
    (0..times).for_each(|_| work());
    assert_eq!(BYTES.get(), bytes, "live bytes grew");
    assert_eq!(live_waiters(), waiters, "waiters were left");
}

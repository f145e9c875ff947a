//! The allocator of this program: the system's, with a count of what the current thread asked of it.
//!
//! Allocations are exact where time is noisy, so each figure of `lisle bench` comes with its count. The
//! counts are thread-local cells and not atomics: a locked addition costs as much as half an allocation, and
//! every scenario runs on one thread. Even so they cost time (a spawn of a fiber, which allocates once: 46.8 ns
//! counted, 46.1 uncounted), so what is timed runs [`uncounted`]. Growing a block counts as an allocation,
//! since it may be one. Not here: who reads the counts (`bench/measure.rs`), and when nothing is counted
//! (`bench/rounds.rs`).
//!
//! # Safety
//! Every method hands its arguments on to [`System`] unchanged and returns what that answers, so the contract
//! of `GlobalAlloc` is kept by the caller towards us and by `System` towards the caller. Counting touches three
//! const-initialised cells without destructor, which neither allocates nor unwinds.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
    static LIVE_BYTES: Cell<i64> = const { Cell::new(0) };
    static COUNTING: Cell<bool> = const { Cell::new(true) };
}

/// Runs `work` without counting what this thread allocates and frees meanwhile.
pub(crate) fn uncounted<R>(work: impl FnOnce() -> R) -> R {
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            COUNTING.set(self.0);
        }
    }
    let _restore = Restore(COUNTING.replace(false));
    work()
}

/// How many blocks this thread has allocated or grown so far.
pub(crate) fn allocations() -> u64 {
    ALLOCATIONS.get()
}

/// Bytes that this thread has allocated and not freed. Negative if it freed what others allocated.
pub(crate) fn live_bytes() -> i64 {
    LIVE_BYTES.get()
}

#[inline]
fn count(allocations: u64, bytes: i64) {
    if COUNTING.get() {
        add(allocations, bytes);
    }
}

fn add(allocations: u64, bytes: i64) {
    ALLOCATIONS.set(ALLOCATIONS.get() + allocations);
    LIVE_BYTES.set(LIVE_BYTES.get() + bytes);
}

fn signed(bytes: usize) -> i64 {
    // No block is larger than isize::MAX: `Layout` says so.
    bytes as i64
}

struct Counting;

// SAFETY: see the head of the file; all four methods only count and delegate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(1, signed(layout.size()));
        // SAFETY: the caller promises a layout of non-zero size; it is passed on as it came.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(1, signed(layout.size()));
        // SAFETY: the caller promises a layout of non-zero size; it is passed on as it came.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count(0, -signed(layout.size()));
        // SAFETY: the caller promises that `block` came from this allocator with this layout, thus from
        // `System`.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        count(1, signed(new_size) - signed(layout.size()));
        // SAFETY: the caller promises that `block` came from here with this layout, and a valid non-zero
        // size.
        unsafe { System.realloc(block, layout, new_size) }
    }
}

#[cfg(test)]
mod tests {
    use super::{allocations, live_bytes, uncounted};
    use std::hint::black_box;

    #[test]
    fn allocations_are_counted_and_bytes_come_back() {
        let (before, bytes) = (allocations(), live_bytes());
        let block = black_box(Box::new([0_u8; 100]));
        assert_eq!(allocations() - before, 1);
        assert_eq!(live_bytes() - bytes, 100);
        drop(block);
        assert_eq!(allocations() - before, 1);
        assert_eq!(live_bytes(), bytes);
        drop(uncounted(|| black_box(Box::new(1))));
        assert_eq!(allocations() - before, 1);
    }
}

//! What a round trip costs in allocations: nothing, in async style, once buffers and tables have grown.
//!
//! # Safety
//! The only unsafe code here is the counting allocator, which passes every call on to the system's,
//! unchanged.
#![allow(unsafe_code, reason = "a global allocator cannot be written without")]

mod support;

use lisle::net::UnixStream;
use lisle::{Buf, EngineKind, try_spawn};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

fn count() {
    // Gone only while the thread ends.
    let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
}

// SAFETY: all four functions pass their arguments on to `System`, which keeps the contract.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller's promise is passed on.
        unsafe { System.realloc(memory, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

const WARM_UP: u32 = 100;
const ROUNDS: u32 = 1000;

async fn answer(stream: UnixStream) -> lisle::Result<()> {
    let mut buf = Buf::with_capacity(64);
    loop {
        buf = stream.read(buf).await?;
        if buf.is_empty() {
            return Ok(());
        }
        buf = stream.write_all(buf).await?;
    }
}

async fn rounds(stream: &UnixStream, mut buf: Buf, count: u32) -> lisle::Result<Buf> {
    for _ in 0..count {
        buf = stream.write_all(buf).await?;
        buf = stream.read(buf).await?;
    }
    Ok(buf)
}

/// Allocations and system calls of the engine in [`ROUNDS`] round trips.
fn pingpong(kind: EngineKind) -> (u64, u64) {
    let runtime = support::runtime(kind);
    let (a, b) = UnixStream::pair().unwrap();
    try_spawn(answer(b)).detach();
    let warm = a.clone();
    let buf = Buf::from(b"ping".to_vec());
    let buf = runtime.run(async move { rounds(&warm, buf, WARM_UP).await }).unwrap();
    let (before, calls) = (Cell::new(0), runtime.counters().system_calls);
    let allocations = runtime.run(async move {
        before.set(ALLOCATIONS.get());
        rounds(&a, buf, ROUNDS).await.unwrap();
        ALLOCATIONS.get() - before.get()
    });
    (allocations, runtime.counters().system_calls - calls)
}

#[test]
fn a_round_trip_allocates_nothing() {
    for kind in EngineKind::ALL {
        let (allocations, calls) = pingpong(kind);
        println!(
            "{}: {allocations} allocations, {:.3} system calls a round trip",
            kind.name(),
            calls as f64 / f64::from(ROUNDS)
        );
        assert_eq!(allocations, 0, "on {}", kind.name());
    }
}

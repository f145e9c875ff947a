//! Promise programs: whatever bytes come are a program of the conformance language; the library must give the
//! model's trace, panic nowhere (also not where it would catch it), and leave nothing behind.
//!
//! libFuzzer's hook ends the process at the first panic, caught or not; the sanitizer sees bad memory and
//! leaks. A crash is read with `cargo xtask fuzz promises FILE`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use lisle_conformance::model::{self, Draft};
use lisle_conformance::{Laps, trace};
use lisle_core::live_waiters;
use lisle_core::sched::pause::paused_count;

fuzz_target!(|bytes: &[u8]| {
    let case = Draft::of_bytes(bytes).case();
    let expected = model::run(&case).expect("drafts have only statements that the model knows");
    if expected.knotted {
        // A promise that waits for itself is never settled, and so never freed: `tests/random.rs` runs these.
        return;
    }
    // Also what is outside must not crash.
    let waiters = live_waiters();
    let actual = trace(&case, Laps::Core);
    assert_eq!(paused_count(), 0);
    if expected.outside.is_empty() {
        assert_eq!(actual, expected.trace, "library left, model right\n{}", case.source.join("\n"));
    }
    assert_eq!(live_waiters(), waiters, "waiters are left of\n{}", case.source.join("\n"));
});

//! The three ways in which work is resumed, in one program.
//!
//! Shows: a callback of `bind` runs inside the resolution; a task runs at once up to its first suspension
//! and later from the run queue; a fiber is queued from the start.

use lisle::{pair, spawn};
use lisle_direct::run;

fn main() -> lisle::Result<()> {
    run(|fiber| {
        let (promise, resolver) = pair::<u32>();
        let promise = promise.shared();

        let bound = promise.map(|_| println!("3. the callback runs inside resolve"));
        let (task_promise, fiber_promise) = (promise.promise(), promise.promise());
        let task = spawn(async move {
            println!("1. the task runs at once, and suspends");
            task_promise.await.map(|_| println!("6. the task goes on: it was queued by resolve"))
        });
        let other = lisle_direct::spawn(move |fiber| {
            println!("5. the fiber begins: it was queued when it was made");
            fiber.wait(fiber_promise).map(|_| ())
        });

        println!("2. nothing else has run");
        resolver.resolve(1);
        println!("4. resolve has returned");
        fiber.wait(bound)?;
        fiber.wait(task)??;
        fiber.wait(other)?
    })
}

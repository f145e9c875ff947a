//! Direct style for Lisle: fibers, which wait for promises in plain blocking-looking code. Opt-in: who wants
//! no stacks does not link this crate.
//!
//! A fiber is a task with a stack of its own. Its body gets a [`&Fiber`](Fiber), and only with it can a
//! function suspend: suspension stays visible in the arguments, as elsewhere it is in the type. Everything
//! else is Lisle as usual: [`spawn`] returns a [`Promise`](lisle::Promise), [`Fiber::wait`] takes one, so
//! fibers, tasks and binds mix freely.
//!
//! ```
//! use lisle::net::UnixStream;
//! use lisle_direct::{Fiber, run, try_spawn};
//! use std::io::{self, BufRead, BufReader, Write};
//!
//! // Any code over `std::io::Read` and `Write` will do; this is an echo of lines.
//! fn echo(fiber: &Fiber, stream: &UnixStream) -> io::Result<()> {
//!     let (reader, mut writer) = (BufReader::new(fiber.io(stream)), fiber.io(stream));
//!     for line in reader.lines() {
//!         writeln!(writer, "you said: {}", line?)?;
//!     }
//!     Ok(())
//! }
//!
//! run(|fiber| {
//!     let (ours, theirs) = UnixStream::pair()?;
//!     let server = try_spawn(move |fiber| echo(fiber, &theirs));
//!     fiber.io(&ours).write_all(b"hello\n")?;
//!     let mut answer = String::new();
//!     BufReader::new(fiber.io(&ours)).read_line(&mut answer)?;
//!     assert_eq!(answer, "you said: hello\n");
//!     drop(ours); // the end of the stream ends the server
//!     fiber.wait(server)
//! })
//! # .unwrap();
//! ```
//!
//! Outside of a fiber there is nothing to wait with, so this does not compile:
//!
//! ```compile_fail
//! let value = lisle_direct::wait(lisle::pause());
//! ```
//!
//! # When it runs
//! [`spawn`] queues the body; it begins in the next generation of the run queue, first come, first served. A
//! wait for a settled promise returns at once. A wait for a pending one suspends the fiber; when the promise
//! settles, the fiber is queued, and goes on with the next generation. Between generations the engine has its
//! turn: fibers cannot starve I/O. A fiber that computes without waiting holds its thread, as any task does.
//!
//! # When it panics
//! The stack is unwound, the fiber's promise is rejected with `Panicked`, all others go on. If the promise
//! was dropped, the hook is told, with the place of the `spawn`. A destructor that waits while a panic passes
//! through gets `Err(Canceled)` at once (settled promises still give their value).
//!
//! # When it is cancelled
//! [`Promise::cancel`](lisle::Promise::cancel) on the fiber's promise resumes the fiber: the promise it waits
//! for is cancelled, and the wait returns `Err(Canceled)`. That is an error like others: `?` passes it on,
//! and code that must clean up does so, and may wait again while it does. A cancellation is delivered once. A
//! fiber that waits for a foreign future ([`Fiber::wait_future`] on something without a promise inside)
//! cannot be told; it is dropped there.
//!
//! # When it is dropped
//! A suspended fiber is dropped when its runtime is, or when it is cancelled in a foreign future. Its stack
//! is then unwound, as if the wait had panicked, so that destructors run and nothing leaks; from then on each
//! wait returns `Err(Canceled)` without suspending. An operation in flight keeps what the kernel may touch.
//! Code that catches panics may see this unwinding once; it should go on to return. As with any unwinding, a
//! destructor that panics during it ends the process. With `panic = "abort"` a suspended fiber cannot be
//! dropped: the process is ended there.
//!
//! # How large stacks are
//! A stack is address space: 256 KiB by default ([`stack::SIZE_DEFAULT`]), of which a fiber costs the pages
//! it has touched, 8 KiB or so for a shallow one. To size one, think of the deepest call: large arrays on the
//! stack, recursion, a formatter, a backtrace. [`Builder::stack_size`] gives more (or less) to those that
//! need it. To measure what a fiber needs, let one run on a large stack, and look in `/proc/self/smaps` how
//! much of that mapping is resident.
//!
//! A fiber that outgrows its stack ends the process with SIGSEGV at the guard page, after a line on
//! stderr that names the place of its `spawn`. It never writes over another's memory: rustc has large
//! frames touched page by page. (C code compiled without stack probes may jump over the page: give it
//! ample stacks.) For that line the first stack installs a handler of SIGSEGV, which passes on all
//! other faults to the handler before it.
//!
//! Stacks are reused, per thread, up to [`stack::IDLE_MAX`] of a size. Each live fiber takes two mappings,
//! and Linux allows 65 530 (`vm.max_map_count`): beyond about 32 000 started fibers a further one is rejected
//! with `Panicked`, whose text tells this. Fibers that have not begun hold none.

mod fiber;
pub mod io;
mod overflow;
mod spawn;
pub mod stack;

pub use fiber::Fiber;
pub use io::{ByteStream, FiberIo};
pub use spawn::{Builder, run, spawn, try_spawn};

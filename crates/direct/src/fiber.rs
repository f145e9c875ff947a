//! A fiber: a task whose future is a coroutine. The only file that switches stacks.
//!
//! ```text
//!   FiberFuture, polled by core's run queue:
//!
//!     Fresh(body) ──first poll: takes a stack──► Suspended(coroutine) ──returned, panicked──► Done
//!          │                                       │        ▲   │                              ▲
//!          │                                       └─resume─┘   └──dropped: stack is unwound───┤
//!          └──dropped: body is dropped, no stack was used──────────────────────────────────────┘
//! ```
//!
//! The future owns the coroutine; the coroutine owns its stack; on that stack lies the [`Fiber`], which the
//! body sees by reference only. A fiber suspends in [`Fiber::suspend`] and nowhere else; what it waits for
//! lies on its own stack and is polled with the task's waker, so core neither knows nor cares that this task
//! has a stack.
//!
//! # Unwinding
//! A suspended coroutine that is dropped is resumed one last time with a panic of corosensei's own, which
//! runs the destructors. From then on (`closing`) the fiber does not suspend: nobody would resume it. Nor
//! does it suspend inside of a destructor that runs because of a panic: std counts panics per thread, and the
//! neighbours would inherit the count.
//!
//! Not here: sizes and reuse of stacks (`stack.rs`), who spawns (`spawn.rs`), streams (`io.rs`).

use crate::stack::{self, Occupied, Stack};
use corosensei::{CoroutineResult, Yielder};
use lisle::{Error, IntoPromise, Result, YieldNow, yield_now};
use std::cell::Cell;
use std::fmt;
use std::future::Future;
use std::mem;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::thread;

/// The right to suspend: what a fiber's body gets, by reference, and passes to the functions that wait.
///
/// It lies on the fiber's own stack. It cannot be kept, nor sent to another thread, nor moved into another
/// fiber:
///
/// ```compile_fail
/// use std::cell::RefCell;
/// let kept = RefCell::new(None);
/// lisle_direct::spawn(move |fiber| { kept.replace(Some(fiber)); });
/// ```
/// ```compile_fail
/// lisle_direct::spawn(|fiber| std::thread::scope(|s| { s.spawn(|| fiber.yield_now()); }));
/// ```
/// ```compile_fail
/// lisle_direct::spawn(|outer| lisle_direct::spawn(move |_inner| outer.yield_now()).detach());
/// ```
/// ```compile_fail
/// let promise = lisle_direct::spawn(|fiber| fiber); // nor be returned
/// ```
pub struct Fiber<'f> {
    yielder: &'f Yielder<(), ()>,
    /// The task's waker: an integer, the same for each poll.
    waker: Waker,
    /// The stack is being unwound because the fiber was dropped.
    closing: Cell<bool>,
    /// Whether whoever resumed the fiber last was itself being unwound by a panic: then `thread::panicking`
    /// is not about us.
    resumed_in_panic: Cell<bool>,
}

impl Fiber<'_> {
    /// Waits for a promise: its value, or the error that it was rejected with.
    ///
    /// On a settled promise it returns at once, without suspending. Otherwise the fiber is suspended, others
    /// run, and it is resumed through the run queue. If the fiber is cancelled meanwhile, so is the promise,
    /// and the result is `Err(Canceled)` (or the value, if it could not be stopped any more).
    ///
    /// ```
    /// # lisle_direct::run(|fiber| {
    /// let (promise, resolver) = lisle::pair::<u32>();
    /// lisle_direct::spawn(move |_| resolver.resolve(7)).detach();
    /// assert_eq!(fiber.wait(promise)?, 7);
    /// # Ok::<_, lisle::Error>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// The promise's; `Canceled` too, without suspending, when the fiber is being dropped or unwound by a
    /// panic.
    #[inline]
    pub fn wait<P: IntoPromise>(&self, promise: P) -> Result<P::Value> {
        let mut promise = promise.into_promise();
        self.drive(Pin::new(&mut promise))?
    }

    /// Waits for any future, which lies on the fiber's stack meanwhile.
    ///
    /// A fiber that is cancelled while it waits for a future that holds no promise is dropped there: its
    /// stack is unwound.
    ///
    /// ```
    /// # lisle_direct::run(|fiber| {
    /// assert_eq!(fiber.wait_future(async { 1 + 1 })?, 2);
    /// # Ok::<_, lisle::Error>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// `Canceled`, when the fiber is being dropped or unwound by a panic and the future is not ready.
    #[inline]
    pub fn wait_future<F: Future>(&self, future: F) -> Result<F::Output> {
        self.drive(pin!(future))
    }

    /// Goes behind all tasks and fibers that are ready now, and behind one turn of the engine.
    ///
    /// # Errors
    /// `Canceled`, when the fiber was cancelled meanwhile.
    #[inline]
    pub fn yield_now(&self) -> Result<()> {
        let mut yielding: YieldNow = yield_now();
        self.may_suspend()?;
        self.drive(Pin::new(&mut yielding))?
    }

    #[inline]
    fn drive<F: Future>(&self, mut future: Pin<&mut F>) -> Result<F::Output> {
        let mut cx = Context::from_waker(&self.waker);
        loop {
            match future.as_mut().poll(&mut cx) {
                Poll::Ready(output) => return Ok(output),
                Poll::Pending => self.suspend()?,
            }
        }
    }

    /// Gives the thread back until the task is polled again.
    #[inline]
    fn suspend(&self) -> Result<()> {
        self.may_suspend()?;
        let unwound = CloseOnUnwind(&self.closing);
        self.yielder.suspend(());
        mem::forget(unwound);
        self.resumed_in_panic.set(thread::panicking());
        Ok(())
    }

    #[inline]
    fn may_suspend(&self) -> Result<()> {
        let unwinding = thread::panicking() && !self.resumed_in_panic.get();
        if unwinding || self.closing.get() { Err(Error::canceled()) } else { Ok(()) }
    }
}

impl fmt::Debug for Fiber<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fiber").field("closing", &self.closing.get()).finish_non_exhaustive()
    }
}

/// Dropped only when the switch comes back as a panic: the fiber is being dropped.
struct CloseOnUnwind<'a>(&'a Cell<bool>);

impl Drop for CloseOnUnwind<'_> {
    fn drop(&mut self) {
        self.0.set(true);
    }
}

/// The future of a fiber. See the module page for its states; each is told by which of the two is filled.
///
/// Two fields and not one enum: the body is then moved as it is, with no tag around.
pub(crate) struct FiberFuture<F, T> {
    body: Option<F>,
    occupied: Occupied<T>,
    stack_size: usize,
    /// Where it was spawned.
    site: &'static Location<'static>,
}

// Nothing inside is pinned: the body is moved to the stack before it runs, and stacks do not move.
impl<F, T> Unpin for FiberFuture<F, T> {}

impl<F, T> FiberFuture<F, T>
where
    F: FnOnce(&Fiber<'_>) -> T + 'static,
    T: 'static,
{
    /// `stack_size` as made by [`stack::rounded`].
    #[inline]
    pub(crate) fn new(body: F, stack_size: usize, site: &'static Location<'static>) -> FiberFuture<F, T> {
        FiberFuture { body: Some(body), occupied: Occupied::VACANT, stack_size, site }
    }

    /// Moves the body onto a stack. Nothing of it has run yet.
    #[inline]
    fn start(&mut self, waker: &Waker) {
        let Some(body) = self.body.take() else { return };
        let stack = stack::acquire(self.stack_size).unwrap_or_else(|| map_or_reject(self.stack_size));
        let waker = waker.clone();
        self.occupied.begin(stack, self.site, move |yielder| {
            let resumed_in_panic = Cell::new(thread::panicking());
            body(&Fiber { yielder, waker, closing: Cell::new(false), resumed_in_panic })
        });
    }

    #[cold]
    fn polled_after_end() -> ! {
        panic!("a fiber was polled after its end")
    }
}

impl<F, T> Future for FiberFuture<F, T>
where
    F: FnOnce(&Fiber<'_>) -> T + 'static,
    T: 'static,
{
    type Output = T;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        if self.occupied.is_vacant() {
            self.start(cx.waker());
        }
        // A panic of the body comes out of `resume`; core's poll turns it into the rejection `Panicked`. In
        // either case it then drops this future, which gives the stack back.
        match self.occupied.resume() {
            Some(CoroutineResult::Yield(())) => Poll::Pending,
            Some(CoroutineResult::Return(output)) => Poll::Ready(output),
            None => Self::polled_after_end(),
        }
    }
}

impl<F, T> Drop for FiberFuture<F, T> {
    /// Unwinds the stack, if the fiber is suspended, and gives it back.
    #[inline]
    fn drop(&mut self) {
        let unwound = if self.occupied.is_suspended() { unwind(&mut self.occupied) } else { Ok(()) };
        if let Some(stack) = self.occupied.vacate() {
            stack::release(self.stack_size, stack);
        }
        if let Err(panic) = unwound {
            resume_unwind(panic);
        }
    }
}

/// Runs the destructors of a suspended fiber. A panic of theirs is caught, because out of a coroutine's own
/// destructor it would abort.
#[cold]
fn unwind<T>(occupied: &mut Occupied<T>) -> thread::Result<()> {
    catch_unwind(AssertUnwindSafe(|| occupied.unwind()))
}

#[cold]
fn map_or_reject(size: usize) -> Stack {
    stack::map(size).unwrap_or_else(|error| no_stack(&error))
}

/// Rejects the fiber's promise with `Panicked`, without the panic hook's message: nothing is broken but a
/// limit.
#[cold]
fn no_stack(error: &std::io::Error) -> ! {
    let text = format!(
        "no stack for a fiber: {error}. Likely cause: more fibers at once than vm.max_map_count / 2 allows; \
         run fewer (tasks need no stack), or raise it: sysctl -w vm.max_map_count=…"
    );
    resume_unwind(Box::new(text))
}

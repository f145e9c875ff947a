//! What a fiber says before it dies of a stack that was too small.
//!
//! ```text
//!   stack is mapped ─► its guard page is written down ─ a fiber begins on it ─► and where that was spawned
//!   fault ─► handler ─┬─ in a guard page of ours: one line on stderr ─► default action ─► fault again: SIGSEGV
//!                     └─ elsewhere: whoever handled the signal before us
//! ```
//!
//! The guard page alone protects the neighbours; this makes an end of it that can be understood. Without it a
//! program just dies of SIGSEGV, for the handler of std knows the stacks of threads only.
//!
//! The handler is installed when the first stack is mapped. It runs on the alternate stack of its thread,
//! which std makes for its own threads; others get one here. It allocates nothing and takes no lock: it walks
//! a list of records that are never freed (a later stack uses them again) and writes a buffer of its own.
//!
//! # Safety
//! Of two kinds: calls of libc, with pointers to locals or to memory that lives as long as the process or
//! thread; and the walk, which follows pointers made by `Box::leak` alone.
//!
//! Not here: stacks (`stack.rs`).
#![allow(unsafe_code)]

use std::cell::OnceCell;
use std::ffi::{c_int, c_void};
use std::fmt::{self, Write};
use std::mem::MaybeUninit;
use std::ops::Range;
use std::panic::Location;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// A guard page that faults are compared with. Never freed.
struct Record {
    /// Where the page begins, and where it ends; the same for none.
    from: AtomicUsize,
    to: AtomicUsize,
    stack_size: AtomicUsize,
    /// Where the fiber on this stack was spawned; null before the first.
    site: AtomicPtr<Location<'static>>,
    next: *const Record,
}

// SAFETY: `next` is written before the record is published, and points to a record that is never freed.
unsafe impl Sync for Record {}

/// All records: those in use and those to be used again.
static RECORDS: AtomicPtr<Record> = AtomicPtr::new(ptr::null_mut());
/// Those to be used again. There are as many records as there ever were stacks at once.
static IDLE: Mutex<Vec<&'static Record>> = Mutex::new(Vec::new());
/// Who handled the signal before us.
static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

/// Room for the handler, on a thread to which std has not given any.
const ALTERNATE_SIZE: usize = 64 * 1024;

/// A stack of which the handler knows, as long as this lives.
pub(crate) struct Guarded(&'static Record);

impl Guarded {
    /// Writes down the guard page of a stack of so many bytes.
    pub(crate) fn new(page: Range<usize>, stack_size: usize) -> Guarded {
        BEFORE.get_or_init(install);
        // At the thread's end there may be none any more: the line is then missing, nothing else.
        let _ = ALTERNATE.try_with(|own| {
            own.get_or_init(Alternate::of_thread);
        });
        let idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let record = idle.unwrap_or_else(publish);
        record.stack_size.store(stack_size, Ordering::Relaxed);
        record.from.store(page.start, Ordering::Relaxed);
        record.to.store(page.end, Ordering::Release);
        Guarded(record)
    }

    /// Says where the fiber that begins on this stack was spawned.
    #[inline]
    pub(crate) fn set_site(&self, site: &'static Location<'static>) {
        self.0.site.store(ptr::from_ref(site).cast_mut(), Ordering::Relaxed);
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        self.0.to.store(0, Ordering::Relaxed);
        self.0.site.store(ptr::null_mut(), Ordering::Relaxed);
        IDLE.lock().unwrap_or_else(PoisonError::into_inner).push(self.0);
    }
}

/// A record at the head of the list.
fn publish() -> &'static Record {
    let record = Box::leak(Box::new(Record {
        from: AtomicUsize::new(0),
        to: AtomicUsize::new(0),
        stack_size: AtomicUsize::new(0),
        site: AtomicPtr::new(ptr::null_mut()),
        next: ptr::null(),
    }));
    let mut head = RECORDS.load(Ordering::Relaxed);
    loop {
        record.next = head;
        let published: *mut Record = record;
        match RECORDS.compare_exchange_weak(head, published, Ordering::Release, Ordering::Relaxed) {
            Ok(_) => return record,
            Err(newer) => head = newer,
        }
    }
}

/// The record of the guard page in which an address lies.
fn find(address: usize) -> Option<&'static Record> {
    let mut next: *const Record = RECORDS.load(Ordering::Acquire);
    // SAFETY: null, or a record made by `publish`, which is never freed.
    while let Some(record) = unsafe { next.as_ref() } {
        let to = record.to.load(Ordering::Acquire);
        if (record.from.load(Ordering::Relaxed)..to).contains(&address) {
            return Some(record);
        }
        next = record.next;
    }
    None
}

// ── The signal ─────────────────────────────────────────────────────────────────────────────────────────────

type Handler = extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);

/// Puts our handler in front of the one before, which is returned.
fn install() -> libc::sigaction {
    let ours = action(on_fault as Handler as libc::sighandler_t, libc::SA_SIGINFO | libc::SA_ONSTACK);
    let mut before = action(libc::SIG_DFL, 0);
    // SAFETY: both are whole actions on our stack, and the handler keeps to what a handler may do.
    unsafe { libc::sigaction(libc::SIGSEGV, &raw const ours, &raw mut before) };
    before
}

fn action(handler: libc::sighandler_t, flags: c_int) -> libc::sigaction {
    // SAFETY: all zeros is an action: the default one, nothing blocked.
    let mut action: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
    action.sa_sigaction = handler;
    action.sa_flags = flags;
    action
}

/// The instruction that faulted is tried again after this returns.
extern "C" fn on_fault(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel hands a valid `info` to a handler with SA_SIGINFO.
    let fault = unsafe { &*info };
    // SAFETY: for a fault the address is the member of the union that is set; else it is not looked at.
    let address = unsafe { fault.si_addr() }.addr();
    if fault.si_code > 0
        && let Some(record) = find(address)
    {
        tell(record);
        return by_default(signal);
    }
    match BEFORE.get().map_or(libc::SIG_DFL, |before| before.sa_sigaction) {
        libc::SIG_DFL | libc::SIG_IGN => by_default(signal),
        handler => {
            // SAFETY: a handler that somebody installed. Without SA_SIGINFO it takes the first argument and
            // does not see the others, which are in registers.
            let handler = unsafe { std::mem::transmute::<libc::sighandler_t, Handler>(handler) };
            handler(signal, info, context);
        }
    }
}

fn by_default(signal: c_int) {
    let default = action(libc::SIG_DFL, 0);
    // SAFETY: a whole action on our stack; the one before is not asked for.
    unsafe { libc::sigaction(signal, &raw const default, ptr::null_mut()) };
}

/// One line on stderr, with one call.
fn tell(record: &Record) {
    let mut line = Line { bytes: [0; 512], len: 0 };
    let site = record.site.load(Ordering::Relaxed);
    // A line that does not fit ends early.
    let _ = match ptr::NonNull::new(site) {
        // SAFETY: it was made of a reference that lives for ever.
        Some(site) => write!(line, "\nlisle: a fiber spawned at {} has", unsafe { site.as_ref() }),
        None => write!(line, "\nlisle: a fiber has"),
    };
    let size_kib = record.stack_size.load(Ordering::Relaxed) / 1024;
    let _ = write!(line, " overflowed its stack of {size_kib} KiB");
    let _ = writeln!(line, "; lisle_direct::Builder::stack_size gives it a larger one");
    // SAFETY: `bytes` has `len` bytes at least.
    unsafe { libc::write(libc::STDERR_FILENO, line.bytes.as_ptr().cast(), line.len) };
}

/// Text without an allocation.
struct Line {
    bytes: [u8; 512],
    len: usize,
}

impl Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = self.bytes.get_mut(self.len..self.len + text.len()).ok_or(fmt::Error)?;
        room.copy_from_slice(text.as_bytes());
        self.len += text.len();
        Ok(())
    }
}

// ── Where the handler runs ─────────────────────────────────────────────────────────────────────────────────

thread_local! {
    static ALTERNATE: OnceCell<Alternate> = const { OnceCell::new() };
}

/// The alternate stack of this thread, if we had to make one.
struct Alternate(Option<Box<[u8]>>);

impl Alternate {
    /// Looks whether the thread has one, and gives it one otherwise.
    fn of_thread() -> Alternate {
        let mut now = libc::stack_t { ss_sp: ptr::null_mut(), ss_flags: 0, ss_size: 0 };
        // SAFETY: it is only asked for, into a local.
        unsafe { libc::sigaltstack(ptr::null(), &raw mut now) };
        if now.ss_flags & libc::SS_DISABLE == 0 {
            return Alternate(None);
        }
        let mut memory = vec![0_u8; ALTERNATE_SIZE].into_boxed_slice();
        let own = libc::stack_t { ss_sp: memory.as_mut_ptr().cast(), ss_flags: 0, ss_size: memory.len() };
        // SAFETY: the memory belongs to `self`, which takes it back from the thread before it is freed.
        unsafe { libc::sigaltstack(&raw const own, ptr::null_mut()) };
        Alternate(Some(memory))
    }
}

impl Drop for Alternate {
    fn drop(&mut self) {
        if self.0.is_some() {
            let none = libc::stack_t { ss_sp: ptr::null_mut(), ss_flags: libc::SS_DISABLE, ss_size: 0 };
            // SAFETY: it is taken away from the thread before it is freed; no handler runs on it, for we do.
            unsafe { libc::sigaltstack(&raw const none, ptr::null_mut()) };
        }
    }
}

//! The ring itself: two queues shared with the kernel, and the list of pool buffers it may pick from.
//!
//! ```text
//!   push ──► submission queue ──enter──► kernel ──► completion queue ──drain──► Seen
//!   lend ──► buffer list (tail published) ──► kernel picks one when data is there
//! ```
//!
//! The only file of this engine with unsafe code. Its safety rests on one promise, kept by `mod.rs`: whatever
//! an entry points to lies in a `Flight` of the in-flight table and stays there until that flight's last
//! completion has been seen; whatever the buffer list points to lies in the `Lender` until the kernel has
//! handed it back; and `Drop` of the engine waits for all of that before memory goes, or leaks it.
//! Not here: what entries mean (`encode.rs`), when to enter (`mod.rs`).
#![allow(unsafe_code)]

use super::encode::POOL_GROUP;
use super::{Config, Refusal};
use crate::Wait;
use io_uring::types::{BufRingEntry, SubmitArgs, Timespec};
use io_uring::{Builder, EnterFlags, IoUring, cqueue, squeue};
use rustix::io::Errno;
use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::fmt;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

/// The longest sleep the kernel is asked for; a longer one returns early and the caller turns again.
const SLEEP_MAX: Duration = Duration::from_secs(1 << 30);
/// How often something is tried again for lack of memory; 127 ms in all.
const MEMORY_TRIES_MAX: u32 = 7;
/// By what the queues' sizes are divided while `RLIMIT_MEMLOCK` leaves no room for them.
const SHRINKING: [u32; 3] = [1, 4, 16];
/// The buffer list must begin on a page.
const PAGE_BYTES: usize = 4096;
/// How long a list can be on one page; a shorter one would save nothing.
const PAGE_ENTRIES: usize = PAGE_BYTES / size_of::<BufRingEntry>();

/// How completions get from the kernel's inner queue to ours; the best the kernel knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Only inside our own `io_uring_enter` (Linux 6.1).
    Deferred,
    /// At any system call of this thread (Linux 5.19).
    Cooperative,
    /// Whenever the kernel likes, by interrupting the thread.
    Interrupting,
}

impl Mode {
    const LADDER: [Mode; 3] = [Mode::Deferred, Mode::Cooperative, Mode::Interrupting];

    /// Lines for `io_uring_setup(2)`, each flag as its man page allows.
    fn apply(self, builder: &mut Builder) {
        match self {
            // DEFER_TASKRUN demands SINGLE_ISSUER: the thread that made the ring is the only one to use it.
            // TASKRUN_FLAG lets an idle lap see from memory that there is nothing to enter for.
            Mode::Deferred => {
                builder.setup_single_issuer().setup_defer_taskrun().setup_taskrun_flag().setup_submit_all()
            }
            Mode::Cooperative => builder.setup_coop_taskrun().setup_taskrun_flag().setup_submit_all(),
            Mode::Interrupting => builder,
        };
    }
}

/// One completion, copied out of the queue.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen {
    pub(super) user_data: u64,
    pub(super) result: i32,
    pub(super) flags: u32,
}

impl Seen {
    pub(super) fn value(self) -> Result<u32, Errno> {
        // Errors are small negative numbers, so neither conversion can lose anything.
        u32::try_from(self.result).map_err(|_| Errno::from_raw_os_error(-self.result))
    }

    /// Whether the kernel will say more about the same entry.
    pub(super) fn more(self) -> bool {
        cqueue::more(self.flags)
    }

    /// Whether the kernel saw more data in the socket after a receive.
    pub(super) fn socket_has_more(self) -> bool {
        cqueue::sock_nonempty(self.flags)
    }

    /// The pool buffer the kernel picked.
    pub(super) fn buffer_id(self) -> Option<u16> {
        cqueue::buffer_select(self.flags)
    }
}

/// See the head of the file.
pub(super) struct Ring {
    // Declared first, so that it is closed before the buffer list it may read from is freed.
    inner: IoUring,
    buf_list: Option<BufList>,
    mode: Mode,
    enter_flags: EnterFlags,
    system_calls: u64,
}

impl fmt::Debug for Ring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ring").field("mode", &self.mode).field("system_calls", &self.system_calls).finish()
    }
}

impl Ring {
    pub(super) fn open(config: &Config) -> Result<Ring, Refusal> {
        let (inner, mode) = create(config)?;
        let params = inner.params();
        if !params.is_feature_ext_arg() || !params.is_feature_nodrop() {
            return Err(Refusal { step: "io_uring_setup: features", errno: Errno::NOSYS });
        }
        let mut enter_flags = EnterFlags::GETEVENTS | EnterFlags::EXT_ARG;
        if params.is_feature_no_iowait() {
            // Sleeping here is idling, not waiting for a disk: keep it out of the iowait statistics.
            enter_flags |= EnterFlags::NO_IOWAIT;
        }
        Ok(Ring { inner, buf_list: None, mode, enter_flags, system_calls: 0 })
    }

    pub(super) fn mode(&self) -> Mode {
        self.mode
    }

    pub(super) fn system_calls(&self) -> u64 {
        self.system_calls
    }

    pub(super) fn reset_system_calls(&mut self) {
        self.system_calls = 0;
    }

    /// Which opcodes the kernel knows.
    pub(super) fn opcodes(&mut self) -> io::Result<io_uring::Probe> {
        let mut probe = io_uring::Probe::new();
        self.system_calls += 1;
        self.inner.submitter().register_probe(&mut probe)?;
        Ok(probe)
    }

    /// Queues an entry, unless the submission queue is full.
    pub(super) fn push(&mut self, entry: &squeue::Entry) -> bool {
        let mut queue = self.inner.submission();
        // SAFETY: entries are built by `encode.rs` only, from a flight; the promise at the head of this file
        // keeps what they point to in the in-flight table until the flight's last completion.
        unsafe { queue.push(entry) }.is_ok()
    }

    /// Whether entries wait to be handed to the kernel.
    pub(super) fn has_queued(&mut self) -> bool {
        !self.inner.submission().is_empty()
    }

    /// Hands queued entries to the kernel, without waiting or collecting.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        let queued = self.inner.submission().len() as u32;
        self.system_calls += 1;
        let submitter = self.inner.submitter();
        // SAFETY: no argument is passed; the entries keep the promise at the head of this file.
        let entered = unsafe { submitter.enter::<libc::sigset_t>(queued, 0, 0, None) };
        entered.map(drop)
    }

    /// Hands queued entries to the kernel, lets it finish what it deferred, and sleeps if nothing has
    /// completed. Makes no system call if there is nothing to do. A full kernel (`EBUSY`, `EAGAIN`) leaves
    /// entries queued.
    pub(super) fn enter(&mut self, wait: Wait) -> io::Result<()> {
        let queue = self.inner.submission();
        let (queued, deferred) = (queue.len() as u32, queue.taskrun() || queue.cq_overflow());
        drop(queue);
        let sleep = wait != Wait::Poll && self.inner.completion().is_empty();
        if queued == 0 && !sleep && !deferred {
            return Ok(());
        }
        let timespec = match wait {
            Wait::For(time) => Timespec::from(time.min(SLEEP_MAX)),
            Wait::Poll | Wait::Forever => Timespec::new(),
        };
        let args = SubmitArgs::new();
        let args = if let Wait::For(_) = wait { args.timespec(&timespec) } else { args };
        self.system_calls += 1;
        let submitter = self.inner.submitter();
        // SAFETY: `args` and `timespec` live until the call returns, which is as long as the kernel reads
        // them; the entries keep the promise at the head of this file.
        let entered =
            unsafe { submitter.enter(queued, u32::from(sleep), self.enter_flags.bits(), Some(&args)) };
        match entered.map_err(|error| (error.raw_os_error(), error)) {
            Ok(_) | Err((Some(libc::ETIME | libc::EINTR | libc::EBUSY | libc::EAGAIN), _)) => Ok(()),
            Err((_, error)) => Err(error),
        }
    }

    /// Whether completions wait in the kernel because the queue was full.
    pub(super) fn is_overflown(&mut self) -> bool {
        self.inner.submission().cq_overflow()
    }

    /// Moves all completions out of the queue.
    pub(super) fn drain(&mut self, seen: &mut Vec<Seen>) {
        seen.extend(self.inner.completion().map(|entry| Seen {
            user_data: entry.user_data(),
            result: entry.result(),
            flags: entry.flags(),
        }));
    }

    /// Registers an empty buffer list of at most `entries`, so that [`Ring::lend`] works. Says how long it
    /// became: shorter if memory for it may not be locked.
    pub(super) fn register_buf_list(&mut self, entries: u16) -> Result<u16, Errno> {
        let mut calls = 0;
        let submitter = self.inner.submitter();
        let list = patiently(|| {
            let mut list = BufList::new(entries);
            loop {
                calls += 1;
                let (address, entries) = (list.base.as_ptr() as u64, list.mask + 1);
                // SAFETY: the list has `entries` entries and lives, if accepted, in `self.buf_list` until
                // the ring is closed (field order) or it is leaked.
                match unsafe { submitter.register_buf_ring_with_flags(address, entries, POOL_GROUP, 0) } {
                    Ok(()) => return Ok(list),
                    Err(error) if errno_of(&error) == Errno::NOMEM && usize::from(entries) > PAGE_ENTRIES => {
                        list = BufList::new(entries / 2);
                    }
                    Err(error) => return Err(errno_of(&error)),
                }
            }
        });
        self.system_calls += calls;
        let list = list?;
        let entries = list.mask + 1;
        self.buf_list = Some(list);
        Ok(entries)
    }

    /// Lets the kernel fill `bytes` under the name `id`, at any time after the next [`Ring::publish_lent`].
    pub(super) fn lend(&mut self, id: u16, bytes: &mut [u8]) {
        if let Some(list) = &mut self.buf_list {
            list.push(id, bytes);
        }
    }

    /// Shows the kernel what was lent.
    pub(super) fn publish_lent(&mut self) {
        if let Some(list) = &mut self.buf_list {
            list.publish();
        }
    }

    /// Never frees the buffer list: for an engine whose operations would not end.
    pub(super) fn leak_buf_list(&mut self) {
        std::mem::forget(self.buf_list.take());
    }
}

/// Climbs down the ladder of modes until the kernel accepts one.
fn create(config: &Config) -> Result<(IoUring, Mode), Refusal> {
    let refuse = |errno| Refusal { step: "io_uring_setup", errno };
    if let Some(errno) = config.inject_setup_errno {
        return Err(refuse(errno));
    }
    let best = config.inject_mode.unwrap_or(Mode::Deferred);
    for mode in Mode::LADDER.into_iter().skip_while(|mode| *mode != best) {
        match patiently(|| build(config, mode)) {
            Ok(ring) => return Ok((ring, mode)),
            // A flag this kernel does not know.
            Err(Errno::INVAL) => {}
            Err(errno) => return Err(refuse(errno)),
        }
    }
    Err(refuse(Errno::INVAL))
}

/// Builds a ring, a smaller one if memory for a large one may not be locked: it works as well, with more
/// system calls.
fn build(config: &Config, mode: Mode) -> Result<IoUring, Errno> {
    let mut built = Err(Errno::NOMEM);
    for divisor in SHRINKING {
        let shrink = |entries: u32| (entries / divisor).max(entries.clamp(1, 8));
        let mut builder = IoUring::builder();
        builder.setup_clamp().setup_cqsize(shrink(config.cq_entries.max(config.sq_entries)));
        mode.apply(&mut builder);
        built = builder.build(shrink(config.sq_entries)).map_err(|error| errno_of(&error));
        if !matches!(built, Err(Errno::NOMEM)) {
            break;
        }
    }
    built
}

/// Tries again for lack of memory: the kernel frees closed rings a little later.
fn patiently<T>(mut attempt: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    for tries in 0..MEMORY_TRIES_MAX {
        match attempt() {
            Err(Errno::NOMEM) => std::thread::sleep(Duration::from_millis(1 << tries)),
            other => return other,
        }
    }
    attempt()
}

fn errno_of(error: &io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

/// Takes over a descriptor that arrived as the value of a completion.
pub(super) fn adopt(number: u32) -> OwnedFd {
    // SAFETY: the kernel installed this number for us when it accepted, and its completion is looked at once
    // only, so nobody else owns it.
    unsafe { OwnedFd::from_raw_fd(number as i32) }
}

/// The list of buffers the kernel may pick from (`io_uring_register_buf_ring(3)`): a ring of which only we
/// move the tail.
struct BufList {
    base: NonNull<BufRingEntry>,
    layout: Layout,
    mask: u16,
    tail: u16,
}

impl BufList {
    fn new(entries: u16) -> BufList {
        assert!(entries.is_power_of_two());
        let bytes = usize::from(entries) * size_of::<BufRingEntry>();
        let layout = Layout::from_size_align(bytes, PAGE_BYTES).expect("sizes are small powers of two");
        // SAFETY: the layout is not empty, since `entries` is at least one; the memory is freed in `Drop`
        // only.
        let memory = unsafe { alloc_zeroed(layout) };
        let Some(base) = NonNull::new(memory.cast::<BufRingEntry>()) else { handle_alloc_error(layout) };
        BufList { base, layout, mask: entries - 1, tail: 0 }
    }

    fn push(&mut self, id: u16, bytes: &mut [u8]) {
        let place = self.base.as_ptr().wrapping_add(usize::from(self.tail & self.mask));
        // SAFETY: `place` is one of the entries allocated in `new`; the kernel only reads it, and not before
        // `publish`; the exclusive borrow ends within this function. The setters leave the tail, which
        // shares the first entry, alone.
        let entry = unsafe { &mut *place };
        entry.set_addr(bytes.as_mut_ptr() as u64);
        entry.set_len(bytes.len() as u32);
        entry.set_bid(id);
        self.tail = self.tail.wrapping_add(1);
    }

    fn publish(&mut self) {
        // SAFETY: `base` is the first entry of the list, allocated and zeroed in `new`, as the callee
        // demands.
        let tail = unsafe { BufRingEntry::tail(self.base.as_ptr()) };
        // SAFETY: aligned for a u16, alive until `Drop`, and all accesses from our side go through this
        // atomic.
        let tail = unsafe { AtomicU16::from_ptr(tail.cast_mut()) };
        tail.store(self.tail, Ordering::Release);
    }
}

impl Drop for BufList {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout. The ring is closed before (field order in `Ring`),
        // and the engine has drained every operation that could have picked from the list; else it leaked
        // the list instead.
        unsafe { dealloc(self.base.as_ptr().cast(), self.layout) };
    }
}

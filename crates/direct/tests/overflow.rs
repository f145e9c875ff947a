//! Stacks that are too small: the process ends at the guard page, says which fiber it was, and has written to
//! nobody's memory. Each in a child process, which a fault ends; the parent looks at what is left.
#![allow(unsafe_code, reason = "a mapping below a guard page, and a signal handler, cannot be made without")]

use lisle::pair;
use lisle::sched::tasks::run_ready;
use lisle_direct::{Builder, spawn, stack};
use std::cell::Cell;
use std::fs::File;
use std::hint::black_box;
use std::io::Write;
use std::mem;
use std::os::fd::AsRawFd;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::Command;
use std::rc::Rc;

const CHILD: &str = "LISLE_DIRECT_OVERFLOW";
const PATTERN: u8 = 0xA5;
/// What lies directly below the guard page.
const NEIGHBOUR_BYTES: usize = 4 << 20;
const FRAME_BYTES: usize = 1024;

/// How a child process ended, and what its neighbour's memory holds then.
struct End {
    signal: Option<i32>,
    stdout: String,
    stderr: String,
    neighbour: Vec<u8>,
}

impl End {
    /// The fiber spawned at this line of this file died, of a stack of so many KiB, and wrote nothing beyond.
    #[track_caller]
    fn assert_told(&self, line: u32, stack_kib: usize) {
        let Self { stdout, stderr, .. } = self;
        assert_eq!(self.signal, Some(libc::SIGSEGV), "{stdout}{stderr}");
        let site = format!("lisle: a fiber spawned at {}:{line}:", file!());
        assert!(stderr.contains(&site), "{stderr}");
        assert!(stderr.contains(&format!("overflowed its stack of {stack_kib} KiB")), "{stderr}");
        assert!(stderr.contains("Builder::stack_size"), "{stderr}");
        assert!(!stdout.contains("survived"));
    }

    #[track_caller]
    fn assert_neighbour_is_whole(&self) {
        assert!(self.stdout.contains("neighbour mapped"), "{}{}", self.stdout, self.stderr);
        let touched = self.neighbour.iter().filter(|&&byte| byte != PATTERN).count();
        assert_eq!((self.neighbour.len(), touched), (NEIGHBOUR_BYTES, 0), "bytes beyond the guard page");
    }
}

fn is_child(test: &str) -> bool {
    std::env::var(CHILD).is_ok_and(|name| name == test)
}

fn neighbour_file() -> PathBuf {
    PathBuf::from(std::env::var("LISLE_NEIGHBOUR").expect("set for children"))
}

/// Runs one test of this program in a child process.
fn child(test: &str) -> End {
    let path = std::env::temp_dir().join(format!("lisle-neighbour-{}-{test}", std::process::id()));
    std::fs::write(&path, vec![PATTERN; NEIGHBOUR_BYTES]).unwrap();
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(CHILD, test)
        .env("LISLE_NEIGHBOUR", &path)
        .output()
        .unwrap();
    let neighbour = std::fs::read(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    End {
        signal: output.status.signal(),
        stdout: text(&output.stdout),
        stderr: text(&output.stderr),
        neighbour,
    }
}

/// The mappings of this process, as the kernel sees them.
fn mappings() -> Vec<(usize, usize)> {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let ranges = maps.lines().filter_map(|line| {
        let (from, to) = line.split_whitespace().next()?.split_once('-')?;
        Some((usize::from_str_radix(from, 16).ok()?, usize::from_str_radix(to, 16).ok()?))
    });
    ranges.collect()
}

/// Where the guard page begins of the stack that runs this.
fn guard_start() -> usize {
    let local = black_box(0_u8);
    let start_of = |address: usize| {
        mappings().into_iter().find(|(from, to)| (*from..*to).contains(&address)).expect("it is mapped").0
    };
    // Below the stack's writable part lies its guard page, a mapping of its own for the kernel.
    start_of(start_of(&raw const local as usize) - 1)
}

/// How many bytes below the guard page of the stack that runs this belong to nobody.
fn room_below() -> usize {
    let guard = guard_start();
    guard - mappings().into_iter().map(|(_, to)| to).filter(|to| *to <= guard).max().unwrap_or(0)
}

/// Maps the parent's file directly below the guard page of the stack that runs this.
fn map_neighbour() {
    let guard = guard_start();
    let file = File::options().read(true).write(true).open(neighbour_file()).unwrap();
    // SAFETY: a new mapping, where there is none: otherwise it is refused.
    let mapped = unsafe {
        libc::mmap(
            (guard - NEIGHBOUR_BYTES) as *mut libc::c_void,
            NEIGHBOUR_BYTES,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED | libc::MAP_FIXED_NOREPLACE,
            file.as_raw_fd(),
            0,
        )
    };
    assert_eq!(mapped as usize, guard - NEIGHBOUR_BYTES, "{}", std::io::Error::last_os_error());
    println!("neighbour mapped");
}

/// Stacks that fill the holes in the address space, until one has much room below it. The kernel takes the
/// highest hole that is large enough, so the next stack comes right below that one.
fn fill_holes() {
    const STACKS_MAX: usize = 10_000;
    for _ in 0..STACKS_MAX {
        let room = Rc::new(Cell::new(0));
        let seen = room.clone();
        // For ever: a stack that is given back would be the next one's.
        let (never, resolver) = pair::<()>();
        mem::forget(resolver);
        spawn(move |fiber| {
            seen.set(room_below());
            fiber.wait(never)
        })
        .detach();
        run_ready();
        if room.get() > 4 * NEIGHBOUR_BYTES {
            return;
        }
    }
    panic!("there is no room for a neighbour below any of {STACKS_MAX} stacks");
}

#[expect(unconditional_recursion)]
fn endless(depth: usize) -> usize {
    let frame = black_box([1_u8; FRAME_BYTES]);
    std::io::stdout().write_all(b"#").unwrap();
    std::io::stdout().flush().unwrap();
    endless(depth + 1) + usize::from(frame[depth % FRAME_BYTES])
}

/// BR-220: a fiber that recurses without end ends the process at its guard page, with a message that names it;
/// the memory directly below is whole.
#[test]
fn br_220_endless_recursion_names_the_fiber_and_leaves_its_neighbours_alone() {
    const TEST: &str = "br_220_endless_recursion_names_the_fiber_and_leaves_its_neighbours_alone";
    const LINE: u32 = line!() + 3;
    if is_child(TEST) {
        fill_holes();
        spawn(|_| {
            map_neighbour();
            endless(0)
        })
        .detach();
        run_ready();
        println!("survived");
        return;
    }
    let end = child(TEST);
    end.assert_told(LINE, stack::SIZE_DEFAULT / 1024);
    end.assert_neighbour_is_whole();
    let frames = end.stdout.matches('#').count();
    assert!(frames > 10 && frames <= stack::SIZE_DEFAULT / FRAME_BYTES, "{frames} frames fit");
}

/// BR-220: an array of 1 MiB on a stack of 256 KiB does not jump over the guard page: a large frame is touched
/// page by page.
#[test]
fn br_220_an_array_larger_than_the_stack_does_not_jump_over_the_guard_page() {
    const TEST: &str = "br_220_an_array_larger_than_the_stack_does_not_jump_over_the_guard_page";
    const LINE: u32 = line!() + 3;
    if is_child(TEST) {
        fill_holes();
        spawn(|_| {
            map_neighbour();
            large_frame()
        })
        .detach();
        run_ready();
        println!("survived");
        return;
    }
    let end = child(TEST);
    end.assert_told(LINE, stack::SIZE_DEFAULT / 1024);
    end.assert_neighbour_is_whole();
}

#[inline(never)]
fn large_frame() -> u8 {
    black_box([1_u8; 1 << 20])[7]
}

#[test]
fn a_stack_that_is_used_again_names_the_fiber_that_is_on_it_now() {
    const TEST: &str = "a_stack_that_is_used_again_names_the_fiber_that_is_on_it_now";
    const LINE: u32 = line!() + 7;
    if is_child(TEST) {
        let small = Builder::new().stack_size(64 * 1024);
        small.spawn(|_| ()).detach();
        small.spawn(|fiber| fiber.yield_now()).detach();
        run_ready();
        run_ready();
        small.spawn(|_| endless(0)).detach();
        run_ready();
        println!("survived");
        return;
    }
    child(TEST).assert_told(LINE, 64);
}

#[test]
fn a_thread_without_an_alternate_stack_gets_one() {
    const TEST: &str = "a_thread_without_an_alternate_stack_gets_one";
    const LINE: u32 = line!() + 6;
    if is_child(TEST) {
        std::thread::spawn(|| {
            let none = libc::stack_t { ss_sp: std::ptr::null_mut(), ss_flags: libc::SS_DISABLE, ss_size: 0 };
            // SAFETY: the stack that std gave this thread is not in use.
            unsafe { libc::sigaltstack(&raw const none, std::ptr::null_mut()) };
            spawn(|_| endless(0)).detach();
            run_ready();
            println!("survived");
        })
        .join()
        .unwrap();
        return;
    }
    child(TEST).assert_told(LINE, stack::SIZE_DEFAULT / 1024);
}

#[test]
fn a_fault_elsewhere_goes_to_the_handler_before() {
    const TEST: &str = "a_fault_elsewhere_goes_to_the_handler_before";
    extern "C" fn earlier(_signal: libc::c_int) {
        // SAFETY: a literal of this length; then the process ends.
        unsafe { libc::write(1, b"earlier handler".as_ptr().cast(), 15) };
        // SAFETY: it has no conditions.
        unsafe { libc::_exit(7) };
    }
    if is_child(TEST) {
        let handler = earlier as extern "C" fn(libc::c_int) as libc::sighandler_t;
        // SAFETY: the handler does nothing that a handler may not.
        unsafe { libc::signal(libc::SIGSEGV, handler) };
        let was_run = Rc::new(Cell::new(false));
        let told = was_run.clone();
        spawn(move |_| told.set(true)).detach();
        run_ready();
        assert!(was_run.get(), "a stack has been mapped, and our handler installed");
        // SAFETY: it has no conditions; the handler is to be run.
        unsafe { libc::raise(libc::SIGSEGV) };
        println!("survived");
        return;
    }
    let end = child(TEST);
    assert_eq!(end.signal, None);
    assert!(end.stdout.contains("earlier handler"), "{}{}", end.stdout, end.stderr);
    assert!(!end.stdout.contains("survived"));
}

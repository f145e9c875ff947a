//! Which engine this machine can run, and if not the best one, why not and what to do about it.
//!
//! ```text
//!   Auto ──► io_uring: create ─► opcodes ─► buffer list ─► no-op ──► use it
//!                        └─────────┴────────────┴───────────┴──────► epoll, with the reason in one line
//!   Only(kind) ──► that one, or an error that names cause and cure
//! ```
//!
//! The probe does what the engine will do, so what it says holds: containers and sandboxes refuse single
//! steps with errors that no version number tells. [`report`] collects the same facts for `lisle doctor`.
//! Not here: printing (the caller prints a reason once), parsing command lines.

use crate::uring::{self, Mode, Refusal, Uring};
use crate::{Completion, Engine, EngineKind, Op, Submitted, Token, Wait, readiness};
use io_uring::opcode;
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};
use std::str::FromStr;
use std::{env, fmt, fs, io};

/// The environment variable that chooses the engine.
pub const VARIABLE: &str = "LISLE_ENGINE";

/// Which engine to open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Choice {
    /// The best that works.
    #[default]
    Auto,
    /// This one or an error.
    Only(EngineKind),
}

impl Choice {
    /// What [`VARIABLE`] asks for; [`Choice::Auto`] if it is unset or empty.
    ///
    /// # Errors
    /// When it holds anything else than a name.
    pub fn from_env() -> Result<Choice, EngineError> {
        match env::var_os(VARIABLE) {
            None => Ok(Choice::Auto),
            Some(name) if name.is_empty() => Ok(Choice::Auto),
            Some(name) => name.to_string_lossy().parse(),
        }
    }
}

impl FromStr for Choice {
    type Err = EngineError;

    fn from_str(name: &str) -> Result<Choice, EngineError> {
        if name == "auto" {
            return Ok(Choice::Auto);
        }
        let kind = EngineKind::ALL.into_iter().find(|kind| kind.name() == name);
        kind.map(Choice::Only).ok_or_else(|| EngineError::UnknownName { given: name.to_owned() })
    }
}

/// Why there is no engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EngineError {
    /// No engine has this name.
    UnknownName {
        /// What was asked for.
        given: String,
    },
    /// The engine that was asked for does not work here.
    Unavailable(Obstacle),
}

impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EngineError::UnknownName { given } => {
                write!(f, "unknown engine '{given}'; {VARIABLE} may be auto")?;
                EngineKind::ALL.iter().try_for_each(|kind| write!(f, ", {}", kind.name()))
            }
            EngineError::Unavailable(obstacle) => write!(f, "{obstacle}. To change: {}", obstacle.cure),
        }
    }
}

impl std::error::Error for EngineError {}

/// What keeps an engine from working, and the way around.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Obstacle {
    /// Which engine.
    pub kind: EngineKind,
    /// The step that failed.
    pub step: &'static str,
    /// What the kernel answered.
    pub errno: Errno,
    /// The likely cause.
    pub cause: String,
    /// What to do.
    pub cure: String,
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let errno = errno_name(self.errno);
        write!(
            f,
            "{}: not available ({errno} at {}). Likely cause: {}",
            self.kind.name(),
            self.step,
            self.cause
        )
    }
}

/// An engine, and why it is not the best one if it is not.
pub struct Opened {
    /// Ready for use, by this thread.
    pub engine: Box<dyn Engine>,
    /// Which one.
    pub kind: EngineKind,
    /// One line to print once, if the choice fell back.
    pub reason: Option<String>,
}

impl fmt::Debug for Opened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opened")
            .field("kind", &self.kind)
            .field("reason", &self.reason)
            .finish_non_exhaustive()
    }
}

/// Opens an engine for the calling thread, with default sizes.
///
/// # Errors
/// When the chosen engine does not work here; with [`Choice::Auto`], when not even epoll does.
///
/// ```
/// use lisle_engine::probe::{Choice, open};
/// let opened = open(Choice::Auto)?;
/// if let Some(reason) = &opened.reason {
///     eprintln!("{reason}");
/// }
/// # Ok::<(), lisle_engine::probe::EngineError>(())
/// ```
pub fn open(choice: Choice) -> Result<Opened, EngineError> {
    open_with(choice, &uring::Config::default())
}

/// As [`open`], with sizes for the ring.
///
/// # Errors
/// As [`open`].
pub fn open_with(choice: Choice, config: &uring::Config) -> Result<Opened, EngineError> {
    match choice {
        Choice::Auto => match open_uring(config) {
            Ok(engine) => Ok(opened(engine, None)),
            Err(obstacle) => {
                let reason = format!("{obstacle}. Using epoll; to change: {}", obstacle.cure);
                Ok(opened(open_readiness(EngineKind::Epoll)?, Some(reason)))
            }
        },
        Choice::Only(EngineKind::IoUring) => match open_uring(config) {
            Ok(engine) => Ok(opened(engine, None)),
            Err(obstacle) => Err(EngineError::Unavailable(obstacle)),
        },
        Choice::Only(kind) => Ok(opened(open_readiness(kind)?, None)),
    }
}

fn opened(engine: Box<dyn Engine>, reason: Option<String>) -> Opened {
    Opened { kind: engine.kind(), engine, reason }
}

fn open_readiness(kind: EngineKind) -> Result<Box<dyn Engine>, EngineError> {
    readiness::open(kind).map_err(|error| {
        let errno = Errno::from_io_error(&error).unwrap_or(Errno::NOSYS);
        let (cause, cure) = match errno {
            Errno::MFILE | Errno::NFILE => explain_files(),
            _ => (error.to_string(), format!("choose another engine with {VARIABLE}")),
        };
        EngineError::Unavailable(Obstacle { kind, step: "opening", errno, cause, cure })
    })
}

fn open_uring(config: &uring::Config) -> Result<Box<dyn Engine>, Obstacle> {
    let mut engine = Uring::open(config).map_err(obstacle)?;
    try_out(&mut engine).map_err(obstacle)?;
    Ok(Box::new(engine))
}

/// Opcodes without which the engine does not work.
const OPCODES: [(&str, u8); 9] = [
    ("nop", opcode::Nop::CODE),
    ("poll_add", opcode::PollAdd::CODE),
    ("accept", opcode::Accept::CODE),
    ("async_cancel", opcode::AsyncCancel::CODE),
    ("connect", opcode::Connect::CODE),
    ("send", opcode::Send::CODE),
    ("recv", opcode::Recv::CODE),
    // Not used themselves: they came with multishot receive and lasting cancellation (Linux 6.0), which have
    // no code.
    ("send_zc", opcode::SendZc::CODE),
    ("socket", opcode::Socket::CODE),
];

/// Takes the steps that a sandbox may refuse: the opcode table, the buffer list, one no-op.
fn try_out(engine: &mut Uring) -> Result<(), Refusal> {
    let refuse = |step| {
        move |error: io::Error| Refusal { step, errno: Errno::from_io_error(&error).unwrap_or(Errno::IO) }
    };
    let table = engine.opcodes().map_err(refuse("IORING_REGISTER_PROBE"))?;
    if OPCODES.iter().any(|(_, code)| !table.is_supported(*code)) {
        return Err(Refusal { step: "the opcode table", errno: Errno::NOSYS });
    }
    engine.register_pool().map_err(|errno| Refusal { step: "IORING_REGISTER_PBUF_RING", errno })?;
    let mut done: Vec<Completion> = Vec::new();
    if let Submitted::Pending = engine.submit(Token(0), Op::Nop) {
        // A no-op completes within the call that submits it.
        engine.turn(Wait::Poll, &mut done).map_err(refuse("io_uring_enter"))?;
        if done.is_empty() {
            return Err(Refusal { step: "a no-op", errno: Errno::TIMEDOUT });
        }
    }
    engine.reset_counters();
    Ok(())
}

fn obstacle(refusal: Refusal) -> Obstacle {
    let (cause, cure) = match refusal.errno {
        Errno::PERM | Errno::ACCESS => explain_permission(),
        Errno::NOSYS | Errno::INVAL | Errno::OPNOTSUPP => (
            format!("kernel {} lacks what the engine needs, or hides it", kernel_release()),
            "run Linux 6.1 or later, built with CONFIG_IO_URING and not hidden by a sandbox".to_owned(),
        ),
        Errno::NOMEM => explain_memory(),
        Errno::MFILE | Errno::NFILE => explain_files(),
        errno => (format!("unknown ({errno})"), "see `lisle doctor`".to_owned()),
    };
    Obstacle { kind: EngineKind::IoUring, step: refusal.step, errno: refusal.errno, cause, cure }
}

fn explain_permission() -> (String, String) {
    match io_uring_disabled() {
        Some(level @ 2..) => (
            format!("kernel.io_uring_disabled={level}"),
            "sysctl kernel.io_uring_disabled=0 (as root, on the host)".to_owned(),
        ),
        Some(1) => (
            "kernel.io_uring_disabled=1 and the process is not in kernel.io_uring_group".to_owned(),
            "sysctl kernel.io_uring_disabled=0, or add the user to that group".to_owned(),
        ),
        Some(0) | None => {
            let filter = if has_seccomp_filter() { "the" } else { "a" };
            (
                format!("{filter} seccomp profile of the container or service manager forbids io_uring"),
                "allow io_uring_setup, io_uring_enter and io_uring_register in that profile".to_owned(),
            )
        }
    }
}

fn explain_memory() -> (String, String) {
    let (soft, _) = limit(Resource::Memlock);
    (
        format!("RLIMIT_MEMLOCK is {}, used up by rings of this user", show_limit(soft)),
        "raise it (ulimit -l, LimitMEMLOCK=), or lower the number of workers".to_owned(),
    )
}

fn explain_files() -> (String, String) {
    let (soft, _) = limit(Resource::Nofile);
    (format!("all {} descriptors are in use", show_limit(soft)), "raise RLIMIT_NOFILE (ulimit -n)".to_owned())
}

fn errno_name(errno: Errno) -> String {
    let name = match errno {
        Errno::PERM => "EPERM",
        Errno::ACCESS => "EACCES",
        Errno::NOSYS => "ENOSYS",
        Errno::INVAL => "EINVAL",
        Errno::OPNOTSUPP => "EOPNOTSUPP",
        Errno::NOMEM => "ENOMEM",
        Errno::MFILE => "EMFILE",
        Errno::NFILE => "ENFILE",
        Errno::TIMEDOUT => "ETIMEDOUT",
        other => return format!("error {}", other.raw_os_error()),
    };
    name.to_owned()
}

/// Facts about this machine that decide between engines.
#[derive(Debug, Clone)]
pub struct Report {
    /// As `uname -r` says it.
    pub kernel_release: String,
    /// `kernel.io_uring_disabled`, if the kernel has the switch: 0 all may, 1 a group may, 2 nobody may.
    pub io_uring_disabled: Option<u8>,
    /// Whether a seccomp filter is on the process.
    pub seccomp_filter: bool,
    /// `RLIMIT_MEMLOCK` in bytes, soft and hard; `None` means unlimited.
    pub memlock_bytes: (Option<u64>, Option<u64>),
    /// `RLIMIT_NOFILE`, soft and hard; `None` means unlimited.
    pub nofile: (Option<u64>, Option<u64>),
    /// How the ring delivers completions, if there is one.
    pub ring_mode: Option<Mode>,
    /// Each engine, best first: usable, or why not.
    pub engines: Vec<(EngineKind, Result<(), EngineError>)>,
    /// Each opcode the ring engine needs, and whether the kernel has it; empty if there is no ring.
    pub opcodes: Vec<(&'static str, bool)>,
}

/// Looks at the machine. Opens and closes each engine once.
#[must_use]
pub fn report() -> Report {
    let config = uring::Config::default();
    let mut ring = Uring::open(&config);
    let table = ring.as_mut().ok().and_then(|ring| ring.opcodes().ok());
    let opcodes = table.map(|table| OPCODES.map(|(name, code)| (name, table.is_supported(code))).to_vec());
    Report {
        kernel_release: kernel_release(),
        io_uring_disabled: io_uring_disabled(),
        seccomp_filter: has_seccomp_filter(),
        memlock_bytes: limit(Resource::Memlock),
        nofile: limit(Resource::Nofile),
        ring_mode: ring.as_ref().ok().map(Uring::mode),
        engines: EngineKind::ALL
            .map(|kind| (kind, open_with(Choice::Only(kind), &config).map(drop)))
            .to_vec(),
        opcodes: opcodes.unwrap_or_default(),
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "kernel            {}", self.kernel_release)?;
        let switch = self.io_uring_disabled.map_or("absent".to_owned(), |level| level.to_string());
        writeln!(f, "io_uring_disabled {switch}")?;
        writeln!(f, "seccomp filter    {}", if self.seccomp_filter { "yes" } else { "no" })?;
        let pair = |(soft, hard)| format!("{} (hard {})", show_limit(soft), show_limit(hard));
        writeln!(f, "RLIMIT_MEMLOCK    {}", pair(self.memlock_bytes))?;
        writeln!(f, "RLIMIT_NOFILE     {}", pair(self.nofile))?;
        for (kind, usable) in &self.engines {
            match usable {
                Ok(()) => writeln!(f, "{:<17} works", kind.name())?,
                Err(error) => writeln!(f, "{:<17} {error}", kind.name())?,
            }
        }
        let missing = self.opcodes.iter().filter(|(_, supported)| !supported);
        missing.into_iter().try_for_each(|(name, _)| writeln!(f, "missing opcode    {name}"))
    }
}

fn kernel_release() -> String {
    rustix::system::uname().release().to_string_lossy().into_owned()
}

fn io_uring_disabled() -> Option<u8> {
    fs::read_to_string("/proc/sys/kernel/io_uring_disabled").ok()?.trim().parse().ok()
}

fn has_seccomp_filter() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    status.lines().any(|line| line.strip_prefix("Seccomp:").is_some_and(|mode| mode.trim() == "2"))
}

fn limit(resource: Resource) -> (Option<u64>, Option<u64>) {
    let limit = getrlimit(resource);
    (limit.current, limit.maximum)
}

fn show_limit(limit: Option<u64>) -> String {
    limit.map_or("unlimited".to_owned(), |value| value.to_string())
}

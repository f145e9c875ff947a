//! The one error with which a promise is rejected: two words, cheap to clone, `Send + Sync`.
//!
//! It says *what happened* (`Canceled`, `Abandoned`, `Panicked`, an OS error, or any `std::error::Error`),
//! not whose type it was: cancellation must be able to put its error into any promise, so the error cannot be
//! a type parameter. Errors that a caller wants to match by type travel as values, `Promise<Result<A, X>>`,
//! or are downcast. `Error` does not implement `std::error::Error`, so that `?` can convert from everything
//! that does (as `anyhow` does).

use std::any::Any;
use std::fmt;
use std::io;
use std::sync::Arc;

/// Why a promise was rejected.
///
/// ```
/// use lisle_core::Error;
/// fn parse(text: &str) -> Result<u32, Error> { Ok(text.parse::<u32>()?) }
/// assert!(parse("x").unwrap_err().downcast_ref::<std::num::ParseIntError>().is_some());
/// ```
#[derive(Clone)]
pub struct Error(Kind);

/// The result of a promise.
pub type Result<T, E = Error> = std::result::Result<T, E>;

#[derive(Clone)]
enum Kind {
    Canceled,
    Abandoned,
    Os(OsCode),
    // Both twice boxed: a fat pointer and a tag would be three words, and rejections are not the hot path.
    Panicked(Arc<String>),
    Other(Arc<Boxed>),
}

/// As wide as the other variants' content. Beside a tag of four bytes it made the compiler copy twelve bytes
/// of content as eight and four, even where there was none, and the reader, who loads the last eight, wait
/// until both had reached the cache: 5 ns of each result that was handed on.
#[derive(Clone, Copy)]
#[repr(align(8))]
struct OsCode(i32);

type Boxed = Box<dyn std::error::Error + Send + Sync>;

const _: () = assert!(size_of::<Error>() <= 2 * size_of::<usize>());

impl Error {
    /// An error of any type; an [`io::Error`] that came from the OS is kept inline.
    pub fn new(error: impl std::error::Error + Send + Sync + 'static) -> Error {
        if let Some(io) = (&error as &dyn Any).downcast_ref::<io::Error>()
            && let Some(code) = io.raw_os_error()
        {
            return Error::os(code);
        }
        Error(Kind::Other(Arc::new(Box::new(error))))
    }

    /// An error that is only a sentence.
    pub fn message(text: impl Into<String>) -> Error {
        Error(Kind::Other(Arc::new(text.into().into())))
    }

    /// The operation was cancelled.
    #[must_use]
    pub const fn canceled() -> Error {
        Error(Kind::Canceled)
    }

    /// Nobody is left who could resolve the promise.
    #[must_use]
    pub const fn abandoned() -> Error {
        Error(Kind::Abandoned)
    }

    /// An error code of the operating system.
    #[must_use]
    pub const fn os(code: i32) -> Error {
        Error(Kind::Os(OsCode(code)))
    }

    /// What a caught panic becomes.
    pub(crate) fn panicked(payload: &(dyn Any + Send)) -> Error {
        let text = payload
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
            .unwrap_or("a value that is not text");
        Error(Kind::Panicked(Arc::new(text.to_owned())))
    }

    /// Whether this is a cancellation.
    #[must_use]
    pub fn is_canceled(&self) -> bool {
        matches!(self.0, Kind::Canceled)
    }

    /// Whether nobody is left who could settle it: the resolver or task was dropped, or the runtime is gone.
    #[must_use]
    pub fn is_abandoned(&self) -> bool {
        matches!(self.0, Kind::Abandoned)
    }

    /// The text of the panic, if a callback, task or fiber panicked.
    #[must_use]
    pub fn panic_message(&self) -> Option<&str> {
        match &self.0 {
            Kind::Panicked(text) => Some(text),
            _ => None,
        }
    }

    /// The error code of the operating system, if it is one.
    #[must_use]
    pub fn raw_os_error(&self) -> Option<i32> {
        match &self.0 {
            Kind::Os(code) => Some(code.0),
            Kind::Other(error) => error.downcast_ref::<io::Error>().and_then(io::Error::raw_os_error),
            _ => None,
        }
    }

    /// The kind an [`io::Error`] made from this would have.
    #[must_use]
    pub fn io_kind(&self) -> io::ErrorKind {
        match &self.0 {
            Kind::Os(code) => io::Error::from_raw_os_error(code.0).kind(),
            Kind::Other(error) => {
                error.downcast_ref::<io::Error>().map_or(io::ErrorKind::Other, io::Error::kind)
            }
            _ => io::ErrorKind::Other,
        }
    }

    /// The error as the type it was made from.
    #[must_use]
    pub fn downcast_ref<E: std::error::Error + 'static>(&self) -> Option<&E> {
        match &self.0 {
            Kind::Other(error) => error.downcast_ref(),
            _ => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Canceled => f.write_str("canceled"),
            Kind::Abandoned => f.write_str(
                "abandoned: nobody is left to settle it (resolver or task dropped, or the runtime is gone)",
            ),
            Kind::Os(code) => io::Error::from_raw_os_error(code.0).fmt(f),
            Kind::Panicked(text) => write!(f, "panicked: {text}"),
            Kind::Other(error) => error.fmt(f),
        }
    }
}

/// Readable, since it is what a program prints whose `main` ends with an error.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Canceled => f.write_str("Canceled"),
            Kind::Abandoned => f.write_str("Abandoned"),
            Kind::Os(_) | Kind::Panicked(_) | Kind::Other(_) => fmt::Display::fmt(self, f),
        }
    }
}

impl<E: std::error::Error + Send + Sync + 'static> From<E> for Error {
    fn from(error: E) -> Error {
        Error::new(error)
    }
}

impl From<Error> for io::Error {
    /// An OS error keeps its code, a wrapped `io::Error` its kind; the rest becomes `ErrorKind::Other` with
    /// the text.
    fn from(error: Error) -> io::Error {
        match error.raw_os_error() {
            Some(code) => io::Error::from_raw_os_error(code),
            None => io::Error::new(error.io_kind(), Wrapped(error)),
        }
    }
}

impl From<Error> for Box<dyn std::error::Error + Send + Sync> {
    fn from(error: Error) -> Self {
        Box::new(Wrapped(error))
    }
}

impl From<Error> for Box<dyn std::error::Error> {
    /// So that `?` works in a `main` that returns `Result<(), Box<dyn std::error::Error>>`.
    ///
    /// ```
    /// fn main() -> Result<(), Box<dyn std::error::Error>> {
    ///     lisle_core::ready(1).try_take().unwrap()?;
    ///     let boxed = Box::<dyn std::error::Error>::from(lisle_core::Error::message("a sentence"));
    ///     assert_eq!(boxed.to_string(), "a sentence");
    ///     Ok(())
    /// }
    /// ```
    fn from(error: Error) -> Self {
        Box::new(Wrapped(error))
    }
}

/// An [`Error`] where a `std::error::Error` is asked for.
struct Wrapped(Error);

impl fmt::Debug for Wrapped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Wrapped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Wrapped {}

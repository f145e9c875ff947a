//! Stream sockets: TCP and Unix, listeners and connections, with promise operations.
//!
//! Operations own their buffers while the kernel has them: a [`crate::Buf`] moves in and comes back with
//! the promise. Handles are cheap to clone; several operations may be in flight on one socket, one of them
//! a write at a time, in order. A connection closes with its last handle and its last operation.

mod accept;
mod addr;
mod halves;
mod serve;
pub(crate) mod socket;
mod stream;
mod tcp;
mod unix;

pub use addr::ToAddr;
pub use halves::{ReadHalf, WriteHalf};
pub use serve::{CONNECTIONS_MAX, DRAIN_MAX, Handled, Serve};
pub use stream::Stream;
pub use tcp::{TcpListener, TcpStream};
pub use unix::{UnixListener, UnixStream};

/// The result of a direct system call. (`?` alone would box the error and forget that it is the system's.)
fn os<T>(result: rustix::io::Result<T>) -> lisle_core::Result<T> {
    result.map_err(|errno| lisle_core::Error::os(errno.raw_os_error()))
}

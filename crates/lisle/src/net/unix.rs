//! Unix sockets: listeners, streams and pairs.

use super::os;
use super::serve::{self, Handled, Serve};
use super::socket::Handle;
use super::stream::stream_methods;
use super::tcp::BACKLOG;
use crate::runtime::shape::FromConnection;
use lisle_core::{Promise, Result, rejected};
use lisle_engine::Buf;
use rustix::net::{
    AddressFamily, SocketAddrAny, SocketAddrUnix, SocketFlags, SocketType, socket_with, socketpair,
};
use std::future::Future;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

/// A connection over a Unix socket. Cloning makes another handle; the connection closes with the last one.
#[derive(Debug, Clone)]
pub struct UnixStream {
    pub(super) handle: Handle,
}

stream_methods!(UnixStream);

impl FromConnection for UnixStream {
    fn from_connection(fd: OwnedFd) -> UnixStream {
        UnixStream::from_fd(fd)
    }
}

/// A listening Unix socket. Cloning makes another handle; it closes with the last one. The file stays.
#[derive(Debug, Clone)]
pub struct UnixListener {
    pub(super) handle: Handle,
}

const FLAGS: SocketFlags = SocketFlags::CLOEXEC.union(SocketFlags::NONBLOCK);

fn stream_socket(path: &Path) -> io::Result<(OwnedFd, SocketAddrUnix)> {
    Ok((socket_with(AddressFamily::UNIX, SocketType::STREAM, FLAGS, None)?, SocketAddrUnix::new(path)?))
}

impl UnixStream {
    /// Two connected streams.
    ///
    /// # Errors
    /// When the process has no descriptor left.
    pub fn pair() -> Result<(UnixStream, UnixStream)> {
        let (a, b) = os(socketpair(AddressFamily::UNIX, SocketType::STREAM, FLAGS, None))?;
        Ok((UnixStream::from_fd(a), UnixStream::from_fd(b)))
    }

    /// Connects to the socket at `path`.
    ///
    /// Rejected when the path is too long for an address, when the process has no descriptor left, or with
    /// what the system says (`ENOENT`, `ECONNREFUSED`, …). Waits while the listener's queue is full.
    /// Cancelling gives up the attempt and closes the socket.
    pub fn connect(path: impl AsRef<Path>) -> Promise<UnixStream> {
        let (fd, addr) = match stream_socket(path.as_ref()) {
            Ok(opened) => opened,
            Err(error) => return rejected(error),
        };
        let handle = Handle::new(fd);
        handle.socket().connect(SocketAddrAny::from(addr)).map(|()| UnixStream { handle })
    }

    /// Takes over a connected socket.
    #[must_use]
    pub fn from_fd(fd: OwnedFd) -> UnixStream {
        UnixStream { handle: Handle::new(fd) }
    }
}

impl UnixListener {
    /// Listens at `path`, which must not exist.
    ///
    /// # Errors
    /// Of the path or the system.
    pub fn bind(path: impl AsRef<Path>) -> Result<UnixListener> {
        let (fd, addr) = stream_socket(path.as_ref())?;
        os(rustix::net::bind(&fd, &addr))?;
        os(rustix::net::listen(&fd, BACKLOG))?;
        Ok(UnixListener { handle: Handle::new(fd) })
    }

    /// Takes over a listening socket.
    #[must_use]
    pub fn from_fd(fd: OwnedFd) -> UnixListener {
        UnixListener { handle: Handle::new(fd) }
    }

    /// Takes one connection. Cancelling loses none: a connection that came meanwhile goes to the next
    /// `accept`.
    pub fn accept(&self) -> Promise<UnixStream> {
        self.handle.socket().accept()
    }

    /// Serves every connection with `handler`, each as a task of its own, until stopped. See [`Serve`].
    pub fn serve<H, F>(&self, handler: H) -> Serve
    where
        H: FnMut(UnixStream) -> F + 'static,
        F: Future<Output: Handled> + 'static,
    {
        serve::serve(self.handle.clone(), UnixStream::from_fd, handler)
    }
}

impl AsFd for UnixListener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.handle.socket().fd().as_fd()
    }
}

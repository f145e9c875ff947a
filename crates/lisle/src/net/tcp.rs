//! TCP: listeners and streams.

use super::addr::ToAddr;
use super::os;
use super::serve::{self, Handled, Serve};
use super::socket::Handle;
use super::stream::stream_methods;
use crate::runtime::shape::FromConnection;
use lisle_core::{Promise, Result, rejected};
use lisle_engine::Buf;
use rustix::net::{AddressFamily, SocketAddrAny, SocketFlags, SocketType, ipproto, socket_with};
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// A TCP connection. Cloning makes another handle; the connection closes with the last one.
#[derive(Debug, Clone)]
pub struct TcpStream {
    pub(super) handle: Handle,
}

stream_methods!(TcpStream);

impl FromConnection for TcpStream {
    fn from_connection(fd: OwnedFd) -> TcpStream {
        TcpStream::from_fd(fd)
    }
}

/// A listening TCP socket. Cloning makes another handle; it closes with the last one.
#[derive(Debug, Clone)]
pub struct TcpListener {
    pub(super) handle: Handle,
}

/// How many connections may wait to be accepted; the kernel caps it at `net.core.somaxconn`.
pub(super) const BACKLOG: i32 = 4096;

fn stream_socket(addr: SocketAddr) -> io::Result<OwnedFd> {
    let family = if addr.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    Ok(socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))?)
}

impl TcpStream {
    /// Connects to a numeric address.
    ///
    /// Rejected when the text is no address, when the process has no descriptor left, or with what the system
    /// says of the peer (`ECONNREFUSED`, `ETIMEDOUT`, …). Cancelling gives up the attempt and closes the
    /// socket; a connection that was made by then is the value.
    pub fn connect(addr: impl ToAddr) -> Promise<TcpStream> {
        let opened = addr.to_addr().and_then(|addr| Ok((stream_socket(addr)?, addr)));
        let (fd, addr) = match opened {
            Ok(opened) => opened,
            Err(error) => return rejected(error),
        };
        let handle = Handle::new(fd);
        handle.socket().connect(SocketAddrAny::from(addr)).map(|()| TcpStream { handle })
    }

    /// Takes over a connected socket.
    #[must_use]
    pub fn from_fd(fd: OwnedFd) -> TcpStream {
        TcpStream { handle: Handle::new(fd) }
    }

    /// The peer's address.
    ///
    /// # Errors
    /// When the peer is gone.
    pub fn peer_addr(&self) -> Result<SocketAddr> {
        let addr = os(rustix::net::getpeername(self))?;
        addr_of(os(addr.ok_or(rustix::io::Errno::NOTCONN))?)
    }

    /// This side's address.
    ///
    /// # Errors
    /// Of the system.
    pub fn local_addr(&self) -> Result<SocketAddr> {
        addr_of(os(rustix::net::getsockname(self))?)
    }

    /// Sends small writes at once (`TCP_NODELAY`).
    ///
    /// # Errors
    /// Of the system.
    pub fn set_nodelay(&self, on: bool) -> Result<()> {
        os(rustix::net::sockopt::set_tcp_nodelay(self, on))
    }
}

pub(super) fn addr_of(addr: SocketAddrAny) -> Result<SocketAddr> {
    os(SocketAddr::try_from(addr))
}

impl TcpListener {
    /// Listens on a numeric address; port 0 lets the system choose. Sets `SO_REUSEADDR`.
    ///
    /// # Errors
    /// Of the address or the system.
    pub fn bind(addr: impl ToAddr) -> Result<TcpListener> {
        let addr = addr.to_addr()?;
        let fd = stream_socket(addr)?;
        os(rustix::net::sockopt::set_socket_reuseaddr(&fd, true))?;
        os(rustix::net::bind(&fd, &addr))?;
        os(rustix::net::listen(&fd, BACKLOG))?;
        Ok(TcpListener { handle: Handle::new(fd) })
    }

    /// Takes over a listening socket.
    #[must_use]
    pub fn from_fd(fd: OwnedFd) -> TcpListener {
        TcpListener { handle: Handle::new(fd) }
    }

    /// Takes one connection. Cancelling loses none: a connection that came meanwhile goes to the next
    /// `accept`.
    pub fn accept(&self) -> Promise<TcpStream> {
        self.handle.socket().accept()
    }

    /// Serves every connection with `handler`, each as a task of its own, until stopped. See [`Serve`].
    pub fn serve<H, F>(&self, handler: H) -> Serve
    where
        H: FnMut(TcpStream) -> F + 'static,
        F: Future<Output: Handled> + 'static,
    {
        serve::serve(self.handle.clone(), TcpStream::from_fd, handler)
    }

    /// The address it listens on.
    ///
    /// # Errors
    /// Of the system.
    pub fn local_addr(&self) -> Result<SocketAddr> {
        addr_of(os(rustix::net::getsockname(self))?)
    }
}

impl AsFd for TcpListener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.handle.socket().fd().as_fd()
    }
}

//! Numeric addresses. Names need a resolver, which may block; they are not looked up here.

use std::io;
use std::net::{IpAddr, SocketAddr};

/// What [`super::TcpListener::bind`] and [`super::TcpStream::connect`] take: anything that is an address
/// already, or spells one.
pub trait ToAddr {
    /// The address.
    ///
    /// # Errors
    /// When the text is not a numeric address with a port.
    fn to_addr(&self) -> io::Result<SocketAddr>;
}

impl ToAddr for SocketAddr {
    fn to_addr(&self) -> io::Result<SocketAddr> {
        Ok(*self)
    }
}

impl<I: Into<IpAddr> + Copy> ToAddr for (I, u16) {
    fn to_addr(&self) -> io::Result<SocketAddr> {
        Ok(SocketAddr::new(self.0.into(), self.1))
    }
}

impl ToAddr for str {
    fn to_addr(&self) -> io::Result<SocketAddr> {
        self.parse().map_err(|_| {
            let text =
                format!("'{self}' is not a numeric address with a port, such as 127.0.0.1:80 or [::1]:80");
            io::Error::new(io::ErrorKind::InvalidInput, text)
        })
    }
}

impl ToAddr for String {
    fn to_addr(&self) -> io::Result<SocketAddr> {
        self.as_str().to_addr()
    }
}

impl<A: ToAddr + ?Sized> ToAddr for &A {
    fn to_addr(&self) -> io::Result<SocketAddr> {
        (**self).to_addr()
    }
}

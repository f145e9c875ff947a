//! What the errors of `accept` mean for whoever accepts for a living.
//!
//! Linux reports through `accept` also what went wrong with one connection before it was taken, and a
//! process out of descriptors hears of it here first. Neither is a reason to stop serving.

use lisle_core::Error;
use rustix::io::Errno;

/// What to do about an error of `accept`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trouble {
    /// It was that connection's: go on at once.
    Connection,
    /// The process or the system has run out of something: go on later.
    Exhausted,
    /// The listener itself is broken.
    Listener,
}

impl Trouble {
    pub(super) fn of(error: &Error) -> Trouble {
        match error.raw_os_error().map(Errno::from_raw_os_error) {
            Some(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM) => Trouble::Exhausted,
            // The list of accept(2), "already-pending network errors"; PERM is a firewall's.
            Some(
                Errno::CONNABORTED
                | Errno::CONNRESET
                | Errno::PROTO
                | Errno::PERM
                | Errno::INTR
                | Errno::AGAIN
                | Errno::TIMEDOUT
                | Errno::NETDOWN
                | Errno::NOPROTOOPT
                | Errno::HOSTDOWN
                | Errno::NONET
                | Errno::HOSTUNREACH
                | Errno::NETUNREACH,
            ) => Trouble::Connection,
            _ => Trouble::Listener,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_sorted() {
        let of = |errno: Errno| Trouble::of(&Error::os(errno.raw_os_error()));
        assert_eq!(of(Errno::CONNABORTED), Trouble::Connection);
        assert_eq!(of(Errno::MFILE), Trouble::Exhausted);
        assert_eq!(of(Errno::INVAL), Trouble::Listener);
        assert_eq!(Trouble::of(&Error::abandoned()), Trouble::Listener);
    }
}

//! Poller over `select`: two bit sets, copied for each call, for descriptors below 1024.
//!
//! A descriptor beyond the sets is refused at submit with [`super::BEYOND_SELECT`]; it is never looked for
//! in memory that is not there. Level-triggered: what is not served now is reported again. Hang-up and error
//! show as readable and writable. Not here: the sets and the call (`sys/select.rs`), what an event means for
//! the operations that wait.

use super::{Heard, Poller};
use crate::sys::select::{SELECT_FDS, Sets};
use crate::{EngineKind, EngineWaker, Fd, Interest};
use rustix::event::Timespec;
use rustix::io::Errno;
use std::io;
use std::os::fd::{AsFd, AsRawFd, RawFd};

/// See the module.
#[derive(Debug)]
pub(super) struct Select {
    waker: EngineWaker,
    sets: Sets,
    /// Name of each number in the sets.
    names: Vec<u64>,
}

impl Poller for Select {
    const KIND: EngineKind = EngineKind::Select;
    const EDGE: bool = false;
    const FD_LIMIT: RawFd = SELECT_FDS;

    fn open(waker: &EngineWaker) -> io::Result<Select> {
        if waker.as_fd().as_raw_fd() >= SELECT_FDS {
            return Err(super::BEYOND_SELECT.into());
        }
        let names = vec![0; SELECT_FDS as usize];
        Ok(Select { waker: waker.clone(), sets: Sets::new(waker.clone()), names })
    }

    fn watch(&mut self, fd: &Fd, name: u64, side: Interest, _: &mut u64) -> Result<(), Errno> {
        self.sets.insert(fd, side);
        self.names[fd.raw() as usize] = name;
        Ok(())
    }

    fn unwatch(&mut self, raw: RawFd, side: Interest) {
        self.sets.remove(raw, side);
    }

    fn wait(
        &mut self,
        timeout: Option<&Timespec>,
        heard: &mut Vec<Heard>,
        calls: &mut u64,
    ) -> Result<bool, Errno> {
        *calls += 1;
        let ready = self.sets.select(timeout)?;
        let waker = self.waker.as_fd().as_raw_fd();
        let mut woken = false;
        for raw in ready.ready(Interest::Read) {
            if raw == waker {
                woken = true;
                continue;
            }
            let name = self.names[raw as usize];
            heard.push(Heard { name, readable: true, writable: false, hung_up: false });
        }
        for raw in ready.ready(Interest::Write) {
            let name = self.names[raw as usize];
            heard.push(Heard { name, readable: false, writable: true, hung_up: false });
        }
        if woken {
            *calls += 1;
            self.waker.clear();
        }
        Ok(woken)
    }
}

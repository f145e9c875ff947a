//! Poller over `epoll`: edge-triggered, each descriptor registered once and never again touched.
//!
//! A registration asks for everything (reading, writing, hang-up, urgent data), so queueing an operation
//! costs no call. It goes away by itself when the descriptor is closed. If a duplicate keeps the file open,
//! its events still come, under a name nobody knows any more.
//! Not here: what an event means for the operations that wait.

use super::{Heard, Poller};
use crate::{EngineKind, EngineWaker, Fd, Interest};
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;
use std::io;
use std::os::fd::{OwnedFd, RawFd};

/// Events taken per call. More wait in the kernel for the next one, in order.
const EVENTS_MAX: usize = 1024;

/// The name of the waker: no descriptor has the number -1.
const WAKER: u64 = u64::MAX;

/// See the module.
pub(super) struct Epoll {
    epoll: OwnedFd,
    events: Vec<Event>,
}

impl std::fmt::Debug for Epoll {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Epoll").field("epoll", &self.epoll).finish_non_exhaustive()
    }
}

impl Poller for Epoll {
    const KIND: EngineKind = EngineKind::Epoll;
    const EDGE: bool = true;
    const FD_LIMIT: RawFd = RawFd::MAX;

    fn open(waker: &EngineWaker) -> io::Result<Epoll> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        // Each write to an eventfd is an edge of its own, so the counter need never be read.
        epoll::add(&epoll, waker, EventData::new_u64(WAKER), EventFlags::IN | EventFlags::ET)?;
        Ok(Epoll { epoll, events: Vec::with_capacity(EVENTS_MAX) })
    }

    fn watch(&mut self, fd: &Fd, name: u64, _: Interest, calls: &mut u64) -> Result<(), Errno> {
        let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::PRI | EventFlags::ET;
        *calls += 1;
        match epoll::add(&self.epoll, fd, EventData::new_u64(name), flags) {
            // The same open file under the same number, once given out and taken over again: a new name, and
            // a fresh report of what is ready.
            Err(Errno::EXIST) => {
                *calls += 1;
                epoll::modify(&self.epoll, fd, EventData::new_u64(name), flags)
            }
            result => result,
        }
    }

    fn unwatch(&mut self, _: RawFd, _: Interest) {}

    fn wait(
        &mut self,
        timeout: Option<&Timespec>,
        heard: &mut Vec<Heard>,
        calls: &mut u64,
    ) -> Result<bool, Errno> {
        self.events.clear();
        *calls += 1;
        epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut self.events), timeout)?;
        let mut woken = false;
        for event in &self.events {
            let (name, flags) = (event.data.u64(), event.flags);
            if name == WAKER {
                woken = true;
                continue;
            }
            let ended = flags.intersects(EventFlags::HUP | EventFlags::ERR);
            let hung_up = ended || flags.intersects(EventFlags::RDHUP | EventFlags::PRI);
            let readable = hung_up || flags.contains(EventFlags::IN);
            heard.push(Heard { name, readable, writable: ended || flags.contains(EventFlags::OUT), hung_up });
        }
        Ok(woken)
    }
}

//! Poller over `poll`: the set is handed over anew with each call, so it costs per descriptor waited for.
//!
//! A descriptor is in the set while an operation waits on it, for just the directions that have one.
//! Level-triggered: what is not served now is reported again.
//! Not here: what an event means for the operations that wait.

use super::{Heard, Poller};
use crate::{EngineKind, EngineWaker, Fd, Interest};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::io;
use std::os::fd::RawFd;

/// No place in the set.
const ABSENT: u32 = u32::MAX;

/// See the module.
#[derive(Debug)]
pub(super) struct Poll {
    waker: EngineWaker,
    watched: Vec<Watched>,
    /// Where in `watched` a descriptor number stands.
    places: Vec<u32>,
    /// Empty between calls: kept for its memory.
    set: Vec<PollFd<'static>>,
}

#[derive(Debug)]
struct Watched {
    fd: Fd,
    name: u64,
    flags: PollFlags,
}

impl Poller for Poll {
    const KIND: EngineKind = EngineKind::Poll;
    const EDGE: bool = false;
    const FD_LIMIT: RawFd = RawFd::MAX;

    fn open(waker: &EngineWaker) -> io::Result<Poll> {
        Ok(Poll { waker: waker.clone(), watched: Vec::new(), places: Vec::new(), set: Vec::new() })
    }

    fn watch(&mut self, fd: &Fd, name: u64, side: Interest, _: &mut u64) -> Result<(), Errno> {
        let raw = fd.raw() as usize;
        if raw >= self.places.len() {
            self.places.resize((raw + 1).next_power_of_two(), ABSENT);
        }
        match self.places[raw] {
            ABSENT => {
                self.places[raw] = u32::try_from(self.watched.len()).expect("fewer than 2^32 descriptors");
                self.watched.push(Watched { fd: fd.clone(), name, flags: flag(side) });
            }
            place => {
                let watched = &mut self.watched[place as usize];
                debug_assert_eq!(watched.name, name, "a watched descriptor cannot change hands");
                watched.flags |= flag(side);
            }
        }
        Ok(())
    }

    fn unwatch(&mut self, raw: RawFd, side: Interest) {
        let place = self.places[raw as usize] as usize;
        self.watched[place].flags.remove(flag(side));
        if self.watched[place].flags.is_empty() {
            self.watched.swap_remove(place);
            self.places[raw as usize] = ABSENT;
            if let Some(moved) = self.watched.get(place) {
                self.places[moved.fd.raw() as usize] = place as u32;
            }
        }
    }

    fn wait(
        &mut self,
        timeout: Option<&Timespec>,
        heard: &mut Vec<Heard>,
        calls: &mut u64,
    ) -> Result<bool, Errno> {
        let mut set: Vec<PollFd<'_>> = std::mem::take(&mut self.set);
        set.push(PollFd::new(&self.waker, PollFlags::IN));
        set.extend(self.watched.iter().map(|watched| PollFd::new(&watched.fd, watched.flags)));
        *calls += 1;
        let result = poll(&mut set, timeout);
        let mut woken = false;
        if let Ok(mut ready) = result {
            let mut answers = set.iter().map(PollFd::revents);
            woken = answers.next().is_some_and(|flags| !flags.is_empty());
            ready -= usize::from(woken);
            for (flags, watched) in answers.zip(&self.watched) {
                if ready == 0 {
                    break;
                }
                if !flags.is_empty() {
                    ready -= 1;
                    heard.push(interpret(watched.name, flags));
                }
            }
        }
        // Collecting nothing in place: the same memory, with no borrow in its type.
        set.clear();
        self.set = set.into_iter().map(|_| unreachable!("the set was cleared")).collect();
        if woken {
            *calls += 1;
            self.waker.clear();
        }
        result.map(|_| woken)
    }
}

fn flag(side: Interest) -> PollFlags {
    match side {
        Interest::Read => PollFlags::IN,
        Interest::Write => PollFlags::OUT,
    }
}

fn interpret(name: u64, flags: PollFlags) -> Heard {
    let ended = flags.intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL);
    Heard {
        name,
        readable: ended || flags.contains(PollFlags::IN),
        writable: ended || flags.contains(PollFlags::OUT),
        hung_up: ended,
    }
}

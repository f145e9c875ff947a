//! The places of spawns, as numbers: four bytes in each task instead of eight.
//!
//! A place is named by its address. There are as many as the program has lines that spawn, so the list is
//! bounded by the program's text. A small cache in front of the search answers in a few instructions.

use std::collections::BTreeMap;
use std::panic::Location;
use std::ptr;

/// What numbers stay below.
pub(super) const SITES_MAX: u32 = 1 << 24;

const CACHE: usize = 16;

pub(super) struct Sites {
    known: Vec<&'static Location<'static>>,
    numbers: BTreeMap<usize, u32>,
    /// By address: the place seen last, and its number.
    cache: [(usize, u32); CACHE],
}

impl Sites {
    pub(super) const fn new() -> Sites {
        Sites { known: Vec::new(), numbers: BTreeMap::new(), cache: [(0, 0); CACHE] }
    }

    /// The number of a place.
    #[inline]
    pub(super) fn number(&mut self, site: &'static Location<'static>) -> u32 {
        let address = ptr::from_ref(site).addr();
        let (cached, number) = self.cache[address / align_of::<Location<'_>>() % CACHE];
        if cached == address { number } else { self.look_up(site) }
    }

    #[cold]
    #[inline(never)]
    fn look_up(&mut self, site: &'static Location<'static>) -> u32 {
        let address = ptr::from_ref(site).addr();
        let next = self.known.len() as u32;
        assert!(next < SITES_MAX, "over {SITES_MAX} lines that spawn, in one program");
        let number = *self.numbers.entry(address).or_insert(next);
        if number == next {
            self.known.push(site);
        }
        self.cache[address / align_of::<Location<'_>>() % CACHE] = (address, number);
        number
    }

    /// The place of a number.
    pub(super) fn place(&self, number: u32) -> &'static Location<'static> {
        self.known[number as usize]
    }
}

//! The README, whose programs are doc tests of this crate; the examples themselves are in `src/bin`.
#![doc = include_str!("../../README.md")]

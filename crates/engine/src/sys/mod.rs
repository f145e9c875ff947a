//! The few system calls that `rustix` does not make safe: one file each, one operation per unsafe block.

pub(crate) mod select;

//! The operations that wait, each in the queue of its descriptor and direction, all findable by token.
//!
//! ```text
//!   Side { head ─► Queued ⇄ Queued ⇄ Queued ◄─ tail }      one slab for all queues: nothing is allocated per operation
//!   tokens: token ─► key                                    only asked by `cancel`
//! ```
//!
//! Not here: what an operation does (`perform.rs`), when it is tried (`mod.rs`).

use super::perform::Work;
use super::table::{Place, Side};
use crate::{Fd, Token};
use slab::Slab;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Index of a waiting operation.
pub(super) type Key = u32;

/// No operation.
pub(super) const NONE: Key = Key::MAX;

/// An operation that waits. It owns its descriptor and its buffer.
#[derive(Debug)]
pub(super) struct Queued {
    pub(super) token: Token,
    pub(super) fd: Fd,
    pub(super) work: Work,
    pub(super) place: Place,
    next: Key,
    previous: Key,
}

/// All operations that wait.
#[derive(Debug, Default)]
pub(super) struct Queues {
    ops: Slab<Queued>,
    tokens: HashMap<u64, Key, BuildHasherDefault<TokenHasher>>,
}

impl Queues {
    pub(super) fn len(&self) -> usize {
        self.ops.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ops.is_empty()
    }

    pub(super) fn find(&self, token: Token) -> Option<Key> {
        self.tokens.get(&token.0).copied()
    }

    pub(super) fn get(&mut self, key: Key) -> &mut Queued {
        &mut self.ops[key as usize]
    }

    /// Puts an operation at the end of a side's queue.
    pub(super) fn push(&mut self, side: &mut Side, place: Place, token: Token, fd: Fd, work: Work) {
        let entry = Queued { token, fd, work, place, next: NONE, previous: side.tail };
        let key = Key::try_from(self.ops.insert(entry)).expect("fewer than 2^32 operations");
        match side.tail {
            NONE => side.head = key,
            tail => self.get(tail).next = key,
        }
        side.tail = key;
        let former = self.tokens.insert(token.0, key);
        debug_assert!(former.is_none(), "token {} is in flight twice", token.0);
    }

    /// Takes an operation out of its side's queue, wherever it stands there.
    pub(super) fn remove(&mut self, side: &mut Side, key: Key) -> Queued {
        let op = self.ops.remove(key as usize);
        match op.previous {
            NONE => side.head = op.next,
            previous => self.get(previous).next = op.next,
        }
        match op.next {
            NONE => side.tail = op.previous,
            next => self.get(next).previous = op.previous,
        }
        self.tokens.remove(&op.token.0);
        op
    }
}

/// One multiplication: tokens are the caller's own small numbers, so nobody can choose them to collide.
#[derive(Debug, Default)]
struct TokenHasher(u64);

impl Hasher for TokenHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(self.0 ^ u64::from(byte));
        }
    }

    fn write_u64(&mut self, token: u64) {
        // The table takes its tag from the top bits and its position from the low ones: spread both.
        let spread = token.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 = spread ^ (spread >> 32);
    }
}

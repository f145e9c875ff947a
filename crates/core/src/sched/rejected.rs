//! Tokens of a table that were rejected and whose error nobody has taken yet.
//!
//! A pause or sleep that is over leaves no trace in its table: no entry means fulfilled. Only a rejection
//! must be remembered, until the promise takes it or is dropped; since that is rare, the map is made at the
//! first one.

use crate::promise::Status;
use crate::{Error, Result};
use std::collections::HashMap;

pub(super) struct Rejected(Option<HashMap<u64, Error>>);

impl Rejected {
    pub(super) const fn new() -> Rejected {
        Rejected(None)
    }

    /// Remembers why a token was rejected.
    pub(super) fn put(&mut self, token: u64, error: Error) {
        self.0.get_or_insert_with(HashMap::new).insert(token, error);
    }

    /// The result of a token that has left its table; its rejection is forgotten.
    #[inline]
    pub(super) fn result(&mut self, token: u64) -> Result<()> {
        match &mut self.0 {
            None => Ok(()),
            Some(errors) => Self::look_up(errors, token),
        }
    }

    /// Out of line: the table of pauses then needs no stack.
    #[cold]
    #[inline(never)]
    fn look_up(errors: &mut HashMap<u64, Error>, token: u64) -> Result<()> {
        errors.remove(&token).map_or(Ok(()), Err)
    }

    /// The promise of this token is gone.
    pub(super) fn forget(&mut self, token: u64) {
        if let Some(errors) = &mut self.0 {
            errors.remove(&token);
        }
    }

    /// The status of a token that has left its table.
    pub(super) fn status(&self, token: u64) -> Status {
        match &self.0 {
            Some(errors) if errors.contains_key(&token) => Status::Rejected,
            _ => Status::Fulfilled,
        }
    }
}

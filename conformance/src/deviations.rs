//! The list of the cases in which the library differs from the reference on purpose.
//!
//! A line `#name reason…` names a case; other lines are prose. The list may only shrink: a listed case that
//! passes is an error, as is a listed case that does not exist.

use std::collections::BTreeMap;
use std::path::Path;
use std::{fs, io};

/// Names of cases, each with its reason.
#[derive(Clone, Debug, Default)]
pub struct Deviations(BTreeMap<String, String>);

impl Deviations {
    /// Reads the list that is checked in beside this package.
    ///
    /// # Errors
    /// The file cannot be read, or names a case twice or without a reason.
    pub fn checked_in() -> io::Result<Self> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("deviations.txt");
        let text = fs::read_to_string(path)?;
        Self::parse(&text).map_err(|reason| io::Error::new(io::ErrorKind::InvalidData, reason))
    }

    /// Reads a list.
    ///
    /// # Errors
    /// The line that names a case twice or without a reason.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut list = BTreeMap::new();
        for line in text.lines().filter_map(|line| line.strip_prefix('#')) {
            let (name, reason) = line.split_once(' ').unwrap_or((line, ""));
            if reason.trim().is_empty() {
                return Err(format!("deviations: #{name} stands there without a reason"));
            }
            if list.insert(name.to_owned(), reason.trim().to_owned()).is_some() {
                return Err(format!("deviations: #{name} stands there twice"));
            }
        }
        Ok(Deviations(list))
    }

    /// Why a case differs, if it is listed.
    #[must_use]
    pub fn reason(&self, case: &str) -> Option<&str> {
        self.0.get(case).map(String::as_str)
    }

    /// The listed cases of a family.
    pub fn of_family(&self, family: &str) -> impl Iterator<Item = &str> {
        let prefix = format!("{family}-");
        self.0.keys().filter(move |name| name.starts_with(&prefix)).map(String::as_str)
    }
}

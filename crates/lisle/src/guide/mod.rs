//! Guides for those who come from elsewhere: which name a thing has here, and what is different.
//!
//! - [`lwt`]: for people who know OCaml's Lwt, name by name.
//! - [`tokio`]: for people who know tokio.
//!
//! Their code is run as tests. The pages are Markdown files beside this one; there is no code here.

#[doc = include_str!("lwt.md")]
pub mod lwt {}

#[doc = include_str!("tokio.md")]
pub mod tokio {}

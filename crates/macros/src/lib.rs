//! `#[lisle::main]` and `#[lisle::test]`, nothing more.

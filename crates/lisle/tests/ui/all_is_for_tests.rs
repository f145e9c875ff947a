//! `all` is an engine of tests only.

#[lisle::main(engine = "all")]
async fn main() {}

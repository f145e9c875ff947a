//! The attribute is for `async fn`.

#[lisle::main]
fn main() {}

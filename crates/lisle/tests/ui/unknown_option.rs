//! The options there are, are listed.

#[lisle::main(threads = 4)]
async fn main() {}

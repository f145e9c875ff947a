//! A program begins at `main`.

#[lisle::main]
async fn start() {}

fn main() {}

#[lisle::main]
fn main() {}

//! The engines there are, are listed.

#[lisle::main(engine = "kqueue")]
async fn main() {}

#[lisle::main(engine = "kqueue")]
async fn main() {}

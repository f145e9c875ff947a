#[lisle::main(engine = "all")]
async fn main() {}

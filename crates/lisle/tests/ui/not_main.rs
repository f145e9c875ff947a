#[lisle::main]
async fn start() {}

fn main() {}

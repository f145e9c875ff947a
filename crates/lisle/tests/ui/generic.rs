#[lisle::test]
async fn for_any<T>() {}

fn main() {}

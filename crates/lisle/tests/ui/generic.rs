//! Nobody could say for which type.

#[lisle::test]
async fn for_any<T>() {}

fn main() {}

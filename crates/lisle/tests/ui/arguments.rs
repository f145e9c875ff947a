//! A test takes no arguments.

#[lisle::test]
async fn with_arguments(number: u32) {
    let _ = number;
}

fn main() {}

//! One engine at a time.

#[lisle::test(engine = "epoll", engine = "poll")]
async fn twice() {}

fn main() {}

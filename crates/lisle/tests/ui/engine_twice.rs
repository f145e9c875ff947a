#[lisle::test(engine = "epoll", engine = "poll")]
async fn twice() {}

fn main() {}

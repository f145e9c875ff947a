//! A task that is cancelled cleans up, asynchronously, and loses nothing.
//!
//! Shows: `cancel` resumes the task where it waits; the clean-up awaits as usual; bytes that arrive after
//! the cancel go to the next read.

use lisle::net::UnixStream;
use lisle::time::sleep;
use lisle::{Buf, Error, try_spawn};
use std::time::Duration;

async fn work(stream: UnixStream) -> lisle::Result<&'static str> {
    match stream.read(Buf::with_capacity(64)).await {
        Ok(_) => Ok("read something"),
        Err(error) if error.is_canceled() => {
            sleep(Duration::from_millis(1)).await?;
            stream.write_all("goodbye").await?;
            Ok("said goodbye")
        }
        Err(error) => Err(error),
    }
}

#[lisle::main]
async fn main() -> lisle::Result<()> {
    let (ours, theirs) = UnixStream::pair()?;
    let kept = theirs.clone();
    let task = try_spawn(work(theirs));
    task.cancel();
    println!("the task {}", task.await?);
    println!("the peer heard: {}", String::from_utf8_lossy(&ours.read(Buf::with_capacity(64)).await?));

    ours.write_all("late").await?;
    println!("not lost: {}", String::from_utf8_lossy(&kept.read(Buf::with_capacity(64)).await?));
    Ok::<(), Error>(())
}

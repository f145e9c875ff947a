//! An echo server in `async` style, and a client that asks it once.
//!
//! Shows: `serve` runs a task for each connection; buffers move into an operation and come back; a graceful
//! stop.

use lisle::net::{TcpListener, TcpStream};
use lisle::{Buf, Error, pair, try_spawn};

async fn echo(stream: TcpStream) -> lisle::Result<()> {
    let mut buf = Buf::with_capacity(4096);
    loop {
        buf = stream.read(buf).await?;
        if buf.is_empty() {
            return Ok(());
        }
        buf = stream.write_all(buf).await?;
    }
}

#[lisle::main]
async fn main() -> lisle::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let addr = listener.local_addr()?;
    let (stop, stopper) = pair();
    let server = try_spawn(async move { listener.serve(echo).graceful(stop).await });

    let client = TcpStream::connect(addr).await?;
    client.write_all("hello").await?;
    let answer = client.read(Buf::with_capacity(64)).await?;
    println!("the server said: {}", String::from_utf8_lossy(&answer));
    drop(client);

    stopper.resolve(());
    server.await?;
    Ok::<(), Error>(())
}

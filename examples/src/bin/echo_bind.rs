//! An echo server in binds, and a client that asks it once: Lwt's style.
//!
//! Shows: a recursion that is a loop (one live promise, however long the connection lasts); `both` starts
//! two sides.

use lisle::net::{TcpListener, TcpStream};
use lisle::{Buf, Promise, Runtime, both, ready};

fn echo(stream: TcpStream, buf: Buf) -> Promise<()> {
    stream.read(buf).bind(move |buf| {
        if buf.is_empty() {
            return ready(());
        }
        stream.write_all(buf).bind(move |buf| echo(stream, buf))
    })
}

fn ask(stream: TcpStream) -> Promise<String> {
    let written = stream.write_all("hello");
    let answer = written.bind(move |_| stream.read(Buf::with_capacity(64)));
    answer.map(|buf| String::from_utf8_lossy(&buf).into_owned())
}

fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let runtime = Runtime::new()?;
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let addr = listener.local_addr()?;
    let served = listener.accept().bind(|stream| echo(stream, Buf::with_capacity(4096)));
    let asked = TcpStream::connect(addr).bind(ask);
    let ((), answer) = runtime.run_promise(both(served, asked))?;
    println!("the server said: {answer}");
    Ok(())
}

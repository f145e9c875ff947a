//! An echo server in direct style, and a client that asks it once.
//!
//! Shows: a fiber takes any code over `std::io::Read` and `Write`; `&Fiber` in the arguments says what may
//! suspend.

use lisle::net::{TcpListener, TcpStream};
use lisle_direct::{Fiber, run, try_spawn};
use std::io::{self, Read, Write};

fn echo(fiber: &Fiber, stream: &TcpStream) -> io::Result<u64> {
    io::copy(&mut fiber.io(stream), &mut fiber.io(stream))
}

fn main() -> lisle::Result<()> {
    run(|fiber| {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let addr = listener.local_addr()?;
        let server = try_spawn(move |fiber| {
            let stream = fiber.wait(listener.accept())?;
            Ok::<u64, lisle::Error>(echo(fiber, &stream)?)
        });

        let client = fiber.wait(TcpStream::connect(addr))?;
        fiber.io(&client).write_all(b"hello")?;
        fiber.wait(client.shutdown(std::net::Shutdown::Write))?;
        let mut answer = String::new();
        fiber.io(&client).read_to_string(&mut answer)?;
        println!("the server said: {answer}, {} bytes", fiber.wait(server)?);
        Ok(())
    })
}

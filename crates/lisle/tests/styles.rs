//! The same program in binds and as async gives the same result, on every engine.

mod support;

use lisle::net::{TcpListener, TcpStream};
use lisle::{Buf, Error, Promise, both, join, ready, try_spawn};
use std::cell::RefCell;
use std::net::{Shutdown, SocketAddr};
use std::rc::Rc;
use support::{each_runtime, pattern};

const CLIENTS: usize = 5;
const LENGTH: usize = 100_000;

/// What was observed, as the clients saw it.
type Log = Rc<RefCell<Vec<(usize, usize, bool)>>>;

mod in_binds {
    use super::*;

    fn echo(stream: TcpStream) -> Promise<()> {
        stream.read(Buf::with_capacity(4096)).bind(move |buf| {
            if buf.is_empty() {
                return ready(());
            }
            stream.write_all(buf).bind(move |_| echo(stream))
        })
    }

    fn accept(listener: TcpListener, left: usize) -> Promise<()> {
        if left == 0 {
            return ready(());
        }
        let next = listener.clone();
        listener.accept().bind(move |stream| both(echo(stream), accept(next, left - 1)).map(|_| ()))
    }

    fn collect(stream: TcpStream, mut all: Vec<u8>) -> Promise<Vec<u8>> {
        stream.read(Buf::with_capacity(4096)).bind(move |buf| {
            if buf.is_empty() {
                return ready(all);
            }
            all.extend_from_slice(&buf);
            collect(stream, all)
        })
    }

    fn client(number: usize, addr: SocketAddr, log: Log) -> Promise<()> {
        TcpStream::connect(addr).bind(move |stream| {
            let sent = pattern(LENGTH + number);
            let writing = stream.clone();
            let written = writing.write_all(sent.clone()).bind(move |_| writing.shutdown(Shutdown::Write));
            both(written, collect(stream, Vec::new())).map(move |((), all)| {
                log.borrow_mut().push((number, all.len(), all == sent));
            })
        })
    }

    pub(super) fn program(log: &Log) -> Promise<usize> {
        let log = log.clone();
        ready(())
            .bind(move |()| {
                let listener = TcpListener::bind("127.0.0.1:0")?;
                let addr = listener.local_addr()?;
                let clients = (0..CLIENTS).map(|number| client(number, addr, log.clone()));
                let served = accept(listener, CLIENTS);
                Ok::<_, Error>((served, clients.collect::<Vec<_>>()))
            })
            .bind(|(served, clients)| both(served, join(clients)))
            .bind(|_| Err::<usize, _>(Error::message("the end")))
            .catch(|error| ready(error.to_string().len()))
    }
}

mod as_async {
    use super::*;

    async fn echo(stream: TcpStream) -> lisle::Result<()> {
        loop {
            let buf = stream.read(Buf::with_capacity(4096)).await?;
            if buf.is_empty() {
                return Ok(());
            }
            stream.write_all(buf).await?;
        }
    }

    async fn accept(listener: TcpListener) -> lisle::Result<()> {
        let mut connections = Vec::new();
        for _ in 0..CLIENTS {
            connections.push(try_spawn(echo(listener.accept().await?)));
        }
        join(connections).await
    }

    async fn client(number: usize, addr: SocketAddr, log: Log) -> lisle::Result<()> {
        let stream = TcpStream::connect(addr).await?;
        let (sent, writing) = (pattern(LENGTH + number), stream.clone());
        let copy = sent.clone();
        let written = try_spawn(async move {
            writing.write_all(copy).await?;
            writing.shutdown(Shutdown::Write).await
        });
        let mut all = Vec::new();
        loop {
            let buf = stream.read(Buf::with_capacity(4096)).await?;
            if buf.is_empty() {
                break;
            }
            all.extend_from_slice(&buf);
        }
        written.await?;
        log.borrow_mut().push((number, all.len(), all == sent));
        Ok(())
    }

    pub(super) async fn program(log: Log) -> lisle::Result<usize> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let addr = listener.local_addr()?;
        let served = try_spawn(accept(listener));
        let clients = (0..CLIENTS).map(|number| try_spawn(client(number, addr, log.clone())));
        join(clients.collect::<Vec<_>>()).await?;
        served.await?;
        match Err::<usize, _>(Error::message("the end")) {
            Ok(count) => Ok(count),
            Err(error) => Ok(error.to_string().len()),
        }
    }
}

fn sorted(log: &Log) -> Vec<(usize, usize, bool)> {
    let mut log = log.take();
    log.sort_unstable();
    log
}

#[test]
fn echo_gives_the_same_in_both_styles_on_every_engine() {
    let expected: Vec<_> = (0..CLIENTS).map(|number| (number, LENGTH + number, true)).collect();
    each_runtime(|runtime| {
        let log = Log::default();
        assert_eq!(runtime.run_promise(in_binds::program(&log)).unwrap(), 7);
        assert_eq!(sorted(&log), expected);
        assert_eq!(runtime.run(as_async::program(log.clone())).unwrap(), 7);
        assert_eq!(sorted(&log), expected);
    });
}

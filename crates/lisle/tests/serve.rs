//! Serving on every engine: many clients, the limit, stopping in good order, and everything that must not
//! stop it.

mod support;

use lisle::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use lisle::time::sleep;
use lisle::{Buf, Error, IntoPromise, Promise, join, pair, try_spawn};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::rc::Rc;
use std::time::Duration;
use support::{each, laps, listen};

const SOON: Duration = Duration::from_millis(2);

async fn echo(stream: TcpStream) -> lisle::Result<u64> {
    let (mut r, mut w) = stream.split();
    lisle::io::copy(&mut r, &mut w).await
}

/// One round trip on a connection of its own.
fn ask(addr: SocketAddr, text: &'static str) -> Promise<()> {
    try_spawn(async move {
        let client = TcpStream::connect(addr).await?;
        client.write_all(text).await?;
        assert_eq!(&*client.read(Buf::with_capacity(64)).await?, text.as_bytes());
        Ok::<_, Error>(())
    })
}

/// Counts how many are inside, and the most there ever were.
#[derive(Clone, Default)]
struct Gauge(Rc<(Cell<usize>, Cell<usize>)>);

struct Inside(Gauge);

impl Gauge {
    fn enter(&self) -> Inside {
        let (now, most) = &*self.0;
        now.set(now.get() + 1);
        most.set(most.get().max(now.get()));
        Inside(self.clone())
    }

    fn now(&self) -> usize {
        self.0.0.get()
    }

    fn most(&self) -> usize {
        self.0.1.get()
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        let now = &self.0.0.0;
        now.set(now.get() - 1);
    }
}

#[test]
fn a_hundred_clients_are_served() {
    each(|| async {
        let (listener, addr) = listen()?;
        let server = listener.serve(echo).into_promise();
        join((0..100).map(|_| ask(addr, "hello")).collect::<Vec<_>>()).await?;
        server.cancel();
        assert!(server.await.unwrap_err().is_canceled());
        Ok(())
    });
}

#[test]
fn unix_sockets_are_served() {
    let path = std::env::temp_dir().join(format!("lisle-serve-{}", std::process::id()));
    each(|| {
        let path = path.clone();
        async move {
            let listener = UnixListener::bind(&path)?;
            let (stop, stopper) = pair();
            let serve = listener.serve(|stream| async move { stream.write_all("hello").await.map(drop) });
            let server = serve.graceful(stop).into_promise();
            let client = UnixStream::connect(&path).await?;
            assert_eq!(&*client.read_pool().await?, b"hello");
            stopper.resolve(());
            server.await?;
            std::fs::remove_file(&path)?;
            Ok(())
        }
    });
}

#[test]
fn the_limit_is_kept_and_nobody_is_lost() {
    each(|| async {
        let (listener, addr) = listen()?;
        let gauge = Gauge::default();
        let inside = gauge.clone();
        let serve = listener.serve(move |stream| {
            let inside = inside.enter();
            async move {
                laps(3).await?;
                let result = echo(stream).await;
                drop(inside);
                result
            }
        });
        let server = serve.limit(3).into_promise();
        join((0..60).map(|_| ask(addr, "hello")).collect::<Vec<_>>()).await?;
        laps(5).await?;
        assert_eq!((gauge.now(), gauge.most()), (0, 3));
        // It is not stuck below its limit either.
        ask(addr, "one more").await?;
        server.cancel();
        server.await.unwrap_err();
        Ok(())
    });
}

#[test]
fn a_graceful_stop_waits_for_the_connections() {
    each(|| async {
        let (listener, addr) = listen()?;
        let (stop, stopper) = pair();
        let server = listener.serve(echo).graceful(stop).drain(Duration::MAX).into_promise();
        drop(listener);
        let client = TcpStream::connect(addr).await?;
        client.write_all("a").await?;
        client.read(Buf::with_capacity(8)).await?;
        stopper.resolve(());
        laps(5).await?;
        assert!(server.is_pending(), "a connection is in progress");
        client.write_all("still served").await?;
        assert_eq!(&*client.read(Buf::with_capacity(64)).await?, b"still served");
        drop(client);
        server.await?;
        assert_eq!(TcpStream::connect(addr).await.unwrap_err().raw_os_error(), Some(libc::ECONNREFUSED));
        Ok(())
    });
}

#[test]
fn after_the_drain_connections_are_cancelled_and_may_clean_up() {
    each(|| async {
        let (listener, addr) = listen()?;
        let (stop, stopper) = pair::<()>();
        let cleaned = Rc::new(Cell::new(0));
        let count = cleaned.clone();
        let serve = listener.serve(move |stream| {
            let count = count.clone();
            async move {
                let error = stream.read(Buf::with_capacity(8)).await.unwrap_err();
                assert!(error.is_canceled());
                stream.write_all("goodbye").await?;
                count.set(count.get() + 1);
                Err::<(), Error>(error)
            }
        });
        let server = serve.graceful(stop).drain(SOON).into_promise();
        let clients = [TcpStream::connect(addr).await?, TcpStream::connect(addr).await?];
        sleep(SOON).await?;
        drop(stopper);
        server.await?;
        assert_eq!(cleaned.get(), 2);
        for client in clients {
            assert_eq!(&*client.read(Buf::with_capacity(64)).await?, b"goodbye");
        }
        Ok(())
    });
}

#[test]
fn cancelling_the_server_cancels_its_connections() {
    each(|| async {
        let (listener, addr) = listen()?;
        let gauge = Gauge::default();
        let inside = gauge.clone();
        let serve = listener.serve(move |stream| {
            let inside = inside.enter();
            async move {
                let result = echo(stream).await;
                drop(inside);
                result
            }
        });
        // At its limit it waits for nothing but its connections.
        let server = serve.limit(1).into_promise();
        let _client = TcpStream::connect(addr).await?;
        sleep(SOON).await?;
        assert_eq!(gauge.now(), 1);
        server.cancel();
        assert!(server.await.unwrap_err().is_canceled());
        assert_eq!(gauge.now(), 0);
        Ok(())
    });
}

/// BR-152: connections that end because the server was cancelled are no failures: nobody is told of any.
#[test]
fn br_152_a_cancelled_server_tells_of_no_error() {
    each(|| async {
        const CLIENTS: usize = 100;
        let (listener, addr) = listen()?;
        let (gauge, told) = (Gauge::default(), Rc::new(Cell::new(0)));
        let (inside, count) = (gauge.clone(), told.clone());
        lisle::hook::set(move |_| count.set(count.get() + 1));
        let serve = listener.serve(move |stream| {
            let inside = inside.enter();
            async move {
                let result = echo(stream).await;
                drop(inside);
                result
            }
        });
        let server = serve.into_promise();
        let mut clients = Vec::new();
        for _ in 0..CLIENTS {
            let client = TcpStream::connect(addr).await?;
            client.write_all("a").await?;
            client.read(Buf::with_capacity(8)).await?;
            clients.push(client);
        }
        assert_eq!(gauge.now(), CLIENTS);
        server.cancel();
        assert!(server.await.unwrap_err().is_canceled());
        laps(3).await?;
        lisle::hook::reset();
        assert_eq!((gauge.now(), told.get()), (0, 0));
        Ok(())
    });
}

#[test]
fn errors_and_panics_stay_with_their_connection_and_are_told() {
    std::panic::set_hook(Box::new(|_| {}));
    each(|| async {
        let (listener, addr) = listen()?;
        let told = Rc::new(RefCell::new(Vec::new()));
        let list = told.clone();
        lisle::hook::set(move |failure| {
            list.borrow_mut().push((failure.kind(), failure.error().to_string()));
        });
        let mut number = 0;
        let serve = listener.serve(move |stream| {
            number += 1;
            let number = number;
            assert_ne!(number, 2, "before the future");
            async move {
                match number {
                    1 => Err(Error::message("mine")),
                    3 => panic!("inside the future"),
                    4 => Err(Error::canceled()),
                    _ => echo(stream).await,
                }
            }
        });
        let server = serve.into_promise();
        for _ in 0..4 {
            let client = TcpStream::connect(addr).await?;
            client.read(Buf::with_capacity(8)).await.ok();
        }
        ask(addr, "still here").await?;
        laps(3).await?;
        server.cancel();
        server.await.unwrap_err();
        lisle::hook::reset();
        let told = told.borrow();
        assert!(told.iter().all(|(kind, _)| *kind == lisle::hook::FailureKind::Detached), "{told:?}");
        let texts: Vec<&str> = told.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(texts.len(), 3, "{texts:?}");
        assert_eq!(texts[0], "mine");
        assert!(
            texts[1].contains("before the future") && texts[2].contains("inside the future"),
            "{texts:?}"
        );
        Ok(())
    });
}

#[test]
fn a_connection_for_an_acceptor_that_had_gone_is_served_first() {
    each(|| async {
        let (listener, addr) = listen()?;
        drop(listener.accept());
        laps(2).await?;
        let server = listener.serve(echo).into_promise();
        ask(addr, "for him").await?;
        ask(addr, "for us").await?;
        server.cancel();
        server.await.unwrap_err();
        Ok(())
    });
}

#[test]
fn a_broken_listener_ends_the_server_with_its_error() {
    each(|| async {
        let (listener, addr) = listen()?;
        let breaking = listener.clone();
        let server = listener.serve(echo).into_promise();
        ask(addr, "before").await?;
        // As if somebody else shut it down: Linux answers further accepts with EINVAL.
        rustix::net::shutdown(breaking.as_fd(), rustix::net::Shutdown::Both)?;
        assert_eq!(server.await.unwrap_err().raw_os_error(), Some(libc::EINVAL));
        Ok(())
    });
}

/// Holds descriptors until only `left` more can be opened.
fn use_up_descriptors(left: usize) -> Vec<std::fs::File> {
    let open = || std::fs::File::open("/dev/null");
    let mut held: Vec<_> = std::iter::from_fn(|| open().ok()).collect();
    held.truncate(held.len() - left);
    held
}

#[test]
fn running_out_of_descriptors_is_survived() {
    if !support::is_child() {
        return support::run_child_well("running_out_of_descriptors_is_survived", &[]);
    }
    let most = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: Some(200), maximum: most }).unwrap();
    each(|| async {
        let (listener, addr) = listen()?;
        let server = listener.serve(echo).into_promise();
        ask(addr, "before").await?;
        laps(3).await?;
        // Two clients, and one descriptor for the server.
        let held = use_up_descriptors(3);
        let first = TcpStream::connect(addr).await?;
        first.write_all("served").await?;
        assert_eq!(&*first.read(Buf::with_capacity(64)).await?, b"served");
        let second = TcpStream::connect(addr).await?;
        second.write_all("in time").await?;
        sleep(SOON * 10).await?;
        let answer = second.read(Buf::with_capacity(64));
        laps(2).await?;
        assert!(answer.is_pending(), "there is no descriptor for it");
        // One of the server's own connections ends, or somebody else lets go.
        drop(first);
        assert_eq!(&*answer.await?, b"in time");
        drop(held);
        ask(addr, "after").await?;
        server.cancel();
        server.await.unwrap_err();
        Ok(())
    });
}

#[test]
fn a_listener_can_be_served_again() {
    each(|| async {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let addr = listener.local_addr()?;
        for _ in 0..3 {
            let (stop, stopper) = pair();
            let server = listener.serve(echo).graceful(stop).into_promise();
            ask(addr, "hello").await?;
            stopper.resolve(());
            server.await?;
        }
        // Between two servers a connection waits in the kernel.
        let client = TcpStream::connect(addr).await?;
        client.write_all("early").await?;
        let server = listener.serve(echo).into_promise();
        assert_eq!(&*client.read(Buf::with_capacity(64)).await?, b"early");
        server.cancel();
        server.await.unwrap_err();
        Ok(())
    });
}

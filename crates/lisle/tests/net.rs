//! Streams on every engine: what goes in comes out, in order, and every way a peer can end is told.

mod support;

use lisle::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use lisle::{Buf, Error, join, spawn, try_spawn};
use std::net::Shutdown;
use std::os::fd::AsFd;
use support::{Random, each, laps, listen, pattern, read_up_to, tcp_pair};

/// Ends a connection with a reset instead of an end of stream.
fn reset(stream: TcpStream) {
    rustix::net::sockopt::set_socket_linger(&stream, Some(std::time::Duration::ZERO)).unwrap();
}

#[test]
fn echo_over_tcp() {
    each(|| async {
        let (listener, addr) = listen()?;
        let echo = try_spawn(async move {
            let stream = listener.accept().await?;
            loop {
                let buf = stream.read(Buf::with_capacity(64)).await?;
                if buf.is_empty() {
                    return Ok::<_, lisle::Error>(());
                }
                stream.write_all(buf).await?;
            }
        });
        let client = TcpStream::connect(addr).await?;
        assert_eq!(client.peer_addr()?, addr);
        client.set_nodelay(true)?;
        client.write_all("hello").await?;
        assert_eq!(&*client.read(Buf::with_capacity(64)).await?, b"hello");
        client.shutdown(Shutdown::Write).await?;
        assert!(client.read_pool().await?.is_empty());
        echo.await
    });
}

#[test]
fn unix_listener_accepts() {
    let path = std::env::temp_dir().join(format!("lisle-net-{}", std::process::id()));
    each(|| {
        let path = path.clone();
        async move {
            let listener = UnixListener::bind(&path)?;
            let client = UnixStream::connect(&path).await?;
            let server = listener.accept().await?;
            client.write_all("over a file").await?;
            assert_eq!(&*server.read_pool().await?, b"over a file");
            drop(listener);
            std::fs::remove_file(&path)?;
            assert!(UnixStream::connect(&path).await.is_err());
            Ok(())
        }
    });
}

#[test]
fn one_direction_ends_and_the_other_goes_on() {
    each(|| async {
        let (a, b) = tcp_pair().await?;
        a.write_all("last words").await?;
        a.shutdown(Shutdown::Write).await?;
        assert_eq!(read_up_to(&b, 100).await?, b"last words");
        b.write_all("still here").await?;
        assert_eq!(&*a.read(Buf::with_capacity(64)).await?, b"still here");
        let error = a.write_all("no").await.unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EPIPE));
        Ok(())
    });
}

#[test]
fn dropping_the_write_half_ends_its_direction_after_its_writes() {
    each(|| async {
        const LENGTH: usize = 2 << 20;
        let (a, b) = UnixStream::pair()?;
        let (reader, writer) = a.split();
        let written = writer.write_all(pattern(LENGTH));
        drop(writer);
        assert!(read_up_to(&b, usize::MAX).await? == pattern(LENGTH));
        assert_eq!(written.await?.len(), LENGTH);
        b.write_all("answer").await?;
        assert_eq!(&*reader.read(Buf::with_capacity(64)).await?, b"answer");
        drop(reader);
        assert!(b.read_pool().await?.is_empty());
        Ok(())
    });
}

#[test]
fn zero_length_reads_and_writes_do_nothing() {
    each(|| async {
        let (a, b) = tcp_pair().await?;
        a.write_all("x").await?;
        assert!(b.read(Buf::with_capacity(0)).await?.is_empty());
        assert!(b.read("a static slice cannot be written").await?.is_empty());
        assert!(a.write_all("").await?.is_empty());
        assert_eq!(&*b.read(Buf::with_capacity(8)).await?, b"x");
        Ok(())
    });
}

#[test]
fn the_end_of_the_stream_is_told_again_and_again() {
    each(|| async {
        let (a, b) = tcp_pair().await?;
        drop(a);
        for _ in 0..3 {
            assert!(b.read(Buf::with_capacity(8)).await?.is_empty());
            assert!(b.read_pool().await?.is_empty());
        }
        Ok(())
    });
}

#[test]
fn a_reset_while_reading_is_an_error() {
    each(|| async {
        let (a, b) = tcp_pair().await?;
        let read = b.read(Buf::with_capacity(8));
        laps(2).await?;
        reset(a);
        assert_eq!(read.await.unwrap_err().raw_os_error(), Some(libc::ECONNRESET));
        Ok(())
    });
}

#[test]
fn a_reset_before_reading_is_an_error() {
    each(|| async {
        let (a, b) = tcp_pair().await?;
        reset(a);
        laps(2).await?;
        assert_eq!(b.read(Buf::with_capacity(8)).await.unwrap_err().raw_os_error(), Some(libc::ECONNRESET));
        assert!(b.read(Buf::with_capacity(8)).await?.is_empty());
        Ok(())
    });
}

#[test]
fn a_reset_while_writing_is_an_error() {
    each(|| async {
        let (a, b) = tcp_pair().await?;
        let write = b.write_all(pattern(64 << 20));
        laps(2).await?;
        assert!(write.is_pending());
        reset(a);
        let code = write.await.unwrap_err().raw_os_error();
        assert!(matches!(code, Some(libc::ECONNRESET | libc::EPIPE)), "{code:?}");
        assert_eq!(b.write_all("x").await.unwrap_err().raw_os_error(), Some(libc::EPIPE));
        Ok(())
    });
}

#[test]
fn a_reset_before_accepting_is_survived() {
    each(|| async {
        let (listener, addr) = listen()?;
        reset(TcpStream::connect(addr).await?);
        let client = TcpStream::connect(addr).await?;
        client.write_all("second").await?;
        let first = listener.accept().await?;
        assert!(first.read(Buf::with_capacity(8)).await.is_err());
        assert_eq!(&*listener.accept().await?.read(Buf::with_capacity(8)).await?, b"second");
        Ok(())
    });
}

#[test]
fn connections_are_refused_by_name() {
    each(|| async {
        let (listener, addr) = listen()?;
        drop(listener);
        let error = TcpStream::connect(addr).await.unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ECONNREFUSED));
        assert_eq!(error.io_kind(), std::io::ErrorKind::ConnectionRefused);
        let error = TcpStream::connect("localhost:80").await.unwrap_err();
        assert!(error.to_string().contains("not a numeric address"), "{error}");
        Ok(())
    });
}

#[test]
fn a_listener_closes_with_its_last_handle() {
    each(|| async {
        let (listener, addr) = listen()?;
        let other = listener.clone();
        let accept = listener.accept();
        drop(listener);
        TcpStream::connect(addr).await?;
        accept.await?;
        drop(other);
        laps(2).await?;
        assert_eq!(TcpStream::connect(addr).await.unwrap_err().raw_os_error(), Some(libc::ECONNREFUSED));
        Ok(())
    });
}

#[test]
fn addresses_in_use_and_ipv6() {
    each(|| async {
        let (_listener, addr) = listen()?;
        assert_eq!(TcpListener::bind(addr).unwrap_err().raw_os_error(), Some(libc::EADDRINUSE));
        // Containers may have no IPv6.
        if let Ok(listener) = TcpListener::bind("[::1]:0") {
            let client = TcpStream::connect(listener.local_addr()?).await?;
            assert!(client.peer_addr()?.is_ipv6());
        }
        Ok(())
    });
}

#[test]
fn writes_called_at_once_arrive_in_order() {
    each(|| async {
        let mut random = Random(7);
        let (a, b) = tcp_pair().await?;
        let sizes: Vec<usize> = (0..24).map(|_| random.below(1 << 20) as usize).collect();
        let total = sizes.iter().sum();
        let all = pattern(total);
        let mut rest = &all[..];
        let mut writes = Vec::new();
        for size in sizes {
            let (now, later) = rest.split_at(size);
            rest = later;
            writes.push(a.write_all(now.to_vec()).map(drop));
        }
        let ended = a.shutdown(Shutdown::Write);
        drop(a);
        assert!(read_up_to(&b, usize::MAX).await? == all);
        join(writes).await?;
        ended.await
    });
}

#[test]
fn a_callback_of_a_queued_write_writes_behind_those_called_before() {
    const LEN: usize = 1 << 20;
    each(|| async {
        let (a, b) = UnixStream::pair()?;
        let first = a.write_all(vec![0; LEN]);
        let again = a.clone();
        let second = a.write_all("2").bind(move |_| again.write_all("4"));
        let third = a.write_all("3");
        let ends = lisle::both(a.shutdown(Shutdown::Write), lisle::all([first, second, third]));
        let all = read_up_to(&b, LEN + 3).await?;
        assert_eq!(&all[LEN..], b"23", "the shutdown was called before the fourth");
        assert_eq!(ends.await.unwrap_err().raw_os_error(), Some(rustix::io::Errno::PIPE.raw_os_error()));

        let (a, b) = UnixStream::pair()?;
        let (first, again) = (a.write_all(vec![0; LEN]), a.clone());
        let second = a.write_all("2").bind(move |_| again.write_all("4"));
        let third = a.write_all("3");
        assert_eq!(&read_up_to(&b, LEN + 3).await?[LEN..], b"234");
        lisle::all([first, second, third]).await.map(drop)
    });
}

#[test]
fn a_long_write_waits_for_a_slow_reader() {
    each(|| async {
        const LENGTH: usize = 8 << 20;
        let (a, b) = UnixStream::pair()?;
        let write = a.write_all(pattern(LENGTH));
        drop(a);
        let mut all = Vec::new();
        loop {
            let buf = b.read(Buf::with_capacity(50_000)).await?;
            if buf.is_empty() {
                break;
            }
            all.extend_from_slice(&buf);
            if all.len() % 7 == 0 {
                laps(1).await?;
            }
        }
        assert!(all == pattern(LENGTH));
        assert_eq!(write.await?.len(), LENGTH);
        Ok(())
    });
}

#[test]
fn copy_moves_everything_and_ends_nothing() {
    each(|| async {
        let ((source, inner), (outer, sink)) = (tcp_pair().await?, UnixStream::pair()?);
        let copied = lisle::io::copy(&inner, &outer);
        let written = source.write_all(pattern(3 << 20));
        drop(source);
        let (reader, writer) = sink.split();
        assert!(read_up_to(reader.stream(), 3 << 20).await? == pattern(3 << 20));
        assert_eq!(copied.await?, 3 << 20);
        written.await?;
        writer.write_all("back").await?;
        assert_eq!(&*outer.read_pool().await?, b"back");
        Ok(())
    });
}

#[test]
fn a_read_keeps_its_connection_open() {
    each(|| async {
        let (a, b) = tcp_pair().await?;
        // As in a chain of binds: the handle ends with the closure that started the read.
        let read = b.read(Buf::with_capacity(8));
        drop(b);
        laps(2).await?;
        a.write_all("late").await?;
        assert_eq!(&*read.await?, b"late");
        Ok(())
    });
}

#[test]
fn a_write_that_nobody_waits_for_is_made_and_its_error_told() {
    each(|| async {
        let (a, b) = UnixStream::pair()?;
        drop(a.write_all("unattended"));
        drop(a);
        assert_eq!(read_up_to(&b, 100).await?, b"unattended");
        let told = std::rc::Rc::new(std::cell::RefCell::new(Vec::<Option<i32>>::new()));
        let list = told.clone();
        lisle::hook::set(move |failure| list.borrow_mut().push(failure.error().raw_os_error()));
        drop(b.write_all("nobody there"));
        laps(2).await?;
        lisle::hook::reset();
        assert_eq!(*told.borrow(), [Some(libc::EPIPE)]);
        Ok(())
    });
}

#[test]
fn what_main_wrote_last_is_sent() {
    support::each_runtime(|runtime| {
        let (a, b) = std::os::unix::net::UnixStream::pair().unwrap();
        a.set_nonblocking(true).unwrap();
        runtime.run(async move {
            drop(UnixStream::from_fd(a.into()).write_all("goodbye"));
        });
        let mut text = [0; 16];
        let count = std::io::Read::read(&mut &b, &mut text).unwrap();
        assert_eq!(&text[..count], b"goodbye");
    });
}

#[test]
fn tasks_on_both_directions_of_many_connections() {
    each(|| async {
        let (listener, addr) = listen()?;
        let server = spawn(async move {
            for _ in 0..50 {
                let (reader, writer) = listener.accept().await?.split();
                lisle::io::copy(&reader, &writer)
                    .finalize(move || {
                        drop(writer);
                        lisle::ready(())
                    })
                    .detach();
            }
            Ok::<_, lisle::Error>(())
        });
        let clients = (0..50).map(|number| {
            try_spawn(async move {
                let client = TcpStream::connect(addr).await?;
                let sent = pattern(1000 * number + 1);
                let written = client.write_all(sent.clone());
                assert!(read_up_to(&client, sent.len()).await? == sent);
                written.await?;
                Ok::<_, Error>(())
            })
        });
        join(clients.collect::<Vec<_>>()).await?;
        server.await?
    });
}

/// Gives `SIGPIPE` back its default: to end the process. (Rust programs start with it ignored.)
#[allow(unsafe_code)]
fn default_sigpipe() {
    // SAFETY: SIG_DFL is a valid disposition; no handler is installed.
    let former = unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
    assert_ne!(former, libc::SIG_ERR);
}

#[test]
fn no_signal_comes_of_writing_to_a_closed_peer() {
    if !support::is_child() {
        return support::run_child_well("no_signal_comes_of_writing_to_a_closed_peer", &[]);
    }
    default_sigpipe();
    each(|| async {
        for (a, b) in [UnixStream::pair()?, UnixStream::pair()?] {
            drop(b);
            assert_eq!(a.write_all("x").await.unwrap_err().raw_os_error(), Some(libc::EPIPE));
        }
        let (a, b) = tcp_pair().await?;
        drop(b);
        a.write_all("the first may pass").await.ok();
        laps(2).await?;
        assert!(a.write_all(pattern(100_000)).await.is_err());
        a.as_fd();
        Ok(())
    });
}

#[test]
fn writes_to_a_peer_that_does_not_read_are_refused_in_the_end() {
    const WRITES_MAX: usize = 1 << 16;
    each(|| async {
        let (a, _b) = UnixStream::pair()?;
        let stuck = a.write_all(vec![0; 8 << 20]);
        let queued: Vec<_> = (0..WRITES_MAX).map(|_| a.write_all("x")).collect();
        let refused = a.write_all("one too many").await.unwrap_err();
        assert!(refused.to_string().contains("65536 writes are queued"), "{refused}");
        queued.iter().for_each(lisle::Promise::cancel);
        stuck.cancel();
        Ok(())
    });
}

#[test]
fn select_says_what_it_cannot_do() {
    let runtime = support::runtime(lisle::EngineKind::Select);
    let refused = runtime.run(async {
        let (a, _b) = UnixStream::pair()?;
        let beyond = UnixStream::from_fd(rustix::io::fcntl_dupfd_cloexec(a.as_fd(), 1024)?);
        beyond.read(Buf::with_capacity(1)).await
    });
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("select engine") && refused.contains("LISLE_ENGINE"), "{refused}");
}

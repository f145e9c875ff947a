//! Cancelling loses nothing: no byte, no connection, no descriptor; on every engine.

mod support;

use lisle::net::{TcpListener, TcpStream, UnixStream};
use lisle::time::{TimedOut, sleep, timeout};
use lisle::{Buf, Promise, choose, spawn};
use std::time::Duration;
use support::{Random, each, laps, listen, open_fds, pattern, read_up_to, tcp_pair};

const SOON: Duration = Duration::from_millis(1);

#[test]
fn a_cancelled_read_is_canceled_and_the_bytes_go_to_the_next() {
    each(|| async {
        let (a, b) = tcp_pair().await?;
        let read = b.read(Buf::with_capacity(8));
        laps(1).await?;
        read.cancel();
        assert!(read.await.unwrap_err().is_canceled());
        a.write_all("kept").await?;
        assert_eq!(&*b.read(Buf::with_capacity(8)).await?, b"kept");
        Ok(())
    });
}

#[test]
fn the_next_read_is_not_canceled_with_the_one_before() {
    each(|| async {
        let (a, b) = tcp_pair().await?;
        for text in ["one", "two", "three"] {
            let given_up = b.read(Buf::with_capacity(8));
            given_up.cancel();
            drop(given_up);
            let next = b.read(Buf::with_capacity(8));
            laps(2).await?;
            a.write_all(text).await?;
            assert_eq!(&*next.await?, text.as_bytes());
        }
        Ok(())
    });
}

#[test]
fn a_read_that_took_over_can_be_cancelled_too() {
    each(|| async {
        let (a, b) = tcp_pair().await?;
        let first = b.read(Buf::with_capacity(8));
        first.cancel();
        drop(first);
        let second = b.read(Buf::with_capacity(8));
        second.cancel();
        assert!(second.await.unwrap_err().is_canceled());
        drop(b.read(Buf::with_capacity(8)));
        let fourth = b.read(Buf::with_capacity(8));
        laps(2).await?;
        fourth.cancel();
        assert!(fourth.await.unwrap_err().is_canceled());
        a.write_all("for the fifth").await?;
        assert_eq!(&*b.read(Buf::with_capacity(5)).await?, b"for t");
        assert_eq!(read_up_to(&b, 8).await?, b"he fifth");
        Ok(())
    });
}

#[test]
fn reads_that_were_dropped_lose_nothing() {
    each(|| async {
        let (a, b) = UnixStream::pair()?;
        for capacity in [4, 64, 3] {
            drop(b.read(Buf::with_capacity(capacity)));
            drop(b.read_pool());
        }
        laps(2).await?;
        a.write_all(pattern(1000)).await?;
        drop(a);
        laps(2).await?;
        assert!(read_up_to(&b, 2000).await? == pattern(1000));
        Ok(())
    });
}

#[test]
fn a_thousand_random_cuts_lose_no_byte() {
    each(|| async {
        const LENGTH: usize = 100_000;
        let (a, b) = UnixStream::pair()?;
        let mut random = Random(42);
        let writer = spawn(async move {
            let (all, mut sent, mut random) = (pattern(LENGTH), 0, Random(43));
            while sent < LENGTH {
                let next = (sent + 1 + random.below(60) as usize).min(LENGTH);
                a.write_all(all[sent..next].to_vec()).await?;
                sent = next;
                laps(random.below(3) as usize).await?;
            }
            Ok::<_, lisle::Error>(())
        });
        let (mut received, expected) = (Vec::<u8>::new(), pattern(LENGTH));
        let mut cuts = 0;
        while received.len() < LENGTH {
            let read: Promise<Buf> = match random.below(4) {
                0 => b.read_pool(),
                _ => b.read(Buf::with_capacity(1 + random.below(100) as usize)),
            };
            laps(random.below(3) as usize).await?;
            // What was there at once is ours: giving it up would be our loss.
            let (read, given_up) = match read.try_take() {
                Ok(settled) => (lisle::settled(settled), false),
                Err(pending) => (pending, cuts < 1000 && random.below(2) == 0),
            };
            if given_up {
                cuts += 1;
                let kind = random.below(3);
                if kind > 0 {
                    read.cancel();
                    laps(random.below(2) as usize).await?;
                }
                if kind < 2 {
                    drop(read);
                    continue;
                }
            }
            match read.await {
                Ok(buf) => {
                    assert!(!buf.is_empty(), "only {} bytes", received.len());
                    received.extend_from_slice(&buf);
                    assert!(received.ends_with(&expected[received.len() - buf.len()..received.len()]));
                }
                Err(error) => assert!(error.is_canceled(), "{error}"),
            }
        }
        assert!(received == expected);
        assert!(cuts > 200, "{cuts}");
        writer.await?
    });
}

#[test]
fn a_read_that_timed_out_loses_nothing() {
    each(|| async {
        let (a, b) = tcp_pair().await?;
        let error = timeout(SOON, b.read(Buf::with_capacity(8))).await.unwrap_err();
        assert!(error.downcast_ref::<TimedOut>().is_some(), "{error}");
        a.write_all("after all").await?;
        assert_eq!(&*timeout(Duration::from_secs(100), b.read(Buf::with_capacity(64))).await?, b"after all");
        let mapped = timeout(SOON, b.read(Buf::with_capacity(64)).map(|buf| buf.len()));
        assert!(mapped.await.unwrap_err().downcast_ref::<TimedOut>().is_some());
        a.write_all("again").await?;
        assert_eq!(&*b.read(Buf::with_capacity(64)).await?, b"again");
        Ok(())
    });
}

#[test]
fn a_cancelled_accept_loses_no_connection() {
    each(|| async {
        let (listener, addr) = listen()?;
        let (cancelled, dropped) = (listener.accept(), listener.accept());
        laps(1).await?;
        cancelled.cancel();
        drop(dropped);
        let clients = [TcpStream::connect(addr).await?, TcpStream::connect(addr).await?];
        laps(2).await?;
        // It may have been there before the cancellation was.
        let first = match cancelled.await {
            Ok(stream) => stream,
            Err(error) => {
                assert!(error.is_canceled());
                listener.accept().await?
            }
        };
        let second = listener.accept().await?;
        let mut peers = [first.peer_addr()?, second.peer_addr()?];
        let mut ours = [clients[0].local_addr()?, clients[1].local_addr()?];
        peers.sort();
        ours.sort();
        assert_eq!(peers, ours);
        Ok(())
    });
}

#[test]
fn an_accept_that_timed_out_leaves_the_next_one_alone() {
    each(|| async {
        let (listener, addr) = listen()?;
        for _ in 0..3 {
            assert!(timeout(SOON, listener.accept()).await.is_err());
            let accept = listener.accept();
            laps(2).await?;
            TcpStream::connect(addr).await?;
            accept.await?;
        }
        Ok(())
    });
}

#[test]
fn a_queued_write_that_is_cancelled_writes_not_a_byte() {
    each(|| async {
        const LENGTH: usize = 4 << 20;
        let (a, b) = UnixStream::pair()?;
        let first = a.write_all(pattern(LENGTH));
        let second = a.write_all("not a byte of this");
        let third = a.write_all("the end");
        second.cancel();
        assert!(second.await.unwrap_err().is_canceled());
        let all = read_up_to(&b, LENGTH + 7).await?;
        assert!(all[..LENGTH] == pattern(LENGTH));
        assert_eq!(&all[LENGTH..], b"the end");
        first.await?;
        third.await?;
        Ok(())
    });
}

#[test]
fn a_write_that_is_cancelled_half_way_ends() {
    each(|| async {
        let (a, b) = UnixStream::pair()?;
        let write = a.write_all(pattern(16 << 20));
        laps(2).await?;
        write.cancel();
        assert!(write.await.unwrap_err().is_canceled());
        drop(a);
        let sent = read_up_to(&b, usize::MAX).await?;
        assert!(sent.len() < 16 << 20 && sent == pattern(16 << 20)[..sent.len()]);
        Ok(())
    });
}

/// Waits until as many descriptors are open as there were.
async fn fds_are_back(before: usize) -> lisle::Result<()> {
    for _ in 0..200 {
        if open_fds() == before {
            return Ok(());
        }
        sleep(SOON).await?;
    }
    panic!("{} descriptors, {before} before", open_fds());
}

/// Counting descriptors needs a process in which nobody else opens any.
#[test]
fn descriptors_close_whatever_is_in_flight() {
    if !support::is_child() {
        return support::run_child_well("descriptors_close_whatever_is_in_flight", &[]);
    }
    each(|| async {
        // What opens lazily is open now.
        tcp_pair().await?;
        sleep(SOON).await?;
        let before = open_fds();
        for order in 0..4 {
            let (a, b) = tcp_pair().await?;
            let (read, write) = (b.read(Buf::with_capacity(8)), b.write_all(pattern(16 << 20)));
            let pool_read = b.read_pool();
            laps(order).await?;
            if order % 2 == 0 {
                drop((b, read, pool_read, write));
            } else {
                drop((read, pool_read, write, b));
            }
            drop(a);
            fds_are_back(before).await?;
        }
        let (listener, addr) = listen()?;
        let accept = listener.accept();
        drop(listener);
        drop(accept);
        fds_are_back(before).await?;
        assert!(TcpStream::connect(addr).await.is_err());
        let task = spawn(async move {
            let listener = TcpListener::bind("127.0.0.1:0")?;
            listener.accept().await
        });
        laps(2).await?;
        task.cancel();
        assert!(task.await?.unwrap_err().is_canceled());
        fds_are_back(before).await
    });
}

#[test]
fn the_loser_of_a_race_gives_back_what_it_got() {
    each(|| async {
        let (a, b) = tcp_pair().await?;
        a.write_all(pattern(3000)).await?;
        let (mut received, mut lost) = (Vec::new(), 0);
        while received.len() < 3000 {
            let tick = lisle::pause().map(|()| Buf::from(""));
            let race = choose([tick, b.read(Buf::with_capacity(100))]);
            match &*race.await? {
                b"" => lost += 1,
                bytes => received.extend_from_slice(bytes),
            }
            // The next read finds what the loser left behind.
            received.extend_from_slice(&b.read(Buf::with_capacity(70)).await?);
        }
        assert!(received == pattern(3000), "{lost} races lost");
        Ok(())
    });
}

#[test]
fn a_write_that_was_queued_and_has_begun_can_be_cancelled() {
    const LEN: usize = 8 << 20;
    each(|| async {
        let (a, b) = UnixStream::pair()?;
        let first = a.write_all(vec![1; 1 << 20]);
        let second = a.write_all(vec![2; LEN]);
        assert_eq!(read_up_to(&b, 1 << 20).await?.len(), 1 << 20);
        first.await?;
        assert_eq!(read_up_to(&b, 1000).await?, [2; 1000], "it has begun");
        second.cancel();
        assert!(second.await.unwrap_err().is_canceled());
        drop(a);
        let rest = read_up_to(&b, LEN).await?;
        assert!(rest.len() < LEN / 2, "{} bytes of a cancelled write", rest.len());
        Ok(())
    });
}

#[test]
fn what_was_there_at_once_goes_to_the_next_if_it_is_dropped() {
    each(|| async {
        let (a, b) = tcp_pair().await?;
        a.write_all("once").await?;
        laps(2).await?;
        for _ in 0..3 {
            let read = b.read(Buf::with_capacity(2));
            laps(1).await?;
            drop(read);
        }
        assert_eq!(read_up_to(&b, 4).await?, b"once");

        let (listener, addr) = listen()?;
        let client = TcpStream::connect(addr).await?;
        for _ in 0..3 {
            let accept = listener.accept();
            laps(1).await?;
            drop(accept);
        }
        timeout(Duration::from_secs(10), listener.accept()).await?.write_all("kept").await?;
        assert_eq!(read_up_to(&client, 4).await?, b"kept");
        Ok(())
    });
}

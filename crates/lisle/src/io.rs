//! What works on any stream: copying.
//!
//! [`Read`] and [`Write`] name what can be read from and written to: streams and their halves. They lend no
//! bytes; operations own their buffers (see [`crate::net`]).

use crate::net::{ReadHalf, Stream, TcpStream, UnixStream, WriteHalf};
use lisle_core::{Promise, Result, try_spawn};
use lisle_engine::Buf;

/// What can be read from: a reference, shared or not, to a stream or its reading half.
pub trait Read {
    /// The stream behind it.
    type Stream: Stream;

    /// One more handle of that stream.
    fn reading(self) -> Self::Stream;
}

/// What can be written to: a reference, shared or not, to a stream or its writing half. (Not the half
/// itself: its end would end the direction.)
pub trait Write {
    /// The stream behind it.
    type Stream: Stream;

    /// One more handle of that stream.
    fn writing(self) -> Self::Stream;
}

macro_rules! by_reference {
    ($trait:ident, $method:ident: $(($($generic:ident)?) $type:ty => $stream:ty, $clone:expr;)*) => {$(
        impl$(<$generic: Stream>)? $trait for &$type {
            type Stream = $stream;

            fn $method(self) -> $stream {
                $clone(self)
            }
        }

        impl$(<$generic: Stream>)? $trait for &mut $type {
            type Stream = $stream;

            fn $method(self) -> $stream {
                $clone(self)
            }
        }
    )*};
}

by_reference! { Read, reading:
    () TcpStream => TcpStream, TcpStream::clone;
    () UnixStream => UnixStream, UnixStream::clone;
    (S) ReadHalf<S> => S, |half: &ReadHalf<S>| half.stream().clone();
}

by_reference! { Write, writing:
    () TcpStream => TcpStream, TcpStream::clone;
    () UnixStream => UnixStream, UnixStream::clone;
    (S) WriteHalf<S> => S, |half: &WriteHalf<S>| half.stream().clone();
}

/// What one step of [`copy`] moves at most. Its own buffer and not the pool's: a peer that does not read
/// would keep it.
const COPY_BYTES: usize = 16 * 1024;

/// Copies until the end of the stream and promises the number of bytes. Ends neither side.
///
/// Cancelling stops it between two operations or within one; bytes that were read but not yet written are
/// lost to the writer then, since nobody could tell how many there were.
///
/// ```
/// use lisle::net::UnixStream;
/// lisle::run(async {
///     let ((client, inner), (outer, sink)) = (UnixStream::pair()?, UnixStream::pair()?);
///     client.write_all("through").await?;
///     client.shutdown(std::net::Shutdown::Write).await?;
///     assert_eq!(lisle::io::copy(&inner, &outer).await?, 7);
///     assert_eq!(&*sink.read(lisle::Buf::with_capacity(9)).await?, b"through");
///     Ok::<(), lisle::Error>(())
/// })
/// # .unwrap();
/// ```
#[track_caller]
pub fn copy<R: Read, W: Write>(reader: R, writer: W) -> Promise<u64> {
    try_spawn(copy_streams(reader.reading(), writer.writing()))
}

async fn copy_streams<R: Stream, W: Stream>(reader: R, writer: W) -> Result<u64> {
    let mut buf = Buf::with_capacity(COPY_BYTES);
    let mut copied = 0;
    loop {
        buf = reader.read(buf).await?;
        if buf.is_empty() {
            return Ok(copied);
        }
        copied += buf.len() as u64;
        buf = writer.write_all(buf).await?;
    }
}

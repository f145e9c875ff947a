//! `std::io` over streams, on each engine.

use lisle::net::UnixStream;
use lisle::{Buf, EngineKind, Error, Promise, Runtime, pair, ready};
use lisle_direct::{ByteStream, Fiber, io::TRANSFER_MAX, spawn, try_spawn};
use std::cell::{Cell, RefCell};
use std::io::{self, BufRead, BufReader, IoSlice, Read, Write};
use std::rc::Rc;

/// Makes one test for each engine out of a body that gets a fiber. An engine that this machine does not have
/// is skipped, and says so.
macro_rules! on_every_engine {
    ($($name:ident: $body:expr;)*) => { $(
        mod $name {
            use super::*;
            #[test]
            fn io_uring() { on(EngineKind::IoUring, $body) }
            #[test]
            fn epoll() { on(EngineKind::Epoll, $body) }
            #[test]
            fn poll() { on(EngineKind::Poll, $body) }
            #[test]
            fn select() { on(EngineKind::Select, $body) }
        }
    )* };
}

fn on(engine: EngineKind, body: fn(&Fiber) -> io::Result<()>) {
    match Runtime::builder().engine(engine).build() {
        Ok(runtime) => {
            runtime.run_promise(try_spawn(body)).unwrap();
            drop(runtime);
            assert_eq!(lisle::sched::tasks::task_count(), 0);
        }
        Err(error) => eprintln!("skipped on {}: {error}", engine.name()),
    }
}

on_every_engine! {
    bytes_go_there_and_back: |fiber| {
        let (a, b) = UnixStream::pair()?;
        fiber.io(&a).write_all(b"ping")?;
        let mut four = [0; 4];
        fiber.io(&b).read_exact(&mut four)?;
        assert_eq!(&four, b"ping");
        drop(a);
        assert_eq!(fiber.io(&b).read(&mut four)?, 0);
        Ok(())
    };

    lines_are_read_by_a_buffered_reader: |fiber| {
        let (a, b) = UnixStream::pair()?;
        let writer = try_spawn(move |fiber| {
            let mut a = fiber.io(&a);
            for n in 1..=100 {
                writeln!(a, "{n}")?;
                fiber.yield_now()?;
            }
            Ok::<_, Error>(())
        });
        let mut sum = 0;
        for line in BufReader::new(fiber.io(&b)).lines() {
            sum += line?.parse::<u32>().unwrap();
        }
        fiber.wait(writer)?;
        assert_eq!(sum, 5050);
        Ok(())
    };

    a_megabyte_passes_whole: |fiber| {
        let (a, b) = UnixStream::pair()?;
        let sent: Vec<u8> = (0..1_000_000_u32).map(|i| (i % 251) as u8).collect();
        let expected = sent.clone();
        let writer = try_spawn(move |fiber| fiber.io(&a).write_all(&sent));
        let mut got = Vec::new();
        fiber.io(&b).read_to_end(&mut got)?;
        fiber.wait(writer)?;
        assert!(got == expected);
        Ok(())
    };

    a_read_takes_no_more_than_the_slice: |fiber| {
        let (a, b) = UnixStream::pair()?;
        fiber.io(&a).write_all(b"headbody")?;
        let mut head = [0; 4];
        let mut io = fiber.io(&b);
        io.read_exact(&mut head[..1])?;
        io.read_exact(&mut head[1..])?;
        let rest = fiber.wait(b.read(Buf::with_capacity(100)))?;
        assert_eq!((&head, &*rest), (b"head", &b"body"[..]));
        Ok(())
    };

    slices_are_gathered: |fiber| {
        let (a, b) = UnixStream::pair()?;
        let slices = [IoSlice::new(b"one "), IoSlice::new(b""), IoSlice::new(b"two")];
        let count = fiber.io(&a).write_vectored(&slices)?;
        let mut got = [0; 7];
        fiber.io(&b).read_exact(&mut got)?;
        assert_eq!((count, &got), (7, b"one two"));
        Ok(())
    };

    a_canceled_read_loses_no_byte: |fiber| {
        let (a, b) = UnixStream::pair()?;
        let reading = b.clone();
        let reader = spawn(move |fiber| fiber.io(&reading).read(&mut [0; 10]));
        fiber.yield_now()?;
        fiber.yield_now()?;
        reader.cancel();
        let error = fiber.wait(reader)?.unwrap_err();
        assert_eq!((error.kind(), error.to_string().as_str()), (io::ErrorKind::Other, "canceled"));
        fiber.io(&a).write_all(b"later")?;
        let mut got = [0; 5];
        fiber.io(&b).read_exact(&mut got)?;
        assert_eq!(&got, b"later");
        Ok(())
    };

    the_runtime_may_end_in_the_middle_of_a_read: |fiber| {
        let (a, b) = UnixStream::pair()?;
        for _ in 0..10 {
            let (a, b) = (a.clone(), b.clone());
            spawn(move |fiber| {
                let mut slice = [0_u8; 4096];
                let result = fiber.io(&b).read(&mut slice);
                drop(a);
                result.map(|count| assert_eq!(count, 0))
            })
            .detach();
        }
        fiber.yield_now()?;
        fiber.yield_now()?;
        Ok(())
    };

    a_closed_peer_is_an_error_of_the_system: |fiber| {
        let (a, b) = UnixStream::pair()?;
        drop(b);
        fiber.yield_now()?;
        let error = fiber.io(&a).write_all(&[1; 100]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
        Ok(())
    };
}

/// A stream in memory that gives the same bytes each time, and counts which buffers it was given.
struct Fountain {
    bytes: &'static [u8],
    buffers: RefCell<Vec<*const u8>>,
    written: Cell<usize>,
}

impl Fountain {
    fn new(bytes: &'static [u8]) -> Fountain {
        Fountain { bytes, buffers: RefCell::new(Vec::new()), written: Cell::new(0) }
    }
}

impl ByteStream for Fountain {
    fn read(&self, mut buf: Buf) -> Promise<Buf> {
        let count = self.bytes.len().min(buf.capacity());
        buf.storage_mut()[..count].copy_from_slice(&self.bytes[..count]);
        buf.set_len(count);
        self.buffers.borrow_mut().push(buf.as_ptr());
        ready(buf)
    }

    fn write_all(&self, buf: Buf) -> Promise<Buf> {
        self.written.set(self.written.get() + buf.len());
        self.buffers.borrow_mut().push(buf.as_ptr());
        ready(buf)
    }
}

fn in_fiber<T: 'static>(body: impl FnOnce(&Fiber) -> io::Result<T> + 'static) -> T {
    let promise = try_spawn(body);
    while lisle::sched::tasks::run_ready() > 0 {}
    promise.try_take().unwrap().unwrap()
}

#[test]
fn the_buffers_are_kept() {
    let fountain = Rc::new(Fountain::new(b"water"));
    let inside = fountain.clone();
    in_fiber(move |fiber| {
        let mut io = fiber.io(&*inside);
        let mut slice = [0; 100];
        for _ in 0..10 {
            assert_eq!(io.read(&mut slice)?, 5);
            assert_eq!(&slice[..5], b"water");
        }
        (0..10).try_for_each(|_| io.write_all(b"fire"))
    });
    let mut buffers = fountain.buffers.take();
    assert_eq!(buffers.len(), 20);
    buffers.dedup();
    assert_eq!(buffers.len(), 2, "one for reads, one for writes");
    assert_eq!(fountain.written.get(), 40);
}

#[test]
fn empty_slices_touch_no_stream() {
    let fountain = Rc::new(Fountain::new(b"water"));
    let inside = fountain.clone();
    in_fiber(move |fiber| {
        let mut io = fiber.io(&*inside);
        assert_eq!(io.read(&mut [])?, 0);
        assert_eq!(io.write(&[])?, 0);
        assert_eq!(io.write_vectored(&[])?, 0);
        io.flush()
    });
    assert!(fountain.buffers.borrow().is_empty());
}

#[test]
fn one_transfer_has_a_limit() {
    let fountain = Rc::new(Fountain::new(&[1; TRANSFER_MAX + 10]));
    let inside = fountain.clone();
    in_fiber(move |fiber| {
        let mut io = fiber.io(&*inside);
        let mut large = vec![0; TRANSFER_MAX + 10];
        assert_eq!(io.read(&mut large)?, TRANSFER_MAX);
        assert_eq!(io.write(&large)?, TRANSFER_MAX);
        let half = IoSlice::new(&large[..TRANSFER_MAX / 2 + 5]);
        assert_eq!(io.write_vectored(&[half, half, half])?, TRANSFER_MAX);
        Ok(())
    });
}

#[test]
fn an_error_costs_the_buffer_and_not_the_handle() {
    struct Failing(Cell<bool>);
    impl ByteStream for Failing {
        fn read(&self, buf: Buf) -> Promise<Buf> {
            if self.0.replace(false) { lisle::rejected(Error::os(104)) } else { ready(buf) }
        }
        fn write_all(&self, buf: Buf) -> Promise<Buf> {
            self.read(buf)
        }
    }
    in_fiber(|fiber| {
        let failing = Failing(Cell::new(true));
        let mut io = fiber.io(&failing);
        assert_eq!(io.read(&mut [0; 4]).unwrap_err().raw_os_error(), Some(104));
        assert_eq!(io.write(b"1234")?, 4);
        failing.0.set(true);
        assert_eq!(fiber.io(&failing).write(b"1234").unwrap_err().raw_os_error(), Some(104));
        Ok(())
    });
}

#[test]
fn a_suspended_read_of_a_dropped_fiber_leaves_the_slice_alone() {
    struct Never(RefCell<Vec<lisle::Resolver<Buf>>>, RefCell<Vec<Buf>>);
    impl ByteStream for Never {
        fn read(&self, buf: Buf) -> Promise<Buf> {
            let (promise, resolver) = pair();
            self.0.borrow_mut().push(resolver);
            self.1.borrow_mut().push(buf);
            promise
        }
        fn write_all(&self, buf: Buf) -> Promise<Buf> {
            self.read(buf)
        }
    }
    let never = Rc::new(Never(RefCell::default(), RefCell::default()));
    let inside = never.clone();
    spawn(move |fiber| fiber.io(&*inside).read(&mut [0; 64]).map(drop)).detach();
    lisle::sched::tasks::run_ready();
    lisle::sched::reset();
    let mut buf = never.1.borrow_mut().pop().unwrap();
    buf.storage_mut().fill(7); // what a kernel would do, late
    never.0.borrow_mut().pop().unwrap().resolve(buf);
}

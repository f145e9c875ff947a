//! The life of a runtime on every engine: started, chosen, nested by mistake, dropped at the worst moment,
//! a thousand times over.

mod support;

use lisle::net::{TcpListener, TcpStream, UnixStream};
use lisle::time::sleep;
use lisle::{Buf, EngineKind, Runtime, StartError, spawn};
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Poll, Waker};
use std::time::Duration;
use support::{Watchdog, each, each_runtime, open_fds, runtime};

const SOON: Duration = Duration::from_millis(2);
const LATER: Duration = Duration::from_secs(3600);

#[test]
fn every_engine_is_here() {
    for kind in EngineKind::ALL {
        let runtime = runtime(kind);
        assert_eq!((runtime.engine(), runtime.reason()), (kind, None));
        assert_eq!(runtime.run(async { 42 }), 42);
        assert_eq!(runtime.in_flight(), 0);
    }
}

#[test]
fn operations_need_a_runtime() {
    let (a, _b) = UnixStream::pair().unwrap();
    let error = a.read(Buf::with_capacity(8)).try_take().unwrap().unwrap_err();
    assert!(error.to_string().contains("no runtime on this thread"), "{error}");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let error = TcpStream::connect(listener.local_addr().unwrap()).try_take().unwrap().unwrap_err();
    assert!(error.to_string().contains("lisle::run"), "{error}");
    assert!(listener.accept().try_take().unwrap().is_err());
}

#[test]
fn one_runtime_a_thread() {
    each_runtime(|first| {
        assert!(matches!(Runtime::new(), Err(StartError::AlreadyRunning)));
        assert_eq!(first.run(async { 1 }), 1, "the first is not harmed");
        let elsewhere = std::thread::spawn(|| lisle::run(async { 2 }));
        assert_eq!(elsewhere.join().unwrap(), 2);
    });
}

#[test]
fn run_inside_run_is_refused() {
    std::panic::set_hook(Box::new(|_| {}));
    let outer = Rc::new(runtime(EngineKind::Epoll));
    let inner = outer.clone();
    let nested = outer.run_promise(spawn(async move { inner.run(async {}) }));
    assert_eq!(nested.unwrap(), (), "a task polled before the loop began is not inside it");
    let inner = outer.clone();
    let nested = outer.run_promise(spawn(async move {
        lisle::pause().await.unwrap();
        inner.run(async {});
    }));
    assert!(nested.unwrap_err().panic_message().unwrap().contains("run inside run"));
    assert_eq!(outer.run(async { 3 }), 3);
}

#[test]
fn tasks_survive_from_one_run_to_the_next() {
    each_runtime(|runtime| {
        let count = Rc::new(Cell::new(0));
        let counter = count.clone();
        runtime.run(async move {
            spawn(async move {
                loop {
                    lisle::pause().await.unwrap();
                    counter.set(counter.get() + 1);
                }
            })
            .detach();
        });
        let first = count.get();
        runtime.run(sleep(SOON)).unwrap();
        assert!(count.get() > first);
    });
}

/// Starts operations of every kind that will not end by themselves, attended and not.
fn leave_in_flight() {
    let (a, b) = UnixStream::pair().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let writing = a.clone();
    drop(b.read(Buf::with_capacity(64)));
    b.read_pool().detach_with(|_| {});
    a.write_all(vec![7; 1 << 20]).detach_with(|_| {});
    a.write_all("queued").detach_with(|_| {});
    lisle::IntoPromise::into_promise(listener.serve(|_| async {})).detach_with(|_| {});
    let tasks = [
        spawn(async move { b.read(Buf::with_capacity(64)).await.map(drop) }),
        spawn(async move { listener.accept().await.map(drop) }),
        spawn(async move { writing.shutdown(std::net::Shutdown::Write).await }),
        spawn(async { sleep(LATER).await }),
        spawn(async { lisle::time::timeout(LATER, sleep(LATER)).await }),
    ];
    tasks.into_iter().for_each(|task| task.detach_with(|_| {}));
}

/// Resident memory of this process.
fn resident_bytes() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

/// Counting descriptors and memory needs a process of its own.
#[test]
fn a_thousand_runtimes_in_a_row_leave_nothing() {
    if !support::is_child() {
        return support::run_child_well("a_thousand_runtimes_in_a_row_leave_nothing", &[]);
    }
    let _watchdog = Watchdog::new();
    for kind in EngineKind::ALL {
        let cycle = |laps: u32| {
            let runtime = runtime(kind);
            leave_in_flight();
            runtime.run(async move {
                for _ in 0..laps {
                    lisle::pause().await.unwrap();
                }
            });
            assert!(runtime.in_flight() > 0);
        };
        (0..100).for_each(|round| cycle(round % 3));
        let before = (open_fds(), resident_bytes());
        (0..1000).for_each(|round| cycle(round % 3));
        let after = (open_fds(), resident_bytes());
        assert_eq!(after.0, before.0, "descriptors on {}", kind.name());
        let grown = after.1.saturating_sub(before.1);
        assert!(grown < 16 << 20, "{grown} bytes more on {}", kind.name());
    }
}

#[test]
fn whoever_waits_for_a_runtime_that_ends_is_told() {
    for kind in EngineKind::ALL {
        let runtime = runtime(kind);
        let (a, _b) = UnixStream::pair().unwrap();
        let seen = Rc::new(Cell::new(0));
        let promises = [
            a.read(Buf::with_capacity(8)).map(drop),
            sleep(LATER),
            spawn(async { sleep(LATER).await }).bind(|result| result),
        ];
        let promises = promises.map(|promise| {
            let seen = seen.clone();
            promise.catch(move |error| {
                assert!(error.is_abandoned(), "{error}");
                seen.set(seen.get() + 1);
                Ok::<_, lisle::Error>(())
            })
        });
        runtime.run(sleep(SOON)).unwrap();
        drop(runtime);
        assert_eq!(seen.get(), 3, "on {}", kind.name());
        drop(promises);
    }
}

#[test]
fn destructors_may_use_the_runtime_that_ends() {
    struct Reader(UnixStream);
    impl Drop for Reader {
        fn drop(&mut self) {
            drop(self.0.read(Buf::with_capacity(8)));
            self.0.write_all("x").detach_with(|_| {});
            spawn(async { sleep(LATER).await }).detach_with(|_| {});
        }
    }
    each_runtime(|runtime| {
        let (a, _b) = UnixStream::pair().unwrap();
        let reader = Reader(a);
        spawn(async move {
            sleep(LATER).await.unwrap();
            drop(reader);
        })
        .detach_with(|_| {});
        runtime.run(sleep(SOON)).unwrap();
    });
}

#[test]
fn a_panic_in_main_comes_out_and_leaves_a_clean_thread() {
    std::panic::set_hook(Box::new(|_| {}));
    for kind in EngineKind::ALL {
        let caught = std::panic::catch_unwind(|| {
            let runtime = runtime(kind);
            leave_in_flight();
            runtime.run(async {
                sleep(SOON).await.unwrap();
                panic!("in main");
            })
        });
        let text = caught.unwrap_err();
        assert!(text.downcast_ref::<String>().unwrap().contains("in main"));
        assert_eq!(runtime(kind).run(async { 5 }), 5);
    }
}

#[test]
fn the_variable_chooses_the_engine() {
    if !support::is_child() {
        for name in ["select", "poll", "epoll", "io_uring", "auto", ""] {
            support::run_child_well("the_variable_chooses_the_engine", &[("LISLE_ENGINE", name)]);
        }
        return;
    }
    let runtime = Runtime::new().unwrap();
    let name = std::env::var("LISLE_ENGINE").unwrap();
    let expected = if matches!(name.as_str(), "" | "auto") { "io_uring" } else { &name };
    assert_eq!(runtime.engine().name(), expected);
    assert_eq!(runtime.run(async { sleep(SOON).await.map(|()| 1) }).unwrap(), 1);
}

#[test]
fn an_unknown_engine_is_refused_with_a_list() {
    if !support::is_child() {
        let variables = [("LISLE_ENGINE", "kqueue")];
        return support::run_child_well("an_unknown_engine_is_refused_with_a_list", &variables);
    }
    let error = Runtime::new().unwrap_err();
    assert!(matches!(error, StartError::Engine(_)));
    let text = error.to_string();
    assert!(
        ["'kqueue'", "io_uring", "epoll", "poll", "select"].iter().all(|name| text.contains(name)),
        "{text}"
    );
    Runtime::builder().any_engine().build().unwrap();
}

/// A value from another thread, through nothing but a waker.
#[derive(Default)]
struct Oneshot(Mutex<(Option<u32>, Option<Waker>)>);

impl Oneshot {
    fn send(&self, value: u32) {
        let mut inner = self.0.lock().unwrap();
        inner.0 = Some(value);
        let waker = inner.1.take();
        drop(inner);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    async fn receive(&self) -> u32 {
        poll_fn(|cx| {
            let mut inner = self.0.lock().unwrap();
            match inner.0.take() {
                Some(value) => Poll::Ready(value),
                None => {
                    inner.1 = Some(cx.waker().clone());
                    Poll::Pending
                }
            }
        })
        .await
    }
}

#[test]
fn another_thread_wakes_a_sleeping_loop_ten_thousand_times() {
    const ROUNDS: u32 = 10_000;
    let (orders, inbox) = mpsc::channel::<(u32, Arc<Oneshot>)>();
    let answering =
        std::thread::spawn(move || inbox.iter().for_each(|(value, answer)| answer.send(value + 1)));
    each(|| {
        let orders = orders.clone();
        async move {
            for round in 0..ROUNDS {
                let answer = Arc::new(Oneshot::default());
                orders.send((round, answer.clone())).unwrap();
                assert_eq!(answer.receive().await, round + 1);
            }
            Ok(())
        }
    });
    drop(orders);
    answering.join().unwrap();
}

#[test]
fn a_promise_of_a_runtime_that_is_gone_takes_nothing_from_the_next() {
    for kind in EngineKind::ALL {
        let first = runtime(kind);
        let (_a, b) = UnixStream::pair().unwrap();
        let (c, d) = UnixStream::pair().unwrap();
        let stale = b.read(Buf::with_capacity(64));
        drop(d.read(Buf::with_capacity(64)));
        drop(first);
        runtime(kind).run(async move {
            let ((e, f), (g, h)) = (UnixStream::pair().unwrap(), UnixStream::pair().unwrap());
            let reads = [&f, &h, &d].map(|stream| stream.read(Buf::with_capacity(64)));
            for (stream, text) in [(&e, "for f"), (&g, "for h"), (&c, "for d")] {
                stream.write_all(text).await.unwrap();
            }
            assert!(stale.await.unwrap_err().is_abandoned());
            for (read, text) in reads.into_iter().zip(["for f", "for h", "for d"]) {
                assert_eq!(&*read.await.unwrap(), text.as_bytes());
            }
        });
    }
}

#[test]
fn a_stream_outlives_a_runtime_that_ended_amid_its_writes() {
    for kind in EngineKind::ALL {
        let first = runtime(kind);
        let (a, b) = UnixStream::pair().unwrap();
        let (flying, queued) = (a.write_all(vec![7; 8 << 20]), a.write_all("queued"));
        let shutdown = a.shutdown(std::net::Shutdown::Write);
        drop(first);
        assert!(flying.try_take().unwrap().unwrap_err().is_abandoned());
        assert!(queued.try_take().unwrap().unwrap_err().is_abandoned());
        assert!(shutdown.try_take().unwrap().unwrap_err().is_abandoned());
        runtime(kind).run(async move {
            let written = a.write_all("last");
            drop(a);
            let all = support::read_up_to(&b, usize::MAX).await.unwrap();
            written.await.unwrap();
            assert!(all.ends_with(b"\x07last"), "on {}", kind.name());
        });
    }
}

/// As its first and as its last value: then the state of the thread goes after or before the runtime.
#[test]
fn a_thread_may_end_with_its_runtime_in_a_thread_local() {
    thread_local! {
        static KEPT: RefCell<Option<Runtime>> = const { RefCell::new(None) };
        static OWN: Runtime = Runtime::new().unwrap();
    }
    fn leave(runtime: &Runtime) {
        leave_in_flight();
        runtime.run(sleep(SOON)).unwrap();
    }
    let _watchdog = Watchdog::new();
    std::thread::spawn(|| OWN.with(leave)).join().unwrap();
    let kept = || {
        KEPT.with_borrow(|none| assert!(none.is_none()));
        let runtime = Runtime::new().unwrap();
        leave(&runtime);
        KEPT.set(Some(runtime));
    };
    std::thread::spawn(kept).join().unwrap();
}

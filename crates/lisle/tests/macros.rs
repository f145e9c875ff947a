//! `#[lisle::main]` and `#[lisle::test]`: what they run, what they return, and what they say about mistakes.

mod support;

use lisle::net::{TcpListener, TcpStream};
use lisle::time::sleep;
use std::cell::Cell;
use std::time::Duration;

#[lisle::test]
async fn a_test_may_return_nothing() {
    sleep(Duration::from_millis(1)).await.unwrap();
}

#[lisle::test(engine = "poll")]
async fn a_test_may_return_a_result() -> Result<(), std::num::ParseIntError> {
    let number: u32 = "42".parse()?;
    lisle::pause().await.unwrap();
    assert_eq!(number, 42);
    Ok(())
}

#[lisle::test]
#[should_panic(expected = "as told")]
async fn other_attributes_stay() {
    lisle::pause().await.unwrap();
    panic!("as told");
}

thread_local! {
    static RUNS: Cell<usize> = const { Cell::new(0) };
}

#[lisle::test(engine = "all")]
async fn a_test_may_run_on_all_engines() -> lisle::Result<()> {
    lisle::pause().await?;
    RUNS.set(RUNS.get() + 1);
    Ok(())
}

#[test]
fn all_engines_are_four() {
    let before = RUNS.get();
    a_test_may_run_on_all_engines().unwrap();
    assert_eq!(RUNS.get() - before, lisle::EngineKind::ALL.len());
}

/// What a program looks like; called as a function here.
mod program {
    use lisle::net::TcpListener;

    #[lisle::main(engine = "epoll")]
    pub(super) async fn main() -> lisle::Result<()> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        super::visit(listener.local_addr()?);
        let (stop, stopper) = lisle::pair();
        lisle::time::sleep(std::time::Duration::from_millis(20)).on_any(|()| stopper.resolve(()), |_| {});
        listener
            .serve(|stream| async move {
                let (mut r, mut w) = stream.split();
                lisle::io::copy(&mut r, &mut w).await
            })
            .graceful(stop)
    }
}

fn visit(addr: std::net::SocketAddr) {
    lisle::try_spawn(async move {
        let client = TcpStream::connect(addr).await?;
        client.write_all("hello").await?;
        assert_eq!(&*client.read_pool().await?, b"hello");
        Ok::<_, lisle::Error>(())
    })
    .detach();
}

#[test]
fn a_program_may_end_with_a_server() {
    program::main().unwrap();
}

mod failing_program {
    #[lisle::main]
    pub(super) async fn main() {
        println!("never reached");
    }
}

#[test]
fn a_program_without_an_engine_says_why_and_exits() {
    const NAME: &str = "a_program_without_an_engine_says_why_and_exits";
    if support::is_child() {
        return failing_program::main();
    }
    let output = support::run_child(NAME, &[("LISLE_ENGINE", "kqueue")]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(
        errors.contains("lisle: unknown engine 'kqueue'; LISLE_ENGINE may be auto, io_uring"),
        "{errors}"
    );
    assert!(!errors.contains("panicked"), "{errors}");
}

#[lisle::test(engine = "select")]
async fn the_engine_is_the_one_that_was_asked_for() {
    // Only `select` has a limit of its own; that it works at all is enough here.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
}

#[test]
fn mistakes_are_explained() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}

//! What the attributes `#[lisle::main]` and `#[lisle::test]` expand to. Not for anybody else.

use crate::net::Serve;
use crate::runtime::{Builder, Runtime, StartError};
use lisle_core::{IntoPromise, Promise};
use lisle_engine::EngineKind;
use lisle_engine::probe::{Choice, EngineError};
use std::fmt::Debug;
use std::future::Future;
use std::process::exit;

fn builder(engine: Option<&str>) -> Result<Builder, StartError> {
    match engine.map(str::parse) {
        None => Ok(Builder::new()),
        Some(Ok(Choice::Only(kind))) => Ok(Builder::new().engine(kind)),
        Some(Ok(Choice::Auto)) => Ok(Builder::new().any_engine()),
        Some(Err(error)) => Err(error.into()),
    }
}

/// Runs a program. If no runtime starts, that is not a bug of the program's: no panic, but cause and cure.
pub fn main<F: Future<Output: 'static> + 'static>(engine: Option<&str>, main: fn() -> F) -> F::Output {
    match builder(engine).and_then(Builder::build) {
        Ok(runtime) => runtime.run(main()),
        Err(error) => {
            eprintln!("lisle: {error}");
            exit(1);
        }
    }
}

/// Runs a test.
pub fn test<F: Future<Output: 'static> + 'static>(engine: Option<&str>, test: fn() -> F) -> F::Output {
    match builder(engine).and_then(Builder::build) {
        Ok(runtime) => runtime.run(test()),
        Err(error) => panic!("{error}"),
    }
}

/// Runs a test on each engine.
pub fn test_all<F: Future<Output = ()> + 'static>(test: fn() -> F) {
    let _: Result<(), ()> = on_each(|runtime| {
        runtime.run(test());
        Ok(())
    });
}

/// Runs a test on each engine until it fails on one.
///
/// # Errors
/// The test's.
pub fn test_all_results<E: Debug + 'static, F>(test: fn() -> F) -> Result<(), E>
where
    F: Future<Output = Result<(), E>> + 'static,
{
    on_each(|runtime| runtime.run(test()))
}

fn on_each<E>(run: impl Fn(&Runtime) -> Result<(), E>) -> Result<(), E> {
    for kind in EngineKind::ALL {
        match Runtime::builder().engine(kind).build() {
            Ok(runtime) => {
                // Seen only when the test fails: on which engine.
                println!("lisle: on {}", kind.name());
                run(&runtime)?;
            }
            Err(StartError::Engine(EngineError::Unavailable(obstacle))) => {
                eprintln!("lisle: test left out: {obstacle}");
            }
            Err(error) => panic!("{error}"),
        }
    }
    Ok(())
}

/// The last expression of a function whose last call is `serve`: a server is awaited, anything else is what
/// it is.
#[derive(Debug)]
pub struct Tail<T>(pub T);

impl Tail<Serve> {
    /// Starts the server.
    pub fn tail(self) -> Promise<()> {
        self.0.into_promise()
    }
}

/// For what is no server.
pub trait ItselfTail {
    /// The type of the expression.
    type Itself;

    /// The expression.
    fn tail(self) -> std::future::Ready<Self::Itself>;
}

impl<T> ItselfTail for Tail<T> {
    type Itself = T;

    fn tail(self) -> std::future::Ready<T> {
        std::future::ready(self.0)
    }
}

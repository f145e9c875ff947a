//! The one allocation of a task: its future and, once that is done, its output in the same place.
//!
//! What the output means is told by a zero-sized [`Outcome`]: any output is the value ([`Plain`]), or a
//! `Result` whose error rejects the promise ([`Fallible`]). So `try_spawn` needs no node behind the task.

use crate::hook::{FailureKind, report};
use crate::promise::call;
use crate::{Error, Result};
use std::any::Any;
use std::future::Future;
use std::mem::needs_drop;
use std::pin::Pin;
use std::task::{Context, Poll};

/// What the output of a future means.
pub(super) trait Outcome<O> {
    /// The type of the promised value.
    type Value: 'static;

    fn result(output: O) -> Result<Self::Value>;
}

/// Any output is the value.
pub(super) enum Plain {}

impl<O: 'static> Outcome<O> for Plain {
    type Value = O;

    #[inline]
    fn result(output: O) -> Result<O> {
        Ok(output)
    }
}

/// The output is a `Result`.
pub(super) enum Fallible {}

impl<T: 'static, E: Into<Error>> Outcome<std::result::Result<T, E>> for Fallible {
    type Value = T;

    #[inline]
    fn result(output: std::result::Result<T, E>) -> Result<T> {
        output.map_err(Into::into)
    }
}

pin_project_lite::pin_project! {
    /// The one allocation of a task.
    #[project = BodyProjection]
    pub(super) enum Body<F: Future, S: Outcome<F::Output>> {
        Running { #[pin] future: F },
        Done { output: Option<Result<S::Value>> },
    }
}

/// A body of any type.
pub(super) trait Task {
    /// Polls; `true` when the output is there.
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> bool;

    /// Drops the future where it stands; the output is this error.
    fn stop(self: Pin<&mut Self>, error: Error);

    /// Moves the output into an `Option<Result<T>>` and frees the rest.
    fn take_output(self: Pin<Box<Self>>, output: &mut dyn Any);

    /// The error, if that is the output.
    fn error(self: Pin<&mut Self>) -> Option<Error>;
}

pub(super) type BoxedTask = Pin<Box<dyn Task>>;

impl<F: Future + 'static, S: Outcome<F::Output> + 'static> Task for Body<F, S> {
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> bool {
        match self.as_mut().advance(cx) {
            Poll::Pending => false,
            Poll::Ready(output) => {
                self.finish(output);
                true
            }
        }
    }

    fn stop(self: Pin<&mut Self>, error: Error) {
        self.finish(Err(error));
    }

    fn take_output(mut self: Pin<Box<Self>>, output: &mut dyn Any) {
        let slot = output.downcast_mut::<Option<Result<S::Value>>>().expect("a task's promise has its type");
        if let BodyProjection::Done { output } = self.as_mut().project() {
            *slot = output.take();
        }
    }

    fn error(self: Pin<&mut Self>) -> Option<Error> {
        match self.project() {
            BodyProjection::Done { output: Some(Err(error)) } => Some(error.clone()),
            _ => None,
        }
    }
}

impl<F: Future, S: Outcome<F::Output>> Body<F, S> {
    /// Moves the future to the heap, once: `Box::pin(Body::Running { .. })` builds it on the stack first.
    #[inline]
    pub(super) fn boxed(future: F) -> Pin<Box<Body<F, S>>> {
        Body::built(|| future)
    }

    /// Builds the future on the heap: the box comes first, so that nothing has to be moved there.
    #[inline]
    pub(super) fn built(build: impl FnOnce() -> F) -> Pin<Box<Body<F, S>>> {
        let place = Box::new_uninit();
        Box::into_pin(Box::write(place, Body::Running { future: build() }))
    }

    /// Polls the future, which must not be done; a panic is an output.
    #[inline(always)]
    pub(super) fn advance(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<S::Value>> {
        let BodyProjection::Running { future } = self.project() else {
            unreachable!("a task that is done is not polled")
        };
        match call(|| future.poll(cx)) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(output)) => Poll::Ready(S::result(output)),
            Err(panic) => Poll::Ready(Err(panic)),
        }
    }

    /// Drops the future and keeps the output. A panic in the future's destructor is reported, not passed on.
    #[inline(always)]
    fn finish(mut self: Pin<&mut Self>, output: Result<S::Value>) {
        if needs_drop::<F>()
            && let Err(error) = call(|| self.set(Body::Done { output: None }))
        {
            report(error, FailureKind::Callback, None);
        }
        self.set(Body::Done { output: Some(output) });
    }
}

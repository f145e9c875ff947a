//! What the behaviours share: a log, results as text.

use lisle_core::{Error, Promise, Shared, State};
use std::cell::RefCell;
use std::fmt::{Debug, Display};
use std::rc::Rc;

/// What ran, in its order.
#[derive(Clone, Default)]
pub(crate) struct Log(Rc<RefCell<Vec<String>>>);

impl Log {
    pub(crate) fn add(&self, line: impl ToString) {
        let line = line.to_string();
        self.0.borrow_mut().push(line);
    }

    /// What ran since the last call, with spaces between.
    pub(crate) fn take(&self) -> String {
        self.0.take().join(" ")
    }

    /// A callback that adds a line, whatever it is given.
    pub(crate) fn adds<T: 'static>(&self, line: &'static str) -> impl FnOnce(T) + use<T> {
        let log = self.clone();
        move |_| log.add(line)
    }

    /// A callback without an argument that adds a line.
    pub(crate) fn says(&self, line: &'static str) -> impl FnOnce() + use<> {
        let log = self.clone();
        move || log.add(line)
    }

    /// A callback that adds what it is given.
    pub(crate) fn shows<T: Display + 'static>(&self) -> impl FnOnce(T) + use<T> {
        let log = self.clone();
        move |shown| log.add(shown)
    }
}

/// An error that is only a word.
pub(crate) fn fail(word: &str) -> Error {
    Error::message(word)
}

/// The result of a promise, which must be settled, as text: `Ok("foo")`, `Err(E)`.
#[track_caller]
pub(crate) fn result<T: Debug>(promise: Promise<T>) -> String {
    match promise.try_take() {
        Ok(result) => format!("{result:?}"),
        Err(_) => panic!("the promise is pending"),
    }
}

/// The state of a promise, as text: `Ok("foo")`, `Err(E)`, `pending`.
pub(crate) fn state<T: Clone + Debug>(promise: &Shared<T>) -> String {
    match promise.state() {
        State::Pending => "pending".to_owned(),
        State::Fulfilled(value) => format!("{:?}", Ok::<_, Error>(value)),
        State::Rejected(error) => format!("{:?}", Err::<T, _>(error)),
    }
}

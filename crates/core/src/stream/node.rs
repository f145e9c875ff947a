//! The linked queue under a stream: elements in order, freed as the slowest reader passes.
//!
//! ```text
//!   reader A ─► [1] ─► [2] ─► [3] ─► ( )          ( ) the tail: empty, filled by the next element
//!                 reader B ──────────►            [end] the tail of a stream that is over; stays the tail
//! ```
//!
//! A node is written once, when an element arrives: it then points at the new tail. It belongs to the node
//! before it and to the readers that stand on it, so a chain that nobody stands before is freed at once.
//! Freeing is a loop: a million buffered elements cost no stack. Whoever leaves a node as the last one takes
//! the element with it ([`Node::into_value`]); the others get clones.
//!
//! Not here: positions (`reader.rs`), and who fills the tail (`queue.rs`).

use crate::promise::run_callback;
use std::cell::OnceCell;
use std::rc::Rc;

/// One place in the queue.
pub(super) struct Node<T> {
    link: OnceCell<Link<T>>,
}

/// What stands in a place that has been filled.
pub(super) enum Link<T> {
    /// An element, and the place after it.
    Value(T, Rc<Node<T>>),
    /// The end of the stream.
    End,
}

impl<T> Node<T> {
    /// An empty place: the tail.
    pub(super) fn tail() -> Rc<Node<T>> {
        Rc::new(Node { link: OnceCell::new() })
    }

    /// A place that holds an element.
    pub(super) fn filled(value: T, next: Rc<Node<T>>) -> Rc<Node<T>> {
        Rc::new(Node { link: OnceCell::from(Link::Value(value, next)) })
    }

    /// What stands here; none at the tail.
    pub(super) fn link(&self) -> Option<&Link<T>> {
        self.link.get()
    }

    /// The element here, if it is one.
    pub(super) fn value(&self) -> Option<&T> {
        match self.link() {
            Some(Link::Value(value, _)) => Some(value),
            Some(Link::End) | None => None,
        }
    }

    /// Fills the tail. Gives the link back if this is no tail any more.
    #[must_use]
    pub(super) fn fill(&self, link: Link<T>) -> Option<Link<T>> {
        self.link.set(link).err()
    }

    /// The element, if nobody else can reach this node; else the node.
    pub(super) fn into_value(self: Rc<Node<T>>) -> Result<Option<T>, Rc<Node<T>>> {
        let mut node = Rc::try_unwrap(self)?;
        Ok(match node.link.take() {
            Some(Link::Value(value, _next)) => Some(value),
            Some(Link::End) | None => None,
        })
    }
}

impl<T> Drop for Node<T> {
    fn drop(&mut self) {
        let mut link = self.link.take();
        while let Some(Link::Value(value, next)) = link {
            // An element's destructor is the user's: it may panic, and the rest must still go.
            run_callback(move || drop(value));
            link = match Rc::try_unwrap(next) {
                Ok(mut node) => node.link.take(),
                Err(_) => None,
            };
        }
    }
}

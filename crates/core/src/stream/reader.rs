//! A reader: a position in the queue, and whose turn it is to read there.
//!
//! ```text
//!   free ──read──► taken ──element there──► look, move on ──► free, or handed to the next in line
//!                    └──at the tail──► ask the source, wait ──► look again
//! ```
//!
//! One read at a time has the *turn* of a reader, from its start until its result: so each element goes to
//! exactly one read, in the order in which the reads began, and a read of many elements gets neighbours. (In
//! Lwt reads that wait together all get the same element.) A read that begins meanwhile stands in line; a
//! cancelled one leaves, from the line or from the front, and takes nothing with it: an element is removed
//! only when its read has its result.
//!
//! Who owns what until when: a [`Turn`] owns the reader, so a read goes on after the stream's handle is
//! dropped, like any promise; the reader leaves the queue when both are gone. The line owns only resolvers.
//!
//! User code (predicates, `Clone`, destructors) runs with the turn taken and nothing borrowed: a read that it
//! starts on the same reader stands in line.

use super::node::{Link, Node};
use super::queue::{Feed, Queue, Wait};
use crate::promise::{call, run_callback};
use crate::{Error, Promise, Resolver, Result, cancelable, ready, rejected};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::marker::PhantomData;
use std::rc::Rc;

/// A position in a queue.
pub(super) struct Reader<T: 'static> {
    pub(super) queue: Rc<Queue<T>>,
    node: RefCell<Rc<Node<T>>>,
    /// How many elements it has passed, counted from the beginning of the stream.
    position: Rc<Cell<u64>>,
    taken: Cell<bool>,
    line: RefCell<VecDeque<Resolver<Turn<T>>>>,
    /// How many in the line were cancelled.
    canceled: Cell<usize>,
}

/// A position to go back to.
pub(super) struct Place<T: 'static> {
    node: Rc<Node<T>>,
    position: u64,
}

/// The right to read from a reader.
pub(super) struct Turn<T: 'static>(Rc<Reader<T>>);

/// What a read makes of what stands at the position.
pub(super) enum Look<T: 'static, R> {
    /// The read is over.
    Done(R),
    /// It has failed.
    Fail(Error),
    /// It wants to see what comes next.
    More,
    /// It has seen all up to this tail, and wants to look again when that is filled.
    Beyond(Rc<Node<T>>),
    /// It wants to look again when this is there.
    Wait(Wait),
}

impl<T: 'static, R> Look<T, R> {
    pub(super) fn of(result: Result<R>) -> Look<T, R> {
        match result {
            Ok(value) => Look::Done(value),
            Err(error) => Look::Fail(error),
        }
    }
}

/// A read under way.
pub(super) trait Read<T: 'static>: 'static {
    type Output: 'static;

    /// Something stands at the position.
    fn look(&mut self, reader: &Reader<T>) -> Look<T, Self::Output>;

    /// The read was cancelled or has failed: what it has gathered goes back.
    fn give_up(self, _reader: &Reader<T>)
    where
        Self: Sized,
    {
    }
}

/// A read that gathers nothing.
struct Single<F, R>(F, PhantomData<R>);

impl<T: 'static, R: 'static, F: FnMut(&Reader<T>) -> Look<T, R> + 'static> Read<T> for Single<F, R> {
    type Output = R;

    fn look(&mut self, reader: &Reader<T>) -> Look<T, R> {
        (self.0)(reader)
    }
}

impl<T: 'static> Reader<T> {
    pub(super) fn first(queue: Rc<Queue<T>>) -> Rc<Reader<T>> {
        let node = queue.tail();
        Reader::at(queue, node, 0)
    }

    fn at(queue: Rc<Queue<T>>, node: Rc<Node<T>>, passed: u64) -> Rc<Reader<T>> {
        queue.enter();
        let position = Rc::new(Cell::new(passed));
        if let Feed::Bounded(bound) = &queue.feed {
            bound.enter(position.clone());
        }
        let node = RefCell::new(node);
        let (taken, line, canceled) = (Cell::new(false), RefCell::default(), Cell::new(0));
        Rc::new(Reader { queue, node, position, taken, line, canceled })
    }

    /// Another reader at the same position.
    pub(super) fn fork(&self) -> Rc<Reader<T>> {
        Reader::at(self.queue.clone(), self.node(), self.position.get())
    }

    /// Where it stands, to go back to. What is taken meanwhile is cloned.
    pub(super) fn place(&self) -> Place<T> {
        Place { node: self.node(), position: self.position.get() }
    }

    /// Goes back to where it stood.
    pub(super) fn go_back(&self, place: Place<T>) {
        self.position.set(place.position);
        let left = self.node.replace(place.node);
        run_callback(move || drop(left));
    }

    /// Puts elements that were taken back before the position.
    pub(super) fn put_back(&self, elements: Vec<T>) {
        let count = elements.len() as u64;
        let mut first = self.node();
        for element in elements.into_iter().rev() {
            first = Node::filled(element, first);
        }
        self.go_back(Place { node: first, position: self.position.get().saturating_sub(count) });
    }

    /// Where it stands.
    pub(super) fn node(&self) -> Rc<Node<T>> {
        self.node.borrow().clone()
    }

    /// Whether an element or the end stands at the position.
    pub(super) fn has_arrival(&self) -> bool {
        self.node.borrow().link().is_some()
    }

    /// Whether the position is known to be the end.
    pub(super) fn is_at_end(&self) -> bool {
        matches!(self.node.borrow().link(), Some(Link::End))
    }

    /// Takes the element at the position; none at the end or the tail.
    pub(super) fn take(&self) -> Option<Result<T>> {
        let left = self.move_on()?;
        let value = self.queue.value_of(left);
        self.tell_passed();
        Some(value)
    }

    /// Leaves the element at the position to others, or drops it. `false` at the end or the tail.
    pub(super) fn skip(&self) -> bool {
        let Some(left) = self.move_on() else { return false };
        run_callback(move || drop(left));
        self.tell_passed();
        true
    }

    /// Leaves the element at the position; the node that holds it.
    fn move_on(&self) -> Option<Rc<Node<T>>> {
        let mut node = self.node.borrow_mut();
        let next = match node.link() {
            Some(Link::Value(_, next)) => next.clone(),
            Some(Link::End) | None => return None,
        };
        self.position.set(self.position.get() + 1);
        Some(std::mem::replace(&mut *node, next))
    }

    /// There may be room now for a push that is blocked.
    fn tell_passed(&self) {
        if let Feed::Bounded(bound) = &self.queue.feed {
            bound.admit(&self.queue);
        }
    }

    /// The turn, if no read has it.
    pub(super) fn try_turn(self: &Rc<Self>) -> Option<Turn<T>> {
        if self.taken.replace(true) {
            return None;
        }
        if let Feed::Bounded(bound) = &self.queue.feed {
            bound.reading(1);
        }
        Some(Turn(self.clone()))
    }

    /// Stands in line for the turn.
    fn line_up(&self) -> Promise<Turn<T>> {
        let (promise, resolver) = cancelable();
        self.line.borrow_mut().push_back(resolver);
        promise
    }

    /// One of the line was cancelled. It is removed when half of the line were: O(1) each, in the mean.
    fn forget_canceled(&self) {
        let mut line = self.line.borrow_mut();
        self.canceled.set(self.canceled.get() + 1);
        if self.canceled.get() * 2 < line.len() {
            return;
        }
        let (waiting, canceled): (Vec<_>, Vec<_>) = line.drain(..).partition(Resolver::is_pending);
        *line = waiting.into();
        self.canceled.set(0);
        drop(line);
        drop(canceled);
    }

    fn next_in_line(&self) -> Option<Resolver<Turn<T>>> {
        let mut line = self.line.borrow_mut();
        let next = line.pop_front();
        if line.is_empty() {
            // A long line is not paid for until the reader goes; a line of one keeps its room.
            line.shrink_to(1);
        }
        next
    }
}

impl<T: 'static> Drop for Reader<T> {
    fn drop(&mut self) {
        let elements = self.node.replace(self.queue.tail());
        if let Feed::Bounded(bound) = &self.queue.feed {
            bound.leave(&self.position);
        }
        // Pushers may learn of it, and one that is blocked have room now.
        run_callback(|| {
            self.queue.leave();
            self.tell_passed();
        });
        // Last, so that a push made by a destructor is refused, if this was the last reader.
        run_callback(move || drop(elements));
    }
}

impl<T: 'static> Drop for Turn<T> {
    fn drop(&mut self) {
        let reader = &self.0;
        if let Feed::Bounded(bound) = &reader.queue.feed {
            bound.reading(-1);
        }
        reader.taken.set(false);
        while let Some(next) = reader.next_in_line() {
            if next.is_pending() {
                if let Some(turn) = reader.try_turn() {
                    next.resolve(turn);
                }
                return;
            }
            reader.canceled.set(reader.canceled.get().saturating_sub(1));
        }
    }
}

/// A read that gathers nothing: looks each time something stands at the position, as often as it wants.
pub(super) fn read<T, R>(
    reader: &Rc<Reader<T>>,
    look: impl FnMut(&Reader<T>) -> Look<T, R> + 'static,
) -> Promise<R>
where
    T: 'static,
    R: 'static,
{
    begin(reader, Single(look, PhantomData))
}

/// Begins a read: now, or when those before it are over.
pub(super) fn begin<T: 'static, K: Read<T>>(reader: &Rc<Reader<T>>, read: K) -> Promise<K::Output> {
    if let Some(turn) = reader.try_turn() {
        return go_on(turn, read);
    }
    let in_line = Rc::downgrade(reader);
    reader.line_up().then(move |turn| match turn {
        Ok(turn) => go_on(turn, read),
        Err(error) => {
            if let Some(reader) = in_line.upgrade() {
                reader.forget_canceled();
            }
            rejected(error)
        }
    })
}

/// A loop where everything is there, a bind where something is waited for.
fn go_on<T: 'static, K: Read<T>>(turn: Turn<T>, mut read: K) -> Promise<K::Output> {
    loop {
        let (promise, leave) = match wait_or_look(&turn.0, &mut read) {
            Look::Done(value) => return ready(value),
            Look::Fail(error) => return fail(&turn, read, error),
            Look::More | Look::Beyond(_) => continue,
            Look::Wait(wait) => wait.part(),
        };
        match promise.try_take() {
            Ok(Ok(())) => {}
            Ok(Err(error)) => return fail(&turn, read, error),
            Err(pending) => {
                return pending.then(move |result| match result {
                    Ok(()) => go_on(turn, read),
                    Err(error) => {
                        leave();
                        fail(&turn, read, error)
                    }
                });
            }
        }
    }
}

/// Looks if something is there; else what has to be waited for.
fn wait_or_look<T: 'static, K: Read<T>>(reader: &Rc<Reader<T>>, read: &mut K) -> Look<T, K::Output> {
    // No node is held while the read looks: who leaves a node as the last one takes its element.
    let tail = if reader.has_arrival() {
        match call(|| read.look(reader)) {
            Ok(Look::Beyond(tail)) => tail,
            Ok(look) => return look,
            Err(panic) => return Look::Fail(panic),
        }
    } else {
        reader.node()
    };
    match reader.queue.demand() {
        Err(error) => Look::Fail(error),
        Ok(()) if tail.link().is_some() => Look::More,
        Ok(()) => Look::Wait(reader.queue.arrival()),
    }
}

fn fail<T: 'static, K: Read<T>>(turn: &Turn<T>, read: K, error: Error) -> Promise<K::Output> {
    read.give_up(&turn.0);
    rejected(error)
}

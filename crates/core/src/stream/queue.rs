//! What the readers and the feeding side of a stream share: the tail, the end, the signal, the source.
//!
//! ```text
//!   Open ──append──► Open ──finish──► Finished ──(readers woken)──► Closed
//!                                      the end stands in the queue    `closed` is fulfilled
//! ```
//!
//! A reader at the tail first asks the source for more ([`Queue::demand`]), then waits ([`Queue::arrival`]):
//! in the list of those whom the next push wakes with the deferring flavour, or for the source's call in
//! flight. Between that push and its callback a wait can still be cancelled.
//!
//! Who owns what until when: pushers and readers own the queue; a call of the source in flight owns it until
//! the call has ended. The queue owns no reader. When the last reader is dropped ([`Queue::leave`]) the
//! source is dropped and its call cancelled, a blocked push is refused, and pushers are told.
//!
//! No user code runs here while anything is borrowed.

use super::StreamError;
use super::bounded::Bound;
use super::node::{Link, Node};
use super::pull::Pull;
use crate::promise::batch::Batch;
use crate::promise::cell::{self, CancelLink, PromiseCell, Work};
use crate::promise::run_callback;
use crate::promise::waiters::{self, Key, Node as Told, Waiter, WaiterList};
use crate::{Error, Promise, Resolver, Result, Shared, pair, ready, sched};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// How one element is cloned for the readers that do not get the original.
pub(super) type CloneFn<T> = fn(&T) -> T;

/// Where elements come from.
pub(super) enum Feed<T: 'static> {
    /// Somebody pushes them.
    Push,
    /// Somebody pushes them, as long as there is room.
    Bounded(Bound<T>),
    /// A function is called for each.
    Pull(Pull<T>),
}

/// The shared part of a stream.
pub(super) struct Queue<T: 'static> {
    tail: RefCell<Rc<Node<T>>>,
    pub(super) feed: Feed<T>,
    waiting: RefCell<WaiterList>,
    is_closed: Cell<bool>,
    closed: Moment,
    readers: Cell<usize>,
    unread: Moment,
    clone: Cell<Option<CloneFn<T>>>,
}

impl<T: 'static> Queue<T> {
    pub(super) fn new(feed: Feed<T>) -> Rc<Queue<T>> {
        Rc::new(Queue {
            tail: RefCell::new(Node::tail()),
            feed,
            waiting: RefCell::default(),
            is_closed: Cell::new(false),
            closed: Moment::default(),
            readers: Cell::new(0),
            unread: Moment::default(),
            clone: Cell::new(None),
        })
    }

    pub(super) fn tail(&self) -> Rc<Node<T>> {
        self.tail.borrow().clone()
    }

    /// Puts an element at the end. It is dropped if the end is there already.
    pub(super) fn append(&self, value: T) {
        let next = Node::tail();
        let refused = {
            let mut tail = self.tail.borrow_mut();
            let refused = tail.fill(Link::Value(value, next.clone()));
            if refused.is_none() {
                // With no reader the filled node goes here, and its element with it: after the borrow.
                Err(std::mem::replace(&mut *tail, next))
            } else {
                Ok(refused)
            }
        };
        drop(refused);
    }

    /// Puts the end into the queue. `false` if it was there.
    pub(super) fn finish(&self) -> bool {
        self.tail.borrow().fill(Link::End).is_none()
    }

    /// Whether the end stands in the queue, told or not.
    pub(super) fn is_finished(&self) -> bool {
        self.tail.borrow().link().is_some()
    }

    /// Wakes the readers that wait, newest first.
    pub(super) fn wake_readers(&self) {
        let mut waiting = self.waiting.take();
        let Some(newest) = waiting.pop() else { return };
        // One is the rule, and as a list would cost the resolution an allocation. Keys that go stale here
        // only leave an entry in place whose promise is settled already.
        let batch = match waiting.pop() {
            None => Batch::one(newest),
            Some(older) => {
                waiting.push(older);
                waiting.push(newest);
                Batch::of(waiting)
            }
        };
        sched::run_or_defer(batch);
    }

    /// Says that the end has been produced.
    pub(super) fn close(&self) {
        self.is_closed.set(true);
        self.closed.reach(Resolver::resolve_now);
    }

    pub(super) fn is_closed(&self) -> bool {
        self.is_closed.get()
    }

    /// Settles when the end has been produced.
    pub(super) fn closed(&self) -> Promise<()> {
        if self.is_closed() { ready(()) } else { self.closed.awaited().promise() }
    }

    /// Asks the source for more, if it is one that is asked. Afterwards something may have arrived.
    pub(super) fn demand(self: &Rc<Self>) -> Result<()> {
        match &self.feed {
            Feed::Push => Ok(()),
            Feed::Bounded(bound) => {
                bound.meet(self);
                Ok(())
            }
            Feed::Pull(pull) => pull.call(self),
        }
    }

    /// Settles when something may have arrived. Cancelling it reaches neither the source nor other readers.
    pub(super) fn arrival(&self) -> Wait {
        if let Feed::Pull(pull) = &self.feed {
            return Wait::for_promise(pull.arrival());
        }
        let cell = PromiseCell::pending(CancelLink::Itself, Arrival);
        let key = self.waiting.borrow_mut().push(Waiter::node(cell.clone(), 0));
        Wait { promise: Promise::of_cell(cell), key: Some(key) }
    }

    pub(super) fn readers(&self) -> usize {
        self.readers.get()
    }

    pub(super) fn enter(&self) {
        self.readers.set(self.readers.get() + 1);
    }

    /// A reader is gone; with the last one goes what feeds the stream.
    pub(super) fn leave(&self) {
        let left = self.readers.get() - 1;
        self.readers.set(left);
        if left > 0 {
            return;
        }
        match &self.feed {
            Feed::Push => {}
            Feed::Bounded(bound) => bound.refuse(StreamError::Unread),
            Feed::Pull(pull) => pull.stop(),
        }
        self.unread.reach(Resolver::resolve);
    }

    /// Settles when the last reader is gone.
    pub(super) fn unread(&self) -> Promise<()> {
        if self.readers() == 0 { ready(()) } else { self.unread.awaited().promise() }
    }

    /// Lets several readers have each element.
    pub(super) fn share(&self, clone: CloneFn<T>) {
        self.clone.set(Some(clone));
    }

    /// The element of a node that a reader has left: moved, or cloned while others may still come by.
    pub(super) fn value_of(&self, node: Rc<Node<T>>) -> Result<T> {
        let node = match node.into_value() {
            Ok(value) => return value.ok_or_else(Error::abandoned),
            Err(node) => node,
        };
        let (Some(value), Some(clone)) = (node.value(), self.clone.get()) else {
            unreachable!("only readers made by cloning share a node");
        };
        crate::promise::call(|| clone(value))
    }
}

impl<T: 'static> Drop for Queue<T> {
    fn drop(&mut self) {
        // Nobody can reach these any more; the promises that are left are told so.
        let moments = [&self.closed, &self.unread].map(|moment| moment.0.take());
        run_callback(move || drop(moments));
    }
}

/// What a read waits for.
pub(super) struct Wait {
    pub(super) promise: Promise<()>,
    /// Where it stands in the list of those who wait.
    key: Option<Key>,
}

impl Wait {
    pub(super) fn for_promise(promise: Promise<()>) -> Wait {
        Wait { promise, key: None }
    }

    /// The promise, and how to leave the list when it was cancelled.
    pub(super) fn part(self) -> (Promise<()>, impl FnOnce()) {
        (self.promise, move || drop(self.key.and_then(waiters::remove)))
    }
}

/// The wait of one reader for a push: its cell is its own waiter in the list.
struct Arrival;

impl<T: 'static> Work<T> for Arrival {}

impl Told for PromiseCell<(), Arrival> {
    fn run(self: Rc<Self>, _index: u32) -> Option<Batch> {
        let cell: Rc<PromiseCell<()>> = self;
        cell::settle(&cell, Ok(()))
    }
}

/// Something that happens once, or once again, for whoever has asked before.
#[derive(Default)]
pub(super) struct Moment(RefCell<Option<(Shared<()>, Resolver<()>)>>);

impl Moment {
    /// The promise of it. It cannot be cancelled.
    pub(super) fn awaited(&self) -> Shared<()> {
        let mut slot = self.0.borrow_mut();
        let (promise, _) = slot.get_or_insert_with(|| {
            let (promise, resolver) = pair();
            (promise.shared(), resolver)
        });
        promise.clone()
    }

    /// Tells those who asked.
    pub(super) fn reach(&self, resolve: fn(Resolver<()>, ())) {
        let asked = self.0.take();
        if let Some((_promise, resolver)) = asked {
            resolve(resolver, ());
        }
    }
}

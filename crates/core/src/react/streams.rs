//! Events that become streams, and streams that become events.
//!
//! Elements are pushed when the step of their occurrence is over. The stream's end keeps the listening
//! vertex: it waits for the last reader to go, and drops the vertex then.

use super::event::Event;
use super::source::produced;
use crate::stream::{self, Stream};

impl<A: Clone + 'static> Event<A> {
    /// A stream of all occurrences from now on.
    ///
    /// It is not bounded: what is not read is kept, so put [`Event::limit`] before it where
    /// occurrences may come faster than they are read. It has no end, and it keeps the event at
    /// work until its last reader is dropped.
    ///
    /// ```
    /// let (event, sender) = lisle_core::react::event();
    /// let stream = event.to_stream();
    /// sender.send(1);
    /// sender.send(2);
    /// assert_eq!(stream.nget(2).try_take().unwrap().unwrap(), [1, 2]);
    /// ```
    pub fn to_stream(&self) -> Stream<A> {
        let (stream, pusher) = stream::create();
        let unread = pusher.unread();
        // A push is refused only when there is no reader, and then nobody wants the element.
        let listener = self.effect(move |value| drop(pusher.push(A::clone(&value))));
        unread.on_success(move |()| drop(listener));
        stream
    }
}

impl<A: 'static> Event<A> {
    /// Occurs with each element of the stream: begun after one pause, then as soon as an element is there.
    ///
    /// An error of the stream's source ends it and goes to [`crate::hook`]. Dropping the event cancels the
    /// read under way, which takes nothing, and drops this reader of the stream. If elements are always
    /// there, a pause now and then lets others have their turn.
    ///
    /// ```
    /// use lisle_core::{react::Event, stream, wake_paused};
    /// let total = Event::of_stream(stream::of_list([1, 2, 3])).fold(0, |sum, n| sum + n).hold(0);
    /// wake_paused();
    /// assert_eq!(total.value(), 6);
    /// ```
    pub fn of_stream(stream: Stream<A>) -> Event<A> {
        produced(Box::new(move || stream.get()))
    }
}

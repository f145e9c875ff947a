//! Reading: what a stream's handle can do with the elements as they come.
//!
//! A read begins when it is called, whether or not its promise is looked at, and takes its turn
//! after the reads that began before it (`reader.rs`). One that is cancelled or fails removes
//! nothing: a read of many elements then puts back what it has gathered. What goes through the whole
//! stream with a callback is in `through.rs`.

use super::node::{Link, Node};
use super::queue::Wait;
use super::reader::{Look, Read, Reader, begin, read};
use super::{Stream, StreamError};
use crate::{Error, IntoPromise, Promise, Result, ready};
use std::cell::Cell;
use std::mem;
use std::rc::Rc;

impl<T: 'static> Stream<T> {
    /// Takes the next element; `None` at the end, every time.
    ///
    /// Cancelling it loses no element: what arrives goes to the next read.
    ///
    /// ```
    /// let numbers = lisle_core::stream::of_list([1]);
    /// assert_eq!(numbers.get().try_take().unwrap()?, Some(1));
    /// assert_eq!(numbers.get().try_take().unwrap()?, None);
    /// # Ok::<(), lisle_core::Error>(())
    /// ```
    #[doc(alias = "recv")]
    pub fn get(&self) -> Promise<Option<T>> {
        read(&self.reader, |reader| Look::of(reader.take().transpose()))
    }

    /// Takes the next element. Unlike an iterator's `next` it takes the end for an error; where it is to be
    /// expected, [`Stream::get`] tells it by `None`. Cancelling it loses no element.
    ///
    /// # Errors
    /// [`StreamError::Empty`] at the end; that of the source; `Canceled`.
    pub fn next(&self) -> Promise<T> {
        read(&self.reader, |reader| Look::of(reader.take().unwrap_or_else(|| Err(empty()))))
    }

    /// A clone of the next element, which stays in the stream; `None` at the end.
    pub fn peek(&self) -> Promise<Option<T>>
    where
        T: Clone,
    {
        read(&self.reader, |reader| Look::Done(reader.node().value().cloned()))
    }

    /// Clones of the next `n` elements, which stay in the stream; fewer at the end.
    pub fn npeek(&self, n: usize) -> Promise<Vec<T>>
    where
        T: Clone,
    {
        if n == 0 {
            return ready(Vec::new());
        }
        let mut list = Vec::new();
        let mut ahead: Option<Rc<Node<T>>> = None;
        read(&self.reader, move |reader| {
            let mut node = ahead.take().unwrap_or_else(|| reader.node());
            while list.len() < n
                && let Some(Link::Value(value, next)) = node.link()
            {
                list.push(value.clone());
                let next = next.clone();
                node = next;
            }
            if list.len() == n || node.link().is_some() {
                return Look::Done(mem::take(&mut list));
            }
            ahead = Some(node.clone());
            Look::Beyond(node)
        })
    }

    /// Takes the next `n` elements; fewer at the end. They are neighbours, whoever else reads.
    /// Cancelled, it puts back what it has.
    pub fn nget(&self, n: usize) -> Promise<Vec<T>> {
        self.gather(Some(n), |_| ready(true))
    }

    /// Takes elements as long as `f` holds; the first for which it does not stays.
    /// Cancelled, it puts back what it has.
    ///
    /// ```
    /// let numbers = lisle_core::stream::of_list(1..=5);
    /// assert_eq!(numbers.get_while(|n| *n < 3).try_take().unwrap()?, [1, 2]);
    /// assert_eq!(numbers.get().try_take().unwrap()?, Some(3));
    /// # Ok::<(), lisle_core::Error>(())
    /// ```
    #[doc(alias = "take_while")]
    pub fn get_while(&self, mut f: impl FnMut(&T) -> bool + 'static) -> Promise<Vec<T>> {
        self.gather(None, move |value| ready(f(value)))
    }

    /// As [`Stream::get_while`], with a function that promises or may fail; if it fails, all stays in the
    /// stream. Other reads wait meanwhile.
    pub fn get_while_s<P>(&self, f: impl FnMut(&T) -> P + 'static) -> Promise<Vec<T>>
    where
        P: IntoPromise<Value = bool>,
    {
        self.gather(None, f)
    }

    /// Takes all elements up to the end. Cancelled, it puts back what it has.
    #[doc(alias = "collect")]
    pub fn to_list(&self) -> Promise<Vec<T>> {
        self.gather(None, |_| ready(true))
    }

    fn gather<P>(&self, room: Option<usize>, wanted: impl FnMut(&T) -> P + 'static) -> Promise<Vec<T>>
    where
        P: IntoPromise<Value = bool>,
    {
        if room == Some(0) {
            return ready(Vec::new());
        }
        begin(&self.reader, Gather { list: Vec::new(), room, wanted, asked: Asked::default() })
    }

    /// Drops the next element; does nothing at the end.
    pub fn junk(&self) -> Promise<()> {
        self.njunk(1)
    }

    /// Drops the next `n` elements; fewer at the end.
    #[doc(alias = "skip")]
    pub fn njunk(&self, n: usize) -> Promise<()> {
        let mut left = n;
        if left == 0 {
            return ready(());
        }
        read(&self.reader, move |reader| {
            left -= 1;
            if reader.skip() && left > 0 { Look::More } else { Look::Done(()) }
        })
    }

    /// Drops elements as long as `f` holds; the first for which it does not stays.
    #[doc(alias = "skip_while")]
    pub fn junk_while(&self, mut f: impl FnMut(&T) -> bool + 'static) -> Promise<()> {
        self.junk_while_s(move |value| ready(f(value)))
    }

    /// As [`Stream::junk_while`], with a function that promises or may fail. Other reads wait meanwhile.
    pub fn junk_while_s<P>(&self, mut f: impl FnMut(&T) -> P + 'static) -> Promise<()>
    where
        P: IntoPromise<Value = bool>,
    {
        let mut asked = Asked::default();
        read(&self.reader, move |reader| match asked.ask(reader, &mut f) {
            Answer::Yes => {
                reader.skip();
                Look::More
            }
            Answer::No => Look::Done(()),
            Answer::Later(promise) => Look::Wait(Wait::for_promise(promise)),
            Answer::Failed(error) => Look::Fail(error),
        })
    }

    /// Takes the newest element that can be had without waiting, and drops those before it; if there is none,
    /// waits for one.
    ///
    /// # Errors
    /// [`StreamError::Empty`] at the end; that of the source, and the newest element stays; `Canceled`.
    pub fn last_new(&self) -> Promise<T> {
        read(&self.reader, |reader| {
            let mut newest = match reader.take() {
                Some(Ok(value)) => value,
                Some(Err(error)) => return Look::Fail(error),
                None => return Look::Fail(empty()),
            };
            loop {
                match is_there(reader).and_then(|_| reader.take().transpose()) {
                    Ok(Some(value)) => newest = value,
                    Ok(None) => break,
                    Err(error) => {
                        reader.put_back(vec![newest]);
                        return Look::Fail(error);
                    }
                }
            }
            Look::Done(newest)
        })
    }

    /// Takes all elements that can be had without waiting; none if another read waits. A source is
    /// called as long as it answers at once.
    ///
    /// # Errors
    /// That of the source; what was there stays in the stream.
    #[doc(alias = "try_recv")]
    pub fn get_available(&self) -> Result<Vec<T>> {
        self.get_available_up_to(usize::MAX)
    }

    /// As [`Stream::get_available`], but at most `n` elements.
    ///
    /// # Errors
    /// That of the source; what was there stays in the stream.
    pub fn get_available_up_to(&self, n: usize) -> Result<Vec<T>> {
        let mut list = Vec::new();
        let Some(_turn) = self.reader.try_turn() else { return Ok(list) };
        while list.len() < n {
            let value = match is_there(&self.reader) {
                Ok(true) => self.reader.take().transpose(),
                Ok(false) => Ok(None),
                Err(error) => Err(error),
            };
            match value {
                Ok(Some(value)) => list.push(value),
                Ok(None) => break,
                Err(error) => {
                    self.reader.put_back(list);
                    return Err(error);
                }
            }
        }
        Ok(list)
    }

    /// Drops all elements that can be had without waiting.
    ///
    /// # Errors
    /// That of the source.
    #[doc(alias = "junk_old")]
    pub fn junk_available(&self) -> Result<()> {
        let Some(_turn) = self.reader.try_turn() else { return Ok(()) };
        while is_there(&self.reader)? && self.reader.skip() {}
        Ok(())
    }

    /// Whether nothing is left; waits until that is known. Takes nothing.
    pub fn is_empty(&self) -> Promise<bool> {
        read(&self.reader, |reader| Look::Done(reader.is_at_end()))
    }

    /// Runs a parser on this stream; if it is rejected, the elements it has read are put back.
    ///
    /// What it reads is cloned meanwhile. On a bounded stream what is put back
    /// counts again, also beyond the size.
    ///
    /// ```
    /// use lisle_core::{stream, Error};
    /// let letters = stream::of_list("ab".chars());
    /// let failed = letters.parse(|s| s.next().bind(|_| Err::<(), _>(Error::message("no digit"))));
    /// assert!(failed.try_take().unwrap().is_err());
    /// assert_eq!(letters.next().try_take().unwrap()?, 'a');
    /// # Ok::<(), Error>(())
    /// ```
    pub fn parse<P: IntoPromise>(&self, parser: impl FnOnce(Stream<T>) -> P) -> Promise<P::Value>
    where
        T: Clone,
    {
        self.reader.queue.share(T::clone);
        let start = self.reader.place();
        let reader = self.reader.clone();
        let stream = self.same_reader();
        let parsed = crate::promise::call(|| parser(stream).into_promise());
        parsed.unwrap_or_else(crate::rejected).catch(move |error| {
            reader.go_back(start);
            crate::rejected(error)
        })
    }
}

impl Stream<char> {
    /// All characters up to the end, as one text.
    #[doc(alias = "to_string")]
    pub fn to_text(&self) -> Promise<String> {
        self.to_list().map(|letters| letters.into_iter().collect())
    }
}

fn empty() -> Error {
    Error::new(StreamError::Empty)
}

/// Whether something stands at the position, or does after the source was asked.
fn is_there<T: 'static>(reader: &Reader<T>) -> Result<bool> {
    if !reader.has_arrival() {
        reader.queue.demand()?;
    }
    Ok(reader.has_arrival())
}

/// A read that takes elements as long as it wants them.
struct Gather<T, W> {
    list: Vec<T>,
    /// How many it takes at most.
    room: Option<usize>,
    wanted: W,
    asked: Asked,
}

impl<T: 'static, P: IntoPromise<Value = bool>, W: FnMut(&T) -> P + 'static> Read<T> for Gather<T, W> {
    type Output = Vec<T>;

    fn look(&mut self, reader: &Reader<T>) -> Look<T, Vec<T>> {
        match self.asked.ask(reader, &mut self.wanted) {
            Answer::Yes => {}
            Answer::No => return Look::Done(mem::take(&mut self.list)),
            Answer::Later(promise) => return Look::Wait(Wait::for_promise(promise)),
            Answer::Failed(error) => return Look::Fail(error),
        }
        match reader.take() {
            Some(Ok(value)) => self.list.push(value),
            Some(Err(error)) => return Look::Fail(error),
            None => {}
        }
        match self.room {
            Some(room) if self.list.len() >= room => Look::Done(mem::take(&mut self.list)),
            _ => Look::More,
        }
    }

    fn give_up(self, reader: &Reader<T>) {
        reader.put_back(self.list);
    }
}

/// What a predicate says of the element at the position.
enum Answer {
    Yes,
    /// Or there is no element.
    No,
    Later(Promise<()>),
    Failed(Error),
}

/// Where the answer of a predicate is put that takes its time.
#[derive(Default)]
struct Asked(Rc<Cell<Option<bool>>>);

impl Asked {
    fn ask<T, P>(&mut self, reader: &Reader<T>, predicate: &mut impl FnMut(&T) -> P) -> Answer
    where
        T: 'static,
        P: IntoPromise<Value = bool>,
    {
        let node = reader.node();
        let Some(value) = node.value() else { return Answer::No };
        let answer = match self.0.take() {
            Some(answer) => answer,
            None => match predicate(value).into_promise().try_take() {
                Ok(Ok(answer)) => answer,
                Ok(Err(error)) => return Answer::Failed(error),
                Err(pending) => {
                    let kept = self.0.clone();
                    return Answer::Later(pending.map(move |answer| kept.set(Some(answer))));
                }
            },
        };
        if answer { Answer::Yes } else { Answer::No }
    }
}

//! Streams and `futures_core::Stream`, both ways.

mod rig;

use futures_core::Stream as _;
use lisle_core::sched::tasks::task_count;
use lisle_core::stream::{create, from, of_futures, of_list};
use lisle_core::{ready, rejected, spawn};
use rig::*;
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// A foreign stream: gives what is put in, and `Pending` otherwise; counts its polls.
#[derive(Clone, Default)]
struct Basket {
    items: Rc<RefCell<Vec<Option<u32>>>>,
    waker: Rc<RefCell<Option<Waker>>>,
    polls: Rc<Cell<u32>>,
}

impl Basket {
    fn put(&self, item: Option<u32>) {
        self.items.borrow_mut().push(item);
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

impl futures_core::Stream for Basket {
    type Item = u32;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<u32>> {
        self.polls.set(self.polls.get() + 1);
        let is_empty = self.items.borrow().is_empty();
        let item = (!is_empty).then(|| self.items.borrow_mut().remove(0));
        match item {
            Some(item) => Poll::Ready(item),
            None => {
                self.waker.replace(Some(cx.waker().clone()));
                Poll::Pending
            }
        }
    }
}

#[test]
fn ours_is_polled_by_a_foreign_executor() {
    let (stream, pusher) = create();
    let mut futures = stream.into_futures();
    let (count, waker) = Count::waker();
    let mut cx = Context::from_waker(&waker);
    assert!(Pin::new(&mut futures).poll_next(&mut cx).is_pending());
    pusher.push(1).unwrap();
    assert_eq!(count.get(), 1);
    assert!(matches!(Pin::new(&mut futures).poll_next(&mut cx), Poll::Ready(Some(Ok(1)))));
    drop(pusher);
    for _ in 0..2 {
        assert!(matches!(Pin::new(&mut futures).poll_next(&mut cx), Poll::Ready(None)));
    }
}

#[test]
fn errors_are_items_and_end_nothing() {
    let mut calls = 0;
    let stream = from(move || {
        calls += 1;
        if calls == 1 { rejected(fail("first")) } else { ready((calls < 3).then_some(calls)) }
    });
    let mut futures = stream.into_futures();
    let mut cx = Context::from_waker(Waker::noop());
    let mut next = move || match Pin::new(&mut futures).poll_next(&mut cx) {
        Poll::Ready(item) => item.map(|result| result.map_err(|error| error.to_string())),
        Poll::Pending => panic!("all is there"),
    };
    assert_eq!([next(), next(), next()], [Some(Err("first".to_owned())), Some(Ok(2)), None]);
}

#[test]
fn a_poll_that_is_given_up_loses_nothing_and_a_drop_cancels_the_read() {
    let (stream, pusher) = create();
    let handle = stream.same_reader();
    let mut futures = stream.into_futures();
    let mut cx = Context::from_waker(Waker::noop());
    assert!(Pin::new(&mut futures).poll_next(&mut cx).is_pending());
    pusher.push(1).unwrap();
    assert!(matches!(Pin::new(&mut futures).poll_next(&mut cx), Poll::Ready(Some(Ok(1)))));
    assert!(Pin::new(&mut futures).poll_next(&mut cx).is_pending());
    drop(futures);
    pusher.push(2).unwrap();
    assert_eq!(value(handle.get()), Some(2));
}

#[test]
fn ours_is_awaited_in_a_task() {
    let mut futures = of_list([1, 2, 3]).into_futures();
    let sum = spawn(async move {
        let mut sum = 0;
        while let Some(Ok(n)) = poll_fn(|cx| Pin::new(&mut futures).poll_next(cx)).await {
            sum += n;
        }
        sum
    });
    run();
    assert_eq!(value(sum), 6);
}

#[test]
fn a_foreign_stream_is_polled_only_when_a_reader_wants_an_item() {
    let basket = Basket::default();
    let stream = of_futures(basket.clone());
    assert_eq!(basket.polls.get(), 0);
    basket.put(Some(1));
    assert_eq!(value(stream.get()), Some(1));
    let second = stream.get();
    assert!(second.is_pending());
    assert_eq!(basket.polls.get(), 2);
    basket.put(Some(2));
    run();
    assert_eq!(value(second), Some(2));
    basket.put(None);
    assert_eq!(value(stream.to_list()), [0; 0]);
    assert!(stream.is_closed());
    assert_eq!(basket.polls.get(), 4, "not polled after its end");
}

#[test]
fn a_foreign_stream_goes_with_the_last_reader() {
    let basket = Basket::default();
    let stream = of_futures(basket.clone());
    let read = stream.get();
    assert_eq!((Rc::strong_count(&basket.polls), task_count()), (2, 1));
    read.cancel();
    assert_eq!(task_count(), 1, "a cancelled read leaves the poll alone");
    drop(stream);
    run();
    assert_eq!((Rc::strong_count(&basket.polls), task_count()), (1, 0));
}

#[test]
fn a_foreign_stream_that_panics_rejects_the_read() {
    struct Broken;
    impl futures_core::Stream for Broken {
        type Item = u32;

        fn poll_next(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<Option<u32>> {
            panic!("broken")
        }
    }
    let stream = of_futures(Broken);
    assert_eq!(error(stream.get()).panic_message(), Some("broken"));
    assert_eq!(value(stream.get()), None, "it is gone");
}

//! Rows SEQUENCE-…: what is left of Lwt's sequences, the list of those who wait for a promise. It is internal
//! (users have `VecDeque`), so it is watched through a shared promise whose waiters leave while it is walked.

use lisle_core::{Promise, Resolver, choose, live_waiters, pair};
use std::cell::RefCell;
use std::rc::Rc;

/// The numbers 1 to 6, each waiting for one shared promise until it is removed.
#[derive(Default)]
struct Walk {
    /// Settling one takes its number out of the list, wherever the walk is.
    exits: Vec<Option<Resolver<()>>>,
    visited: Vec<u32>,
}

/// Walks over the numbers in the order in which they are visited; `visit` removes what it likes.
fn walk(order: [u32; 6], visit: fn(&mut Walk, u32) -> Vec<Resolver<()>>) -> Vec<u32> {
    let (promise, resolver) = pair::<()>();
    let shared = promise.shared();
    let state = Rc::new(RefCell::new(Walk { exits: (0..6).map(|_| None).collect(), visited: vec![] }));
    let before = live_waiters();
    // The newest waiter is told first.
    let waiters: Vec<Promise<()>> = order
        .into_iter()
        .rev()
        .map(|number| {
            let (left, exit) = pair();
            state.borrow_mut().exits[number as usize - 1] = Some(exit);
            let state = state.clone();
            // A race has one waiter on the shared promise, and takes it back when it has left by the exit.
            choose([shared.promise(), left]).map(move |()| {
                let is_there = state.borrow().exits[number as usize - 1].is_some();
                if is_there {
                    let removed = visit(&mut state.borrow_mut(), number);
                    removed.into_iter().for_each(|exit| exit.resolve_now(()));
                }
            })
        })
        .collect();
    assert!(live_waiters() >= before + 6, "all stand in the list");
    resolver.resolve(());
    assert!(waiters.iter().all(|waiter| !waiter.is_pending()), "the walk came to its end");
    state.take().visited
}

impl Walk {
    fn remove(&mut self, numbers: &[u32]) -> Vec<Resolver<()>> {
        numbers.iter().filter_map(|&number| self.exits[number as usize - 1].take()).collect()
    }
}

const FROM_LEFT: [u32; 6] = [1, 2, 3, 4, 5, 6];
const FROM_RIGHT: [u32; 6] = [6, 5, 4, 3, 2, 1];

/// SEQUENCE-05: each one removes itself while it is visited, and all are visited, in either direction.
#[test]
fn sequence_05_the_current_one_may_be_removed() {
    for order in [FROM_LEFT, FROM_RIGHT] {
        let visited = walk(order, |walk, number| {
            walk.visited.push(number);
            walk.remove(&[number])
        });
        assert_eq!(visited, order);
    }
    assert_eq!(live_waiters(), 0);
}

/// SEQUENCE-10: what is removed ahead of the walk is skipped, and nothing else: not the current one, not one
/// that was visited already.
#[test]
fn sequence_10_others_may_be_removed_during_a_walk() {
    let from_right = walk(FROM_RIGHT, |walk, number| {
        walk.visited.push(number);
        if number == 3 { walk.remove(&[4, 3, 2]) } else { vec![] }
    });
    assert_eq!(from_right, [6, 5, 4, 3, 1]);
    assert_eq!(from_right.iter().product::<u32>(), 360);
    let from_left = walk(FROM_LEFT, |walk, number| {
        walk.visited.push(number);
        if number == 4 { walk.remove(&[3, 4, 5]) } else { vec![] }
    });
    assert_eq!(from_left, [1, 2, 3, 4, 6]);
    assert_eq!(from_left.iter().product::<u32>(), 144);
    // A search that ends at its first find still comes to the last one, on either side.
    for (order, last) in [(FROM_RIGHT, 1), (FROM_LEFT, 6)] {
        let visited = walk(order, |walk, number| {
            walk.visited.push(number);
            if number == 3 { walk.remove(&[2, 3, 4]) } else { vec![] }
        });
        assert_eq!(visited.last(), Some(&last));
    }
    assert_eq!(live_waiters(), 0);
}

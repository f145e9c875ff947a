//! Lwt_pool.

use crate::rig::{error, fail, value};
use lisle_core::sync::{Pool, Pooled};
use lisle_core::{Error, Promise, Resolver, Result, pair, ready, rejected};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// A factory of zeros.
fn zero() -> Result<u32> {
    Ok(0)
}

/// A body that sets the element and completes with what it was.
fn set(to: u32) -> impl FnOnce(Pooled<u32>) -> Promise<u32> {
    move |mut element| ready(std::mem::replace(&mut *element, to))
}

/// A body that sets the element and fails.
fn set_and_fail(to: u32) -> impl FnOnce(Pooled<u32>) -> Promise<u32> {
    move |mut element| {
        *element = to;
        rejected(fail("body"))
    }
}

/// A use that sets the element, and lasts until it is told to end.
fn held(pool: &Pool<u32>, to: u32) -> (Promise<u32>, Resolver<u32>) {
    let (lasts, end) = pair();
    let used = pool.use_with(move |mut element| {
        *element = to;
        drop(element);
        lasts
    });
    (used, end)
}

/// POOL-01: a use with an immediate factory completes at once with the user's value.
#[test]
fn pool_01_a_use_completes_at_once() {
    let pool = Pool::new(1, zero);
    assert_eq!(value(pool.use_with(|element| ready(*element + 7))), 7);
}

/// POOL-02: the error of the factory is that of the use.
#[test]
fn pool_02_the_error_of_the_factory_is_told() {
    let pool: Pool<u32> = Pool::new(1, || rejected(fail("factory")));
    assert_eq!(error(pool.use_with(|_| ready(()))).to_string(), "factory");
}

/// POOL-03: two successive uses get the same element.
#[test]
fn pool_03_an_element_is_used_again() {
    let pool = Pool::new(1, zero);
    value(pool.use_with(set(1)));
    assert_eq!(value(pool.use_with(set(2))), 1);
}

/// POOL-04: an element that validation refuses is replaced by a new one.
#[test]
fn pool_04_an_invalid_element_is_replaced() {
    let pool = Pool::builder(1, zero).validate(|element| Ok::<_, Error>(*element == 0)).build();
    value(pool.use_with(set(1)));
    assert_eq!(value(pool.use_with(set(2))), 0);
}

/// POOL-05: an error of validation is told to the waiting user, not to the one whose element it was.
#[test]
fn pool_05_an_error_of_validation_is_told_to_the_next_user() {
    let pool = Pool::builder(1, zero).validate(valid_if_zero).build();
    let (first, end) = held(&pool, 1);
    let second = pool.use_with(set(2));
    end.resolve(5);
    assert_eq!(value(first), 5);
    assert_eq!(error(second).to_string(), "validation");
}

fn valid_if_zero(element: Pooled<u32>) -> Result<bool> {
    if *element == 0 { Ok(true) } else { Err(fail("validation")) }
}

/// POOL-06: a pool of two with one element in use makes a second one.
#[test]
fn pool_06_a_second_element_is_made_for_a_second_user() {
    let pool = Pool::new(2, zero);
    let (first, end) = held(&pool, 1);
    assert_eq!(value(pool.use_with(set(2))), 0);
    assert_eq!(pool.count(), 2);
    end.resolve(0);
    value(first);
}

/// POOL-07: a pool of one with its element in use makes the second user wait.
#[test]
fn pool_07_the_second_user_of_one_element_waits() {
    let pool = Pool::new(1, zero);
    let (first, end) = held(&pool, 1);
    let second = pool.use_with(set(2));
    assert!(second.is_pending());
    assert_eq!(pool.wait_queue_length(), 1);
    end.resolve(0);
    value(first);
    assert_eq!(value(second), 1);
}

/// POOL-08: after a failed use the check accepts the element, which is kept.
#[test]
fn pool_08_a_check_may_keep_the_element_of_a_failed_use() {
    let pool = Pool::builder(1, zero).check(|element| *element > 0).build();
    assert_eq!(error(pool.use_with(set_and_fail(2))).to_string(), "body");
    assert_eq!(value(pool.use_with(set(3))), 2);
}

/// POOL-09: after a failed use the check refuses the element, which is disposed of; the next user gets a
/// new one.
#[test]
fn pool_09_a_check_may_refuse_the_element_of_a_failed_use() {
    let (made, disposed) = (Cell::new(0), Rc::new(Cell::new(0)));
    let gone = disposed.clone();
    let count = move || Ok::<u32, Error>(made.replace(made.get() + 1) + 1);
    let pool = Pool::builder(1, count)
        .check(|_| false)
        .dispose(move |element| {
            gone.set(element);
            ready(())
        })
        .build();
    error(pool.use_with(set_and_fail(9)));
    assert_eq!(disposed.get(), 9);
    assert_eq!(value(pool.use_with(|element| ready(*element))), 2);
}

fn count_up(count: &Cell<u32>) -> Promise<()> {
    count.set(count.get() + 1);
    ready(())
}

/// POOL-10: `clear` disposes of the idle element at once, and of the one in use when it is given back.
#[test]
fn pool_10_clear_disposes_of_idle_and_busy_elements() {
    let disposed = Rc::new(Cell::new(0));
    let gone = disposed.clone();
    let pool = Pool::builder(2, zero).dispose(move |_| count_up(&gone)).build();
    let (busy, end) = held(&pool, 1);
    value(pool.use_with(set(2)));
    value(pool.clear());
    assert_eq!(disposed.get(), 1);
    end.resolve(0);
    value(busy);
    assert_eq!((disposed.get(), pool.count()), (2, 0));
}

/// POOL-11: where the element fails validation, the first waiter gets the error and the next one a
/// replacement.
#[test]
fn pool_11_the_waiter_after_a_failed_validation_gets_a_replacement() {
    let pool = Pool::builder(1, zero).validate(valid_if_zero).build();
    let (first, end) = held(&pool, 1);
    let (second, third) = (pool.use_with(set(2)), pool.use_with(set(3)));
    end.resolve(0);
    value(first);
    assert_eq!(error(second).to_string(), "validation");
    assert_eq!(value(third), 0);
}

/// POOL-12: where the replacement cannot be made, the next waiter gets the error of the factory.
#[test]
fn pool_12_the_waiter_after_a_failed_validation_gets_the_error_of_the_replacement() {
    let made = Cell::new(0);
    let once = move || if made.replace(1) == 0 { Ok(0) } else { Err(fail("factory")) };
    let pool = Pool::builder(1, once).validate(valid_if_zero).build();
    let (first, end) = held(&pool, 1);
    let (second, third) = (pool.use_with(set(2)), pool.use_with(set(3)));
    end.resolve(0);
    value(first);
    assert_eq!(error(second).to_string(), "validation");
    assert_eq!(error(third).to_string(), "factory");
    assert_eq!(pool.count(), 0);
}

/// POOL-13: validation and check together keep the element of a failing user.
#[test]
fn pool_13_validation_and_check_together() {
    let pool = Pool::builder(1, zero)
        .validate(|element| Ok::<_, Error>(*element > 0))
        .check(|element| *element > 1)
        .build();
    value(pool.use_with(set(1)));
    error(pool.use_with(set_and_fail(2)));
    assert_eq!(value(pool.use_with(set(3))), 2);
}

/// POOL-14: without a check the element of a failed use is kept.
#[test]
fn pool_14_the_element_of_a_failed_use_is_kept_by_default() {
    let pool = Pool::new(1, zero);
    error(pool.use_with(set_and_fail(1)));
    assert_eq!(value(pool.use_with(set(2))), 1);
}

/// X-POOL-01: when the element of a failed use is disposed of, a replacement is made for the waiter at once.
#[test]
fn x_pool_01_a_waiter_is_served_when_an_element_is_disposed_of() {
    let pool = Pool::builder(1, zero).check(|_| false).build();
    let (first, end) = held(&pool, 1);
    let second = pool.use_with(set(2));
    end.reject(fail("body"));
    error(first);
    assert_eq!(value(second), 0);
}

/// X-POOL-02: a replacement counts, so that the pool keeps its limit.
#[test]
fn x_pool_02_a_replacement_counts() {
    let (alive, most) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
    let (born, gone, peak) = (alive.clone(), alive.clone(), most.clone());
    let factory = move || {
        born.set(born.get() + 1);
        peak.set(peak.get().max(born.get()));
        zero()
    };
    let pool = Pool::builder(1, factory)
        .validate(valid_if_zero)
        .dispose(move |_| {
            gone.set(gone.get() - 1);
            ready(())
        })
        .build();
    let (first, end) = held(&pool, 1);
    let second = pool.use_with(set(2));
    let (third, end_third) = held(&pool, 0);
    end.resolve(0);
    value(first);
    error(second);
    assert!(third.is_pending());
    let fourth = pool.use_with(set(4));
    assert!(fourth.is_pending(), "the replacement is the only element");
    end_third.resolve(0);
    value(third);
    assert_eq!(value(fourth), 0);
    assert_eq!((alive.get(), most.get(), pool.count()), (1, 1, 1));
}

/// X-POOL-03: idle elements are used again in the order in which they were given back.
#[test]
fn x_pool_03_idle_elements_are_reused_in_order() {
    let pool = Pool::new(3, zero);
    let uses: Vec<_> = (1..4).map(|to| held(&pool, to)).collect();
    let (promises, mut ends): (Vec<_>, Vec<_>) = uses.into_iter().unzip();
    for index in [1, 1, 0] {
        ends.remove(index).resolve(0);
    }
    promises.into_iter().for_each(|promise| assert_eq!(value(promise), 0));
    let order = Rc::new(RefCell::new(Vec::new()));
    let guards: Vec<_> = (0..3).map(|_| value(pool.acquire())).collect();
    guards.iter().for_each(|element| order.borrow_mut().push(**element));
    assert_eq!(*order.borrow(), [2, 3, 1]);
}

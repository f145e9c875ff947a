//! Rows PPX-…: what Lwt's syntax extension gives to binds, `async` gives to Rust.

use lisle::time::sleep;
use lisle::{Error, Promise, both, pause, ready, rejected, try_spawn};
use std::cell::RefCell;
use std::future::Future;
use std::rc::Rc;
use std::time::Duration;

fn run<T: 'static>(program: impl Future<Output = Result<T, Error>> + 'static) -> T {
    lisle::run(program).expect("no error")
}

/// PPX-01: single, nested and parallel bindings.
#[test]
fn ppx_01_bindings() {
    assert_eq!(run(async { Ok(ready(3).await? + 1) }), 4);
    let nested = async {
        let a = async { Ok::<_, Error>(ready(3).await? + ready(0).await?) }.await?;
        Ok(a + ready(4).await?)
    };
    assert_eq!(run(nested), 7);
    let parallel = async {
        let (a, b) = both(pause().map(|()| 3), pause().map(|()| 4)).await?;
        Ok(a + b)
    };
    assert_eq!(run(parallel), 7);
}

async fn matched(promise: Promise<Option<u32>>) -> String {
    match promise.await {
        Ok(Some(n)) => format!("some {n}"),
        Ok(None) => "none".to_owned(),
        Err(error) => format!("error {error}"),
    }
}

/// PPX-02: a match on what was promised; the branch for errors is taken for a rejected promise only.
#[test]
fn ppx_02_match() {
    assert_eq!(lisle::run(matched(ready(Some(3)))), "some 3");
    assert_eq!(lisle::run(matched(pause().map(|()| None))), "none");
    assert_eq!(lisle::run(matched(rejected(Error::message("E")))), "error E");
}

/// PPX-03: a condition on what was promised, with and without another branch.
#[test]
fn ppx_03_if() {
    for condition in [true, false] {
        let branches = run(async move {
            let mut taken = Vec::new();
            if pause().map(move |()| condition).await? {
                taken.push("if");
            } else {
                taken.push("else");
            }
            if ready(condition).await? {
                taken.push("alone");
            }
            Ok(taken)
        });
        let expected: &[_] = if condition { &["if", "alone"] } else { &["else"] };
        assert_eq!(branches, expected);
    }
}

/// PPX-04: the laps of a loop run strictly one after the other.
#[test]
fn ppx_04_for_and_while() {
    let log: Rc<RefCell<Vec<u32>>> = Rc::default();
    let seen = log.clone();
    let body = move |n| {
        let log = log.clone();
        try_spawn(async move {
            sleep(Duration::from_millis(2)).await?;
            log.borrow_mut().push(n);
            Ok::<_, Error>(())
        })
    };
    let (in_for, in_while) = (body.clone(), body);
    run(async move {
        for n in 3..=5 {
            assert_eq!(seen.borrow().len(), n as usize - 3, "the one before is over");
            in_for(n).await?;
        }
        assert_eq!(seen.take(), [3, 4, 5]);
        let mut n = 3;
        while n <= 5 {
            assert_eq!(seen.borrow().len(), n as usize - 3);
            in_while(n).await?;
            n += 1;
        }
        assert_eq!(seen.take(), [3, 4, 5]);
        Ok(())
    });
}

async fn handled(failing: Promise<&'static str>) -> Result<&'static str, Error> {
    let inner = async {
        match failing.await {
            Err(error) if error.to_string() == "inner" => Ok("by the inner one"),
            unmatched => unmatched,
        }
    };
    match inner.await {
        Err(error) if error.to_string() == "outer" => Ok("by the outer one"),
        unmatched => unmatched,
    }
}

/// PPX-06: the handler that matches runs; what it does not match falls through to the outer one, whether the
/// promise was rejected or the error came at once.
#[test]
fn ppx_06_try() {
    let fails = |word| rejected(Error::message(word));
    assert_eq!(run(handled(fails("inner"))), "by the inner one");
    assert_eq!(run(handled(fails("outer"))), "by the outer one");
    assert_eq!(run(handled(pause().bind(move |()| fails("outer")))), "by the outer one");
    let at_once = async {
        let failing = async { Err::<&str, _>(Error::message("inner")) };
        failing.await.or_else(|error| if error.to_string() == "inner" { Ok("at once") } else { Err(error) })
    };
    assert_eq!(run(at_once), "at once");
    let unmatched = lisle::run(handled(fails("nobody's")));
    assert_eq!(unmatched.unwrap_err().to_string(), "nobody's");
}

/// Runs work with a clean-up that waits; whether that was done, and the outcome.
fn finally(work: Promise<u32>) -> (Result<u32, Error>, bool) {
    let log: Rc<RefCell<Vec<&str>>> = Rc::default();
    let inside = log.clone();
    let outcome = lisle::run(async move {
        work.finalize(move || pause().map(move |()| inside.borrow_mut().push("cleaned"))).await
    });
    (outcome, log.take() == ["cleaned"])
}

/// PPX-07: the clean-up runs after a success, after an error that was handled, and after one that was not,
/// which is passed on.
#[test]
fn ppx_07_finally() {
    let (outcome, cleaned) = finally(ready(1));
    assert!(cleaned && outcome.unwrap() == 1);
    let (outcome, cleaned) = finally(rejected::<u32>(Error::message("E")).catch(|_| ready(2)));
    assert!(cleaned && outcome.unwrap() == 2);
    let (outcome, cleaned) = finally(rejected(Error::message("E")));
    assert!(cleaned && outcome.unwrap_err().to_string() == "E");
}

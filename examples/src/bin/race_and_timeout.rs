//! Races, time limits, and one promise that many wait for.
//!
//! Shows: `pick` cancels the losers; `timeout` gives up on work; a `Shared` promise has many consumers.

use lisle::time::{TimedOut, sleep, timeout};
use lisle::{Error, all, pair, pick, spawn};
use std::time::Duration;

fn after(milliseconds: u64, text: &'static str) -> lisle::Promise<&'static str> {
    sleep(Duration::from_millis(milliseconds)).map(move |()| text)
}

#[lisle::main]
async fn main() -> lisle::Result<()> {
    let first = pick([after(50, "the tortoise"), after(1, "the hare")]).await?;
    println!("first: {first}");

    let late = timeout(Duration::from_millis(1), after(60_000, "never")).await;
    println!("gave up: {}", late.is_err_and(|error| error.downcast_ref::<TimedOut>().is_some()));

    let (news, teller) = pair::<u32>();
    let news = news.shared();
    let readers = (1..=3).map(|reader| {
        let news = news.clone();
        spawn(async move { news.await.map(|number| number * reader) })
    });
    let readers: Vec<_> = readers.collect();
    teller.resolve(14);
    let told: lisle::Result<Vec<u32>> = all(readers).await?.into_iter().collect();
    println!("told: {:?}", told?);
    Ok::<(), Error>(())
}

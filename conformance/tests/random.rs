//! Programs that nobody recorded: drawn at random, run over the library and over the model, traces compared.
//!
//! A program outside of what is defined (the model says so) is not compared. That enough programs are
//! compared, that they do something, and that every statement occurs in them, is asserted too.
//! `PROPTEST_CASES` sets how many; a mismatch is shrunk and printed as a program of the language.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::env;

use lisle_conformance::model::{self, Draft, DraftBlock, DraftStatement, forms};
use lisle_conformance::{Case, Laps, trace};
use lisle_core::live_waiters;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

/// Cases unless `PROPTEST_CASES` says otherwise.
const CASES: u32 = 8_000;
const SHRINKS_MAX: u32 = 20_000;
const STATEMENTS_MAX: usize = 28;
const DEPTH: u32 = 3;

/// The row of a statement, drawn by its weight; it shrinks towards the first.
fn form() -> impl Strategy<Value = usize> {
    let total: u32 = forms().iter().map(|form| form.weight()).sum();
    (0..total).prop_map(|mut at| {
        for (index, form) in forms().iter().enumerate() {
            if at < form.weight() {
                return index;
            }
            at -= form.weight();
        }
        unreachable!("it is less than the sum")
    })
}

/// A statement has blocks whether or not its form takes them: what depended on the form could not be shrunk.
fn statement(depth: u32) -> BoxedStrategy<DraftStatement> {
    let numbers = prop::collection::vec(0..64_u8, 5);
    let blocks = match depth {
        0 => Just(Vec::new()).boxed(),
        _ => prop::collection::vec(block(depth - 1), 0..=2).boxed(),
    };
    (form(), numbers, blocks)
        .prop_map(|(form, numbers, blocks)| DraftStatement { form, numbers, blocks })
        .boxed()
}

fn block(depth: u32) -> impl Strategy<Value = DraftBlock> {
    let statements = prop::collection::vec(statement(depth), 0..=3);
    (statements, (0..8_u8, 0..64_u8)).prop_map(|(statements, ending)| DraftBlock { statements, ending })
}

fn draft() -> impl Strategy<Value = Draft> {
    let opening = prop::collection::vec(0..2_u8, 0..=6);
    let statements = prop::collection::vec(statement(DEPTH), 1..STATEMENTS_MAX);
    (opening, statements).prop_map(|(opening, statements)| Draft { opening, statements })
}

/// What was compared.
#[derive(Default)]
struct Seen {
    inside: u32,
    outside: BTreeMap<&'static str, u32>,
    /// Lines of the traces that are not states at the end.
    events: usize,
    /// How often a word occurs in what was compared.
    words: BTreeMap<String, u32>,
}

impl Seen {
    fn note(&mut self, case: &Case, events: usize) {
        self.inside += 1;
        self.events += events;
        for line in &case.source {
            let word = line.split(' ').next().unwrap_or_default();
            *self.words.entry(word.to_owned()).or_default() += 1;
        }
    }

    fn must_be_worth_it(&self) {
        let outside: u32 = self.outside.values().sum();
        println!("{} inside with {} events, {outside} outside {:?}", self.inside, self.events, self.outside);
        assert!(self.inside >= outside, "more programs outside than inside: nothing much was compared");
        assert!(self.events >= 5 * self.inside as usize, "the programs do next to nothing");
        for form in forms() {
            assert!(self.words.contains_key(form.word()), "no program with {:?} was compared", form.word());
        }
    }
}

#[test]
fn the_library_does_what_the_model_does() {
    let cases = env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(CASES);
    let config =
        Config { cases, max_shrink_iters: SHRINKS_MAX, failure_persistence: None, ..Config::default() };
    let seen = RefCell::new(Seen::default());
    let outcome = TestRunner::new(config).run(&draft(), |draft| {
        let case = draft.case();
        let expected = model::run(&case).expect("drafts have only statements that the model knows");
        if let Some(reason) = expected.outside.first() {
            *seen.borrow_mut().outside.entry(reason).or_default() += 1;
            return Ok(());
        }
        let waiters = live_waiters();
        let actual = trace(&case, Laps::Core);
        let program = case.source.join("\n");
        prop_assert_eq!(&actual, &expected.trace, "\nlibrary left, model right; the program:\n{}\n", program);
        if !expected.knotted {
            prop_assert_eq!(live_waiters(), waiters, "waiters are left of the program:\n{}\n", program);
        }
        seen.borrow_mut().note(&case, expected.trace.len() - 1);
        Ok(())
    });
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
    seen.into_inner().must_be_worth_it();
}

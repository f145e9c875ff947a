//! One line to one statement: the forms of the operands, and the table of the words.
//!
//! The tables below have one function for each part of FORMAT.md section 4 and one arm for each statement.
//! An operand's kind is not written in the table: it follows from the field it is put into (`Operand`), so
//! that table and tree cannot disagree.

use std::sync::Arc;

use crate::program::{
    Action, Block, Cancellation, Composition, Creation, Derive, Ending, Fault, Flavour, Lock, P, Pause, Pool,
    Read, Register, Sequencing, Source, Storage, Switch, Value,
};

type Reading<A> = Result<A, String>;

/// Reads the statements of one part; none if the word is of another part.
type Part = fn(&mut Line<'_>) -> Reading<Option<Action>>;

/// A statement's line with what is still unread of it: operands from left to right, blocks in their order.
pub(super) struct Line<'a> {
    pub(super) word: &'a str,
    operands: std::str::SplitWhitespace<'a>,
    bodies: std::vec::IntoIter<Arc<Block>>,
}

impl<'a> Line<'a> {
    pub(super) fn new(text: &'a str, bodies: Vec<Arc<Block>>) -> Self {
        let mut operands = text.split_whitespace();
        Line { word: operands.next().unwrap_or(""), operands, bodies: bodies.into_iter() }
    }

    /// Says what the statement did not use.
    pub(super) fn finish(mut self) -> Reading<()> {
        match (self.operands.next(), self.bodies.next()) {
            (Some(operand), _) => Err(format!("operand {operand:?} is too many")),
            (None, Some(body)) => Err(format!("block {} is too many", body.label)),
            (None, None) => Ok(()),
        }
    }

    fn next<A: Operand>(&mut self) -> Reading<A> {
        let token = self.operands.next().ok_or("an operand is missing")?;
        A::read(token).ok_or_else(|| format!("operand {token:?} is not {}", A::form()))
    }

    fn rest<A: Operand>(&mut self) -> Reading<Vec<A>> {
        let mut rest = Vec::new();
        while self.operands.clone().next().is_some() {
            rest.push(self.next()?);
        }
        Ok(rest)
    }

    fn body(&mut self) -> Reading<Arc<Block>> {
        self.bodies.next().ok_or_else(|| "a block is missing".to_owned())
    }
}

/// What can stand between two spaces.
trait Operand: Sized {
    fn read(token: &str) -> Option<Self>;
    /// Names the form, for messages.
    fn form() -> String;
}

/// Digits only: `parse` alone would also take a sign.
fn number<N: std::str::FromStr>(digits: &str) -> Option<N> {
    if digits.bytes().all(|byte| byte.is_ascii_digit()) { digits.parse().ok() } else { None }
}

impl<const KIND: char> Operand for Register<KIND> {
    fn read(token: &str) -> Option<Self> {
        token.strip_prefix(KIND).and_then(number).map(Register)
    }

    fn form() -> String {
        format!("a register {KIND}N")
    }
}

impl Operand for Value {
    fn read(token: &str) -> Option<Self> {
        match (token, token.strip_prefix("x+")) {
            ("x", _) => Some(Value::Given),
            (_, Some(digits)) => number(digits).map(Value::GivenPlus),
            (_, None) => number(token).map(Value::Number),
        }
    }

    fn form() -> String {
        "an integer, x or x+N".to_owned()
    }
}

impl Operand for Option<Value> {
    fn read(token: &str) -> Option<Self> {
        if token == "none" { Some(None) } else { Value::read(token).map(Some) }
    }

    fn form() -> String {
        format!("none, {}", Value::form())
    }
}

impl Operand for Fault {
    fn read(token: &str) -> Option<Self> {
        match token {
            "C" => Some(Fault::Canceled),
            "e" => Some(Fault::Given),
            _ => token.strip_prefix('E').and_then(number).map(Fault::Code),
        }
    }

    fn form() -> String {
        "an error EN, C or e".to_owned()
    }
}

/// The number of a promise register, for a token that is one.
pub(super) fn promise(token: &str) -> Option<usize> {
    P::read(token).map(|register| register.0)
}

/// Reads the last line of a block; none for a line that is a statement.
pub(super) fn ending(line: &mut Line<'_>) -> Option<Reading<Ending>> {
    match line.word {
        "val" => Some(line.next().map(Ending::Val)),
        "err" => Some(line.next().map(Ending::Err)),
        "ret" => Some(line.next().map(Ending::Ret)),
        _ => None,
    }
}

/// Reads a statement.
pub(super) fn action(line: &mut Line<'_>) -> Reading<Action> {
    let parts: [Part; 12] = [
        |line| Ok(creation(line)?.map(Action::Creation)),
        |line| Ok(sequencing(line)?.map(Action::Sequencing)),
        |line| Ok(cancellation(line)?.map(Action::Cancellation)),
        |line| Ok(pause(line)?.map(Action::Pause)),
        |line| Ok(composition(line)?.map(Action::Composition)),
        |line| Ok(storage(line)?.map(Action::Storage)),
        |line| Ok(lock(line)?.map(Action::Lock)),
        |line| Ok(pool(line)?.map(Action::Pool)),
        |line| Ok(switch(line)?.map(Action::Switch)),
        |line| Ok(source(line)?.map(Action::Source)),
        |line| Ok(read(line)?.map(Action::Read)),
        |line| Ok(derive(line)?.map(Action::Derive)),
    ];
    for part in parts {
        if let Some(action) = part(line)? {
            return Ok(action);
        }
    }
    Err("there is no such statement".to_owned())
}

fn creation(line: &mut Line<'_>) -> Reading<Option<Creation>> {
    Ok(Some(match line.word {
        "ready" => Creation::Ready(line.next()?, line.next()?),
        "fail" => Creation::Fail(line.next()?, line.next()?),
        "wait" => Creation::Wait(line.next()?, line.next()?),
        "task" => Creation::Task(line.next()?, line.next()?),
        "wake" => Creation::Fulfil(Flavour::Immediate, line.next()?, line.next()?),
        "wakex" => Creation::Reject(Flavour::Immediate, line.next()?, line.next()?),
        "later" => Creation::Fulfil(Flavour::Deferring, line.next()?, line.next()?),
        "laterx" => Creation::Reject(Flavour::Deferring, line.next()?, line.next()?),
        "state" => Creation::State(line.next()?),
        _ => return Ok(None),
    }))
}

fn sequencing(line: &mut Line<'_>) -> Reading<Option<Sequencing>> {
    Ok(Some(match line.word {
        "bind" => Sequencing::Bind(line.next()?, line.next()?, line.body()?),
        "map" => Sequencing::Map(line.next()?, line.next()?, line.body()?),
        "catch" => Sequencing::Catch(line.next()?, line.next()?, line.body()?),
        "try" => Sequencing::Try(line.next()?, line.next()?, line.body()?, line.body()?),
        "fin" => Sequencing::Finalize(line.next()?, line.next()?, line.body()?),
        "succ" => Sequencing::OnSuccess(line.next()?, line.body()?),
        "failure" => Sequencing::OnFailure(line.next()?, line.body()?),
        "term" => Sequencing::OnTermination(line.next()?, line.body()?),
        "any" => Sequencing::OnAny(line.next()?, line.body()?, line.body()?),
        "oncancel" => Sequencing::OnCancel(line.next()?, line.body()?),
        "async" => Sequencing::Async(line.body()?),
        "dontwait" => Sequencing::DontWait(line.body()?, line.body()?),
        _ => return Ok(None),
    }))
}

fn cancellation(line: &mut Line<'_>) -> Reading<Option<Cancellation>> {
    Ok(Some(match line.word {
        "cancel" => Cancellation::Cancel(line.next()?),
        "protected" => Cancellation::Protected(line.next()?, line.next()?),
        "nocancel" => Cancellation::NoCancel(line.next()?, line.next()?),
        "wrapc" => Cancellation::WrapInCancelable(line.next()?, line.next()?),
        _ => return Ok(None),
    }))
}

fn pause(line: &mut Line<'_>) -> Reading<Option<Pause>> {
    Ok(Some(match line.word {
        "pause" => Pause::Pause(line.next()?),
        "lap" => Pause::Lap,
        _ => return Ok(None),
    }))
}

fn composition(line: &mut Line<'_>) -> Reading<Option<Composition>> {
    Ok(Some(match line.word {
        "join" => Composition::Join(line.next()?, line.rest()?),
        "both" => Composition::Both(line.next()?, line.next()?, line.next()?),
        "all" => Composition::All(line.next()?, line.rest()?),
        "choose" => Composition::Choose(line.next()?, inputs(line)?),
        "pick" => Composition::Pick(line.next()?, inputs(line)?),
        "nchoose" => Composition::NChoose(line.next()?, inputs(line)?),
        "npick" => Composition::NPick(line.next()?, inputs(line)?),
        "nsplit" => Composition::NChooseSplit(line.next()?, inputs(line)?),
        _ => return Ok(None),
    }))
}

/// A list of promises that must not be empty: the first one of none would stay pending for ever.
fn inputs(line: &mut Line<'_>) -> Reading<Vec<P>> {
    let inputs = line.rest()?;
    if inputs.is_empty() { Err("its list is empty".to_owned()) } else { Ok(inputs) }
}

fn storage(line: &mut Line<'_>) -> Reading<Option<Storage>> {
    Ok(Some(match line.word {
        "with" => Storage::With(line.next()?, line.next()?, line.body()?),
        "get" => Storage::Get(line.next()?),
        _ => return Ok(None),
    }))
}

fn lock(line: &mut Line<'_>) -> Reading<Option<Lock>> {
    Ok(Some(match line.word {
        "lock" => Lock::Acquire(line.next()?, line.next()?, line.next()?),
        "unlock" => Lock::Release(line.next()?),
        "withlock" => Lock::Holding(line.next()?, line.next()?, line.body()?),
        "locked" => Lock::IsHeld(line.next()?),
        "cwait" => Lock::Wait(line.next()?, line.next()?),
        "cwaitm" => Lock::WaitWithMutex(line.next()?, line.next()?, line.next()?),
        "signal" => Lock::Signal(line.next()?, line.next()?),
        "broadcast" => Lock::Broadcast(line.next()?, line.next()?),
        "broadcastx" => Lock::BroadcastError(line.next()?, line.next()?),
        "put" => Lock::Put(line.next()?, line.next()?, line.next()?),
        "take" => Lock::Take(line.next()?, line.next()?),
        "grab" => Lock::Grab(line.next()?),
        _ => return Ok(None),
    }))
}

fn pool(line: &mut Line<'_>) -> Reading<Option<Pool>> {
    Ok(Some(match line.word {
        "pool" => Pool::Create(line.next()?, line.next()?, line.body()?),
        "use" => Pool::Use(line.next()?, line.next()?, line.body()?),
        "clear" => Pool::Clear(line.next()?, line.next()?),
        "waiters" => Pool::Waiters(line.next()?),
        _ => return Ok(None),
    }))
}

fn switch(line: &mut Line<'_>) -> Reading<Option<Switch>> {
    Ok(Some(match line.word {
        "switch" => Switch::Create(line.next()?),
        "hook" => Switch::Hook(line.next()?, line.body()?),
        "hookx" => Switch::HookOrRun(line.next()?, line.next()?, line.body()?),
        "off" => Switch::Off(line.next()?, line.next()?),
        "ison" => Switch::IsOn(line.next()?),
        "withswitch" => Switch::With(line.next()?, line.next()?, line.body()?),
        _ => return Ok(None),
    }))
}

fn source(line: &mut Line<'_>) -> Reading<Option<Source>> {
    Ok(Some(match line.word {
        "stream" => Source::Unbounded(line.next()?),
        "bounded" => Source::Bounded(line.next()?, line.next()?),
        "list" => Source::List(line.next()?, line.rest()?),
        "from" => Source::From(line.next()?, line.next()?, line.body()?),
        "clone" => Source::Clone(line.next()?, line.next()?),
        "push" => Source::Push(line.next()?, line.next()?),
        "close" => Source::Close(line.next()?),
        "bpush" => Source::BoundedPush(line.next()?, line.next()?, line.next()?),
        "count" => Source::Count(line.next()?),
        "isclosed" => Source::IsClosed(line.next()?),
        "closed" => Source::Closed(line.next()?, line.next()?),
        _ => return Ok(None),
    }))
}

fn read(line: &mut Line<'_>) -> Reading<Option<Read>> {
    Ok(Some(match line.word {
        "sget" => Read::Get(line.next()?, line.next()?),
        "peek" => Read::Peek(line.next()?, line.next()?),
        "next" => Read::Next(line.next()?, line.next()?),
        "lastnew" => Read::LastNew(line.next()?, line.next()?),
        "nget" => Read::NGet(line.next()?, line.next()?, line.next()?),
        "npeek" => Read::NPeek(line.next()?, line.next()?, line.next()?),
        "tolist" => Read::ToList(line.next()?, line.next()?),
        "junk" => Read::Junk(line.next()?, line.next()?),
        "njunk" => Read::NJunk(line.next()?, line.next()?, line.next()?),
        "isempty" => Read::IsEmpty(line.next()?, line.next()?),
        "avail" => Read::Available(line.next()?),
        _ => return Ok(None),
    }))
}

fn derive(line: &mut Line<'_>) -> Reading<Option<Derive>> {
    Ok(Some(match line.word {
        "smap" => Derive::Map(line.next()?, line.next()?, line.body()?),
        "smaps" => Derive::MapSequential(line.next()?, line.next()?, line.body()?),
        "sfilter" => Derive::Filter(line.next()?, line.next()?, line.body()?),
        "sfilters" => Derive::FilterSequential(line.next()?, line.next()?, line.body()?),
        "sappend" => Derive::Append(line.next()?, line.next()?, line.next()?),
        "iters" => Derive::IterSequential(line.next()?, line.next()?, line.body()?),
        "iterp" => Derive::IterParallel(line.next()?, line.next()?, line.body()?),
        "itern" => Derive::IterAtMost(line.next()?, line.next()?, line.next()?, line.body()?),
        _ => return Ok(None),
    }))
}

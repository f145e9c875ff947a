//! A golden program as a tree: what the parser makes and the interpreter walks.
//!
//! The language is described in `golden/FORMAT.md`; the enums below stand in the order of its section 4, one
//! for each part of it. Every statement of the language is here, also those that the library cannot run yet:
//! `run::missing` names those, so a new operation of the library is one arm there and needs no change in
//! this file.
//!
//! A tree is plain data without promises, so it may cross threads; blocks are behind `Arc` because the
//! callbacks made from a block outlive the statement that has it.

use std::sync::Arc;

/// A numbered register; `KIND` is the letter it is written with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Register<const KIND: char>(pub(crate) usize);

/// Promise of an integer.
pub(crate) type P = Register<'p'>;
/// Resolver.
pub(crate) type U = Register<'u'>;
/// Storage key.
pub(crate) type K = Register<'k'>;
/// Mutex.
pub(crate) type M = Register<'m'>;
/// Guard slot: empty, or one locked mutex.
pub(crate) type G = Register<'g'>;
/// Condition.
pub(crate) type C = Register<'c'>;
/// Mvar.
pub(crate) type V = Register<'v'>;
/// Pool.
pub(crate) type O = Register<'o'>;
/// Switch.
pub(crate) type S = Register<'s'>;
/// Stream.
pub(crate) type T = Register<'t'>;

/// An integer operand: `7`, `x`, `x+3`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    Number(i64),
    Given,
    GivenPlus(i64),
}

/// An error operand: `E4`, `C`, `e`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    Code(u32),
    Canceled,
    Given,
}

/// The labelled lines between `{L` and `}`.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) label: u32,
    pub(crate) statements: Vec<Action>,
    pub(crate) ending: Ending,
}

/// What a block gives back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// No last line: nothing, or `val 0` where a function is wanted.
    Nothing,
    Val(Value),
    Err(Fault),
    Ret(P),
}

/// Blocks of a statement.
pub(crate) type Body = Arc<Block>;

/// All statements, one variant for each part of FORMAT.md section 4.
#[derive(Debug)]
pub(crate) enum Action {
    Creation(Creation),
    Sequencing(Sequencing),
    Cancellation(Cancellation),
    Pause(Pause),
    Composition(Composition),
    Storage(Storage),
    Lock(Lock),
    Pool(Pool),
    Switch(Switch),
    Source(Source),
    Read(Read),
    Derive(Derive),
}

/// When the callbacks of a resolution run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flavour {
    /// `wake`, `wakex`: before the statement ends.
    Immediate,
    /// `later`, `laterx`: after the resolution in progress, if there is one.
    Deferring,
}

#[derive(Debug)]
pub(crate) enum Creation {
    Ready(P, Value),
    Fail(P, Fault),
    Wait(P, U),
    Task(P, U),
    Fulfil(Flavour, U, Value),
    Reject(Flavour, U, Fault),
    State(P),
}

#[derive(Debug)]
pub(crate) enum Sequencing {
    Bind(P, P, Body),
    Map(P, P, Body),
    Catch(P, P, Body),
    Try(P, P, Body, Body),
    Finalize(P, P, Body),
    OnSuccess(P, Body),
    OnFailure(P, Body),
    OnTermination(P, Body),
    OnAny(P, Body, Body),
    OnCancel(P, Body),
    Async(Body),
    DontWait(Body, Body),
}

impl Sequencing {
    /// The statement's blocks.
    pub(crate) fn bodies(&self) -> Vec<&Body> {
        match self {
            Sequencing::Bind(_, _, f)
            | Sequencing::Map(_, _, f)
            | Sequencing::Catch(_, _, f)
            | Sequencing::Finalize(_, _, f)
            | Sequencing::OnSuccess(_, f)
            | Sequencing::OnFailure(_, f)
            | Sequencing::OnTermination(_, f)
            | Sequencing::OnCancel(_, f)
            | Sequencing::Async(f) => vec![f],
            Sequencing::Try(_, _, f, g) | Sequencing::OnAny(_, f, g) | Sequencing::DontWait(f, g) => {
                vec![f, g]
            }
        }
    }
}

#[derive(Debug)]
pub(crate) enum Cancellation {
    Cancel(P),
    Protected(P, P),
    NoCancel(P, P),
    WrapInCancelable(P, P),
}

#[derive(Debug)]
pub(crate) enum Pause {
    Pause(P),
    Lap,
}

#[derive(Debug)]
pub(crate) enum Composition {
    Join(P, Vec<P>),
    Both(P, P, P),
    All(P, Vec<P>),
    Choose(P, Vec<P>),
    Pick(P, Vec<P>),
    NChoose(P, Vec<P>),
    NPick(P, Vec<P>),
    NChooseSplit(P, Vec<P>),
}

#[derive(Debug)]
pub(crate) enum Storage {
    With(K, Option<Value>, Body),
    Get(K),
}

/// Mutex, condition and mvar.
#[derive(Debug)]
pub(crate) enum Lock {
    Acquire(P, M, G),
    Release(G),
    Holding(P, M, Body),
    IsHeld(M),
    Wait(P, C),
    WaitWithMutex(P, C, G),
    Signal(C, Value),
    Broadcast(C, Value),
    BroadcastError(C, Fault),
    Put(P, V, Value),
    Take(P, V),
    Grab(V),
}

#[derive(Debug)]
pub(crate) enum Pool {
    Create(O, Value, Body),
    Use(P, O, Body),
    Clear(P, O),
    Waiters(O),
}

#[derive(Debug)]
pub(crate) enum Switch {
    Create(S),
    Hook(S, Body),
    HookOrRun(P, S, Body),
    Off(P, S),
    IsOn(S),
    With(P, S, Body),
}

/// Making, feeding and closing streams.
#[derive(Debug)]
pub(crate) enum Source {
    Unbounded(T),
    Bounded(T, Value),
    List(T, Vec<Value>),
    From(T, Value, Body),
    Clone(T, T),
    Push(T, Value),
    Close(T),
    BoundedPush(P, T, Value),
    Count(T),
    IsClosed(T),
    Closed(P, T),
}

/// Reading streams.
#[derive(Debug)]
pub(crate) enum Read {
    Get(P, T),
    Peek(P, T),
    Next(P, T),
    LastNew(P, T),
    NGet(P, T, Value),
    NPeek(P, T, Value),
    ToList(P, T),
    Junk(P, T),
    NJunk(P, T, Value),
    IsEmpty(P, T),
    Available(T),
}

/// Streams made from streams, and iteration.
#[derive(Debug)]
pub(crate) enum Derive {
    Map(T, T, Body),
    MapSequential(T, T, Body),
    Filter(T, T, Body),
    FilterSequential(T, T, Body),
    Append(T, T, T),
    IterSequential(P, T, Body),
    IterParallel(P, T, Body),
    IterAtMost(P, T, Value, Body),
}

//! Streams: making, feeding, reading, deriving and iterating them.
//!
//! A register holds a reader and what feeds it. Statements read through the register's own
//! reader, so what is derived from it shares that reader (`same_reader`). A stream that loses its
//! register is kept until the program is over: its readers and pushers would end things by being
//! dropped, which the reference never does.

use std::cell::Cell;
use std::collections::BTreeMap;

use lisle_core::stream::{self, BoundedPusher, Pusher, Stream};
use lisle_core::{Error, Promise, ready};

use super::composition::encoded;
use crate::machine::{Closure, Given, Machine, Scope, shown};
use crate::program::{Body, Derive, Read, Source, T};

/// What is in the stream registers, and what was.
#[derive(Default)]
pub(crate) struct Streams {
    current: BTreeMap<usize, Entry>,
    displaced: Vec<Entry>,
}

struct Entry {
    stream: Stream<i64>,
    feeder: Feeder,
}

/// Who feeds a stream.
#[derive(Clone)]
enum Feeder {
    Pusher(Pusher<i64>),
    Bounded(BoundedPusher<i64>),
    Itself,
}

fn put(machine: &Machine, to: T, stream: Stream<i64>, feeder: Feeder) {
    machine.with_streams(|streams| {
        let displaced = streams.current.insert(to.0, Entry { stream, feeder });
        streams.displaced.extend(displaced);
    });
}

/// The stream of a register, for the same reader.
fn stream(machine: &Machine, from: T) -> Stream<i64> {
    machine.with_streams(|streams| streams.current[&from.0].stream.same_reader())
}

fn feeder(machine: &Machine, from: T) -> Feeder {
    machine.with_streams(|streams| streams.current[&from.0].feeder.clone())
}

/// A block that is called once for each element.
fn each(machine: &Machine, scope: &Scope, body: &Body) -> impl Fn(i64) -> (Closure, Given) + use<> {
    let (machine, scope, body) = (machine.clone(), scope.clone(), body.clone());
    move |value| (Closure::new(&machine, &scope, &body), Given::Value(value))
}

fn promises(machine: &Machine, scope: &Scope, body: &Body) -> impl Fn(i64) -> Promise<i64> + use<> {
    let block = each(machine, scope, body);
    move |value| {
        let (closure, given) = block(value);
        closure.promise(given)
    }
}

fn results(machine: &Machine, scope: &Scope, body: &Body) -> impl Fn(i64) -> Result<i64, Error> + use<> {
    let block = each(machine, scope, body);
    move |value| {
        let (closure, given) = block(value);
        closure.result(given)
    }
}

fn is_odd(value: i64) -> bool {
    value & 1 == 1
}

pub(super) fn source(machine: &Machine, scope: &Scope, action: &Source) {
    match action {
        Source::Unbounded(to) => {
            let (stream, pusher) = stream::create();
            put(machine, *to, stream, Feeder::Pusher(pusher));
        }
        Source::Bounded(to, size) => {
            let (stream, pusher) = stream::create_bounded(scope.value(*size) as usize);
            put(machine, *to, stream, Feeder::Bounded(pusher));
        }
        Source::List(to, values) => {
            let values: Vec<_> = values.iter().map(|value| scope.value(*value)).collect();
            put(machine, *to, stream::of_list(values), Feeder::Itself);
        }
        Source::From(to, end, body) => {
            let (end, f, calls) = (scope.value(*end), promises(machine, scope, body), Cell::new(0));
            let source = move || {
                let call = calls.replace(calls.get() + 1);
                if call >= end { ready(None) } else { f(call).map(Some) }
            };
            put(machine, *to, stream::from(source), Feeder::Itself);
        }
        Source::Clone(to, from) => {
            let feeder = feeder(machine, *from);
            put(machine, *to, stream(machine, *from).clone(), feeder);
        }
        Source::Push(..) | Source::Close(_) | Source::BoundedPush(..) => feed(machine, scope, action),
        Source::Count(from) => {
            if let Feeder::Bounded(pusher) = feeder(machine, *from) {
                let state = if pusher.is_blocked() { "blocked" } else { "open" };
                machine.log(format!("t{} {} {state}", from.0, pusher.count()));
            }
        }
        Source::IsClosed(from) => {
            let state = if stream(machine, *from).is_closed() { "closed" } else { "open" };
            machine.log(format!("t{} {state}", from.0));
        }
        Source::Closed(to, from) => machine.assign(*to, stream(machine, *from).closed().map(|()| 0)),
    }
}

fn feed(machine: &Machine, scope: &Scope, action: &Source) {
    match action {
        Source::Push(to, value) => {
            if let Feeder::Pusher(pusher) = feeder(machine, *to)
                && let Err(error) = pusher.push(scope.value(*value))
            {
                machine.log(format!("t{} {}", to.0, shown(&error)));
            }
        }
        Source::Close(to) => match feeder(machine, *to) {
            Feeder::Pusher(pusher) if pusher.is_closed() => machine.log(format!("t{} Closed", to.0)),
            Feeder::Pusher(pusher) => pusher.close(),
            Feeder::Bounded(pusher) => pusher.close(),
            Feeder::Itself => {}
        },
        Source::BoundedPush(to, into, value) => {
            let pushed = match feeder(machine, *into) {
                Feeder::Bounded(pusher) => pusher.push(scope.value(*value)).map(|()| 0),
                Feeder::Pusher(_) | Feeder::Itself => ready(0),
            };
            machine.assign(*to, pushed);
        }
        _ => unreachable!("`source` keeps {action:?} for itself"),
    }
}

pub(super) fn read(machine: &Machine, scope: &Scope, action: &Read) {
    let or_end = |element: Option<i64>| element.unwrap_or(-1);
    let count = |value| scope.value(value) as usize;
    match *action {
        Read::Get(to, from) => machine.assign(to, stream(machine, from).get().map(or_end)),
        Read::Peek(to, from) => machine.assign(to, stream(machine, from).peek().map(or_end)),
        Read::Next(to, from) => machine.assign(to, stream(machine, from).next()),
        Read::LastNew(to, from) => machine.assign(to, stream(machine, from).last_new()),
        Read::NGet(to, from, n) => machine.assign(to, stream(machine, from).nget(count(n)).map(encoded)),
        Read::NPeek(to, from, n) => machine.assign(to, stream(machine, from).npeek(count(n)).map(encoded)),
        Read::ToList(to, from) => machine.assign(to, stream(machine, from).to_list().map(encoded)),
        Read::Junk(to, from) => machine.assign(to, stream(machine, from).junk().map(|()| 0)),
        Read::NJunk(to, from, n) => machine.assign(to, stream(machine, from).njunk(count(n)).map(|()| 0)),
        Read::IsEmpty(to, from) => machine.assign(to, stream(machine, from).is_empty().map(i64::from)),
        Read::Available(from) => match stream(machine, from).get_available() {
            Ok(list) => {
                let list: String = list.into_iter().map(|value| format!(" {value}")).collect();
                machine.log(format!("t{}{list}", from.0));
            }
            Err(error) => machine.log(format!("t{} {}", from.0, shown(&error))),
        },
    }
}

pub(super) fn derive(machine: &Machine, scope: &Scope, action: &Derive) {
    let derived = |to: T, stream| put(machine, to, stream, Feeder::Itself);
    match action {
        Derive::Map(to, from, f) => {
            derived(*to, stream(machine, *from).map_s(results(machine, scope, f)));
        }
        Derive::MapSequential(to, from, f) => {
            derived(*to, stream(machine, *from).map_s(promises(machine, scope, f)));
        }
        Derive::Filter(to, from, f) => {
            let f = results(machine, scope, f);
            derived(*to, stream(machine, *from).filter_s(move |value| f(*value).map(is_odd)));
        }
        Derive::FilterSequential(to, from, f) => {
            let f = promises(machine, scope, f);
            derived(*to, stream(machine, *from).filter_s(move |value| f(*value).map(is_odd)));
        }
        Derive::Append(to, first, second) => {
            derived(*to, stream(machine, *first).append(stream(machine, *second)));
        }
        Derive::IterSequential(to, from, f) => {
            let f = promises(machine, scope, f);
            let all = stream(machine, *from).iter_s(move |value| f(value).map(|_| ()));
            machine.assign(*to, all.map(|()| 0));
        }
        Derive::IterParallel(to, from, f) => {
            let f = promises(machine, scope, f);
            let all = stream(machine, *from).iter_p(move |value| f(value).map(|_| ()));
            machine.assign(*to, all.map(|()| 0));
        }
        Derive::IterAtMost(to, from, n, f) => {
            let (f, n) = (promises(machine, scope, f), scope.value(*n) as usize);
            let all = stream(machine, *from).iter_n(n, move |value| f(value).map(|_| ()));
            machine.assign(*to, all.map(|()| 0));
        }
    }
}

//! The three ways to resume: the same little programs in binds, as `async` and in a fiber.
//!
//! A [`Program`] is interpreted in each style, in a world of its own: gates that a script opens or closes one
//! by one, a trace, a cancellation at each possible moment. Outcome and trace must be the same. All programs
//! up to a size are tried, small ones first, so what fails first is as small as it gets; larger ones are drawn
//! from a seeded generator. Then come the orders that differ on purpose: a callback inside of the resolution,
//! a task at once and later through the run queue, a fiber from the queue.

use lisle::sched::tasks::run_ready;
use lisle::{Error, Promise, Resolver, both, cancelable, pair, pause, ready, rejected, try_spawn};
use lisle_direct::Fiber;
use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

/// A program, which computes a number.
#[derive(Debug)]
enum Program {
    Value(i64),
    Fail,
    Pause,
    /// Waits for a gate of this number, which can be cancelled.
    Gate(usize),
    /// Waits for a gate that cannot be.
    Stubborn(usize),
    /// One after the other; the sum.
    Then(Rc<Program>, Rc<Program>),
    /// The second one if the first one fails.
    Catch(Rc<Program>, Rc<Program>),
    /// The second one in any case; its error wins.
    Finally(Rc<Program>, Rc<Program>),
    /// Side by side; the sum.
    Both(Rc<Program>, Rc<Program>),
}

use Program::{Both, Catch, Fail, Finally, Gate, Pause, Stubborn, Then, Value};

/// What a program runs in.
#[derive(Default)]
struct World {
    gates: RefCell<Vec<Option<Promise<i64>>>>,
    resolvers: RefCell<Vec<Option<Resolver<i64>>>>,
    trace: RefCell<Vec<String>>,
}

impl World {
    fn new(program: &Program) -> Rc<World> {
        let world = Rc::new(World::default());
        program.visit(&mut |leaf| {
            let (promise, resolver) = match leaf {
                Gate(_) => cancelable(),
                Stubborn(_) => pair(),
                _ => return,
            };
            world.gates.borrow_mut().push(Some(promise));
            world.resolvers.borrow_mut().push(Some(resolver));
        });
        world
    }

    fn gate(&self, number: usize) -> Promise<i64> {
        self.gates.borrow_mut()[number].take().expect("each gate stands in one place, and is passed once")
    }

    fn log(&self, what: &str, result: &Result<i64, Error>) {
        self.trace.borrow_mut().push(format!("{what} {}", shown(result)));
    }

    fn open(&self, number: usize, opens: bool) {
        let resolver = self.resolvers.borrow_mut()[number].take();
        match resolver {
            Some(resolver) if opens => resolver.resolve(100 + number as i64),
            Some(resolver) => resolver.reject(Error::message(format!("gate {number}"))),
            None => unreachable!("a script opens each gate once"),
        }
    }
}

fn shown(result: &Result<i64, Error>) -> String {
    match result {
        Ok(value) => value.to_string(),
        Err(error) => error.to_string(),
    }
}

fn failure() -> Error {
    Error::message("failed")
}

impl Program {
    fn visit(&self, see: &mut impl FnMut(&Program)) {
        see(self);
        if let Then(a, b) | Catch(a, b) | Finally(a, b) | Both(a, b) = self {
            a.visit(see);
            b.visit(see);
        }
    }

    fn gates(&self) -> usize {
        let mut count = 0;
        self.visit(&mut |leaf| count += usize::from(matches!(leaf, Gate(_) | Stubborn(_))));
        count
    }
}

fn in_binds(world: &Rc<World>, program: &Rc<Program>) -> Promise<i64> {
    let outer = world.clone();
    match &**program {
        Value(value) => ready(*value),
        Fail => rejected(failure()),
        Pause => pause().map(|()| 1),
        Gate(number) | Stubborn(number) => world.gate(*number).then(move |result| {
            outer.log("gate", &result);
            result
        }),
        Then(a, b) => {
            let b = b.clone();
            in_binds(world, a).bind(move |x| in_binds(&outer, &b).map(move |y| x + y))
        }
        Catch(a, b) => {
            let b = b.clone();
            in_binds(world, a).catch(move |error| {
                outer.log("caught", &Err(error));
                in_binds(&outer, &b)
            })
        }
        Finally(a, b) => {
            let b = b.clone();
            in_binds(world, a).finalize(move || {
                outer.log("finally", &Ok(0));
                in_binds(&outer, &b).map(drop)
            })
        }
        Both(a, b) => both(in_binds(world, a), in_binds(world, b)).map(|(x, y)| x + y),
    }
}

type Boxed = Pin<Box<dyn Future<Output = Result<i64, Error>>>>;

fn as_async(world: Rc<World>, program: Rc<Program>) -> Boxed {
    Box::pin(async move {
        match &*program {
            Value(value) => Ok(*value),
            Fail => Err(failure()),
            Pause => pause().await.map(|()| 1),
            Gate(number) | Stubborn(number) => {
                let result = world.gate(*number).await;
                world.log("gate", &result);
                result
            }
            Then(a, b) => {
                let x = as_async(world.clone(), a.clone()).await?;
                Ok(x + as_async(world, b.clone()).await?)
            }
            Catch(a, b) => match as_async(world.clone(), a.clone()).await {
                Err(error) => {
                    world.log("caught", &Err(error));
                    as_async(world, b.clone()).await
                }
                value => value,
            },
            Finally(a, b) => {
                let outcome = as_async(world.clone(), a.clone()).await;
                world.log("finally", &Ok(0));
                as_async(world, b.clone()).await?;
                outcome
            }
            Both(a, b) => {
                let a = try_spawn(as_async(world.clone(), a.clone()));
                let b = try_spawn(as_async(world, b.clone()));
                both(a, b).await.map(|(x, y)| x + y)
            }
        }
    })
}

fn in_fiber(fiber: &Fiber, world: &Rc<World>, program: &Program) -> Result<i64, Error> {
    match program {
        Value(value) => Ok(*value),
        Fail => Err(failure()),
        Pause => fiber.wait(pause()).map(|()| 1),
        Gate(number) | Stubborn(number) => {
            let result = fiber.wait(world.gate(*number));
            world.log("gate", &result);
            result
        }
        Then(a, b) => Ok(in_fiber(fiber, world, a)? + in_fiber(fiber, world, b)?),
        Catch(a, b) => in_fiber(fiber, world, a).or_else(|error| {
            world.log("caught", &Err(error));
            in_fiber(fiber, world, b)
        }),
        Finally(a, b) => {
            let outcome = in_fiber(fiber, world, a);
            world.log("finally", &Ok(0));
            in_fiber(fiber, world, b)?;
            outcome
        }
        Both(a, b) => {
            let (a, b) = (spawned(world, a), spawned(world, b));
            fiber.wait(both(a, b)).map(|(x, y)| x + y)
        }
    }
}

fn spawned(world: &Rc<World>, program: &Rc<Program>) -> Promise<i64> {
    let (world, program) = (world.clone(), program.clone());
    lisle_direct::try_spawn(move |fiber| in_fiber(fiber, &world, &program))
}

#[derive(Debug, Clone, Copy)]
enum Style {
    Binds,
    Async,
    Fiber,
}

/// What happens to a program: to each gate in turn, and before which of them it is cancelled.
#[derive(Debug, Clone, Copy)]
struct Script {
    /// Bit `n`: whether gate `n` opens or fails.
    opens: u32,
    cancel: Cancel,
}

/// When a program is cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cancel {
    Never,
    /// As soon as it is there: before a fiber has begun, and where a bind or a task waits for a pause.
    AtOnce,
    /// After so many gates.
    After(usize),
}

fn drain() {
    while lisle::sched::has_work() {
        run_ready();
        lisle::wake_paused();
    }
}

/// Outcome and trace.
fn run(style: Style, program: &Rc<Program>, script: Script) -> (String, Vec<String>) {
    // Gates that fail though the program never came to them are no failure here.
    lisle::hook::set(|_| ());
    let world = World::new(program);
    let promise = match style {
        Style::Binds => in_binds(&world, program),
        Style::Async => try_spawn(as_async(world.clone(), program.clone())),
        Style::Fiber => spawned(&world, program),
    };
    if script.cancel == Cancel::AtOnce {
        promise.cancel();
    }
    drain();
    for number in 0..=program.gates() {
        if script.cancel == Cancel::After(number) {
            promise.cancel();
            drain();
        }
        if number < program.gates() {
            world.open(number, script.opens >> number & 1 == 1);
            drain();
        }
    }
    let outcome = promise.try_take().expect("all gates were opened");
    (shown(&outcome), world.trace.take())
}

/// Runs a program under a script in all styles.
fn agree(program: &Rc<Program>, script: Script) {
    let expected = run(Style::Binds, program, script);
    let mut pauses = false;
    program.visit(&mut |leaf| pauses |= matches!(leaf, Pause));
    for style in [Style::Async, Style::Fiber] {
        // A fiber that has not begun is told at its first wait, and a pause may be over by then.
        if matches!(style, Style::Fiber) && script.cancel == Cancel::AtOnce && pauses {
            continue;
        }
        let found = run(style, program, script);
        assert_eq!(found, expected, "{style:?} against binds: {program:?} under {script:?}");
    }
}

/// Runs a program under each script; how many there were.
fn agree_always(program: &Rc<Program>, cancels: bool) -> usize {
    let gates = program.gates();
    let moments = (0..=gates).map(Cancel::After).chain([Cancel::AtOnce]).filter(|_| cancels);
    let moments: Vec<_> = moments.chain([Cancel::Never]).collect();
    for opens in 0..1 << gates {
        moments.iter().for_each(|&cancel| agree(program, Script { opens, cancel }));
    }
    moments.len() << gates
}

/// All programs one after the other with so many inner nodes, with their gates numbered from `first`.
fn programs(nodes: usize, first: usize) -> Vec<Rc<Program>> {
    if nodes == 0 {
        return [Value(7), Fail, Pause, Gate(first), Stubborn(first)].map(Rc::new).into();
    }
    let mut all = Vec::new();
    for left in 0..nodes {
        for a in programs(left, first) {
            for b in programs(nodes - 1 - left, first + a.gates()) {
                for node in [Then, Catch, Finally] {
                    all.push(Rc::new(node(a.clone(), b.clone())));
                }
            }
        }
    }
    all
}

#[test]
fn all_small_programs_give_the_same_in_each_style_cancelled_at_each_moment() {
    let mut runs = 0;
    for nodes in 0..=2 {
        for program in programs(nodes, 0) {
            runs += agree_always(&program, true);
        }
    }
    assert!(runs > 10_000, "only {runs} runs");
}

/// A seeded generator of programs: a word of state.
struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    fn program(&mut self, nodes: u64, gates: &mut usize) -> Rc<Program> {
        if nodes == 0 {
            return Rc::new(match self.below(6) {
                0 => Value(7),
                1 => Fail,
                2 => Pause,
                3 => self.numbered(Stubborn, gates),
                _ => self.numbered(Gate, gates),
            });
        }
        let left = self.below(nodes);
        let a = self.program(left, gates);
        let b = self.program(nodes - 1 - left, gates);
        Rc::new(match self.below(3) {
            0 => Catch(a, b),
            1 => Finally(a, b),
            _ => Then(a, b),
        })
    }

    /// A program with sides that run together. Each begins with a gate, and none pauses: so one side moves at a
    /// time, and which error is the first does not hang on the order that the styles have on purpose.
    fn sides(&mut self, nodes: u64, gates: &mut usize) -> Rc<Program> {
        if nodes == 0 {
            return Rc::new(match self.below(4) {
                0 => Value(7),
                1 => Fail,
                2 => self.numbered(Stubborn, gates),
                _ => self.numbered(Gate, gates),
            });
        }
        let left = self.below(nodes);
        let right = nodes - 1 - left;
        match self.below(5) {
            0 => {
                let (a, b) = (self.sides(left, gates), self.sides(right, gates));
                Rc::new(Catch(a, b))
            }
            1 => {
                let (a, b) = (self.sides(left, gates), self.sides(right, gates));
                Rc::new(Finally(a, b))
            }
            2 => {
                let (a, b) = (self.sides(left, gates), self.sides(right, gates));
                Rc::new(Then(a, b))
            }
            _ => {
                let (a, b) = (self.side(left, gates), self.side(right, gates));
                Rc::new(Both(a, b))
            }
        }
    }

    fn side(&mut self, nodes: u64, gates: &mut usize) -> Rc<Program> {
        let gate = Rc::new(self.numbered(Gate, gates));
        Rc::new(Then(gate, self.sides(nodes, gates)))
    }

    fn numbered(&self, gate: fn(usize) -> Program, gates: &mut usize) -> Program {
        *gates += 1;
        gate(*gates - 1)
    }
}

#[test]
fn larger_programs_give_the_same_in_each_style() {
    let mut draw = Draw(2026);
    for nodes in 3..9 {
        for _ in 0..60 {
            let program = draw.program(nodes, &mut 0);
            if program.gates() <= 4 {
                agree_always(&program, true);
            }
        }
    }
}

#[test]
fn programs_with_sides_give_the_same_in_each_style() {
    let mut draw = Draw(7);
    for nodes in 1..7 {
        for _ in 0..60 {
            let program = draw.sides(nodes, &mut 0);
            if program.gates() <= 7 {
                agree_always(&program, false);
            }
        }
    }
}

#[test]
fn cancelling_reaches_both_sides_in_each_style() {
    for style in [Style::Binds, Style::Async, Style::Fiber] {
        let sides = Both(Rc::new(Gate(0)), Rc::new(Finally(Rc::new(Gate(1)), Rc::new(Pause))));
        let script = Script { opens: 3, cancel: Cancel::After(0) };
        let (outcome, mut trace) = run(style, &Rc::new(sides), script);
        trace.sort();
        assert_eq!(outcome, "canceled", "{style:?}");
        assert_eq!(trace, ["finally 0", "gate canceled", "gate canceled"], "{style:?}");
    }
}

#[test]
fn a_panic_is_the_same_rejection_in_each_style() {
    let (gate, open) = pair::<()>();
    let gate = gate.shared();
    let broken = || -> Result<i64, Error> { panic!("the same") };
    let bound = gate.bind(move |()| broken());
    let (for_task, for_fiber) = (gate.promise(), gate.promise());
    let task = try_spawn(async move {
        for_task.await?;
        broken()
    });
    let fiber = lisle_direct::try_spawn(move |fiber| {
        fiber.wait(for_fiber)?;
        broken()
    });
    drain();
    open.resolve(());
    drain();
    for promise in [bound, task, fiber] {
        let error = promise.try_take().expect("settled").expect_err("it panicked");
        assert_eq!(error.panic_message(), Some("the same"));
    }
}

/// A trace of words, and a callback's way to write one.
#[derive(Clone, Default)]
struct Words(Rc<RefCell<Vec<&'static str>>>);

impl Words {
    fn add(&self, word: &'static str) {
        self.0.borrow_mut().push(word);
    }

    fn take(&self) -> Vec<&'static str> {
        self.0.take()
    }
}

#[test]
fn a_bind_resumes_inside_of_the_resolution() {
    let words = Words::default();
    let (promise, resolver) = pair::<()>();
    let inside = words.clone();
    let bound = promise.bind(move |()| {
        inside.add("callback");
        Ok::<_, Error>(())
    });
    words.add("bound");
    resolver.resolve(());
    words.add("resolved");
    assert_eq!(words.take(), ["bound", "callback", "resolved"]);
    assert!(!bound.is_pending(), "and its result is there when `resolve` returns");
}

#[test]
fn a_task_begins_at_once_and_resumes_through_the_run_queue() {
    let words = Words::default();
    let (promise, resolver) = pair::<()>();
    let inside = words.clone();
    let task = try_spawn(async move {
        inside.add("begin");
        promise.await?;
        inside.add("resumed");
        Ok::<_, Error>(())
    });
    words.add("spawned");
    resolver.resolve(());
    words.add("resolved");
    assert!(task.is_pending());
    assert_eq!(run_ready(), 1);
    assert_eq!(words.take(), ["begin", "spawned", "resolved", "resumed"]);
    assert!(!task.is_pending());
}

#[test]
fn a_fiber_begins_and_resumes_through_the_run_queue() {
    let words = Words::default();
    let (promise, resolver) = pair::<()>();
    let inside = words.clone();
    let fiber = lisle_direct::try_spawn(move |fiber| {
        inside.add("begin");
        fiber.wait(promise)?;
        inside.add("resumed");
        Ok::<_, Error>(())
    });
    words.add("spawned");
    assert_eq!(run_ready(), 1);
    resolver.resolve(());
    words.add("resolved");
    assert!(fiber.is_pending());
    assert_eq!(run_ready(), 1);
    assert_eq!(words.take(), ["spawned", "begin", "resolved", "resumed"]);
    assert!(!fiber.is_pending());
}

#[test]
fn of_three_that_wait_for_one_promise_the_bind_is_first_and_the_others_are_queued_newest_first() {
    let words = Words::default();
    let (promise, resolver) = pair::<()>();
    let shared = promise.shared();
    let (in_fiber, in_task, in_bind) = (words.clone(), words.clone(), words.clone());
    let (for_fiber, for_task) = (shared.promise(), shared.promise());
    let fiber = lisle_direct::spawn(move |fiber| fiber.wait(for_fiber).map(|()| in_fiber.add("fiber")));
    drain();
    let task = lisle::spawn(async move { for_task.await.map(|()| in_task.add("task")) });
    let bound = shared.map(move |()| in_bind.add("callback"));
    resolver.resolve(());
    words.add("resolved");
    drain();
    assert_eq!(words.take(), ["callback", "resolved", "task", "fiber"]);
    assert!(!(fiber.is_pending() || task.is_pending() || bound.is_pending()));
}

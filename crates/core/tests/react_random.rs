//! Random graphs against a slow and obvious model: values in an array, worked out anew in each step, in the order
//! in which the graph was made. The graph must agree after every step, and run no function twice in one.

use lisle_core::react::{Event, Sender, Setter, Signal, event, l2, l3, signal, step};
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::rc::Rc;

/// A generator of numbers that are random enough (xorshift).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % sides
    }
}

/// What the model knows of each signal and event: now, and before the step.
#[derive(Default)]
struct World {
    signals: Vec<i64>,
    before: Vec<i64>,
    events: Vec<Option<i64>>,
}

impl World {
    fn changed(&self, signal: usize) -> Option<i64> {
        (self.signals[signal] != self.before[signal]).then_some(self.signals[signal])
    }
}

type Rule = Box<dyn FnMut(&World) -> Option<i64>>;

enum Made {
    Signal(usize, Rule),
    Event(usize, Rule),
}

/// How often each function ran in this step.
type Runs = Rc<RefCell<Vec<u32>>>;

struct Graph {
    dice: Dice,
    world: World,
    rules: Vec<Made>,
    signals: Vec<Signal<i64>>,
    events: Vec<Event<i64>>,
    setters: Vec<Setter<i64>>,
    senders: Vec<Sender<i64>>,
    listeners: Vec<Event<()>>,
    /// Signals and listeners that are no longer compared, since a function of the graph may have dropped them.
    doomed: (HashSet<usize>, HashSet<usize>),
    seen: Rc<RefCell<Vec<(usize, i64)>>>,
    runs: Runs,
}

/// A function that counts its runs and stirs its arguments.
fn counted(runs: &Runs) -> impl Fn(i64, i64) -> i64 + 'static {
    let (runs, index) = (runs.clone(), runs.borrow().len());
    runs.borrow_mut().push(0);
    move |a, b| {
        runs.borrow_mut()[index] += 1;
        stir(a, b)
    }
}

fn stir(a: i64, b: i64) -> i64 {
    (a * 3 + b * 5 + 1) % 7
}

impl Graph {
    fn new(seed: u64) -> Graph {
        let mut graph = Graph {
            dice: Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1),
            world: World::default(),
            rules: Vec::new(),
            signals: Vec::new(),
            events: Vec::new(),
            setters: Vec::new(),
            senders: Vec::new(),
            listeners: Vec::new(),
            doomed: Default::default(),
            seen: Rc::default(),
            runs: Rc::default(),
        };
        for first in 0..4 {
            let (made, setter) = signal(first);
            graph.signals.push(made);
            graph.setters.push(setter);
            graph.world.signals.push(first);
            let (made, sender) = event();
            graph.listen(&made);
            graph.events.push(made);
            graph.senders.push(sender);
            graph.world.events.push(None);
        }
        graph.world.before = graph.world.signals.clone();
        graph
    }

    fn some_signal(&mut self) -> (usize, Signal<i64>) {
        let index = self.dice.roll(self.signals.len());
        (index, self.signals[index].clone())
    }

    fn some_event(&mut self) -> (usize, Event<i64>) {
        let index = self.dice.roll(self.events.len());
        (index, self.events[index].clone())
    }

    fn listen(&mut self, made: &Event<i64>) {
        let (seen, index) = (self.seen.clone(), self.events.len());
        self.listeners.push(made.map(move |&value| seen.borrow_mut().push((index, value))));
    }

    fn add_signal(&mut self, made: Signal<i64>, mut rule: impl FnMut(&World) -> Option<i64> + 'static) {
        let now = made.value();
        if let Some(value) = rule(&self.world) {
            assert_eq!(now, value, "the first value");
        }
        self.rules.push(Made::Signal(self.signals.len(), Box::new(rule)));
        self.signals.push(made);
        self.world.signals.push(now);
        self.world.before.push(now);
    }

    fn add_event(&mut self, made: Event<i64>, rule: impl FnMut(&World) -> Option<i64> + 'static) {
        self.listen(&made);
        self.rules.push(Made::Event(self.events.len(), Box::new(rule)));
        self.events.push(made);
        self.world.events.push(None);
    }

    fn grow_static_signal(&mut self) {
        let ((i, a), (j, b), (k, c)) = (self.some_signal(), self.some_signal(), self.some_signal());
        let (e, event) = self.some_event();
        let f = counted(&self.runs);
        match self.dice.roll(5) {
            0 => self.add_signal(a.map(move |&a| f(a, 0)), move |w| Some(stir(w.signals[i], 0))),
            1 => self.add_signal(l2(&a, &b, move |&a, &b| f(a, b)), move |w| {
                Some(stir(w.signals[i], w.signals[j]))
            }),
            2 => self.add_signal(l3(&a, &b, &c, move |&a, &b, &c| f(a, b) + c), move |w| {
                Some(stir(w.signals[i], w.signals[j]) + w.signals[k])
            }),
            3 => {
                let test = a.map(|a| a % 2 == 0);
                self.add_signal(b.on(&test, 3), move |w| (w.signals[i] % 2 == 0).then(|| w.signals[j]));
            }
            _ => self.add_signal(event.hold(0), move |w| w.events[e]),
        }
    }

    fn grow_dynamic_signal(&mut self) {
        let ((i, a), (j, b), (k, c)) = (self.some_signal(), self.some_signal(), self.some_signal());
        let made = a.bind(move |&n| {
            if n % 2 == 0 {
                return b.clone();
            }
            // A part of the graph that is made within a step.
            c.map(move |&c| c + n).map(move |&sum| stir(sum, 1))
        });
        self.add_signal(made, move |w| match w.signals[i] {
            n if n % 2 == 0 => Some(w.signals[j]),
            n => Some(stir(w.signals[k] + n, 1)),
        });
    }

    fn grow_event(&mut self) {
        let ((i, a), (j, b)) = (self.some_event(), self.some_event());
        let (s, at) = self.some_signal();
        let f = counted(&self.runs);
        match self.dice.roll(8) {
            0 => self.add_event(a.map(move |&a| f(a, 2)), move |w| Some(stir(w.events[i]?, 2))),
            1 => self.add_event(Event::select([a, b]), move |w| w.events[i].or(w.events[j])),
            2 => self.add_event(Event::merge([a, b], 0, move |sum, &n| (sum + n) % 9), move |w| {
                let both = [w.events[i], w.events[j]];
                (both != [None, None]).then(|| both.iter().flatten().fold(0, |sum, n| (sum + n) % 9))
            }),
            3 => self.add_event(a.dismiss(&b), move |w| w.events[i].filter(|_| w.events[j].is_none())),
            4 => self.add_event(at.changes(), move |w| w.changed(s)),
            5 => self.add_event(at.sample(&a, move |&a, &s| f(a, s)), move |w| {
                Some(stir(w.events[i]?, w.signals[s]))
            }),
            6 => {
                let mut state = 1;
                self.add_event(a.fold(1, move |&sum, &n| f(sum, n)), move |w| {
                    state = stir(state, w.events[i]?);
                    Some(state)
                });
            }
            _ => {
                // Turns to `b`, or to a part of it made in that step, whenever the signal changes.
                let turns = at
                    .changes()
                    .map(move |&n| if n % 2 == 0 { b.clone() } else { b.map(move |&b| stir(b, n)) });
                let mut turned = None;
                self.add_event(a.switch(&turns), move |w| {
                    turned = w.changed(s).or(turned);
                    match turned {
                        None => w.events[i],
                        Some(n) if n % 2 == 0 => w.events[j],
                        Some(n) => Some(stir(w.events[j]?, n)),
                    }
                });
            }
        }
    }

    fn grow(&mut self) {
        match self.dice.roll(5) {
            0 | 1 => self.grow_static_signal(),
            2 => self.grow_dynamic_signal(),
            _ => self.grow_event(),
        }
    }

    /// One step of the graph and of the model; they must agree.
    fn step(&mut self) {
        self.runs.borrow_mut().fill(0);
        self.seen.borrow_mut().clear();
        self.world.before = self.world.signals.clone();
        self.world.events.fill(None);
        step(|step| {
            for index in 0..self.setters.len() {
                let value = self.dice.roll(5) as i64;
                if self.dice.roll(3) == 0 {
                    step.set(&self.setters[index], value);
                    self.world.signals[index] = value;
                }
                if self.dice.roll(3) == 0 {
                    step.send(&self.senders[index], value);
                    self.world.events[index] = Some(value);
                }
            }
        });
        for made in &mut self.rules {
            match made {
                Made::Signal(index, rule) => {
                    if let Some(value) = rule(&self.world) {
                        self.world.signals[*index] = value;
                    }
                }
                Made::Event(index, rule) => self.world.events[*index] = rule(&self.world),
            }
        }
        self.compare();
        self.world.events.fill(None);
        self.world.before = self.world.signals.clone();
    }

    fn compare(&self) {
        for (index, signal) in self.signals.iter().enumerate().filter(|(i, _)| !self.doomed.0.contains(i)) {
            assert_eq!(signal.value(), self.world.signals[index], "signal {index}");
        }
        let mut seen = self.seen.borrow().clone();
        seen.retain(|(index, _)| !self.doomed.1.contains(index));
        seen.sort_unstable();
        let events = self.world.events.iter().enumerate().filter(|(i, _)| !self.doomed.1.contains(i));
        let expected: Vec<(usize, i64)> = events.filter_map(|(i, value)| Some((i, (*value)?))).collect();
        assert_eq!(seen, expected, "events");
        assert!(self.runs.borrow().iter().all(|&runs| runs <= 1), "a function ran twice in a step");
    }
}

#[test]
fn random_graphs_are_as_if_worked_out_anew() {
    for seed in 1..=150 {
        let mut graph = Graph::new(seed);
        for _ in 0..40 {
            graph.grow();
        }
        for _ in 0..40 {
            graph.step();
        }
    }
}

#[test]
fn a_graph_that_grows_between_steps_is_as_if_worked_out_anew() {
    for seed in 200..=300 {
        let mut graph = Graph::new(seed);
        for _ in 0..60 {
            graph.grow();
            graph.step();
        }
    }
}

#[test]
fn what_is_dropped_within_steps_disturbs_nobody() {
    for seed in 400..=500 {
        let mut graph = Graph::new(seed);
        (0..40).for_each(|_| graph.grow());
        // Half of the handles go into a basket that functions of the graph empty, one in each step.
        let basket: Rc<RefCell<Vec<Box<dyn Any>>>> = Rc::default();
        for index in 4..graph.signals.len() {
            if graph.dice.roll(2) == 0 {
                let taken = std::mem::replace(&mut graph.signals[index], Signal::constant(0));
                graph.doomed.0.insert(index);
                basket.borrow_mut().push(Box::new(taken));
            }
        }
        for index in 4..graph.events.len() {
            if graph.dice.roll(2) == 0 {
                graph.events[index] = Event::never();
                let listener = std::mem::replace(&mut graph.listeners[index], Event::never());
                graph.doomed.1.insert(index);
                basket.borrow_mut().push(Box::new(listener));
            }
        }
        let size = basket.borrow().len();
        let (emptied, mut deep) = (basket.clone(), graph.events[0].clone());
        for _ in 0..seed % 5 {
            deep = deep.map(|n| n + 1);
        }
        let _killer = deep.map(move |_| {
            let last = emptied.borrow_mut().pop();
            drop(last);
        });
        (0..60).for_each(|_| graph.step());
        assert!(basket.borrow().len() < size, "something was dropped");
    }
}

#[test]
fn a_new_generator_rolls_all_sides() {
    let (mut dice, seen) = (Dice(3), Cell::new(0_u32));
    (0..200).for_each(|_| seen.set(seen.get() | 1 << dice.roll(8)));
    assert_eq!(seen.get(), 255);
}

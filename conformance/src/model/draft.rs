//! Programs that nobody wrote: a tree of small numbers, and the text that it stands for.
//!
//! Any tree of the right type is a program, so it can be drawn, mutated and shrunk without a look at the
//! grammar: a number that is too large wraps, one that is missing is 0, a block that is missing is empty.
//! What statements there are is one table, [`FORMS`]; to add a statement, add its row.
//!
//! Few registers and many statements, so that statements meet. The first lines make a few pending promises:
//! without them most statements would find a settled one.

use std::fmt::{self, Write as _};

use crate::parse::{Case, cases};

/// Promise registers that a draft uses.
const PROMISES: u8 = 8;
/// Resolver registers.
const RESOLVERS: u8 = 6;
/// Promises in a list, at most.
const LIST_MAX: u8 = 3;
/// How deep blocks nest in a draft made from bytes.
const DEPTH_MAX: u32 = 3;
/// Statements of a block in a draft made from bytes, at most.
const BLOCK_MAX: u8 = 4;
/// Statements of a draft made from bytes, at most: each may be a resolution inside of the others.
const STATEMENTS_MAX: usize = 64;

/// What stands after the word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operand {
    Promise,
    Resolver,
    Value,
    Fault,
    /// Promises, at least so many.
    List(u8),
}

use Operand::{Fault, List, Promise, Resolver, Value};

/// What the last line of a block may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// `val`, `err`, `ret` or none.
    Function,
    /// `val`, `err` or none.
    Plain,
    /// None.
    Callback,
}

use Kind::{Callback, Function, Plain};

/// A row of the table: a word of the language and what it takes.
#[derive(Debug)]
pub struct Form {
    word: &'static str,
    /// How often it is drawn, compared with the others.
    weight: u32,
    operands: &'static [Operand],
    blocks: &'static [Kind],
}

impl Form {
    /// The word that the statement begins with.
    #[must_use]
    pub fn word(&self) -> &'static str {
        self.word
    }

    /// How often it is to be drawn, compared with the others.
    #[must_use]
    pub fn weight(&self) -> u32 {
        self.weight
    }

    /// How many blocks it has.
    #[must_use]
    pub fn blocks(&self) -> usize {
        self.blocks.len()
    }
}

const fn form(
    weight: u32,
    word: &'static str,
    operands: &'static [Operand],
    blocks: &'static [Kind],
) -> Form {
    Form { word, weight, operands, blocks }
}

/// From the simplest to those that shrinking should leave first.
const FORMS: [Form; 37] = [
    form(2, "ready", &[Promise, Value], &[]),
    form(2, "fail", &[Promise, Fault], &[]),
    form(2, "state", &[Promise], &[]),
    form(8, "wait", &[Promise, Resolver], &[]),
    form(8, "task", &[Promise, Resolver], &[]),
    form(10, "wake", &[Resolver, Value], &[]),
    form(5, "wakex", &[Resolver, Fault], &[]),
    form(14, "later", &[Resolver, Value], &[]),
    form(6, "laterx", &[Resolver, Fault], &[]),
    form(8, "cancel", &[Promise], &[]),
    form(3, "pause", &[Promise], &[]),
    form(3, "lap", &[], &[]),
    form(3, "protected", &[Promise, Promise], &[]),
    form(3, "nocancel", &[Promise, Promise], &[]),
    form(3, "wrapc", &[Promise, Promise], &[]),
    form(3, "join", &[Promise, List(0)], &[]),
    form(3, "both", &[Promise, Promise, Promise], &[]),
    form(3, "all", &[Promise, List(0)], &[]),
    form(3, "choose", &[Promise, List(1)], &[]),
    form(4, "pick", &[Promise, List(1)], &[]),
    form(3, "nchoose", &[Promise, List(1)], &[]),
    form(4, "npick", &[Promise, List(1)], &[]),
    form(6, "map", &[Promise, Promise], &[Plain]),
    form(14, "bind", &[Promise, Promise], &[Function]),
    form(6, "catch", &[Promise, Promise], &[Function]),
    form(6, "try", &[Promise, Promise], &[Function, Function]),
    form(6, "fin", &[Promise, Promise], &[Function]),
    form(4, "succ", &[Promise], &[Callback]),
    form(4, "failure", &[Promise], &[Callback]),
    form(6, "term", &[Promise], &[Callback]),
    form(8, "any", &[Promise], &[Callback, Callback]),
    form(6, "oncancel", &[Promise], &[Callback]),
    form(2, "async", &[], &[Function]),
    form(2, "dontwait", &[], &[Function, Callback]),
    // Chains through one register, as recursive programs make them.
    form(2, "bind", &[Promise, Promise], &[Function]),
    form(1, "try", &[Promise, Promise], &[Function, Function]),
    form(1, "cancel", &[Promise], &[]),
];

/// The statements that a draft may have.
#[must_use]
pub fn forms() -> &'static [Form] {
    &FORMS
}

/// A program; [`fmt::Display`] writes it in the language, and so does [`fmt::Debug`]: who fails wants to read
/// it.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Draft {
    /// One promise each, in registers from p0 and u0 on.
    pub opening: Vec<u8>,
    /// The program.
    pub statements: Vec<DraftStatement>,
}

/// A statement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DraftStatement {
    /// Its row in [`forms`].
    pub form: usize,
    /// What its operands are made from.
    pub numbers: Vec<u8>,
    /// Its blocks.
    pub blocks: Vec<DraftBlock>,
}

/// A block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DraftBlock {
    /// All but its last line.
    pub statements: Vec<DraftStatement>,
    /// What its last line is made from.
    pub ending: (u8, u8),
}

/// Numbers one after the other; 0 when there are no more.
struct Numbers<'a>(&'a [u8]);

impl Numbers<'_> {
    fn next(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }
}

impl Draft {
    /// The draft that bytes stand for; every sequence of bytes is one.
    #[must_use]
    pub fn of_bytes(bytes: &[u8]) -> Draft {
        let mut bytes = Numbers(bytes);
        let count = 2 + bytes.next() % (RESOLVERS - 1);
        let mut draft = Draft { opening: (0..count).map(|_| bytes.next()).collect(), statements: Vec::new() };
        let mut left = STATEMENTS_MAX;
        while left > 0 && !bytes.0.is_empty() {
            draft.statements.push(DraftStatement::of_bytes(&mut bytes, DEPTH_MAX, &mut left));
        }
        draft
    }

    /// The draft as a case, its trace not known yet.
    ///
    /// # Panics
    /// If what a draft writes is not in the language: a mistake of this file.
    #[must_use]
    pub fn case(&self) -> Case {
        let text = format!("#draft -\n{self}--\n=\n");
        match cases(&text) {
            Ok(mut cases) => cases.remove(0),
            Err(problem) => panic!("a draft is not in the language: {problem}\n{text}"),
        }
    }
}

impl DraftStatement {
    fn of_bytes(bytes: &mut Numbers<'_>, depth: u32, left: &mut usize) -> DraftStatement {
        *left = left.saturating_sub(1);
        let form = usize::from(bytes.next()) % FORMS.len();
        let row = &FORMS[form];
        let wanted = row.operands.iter().map(|operand| match operand {
            List(_) => 1 + usize::from(LIST_MAX),
            _ => 1,
        });
        let numbers = (0..wanted.sum()).map(|_| bytes.next()).collect();
        let blocks = row.blocks.iter().map(|_| DraftBlock::of_bytes(bytes, depth, left)).collect();
        DraftStatement { form, numbers, blocks }
    }
}

impl DraftBlock {
    fn of_bytes(bytes: &mut Numbers<'_>, depth: u32, left: &mut usize) -> DraftBlock {
        let count = if depth == 0 { 0 } else { bytes.next() % (BLOCK_MAX + 1) };
        let mut statements = Vec::new();
        for _ in 0..count {
            if *left > 0 {
                statements.push(DraftStatement::of_bytes(bytes, depth - 1, left));
            }
        }
        DraftBlock { statements, ending: (bytes.next(), bytes.next()) }
    }
}

/// Writes a draft in the language and numbers its blocks.
struct Writer<'a, 'b> {
    out: &'a mut fmt::Formatter<'b>,
    label: u32,
}

impl fmt::Display for Draft {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, kind) in (0..RESOLVERS).zip(&self.opening) {
            let word = if kind % 2 == 0 { "wait" } else { "task" };
            writeln!(out, "{word} p{index} u{index}")?;
        }
        let mut writer = Writer { out, label: 0 };
        self.statements.iter().try_for_each(|statement| writer.statement(statement, true))
    }
}

impl fmt::Debug for Draft {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "\n{self}")
    }
}

impl Writer<'_, '_> {
    fn statement(&mut self, statement: &DraftStatement, at_top: bool) -> fmt::Result {
        let form = &FORMS[statement.form % FORMS.len()];
        if form.word == "lap" && !at_top {
            return Ok(());
        }
        self.out.write_str(form.word)?;
        let mut numbers = Numbers(&statement.numbers);
        form.operands.iter().try_for_each(|operand| self.operand(*operand, &mut numbers))?;
        let empty = DraftBlock::default();
        for (index, kind) in form.blocks.iter().enumerate() {
            self.label += 1;
            let before = if index == 0 { "" } else { "}" };
            writeln!(self.out, "{before} {{{}", self.label)?;
            self.block(statement.blocks.get(index).unwrap_or(&empty), *kind)?;
        }
        self.out.write_str(if form.blocks.is_empty() { "\n" } else { "}\n" })
    }

    fn operand(&mut self, operand: Operand, numbers: &mut Numbers<'_>) -> fmt::Result {
        self.out.write_char(' ')?;
        match operand {
            Promise => write!(self.out, "p{}", numbers.next() % PROMISES),
            Resolver => write!(self.out, "u{}", numbers.next() % RESOLVERS),
            Value => self.value(numbers.next()),
            Fault => self.fault(numbers.next()),
            List(min) => {
                let count = min + numbers.next() % (LIST_MAX + 1 - min);
                let list: Vec<String> =
                    (0..count).map(|_| format!("p{}", numbers.next() % PROMISES)).collect();
                self.out.write_str(&list.join(" "))
            }
        }
    }

    fn value(&mut self, number: u8) -> fmt::Result {
        match number % 8 {
            6 => self.out.write_str("x"),
            7 => write!(self.out, "x+{}", number / 8 % 5),
            plain => write!(self.out, "{plain}"),
        }
    }

    fn fault(&mut self, number: u8) -> fmt::Result {
        match number % 6 {
            4 => self.out.write_str("C"),
            5 => self.out.write_str("e"),
            code => write!(self.out, "E{}", code + 1),
        }
    }

    fn block(&mut self, block: &DraftBlock, kind: Kind) -> fmt::Result {
        block.statements.iter().try_for_each(|statement| self.statement(statement, false))?;
        let (ending, number) = block.ending;
        match (kind, ending % 8) {
            (Callback, _) | (_, 0) => return Ok(()),
            (Plain, 1..=5) | (Function, 1..=2) => {
                self.out.write_str("val ")?;
                self.value(number)?;
            }
            (Plain, _) | (Function, 3) => {
                self.out.write_str("err ")?;
                self.fault(number)?;
            }
            (Function, _) => write!(self.out, "ret p{}", number % PROMISES)?,
        }
        self.out.write_char('\n')
    }
}

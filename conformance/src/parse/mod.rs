//! Text to tree: a corpus file to its cases, the lines of a program to statements with nested blocks.
//!
//! The grammar is `golden/FORMAT.md` sections 1 and 2. It is read strictly: an unknown word, a missing or
//! superfluous operand, a block too many is a `Problem` with its line number, for a program that is read
//! wrongly would otherwise show up as a wrong library.
//!
//! Here: files, cases, the nesting of blocks. In `statement`: the operands and the table of the statements'
//! words.

mod statement;

use std::iter::Peekable;
use std::sync::Arc;
use std::{error, fmt};

use crate::program::{Block, Ending};
use statement::Line;

/// One program of the corpus with the trace that the reference gives for it.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its name without the `#`: `core-0042`.
    pub name: String,
    /// Tags of its header; none for most cases.
    pub tags: Vec<String>,
    /// The program's lines as they stand in the file.
    pub source: Vec<String>,
    /// The expected trace.
    pub expected: Vec<String>,
    pub(crate) program: Arc<Block>,
    /// Number of the highest promise register that the program names.
    pub(crate) highest: Option<usize>,
}

/// Why a text is no corpus file.
#[derive(Debug)]
pub struct Problem {
    /// Line number in the file, from 1.
    pub line: usize,
    /// What is wrong there.
    pub reason: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.reason)
    }
}

impl error::Error for Problem {}

/// Label of the program itself; blocks written in a program are numbered from 1.
const PROGRAM_LABEL: u32 = 0;

type Numbered<'a> = (usize, &'a str);

/// Reads all cases of a corpus file.
///
/// # Errors
/// The first line that does not belong to the language.
pub fn cases(text: &str) -> Result<Vec<Case>, Problem> {
    let lines: Vec<Numbered<'_>> = text.lines().enumerate().map(|(i, line)| (i + 1, line)).collect();
    if let Some((number, line)) = lines.first().filter(|(_, line)| !line.starts_with('#')) {
        return Err(problem(*number, format!("a file starts with the header of a case, not with {line:?}")));
    }
    let heads = lines.iter().enumerate().filter(|(_, (_, line))| line.starts_with('#')).map(|(i, _)| i);
    let ends = heads.clone().skip(1).chain([lines.len()]);
    heads.zip(ends).map(|(head, end)| case(&lines[head..end])).collect()
}

fn case(lines: &[Numbered<'_>]) -> Result<Case, Problem> {
    let (number, header) = lines[0];
    let Some((name, tags)) = header[1..].split_once(' ') else {
        return Err(problem(number, "a header is '#', a name, a space, and tags or '-'"));
    };
    let Some(separator) = lines.iter().position(|(_, line)| *line == "--") else {
        return Err(problem(number, format!("{name} has no line '--' between program and trace")));
    };
    let (source, expected) = (&lines[1..separator], &lines[separator + 1..]);
    match expected.last() {
        Some((_, last)) if *last == "=" || last.starts_with("= ") => {}
        _ => return Err(problem(number, format!("the trace of {name} does not end with a line '= …'"))),
    }
    Ok(Case {
        name: name.to_owned(),
        tags: tags.split(',').filter(|tag| *tag != "-").map(str::to_owned).collect(),
        source: source.iter().map(|(_, line)| (*line).to_owned()).collect(),
        expected: expected.iter().map(|(_, line)| (*line).to_owned()).collect(),
        program: Arc::new(program(source)?),
        highest: source.iter().flat_map(|(_, line)| line.split(' ')).filter_map(statement::promise).max(),
    })
}

fn program(source: &[Numbered<'_>]) -> Result<Block, Problem> {
    let mut lines = source.iter().copied().peekable();
    let program = block(PROGRAM_LABEL, &mut lines)?;
    match (lines.next(), program.ending) {
        (Some((number, line)), _) => Err(problem(number, format!("{line:?} closes nothing"))),
        (None, Ending::Nothing) => Ok(program),
        (None, _) => {
            Err(problem(source.last().map_or(0, |line| line.0), "val, err, ret stand only in a block"))
        }
    }
}

/// Reads statements up to the end, or up to a line that starts with `}`, which it leaves to its caller.
fn block<'a>(label: u32, lines: &mut Peekable<impl Iterator<Item = Numbered<'a>>>) -> Result<Block, Problem> {
    let mut statements = Vec::new();
    let mut ending = Ending::Nothing;
    while let Some((number, text)) = lines.next_if(|(_, line)| !line.starts_with('}')) {
        if ending != Ending::Nothing {
            return Err(problem(number, "val, err, ret stand only in the last line of a block"));
        }
        let (text, label) = split_label(text);
        let bodies = if label.is_some() { bodies(number, label, lines)? } else { Vec::new() };
        let mut line = Line::new(text, bodies);
        let read = match statement::ending(&mut line) {
            Some(found) => found.map(|found| ending = found),
            None => statement::action(&mut line).map(|action| statements.push(action)),
        };
        read.and_then(|()| line.finish()).map_err(|reason| problem(number, format!("{text:?}: {reason}")))?;
    }
    Ok(Block { label, statements, ending })
}

/// Reads the blocks of one statement; `label` is the first one's.
fn bodies<'a>(
    start: usize,
    mut label: Option<u32>,
    lines: &mut Peekable<impl Iterator<Item = Numbered<'a>>>,
) -> Result<Vec<Arc<Block>>, Problem> {
    let mut bodies = Vec::new();
    while let Some(open) = label {
        bodies.push(Arc::new(block(open, lines)?));
        let Some((number, closing)) = lines.next() else {
            return Err(problem(start, "its block is not closed"));
        };
        let (brace, next) = split_label(closing);
        if brace != "}" {
            return Err(problem(number, format!("{closing:?} is neither '}}' nor '}} {{M'")));
        }
        label = next;
    }
    Ok(bodies)
}

/// Takes the `{L` off the end of a line.
fn split_label(line: &str) -> (&str, Option<u32>) {
    let split = line.rsplit_once(" {").and_then(|(rest, label)| Some((rest, label.parse().ok()?)));
    split.map_or((line, None), |(rest, label)| (rest, Some(label)))
}

fn problem(line: usize, reason: impl Into<String>) -> Problem {
    Problem { line, reason: reason.into() }
}

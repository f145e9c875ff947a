//! The golden traces at a terminal.
//!
//! ```text
//! lisle-conformance [DIR] [--names]          run every corpus file of DIR; --names prints every failing case
//! lisle-conformance [DIR] --family NAME…     run these corpus files only
//! lisle-conformance [DIR] --verbose NAME     print a case: program, expected trace, actual trace
//!
//! --engine NAME                              with laps of a runtime on this engine, instead of core's alone
//! ```
//!
//! DIR is `conformance/golden` if it is not given. Exit code: 0 all passed, 1 some failed, 2 nothing could
//! be run.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs};

use lisle::EngineKind;
use lisle_conformance::{Case, Deviations, Family, Laps, Verdict, cases, judge_with};

/// Failing cases that are printed for a family unless all are wanted.
const NAMES_MAX: usize = 10;

const USAGE: &str = "[DIR] [--names] [--family NAME]… [--verbose NAME] [--engine NAME]";

struct Arguments {
    dir: PathBuf,
    all_names: bool,
    /// Only these; all, if there are none.
    families: Vec<String>,
    verbose: Option<String>,
    laps: Laps,
}

fn main() -> ExitCode {
    let done = arguments().and_then(|arguments| match &arguments.verbose {
        Some(name) => show(&arguments.dir, name.trim_start_matches('#'), arguments.laps),
        None => run_all(&arguments),
    });
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("lisle-conformance: {error}");
            ExitCode::from(2)
        }
    }
}

fn arguments() -> Result<Arguments, Box<dyn Error>> {
    let mut dir = None;
    let (mut all_names, mut verbose, mut families) = (false, None, Vec::new());
    let mut laps = Laps::Core;
    let mut words = env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--names" => all_names = true,
            "--family" => families.push(words.next().ok_or("--family wants the name of a corpus file")?),
            "--verbose" => verbose = Some(words.next().ok_or("--verbose wants the name of a case")?),
            "--engine" => laps = Laps::Engine(engine(words.next())?),
            option if option.starts_with('-') => return Err(format!("{option}? Use: {USAGE}").into()),
            path if dir.is_none() => dir = Some(PathBuf::from(path)),
            path => return Err(format!("{path}? One directory is enough").into()),
        }
    }
    let dir = dir.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("golden"));
    Ok(Arguments { dir, all_names, families, verbose, laps })
}

fn engine(name: Option<String>) -> Result<EngineKind, String> {
    let kind = EngineKind::ALL.into_iter().find(|kind| Some(kind.name()) == name.as_deref());
    kind.ok_or_else(|| format!("--engine wants one of {}", EngineKind::ALL.map(EngineKind::name).join(", ")))
}

/// The corpus files of a directory, by name: family and text.
fn corpus(dir: &Path) -> Result<Vec<(String, String)>, Box<dyn Error>> {
    let mut corpus = Vec::new();
    for entry in fs::read_dir(dir).map_err(|error| format!("{}: {error}", dir.display()))? {
        let path = entry?.path();
        if let (Some("txt"), Some(family)) =
            (path.extension().and_then(|e| e.to_str()), path.file_stem().and_then(|s| s.to_str()))
        {
            corpus.push((family.to_owned(), fs::read_to_string(&path)?));
        }
    }
    if corpus.is_empty() {
        return Err(format!("{}: no *.txt there, so nothing was checked", dir.display()).into());
    }
    corpus.sort();
    Ok(corpus)
}

/// The corpus files that were asked for.
fn chosen(arguments: &Arguments) -> Result<Vec<(String, String)>, Box<dyn Error>> {
    let mut corpus = corpus(&arguments.dir)?;
    let there = |wanted: &String| corpus.iter().any(|(name, _)| name == wanted);
    if let Some(missing) = arguments.families.iter().find(|wanted| !there(wanted)) {
        return Err(format!("there is no {missing}.txt in {}", arguments.dir.display()).into());
    }
    if !arguments.families.is_empty() {
        corpus.retain(|(name, _)| arguments.families.contains(name));
    }
    Ok(corpus)
}

fn run_all(arguments: &Arguments) -> Result<bool, Box<dyn Error>> {
    let deviations = Deviations::checked_in()?;
    let (mut passed, mut deviating, mut failed) = (0, 0, 0);
    for (name, text) in chosen(arguments)? {
        let family = Family::judge(&name, &text, &deviations, arguments.laps)
            .map_err(|problem| format!("{name}.txt: {problem}"))?;
        println!("{family}");
        print_failing(&family, arguments.all_names);
        passed += family.passed;
        deviating += family.deviating;
        failed += family.failed();
    }
    println!("{deviating} listed deviations");
    println!("{passed} passed, {failed} failed");
    Ok(failed == 0 && passed > 0)
}

fn print_failing(family: &Family, all_names: bool) {
    let shown = if all_names { family.failing.len() } else { NAMES_MAX };
    for (name, reason) in family.failing.iter().take(shown) {
        println!("  #{name} {reason}");
    }
    if family.failing.len() > shown {
        println!("  … and {} more: --names prints them", family.failing.len() - shown);
    }
    for fault in &family.stale {
        println!("  deviations.txt: {fault}");
    }
}

fn show(dir: &Path, name: &str, laps: Laps) -> Result<bool, Box<dyn Error>> {
    for (family, text) in corpus(dir)? {
        let cases = cases(&text).map_err(|problem| format!("{family}.txt: {problem}"))?;
        if let Some(case) = cases.iter().find(|case| case.name == name) {
            return Ok(show_case(case, laps));
        }
    }
    Err(format!("no case #{name} in {}", dir.display()).into())
}

fn show_case(case: &Case, laps: Laps) -> bool {
    let verdict = judge_with(case, laps);
    println!("#{} {}\n{}", case.name, case.tags.join(","), case.source.join("\n"));
    println!("-- expected\n{}", case.expected.join("\n"));
    if let Verdict::Differs(actual) = &verdict {
        println!("-- actual\n{}", actual.join("\n"));
    }
    println!("-- {}", verdict.reason(case));
    verdict == Verdict::Passed
}

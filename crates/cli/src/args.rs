//! The command line: what may be asked, in the words in which it is asked. Parsing only; nothing is decided
//! here.
//!
//! Names of scenarios, engines and styles are checked while parsing, so an unknown one is answered with the
//! list of those there are, and exit code 2.

use crate::bench::case::Style;
use crate::bench::scenarios;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand};
use lisle_engine::EngineKind;

/// Measures the Lisle concurrency library on this machine, and says what it runs on.
#[derive(Debug, Parser)]
#[command(name = "lisle", version, about)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure what promises, tasks, fibers and I/O cost, on each engine and in each style.
    Bench(BenchOptions),
    /// Say which engine would run here and why, and how to get a better one.
    Doctor,
}

/// What to measure, and how.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct BenchOptions {
    /// What to measure, in full; without names, a selection that takes about a minute.
    #[arg(value_name = "SCENARIO", value_parser = PossibleValuesParser::new(scenario_names()))]
    pub(crate) scenarios: Vec<String>,

    /// Only this engine (may be repeated), whatever LISLE_ENGINE says. Scenarios
    /// that need no engine run anyway.
    #[arg(long = "engine", value_name = "ENGINE", value_parser = engine_parser())]
    pub(crate) engines: Vec<EngineKind>,

    /// Only this style (may be repeated).
    #[arg(long = "style", value_name = "STYLE", value_parser = style_parser())]
    pub(crate) styles: Vec<Style>,

    /// How many rounds; engines and styles take turns in each.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) rounds: Option<u32>,

    /// One JSON object per line instead of a table.
    #[arg(long)]
    pub(crate) json: bool,

    /// Run everything, but too shortly for the figures to mean much: tells whether it works at all.
    #[arg(long)]
    pub(crate) quick: bool,
}

fn scenario_names() -> Vec<PossibleValue> {
    let named = scenarios::ALL.iter().map(|scenario| PossibleValue::new(scenario.name).help(scenario.about));
    named.chain([PossibleValue::new(scenarios::EVERYTHING).help("all of them, in full")]).collect()
}

fn engine_parser() -> impl TypedValueParser<Value = EngineKind> {
    PossibleValuesParser::new(EngineKind::ALL.map(EngineKind::name)).map(|name| {
        let kind = EngineKind::ALL.into_iter().find(|kind| kind.name() == name);
        kind.expect("the parser lets only names of engines through")
    })
}

fn style_parser() -> impl TypedValueParser<Value = Style> {
    PossibleValuesParser::new(Style::ALL.map(Style::name)).map(|name| {
        let style = Style::ALL.into_iter().find(|style| style.name() == name);
        style.expect("the parser lets only names of styles through")
    })
}

#[cfg(test)]
mod tests {
    use super::{Arguments, BenchOptions, Command};
    use crate::bench::case::Style;
    use clap::{CommandFactory, Parser};
    use lisle_engine::EngineKind;

    fn bench(arguments: &[&str]) -> Result<BenchOptions, String> {
        let words = ["lisle", "bench"].iter().chain(arguments);
        match Arguments::try_parse_from(words) {
            Ok(Arguments { command: Command::Bench(options) }) => Ok(options),
            Ok(_) => Err("not a bench".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn the_definition_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn engines_and_styles_may_be_repeated() {
        let options =
            bench(&["pause", "--engine", "epoll", "--engine", "io_uring", "--style", "async"]).unwrap();
        assert_eq!(options.scenarios, ["pause"]);
        assert_eq!(options.engines, [EngineKind::Epoll, EngineKind::IoUring]);
        assert_eq!(options.styles, [Style::Async]);
        assert!(!options.json && !options.quick && options.rounds.is_none());
    }

    #[test]
    fn unknown_names_are_answered_with_the_list() {
        let said = bench(&["nonsense"]).unwrap_err();
        assert!(said.contains("bind-resolved") && said.contains("all"), "{said}");
        let said = bench(&["--engine", "kqueue"]).unwrap_err();
        assert!(said.contains("io_uring, epoll, poll, select"), "{said}");
        let said = bench(&["--style", "callbacks"]).unwrap_err();
        assert!(said.contains("bind, async, direct"), "{said}");
    }

    #[test]
    fn there_is_at_least_one_round() {
        assert!(bench(&["--rounds", "0"]).is_err());
        assert_eq!(bench(&["--rounds", "3"]).unwrap().rounds, Some(3));
    }
}

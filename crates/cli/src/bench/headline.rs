//! The answer in one sentence, computed from the figures of this very run: what the ring gains over epoll,
//! and what each style costs.
//!
//! Only ratios and small absolute figures are quoted, and nothing that was not measured: a part of the
//! sentence whose figures are missing is left out.

use super::case::{Style, show_size};
use super::measure::{Ratio, Summary};
use super::report::{Line, show};
use crate::output::{Align, Table, show_ns};
use lisle_engine::EngineKind;

/// Scenarios with real I/O: those in which the engine does the work.
const IO: [&str; 2] = ["pingpong", "echo"];

/// The table of engines and the sentence; nothing if not a single comparison was measured.
pub(crate) fn of(lines: &[Line]) -> Option<String> {
    let parts: Vec<String> = [ring_against_epoll(lines), style_against_bind(lines), suspension(lines)]
        .into_iter()
        .flatten()
        .collect();
    if parts.is_empty() {
        return None;
    }
    Some(format!("{}\nOn this machine {}.\n", engines_side_by_side(lines), parts.join("; ")))
}

/// The figures of the one line that fits.
fn find<'a>(
    lines: &'a [Line],
    name: &str,
    detail: &str,
    style: Style,
    engine: Option<EngineKind>,
) -> Option<&'a Summary> {
    let fits = |line: &&Line| {
        let label = &line.label;
        label.scenario == name && label.detail() == detail && label.style == style && label.engine == engine
    };
    lines.iter().find(fits)?.result.as_ref().ok()
}

/// Scenario, size and style of each line with an engine, once, in order.
fn rows_with_engines(lines: &[Line]) -> Vec<(&'static str, String, Style)> {
    let mut rows = Vec::new();
    for label in lines.iter().map(|line| &line.label).filter(|label| label.engine.is_some()) {
        let row = (label.scenario, label.detail(), label.style);
        if !rows.contains(&row) {
            rows.push(row);
        }
    }
    rows
}

fn engines_side_by_side(lines: &[Line]) -> Table {
    let engines: Vec<EngineKind> = EngineKind::ALL
        .into_iter()
        .filter(|&kind| lines.iter().any(|line| line.label.engine == Some(kind)))
        .collect();
    let mut columns = vec![("per op", Align::Left), ("", Align::Left), ("style", Align::Left)];
    columns.extend(engines.iter().map(|kind| (kind.name(), Align::Right)));
    columns.push(("io_uring : epoll", Align::Right));
    let mut table = Table::new(&columns);
    for (scenario, detail, style) in rows_with_engines(lines) {
        let at = |kind: EngineKind| find(lines, scenario, &detail, style, Some(kind));
        let mut cells = vec![scenario.to_owned(), detail.clone(), style.name().to_owned()];
        let shown = engines.iter().map(|&kind| at(kind).map_or("-".to_owned(), |s| show(s.unit, s.median)));
        cells.extend(shown);
        let ratio =
            at(EngineKind::IoUring).zip(at(EngineKind::Epoll)).and_then(|(ring, epoll)| ring.ratio(epoll));
        cells.push(ratio.map_or("-".to_owned(), |ratio| format!("{:.2}", ratio.median)));
        table.row(cells);
    }
    table
}

/// "the ring takes, against epoll, 3 % less time for pingpong of 64 B and 20 % less time for echo of 64 B".
fn ring_against_epoll(lines: &[Line]) -> Option<String> {
    let asked = [("pingpong", show_size(64)), ("pingpong", show_size(256 << 10)), ("echo", show_size(64))];
    let compared: Vec<String> = asked
        .into_iter()
        .filter_map(|(scenario, detail)| {
            let ratios: Vec<f64> = Style::ALL
                .into_iter()
                .filter_map(|style| {
                    let ring = find(lines, scenario, &detail, style, Some(EngineKind::IoUring))?;
                    let epoll = find(lines, scenario, &detail, style, Some(EngineKind::Epoll))?;
                    Some(ratios(ring, epoll))
                })
                .flatten()
                .collect();
            Some(format!("{} for {scenario} of {detail}", change(Ratio::of(&ratios)?)))
        })
        .collect();
    (!compared.is_empty()).then(|| format!("the ring takes, against epoll, {}", enumerate(&compared)))
}

/// "against the bind style, over all I/O, async takes 1 % more time and direct takes 2 % more time".
fn style_against_bind(lines: &[Line]) -> Option<String> {
    let against = |style: Style| {
        let ratios: Vec<f64> = lines
            .iter()
            .filter(|line| line.label.style == Style::Bind && IO.contains(&line.label.scenario))
            .filter_map(|line| {
                let label = &line.label;
                let other = find(lines, label.scenario, &label.detail(), style, label.engine)?;
                Some(ratios(other, line.result.as_ref().ok()?))
            })
            .flatten()
            .collect();
        Some(format!("{} takes {}", style.name(), change(Ratio::of(&ratios)?)))
    };
    let compared: Vec<String> = [Style::Async, Style::Direct].into_iter().filter_map(against).collect();
    (!compared.is_empty()).then(|| format!("against the bind style, over all I/O, {}", enumerate(&compared)))
}

/// Round by round.
fn ratios(one: &Summary, other: &Summary) -> Vec<f64> {
    one.rounds.iter().zip(&other.rounds).map(|(one, other)| one / other).collect()
}

/// "a pause beside 999 others costs 45 ns in a chain of binds, 15 ns in an async task and 22 ns in a fiber".
fn suspension(lines: &[Line]) -> Option<String> {
    // The engine hardly matters with a thousand pauses a lap: the best that was measured speaks for all.
    let pause =
        |style| EngineKind::ALL.into_iter().find_map(|kind| find(lines, "pause", "", style, Some(kind)));
    let places = [
        (Style::Bind, "in a chain of binds"),
        (Style::Async, "in an async task"),
        (Style::Direct, "in a fiber"),
    ];
    let costs: Vec<String> = places
        .into_iter()
        .filter_map(|(style, place)| Some(format!("{} {place}", show_ns(pause(style)?.median))))
        .collect();
    (!costs.is_empty()).then(|| format!("a pause beside 999 others costs {}", enumerate(&costs)))
}

/// A ratio of times in words. A difference about which the middle half of the rounds disagree is none.
fn change(ratio: Ratio) -> String {
    let percent = ((ratio.median - 1.0) * 100.0).round();
    if percent == 0.0 || (ratio.low < 1.0 && ratio.high > 1.0) {
        return "the same time within noise".to_owned();
    }
    let more = if percent > 0.0 { "more" } else { "less" };
    format!("{:.0} % {more} time", percent.abs())
}

/// "a", "a and b", "a, b and c".
fn enumerate(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [start @ .., last] => format!("{} and {last}", start.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::{change, enumerate, of};
    use crate::bench::case::{Label, Style};
    use crate::bench::measure::Ratio;
    use crate::bench::report::tests::line;
    use lisle::EngineKind::{Epoll, IoUring};

    #[test]
    fn the_sentence_says_what_was_measured_and_nothing_else() {
        let pingpong =
            |style, engine, rounds| line(Label::new("pingpong", style).on(engine).sized(64), rounds);
        let lines = [
            pingpong(Style::Bind, IoUring, &[6_000, 12_000]),
            pingpong(Style::Bind, Epoll, &[8_000, 16_000]),
            pingpong(Style::Async, IoUring, &[6_600, 13_200]),
            pingpong(Style::Async, Epoll, &[8_800, 17_600]),
            line(Label::new("pause", Style::Async).on(Epoll), &[15]),
        ];
        let said = of(&lines).unwrap();
        let sentence = "On this machine the ring takes, against epoll, 25 % less time for pingpong of 64 B; against \
                        the bind style, over all I/O, async takes 10 % more time; a pause beside 999 others \
                        costs 15.0 ns in an async task.";
        assert_eq!(said.lines().last().unwrap(), sentence);
        assert!(said.contains("0.75"), "{said}");
        assert_eq!(of(&lines[..1]), None);
    }

    #[test]
    fn a_difference_about_which_rounds_disagree_is_none() {
        let ratio = |low, median, high| change(Ratio { median, low, high });
        assert_eq!(ratio(0.4, 0.5, 0.6), "50 % less time");
        assert_eq!(ratio(1.9, 2.0, 2.1), "100 % more time");
        assert_eq!(ratio(0.9, 0.95, 1.1), "the same time within noise");
        assert_eq!(ratio(1.001, 1.002, 1.003), "the same time within noise");
    }

    #[test]
    fn lists_in_words() {
        let parts = ["a", "b", "c"].map(str::to_owned);
        assert_eq!([1, 2, 3].map(|n| enumerate(&parts[..n])), ["a", "a and b", "a, b and c"]);
    }
}

//! Results as people read them (a table) and as programs do (one JSON object per line).

use super::case::Label;
use super::headline;
use super::measure::{Summary, Unit};
use super::plan::Plan;
use crate::output::{Align, Table, show_count, show_ns, show_rate};
use serde_json::{Value, json};
use std::fs;

/// One line: what was asked, and the figures or the reason why there are none.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    pub(crate) label: Label,
    pub(crate) result: Result<Summary, String>,
    /// The case ran and went wrong; a missing engine is no failure.
    pub(crate) failed: bool,
}

/// All of it: where it was measured, each result, and the answer.
pub(crate) fn text(plan: &Plan, lines: &[Line]) -> String {
    let headline = headline::of(lines).map_or(String::new(), |headline| format!("\n{headline}"));
    format!("{}\n{}{headline}", surroundings(plan), table(lines))
}

/// Where and how it was measured.
fn surroundings(plan: &Plan) -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let allowed =
        status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap_or("?").trim();
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|line| line.strip_prefix("model name")?.split(':').nth(1));
    let model = model.unwrap_or("unknown processor").trim();
    let build = if cfg!(debug_assertions) { ", UNOPTIMISED BUILD: figures mean nothing" } else { "" };
    let rounds = if plan.rounds == 1 { "1 round".to_owned() } else { format!("{} rounds", plan.rounds) };
    format!("{model}, may run on CPU {allowed}; {rounds}, median and range{build}\n")
}

/// All lines, scenario by scenario.
fn table(lines: &[Line]) -> Table {
    let mut table = Table::new(&[
        ("scenario", Align::Left),
        ("", Align::Left),
        ("style", Align::Left),
        ("engine", Align::Left),
        ("per op", Align::Right),
        ("range", Align::Right),
        ("op/s", Align::Right),
        ("allocs/op", Align::Right),
        ("syscalls/op", Align::Right),
    ]);
    let mut scenario = "";
    for line in lines {
        if !scenario.is_empty() && scenario != line.label.scenario {
            table.gap();
        }
        scenario = line.label.scenario;
        table.row(cells(line));
    }
    table
}

fn cells(line: &Line) -> Vec<String> {
    let label = &line.label;
    let names = [label.scenario, &label.detail(), label.style.name(), label.engine_name()].map(str::to_owned);
    let figures = match &line.result {
        Ok(summary) => vec![
            show(summary.unit, summary.median),
            format!("{} – {}", show(summary.unit, summary.min), show(summary.unit, summary.max)),
            match summary.unit {
                Unit::Nanoseconds => show_rate(1e9 / summary.median),
                Unit::Bytes => "-".to_owned(),
            },
            show_count(summary.allocations),
            summary.system_calls.map_or("-".to_owned(), show_count),
        ],
        // Five cells for the columns of figures; the reason runs on to the right of them.
        Err(reason) => [vec![String::new(); 5], vec![reason.clone()]].concat(),
    };
    names.into_iter().chain(figures).collect()
}

/// A value in its unit.
pub(crate) fn show(unit: Unit, value: f64) -> String {
    match unit {
        Unit::Nanoseconds => show_ns(value),
        Unit::Bytes => format!("{value:.0} B"),
    }
}

/// One JSON object per line of the table.
pub(crate) fn json_lines(lines: &[Line]) -> String {
    lines.iter().map(|line| format!("{}\n", json_line(line))).collect()
}

fn json_line(line: &Line) -> Value {
    let label = &line.label;
    let mut object = json!({
        "scenario": label.scenario,
        "variant": label.variant,
        "style": label.style.name(),
        "engine": label.engine_name(),
        "size": label.size_bytes,
    });
    let figures = match &line.result {
        Ok(summary) => json!({
            "unit": summary.unit.name(),
            "median": summary.median,
            "min": summary.min,
            "max": summary.max,
            "allocs_per_op": summary.allocations,
            "syscalls_per_op": summary.system_calls,
        }),
        Err(reason) => json!({ "reason": reason }),
    };
    if let (Value::Object(object), Value::Object(figures)) = (&mut object, figures) {
        object.extend(figures);
    }
    object
}

#[cfg(test)]
pub(crate) mod tests {
    use super::{Line, json_lines, table};
    use crate::bench::case::{Label, Style};
    use crate::bench::measure::{Sample, Summary};
    use lisle_engine::EngineKind;
    use serde_json::Value;
    use std::time::Duration;

    /// A line that took so many nanoseconds in its rounds.
    pub(crate) fn line(label: Label, rounds_ns: &[u64]) -> Line {
        let sample = |&ns| Sample {
            operations: 1,
            time: Duration::from_nanos(ns),
            kept_bytes: None,
            allocations: 0,
            system_calls: Some(2),
        };
        let samples: Vec<Sample> = rounds_ns.iter().map(sample).collect();
        Line { label, result: Summary::of(&samples).ok_or("no rounds".to_owned()), failed: false }
    }

    fn missing() -> Line {
        let label = Label::new("echo", Style::Bind).on(EngineKind::IoUring);
        Line { label, result: Err("not measured: EPERM".to_owned()), failed: false }
    }

    #[test]
    fn each_result_is_a_row_and_a_missing_engine_keeps_its_row() {
        let pingpong = Label::new("pingpong", Style::Async).on(EngineKind::Epoll).sized(64);
        let text = table(&[line(pingpong, &[7_600]), missing()]).to_string();
        let rows: Vec<&str> = text.lines().collect();
        assert_eq!(rows.len(), 5, "{text}");
        let row: Vec<&str> = rows[2].split_whitespace().collect();
        assert_eq!(row[..6], ["pingpong", "64", "B", "async", "epoll", "7.60"]);
        assert!(rows[4].starts_with("echo") && rows[4].ends_with("not measured: EPERM"), "{text}");
    }

    #[test]
    fn json_has_the_agreed_keys() {
        let pingpong = Label::new("pingpong", Style::Async).on(EngineKind::Epoll).sized(64);
        let text = json_lines(&[line(pingpong, &[100]), missing()]);
        let objects: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let keys = [
            "scenario",
            "style",
            "engine",
            "size",
            "median",
            "min",
            "max",
            "unit",
            "allocs_per_op",
            "syscalls_per_op",
        ];
        assert!(keys.iter().all(|key| objects[0].get(key).is_some()), "{text}");
        assert_eq!(objects[0]["size"], 64);
        assert_eq!(objects[1]["reason"], "not measured: EPERM");
        assert!(objects[1].get("median").is_none());
    }
}

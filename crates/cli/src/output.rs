//! Tables of text, and numbers as people read them. Knows nothing of what the columns mean.

use std::fmt;
use std::io::{self, Write};

/// On which side of its column a cell stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// Rows of cells under a head; columns are as wide as their widest cell.
#[derive(Debug, Default)]
pub(crate) struct Table {
    columns: Vec<(String, Option<Align>)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// An empty table with these columns.
    pub(crate) fn new(columns: &[(&str, Align)]) -> Table {
        let columns = columns.iter().map(|&(name, align)| (name.to_owned(), Some(align))).collect();
        Table { columns, rows: Vec::new() }
    }

    /// Adds a row. Missing cells stay empty; a cell beyond the last column runs on to the right, as a remark.
    pub(crate) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// Adds an empty line.
    pub(crate) fn gap(&mut self) {
        self.rows.push(Vec::new());
    }

    fn width(&self, column: usize) -> usize {
        let head = self.columns[column].0.chars().count();
        let cells = self.rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
        cells.fold(head, usize::max)
    }

    fn write_line(&self, f: &mut fmt::Formatter<'_>, cells: &[String], widths: &[usize]) -> fmt::Result {
        let mut line = String::new();
        for (column, cell) in cells.iter().enumerate() {
            let width = widths.get(column).copied().unwrap_or(0);
            let separator = if column == 0 { "" } else { "  " };
            let align = self.columns.get(column).and_then(|(_, align)| *align).unwrap_or(Align::Left);
            match align {
                Align::Left => line.push_str(&format!("{separator}{cell:<width$}")),
                Align::Right => line.push_str(&format!("{separator}{cell:>width$}")),
            }
        }
        writeln!(f, "{}", line.trim_end())
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widths: Vec<usize> = (0..self.columns.len()).map(|column| self.width(column)).collect();
        let heads: Vec<String> = self.columns.iter().map(|(name, _)| name.clone()).collect();
        self.write_line(f, &heads, &widths)?;
        let rules: Vec<String> = widths.iter().map(|&width| "─".repeat(width)).collect();
        self.write_line(f, &rules, &widths)?;
        self.rows.iter().try_for_each(|row| self.write_line(f, row, &widths))
    }
}

/// Writes to standard output. That nobody reads it any more (`… | head`) is no error.
pub(crate) fn print(text: &str) -> Result<(), String> {
    match io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(format!("cannot write: {error}")),
        _ => Ok(()),
    }
}

/// A time given in nanoseconds, with three digits and the unit that suits it.
pub(crate) fn show_ns(ns: f64) -> String {
    match ns {
        ns if ns < 1_000.0 => format!("{} ns", three_digits(ns)),
        ns if ns < 1_000_000.0 => format!("{} µs", three_digits(ns / 1e3)),
        ns => format!("{} ms", three_digits(ns / 1e6)),
    }
}

/// A rate per second, with three digits and `k` or `M`.
pub(crate) fn show_rate(per_second: f64) -> String {
    match per_second {
        rate if rate < 1_000.0 => three_digits(rate),
        rate if rate < 1e6 => format!("{} k", three_digits(rate / 1e3)),
        rate => format!("{} M", three_digits(rate / 1e6)),
    }
}

/// A small count per operation: exact zero is `0`, the rest has at least two significant digits.
pub(crate) fn show_count(count: f64) -> String {
    match count {
        0.0 => "0".to_owned(),
        count if count < 0.001 => "<0.001".to_owned(),
        count if count < 0.1 => format!("{count:.3}"),
        count => format!("{count:.2}"),
    }
}

fn three_digits(value: f64) -> String {
    match value {
        value if value < 10.0 => format!("{value:.2}"),
        value if value < 100.0 => format!("{value:.1}"),
        value => format!("{value:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{Align, Table, show_count, show_ns, show_rate};

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut table = Table::new(&[("name", Align::Left), ("n", Align::Right)]);
        table.row(vec!["a".to_owned(), "1234".to_owned()]);
        table.gap();
        table.row(vec!["longer".to_owned(), "5".to_owned(), "a remark".to_owned()]);
        let expected = "name       n\n──────  ────\na       1234\n\nlonger     5  a remark\n";
        assert_eq!(table.to_string(), expected);
    }

    #[test]
    fn times_have_three_digits_and_a_fitting_unit() {
        let shown = [1.234, 12.34, 123.4, 1_234.0, 9_999_000.0].map(show_ns);
        assert_eq!(shown, ["1.23 ns", "12.3 ns", "123 ns", "1.23 µs", "10.00 ms"]);
    }

    #[test]
    fn rates_and_counts() {
        assert_eq!([120.0, 87_900.0, 66e6].map(show_rate), ["120", "87.9 k", "66.0 M"]);
        assert_eq!([0.0, 0.0002, 0.05, 1.0, 4.126].map(show_count), ["0", "<0.001", "0.050", "1.00", "4.13"]);
    }
}

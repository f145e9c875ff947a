//! What one line of the table is: a scenario in one style on one engine, and how to run it.

use super::measure::Sample;
use lisle_engine::EngineKind;
use std::fmt;
use std::time::Duration;

/// How a program waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Style {
    /// With callbacks: `promise.bind(…)`.
    Bind,
    /// In an `async` block: `promise.await`.
    Async,
    /// In a fiber: `fiber.wait(promise)`.
    Direct,
}

impl Style {
    /// All styles.
    pub(crate) const ALL: [Style; 3] = [Style::Bind, Style::Async, Style::Direct];

    /// The name on the command line and in reports.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Style::Bind => "bind",
            Style::Async => "async",
            Style::Direct => "direct",
        }
    }
}

/// What is measured: the key of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Label {
    pub(crate) scenario: &'static str,
    pub(crate) style: Style,
    /// `None`: the scheduler alone, no engine takes part.
    pub(crate) engine: Option<EngineKind>,
    /// Bytes that are sent, where the scenario sends.
    pub(crate) size_bytes: Option<usize>,
    /// Which of several forms of the same scenario.
    pub(crate) variant: Option<&'static str>,
}

impl Label {
    pub(crate) fn new(scenario: &'static str, style: Style) -> Label {
        Label { scenario, style, engine: None, size_bytes: None, variant: None }
    }

    pub(crate) fn on(mut self, engine: EngineKind) -> Label {
        self.engine = Some(engine);
        self
    }

    pub(crate) fn sized(mut self, bytes: usize) -> Label {
        self.size_bytes = Some(bytes);
        self
    }

    pub(crate) fn variant(mut self, variant: &'static str) -> Label {
        self.variant = Some(variant);
        self
    }

    pub(crate) fn engine_name(&self) -> &'static str {
        self.engine.map_or("-", EngineKind::name)
    }

    /// The size or the variant, whichever there is.
    pub(crate) fn detail(&self) -> String {
        match (self.size_bytes, self.variant) {
            (Some(bytes), _) => show_size(bytes),
            (None, Some(variant)) => variant.to_owned(),
            (None, None) => String::new(),
        }
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let detail = self.detail();
        let names = [self.scenario, &detail, self.style.name(), self.engine_name()];
        let mut words = names.into_iter().filter(|name| !name.is_empty());
        words.next().into_iter().try_for_each(|first| f.write_str(first))?;
        words.try_for_each(|word| write!(f, " {word}"))
    }
}

/// Bytes as `64 B` or `16 KB`.
pub(crate) fn show_size(bytes: usize) -> String {
    if bytes >= 1024 && bytes.is_multiple_of(1024) {
        format!("{} KB", bytes / 1024)
    } else {
        format!("{bytes} B")
    }
}

/// Runs a case `n` times over and measures; an error if what it computed is wrong.
pub(crate) type Runner = Box<dyn Fn(u64) -> Result<Sample, String>>;

/// One thing to measure.
pub(crate) struct Case {
    pub(crate) label: Label,
    /// What `run(1)` does is too short to be measured: a round repeats it until it takes this long.
    pub(crate) round: Duration,
    pub(crate) run: Runner,
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Case").field("label", &self.label).field("round", &self.round).finish_non_exhaustive()
    }
}

impl Case {
    pub(crate) fn new(
        label: Label,
        round: Duration,
        run: impl Fn(u64) -> Result<Sample, String> + 'static,
    ) -> Case {
        Case { label, round, run: Box::new(run) }
    }
}

/// Fails unless a scenario computed what it should: a benchmark that computes nothing measures nothing.
pub(crate) fn check<T: PartialEq + fmt::Debug>(got: &T, expected: &T) -> Result<(), String> {
    if got == expected { Ok(()) } else { Err(format!("computed {got:?} instead of {expected:?}")) }
}

#[cfg(test)]
mod tests {
    use super::{Label, Style, check, show_size};
    use lisle_engine::EngineKind;

    #[test]
    fn labels_name_everything_that_tells_cases_apart() {
        let label = Label::new("pingpong", Style::Async).on(EngineKind::Epoll).sized(16384);
        assert_eq!(label.to_string(), "pingpong 16 KB async epoll");
        let label = Label::new("bind-resolved", Style::Bind).variant("opaque");
        assert_eq!(label.to_string(), "bind-resolved opaque bind -");
        assert_eq!(Label::new("yield", Style::Direct).to_string(), "yield direct -");
    }

    #[test]
    fn sizes() {
        assert_eq!([1, 64, 1024, 1500, 262_144].map(show_size), ["1 B", "64 B", "1 KB", "1500 B", "256 KB"]);
    }

    #[test]
    fn a_wrong_result_is_an_error() {
        assert!(check(&1, &1).is_ok());
        assert_eq!(check(&1, &2).unwrap_err(), "computed 1 instead of 2");
    }
}

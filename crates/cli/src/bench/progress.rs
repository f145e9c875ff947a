//! A bar on stderr while measuring, if stderr is a terminal; nothing otherwise.
//!
//! It is drawn between rounds only: a drawing thread would compete with what is measured.

use super::case::Label;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// The bar; hidden without a terminal.
#[derive(Debug)]
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// A bar of so many steps.
    pub(crate) fn new(steps: u64) -> Progress {
        let bar = ProgressBar::with_draw_target(Some(steps), ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("{bar:30} {percent:>3} %  {eta:>4} left  {msg}") {
            bar.set_style(style);
        }
        Progress(bar)
    }

    /// A bar that is never drawn.
    #[cfg(test)]
    pub(crate) fn hidden() -> Progress {
        Progress(ProgressBar::hidden())
    }

    /// Says what is being measured.
    pub(crate) fn show(&self, label: &Label) {
        if !self.0.is_hidden() {
            self.0.set_message(label.to_string());
        }
    }

    /// One step is done.
    pub(crate) fn step(&self) {
        self.0.inc(1);
    }

    /// Takes the bar away, so that the table stands alone.
    pub(crate) fn clear(&self) {
        self.0.finish_and_clear();
    }
}

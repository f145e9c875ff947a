//! What can be chosen about a runtime: the engine. Sizes and limits have names where
//! they act and are no knobs.

use super::{Runtime, StartError, start};
use lisle_core::Result;
use lisle_engine::EngineKind;
use lisle_engine::probe::{Choice, open};
use std::sync::Once;

/// Chooses a runtime's engine.
///
/// ```
/// use lisle::{EngineKind, Runtime};
/// let runtime = Runtime::builder().engine(EngineKind::Epoll).build()?;
/// assert_eq!(runtime.engine(), EngineKind::Epoll);
/// # Ok::<(), lisle::StartError>(())
/// ```
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct Builder {
    choice: Option<Choice>,
}

impl Builder {
    /// The engine of `LISLE_ENGINE`, or the best that works.
    pub fn new() -> Builder {
        Builder::default()
    }

    /// This engine or an error, whatever `LISLE_ENGINE` says.
    pub fn engine(mut self, kind: EngineKind) -> Builder {
        self.choice = Some(Choice::Only(kind));
        self
    }

    /// The best engine that works, whatever `LISLE_ENGINE` says.
    pub fn any_engine(mut self) -> Builder {
        self.choice = Some(Choice::Auto);
        self
    }

    /// Opens the engine and makes the runtime of this thread.
    ///
    /// # Errors
    /// See [`StartError`].
    pub fn build(self) -> Result<Runtime, StartError> {
        let choice = match self.choice {
            Some(choice) => choice,
            None => Choice::from_env()?,
        };
        let opened = open(choice)?;
        if let Some(reason) = &opened.reason {
            say_once(reason);
        }
        start(opened.engine, opened.reason)
    }
}

/// A fall-back is said once per process: silent use of a slower engine would ruin somebody's measurements.
fn say_once(reason: &str) {
    static SAID: Once = Once::new();
    SAID.call_once(|| eprintln!("lisle: {reason}"));
}

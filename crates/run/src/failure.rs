//! The one error type that reaches a user: what went wrong, why, and what to do next.
//!
//! Its kind decides the exit code. Lower layers have their own error types; they become a
//! `Failure` where a hint for the user can be given.

use std::error::Error as StdError;
use std::fmt;

use ralph_plan::source::SourceError;
use ralph_vault::CheckpointError;
use ralph_vault::store::StateDirectoryError;

/// What sort of failure ended the program; decides the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// Bad usage, or refused to start; nothing was touched.
    Refused,
    /// Git or the system failed; state is safe.
    System,
}

impl FailureKind {
    /// The process exit code of this kind.
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Refused => 2,
            Self::System => 4,
        }
    }
}

/// A failure as the user sees it.
#[derive(Debug)]
pub struct Failure {
    pub kind: FailureKind,
    message: String,
    source: Option<Box<dyn StdError + Send + Sync>>,
    hints: Vec<String>,
}

impl Failure {
    /// A refusal: the input or the repository is not fit; nothing was touched.
    pub fn refused(message: impl Into<String>) -> Self {
        Self::new(FailureKind::Refused, message)
    }

    /// A git or system error.
    pub fn system(message: impl Into<String>) -> Self {
        Self::new(FailureKind::System, message)
    }

    fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            source: None,
            hints: Vec::new(),
        }
    }

    /// Keeps the error that caused this one.
    #[must_use]
    pub fn because(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Adds a line that says what to do next.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Adds what to do next, if there is something.
    #[must_use]
    pub(crate) fn maybe_hint(mut self, hint: Option<String>) -> Self {
        self.hints.extend(hint);
        self
    }

    /// What went wrong, without its causes.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What to do next.
    pub fn hints(&self) -> &[String] {
        &self.hints
    }
}

/// An error with its causes, on one line.
pub(crate) fn chain(error: &(dyn StdError + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl StdError for Failure {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source
            .as_deref()
            .map(|source| source as &(dyn StdError + 'static))
    }
}

impl From<SourceError> for Failure {
    fn from(error: SourceError) -> Self {
        let kind = if error.is_write() {
            FailureKind::System
        } else {
            FailureKind::Refused
        };
        let hint = error.hint();
        let failure = Self::new(kind, error.to_string()).because(error);
        failure.maybe_hint(hint)
    }
}

/// For steps that come before anything is touched: every failure is a refusal, except for faults of
/// the system.
impl From<CheckpointError> for Failure {
    fn from(error: CheckpointError) -> Self {
        let kind = if error.is_refusal() {
            FailureKind::Refused
        } else {
            FailureKind::System
        };
        Self::new(kind, chain(&error)).maybe_hint(error.hint())
    }
}

impl From<StateDirectoryError> for Failure {
    fn from(error: StateDirectoryError) -> Self {
        Self::refused(error.to_string()).hint(error.hint())
    }
}

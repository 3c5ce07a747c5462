//! The one error type that reaches a user: what went wrong, why, and what to do next.
//!
//! Its kind decides the exit code. Lower layers have their own error types; they become a
//! `Failure` where a hint for the user can be given.

use std::error::Error as StdError;
use std::fmt;
use std::io::{self, Write};

use crate::edge::source::SourceError;
use crate::edge::vault::StateDirectoryError;
use crate::ui::style::{BAD, NAME, Paint, WARN};
use crate::ui::text::clean_lines;

/// What sort of failure ended the program; decides the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FailureKind {
    /// Bad usage, or refused to start; nothing was touched.
    Refused,
    /// Git or the system failed; state is safe.
    System,
}

impl FailureKind {
    /// The process exit code of this kind.
    pub(crate) const fn exit_code(self) -> u8 {
        match self {
            Self::Refused => 2,
            Self::System => 4,
        }
    }
}

/// A failure as the user sees it.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) kind: FailureKind,
    message: String,
    source: Option<Box<dyn StdError + Send + Sync>>,
    hints: Vec<String>,
}

impl Failure {
    /// A refusal: the input or the repository is not fit; nothing was touched.
    pub(crate) fn refused(message: impl Into<String>) -> Self {
        Self::new(FailureKind::Refused, message)
    }

    /// A git or system error.
    pub(crate) fn system(message: impl Into<String>) -> Self {
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
    pub(crate) fn because(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Adds a line that says what to do next.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// What to do next.
    pub(crate) fn hints(&self) -> &[String] {
        &self.hints
    }

    /// Writes the failure, its causes and what to do next.
    pub(crate) fn write(&self, out: &mut dyn Write, paint: Paint) -> io::Result<()> {
        write_labelled(out, "", &paint.apply(BAD, "error:"), &self.message)?;
        let mut told = self.message.clone();
        let mut cause = self.source();
        while let Some(error) = cause {
            let text = error.to_string();
            // Some errors repeat their cause in their own words.
            if !told.contains(&text) {
                write_labelled(out, "  ", &paint.apply(WARN, "because:"), &text)?;
                told = text;
            }
            cause = error.source();
        }
        for hint in &self.hints {
            write_labelled(out, "  ", &paint.apply(NAME, "hint:"), hint)?;
        }
        Ok(())
    }
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
        match hint {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}

impl From<StateDirectoryError> for Failure {
    fn from(error: StateDirectoryError) -> Self {
        Self::refused(error.to_string()).hint(error.hint())
    }
}

/// Writes a text behind its label, further lines indented below it.
fn write_labelled(out: &mut dyn Write, margin: &str, label: &str, text: &str) -> io::Result<()> {
    let lines = clean_lines(text);
    let (first, rest) = lines
        .split_first()
        .map_or(("", &[][..]), |(first, rest)| (first, rest));
    writeln!(out, "{margin}{label} {first}")?;
    for line in rest {
        writeln!(out, "{margin}    {line}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure() -> Failure {
        let io = io::Error::other("No space left\non device\u{1b}[2J");
        let inner = Failure::system("could not write `HEAD`").because(io);
        Failure::system("could not save the checkpoint of story 2")
            .because(inner)
            .hint("make room")
            .hint("run `ralphtool loop add-retry` again")
    }

    #[test]
    fn a_failure_says_what_why_and_what_to_do() {
        let mut out = Vec::new();
        failure().write(&mut out, Paint::Plain).unwrap();
        failure().write(&mut out, Paint::Colored).unwrap();
        let text = String::from_utf8(out).unwrap().replace('\u{1b}', "␛");
        insta::assert_snapshot!(text);
    }

    #[test]
    fn a_source_error_keeps_its_cause_and_only_a_failed_write_is_a_system_error() {
        let path = std::path::PathBuf::from("tasks.md");
        let source = || io::Error::other("disk on fire");
        let unreadable = SourceError::Unreadable {
            path: path.clone(),
            source: source(),
        };
        let unwritable = SourceError::Unwritable {
            path,
            source: source(),
        };
        let failure = Failure::from(unreadable);
        let mut out = Vec::new();
        failure.write(&mut out, Paint::Plain).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "error: could not read `tasks.md`\n  because: disk on fire\n"
        );
        assert_eq!(failure.kind, FailureKind::Refused);
        assert_eq!(Failure::from(unwritable).kind, FailureKind::System);
    }

    #[test]
    fn a_cause_that_is_told_already_is_not_told_twice() {
        let io = io::Error::other("disk on fire");
        let failure = Failure::refused("could not read `x`: disk on fire").because(io);
        let mut out = Vec::new();
        failure.write(&mut out, Paint::Plain).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text, "error: could not read `x`: disk on fire\n");
    }
}

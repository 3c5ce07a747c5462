//! Colours, and whether they are used.

use std::fmt;

use anstyle::{AnsiColor, Style};

use ralph_run::records::outcome::{Outcome, OutcomeKind};

/// Something went well.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
/// Something failed.
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
/// Something to know.
pub(crate) const WARN: Style = AnsiColor::Yellow.on_default();
/// Something to type, or a name that matters.
pub(crate) const NAME: Style = AnsiColor::Cyan.on_default();
/// A heading.
pub(crate) const STRONG: Style = Style::new().bold();
/// Something that may be overlooked.
pub(crate) const DIM: Style = Style::new().dimmed();

/// The style of a run that has ended.
pub(crate) const fn of_outcome(outcome: &Outcome) -> Style {
    match outcome.kind() {
        OutcomeKind::Done => GOOD.bold(),
        OutcomeKind::DoneWithWarning | OutcomeKind::Stopped | OutcomeKind::Limited => WARN.bold(),
        OutcomeKind::Failed => BAD,
    }
}

/// Whether text is coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Paint {
    /// Bare text.
    Plain,
    /// Text with escape codes.
    Colored,
}

impl Paint {
    /// The text in the given style, or bare.
    pub(crate) fn apply(self, style: Style, text: impl fmt::Display) -> String {
        match self {
            Self::Colored if style != Style::new() => format!("{style}{text}{style:#}"),
            Self::Plain | Self::Colored => text.to_string(),
        }
    }
}

//! Whom to tell of what happens while nobody looks.

use std::fmt;

/// Something worth a notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Occasion {
    /// A run ended.
    Finished,
    /// A story used up its retries.
    Exhausted,
    /// The loop waits for a limit to end.
    Waiting,
    /// The user has to choose.
    Choice,
}

impl Occasion {
    /// Every occasion by the name users write.
    pub(crate) const NAMES: [(&'static str, Self); 4] = [
        ("finished", Self::Finished),
        ("exhausted", Self::Exhausted),
        ("waiting", Self::Waiting),
        ("choice", Self::Choice),
    ];
}

/// Whom to tell of what, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NotifySettings {
    /// The program, with its arguments, that gets the event as JSON on its stdin.
    pub(crate) command: Option<Vec<String>>,
    /// The terminal rings its bell and shows a message of its own.
    pub(crate) bell: bool,
    /// What is told.
    pub(crate) on: Vec<Occasion>,
}

impl Default for NotifySettings {
    fn default() -> Self {
        Self {
            command: None,
            bell: true,
            on: Occasion::NAMES.map(|(_, occasion)| occasion).to_vec(),
        }
    }
}

impl fmt::Display for NotifySettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let on: Vec<&str> = Occasion::NAMES
            .iter()
            .filter(|(_, occasion)| self.on.contains(occasion))
            .map(|(name, _)| *name)
            .collect();
        let how = match (&self.command, self.bell) {
            (Some(command), true) => format!("bell and {}", command.join(" ")),
            (Some(command), false) => command.join(" "),
            (None, true) => "bell".to_owned(),
            (None, false) => return f.write_str("nobody"),
        };
        write!(f, "{how}, on {}", on.join(", "))
    }
}

//! What the user is notified of while not watching.

use std::fmt;

use super::key_table::table;
use super::value::{Command, FromTable, Item, Key, Kind, Mistake, array, choice, choices, read};

choices! {
    /// Something worth a notification.
    Occasion {
        /// A run ended.
        Finished = "finished",
        /// A story used up its retries.
        Exhausted = "exhausted",
        /// The loop waits for a limit to end.
        Waiting = "waiting",
        /// An agent asked a question.
        Blocked = "blocked",
        /// The user has to choose.
        Choice = "choice",
    }
}

/// Several occasions.
struct Occasions;

read! {
    Occasions => Vec<Occasion>, Kind::SomeOf(|| Occasion::NAMES.map(|(name, _)| name).to_vec()),
        |item| array(item, "an array such as [\"finished\"]")?.iter().map(choice).collect();
}

/// What the user is notified of, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotifySettings {
    /// The program, with its arguments, that gets the event as JSON on stdin.
    pub command: Option<Vec<String>>,
    /// Whether the terminal rings its bell and shows a desktop message.
    pub bell: bool,
    /// What is worth a notification.
    pub on: Vec<Occasion>,
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

table! {
    NotifyKeys, "[notify]",
    "Notifications: when a run ends, a story fails for good, a usage limit makes the run wait, an\n\
     agent asks a question, or you have to choose. A command that gets the event as JSON on stdin, and the terminal's bell.",
    example "command = [\"notify-send\", \"ralphtool\"]\nbell = true\n\
             on = [\"finished\", \"exhausted\", \"waiting\", \"blocked\", \"choice\"]";
    command: Command, without "nothing", example r#"["notify-send", "ralphtool"]"#,
        asks "a notification runs",
        "The command to run. It gets the event as JSON on stdin; `{message}` in it is replaced by the message.";
    bell: bool = true, "Whether the terminal rings, and shows a desktop message if it can.";
    on: Occasions, without "all of them", example r#"["finished"]"#, "Which events to notify about.";
}

impl FromTable for NotifySettings {
    fn from_table(_: &Key<'_>, item: &Item<'_>) -> Result<Self, Mistake> {
        let keys = NotifyKeys::read(NotifyKeys::TABLE.header, item)?;
        Ok(Self {
            command: keys.command,
            bell: keys.bell,
            on: keys.on.unwrap_or_else(|| Self::default().on),
        })
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
            (None, false) => return f.write_str("off"),
        };
        write!(f, "{how}, on {}", on.join(", "))
    }
}

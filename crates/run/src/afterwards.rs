//! What can be done after a run: its finish, and the ways back. What is about to be done, and what
//! was, in words that every face can show.

pub mod perform;

use serde::Serialize;

use crate::records::event::FinishChoice;
use ralph_base::ids::RunId;

/// What an interrupted run left, and what was done about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Recovered {
    /// What was found.
    pub found: String,
    /// What was done.
    pub done: String,
}

/// What is done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum Deed {
    /// A run is ended.
    Finish {
        /// How.
        choice: FinishChoice,
    },
    /// Back to before a story.
    Rewind {
        /// The story.
        story: String,
    },
    /// Files of a parked attempt come back.
    Restore {
        /// The attempt's name.
        attempt: String,
        /// Just this.
        path: Option<String>,
    },
    /// The last of the others is taken back.
    Undo {
        /// Which.
        of: Box<Deed>,
    },
}

impl Deed {
    /// The command that does it, the run being the last one.
    pub fn command(&self) -> String {
        match self {
            Self::Finish { choice } => format!("ralphtool finish --{}", flag(*choice)),
            Self::Rewind { story } => format!("ralphtool rewind {story}"),
            Self::Restore { attempt, .. } => format!("ralphtool attempts restore {attempt}"),
            Self::Undo { .. } => "ralphtool undo".to_owned(),
        }
    }

    /// The command that takes it back, once it is done.
    pub fn way_back(&self) -> String {
        match self {
            Self::Undo { of } => of.command(),
            _ => "ralphtool undo".to_owned(),
        }
    }
}

const fn flag(choice: FinishChoice) -> &'static str {
    match choice {
        FinishChoice::Cleanup => "cleanup",
        FinishChoice::Keep => "keep",
        FinishChoice::Abandon => "abandon",
    }
}

/// What is about to be done; nothing is touched yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Plan {
    /// What.
    #[serde(flatten)]
    pub deed: Deed,
    /// The run it belongs to.
    pub run: RunId,
    /// The change of that run.
    pub change: String,
    /// The checkpoint branch of that run.
    pub branch: String,
    /// There is nothing to do: it is so already.
    pub already: bool,
    /// Where HEAD will be; none where it stays.
    pub head: Option<String>,
    /// Branches that change: a sentence each.
    pub branches: Vec<String>,
    /// Stories whose checkpoints go.
    pub stories: Vec<String>,
    /// Files that will be written.
    pub written: Vec<String>,
    /// Files that will go to the vault.
    pub removed: Vec<String>,
    /// What the user should hear.
    pub notices: Vec<String>,
}

/// What was done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Done {
    /// A run is open now, and can be gone on with or finished.
    pub is_open: bool,
    /// The command that takes it back, or does it again after an undo.
    pub way_back: String,
    /// What the user should hear that the plan did not say.
    pub notices: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn every_deed_has_a_way_back() {
        let finish = Deed::Finish {
            choice: FinishChoice::Abandon,
        };
        assert_eq!(finish.way_back(), "ralphtool undo");
        let undo = Deed::Undo {
            of: Box::new(finish),
        };
        assert_eq!(undo.way_back(), "ralphtool finish --abandon");
        let rewind = Deed::Rewind {
            story: "2".to_owned(),
        };
        let undo = Deed::Undo {
            of: Box::new(rewind),
        };
        assert_eq!(undo.way_back(), "ralphtool rewind 2");
    }
}

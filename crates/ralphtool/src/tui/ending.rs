//! What the user can choose at the end of a run.

use super::keys::Action;
use ralph_run::records::event::FinishChoice;

/// What can be done with a run that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    Finish(FinishChoice),
    /// The loop, which waits for a choice, continues.
    Again,
    /// Start the loop again, after it failed.
    Restart,
    /// Go back to where the UI began.
    Leave,
}

impl Ending {
    /// The action of its own key; it asks first.
    pub(crate) const fn action(self) -> Option<Action> {
        match self {
            Self::Finish(FinishChoice::Cleanup) => Some(Action::Cleanup),
            Self::Finish(FinishChoice::Keep) => Some(Action::Keep),
            Self::Finish(FinishChoice::Abandon) => Some(Action::Abandon),
            Self::Again | Self::Restart => Some(Action::Resume),
            Self::Finish(FinishChoice::Squash) => Some(Action::Squash),
            Self::Finish(FinishChoice::Reword) => Some(Action::Reword),
            Self::Leave => None,
        }
    }
}

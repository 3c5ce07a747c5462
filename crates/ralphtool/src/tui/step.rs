//! What a screen asks the app to do after a key.

use super::ending::Ending;
use super::keys::Action;
use super::message::Request;

/// What the app does after a screen has handled a key.
#[derive(Debug, PartialEq)]
pub(crate) enum Step {
    /// Nothing.
    Stay,
    /// Send a request.
    Ask(Request),
    /// Open the text input.
    Type(Typing),
    /// Ask the user for confirmation.
    Confirm(Confirmation),
    /// Show a notice.
    Say(String),
    /// Show the preview of this change.
    Open(String),
    /// Show the run that is at work in another terminal.
    Attach,
    /// Show the story at this place on the run screen.
    ShowStory(usize),
    /// Go to the previous screen.
    Back,
    /// Start the run of the preview again.
    Restart,
}

/// What the user types into the line at the bottom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Typing {
    Filter,
    Search,
    Note,
    /// The answer to the question of an agent.
    Answer,
    Export,
    /// The name of a new change.
    NewChange,
}

/// What the user is asked to confirm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Confirmation {
    Stop,
    Skip,
    /// Start over although a run is open.
    Fresh,
    /// What to do with the branch at the end of a run.
    Ending(Ending),
}

impl Confirmation {
    /// Whether this key leads to this question at the end of a run.
    pub(crate) fn is_asked_by(self, action: Option<Action>) -> bool {
        matches!(self, Self::Ending(ending) if action.is_some() && ending.action() == action)
    }
}

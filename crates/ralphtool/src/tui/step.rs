//! What a key on a screen leads to, for the app to carry out.

use super::message::Request;

/// What comes of a key on a screen.
#[derive(Debug, PartialEq)]
pub(crate) enum Step {
    /// Nothing more.
    Stay,
    /// Something is to be done.
    Ask(Request),
    /// Something is to be typed.
    Type(Typing),
    /// Something is to be confirmed first.
    Confirm(Confirmation),
    /// The user should know something.
    Say(String),
    /// Query at a change.
    Open(String),
    /// To the screen before.
    Back,
    /// Start the run of the preview again.
    Restart,
}

/// What is typed into the line at the bottom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Typing {
    Filter,
    Search,
    Note,
    Export,
    Setting,
}

/// What the user is asked to confirm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Confirmation {
    Stop,
    Skip,
    /// Start over although a run is open.
    Fresh,
}

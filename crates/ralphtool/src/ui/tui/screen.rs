//! The five screens, one file each: what each knows, what keys do to it, how it looks.

pub(crate) mod changes;
pub(crate) mod completion;
pub(crate) mod preview;
pub(crate) mod result;
pub(crate) mod run;

use super::message::Request;
use ralph_run::records::progress::{Progress, StoryStanding};

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
    Confirm(Sure),
    /// The user should know something.
    Say(String),
    /// Look at a change.
    Open(String),
    /// To the screen before.
    Back,
    /// Start the run of the preview again.
    Restart,
}

/// What is typed into the line at the bottom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Typing {
    /// A filter for the changes.
    Filter,
    /// A text to search for.
    Search,
    /// A note for the next attempt.
    Note,
    /// The file to export to.
    Export,
    /// A setting of the preview.
    Setting,
}

/// What the user is asked to confirm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sure {
    /// Stop the run.
    Stop,
    /// Skip the story.
    Skip,
    /// Start anew although a run is open.
    Fresh,
}

/// The commits a run began at and came to, once it has completed a story.
fn range_of(progress: &Progress) -> Option<(String, String)> {
    let attempts = progress.stories.iter().flat_map(|story| &story.attempts);
    let first = attempts.min_by_key(|attempt| attempt.started_at)?;
    let completed = progress.stories.iter().filter_map(|story| {
        let last = story.attempts.last()?;
        match &story.state {
            StoryStanding::Completed { commit, .. } => Some((last.started_at, commit)),
            _ => None,
        }
    });
    let (_, last) = completed.max_by_key(|(started, _)| *started)?;
    Some((first.base.clone()?, last.clone()))
}

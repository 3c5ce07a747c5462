//! The agent's closing word about its story.

/// What the agent promised at the end of its final words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Promise {
    /// Every task of the story is done.
    Complete,
    /// The story could not be done, with the agent's reason.
    Failed(String),
}

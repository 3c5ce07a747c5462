//! What is carried from attempt to attempt, and from an interrupted run to its continuation.

use super::io::Previous;
use crate::domain::event::FailureKind;
use crate::domain::ids::{AttemptId, AttemptNumber, StoryId};
use crate::domain::policy::{Consequence, consequence};

/// What an interrupted run knew of the story it was at.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Carry {
    /// The story.
    pub(crate) story: StoryId,
    /// The number of the next attempt.
    pub(crate) next_attempt: AttemptNumber,
    /// Retries that are used; an interrupted attempt uses none.
    pub(crate) retries_used: u32,
    /// What the next attempt is told.
    pub(crate) previous: Option<Previous>,
}

/// What the next attempt is told after a failure.
pub(super) fn told_next(
    before: Option<Previous>,
    kind: FailureKind,
    told: Option<String>,
    parked: AttemptId,
) -> Option<Previous> {
    // A limit or a stop says nothing about the work: what an earlier attempt learned still holds.
    if before.is_some() && consequence(kind) != Consequence::Retry {
        return before;
    }
    Some(Previous {
        reason: told,
        parked,
    })
}

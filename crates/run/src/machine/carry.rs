//! What is carried from attempt to attempt, and from an interrupted run to its continuation.

use crate::policy::{Consequence, consequence};
use crate::prompt::Previous;
use crate::records::event::FailureKind;
use ralph_base::ids::{AttemptId, AttemptNumber, StoryId};

/// What an interrupted run knew of the story it was at.
#[derive(Debug, Clone, PartialEq)]
pub struct Carry {
    /// The story.
    pub story: StoryId,
    /// The number of the next attempt.
    pub next_attempt: AttemptNumber,
    /// Retries that are used; an interrupted attempt uses none.
    pub retries_used: u32,
    /// What the next prompt says of the last attempt.
    pub previous: Option<Previous>,
}

impl Carry {
    /// A story that was done and is open again; its retries start afresh.
    pub fn reopened(story: StoryId, highest_attempt: u32, reason: String) -> Self {
        Self {
            story,
            next_attempt: AttemptNumber(highest_attempt.saturating_add(1)),
            retries_used: 0,
            previous: Some(Previous {
                reason: Some(reason),
                parked: None,
            }),
        }
    }

    /// What is carried from the last attempt of an interrupted run.
    pub fn after(
        last: AttemptId,
        retries_used: u32,
        reason: Option<String>,
        max_retries: u32,
    ) -> Self {
        Self {
            story: last.story.clone(),
            next_attempt: AttemptNumber(last.attempt.0.saturating_add(1)),
            // A story that used up its retries starts afresh: going on was the user's wish.
            retries_used: if retries_used > max_retries {
                0
            } else {
                retries_used
            },
            previous: Some(Previous {
                reason,
                parked: Some(last),
            }),
        }
    }
}

/// What the next prompt says after a failure.
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
        parked: Some(parked),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn a_story_that_used_up_its_retries_starts_afresh_and_keeps_its_numbers() {
        let last = AttemptId {
            story: StoryId("2".to_owned()),
            attempt: AttemptNumber(4),
        };
        let reason = Some("no luck".to_owned());
        for (used, want) in [(2, 2), (3, 3), (4, 0)] {
            assert_eq!(
                Carry::after(last.clone(), used, reason.clone(), 3),
                Carry {
                    story: StoryId("2".to_owned()),
                    next_attempt: AttemptNumber(5),
                    retries_used: want,
                    previous: Some(Previous {
                        reason: reason.clone(),
                        parked: Some(last.clone()),
                    }),
                }
            );
        }
    }
}

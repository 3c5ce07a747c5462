//! What is carried from attempt to attempt, and from an interrupted run to its continuation.

use crate::policy::{Consequence, consequence};
use crate::prompt::Previous;
use crate::records::event::FailureKind;
use ralph_base::ids::AttemptId;

/// What is known of a story from its attempts so far.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Carry {
    /// Retries that are used; an interrupted attempt uses none.
    pub retries_used: u32,
    /// What the next prompt says of the last attempt.
    pub previous: Option<Previous>,
}

impl Carry {
    /// A story that was done and is open again; its retries start afresh.
    pub fn reopened(reason: String) -> Self {
        Self {
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
pub(super) fn next_previous(
    before: Option<Previous>,
    kind: FailureKind,
    prompt_reason: Option<String>,
    parked: AttemptId,
) -> Option<Previous> {
    // A limit or a stop says nothing about the work: what an earlier attempt learned still holds.
    if before.is_some() && consequence(kind) != Consequence::Retry {
        return before;
    }
    Some(Previous {
        reason: prompt_reason,
        parked: Some(parked),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use ralph_base::ids::StoryId;

    #[test]
    fn a_story_that_used_up_its_retries_starts_afresh() {
        let last = AttemptId::new(StoryId("2".to_owned()), 4);
        let reason = Some("no luck".to_owned());
        for (used, want) in [(2, 2), (3, 3), (4, 0)] {
            assert_eq!(
                Carry::after(last.clone(), used, reason.clone(), 3),
                Carry {
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

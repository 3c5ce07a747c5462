//! What is carried from attempt to attempt, and from an interrupted run to its continuation.

use super::io::Previous;
use crate::domain::event::FailureKind;
use crate::domain::ids::{AttemptId, AttemptNumber, StoryId};
use crate::domain::policy::{Consequence, consequence, is_told};
use crate::domain::progress::{AttemptStanding, Progress, StoryProgress, StoryStanding};

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

impl Carry {
    /// Reads it from the records of a run; nothing if the run was between two stories.
    pub(crate) fn from_progress(progress: &Progress, max_retries: u32) -> Option<Self> {
        let story = progress
            .stories
            .iter()
            .rev()
            .find(|story| is_begun(story))?;
        let last = story.attempts.last()?;
        let mut retries_used = 0;
        let mut previous = None;
        for attempt in &story.attempts {
            let (kind, told) = match &attempt.state {
                AttemptStanding::Failed { kind, reason } => (*kind, reason.clone()),
                _ => (FailureKind::Interrupted, String::new()),
            };
            retries_used += u32::from(consequence(kind) == Consequence::Retry);
            let parked = AttemptId {
                story: story.id.clone(),
                attempt: attempt.number,
            };
            let told = is_told(kind).then_some(told);
            previous = told_next(previous, kind, told, parked);
        }
        // A story that used up its retries starts afresh: going on was the user's wish.
        if retries_used > max_retries {
            retries_used = 0;
        }
        Some(Self {
            story: story.id.clone(),
            next_attempt: AttemptNumber(last.number.0.saturating_add(1)),
            retries_used,
            previous,
        })
    }
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

fn is_begun(story: &StoryProgress) -> bool {
    matches!(
        story.state,
        StoryStanding::Running | StoryStanding::Unfinished
    )
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::domain::agent_event::Usage;
    use crate::domain::progress::AttemptProgress;

    fn failed(kind: FailureKind) -> AttemptStanding {
        let reason = format!("{kind:?}");
        AttemptStanding::Failed { kind, reason }
    }

    fn progress(states: Vec<AttemptStanding>, state: StoryStanding) -> Progress {
        let attempts = states.into_iter().zip(1..);
        let story = StoryProgress {
            id: StoryId("2".to_owned()),
            title: "Second".to_owned(),
            position: Some(2),
            state,
            attempts: attempts
                .map(|(state, number)| AttemptProgress {
                    number: AttemptNumber(number),
                    max_attempts: 4,
                    started_at: Timestamp::UNIX_EPOCH,
                    transcript: String::new(),
                    usage: Usage::default(),
                    state,
                })
                .collect(),
            started_at: Timestamp::UNIX_EPOCH,
        };
        let mut progress = Progress::default();
        progress.stories.push(story);
        progress
    }

    #[test]
    fn only_failures_that_count_use_retries_and_the_last_lesson_is_kept() {
        #[track_caller]
        fn case(states: Vec<AttemptStanding>, used: u32, told: Option<&str>, parked: u32) {
            let next = u32::try_from(states.len()).unwrap() + 1;
            let progress = progress(states, StoryStanding::Running);
            let want = Carry {
                story: StoryId("2".to_owned()),
                next_attempt: AttemptNumber(next),
                retries_used: used,
                previous: Some(Previous {
                    reason: told.map(str::to_owned),
                    parked: AttemptId {
                        story: StoryId("2".to_owned()),
                        attempt: AttemptNumber(parked),
                    },
                }),
            };
            assert_eq!(Carry::from_progress(&progress, 1), Some(want));
        }
        use AttemptStanding::{Interrupted, Running};
        case(vec![Running], 0, None, 1);
        let gate = || failed(FailureKind::Gate);
        case(vec![gate(), Interrupted], 1, Some("Gate"), 1);
        let limit = failed(FailureKind::Limit);
        case(
            vec![gate(), limit, failed(FailureKind::Stopped)],
            1,
            Some("Gate"),
            1,
        );
        case(vec![gate(), failed(FailureKind::Crashed)], 0, None, 2);
    }

    #[test]
    fn a_run_between_two_stories_carries_nothing() {
        let done = StoryStanding::Completed {
            commit: "c0ffee".to_owned(),
            changed_files: 1,
            duration: std::time::Duration::ZERO,
        };
        let finished = progress(vec![AttemptStanding::Succeeded], done);
        assert_eq!(Carry::from_progress(&finished, 3), None);
        let not_tried = progress(Vec::new(), StoryStanding::Running);
        assert_eq!(Carry::from_progress(&not_tried, 3), None);
    }
}

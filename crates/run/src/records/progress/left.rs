//! What is left to do in a run, and what failed in it.

use super::{AttemptStanding, Progress, StoryProgress, StoryStanding};
use crate::records::event::{AttemptFailed, StoryExhausted};
use ralph_base::ids::StoryId;

impl Progress {
    /// Whether a story is left that is neither done nor deferred.
    pub fn has_open_stories(&self) -> bool {
        self.stories.iter().any(StoryProgress::is_left)
    }

    /// The stories that used up their retries, and whether the run continued after each.
    pub fn failed_stories(&self) -> impl Iterator<Item = &StoryExhausted> {
        self.stories.iter().filter_map(|story| match &story.state {
            StoryStanding::Failed(exhausted) => Some(exhausted),
            _ => None,
        })
    }

    /// The last failed attempt at a story.
    pub fn last_failure_of(&self, story: &StoryId) -> Option<&AttemptFailed> {
        let story = self.stories.iter().find(|it| it.id == *story)?;
        let mut attempts = story.attempts.iter().rev();
        attempts.find_map(|attempt| match &attempt.state {
            AttemptStanding::Failed(failed) => Some(failed),
            _ => None,
        })
    }

    /// The story that a resumed run starts with: the first one that waits for no other. What failed
    /// in a run that continued comes last.
    pub fn next_to_run(&self) -> Option<&StoryProgress> {
        let is_next = |story: &&StoryProgress| {
            story.is_left()
                && !matches!(story.state, StoryStanding::NotRun { .. })
                && !self.waits(story)
        };
        let is_last = |story: &StoryProgress| matches!(&story.state, StoryStanding::Failed(it) if it.continues);
        let mut next = self.stories.iter().filter(is_next);
        next.clone()
            .find(|story| !is_last(story))
            .or_else(|| next.next())
    }

    /// Whether a story that another depends on is left to do.
    fn waits(&self, story: &StoryProgress) -> bool {
        let of = |id: &StoryId| self.stories.iter().find(|it| it.id == *id);
        let all = story.depends_on.all(|id| of(id).map(|it| &it.depends_on));
        all.into_iter()
            .any(|id| of(id).is_some_and(StoryProgress::is_left))
    }
}

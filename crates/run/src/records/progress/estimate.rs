//! How much longer a run may take, said only where there is something to say it from.

use std::time::Duration;

use jiff::Timestamp;

use super::{Progress, StoryStanding};

impl Progress {
    /// The time left, once this run has completed a story: the mean time of its completed stories
    /// for every open one, less what the one at hand has used. No story is expected to take less
    /// than no time, and a run that is over has nothing left.
    pub fn estimate(&self, now: Timestamp) -> Option<Duration> {
        if self.outcome.is_some() {
            return None;
        }
        let is_completed = |state: &StoryStanding| matches!(state, StoryStanding::Completed { .. });
        let completed = self.stories.iter().filter(|it| is_completed(&it.state));
        let times: Vec<Duration> = completed.map(|story| story.elapsed(now)).collect();
        let count = u32::try_from(times.len()).ok().filter(|count| *count > 0)?;
        let mean = times.iter().sum::<Duration>() / count;
        let current = self.current_story().map(|story| story.elapsed(now));
        let at_hand = current.map_or(Duration::ZERO, |used| mean.saturating_sub(used));
        let waiting = self.waiting_stories();
        Some(at_hand + mean.saturating_mul(waiting))
    }

    /// Open stories whose turn has not come.
    fn waiting_stories(&self) -> u32 {
        let is_settled = |state: &StoryStanding| {
            matches!(
                state,
                StoryStanding::Running | StoryStanding::Deferred | StoryStanding::Skipped { .. }
            )
        };
        let settled = self.stories.iter().filter(|it| is_settled(&it.state));
        let open = self.stories_total.saturating_sub(self.stories_done);
        u32::try_from(open.saturating_sub(settled.count())).unwrap_or(u32::MAX)
    }
}

//! How stories and their gates get on.

use std::time::Duration;

use jiff::Timestamp;

use super::{
    AttemptProgress, AttemptStanding, Commit, Doing, GateProgress, Progress, StoryProgress,
    StoryStanding,
};
use crate::records::event::{
    GateFinished, GateResult, GateStarted, StoryCompleted, StoryOutline, StoryStarted,
};
use crate::words::between;
use ralph_agents::agent_event::Usage;
use ralph_base::ids::StoryId;
use ralph_plan::change::StoryState;

impl Progress {
    /// Lists the stories of the change; what is known of those that were there stays.
    pub(super) fn lay_out(&mut self, outline: &[StoryOutline]) {
        let mut known = std::mem::take(&mut self.stories);
        for (index, it) in outline.iter().enumerate() {
            let before = known.iter().position(|story| story.id == it.id);
            let mut story = before.map_or_else(
                || StoryProgress::new(it.id.clone(), it.title.clone()),
                |place| known.remove(place),
            );
            story.title.clone_from(&it.title);
            story.position = Some(index + 1);
            story.tasks_done = it.tasks_done;
            story.tasks_total = it.tasks_total;
            let is_completed = matches!(story.state, StoryStanding::Completed { .. });
            match it.state {
                StoryState::Done if is_completed => {}
                StoryState::Done => story.state = StoryStanding::Done,
                StoryState::Open => story.state = StoryStanding::Waiting,
                StoryState::Deferred => story.state = StoryStanding::Deferred,
            }
            self.stories.push(story);
        }
        // Old records list none, and a story may be gone from the change.
        self.stories.append(&mut known);
    }

    pub(super) fn on_story_started(&mut self, started: &StoryStarted, at: Timestamp) {
        self.stories_total = started.total;
        self.doing = Doing::Between;
        let progress = self.take_up(&started.story, &started.title, Some(started.position));
        progress.state = StoryStanding::Running;
        progress.open_tasks = started.open_tasks;
        progress.started_at.get_or_insert(at);
        progress.since = Some(at);
    }

    pub(super) fn on_story_skipped(
        &mut self,
        story: &StoryId,
        title: &str,
        reason: &str,
        at: Timestamp,
    ) {
        self.skipping = false;
        self.doing = Doing::Between;
        self.notes.story_over(story);
        let progress = self.take_up(story, title, None);
        if progress.state != StoryStanding::Deferred {
            let reason = reason.to_owned();
            progress.rest(at, StoryStanding::Skipped { reason });
        }
    }

    /// The story with this id, which gets its place in the list if it has none.
    fn take_up(
        &mut self,
        id: &StoryId,
        title: &str,
        position: Option<usize>,
    ) -> &mut StoryProgress {
        let listed = self.stories.iter().position(|story| story.id == *id);
        let index = listed.unwrap_or_else(|| {
            let end = self.stories.len();
            let index = position.map_or(end, |position| end.min(position.saturating_sub(1)));
            let story = StoryProgress::new(id.clone(), title.to_owned());
            self.stories.insert(index, story);
            index
        });
        let story = &mut self.stories[index];
        title.clone_into(&mut story.title);
        story.position = position.or(story.position);
        story
    }

    pub(super) fn on_gate_started(&mut self, started: &GateStarted, at: Timestamp) {
        self.judged = Some(started.story.clone());
        self.doing = Doing::Gate {
            story: started.story.clone(),
            gate: started.gate.clone(),
            baseline: started.baseline,
            since: at,
        };
        let Some(progress) = self.story_mut(&started.story) else {
            return;
        };
        let last = progress.attempts.last().map(|attempt| attempt.number);
        progress.gates.push(GateProgress {
            name: started.gate.clone(),
            attempt: last.filter(|_| !started.baseline && !started.whole),
            whole: started.whole,
            started_at: at,
            log: started.log.clone(),
            result: None,
            was_red_before: false,
            duration: None,
        });
    }

    pub(super) fn on_gate_finished(&mut self, finished: &GateFinished) {
        let gate = &finished.gate;
        match (finished.baseline, &finished.result) {
            (true, GateResult::Failed { .. }) => self.red_before.push(gate.clone()),
            (true, GateResult::Passed) => {}
            (false, GateResult::Failed { .. }) => {
                self.red_gates.insert(gate.clone());
            }
            (false, GateResult::Passed) => {
                self.red_gates.remove(gate);
            }
        }
        self.doing = Doing::Between;
        let progress = self.story_mut(&finished.story);
        if let Some(gate) = progress.and_then(|story| story.gates.last_mut()) {
            gate.result = Some(finished.result.clone());
            gate.duration = Some(Duration::from_millis(finished.duration_ms));
        }
    }

    pub(super) fn on_story_completed(&mut self, completed: &StoryCompleted, at: Timestamp) {
        let story = &completed.story;
        self.reopened.take_if(|(reopened, _)| reopened == story);
        self.make_up_usage(story, &completed.usage);
        self.settle(AttemptStanding::Succeeded);
        self.doing = Doing::Between;
        self.skipping = false;
        self.notes.story_over(story);
        self.stories_done = (self.stories_done + 1).min(self.stories_total);
        if let Some(progress) = self.story_mut(story) {
            progress.complete(completed, at);
        }
    }

    pub(super) fn on_reopened(&mut self, story: &StoryId, reason: &str) {
        self.doing = Doing::Between;
        self.stories_done = self.stories_done.saturating_sub(1);
        self.reopened = Some((story.clone(), reason.to_owned()));
        if let Some(progress) = self.story_mut(story) {
            progress.state = StoryStanding::Unfinished;
            progress.is_reopened = true;
            progress.tasks_done = 0;
        }
    }

    /// Where the agent's own words were not recorded, what the last attempt used is what the others
    /// of the story leave of the total.
    fn make_up_usage(&mut self, story: &StoryId, total: &Usage) {
        if self.in_flight != Usage::default() {
            return;
        }
        let Some(story) = self.stories.iter().find(|it| it.id == *story) else {
            return;
        };
        let mut others = Usage::default();
        let is_counted = |it: &&AttemptProgress| story.since.is_some_and(|at| it.started_at >= at);
        for attempt in story.attempts.iter().filter(is_counted) {
            others.add(&attempt.usage);
        }
        self.in_flight = total.without(&others);
    }
}

impl StoryProgress {
    fn complete(&mut self, completed: &StoryCompleted, at: Timestamp) {
        if !std::mem::take(&mut self.is_reopened) {
            for earlier in &mut self.commits {
                earlier.superseded = true;
            }
        }
        self.commits.push(Commit {
            id: completed.commit.clone(),
            changed_files: completed.changed_files,
            superseded: false,
        });
        // If a later start recorded it, the record does not say when it was done.
        if let Some(last) = self
            .attempts
            .last_mut()
            .filter(|_| completed.duration_ms > 0)
        {
            last.took = Some(between(last.started_at, at));
        }
        self.rest(at, StoryStanding::Completed(completed.clone()));
        let done = self.tasks_done + self.open_tasks;
        self.tasks_done = done.min(self.tasks_total);
    }
}

//! Choosing the next story: the change is read, the branch is begun, stories set aside are named.

use jiff::Timestamp;

use super::io::{Effect, Previous, StoryState, StoryView};
use super::{Machine, Origin, Phase};
use crate::domain::agent_event::Usage;
use crate::domain::event::{Event, Outcome};
use crate::domain::ids::StoryId;

/// The story at hand and what is known of its attempts.
#[derive(Debug)]
pub(super) struct Current {
    pub(super) view: StoryView,
    /// When its first attempt of this run started.
    pub(super) started: Option<Timestamp>,
    pub(super) next_attempt: u32,
    pub(super) retries_used: u32,
    pub(super) previous: Option<Previous>,
    /// What its attempts used.
    pub(super) usage: Usage,
    /// Limits met in a row.
    pub(super) limits: u32,
    /// When the first limit of the row was met.
    pub(super) limited_since: Option<Timestamp>,
}

impl Machine {
    pub(super) fn read_backlog(&mut self) -> Phase {
        let ticket = self.ask();
        self.emit(Effect::ReadBacklog { ticket });
        Phase::Reading
    }

    pub(super) fn on_backlog(&mut self, stories: Vec<StoryView>) -> Phase {
        self.tally.stories_total = stories.len();
        self.tally.stories_done = count_done(&stories);
        if self.stop.is_some() {
            return self.end(Outcome::Stopped);
        }
        // The branch of a run that is resumed exists: it has to be finished even with no work left.
        let is_resumed = matches!(self.setup.origin, Origin::Resumed { .. });
        if !self.begun && (is_resumed || self.next_open(&stories).is_some()) {
            let ticket = self.ask();
            self.emit(Effect::Begin { ticket });
            return Phase::Beginning(stories);
        }
        self.choose(&stories)
    }

    pub(super) fn on_begun(
        &mut self,
        stories: &[StoryView],
        branch: String,
        original: (String, Option<String>),
    ) -> Phase {
        self.begun = true;
        self.announce_run(branch, original);
        if self.stop.is_some() {
            return self.end(Outcome::Stopped);
        }
        self.choose(stories)
    }

    fn announce_run(&mut self, branch: String, original: (String, Option<String>)) {
        let (original, original_commit) = original;
        let policy = self.policy();
        let event = Event::RunStarted {
            change: self.setup.change.clone(),
            branch,
            original,
            original_commit,
            agent: self.setup.agent.clone(),
            model: self.setup.model.clone(),
            stories_total: self.tally.stories_total,
            stories_done: self.tally.stories_done,
            max_retries: policy.max_retries,
            gates: policy.gates.iter().map(|gate| gate.name.clone()).collect(),
            resumed: matches!(self.setup.origin, Origin::Resumed { .. }),
        };
        self.announce(event);
    }

    fn choose(&mut self, stories: &[StoryView]) -> Phase {
        self.name_deferred(stories);
        let Some(position) = self.next_open(stories) else {
            return self.nothing_left(stories);
        };
        let view = &stories[position];
        if self.completed.contains(&view.id) {
            return self.end(still_open(&view.id));
        }
        self.announce(Event::StoryStarted {
            story: view.id.clone(),
            title: view.title.clone(),
            position: position + 1,
            total: stories.len(),
            open_tasks: view.open_tasks,
        });
        let story = self.take_up(view.clone());
        self.next_baseline(story, 0)
    }

    /// The place of the story to run next.
    fn next_open(&self, stories: &[StoryView]) -> Option<usize> {
        stories
            .iter()
            .position(|story| story.state == StoryState::Open && self.is_wanted(&story.id))
    }

    fn is_wanted(&self, id: &StoryId) -> bool {
        let only = self.policy().only_story.as_ref();
        only.is_none_or(|only| only == id)
    }

    fn take_up(&mut self, view: StoryView) -> Box<Current> {
        let mut story = Current {
            view,
            started: None,
            next_attempt: 1,
            retries_used: 0,
            previous: None,
            usage: Usage::default(),
            limits: 0,
            limited_since: None,
        };
        if let Origin::Resumed { attempts, .. } = &self.setup.origin {
            let highest = attempts.get(&story.view.id).copied();
            story.next_attempt = highest.unwrap_or(0).saturating_add(1);
        }
        if let Origin::Resumed { carry, .. } = &mut self.setup.origin
            && let Some(carry) = carry.take_if(|carry| carry.story == story.view.id)
        {
            story.next_attempt = carry.next_attempt.0.max(1);
            story.retries_used = carry.retries_used;
            story.previous = carry.previous;
        }
        Box::new(story)
    }

    fn nothing_left(&mut self, stories: &[StoryView]) -> Phase {
        let outcome = match &self.policy().only_story {
            None => Outcome::AllDone,
            Some(only) if stories.iter().any(|story| story.id == *only) => Outcome::StoryDone,
            Some(only) => Outcome::Broken {
                reason: format!("story `{only}` is not in the change"),
                hint: format!(
                    "see the stories with `ralphtool show {}`",
                    self.setup.change
                ),
            },
        };
        self.end(outcome)
    }

    fn name_deferred(&mut self, stories: &[StoryView]) {
        for story in stories {
            if story.state != StoryState::Deferred || !self.is_wanted(&story.id) {
                continue;
            }
            if self.skipped.insert(story.id.clone()) {
                self.skip(story);
            }
        }
    }

    fn skip(&mut self, story: &StoryView) {
        let id = &story.id;
        if self.completed.contains(id) {
            self.warn(
                "deferred",
                format!("story `{id}` is done but for its deferred tasks"),
            );
            return;
        }
        let reason = "all of its open tasks are deferred";
        self.warn("deferred", format!("story `{id}` is skipped: {reason}"));
        self.announce(Event::StorySkipped {
            story: id.clone(),
            title: story.title.clone(),
            reason: reason.to_owned(),
        });
    }
}

fn count_done(stories: &[StoryView]) -> usize {
    let done = stories
        .iter()
        .filter(|story| story.state == StoryState::Done);
    done.count()
}

// Running the story again would find the same boxes: the loop would never end.
fn still_open(id: &StoryId) -> Outcome {
    Outcome::Broken {
        reason: format!("story `{id}` has open tasks again after its checkpoint"),
        hint: "look at its boxes in the task file; the work is safe in the checkpoint".to_owned(),
    }
}

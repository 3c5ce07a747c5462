//! Choosing the next story: the change is read, the branch is begun, deferred stories are reported.

use jiff::Timestamp;

use super::io::{Step, StoryView};
use super::{Carry, Machine, Phase};
use crate::records::event::{Event, Outcome, RunStarted, StoryOutline, StoryStarted};
use crate::words::count;
use ralph_agents::agent_event::Usage;
use ralph_base::ids::StoryId;
use ralph_plan::change::StoryState;
use ralph_vault::Begun;

/// The story at hand and what is known of its attempts.
#[derive(Debug)]
pub(super) struct Current {
    pub(super) view: StoryView,
    /// When its first attempt of this run started.
    pub(super) started: Option<Timestamp>,
    pub(super) carry: Carry,
    /// What its attempts used.
    pub(super) usage: Usage,
    /// Repairs in its attempts.
    pub(super) repairs: u32,
}

impl Machine {
    pub(super) fn read_backlog(&mut self) -> Phase {
        self.request(Step::ReadBacklog);
        Phase::Reading
    }

    pub(super) fn on_backlog(&mut self, stories: Vec<StoryView>) -> Phase {
        self.tally.stories_total = stories.len();
        self.tally.stories_done = count_done(&stories);
        self.stories = stories;
        self.announce_again();
        if self.stop.is_some() {
            return self.end(Outcome::Stopped);
        }
        // The branch of a run that is resumed exists: it has to be finished even with no work left.
        let is_resumed = self.setup.resumed.is_some();
        if self.branch.is_none() && (is_resumed || self.next_open().is_some()) {
            self.request(Step::Begin);
            return Phase::Beginning;
        }
        self.choose()
    }

    pub(super) fn on_begun(&mut self, branch: Begun) -> Phase {
        let is_resumed = self.setup.resumed.is_some();
        self.announce_run(&branch, is_resumed);
        self.branch = Some(branch);
        if self.stop.is_some() {
            return self.end(Outcome::Stopped);
        }
        self.give_up_again();
        self.choose()
    }

    pub(super) fn announce_run(&mut self, branch: &Begun, resumed: bool) {
        let policy = self.policy();
        let first = self.setup.roster.first();
        let event = Event::RunStarted(RunStarted {
            change: self.setup.change.clone(),
            branch: branch.branch.clone(),
            original: branch.original.clone(),
            original_commit: branch.original_commit.clone(),
            abandon_to: branch.abandon_to.clone(),
            agent: first.agent,
            model: first.model,
            stories_total: self.tally.stories_total,
            stories_done: self.tally.stories_done,
            max_retries: policy.max_retries,
            gates: policy.gates.iter().map(|gate| gate.name.clone()).collect(),
            gates_at_end: policy
                .gates_at_end()
                .map(|gate| gate.name.clone())
                .collect(),
            reviews: policy.reviewers.iter().map(|it| it.name.clone()).collect(),
            reviews_at_end: policy
                .reviewers_at_end()
                .map(|it| it.name.clone())
                .collect(),
            resumed,
            stories: self.stories.iter().map(outline).collect(),
            budget: policy.budget.into(),
            story_budget: policy.story_budget.into(),
            fallback: self.setup.roster.fallback(),
        });
        self.announce(event);
    }

    fn choose(&mut self) -> Phase {
        self.name_deferred();
        self.name_not_run();
        let Some(position) = self.next_open() else {
            return self.nothing_left();
        };
        let view = self.stories[position].clone();
        if self.completed.contains(&view.id) {
            return self.end(still_open(&view.id));
        }
        if let Some(used_up) = self.used_up(&view.id, &Usage::default()) {
            return self.end(used_up.into());
        }
        self.announce(Event::StoryStarted(StoryStarted {
            story: view.id.clone(),
            title: view.title.clone(),
            position: position + 1,
            total: self.stories.len(),
            open_tasks: view.open_tasks,
            tasks: view.tasks.clone(),
        }));
        let story = self.take_up(view);
        self.recall_gates(story)
    }

    pub(super) fn is_wanted(&self, id: &StoryId) -> bool {
        let only = self.policy().only_story.as_ref();
        only.is_none_or(|only| only == id)
    }

    fn take_up(&mut self, view: StoryView) -> Box<Current> {
        Box::new(Current {
            carry: self.left.remove(&view.id).unwrap_or_default(),
            view,
            started: None,
            usage: Usage::default(),
            repairs: 0,
        })
    }

    /// Takes note of a story that is left before it is done, should the user resume it: its
    /// retries start afresh, and what its last attempt learned still holds.
    pub(super) fn leave(&mut self, story: Current) {
        self.ledger.stop_clock(self.now);
        let carry = Carry {
            retries_used: 0,
            ..story.carry
        };
        self.left.insert(story.view.id, carry);
    }

    fn nothing_left(&mut self) -> Phase {
        let is_there = |only: &StoryId| self.stories.iter().any(|story| story.id == *only);
        let outcome = match (self.left_open_outcome(), &self.policy().only_story) {
            (Some(outcome), _) => outcome,
            (None, None) => Outcome::AllDone,
            (None, Some(only)) if is_there(only) => Outcome::StoryDone {
                story: Some(only.clone()),
            },
            (None, Some(only)) => Outcome::Broken {
                reason: format!("story `{only}` is not in the change"),
                hint: format!(
                    "see the stories with `ralphtool show {}`",
                    self.setup.change
                ),
            },
        };
        self.judge_whole(outcome)
    }

    fn name_deferred(&mut self) {
        for story in self.stories.clone() {
            if story.state != StoryState::Deferred || !self.is_wanted(&story.id) {
                continue;
            }
            if self.deferred.insert(story.id.clone()) {
                self.pass_over(&story);
            }
        }
    }

    fn pass_over(&mut self, story: &StoryView) {
        let id = &story.id;
        if self.completed.contains(id) || is_done(story) {
            let left = count(story.deferred_tasks, "task");
            self.warn("deferred", format!("story `{id}` is done, {left} deferred"));
            return;
        }
        let reason = "all of its tasks are deferred";
        self.announce(Event::StorySkipped {
            story: id.clone(),
            title: story.title.clone(),
            reason: reason.to_owned(),
            waits_for: None,
        });
    }
}

fn outline(story: &StoryView) -> StoryOutline {
    StoryOutline {
        id: story.id.clone(),
        title: story.title.clone(),
        state: story.state,
        tasks_done: story.tasks_done,
        tasks_total: story.tasks_total,
        tasks_deferred: story.deferred_tasks,
        depends_on: story.depends_on.known().cloned(),
    }
}

/// Whether no task of a story is left to do and at least one is done.
const fn is_done(story: &StoryView) -> bool {
    story.state.counts_as_done(story.tasks_done)
}

fn count_done(stories: &[StoryView]) -> usize {
    let done = stories.iter().filter(|story| is_done(story));
    done.count()
}

// Running the story again would find the same boxes: the loop would never end.
fn still_open(id: &StoryId) -> Outcome {
    Outcome::Broken {
        reason: format!("story `{id}` has open tasks again after its checkpoint"),
        hint: "look at its boxes in the task file; the work is safe in the checkpoint".to_owned(),
    }
}

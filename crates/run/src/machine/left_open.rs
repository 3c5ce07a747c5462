//! Stories that the run leaves open, and the stories that cannot be run because of them.
//!
//! A story is left open when the user skips it, when it has used up its retries, or when its agent asked
//! a question that has no answer. What depends on
//! it is not run. Which stories these are is computed each time the change is read: a user may have
//! done a story by hand meanwhile.

use std::collections::BTreeSet;

use super::io::StoryView;
use super::stories::Current;
use super::{Machine, Phase};
use crate::policy::{OnBlocked, OnExhausted};
use crate::records::event::{Event, FailedStory, OpenQuestion, Outcome, StoryExhausted};
use ralph_base::ids::StoryId;
use ralph_plan::change::{Dependencies, StoryState};

/// Why the run has left a story open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LeftOpen {
    /// The user skipped it.
    Skipped,
    /// It used up its retries.
    Failed(FailedStory),
    /// Its agent asked this, and has no answer.
    Blocked(String),
}

impl LeftOpen {
    /// What became of the story, after its name.
    const fn words(&self) -> &'static str {
        match self {
            Self::Skipped => "was skipped",
            Self::Failed(_) => "failed",
            Self::Blocked(_) => "waits for an answer",
        }
    }
}

impl Machine {
    /// A story has used up its retries: the run continues without it, or ends.
    pub(super) fn give_up(&mut self, story: Current, failed: FailedStory) -> Phase {
        let continues = self.continues_without(&failed.story, self.continues_after_failure());
        self.announce_exhausted(&story.view.title, failed.clone(), continues);
        if continues {
            return self.leave_open(story, LeftOpen::Failed(failed));
        }
        let is_failed = |why: &LeftOpen| matches!(why, LeftOpen::Failed(_));
        let is_first = !self.left_open.values().any(is_failed);
        let id = failed.story.clone();
        self.left_open.insert(id, LeftOpen::Failed(failed.clone()));
        let outcome = self.left_open_outcome().filter(|_| !is_first);
        // The run did not continue without it: should it be resumed, it is where it was.
        self.left_open.remove(&story.view.id);
        let outcome = outcome.unwrap_or_else(|| Outcome::stopped_at(failed));
        self.leave_and_end(story, outcome)
    }

    /// What the user says about the stories after one that used up its retries.
    fn continues_after_failure(&self) -> Option<bool> {
        let said = self.policy().on_exhausted;
        said.map(|it| it == OnExhausted::Continue)
    }

    /// What the user says about the stories after one whose question has no answer.
    fn continues_after_question(&self) -> Option<bool> {
        self.policy().on_blocked.map(|it| it != OnBlocked::Stop)
    }

    /// The question of a story has no answer: the run continues without it, or ends.
    pub(super) fn leave_blocked(&mut self, story: Current, question: String) -> Phase {
        let id = story.view.id.clone();
        let continues = self.continues_without(&id, self.continues_after_question());
        self.left_open
            .insert(id.clone(), LeftOpen::Blocked(question));
        if continues {
            // An answer in this run gives it no new retries.
            let carry = story.carry.clone();
            self.leave(story);
            self.left.insert(id, carry);
            return self.read_backlog();
        }
        let outcome = self.left_open_outcome();
        // The run did not continue without it: should it be resumed, it is where it was.
        self.left_open.remove(&id);
        let outcome = outcome.unwrap_or(Outcome::Stopped);
        self.leave_and_end(story, outcome)
    }

    /// There is an answer: the story may be tried again.
    pub(super) fn forget_blocked(&mut self, id: &StoryId) {
        if let Some(LeftOpen::Blocked(_)) = self.left_open.get(id) {
            self.left_open.remove(id);
        }
    }

    pub(super) fn announce_exhausted(&mut self, title: &str, failed: FailedStory, continues: bool) {
        self.announce(Event::StoryExhausted(StoryExhausted {
            title: title.to_owned(),
            failed,
            continues,
        }));
    }

    /// Continues with another story; what is known of this one is kept, should it be resumed.
    pub(super) fn leave_open(&mut self, story: Current, why: LeftOpen) -> Phase {
        self.left_open.insert(story.view.id.clone(), why);
        self.leave(story);
        self.read_backlog()
    }

    /// Whether the run continues with others without this story: as the user says, or else where the
    /// plan says of another one on which it depends.
    fn continues_without(&self, id: &StoryId, said: Option<bool>) -> bool {
        let mut others = self.stories.iter().filter(|story| {
            let is_left_out =
                self.left_open.contains_key(&story.id) || self.not_run.contains(&story.id);
            story.id != *id && self.is_wanted_now(story) && !is_left_out
        });
        match said {
            Some(false) => false,
            Some(true) => others.next().is_some(),
            None => others.any(|story| story.depends_on != Dependencies::Unknown),
        }
    }

    /// What a run that was interrupted had given up, and has to give up still.
    pub(super) fn give_up_again(&mut self) {
        let Some(failed) = self.used_up_before.take() else {
            return;
        };
        let story = self
            .view(&failed.story)
            .filter(|it| it.state == StoryState::Open);
        if let Some(title) = story.map(|it| it.title.clone())
            && self.continues_without(&failed.story, self.continues_after_failure())
        {
            self.announce_exhausted(&title, failed.clone(), true);
            let id = failed.story.clone();
            self.left_open.insert(id, LeftOpen::Failed(failed));
        }
    }

    /// The place of the story to run next: the first one that waits for no other. What failed in an
    /// earlier part of the run comes after the others.
    pub(super) fn next_open(&self) -> Option<usize> {
        let can_run = |story: &StoryView| {
            self.is_wanted_now(story)
                && !self.left_open.contains_key(&story.id)
                && self.held_by(story).is_none()
        };
        let first = |may_be_next: &dyn Fn(&StoryView) -> bool| {
            self.stories
                .iter()
                .position(|it| can_run(it) && may_be_next(it))
        };
        let failed = |it: &StoryView| self.failed_before.contains(&it.id);
        first(&|it| !self.waits(it) && !self.may_wait(it) && !failed(it))
            .or_else(|| first(&|it| !self.waits(it) && !self.may_wait(it)))
            .or_else(|| first(&|it| !self.waits(it)))
            // A cycle is removed where the plan is read; a run never ends because of one.
            .or_else(|| first(&|_| true))
    }

    /// Whether a story that this one depends on has still to be run.
    fn waits(&self, story: &StoryView) -> bool {
        let all = story
            .depends_on
            .all(|id| self.view(id).map(|it| &it.depends_on));
        let is_asked_for = self.policy().only_story.is_some();
        !is_asked_for && all.into_iter().any(|id| self.is_open(id))
    }

    /// Whether this story may depend on one that failed before the run was resumed.
    fn may_wait(&self, story: &StoryView) -> bool {
        let is_unsure = self.continues_after_failure() != Some(true);
        let failed = |id: &StoryId| is_unsure && self.failed_before.contains(id);
        let before = self.unknown_before(story, failed);
        before.into_iter().any(|id| self.is_open(id))
    }

    /// The story that is left open and keeps this one from being run.
    pub(super) fn held_by(&self, story: &StoryView) -> Option<&StoryId> {
        if self.policy().only_story.is_some() || self.left_open.is_empty() {
            return None;
        }
        let mut reached: BTreeSet<&StoryId> = BTreeSet::new();
        let mut next = vec![story];
        while let Some(view) = next.pop() {
            let said = view.depends_on.known().into_iter().flatten();
            for id in said.chain(self.unknown_before(view, |id| self.may_hold(id))) {
                if reached.insert(id) {
                    next.extend(self.view(id));
                }
            }
        }
        let is_left = |it: &&StoryView| {
            it.state == StoryState::Open
                && reached.contains(&it.id)
                && self.left_open.contains_key(&it.id)
        };
        self.stories.iter().find(is_left).map(|it| &it.id)
    }

    /// Whether a story that is left open keeps later ones of which nothing is known from being run:
    /// unless the user says that the run continues, they may depend on it.
    fn may_hold(&self, id: &StoryId) -> bool {
        match self.left_open.get(id) {
            Some(LeftOpen::Failed(_)) => self.continues_after_failure() != Some(true),
            Some(LeftOpen::Blocked(_)) => self.continues_after_question() != Some(true),
            Some(LeftOpen::Skipped) | None => false,
        }
    }

    /// The stories that come before one of which nothing is known, as far as they are these.
    fn unknown_before<'a>(
        &'a self,
        story: &StoryView,
        is_one: impl Fn(&StoryId) -> bool,
    ) -> Vec<&'a StoryId> {
        let may_depend = story.depends_on == Dependencies::Unknown;
        let before = self.stories.iter().take_while(|it| it.id != story.id);
        let before = before.filter(|it| may_depend && is_one(&it.id));
        before.map(|it| &it.id).collect()
    }

    /// Announces the stories that cannot be run, each once.
    pub(super) fn name_not_run(&mut self) {
        for story in self.stories.clone() {
            let Some(waits_for) = self.not_run_because(&story).cloned() else {
                self.not_run.remove(&story.id);
                continue;
            };
            if self.not_run.insert(story.id.clone()) {
                let why = self.left_open.get(&waits_for).map_or("", LeftOpen::words);
                let may = match story.depends_on {
                    Dependencies::Unknown => "may depend",
                    Dependencies::Known(_) => "depends",
                };
                self.announce(Event::StorySkipped {
                    story: story.id,
                    title: story.title,
                    reason: format!("it {may} on story {waits_for}, which {why}"),
                    waits_for: Some(waits_for),
                });
            }
        }
    }

    fn not_run_because(&self, story: &StoryView) -> Option<&StoryId> {
        let is_next = self.is_wanted_now(story) && !self.left_open.contains_key(&story.id);
        is_next.then(|| self.held_by(story)).flatten()
    }

    /// How a run ends that has left stories open; none where there are none.
    pub(super) fn left_open_outcome(&self) -> Option<Outcome> {
        let open = self
            .stories
            .iter()
            .filter(|it| it.state == StoryState::Open);
        let not_run: Vec<StoryId> = open
            .clone()
            .filter(|it| self.not_run_because(it).is_some())
            .map(|it| it.id.clone())
            .collect();
        let mut failed = Vec::new();
        let mut skipped = Vec::new();
        let mut questions = Vec::new();
        for story in open {
            match self.left_open.get(&story.id) {
                Some(LeftOpen::Failed(it)) => failed.push(it.clone()),
                Some(LeftOpen::Skipped) => skipped.push(story.id.clone()),
                Some(LeftOpen::Blocked(question)) => questions.push(OpenQuestion {
                    story: story.id.clone(),
                    question: question.clone(),
                }),
                None => {}
            }
        }
        let is_skipped = !skipped.is_empty();
        let exhausted = Outcome::continued_after(failed, not_run.clone());
        if exhausted.is_none() && !questions.is_empty() {
            return Some(Outcome::Blocked { questions, not_run });
        }
        exhausted.or_else(|| {
            is_skipped.then_some(Outcome::Skipped {
                stories: skipped,
                not_run,
            })
        })
    }

    /// The run is resumed after its end: every story may be tried again, first those that were not.
    pub(super) fn forget_left_open(&mut self) {
        let left = std::mem::take(&mut self.left_open);
        let failed = left
            .into_iter()
            .filter(|(_, why)| matches!(why, LeftOpen::Failed(_)));
        self.failed_before.extend(failed.map(|(id, _)| id));
        self.not_run.clear();
    }

    /// Whether a story is to be run, as far as it is up to itself.
    fn is_wanted_now(&self, story: &StoryView) -> bool {
        story.state == StoryState::Open && self.is_wanted(&story.id)
    }

    fn is_open(&self, id: &StoryId) -> bool {
        self.view(id).is_some_and(|it| it.state == StoryState::Open)
    }

    fn view(&self, id: &StoryId) -> Option<&StoryView> {
        self.stories.iter().find(|story| story.id == *id)
    }
}

//! Gates and reviews at the end: they judge the whole change once every story is done, and a red one opens the
//! last story again.

use super::checks::is_due;
use super::gate_run::GateRun;
use super::io::{GateEnd, Ground, Step};
use super::subject::{Subject, Whole};
use super::verdict::gate_reason;
use super::{Carry, Machine, Phase};
use crate::policy::When;
use crate::records::event::{Event, FailedStory, FailureKind, GateResult, Outcome};
use ralph_base::ids::{AttemptId, StoryId};
use ralph_plan::change::StoryState;
use ralph_vault::journal::reopening::Reopening;

/// A gate at the end that runs.
#[derive(Debug)]
pub(super) struct WholeGating {
    whole: Whole,
    run: GateRun,
}

impl Machine {
    /// Ends the run, once the gates at the end have judged it where everything is done.
    pub(super) fn judge_whole(&mut self, outcome: Outcome) -> Phase {
        let is_done = matches!(outcome, Outcome::AllDone | Outcome::StoryDone { .. })
            && self.branch.is_some()
            && !self.stories.iter().any(|it| it.state == StoryState::Open);
        let Some(story) = self.last_story().filter(|_| is_done) else {
            return self.end_done(outcome);
        };
        self.unreviewed.retain(|(_, story)| story.is_some());
        let whole = Whole {
            outcome,
            story,
            touched: Vec::new(),
            judged: Vec::new(),
        };
        let has_paths = self.policy().gates_at_end().any(|it| it.paths.is_some());
        if has_paths {
            self.request(Step::CompareWithStart);
            return Phase::Comparing(whole);
        }
        self.next_whole(whole, 0)
    }

    pub(super) fn on_compared(&mut self, whole: Whole, touched: Vec<usize>) -> Phase {
        if self.stop.is_some() {
            return self.end(Outcome::Stopped);
        }
        self.next_whole(Whole { touched, ..whole }, 0)
    }

    /// Ends the run with this outcome. Work that is done is not verified where gates are red in it,
    /// as they were before it, unless the user allows that.
    pub(super) fn end_done(&mut self, outcome: Outcome) -> Phase {
        let gates = self.policy().gates.iter().filter(|gate| !gate.allow_red);
        let red: Vec<String> = gates
            .map(|gate| gate.name.clone())
            .filter(|gate| self.red_in_work.contains(gate))
            .collect();
        let reviews = self.unreviewed();
        if outcome.is_done() && !(red.is_empty() && reviews.is_empty()) {
            let gates = red;
            return self.end(Outcome::Unverified { gates, reviews });
        }
        self.end(outcome)
    }

    /// Takes note of whether a gate is still red in work that counts, as it was before it.
    pub(super) fn note_work(&mut self, gate: usize, is_red_as_before: bool) {
        let name = self.gate_name(gate);
        if is_red_as_before {
            self.red_in_work.insert(name);
        } else {
            self.red_in_work.remove(&name);
        }
    }

    /// The story that was done last.
    fn last_story(&self) -> Option<StoryId> {
        let mut stories = self.stories.iter().rev();
        let last = stories.find(|it| it.state == StoryState::Done);
        let last = last.map(|it| it.id.clone());
        let only = self.policy().only_story.clone();
        self.last_done.clone().or(only).or(last)
    }

    /// Runs the next gate at the end, from a place on.
    fn next_whole(&mut self, whole: Whole, from: usize) -> Phase {
        for place in from..self.policy().gates.len() {
            let gate = &self.policy().gates[place];
            if gate.when != When::End {
                continue;
            }
            if !self.setup.continues_work && !is_due(gate, place, &whole.touched) {
                self.announce_not_run(&whole.story, place, Ground::Whole);
                continue;
            }
            let attempt = self.last_attempt_at(&whole.story);
            let run = self.run_gate(&attempt, 0, place, Ground::Whole);
            return Phase::Whole(WholeGating { whole, run });
        }
        self.next_review(Subject::Whole(whole), 0)
    }

    pub(super) fn last_attempt_at(&self, story: &StoryId) -> AttemptId {
        AttemptId::new(story.clone(), self.attempts_at(story))
    }

    pub(super) fn on_whole_ended(
        &mut self,
        WholeGating { mut whole, mut run }: WholeGating,
        end: GateEnd,
    ) -> Phase {
        let overrun = self.unwatch_gate();
        if self.stop.is_some() {
            return self.end(Outcome::Stopped);
        }
        if let Some(used_up) = overrun {
            return self.end(used_up.into());
        }
        let gate = run.gate;
        let red = self.judge_red(gate, &end);
        if !red.is_as_before() && self.retry_gate(&mut run, &end) {
            return Phase::Whole(WholeGating { whole, run });
        }
        self.announce_gate(&run, &end, &red);
        whole.judged.push(self.judged_gate(&run, &end.result));
        self.note_work(gate, red.is_as_before());
        let GateResult::Failed { how, tail, .. } = end.result else {
            return self.next_whole(whole, gate + 1);
        };
        let name = self.gate_name(gate);
        if red.is_as_before() {
            let message = red.excuse(&name, &run.how(&how), "the run");
            self.warn("red_before", message);
            return self.next_whole(whole, gate + 1);
        }
        self.reopen(Reopening {
            story: whole.story,
            reason: gate_reason(&name, &red.how(run.how(&how)), &tail),
            gate: name,
            review: false,
        })
    }

    /// Opens the last story again: the whole change did not pass.
    pub(super) fn reopen(&mut self, reopening: Reopening) -> Phase {
        self.request(Step::Reopen(reopening.clone()));
        Phase::Reopening(reopening)
    }

    pub(super) fn on_reopened(&mut self, reopening: Reopening, commit: &str) -> Phase {
        let (story, reason) = (reopening.story.clone(), reopening.reason.clone());
        let gate = (!reopening.review).then(|| reopening.gate.clone());
        let kind = match gate {
            Some(_) => FailureKind::Gate,
            None => FailureKind::Review,
        };
        let view = self.stories.iter().find(|it| it.id == story);
        let title = view.map(|it| it.title.clone()).unwrap_or_default();
        self.checkpoint_verdicts.moved_to(commit);
        self.completed.remove(&story);
        self.tally.stories_done = self.tally.stories_done.saturating_sub(1);
        self.announce(Event::reopened(reopening, commit.to_owned()));
        let used = self.retries_used.get(&story).copied().unwrap_or(0);
        let is_exhausted = used >= self.policy().max_retries;
        let mut carry = Carry::reopened(reason.clone());
        if !is_exhausted {
            carry.retries_used = used + 1;
        }
        self.left.insert(story.clone(), carry);
        if self.stop.is_some() {
            return self.end(Outcome::Stopped);
        }
        if is_exhausted {
            let failed = FailedStory {
                attempts: self.attempts_at(&story),
                story,
                kind,
                reason,
                gate,
            };
            self.announce_exhausted(&title, failed.clone(), false);
            return self.end(Outcome::stopped_at(failed));
        }
        self.read_backlog()
    }
}

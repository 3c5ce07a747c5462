//! Gates at the end: they judge the whole change once every story is done, and a red one opens the
//! last story again.

use std::time::Duration;

use super::io::{Ground, Step};
use super::verdict::gate_reason;
use super::{Carry, Machine, Phase, Verdict};
use crate::policy::When;
use crate::records::event::{Event, FailedStory, FailureKind, GateResult, Outcome};
use ralph_base::ids::{AttemptId, StoryId};
use ralph_plan::change::StoryState;
use ralph_vault::journal::reopening::Reopening;

/// A gate at the end that runs.
#[derive(Debug)]
pub(super) struct Whole {
    /// How the run ends if all of them pass.
    outcome: Outcome,
    gate: usize,
    /// The story that is opened again if not.
    story: StoryId,
}

impl Machine {
    /// Ends the run, once the gates at the end have judged it where everything is done.
    pub(super) fn judge_whole(&mut self, outcome: Outcome) -> Phase {
        let is_done = matches!(outcome, Outcome::AllDone | Outcome::StoryDone { .. })
            && self.branch.is_some()
            && !self.stories.iter().any(|it| it.state == StoryState::Open);
        match self.last_story().filter(|_| is_done) {
            Some(story) => self.next_whole(Whole {
                outcome,
                gate: 0,
                story,
            }),
            None => self.end_done(outcome),
        }
    }

    /// Ends the run with this outcome. Work that is done is not verified where gates are red in it,
    /// as they were before it, unless the user allows that.
    pub(super) fn end_done(&mut self, outcome: Outcome) -> Phase {
        let gates = self.policy().gates.iter().filter(|gate| !gate.allow_red);
        let red: Vec<String> = gates
            .map(|gate| gate.name.clone())
            .filter(|gate| self.red_in_work.contains(gate))
            .collect();
        if outcome.is_done() && !red.is_empty() {
            return self.end(Outcome::Unverified { gates: red });
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

    fn next_whole(&mut self, mut whole: Whole) -> Phase {
        let gates = &self.setup.policy.gates;
        let mut rest = gates.iter().enumerate().skip(whole.gate);
        let Some((gate, _)) = rest.find(|(_, gate)| gate.when == When::End) else {
            return self.end_done(whole.outcome);
        };
        whole.gate = gate;
        let last = self.attempts_at(&whole.story);
        let attempt = AttemptId::new(whole.story.clone(), last);
        self.run_gate(&attempt, gate, Ground::Whole);
        Phase::Whole(whole)
    }

    pub(super) fn on_whole_ended(
        &mut self,
        mut whole: Whole,
        result: GateResult,
        duration: Duration,
    ) -> Phase {
        let overrun = self.unwatch_gate();
        if self.stop.is_some() {
            return self.end(Outcome::Stopped);
        }
        if let Some(used_up) = overrun {
            return self.end(used_up.into());
        }
        let gate = whole.gate;
        self.announce_gate(&whole.story, gate, Ground::Whole, result.clone(), duration);
        whole.gate += 1;
        let was_red = self.checkpoint_verdicts.verdicts[gate] == Verdict::Red;
        let is_red_as_before = was_red && result.is_red();
        self.note_work(gate, is_red_as_before);
        let GateResult::Failed { how, tail, .. } = result else {
            return self.next_whole(whole);
        };
        let name = self.gate_name(gate);
        if is_red_as_before {
            let message = format!("gate `{name}` is red ({how}), as it was before the run");
            self.warn("red_before", message);
            return self.next_whole(whole);
        }
        let reopening = Reopening {
            story: whole.story,
            reason: gate_reason(&name, &how, &tail),
            gate: name,
        };
        self.request(Step::Reopen(reopening.clone()));
        Phase::Reopening(reopening)
    }

    pub(super) fn on_reopened(&mut self, reopening: Reopening, commit: &str) -> Phase {
        let (story, reason) = (reopening.story.clone(), reopening.reason.clone());
        let gate = reopening.gate.clone();
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
                kind: FailureKind::Gate,
                reason,
                gate: Some(gate),
            };
            self.announce_exhausted(&title, failed.clone(), false);
            return self.end(Outcome::stopped_at(failed));
        }
        self.read_backlog()
    }
}

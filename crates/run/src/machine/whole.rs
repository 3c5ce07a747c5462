//! Gates at the end: they judge the whole change once every story is done, and a red one opens the
//! last story again.

use super::checks::is_due;
use super::gate_run::GateRun;
use super::io::{GateEnd, Ground, Step};
use super::verdict::gate_reason;
use super::{Carry, Machine, Phase};
use crate::policy::When;
use crate::records::event::{Event, FailureKind, GateResult, Outcome};
use ralph_base::ids::{AttemptId, StoryId};
use ralph_plan::change::StoryState;
use ralph_vault::journal::reopening::Reopening;

/// A gate at the end that runs.
#[derive(Debug)]
pub(super) struct Whole {
    judging: Judging,
    run: GateRun,
}

/// What the gates at the end decide.
#[derive(Debug)]
pub(super) struct Judging {
    /// How the run ends if all of them pass.
    outcome: Outcome,
    /// The story that is opened again if not.
    story: StoryId,
    /// Gates that have paths in which the whole change changed files.
    touched: Vec<usize>,
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
        let judging = Judging {
            outcome,
            story,
            touched: Vec::new(),
        };
        let has_paths = self.policy().gates_at_end().any(|it| it.paths.is_some());
        if has_paths {
            self.request(Step::CompareWithStart);
            return Phase::Comparing(judging);
        }
        self.next_whole(judging, 0)
    }

    pub(super) fn on_compared(&mut self, judging: Judging, touched: Vec<usize>) -> Phase {
        if self.stop.is_some() {
            return self.end(Outcome::Stopped);
        }
        self.next_whole(Judging { touched, ..judging }, 0)
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

    /// Runs the next gate at the end, from a place on.
    fn next_whole(&mut self, judging: Judging, from: usize) -> Phase {
        for place in from..self.policy().gates.len() {
            let gate = &self.policy().gates[place];
            if gate.when != When::End {
                continue;
            }
            if !self.setup.continues_work && !is_due(gate, place, &judging.touched) {
                self.announce_not_run(&judging.story, place, Ground::Whole);
                continue;
            }
            let last = self.attempts_at(&judging.story);
            let attempt = AttemptId::new(judging.story.clone(), last);
            let run = self.run_gate(&attempt, place, Ground::Whole);
            return Phase::Whole(Whole { judging, run });
        }
        self.end_done(judging.outcome)
    }

    pub(super) fn on_whole_ended(
        &mut self,
        Whole { judging, mut run }: Whole,
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
            return Phase::Whole(Whole { judging, run });
        }
        self.announce_gate(&run, &end, &red);
        self.note_work(gate, red.is_as_before());
        let GateResult::Failed { how, tail, .. } = end.result else {
            return self.next_whole(judging, gate + 1);
        };
        let name = self.gate_name(gate);
        if red.is_as_before() {
            let message = red.excuse(&name, &run.how(&how), "the run");
            self.warn("red_before", message);
            return self.next_whole(judging, gate + 1);
        }
        let reopening = Reopening {
            story: judging.story,
            reason: gate_reason(&name, &red.how(run.how(&how)), &tail),
            gate: name,
        };
        self.request(Step::Reopen(reopening.clone()));
        Phase::Reopening(reopening)
    }

    pub(super) fn on_reopened(&mut self, reopening: Reopening, commit: &str) -> Phase {
        let (story, reason) = (reopening.story.clone(), reopening.reason.clone());
        let gate = reopening.gate.clone();
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
            return self.end(Outcome::Exhausted {
                attempts: self.attempts_at(&story),
                story,
                kind: FailureKind::Gate,
                reason,
                gate: Some(gate),
            });
        }
        self.read_backlog()
    }
}

//! From a promise to a checkpoint: the task file, the gates, the boxes, the commit.

use std::time::Duration;

use super::attempt::Attempt;
use super::io::{GateRequest, Ground, JudgedGate, Step, StoryCheck};
use super::subject::{Passed, Subject, Verified};
use super::user::STORY_DONE;
use super::verdict::AttemptFailure;
use super::{Machine, Phase, Verdict};
use crate::policy::{Gate, When};
use crate::records::event::{
    Event, FailureKind, GateFinished, GateResult, GateStarted, Outcome, StoryCompleted,
};
use crate::tamper::{Finding, Severity};
use crate::words::{in_ms, quoted};
use ralph_base::ids::{AttemptId, StoryId};
use ralph_vault::journal::steps::StoryNote;

/// A promised attempt whose gates run.
#[derive(Debug)]
pub(super) struct Gating {
    attempt: Attempt,
    check: StoryCheck,
    /// What the gates before this one said.
    verdicts: Vec<Verdict>,
    /// The same for those who review the attempt.
    judged: Vec<JudgedGate>,
}

impl Machine {
    pub(super) fn run_gate(&mut self, attempt: &AttemptId, gate: usize, ground: Ground) {
        let name = run_name(attempt, gate, ground);
        self.announce(Event::GateStarted(GateStarted {
            story: attempt.story.clone(),
            gate: self.gate_name(gate),
            baseline: ground == Ground::Checkpoint,
            whole: ground == Ground::Whole,
            log: format!("{}/{name}.log", self.setup.gate_logs),
        }));
        self.request(Step::RunGate(GateRequest {
            story: attempt.story.clone(),
            gate,
            name,
            ground,
        }));
        self.watch_gate();
    }

    /// What a gate said, for those who review the work.
    pub(super) fn judged_gate(
        &self,
        attempt: &AttemptId,
        gate: usize,
        ground: Ground,
        result: &GateResult,
    ) -> JudgedGate {
        JudgedGate {
            name: self.gate_name(gate),
            run: self.policy().gates[gate].run.clone(),
            result: result.clone(),
            log: format!(
                "{}/{}.log",
                self.setup.gate_logs,
                run_name(attempt, gate, ground)
            ),
        }
    }

    pub(super) fn announce_gate(
        &mut self,
        story: &StoryId,
        gate: usize,
        ground: Ground,
        result: GateResult,
        duration: Duration,
    ) {
        let event = Event::GateFinished(GateFinished {
            story: story.clone(),
            gate: self.gate_name(gate),
            baseline: ground == Ground::Checkpoint,
            whole: ground == Ground::Whole,
            result,
            duration_ms: in_ms(duration),
        });
        self.announce(event);
    }

    pub(super) fn gate_name(&self, gate: usize) -> String {
        self.policy().gates[gate].name.clone()
    }

    pub(super) fn on_checked(&mut self, attempt: Attempt, check: StoryCheck) -> Phase {
        self.report_tampering(&attempt.id, &check.tamper);
        if self.stop.is_some() {
            return self.fail(attempt, AttemptFailure::stopped());
        }
        if self.skip {
            return self.fail(attempt, AttemptFailure::skipped());
        }
        if let Some(reason) = check.lost.reason() {
            return self.fail(attempt, AttemptFailure::new(FailureKind::Tasks, reason));
        }
        if let Some((kind, reason)) = self.policy().tamper.failure(&check.tamper) {
            return self.fail(attempt, AttemptFailure::new(kind, reason));
        }
        self.next_gate(Gating {
            attempt,
            check,
            verdicts: Vec::new(),
            judged: Vec::new(),
        })
    }

    fn report_tampering(&mut self, attempt: &AttemptId, findings: &[Finding]) {
        for finding in findings {
            let severity = self.policy().tamper.severity(finding.check);
            if severity == Severity::Off {
                continue;
            }
            self.announce(Event::TamperFound {
                story: attempt.story.clone(),
                attempt: attempt.attempt,
                check: finding.check,
                paths: finding.paths.clone(),
                message: finding.message.clone(),
                failed: severity == Severity::Fail,
            });
        }
    }

    fn next_gate(&mut self, mut gating: Gating) -> Phase {
        let gates = self.setup.policy.gates.iter();
        let is_later = |gate: &&Gate| gate.when == When::End;
        let later = gates.skip(gating.verdicts.len()).take_while(is_later);
        gating.verdicts.extend(later.map(|_| Verdict::Unknown));
        let gate = gating.verdicts.len();
        if gate == self.policy().gates.len() {
            return self.on_gates_done(gating);
        }
        self.run_gate(&gating.attempt.id, gate, Ground::Attempt);
        Phase::Gating(gating)
    }

    pub(super) fn on_gate_ended(
        &mut self,
        mut gating: Gating,
        result: GateResult,
        duration: Duration,
    ) -> Phase {
        let gate = gating.verdicts.len();
        let overrun = self.unwatch_gate();
        let story = gating.attempt.id.story.clone();
        self.announce_gate(&story, gate, Ground::Attempt, result.clone(), duration);
        if self.stop.is_some() {
            return self.fail(gating.attempt, AttemptFailure::stopped());
        }
        if self.skip {
            return self.fail(gating.attempt, AttemptFailure::skipped());
        }
        if let Some(used_up) = overrun {
            return self.fail(gating.attempt, AttemptFailure::budget(used_up.reason));
        }
        gating.verdicts.push(Verdict::of(&result));
        let judged = self.judged_gate(&gating.attempt.id, gate, Ground::Attempt, &result);
        gating.judged.push(judged);
        // A gate that was red and whose program is gone now checks nothing.
        let is_red = result.is_red();
        let GateResult::Failed { how, tail, .. } = result else {
            return self.next_gate(gating);
        };
        let name = self.gate_name(gate);
        if self.checkpoint_verdicts.verdicts[gate] == Verdict::Red && is_red {
            self.warn(
                "red_before",
                format!("gate `{name}` is red ({how}), as it was before the attempt"),
            );
            return self.next_gate(gating);
        }
        if self.checkpoint_verdicts.verdicts[gate] == Verdict::Remembered {
            // Asked again now, it would tell what attempts broke beside the tree for red before.
            let message = format!(
                "gate `{name}` passed earlier on the tree this attempt began with, so it was not \
                 run there again; if it is red there too, the cause is a file that git ignores \
                 or a file outside the repository"
            );
            self.warn("passed_earlier", message);
            self.checkpoint_verdicts.verdicts[gate] = Verdict::Green;
        }
        let failure = AttemptFailure::gate(&name, &how, &tail);
        self.fail(gating.attempt, failure)
    }

    fn on_gates_done(&mut self, gating: Gating) -> Phase {
        let Gating {
            attempt,
            check,
            verdicts,
            judged,
        } = gating;
        if self.policy().strict_tasks && !check.still_open.is_empty() {
            let reason = format!("tasks are not ticked: {}", quoted(&check.still_open));
            return self.fail(attempt, AttemptFailure::new(FailureKind::Tasks, reason));
        }
        if check.changed_files == 0 {
            if self.policy().require_changes {
                let reason = "the attempt changed no file but the task file".to_owned();
                return self.fail(attempt, AttemptFailure::new(FailureKind::Tasks, reason));
            }
            let id = &attempt.id;
            self.warn(
                "no_changes",
                format!("attempt `{id}` changed nothing but boxes"),
            );
        }
        let verified = Verified {
            attempt,
            verdicts,
            unreviewed: Vec::new(),
        };
        let gates = judged;
        self.next_review(Subject::Attempt(Box::new(Passed { verified, gates })), 0)
    }

    /// Everything that judges the attempt has passed.
    pub(super) fn tick(&mut self, verified: Verified) -> Phase {
        self.request(Step::TickStory(verified.attempt.id.story.clone()));
        Phase::Ticking(verified)
    }

    pub(super) fn on_ticked(&mut self, verified: Verified, tasks: &[String]) -> Phase {
        if !tasks.is_empty() {
            let tasks = quoted(tasks);
            self.warn(
                "ticked",
                format!("the agent did not tick its tasks; ralphtool ticked them: {tasks}"),
            );
        }
        let gates = self.policy().gates.iter().zip(&verified.verdicts);
        let passed = gates
            .filter(|(_, verdict)| **verdict == Verdict::Green)
            .map(|(gate, _)| gate.name.clone())
            .collect();
        let attempt = &verified.attempt;
        self.request(Step::Save(StoryNote {
            id: attempt.id.story.clone(),
            title: attempt.story.view.title.clone(),
            attempts: attempt.id.attempt.0,
            gates: passed,
        }));
        Phase::Saving(verified)
    }

    pub(super) fn on_saved(
        &mut self,
        verified: Verified,
        commit: String,
        changed_files: usize,
    ) -> Phase {
        let Attempt {
            story, id, choice, ..
        } = verified.attempt;
        self.availability.worked(&choice.agent);
        self.ledger.stop_clock(self.now);
        // The gates just judged this very tree: that is the next story's baseline.
        let gates = &self.setup.policy.gates;
        self.checkpoint_verdicts
            .judged(&commit, &verified.verdicts, gates);
        for (gate, verdict) in verified.verdicts.iter().enumerate() {
            match verdict {
                Verdict::Green => self.note_work(gate, false),
                Verdict::Red => self.note_work(gate, true),
                // A gate at the end has not judged it yet.
                Verdict::Unknown | Verdict::Remembered => {}
            }
        }
        self.retries_used
            .insert(id.story.clone(), story.carry.retries_used);
        self.note_unreviewed(&id.story, verified.unreviewed);
        self.last_done = Some(id.story.clone());
        self.completed.insert(id.story.clone());
        let unused = self.notes.story_over(&id.story);
        if story.view.deferred_tasks == 0 {
            self.tally.stories_done += 1;
        }
        self.announce(Event::StoryCompleted(StoryCompleted {
            story: id.story.clone(),
            title: story.view.title,
            attempts: id.attempt.0,
            commit,
            changed_files,
            duration_ms: story.started.map_or(0, |started| self.ms_since(started)),
            usage: story.usage,
        }));
        self.announce_unused(&id.story, STORY_DONE, unused);
        if self.stop.is_some() {
            return self.end(Outcome::Stopped);
        }
        if self.policy().only_story.is_some() && !self.policy().judges_whole() {
            return self.end_done(Outcome::StoryDone {
                story: Some(id.story),
            });
        }
        self.read_backlog()
    }
}

/// What a run of a gate is called.
fn run_name(attempt: &AttemptId, gate: usize, ground: Ground) -> String {
    let suffix = match ground {
        Ground::Checkpoint => "-baseline",
        Ground::Attempt => "",
        Ground::Whole => "-end",
    };
    format!("{attempt}-{}{suffix}", gate + 1)
}

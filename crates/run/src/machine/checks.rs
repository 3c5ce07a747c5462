//! From a promise to a checkpoint: the task file, the gates, the boxes, the commit.

use super::gate_run::GateRun;
use super::io::{GateEnd, Ground, JudgedGate, SaveRequest, Step, StoryCheck};
use super::session::Attempt;
use super::subject::{Passed, Subject, Verdicts, Verified};
use super::user::STORY_DONE;
use super::verdict::AttemptFailure;
use super::{Machine, Phase, Verdict};
use crate::policy::{Gate, When};
use crate::records::event::{Event, FailureKind, GateResult, Outcome, StoryCompleted};
use crate::tamper::{Finding, Severity};
use crate::words::quoted;
use ralph_base::ids::AttemptId;
use ralph_vault::journal::steps::StoryNote;

/// A promised attempt that gates judge.
#[derive(Debug)]
pub(super) struct Judged {
    attempt: Attempt,
    check: StoryCheck,
    verdicts: Verdicts,
    /// What the gates said, for those who review the attempt.
    gates: Vec<JudgedGate>,
}

/// A promised attempt whose gates run.
#[derive(Debug)]
pub(super) struct Gating {
    judged: Judged,
    run: GateRun,
}

impl Machine {
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
        self.next_gate(Judged {
            attempt,
            check,
            verdicts: Verdicts::default(),
            gates: Vec::new(),
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

    fn next_gate(&mut self, mut judged: Judged) -> Phase {
        loop {
            let place = judged.verdicts.gates.len();
            let Some(gate) = self.policy().gates.get(place) else {
                return self.on_gates_done(judged);
            };
            let verdict = match gate.when {
                When::End => Verdict::Unknown,
                When::Story if is_due(gate, place, &judged.check.touched) => {
                    let (id, repairs) = (&judged.attempt.id, judged.attempt.session.repairs);
                    let run = self.run_gate(id, repairs, place, Ground::Attempt);
                    return Phase::Gating(Gating { judged, run });
                }
                When::Story => {
                    let story = &judged.attempt.id.story;
                    self.announce_not_run(story, place, Ground::Attempt);
                    Verdict::NotRun
                }
            };
            judged.verdicts.gates.push(verdict);
        }
    }

    pub(super) fn on_gate_ended(
        &mut self,
        Gating {
            mut judged,
            mut run,
        }: Gating,
        end: GateEnd,
    ) -> Phase {
        let gate = run.gate;
        let overrun = self.unwatch_gate();
        let red = self.judge_red(gate, &end);
        let is_over = self.stop.is_some() || self.skip || overrun.is_some();
        if !is_over && !red.is_as_before() && self.retry_gate(&mut run, &end) {
            return Phase::Gating(Gating { judged, run });
        }
        self.announce_gate(&run, &end, &red);
        if self.stop.is_some() {
            return self.fail(judged.attempt, AttemptFailure::stopped());
        }
        if self.skip {
            return self.fail(judged.attempt, AttemptFailure::skipped());
        }
        if let Some(used_up) = overrun {
            return self.fail(judged.attempt, AttemptFailure::budget(used_up.reason));
        }
        judged.verdicts.gates.push(Verdict::of(&end.result));
        judged.check.touched.extend(end.touched);
        judged.gates.push(self.judged_gate(&run, &end.result));
        let tests = end.tests.map(|tests| (gate, tests));
        judged.verdicts.tests.extend(tests);
        let GateResult::Failed { how, tail, .. } = end.result else {
            judged.verdicts.flaky.extend(run.is_retry().then_some(gate));
            return self.next_gate(judged);
        };
        let name = self.gate_name(gate);
        if red.is_as_before() {
            let message = red.excuse(&name, &run.how(&how), "the attempt");
            self.warn("red_before", message);
            return self.next_gate(judged);
        }
        if self.checkpoint_verdicts.verdicts[gate] == Verdict::Remembered {
            // Asked again now, it would tell what attempts broke beside the tree for red before.
            let (tree, outside) = match self.policy().gates[gate].paths {
                None => ("the tree", ""),
                Some(_) => ("the files in its paths", ", a file outside its paths,"),
            };
            let message = format!(
                "gate `{name}` passed earlier on {tree} this attempt began with, so it was not \
                 run there again; if it is red there too, the cause is a file that git ignores\
                 {outside} or a file outside the repository"
            );
            self.warn("passed_earlier", message);
            self.checkpoint_verdicts.verdicts[gate] = Verdict::Green;
        }
        let failure = AttemptFailure::gate(&name, &red.how(run.how(&how)), &tail);
        self.fail(judged.attempt, failure)
    }

    fn on_gates_done(&mut self, judged: Judged) -> Phase {
        let Judged {
            attempt,
            check,
            verdicts,
            gates,
        } = judged;
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
        let Verdicts { gates, flaky, .. } = &verified.verdicts;
        let passed = gates.iter().enumerate();
        let passed: Vec<usize> = passed
            .filter(|(_, verdict)| **verdict == Verdict::Green)
            .map(|(gate, _)| gate)
            .collect();
        let green = passed.iter().copied().filter(|gate| !flaky.contains(gate));
        let attempt = &verified.attempt;
        self.request(Step::Save(SaveRequest {
            note: StoryNote {
                id: attempt.id.story.clone(),
                title: attempt.story.view.title.clone(),
                attempts: attempt.id.attempt.0,
                gates: passed.iter().map(|gate| self.gate_name(*gate)).collect(),
            },
            green: green.collect(),
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
        for (gate, verdict) in verified.verdicts.gates.iter().enumerate() {
            match verdict {
                Verdict::Green => self.note_work(gate, false),
                Verdict::Red => self.note_work(gate, true),
                // A gate at the end has not judged it yet.
                Verdict::Unknown | Verdict::NotRun | Verdict::Remembered => {}
            }
        }
        // The gates just judged this very tree: that is the next story's baseline.
        let gates = &self.setup.policy.gates;
        self.checkpoint_verdicts
            .judged(&commit, verified.verdicts, gates);
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
            repairs: story.repairs,
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

/// Whether a gate has to run where the gates with these places have paths in which files were changed.
pub(super) fn is_due(gate: &Gate, place: usize, touched: &[usize]) -> bool {
    gate.paths.is_none() || touched.contains(&place)
}

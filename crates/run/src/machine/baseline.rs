//! What the gates said of the checkpoint an attempt starts from: what was red before is not its
//! doing.

use super::gate_run::GateRun;
use super::held::Held;
use super::io::{GateEnd, Ground, Step};
use super::red_gate::RedGate;
use super::stories::Current;
use super::subject::Verdicts;
use super::verdict::how_and_tail;
use super::{Began, Machine, Phase, Verdict};
use crate::policy::{Gate, When};
use crate::records::event::{GateResult, Outcome};
use crate::test_report::TestReport;

/// A gate on the checkpoint, before the story's first attempt.
#[derive(Debug)]
pub(super) struct Baseline {
    story: Box<Current>,
    run: GateRun,
}

/// The verdicts on a checkpoint.
#[derive(Debug)]
pub(super) struct CheckpointVerdicts {
    /// The checkpoint commit.
    at: Option<String>,
    /// What each gate said; one at the end speaks of where the run began.
    pub(super) verdicts: Vec<Verdict>,
    /// What the output of each red gate said of its tests.
    pub(super) tests: Vec<Option<TestReport>>,
    /// The run has just begun, so that gates at the end can still see where from.
    pub(super) is_start: bool,
}

impl CheckpointVerdicts {
    /// Nothing is known yet.
    pub(super) fn unknown(gates: usize, is_start: bool) -> Self {
        Self {
            at: None,
            verdicts: vec![Verdict::Unknown; gates],
            tests: vec![None; gates],
            is_start,
        }
    }

    /// Takes over what this run, or earlier runs of the change, saw where they began, for the gates
    /// that judge it at the end: what those runs left red is no red from before.
    pub(super) fn began(&mut self, gates: &[Gate], began: impl Fn(&String) -> Option<Began>) {
        for (place, gate) in gates.iter().enumerate() {
            match began(&gate.name).filter(|_| gate.when == When::End) {
                Some(Began::Red(tests)) => self.set(place, Verdict::Red, tests),
                Some(Began::Green) => self.set(place, Verdict::Green, None),
                None => {}
            }
        }
    }

    fn set(&mut self, gate: usize, verdict: Verdict, tests: Option<TestReport>) {
        self.verdicts[gate] = verdict;
        self.tests[gate] = tests;
    }

    /// Whether a gate is to be run on the checkpoint.
    fn is_due(&self, (index, gate): (usize, &Gate)) -> bool {
        let can_see = gate.when == When::Story || self.is_start;
        gate.baseline && can_see && self.verdicts[index] == Verdict::Unknown
    }

    /// A checkpoint these verdicts do not speak of.
    pub(super) fn forget(&mut self, gates: &[Gate]) {
        self.at = None;
        for (place, gate) in gates.iter().enumerate() {
            if gate.when == When::Story {
                self.set(place, Verdict::Unknown, None);
            }
        }
    }

    /// The gates judged the tree of a new checkpoint.
    pub(super) fn judged(&mut self, commit: &str, verdicts: Verdicts, gates: &[Gate]) {
        self.at = Some(commit.to_owned());
        let Verdicts {
            gates: new,
            mut tests,
            ..
        } = verdicts;
        for (place, (verdict, gate)) in new.into_iter().zip(gates).enumerate() {
            if gate.when == When::Story && verdict != Verdict::NotRun {
                self.set(place, verdict, tests.remove(&place));
            }
        }
    }

    /// The same tree has another commit.
    pub(super) fn moved_to(&mut self, commit: &str) {
        self.at = Some(commit.to_owned());
    }
}

impl Machine {
    /// Looks up what is known of the checkpoint a story starts from.
    pub(super) fn recall_gates(&mut self, story: Box<Current>) -> Phase {
        let mut gates = self.setup.policy.gates.iter().enumerate();
        if !gates.clone().any(|(_, gate)| gate.baseline) {
            return self.start_attempt(story);
        }
        let is_known = !gates.any(|it| self.checkpoint_verdicts.is_due(it));
        let known = self.checkpoint_verdicts.at.clone().filter(|_| is_known);
        self.request(Step::RecallGates {
            story: story.view.id.clone(),
            known,
        });
        Phase::RecallingGates(story)
    }

    pub(super) fn on_gates_recalled(
        &mut self,
        story: Box<Current>,
        commit: String,
        green: &[usize],
    ) -> Phase {
        if self.stop.is_some() {
            return self.leave_and_end(*story, Outcome::Stopped);
        }
        if self.skip {
            return self.skip_story(*story);
        }
        if self.checkpoint_verdicts.at.as_ref() != Some(&commit) {
            self.checkpoint_verdicts.forget(&self.setup.policy.gates);
            self.checkpoint_verdicts.at = Some(commit);
        }
        for (index, gate) in self.setup.policy.gates.iter().enumerate() {
            if green.contains(&index) && self.checkpoint_verdicts.is_due((index, gate)) {
                self.checkpoint_verdicts.verdicts[index] = Verdict::Remembered;
            }
        }
        self.next_baseline(story)
    }

    /// Runs the next gate whose verdict on the checkpoint is not known; with all known, the agent.
    pub(super) fn next_baseline(&mut self, story: Box<Current>) -> Phase {
        let mut gates = self.setup.policy.gates.iter().enumerate();
        let Some(gate) = gates.position(|it| self.checkpoint_verdicts.is_due(it)) else {
            self.checkpoint_verdicts.is_start = false;
            return self.start_attempt(story);
        };
        if self.pause {
            return self.hold(Held::Attempt(story));
        }
        let attempt = self.next_attempt(&story.view.id);
        let run = self.run_gate(&attempt, 0, gate, Ground::Checkpoint);
        Phase::Baseline(Baseline { story, run })
    }

    pub(super) fn on_baseline_ended(
        &mut self,
        Baseline { story, mut run }: Baseline,
        end: GateEnd,
    ) -> Phase {
        let gate = run.gate;
        let overrun = self.unwatch_gate();
        if self.stop.is_some() {
            // A gate that was ended on request says nothing about the checkpoint.
            return self.leave_and_end(*story, Outcome::Stopped);
        }
        if self.skip {
            return self.skip_story(*story);
        }
        if let Some(used_up) = overrun {
            return self.leave_and_end(*story, used_up.into());
        }
        // A test that fails at one of its tries was failing before.
        let end = run.with_all_tests(end);
        if self.retry_gate(&mut run, &end) {
            return Phase::Baseline(Baseline { story, run });
        }
        self.announce_gate(&run, &end, &RedGate::default());
        if let GateResult::Failed {
            how,
            tail,
            cannot_run: true,
        } = &end.result
        {
            let (gate, reason) = (self.gate_name(gate), how_and_tail(how, tail));
            return self.leave_and_end(*story, Outcome::GateBroken { gate, reason });
        }
        self.checkpoint_verdicts
            .set(gate, Verdict::of(&end.result), end.tests);
        self.next_baseline(story)
    }
}

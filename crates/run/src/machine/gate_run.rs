//! A gate that runs: its tries on one tree, and what is announced of them.

use super::Machine;
use super::io::{GateEnd, GateRequest, Ground, JudgedGate, Step};
use super::red_gate::RedGate;
use crate::records::event::{
    Event, GateFinished, GateNotRun, GateResult, GateRetried, GateStarted,
};
use crate::records::progress::FLAKY;
use crate::test_report::TestReport;
use crate::words::{in_ms, ordinal};
use ralph_base::ids::{AttemptId, StoryId};

/// A gate that runs, with the tries before on the same tree, all of them red.
#[derive(Debug)]
pub(super) struct GateRun {
    attempt: AttemptId,
    /// How many repairs the attempt had.
    repair: u32,
    /// Its place in the policy.
    pub(super) gate: usize,
    ground: Ground,
    /// How each try before ended.
    red: Vec<String>,
    /// What all tries together said of its tests.
    tests: Option<TestReport>,
}

impl GateRun {
    /// Which try it is, from 1.
    fn try_number(&self) -> u32 {
        u32::try_from(self.red.len()).map_or(u32::MAX, |red| red.saturating_add(1))
    }

    /// Whether it was red on this tree before.
    pub(super) const fn is_retry(&self) -> bool {
        !self.red.is_empty()
    }

    /// The end of a try, with what all tries together said of its tests where it is red.
    pub(super) fn with_all_tests(&mut self, end: GateEnd) -> GateEnd {
        let mut tests = self.tests.take();
        match (&mut tests, end.tests) {
            (Some(all), Some(these)) => all.add(these),
            (None, these) => tests = these,
            (Some(_), None) => {}
        }
        self.tests.clone_from(&tests);
        GateEnd {
            tests: tests.filter(|_| end.result.is_red()),
            ..end
        }
    }

    /// How it ended at its last try, and how many tries there were.
    pub(super) fn how(&self, last: &str) -> String {
        match self.try_number() {
            1 => last.to_owned(),
            tries => format!("{last} at the last of {tries} tries"),
        }
    }

    /// Tells this try from all others of the run; its log is named after it.
    fn name(&self) -> String {
        let suffix = match (self.ground, self.repair) {
            (Ground::Checkpoint, _) => "-baseline".to_owned(),
            (Ground::Whole, _) => "-end".to_owned(),
            (Ground::Attempt, 0) => String::new(),
            (Ground::Attempt, repair) => format!("-repair-{repair}"),
        };
        let name = format!("{}-{}{suffix}", self.attempt, self.gate + 1);
        match self.try_number() {
            1 => name,
            number => format!("{name}-try{number}"),
        }
    }
}

impl Machine {
    /// Runs a gate for the first time on this tree: what an attempt did, after this many repairs, or will
    /// begin with.
    pub(super) fn run_gate(
        &mut self,
        attempt: &AttemptId,
        repair: u32,
        gate: usize,
        ground: Ground,
    ) -> GateRun {
        let run = GateRun {
            attempt: attempt.clone(),
            repair,
            gate,
            ground,
            red: Vec::new(),
            tests: None,
        };
        self.request_gate(&run);
        run
    }

    /// Announces that a gate does not run, because no file in its paths was changed.
    pub(super) fn announce_not_run(&mut self, story: &StoryId, gate: usize, ground: Ground) {
        self.announce(Event::GateNotRun(GateNotRun {
            story: story.clone(),
            gate: self.gate_name(gate),
            whole: ground == Ground::Whole,
        }));
    }

    /// Runs a red gate again on the same tree, unless it has used up its retries; returns whether it
    /// runs.
    pub(super) fn retry_gate(&mut self, run: &mut GateRun, end: &GateEnd) -> bool {
        let GateResult::Failed {
            how,
            cannot_run: false,
            ..
        } = &end.result
        else {
            return false;
        };
        if run.try_number() > self.policy().gates[run.gate].retries {
            return false;
        }
        self.announce(Event::GateRetried(GateRetried {
            story: run.attempt.story.clone(),
            gate: self.gate_name(run.gate),
            baseline: run.ground == Ground::Checkpoint,
            whole: run.ground == Ground::Whole,
            try_number: run.try_number(),
            result: end.result.clone(),
            log: self.gate_log(run),
            duration_ms: in_ms(end.duration),
        }));
        run.red.push(how.clone());
        self.request_gate(run);
        true
    }

    fn request_gate(&mut self, run: &GateRun) {
        let story = run.attempt.story.clone();
        self.announce(Event::GateStarted(GateStarted {
            story: story.clone(),
            gate: self.gate_name(run.gate),
            baseline: run.ground == Ground::Checkpoint,
            whole: run.ground == Ground::Whole,
            log: self.gate_log(run),
            try_number: run.try_number(),
        }));
        self.request(Step::RunGate(GateRequest {
            story,
            gate: run.gate,
            name: run.name(),
            ground: run.ground,
            try_number: run.try_number(),
        }));
        self.watch_gate();
    }

    /// Announces how a gate ended at its last try, and warns where it is flaky.
    pub(super) fn announce_gate(&mut self, run: &GateRun, end: &GateEnd, red: &RedGate) {
        let flaky = run.is_retry() && end.result == GateResult::Passed;
        self.announce(Event::GateFinished(GateFinished {
            story: run.attempt.story.clone(),
            gate: self.gate_name(run.gate),
            baseline: run.ground == Ground::Checkpoint,
            whole: run.ground == Ground::Whole,
            result: end.result.clone(),
            duration_ms: in_ms(end.duration),
            tries: run.try_number(),
            flaky,
            tests: end.tests.clone(),
            new_failures: red.new_failures(),
        }));
        if flaky {
            let message = self.flaky(run);
            self.warn(FLAKY, message);
        }
    }

    fn flaky(&self, run: &GateRun) -> String {
        let place = match run.ground {
            Ground::Checkpoint => " on the checkpoint",
            Ground::Attempt => "",
            Ground::Whole => " on the whole change",
        };
        format!(
            "gate `{}` is flaky{place}: it was red ({}) and passed at the {} try on the same tree",
            self.gate_name(run.gate),
            run.red.join(", then "),
            ordinal(run.try_number())
        )
    }

    /// What a gate said, for those who review the work.
    pub(super) fn judged_gate(&self, run: &GateRun, result: &GateResult) -> JudgedGate {
        JudgedGate {
            name: self.gate_name(run.gate),
            run: self.policy().gates[run.gate].run.clone(),
            result: result.clone(),
            log: self.gate_log(run),
        }
    }

    fn gate_log(&self, run: &GateRun) -> String {
        format!("{}/{}.log", self.setup.gate_logs, run.name())
    }

    pub(super) fn gate_name(&self, gate: usize) -> String {
        self.policy().gates[gate].name.clone()
    }
}

//! What the gates of a run said: each run of one, and what that means for the work.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use serde::Serialize;

use super::{Doing, Progress};
use crate::records::event::{GateFinished, GateNotRun, GateResult, GateRetried, GateStarted};
use crate::test_report::TestReport;
use ralph_base::ids::{AttemptNumber, StoryId};

/// One run of a gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateProgress {
    /// The gate's name.
    pub name: String,
    /// The attempt it checks; none where it runs on the checkpoint, or judges the whole change.
    pub attempt: Option<AttemptNumber>,
    /// The repair of that attempt it ran after; 0 before the first.
    pub repair: u32,
    /// It judges the whole change, with every story done.
    pub whole: bool,
    /// When it began.
    pub started_at: Timestamp,
    /// The file its output goes to; empty where it was not recorded.
    pub log: String,
    /// Its tries before on the same tree, all of them red.
    pub red_tries: Vec<RedTry>,
    /// It does not run: no file in its paths was changed.
    pub is_not_run: bool,
    /// How it ended; none while it runs, or where it was ended on request.
    pub result: Option<GateResult>,
    /// It failed as it had before.
    pub was_red_before: bool,
    /// How many tests failed, where its output names them.
    pub failed_tests: Option<usize>,
    /// Tests that failed and did not fail before, where it was red before as well.
    pub new_failures: Vec<String>,
    /// How long it took, at its last try.
    pub duration: Option<Duration>,
}

impl GateProgress {
    /// How often it ran on the same tree.
    pub fn tries(&self) -> u32 {
        u32::try_from(self.red_tries.len()).map_or(u32::MAX, |red| red.saturating_add(1))
    }

    /// How it stands.
    pub fn standing(&self) -> GateStanding<'_> {
        match &self.result {
            None if self.is_not_run => GateStanding::NotRun,
            None if self.duration.is_none() => GateStanding::Running,
            None => GateStanding::Stopped,
            Some(GateResult::Passed) if self.is_flaky() => GateStanding::Flaky,
            Some(GateResult::Passed) => GateStanding::Passed,
            Some(GateResult::Failed {
                how,
                cannot_run: true,
                ..
            }) => GateStanding::CannotRun(how),
            Some(GateResult::Failed { how, .. }) if self.is_red_since_before() => {
                GateStanding::RedBefore(how)
            }
            Some(GateResult::Failed { how, .. }) => GateStanding::Failed(how),
        }
    }

    /// Whether it judged the work: an attempt, or the whole change.
    fn has_judged_work(&self) -> bool {
        self.result.is_some() && (self.attempt.is_some() || self.whole)
    }

    /// Whether it passed after it had been red on the same tree.
    pub fn is_flaky(&self) -> bool {
        !self.red_tries.is_empty() && self.result == Some(GateResult::Passed)
    }

    /// Whether its failure says nothing about the work: it was red on the checkpoint, too.
    pub fn is_red_since_before(&self) -> bool {
        let is_baseline = self.attempt.is_none() && !self.whole;
        let failed = self.result.as_ref();
        let is_red = failed.is_some_and(|it| *it != GateResult::Passed && !it.cannot_run());
        is_red && (self.was_red_before || is_baseline)
    }
}

/// How a run of a gate stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GateStanding<'a> {
    Running,
    /// It was ended on request.
    Stopped,
    /// It does not run: no file in its paths was changed.
    NotRun,
    Passed,
    /// It passed after it had been red on the same tree.
    Flaky,
    /// It failed as it had before; with how it ended.
    RedBefore(&'a str),
    /// It checked nothing: its program is missing, or not executable.
    CannotRun(&'a str),
    Failed(&'a str),
}

/// A red try of a gate that ran again on the same tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedTry {
    /// How it ended: `exit code 1`.
    pub how: String,
    /// The file with its output.
    pub log: String,
    /// How long it took.
    pub duration: Duration,
}

/// A gate that passed after it had been red on the same tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
pub struct FlakyGate {
    /// The gate's name.
    pub gate: String,
    /// At which try it passed.
    pub passed_at: u32,
    /// How often that was so.
    pub times: u32,
}

impl Progress {
    /// The gates that judged none of the work, because no file in their paths was changed.
    pub fn gates_not_run(&self) -> Vec<String> {
        let gates = || self.stories.iter().flat_map(|story| &story.gates);
        let has_judged = |name: &String| gates().any(|it| it.name == *name && it.has_judged_work());
        let header = self.header.iter().flat_map(|header| &header.gates);
        let not_run = header.filter(|name| {
            gates().any(|it| it.name == **name && it.is_not_run) && !has_judged(name)
        });
        not_run.cloned().collect()
    }

    /// Whether no gate judged any of the work.
    pub(super) fn has_no_judged_work(&self) -> bool {
        let mut gates = self.stories.iter().flat_map(|story| &story.gates);
        !gates.any(GateProgress::has_judged_work)
    }

    /// The gates that passed after they had been red on the same tree, by name.
    pub fn flaky_gates(&self) -> Vec<FlakyGate> {
        let mut flaky: BTreeMap<(&str, u32), u32> = BTreeMap::new();
        let gates = self.stories.iter().flat_map(|story| &story.gates);
        for gate in gates.filter(|gate| gate.is_flaky()) {
            *flaky.entry((&gate.name, gate.tries())).or_default() += 1;
        }
        let flaky = flaky.into_iter();
        let flaky = flaky.map(|((gate, passed_at), times)| FlakyGate {
            gate: gate.to_owned(),
            passed_at,
            times,
        });
        flaky.collect()
    }

    /// The gate that ran last is red, as it was before.
    pub(super) fn on_red_before(&mut self) {
        let Some(story) = self.judged.take() else {
            return;
        };
        let Some(gate) = self.story_mut(&story).and_then(|it| it.gates.last_mut()) else {
            return;
        };
        gate.was_red_before = true;
        // What it says of an attempt counts once the story is done.
        if gate.whole {
            let name = gate.name.clone();
            self.red_in_work.insert(name);
        }
    }

    pub(super) fn on_gate_started(&mut self, started: &GateStarted, at: Timestamp) {
        self.judged = Some(started.story.clone());
        self.doing = Doing::Gate {
            story: started.story.clone(),
            gate: started.gate.clone(),
            baseline: started.baseline,
            since: at,
        };
        let Some(progress) = self.story_mut(&started.story) else {
            return;
        };
        if started.try_number > 1
            && let Some(gate) = progress.gates.last_mut()
        {
            gate.log.clone_from(&started.log);
            gate.started_at = at;
            return;
        }
        let judges_attempt = !started.baseline && !started.whole;
        let (attempt, repair) = progress.judged_now(judges_attempt);
        progress.gates.push(GateProgress {
            name: started.gate.clone(),
            attempt,
            repair,
            whole: started.whole,
            started_at: at,
            log: started.log.clone(),
            red_tries: Vec::new(),
            is_not_run: false,
            result: None,
            was_red_before: false,
            failed_tests: None,
            new_failures: Vec::new(),
            duration: None,
        });
    }

    pub(super) fn on_gate_not_run(&mut self, not_run: &GateNotRun, at: Timestamp) {
        if not_run.whole {
            self.judged_at_end.insert(not_run.gate.clone());
        }
        let Some(progress) = self.story_mut(&not_run.story) else {
            return;
        };
        let (attempt, repair) = progress.judged_now(!not_run.whole);
        progress.gates.push(GateProgress {
            name: not_run.gate.clone(),
            attempt,
            repair,
            whole: not_run.whole,
            started_at: at,
            log: String::new(),
            red_tries: Vec::new(),
            is_not_run: true,
            result: None,
            was_red_before: false,
            failed_tests: None,
            new_failures: Vec::new(),
            duration: None,
        });
    }

    pub(super) fn on_gate_retried(&mut self, retried: &GateRetried) {
        self.doing = Doing::Between;
        let GateResult::Failed { how, .. } = &retried.result else {
            return;
        };
        let progress = self.story_mut(&retried.story);
        if let Some(gate) = progress.and_then(|story| story.gates.last_mut()) {
            gate.red_tries.push(RedTry {
                how: how.clone(),
                log: retried.log.clone(),
                duration: Duration::from_millis(retried.duration_ms),
            });
        }
    }

    pub(super) fn on_gate_finished(&mut self, finished: &GateFinished) {
        self.doing = Doing::Between;
        let is_red = finished.result != GateResult::Passed;
        // It was ended with the attempt: what it says is not its verdict.
        let is_cut_short = is_red && (self.requested.is_some() || self.skipping);
        let progress = self.story_mut(&finished.story);
        if let Some(gate) = progress.and_then(|story| story.gates.last_mut()) {
            gate.result = (!is_cut_short).then(|| finished.result.clone());
            gate.failed_tests = finished.tests.as_ref().map(TestReport::failures);
            gate.new_failures.clone_from(&finished.new_failures);
            gate.duration = Some(Duration::from_millis(finished.duration_ms));
        }
        if is_cut_short {
            return;
        }
        if finished.baseline && finished.result.is_red() {
            let gate = finished.gate.clone();
            self.red_before.insert(gate, finished.tests.clone());
        }
        if finished.whole {
            // A red one that was red before is followed by a warning that says so; any other reopens
            // the last story.
            self.red_in_work.remove(&finished.gate);
            self.judged_at_end.insert(finished.gate.clone());
        }
    }

    /// Takes note of what a gate says about work that counts.
    fn note_work(&mut self, gate: &str, is_red: bool) {
        if is_red {
            self.red_in_work.insert(gate.to_owned());
        } else {
            self.red_in_work.remove(gate);
        }
    }

    /// What the gates said about the attempt that completed a story.
    pub(super) fn judge_work(&mut self, story: &StoryId) {
        let Some(story) = self.stories.iter().find(|it| it.id == *story) else {
            return;
        };
        let results = story.last_gates();
        let results: Vec<(String, bool)> = results
            .filter_map(|gate| {
                Some((
                    gate.name.clone(),
                    *gate.result.as_ref()? != GateResult::Passed,
                ))
            })
            .collect();
        for (gate, is_red) in results {
            self.note_work(&gate, is_red);
        }
    }
}

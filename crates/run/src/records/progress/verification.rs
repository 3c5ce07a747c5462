//! Why work that is done may not be what it should be: what no gate has checked, and what the
//! checks of attempts found. Every face takes its words from here.

use super::{Importance, Progress, StoryProgress, StoryStanding, Warning};
use crate::records::event::{GateResult, Outcome, red_since_before};
use crate::records::review::Unreviewed;
use crate::words::{count, ordinal, quoted};

/// What is said of a run without gates.
pub const NO_GATES: &str = "no gates: the agent's word is the only check";

/// What is said of a run whose gates had nothing to check.
const NO_GATE_RAN: &str =
    "no gate ran, because no file in their paths was changed: the agent's word is the only check";

/// The code of the warning about files that are still from the template.
const TEMPLATE: &str = "template";

/// The code of the warning about a gate that passed after it had been red on the same tree.
pub(crate) const FLAKY: &str = "flaky";

impl Progress {
    /// What keeps the work of this run from being verified by gates, in words; none where gates
    /// verify it.
    pub fn unverified(&self) -> Option<String> {
        if self.has_no_gates() {
            return Some(NO_GATES.to_owned());
        }
        let reasons = self.red().into_iter().chain(self.no_gate_ran());
        let reasons = reasons.chain(self.gaps());
        let reasons: Vec<String> = reasons.chain(self.not_run()).collect();
        (!reasons.is_empty()).then(|| reasons.join("; "))
    }

    fn has_no_gates(&self) -> bool {
        let mut header = self.header.iter();
        header.any(|header| header.gates.is_empty() && header.reviews.is_empty())
    }

    /// The reviews that gave no verdict on the work, and should have.
    fn gaps(&self) -> Vec<String> {
        self.unreviewed().iter().map(Unreviewed::words).collect()
    }

    /// The gates that are red in the work, as they were before it.
    fn red(&self) -> Option<String> {
        let red: Vec<String> = self.red_in_work.iter().cloned().collect();
        (!red.is_empty()).then(|| red_since_before(&red))
    }

    /// That no gate judged any of the work, because no file in the paths of any was changed.
    fn no_gate_ran(&self) -> Option<String> {
        let has_work = self.stories.iter().any(StoryProgress::is_completed);
        let is_so = has_work && self.has_no_judged_work() && !self.gates_not_run().is_empty();
        is_so.then(|| NO_GATE_RAN.to_owned())
    }

    /// The gates and reviews at the end that have not judged the work of a run that says it is done, or
    /// that went on to its last story.
    fn not_run(&self) -> Vec<String> {
        let is_through = self.outcome().is_some_and(|outcome| {
            outcome.says_done()
                || matches!(
                    outcome,
                    Outcome::Exhausted {
                        continued: true,
                        ..
                    }
                )
        });
        if !is_through || !self.stories.iter().any(StoryProgress::is_completed) {
            return Vec::new();
        }
        let reviews = self.reviews_not_run();
        let reviews = reviews.iter().map(|name| {
            format!("review `{name}` has not run yet: it runs when every story is done")
        });
        let gates = self.gates_at_end_not_run();
        gates.into_iter().chain(reviews).collect()
    }

    fn gates_at_end_not_run(&self) -> Option<String> {
        let at_end = self.header.iter().flat_map(|header| &header.gates_at_end);
        let not_run = at_end.filter(|gate| !self.judged_at_end.contains(*gate));
        let not_run: Vec<String> = not_run.cloned().collect();
        let gates = quoted(&not_run);
        match not_run.len() {
            0 => None,
            1 => Some(format!(
                "gate {gates} has not run yet: it runs when every story is done"
            )),
            _ => Some(format!(
                "gates {gates} have not run yet: they run when every story is done"
            )),
        }
    }

    /// What the user should know of the work before deciding what to do with it, a line each. What
    /// the headline of the run says is not among it.
    pub fn alerts(&self) -> Vec<String> {
        let gaps = self.gaps();
        let (is_said, are_gaps_said) = match self.outcome() {
            Some(Outcome::Unverified { gates, reviews }) => (
                gates.len() == self.red_in_work.len(),
                reviews.len() == gaps.len(),
            ),
            _ => (false, false),
        };
        let gaps = gaps.into_iter().filter(|_| !are_gaps_said);
        let no_gates = self.has_no_gates().then(|| NO_GATES.to_owned());
        let red = self.red().filter(|_| !is_said);
        let no_gates = no_gates.or_else(|| self.no_gate_ran());
        let reasons = no_gates.into_iter().chain(red).chain(gaps);
        let reasons = reasons.chain(self.not_run()).chain(self.whole_doubts());
        let reasons = reasons.chain(self.flaky());
        let plan = self.template_warning().map(|it| it.message.clone());
        let findings = self.findings().map(Warning::with_story);
        reasons.chain(plan).chain(findings).collect()
    }

    /// The gates that were flaky, and how often: ``1 flaky gate: `tests` passed at the second try``.
    fn flaky(&self) -> Option<String> {
        let flaky = self.flaky_gates();
        let mut gates: Vec<&str> = flaky.iter().map(|it| it.gate.as_str()).collect();
        gates.dedup();
        if gates.is_empty() {
            return None;
        }
        let each = gates.iter().map(|gate| {
            let of_gate = flaky.iter().filter(|it| it.gate == *gate);
            let times = of_gate.map(|it| match it.times {
                1 => format!("at the {} try", ordinal(it.passed_at)),
                times => format!("at the {} try, {times} times", ordinal(it.passed_at)),
            });
            let times: Vec<String> = times.collect();
            format!("{} passed {}", quoted([gate]), times.join(", and "))
        });
        let each: Vec<String> = each.collect();
        Some(format!(
            "{}: {}",
            count(gates.len(), "flaky gate"),
            each.join("; ")
        ))
    }

    /// Whether a warning is among the alerts.
    pub fn is_alert(&self, warning: &Warning) -> bool {
        let is_summed_up = [TEMPLATE, FLAKY].contains(&warning.code.as_str());
        is_summed_up || self.findings().any(|finding| finding == warning)
    }

    /// What of the plan was still from the template when the last part of the run began.
    fn template_warning(&self) -> Option<&Warning> {
        self.warnings.iter().rfind(|it| it.code == TEMPLATE)
    }

    /// Warnings without notes.
    pub fn important_warnings(&self) -> impl Iterator<Item = &Warning> {
        let warnings = self.warnings.iter();
        warnings.filter(|it| it.importance == Importance::Warning)
    }

    /// Reasons to doubt work that is done, in order: found in attempts that completed their stories.
    pub fn findings(&self) -> impl Iterator<Item = &Warning> {
        let stories = self.stories.iter();
        stories.flat_map(|story| self.findings_of(story))
    }

    /// Reasons to doubt the work of a story that is done.
    pub fn findings_of(&self, story: &StoryProgress) -> impl Iterator<Item = &Warning> {
        let last = story.attempts.last().map(|attempt| attempt.number);
        let last = last.filter(|_| story.is_completed());
        self.warnings.iter().filter(move |it| {
            last.is_some()
                && it.attempt == last
                && it.story.as_ref() == Some(&story.id)
                && it.is_about_work()
        })
    }

    /// Whether a story is done with a warning: something was found, or a gate is red as before.
    pub fn is_doubtful(&self, story: &StoryProgress) -> bool {
        self.findings_of(story).next().is_some() || story.has_red_gate() || story.lacks_review()
    }
}

impl StoryProgress {
    /// Whether this run made its checkpoint commit, which still counts.
    pub(super) const fn is_completed(&self) -> bool {
        matches!(self.state, StoryStanding::Completed(_))
    }

    /// Whether it is complete although a gate was red: it had been red before.
    fn has_red_gate(&self) -> bool {
        let is_red = |result: &GateResult| *result != GateResult::Passed;
        let mut gates = self.last_gates();
        self.is_completed() && gates.any(|gate| gate.result.as_ref().is_some_and(is_red))
    }
}

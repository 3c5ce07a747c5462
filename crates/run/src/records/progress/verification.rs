//! Why work that is done may not be what it should be: what no gate has checked, and what the
//! checks of attempts found. Every face takes its words from here.

use super::{Importance, Progress, StoryProgress, StoryStanding, Warning};
use crate::records::event::{GateResult, Outcome, red_since_before};
use crate::words::quoted;

/// What is said of a run without gates.
pub const NO_GATES: &str = "no gates: the agent's word is the only check";

/// The code of the warning about files that are still from the template.
const TEMPLATE: &str = "template";

impl Progress {
    /// What keeps the work of this run from being verified by gates, in words; none where gates
    /// verify it.
    pub fn unverified(&self) -> Option<String> {
        if self.has_no_gates() {
            return Some(NO_GATES.to_owned());
        }
        let reasons: Vec<String> = self.red().into_iter().chain(self.not_run()).collect();
        (!reasons.is_empty()).then(|| reasons.join("; "))
    }

    fn has_no_gates(&self) -> bool {
        let mut header = self.header.iter();
        header.any(|header| header.gates.is_empty())
    }

    /// The gates that are red in the work, as they were before it.
    fn red(&self) -> Option<String> {
        let red: Vec<String> = self.red_in_work.iter().cloned().collect();
        (!red.is_empty()).then(|| red_since_before(&red))
    }

    /// The gates at the end that have not judged the work of a run that says it is done, or that went
    /// on to its last story.
    fn not_run(&self) -> Option<String> {
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
            return None;
        }
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
        let is_said = match self.outcome() {
            Some(Outcome::Unverified { gates }) => gates.len() == self.red_in_work.len(),
            _ => false,
        };
        let no_gates = self.has_no_gates().then(|| NO_GATES.to_owned());
        let red = self.red().filter(|_| !is_said);
        let reasons = no_gates.into_iter().chain(red).chain(self.not_run());
        let plan = self.template_warning().map(|it| it.message.clone());
        let findings = self.findings().map(Warning::with_story);
        reasons.chain(plan).chain(findings).collect()
    }

    /// Whether a warning is among the alerts.
    pub fn is_alert(&self, warning: &Warning) -> bool {
        warning.code == TEMPLATE || self.findings().any(|finding| finding == warning)
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
        self.findings_of(story).next().is_some() || story.has_red_gate()
    }
}

impl StoryProgress {
    /// Whether this run made its checkpoint commit, which still counts.
    pub(super) const fn is_completed(&self) -> bool {
        matches!(self.state, StoryStanding::Completed(_))
    }

    /// Whether it is complete although a gate was red: it had been red before.
    fn has_red_gate(&self) -> bool {
        let last = self.attempts.last().filter(|_| self.is_completed());
        let is_red = |result: &GateResult| *result != GateResult::Passed;
        last.is_some_and(|last| {
            let mut gates = self.gates_of(last.number);
            gates.any(|gate| gate.result.as_ref().is_some_and(is_red))
        })
    }
}

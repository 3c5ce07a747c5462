//! A start with nothing left to do: what the last run of the change says about its work, and what to
//! type. Work that is not verified is not verified the second time either.

use jiff::tz::TimeZone;

use crate::ui::page::Page;
use crate::ui::style::of_outcome;
use crate::ui::text::clean;
use crate::ui::words;
use ralph_plan::change::Change;
use ralph_run::engine::entry::DoneRun;
use ralph_run::failure::Failure;
use ralph_run::preview::forecast::all_done;
use ralph_run::records::event::Record;
use ralph_run::records::outcome::Outcome;

/// A change without open stories.
#[derive(Debug)]
pub(crate) struct NothingToRun {
    text: String,
    /// The run that did the stories, while its branch is there.
    done: Option<DoneRun>,
    hints: Vec<String>,
}

impl NothingToRun {
    /// The change as it is where HEAD is; `done` is its run, if HEAD is on the branch of one.
    pub(crate) fn here(change: &Change, done: Option<DoneRun>) -> Self {
        let tally = change.story_tally();
        let is_cut_short = done.as_ref().is_some_and(|done| !done.outcome.is_done());
        let hint = "`ralphtool resume` runs the gates at the end, if there are any";
        Self {
            text: words::nothing_left(&change.name, tally.done, tally.total),
            done,
            hints: is_cut_short.then(|| hint.to_owned()).into_iter().collect(),
        }
    }

    /// Says that it is so on the branch of the last run, where HEAD is not.
    pub(crate) fn on_branch(mut self, branch: Option<String>) -> Self {
        let hint = branch.map(|branch| {
            format!(
                "that is so on the branch of its run: `git switch {}` goes there",
                words::shell(&branch)
            )
        });
        self.hints.extend(hint);
        self
    }

    /// All is done on a branch where HEAD is not; `target` is what the user calls the change.
    pub(crate) fn elsewhere(done: DoneRun, target: &str) -> Self {
        Self {
            text: all_done(&done),
            hints: vec![
                format!(
                    "`git switch {}`, then `ralphtool finish --cleanup`: returns to {} with the work \
                     as uncommitted changes",
                    words::shell(&done.branch),
                    done.original
                ),
                format!("`ralphtool run {target} --fresh` starts over"),
            ],
            done: Some(done),
        }
    }

    /// The exit code of the run that did the work.
    pub(crate) fn exit_code(&self) -> u8 {
        let done = self.done.as_ref();
        done.map_or(0, |done| done.outcome.exit_code())
    }

    /// The end of that run, for programs.
    pub(crate) fn record(&self) -> Option<&Record> {
        self.done.as_ref().map(|done| &done.record)
    }

    /// Writes what is done, how that run ended, and what to type.
    pub(crate) fn write(&self, page: &mut Page, zone: &TimeZone) {
        page.line(clean(&self.text));
        if let Some(done) = &self.done {
            if let Some(ending) = ending(done, zone) {
                page.styled(of_outcome(&done.outcome), clean(&ending));
            }
            page.alerts(&done.progress.alerts());
        }
        for hint in &self.hints {
            page.line(clean(hint));
        }
    }

    /// The same as an error, for a screen; none where all is well and nothing is to be said of a
    /// branch.
    pub(crate) fn as_failure(&self, zone: &TimeZone) -> Option<Failure> {
        if self.exit_code() == 0 && self.hints.is_empty() {
            return None;
        }
        let ending = self.done.as_ref().and_then(|done| ending(done, zone));
        let text = match ending {
            Some(ending) => format!("{}; {ending}", self.text),
            None => self.text.clone(),
        };
        let hints = self.hints.iter();
        Some(hints.fold(Failure::refused(text), Failure::hint))
    }
}

/// How the run ended, where that is more than that all is done.
fn ending(done: &DoneRun, zone: &TimeZone) -> Option<String> {
    let is_plain = matches!(done.outcome, Outcome::AllDone | Outcome::StoryDone { .. });
    (!is_plain).then(|| format!("its run ended: {}", done.progress.closing_headline(zone)))
}

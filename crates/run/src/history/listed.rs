//! The changes of a repository with the last run of each: what `list` and the changes screen show.

use std::collections::BTreeMap;
use std::path::Path;

use jiff::tz::TimeZone;
use serde::Serialize;

use super::lookup::{Journal, look_at_journal, read_run};
use crate::failure::Failure;
use crate::records::event::FinishChoice;
use crate::records::progress::Progress;
use crate::records::state::RunState;
use crate::records::summary::RunSummary;
use ralph_plan::summary::{ChangeState, ChangeSummary};
use ralph_vault::git::repository::Repository;

/// The last run of a change.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LastRun {
    /// The run.
    #[serde(flatten)]
    pub run: RunSummary,
    /// It has begun and not been finished.
    pub open: bool,
    /// It was kept, and can be resumed or finished in another way.
    pub kept: bool,
}

/// The last run of each change, by the name of the change.
pub type LastRuns = BTreeMap<String, LastRun>;

/// How a word is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// It can be started.
    Ready,
    /// It is at work.
    Live,
    /// It is done.
    Good,
    /// It needs a look.
    Warning,
    /// It does not work.
    Bad,
    /// There is nothing to do.
    Quiet,
}

/// Where a change stands, with what can be done about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeStanding {
    /// In a few words: `running`, `budget used up, kept: 3/5 on ralph/add-retry`, `ready`.
    pub words: String,
    /// The same without where the work is: `running`, `budget used up, kept`, `ready`.
    pub short: String,
    /// How they are to be read.
    pub tone: Tone,
    /// The command that continues it, without `ralphtool`; none if nothing is left to do.
    pub next: Option<&'static str>,
}

/// The last run of each change of a repository.
pub fn last_runs(
    repository: &Repository,
    vault: &Path,
    zone: &TimeZone,
) -> Result<LastRuns, Failure> {
    let Some(journal) = look_at_journal(repository, vault)? else {
        return Ok(LastRuns::new());
    };
    let mut found = LastRuns::new();
    for past in journal.begun() {
        if found.contains_key(&past.change) {
            continue;
        }
        let place = journal.place(&past.run);
        let progress = Progress::of(&read_run(vault, &past.run));
        let run = RunSummary::of(past.clone(), &progress, place, zone);
        let is_kept = |journal: &Journal| journal.kept.as_ref() == Some(&run.change);
        let last = LastRun {
            open: place.is_open,
            kept: !place.is_open && is_kept(&journal) && run.finish == Some(FinishChoice::Keep),
            run,
        };
        found.insert(past.change.clone(), last);
    }
    Ok(found)
}

impl ChangeStanding {
    /// Where a change stands: its last run, as long as it is not over, else its plan.
    pub fn of(change: &ChangeSummary, last: Option<&LastRun>) -> Self {
        match last {
            Some(last) if last.open || last.kept || last.run.state.is_live() => {
                Self::of_run(change, last)
            }
            _ => Self::of_plan(&change.state),
        }
    }

    fn of_run(change: &ChangeSummary, last: &LastRun) -> Self {
        let state = last.run.state;
        let mut short = state.word().to_owned();
        if last.kept {
            short.push_str(", kept");
        }
        let mut words = short.clone();
        // The work is on another branch than the plan that is listed.
        let stories = last.run.stories;
        if let Some(branch) = &last.run.branch
            && !state.is_live()
            && stories.done != change.stories_done
        {
            words = format!("{short}: {}/{} on {branch}", stories.done, stories.total);
        }
        let is_left = stories.open + stories.skipped > 0;
        let next = match state {
            _ if state.is_live() => Some("attach"),
            RunState::Interrupted => Some("resume"),
            _ if is_left => Some("resume"),
            _ => Some("finish"),
        };
        let tone = match state {
            _ if state.is_live() => Tone::Live,
            RunState::Done | RunState::StoryDone => Tone::Good,
            RunState::Failed | RunState::GateBroken | RunState::Broken => Tone::Bad,
            _ => Tone::Warning,
        };
        Self {
            words,
            short,
            tone,
            next,
        }
    }

    fn of_plan(state: &ChangeState) -> Self {
        let (words, tone, next) = match state {
            ChangeState::Open => ("ready", Tone::Ready, Some("run")),
            ChangeState::Template => ("template", Tone::Warning, None),
            ChangeState::Done => ("done", Tone::Good, None),
            ChangeState::Deferred => ("deferred", Tone::Quiet, None),
            ChangeState::NoTasks => ("no tasks", Tone::Quiet, None),
            ChangeState::Unreadable { .. } => ("unreadable", Tone::Bad, None),
        };
        Self {
            words: words.to_owned(),
            short: words.to_owned(),
            tone,
            next,
        }
    }
}

//! The changes of a repository with the last run of each: what `list` and the changes screen show.

use std::path::Path;
use std::time::Duration;

use jiff::tz::TimeZone;
use serde::Serialize;

use super::lookup::{look_at_journal, read_run};
use crate::failure::Failure;
use crate::records::event::FinishChoice;
use crate::records::progress::Progress;
use crate::records::state::RunState;
use crate::records::summary::RunSummary;
use ralph_plan::source::folder_of_plan;
use ralph_plan::summary::{ChangeState, ChangeSummary};
use ralph_vault::gc::policy::PastRun;
use ralph_vault::git::process::Git;
use ralph_vault::git::repository::Repository;
use ralph_vault::{BranchPlace, BranchRuns, CheckpointError, NewBranch, branch_obstacle};

/// How long a question to git may take.
const GIT_TIMEOUT: Duration = Duration::from_secs(30);

/// The last run of a change.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LastRun {
    /// The run.
    #[serde(flatten)]
    pub run: RunSummary,
    /// Whether a new run may follow it.
    pub hold: Hold,
    /// It is the one that `resume` and `finish` mean.
    #[serde(skip)]
    pub is_last: bool,
    /// Where its plan is read from.
    #[serde(skip)]
    pub plan: Option<String>,
}

/// What a run leaves to a new run of its change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Hold {
    /// It has begun and not been finished.
    Open,
    /// It was kept, and is resumed, or finished in another way.
    Kept,
    /// It is over, and its branch holds work that is not at HEAD: a new run is refused.
    Work,
    /// It is over.
    Nothing,
}

/// The last run of each change.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LastRuns(Vec<LastRun>);

impl LastRuns {
    /// Those of changes that each have one run here.
    pub const fn new(runs: Vec<LastRun>) -> Self {
        Self(runs)
    }

    /// The last run of a change. Plans in several places can have one name.
    pub fn of(&self, change: &ChangeSummary) -> Option<&LastRun> {
        let mut runs = self.0.iter();
        runs.find(|last| last.is_of(change))
    }

    fn has(&self, past: &PastRun) -> bool {
        let is_same = |it: &LastRun| it.run.change == past.change && it.plan == past.plan;
        self.0.iter().any(is_same)
    }
}

impl LastRun {
    fn is_of(&self, change: &ChangeSummary) -> bool {
        // Old journals do not say where the plan is.
        let is_there = |plan: &String| {
            let plan = Path::new(plan);
            let folder = folder_of_plan(plan, &change.name);
            plan.ends_with(&change.path) || folder.ends_with(&change.path)
        };
        self.run.change == change.name && self.plan.as_ref().is_none_or(is_there)
    }
}

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
        return Ok(LastRuns::default());
    };
    let mut found = LastRuns::default();
    let branches = Branches {
        repository,
        git: repository.git(GIT_TIMEOUT),
        vault,
        runs: BranchRuns::read(vault).map_err(CheckpointError::from)?,
    };
    for past in journal.last_first() {
        if found.has(past) {
            continue;
        }
        let place = journal.place(&past.run);
        let progress = Progress::of(&read_run(vault, &past.run));
        let run = RunSummary::of(past.clone(), &progress, place, zone);
        let hold = if place.is_open {
            Hold::Open
        } else if journal.is_kept(&run.run) {
            Hold::Kept
        } else if branches.hold_work_of(&run) {
            Hold::Work
        } else {
            Hold::Nothing
        };
        let last = LastRun {
            hold,
            is_last: found.0.is_empty(),
            plan: past.plan.clone(),
            run,
        };
        found.0.push(last);
    }
    Ok(found)
}

/// The branches of a repository, and the runs that made them.
struct Branches<'a> {
    repository: &'a Repository,
    git: Git,
    vault: &'a Path,
    runs: BranchRuns,
}

impl Branches<'_> {
    /// Whether work of a run that is over keeps a new run from its branch.
    fn hold_work_of(&self, run: &RunSummary) -> bool {
        let is_kept =
            run.finish.is_some_and(FinishChoice::keeps_branch) && self.repository.has_head();
        let Some(branch) = run.branch.as_ref().filter(|_| is_kept) else {
            return false;
        };
        if self.runs.on(branch).is_none_or(|last| last.run != run.run) {
            return false;
        }
        let place = BranchPlace {
            repository: self.repository,
            git: &self.git,
            runs: &self.runs,
            vault: self.vault,
            head: None,
        };
        let wanted = NewBranch {
            name: branch,
            change: &run.change,
            replaces: false,
            on_top: true,
        };
        branch_obstacle(place, &wanted).is_err_and(|error| error.is_refusal())
    }
}

impl ChangeStanding {
    /// Where a change stands: its last run, as long as it is not over, else its plan.
    pub fn of(change: &ChangeSummary, last: Option<&LastRun>) -> Self {
        match last {
            Some(last) if last.run.state.is_live() => Self::of_run(change, last),
            Some(last) => match last.hold {
                Hold::Open | Hold::Kept => Self::of_run(change, last),
                Hold::Work if change.state == ChangeState::Open => Self::of_work(last),
                Hold::Work | Hold::Nothing => Self::of_plan(&change.state),
            },
            None => Self::of_plan(&change.state),
        }
    }

    fn of_run(change: &ChangeSummary, last: &LastRun) -> Self {
        let state = last.run.state;
        let mut short = last.run.with_warnings(state.word());
        if last.hold == Hold::Kept {
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
        let is_left = stories.left() > 0;
        let next = match state {
            _ if state.is_live() => Some("attach"),
            _ if !last.is_last => Some("loop"),
            RunState::Interrupted => Some("resume"),
            _ if is_left => Some("resume"),
            _ => Some("finish"),
        };
        let tone = match state {
            _ if state.is_live() => Tone::Live,
            RunState::Done | RunState::StoryDone if last.run.alerts.is_empty() => Tone::Good,
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

    /// Work on a branch that no run continues.
    fn of_work(last: &LastRun) -> Self {
        let RunSummary {
            state,
            stories,
            branch,
            finish,
            ..
        } = &last.run;
        let end = match finish {
            Some(FinishChoice::Squash) => "squashed",
            Some(FinishChoice::Reword) => "reworded",
            _ => "over",
        };
        let short = format!("{}, {end}", state.word());
        let branch = branch.as_deref().unwrap_or_default();
        Self {
            words: format!("{short}: {}/{} on {branch}", stories.done, stories.total),
            short,
            tone: if state.is_done() {
                Tone::Good
            } else {
                Tone::Warning
            },
            next: None,
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

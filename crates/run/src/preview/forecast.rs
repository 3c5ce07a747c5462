//! What a start would do with the last run and with the branch, found without the lock.

use std::path::Path;

use super::Remark;
use crate::engine::branch_name::branch_name;
use crate::engine::entry::{DoneRun, Entry, FreshStart, StartMode, WantedChange, entry_by};
use crate::failure::{Failure, chain};
use ralph_base::ids::StoryId;
use ralph_plan::change::Change;
use ralph_plan::source::place_of;
use ralph_vault::git::process::Git;
use ralph_vault::git::repository::Repository;
use ralph_vault::look::standing;
use ralph_vault::store::VaultFolder;
use ralph_vault::{
    BranchPlace, BranchRuns, CheckpointError, HeadPlace, Leaving, NewBranch, OpenRun, RunPlace,
    Standing, branch_obstacle, switch_obstacle,
};

/// What a start would do.
pub struct Forecast {
    /// What it begins with; why it would be refused.
    pub entry: Result<Entry, Failure>,
    standing: Option<Standing>,
    /// How the last run is left, where one is.
    leaving: Option<Leaving>,
    runs: BranchRuns,
    /// The branch of the run.
    pub branch: String,
    /// Where HEAD is, as people say it.
    pub head: String,
    change: String,
    stories: usize,
    /// Stories that are done in the last run, and that a fresh start does again.
    redone: Vec<StoryId>,
    mode: StartMode,
}

/// Where it is looked, and for which change.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    pub repository: &'a Repository,
    pub git: &'a Git,
    /// The user's state directory.
    pub state: &'a Path,
    pub change: &'a Change,
    pub asked: AskedFor,
    pub mode: StartMode,
}

/// What a user asks to be run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AskedFor {
    /// The change, by its name.
    Change,
    /// The last run, whatever its change.
    LastRun,
}

impl Forecast {
    /// Looks what a start would do; nothing is locked, made or changed.
    pub fn of(question: Question<'_>) -> Result<Self, CheckpointError> {
        let Question {
            repository,
            git,
            state,
            change,
            asked,
            mode,
        } = question;
        let folder = VaultFolder::folder_for(state, repository);
        let place = place_of(change);
        let wanted = WantedChange {
            name: &change.name,
            place: place.as_deref(),
            change: Some(change),
        };
        let is_asked_for =
            |run: &OpenRun| asked == AskedFor::Change && !mode.fresh && wanted.is_of(run);
        let (standing, runs) = standing(state, repository, git, is_asked_for)?;
        let mut left = None;
        let entry = match &standing {
            Some(standing) if mode.fresh => {
                let fresh = FreshStart {
                    repository,
                    git,
                    wanted: Some(wanted),
                    on_top: mode.on_top,
                };
                fresh.leaving(standing).map(|leaving| {
                    left = Some(leaving);
                    Entry::New
                })
            }
            standing => {
                let wanted = (asked == AskedFor::Change).then_some(wanted);
                entry_by(standing.as_ref(), wanted, &folder)
            }
        };
        let redone = match (&standing, &left) {
            (Some(standing), Some(left)) if wanted.is_of(&standing.run) => redone(standing, left),
            _ => Vec::new(),
        };
        let refs = repository.refs(git)?;
        let branch = match (&entry, &standing) {
            (Ok(Entry::Resume), Some(standing)) => standing.run.branch.clone(),
            _ => branch_name(change, &runs, &folder, repository),
        };
        Ok(Self {
            entry,
            standing,
            leaving: left,
            redone,
            runs,
            branch,
            head: Repository::ask_head(git, &refs)?.shown(),
            change: change.name.clone(),
            stories: change.story_tally().total,
            mode,
        })
    }

    /// The same; an error where a start would be refused.
    pub fn of_allowed(question: Question<'_>) -> Result<Self, Failure> {
        let mut forecast = Self::of(question)?;
        if let Some(obstacle) = forecast.obstacle(question) {
            return Err(obstacle.into());
        }
        let entry = std::mem::replace(&mut forecast.entry, Ok(Entry::New))?;
        forecast.entry = Ok(entry);
        Ok(forecast)
    }

    /// Whether a run of this change came before, which a fresh start would leave.
    pub fn has_earlier_run(&self) -> bool {
        let is_known = self.runs.on(&self.branch).is_some();
        is_known || matches!(self.entry, Ok(Entry::Resume | Entry::DoneOnBranch(_)))
    }

    /// Why a new run could not have its branch, or HEAD not go to that of the run that is resumed.
    pub fn obstacle(&self, question: Question<'_>) -> Option<CheckpointError> {
        match (&self.entry, &self.standing) {
            (Ok(Entry::New), _) => self.branch_obstacle(question),
            (Ok(Entry::Resume), Some(standing)) if !standing.place.is_on_branch() => {
                switch_obstacle(question.repository, question.git, standing).err()
            }
            _ => None,
        }
    }

    fn branch_obstacle(&self, question: Question<'_>) -> Option<CheckpointError> {
        let wanted = NewBranch {
            name: &self.branch,
            change: &self.change,
            replaces: question.mode.fresh,
            on_top: question.mode.on_top,
        };
        let place = BranchPlace {
            repository: question.repository,
            git: question.git,
            runs: &self.runs,
            vault: &VaultFolder::folder_for(question.state, question.repository),
            head: match &self.leaving {
                Some(Leaving::GoBack(head)) => Some(head),
                _ => None,
            },
        };
        branch_obstacle(place, &wanted).err()
    }

    /// Whether a start goes back to where the last run began.
    fn goes_back(&self) -> bool {
        matches!(self.leaving, Some(Leaving::GoBack(_)))
    }

    /// Whether a story is done in the last run, and a fresh start does it again.
    pub fn is_redone(&self, story: &StoryId) -> bool {
        self.redone.contains(story)
    }

    /// Whether a story is done in the run that would be resumed.
    pub fn is_done_in_run(&self, story: &StoryId) -> bool {
        let standing = self.standing.as_ref();
        let is_resumed = matches!(self.entry, Ok(Entry::Resume));
        is_resumed && standing.is_some_and(|it| it.left.stories.contains(story))
    }

    /// What `r` does with an earlier run.
    pub fn remark(&self) -> Option<Remark> {
        match (&self.entry, &self.standing) {
            (Err(failure), _) => {
                let hints = failure.hints().join("; ");
                Some(Remark::stops(chain(failure)).hint(hints))
            }
            (Ok(Entry::DoneOnBranch(done)), _) => Some(
                Remark::stops(all_done(done))
                    .hint("`ralphtool finish` ends the run; F starts over"),
            ),
            (Ok(Entry::Resume), Some(standing)) => Some(
                Remark::tells(format!("r resumes the run {}", self.resumed(standing))).hint(
                    format!(
                        "F starts over from `{}`; `ralphtool undo` restores the run",
                        standing.left.original
                    ),
                ),
            ),
            _ => None,
        }
    }

    /// The branch, for people: where it comes from, or what is on it.
    pub fn branch_line(&self) -> String {
        match (&self.entry, &self.standing) {
            (Ok(Entry::Resume), Some(standing)) => self.resumed(standing),
            (Ok(Entry::DoneOnBranch(done)), _) => format!("`{}`", done.branch),
            _ => self.new_branch(),
        }
    }

    fn new_branch(&self) -> String {
        let branch = &self.branch;
        let from = match &self.standing {
            Some(standing) if self.goes_back() => &standing.left.original,
            _ => &self.head,
        };
        let uncommitted = if self.goes_back() {
            ", and what is not committed now"
        } else {
            ""
        };
        match self.runs.on(branch).filter(|_| self.mode.fresh) {
            Some(earlier) => format!(
                "`{branch}` from `{from}`: starts the run {} over ({}); `ralphtool undo` restores \
                 it{uncommitted}",
                earlier.run,
                earlier.stories_done()
            ),
            None => format!("`{branch}` from `{from}`{}", self.left_other()),
        }
    }

    /// What happens to a run of another change.
    fn left_other(&self) -> String {
        match (&self.standing, &self.leaving) {
            (Some(standing), Some(Leaving::GoBack(_) | Leaving::Keep)) => format!(
                ": leaves the run of `{}`, whose branch `{}` is kept",
                standing.run.change, standing.run.branch
            ),
            _ => String::new(),
        }
    }

    fn resumed(&self, standing: &Standing) -> String {
        let done = standing.left.stories.len();
        let on_branch = format!(
            "on `{}`: {done} of {} stories done in it",
            standing.run.branch, self.stories
        );
        if standing.place.is_on_branch() {
            return on_branch;
        }
        format!("{on_branch}; switches there from `{}` first", self.head)
    }
}

/// The stories of the last run that a fresh start does again. Where its work is at HEAD, the new run
/// begins with it.
fn redone(standing: &Standing, leaving: &Leaving) -> Vec<StoryId> {
    let is_elsewhere = matches!(
        standing.place,
        RunPlace::Open(HeadPlace::Elsewhere) | RunPlace::Kept(HeadPlace::Elsewhere)
    );
    if is_elsewhere || matches!(leaving, Leaving::GoBack(_)) {
        standing.left.stories.clone()
    } else {
        Vec::new()
    }
}

/// All stories of a change are done, elsewhere.
pub fn all_done(
    DoneRun {
        change,
        branch,
        progress,
        ..
    }: &DoneRun,
) -> String {
    match (progress.stories_done, progress.stories_total) {
        (1, 1) => format!("`{change}`: the only story is done, on `{branch}`"),
        (done, all) if done >= all => {
            format!("`{change}`: all {all} stories are done, on `{branch}`")
        }
        (done, all) => format!(
            "`{change}`: {done} of {all} stories are done and the rest deferred, on `{branch}`"
        ),
    }
}

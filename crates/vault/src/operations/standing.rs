//! The run that can be resumed, seen from where HEAD is, and how a fresh start leaves it.

use std::borrow::Cow;

use super::claims::{foreign_commits, is_at_head};
use super::start_over::origin;
use crate::error::Result;
use crate::git::object_id::ObjectId;
use crate::git::process::Git;
use crate::git::repository::{Head, Refs};
use crate::journal::branches::BranchRun;
use crate::journal::run_state::{Current, OpenRun, RunState};
use crate::vault::Vault;

/// The run that can be resumed, and where HEAD is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    pub run: OpenRun,
    pub place: RunPlace,
    /// What it left on its branch.
    pub left: BranchRun,
    /// Where HEAD is, as people say it.
    pub head: String,
    /// Where HEAD was when it began.
    began: Head,
    /// Where the branch of that HEAD is now.
    origin: Option<ObjectId>,
    /// Where its own branch is now.
    tip: Option<ObjectId>,
}

/// Whether a run was finished, and where HEAD is, seen from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunPlace {
    /// It has not been finished.
    Open(HeadPlace),
    /// Its branch was kept.
    Kept(HeadPlace),
    /// Its branch was kept, and it is over: all of its work is at HEAD, which is elsewhere, or it had
    /// none and its branch is gone.
    TakenOver,
}

/// Where HEAD is, seen from a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeadPlace {
    OnBranch,
    Elsewhere,
}

impl RunPlace {
    /// Whether the run has not been finished.
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Open(_))
    }

    /// Whether HEAD is on the branch of the run.
    pub const fn is_on_branch(self) -> bool {
        matches!(
            self,
            Self::Open(HeadPlace::OnBranch) | Self::Kept(HeadPlace::OnBranch)
        )
    }
}

/// How a fresh start leaves the last run. Its branch is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Leaving {
    /// Everything goes back to where the run began, with HEAD there.
    GoBack(Head),
    /// The run ends; HEAD stays.
    Keep,
    /// The run is over already.
    Over,
}

impl Standing {
    /// How a fresh start leaves the run; refused where it cannot go back. The next run may be built
    /// `on_top` of this one.
    pub fn leaving(&self, on_top: bool) -> Result<Leaving> {
        if self.place.is_on_branch() && !on_top {
            let branch = format!("refs/heads/{}", self.run.branch);
            origin(&self.run.change, &branch, &self.began, self.origin)?;
            return Ok(Leaving::GoBack(self.began.clone()));
        }
        Ok(if self.place.is_open() {
            Leaving::Keep
        } else {
            Leaving::Over
        })
    }

    /// Whether its branch is there.
    pub fn has_branch(&self) -> bool {
        self.tip.is_some()
    }

    /// Whether its work is where HEAD is: on its branch, or because all of it was brought there.
    pub fn is_work_at_head(&self) -> bool {
        let is_merged = self.place == RunPlace::TakenOver && self.tip.is_some();
        is_merged || self.place.is_on_branch()
    }

    /// Refuses where the user has committed on the branch of the run, which the next run would
    /// replace.
    pub fn refuse_commits(&self) -> Result<()> {
        if self.tip == Some(self.left.tip) {
            return Ok(());
        }
        Err(foreign_commits(&self.left, &self.run.branch, &self.began))
    }
}

impl Standing {
    pub(crate) fn of(
        state: &RunState,
        refs: &Refs,
        head: &Head,
        git: &Git,
    ) -> Result<Option<Self>> {
        let open = state.current.as_ref();
        let Some(run) = open.or_else(|| state.kept()) else {
            return Ok(None);
        };
        let left = BranchRun::of(run);
        let tip = refs.get(&run.intent.branch).copied();
        let head_place = if run.is_on_branch(head) {
            HeadPlace::OnBranch
        } else {
            HeadPlace::Elsewhere
        };
        let is_taken_over = || -> Result<bool> {
            match tip {
                // Nothing is lost with a branch whose work is at HEAD, or that had none.
                None => Ok(left.stories.is_empty() || is_at_head(git, head, left.tip)?),
                Some(tip) => Ok(!left.stories.is_empty() && is_at_head(git, head, tip)?),
            }
        };
        let place = match head_place {
            _ if open.is_some() => RunPlace::Open(head_place),
            HeadPlace::Elsewhere if is_taken_over()? => RunPlace::TakenOver,
            _ => RunPlace::Kept(head_place),
        };
        let began = run.intent.head.clone();
        let origin = match &began {
            Head::Branch { name, .. } => refs.get(name).copied(),
            Head::Detached { .. } => None,
        };
        Ok(Some(Self {
            run: run.to_open_run(),
            place,
            left,
            head: head.shown(),
            began,
            origin,
            tip,
        }))
    }
}

impl RunState {
    /// The same with the newest kept run that is wanted as the last one, unless a run is open.
    pub(crate) fn with_last(&self, is_wanted: impl Fn(&OpenRun) -> bool) -> Cow<'_, Self> {
        let mut kept = self.kept_runs().map(Current::to_open_run);
        let found = kept.find(is_wanted).filter(|_| self.current.is_none());
        let Some(found) = found else {
            return Cow::Borrowed(self);
        };
        let mut state = self.clone();
        state.recall(&found.run);
        Cow::Owned(state)
    }
}

impl Vault {
    /// The run that can be resumed, and where HEAD is: the open one; else the kept one that is wanted,
    /// else the last one that was kept.
    pub fn standing(&self, is_wanted: impl Fn(&OpenRun) -> bool) -> Result<Option<Standing>> {
        let (refs, head) = self.repo.observe()?;
        let state = self.log.state.with_last(is_wanted);
        Standing::of(&state, &refs, &head, &self.repo.gits.user)
    }
}

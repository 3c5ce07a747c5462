//! The run that can be resumed, seen from where HEAD is.

use super::claims::is_at_head;
use crate::error::Result;
use crate::git::process::Git;
use crate::git::repository::{Head, Refs};
use crate::journal::branches::BranchRun;
use crate::journal::run_state::{OpenRun, RunState};
use crate::vault::Vault;

/// The run that can be resumed, and where HEAD is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    pub run: OpenRun,
    /// It has not been finished; else its branch was kept.
    pub is_open: bool,
    /// What it left on its branch.
    pub left: BranchRun,
    /// Where HEAD is, as people say it.
    pub head: String,
    pub place: Place,
}

/// Where HEAD is, seen from a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// On the branch of the run.
    OnBranch,
    /// Elsewhere, where the kept run is over: its branch is gone, or all of its work is at HEAD.
    TakenOver,
    Elsewhere,
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
        let is_open = open.is_some();
        let left = BranchRun::of(run);
        let tip = refs.get(&run.intent.branch);
        let place = if run.is_on_branch(head) {
            Place::OnBranch
        } else {
            let is_over = match tip {
                _ if is_open => false,
                None => true,
                Some(tip) => !left.stories.is_empty() && is_at_head(git, head, *tip)?,
            };
            if is_over {
                Place::TakenOver
            } else {
                Place::Elsewhere
            }
        };
        Ok(Some(Self {
            run: run.to_open_run(),
            is_open,
            left,
            head: head.shown(),
            place,
        }))
    }
}

impl Vault {
    /// The run that can be resumed, and where HEAD is.
    pub fn standing(&self) -> Result<Option<Standing>> {
        let (refs, head) = self.repo.observe()?;
        Standing::of(&self.log.state, &refs, &head, &self.repo.gits.user)
    }
}

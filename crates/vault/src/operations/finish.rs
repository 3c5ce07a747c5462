//! Finish: the branch is kept, as it is or with its commits written again; or HEAD goes back to the
//! original branch, with all of the run's changes as uncommitted modifications; or everything is
//! restored to how it was before the run.

use std::path::Path;
use std::sync::Arc;

use super::incoming::Home;
use super::moving::{Outline, PreparedMove, Present, same_place};
use super::rewrite::Rewrite;
use crate::commit_message::MessageTemplate;
use crate::error::{CheckpointError, Notice, Result};
use crate::git::object_id::ObjectId;
use crate::git::repository::{Head, Refs, short};
use crate::journal::run_state::Current;
use crate::journal::steps::{BeginIntent, MoveIntent, MoveKind, RefMove, Step};
use crate::outcome::FinishChoice;
use crate::repo::Repo;
use crate::repo::commit_object::CommitBytes;
use crate::repo::git_copy::{self, GitCopy};
use crate::repo::snapshot::Snapshot;
use crate::tree::manifest::Manifest;
use crate::vault::Vault;
use ralph_base::files::{copy_with_time, create_private_folder};
use ralph_base::ids::RunId;

/// What a finish did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FinishReport {
    /// What was done; not always what was asked for.
    pub choice: FinishChoice,
    /// Where HEAD is now.
    pub head: String,
    /// Short name of the checkpoint branch.
    pub branch: String,
    /// Files that differ from where the run began.
    pub changed_files: usize,
    pub notices: Vec<Notice>,
}

/// A finish that is ready; nothing is touched yet.
pub struct PreparedFinish {
    report: FinishReport,
    /// None where the branch is only kept.
    prepared: Option<PreparedMove>,
    /// Commits that the move leads to, and that are still to be written.
    commits: Vec<CommitBytes>,
}

impl PreparedFinish {
    /// What will be done.
    pub fn report(&self) -> &FinishReport {
        &self.report
    }

    /// The id of the move, where there is one.
    pub fn move_id(&self) -> Option<&str> {
        self.prepared.as_ref().map(PreparedMove::id)
    }

    #[cfg(test)]
    pub fn intent(&self) -> Option<&MoveIntent> {
        self.prepared.as_ref().map(|prepared| &prepared.intent)
    }

    /// What will be moved.
    pub fn outline(&self) -> Option<&Outline> {
        self.prepared.as_ref().map(|prepared| &prepared.outline)
    }
}

impl Vault {
    /// Ends the open run.
    #[cfg(test)]
    pub(crate) fn finish(&mut self, choice: FinishChoice) -> Result<FinishReport> {
        let prepared = self.prepare_finish(choice, &MessageTemplate::default())?;
        self.carry_out_finish(prepared)
    }

    /// Makes a finish ready.
    pub(crate) fn prepare_finish(
        &mut self,
        choice: FinishChoice,
        template: &MessageTemplate,
    ) -> Result<PreparedFinish> {
        let current = self.log.current()?;
        self.repo.objects.return_pruned()?;
        let (choice, mut notices) = possible(&current, choice);
        let (refs, head, repaired) = self.observe_repaired(&current.snapshot)?;
        notices.extend(repaired);
        // Before anything is moved: the vault's copy goes with the run.
        notices.extend(self.repo.restore_content(&self.repo.new_trash("content"))?);
        let tip = refs.get(&current.intent.branch).copied();
        let changed_files = self
            .repo
            .changed_since_start(&current, tip.unwrap_or(current.commit))?;
        let mut report = FinishReport {
            choice,
            head: short(&current.intent.branch).to_owned(),
            branch: short(&current.intent.branch).to_owned(),
            changed_files,
            notices,
        };
        let mut commits = Vec::new();
        let prepared = match choice {
            FinishChoice::Keep => None,
            FinishChoice::Squash | FinishChoice::Reword => {
                let rewrite = match choice {
                    FinishChoice::Squash => Rewrite::Squash,
                    _ => Rewrite::Reword { template },
                };
                let tip = existing_tip(&current, &refs)?;
                self.repo.refuse_elsewhere(&current, &head)?;
                let prepared = self.prepare_rewrite(&current, &refs, tip, rewrite)?;
                commits = prepared.commits;
                Some(prepared.prepared)
            }
            FinishChoice::Cleanup => {
                report.head = current.intent.original.recorded();
                Some(self.prepare_cleanup(&current, &refs, head, changed_files)?)
            }
            FinishChoice::Abandon => {
                report.head = current.intent.head_before().recorded();
                Some(self.prepare_abandon(&current, &refs, head)?)
            }
        };
        Ok(PreparedFinish {
            report,
            prepared,
            commits,
        })
    }

    /// Carries a finish out.
    pub(crate) fn carry_out_finish(&mut self, prepared: PreparedFinish) -> Result<FinishReport> {
        let PreparedFinish {
            mut report,
            prepared,
            commits,
        } = prepared;
        let BeginIntent { run, branch, .. } = self.log.current()?.intent;
        self.archive_tip(&run, &branch)?;
        if let Some(tip) = commits.last() {
            self.repo.write_commits(&commits)?;
            let name = format!("refs/archive/{run}/rewritten");
            self.repo.archive(&name, tip.id)?;
        }
        match prepared {
            None => {
                let changed_files = report.changed_files;
                self.record(&run, Step::Kept { changed_files })?;
            }
            Some(prepared) => {
                report.notices.extend(prepared.outline.notices.clone());
                report.notices.extend(self.carry_out(prepared)?);
            }
        }
        self.forget_git_copy();
        Ok(report)
    }

    /// A branch may be rewritten or deleted later: its tip is kept.
    pub(crate) fn archive_tip(&self, run: &RunId, branch: &str) -> Result<()> {
        match self.repo.observe()?.0.get(branch) {
            Some(tip) => self.repo.archive(&format!("refs/archive/{run}/end"), *tip),
            None => Ok(()),
        }
    }

    /// The copy of the git directory goes with the run that is over.
    pub(crate) fn forget_git_copy(&mut self) {
        self.loaded = None;
        *self.repo.git_copy.borrow_mut() = GitCopy::default();
        git_copy::remove(&self.repo.places.vault);
    }

    fn prepare_cleanup(
        &mut self,
        current: &Current,
        refs: &Refs,
        head: Head,
        changed_files: usize,
    ) -> Result<PreparedMove> {
        let tip = existing_tip(current, refs)?;
        self.repo.refuse_elsewhere(current, &head)?;
        let home = self.repo.home(current, refs, tip)?;
        let base = self.checkpoint()?;
        let present = self.tree.scan_present(&self.repo, &base)?;
        let head_to = match &current.intent.original {
            Head::Branch { name, .. } => Head::Branch {
                name: name.clone(),
                commit: home.commit,
            },
            detached @ Head::Detached { .. } => detached.clone(),
        };
        let mut branches = vec![RefMove {
            name: current.intent.branch.clone(),
            from: Some(tip),
            to: None,
        }];
        if let Head::Branch { name, commit } = &head_to {
            branches.push(RefMove {
                name: name.clone(),
                from: *commit,
                to: *commit,
            });
        }
        let mut control = present.snapshot.control.clone();
        control.refs.remove(&current.intent.branch);
        control.head = head_to.clone();
        let id = Snapshot::new_id();
        let after = Snapshot {
            manifest: self
                .repo
                .tree_after_cleanup(&id, current, &home, &present)?,
            id,
            control,
            ..present.snapshot.as_ref().clone()
        };
        after.write(&self.repo.places.vault, Some(&present.snapshot))?;
        let intent = MoveIntent {
            kind: MoveKind::Cleanup { changed_files },
            before: present.snapshot.id.clone(),
            after: after.id.clone(),
            refs: branches,
            head_from: head,
            head_to,
            with_control: false,
        };
        self.repo
            .prepare_move(&current.intent.run, intent, present, &after)
    }

    /// Everything as it was before the run: the snapshot its begin took, or the one from before it was
    /// started over.
    fn prepare_abandon(
        &mut self,
        current: &Current,
        refs: &Refs,
        head: Head,
    ) -> Result<PreparedMove> {
        let intent = &current.intent;
        let mut branches = vec![RefMove {
            name: intent.branch.clone(),
            from: refs.get(&intent.branch).copied(),
            to: intent.old_branch,
        }];
        let head_before = intent.head_before();
        if let Head::Branch { name, commit } = head_before
            && *name != intent.branch
        {
            let now = refs.get(name).copied();
            if now.is_some() && now != *commit {
                return Err(original_moved(current, name, *commit));
            }
            branches.push(RefMove {
                name: name.clone(),
                from: now,
                to: *commit,
            });
        }
        let at_home = same_place(&head, head_before);
        if !at_home && !refs.contains_key(&intent.branch) {
            self.repo.refuse_without_branch(current, &head)?;
        } else if !at_home {
            self.repo.refuse_elsewhere(current, &head)?;
        }
        let base = self.checkpoint()?;
        let present = self.tree.scan_present(&self.repo, &base)?;
        let start = Snapshot::read(&self.repo.places.vault, intent.snapshot_before())?;
        let control = &present.snapshot.control;
        let after = self
            .repo
            .with_control(&start, self.repo.control_before(current, control)?)?;
        let abandon = MoveIntent {
            kind: MoveKind::Abandon,
            before: present.snapshot.id.clone(),
            after: after.id.clone(),
            refs: branches,
            head_from: head,
            head_to: head_before.clone(),
            with_control: true,
        };
        self.repo
            .prepare_move(&intent.run, abandon, present, &after)
    }

    /// Opens a run again whose branch was kept. The journal has it only before the next step: without
    /// one, the run is still a kept one.
    pub(crate) fn reopen(&mut self) -> Result<()> {
        let Some(kept) = self.log.state.kept().cloned() else {
            return Err(CheckpointError::refused(
                "there is no run to resume",
                "start one with `ralphtool run CHANGE`",
            ));
        };
        let (_, head) = self.repo.observe()?;
        if !same_place(&head, &kept.intent.head) {
            self.repo.refuse_elsewhere(&kept, &head)?;
        }
        self.log.state.reopen();
        self.log.reopened = Some(kept.intent.run);
        self.repo.reasons.follow(&self.log.state);
        Ok(())
    }
}

impl Repo {
    pub(crate) fn changed_since_start(&self, current: &Current, tip: ObjectId) -> Result<usize> {
        let changed = self.changed_between(&current.intent.commit.to_string(), &tip.to_string())?;
        Ok(changed.len())
    }

    /// The files a cleanup leads to; writes the index that goes with them into the snapshot `id`.
    fn tree_after_cleanup(
        &self,
        id: &str,
        current: &Current,
        home: &Home,
        present: &Present,
    ) -> Result<Arc<Manifest>> {
        let index = self.derive_index(&current.snapshot, id)?;
        let now = &present.snapshot.manifest;
        let manifest = match &home.merge {
            None => Arc::clone(now),
            Some(merge) => {
                Arc::new(self.with_incoming(&index, merge, now, &present.scanned.changes)?)
            }
        };
        self.write_index_after_cleanup(&index, current, home.commit, &manifest)?;
        Ok(manifest)
    }

    /// Refuses where HEAD is not on the run's branch: a finish counts all of the tree as the run's.
    pub(super) fn refuse_elsewhere(&self, current: &Current, head: &Head) -> Result<()> {
        self.refuse_operation()?;
        if current.is_on_branch(head) {
            return Ok(());
        }
        let (branch, place) = (short(&current.intent.branch), head.shown());
        Err(CheckpointError::refused(
            format!("the run is on `{branch}`, but HEAD is on `{place}`"),
            format!("`git switch {branch}` first, then finish again"),
        ))
    }

    /// The same where the run's branch is gone: only the one the run came from can be returned to.
    fn refuse_without_branch(&self, current: &Current, head: &Head) -> Result<()> {
        self.refuse_operation()?;
        if current.is_on_branch(head) {
            return Ok(());
        }
        let back = match &current.intent.head {
            Head::Branch { name, .. } => format!("`git symbolic-ref HEAD {name}`"),
            Head::Detached { commit } => format!("`git update-ref --no-deref HEAD {commit}`"),
        };
        let (branch, place) = (short(&current.intent.branch), head.shown());
        Err(CheckpointError::refused(
            format!("the run was on `{branch}`, which is gone, and HEAD is on `{place}`"),
            format!("{back} first, which touches no file, then finish again"),
        ))
    }

    /// A copy of the user's index, with its time and whole even where it is split.
    pub(crate) fn copy_user_index(&self, to: &Path) -> Result<()> {
        let places = &self.places;
        if let Some(folder) = to.parent() {
            create_private_folder(folder)?;
        }
        copy_with_time(&places.repository.index(), to)?;
        let git_dir = &places.repository.git_dir;
        let split = super::begin::copy_shared_index(git_dir, &places.vault.scratch("work"))?;
        if split && to.exists() {
            let git = self.gits.work.patient().with_index(to);
            self.write_index(&git, &["update-index", "--no-split-index"], &[])?;
        }
        Ok(())
    }
}

fn existing_tip(current: &Current, refs: &Refs) -> Result<ObjectId> {
    refs.get(&current.intent.branch).copied().ok_or_else(|| {
        let (branch, commit) = (short(&current.intent.branch), current.commit);
        CheckpointError::refused(
            format!("the branch `{branch}` no longer exists; nothing was changed"),
            format!("restore it with `git branch {branch} {commit}`, then finish again"),
        )
    })
}

/// The choice that is possible: a run that began on its own branch has no other one to return to.
fn possible(current: &Current, choice: FinishChoice) -> (FinishChoice, Vec<Notice>) {
    let branch = &current.intent.branch;
    let homeless = matches!(&current.intent.original, Head::Branch { name, .. } if name == branch);
    if choice != FinishChoice::Cleanup || !homeless {
        return (choice, Vec::new());
    }
    let message = format!(
        "the run began on `{}` itself, so the branch is kept",
        short(branch)
    );
    let notice = Notice::new("branch_kept", message);
    (FinishChoice::Keep, vec![notice])
}

fn original_moved(current: &Current, name: &str, began: Option<ObjectId>) -> CheckpointError {
    let original = short(name);
    let back = match began {
        Some(began) => format!("`git update-ref {name} {began}`"),
        None => format!("`git update-ref -d {name}`"),
    };
    CheckpointError::refused(
        format!(
            "`{original}` has moved since the run of `{}` began; nothing was changed",
            current.intent.change
        ),
        format!(
            "`ralphtool finish --cleanup` merges the work into it, uncommitted; to discard its new \
             commits as well, reset it with {back} and abandon again"
        ),
    )
}

//! Save: what a finished story left in the tree becomes one commit on the branch.

use std::path::PathBuf;
use std::sync::Arc;

use crate::commit_message::StoryMessage;
use crate::error::{Notice, Result};
use crate::git::access::Reason;
use crate::git::object_id::ObjectId;
use crate::git::process::Git;
use crate::git::repository::{Head, Refs};
use crate::journal::run_state::Current;
use crate::journal::steps::{SavedWork, Step, StoryNote};
use crate::paths::{is_module_path, show};
use crate::repair::directory::RepairedGit;
use crate::repo::committing::{Destination, NewCommit, TreeOrder, WrittenTree};
use crate::repo::snapshot::Snapshot;
use crate::repo::switch::NewTip;
use crate::repo::unstorable::{Unstorable, is_tracked, refuse_to_commit};
use crate::repo::visible::visible_paths;
use crate::repo::{Places, RepairFor, Repo};
use crate::scan::modules::new_repositories;
use crate::tree::scanned::{Scanned, under_any};
use crate::vault::Vault;
use ralph_base::files::{copy_with_time, create_private_folder};

/// How often a branch is moved again to a commit that git pruned meanwhile.
const PRUNED_TRIES: u32 = 20;

/// The tree of a new checkpoint, in the repository's objects.
struct StoredTree {
    tree: ObjectId,
    /// The snapshot to be written, whose folder has the index of the tree.
    snapshot: String,
    scanned: Scanned,
    submodules: Vec<Vec<u8>>,
    /// Files that differ from the last checkpoint.
    changed_files: usize,
}

/// What a save did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SaveReport {
    /// The checkpoint commit.
    pub commit: String,
    /// Files the commit changes against the last checkpoint.
    pub changed_files: usize,
    pub notices: Vec<Notice>,
}

impl Vault {
    /// Makes the checkpoint commit of a story.
    pub(crate) fn save(&mut self, story: &StoryNote) -> Result<SaveReport> {
        let run = self.log.current()?.intent.run;
        // From here on the work counts as done: if this save is interrupted, the next start saves it.
        self.record(
            &run,
            Step::Verified {
                story: story.clone(),
            },
        )?;
        let work = SavedWork::Story(story.id.clone());
        let message = StoryMessage {
            story: story.clone(),
            run,
        };
        self.make_checkpoint(work, &message.text())
    }

    /// Makes a checkpoint of what is no story's work.
    pub(crate) fn save_as(&mut self, work: SavedWork) -> Result<SaveReport> {
        let run = self.log.current()?.intent.run;
        let message = format!("{}\n\nRun: {run}\n", work.subject());
        self.make_checkpoint(work, &message)
    }

    /// The checkpoint commit and the id of its tree.
    pub fn checkpoint_tree(&self) -> Result<(String, String)> {
        let commit = self.log.current()?.commit;
        let tree = self.repo.tree_of(commit)?;
        Ok((commit.to_string(), tree.to_string()))
    }

    /// Commits what changed since the last checkpoint, and moves branch, HEAD and index there.
    fn make_checkpoint(&mut self, work: SavedWork, message: &str) -> Result<SaveReport> {
        let current = self.log.current()?;
        let base = self.checkpoint()?;
        let mut git = self.repair_to_save(&current, &base)?;
        let stored = self.store_tree(&work, &current, &base, &mut git.notices)?;
        let changed_files = stored.changed_files;
        let parent = self.find_parent(&current, &mut git)?;
        // What the user did meanwhile may be committed already.
        let commit = if work == SavedWork::Meanwhile && self.repo.tree_of(parent)? == stored.tree {
            parent
        } else {
            self.repo.commit(&NewCommit {
                tree: stored.tree,
                parents: &[parent],
                message,
                destination: Destination::Repository,
            })?
        };
        let snapshot = self.write_checkpoint(&current, &base, &git, stored, commit)?;
        let new = self.repo.make_ready(&snapshot.id, commit)?;
        let run = &current.intent.run;
        self.record(
            run,
            Step::SaveIntent {
                commit,
                snapshot: snapshot.id.clone(),
                work,
                changed_files,
            },
        )?;
        self.repo
            .switch_to(&current, &snapshot.id, &new, &git.refs, &git.head)?;
        self.record(run, Step::Saved)?;
        self.repo.drop_index(&base.id);
        self.reported_refs = None;
        self.loaded = Some(Arc::new(snapshot));
        self.tree.mark_clean();
        Ok(SaveReport {
            commit: commit.to_string(),
            changed_files,
            notices: git.notices,
        })
    }

    /// Makes the git directory usable, and ends what the attempt left unfinished in it.
    fn repair_to_save(&mut self, current: &Current, base: &Arc<Snapshot>) -> Result<RepairedGit> {
        let trash = self.repo.new_trash("save");
        let mut git = self.repair_git(current, base, &trash, RepairFor::Save)?;
        git.notices.append(&mut self.pending_notices);
        self.repo.refuse_users_switch(current, &git.head)?;
        git.notices.extend(self.repair_modules(base, &trash)?);
        let ended = base
            .control
            .end_operations(&self.repo.places.repository, &trash)?;
        git.untouched = git.untouched.filter(|_| ended.is_empty());
        self.repo.drop_operation_refs(base, &mut git.refs)?;
        // Objects nothing names are no part of the work.
        if self.repo.is_git_moved(base, &git.refs, &git.head) {
            self.repo.objects.link()?;
        }
        git.notices
            .extend(self.report_changed_refs(current, base, &git.refs));
        Ok(git)
    }

    /// Scans the work tree and writes the tree and the index of what belongs into a commit.
    fn store_tree(
        &mut self,
        work: &SavedWork,
        current: &Current,
        base: &Arc<Snapshot>,
        notices: &mut Vec<Notice>,
    ) -> Result<StoredTree> {
        let mut scanned = self.tree.current_scan(&self.repo, base)?;
        let staged = self.repo.staged(current, base, &mut scanned)?;
        let mut paths = visible_paths(&scanned.changes, &base.manifest, &scanned.manifest);
        notices.extend(self.tree.report_staged_secrets(&staged));
        paths.extend(staged.added);
        let mut modules = touched_submodules(base, &scanned.changes);
        modules.extend(staged.submodules.iter().cloned());
        let snapshot = Snapshot::new_id();
        let written = self.write_tree(&TreeOrder {
            base: Some(base),
            id: &snapshot,
            scanned: &scanned,
            by_git: base.control.is_sparse().then_some(Reason::Sparse),
            paths: &paths,
            modules: &modules,
            unstaged: &staged.removed,
            destination: Destination::Repository,
        })?;
        let index = Snapshot::index(&self.repo.places.vault, &snapshot);
        let git = self.repo.gits.work.patient().with_index(&index);
        notices.extend(written.notices);
        notices.extend(refuse_unstorable(&git, work, written.unstorable)?);
        notices.extend(scanned.notices.iter().cloned());
        notices.extend(self.tree.report_kept_out(&scanned));
        notices.extend(
            self.tree
                .report_no_longer_ignored(&self.repo, &git, base, &scanned)?,
        );
        self.repo.link_module_objects(&scanned.manifest)?;
        let submodules = [base.submodules.as_slice(), &staged.submodules].concat();
        notices.extend(report_repositories(&new_repositories(
            &scanned,
            &submodules,
        )));
        Ok(StoredTree {
            tree: written.id,
            snapshot,
            scanned,
            submodules,
            changed_files: paths.len(),
        })
    }

    /// Writes a tree where its objects fit.
    pub(crate) fn write_tree(&self, order: &TreeOrder<'_>) -> Result<WrittenTree> {
        let Places { repository, vault } = &self.repo.places;
        let folder = match order.destination {
            Destination::Repository => repository.objects(),
            Destination::Store => vault.store(),
        };
        let paths = order.paths.iter().chain(order.modules);
        self.tree
            .check_room_for(&self.repo, &folder, &order.scanned.manifest, paths)?;
        self.repo.write_tree(order)
    }

    /// The commit that the new one is made on top of; reports commits that are not the agent's work.
    fn find_parent(&self, current: &Current, git: &mut RepairedGit) -> Result<ObjectId> {
        let repo = &self.repo;
        let parent = repo.parent(current, &git.refs, &git.head)?;
        git.notices.extend(
            self.tree
                .report_committed_secrets(repo, current.commit, parent)?,
        );
        let below = repo.report_commits_below(current, parent, &git.refs, &git.head)?;
        git.notices.extend(below);
        Ok(parent)
    }

    /// Writes the snapshot of a checkpoint: the tree that was stored, branch and HEAD at its commit.
    fn write_checkpoint(
        &self,
        current: &Current,
        base: &Snapshot,
        git: &RepairedGit,
        stored: StoredTree,
        commit: ObjectId,
    ) -> Result<Snapshot> {
        let mut refs = git.refs.clone();
        refs.insert(current.intent.branch.clone(), commit);
        let head = current.intent.head_at(commit);
        let control = self.repo.read_control(head, refs, git.untouched.clone())?;
        let StoredTree {
            snapshot: id,
            scanned,
            submodules,
            ..
        } = stored;
        let snapshot = self.tree.snapshot(id, &scanned, control, &submodules);
        snapshot.write(&self.repo.places.vault, Some(base))?;
        Ok(snapshot)
    }

    /// Names refs other than the checkpoint branch that an attempt created, moved or deleted.
    pub(crate) fn report_changed_refs(
        &self,
        current: &Current,
        base: &Snapshot,
        now: &Refs,
    ) -> Option<Notice> {
        let before = self.reported_refs.as_ref().unwrap_or(&base.control.refs);
        changed_refs(current, before, now)
    }
}

impl Repo {
    /// True where refs, HEAD or index are not as the checkpoint left them.
    pub(crate) fn is_git_moved(&self, base: &Snapshot, refs: &Refs, head: &Head) -> bool {
        let control = &base.control;
        *refs != control.refs || *head != control.head || !self.index_is_as_left(base)
    }

    /// Removes the index of a snapshot that no step needs any more; it can be made again.
    pub(crate) fn drop_index(&self, snapshot: &str) {
        // What stays behind only takes up room.
        let _ = std::fs::remove_file(Snapshot::index(&self.places.vault, snapshot));
    }

    /// Copies a snapshot's index to another snapshot.
    pub(crate) fn derive_index(&self, from: &str, to: &str) -> Result<PathBuf> {
        let vault = &self.places.vault;
        create_private_folder(&vault.snapshot(to))?;
        let index = Snapshot::index(vault, to);
        copy_with_time(&Snapshot::index(vault, from), &index)?;
        Ok(index)
    }

    /// Moves branch, HEAD and index to the commit; doing it again changes nothing.
    pub(crate) fn carry_out_save(
        &self,
        current: &Current,
        snapshot: &str,
        commit: ObjectId,
    ) -> Result<()> {
        let (refs, head) = self.observe()?;
        let new = NewTip {
            commit,
            ready: None,
        };
        self.switch_to(current, snapshot, &new, &refs, &head)
    }

    fn switch_to(
        &self,
        current: &Current,
        snapshot: &str,
        new: &NewTip,
        refs: &Refs,
        head: &Head,
    ) -> Result<()> {
        let trash = self.new_trash("save");
        self.move_to_new_commit(&current.intent.branch, refs, new)?;
        self.point_head(&current.intent.head_at(new.commit), head)?;
        let index = Snapshot::index(&self.places.vault, snapshot);
        self.swap_index(&index, &trash)?;
        self.objects.return_pruned()
    }

    /// Moves a branch to a commit that was just written. No ref names it yet, so that a
    /// `git gc --prune=now` may take it.
    pub(crate) fn move_to_new_commit(&self, branch: &str, refs: &Refs, new: &NewTip) -> Result<()> {
        let mut tries = PRUNED_TRIES;
        while let Err(error) = self.move_ref_by(branch, refs, new.commit, new.ready.as_deref()) {
            if tries == 0 || !self.objects.is_pruned(new.commit) {
                return Err(error);
            }
            tries -= 1;
            self.objects.return_pruned()?;
        }
        Ok(())
    }

    /// The parent of the new commit: commits the agent made stay below it.
    fn parent(&self, current: &Current, refs: &Refs, head: &Head) -> Result<ObjectId> {
        let tip = refs.get(&current.intent.branch).copied();
        for candidate in [head.commit(), tip].into_iter().flatten() {
            if candidate == current.commit {
                continue;
            }
            if descends(&self.gits.user, current.commit, candidate)? {
                return Ok(candidate);
            }
        }
        Ok(current.commit)
    }
}

/// True where a commit is an ancestor of another one, or the same.
pub(crate) fn descends(git: &Git, ancestor: ObjectId, commit: ObjectId) -> Result<bool> {
    let args = [
        "merge-base".to_owned(),
        "--is-ancestor".to_owned(),
        ancestor.to_string(),
        commit.to_string(),
    ]
    .map(std::ffi::OsString::from);
    Ok(git.output(&args, &[])?.status.success())
}

/// Refuses a checkpoint that would lack changed files. What the user has in no commit may stay out of
/// them, and is named.
fn refuse_unstorable(
    git: &Git,
    work: &SavedWork,
    unstorable: Vec<Unstorable>,
) -> Result<Vec<Notice>> {
    let may_stay_out = |it: &Unstorable| work.story().is_none() && !is_tracked(git, &it.path);
    let (out, lacking): (Vec<_>, Vec<_>) = unstorable.into_iter().partition(may_stay_out);
    refuse_to_commit(&lacking)?;
    Ok(out.iter().map(Unstorable::notice).collect())
}

/// Submodules something changed in.
fn touched_submodules(base: &Snapshot, changes: &crate::tree::manifest::Changes) -> Vec<Vec<u8>> {
    base.submodules
        .iter()
        .filter(|module| {
            // What its git directory is called says nothing of where its files are.
            changes
                .paths()
                .any(|path| is_module_path(path) || under_any(path, std::slice::from_ref(*module)))
        })
        .cloned()
        .collect()
}

fn report_repositories(folders: &[Vec<u8>]) -> Option<Notice> {
    let names: Vec<String> = folders.iter().map(|it| format!("`{}`", show(it))).collect();
    (!names.is_empty()).then(|| {
        Notice::new(
            "own_repository",
            format!(
                "nested repositories, kept in the tree but not in the commit: {}",
                names.join(", ")
            ),
        )
    })
}

fn changed_refs(current: &Current, before: &Refs, now: &Refs) -> Option<Notice> {
    let mut names = Vec::new();
    for (name, id) in now {
        if *name != current.intent.branch && before.get(name) != Some(id) {
            names.push(name.clone());
        }
    }
    for name in before.keys() {
        if *name != current.intent.branch && !now.contains_key(name) {
            names.push(format!("{name} (deleted)"));
        }
    }
    (!names.is_empty()).then(|| {
        Notice::new(
            "refs_changed",
            format!("other refs changed meanwhile: {}", names.join(", ")),
        )
    })
}

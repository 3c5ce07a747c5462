//! Save: what a finished story left in the tree becomes one commit on the branch.

use std::fmt::Write as _;
use std::sync::Arc;

use crate::error::{Notice, Result};
use crate::git::access::Reason;
use crate::git::object_id::ObjectId;
use crate::git::process::Git;
use crate::git::repository::{Head, Refs};
use crate::journal::reopening::Reopening;
use crate::journal::run_state::Current;
use crate::journal::steps::{SavedWork, Step, StoryNote};
use crate::paths::{is_module_path, show};
use crate::repair::directory::RepairedGit;
use crate::repo::committing::{Destination, NewCommit, TreeOrder};
use crate::repo::control::Control;
use crate::repo::shape::Shape;
use crate::repo::snapshot::Snapshot;
use crate::repo::switch::NewTip;
use crate::repo::visible::visible_paths;
use crate::repo::{RepairFor, Repo};
use crate::scan::Tree;
use crate::scan::modules::new_repositories;
use crate::tree::scanned::Scanned;
use crate::vault::Vault;
use ralph_base::files::copy_with_time;

/// How often a branch is moved again to a commit that git pruned meanwhile.
const PRUNED_TRIES: u32 = 20;

/// When a save makes a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Commit {
    /// Always, an empty one too.
    Always,
    /// Only where its tree is not the one that is there already.
    WhereItDiffers,
}

/// A checkpoint to be made.
pub(crate) struct Checkpoint<'a> {
    pub work: SavedWork,
    pub message: &'a str,
    pub when: Commit,
}

/// What of a look at the tree goes into the index.
struct Stored<'a> {
    /// Files and links.
    paths: &'a [Vec<u8>],
    /// Submodules.
    modules: &'a [Vec<u8>],
    /// Files that stay in the tree and leave the index.
    unstaged: &'a [Vec<u8>],
}

/// What a save did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SaveReport {
    /// The checkpoint commit.
    pub commit: String,
    /// Files the commit changes against the last checkpoint.
    pub changed_files: usize,
    /// What the user should hear.
    pub notices: Vec<Notice>,
}

impl Vault {
    /// Makes the checkpoint commit of a story.
    pub(crate) fn save(&mut self, story: &StoryNote) -> Result<SaveReport> {
        let run = self.log.current()?.intent.run;
        // From here on the work counts as done: should it not get through, the next start saves it.
        self.record(
            &run,
            Step::Verified {
                story: story.clone(),
            },
        )?;
        self.save_as(SavedWork::Story(story.id.clone()), &message(story, &run.0))
    }

    /// Commits the open boxes of a story that was done.
    pub(crate) fn save_reopened(&mut self, reopening: Reopening) -> Result<SaveReport> {
        let run = self.log.current()?.intent.run;
        let work = SavedWork::Reopened(reopening);
        let message = format!("{}\n\nRun: {run}\n", work.subject());
        self.save_as(work, &message)
    }

    /// The checkpoint commit and the id of its tree.
    pub fn checkpoint_tree(&self) -> Result<(String, String)> {
        let commit = self.log.current()?.commit;
        let tree = self.repo.tree_of(commit)?;
        Ok((commit.to_string(), tree.to_string()))
    }

    /// Commits what changed since the last checkpoint.
    pub(crate) fn save_as(&mut self, work: SavedWork, message: &str) -> Result<SaveReport> {
        self.save_with(Checkpoint {
            work,
            message,
            when: Commit::Always,
        })
    }

    /// Makes a checkpoint.
    pub(crate) fn save_with(&mut self, checkpoint: Checkpoint<'_>) -> Result<SaveReport> {
        let current = self.log.current()?;
        let base = self.checkpoint()?;
        let trash = self.repo.new_trash("save");
        let RepairedGit {
            mut notices,
            mut refs,
            head,
            untouched,
            ..
        } = self.repair_git(&current, &base, &trash, RepairFor::Save)?;
        notices.append(&mut self.pending_notices);
        self.repo.refuse_users_switch(&current, &head)?;
        notices.extend(self.repair_modules(&base, &trash)?);
        let ended = base
            .control
            .end_operations(&self.repo.places.repository, &trash)?;
        let shape = untouched.filter(|_| ended.is_empty());
        self.repo.drop_operation_refs(&base, &mut refs)?;
        // Objects nothing names are no part of the work.
        if self.repo.is_git_moved(&base, &refs, &head) {
            self.repo.objects.link()?;
        }
        let known = self.reported_refs.as_ref().unwrap_or(&base.control.refs);
        notices.extend(changed_refs(&current, known, &refs));

        let mut taken = self.tree.current_scan(&self.repo, &base)?;
        let staged = self.repo.staged(&current, &base, &mut taken)?;
        let mut paths = visible_paths(&taken.changes, &base.manifest, &taken.manifest);
        notices.extend(self.tree.report_staged_secrets(&staged));
        paths.extend(staged.added);
        let mut modules = touched_submodules(&base, &taken.changes);
        modules.extend(staged.submodules.iter().cloned());
        let stored = Stored {
            paths: &paths,
            modules: &modules,
            unstaged: &staged.removed,
        };
        let id = Snapshot::new_id();
        let storing = self
            .tree
            .store_visible(&self.repo, &base, &id, &taken, &stored);
        let (tree, odd) = storing?;
        let index = Snapshot::index(&self.repo.places.vault, &id);
        let git = self.repo.gits.work.patient().with_index(&index);
        notices.extend(odd);
        notices.extend(taken.notices.iter().cloned());
        notices.extend(self.tree.report_kept_out(&taken));
        notices.extend(
            self.tree
                .report_no_longer_ignored(&self.repo, &git, &base, &taken)?,
        );
        self.repo.link_module_objects(&taken.manifest)?;

        let submodules = [base.submodules.as_slice(), &staged.submodules].concat();
        notices.extend(report_repositories(&new_repositories(&taken, &submodules)));

        let parent = self.repo.parent(&current, &refs, &head)?;
        notices.extend(
            self.tree
                .report_committed_secrets(&self.repo, current.commit, parent)?,
        );
        notices.extend(
            self.repo
                .report_commits_below(&current, parent, &refs, &head)?,
        );
        let commit = match checkpoint.when {
            Commit::WhereItDiffers if self.repo.tree_of(parent)? == tree => parent,
            _ => self.repo.commit(&NewCommit {
                tree,
                parents: &[parent],
                message: checkpoint.message,
                destination: Destination::Repository,
            })?,
        };
        let branch = &current.intent.branch;
        let control = self.repo.control_at(branch, commit, refs.clone(), shape)?;
        let snapshot = self.tree.snapshot(id, &taken, control, &submodules);
        snapshot.write(&self.repo.places.vault, Some(&base))?;
        let run = current.intent.run.clone();
        let new = self.repo.make_ready(&snapshot.id, commit)?;
        self.record(
            &run,
            Step::SaveIntent {
                commit,
                snapshot: snapshot.id.clone(),
                work: checkpoint.work,
                changed_files: paths.len(),
            },
        )?;
        self.repo
            .switch_to(&current, &snapshot.id, &new, &refs, &head)?;
        self.record(&run, Step::Saved)?;
        self.repo.drop_index(&base.id);
        self.reported_refs = None;
        self.loaded = Some(Arc::new(snapshot));
        self.tree.mark_clean();
        Ok(SaveReport {
            commit: commit.to_string(),
            changed_files: paths.len(),
            notices,
        })
    }
}

impl Repo {
    /// The git directory as it will be once branch and HEAD are at a commit.
    fn control_at(
        &self,
        branch: &str,
        commit: ObjectId,
        mut refs: Refs,
        shape: Option<Shape>,
    ) -> Result<Control> {
        refs.insert(branch.to_owned(), commit);
        let head = Head::Branch {
            name: branch.to_owned(),
            commit: Some(commit),
        };
        self.read_control(head, refs, shape)
    }

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

    /// A copy of a checkpoint's index to go on from.
    pub(crate) fn derive_index(&self, from: &str, to: &str) -> Result<std::path::PathBuf> {
        let from = Snapshot::index(&self.places.vault, from);
        let folder = Snapshot::folder(&self.places.vault, to);
        let to = Snapshot::index(&self.places.vault, to);
        let target = to.clone();
        ralph_base::files::create_private_folder(&folder)?;
        copy_with_time(&from, &target)?;
        Ok(to)
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
        let target = Head::Branch {
            name: current.intent.branch.clone(),
            commit: Some(new.commit),
        };
        self.point_head(&target, head)?;
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

    /// What the new commit goes on top of: commits the agent made stay below it.
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

impl Tree {
    /// The index and the tree of a checkpoint, in a new index beside the snapshot; with what git
    /// could not store.
    fn store_visible(
        &self,
        repo: &Repo,
        base: &Snapshot,
        id: &str,
        taken: &Scanned,
        stored: &Stored<'_>,
    ) -> Result<(ObjectId, Vec<Notice>)> {
        let objects = repo.places.repository.objects();
        let to_store = [stored.paths, stored.modules].concat();
        self.check_room_for(repo, &objects, &taken.manifest, &to_store)?;
        repo.write_tree(&TreeOrder {
            base: Some(base),
            id,
            taken,
            by_git: base.control.is_sparse().then_some(Reason::Sparse),
            paths: stored.paths,
            modules: stored.modules,
            unstaged: stored.unstaged,
            destination: Destination::Repository,
        })
    }
}

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

/// Submodules something changed in.
fn touched_submodules(base: &Snapshot, changes: &crate::tree::manifest::Changes) -> Vec<Vec<u8>> {
    base.submodules
        .iter()
        .filter(|module| {
            // What its git directory is called says nothing of where its files are.
            changes.paths().any(|path| {
                is_module_path(path)
                    || crate::tree::scanned::under_any(path, std::slice::from_ref(*module))
            })
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
                "repositories of their own, so kept in the tree but not in the commit: {}",
                names.join(", ")
            ),
        )
    })
}

/// Refs other than the checkpoint branch that an attempt created, moved or deleted.
pub(crate) fn changed_refs(current: &Current, before: &Refs, now: &Refs) -> Option<Notice> {
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

fn message(story: &StoryNote, run: &str) -> String {
    let mut text = format!(
        "checkpoint: {}\n\nStory: {}\nRun: {run}\nAttempts: {}\n",
        story.id, story.title, story.attempts
    );
    if !story.gates.is_empty() {
        let _ = writeln!(text, "Gates: {}", story.gates.join(", "));
    }
    text
}

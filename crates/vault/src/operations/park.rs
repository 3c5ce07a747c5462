//! Park: saves the whole state that a failed attempt left to the vault, before anything is restored:
//! every changed byte, the git directory's state, the agent's own commits, and a diff to read.

use std::fmt::Write as _;

use super::parked_diff::no_diff;
use crate::error::{Notice, Result};
use crate::git::object_id::ObjectId;
use crate::git::repository::{Head, Refs};
use crate::journal::run_state::Current;
use crate::journal::steps::{ParkedNote, Step};
use crate::outcome::FailureKind;
use crate::paths::absolute;
use crate::repair::directory::RepairedGit;
use crate::repo::committing::{Destination, NewCommit, TreeOrder};
use crate::repo::shape::Shape;
use crate::repo::snapshot::Snapshot;
use crate::repo::visible::visible_paths;
use crate::repo::{Places, RepairFor, Repo};
use crate::scan::Tree;
use crate::tree::scanned::Scanned;
use crate::vault::Vault;
use ralph_base::files::{copy_with_time, create_private_folder, make_writable, write_whole};
use ralph_base::ids::AttemptId;

/// What a park did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParkReport {
    /// Files the attempt had changed.
    pub changed_files: usize,
    pub notices: Vec<Notice>,
}

/// An attempt that did not succeed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setback {
    pub attempt: AttemptId,
    /// What the prompt of the next attempt says about it.
    pub prompt_reason: Option<String>,
    pub uses_retry: bool,
    pub kind: FailureKind,
    /// Why it failed, for the user.
    pub reason: String,
}

/// A failed attempt that is in the vault, and still in the work tree.
#[derive(Debug)]
pub(crate) struct ParkedTree {
    pub scanned: Scanned,
    /// Whether the attempt changed anything in the git directory but objects, which are repaired.
    pub git: GitDirectory,
}

/// What an attempt did to the git directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GitDirectory {
    Untouched,
    MayHaveChanged,
}

impl GitDirectory {
    /// What an attempt did to the git directory of a checkpoint, which has a shape where it is
    /// untouched. What links lead to may have changed in any case.
    fn of(base: &Snapshot, untouched: Option<&Shape>) -> Self {
        match untouched {
            Some(shape) if !base.control.is_linked() && !shape.has_links() => Self::Untouched,
            _ => Self::MayHaveChanged,
        }
    }
}

impl Vault {
    /// The commit the run began with: what was in the tree by then.
    pub fn first_commit(&self) -> Option<String> {
        let current = self.log.state.current.as_ref()?;
        Some(current.intent.commit.to_string())
    }

    /// The commit of the checkpoint the next attempt starts from.
    pub fn checkpoint_commit(&self) -> Option<String> {
        let current = self.log.state.current.as_ref()?;
        Some(current.commit.to_string())
    }

    /// Writes to the journal that an agent is about to work on the checkpoint.
    pub(crate) fn attempt_started(&mut self, attempt: &AttemptId) -> Result<()> {
        // The prompt names it.
        self.end_diff();
        self.tree.invalidate_scan();
        self.repo.keep_git_directory(false)?;
        let current = self.log.current()?;
        let run = current.intent.run;
        let retries_used = current
            .last_attempt
            .filter(|last| last.attempt.story == attempt.story)
            .map_or(0, |last| last.retries_used);
        self.record(
            &run,
            Step::AttemptStarted {
                attempt: attempt.clone(),
                retries_used,
            },
        )
    }

    /// Writes to the journal that the session of the attempt's agent is about to go on.
    pub(crate) fn round_started(&mut self, attempt: &AttemptId, round: u32) -> Result<()> {
        self.tree.invalidate_scan();
        let run = self.log.current()?.intent.run;
        let attempt = attempt.clone();
        self.record(&run, Step::RoundStarted { attempt, round })
    }

    /// Makes the store's folders for objects while an agent works.
    pub(crate) fn prewarm_object_folders(&mut self) {
        self.repo.objects.prewarm_folders();
    }

    /// Puts everything the attempt left into the vault.
    pub(crate) fn park(&mut self, setback: Setback) -> Result<(ParkedTree, ParkReport)> {
        let label = setback.attempt.to_string();
        self.park_as(setback, &label)
    }

    /// Parks under another name, so that an earlier park of the attempt stays.
    pub(crate) fn park_as(
        &mut self,
        setback: Setback,
        label: &str,
    ) -> Result<(ParkedTree, ParkReport)> {
        let current = self.log.current()?;
        let base = self.checkpoint()?;
        let trash = self.repo.new_trash("park");
        let RepairedGit {
            mut notices,
            refs,
            head,
            untouched,
            search,
        } = self.repair_git(&current, &base, &trash, RepairFor::Restore)?;
        notices.append(&mut self.pending_notices);
        // Commits the attempt made and took back are in no ref, but may be asked for.
        if self.repo.is_git_moved(&base, &refs, &head) || self.repo.agent_ran_git(&current) {
            self.repo.objects.link()?;
        }
        let git = GitDirectory::of(&base, untouched.as_ref());
        let control = self
            .repo
            .read_control(head.clone(), refs.clone(), untouched)?;
        notices.extend(self.report_changed_refs(&current, &base, &refs));
        notices.extend(self.repo.report_undone_commits(&current, &refs, label));

        let mut scanned = self.tree.current_scan(&self.repo, &base)?;
        if !scanned.unreadable.is_empty() {
            scanned = self.tree.scan_all(&self.repo, &base)?;
        }
        notices.extend(self.repo.end_object_search(search, &trash)?);
        notices.extend(scanned.notices.iter().cloned());
        notices.extend(self.tree.report_kept_out(&scanned));
        self.repo.link_module_objects(&scanned.manifest)?;

        let id = Snapshot::new_id();
        let paths = visible_paths(&scanned.changes, &base.manifest, &scanned.manifest);
        let commit = self.commit_parked(
            &current,
            label,
            &TreeOrder {
                base: Some(&base),
                id: &id,
                scanned: &scanned,
                by_git: None,
                paths: &paths,
                modules: &[],
                unstaged: &[],
                destination: Destination::Store,
            },
        );
        let commit = match commit {
            Ok(commit) => {
                self.begin_diff(&current, label, commit)?;
                Some(commit)
            }
            Err(error) => {
                notices.push(no_diff(&error));
                None
            }
        };
        self.repo.drop_index(&id);
        self.repo
            .keep_refs(&current, label, &base.control.refs, &refs, &head);
        let snapshot = self.tree.snapshot(id, &scanned, control, &base.submodules);
        self.repo.write_parked(&snapshot, &base)?;
        self.record(
            &current.intent.run,
            Step::Parked {
                attempt: setback.attempt,
                snapshot: snapshot.id,
                reason: setback.prompt_reason,
                counts: setback.uses_retry,
                note: ParkedNote {
                    label: label.to_owned(),
                    kind: setback.kind,
                    why: setback.reason,
                    changed_files: paths.len(),
                    commit,
                    rounds: current.last_attempt.map_or(1, |last| last.rounds),
                },
            },
        )?;
        let report = ParkReport {
            changed_files: paths.len(),
            notices,
        };
        Ok((ParkedTree { scanned, git }, report))
    }

    /// Commits what an attempt left to the store, and names the commit there.
    fn commit_parked(
        &self,
        current: &Current,
        label: &str,
        order: &TreeOrder<'_>,
    ) -> Result<ObjectId> {
        // What git cannot store is in the snapshot.
        let tree = self.write_tree(order)?.id;
        let run = &current.intent.run;
        let commit = self.repo.commit(&NewCommit {
            tree,
            parents: &[current.commit],
            message: &format!("parked attempt {label}\n\nRun: {run}\n"),
            destination: Destination::Store,
        })?;
        // The store is ours alone, and was made with refs in files.
        let name = format!("refs/parked/{run}/{label}");
        let path = self.repo.places.vault.store().join(name);
        if let Some(folder) = path.parent() {
            create_private_folder(folder)?;
        }
        write_whole(&path, format!("{commit}\n").as_bytes(), 0o600)?;
        Ok(commit)
    }
}

impl Tree {
    /// Scans the tree with the folders that the attempt made unreadable: they are made readable here,
    /// and the restore resets their modes.
    pub(crate) fn scan_all(&self, repo: &Repo, base: &Snapshot) -> Result<Scanned> {
        loop {
            let scanned = self.scan(repo, base)?;
            let was_locked = |folder: &Vec<u8>| {
                let entry = base.manifest.entries.get(folder);
                entry.is_some_and(|entry| entry.stat.mode & 0o500 != 0o500)
            };
            let top = &repo.places.repository.work_tree;
            let opened = scanned
                .unreadable
                .iter()
                .filter(|folder| !was_locked(folder))
                .filter_map(|folder| make_writable(&absolute(top, folder)))
                .count();
            if opened == 0 {
                return Ok(scanned);
            }
        }
    }
}

impl Repo {
    /// Writes the snapshot of a parked attempt with the index the attempt left.
    fn write_parked(&self, snapshot: &Snapshot, base: &Snapshot) -> Result<()> {
        let Places { repository, vault } = &self.places;
        snapshot.write(vault, Some(base))?;
        // What the attempt had staged is part of its state.
        let index = repository.index();
        if std::fs::symlink_metadata(&index).is_ok_and(|it| it.is_file()) {
            copy_with_time(&index, &vault.snapshot(&snapshot.id).join("user-index"))?;
        }
        Ok(())
    }

    /// Keeps refs the attempt created, moved or deleted, and its own commits, in the store.
    fn keep_refs(&self, current: &Current, label: &str, before: &Refs, now: &Refs, head: &Head) {
        let folder = format!("refs/kept/{}/{label}", current.intent.run);
        let mut commands = String::new();
        for (name, id) in now {
            if before.get(name) != Some(id) {
                let _ = writeln!(commands, "update {folder}/now/{name} {id}");
            }
        }
        for (name, id) in before {
            if now.get(name) != Some(id) {
                let _ = writeln!(commands, "update {folder}/before/{name} {id}");
            }
        }
        if let Some(commit) = head.commit().filter(|commit| *commit != current.commit) {
            let _ = writeln!(commands, "update {folder}/HEAD {commit}");
        }
        if commands.is_empty() {
            return;
        }
        let args = ["update-ref", "--stdin"];
        let kept = self.gits.store.run_with_input(args, commands.as_bytes());
        if kept.is_err() {
            // One names an object that does not exist: there is nothing to keep of that one.
            for command in commands.lines() {
                let line = format!("{command}\n");
                let _ = self.gits.store.run_with_input(args, line.as_bytes());
            }
        }
    }
}

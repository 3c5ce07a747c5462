//! What the user does during a run: changes made while no agent ran become part of the checkpoint the
//! next attempt starts from, and changes to branches that the agent did not make are reported.

use super::save::descends;
use crate::error::{CheckpointError, Notice, Result};
use crate::git::object_id::ObjectId;
use crate::git::repository::{Head, Refs, short};
use crate::journal::run_state::Current;
use crate::journal::steps::SavedWork;
use crate::paths::{is_module_path, list_paths};
use crate::repo::Repo;
use crate::repo::proof::MOVING;
use crate::repo::shape::Shape;
use crate::repo::snapshot::Snapshot;
use crate::tree::manifest::{Lane, Manifest};
use crate::tree::scanned::Scanned;
use crate::vault::Vault;

/// What changed while no agent ran.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Meanwhile {
    /// Files or the branch are no longer what they were. What else changed in the git directory is part of
    /// the checkpoint too.
    pub changed: bool,
    pub notices: Vec<Notice>,
}

impl Vault {
    /// Makes what changed since the checkpoint, or its restore, a checkpoint of its own. Only while no
    /// agent runs: all of it is the user's, or a gate's.
    pub(crate) fn include_user_changes(&mut self) -> Result<Meanwhile> {
        if self.tree.is_clean() {
            return Ok(Meanwhile::default());
        }
        let current = self.log.current()?;
        let branch = short(&current.intent.branch).to_owned();
        let (refs, head) = self.repo.observe()?;
        if !current.is_on_branch(&head) {
            return Err(CheckpointError::failed(
                format!(
                    "HEAD was moved to `{}` while no agent was at work; nothing was touched",
                    head.shown()
                ),
                format!("`git switch {branch}` and run `ralphtool resume`"),
            ));
        }
        let base = self.checkpoint()?;
        let scanned = self.tree.current_scan(&self.repo, &base)?;
        let moved = head.commit().filter(|commit| *commit != current.commit);
        let changed = scanned.changes.count() > 0 || moved.is_some();
        if !changed && self.repo.has_control_of(&base, head, refs)? {
            self.tree.mark_clean();
            return Ok(Meanwhile::default());
        }
        self.repo.refuse_operation()?;
        self.refuse_conflicts()?;
        let mut notices: Vec<Notice> = report_changes(&base.manifest, &scanned)
            .into_iter()
            .collect();
        notices.extend(moved.map(|commit| {
            let message = format!(
                "`{branch}` was moved to {} while no agent was at work; the run continues from there",
                commit.short()
            );
            Notice::new("user_commits", message)
        }));
        // What is staged may be nowhere else.
        self.repo.keep_index(&self.repo.new_trash("meanwhile"))?;
        notices.extend(self.save_as(SavedWork::Meanwhile)?.notices);
        Ok(Meanwhile { changed, notices })
    }
}

impl Repo {
    /// True where config, hooks, stash and the like are as the checkpoint has them.
    fn has_control_of(&self, base: &Snapshot, head: Head, refs: Refs) -> Result<bool> {
        let now = self.read_control(head, refs, Some(Shape::default()))?;
        Ok(now.has_files_of(&base.control))
    }

    /// Refuses where the user moved HEAD: what is in the tree is the user's.
    pub(crate) fn refuse_users_switch(&self, current: &Current, head: &Head) -> Result<()> {
        if !self.user_switched(current, head) {
            return Ok(());
        }
        let hint = self.hint_to_switch(current);
        Err(CheckpointError::failed(
            format!(
                "HEAD was moved to `{}` while the agent worked, and not by the agent; \
                 the files are left as they are",
                head.shown()
            ),
            hint,
        ))
    }

    /// The commands that put HEAD on the run's branch again, whatever is in the tree.
    pub(crate) fn hint_to_switch(&self, current: &Current) -> String {
        let name = &current.intent.branch;
        let refs = self.observe().map(|it| it.0);
        let is_there = refs.is_ok_and(|refs| refs.contains_key(name));
        let by_force = format!("`git symbolic-ref HEAD {name}`");
        let then = "then run `ralphtool resume`: what is in the tree is saved first";
        if is_there {
            let branch = short(name);
            return format!(
                "`git switch {branch}`, or, where git refuses that, {by_force}, which touches no \
                 file; {then}"
            );
        }
        format!("the branch is gone: {by_force}, which touches no file; {then}")
    }

    /// Reports commits on the branch that are undone with the attempt that is called `label`.
    pub(crate) fn report_undone_commits(
        &self,
        current: &Current,
        refs: &Refs,
        label: &str,
    ) -> Option<Notice> {
        let tip = refs.get(&current.intent.branch)?;
        if *tip == current.commit {
            return None;
        }
        let branch = short(&current.intent.branch);
        if self.agent_ran(current, MOVING) {
            let what = if self.agent_ran(current, &["commit"]) {
                "committed".to_owned()
            } else {
                format!("moved `{branch}`")
            };
            let message = format!(
                "the agent {what} in attempt {label}: undone with the attempt, and saved with it"
            );
            return Some(Notice::new("agent_commits_undone", message));
        }
        let (from, to) = (current.commit.short(), tip.short());
        let message = format!(
            "`{branch}` was moved to {to} while the agent worked, and not by the agent; it is \
             restored to the checkpoint, and the commits are parked with the attempt: \
             `git cherry-pick {from}..{to}` applies them"
        );
        Some(Notice::new("commits_undone", message))
    }

    /// Reports which commits, not made by the agent, are below the checkpoint, and
    /// keeps those that cannot be.
    pub(crate) fn report_commits_below(
        &self,
        current: &Current,
        parent: ObjectId,
        refs: &Refs,
        head: &Head,
    ) -> Result<Vec<Notice>> {
        let branch = short(&current.intent.branch);
        let mut notices = Vec::new();
        if parent != current.commit
            && refs.get(&current.intent.branch) == Some(&parent)
            && current.last_attempt.is_some()
            && !self.agent_ran(current, MOVING)
        {
            let message = format!(
                "`{branch}` was moved to {} while the agent worked, and not by the agent; \
                 the checkpoint goes on top of it",
                parent.short()
            );
            notices.push(Notice::new("user_commits", message));
        }
        let mut aside: Vec<ObjectId> = Vec::new();
        for commit in [refs.get(&current.intent.branch).copied(), head.commit()] {
            let Some(commit) = commit.filter(|it| !aside.contains(it)) else {
                continue;
            };
            if commit != parent && !descends(&self.gits.user, commit, parent)? {
                aside.push(commit);
            }
        }
        // Another branch of the user's is where it was, and needs no keeping.
        aside.retain(|commit| {
            let mut others = refs
                .iter()
                .filter(|(name, _)| **name != current.intent.branch);
            !others.any(|(_, id)| id == commit)
        });
        for commit in aside {
            let name = format!("refs/kept/{}/aside/{commit}", current.intent.run);
            self.archive(&name, commit)?;
            let message = format!(
                "{} is not on top of the checkpoint and so not in `{branch}`; it is kept in the vault",
                commit.short()
            );
            notices.push(Notice::new("commits_aside", message));
        }
        Ok(notices)
    }
}

/// Names what changed, except for what git ignores: logs and caches change by themselves.
fn report_changes(before: &Manifest, scanned: &Scanned) -> Option<Notice> {
    let named = |path: &&Vec<u8>| {
        let entry = scanned.manifest.entries.get(*path);
        let entry = entry.or_else(|| before.entries.get(*path));
        entry.is_some_and(|entry| entry.lane != Lane::Ignored) && !is_module_path(path)
    };
    let paths = list_paths(scanned.changes.paths().filter(named))?;
    Some(Notice::new(
        "user_changes",
        format!("changed while no agent was at work; the next attempt starts from it: {paths}"),
    ))
}

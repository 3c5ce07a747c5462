//! Restore: work tree, refs, HEAD, index, stash, config and hooks become what they were at the
//! checkpoint. Only after the attempt is parked.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use super::agent_git::STASHING;
use super::converge::{Goal, Reach};
use super::run_state::{Current, Phase};
use super::snapshot::Snapshot;
use super::taking::Opaque;
use super::{Checkpoints, Notice, Result, blocking, lock};
use crate::edge::manifest::compare;
use crate::edge::repository::{Head, Refs};
use crate::edge::steps::{STASH, Step};

impl Checkpoints {
    /// Puts everything back to the checkpoint.
    pub(crate) async fn restore(&mut self) -> Result<Vec<Notice>> {
        let current = self.current()?;
        let base = self.checkpoint().await?;
        let run = current.intent.run.clone();
        if let Some(overlay) = self.dropped.take() {
            self.forget_caches(&base);
            self.record(&run, Step::Restored).await?;
            overlay.set_aside()?;
            return Ok(Vec::new());
        }
        self.check_room_to_restore(&base)?;
        // A parked attempt says so already.
        if current.phase != Phase::Restoring {
            self.record(&run, Step::RestoreIntent).await?;
        }
        let overlay = self.live_overlay();
        let target = self.restore_target(&base, overlay.as_ref()).await?;
        let notices = self.carry_out_restore(&current, &target).await?;
        // The next attempt would be on an overlay, too: undoing that one restores nothing.
        let done = match overlay {
            Some(_) => Step::Restored,
            None => Step::PutBack,
        };
        self.record(&run, done).await?;
        self.nobody_was_here();
        if let Some(overlay) = overlay {
            overlay.set_aside()?;
        }
        Ok(notices)
    }

    /// Makes a restore durable that no attempt follows at once: what differs from the checkpoint
    /// later on is the user's, and must not be a file that lost its bytes.
    pub(crate) async fn settle_restore(&mut self) -> Result<()> {
        self.end_diff().await;
        if !self.is_put_back() {
            return Ok(());
        }
        let run = self.current()?.intent.run;
        self.record(&run, Step::Restored).await
    }

    /// Refuses where what is to be written back does not fit.
    fn check_room_to_restore(&self, base: &Snapshot) -> Result<()> {
        let Some(parked) = &self.parked else {
            return Ok(());
        };
        let changes = compare(&base.manifest, &parked.manifest);
        let written = changes.modified.iter().chain(&changes.removed);
        self.check_room_for(&self.places.repository.work_tree, &base.manifest, written)
    }

    async fn carry_out_restore(
        &mut self,
        current: &Current,
        base: &Arc<Snapshot>,
    ) -> Result<Vec<Notice>> {
        let trash = self.new_trash("restore");
        let parked = self.parked.take();
        let Some(parked) = parked else {
            return Err(super::CheckpointError::failed(
                "nothing was parked before the restore",
                "start again: the next start parks and restores",
            ));
        };
        let mut notices = self.restore_control(base, &trash).await?;
        let index = Snapshot::index(&self.places.vault, &current.snapshot);
        let goal = Goal {
            snapshot: base,
            index: &index,
            reach: Reach::LeavingIgnored,
        };
        notices.extend(self.converge(&goal, &parked, &trash).await?);
        self.forget_caches(base);
        self.restore_refs(current, base, &trash).await?;
        self.put_index_back(&index, &trash).await?;
        base.control.shape.restore(&self.places.repository)?;
        let (refs, _) = self.observe().await?;
        self.told_refs = Some(refs);
        Ok(notices)
    }

    /// What the attempt's own rules made of cache folders is no longer so.
    fn forget_caches(&self, base: &Snapshot) {
        *lock(&self.opaque) = Opaque::default();
        lock(&self.opaque).adopt(&base.opaque);
    }

    pub(super) async fn restore_control(
        &self,
        base: &Arc<Snapshot>,
        trash: &Path,
    ) -> Result<Vec<Notice>> {
        let places = Arc::clone(&self.places);
        let snapshot = Arc::clone(base);
        let trash = trash.to_owned();
        let changed =
            blocking(move || snapshot.control.restore_files(&places.repository, &trash)).await?;
        if changed.is_empty() {
            return Ok(Vec::new());
        }
        Ok(vec![Notice::new(
            "git_files_restored",
            format!("put back in the git directory: {}", changed.join(", ")),
        )])
    }

    async fn restore_refs(
        &self,
        current: &Current,
        base: &Arc<Snapshot>,
        trash: &Path,
    ) -> Result<()> {
        let (mut refs, head) = self.observe().await?;
        self.move_ref(&current.intent.branch, &refs, Some(current.commit))
            .await?;
        let target = Head::Branch {
            name: current.intent.branch.clone(),
            commit: Some(current.commit),
        };
        self.point_head(&target, &head).await?;
        self.drop_operation_refs(base, &mut refs).await?;
        self.restore_replacements(base, &refs).await?;
        self.restore_original(current, base, &refs).await?;
        self.restore_stash(current, base, &refs, trash).await
    }

    /// Refs a bisect or a rebase keeps for itself go with it; the park has kept them.
    pub(super) async fn drop_operation_refs(&self, base: &Snapshot, refs: &mut Refs) -> Result<()> {
        let before = &base.control.refs;
        let is_left = |name: &&String| {
            let of_operation = ["refs/bisect/", "refs/rewritten/"];
            of_operation.iter().any(|folder| name.starts_with(folder))
                && !before.contains_key(*name)
        };
        let left: Vec<String> = refs.keys().filter(is_left).cloned().collect();
        for name in left {
            self.move_ref(&name, refs, None).await?;
            refs.remove(&name);
        }
        Ok(())
    }

    /// Refs that make git show other objects in the place of those of the checkpoint become what they
    /// were; the vault has both values.
    pub(super) async fn restore_replacements(&self, base: &Snapshot, refs: &Refs) -> Result<()> {
        let before = &base.control.refs;
        let is_other = |name: &&String| {
            name.starts_with("refs/replace/") && before.get(*name) != refs.get(*name)
        };
        let names: BTreeSet<&String> = refs.keys().chain(before.keys()).filter(is_other).collect();
        for name in names {
            self.move_ref(name, refs, before.get(name).copied()).await?;
        }
        Ok(())
    }

    /// Puts the stash back where it lost something; one that only grew stays.
    pub(super) async fn restore_stash_of(
        &self,
        snapshot: &Arc<Snapshot>,
        trash: &Path,
    ) -> Result<Vec<Notice>> {
        let (refs, _) = self.observe().await?;
        let is_same = snapshot.control.refs.get(STASH) == refs.get(STASH);
        let only_grew = snapshot.control.stash_only_grew(&self.places.repository)?;
        if is_same && !only_grew {
            // The log may be damaged though the ref is not.
            let repository = &self.places.repository;
            snapshot.control.restore_stash_log(repository, trash)?;
        }
        if is_same {
            return Ok(Vec::new());
        }
        if only_grew {
            let message = "the stash holds more than it did; it was left as it is";
            return Ok(vec![Notice::new("stash_left", message)]);
        }
        self.put_stash_back(snapshot, &refs, trash).await?;
        Ok(Vec::new())
    }

    async fn restore_stash(
        &self,
        current: &Current,
        base: &Arc<Snapshot>,
        refs: &Refs,
        trash: &Path,
    ) -> Result<()> {
        // All work trees share one stash: what another one added is not the attempt's.
        let only_grew = base.control.stash_only_grew(&self.places.repository)?;
        if only_grew && refs.contains_key(STASH) && !self.agent_ran(current, STASHING) {
            return Ok(());
        }
        self.put_stash_back(base, refs, trash).await
    }

    async fn put_stash_back(&self, base: &Arc<Snapshot>, refs: &Refs, trash: &Path) -> Result<()> {
        if base.control.refs.get(STASH) != refs.get(STASH) {
            self.move_ref(STASH, refs, base.control.refs.get(STASH).copied())
                .await?;
        }
        let places = Arc::clone(&self.places);
        let snapshot = Arc::clone(base);
        let trash = trash.to_owned();
        blocking(move || {
            snapshot
                .control
                .restore_stash_log(&places.repository, &trash)
        })
        .await
    }

    /// The branch the user came from goes back too when the agent was the one who moved it.
    async fn restore_original(
        &self,
        current: &Current,
        base: &Arc<Snapshot>,
        refs: &Refs,
    ) -> Result<()> {
        let Head::Branch { name, .. } = &current.intent.original else {
            return Ok(());
        };
        if *name == current.intent.branch || base.control.refs.get(name) == refs.get(name) {
            return Ok(());
        }
        if self.agent_moved(current, name, refs.get(name).copied()) {
            self.move_ref(name, refs, base.control.refs.get(name).copied())
                .await?;
        }
        Ok(())
    }
}

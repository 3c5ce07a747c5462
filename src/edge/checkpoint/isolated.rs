//! Attempts on an overlay: made before the agent starts, merged into the tree when it kept its
//! promise, so that checks, gates and the checkpoint see its work.
//!
//! Until the attempt is saved or parked the upper layer stays, so that a merge may be broken off
//! at any point. What the user edited in the tree meanwhile is theirs: it is no part of the
//! attempt, it outlives a failure, and where the agent changed the same path it is moved to the
//! trash, never overwritten.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use super::snapshot::Snapshot;
use super::taking::show;
use super::{CheckpointError, Checkpoints, Notice, Result, blocking};
use crate::domain::ids::AttemptId;
use crate::edge::files::shortened;
use crate::edge::isolation::merge::{Merge, Merged};
use crate::edge::isolation::view::keeps_git;
use crate::edge::isolation::{IsolationError, Overlay, Progress, probe};
use crate::edge::repository::{Head, Refs};

/// How many paths a notice names.
const NAMED: usize = 5;

impl Checkpoints {
    /// Tries whether an agent can be isolated here. Touches nothing.
    pub(crate) fn try_isolation(&self) -> Result<(), IsolationError> {
        probe(
            &self.places.repository.work_tree,
            self.places.vault.folder(),
        )
    }

    /// Makes the overlay of an attempt that is about to start.
    pub(crate) fn isolate(&self, attempt: &AttemptId) -> Result<Overlay> {
        let run = self.current()?.intent.run;
        let folder = self.attempt_folder(&run, attempt);
        Ok(Overlay::create(&folder, &self.places.repository.work_tree)?)
    }

    /// The overlay of the attempt that is neither saved nor undone, if it has one.
    pub(super) fn live_overlay(&self) -> Option<Overlay> {
        let current = self.state.current.as_ref()?;
        let last = current.last_attempt.as_ref()?;
        Overlay::find(&self.attempt_folder(&current.intent.run, &last.attempt))
    }

    /// True where the attempt at hand has left nothing in the tree.
    pub(super) fn is_attempt_apart(&self) -> bool {
        let overlay = self.live_overlay();
        overlay.is_some_and(|overlay| overlay.progress() == Progress::Apart)
    }

    /// Puts what the attempt wrote to its overlay into the tree; nothing where it has none.
    pub(crate) async fn merge_isolated(&mut self) -> Result<Vec<Notice>> {
        let Some(overlay) = self.live_overlay() else {
            return Ok(Vec::new());
        };
        let current = self.current()?;
        let base = self.checkpoint().await?;
        let (refs, head) = self.observe().await?;
        refuse_elsewhere(&current.intent.branch, &head)?;
        // Nobody but the user has touched the tree so far.
        let index = Snapshot::index(&self.places.vault, &base.id);
        let taken = self
            .take(&base.manifest, Self::known_of(&base), &index)
            .await?;
        let edited: BTreeSet<Vec<u8>> = taken.changes.paths().cloned().collect();
        let control = base.control.clone();
        let before = self.snapshot(Snapshot::new_id(), &taken, control, &base.submodules);
        if let Some(last) = &current.last_attempt {
            self.link_objects().await?;
            let label = format!("{}-meanwhile", last.attempt);
            self.keep_refs(&current, &label, (&base.control.refs, &refs), &head)
                .await?;
        }
        let trash = self.new_trash("merge");
        let places = Arc::clone(&self.places);
        let caches = taken.passed_over;
        let (layers, aside) = (overlay, trash.clone());
        let refs_before = base.control.refs.clone();
        let merged = blocking(move || {
            if !edited.is_empty() {
                before.write(&places.vault, Some(&base))?;
            }
            layers.note_merging(Some(before.id.as_str()).filter(|_| !edited.is_empty()))?;
            let merge = Merge {
                upper: &layers.upper(),
                tree: &places.repository.work_tree,
                trash: &aside,
                before: &before.manifest,
                edited: &edited,
                caches: &caches,
            };
            let merged = merge.run()?;
            if !merged.too_deep.is_empty() {
                layers.note_left_out()?;
            }
            layers.note_merged()?;
            Ok(merged)
        })
        .await?;
        let mut notices = notices(&merged, &trash);
        notices.extend(self.displaced_refs(&refs_before, &refs).await);
        Ok(notices)
    }

    /// Refs that both the user and the agent moved.
    async fn displaced_refs(&self, before: &Refs, users: &Refs) -> Option<Notice> {
        // A git directory the agent damaged is mended by the next step.
        let (now, _) = self.observe().await.ok()?;
        let displaced: Vec<String> = users
            .iter()
            .filter(|(name, id)| before.get(*name) != Some(id) && now.get(*name) != Some(id))
            .map(|(name, id)| format!("{name} (yours: {})", id.short()))
            .collect();
        (!displaced.is_empty()).then(|| {
            Notice::new(
                "refs_displaced",
                format!(
                    "you and the agent both moved these refs, and the agent's move counts; the vault keeps yours: {}",
                    displaced.join(", ")
                ),
            )
        })
    }

    /// What a restore brings back: the checkpoint, and over it what the user edited before a merge.
    pub(super) async fn restore_target(
        &self,
        base: &Arc<Snapshot>,
        overlay: Option<&Overlay>,
    ) -> Result<Arc<Snapshot>> {
        let Some(before) = overlay.map(Overlay::before).transpose()?.flatten() else {
            return Ok(Arc::clone(base));
        };
        let places = Arc::clone(&self.places);
        let snapshot = blocking(move || Snapshot::read(&places.vault, &before)).await?;
        Ok(Arc::new(snapshot))
    }

    /// Removes the overlay of an attempt that is saved; one the tree did not take all of is kept.
    pub(super) async fn end_merged(&self, overlay: Option<Overlay>) {
        let Some(overlay) = overlay.filter(|it| it.progress() == Progress::Merged) else {
            return;
        };
        let places = Arc::clone(&self.places);
        let end = move || {
            let keeps_git = keeps_git(&places.repository.work_tree, &overlay.upper());
            let ended = if keeps_git && !overlay.has_left_out() {
                overlay.remove()
            } else {
                overlay.set_aside()
            };
            Ok(ended?)
        };
        // What stays behind only takes up room.
        let _ = blocking(end).await;
    }
}

/// The agent cannot have moved HEAD in the real tree: the user works elsewhere by now.
fn refuse_elsewhere(branch: &str, head: &Head) -> Result<()> {
    if matches!(head, Head::Branch { name, .. } if name == branch) {
        return Ok(());
    }
    let branch = super::begin::short(branch);
    Err(CheckpointError::failed(
        format!(
            "HEAD went from `{branch}` to `{}` while the agent worked",
            head.shown()
        ),
        format!("its work is safe in its overlay; `git switch {branch}` and start again"),
    ))
}

fn notices(merged: &Merged, trash: &Path) -> Vec<Notice> {
    let mut notices = Vec::new();
    if !merged.displaced.is_empty() {
        notices.push(Notice::new(
            "edits_displaced",
            format!(
                "you and the agent both changed {}: the tree has the agent's version, yours is in `{}`",
                named(&merged.displaced),
                trash.display()
            ),
        ));
    }
    if !merged.left_out.is_empty() {
        notices.push(Notice::new(
            "not_merged",
            format!(
                "pipes, sockets and devices are not merged: {}",
                named(&merged.left_out)
            ),
        ));
    }
    if !merged.too_deep.is_empty() {
        notices.push(Notice::new(
            "too_deep",
            format!(
                "nested too deep, so it stays in the overlay of the attempt: {}",
                named(&merged.too_deep)
            ),
        ));
    }
    if merged.git_left_alone {
        notices.push(Notice::new(
            "git_left_alone",
            "the attempt removed or replaced the git directory; yours was left as it is",
        ));
    }
    notices
}

fn named(paths: &[Vec<u8>]) -> String {
    let shown: Vec<String> = paths
        .iter()
        .take(NAMED)
        .map(|path| format!("`{}`", shortened(&show(path))))
        .collect();
    match paths.len().saturating_sub(NAMED) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

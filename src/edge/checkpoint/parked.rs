//! Parked attempts, looked at and put back: what the journal says of them, their diff, and their
//! files in the tree again.

use std::sync::Arc;

use super::moving::{PreparedMove, over};
use super::snapshot::Snapshot;
use super::taking::{show, under_any};
use super::{CheckpointError, Checkpoints, Result, blocking};
use crate::domain::ids::{AttemptId, RunId};
use crate::edge::manifest::{Changes, Manifest, compare};
use crate::edge::steps::{Line, MoveIntent, MoveKind, ParkedNote, Step};

/// One parked attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ParkedAttempt {
    /// The run.
    pub(crate) run: RunId,
    /// The attempt.
    pub(crate) attempt: AttemptId,
    /// When it was parked.
    pub(crate) at: jiff::Timestamp,
    /// What is known of it.
    pub(crate) note: ParkedNote,
    snapshot: String,
}

/// What a parked attempt had changed against the checkpoint it began at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ParkedChanges {
    /// New paths.
    pub(crate) created: Vec<String>,
    /// Changed paths.
    pub(crate) modified: Vec<String>,
    /// Paths that were gone.
    pub(crate) removed: Vec<String>,
}

/// The parked attempts a journal names, oldest first; one parked again replaces nothing.
pub(crate) fn parked_attempts(lines: &[Line]) -> Vec<ParkedAttempt> {
    let parked = lines.iter().filter_map(|line| match &line.step {
        Step::Parked {
            attempt,
            snapshot,
            note,
            ..
        } => Some(ParkedAttempt {
            run: line.run.clone(),
            attempt: attempt.clone(),
            at: line.at,
            note: note.clone(),
            snapshot: snapshot.clone(),
        }),
        _ => None,
    });
    parked.collect()
}

impl Checkpoints {
    /// What an attempt had changed.
    pub(crate) async fn changes_of(&self, parked: &ParkedAttempt) -> Result<ParkedChanges> {
        let (base, attempt) = self.read_pair(parked).await?;
        let changes = compare(&base, &attempt.manifest);
        let shown = |paths: &[Vec<u8>]| {
            let files = paths.iter().filter(|path| {
                let entry = attempt
                    .manifest
                    .entries
                    .get(*path)
                    .or(base.entries.get(*path));
                entry.is_some_and(|entry| entry.kind != crate::edge::manifest::Kind::Folder)
            });
            files.map(|path| show(path)).collect()
        };
        Ok(ParkedChanges {
            created: shown(&changes.created),
            modified: shown(&changes.modified),
            removed: shown(&changes.removed),
        })
    }

    /// Makes it ready to put files of a parked attempt back: all it changed, or what is at or
    /// below `only`.
    pub(crate) async fn prepare_put_back(
        &mut self,
        parked: &ParkedAttempt,
        only: Option<&[u8]>,
    ) -> Result<PreparedMove> {
        self.refuse_operation()?;
        let (base, attempt) = self.read_pair(parked).await?;
        let changes = wanted(compare(&base, &attempt.manifest), only);
        if changes.count() == 0 {
            return Err(CheckpointError::refused(
                match only {
                    Some(path) => format!(
                        "attempt {} changed nothing at `{}`",
                        parked.note.label,
                        show(path)
                    ),
                    None => format!("attempt {} changed nothing", parked.note.label),
                },
                format!(
                    "`ralphtool attempts show {}` lists what it changed",
                    parked.note.label
                ),
            ));
        }
        let attempt = Arc::new(attempt);
        let present = self.take_present(&attempt).await?;
        let now = &present.snapshot;
        let after = Snapshot {
            id: Snapshot::new_id(),
            manifest: Arc::new(over(&now.manifest, &attempt.manifest, changes.paths())),
            ..now.as_ref().clone()
        };
        let after = self.write_snapshot(after, now).await?;
        self.copy_index_of(&now.id, &after.id).await?;
        let head = now.control.head.clone();
        let intent = MoveIntent {
            kind: MoveKind::PutBack {
                label: parked.note.label.clone(),
            },
            before: now.id.clone(),
            after: after.id.clone(),
            refs: Vec::new(),
            head_from: head.clone(),
            head_to: head,
            with_control: false,
        };
        self.prepare_move(&parked.run, intent, present, &after)
            .await
    }

    /// The tree an attempt began with, and the one it left.
    async fn read_pair(&self, parked: &ParkedAttempt) -> Result<(Arc<Manifest>, Snapshot)> {
        let places = Arc::clone(&self.places);
        let id = parked.snapshot.clone();
        blocking(move || {
            let attempt = Snapshot::read(&places.vault, &id)?;
            let base = match Snapshot::parent_of(&places.vault, &id)? {
                Some(parent) => Snapshot::read(&places.vault, &parent)?.manifest,
                None => Arc::default(),
            };
            Ok((base, attempt))
        })
        .await
    }
}

/// The changes at or below a path.
fn wanted(changes: Changes, only: Option<&[u8]>) -> Changes {
    let Some(only) = only else {
        return changes;
    };
    let only = [only.strip_suffix(b"/").unwrap_or(only).to_vec()];
    let inside = |paths: Vec<Vec<u8>>| {
        let paths = paths.into_iter();
        paths.filter(|path| under_any(path, &only)).collect()
    };
    Changes {
        created: inside(changes.created),
        modified: inside(changes.modified),
        removed: inside(changes.removed),
    }
}

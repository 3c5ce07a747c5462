//! Parked attempts: what the journal says of them, what they changed, and how their files are restored
//! into the work tree.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{CheckpointError, Result};
use crate::git::repository::Repository;
use crate::journal::steps::{self, Line, MoveIntent, MoveKind, ParkedNote, Step};
use crate::operations::moving::{PreparedMove, over};
use crate::paths::{ancestors, is_module_path, show};
use crate::repo::snapshot::Snapshot;
use crate::store::VaultFolder;
use crate::tree::manifest::{Changes, Entry, Kind, Manifest, compare};
use crate::tree::scanned::under_any;
use crate::vault::Vault;
use ralph_base::ids::{AttemptId, RunId};

/// One parked attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParkedAttempt {
    pub run: RunId,
    pub attempt: AttemptId,
    pub at: jiff::Timestamp,
    pub note: ParkedNote,
    snapshot: String,
}

/// What a parked attempt had changed against the checkpoint it began at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ParkedChanges {
    pub created: Vec<String>,
    pub modified: Vec<String>,
    /// Paths that were gone.
    pub removed: Vec<String>,
    /// Those of them that git ignores, and no diff shows.
    pub ignored: Vec<String>,
    /// Those of them that are in a submodule or a repository of its own, and no diff shows.
    pub elsewhere: Vec<String>,
}

/// The vault's parked attempts, read while a run may be active: nothing is locked or written.
#[derive(Debug)]
pub struct Shelf {
    vault: VaultFolder,
    lines: Vec<Line>,
}

/// The commits that a parked attempt had on top of its checkpoint, as a range for git.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParkedCommits {
    /// The checkpoint.
    pub from: String,
    /// Where HEAD was.
    pub to: String,
}

impl Shelf {
    /// Reads the journal of a work tree's vault.
    pub fn open(state_directory: &Path, repository: &Repository) -> Result<Self> {
        let vault = VaultFolder::unlocked(&VaultFolder::folder_for(state_directory, repository));
        // Otherwise the vault is that of a repository that was here before.
        let lines = if vault.belongs_to(repository)? {
            steps::read(&vault.journal())?
        } else {
            Vec::new()
        };
        Ok(Self { vault, lines })
    }

    /// All parked attempts, oldest first; one parked again replaces nothing.
    pub fn attempts(&self) -> Vec<ParkedAttempt> {
        parked_attempts(&self.lines)
    }

    /// The run that began last.
    pub fn last_run(&self) -> Option<RunId> {
        let mut begun = self.lines.iter().rev().filter_map(|line| match line.step {
            Step::BeginIntent { .. } => Some(line.run.clone()),
            _ => None,
        });
        begun.next()
    }

    /// What an attempt had changed.
    pub fn changes_of(&self, parked: &ParkedAttempt) -> Result<ParkedChanges> {
        let (base, attempt) = read_pair(&self.vault, &parked.snapshot)?;
        let mut changes = compare(&base, &attempt.manifest);
        let is = |path: &Vec<u8>, wanted: fn(&Entry) -> bool| {
            let now = attempt.manifest.entries.get(path);
            now.or_else(|| base.entries.get(path)).is_some_and(wanted)
        };
        changes.retain(|path| is(path, |entry| entry.kind != Kind::Folder));
        let shown = |paths: &[Vec<u8>]| paths.iter().map(|path| show(path)).collect();
        let Changes {
            created,
            modified,
            removed,
        } = &changes;
        let all = created.iter().chain(modified).chain(removed);
        let hidden = all.filter(|path| is(path, |entry| !entry.is_visible()));
        let has_git = |folder: &[u8]| {
            let git = [folder, b"/.git"].concat();
            attempt.manifest.entries.contains_key(&git) || base.entries.contains_key(&git)
        };
        let (elsewhere, ignored): (Vec<_>, Vec<_>) = hidden.partition(|path| {
            under_any(path, &attempt.submodules)
                || is_module_path(path)
                || ancestors(path).any(has_git)
        });
        Ok(ParkedChanges {
            created: shown(created),
            modified: shown(modified),
            removed: shown(removed),
            ignored: ignored.into_iter().map(|path| show(path)).collect(),
            elsewhere: elsewhere.into_iter().map(|path| show(path)).collect(),
        })
    }

    /// The commits of an attempt; none if HEAD was where it had begun.
    pub fn commits_of(&self, parked: &ParkedAttempt) -> Result<Option<ParkedCommits>> {
        let Some(parent) = Snapshot::parent_of(&self.vault, &parked.snapshot)? else {
            return Ok(None);
        };
        let head =
            |id: &str| Ok::<_, CheckpointError>(Snapshot::read(&self.vault, id)?.control.head);
        let (from, to) = (head(&parent)?.commit(), head(&parked.snapshot)?.commit());
        let moved = from.zip(to).filter(|(from, to)| from != to);
        Ok(moved.map(|(from, to)| ParkedCommits {
            from: from.short(),
            to: to.short(),
        }))
    }

    /// Where the prompt and the transcript of an attempt are.
    pub fn transcript_of(&self, parked: &ParkedAttempt) -> PathBuf {
        self.attempts_of(parked).join(parked.attempt.to_string())
    }

    /// Where the diff of an attempt is.
    pub fn diff_of(&self, parked: &ParkedAttempt) -> PathBuf {
        let folder = self.attempts_of(parked).join(&parked.note.label);
        folder.join("changes.diff")
    }

    fn attempts_of(&self, parked: &ParkedAttempt) -> PathBuf {
        self.vault.runs().join(&parked.run.0).join("attempts")
    }
}

/// The parked attempts a journal names.
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

impl Vault {
    /// All parked attempts, oldest first.
    pub fn parked_attempts(&self) -> Result<Vec<ParkedAttempt>> {
        Ok(parked_attempts(&self.journal_lines()?))
    }

    /// Prepares to restore files of a parked attempt: all it changed, or what is at or below `only`.
    pub(crate) fn prepare_restore(
        &mut self,
        parked: &ParkedAttempt,
        only: Option<&[u8]>,
    ) -> Result<PreparedMove> {
        self.repo.refuse_operation()?;
        let (base, attempt) = read_pair(&self.repo.places.vault, &parked.snapshot)?;
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
        let last = self.log.state.last_run();
        let whole_at = last.map_or(&parked.snapshot, |last| &last.snapshot);
        let (_, _, repaired) = self.observe_repaired(whole_at)?;
        let attempt = Arc::new(attempt);
        let present = self.tree.scan_present(&self.repo, &attempt)?;
        let now = &present.snapshot;
        let after = Snapshot {
            id: Snapshot::new_id(),
            manifest: Arc::new(over(&now.manifest, &attempt.manifest, changes.paths())),
            ..now.as_ref().clone()
        };
        after.write(&self.repo.places.vault, Some(now))?;
        self.repo.derive_index(&now.id, &after.id)?;
        let head = now.control.head.clone();
        let intent = MoveIntent {
            kind: MoveKind::RestoreAttempt {
                label: parked.note.label.clone(),
                path: only.map(|path| String::from_utf8_lossy(path).into_owned()),
            },
            before: now.id.clone(),
            after: after.id.clone(),
            refs: Vec::new(),
            head_from: head.clone(),
            head_to: head,
            with_control: false,
        };
        let repo = &self.repo;
        let mut prepared = repo.prepare_move(&parked.run, intent, present, &after)?;
        prepared.outline.notices.extend(repaired);
        Ok(prepared)
    }
}

/// The tree an attempt began with, and the one it left.
fn read_pair(vault: &VaultFolder, id: &str) -> Result<(Arc<Manifest>, Snapshot)> {
    let attempt = Snapshot::read(vault, id)?;
    let base = match Snapshot::parent_of(vault, id)? {
        Some(parent) => Snapshot::read(vault, &parent)?.manifest,
        None => Arc::default(),
    };
    Ok((base, attempt))
}

/// The changes at or below a path.
fn wanted(mut changes: Changes, only: Option<&[u8]>) -> Changes {
    let Some(only) = only else {
        return changes;
    };
    let only = [only.strip_suffix(b"/").unwrap_or(only).to_vec()];
    changes.retain(|path| under_any(path, &only));
    changes
}

//! The vaults of other work trees, beside this one's: such as were set aside, such as have lost
//! their work tree.

use std::fs;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use crate::error::CheckpointError;
use crate::gc::policy::{Standing, VaultFacts, VaultKind};
use crate::look::{JournalHealth, Look, look};
use crate::store::{SET_ASIDE, Vault, VaultError, holder, is_home, is_set_aside, work_tree_of};
use ralph_base::disk::{measure, remove_tree};
use ralph_base::files::{Tried, absent};

/// What stays of a vault as long as there are notes in it.
const WITH_NOTES: [&str; 3] = ["learnings", "meta.json", "lock"];

/// Another vault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherVault {
    /// Its folder.
    pub folder: PathBuf,
    /// The work tree it was made for.
    pub work_tree: Option<PathBuf>,
    /// What decides about it.
    pub facts: VaultFacts,
    /// Bytes on disk.
    pub bytes: u64,
}

/// Which vaults are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Those that were set aside for the one of this work tree.
    OwnOld,
    /// All.
    All,
}

/// Finds other vaults that hold something besides notes; `own` is left out.
pub fn others(
    state: &Path,
    own: Option<&Path>,
    scope: Scope,
) -> Result<Vec<OtherVault>, CheckpointError> {
    let folder = state.join("ralphtool");
    let listing = match fs::read_dir(&folder) {
        Ok(listing) => listing,
        Err(error) if absent(&error) => return Ok(Vec::new()),
        Err(error) => return Err(error).tried("list", &folder).map_err(Into::into),
    };
    let mut found = Vec::new();
    for entry in listing {
        let path = entry.tried("list", &folder)?.path();
        let is_meant = match scope {
            Scope::All => own != Some(&path),
            Scope::OwnOld => own.is_some_and(|own| is_old_of(&path, own)),
        };
        if is_meant && holds_something(&path) {
            found.push(describe(path)?);
        }
    }
    found.sort_unstable_by(|a, b| a.folder.cmp(&b.folder));
    Ok(found)
}

/// Removes a vault but for the notes in it; one that somebody works in stays.
pub fn remove(folder: &Path) -> Result<(), CheckpointError> {
    let locked = Vault::open(folder)?;
    // Without its journal it is as good as new, should its work tree come back half-way.
    remove_tree(&locked.journal())?;
    let has_notes = has_entries(&folder.join("learnings"));
    for entry in fs::read_dir(folder).tried("list", folder)? {
        let path = entry.tried("list", folder)?.path();
        let name = path.file_name().unwrap_or_default();
        let stays = WITH_NOTES.iter().any(|it| name == *it) && has_notes;
        if !stays && name != "lock" {
            remove_tree(&path)?;
        }
    }
    if has_notes {
        return Ok(());
    }
    remove_tree(folder).map_err(VaultError::from)?;
    Ok(())
}

fn is_old_of(path: &Path, own: &Path) -> bool {
    let name = |path: &Path| {
        path.file_name()
            .map_or_else(String::new, |name| name.to_string_lossy().into_owned())
    };
    name(path)
        .strip_prefix(&name(own))
        .is_some_and(|rest| rest.starts_with(SET_ASIDE))
}

/// True for a vault that was used and holds more than notes.
fn holds_something(folder: &Path) -> bool {
    let used = ["journal", "snapshots", "raw", "trash", "runs", "store"];
    used.iter().any(|name| {
        let path = folder.join(name);
        has_entries(&path) || fs::metadata(&path).is_ok_and(|it| it.is_file() && it.len() > 0)
    })
}

fn has_entries(folder: &Path) -> bool {
    fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some())
}

fn describe(folder: PathBuf) -> Result<OtherVault, CheckpointError> {
    let work_tree = work_tree_of(&folder)?;
    let looked = look(&folder)?;
    let last = looked.runs.iter().map(|run| run.ended).max();
    let facts = VaultFacts {
        kind: kind(&folder, work_tree.as_deref()),
        used: last.or_else(|| modified(&folder)),
        wanted: wanted(&looked),
        unfinished: looked.open.map(|open| open.change),
        damaged: looked.journal == JournalHealth::Damaged,
        holder: holder(&folder)?,
    };
    Ok(OtherVault {
        bytes: measure(&folder),
        folder,
        work_tree,
        facts,
    })
}

/// What the user may want of a vault besides a run that is not finished.
fn wanted(looked: &Look) -> Vec<String> {
    let mut wanted = Vec::new();
    wanted.extend(
        looked
            .kept
            .iter()
            .map(|change| format!("a kept run of `{change}`")),
    );
    match looked.parked {
        0 => {}
        1 => wanted.push("1 parked attempt".to_owned()),
        many => wanted.push(format!("{many} parked attempts")),
    }
    if looked.runs.iter().any(|run| run.standing == Standing::Over) {
        wanted.push("the state before its last run".to_owned());
    }
    wanted
}

fn kind(folder: &Path, work_tree: Option<&Path>) -> VaultKind {
    if is_home(folder) {
        return VaultKind::Elsewhere;
    }
    if is_set_aside(folder) {
        return VaultKind::SetAside;
    }
    // A name that is not text was not written down as it is: whether it exists cannot be told.
    let gone = |tree: &Path| {
        let is_text = !tree.to_string_lossy().contains('\u{fffd}');
        is_text && fs::symlink_metadata(tree).is_err_and(|error| absent(&error))
    };
    match work_tree {
        Some(tree) if gone(tree) && !has_entries(around(tree)) => VaultKind::Away,
        Some(tree) if gone(tree) => VaultKind::Vanished,
        _ => VaultKind::Elsewhere,
    }
}

/// The folder around a work tree: missing or empty where the disk it is on is not mounted.
fn around(work_tree: &Path) -> &Path {
    work_tree.parent().unwrap_or(work_tree)
}

fn modified(folder: &Path) -> Option<Timestamp> {
    let modified = fs::metadata(folder).and_then(|it| it.modified()).ok()?;
    Timestamp::try_from(modified).ok()
}

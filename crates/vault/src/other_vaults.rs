//! The vaults of other work trees, beside this one's. Some were set aside, some have lost their work
//! tree.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;

use crate::error::CheckpointError;
use crate::gc::policy::{Fate, Standing, VaultKind, VaultRow, is_older};
use crate::journal::steps::JournalHealth;
use crate::look::{Look, look};
use crate::store::{Meta, SET_ASIDE, VaultError, VaultFolder, holder, is_set_aside, listing, name};
use ralph_base::disk::{measure, remove_tree};
use ralph_base::files::absent;
use ralph_base::shell::quoted;

/// What stays of a vault as long as there are notes in it.
const WITH_NOTES: [&str; 3] = ["learnings", "meta.json", "lock"];

/// Another vault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherVault {
    pub folder: PathBuf,
    /// The work tree it was made for.
    pub work_tree: Option<PathBuf>,
    pub kind: VaultKind,
    /// When it was last used.
    pub used: Option<Timestamp>,
    /// What is in it that the user may want, in words.
    holds: Option<String>,
    /// Who works in it.
    holder: Option<String>,
    /// Bytes on disk.
    pub bytes: u64,
}

impl OtherVault {
    /// What happens to it. A work tree that is missing is no proof that nothing in the vault is
    /// wanted.
    pub fn fate(&self, older_than: Duration, now: Timestamp) -> Fate {
        let reason = if let Some(reason) = self.in_use() {
            reason
        } else if let Some(holds) = &self.holds {
            let name = quoted(Path::new(self.folder.file_name().unwrap_or_default()));
            format!("{holds}: `ralphtool gc --forget {name}` removes it")
        } else if self.kind == VaultKind::Away {
            "its work tree is not there at the moment".to_owned()
        } else if self
            .used
            .is_some_and(|used| is_older(used, older_than, now))
        {
            return Fate::Goes;
        } else {
            "not old enough".to_owned()
        };
        Fate::Stays { reason }
    }

    /// Why it is not to be removed from outside at all, not even where the user names it.
    pub fn in_use(&self) -> Option<String> {
        if let Some(holder) = &self.holder {
            return Some(format!("in use by {holder}"));
        }
        (self.kind == VaultKind::Elsewhere)
            .then(|| "its work tree exists: run `ralphtool gc` there".to_owned())
    }

    /// The vault in a report.
    pub fn row(&self, fate: Fate) -> VaultRow {
        VaultRow {
            folder: self.folder.display().to_string(),
            work_tree: self.work_tree.as_ref().map(|it| it.display().to_string()),
            kind: self.kind,
            used: self.used,
            bytes: self.bytes,
            fate,
        }
    }
}

/// Which vaults are listed.
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
    let mut folders = listing(&state.join("ralphtool"))?;
    folders.retain(|path| {
        let is_meant = match scope {
            Scope::All => own != Some(path),
            Scope::OwnOld => own.is_some_and(|own| is_old_of(path, own)),
        };
        is_meant && holds_something(path)
    });
    folders.into_iter().map(describe).collect()
}

/// Removes a vault except for the notes in it; one that is in use stays.
pub fn remove(folder: &Path) -> Result<(), CheckpointError> {
    let locked = VaultFolder::open(folder)?;
    // Without its journal it is as good as new, should its work tree come back meanwhile.
    remove_tree(&locked.journal())?;
    let has_notes = has_entries(&folder.join("learnings"));
    for path in listing(folder)? {
        let name = name(&path);
        let stays = has_notes && WITH_NOTES.contains(&name.as_str());
        if !stays && name != "lock" {
            remove_tree(&path)?;
        }
    }
    if !has_notes {
        remove_tree(folder).map_err(VaultError::from)?;
    }
    Ok(())
}

fn is_old_of(path: &Path, own: &Path) -> bool {
    let name = name(path);
    name.strip_prefix(&self::name(own))
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
    let meta = Meta::read(&folder)?;
    let summary = look(&folder)?;
    let last = summary.runs.iter().map(|run| run.ended).max();
    Ok(OtherVault {
        kind: kind(&folder, meta.as_ref()),
        used: last.or_else(|| modified(&folder)),
        holds: holds(summary),
        holder: holder(&folder)?,
        bytes: measure(&folder),
        folder,
        work_tree: meta.map(|meta| PathBuf::from(meta.work_tree)),
    })
}

/// What a vault holds that the user may want.
fn holds(summary: Look) -> Option<String> {
    if let Some(open) = summary.open {
        return Some(format!(
            "a run of `{}` in it was never finished",
            open.change
        ));
    }
    if summary.journal == JournalHealth::Damaged {
        return Some("its journal is damaged, so what it holds is not known".to_owned());
    }
    let kept = summary.kept;
    let kept = kept.map(|change| format!("a kept run of `{change}`"));
    let parked = match summary.parked {
        0 => None,
        1 => Some("1 parked attempt".to_owned()),
        many => Some(format!("{many} parked attempts")),
    };
    let mut runs = summary.runs.iter();
    let is_over = runs.any(|run| run.standing == Standing::Over);
    let before = is_over.then(|| "the state before its last run".to_owned());
    let wanted: Vec<String> = [kept, parked, before].into_iter().flatten().collect();
    (!wanted.is_empty()).then(|| format!("it holds {}", wanted.join(", ")))
}

fn kind(folder: &Path, meta: Option<&Meta>) -> VaultKind {
    if meta.is_some_and(Meta::is_original_there) {
        return VaultKind::Elsewhere;
    }
    if is_set_aside(folder) {
        return VaultKind::SetAside;
    }
    let Some(work_tree) = meta.map(|meta| Path::new(&meta.work_tree)) else {
        return VaultKind::Elsewhere;
    };
    // A name that is not text was not written down as it is: whether it exists is not known.
    let is_text = !work_tree.to_string_lossy().contains('\u{fffd}');
    let is_gone = fs::symlink_metadata(work_tree).is_err_and(|error| absent(&error));
    // The folder around it is missing or empty where the disk it is on is not mounted.
    let around = work_tree.parent().unwrap_or(work_tree);
    if !is_text || !is_gone {
        VaultKind::Elsewhere
    } else if has_entries(around) {
        VaultKind::Vanished
    } else {
        VaultKind::Away
    }
}

fn modified(folder: &Path) -> Option<Timestamp> {
    let modified = fs::metadata(folder).and_then(|it| it.modified()).ok()?;
    Timestamp::try_from(modified).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gc::policy::KEEP_FINISHED;

    fn old() -> OtherVault {
        OtherVault {
            folder: PathBuf::from("/state/ralphtool/v"),
            work_tree: None,
            kind: VaultKind::Vanished,
            used: Some("2026-01-01T00:00:00Z".parse().unwrap()),
            holds: None,
            holder: None,
            bytes: 0,
        }
    }

    #[test]
    fn another_vault_goes_only_when_it_is_old_and_nothing_in_it_is_wanted() {
        let now = "2026-06-01T00:00:00Z".parse().unwrap();
        let case = |change: fn(&mut OtherVault)| {
            let mut vault = old();
            change(&mut vault);
            vault.fate(KEEP_FINISHED, now) == Fate::Goes
        };
        assert!(case(|_| {}));
        assert!(case(|vault| vault.kind = VaultKind::SetAside));
        assert!(!case(|vault| vault.kind = VaultKind::Elsewhere));
        assert!(!case(|vault| vault.used = None));
        assert!(!case(
            |vault| vault.used = Some("2026-05-31T00:00:00Z".parse().unwrap())
        ));
        assert!(!case(|vault| vault.kind = VaultKind::Away));
        assert!(!case(|vault| vault.holds = Some("a kept run".to_owned())));
        assert!(!case(|vault| vault.holder = Some("process 7".to_owned())));
    }

    #[test]
    fn what_a_vault_holds_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let mut summary = look(folder.path()).unwrap();
        assert_eq!(holds(summary.clone()), None);
        summary.kept = Some("c".to_owned());
        summary.parked = 2;
        let want = "it holds a kept run of `c`, 2 parked attempts".to_owned();
        assert_eq!(holds(summary.clone()), Some(want));
        summary.journal = JournalHealth::Damaged;
        let want = "its journal is damaged, so what it holds is not known".to_owned();
        assert_eq!(holds(summary), Some(want));
    }

    #[test]
    fn a_vault_the_user_names_goes_unless_it_is_in_use() {
        let wanted = OtherVault {
            kind: VaultKind::Away,
            used: None,
            holds: Some("a run of `c` in it was never finished".to_owned()),
            ..old()
        };
        assert_eq!(wanted.in_use(), None);
        let elsewhere = OtherVault {
            kind: VaultKind::Elsewhere,
            ..wanted.clone()
        };
        let held = OtherVault {
            holder: Some("process 7".to_owned()),
            ..wanted
        };
        for vault in [elsewhere, held] {
            assert!(vault.in_use().is_some());
        }
    }
}

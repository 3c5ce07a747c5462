//! A git directory that is gone when an interrupted run is found: its agent removed it, and the
//! program was ended before it could rebuild it. Git would look for another repository in the
//! folders above. Where nothing stands in its place it is rebuilt from the vault; where something
//! does, that is the user's.

use std::fs;
use std::path::Path;

use super::mend::rebuild;
use super::run_state::{Phase, RunState};
use super::snapshot::Snapshot;
use super::switch::trash_name;
use super::{Places, Result};
use crate::edge::object_id::ObjectFormat;
use crate::edge::repository::Repository;
use crate::edge::steps::read;
use crate::edge::vault::Vault;

/// Rebuilds the git directory an agent removed from the folder or one above; true where it did.
pub(super) fn bring_back(directory: &Path, state: &Path) -> Result<bool> {
    let Ok(directory) = directory.canonicalize() else {
        return Ok(false);
    };
    for work_tree in directory.ancestors() {
        let git_dir = work_tree.join(".git");
        if fs::symlink_metadata(&git_dir).is_ok() {
            break;
        }
        let repository = Repository {
            work_tree: work_tree.to_owned(),
            common_dir: git_dir.clone(),
            git_dir,
            // What is rebuilt says itself how it names objects.
            format: ObjectFormat::Sha1,
        };
        let folder = Vault::folder_for(state, &repository);
        let lines = read(&folder.join("journal"))?;
        let Some(current) = RunState::from_journal(&lines).current else {
            continue;
        };
        if matches!(current.phase, Phase::Beginning | Phase::Still) {
            // No agent was at work: whoever removed it meant to.
            break;
        }
        let vault = Vault::open(&folder)?;
        let snapshot = Snapshot::read(&vault, &current.snapshot)?;
        if snapshot.control.is_linked() {
            break;
        }
        let trash = vault.trash(&trash_name("rebuild"));
        rebuild(&Places { repository, vault }, &snapshot, &trash)?;
        return Ok(true);
    }
    Ok(false)
}

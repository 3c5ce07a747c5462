//! A snapshot on disk: the manifest as the difference to its parent, the git directory's state,
//! the index, and the folders that are not looked into.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::error::{CheckpointError, Result};
use crate::repo::control::Control;
use crate::store::VaultFolder;
use crate::tree::manifest::Manifest;
use crate::tree::manifest::codec::{Difference, encode};
use ralph_base::files::{Tried, create_private_folder, write_whole};
use ralph_base::random_name::random_name;

/// The part of a snapshot that is not the manifest.
#[derive(Debug, Serialize, Deserialize)]
struct Description {
    parent: Option<String>,
    control: Control,
    opaque: Vec<Vec<u8>>,
    submodules: Vec<Vec<u8>>,
}

/// A snapshot in memory.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// Its name.
    pub id: String,
    /// The work tree.
    pub manifest: Arc<Manifest>,
    /// The git directory.
    pub control: Control,
    /// Folders that are not looked into.
    pub skipped: Vec<Vec<u8>>,
    /// Submodules.
    pub submodules: Vec<Vec<u8>>,
}

impl Snapshot {
    /// A new name that sorts by time.
    pub fn new_id() -> String {
        let now = jiff::Timestamp::now().strftime("%Y%m%d-%H%M%S");
        format!("{now}-{}", random_name(6))
    }

    /// The folder of a snapshot.
    pub fn folder(vault: &VaultFolder, id: &str) -> PathBuf {
        vault.snapshot(id)
    }

    /// The index kept with a snapshot.
    pub fn index(vault: &VaultFolder, id: &str) -> PathBuf {
        vault.snapshot(id).join("index")
    }

    /// Writes the snapshot as the difference to its parent.
    pub fn write(&self, vault: &VaultFolder, parent: Option<&Self>) -> Result<()> {
        let folder = vault.snapshot(&self.id);
        create_private_folder(&folder)?;
        let empty = Manifest::default();
        let base = parent.map_or(&empty, |parent| parent.manifest.as_ref());
        let bytes = encode(base, &self.manifest);
        write_whole(&folder.join("manifest"), &bytes, 0o600)?;
        let description = Description {
            parent: parent.map(|parent| parent.id.clone()),
            control: self.control.clone(),
            opaque: self.skipped.clone(),
            submodules: self.submodules.clone(),
        };
        let text = serde_json::to_vec(&description)
            .map_err(std::io::Error::other)
            .tried("write", &folder)?;
        write_whole(&folder.join("description"), &text, 0o600)?;
        Ok(())
    }

    /// The snapshot another one is the difference to.
    pub fn parent_of(vault: &VaultFolder, id: &str) -> Result<Option<String>> {
        Ok(read_description(&vault.snapshot(id))?.parent)
    }

    /// What a snapshot itself says, without its parents: the git directory and the difference.
    pub fn read_alone(vault: &VaultFolder, id: &str) -> Result<(Control, Difference)> {
        let folder = vault.snapshot(id);
        let description = read_description(&folder)?;
        Ok((description.control, read_difference(&folder)?))
    }

    /// Reads a snapshot and its parents.
    pub fn read(vault: &VaultFolder, id: &str) -> Result<Self> {
        let mut chain = Vec::new();
        let mut next = Some(id.to_owned());
        while let Some(id) = next.take() {
            let folder = vault.snapshot(&id);
            let description = read_description(&folder)?;
            let difference = read_difference(&folder)?;
            next.clone_from(&description.parent);
            chain.push((id, description, difference));
        }
        let mut manifest = Manifest::default();
        let mut newest = None;
        for (id, description, difference) in chain.into_iter().rev() {
            difference.apply(&mut manifest);
            newest = Some((id, description));
        }
        let Some((id, description)) = newest else {
            return Err(unreadable(&vault.snapshot(id)));
        };
        Ok(Self {
            id,
            manifest: Arc::new(manifest),
            control: description.control,
            skipped: description.opaque,
            submodules: description.submodules,
        })
    }
}

fn read_description(folder: &Path) -> Result<Description> {
    let path = folder.join("description");
    let bytes = fs::read(&path).tried("read", &path)?;
    serde_json::from_slice(&bytes).map_err(|_| unreadable(folder))
}

fn read_difference(folder: &Path) -> Result<Difference> {
    let path = folder.join("manifest");
    let bytes = fs::read(&path).tried("read", &path)?;
    Difference::decode(&bytes).ok_or_else(|| unreadable(folder))
}

fn unreadable(folder: &Path) -> CheckpointError {
    CheckpointError::failed(
        format!("the snapshot `{}` is damaged", folder.display()),
        "nothing was touched; the checkpoint commits are on the `ralph/` branch",
    )
}

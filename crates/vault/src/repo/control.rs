//! The parts of the git directory that are the user's state: HEAD, refs, config, hooks, info,
//! the stash, and operations in progress. Recorded with every checkpoint, restored after a failed
//! attempt.

mod changes;

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::{fs, io};

use serde::{Deserialize, Serialize};

use super::shape::{Folders, Shape};
use crate::error::Result;
use crate::git::object_id::{ObjectId, named_in};
use crate::git::repository::{Head, Refs, Repository};
use crate::paths::create_private_folder_above;
use crate::repo::RepairFor;
use crate::repo::git_paths::IN_PROGRESS;
use ralph_base::files::{
    Tried, absent, copy_with_time, move_away, move_if_there, read_if_present, write_whole,
};

/// A hook or info file larger than this is not kept byte for byte.
const LARGEST: u64 = 4 * 1024 * 1024;

/// Files of the git directory shared by all work trees.
const SHARED_FILES: &[&str] = &["config", "description", "shallow", "logs/refs/stash"];

/// Folders of the shared git directory. `branches` and `remotes` name remotes in git's oldest ways.
const SHARED_FOLDERS: &[&str] = &["branches", "hooks", "info", "remotes"];

/// Files of the work tree's own git directory.
const OWN_FILES: &[&str] = &["config.worktree", "info/sparse-checkout"];

/// Which git directory a file is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Place {
    Own,
    Shared,
}

/// One file of the git directory.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct ControlFile {
    place: Place,
    path: String,
    mode: u32,
    bytes: Vec<u8>,
    /// Too large to be kept: it stays as it is.
    #[serde(default)]
    unkept: bool,
    /// Where a symbolic link points.
    #[serde(default)]
    link: Option<PathBuf>,
}

/// The state of the git directory at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Control {
    /// Where HEAD points.
    pub head: Head,
    /// All refs.
    pub refs: Refs,
    files: Vec<ControlFile>,
    /// The `.git` file of a linked work tree.
    pointer: Option<Vec<u8>>,
    /// Kinds and modes of everything in the git directory.
    #[serde(default)]
    pub shape: Shape,
}

impl Control {
    /// Reads the files; HEAD and refs were read by git.
    pub fn read(
        repository: &Repository,
        head: Head,
        refs: Refs,
        shape: Option<Shape>,
    ) -> Result<Self> {
        let mut files = Vec::new();
        for (place, path) in present(repository)? {
            let full = root(repository, place).join(&path);
            let Ok(metadata) = fs::metadata(&full) else {
                continue;
            };
            if !metadata.is_file() {
                continue;
            }
            let unkept = metadata.len() > LARGEST;
            let bytes = if unkept {
                Some(Vec::new())
            } else {
                read_if_present(&full)?
            };
            if let Some(bytes) = bytes {
                files.push(ControlFile {
                    place,
                    path,
                    mode: metadata.mode() & 0o777,
                    bytes,
                    unkept,
                    link: fs::read_link(&full).ok(),
                });
            }
        }
        files.sort_unstable();
        let pointer = repository.work_tree.join(".git");
        let pointer = if pointer.is_file() {
            read_if_present(&pointer)?
        } else {
            None
        };
        Ok(Self {
            head,
            refs,
            files,
            pointer,
            shape: shape.unwrap_or_else(|| Shape::read(repository)),
        })
    }

    /// Every object that HEAD, a ref or a file of the git directory names.
    pub fn object_ids(&self) -> Vec<ObjectId> {
        // A list of refs as they were when it was last written; nothing is restored from it.
        let files = self.files.iter().filter(|file| file.path != "info/refs");
        let files = files.flat_map(|file| named_in(&file.bytes));
        let refs = self.refs.values().copied();
        refs.chain(self.head.commit()).chain(files).collect()
    }

    /// True where config, hooks, stash and the like are the same.
    pub fn has_files_of(&self, other: &Self) -> bool {
        self.files == other.files
    }

    /// The bytes of one shared file.
    pub fn shared(&self, path: &str) -> Option<&[u8]> {
        self.find(Place::Shared, path)
            .map(|file| file.bytes.as_slice())
    }

    /// The bytes of a file of the configuration.
    pub fn config(&self, name: &str) -> Option<&[u8]> {
        let place = config_place(name);
        self.find(place, name).map(|file| file.bytes.as_slice())
    }

    /// True where refs are kept in reftables.
    pub fn uses_reftable(&self) -> bool {
        let config = self.config("config").unwrap_or_default();
        let mut words = String::from_utf8_lossy(config).to_lowercase();
        words.retain(|c| !c.is_whitespace() && c != '"');
        words.contains("refstorage=reftable")
    }

    /// Restores one file of the configuration; false where it was not there.
    pub fn restore_config(
        &self,
        repository: &Repository,
        name: &str,
        trash: &Path,
    ) -> Result<bool> {
        let Some(file) = self.find(config_place(name), name) else {
            return Ok(false);
        };
        restore_file(repository, file, trash)
    }

    /// Replaces the bytes of a shared file.
    pub fn replace_shared(&mut self, path: &str, bytes: Vec<u8>) {
        let is_meant = |file: &&mut ControlFile| file.place == Place::Shared && file.path == path;
        if let Some(file) = self.files.iter_mut().find(is_meant) {
            file.bytes = bytes;
        }
    }

    /// True where not all of the tree is checked out.
    pub fn is_sparse(&self) -> bool {
        self.files
            .iter()
            .any(|file| file.path == "info/sparse-checkout")
    }

    /// True for a linked work tree, whose git directory is elsewhere.
    pub fn is_linked(&self) -> bool {
        self.pointer.is_some()
    }

    fn find(&self, place: Place, path: &str) -> Option<&ControlFile> {
        self.files
            .iter()
            .find(|file| file.place == place && file.path == path)
    }

    /// Restores the files: changed and missing ones are written, new ones move to the trash.
    /// The stash's log is left for after its ref. Gives the paths that had changed.
    pub fn restore_files(&self, repository: &Repository, trash: &Path) -> Result<Vec<String>> {
        let mut changed = self.shape.enforce(
            Folders::AllButObjects,
            repository,
            RepairFor::Restore,
            trash,
        )?;
        for (place, path) in present(repository)? {
            if self.find(place, &path).is_none() && path != "logs/refs/stash" {
                let full = root(repository, place).join(&path);
                // Git's own temporary files come and go.
                if move_if_there(&full, &trash.join("git").join(&path))? {
                    changed.push(path);
                }
            }
        }
        for file in &self.files {
            if file.path != "logs/refs/stash" && restore_file(repository, file, trash)? {
                changed.push(file.path.clone());
            }
        }
        changed.extend(self.end_operations(repository, trash)?);
        if let Some(pointer) = &self.pointer {
            let path = repository.work_tree.join(".git");
            if read_if_present(&path)?.as_ref() != Some(pointer) {
                if fs::symlink_metadata(&path).is_ok() {
                    move_away(&path, &trash.join("git/pointer"))?;
                }
                write_whole(&path, pointer, 0o644)?;
                changed.push(".git".to_owned());
            }
        }
        changed.sort_unstable();
        changed.dedup();
        Ok(changed)
    }

    /// Moves the state of merges, rebases and the like aside that was not there before.
    pub fn end_operations(&self, repository: &Repository, trash: &Path) -> Result<Vec<String>> {
        let mut ended = Vec::new();
        for name in IN_PROGRESS {
            let full = repository.git_dir.join(name);
            let kept = self.find(Place::Own, name).is_some();
            if !kept && fs::symlink_metadata(&full).is_ok() {
                move_away(&full, &trash.join("git").join(name))?;
                ended.push((*name).to_owned());
            }
        }
        Ok(ended)
    }

    /// Keeps this log of the stash, which is no file where refs are in tables.
    pub fn keep_stash_log(&mut self, log: Option<Vec<u8>>) {
        let path = "logs/refs/stash";
        self.files
            .retain(|file| file.place != Place::Shared || file.path != path);
        self.files.extend(log.map(|bytes| ControlFile {
            place: Place::Shared,
            path: path.to_owned(),
            mode: 0o644,
            bytes,
            unkept: false,
            link: None,
        }));
        self.files.sort_unstable();
    }

    /// Restores the stash's log, after its ref.
    pub fn restore_stash_log(&self, repository: &Repository, trash: &Path) -> Result<()> {
        if self.uses_reftable() {
            return Ok(());
        }
        if let Some(file) = self.find(Place::Shared, "logs/refs/stash") {
            restore_file(repository, file, trash)?;
        }
        Ok(())
    }
}

/// Restores one file that differs; what is in its place moves to the trash.
fn restore_file(repository: &Repository, file: &ControlFile, trash: &Path) -> Result<bool> {
    if file.unkept {
        return Ok(false);
    }
    let mut full = root(repository, file.place).join(&file.path);
    let mut relinked = false;
    if let Some(link) = &file.link {
        relinked = restore_link(&full, link, &trash.join("git").join(&file.path))?;
        // The bytes are behind the link; a missing target is restored elsewhere.
        let Ok(behind) = full.canonicalize() else {
            return Ok(relinked);
        };
        full = behind;
    }
    let same = match fs::symlink_metadata(&full) {
        Ok(metadata) => {
            metadata.is_file()
                && metadata.mode() & 0o777 == file.mode
                && read_if_present(&full)?.as_deref() == Some(file.bytes.as_slice())
        }
        Err(error) if absent(&error) => false,
        Err(error) => return Err(error).tried("look at", &full).map_err(Into::into),
    };
    if same {
        return Ok(relinked);
    }
    let aside = trash.join("git").join(&file.path);
    match fs::symlink_metadata(&full) {
        // Replaced by a rename: git never finds that there is none.
        Ok(metadata) if metadata.is_file() => keep_copy(&full, &aside)?,
        Ok(_) => move_away(&full, &aside)?,
        Err(_) => {}
    }
    create_private_folder_above(&full)?;
    write_whole(&full, &file.bytes, file.mode)?;
    Ok(true)
}

/// Keeps what is in a file that is about to be replaced.
fn keep_copy(full: &Path, aside: &Path) -> Result<()> {
    create_private_folder_above(aside)?;
    if fs::hard_link(full, aside).is_err() && copy_with_time(full, aside).is_err() {
        move_away(full, aside)?;
    }
    Ok(())
}

/// Makes a symbolic link again where it is not what it was.
fn restore_link(full: &Path, link: &Path, trash: &Path) -> Result<bool> {
    if fs::read_link(full).is_ok_and(|present| present == link) {
        return Ok(false);
    }
    if fs::symlink_metadata(full).is_ok() {
        move_away(full, &trash.with_extension("replaced"))?;
    }
    create_private_folder_above(full)?;
    std::os::unix::fs::symlink(link, full).tried("create", full)?;
    Ok(true)
}

fn config_place(name: &str) -> Place {
    match name {
        "config" => Place::Shared,
        _ => Place::Own,
    }
}

/// All control files that exist now.
fn present(repository: &Repository) -> Result<Vec<(Place, String)>> {
    let mut found = Vec::new();
    for name in SHARED_FILES {
        if repository.common_dir.join(name).is_file() {
            found.push((Place::Shared, (*name).to_owned()));
        }
    }
    for folder in SHARED_FOLDERS {
        list_files(&repository.common_dir, folder, &mut found)?;
    }
    for name in OWN_FILES.iter().chain(IN_PROGRESS) {
        let shared = repository.git_dir == repository.common_dir && name.starts_with("info/");
        if !shared && repository.git_dir.join(name).is_file() {
            found.push((Place::Own, (*name).to_owned()));
        }
    }
    Ok(found)
}

/// Lists the files of a folder and of the folders in it. Only the first may be a link: one that was
/// there at the checkpoint.
fn list_files(base: &Path, folder: &str, found: &mut Vec<(Place, String)>) -> Result<()> {
    let path = base.join(folder);
    let listing = match fs::read_dir(&path) {
        Ok(listing) => listing,
        Err(error) if absent(&error) => return Ok(()),
        // No call takes the path, so git does not read what is there.
        Err(error) if error.kind() == io::ErrorKind::InvalidFilename => return Ok(()),
        Err(error) => return Err(error).tried("list", &path).map_err(Into::into),
    };
    for entry in listing {
        let entry = entry.tried("list", &path)?;
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        let inner = format!("{folder}/{name}");
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            list_files(base, &inner, found)?;
        } else if !name.ends_with(".sample") && path.join(name).is_file() {
            found.push((Place::Shared, inner));
        }
    }
    Ok(())
}

fn root(repository: &Repository, place: Place) -> &PathBuf {
    match place {
        Place::Own => &repository.git_dir,
        Place::Shared => &repository.common_dir,
    }
}

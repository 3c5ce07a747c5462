//! LFS and annex content that is missing in the git directory is linked back from the copy in the
//! vault. An agent may remove single files of it, which nothing else notices; and the copy, which may
//! be the last one, is removed when the run ends.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{Notice, Result};
use crate::repair::{is_folder, move_aside};
use crate::repo::objects::link;
use crate::repo::{Places, Repo, git_copy};
use ralph_base::files::{Tried, absent, make_writable};

/// Tools that keep files named by their content in a folder `objects`.
const TOOLS: &[&str] = &["lfs", "annex"];

impl Repo {
    /// Links missing content back, and reports where it was missing.
    pub(crate) fn restore_content(&self, trash: &Path) -> Result<Option<Notice>> {
        let restored = restore_content(&self.places, trash)?;
        Ok((!restored.is_empty()).then(|| repaired_notice(&self.places, &restored)))
    }
}

/// Links missing content back into a git directory that is a folder; gives the folders that lacked
/// some. A link or file in place of a folder is moved to the trash, and so is what is in place of
/// content without being a file.
pub(crate) fn restore_content(places: &Places, trash: &Path) -> Result<Vec<String>> {
    let Places { repository, vault } = places;
    let pass = Pass {
        copy: git_copy::folder(vault),
        shared: &repository.common_dir,
        trash,
    };
    let mut restored = Vec::new();
    for tool in TOOLS {
        let objects = format!("{tool}/objects");
        let is_reached = is_folder(&repository.common_dir.join(tool));
        if pass.folder(Path::new(&objects), is_reached)? {
            restored.push(objects);
        }
    }
    Ok(restored)
}

/// One walk over the copy.
struct Pass<'a> {
    copy: PathBuf,
    shared: &'a Path,
    trash: &'a Path,
}

impl Pass<'_> {
    /// Links back what is missing below a folder; true where something was. `is_reached` where all
    /// that the folder is in are folders of the git directory, and not links.
    fn folder(&self, relative: &Path, is_reached: bool) -> Result<bool> {
        let source = self.copy.join(relative);
        let listing = match fs::read_dir(&source) {
            Err(error) if absent(&error) => return Ok(false),
            listing => listing.tried("list", &source)?,
        };
        let is_reached = is_reached && is_folder(&self.shared.join(relative));
        let mut any = false;
        for entry in listing {
            let entry = entry.tried("list", &source)?;
            let kind = entry.file_type().tried("look at", &entry.path())?;
            let path = relative.join(entry.file_name());
            if kind.is_dir() {
                any |= self.folder(&path, is_reached)?;
            } else if kind.is_file() && !(is_reached && is_file(&self.shared.join(&path))) {
                any |= self.restore(&path)?;
            }
        }
        Ok(any)
    }

    /// Links one file back; false where it was there after all, in a folder that was locked.
    fn restore(&self, path: &Path) -> Result<bool> {
        if let Some(parent) = path.parent() {
            folders_of(parent).try_for_each(|folder| self.make_folder(folder))?;
        }
        let target = self.shared.join(path);
        if is_file(&target) {
            return Ok(false);
        }
        move_aside(&target, self.trash, path)?;
        link(&self.copy.join(path), &target)?;
        Ok(true)
    }

    /// Makes a folder, where there is none, and opens it.
    fn make_folder(&self, folder: &Path) -> Result<()> {
        let full = self.shared.join(folder);
        if !is_folder(&full) {
            move_aside(&full, self.trash, folder)?;
            fs::create_dir(&full).tried("create", &full)?;
        }
        make_writable(&full);
        Ok(())
    }
}

/// A relative path and the folders it is in, from the top down.
fn folders_of(path: &Path) -> impl Iterator<Item = &Path> {
    let mut folders: Vec<_> = path.ancestors().collect();
    // The last one is empty.
    folders.pop();
    folders.into_iter().rev()
}

fn is_file(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|it| it.is_file())
}

/// The notice about parts that were missing.
pub(crate) fn repaired_notice(places: &Places, parts: &[String]) -> Notice {
    let vault = places.vault.folder().display();
    let message = format!(
        "missing or damaged in the git directory, and restored from the vault `{vault}`: {}",
        parts.join(", ")
    );
    Notice::new("git_repaired", message)
}

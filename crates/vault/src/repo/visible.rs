//! What the user sees: the index, tree and commit of a checkpoint, made in a private index with
//! git's own semantics (line endings, filters, modes), without touching HEAD, index or files.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::{fs, io};

use super::control::Control;
use super::frozen_config::flat;
use super::settings::RawSettings;
use crate::error::{Notice, Result};
use crate::git::process::{Git, Started};
use crate::paths::{absolute, folders_above, is_pipe, show};
use crate::repo::Repo;
use crate::repo::snapshot::Snapshot;
use crate::tree::manifest::{Changes, Content, Entry, Lane, Manifest};
use crate::tree::scanned::Scanned;
use ralph_base::files::{Tried, create_private_folder, write_whole};
use ralph_base::temporary_files::is_temporary;

/// Git is answering what the settings are; see [`Repo::ask_settings`].
#[derive(Debug)]
pub(crate) struct AskedSettings {
    config: Started,
    variables: Started,
}

impl AskedSettings {
    /// Waits for the answers.
    pub(crate) fn answer(self) -> Result<RawSettings> {
        let config = self.config.answer()?;
        // Without an identity git refuses to list any, which a commit would say better.
        let variables = self.variables.answer().unwrap_or_default();
        Ok(RawSettings {
            config: flat(&config),
            variables: String::from_utf8_lossy(&variables).into_owned(),
        })
    }
}

impl Repo {
    /// Asks git for the user's configuration and for its own variables, both at the same time.
    pub(crate) fn ask_settings(&self) -> Result<AskedSettings> {
        Ok(AskedSettings {
            config: self.gits.user.start(["config", "--list", "-z"])?,
            variables: self.gits.user.start(["var", "-l"])?,
        })
    }

    /// Makes the private git directory: the user's configuration as it was asked for, and ours over
    /// it.
    pub(crate) fn prepare_work_dir(&self, settings: &RawSettings, control: &Control) -> Result<()> {
        let format = self.places.repository.format;
        let config = format!(
            "{}[core]\n\trepositoryformatversion = 1\n\tbare = false\n\tsplitIndex = false\n\
             \tsparseCheckout = false\n[index]\n\tsparse = false\n\
             [extensions]\n\tobjectFormat = {}\n",
            settings.config,
            format.name()
        );
        self.learn_settings(settings);
        let mut files = vec![
            ("config", config.into_bytes()),
            ("HEAD", b"ref: refs/heads/none\n".to_vec()),
            ("info/exclude", bytes_of(control, "info/exclude")),
            ("info/attributes", bytes_of(control, "info/attributes")),
        ];
        if control.is_sparse() {
            // Some rules for ignored files may be in the index alone.
            files.push(("info/sparse-checkout", Vec::new()));
        }
        let folder = self.places.vault.scratch("work");
        let shared = self.places.repository.common_dir.clone();
        for name in ["refs/heads", "info", "objects"] {
            create_private_folder(&folder.join(name))?;
        }
        for (name, bytes) in files {
            write_whole(&folder.join(name), &bytes, 0o600)?;
        }
        if let Some(section) = lead_to_lfs(&folder, &shared, |place, link| symlink(place, link)) {
            let config = folder.join("config");
            let text = fs::read_to_string(&config).tried("read", &config)?;
            write_whole(&config, format!("{text}{section}").as_bytes(), 0o600)?;
        }
        Ok(())
    }

    /// Git that uses no attributes where a pipe is in their place: it would wait for the pipe.
    pub(crate) fn without_piped_attributes(&self, git: &Git, paths: &[Vec<u8>]) -> Git {
        let top = &self.places.repository.work_tree;
        let is_piped = |folder: &[u8]| is_pipe(&absolute(top, folder).join(".gitattributes"));
        if folders_above(paths).into_iter().any(is_piped) {
            git.with_attributes_of(self.places.repository.format.empty_tree())
        } else {
            git.clone()
        }
    }

    /// Names links in the place of `.gitmodules`, which git silently keeps out of the index.
    pub(super) fn report_links_to_modules(&self, paths: &[Vec<u8>]) -> Vec<Notice> {
        let top = &self.places.repository.work_tree;
        let is_link = |path: &Vec<u8>| {
            let metadata = fs::symlink_metadata(absolute(top, path));
            metadata.is_ok_and(|metadata| metadata.is_symlink())
        };
        let links = paths
            .iter()
            .filter(|path| is_modules_file(path) && is_link(path));
        let notice = |path: &Vec<u8>| {
            Notice::new(
                "not_committed",
                format!(
                    "git stores no symbolic link named `.gitmodules`, so `{}` is only in the vault",
                    show(path)
                ),
            )
        };
        links.map(notice).collect()
    }
}

/// Git LFS keeps its objects in the git directory; they belong into the user's. A link leads there, or,
/// on a file system without links (exFAT), a setting: the section that is returned.
fn lead_to_lfs(
    folder: &Path,
    shared: &Path,
    link: fn(&Path, &Path) -> io::Result<()>,
) -> Option<String> {
    let lfs = folder.join("lfs");
    if fs::symlink_metadata(&lfs).is_ok_and(|metadata| metadata.is_symlink()) {
        return None;
    }
    let place = shared.join("lfs");
    link(&place, &lfs).err()?;
    let quoted = place
        .to_string_lossy()
        .replace('\\', "\\\\")
        .replace('"', "\\\"");
    Some(format!("[lfs]\n\tstorage = \"{quoted}\"\n"))
}

fn bytes_of(control: &Control, path: &str) -> Vec<u8> {
    control.shared(path).unwrap_or_default().to_vec()
}

/// The paths of the changes that belong into a commit.
pub(crate) fn visible_paths(
    changes: &Changes,
    before: &Manifest,
    after: &Manifest,
) -> Vec<Vec<u8>> {
    let is_visible = |manifest: &Manifest, path: &Vec<u8>| {
        manifest.entries.get(path).is_some_and(Entry::is_visible)
    };
    // A file that may not be read cannot be stored, and one that is kept out now stays in commits as it
    // was.
    let is_storable = |path: &Vec<u8>| {
        let entry = after.entries.get(path);
        entry.is_none_or(|entry| entry.content != Content::Unkept && entry.lane != Lane::Kept)
    };
    changes
        .paths()
        .filter(|path| is_visible(before, path) || is_visible(after, path))
        .filter(|path| is_storable(path) && !is_temporary(path))
        .cloned()
        .collect()
}

/// Modified paths that git would take for unchanged: it compares whole seconds.
fn unnoticeable(changes: &Changes, before: &Manifest, after: &Manifest) -> Vec<Vec<u8>> {
    const SECOND: i64 = 1_000_000_000;
    let same_to_git = |old: &Entry, new: &Entry| {
        old.stat.size == new.stat.size
            && old.stat.inode == new.stat.inode
            && old.stat.modified_ns / SECOND == new.stat.modified_ns / SECOND
            && old.stat.changed_ns / SECOND == new.stat.changed_ns / SECOND
    };
    changes
        .modified
        .iter()
        .filter(
            |path| match (before.entries.get(*path), after.entries.get(*path)) {
                (Some(old), Some(new)) => old.is_visible() && same_to_git(old, new),
                _ => false,
            },
        )
        .cloned()
        .collect()
}

/// Paths to remove from the private index before they are added: those git would treat as
/// unchanged, and in a sparse checkout those it would take for not meant to be here.
pub(crate) fn to_forget(base: &Snapshot, scanned: &Scanned) -> Vec<Vec<u8>> {
    let mut paths = unnoticeable(&scanned.changes, &base.manifest, &scanned.manifest);
    if base.control.is_sparse() {
        paths.extend(scanned.changes.created.iter().cloned());
    }
    paths
}

/// Paths as git reads them, each with its end.
pub(crate) fn nul_joined(paths: &[Vec<u8>]) -> Vec<u8> {
    paths
        .iter()
        .flat_map(|path| [path, &[0][..]].concat())
        .collect()
}

/// True for a file that names submodules: git stores no link of that name.
pub(super) fn is_modules_file(path: &[u8]) -> bool {
    let name = path.rsplit(|byte| *byte == b'/').next();
    name.is_some_and(|name| name.eq_ignore_ascii_case(b".gitmodules"))
}

pub(super) fn lacks_identity(stderr: &str) -> bool {
    stderr.contains("tell me who you are")
        || stderr.contains("empty ident")
        || stderr.contains("no email was given")
        || stderr.contains("no name was given")
        || stderr.contains("auto-detect email")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vault_without_links_names_the_place_of_lfs_objects_in_its_configuration() {
        let folder = tempfile::tempdir().unwrap();
        let shared = Path::new("/a \"b\"/.git");
        let refused = |_: &Path, _: &Path| Err(io::ErrorKind::PermissionDenied.into());
        let section = lead_to_lfs(folder.path(), shared, refused).unwrap();
        let config = folder.path().join("config");
        fs::write(&config, section).unwrap();
        let output = std::process::Command::new("git")
            .args(["config", "--file"])
            .arg(&config)
            .args(["--get", "lfs.storage"])
            .output()
            .unwrap();
        assert_eq!(output.stdout, b"/a \"b\"/.git/lfs\n");
        assert_eq!(
            lead_to_lfs(folder.path(), shared, |place, link| symlink(place, link)),
            None
        );
        let link = fs::read_link(folder.path().join("lfs")).unwrap();
        assert_eq!(link, shared.join("lfs"));
        assert_eq!(lead_to_lfs(folder.path(), shared, refused), None);
    }
}

//! The git directories of submodules, `.git/modules/*`: their HEAD, refs, config, index and hooks
//! are user state like the repository's own. They are entries of the manifest, named `.git/modules/…`
//! wherever they really are, and their objects are linked into the vault.

use std::path::{Path, PathBuf};

use crate::error::Result;
use crate::paths::{PREFIX, absolute, is_module_path, normal, show};
use crate::repo::objects::link_back;
use crate::repo::snapshot::Snapshot;
use crate::repo::{Places, Repo};
use crate::tree::manifest::{Entry, Found, Manifest};
use crate::tree::scanned::{Scanned, below};
use crate::tree::walk::{Walk, WalkRoot, stat_path, walk};
use ralph_base::files::{Tried, absent, read_line_file};

/// Folders of a git directory that are not walked: objects are linked instead, those of LFS can be
/// fetched again.
const NOT_WALKED: [&[u8]; 2] = [b"objects", b"lfs"];

/// No call of the system takes the paths of files in a folder with a longer path.
const LONGEST_FOLDER: usize = 4095 - 320;

impl Places {
    /// Where a path of a manifest really is.
    pub(crate) fn full(&self, path: &[u8]) -> PathBuf {
        match path.strip_prefix(b".git/") {
            Some(rest) if is_module_path(path) => absolute(&self.repository.git_dir, rest),
            _ => absolute(&self.repository.work_tree, path),
        }
    }
}

/// Walks the git directories of all submodules.
pub(crate) fn walk_modules(places: &Places, base: &Manifest) -> Result<Walk> {
    let enter = |path: &[u8], on_disk: &Path| {
        if on_disk.as_os_str().len() > LONGEST_FOLDER {
            return false;
        }
        let name = path.rsplit(|byte| *byte == b'/').next();
        let is_data = name.is_some_and(|name| NOT_WALKED.contains(&name));
        // A submodule may be called `objects`; only beside a HEAD it is what we mean.
        !(is_data && on_disk.with_file_name("HEAD").exists())
    };
    let root = WalkRoot {
        folder: &places.full(PREFIX),
        name: PREFIX,
        base,
        enter: &enter,
    };
    let mut whole = walk(root, PREFIX)?;
    let top = stat_path(&places.repository.git_dir, b"modules")?.map(|found| Found {
        path: PREFIX.to_vec(),
        ..found
    });
    base.suspect(PREFIX, top, &mut whole.suspects);
    // What is not walked is not skipped either: it goes and comes with its git directory.
    whole.skipped.clear();
    Ok(whole)
}

/// The git directories of submodules that a manifest names.
fn module_folders(manifest: &Manifest) -> impl Iterator<Item = &[u8]> {
    module_entries(manifest).filter_map(|(path, _)| {
        let folder = path.strip_suffix(b"/HEAD")?;
        let config = [folder, b"/config"].concat();
        manifest.entries.contains_key(&config).then_some(folder)
    })
}

/// Everything a manifest knows of submodules' git directories.
pub(crate) fn module_entries(manifest: &Manifest) -> impl Iterator<Item = (&Vec<u8>, &Entry)> {
    manifest
        .entries
        .range(PREFIX.to_vec()..)
        .take_while(|(path, _)| is_module_path(path))
}

/// Where the vault keeps the objects of a submodule.
fn kept_objects(places: &Places, folder: &[u8]) -> PathBuf {
    let name = folder.strip_prefix(b".git/").unwrap_or(folder);
    absolute(places.vault.folder(), name).join("objects")
}

impl Repo {
    /// Links objects that submodules have gained into the vault.
    pub(crate) fn link_module_objects(&self, manifest: &Manifest) -> Result<()> {
        for folder in module_folders(manifest) {
            let objects = self.places.full(folder).join("objects");
            let kept = kept_objects(&self.places, folder);
            self.objects.link_module(folder, &objects, &kept)?;
        }
        Ok(())
    }

    /// Links back what submodules lack of their objects.
    pub(crate) fn bring_back_module_objects(&self, base: &Manifest) -> Result<()> {
        for folder in module_folders(base) {
            let objects = self.places.full(folder).join("objects");
            let kept = kept_objects(&self.places, folder);
            if kept.is_dir() {
                std::fs::create_dir_all(&objects).tried("create", &objects)?;
                link_back(&kept, &objects)?;
            }
        }
        Ok(())
    }

    /// Writes the git directories of submodules after the repository's own was created again.
    pub(crate) fn rebuild_modules(&self, base: &Snapshot, trash: &Path) -> Result<()> {
        let wanted: Vec<_> = module_entries(&base.manifest)
            .map(|(path, entry)| (path.clone(), entry.clone()))
            .collect();
        self.write_whole_paths(wanted, trash)?;
        self.bring_back_module_objects(&base.manifest)
    }

    /// Restores the git directories of submodules that lost a part git does not do without, where the
    /// work tree still points to them; gives their paths. What goes together with its submodule was
    /// removed on purpose.
    pub(crate) fn restore_lost_modules(
        &self,
        base: &Snapshot,
        trash: &Path,
    ) -> Result<Vec<String>> {
        // One that may not be read is opened elsewhere.
        let is_gone = |path: PathBuf| {
            let found = std::fs::symlink_metadata(path);
            found.is_err_and(|error| absent(&error))
        };
        let is_lost = |folder: &&[u8]| {
            let full = self.places.full(folder);
            let mut parts = ["HEAD", "objects", "refs"].iter();
            parts.any(|part| is_gone(full.join(part)))
        };
        let mut lost: Vec<&[u8]> = module_folders(&base.manifest).filter(is_lost).collect();
        if lost.is_empty() {
            return Ok(Vec::new());
        }
        let named = self.named_modules(base);
        lost.retain(|folder| named.contains(&self.places.full(folder)));
        for folder in &lost {
            let entries = below(&base.manifest.entries, folder);
            let wanted = entries.map(|(path, entry)| (path.clone(), entry.clone()));
            self.write_whole_paths(wanted.collect(), trash)?;
        }
        self.bring_back_module_objects(&base.manifest)?;
        Ok(lost.into_iter().map(show).collect())
    }

    /// The git directories that submodules in the work tree point to.
    fn named_modules(&self, base: &Snapshot) -> Vec<PathBuf> {
        let paths = base.manifest.entries.keys();
        let pointers = paths.filter(|path| path.ends_with(b"/.git"));
        let folders = pointers.filter_map(|path| {
            let pointer = self.places.full(path);
            let text = read_line_file(&pointer).ok()?;
            let folder = text.trim_ascii_end().strip_prefix(b"gitdir: ")?;
            Some(normal(&absolute(pointer.parent()?, folder)))
        });
        folders.collect()
    }
}

/// Folders a story made into repositories of their own: git cannot hold what is in them.
pub(crate) fn new_repositories(scanned: &Scanned, submodules: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let holds_visible = |folder: &[u8]| {
        let entries = &scanned.manifest.entries;
        below(entries, folder).any(|(_, entry)| entry.is_visible())
    };
    let created = scanned.changes.created.iter();
    created
        .filter_map(|path| path.strip_suffix(b"/.git"))
        .filter(|folder| !submodules.iter().any(|it| it == folder) && !holds_visible(folder))
        .map(<[u8]>::to_vec)
        .collect()
}

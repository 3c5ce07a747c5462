//! Merging: what an attempt wrote to its overlay goes into the real tree. The upper layer stays as
//! it is; nothing of the tree is unlinked that is not kept elsewhere; no other path is touched.

use std::collections::BTreeSet;
use std::fs::{self, File, FileTimes, Metadata};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, fchown, lchown, symlink};
use std::path::Path;

use super::upper::{Item, Kind, kind_of, list};
use super::view::keeps_git;
use crate::edge::files::{
    FileError, Tried, copy_with_time, create_private_folder, free_name, make_writable, move_away,
    place,
};
use crate::edge::manifest::{Content, Manifest, Stat};
use crate::edge::os;
use crate::edge::sparse;
use crate::edge::walk::{absolute, look};

/// What goes where.
pub(crate) struct Merge<'a> {
    /// What the attempt wrote.
    pub(crate) upper: &'a Path,
    /// The real work tree.
    pub(crate) tree: &'a Path,
    /// Where what is removed goes.
    pub(crate) trash: &'a Path,
    /// The tree just before, with its bytes kept in the vault.
    pub(crate) before: &'a Manifest,
    /// What the user changed in it while the agent worked.
    pub(crate) edited: &'a BTreeSet<Vec<u8>>,
    /// Cache folders: what is in them is made by tools, and made again.
    pub(crate) caches: &'a [Vec<u8>],
}

/// What a merge has to tell.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Merged {
    /// Paths the user had edited meanwhile and the agent, too: the user's version is in the trash.
    pub(crate) displaced: Vec<Vec<u8>>,
    /// Pipes, sockets and devices, which are not merged.
    pub(crate) left_out: Vec<Vec<u8>>,
    /// Folders nested too deep, which are not merged.
    pub(crate) too_deep: Vec<Vec<u8>>,
    /// The attempt removed or replaced the git directory, which is left as it is.
    pub(crate) git_left_alone: bool,
}

impl Merge<'_> {
    /// Merges everything.
    pub(crate) fn run(&self) -> Result<Merged, FileError> {
        let mut merged = Merged {
            git_left_alone: !keeps_git(self.tree, self.upper),
            ..Merged::default()
        };
        let items = self.plan()?;
        for item in &items {
            self.put(item, &mut merged)?;
        }
        self.folder_modes(&items)?;
        Ok(merged)
    }

    /// All that is to be done, in order.
    pub(crate) fn plan(&self) -> Result<Vec<Item>, FileError> {
        let files = list(self.upper, self.tree, b"")?;
        // A ref must not name an object that is not there yet.
        let (objects, others): (Vec<_>, Vec<_>) = self
            .git_items()?
            .into_iter()
            .partition(|item| rank(item) == 0);
        Ok([objects, files, others].concat())
    }

    /// The git directory in an order in which it is usable at any moment.
    fn git_items(&self) -> Result<Vec<Item>, FileError> {
        let changed = kind_of(&self.upper.join(".git")).is_ok();
        if !changed || !keeps_git(self.tree, self.upper) {
            return Ok(Vec::new());
        }
        let mut items = list(self.upper, self.tree, b".git")?;
        items.sort_by_key(rank);
        Ok(items)
    }

    /// Does one of them; done twice it is the same as once.
    pub(crate) fn put(&self, item: &Item, merged: &mut Merged) -> Result<(), FileError> {
        let path = &item.path;
        let target = absolute(self.tree, path);
        let parent = target.parent().unwrap_or(self.tree).to_owned();
        let locked = make_writable(&parent);
        let put = match item.kind {
            Kind::Folder => self.put_folder(path, &target, merged),
            Kind::File => self.put_file(path, &target, merged),
            Kind::Link => self.put_link(path, &target, merged),
            Kind::Gone => self.remove(path, &target, merged),
            Kind::Special => {
                merged.left_out.push(path.clone());
                Ok(())
            }
            Kind::Deep => {
                merged.too_deep.push(path.clone());
                Ok(())
            }
        };
        if let Some(mode) = locked {
            let _ = fs::set_permissions(&parent, fs::Permissions::from_mode(mode));
        }
        put
    }

    fn put_folder(&self, path: &[u8], target: &Path, merged: &mut Merged) -> Result<(), FileError> {
        match fs::symlink_metadata(target) {
            Ok(present) if present.is_dir() => return Ok(()),
            Ok(_) => self.remove(path, target, merged)?,
            Err(_) => {}
        }
        // Its mode comes last, when it is filled.
        fs::create_dir(target).tried("create", target)?;
        let source = absolute(self.upper, path);
        let new = fs::symlink_metadata(&source).tried("look at", &source)?;
        if os::is_root() {
            // Only root writes files of others.
            let _ = chown(target, Some(new.uid()), Some(new.gid()));
        }
        Ok(())
    }

    fn put_file(&self, path: &[u8], target: &Path, merged: &mut Merged) -> Result<(), FileError> {
        let source = absolute(self.upper, path);
        let new = fs::symlink_metadata(&source).tried("look at", &source)?;
        if let Ok(old) = fs::symlink_metadata(target) {
            // A file that was only opened for writing is in the upper layer, too.
            if old.is_file() && is_same(&source, &new, target, &old)? {
                return Ok(());
            }
            if is_git(path) && old.is_file() {
                self.keep_copy(path, target)?;
            } else if self.edited.contains(path) || !old.is_file() || !self.may_replace(path) {
                self.remove(path, target, merged)?;
            } else if self.was_edited_just_now(path)? {
                merged.displaced.push(path.to_vec());
                self.remove(path, target, merged)?;
            }
        }
        let opened = make_readable(&source, &new);
        let bytes = File::open(&source).tried("read", &source)?;
        if opened {
            let _ = fs::set_permissions(&source, fs::Permissions::from_mode(new.mode() & 0o7777));
        }
        let modified = new.modified().tried("look at", &source)?;
        place(target, |file| {
            sparse::copy(&bytes, file)?;
            // The owner first: a change of it clears some bits of the mode.
            if os::is_root() {
                let _ = fchown(&*file, Some(new.uid()), Some(new.gid()));
            }
            file.set_permissions(fs::Permissions::from_mode(new.mode() & 0o7777))?;
            file.set_times(FileTimes::new().set_modified(modified))
        })
    }

    fn put_link(&self, path: &[u8], target: &Path, merged: &mut Merged) -> Result<(), FileError> {
        let source = absolute(self.upper, path);
        let link = fs::read_link(&source).tried("read", &source)?;
        if fs::read_link(target).is_ok_and(|present| present == link) {
            return Ok(());
        }
        self.remove(path, target, merged)?;
        symlink(&link, target).tried("create", target)?;
        if os::is_root() {
            let new = fs::symlink_metadata(&source).tried("look at", &source)?;
            let _ = lchown(target, Some(new.uid()), Some(new.gid()));
        }
        Ok(())
    }

    /// Moves what is at a path to the trash.
    fn remove(&self, path: &[u8], target: &Path, merged: &mut Merged) -> Result<(), FileError> {
        if fs::symlink_metadata(target).is_err() {
            return Ok(());
        }
        let start = [path, b"/"].concat();
        let below = self.edited.range(start.clone()..);
        let below = below.take_while(|edited| edited.starts_with(&start));
        let edited = self.edited.get(path).into_iter().chain(below);
        let present = edited.filter(|path| fs::symlink_metadata(absolute(self.tree, path)).is_ok());
        merged.displaced.extend(present.cloned());
        move_away(target, &free_name(&absolute(self.trash, path)))
    }

    /// Keeps what a file of the git directory was, which is replaced in one step.
    fn keep_copy(&self, path: &[u8], target: &Path) -> Result<(), FileError> {
        let kept = free_name(&absolute(self.trash, path));
        if let Some(folder) = kept.parent() {
            create_private_folder(folder)?;
        }
        if fs::hard_link(target, &kept).is_err() {
            copy_with_time(target, &kept)?;
        }
        Ok(())
    }

    /// True where the bytes of a path are in the vault, or are those of a cache.
    fn may_replace(&self, path: &[u8]) -> bool {
        let is_cache = self.caches.iter().any(|folder| {
            path.strip_prefix(folder.as_slice())
                .is_some_and(|rest| rest.starts_with(b"/"))
        });
        is_cache || {
            let entry = self.before.entries.get(path);
            entry.is_some_and(|entry| entry.content != Content::Unkept)
        }
    }

    /// True where a file is no longer the one whose bytes were kept just before the merge.
    fn was_edited_just_now(&self, path: &[u8]) -> Result<bool, FileError> {
        let Some(entry) = self.before.entries.get(path) else {
            return Ok(false);
        };
        // Not the time of the last status change: that of a file with two names changes with both.
        let fields = |stat: &Stat| (stat.size, stat.modified_ns, stat.inode);
        let now = look(self.tree, path)?;
        Ok(now.is_some_and(|now| fields(&now.stat) != fields(&entry.stat)))
    }

    /// Folders get their modes last, the innermost first, so that a locked one could be filled.
    fn folder_modes(&self, items: &[Item]) -> Result<(), FileError> {
        let top = fs::symlink_metadata(self.upper).tried("look at", self.upper)?;
        let top = Item {
            path: Vec::new(),
            kind: Kind::Folder,
            mode: top.mode() & 0o7777,
        };
        let folders = items.iter().filter(|item| item.kind == Kind::Folder);
        let mut folders: Vec<&Item> = folders.chain([&top]).collect();
        folders.sort_unstable_by(|a, b| b.path.cmp(&a.path));
        for folder in folders {
            let target = absolute(self.tree, &folder.path);
            let old = fs::symlink_metadata(&target).tried("look at", &target)?;
            if old.mode() & 0o7777 != folder.mode {
                let mode = fs::Permissions::from_mode(folder.mode);
                fs::set_permissions(&target, mode).tried("set the mode of", &target)?;
            }
        }
        Ok(())
    }
}

fn is_git(path: &[u8]) -> bool {
    path.starts_with(b".git/")
}

/// When a path of the git directory is put in place.
fn rank(item: &Item) -> u8 {
    let path = item.path.strip_prefix(b".git/").unwrap_or_default();
    let is_object = path.starts_with(b"objects/") || path == b"objects";
    match (item.kind, path) {
        // What others may still name goes last.
        (Kind::Gone, _) => 7 + u8::from(is_object),
        (Kind::Folder, _) => 0,
        // The index of a pack makes git look for the pack.
        _ if is_object => u8::from(path.ends_with(b".idx")),
        (_, b"HEAD") => 6,
        (_, b"index") => 5,
        _ if path.starts_with(b"refs/") => 4,
        (_, b"packed-refs") => 3,
        _ => 2,
    }
}

/// True where nothing would change.
fn is_same(
    source: &Path,
    new: &Metadata,
    target: &Path,
    old: &Metadata,
) -> Result<bool, FileError> {
    let stat = |it: &Metadata| (it.size(), it.mode(), it.mtime(), it.mtime_nsec());
    if stat(new) != stat(old) {
        return Ok(false);
    }
    let (Ok(one), Ok(two)) = (File::open(source), File::open(target)) else {
        return Ok(false);
    };
    sparse::same_bytes(&one, &two).tried("read", source)
}

/// A file its owner may not read is opened for us; true where that was needed.
fn make_readable(file: &Path, metadata: &Metadata) -> bool {
    let mode = metadata.mode() & 0o7777;
    mode & 0o400 == 0 && fs::set_permissions(file, fs::Permissions::from_mode(mode | 0o400)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edge::manifest::{self, Entry, Lane};
    use crate::edge::object_id::{ObjectFormat, ObjectId};
    use pretty_assertions::assert_eq;

    #[test]
    fn a_file_that_changes_while_the_merge_begins_is_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["upper", "tree"] {
            fs::create_dir(at(name)).unwrap();
        }
        fs::write(at("upper/a"), "agent").unwrap();
        fs::write(at("upper/b"), "agent").unwrap();
        fs::write(at("tree/a"), "as it was").unwrap();
        fs::write(at("tree/b"), "as it was").unwrap();
        let mut before = Manifest::default();
        for name in ["a", "b"] {
            let found = look(&at("tree"), name.as_bytes()).unwrap().unwrap();
            let id = ObjectId::of_blob(ObjectFormat::Sha1, 9, &b"as it was"[..]).unwrap();
            let entry = Entry {
                kind: manifest::Kind::File,
                stat: found.stat,
                content: Content::Raw(id),
                lane: Lane::Committed,
            };
            before.entries.insert(name.into(), entry);
        }
        fs::write(at("tree/a"), "edited just now").unwrap();
        let merge = Merge {
            upper: &at("upper"),
            tree: &at("tree"),
            trash: &at("trash"),
            before: &before,
            edited: &BTreeSet::new(),
            caches: &[],
        };
        let merged = merge.run().unwrap();
        assert_eq!(merged.displaced, [b"a".to_vec()]);
        let read = |name: &str| fs::read_to_string(at(name)).unwrap();
        assert_eq!(
            (read("tree/a").as_str(), read("tree/b").as_str()),
            ("agent", "agent")
        );
        assert_eq!(read("trash/a"), "edited just now");
        assert!(!at("trash/b").exists());
    }
}

//! What a git directory holds besides the objects, refs and files that a snapshot has: reflogs, the
//! git directories of linked work trees, LFS and annex content, what other tools keep there. Copied
//! into the vault before each attempt, so that a git directory an agent removes comes back whole.
//!
//! Files that are never rewritten in place (below a folder `objects`) are hard-linked; others are
//! copied, and only when their stat fields changed.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use super::shape::Shape;
use crate::error::Result;
use crate::git::repository::Repository;
use crate::paths::{create_folder_above, normal};
use crate::repo::{Places, RepairFor, Repo};
use crate::stat::{Stat, changed_ns, clock_slack_ns, now_ns, stat};
use crate::store::{TOKEN_FILE, VaultFolder};
use ralph_base::files::{
    Tried, absent, copy_with_time, create_private_folder, read_if_present, read_line_file,
    write_whole,
};

/// Larger files are hard-linked even where git might rewrite them in place.
const LARGEST_COPY: u64 = 64 * 1024 * 1024;

/// The most bytes that are copied in all where links do not work, as on another file system.
const LARGEST_TOTAL: u64 = 1024 * 1024 * 1024;

/// Files that are not copied: git's own logs and locks of the moment, and our token.
const ELSEWHERE: &[&str] = &["gc.log", "gc.pid", TOKEN_FILE];

/// Folders whose parts are restored one by one where only some were removed.
const IN_PARTS: &[&str] = &["worktrees", "lfs", "annex"];

/// What the git directory of a linked work tree is nothing without.
const OF_WORK_TREE: &[&str] = &["HEAD", "commondir", "gitdir", "index", "logs/HEAD"];

/// Folders a snapshot restores itself, and which may be gone for good reasons.
const OF_SNAPSHOT: &[&str] = &[
    "hooks",
    "info",
    "objects",
    "refs",
    "rebase-merge",
    "rebase-apply",
    "sequencer",
];

/// The copy, and what is known of its files.
#[derive(Debug, Default)]
pub(crate) struct GitCopy {
    /// The fields of each file when it was copied last.
    last_copied: HashMap<PathBuf, Stat>,
    /// Everything the copy has, once it was brought up to date.
    present: Option<HashSet<PathBuf>>,
    /// When anything in the git directory changed last, apart from objects.
    youngest_ns: i64,
    /// Bytes copied because they could not be linked.
    copied: u64,
    left_out: Option<Vec<String>>,
}

/// How much of what is missing is restored from the copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    Everything,
    /// Whole folders, as far as a save or a restore needs them.
    NeededFolders(RepairFor),
}

impl Repo {
    /// Copies what no snapshot has of the git directory; `is_first` where a run begins.
    pub(crate) fn keep_git_directory(&self, is_first: bool) -> Result<()> {
        let Places { repository, vault } = &self.places;
        self.git_copy
            .borrow_mut()
            .update(repository, vault, is_first)
    }

    /// The git directory, where nothing in it changed since it was last copied, right before the
    /// attempt began. It goes by the time of change, which cannot be set back. Bytes and modes of
    /// objects may have changed nevertheless.
    pub(crate) fn git_untouched(&self) -> Option<Untouched> {
        let since_ns = self.git_copy.borrow_mut().youngest_ns;
        let (shape, times) = Shape::read_with_times(&self.places.repository)?;
        is_untouched(since_ns, times.youngest_ns, now_ns()).then_some(Untouched {
            since_ns,
            shape,
            object_folders: times.object_folders,
        })
    }
}

/// A git directory that an attempt left as it was, apart from objects.
#[derive(Debug)]
pub(crate) struct Untouched {
    /// When anything in it changed last.
    pub since_ns: i64,
    pub shape: Shape,
    /// The folders that hold objects, by their names below `objects`.
    pub object_folders: Vec<(String, Metadata)>,
}

impl GitCopy {
    /// Brings the copy up to date. What cannot be copied is noted, and reported should it be missed.
    /// Linked content that is gone stays in the copy until the next run begins (`is_first`).
    pub(crate) fn update(
        &mut self,
        repository: &Repository,
        vault: &VaultFolder,
        is_first: bool,
    ) -> Result<()> {
        let target = folder(vault);
        create_private_folder(&target)?;
        let top = fs::symlink_metadata(&repository.common_dir);
        self.youngest_ns = top.map_or(0, |it| changed_ns(&it));
        let mut visit = Visit {
            repository,
            target: &target,
            copy: self,
            found: HashSet::new(),
            left_out: Vec::new(),
        };
        visit.folder(Path::new(""));
        let Visit {
            found, left_out, ..
        } = visit;
        self.drop_gone(&target, found, is_first);
        if self.left_out.as_ref() != Some(&left_out) {
            let note = note(vault);
            if !left_out.is_empty() || note.exists() {
                write_whole(&note, left_out.join("\n").as_bytes(), 0o600)?;
            }
            self.left_out = Some(left_out);
        }
        Ok(())
    }

    /// Forgets what was removed from the git directory.
    fn drop_gone(&mut self, target: &Path, mut found: HashSet<PathBuf>, is_first: bool) {
        let present = self.present.take();
        for path in present.unwrap_or_else(|| list(target)) {
            if found.contains(&path) {
                continue;
            }
            if is_first || !is_constant(&path) {
                let _ = fs::remove_file(target.join(&path));
                self.last_copied.remove(&path);
            } else {
                found.insert(path);
            }
        }
        self.present = Some(found);
    }
}

/// One pass over a git directory.
struct Visit<'a> {
    repository: &'a Repository,
    target: &'a Path,
    copy: &'a mut GitCopy,
    found: HashSet<PathBuf>,
    left_out: Vec<String>,
}

impl Visit<'_> {
    fn folder(&mut self, relative: &Path) {
        let full = self.repository.common_dir.join(relative);
        let listing = match fs::read_dir(&full) {
            Ok(listing) => listing,
            Err(error) if absent(&error) => return,
            Err(_) => return self.leave_out(relative),
        };
        for entry in listing.filter_map(io::Result::ok) {
            let path = relative.join(entry.file_name());
            if is_object(&path) {
                continue;
            }
            let Ok(metadata) = entry.metadata() else {
                continue;
            };
            self.copy.youngest_ns = self.copy.youngest_ns.max(changed_ns(&metadata));
            if self.is_elsewhere(&path, &metadata) {
                continue;
            }
            if metadata.is_dir() {
                self.folder(&path);
            } else if metadata.is_file() || metadata.is_symlink() {
                self.file(path, &metadata);
            }
        }
    }

    /// True for what a snapshot has, and for files that exist for a moment only.
    fn is_elsewhere(&self, path: &Path, metadata: &Metadata) -> bool {
        let text = path.to_string_lossy();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.ends_with(".lock") || name.starts_with(".ralph-") || name.starts_with("tmp_") {
            return true;
        }
        if let Some(rest) = text.strip_prefix("lfs/") {
            return ["tmp", "incomplete"].contains(&rest);
        }
        if text.starts_with("refs/") && metadata.is_file() {
            return !self.is_symbolic(path, metadata);
        }
        if ELSEWHERE.contains(&&*text) || name.starts_with("fsmonitor--daemon") {
            return true;
        }
        let full = self.repository.common_dir.join(path);
        full.parent() == Some(&self.repository.git_dir)
            && (["index", "HEAD", "modules"].contains(&&*name) || name.starts_with("sharedindex."))
    }

    /// True for a ref that names another, and for what stands for refs in a reftable repository.
    fn is_symbolic(&self, path: &Path, metadata: &Metadata) -> bool {
        if path == Path::new("refs/heads") {
            return true;
        }
        let holds_id = [41, 65].contains(&metadata.len());
        if holds_id && path.file_name().is_none_or(|name| name != "HEAD") {
            return false;
        }
        let bytes = read_line_file(&self.repository.common_dir.join(path)).unwrap_or_default();
        bytes.starts_with(b"ref: ")
    }

    fn file(&mut self, path: PathBuf, metadata: &Metadata) {
        let now = stat(metadata);
        if self.copy.last_copied.get(&path) != Some(&now) {
            let (from, to) = (
                self.repository.common_dir.join(&path),
                self.target.join(&path),
            );
            let is_log = path.starts_with("logs");
            let seen = self.copy.last_copied.get(&path).filter(|_| is_log).copied();
            let is_kept = is_same(&now, metadata, &to)
                || seen.is_some_and(|seen| append(&seen, &now, &from, &to).is_ok())
                || self.copy.keep(&from, &to, metadata, is_constant(&path));
            if !is_kept {
                self.leave_out(&path);
                return;
            }
            // Where times are whole seconds, one that changed just now is copied again: its time may
            // not show the next change.
            let is_coarse = now.changed_ns % 1_000_000_000 == 0;
            let age = now_ns().saturating_sub(now.changed_ns.max(now.modified_ns));
            if !is_coarse || age > clock_slack_ns(now.changed_ns) {
                self.copy.last_copied.insert(path.clone(), now);
            }
        }
        self.found.insert(path);
    }

    fn leave_out(&mut self, path: &Path) {
        self.left_out.push(path.to_string_lossy().into_owned());
    }
}

impl GitCopy {
    /// Copies or links one file; false where it cannot be kept.
    fn keep(&mut self, from: &Path, to: &Path, metadata: &Metadata, is_constant: bool) -> bool {
        let Some(parent) = to.parent() else {
            return false;
        };
        if create_private_folder(parent).is_err() {
            return false;
        }
        if metadata.is_symlink() {
            let _ = fs::remove_file(to);
            return fs::read_link(from)
                .and_then(|target| std::os::unix::fs::symlink(target, to))
                .is_ok();
        }
        if !is_constant && metadata.len() <= LARGEST_COPY {
            return copy_with_time(from, to).unwrap_or(false);
        }
        let _ = fs::remove_file(to);
        if fs::hard_link(from, to).is_ok() {
            return true;
        }
        let is_affordable = self.copied + metadata.len() <= LARGEST_TOTAL;
        let is_copied = is_affordable && copy_with_time(from, to).unwrap_or(false);
        if is_copied {
            self.copied += metadata.len();
        }
        is_copied
    }
}

/// Copies what a log has gained; an error where it did more than grow.
fn append(seen: &Stat, now: &Stat, from: &Path, to: &Path) -> io::Result<()> {
    let copied = fs::symlink_metadata(to)?;
    if seen.inode != now.inode || seen.size >= now.size || copied.len() != seen.size {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut source = File::open(from)?;
    source.seek(SeekFrom::Start(seen.size))?;
    let mut target = OpenOptions::new().append(true).open(to)?;
    io::copy(&mut source.take(now.size - seen.size), &mut target)?;
    target.set_modified(UNIX_EPOCH + Duration::from_nanos(now.modified_ns.try_into().unwrap_or(0)))
}

/// True where an earlier process made this copy of the file as it is.
fn is_same(source: &Stat, metadata: &Metadata, copy: &Path) -> bool {
    let Ok(present) = fs::symlink_metadata(copy) else {
        return false;
    };
    let copied = stat(&present);
    if (present.dev(), copied.inode) == (metadata.dev(), source.inode) {
        return true;
    }
    present.is_file()
        && (copied.size, copied.modified_ns) == (source.size, source.modified_ns)
        && copied.changed_ns.saturating_sub(source.modified_ns) > clock_slack_ns(source.modified_ns)
}

/// True where nothing is younger than it was. Times of the future say nothing: the clock was set back.
/// Nor do whole seconds, in which much can happen.
fn is_untouched(since_ns: i64, youngest_ns: i64, now_ns: i64) -> bool {
    let is_whole_second = since_ns % 1_000_000_000 == 0;
    !is_whole_second && since_ns > 0 && since_ns <= now_ns && youngest_ns <= since_ns
}

/// True for the objects of the repository itself, which the vault's store has.
fn is_object(path: &Path) -> bool {
    let kept = ["objects", "objects/info", "objects/info/alternates"];
    path.starts_with("objects") && !kept.iter().any(|it| path == Path::new(it))
}

/// True for content that is named by what it holds, and never rewritten in place.
fn is_constant(path: &Path) -> bool {
    path.parent()
        .is_some_and(|folder| folder.iter().any(|part| part == "objects"))
        && path != Path::new("objects/info/alternates")
}

/// The copy's place.
pub(crate) fn folder(vault: &VaultFolder) -> PathBuf {
    vault.scratch("git-copy")
}

fn note(vault: &VaultFolder) -> PathBuf {
    vault.scratch("git-copy.left-out")
}

/// Removes the copy once the run is over.
pub(crate) fn remove(vault: &VaultFolder) {
    // It takes up room at most, and the next run begins it again.
    let _ = fs::remove_dir_all(folder(vault));
    let _ = fs::remove_file(note(vault));
}

/// Paths of the git directory that the copy does not have.
pub(crate) fn left_out(vault: &VaultFolder) -> Vec<String> {
    let bytes = read_if_present(&note(vault)).ok().flatten();
    let text = String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned();
    text.lines().map(str::to_owned).collect()
}

/// True where the copy has a file.
pub(crate) fn has(vault: &VaultFolder, path: &str) -> bool {
    fs::symlink_metadata(folder(vault).join(path)).is_ok()
}

/// Writes what is missing back into the git directory; gives what that was.
pub(crate) fn restore(
    repository: &Repository,
    vault: &VaultFolder,
    extent: Extent,
) -> Result<Vec<String>> {
    let from = folder(vault);
    let is_missing = |path: &Path| {
        fs::symlink_metadata(repository.common_dir.join(path)).is_err_and(|it| absent(&it))
    };
    let mut parts = Vec::new();
    for name in names(&from) {
        if IN_PARTS.iter().any(|it| name == *it) {
            let inner = names(&from.join(&name));
            parts.extend(inner.into_iter().map(|part| Path::new(&name).join(part)));
        } else {
            parts.push(PathBuf::from(&name));
        }
    }
    let mut restored = Vec::new();
    for part in parts {
        let wanted = match extent {
            Extent::Everything => vec![part.clone()],
            Extent::NeededFolders(repair)
                if is_missing(&part) && is_needed(&from, &part, repair) =>
            {
                vec![part.clone()]
            }
            Extent::NeededFolders(_) if part.starts_with("worktrees") => {
                let inner = OF_WORK_TREE.iter().map(|name| part.join(name));
                inner.filter(|path| from.join(path).is_file()).collect()
            }
            Extent::NeededFolders(_) => continue,
        };
        let mut is_restored = false;
        if is_live(repository, &from, &part) {
            for path in wanted {
                is_restored |= write_back(repository, &from, &path)?;
            }
        }
        if is_restored {
            restored.push(part.to_string_lossy().into_owned());
        }
    }
    Ok(restored)
}

/// Writes what is missing of one entry back.
pub(crate) fn restore_part(repository: &Repository, vault: &VaultFolder, part: &str) -> Result<()> {
    if has(vault, part) {
        write_back(repository, &folder(vault), Path::new(part))?;
    }
    Ok(())
}

/// True for a folder that a save or a restore does not do without.
fn is_needed(from: &Path, part: &Path, repair: RepairFor) -> bool {
    let top = part.iter().next().unwrap_or_default();
    if !from.join(part).is_dir() || OF_SNAPSHOT.iter().any(|name| top == *name) {
        return false;
    }
    repair == RepairFor::Restore || ["worktrees", "reftable"].iter().any(|name| top == *name)
}

/// False for the git directory of a linked work tree that is no longer there.
fn is_live(repository: &Repository, from: &Path, part: &Path) -> bool {
    if !part.starts_with("worktrees") || repository.common_dir.join(part) == repository.git_dir {
        return true;
    }
    let Ok(text) = fs::read_to_string(from.join(part).join("gitdir")) else {
        return false;
    };
    let pointer = repository
        .common_dir
        .join(part)
        .join(text.trim_end_matches('\n'));
    // A relative path leads from a folder that may be missing.
    let pointer = normal(&pointer);
    let Ok(said) = fs::read_to_string(pointer) else {
        return false;
    };
    said.trim_end().ends_with(&*part.to_string_lossy())
}

/// Writes one entry of the copy back with all below it, where it is missing.
fn write_back(repository: &Repository, from: &Path, part: &Path) -> Result<bool> {
    let source = from.join(part);
    let metadata = fs::symlink_metadata(&source).tried("look at", &source)?;
    let target = repository.common_dir.join(part);
    if metadata.is_dir() {
        let mut any = false;
        for name in names(&source) {
            any |= write_back(repository, from, &part.join(name))?;
        }
        return Ok(any);
    }
    if fs::symlink_metadata(&target).is_ok() {
        return Ok(false);
    }
    create_folder_above(&target)?;
    if metadata.is_symlink() {
        let link = fs::read_link(&source).tried("read", &source)?;
        std::os::unix::fs::symlink(link, &target).tried("create", &target)?;
        return Ok(true);
    }
    if !is_constant(part) || fs::hard_link(&source, &target).is_err() {
        copy_with_time(&source, &target)?;
    }
    Ok(true)
}

fn names(folder: &Path) -> Vec<std::ffi::OsString> {
    let listing = fs::read_dir(folder).into_iter().flatten();
    let mut names: Vec<_> = listing
        .filter_map(|entry| Some(entry.ok()?.file_name()))
        .collect();
    names.sort_unstable();
    names
}

/// All files below a folder, by their paths in it.
fn list(folder: &Path) -> HashSet<PathBuf> {
    fn visit(top: &Path, relative: &Path, found: &mut HashSet<PathBuf>) {
        for name in names(&top.join(relative)) {
            let path = relative.join(name);
            if fs::symlink_metadata(top.join(&path)).is_ok_and(|it| it.is_dir()) {
                visit(top, &path, found);
            } else {
                found.insert(path);
            }
        }
    }
    let mut found = HashSet::new();
    visit(folder, Path::new(""), &mut found);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_git_directory_is_untouched_only_where_its_times_can_be_believed() {
        assert!(is_untouched(5, 5, 9));
        assert!(is_untouched(5, 4, 5));
        assert!(!is_untouched(2_000_000_000, 2_000_000_000, 9_000_000_000));
        assert!(!is_untouched(5, 6, 9), "something changed");
        assert!(!is_untouched(0, 0, 9), "it was never copied");
        assert!(!is_untouched(20, 7, 9), "the clock was set back");
    }

    #[test]
    fn a_log_is_copied_by_what_it_gained() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("log"), folder.path().join("copy"));
        let stamp = || stat(&fs::symlink_metadata(&from).unwrap());
        fs::write(&from, "one\n").unwrap();
        fs::copy(&from, &to).unwrap();
        let seen = stamp();
        fs::write(&from, "one\ntwo\n").unwrap();
        append(&seen, &stamp(), &from, &to).unwrap();
        assert_eq!(fs::read_to_string(&to).unwrap(), "one\ntwo\n");
        let modified = |path: &Path| fs::metadata(path).unwrap().modified().unwrap();
        assert_eq!(modified(&to), modified(&from));
        let seen = stamp();
        fs::write(&from, "1\n").unwrap();
        assert!(append(&seen, &stamp(), &from, &to).is_err(), "it shrank");
    }
}

//! The work tree becomes what a manifest says: changed and deleted paths are written back byte for
//! byte, created ones move to the trash, untouched ones are not touched.
//!
//! Files that are written back get the present time as their modification time: build tools
//! compare times, and an old one would let them believe in results built from the attempt's bytes.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs::{self, FileTimes};
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::error::{CheckpointError, Notice, Result};
use crate::git::loose_object;
use crate::git::object_id::ObjectId;
use crate::git::process::GitError;
use crate::operations::twins::{Twins, keep_owner};
use crate::paths::{absolute, ancestors, is_module_path, show};
use crate::repo::objects::open_raw;
use crate::repo::{Places, Repo};
use crate::tree::guard::is_rules;
use crate::tree::manifest::{Content, Entry, Kind, Manifest, Wanted, compare};
use crate::tree::scanned::{Scanned, under_any};
use ralph_base::files::{FileError, Tried, free_name, make_writable, move_away, place};
use ralph_base::sparse;
use ralph_base::temporary_files::is_temporary;

/// Objects are fetched from git in portions of this size.
const PORTION: u64 = 32 * 1024 * 1024;

/// What the tree is to become.
pub(crate) struct Goal<'a> {
    pub manifest: &'a Manifest,
    /// Folders that scans of it do not enter.
    pub skipped: &'a [Vec<u8>],
    pub submodules: &'a [Vec<u8>],
    /// An index that knows what is tracked there.
    pub index: &'a Path,
    pub reach: Reach,
}

/// Which files are removed that the goal does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// All but those git ignores.
    LeavingIgnored,
    /// All but cache folders.
    Everything,
}

impl Repo {
    /// Makes the tree, which was just scanned, what the goal says.
    pub(crate) fn converge(
        &self,
        goal: &Goal<'_>,
        scanned: &Scanned,
        trash: &Path,
    ) -> Result<Vec<Notice>> {
        let (target, now) = (goal.manifest, &scanned.manifest);
        let changes = compare(target, now);
        let mut wanted: Vec<Wanted> = Vec::new();
        let mut notices = Vec::new();
        for path in changes.modified.iter().chain(&changes.removed) {
            let Some(entry) = target.entries.get(path) else {
                continue;
            };
            if entry.content == Content::Unkept {
                let path = show(path);
                let message = format!("`{path}` changed and is not in the vault: not touched");
                notices.push(Notice::new("not_restored", message));
            } else {
                wanted.push((path.clone(), entry.clone()));
            }
        }
        wanted.sort_unstable_by(|a, b| a.0.cmp(&b.0));

        let twins = Twins::of(target, &wanted);
        // Ignore rules are restored first: what an agent hid behind a rule of its own is not ignored.
        let (rules, others): (Vec<_>, Vec<_>) =
            wanted.into_iter().partition(|(path, _)| is_rules(path));
        let (new_rules, created): (Vec<_>, Vec<_>) =
            changes.created.into_iter().partition(|path| is_rules(path));
        notices.extend(self.trash_all(new_rules, trash)?);
        self.write_back(rules, now, &twins, trash)?;
        let removable = self.removable(goal, scanned, created)?;
        notices.extend(self.trash_all(removable, trash)?);
        self.write_back(others, now, &twins, trash)?;
        self.bring_back_module_objects(target)?;
        self.restore_index_times(target)?;
        self.restore_folder_modes(target)?;
        Ok(notices)
    }

    /// Which created paths are removed: all but ignored ones, whole folders where nothing in them
    /// stays.
    fn removable(
        &self,
        goal: &Goal<'_>,
        scanned: &Scanned,
        created: Vec<Vec<u8>>,
    ) -> Result<Vec<Vec<u8>>> {
        let now = &scanned.manifest;
        let is_folder = |path: &Vec<u8>| {
            now.entries
                .get(path)
                .is_some_and(|entry| entry.kind == Kind::Folder)
        };
        // Git does not answer for paths in other repositories.
        let elsewhere = |path: &Vec<u8>| {
            inside_nested(now, path) || under_any(path, goal.submodules) || is_module_path(path)
        };
        // A cache folder may be one only by a rule of the attempt's.
        let (known, new): (Vec<_>, Vec<_>) = scanned
            .skipped
            .iter()
            .partition(|folder| goal.skipped.contains(folder));
        let asked: Vec<Vec<u8>> = created
            .iter()
            .filter(|path| !is_folder(path) && !is_temporary(path))
            .filter(|_| goal.reach == Reach::LeavingIgnored)
            .chain(new.iter().copied())
            .filter(|path| !elsewhere(path))
            .cloned()
            .collect();
        let ignored = if asked.is_empty() {
            HashSet::new()
        } else {
            self.check_ignore(&self.gits.work.patient().with_index(goal.index), &asked)?
        };
        let stays: BTreeSet<&Vec<u8>> = ignored.iter().chain(known).collect();
        let holds_what_stays = |folder: &[u8]| {
            let start = [folder, b"/"].concat();
            let mut after = stays.range::<Vec<u8>, _>(&start..);
            after.next().is_some_and(|path| path.starts_with(&start))
        };
        let mut folders = HashSet::new();
        let mut removable = Vec::new();
        for path in created.into_iter().chain(new.into_iter().cloned()) {
            if ignored.contains(&path) || ancestors(&path).any(|folder| folders.contains(folder)) {
                continue;
            }
            if is_folder(&path) {
                if holds_what_stays(&path) {
                    continue;
                }
                folders.insert(path.clone());
            }
            removable.push(path);
        }
        Ok(removable)
    }

    /// Moves paths to the trash; what belongs to another user may have to stay.
    fn trash_all(&self, paths: Vec<Vec<u8>>, trash: &Path) -> Result<Vec<Notice>> {
        let places = &self.places;
        let trash = trash.join("files");
        let mut notices = Vec::new();
        for path in paths {
            let full = places.full(&path);
            if fs::symlink_metadata(&full).is_err() {
                continue;
            }
            match move_away(&full, &free_name(&absolute(&trash, &path))) {
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                    let message = format!(
                        "no permission to move `{}`: it stays in the tree",
                        show(&path)
                    );
                    notices.push(Notice::new("not_removed", message));
                }
                other => other?,
            }
        }
        Ok(notices)
    }

    /// Writes paths back whatever is in their places now.
    pub(crate) fn write_whole_paths(&self, wanted: Vec<Wanted>, trash: &Path) -> Result<()> {
        self.write_back(wanted, &Manifest::default(), &Twins::default(), trash)
    }

    /// Writes paths back into the tree `now`, fetching what git holds in portions.
    fn write_back(
        &self,
        wanted: Vec<Wanted>,
        now: &Manifest,
        twins: &Twins,
        trash: &Path,
    ) -> Result<()> {
        let mut rest = wanted.into_iter().peekable();
        while rest.peek().is_some() {
            let mut portion = Vec::new();
            let mut size = 0;
            while let Some((path, entry)) = rest.next_if(|_| size < PORTION) {
                if matches!(entry.content, Content::Git(_)) {
                    size += entry.stat.size + 1;
                }
                portion.push((path, entry));
            }
            let objects = self.fetch(&portion)?;
            let writer = Writer {
                places: &self.places,
                objects: &objects,
                trash: &trash.join("files"),
                now,
                twins,
            };
            for (path, entry) in &portion {
                writer.write(path, entry)?;
            }
        }
        Ok(())
    }

    /// The bytes of the objects a portion needs.
    pub(crate) fn fetch(&self, portion: &[Wanted]) -> Result<HashMap<ObjectId, Vec<u8>>> {
        let store = self.places.vault.objects();
        let format = self.places.repository.format;
        let mut input = String::new();
        let mut objects = HashMap::new();
        for (_, entry) in portion {
            let Content::Git(id) = entry.content else {
                continue;
            };
            let direct = loose_object::read_whole(&store, &id, "blob", format);
            let read = self.reasons.or_git("read objects", direct.map(Some), || {
                // Git is asked for all the others at once.
                let _ = writeln!(input, "{id}");
                Ok(None)
            })?;
            objects.extend(read.map(|bytes| (id, bytes)));
        }
        if input.is_empty() {
            return Ok(objects);
        }
        let output = self
            .gits
            .store
            .patient()
            .run_with_input(["cat-file", "--batch"], input.as_bytes())?;
        let packed = parse_batch(&output).ok_or_else(|| GitError::Unexpected {
            command: "cat-file --batch".to_owned(),
            answer: show(&output[..output.len().min(200)]),
        })?;
        objects.extend(packed);
        Ok(objects)
    }

    /// Restores the times of the indexes of submodules and of repositories within the tree, also of
    /// those that git wrote again with the same bytes.
    fn restore_index_times(&self, target: &Manifest) -> Result<()> {
        let places = &self.places;
        let entries = target.entries.iter();
        let kept = |entry: &Entry| matches!(entry.content, Content::Raw(_) | Content::Git(_));
        for (path, entry) in entries.filter(|(path, entry)| is_index(path) && kept(entry)) {
            let full = places.full(path);
            let then = modified(entry);
            let now = fs::metadata(&full).and_then(|now| now.modified());
            if now.is_ok_and(|now| now != then) {
                fs::OpenOptions::new()
                    .write(true)
                    .open(&full)
                    .and_then(|file| file.set_times(FileTimes::new().set_modified(then)))
                    .tried("set the time of", &full)?;
            }
        }
        Ok(())
    }

    /// Restores the modes of folders, last: a read-only one must be filled before.
    fn restore_folder_modes(&self, target: &Manifest) -> Result<()> {
        let places = &self.places;
        for (path, entry) in target.entries.iter().rev() {
            if entry.kind != Kind::Folder || entry.stat.mode & 0o700 == 0o700 {
                continue;
            }
            let full = places.full(path);
            // The folder of another user cannot have changed.
            let now = fs::symlink_metadata(&full).map(|now| now.mode() & 0o7777);
            if now.is_ok_and(|now| now == entry.stat.mode) {
                continue;
            }
            let mode = fs::Permissions::from_mode(entry.stat.mode);
            fs::set_permissions(&full, mode).tried("set the mode of", &full)?;
        }
        Ok(())
    }
}

/// True below a folder with a repository of its own: git does not answer for such paths.
fn inside_nested(now: &Manifest, path: &[u8]) -> bool {
    ancestors(path).any(|folder| now.entries.contains_key(&[folder, b"/.git"].concat()))
}

/// Writes single paths.
struct Writer<'a> {
    places: &'a Places,
    objects: &'a HashMap<ObjectId, Vec<u8>>,
    trash: &'a Path,
    /// The tree before the restore.
    now: &'a Manifest,
    twins: &'a Twins,
}

impl Writer<'_> {
    fn write(&self, path: &[u8], wanted: &Entry) -> Result<()> {
        let now = self.now.entries.get(path);
        let full = self.places.full(path);
        let same_bytes = now.is_some_and(|now| {
            now.kind == wanted.kind
                && wanted.kind != Kind::Special
                && (now.content == wanted.content
                    || now.content.id().is_some() && now.content.id() == wanted.content.id())
        });
        if same_bytes && wanted.kind != Kind::Link {
            self.twins.note_written(path);
            return set_mode(&full, wanted);
        }
        self.make_parents(&full)?;
        let present = fs::symlink_metadata(&full).ok();
        // The folder was created for a file that was written earlier, such as its `.gitignore`.
        if wanted.kind == Kind::Folder && present.as_ref().is_some_and(fs::Metadata::is_dir) {
            return set_mode(&full, wanted);
        }
        if present.is_some() {
            move_away(&full, &free_name(&absolute(self.trash, path)))?;
        }
        let unlocked = full
            .parent()
            .and_then(|parent| Some((parent.to_owned(), make_writable(parent)?)));
        let written = if self.twins.link(path, &full, self.places, self.now) {
            Ok(())
        } else {
            let written = self.create(&full, wanted);
            keep_owner(&full, present.as_ref());
            self.twins.note_written(path);
            written
        };
        if let Some((parent, mode)) = unlocked {
            let _ = fs::set_permissions(&parent, fs::Permissions::from_mode(mode));
        }
        written
    }

    fn create(&self, full: &Path, wanted: &Entry) -> Result<()> {
        match (&wanted.kind, &wanted.content) {
            (Kind::Folder, _) => {
                fs::create_dir(full).tried("create", full)?;
                set_mode(full, wanted)?;
            }
            (Kind::Link, Content::Link(target)) => {
                let target = PathBuf::from(OsString::from_vec(target.clone()));
                std::os::unix::fs::symlink(target, full).tried("create", full)?;
            }
            (Kind::File, Content::Git(id)) => {
                let Some(bytes) = self.objects.get(id) else {
                    return Err(missing(full, id));
                };
                place(full, |file| {
                    io::Write::write_all(file, bytes)?;
                    file.set_permissions(mode_of(wanted))
                })?;
            }
            (Kind::File, Content::Raw(id)) => {
                let source = open_raw(self.places, id)?;
                place(full, |file| {
                    sparse::copy(&source, file)?;
                    file.set_permissions(mode_of(wanted))
                })?;
            }
            // Special files are not kept, and a name without content cannot be written.
            _ => {}
        }
        Ok(())
    }

    /// Makes the folders above a path, moving aside what is in their place. From the top down: a
    /// folder below a link is elsewhere.
    fn make_parents(&self, full: &Path) -> Result<()> {
        let top = &self.places.repository.work_tree;
        let parent = match full.parent() {
            Some(parent) if parent != top => parent,
            _ => return Ok(()),
        };
        self.make_parents(parent)?;
        let present = fs::symlink_metadata(parent);
        if present.as_ref().is_ok_and(fs::Metadata::is_dir) {
            return Ok(());
        }
        if present.is_ok() {
            let name = Path::new(parent.file_name().unwrap_or_default());
            let relative = parent.strip_prefix(top).unwrap_or(name);
            move_away(parent, &free_name(&self.trash.join(relative)))?;
        }
        match fs::create_dir(parent) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                Err(FileError::new("create", parent, error).into())
            }
            _ => Ok(()),
        }
    }
}

/// True for the index of a submodule or of a repository within the tree: git compares its time with
/// those of files, and a new one would hide edits.
fn is_index(path: &[u8]) -> bool {
    path.ends_with(b"/index") && (is_module_path(path) || path.ends_with(b"/.git/index"))
}

fn modified(entry: &Entry) -> SystemTime {
    let since = u64::try_from(entry.stat.modified_ns).unwrap_or_default();
    SystemTime::UNIX_EPOCH + Duration::from_nanos(since)
}

fn set_mode(full: &Path, wanted: &Entry) -> Result<()> {
    Ok(fs::set_permissions(full, mode_of(wanted)).tried("set the mode of", full)?)
}

/// A folder stays open for its owner until everything in it is written.
fn mode_of(entry: &Entry) -> fs::Permissions {
    let open = if entry.kind == Kind::Folder { 0o700 } else { 0 };
    fs::Permissions::from_mode(entry.stat.mode | open)
}

fn missing(path: &Path, id: &ObjectId) -> CheckpointError {
    CheckpointError::failed(
        format!("the vault has no object {id} for `{}`", path.display()),
        "the attempt is parked; nothing else was changed",
    )
}

/// Splits the answer of `cat-file --batch`.
fn parse_batch(mut output: &[u8]) -> Option<HashMap<ObjectId, Vec<u8>>> {
    let mut objects = HashMap::new();
    while !output.is_empty() {
        let end = output.iter().position(|byte| *byte == b'\n')?;
        let header = std::str::from_utf8(&output[..end]).ok()?;
        let mut words = header.split(' ');
        let id = ObjectId::parse(words.next()?.as_bytes())?;
        if words.next()? != "blob" {
            return None;
        }
        let length: usize = words.next()?.parse().ok()?;
        let bytes = output.get(end + 1..end + 1 + length)?;
        objects.insert(id, bytes.to_vec());
        output = output.get(end + 2 + length..)?;
    }
    Some(objects)
}

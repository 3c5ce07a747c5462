//! The index, the tree and the commit of a checkpoint: written directly where git would store every
//! file as it is, else by git.

use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::commit_object::CommitBytes;
use super::objects::{Objects, link, open_raw};
use super::settings::{Converted, Folders, Settings};
use super::unstorable::Unstorable;
use super::visible::{is_modules_file, lacks_identity, to_forget};
use crate::error::{Notice, Result};
use crate::git::access::{Direct, Reason};
use crate::git::index::{Edits, Staged, StagedStat, edit};
use crate::git::loose_object::{self, Writer};
use crate::git::object_id::ObjectId;
use crate::git::object_lookup::ObjectLookup;
use crate::git::process::{Git, GitError};
use crate::paths::{absolute, create_private_folder_above, show};
use crate::repo::snapshot::Snapshot;
use crate::repo::{Places, Repo};
use crate::stat::{Stat, stat};
use crate::threads::in_shares;
use crate::tree::manifest::{Content, Entry, Kind};
use crate::tree::scanned::Scanned;
use ralph_base::files::{Tried, create_private_folder, place, read_if_present};

/// File systems take times from a clock that is up to a tick behind the one that `scanned_ns` is from.
const TICK_NS: i64 = 20_000_000;

/// How often objects are written again that git removed before they were kept.
const TRIES: u32 = 20;

/// How many objects are worth a second thread.
const MANY: usize = 64;

/// The identity of commits where the user has configured none.
const FALLBACK_IDENTITY: &[&str] = &[
    "-c",
    "user.name=ralphtool",
    "-c",
    "user.email=ralphtool@localhost",
];

/// Where the objects of a checkpoint go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Destination {
    /// The user's repository. The index goes beside the snapshot.
    Repository,
    /// The vault alone, which has no use for the index.
    Store,
}

/// A tree that is to be written: what a scan found to have changed since a snapshot.
pub(crate) struct TreeOrder<'a> {
    /// The snapshot whose index it starts from; none where the index is there already.
    pub base: Option<&'a Snapshot>,
    /// The snapshot the new index belongs to.
    pub id: &'a str,
    pub scanned: &'a Scanned,
    /// Why git has to write it, where that is known already.
    pub by_git: Option<Reason>,
    /// Files and links that changed or are gone.
    pub paths: &'a [Vec<u8>],
    /// Submodules that changed.
    pub modules: &'a [Vec<u8>],
    /// Files that stay in the work tree and leave the index.
    pub unstaged: &'a [Vec<u8>],
    pub destination: Destination,
}

/// A tree that was written.
#[derive(Debug)]
pub(crate) struct WrittenTree {
    pub id: ObjectId,
    pub notices: Vec<Notice>,
    /// Changed files that it has as they were before, or not at all.
    pub unstorable: Vec<Unstorable>,
}

impl WrittenTree {
    /// A tree with every file.
    fn whole(id: ObjectId) -> Self {
        Self {
            id,
            notices: Vec::new(),
            unstorable: Vec::new(),
        }
    }
}

/// A commit that is to be written.
pub(crate) struct NewCommit<'a> {
    pub tree: ObjectId,
    pub parents: &'a [ObjectId],
    pub message: &'a str,
    pub destination: Destination,
}

impl Repo {
    /// Writes the index and the tree of an order, and says what git could not store.
    pub(crate) fn write_tree(&self, order: &TreeOrder<'_>) -> Result<WrittenTree> {
        let direct = self.write_tree_directly(order);
        self.reasons
            .or_git("write a tree", direct.map(WrittenTree::whole), || {
                self.write_tree_by_git(order)
            })
    }

    fn write_tree_directly(&self, order: &TreeOrder<'_>) -> Direct<ObjectId> {
        let settings = self.ordinary()?;
        if let Some(reason) = &order.by_git {
            return Err(reason.clone().into());
        }
        if !order.modules.is_empty() {
            return Err(Reason::Submodules.into());
        }
        if !order.unstaged.is_empty() {
            return Err(Reason::Unstaged.into());
        }
        let index = Snapshot::index(&self.places.vault, order.id);
        let base = |base: &Snapshot| Snapshot::index(&self.places.vault, &base.id);
        let old = read_if_present(&order.base.map_or_else(|| index.clone(), base))?;
        let (edits, blobs) = stage(&self.places, settings, order)?;
        let old = old.ok_or(Reason::OddIndex)?;
        let edited = edit(&old, self.places.repository.format, &edits)?;
        let writing = self.writing(order.destination);
        writing.until_kept(|| {
            writing.write_blobs(&blobs)?;
            let mut writer = writing.writer();
            for (id, bytes) in &edited.trees {
                writer.write(id, "tree", bytes)?;
            }
            let is_new = |blob: &&Blob| !matches!(blob.source, Source::Store);
            let new = blobs.iter().filter(is_new).map(|blob| blob.id);
            Ok(new.chain(edited.trees.iter().map(|(id, _)| *id)).collect())
        })?;
        if order.destination == Destination::Store {
            return Ok(edited.root);
        }
        let trees = edited.trees.iter().map(|(id, _)| *id);
        let written = blobs.iter().map(|blob| blob.id).chain(trees);
        *self.objects.written.borrow_mut() = written.collect();
        create_private_folder_above(&index)?;
        // Git looks again at files that are not older than the index it has: none of what changed
        // since the tree was scanned may pass for older.
        let scanned =
            u64::try_from(order.scanned.manifest.scanned_ns - TICK_NS).unwrap_or_default();
        let scanned = SystemTime::UNIX_EPOCH + Duration::from_nanos(scanned);
        place(&index, |file| {
            use std::io::Write as _;
            file.write_all(&edited.bytes)?;
            file.set_times(fs::FileTimes::new().set_modified(scanned))
        })?;
        Ok(edited.root)
    }

    fn write_tree_by_git(&self, order: &TreeOrder<'_>) -> Result<WrittenTree> {
        if order.destination == Destination::Store {
            // Git does not write what the repository has, which may not have it for long.
            self.objects.link()?;
        }
        if let Some(base) = order.base {
            self.derive_index(&base.id, order.id)?;
        }
        let paths = [order.paths, order.modules].concat();
        let index = Snapshot::index(&self.places.vault, order.id);
        let git = self.committing_git(order.destination).with_index(&index);
        let git = self.without_piped_attributes(&git, &paths);
        self.forget(&git, order.unstaged)?;
        if let Some(base) = order.base {
            self.forget(&git, &to_forget(base, order.scanned))?;
        }
        let updated = self.update_index(&git, &paths)?;
        let answer = self.write_index(&git, &["write-tree", "--missing-ok"], &[])?;
        let id = ObjectId::parse(answer.trim_ascii()).ok_or_else(|| GitError::Unexpected {
            command: "write-tree".to_owned(),
            answer: show(&answer),
        })?;
        if order.destination == Destination::Repository {
            self.objects.link()?;
        }
        Ok(WrittenTree {
            id,
            notices: updated.notices,
            unstorable: updated.unstorable,
        })
    }

    /// Git that writes objects there.
    fn committing_git(&self, destination: Destination) -> Git {
        let git = self.gits.work.patient();
        let Objects { own, store, .. } = &self.objects;
        match destination {
            Destination::Repository => git,
            Destination::Store => git.with_objects(store, Some(own)),
        }
    }

    fn writing(&self, destination: Destination) -> Writing<'_> {
        let objects = &self.objects;
        Writing {
            places: &self.places,
            store: &objects.store,
            syncs: objects.syncs,
            target: match destination {
                Destination::Repository => &objects.own,
                Destination::Store => &objects.store,
            },
        }
    }

    /// Writes a commit.
    pub(crate) fn commit(&self, commit: &NewCommit<'_>) -> Result<ObjectId> {
        let direct = self.commit_directly(commit);
        self.reasons
            .or_git("write a commit", direct, || self.commit_by_git(commit))
    }

    fn commit_directly(&self, commit: &NewCommit<'_>) -> Direct<ObjectId> {
        let now = jiff::Zoned::now();
        let NewCommit { tree, parents, .. } = commit;
        let text = self
            .identity()?
            .commit(*tree, parents, commit.message, &now);
        let id = ObjectId::of_object(self.places.repository.format, "commit", text.as_bytes());
        let writing = self.writing(commit.destination);
        writing.until_kept(|| {
            writing.writer().write(&id, "commit", text.as_bytes())?;
            Ok(vec![id])
        })?;
        if commit.destination == Destination::Repository {
            self.objects.written.borrow_mut().push(id);
        }
        Ok(id)
    }

    /// Writes commits whose text is known, parents first; git finds them in the repository and in the
    /// vault.
    pub(crate) fn write_commits(&self, commits: &[CommitBytes]) -> Result<()> {
        let direct = self.write_commits_directly(commits);
        self.reasons.or_git("write commits", direct, || {
            let git = self.committing_git(Destination::Repository);
            for commit in commits {
                git.id_with_input(
                    ["hash-object", "-t", "commit", "-w", "--stdin"],
                    &commit.bytes,
                )?;
            }
            self.objects.link()
        })
    }

    fn write_commits_directly(&self, commits: &[CommitBytes]) -> Direct<()> {
        self.ordinary()?;
        let ids: Vec<ObjectId> = commits.iter().map(|it| it.id).collect();
        let writing = self.writing(Destination::Repository);
        writing.until_kept(|| {
            for commit in commits {
                writing
                    .writer()
                    .write(&commit.id, "commit", &commit.bytes)?;
            }
            Ok(ids.clone())
        })?;
        *self.objects.written.borrow_mut() = ids;
        Ok(())
    }

    fn commit_by_git(&self, commit: &NewCommit<'_>) -> Result<ObjectId> {
        let git = self.committing_git(commit.destination);
        let mut args = vec!["commit-tree".to_owned(), commit.tree.to_string()];
        for parent in commit.parents {
            args.extend(["-p".to_owned(), parent.to_string()]);
        }
        let message = commit.message.as_bytes();
        let id = match git.id_with_input(&args, message) {
            Err(error) if lacks_identity(error.stderr()) => {
                let fallback = FALLBACK_IDENTITY.iter().map(|word| (*word).to_owned());
                git.id_with_input(fallback.chain(args), message)?
            }
            other => other?,
        };
        // What git wrote is in the vault before anything names it.
        self.objects.link()?;
        Ok(id)
    }

    /// The tree of a commit.
    pub(crate) fn tree_of(&self, commit: ObjectId) -> Result<ObjectId> {
        // A checkpoint's own commit has a file of its own until the store is packed.
        let Objects { store, format, .. } = &self.objects;
        let direct = loose_object::read_whole(store, &commit, "commit", *format);
        let direct = direct.and_then(|bytes| {
            let line = bytes.split(|byte| *byte == b'\n').next();
            let tree = line.and_then(|line| ObjectId::parse(line.strip_prefix(b"tree ")?));
            Ok(tree.ok_or(Reason::NotLoose(commit))?)
        });
        self.reasons.or_git("read a commit", direct, || {
            let name = format!("{commit}^{{tree}}");
            Ok(self.gits.user.id(["rev-parse", "--verify", &name])?)
        })
    }
}

/// A file or link that becomes an object.
struct Blob {
    id: ObjectId,
    source: Source,
    /// The path, where the file is stored as it is only without a carriage return.
    only_without_returns: Option<Vec<u8>>,
}

enum Source {
    /// The vault's store, where it is in a file of its own or in a pack.
    Store,
    /// The copy in the vault.
    Raw,
    Bytes(Vec<u8>),
}

/// What the index says of the changed paths, and the objects it needs.
fn stage(
    places: &Places,
    settings: &Settings,
    order: &TreeOrder<'_>,
) -> Result<(Edits, Vec<Blob>), Reason> {
    let top = &places.repository.work_tree;
    let format = places.repository.format;
    let mut folders = Folders::default();
    let (mut edits, mut blobs) = (Edits::new(), Vec::new());
    for path in order.paths {
        if !is_plain_name(path) {
            return Err(Reason::OddName(show(path)));
        }
        let entry = order.scanned.manifest.entries.get(path);
        let Some(entry) = entry.filter(|entry| matches!(entry.kind, Kind::File | Kind::Link))
        else {
            edits.insert(path.clone(), None);
            continue;
        };
        if !entry.is_visible() || entry.kind == Kind::Link && is_modules_file(path) {
            return Err(Reason::NotAFile(show(path)));
        }
        let converted = settings.of(top, path, &mut folders);
        let (id, source) = match &entry.content {
            Content::Link(target) => {
                let id = ObjectId::of_object(format, "blob", target);
                (id, Source::Bytes(target.clone()))
            }
            _ if converted == Converted::Anyhow => return Err(Reason::Converted(show(path))),
            Content::Git(id) => (*id, Source::Store),
            Content::Raw(id) => (*id, Source::Raw),
            Content::Nothing | Content::Unkept => return Err(Reason::NotAFile(show(path))),
        };
        let has_lines = entry.kind == Kind::File && converted == Converted::Lines;
        blobs.push(Blob {
            id,
            source,
            only_without_returns: has_lines.then(|| path.clone()),
        });
        let staged = Staged {
            mode: mode_of(entry),
            id,
            stat: staged_stat(&absolute(top, path), &entry.stat),
        };
        edits.insert(path.clone(), Some(staged));
    }
    Ok((edits, blobs))
}

/// A name git takes whatever it is asked to protect; others it is asked about.
fn is_plain_name(path: &[u8]) -> bool {
    let is_odd = |part: &[u8]| {
        let mut starts = (0..part.len()).map(|at| &part[at..]);
        matches!(part, b"" | b"." | b"..")
            || part.eq_ignore_ascii_case(b".git")
            || part.eq_ignore_ascii_case(b".gitattributes")
            || part.iter().any(|byte| matches!(byte, b'\\' | b':' | b'~'))
            // Characters that a file system of macOS leaves out of a name.
            || starts.any(|it| IGNORED_ON_MACOS.iter().any(|start| it.starts_with(start)))
    };
    !path.split(|byte| *byte == b'/').any(is_odd)
}

/// How characters begin that HFS+ ignores in names.
const IGNORED_ON_MACOS: &[&[u8]] = &[b"\xe2\x80", b"\xe2\x81", b"\xef\xbb\xbf"];

fn mode_of(entry: &Entry) -> u32 {
    match entry.kind {
        Kind::Link => 0o120_000,
        _ if entry.stat.mode & 0o100 != 0 => 0o100_755,
        _ => 0o100_644,
    }
}

/// The fields of a file as an index has them; those that make git look where it changed since.
fn staged_stat(full: &Path, scanned: &Stat) -> StagedStat {
    match fs::symlink_metadata(full) {
        Ok(metadata) if stat(&metadata) == *scanned => StagedStat::of(&metadata),
        _ => StagedStat::default(),
    }
}

/// Writes objects, and keeps them in the vault.
struct Writing<'a> {
    places: &'a Places,
    /// Where they go.
    target: &'a Path,
    store: &'a Path,
    syncs: bool,
}

impl Writing<'_> {
    fn writer(&self) -> Writer<'_> {
        Writer::new(self.target).syncing(self.syncs)
    }

    /// Writes objects and links them into the vault's store, again where one is gone in between: no ref
    /// names it yet, so that a `git gc --prune=now` may remove it.
    fn until_kept(&self, mut write: impl FnMut() -> Direct<Vec<ObjectId>>) -> Direct<()> {
        for _ in 0..TRIES {
            let ids = write()?;
            if !self.is_beside_store() || self.keep(&ids)? {
                return Ok(());
            }
        }
        Err(Reason::Pruned.into())
    }

    /// True where what is written is linked into the store afterwards.
    fn is_beside_store(&self) -> bool {
        self.target != self.store
    }

    fn keep(&self, ids: &[ObjectId]) -> Direct<bool> {
        let present = ObjectLookup::new(self.store, self.places.repository.format);
        for id in ids {
            let target = loose_object::path(self.store, id);
            if let Some(folder) = target.parent().filter(|folder| !folder.exists()) {
                create_private_folder(folder)?;
            }
            link(&loose_object::path(self.target, id), &target)?;
            if !present.has(id) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn write_blobs(&self, blobs: &[Blob]) -> Direct<()> {
        if blobs.len() < MANY {
            return self.write_some(blobs);
        }
        let shares = in_shares(blobs, 8, |share| self.write_some(share));
        shares.into_iter().collect()
    }

    fn write_some(&self, blobs: &[Blob]) -> Direct<()> {
        let mut writer = self.writer();
        let present = ObjectLookup::new(self.target, self.places.repository.format);
        for blob in blobs {
            let read;
            let bytes = match &blob.source {
                Source::Bytes(bytes) => bytes,
                Source::Store => {
                    if let Some(path) = &blob.only_without_returns {
                        let bytes = loose_object::read(self.store, &blob.id, "blob");
                        refuse_returns(path, bytes.as_deref().unwrap_or(b"\r"))?;
                    }
                    // What the checkpoint has may be in packs: in those of both, or git stores it.
                    if self.is_beside_store()
                        && !writer.copy(self.store, &blob.id)?
                        && !present.is_packed(&blob.id)
                    {
                        return Err(Reason::NotLoose(blob.id).into());
                    }
                    continue;
                }
                Source::Raw => {
                    let mut bytes = Vec::new();
                    let full = self.target.join(blob.id.to_string());
                    open_raw(self.places, &blob.id)?
                        .read_to_end(&mut bytes)
                        .tried("read the copy of", &full)?;
                    read = bytes;
                    &read
                }
            };
            if let Some(path) = &blob.only_without_returns {
                refuse_returns(path, bytes)?;
            }
            writer.write(&blob.id, "blob", bytes)?;
        }
        Ok(())
    }
}

/// A file without a carriage return has no line ending that git could convert.
fn refuse_returns(path: &[u8], bytes: &[u8]) -> Result<(), Reason> {
    if bytes.contains(&b'\r') {
        return Err(Reason::Converted(show(path)));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_git_may_object_to_are_left_to_git() {
        for name in ["a", "a/.github/x", ".gitignore", "ä/ö", "a b", ".ü"] {
            assert!(is_plain_name(name.as_bytes()), "{name}");
        }
        for name in [
            "a/.GIT/x",
            "x/..",
            "git~1",
            "a\\b",
            "c:d",
            ".gitattributes",
            "a//b",
            "x/\u{200c}.git",
        ] {
            assert!(!is_plain_name(name.as_bytes()), "{name}");
        }
    }
}

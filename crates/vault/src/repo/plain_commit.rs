//! Index, tree and commit of a checkpoint without a git process: for files that git stores as they
//! are, there is nothing it would know better. Where anything is out of the ordinary there is no
//! answer, nothing is written that matters, and git does it.

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::conversions::{Conversions, Converted, Folders};
use super::frozen_config::value_of;
use super::objects::link;
use crate::error::Result;
use crate::git::index::{Edited, Edits, Staged, StagedStat, edit};
use crate::git::loose_object::{self, Writer};
use crate::git::object_id::ObjectId;
use crate::git::pack_index::PackIndexes;
use crate::paths::absolute;
use crate::repo::objects::open_raw;
use crate::repo::{Places, Repo};
use crate::stat::{Stat, stat};
use crate::tree::manifest::{Content, Entry, Kind, Manifest};
use ralph_base::files::{Tried, create_private_folder, place, read_if_present};
use ralph_base::os::processors;

/// File systems take times from a clock that is up to a tick behind the one that `taken_ns` is from.
const TICK_NS: i64 = 20_000_000;

/// How often objects are written again that git removed before they were kept.
const TRIES: u32 = 20;

/// How many objects are worth a second thread.
const MANY: usize = 64;

/// Which paths are to be committed, on top of what.
pub(crate) struct Order {
    /// The index of the checkpoint.
    pub from: PathBuf,
    /// Where the new one goes, where one is needed.
    pub to: Option<PathBuf>,
    /// Where objects go.
    pub objects: PathBuf,
    /// What changed.
    pub paths: Vec<Vec<u8>>,
    /// The tree as it was looked at.
    pub manifest: Arc<Manifest>,
}

/// Who makes the commits of this run, as git wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Identity {
    author: String,
    committer: String,
}

impl Repo {
    /// Writes the index and the tree of an order. None where git has to do it.
    pub(crate) fn plain_tree(&self, order: &Order) -> Result<Option<ObjectId>> {
        // Where the system cannot tell an outage, everything git writes is synced by it.
        if !self.notices_outages || self.conversions().always {
            return Ok(None);
        }
        let Some(known) = self.conversions.get() else {
            return Ok(None);
        };
        let mut written = Vec::new();
        let root = carry_out(&self.places, known, order, &mut written)?;
        if order.objects == self.places.repository.objects() {
            *self.written.borrow_mut() = written;
        }
        Ok(root)
    }

    /// True where the repository has lost an object that was just written.
    pub(crate) fn is_pruned(&self, id: ObjectId) -> bool {
        let objects = self.places.repository.objects();
        !loose_object::path(&objects, &id).exists()
            && !PackIndexes::open(&objects, self.places.repository.format).hold(&id)
    }

    /// Links objects of the last save into the repository again that a `git gc --prune=now` took
    /// while no ref named them yet.
    pub(crate) fn return_pruned(&self) -> Result<()> {
        let written = self.written.borrow_mut();
        let (store, objects) = (
            self.places.vault.store().join("objects"),
            self.places.repository.objects(),
        );
        let mut packs = None;
        for id in written.iter() {
            let object = loose_object::path(&objects, id);
            let open = || PackIndexes::open(&objects, self.places.repository.format);
            if !object.exists() && !packs.get_or_insert_with(open).hold(id) {
                link(&loose_object::path(&store, id), &object)?;
            }
        }
        Ok(())
    }

    /// Writes a commit of a tree. None where git has to do it.
    pub(crate) fn plain_commit(
        &self,
        objects: &Path,
        (tree, parents): (ObjectId, &[ObjectId]),
        message: &str,
    ) -> Result<Option<ObjectId>> {
        let Some(identity) = self.identity.borrow_mut().clone() else {
            return Ok(None);
        };
        let text = identity.commit((tree, parents), message, &jiff::Zoned::now());
        let id = ObjectId::of_object(self.places.repository.format, "commit", text.as_bytes());
        for _ in 0..TRIES {
            Writer::new(objects).write((&id, "commit"), text.as_bytes())?;
            if keep_in_store(&self.places, objects, &[id])? {
                if objects == self.places.repository.objects() {
                    self.written.borrow_mut().push(id);
                }
                return Ok(Some(id));
            }
        }
        Ok(None)
    }

    /// The tree of a commit.
    pub(crate) fn tree_of(&self, commit: ObjectId) -> Result<ObjectId> {
        // A checkpoint's own commit has a file of its own until the store is packed.
        let store = self.places.vault.store().join("objects");
        let bytes = loose_object::read(&store, &commit, "commit").unwrap_or_default();
        let format = self.places.repository.format;
        if ObjectId::of_object(format, "commit", &bytes) == commit
            && let Some(tree) = bytes.strip_prefix(b"tree ")
            && let Some(tree) = tree.split(|byte| *byte == b'\n').next()
            && let Some(tree) = ObjectId::parse(tree)
        {
            return Ok(tree);
        }
        let name = format!("{commit}^{{tree}}");
        Ok(self.git.id(["rev-parse", "--verify", &name])?)
    }

    /// Learns from a commit git made who it says makes them.
    pub(crate) fn learn_identity(&self, objects: &Path, commit: &ObjectId) {
        if let Some(text) = loose_object::read(objects, commit, "commit") {
            *self.identity.borrow_mut() = Identity::in_commit(&String::from_utf8_lossy(&text));
        }
    }
}

impl Repo {
    /// Takes from what git said who makes the commits and moves refs, where somebody has been named.
    pub(crate) fn learn_committers(&self, settings: &Settings) {
        let is_plain = self.conversions.get().is_some_and(|it| !it.always);
        let variable = |name: &str| {
            let value = std::env::var_os(name)?;
            Some(value.into_string().unwrap_or_default())
        };
        let named = Identity::named(settings, variable);
        let Some(identity) = named.filter(|_| is_plain) else {
            return;
        };
        let _ = self.committer.set(Some(identity.committer.clone()));
        *self.identity.borrow_mut() = Some(identity);
    }
}

impl Identity {
    /// Who git says makes commits. None where it has guessed a part of it: a commit it would refuse.
    fn named(settings: &Settings, variable: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let is_said = |text: String| text.contains(|c: char| c.is_ascii_alphanumeric());
        let is_named = |role: &str, part: &str| {
            let places = [role, "user"].map(|section| format!("{section}.{part}"));
            let variable = variable(&format!("GIT_{role}_{part}").to_uppercase());
            // The first that says anything is what git goes by, even where it is nothing.
            let said = variable.or_else(|| {
                let mut values = places.iter().map(|key| value_of(&settings.config, key));
                values.find_map(|value| value)
            });
            said.is_some_and(is_said)
        };
        let of = |role: &str| {
            if !["name", "email"].iter().all(|part| is_named(role, part)) {
                return None;
            }
            let start = format!("GIT_{}_IDENT=", role.to_uppercase());
            // The configuration comes first, and may say anything.
            let mut lines = settings.variables.lines().rev();
            let line = lines.find_map(|line| line.strip_prefix(&start))?;
            let who = &line[..=line.rfind('>')?];
            // What is no text was read as something else than it is.
            (!who.contains(char::REPLACEMENT_CHARACTER)).then(|| who.to_owned())
        };
        Some(Self {
            author: of("author")?,
            committer: of("committer")?,
        })
    }

    fn in_commit(text: &str) -> Option<Self> {
        let headers = text.split("\n\n").next()?;
        // A header for encodings, signatures or the like says that there is more to it.
        let known = ["tree", "parent", "author", "committer"];
        let mut lines = headers.lines();
        if !lines.all(|line| known.contains(&line.split(' ').next().unwrap_or_default())) {
            return None;
        }
        let of = |name: &str| {
            let line = headers.lines().find_map(|line| line.strip_prefix(name))?;
            let end = line.rfind('>')?;
            Some(line[..=end].to_owned())
        };
        Some(Self {
            author: of("author ")?,
            committer: of("committer ")?,
        })
    }

    fn commit(
        &self,
        (tree, parents): (ObjectId, &[ObjectId]),
        message: &str,
        now: &jiff::Zoned,
    ) -> String {
        use std::fmt::Write as _;
        let when = now.strftime("%s %z");
        let mut text = format!("tree {tree}\n");
        for parent in parents {
            let _ = writeln!(text, "parent {parent}");
        }
        let Self { author, committer } = self;
        let _ = write!(
            text,
            "author {author} {when}\ncommitter {committer} {when}\n\n{message}"
        );
        text
    }
}

fn carry_out(
    places: &Places,
    conversions: &Conversions,
    order: &Order,
    written: &mut Vec<ObjectId>,
) -> Result<Option<ObjectId>> {
    let Some(old) = read_if_present(&order.from)? else {
        return Ok(None);
    };
    let Some((edits, blobs)) = staged(places, conversions, order) else {
        return Ok(None);
    };
    let Some(edited) = edit(&old, places.repository.format, &edits) else {
        return Ok(None);
    };
    let Edited { bytes, trees, root } = edited;
    written.extend(blobs.iter().map(|blob| blob.id));
    written.extend(trees.iter().map(|(id, _)| *id));
    let in_store = |blob: &&Blob| matches!(blob.source, Source::Store);
    let ids = blobs.iter().filter(|blob| !in_store(blob));
    let ids = ids.map(|blob| blob.id);
    let ids: Vec<ObjectId> = ids.chain(trees.iter().map(|(id, _)| *id)).collect();
    let mut tries = TRIES;
    loop {
        if !write_blobs(places, &order.objects, &blobs)? {
            return Ok(None);
        }
        let mut writer = Writer::new(&order.objects);
        for (id, bytes) in &trees {
            writer.write((id, "tree"), bytes)?;
        }
        if keep_in_store(places, &order.objects, &ids)? {
            break;
        }
        tries -= 1;
        if tries == 0 {
            return Ok(None);
        }
    }
    let Some(to) = &order.to else {
        return Ok(Some(root));
    };
    if let Some(folder) = to.parent() {
        create_private_folder(folder)?;
    }
    // Git looks again at files that are not older than the index it has: none of what changed
    // since the tree was looked at may pass for older.
    let taken = u64::try_from(order.manifest.taken_ns - TICK_NS).unwrap_or_default();
    let taken = SystemTime::UNIX_EPOCH + Duration::from_nanos(taken);
    place(to, |file| {
        use std::io::Write as _;
        file.write_all(&bytes)?;
        file.set_times(fs::FileTimes::new().set_modified(taken))
    })?;
    Ok(Some(root))
}

/// A file or link that becomes an object.
struct Blob {
    id: ObjectId,
    source: Source,
    /// It is stored as it is only without a carriage return.
    lines: bool,
}

enum Source {
    /// The vault's store, where it is in a file of its own or in a pack.
    Store,
    /// The copy in the vault.
    Raw,
    /// These bytes.
    Bytes(Vec<u8>),
}

/// What an index says of the changed paths. None where git has to say it.
fn staged(places: &Places, conversions: &Conversions, order: &Order) -> Option<(Edits, Vec<Blob>)> {
    let top = &places.repository.work_tree;
    let format = places.repository.format;
    let mut folders = Folders::default();
    let (mut edits, mut blobs) = (Edits::new(), Vec::new());
    for path in &order.paths {
        if !is_plain_name(path) {
            return None;
        }
        let entry = order.manifest.entries.get(path);
        let Some(entry) = entry.filter(|entry| matches!(entry.kind, Kind::File | Kind::Link))
        else {
            edits.insert(path.clone(), None);
            continue;
        };
        if !entry.is_visible() {
            return None;
        }
        if entry.kind == Kind::Link && is_modules_file(path) {
            return None;
        }
        let converted = conversions.of(top, path, &mut folders);
        let id = match &entry.content {
            Content::Link(target) => {
                let id = ObjectId::of_object(format, "blob", target);
                let source = Source::Bytes(target.clone());
                blobs.push(Blob {
                    id,
                    source,
                    lines: false,
                });
                id
            }
            _ if converted == Converted::Anyhow => return None,
            Content::Git(id) | Content::Raw(id) => {
                let source = match entry.content {
                    Content::Raw(_) => Source::Raw,
                    _ => Source::Store,
                };
                blobs.push(Blob {
                    id: *id,
                    source,
                    lines: converted == Converted::Lines,
                });
                *id
            }
            Content::Nothing | Content::Unkept => return None,
        };
        let staged = Staged {
            mode: mode_of(entry),
            id,
            stat: staged_stat(&absolute(top, path), &entry.stat),
        };
        edits.insert(path.clone(), Some(staged));
    }
    Some((edits, blobs))
}

/// A name git takes whatever it is asked to protect; others it is asked about.
fn is_plain_name(path: &[u8]) -> bool {
    let odd = |part: &[u8]| {
        part.is_empty()
            || part == b"."
            || part == b".."
            || part.eq_ignore_ascii_case(b".git")
            || part.eq_ignore_ascii_case(b".gitattributes")
            || part.iter().any(|byte| matches!(byte, b'\\' | b':' | b'~'))
            || !part.is_ascii() && part[0] == b'.'
    };
    !path.split(|byte| *byte == b'/').any(odd)
}

/// True for a file that names submodules: git stores no link of that name.
pub(crate) fn is_modules_file(path: &[u8]) -> bool {
    let name = path.rsplit(|byte| *byte == b'/').next();
    name.is_some_and(|name| name.eq_ignore_ascii_case(b".gitmodules"))
}

fn mode_of(entry: &Entry) -> u32 {
    match entry.kind {
        Kind::Link => 0o120_000,
        _ if entry.stat.mode & 0o100 != 0 => 0o100_755,
        _ => 0o100_644,
    }
}

/// The fields of a file as an index has them; those that make git look where it changed since.
fn staged_stat(full: &Path, looked: &Stat) -> StagedStat {
    let Ok(metadata) = fs::symlink_metadata(full) else {
        return StagedStat::default();
    };
    if stat(&metadata) != *looked {
        return StagedStat::default();
    }
    StagedStat {
        changed: (cut(metadata.ctime()), cut(metadata.ctime_nsec())),
        modified: (cut(metadata.mtime()), cut(metadata.mtime_nsec())),
        place: (
            cut(metadata.dev().cast_signed()),
            cut(metadata.ino().cast_signed()),
        ),
        owner: (metadata.uid(), metadata.gid()),
        size: cut(metadata.size().cast_signed()),
    }
}

/// The lowest 32 bits, as an index keeps them.
fn cut(value: i64) -> u32 {
    u32::try_from(value & 0xffff_ffff).unwrap_or_default()
}

/// Writes blobs; false where one is not stored as it is after all.
fn write_blobs(places: &Places, objects: &Path, blobs: &[Blob]) -> Result<bool> {
    if blobs.len() < MANY {
        return write_some(places, objects, blobs);
    }
    let threads = processors();
    let share = blobs.len().div_ceil(threads.min(8));
    std::thread::scope(|scope| {
        let shares: Vec<_> = blobs
            .chunks(share)
            .map(|share| scope.spawn(move || write_some(places, objects, share)))
            .collect();
        let mut plain = true;
        for share in shares {
            plain &= match share.join() {
                Ok(written) => written?,
                Err(panic) => std::panic::resume_unwind(panic),
            };
        }
        Ok(plain)
    })
}

fn write_some(places: &Places, objects: &Path, blobs: &[Blob]) -> Result<bool> {
    let store = places.vault.store().join("objects");
    let mut writer = Writer::new(objects);
    let mut packs = None;
    for blob in blobs {
        let read;
        let bytes = match &blob.source {
            Source::Bytes(bytes) => bytes,
            Source::Store => {
                if blob.lines && !is_without_returns(&store, &blob.id) {
                    return Ok(false);
                }
                if objects != store && !writer.copy(&store, &blob.id)? {
                    // What the checkpoint has may be in packs: in those of both, or git stores it.
                    let open = || PackIndexes::open(objects, places.repository.format);
                    if !packs.get_or_insert_with(open).hold(&blob.id) {
                        return Ok(false);
                    }
                }
                continue;
            }
            Source::Raw => {
                let mut bytes = Vec::new();
                let full = objects.join(blob.id.to_string());
                open_raw(places, &blob.id)?
                    .read_to_end(&mut bytes)
                    .tried("read the copy of", &full)?;
                read = bytes;
                &read
            }
        };
        if blob.lines && bytes.contains(&b'\r') {
            return Ok(false);
        }
        writer.write((&blob.id, "blob"), bytes)?;
    }
    Ok(true)
}

/// True where an object is seen to have no carriage return.
fn is_without_returns(objects: &Path, id: &ObjectId) -> bool {
    loose_object::read(objects, id, "blob").is_some_and(|bytes| !bytes.contains(&b'\r'))
}

/// Links objects just written into the vault's store, where they are not written there. False where
/// one is gone again: no ref names it yet, so that a `git gc --prune=now` may take it.
fn keep_in_store(places: &Places, objects: &Path, ids: &[ObjectId]) -> Result<bool> {
    let store = places.vault.store().join("objects");
    if objects == store {
        return Ok(true);
    }
    let mut packs = None;
    for id in ids {
        let target = loose_object::path(&store, id);
        if let Some(folder) = target.parent().filter(|folder| !folder.exists()) {
            create_private_folder(folder)?;
        }
        link(&loose_object::path(objects, id), &target)?;
        let open = || PackIndexes::open(&store, places.repository.format);
        if !target.exists() && !packs.get_or_insert_with(open).hold(id) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// What git said when the run began.
#[derive(Debug)]
pub(crate) struct Settings {
    /// The user's configuration, flat.
    pub config: String,
    /// Git's own variables, after the configuration once more.
    pub variables: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn a_commit_says_what_git_would() {
        let text =
            "tree 1\nparent 2\nauthor Ann B. <a@b> 17 +0100\ncommitter C <> 18 -0530\n\nhi\n";
        let identity = Identity::in_commit(text).unwrap();
        let id = ObjectId::parse(&[b'a'; 40]).unwrap();
        let now: jiff::Zoned = "2026-02-03T04:05:06-05:30[-05:30]".parse().unwrap();
        let seconds = now.timestamp().as_second();
        assert_eq!(
            identity.commit((id, &[id]), "message\n", &now),
            format!(
                "tree {id}\nparent {id}\nauthor Ann B. <a@b> {seconds} -0530\n\
                 committer C <> {seconds} -0530\n\nmessage\n"
            )
        );
        let signed = text.replace("\n\n", "\ngpgsig x\n\n");
        assert_eq!(Identity::in_commit(&signed), None);
    }

    #[test]
    fn who_commits_is_known_where_nothing_of_it_is_guessed() {
        #[track_caller]
        fn case(config: &str, variables: &[(&str, &str)], want: bool) {
            let settings = Settings {
                config: config.to_owned(),
                variables: "alias.x=a\nGIT_AUTHOR_IDENT=no <no> 1 +0000\n\
                    GIT_COMMITTER_IDENT=Ann <a@b> 17 +0100\nGIT_AUTHOR_IDENT=Bo <b@c> 17 +0100\n"
                    .to_owned(),
            };
            let value = |name: &str| {
                let mut all = variables.iter();
                let found = all.find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            };
            let known = Identity::named(&settings, value);
            let wanted = Identity {
                author: "Bo <b@c>".to_owned(),
                committer: "Ann <a@b>".to_owned(),
            };
            assert_eq!(known, want.then_some(wanted));
        }
        let (name, email) = ("[user]\n\tname = \"a\"\n", "[user]\n\temail = \"b\"\n");
        let both = &format!("{name}{email}");
        case(both, &[], true);
        case(name, &[], false);
        case(email, &[], false);
        case("[user]\n\tname = \".\"\n\temail = \"b\"\n", &[], false);
        case(both, &[("GIT_AUTHOR_NAME", "")], false);
        case(&format!("{both}[committer]\n\tname = \"\"\n"), &[], false);
        let author = ("GIT_AUTHOR_EMAIL", "x");
        case(name, &[author], false);
        case(name, &[author, ("GIT_COMMITTER_EMAIL", "y")], true);
    }

    #[test]
    fn names_git_may_object_to_are_left_to_git() {
        for name in ["a", "a/.github/x", ".gitignore", "ä/ö", "a b"] {
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
        ] {
            assert!(!is_plain_name(name.as_bytes()), "{name}");
        }
    }
}

//! What an attempt changed: one walk against the checkpoint, and the texts before and after of those
//! paths that the checks read. Files are compared, so commits the agent made do not matter.

use std::collections::{BTreeSet, HashMap};
use std::io::Read as _;

use crate::git::object_id::ObjectId;
use crate::paths::show;
use crate::repo::objects::open_raw;
use crate::repo::{Places, Repo};
use crate::tree::manifest::{Content, Entry, Kind, Manifest, Wanted};

/// A path that differs from the checkpoint, from the top of the work tree. Texts are absent where
/// no check asks for them or where they could not be read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangedPath {
    pub path: String,
    pub was_there: bool,
    pub is_there: bool,
    pub before: Option<String>,
    pub after: Option<String>,
    /// The target, if it is now a link.
    pub link: Option<String>,
    /// A new path with the same content, if this one was removed.
    pub moved_to: Option<String>,
}

impl ChangedPath {
    pub const fn is_added(&self) -> bool {
        self.is_there && !self.was_there
    }

    pub const fn is_deleted(&self) -> bool {
        self.was_there && !self.is_there
    }
}

/// The largest file whose text is read.
const LARGEST_TEXT: u64 = 2 << 20;
/// How many files' texts are read, before and after each.
const MOST_TEXTS: usize = 4000;
/// How many bytes of texts are read.
const MOST_BYTES: u64 = 64 << 20;

/// What differs from the checkpoint.
#[derive(Debug, Default)]
pub struct Changed {
    /// How many files, without those the caller excludes.
    pub count: usize,
    /// Every path that belongs into commits.
    pub paths: Vec<ChangedPath>,
    /// Submodules with changes that are not committed there.
    pub uncommitted_modules: Vec<String>,
    /// Repositories that were not there before; nothing in them belongs into commits.
    pub new_repositories: Vec<String>,
    /// Names at the top of the tree at the checkpoint.
    pub tops: BTreeSet<String>,
}

impl Repo {
    pub(crate) fn read(
        &self,
        paths: &[Vec<u8>],
        base: &Manifest,
        now: &Manifest,
        wants_text: impl Fn(&str) -> bool,
    ) -> Vec<ChangedPath> {
        let mut room = Room::default();
        let mut wanted: Vec<Wanted> = Vec::new();
        let mut files: Vec<[Option<&Entry>; 2]> = Vec::new();
        for path in paths {
            let entries = [base.entries.get(path), now.entries.get(path)];
            let mut found = entries.map(|entry| entry.filter(|it| it.kind == Kind::File));
            if found == [None, None] || !wants_text(&show(path)) || !room.has(&entries) {
                found = [None, None];
            }
            let objects = found.into_iter().flatten();
            let objects = objects.filter(|entry| matches!(entry.content, Content::Git(_)));
            wanted.extend(objects.map(|entry| (path.clone(), entry.clone())));
            files.push(found);
        }
        // Texts only serve findings: without an object there is one less to look at.
        let objects = self.fetch(&wanted).unwrap_or_default();
        let text = |entry: Option<&Entry>| text(&self.places, &objects, &entry?.content);
        let moved = moved(paths, base, now);
        let paths = paths.iter().zip(files);
        let changed = paths.map(|(path, [before, after])| ChangedPath {
            before: text(before),
            after: text(after),
            ..changed_path(path, base, now, &moved)
        });
        changed.collect()
    }
}

/// How much may still be read.
#[derive(Debug, Default)]
struct Room {
    files: usize,
    bytes: u64,
}

impl Room {
    fn has(&mut self, entries: &[Option<&Entry>; 2]) -> bool {
        let sizes = || entries.iter().flatten().map(|entry| entry.stat.size);
        let bytes = self.bytes + sizes().sum::<u64>();
        let fits = sizes().all(|size| size <= LARGEST_TEXT)
            && bytes <= MOST_BYTES
            && self.files < MOST_TEXTS;
        if fits {
            self.bytes = bytes;
            self.files += 1;
        }
        fits
    }
}

fn changed_path(
    path: &[u8],
    before: &Manifest,
    after: &Manifest,
    moved: &HashMap<Vec<u8>, String>,
) -> ChangedPath {
    let is_file = |manifest: &Manifest| {
        let entry = manifest.entries.get(path);
        entry.is_some_and(|entry| entry.kind != Kind::Folder && entry.is_visible())
    };
    let now = after.entries.get(path).map(|entry| &entry.content);
    ChangedPath {
        path: show(path),
        was_there: is_file(before),
        is_there: is_file(after),
        link: match now {
            Some(Content::Link(target)) => Some(show(target)),
            _ => None,
        },
        moved_to: moved.get(path).cloned(),
        ..ChangedPath::default()
    }
}

/// For paths that are gone, a new path with the same content.
fn moved(paths: &[Vec<u8>], before: &Manifest, after: &Manifest) -> HashMap<Vec<u8>, String> {
    let id = |manifest: &Manifest, path: &Vec<u8>| manifest.entries.get(path)?.content.id();
    let created: HashMap<ObjectId, &Vec<u8>> = paths
        .iter()
        .filter(|path| !before.entries.contains_key(*path))
        .filter_map(|path| Some((id(after, path)?, path)))
        .collect();
    paths
        .iter()
        .filter(|path| !after.entries.contains_key(*path))
        .filter_map(|path| Some((path.clone(), show(created.get(&id(before, path)?)?))))
        .collect()
}

/// Names at the top of the tree that hold something of a commit.
pub(crate) fn tops(manifest: &Manifest) -> BTreeSet<String> {
    let files = manifest.entries.iter();
    let files = files.filter(|(_, entry)| entry.is_visible() && entry.kind != Kind::Folder);
    let mut tops = BTreeSet::new();
    let mut last: &[u8] = b"";
    for (path, _) in files {
        let top = path.split(|byte| *byte == b'/').next().unwrap_or_default();
        if top != last {
            tops.insert(show(top));
            last = top;
        }
    }
    tops
}

fn text(
    places: &Places,
    objects: &HashMap<ObjectId, Vec<u8>>,
    content: &Content,
) -> Option<String> {
    let bytes = match content {
        Content::Git(id) => objects.get(id)?.clone(),
        Content::Raw(id) => {
            let mut bytes = Vec::new();
            let file = open_raw(places, id).ok()?;
            file.take(LARGEST_TEXT).read_to_end(&mut bytes).ok()?;
            bytes
        }
        Content::Link(_) | Content::Nothing | Content::Unkept => return None,
    };
    String::from_utf8(bytes).ok()
}

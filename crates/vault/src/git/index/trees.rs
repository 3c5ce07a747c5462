//! The trees an index knows of its folders, and those of them that are new after edits.

use std::collections::{BTreeMap, HashMap};

use super::Edits;
use crate::git::access::Reason;
use crate::git::object_id::{ObjectFormat, ObjectId};

/// The mode of a folder in a tree.
const FOLDER: u32 = 0o040_000;

/// A folder as the index knows it.
#[derive(Debug)]
pub(super) struct Known {
    /// Entries below it.
    count: usize,
    id: ObjectId,
    folders: BTreeMap<Vec<u8>, Known>,
}

/// What was made of the trees.
#[derive(Debug)]
pub(super) struct Built {
    pub(super) objects: Vec<(ObjectId, Vec<u8>)>,
    pub(super) root: ObjectId,
    /// As an index has them.
    pub(super) extension: Vec<u8>,
}

/// The extensions of an index by their names. None where one changes what the entries mean.
pub(super) fn optional(mut extensions: &[u8]) -> Option<Vec<([u8; 4], &[u8])>> {
    let mut found = Vec::new();
    while let Some((name, rest)) = extensions.split_first_chunk::<4>() {
        let (length, rest) = rest.split_first_chunk::<4>()?;
        let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
        let (bytes, rest) = rest.split_at_checked(length)?;
        // Only those with a capital letter may be left out.
        if !name[0].is_ascii_uppercase() {
            return None;
        }
        found.push((*name, bytes));
        extensions = rest;
    }
    Some(found)
}

/// Finds the known trees among the extensions of an index. None where they are missing or not
/// whole.
pub(super) fn parse_trees(extensions: &[u8], format: ObjectFormat) -> Option<Known> {
    let extensions = optional(extensions)?;
    let (_, bytes) = extensions.into_iter().find(|(name, _)| name == b"TREE")?;
    let (name, known, _) = parse_folder(bytes, format)?;
    name.is_empty().then_some(known)
}

fn parse_folder(bytes: &[u8], format: ObjectFormat) -> Option<(&[u8], Known, &[u8])> {
    let (name, rest) = split_at_byte(bytes, 0)?;
    let (count, rest) = split_at_byte(rest, b' ')?;
    let (folders, rest) = split_at_byte(rest, b'\n')?;
    // A count below zero says that the tree is not known.
    let count: usize = std::str::from_utf8(count).ok()?.parse().ok()?;
    let folders: usize = std::str::from_utf8(folders).ok()?.parse().ok()?;
    let (id, mut rest) = rest.split_at_checked(format.id_length())?;
    let mut known = Known {
        count,
        id: ObjectId::from_bytes(id)?,
        folders: BTreeMap::new(),
    };
    for _ in 0..folders {
        let (name, folder, after) = parse_folder(rest, format)?;
        known.folders.insert(name.to_vec(), folder);
        rest = after;
    }
    Some((name, known, rest))
}

fn split_at_byte(bytes: &[u8], byte: u8) -> Option<(&[u8], &[u8])> {
    let at = bytes.iter().position(|it| *it == byte)?;
    Some((&bytes[..at], &bytes[at + 1..]))
}

/// Files directly in a folder: name, mode and content.
type Files = Vec<(Vec<u8>, u32, ObjectId)>;

/// Known trees on their way to new ones.
pub(super) struct Trees {
    root: Known,
    /// Folders something changes in, by their path.
    touched: HashMap<Vec<u8>, Files>,
    /// The folder of the last path, and whether something changes in it: neighbours share it.
    last: (Vec<u8>, bool),
}

impl Trees {
    pub(super) fn new(root: Known, edits: &Edits) -> Self {
        let mut touched: HashMap<Vec<u8>, Files> = HashMap::new();
        touched.insert(Vec::new(), Files::new());
        for path in edits.keys() {
            for (at, _) in path.iter().enumerate().filter(|(_, byte)| **byte == b'/') {
                touched.entry(path[..at].to_vec()).or_default();
            }
        }
        Self {
            root,
            touched,
            last: (Vec::new(), true),
        }
    }

    /// A path that was there and stays.
    pub(super) fn keep(&mut self, path: &[u8], mode: u32, id: ObjectId) {
        let (folder, name) = split(path);
        if self.last.0 != folder {
            self.last = (folder.to_vec(), self.touched.contains_key(folder));
        }
        if self.last.1
            && let Some(touched) = self.touched.get_mut(folder)
        {
            touched.push((name.to_vec(), mode, id));
        }
    }

    /// A path that was not there.
    pub(super) fn add(&mut self, path: &[u8], mode: u32, id: ObjectId) -> Result<(), Reason> {
        self.keep(path, mode, id);
        self.count(path, 1)
    }

    /// A path that goes.
    pub(super) fn remove(&mut self, path: &[u8]) -> Result<(), Reason> {
        self.count(path, -1)
    }

    /// Counts in every folder above a path; one that is not known yet begins with nothing.
    fn count(&mut self, path: &[u8], change: isize) -> Result<(), Reason> {
        let changed = |count: usize| {
            let count = count.checked_add_signed(change);
            count.ok_or(Reason::OddIndex)
        };
        // Whatever its id is, it is touched, and gets one of its own.
        let id = self.root.id;
        let mut known = &mut self.root;
        known.count = changed(known.count)?;
        let (folder, _) = split(path);
        for name in folder
            .split(|byte| *byte == b'/')
            .filter(|it| !it.is_empty())
        {
            known = known.folders.entry(name.to_vec()).or_insert_with(|| Known {
                count: 0,
                id,
                folders: BTreeMap::new(),
            });
            known.count = changed(known.count)?;
        }
        Ok(())
    }

    /// Makes the trees of all folders something changed in.
    pub(super) fn build(mut self, format: ObjectFormat) -> Result<Built, Reason> {
        let mut objects = Vec::new();
        let mut root = self.root;
        build(
            &mut root,
            &mut Vec::new(),
            &mut self.touched,
            format,
            &mut objects,
        )?;
        let mut extension = Vec::new();
        write(&root, b"", &mut extension);
        Ok(Built {
            objects,
            root: root.id,
            extension,
        })
    }
}

fn build(
    known: &mut Known,
    path: &mut Vec<u8>,
    touched: &mut HashMap<Vec<u8>, Files>,
    format: ObjectFormat,
    objects: &mut Vec<(ObjectId, Vec<u8>)>,
) -> Result<(), Reason> {
    let Some(mut children) = touched.remove(path) else {
        return Ok(());
    };
    known.folders.retain(|_, folder| folder.count > 0);
    for (name, folder) in &mut known.folders {
        let length = path.len();
        if length > 0 {
            path.push(b'/');
        }
        path.extend_from_slice(name);
        build(folder, path, touched, format, objects)?;
        path.truncate(length);
        children.push((name.clone(), FOLDER, folder.id));
    }
    // Git sorts a folder as if its name ended in a slash.
    children.sort_unstable_by(|(one, mode, _), (two, other, _)| {
        let end = |mode: u32| (mode == FOLDER).then_some(&b'/');
        one.iter()
            .chain(end(*mode))
            .cmp(two.iter().chain(end(*other)))
    });
    let mut bytes = Vec::new();
    let mut names = std::collections::HashSet::new();
    for (name, mode, id) in &children {
        // A file in the place of a folder that still has files: git has to say which goes.
        if !names.insert(name) {
            return Err(Reason::OddIndex);
        }
        bytes.extend_from_slice(format!("{mode:o} ").as_bytes());
        bytes.extend_from_slice(name);
        bytes.push(0);
        bytes.extend_from_slice(id.as_bytes());
    }
    known.id = ObjectId::of_object(format, "tree", &bytes);
    objects.push((known.id, bytes));
    Ok(())
}

fn write(known: &Known, name: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(name);
    out.push(0);
    out.extend_from_slice(format!("{} {}\n", known.count, known.folders.len()).as_bytes());
    out.extend_from_slice(known.id.as_bytes());
    // In the order git keeps them: shorter names first.
    let mut folders: Vec<_> = known.folders.iter().collect();
    folders.sort_unstable_by_key(|(name, _)| (name.len(), *name));
    for (name, folder) in folders {
        write(folder, name, out);
    }
}

/// The folder of a path and its name in it.
fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(at) => (&path[..at], &path[at + 1..]),
        None => (b"", path),
    }
}

//! The repository's objects, hard-linked into the vault's store: whatever an agent does to
//! `.git`, `gc --prune=now` included, what a checkpoint needs is still there.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use crate::error::Result;
use crate::git::loose_object;
use crate::git::object_id::{ObjectFormat, ObjectId};
use crate::git::object_lookup::ObjectLookup;
use crate::paths::create_folder_above;
use crate::repo::Places;
use crate::stat::{changed_ns, clock_slack_ns, modified_ns, now_ns};
use crate::tree::lock;
use ralph_base::files::{FileError, Tried, absent, create_private_folder, read_plain, write_whole};
use ralph_base::sparse;

/// How often a link is made again whose folder git removed meanwhile.
const TRIES: u32 = 1000;

/// The objects of the repository, and those of the vault's store. Remembers what this process linked,
/// listed and wrote, so that only what changed is read again.
#[derive(Debug)]
pub(crate) struct Objects {
    /// Those of the repository.
    pub(crate) own: PathBuf,
    pub(crate) store: PathBuf,
    pub(crate) format: ObjectFormat,
    /// Where the system cannot tell that it lost power, objects without bytes could not be found
    /// later: then each is durable before it has its name.
    pub(super) syncs: bool,
    links: RefCell<ObjectLinks>,
    module_links: RefCell<HashMap<Vec<u8>, ObjectLinks>>,
    /// What the last save wrote into the repository.
    pub(super) written: RefCell<Vec<ObjectId>>,
    pub(crate) listings: Arc<ObjectListings>,
    /// The store has a folder for each first two digits, or gets them.
    has_folders: bool,
}

impl Objects {
    pub(super) fn new(places: &Places, syncs: bool) -> Self {
        Self {
            own: places.repository.objects(),
            store: places.vault.objects(),
            format: places.repository.format,
            syncs,
            links: RefCell::default(),
            module_links: RefCell::default(),
            written: RefCell::default(),
            listings: Arc::default(),
            has_folders: false,
        }
    }

    /// Links objects the repository has gained into the store.
    pub(crate) fn link(&self) -> Result<()> {
        self.links.borrow_mut().link_new(&self.own, &self.store)
    }

    /// Links objects a submodule has gained into the vault.
    pub(crate) fn link_module(&self, module: &[u8], from: &Path, to: &Path) -> Result<()> {
        let mut links = self.module_links.borrow_mut();
        let links = links.entry(module.to_vec()).or_default();
        links.link_new(from, to)
    }

    /// Forgets what was linked: some of it may be gone from the store or the repository.
    pub(crate) fn forget_links(&self) {
        *self.links.borrow_mut() = ObjectLinks::default();
    }

    /// Forgets what was linked of submodules.
    pub(crate) fn forget_module_links(&self) {
        self.module_links.borrow_mut().clear();
    }

    /// True where the repository has lost an object that was just written.
    pub(crate) fn is_pruned(&self, id: ObjectId) -> bool {
        !ObjectLookup::new(&self.own, self.format).has(&id)
    }

    /// Links objects of the last save into the repository again that a `git gc --prune=now` removed
    /// while no ref named them yet.
    pub(crate) fn return_pruned(&self) -> Result<()> {
        let present = ObjectLookup::new(&self.own, self.format);
        for id in self.written.borrow().iter().filter(|id| !present.has(id)) {
            let [from, to] = [&self.store, &self.own].map(|it| loose_object::path(it, id));
            link(&from, &to)?;
        }
        Ok(())
    }

    /// Makes the folders of the store in a thread of its own, once: to make them one by one, when they
    /// are needed, would hold up the stories. What cannot be made now is made, or reported, then.
    pub(crate) fn prewarm_folders(&mut self) {
        if !std::mem::replace(&mut self.has_folders, true) {
            let store = self.store.clone();
            drop(std::thread::spawn(move || make_folders(&store)));
        }
    }
}

/// What was linked already.
#[derive(Debug, Default)]
struct ObjectLinks {
    seen: HashMap<String, i64>,
}

impl ObjectLinks {
    /// Links every object file of `from` that `to` does not have.
    fn link_new(&mut self, from: &Path, to: &Path) -> Result<()> {
        for (folder, metadata) in loose_object::folders(from) {
            self.link_folder(from, to, &folder, &metadata)?;
        }
        let packs = from.join("pack");
        match fs::symlink_metadata(&packs) {
            Ok(metadata) => self.link_folder(from, to, "pack", &metadata)?,
            Err(error) if absent(&error) => {}
            // Locked by an attempt: a restore opens it.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
            Err(error) => return Err(error).tried("look at", &packs).map_err(Into::into),
        }
        copy_alternates(from, to)
    }

    fn link_folder(
        &mut self,
        from: &Path,
        to: &Path,
        name: &str,
        metadata: &Metadata,
    ) -> Result<()> {
        let source = from.join(name);
        // An attempt may have put something else in its place.
        if !metadata.is_dir() {
            return Ok(());
        }
        let modified = modified_ns(metadata);
        if self.seen.get(name) == Some(&modified) {
            return Ok(());
        }
        let target = to.join(name);
        create_private_folder(&target)?;
        let mut names = Vec::new();
        let listing = match fs::read_dir(&source) {
            Err(error) if absent(&error) => return Ok(()),
            // Another user's, and nothing that a checkpoint of this user's needs.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(()),
            listing => listing.tried("list", &source)?,
        };
        for entry in listing {
            let entry = entry.tried("list", &source)?;
            // Links, pipes and devices are no objects.
            let kind = match entry.file_type() {
                Err(error) if absent(&error) => continue,
                kind => kind.tried("look at", &entry.path())?,
            };
            if kind.is_file() {
                names.push(entry.file_name());
            }
        }
        // An index must not appear before its pack.
        names.sort_unstable_by_key(|name| name.to_string_lossy().ends_with(".idx"));
        for file in names {
            let text = file.to_string_lossy();
            if text.starts_with("tmp_") || text.ends_with(".lock") || text.ends_with(".keep") {
                continue;
            }
            link(&source.join(&file), &target.join(&file))?;
        }
        // One that changed just now is looked at again: its time may not show the next change.
        if now_ns().saturating_sub(modified) > clock_slack_ns(modified) {
            self.seen.insert(name.to_owned(), modified);
        }
        Ok(())
    }
}

/// Makes the folders git keeps objects in, one for each first two digits.
fn make_folders(objects: &Path) {
    for number in 0..=255u8 {
        let folder = objects.join(format!("{number:02x}"));
        match fs::DirBuilder::new().mode(0o700).create(&folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return,
            _ => {}
        }
    }
}

/// Links one file; where links do not work, copies it. One that is gone is no error: git may have
/// packed it.
pub(crate) fn link(from: &Path, to: &Path) -> Result<(), FileError> {
    let mut tries = TRIES;
    loop {
        match link_once(from, to) {
            // `git gc` removes folders that it finds empty.
            Err(error) if absent(&error) && fs::symlink_metadata(from).is_ok() && tries > 0 => {
                tries -= 1;
                create_folder_above(to)?;
            }
            Err(error) if absent(&error) => return Ok(()),
            other => return other.tried("link", to),
        }
    }
}

fn link_once(from: &Path, to: &Path) -> io::Result<()> {
    match fs::hard_link(from, to) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) if !absent(&error) => {
            let temporary = to.with_extension("copying");
            match fs::copy(from, &temporary) {
                // Another user's, and nothing that a checkpoint of this user's needs.
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(()),
                copied => copied?,
            };
            fs::rename(&temporary, to)
        }
        other => other,
    }
}

/// Objects the repository borrows from elsewhere are borrowed by the store too.
fn copy_alternates(from: &Path, to: &Path) -> Result<()> {
    let source = from.join("info/alternates");
    let Ok(bytes) = read_plain(&source) else {
        return Ok(());
    };
    let text = String::from_utf8_lossy(&bytes);
    let mut lines = String::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        let path = from.join(line);
        lines.push_str(&path.to_string_lossy());
        lines.push('\n');
    }
    let target = to.join("info/alternates");
    create_private_folder(&to.join("info"))?;
    if fs::read_to_string(&target).is_ok_and(|present| present == lines) {
        return Ok(());
    }
    write_whole(&target, lines.as_bytes(), 0o600)?;
    Ok(())
}

impl Places {
    /// Links all objects of the vault's store into the repository.
    pub(crate) fn link_objects_back(&self) -> Result<()> {
        link_back(&self.vault.objects(), &self.repository.objects())
    }
}

/// Links all objects of one folder into another that does not have them.
pub(crate) fn link_back(from: &Path, to: &Path) -> Result<()> {
    for folder in fs::read_dir(from).tried("list", from)? {
        let folder = folder.tried("list", from)?;
        let name = folder.file_name();
        if name == "info" || !folder.path().is_dir() {
            continue;
        }
        let target = to.join(&name);
        fs::create_dir_all(&target).tried("create", &target)?;
        for file in fs::read_dir(folder.path()).tried("list", &folder.path())? {
            let file = file.tried("list", &folder.path())?;
            link(&file.path(), &target.join(file.file_name()))?;
        }
    }
    Ok(())
}

/// The names in folders of objects, so that only folders that changed are listed again.
#[derive(Debug, Default)]
pub(crate) struct ObjectListings {
    by_folder: Mutex<HashMap<String, Listing>>,
}

/// What was in a folder since it changed last.
#[derive(Debug)]
pub(crate) struct Listing {
    changed_ns: i64,
    names: Arc<[OsString]>,
}

impl ObjectListings {
    /// What is in a folder with these stat fields; none where it may not be looked into.
    pub(crate) fn names(
        &self,
        name: &str,
        folder: &Path,
        metadata: &Metadata,
    ) -> Result<Option<Arc<[OsString]>>> {
        let changed_ns = changed_ns(metadata);
        if let Some(known) = lock(&self.by_folder).get(name)
            && known.changed_ns == changed_ns
        {
            return Ok(Some(Arc::clone(&known.names)));
        }
        let began_ns = now_ns();
        let Ok(listing) = fs::read_dir(folder) else {
            return Ok(None);
        };
        let names: io::Result<_> = listing.map(|entry| Ok(entry?.file_name())).collect();
        let names: Arc<[OsString]> = names.tried("list", folder)?;
        // One that changed just now is listed again: its time may not show the next change.
        if began_ns - changed_ns > clock_slack_ns(changed_ns) {
            let listing = Listing {
                changed_ns,
                names: Arc::clone(&names),
            };
            lock(&self.by_folder).insert(name.to_owned(), listing);
        }
        Ok(Some(names))
    }
}

/// Opens the plain copy of a blob.
pub(crate) fn open_raw(places: &Places, id: &ObjectId) -> Result<File, FileError> {
    let path = raw_path(places, id);
    File::open(&path).tried("read", &path)
}

/// Where the plain copy of a blob is.
pub(crate) fn raw_path(places: &Places, id: &ObjectId) -> PathBuf {
    let text = id.to_string();
    // An older vault has a folder for each first two digits; to make one takes longer than a copy.
    let (folder, name) = text.split_at(2);
    let earlier = places.vault.raw().join(folder).join(name);
    if earlier.exists() {
        return earlier;
    }
    places.vault.raw().join(text)
}

/// The room the plain copy of a blob takes up; none where there is no copy.
pub(crate) fn room_of_raw(places: &Places, id: &ObjectId) -> Option<u64> {
    let metadata = fs::metadata(raw_path(places, id)).ok()?;
    Some(sparse::allocated(&metadata))
}

//! Objects whose bytes were replaced or lost: found by their stat fields, checked by their hash, and
//! restored from the vault, which has copies under other inodes.
//!
//! Only files that changed since a given time are looked at: that time cannot be set back. Files that
//! are gone are the part of `missing_objects`.

use std::collections::HashSet;
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;

use flate2::read::ZlibDecoder;

use super::missing_objects::{Missing, Outcome, Search};
use crate::error::{Notice, Result};
use crate::git::loose_object;
use crate::git::object_id::{ObjectFormat, ObjectId};
use crate::git::repository::{Head, Refs};
use crate::repo::objects::{ObjectListings, link};
use crate::repo::snapshot::Snapshot;
use crate::repo::{Places, Repo};
use crate::stat::{changed_ns, clock_slack_ns, make_readable, modified_ns};
use crate::threads::in_shares;
use crate::vault::Vault;
use ralph_base::files::{copy_with_time, free_name, move_away, move_if_there};
use ralph_base::sparse::is_mostly_holes;

/// From this number of folders on, several threads share them.
const MANY: usize = 32;

/// Files that only repeat what the objects say. Git reads them without checking them.
const CACHES: [&str; 2] = ["info/commit-graph", "pack/multi-pack-index"];

/// The same as a chain of files.
const CHAIN: &str = "info/commit-graphs";

impl Repo {
    /// Restores objects that were damaged since a snapshot was taken.
    pub(crate) fn repair_objects(
        &self,
        since: Option<&str>,
        trash: &Path,
        search: Search,
    ) -> Result<Vec<Notice>> {
        let since_ns = since.map_or(0, |id| {
            let written = written_at(&self.places, id);
            written - clock_slack_ns(written)
        });
        let scan = self.object_scan(since_ns);
        let suspects = scan.suspects(search)?;
        self.repair_suspects(since_ns, &suspects, trash)
    }

    /// Begins to look for objects that were damaged since a time, in folders that are known.
    pub(crate) fn begin_object_search(
        &self,
        since_ns: i64,
        folders: Vec<(String, Metadata)>,
    ) -> ObjectSearch {
        let scan = self.object_scan(since_ns);
        ObjectSearch {
            since_ns,
            suspects: std::thread::spawn(move || scan.suspects_in(&folders)),
        }
    }

    /// Ends a search and restores what it found.
    pub(crate) fn end_object_search(
        &self,
        search: Option<ObjectSearch>,
        trash: &Path,
    ) -> Result<Vec<Notice>> {
        let Some(search) = search else {
            return Ok(Vec::new());
        };
        let suspects = match search.suspects.join() {
            Ok(suspects) => suspects?,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        self.repair_suspects(search.since_ns, &suspects, trash)
    }

    fn object_scan(&self, since_ns: i64) -> ObjectScan {
        ObjectScan {
            listings: Arc::clone(&self.objects.listings),
            objects: self.places.repository.objects(),
            since_ns,
        }
    }

    fn repair_suspects(
        &self,
        since_ns: i64,
        suspects: &[Suspect],
        trash: &Path,
    ) -> Result<Vec<Notice>> {
        let mut pass = Pass {
            objects: self.places.repository.objects(),
            store: self.places.vault.objects(),
            format: self.places.repository.format,
            trash: &trash.join("objects"),
            since_ns,
            restored: 0,
            lost: Vec::new(),
        };
        for suspect in suspects {
            pass.check(suspect)?;
        }
        let mut notices = pass.notices(&self.places);
        let caches = pass.drop_caches()?;
        if !caches.is_empty() {
            let message = format!(
                "wrong bytes in {}, which only repeats what the objects say: moved to `{}`",
                caches.join(", "),
                trash.join("objects").display()
            );
            notices.push(Notice::new("object_cache_moved", message));
        }
        Ok(notices)
    }
}

impl Vault {
    /// Restores objects that were removed since the snapshot `whole_at` was taken.
    pub fn restore_missing(&self, whole_at: &str, search: Search) -> Result<Option<Notice>> {
        let missing = Missing {
            objects: &self.repo.places.repository.objects(),
            store: &self.repo.places.vault.objects(),
            format: self.repo.places.repository.format,
            whole_at_ns: written_at(&self.repo.places, whole_at),
            search,
        };
        let Outcome { linked, doubtful } = missing.restore()?;
        let needed = self.needed_by_run(doubtful);
        let linked = linked + missing.link(&needed)?;
        let vault = self.repo.places.vault.folder().display();
        let message = format!("{linked} missing object files were restored from `{vault}`");
        Ok((linked > 0).then(|| Notice::new("objects_restored", message)))
    }

    /// Those objects that commits of the last run hold.
    fn needed_by_run(&self, mut objects: Vec<ObjectId>) -> Vec<ObjectId> {
        let Some(last) = self.log.state.last_run() else {
            return Vec::new();
        };
        if objects.is_empty() {
            return objects;
        }
        let mut args = vec!["rev-list".to_owned(), "--objects".to_owned()];
        args.push(last.commit.to_string());
        args.extend(last.intent.original.commit().map(|it| format!("^{it}")));
        let listed = self.repo.gits.store.run(&args).unwrap_or_default();
        let ids: HashSet<ObjectId> = listed
            .split(|byte| *byte == b'\n')
            .filter_map(|line| ObjectId::parse(line.split(|byte| *byte == b' ').next()?))
            .collect();
        objects.retain(|id| ids.contains(id));
        objects
    }

    /// Repairs the objects before everything is moved, then gives refs and HEAD. All that is needed
    /// was there when the snapshot `whole_at` was taken.
    pub fn observe_repaired(&self, whole_at: &str) -> Result<(Refs, Head, Vec<Notice>)> {
        let current = self.log.state.current.as_ref();
        let start = current.map(|current| current.intent.start.as_str());
        let trash = self.repo.new_trash("objects");
        let mut notices = self
            .repo
            .repair_objects(start, &trash, Search::Everything)?;
        notices.extend(self.restore_missing(whole_at, Search::Everything)?);
        let (refs, head) = self.repo.observe()?;
        Ok((refs, head, notices))
    }
}

/// When a snapshot was written.
fn written_at(places: &Places, id: &str) -> i64 {
    let path = Snapshot::folder(&places.vault, id).join("description");
    fs::metadata(path).map_or(0, |metadata| modified_ns(&metadata))
}

/// A search for damaged objects on a thread of its own.
pub struct ObjectSearch {
    since_ns: i64,
    suspects: JoinHandle<Result<Vec<Suspect>>>,
}

/// A scan of the files of objects that reads none of them.
struct ObjectScan {
    listings: Arc<ObjectListings>,
    objects: PathBuf,
    since_ns: i64,
}

/// One pass over the objects of a repository.
struct Pass<'a> {
    objects: PathBuf,
    store: PathBuf,
    format: ObjectFormat,
    trash: &'a Path,
    since_ns: i64,
    restored: usize,
    lost: Vec<String>,
}

/// A file among the objects that changed, or something else than a file.
struct Suspect {
    folder: String,
    file: String,
    metadata: Metadata,
}

impl ObjectScan {
    /// What may not be as it was; several threads look where there are many folders.
    fn suspects(&self, search: Search) -> Result<Vec<Suspect>> {
        let mut folders = loose_object::folders(&self.objects);
        if let Ok(metadata) = fs::symlink_metadata(self.objects.join("pack"))
            && metadata.is_dir()
        {
            folders.push(("pack".to_owned(), metadata));
        }
        if search == Search::ChangedFolders {
            folders.retain(|(_, metadata)| changed_ns(metadata) >= self.since_ns);
        }
        if folders.len() < MANY {
            return self.suspects_in(&folders);
        }
        let mut suspects = Vec::new();
        for share in in_shares(&folders, 4, |share| self.suspects_in(share)) {
            suspects.append(&mut share?);
        }
        Ok(suspects)
    }

    fn suspects_in(&self, folders: &[(String, Metadata)]) -> Result<Vec<Suspect>> {
        let mut suspects = Vec::new();
        for (name, metadata) in folders {
            let folder = self.objects.join(name);
            // What may not be looked into is not read by git either.
            let Some(files) = self.listings.names(name, &folder, metadata)? else {
                continue;
            };
            for file in files.iter() {
                let Ok(metadata) = fs::symlink_metadata(folder.join(file)) else {
                    continue;
                };
                if !metadata.is_file() || changed_ns(&metadata) >= self.since_ns {
                    suspects.push(Suspect {
                        folder: name.clone(),
                        file: file.to_string_lossy().into_owned(),
                        metadata,
                    });
                }
            }
        }
        Ok(suspects)
    }
}

impl Pass<'_> {
    fn check(&mut self, suspect: &Suspect) -> Result<()> {
        let Suspect {
            folder,
            file,
            metadata,
        } = suspect;
        let path = self.objects.join(folder).join(file);
        if metadata.is_file() {
            make_readable(&path, metadata);
            return self.file(folder, file, metadata);
        }
        let aside = free_name(&self.trash.join(folder).join(file));
        move_if_there(&path, &aside)?;
        Ok(())
    }

    fn file(&mut self, folder: &str, name: &str, metadata: &Metadata) -> Result<()> {
        let kind = match folder {
            "pack" => Kind::of_pack(name),
            _ => ObjectId::parse(format!("{folder}{name}").as_bytes()).map(Kind::Loose),
        };
        let Some(kind) = kind else {
            return Ok(());
        };
        let path = self.objects.join(folder).join(name);
        let kept = self.store.join(folder).join(name);
        let copy = fs::symlink_metadata(&kept).ok();
        if let Some(copy) = &copy {
            // Its mode was changed with that of its other name, before that was replaced.
            make_readable(&kept, copy);
        }
        let is_linked = copy
            .as_ref()
            .is_some_and(|copy| (copy.dev(), copy.ino()) == (metadata.dev(), metadata.ino()));
        if is_linked || self.is_fine(&path, metadata, &kept, copy.as_ref(), &kind) {
            return Ok(());
        }
        let has_copy = copy.is_some() && kind.is_whole(&kept, self.format);
        // Without a copy only what git cannot read either is moved.
        if !has_copy && kind.is_whole(&path, self.format) {
            return Ok(());
        }
        // A user's `git gc` may have packed it meanwhile.
        if !move_if_there(&path, &free_name(&self.trash.join(folder).join(name)))? {
            return Ok(());
        }
        if has_copy {
            match kind {
                Kind::Loose(_) => drop(copy_with_time(&kept, &path)?),
                Kind::Pack => link(&kept, &path)?,
            }
            self.restored += 1;
        } else {
            self.lost.push(format!("{folder}/{name}"));
        }
        Ok(())
    }

    /// True where a file has the bytes of its copy, or looks as it should where there is none.
    fn is_fine(
        &self,
        path: &Path,
        metadata: &Metadata,
        kept: &Path,
        copy: Option<&Metadata>,
        kind: &Kind,
    ) -> bool {
        if metadata.len() == 0 {
            return false;
        }
        match copy {
            Some(copy) if copy.len() == metadata.len() && have_same_bytes(path, kept) => true,
            Some(_) => kind.is_whole(path, self.format),
            None => kind.begins_well(path),
        }
    }

    fn notices(&self, places: &Places) -> Vec<Notice> {
        let mut notices = Vec::new();
        if self.restored > 0 {
            let message = format!(
                "{} of the repository's objects had wrong bytes and came back from `{}`",
                self.restored,
                places.vault.folder().display()
            );
            notices.push(Notice::new("objects_restored", message));
        }
        if !self.lost.is_empty() {
            let message = format!(
                "objects with wrong bytes that the vault has no copy of were moved to `{}`: {}",
                self.trash.display(),
                self.lost.join(", ")
            );
            notices.push(Notice::new("objects_moved", message));
        }
        notices
    }

    /// Moves caches with wrong bytes away; git makes them again.
    fn drop_caches(&self) -> Result<Vec<&'static str>> {
        let mut moved = Vec::new();
        for name in CACHES {
            if self.is_spoiled(&self.objects.join(name)) {
                move_away(&self.objects.join(name), &free_name(&self.trash.join(name)))?;
                moved.push(name);
            }
        }
        let chain = self.objects.join(CHAIN);
        let parts = fs::read_dir(&chain).into_iter().flatten();
        let mut graphs = parts
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.extension().is_some_and(|it| it == "graph"));
        if graphs.any(|graph| self.is_spoiled(&graph)) {
            move_away(&chain, &free_name(&self.trash.join(CHAIN)))?;
            moved.push(CHAIN);
        }
        Ok(moved)
    }

    fn is_spoiled(&self, path: &Path) -> bool {
        let metadata = fs::symlink_metadata(path);
        metadata.is_ok_and(|it| {
            it.is_file()
                && changed_ns(&it) >= self.since_ns
                && (is_mostly_holes(&it) || !has_own_checksum(path, self.format))
        })
    }
}

/// A file that holds objects.
enum Kind {
    Loose(ObjectId),
    /// A pack or something beside it.
    Pack,
}

impl Kind {
    fn of_pack(name: &str) -> Option<Self> {
        let known = [".pack", ".idx", ".rev", ".bitmap", ".mtimes"];
        let is_known = name.starts_with("pack-") && known.iter().any(|end| name.ends_with(end));
        is_known.then_some(Self::Pack)
    }

    /// True where the bytes are those that the name promises.
    fn is_whole(&self, path: &Path, format: ObjectFormat) -> bool {
        match self {
            Self::Loose(id) => File::open(path)
                .and_then(|file| ObjectId::of_stream(format, ZlibDecoder::new(file)))
                .is_ok_and(|found| found == *id),
            Self::Pack => has_own_checksum(path, format),
        }
    }

    /// True where a file begins as one of its kind does.
    fn begins_well(&self, path: &Path) -> bool {
        let mut head = [0; 2];
        let read = File::open(path).and_then(|mut file| file.read_exact(&mut head));
        match self {
            Self::Loose(_) => {
                read.is_ok() && head[0] & 0x0f == 8 && u16::from_be_bytes(head) % 31 == 0
            }
            Self::Pack => read.is_ok(),
        }
    }
}

/// True where a file ends in the checksum of all before it, as git's own do.
fn has_own_checksum(path: &Path, format: ObjectFormat) -> bool {
    let length = format.zero().as_bytes().len() as u64;
    let checked = File::open(path).and_then(|mut file| {
        let size = file.metadata()?.len();
        let Some(body) = size.checked_sub(length) else {
            return Ok(false);
        };
        let sum = ObjectId::of_stream(format, (&mut file).take(body))?;
        let mut end = Vec::new();
        file.read_to_end(&mut end)?;
        Ok(end == sum.as_bytes())
    });
    checked.unwrap_or(false)
}

fn have_same_bytes(one: &Path, other: &Path) -> bool {
    let compare = || -> io::Result<bool> {
        let (mut one, mut other) = (File::open(one)?, File::open(other)?);
        let (mut left, mut right) = (vec![0; 1 << 16], vec![0; 1 << 16]);
        loop {
            let count = one.read(&mut left)?;
            if count == 0 {
                return Ok(other.read(&mut right)? == 0);
            }
            other.read_exact(&mut right[..count])?;
            if left[..count] != right[..count] {
                return Ok(false);
            }
        }
    };
    compare().unwrap_or(false)
}

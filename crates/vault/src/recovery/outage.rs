//! Outage: a machine that stopped without warning has lost what was written and not yet synced.
//! The uptime in a journal line shows it; what may be affected is checked before anything is built on
//! it.
//!
//! Not synced, and so affected: objects written since the last barrier, by us or by an agent's git,
//! plain copies in the vault, and branch and index of a save that was not followed by an attempt.
//! Everything else is either synced before a line names it, or restored by undoing the attempt.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::error::Result;
use crate::git::loose_object::is_damaged;
use crate::git::object_id::{ObjectFormat, ObjectId};
use crate::git::object_lookup::ObjectLookup;
use crate::journal::Log;
use crate::journal::run_state::Current;
use crate::journal::steps::Step;
use crate::operations::save::descends;
use crate::repo::snapshot::Snapshot;
use crate::repo::{Places, Repo};
use crate::scan::keeping::READ_WHOLE;
use crate::stat::changed_ns;
use crate::store::{listing, name};
use crate::vault::{Recovery, Vault};
use ralph_base::files::{Tried, move_away, read_line_file};

/// File systems take the time from a clock that may be a tick late.
const TICK_NS: i64 = 1_000_000_000;

impl Log {
    /// True where what was not synced when the last line was written may be gone.
    pub(crate) fn is_after_outage(&self) -> bool {
        let Some(last) = &self.state.last else {
            return false;
        };
        // A line without an uptime was synced with everything before it.
        last.uptime.is_some() && last.uptime.as_ref() != self.journal.uptime()
    }

    /// The time since which what was written may be lost; none where there was no outage.
    fn unsynced_since(&self) -> Option<i64> {
        if self.state.last.is_none() {
            // The very first run may have been cut off while it began.
            return self.journal.empty_since().map(|at| at - TICK_NS);
        }
        let durable_at = self.state.durable_at;
        self.is_after_outage().then(|| {
            let at = durable_at.map_or(0, jiff::Timestamp::as_nanosecond);
            i64::try_from(at).unwrap_or(i64::MAX) - TICK_NS
        })
    }
}

impl Vault {
    /// Moves files aside that lost their bytes in an outage; needed before the first change by every
    /// start, even where no run is open. Whatever is written next takes a file of the right name for
    /// one that is already there: the next commit or snapshot with the same content would be without
    /// it.
    pub fn set_damage_aside(&self) -> Result<()> {
        let Some(since) = self.log.unsynced_since() else {
            return Ok(());
        };
        let trash = self.repo.new_trash("outage");
        let Places { repository, vault } = &self.repo.places;
        for (name, folder) in [
            ("objects", repository.objects()),
            ("store", vault.objects()),
        ] {
            for (id, path) in young_objects(&folder, since)? {
                if is_damaged(&path, &id, repository.format) {
                    move_away(&path, &trash.join(name).join(id.to_string()))?;
                }
            }
        }
        for copy in damaged_copies(&vault.raw(), since, repository.format)? {
            let name = copy.file_name().unwrap_or_default();
            move_away(&copy, &trash.join("raw").join(name))?;
        }
        for name in dangling_refs(&vault.store(), since, repository.format) {
            move_away(&vault.store().join(&name), &trash.join("store").join(&name))?;
        }
        Ok(())
    }

    /// Moves branch and index again, after a save that was not yet on disk; what the user has done since
    /// stays. None where nothing was lost.
    pub fn switch_after_outage(&mut self, current: &Current) -> Result<Option<Recovery>> {
        let last = self.log.state.last.as_ref();
        if !last.is_some_and(|line| line.step == Step::Saved) {
            return Ok(None);
        }
        let trash = self.repo.new_trash("save");
        let broken = self.repair_switch(current, &trash)?;
        let (refs, head) = self.repo.observe()?;
        let branch = &current.intent.branch;
        let is_old = match refs.get(branch) {
            Some(tip) => {
                *tip != current.commit && descends(&self.repo.gits.user, *tip, current.commit)?
            }
            None => true,
        };
        if is_old {
            self.repo.move_ref(branch, &refs, Some(current.commit))?;
        }
        let stale = current.is_on_branch(&head) && self.repo.index_is_stale(&current.snapshot)?;
        if stale {
            self.repo.keep_index(&trash)?;
            let index = Snapshot::index(&self.repo.places.vault, &current.snapshot);
            self.repo.swap_index(&index, &trash)?;
        }
        if !broken && !is_old && !stale {
            return Ok(None);
        }
        self.record(&current.intent.run, Step::Saved)?;
        let commit = current.commit.short();
        Ok(Some(Recovery {
            found: "a checkpoint that was not all on disk when the machine stopped".to_owned(),
            done: format!("restored the branch and the index to {commit}"),
        }))
    }
}

impl Repo {
    /// True where the index is older than the checkpoint's, or cannot be read.
    fn index_is_stale(&self, snapshot: &str) -> Result<bool> {
        let places = &self.places;
        let kept = Snapshot::index(&places.vault, snapshot);
        let index = places.repository.index();
        let is_unreadable = || -> Result<bool> {
            let args = ["ls-files", "-z", "--", ".git"].map(std::ffi::OsString::from);
            let output = self.gits.work.with_index(&index).output(&args, &[])?;
            Ok(!output.status.success())
        };
        let Ok(kept_at) = fs::metadata(&kept).and_then(|kept| kept.modified()) else {
            // The checkpoint has none to put there.
            return is_unreadable();
        };
        let Ok(at) = fs::metadata(&index).and_then(|index| index.modified()) else {
            return Ok(true);
        };
        if at == kept_at && fs::read(&index).ok() == fs::read(&kept).ok() {
            return Ok(false);
        }
        if at > kept_at {
            return is_unreadable();
        }
        Ok(true)
    }
}

/// Refs of the vault's store that were written since a time, and whose objects are not there: those
/// of a park that was cut off.
fn dangling_refs(store: &Path, since_ns: i64, format: ObjectFormat) -> Vec<PathBuf> {
    let objects = store.join("objects");
    let present = ObjectLookup::new(&objects, format);
    let mut dangling = Vec::new();
    let mut folders = vec![PathBuf::from("refs")];
    while let Some(folder) = folders.pop() {
        let listing = fs::read_dir(store.join(&folder)).into_iter().flatten();
        for entry in listing.filter_map(std::result::Result::ok) {
            let name = folder.join(entry.file_name());
            let Ok(metadata) = entry.metadata() else {
                continue;
            };
            if metadata.is_dir() {
                folders.push(name);
            } else if metadata.is_file() && changed_ns(&metadata) >= since_ns {
                let bytes = read_line_file(&entry.path()).unwrap_or_default();
                let id = ObjectId::parse(bytes.trim_ascii());
                if !id.is_some_and(|id| present.has(&id)) {
                    dangling.push(name);
                }
            }
        }
    }
    dangling
}

/// The loose objects that changed since a time, or are empty.
fn young_objects(folder: &Path, since_ns: i64) -> Result<Vec<(ObjectId, PathBuf)>> {
    let mut young = Vec::new();
    for number in 0..=255u8 {
        let first = format!("{number:02x}");
        for path in listing(&folder.join(&first))? {
            let id = format!("{first}{}", name(&path));
            let (Some(id), Ok(metadata)) =
                (ObjectId::parse(id.as_bytes()), path.symlink_metadata())
            else {
                continue;
            };
            let is_young = metadata.size() == 0 || changed_ns(&metadata) >= since_ns;
            if metadata.is_file() && is_young {
                young.push((id, path));
            }
        }
    }
    Ok(young)
}

/// The plain copies that changed since a time and do not have the bytes they are named after. A large
/// one has another name, and is compared with its file before it is used.
fn damaged_copies(folder: &Path, since_ns: i64, format: ObjectFormat) -> Result<Vec<PathBuf>> {
    let mut damaged = Vec::new();
    for path in listing(folder)? {
        let id = ObjectId::parse(name(&path).as_bytes());
        let (Some(id), Ok(metadata)) = (id, path.symlink_metadata()) else {
            continue;
        };
        if !metadata.is_file() || metadata.size() > READ_WHOLE || changed_ns(&metadata) < since_ns {
            continue;
        }
        let bytes = fs::read(&path).tried("read", &path)?;
        if ObjectId::of_object(format, "blob", &bytes) != id {
            damaged.push(path);
        }
    }
    Ok(damaged)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refs_of_a_park_that_was_cut_off_are_dangling_where_their_objects_are_gone() {
        let store = tempfile::tempdir().unwrap();
        let objects = store.path().join("objects");
        let there = ObjectId::of_object(ObjectFormat::Sha1, "blob", b"there");
        crate::git::loose_object::Writer::new(&objects)
            .write(&there, "blob", b"there")
            .unwrap();
        let gone = ObjectId::of_object(ObjectFormat::Sha1, "blob", b"gone");
        let kept = store.path().join("refs/kept/run/1.1");
        fs::create_dir_all(&kept).unwrap();
        for (name, text) in [
            ("HEAD", format!("{gone}\n")),
            ("there", format!("{there}\n")),
            ("torn", String::new()),
        ] {
            fs::write(kept.join(name), text).unwrap();
        }
        let mut found = dangling_refs(store.path(), 0, ObjectFormat::Sha1);
        found.sort_unstable();
        let names = ["refs/kept/run/1.1/HEAD", "refs/kept/run/1.1/torn"];
        assert_eq!(found, names.map(PathBuf::from));
        assert_eq!(
            dangling_refs(store.path(), i64::MAX, ObjectFormat::Sha1),
            Vec::<PathBuf>::new()
        );
    }
}

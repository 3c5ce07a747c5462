//! Repairs the git directory before git is asked to do anything in it: an agent may have removed
//! it, replaced it, or left it unreadable. Only inside a live run; at any other time a new
//! repository at the same path is the user's.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use super::missing_objects::Search;
use crate::error::{Notice, Result};
use crate::git::access::{Direct, Reason};
use crate::git::object_id::{ObjectId, lines};
use crate::git::object_lookup::ObjectLookup;
use crate::git::ref_log;
use crate::git::repository::{Head, Refs, Repository, short};
use crate::journal::run_state::Current;
use crate::repair::content::repaired_notice;
use crate::repair::objects::ObjectSearch;
use crate::repair::parts::{DirectoryRepair, Found, rebuild, rebuilt_notice, write_packed_refs};
use crate::repair::{is_folder, move_aside};
use crate::repo::git_copy::Untouched;
use crate::repo::objects::Objects;
use crate::repo::shape::{Folders, Shape};
use crate::repo::snapshot::Snapshot;
use crate::repo::{RepairFor, Repo};
use crate::vault::Vault;
use ralph_base::files::{make_writable, read_line_file, read_plain, write_whole};

/// Up to this number, objects are looked for one by one.
const FEW: usize = 200;

/// What is wrong with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Damage {
    Missing,
    Unreadable,
}

/// A git directory that can be used.
pub struct RepairedGit {
    /// What was wrong.
    pub notices: Vec<Notice>,
    /// All refs, as they are now.
    pub refs: Refs,
    /// Where HEAD points now.
    pub head: Head,
    /// Its shape, where the attempt changed nothing in it but objects.
    pub untouched: Option<Shape>,
    /// The search for damaged objects, where it is not over; to be ended before any is read.
    pub search: Option<ObjectSearch>,
}

impl Vault {
    /// Makes the git directory usable; gives what was wrong, and what refs and HEAD are.
    pub fn repair_git(
        &mut self,
        current: &Current,
        checkpoint: &Arc<Snapshot>,
        trash: &Path,
        repair_for: RepairFor,
    ) -> Result<RepairedGit> {
        let mut notices = Vec::new();
        let repository = &self.repo.places.repository;
        let shape = &checkpoint.control.shape;
        let mut moved = shape.enforce_top(repository, trash)?;
        notices.extend(self.free_module_locks(trash)?);
        if moved.is_empty()
            && let Some(untouched) = self.repo.git_untouched()
        {
            return self
                .repo
                .repair_untouched(untouched, notices, trash, repair_for);
        }
        moved.extend(shape.enforce(Folders::All, repository, repair_for, trash)?);
        if !moved.is_empty() {
            notices.push(moved_notice(&moved));
        }
        let holds_objects =
            |path: &String| path.starts_with("objects/") && !path.starts_with("objects/info");
        if moved.iter().any(holds_objects) {
            self.repo.places.link_objects_back()?;
        }
        unlock(repository, &current.intent.refs());
        let search = match repair_for {
            RepairFor::Save => Search::ChangedFolders,
            RepairFor::Restore => Search::Everything,
        };
        // Before anything reads an object: a pipe may stand in its place.
        notices.extend(
            self.repo
                .repair_objects(Some(&current.snapshot), trash, search)?,
        );
        let repair = DirectoryRepair {
            places: &self.repo.places,
            current,
            snapshot: checkpoint,
            trash,
            repair_for,
        };
        let found = repair.repair()?;
        if found == Found::Other {
            // Submodules have their git directories in it, which come back now.
            self.tree.invalidate_scan();
        }
        notices.extend(self.repo.complete_directory(found, checkpoint, trash)?);
        if self
            .repo
            .places
            .repair_head(&current.intent.branch, trash)?
        {
            notices.push(Notice::new(
                "head_repaired",
                "HEAD was unreadable and was repaired",
            ));
        }
        let names = current.intent.refs();
        notices.extend(self.free_locks(&names, trash)?);
        for name in names {
            self.repo.move_broken_ref(name, trash)?;
        }
        self.repo
            .restore_packed_refs(checkpoint, trash, Damage::Missing)?;
        notices.extend(self.repo.repair_shallow(checkpoint, trash)?);
        notices.extend(self.repo.repair_setup(checkpoint, trash)?);
        let mut observed = self.repo.observe();
        if observed.is_err() {
            notices.extend(self.repo.repair_config(checkpoint, trash)?);
            observed = self.repo.observe();
        }
        if observed.is_err() {
            self.repo
                .restore_packed_refs(checkpoint, trash, Damage::Unreadable)?;
        }
        if self.restore_pruned(current, repair_for)? || observed.is_err() {
            observed = self.repo.observe();
        }
        // Only now: with these alone nothing would show that all were collected.
        notices.extend(self.restore_missing(&current.snapshot, Search::ChangedFolders)?);
        let (mut refs, mut head) = observed?;
        if self.repo.restore_broken_refs(checkpoint, &refs, trash)? {
            (refs, head) = self.repo.observe()?;
        }
        let restored = self.repo.restore_removed_refs(checkpoint, &refs)?;
        if !restored.is_empty() {
            notices.push(Notice::new(
                "branches_restored",
                format!(
                    "the files of these branches were removed and are restored: {}",
                    restored.join(", ")
                ),
            ));
            (refs, head) = self.repo.observe()?;
        }
        Ok(RepairedGit {
            notices,
            refs,
            head,
            untouched: None,
            search: None,
        })
    }

    /// Makes HEAD and the branch such that git can move them; true where one was unreadable.
    pub fn repair_switch(&self, current: &Current, trash: &Path) -> Result<bool> {
        let branch = &current.intent.branch;
        let head = self.repo.places.repair_head(branch, trash)?;
        self.free_locks(&current.intent.refs(), trash)?;
        Ok(self.repo.move_broken_ref(branch, trash)? || head)
    }
}

impl Repo {
    /// The same where an attempt changed at most objects, and LFS and annex content.
    fn repair_untouched(
        &self,
        untouched: Untouched,
        mut notices: Vec<Notice>,
        trash: &Path,
        repair_for: RepairFor,
    ) -> Result<RepairedGit> {
        let Untouched {
            since_ns,
            shape,
            object_folders,
        } = untouched;
        notices.extend(self.restore_content(trash)?);
        let search = (repair_for == RepairFor::Restore)
            .then(|| self.begin_object_search(since_ns, object_folders));
        let (refs, head) = self.observe()?;
        Ok(RepairedGit {
            notices,
            refs,
            head,
            untouched: Some(shape),
            search,
        })
    }

    /// Rebuilds a git directory that was another one, and says what was repaired.
    fn complete_directory(
        &self,
        found: Found,
        checkpoint: &Snapshot,
        trash: &Path,
    ) -> Result<Option<Notice>> {
        let notice = match found {
            Found::Same(parts) if parts.is_empty() => return Ok(None),
            Found::Same(parts) => repaired_notice(&self.places, &parts),
            Found::Other => {
                rebuild(&self.places, checkpoint, trash)?;
                self.objects.forget_module_links();
                self.rebuild_modules(checkpoint, trash)?;
                rebuilt_notice(&self.places)
            }
        };
        self.objects.forget_links();
        Ok(Some(notice))
    }

    /// Restores the config of the checkpoint where git cannot read the present one.
    fn repair_config(&self, checkpoint: &Snapshot, trash: &Path) -> Result<Vec<Notice>> {
        let changed = checkpoint
            .control
            .restore_files(&self.places.repository, trash)?;
        Ok(vec![Notice::new(
            "git_mended",
            format!(
                "git could not read its own files; restored: {}",
                changed.join(", ")
            ),
        )])
    }

    /// Restores the list of commits without parents where it is no such list: git reads nothing then.
    fn repair_shallow(&self, checkpoint: &Snapshot, trash: &Path) -> Result<Option<Notice>> {
        let path = self.places.repository.common_dir.join("shallow");
        let is_list = |bytes: &[u8]| {
            let mut lines = bytes.split(|byte| *byte == b'\n');
            lines.all(|line| line.is_empty() || ObjectId::parse(line).is_some())
        };
        match read_plain(&path) {
            Ok(bytes) if !is_list(&bytes) => {}
            _ => return Ok(None),
        }
        move_aside(&path, trash, "shallow")?;
        if let Some(bytes) = checkpoint.control.shared("shallow") {
            write_whole(&path, bytes, 0o644)?;
        }
        let message = "`.git/shallow` named no commits and was restored";
        Ok(Some(Notice::new("git_mended", message)))
    }

    /// Writes the list of packed refs from the checkpoint where it is missing or cannot be read.
    fn restore_packed_refs(
        &self,
        checkpoint: &Snapshot,
        trash: &Path,
        damage: Damage,
    ) -> Result<()> {
        let path = self.places.repository.common_dir.join("packed-refs");
        // Git writes a line of its own even where it packs nothing.
        let is_there = fs::symlink_metadata(&path).is_ok_and(|it| !it.is_file() || it.len() > 0);
        if !checkpoint.control.shape.has_packed_refs() || is_there && damage == Damage::Missing {
            return Ok(());
        }
        move_aside(&path, trash, "packed-refs")?;
        write_packed_refs(&path, &checkpoint.control.refs)
    }

    /// A ref file that is empty or garbage, or a folder in its place or in that of its log, cannot
    /// be updated by git; it is moved aside.
    fn move_broken_ref(&self, name: &str, trash: &Path) -> Result<bool> {
        let shared = &self.places.repository.common_dir;
        let log = shared.join("logs").join(name);
        if is_folder(&log) {
            move_aside(&log, trash, Path::new("logs").join(name))?;
        }
        let path = shared.join(name);
        let text = read_line_file(&path).unwrap_or_default();
        let broken =
            is_folder(&path) || path.is_file() && ObjectId::parse(text.trim_ascii()).is_none();
        if broken {
            move_aside(&path, trash, name)?;
        }
        Ok(broken)
    }

    /// Restores refs whose files were removed by other means than git, which would have removed
    /// their logs too; gives their names. An older value may have come to light, from the packed list.
    fn restore_removed_refs(&self, checkpoint: &Snapshot, refs: &Refs) -> Result<Vec<String>> {
        let shared = &self.places.repository.common_dir;
        let mut restored = Vec::new();
        for (name, id) in &checkpoint.control.refs {
            let log = shared.join("logs").join(name);
            let is_removed = match refs.get(name) {
                Some(now) => {
                    now != id && !shared.join(name).exists() && last_logged(&log) == Some(*id)
                }
                None => log.is_file(),
            };
            // The stash is restored entry by entry.
            if is_removed && name != "refs/stash" {
                self.move_ref(name, refs, Some(*id))?;
                restored.push(short(name).to_owned());
            }
        }
        Ok(restored)
    }
}

impl Vault {
    /// An agent may have collected garbage: what the checkpoint needs is linked back. True where
    /// something was missing.
    fn restore_pruned(&self, current: &Current, repair_for: RepairFor) -> Result<bool> {
        let missing = self.link_pruned(current, repair_for)?;
        // Only now: with these alone nothing would show that older ones are missing.
        self.repo.objects.return_pruned()?;
        Ok(missing)
    }

    fn link_pruned(&self, current: &Current, repair_for: RepairFor) -> Result<bool> {
        // Our commit is a loose object until git packs or prunes.
        let Objects { own, format, .. } = &self.repo.objects;
        let present = ObjectLookup::new(own, *format);
        if repair_for == RepairFor::Save && present.is_loose(&current.commit) {
            return Ok(false);
        }
        let checkpoint = self.checkpoint_refs(current);
        let direct = check_presence(&present, &checkpoint);
        let missing = self
            .repo
            .reasons
            .or_git("find objects", direct.map(|()| false), || {
                let args = ["cat-file", "--batch-check"];
                let git = &self.repo.gits.user;
                let answer = git.run_with_input(args, lines(&checkpoint).as_bytes())?;
                let answer = String::from_utf8_lossy(&answer);
                Ok(answer.lines().any(|line| line.ends_with(" missing")))
            })?;
        if missing {
            self.repo.places.link_objects_back()?;
        }
        Ok(missing)
    }

    /// The commits a restore needs: the checkpoint and the user's own refs.
    fn checkpoint_refs(&self, current: &Current) -> Vec<ObjectId> {
        let mut ids = vec![current.commit];
        if let Some(loaded) = &self.loaded {
            ids.extend(loaded.control.refs.values());
            // All but the newest are reachable from no ref.
            let stash = loaded.control.shared("logs/refs/stash").unwrap_or_default();
            ids.extend(ref_log::parse(stash).iter().map(|line| line.new));
        }
        ids
    }
}

/// Where a ref was moved to last, by its log.
fn last_logged(log: &Path) -> Option<ObjectId> {
    let log = ref_log::parse(&read_plain(log).ok()?);
    Some(log.last()?.new)
}

/// Looks for every object. Git also knows what is borrowed from elsewhere, and is quicker for many.
fn check_presence(present: &ObjectLookup<'_>, ids: &[ObjectId]) -> Direct<()> {
    if ids.len() > FEW {
        return Err(Reason::Many(ids.len()).into());
    }
    match ids.iter().find(|id| !present.has(id)) {
        Some(missing) => Err(Reason::NotLoose(*missing).into()),
        None => Ok(()),
    }
}

/// Opens the folders of the git directory that must be written to, where an agent locked them.
fn unlock(repository: &Repository, refs: &[&str]) {
    let shared = &repository.common_dir;
    let mut folders = vec![repository.git_dir.clone(), shared.clone()];
    folders.extend(["hooks", "info", "objects"].map(|name| shared.join(name)));
    for name in refs {
        for path in [shared.join(name), shared.join("logs").join(name)] {
            let above = path.ancestors().skip(1);
            let mut above: Vec<_> = above.take_while(|it| *it != shared).collect();
            above.reverse();
            folders.extend(above.into_iter().map(Path::to_owned));
        }
    }
    for folder in folders {
        if is_folder(&folder) {
            make_writable(&folder);
        }
    }
}

fn moved_notice(paths: &[String]) -> Notice {
    Notice::new(
        "git_files_replaced",
        format!(
            "moved aside because another kind of file belongs there: {}",
            paths.join(", ")
        ),
    )
}

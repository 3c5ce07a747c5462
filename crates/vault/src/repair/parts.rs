//! A git directory that lost a part: whether it is still the same repository is decided by what is
//! left of it, and only what is missing is restored from the vault.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::Path;

use crate::error::{Notice, Result};
use crate::git::object_id::ObjectId;
use crate::git::object_lookup::ObjectLookup;
use crate::git::process::Git;
use crate::git::refs::is_per_work_tree;
use crate::git::repository::{Head, Refs, Repository};
use crate::journal::run_state::{Current, RunState};
use crate::paths::create_folder_above;
use crate::repair::content::{repaired_notice, restore_content};
use crate::repair::{is_folder, move_aside};
use crate::repo::git_copy::{self, Extent};
use crate::repo::snapshot::Snapshot;
use crate::repo::{Places, RepairFor, Repo};
use crate::store::TOKEN_FILE;
use ralph_base::files::{
    Tried, copy_with_time, move_away, read_if_present, read_line_file, read_plain, write_whole,
};

/// What git leaves in HEAD where refs are kept in reftables.
const REFTABLE_HEAD: &str = "refs/heads/.invalid";

/// Settings that say where the work tree is; a wrong one locks every command out.
const SETUP: &[&str] = &["core.bare", "core.worktree"];

/// What is in the place of the git directory.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// Nothing, or another repository: all of it has to be rebuilt.
    Other,
    /// The same repository; these parts were missing and are restored.
    Same(Vec<String>),
}

impl Places {
    /// Writes the token of an open run again where only that is missing.
    pub(crate) fn restore_lost_token(&self, state: &RunState) -> Result<Option<Notice>> {
        let Some(current) = &state.current else {
            return Ok(None);
        };
        if self.vault.belongs_to(&self.repository)? {
            return Ok(None);
        }
        let snapshot = Snapshot::read(&self.vault, &current.snapshot)?;
        if !is_same_repository(self, &snapshot, current) {
            return Ok(None);
        }
        self.vault.restore_token(&self.repository)?;
        let part = TOKEN_FILE.to_owned();
        Ok(Some(repaired_notice(self, &[part])))
    }

    /// Points HEAD at a ref where it names neither a ref nor a commit; true where it did. Git takes no
    /// directory without HEAD for a repository, also where it keeps HEAD elsewhere.
    pub(crate) fn repair_head(&self, target: &str, trash: &Path) -> Result<bool> {
        let path = self.repository.git_dir.join("HEAD");
        let bytes = read_line_file(&path).unwrap_or_default();
        let text = bytes.trim_ascii();
        if text.starts_with(b"ref: refs/") || ObjectId::parse(text).is_some() {
            return Ok(false);
        }
        move_aside(&path, trash, "HEAD")?;
        write_whole(&path, format!("ref: {target}\n").as_bytes(), 0o644)?;
        Ok(true)
    }
}

/// A repair of a git directory that may lack parts.
pub(crate) struct DirectoryRepair<'a> {
    pub places: &'a Places,
    pub current: &'a Current,
    /// The last checkpoint.
    pub snapshot: &'a Snapshot,
    pub trash: &'a Path,
    pub repair_for: RepairFor,
}

impl DirectoryRepair<'_> {
    /// Restores what is missing, where it is still the same repository.
    pub(crate) fn repair(&self) -> Result<Found> {
        let repository = &self.places.repository;
        if !is_folder(&repository.common_dir) {
            return Ok(Found::Other);
        }
        let has_token = self.places.vault.belongs_to(repository)?;
        let is_own_missing = !is_folder(&repository.git_dir);
        let is_same = || is_same_repository(self.places, self.snapshot, self.current);
        if has_token || is_own_missing || is_same() {
            return self.parts().map(Found::Same);
        }
        Ok(Found::Other)
    }

    fn parts(&self) -> Result<Vec<String>> {
        let Places { repository, vault } = self.places;
        let shared = &repository.common_dir;
        let is_reftable = self.snapshot.control.uses_reftable();
        let lacks_objects = !is_folder(&repository.objects());
        let lacks_refs = !is_folder(&shared.join("refs"));
        let lacks = |path: &Path| fs::symlink_metadata(path).is_err();
        let missing = [
            lacks_objects,
            lacks_refs,
            lacks(&repository.git_dir.join("HEAD")),
            lacks(&shared.join("config")),
            !vault.belongs_to(repository)?,
        ];
        // A removal that was cut short.
        let is_half = missing.iter().filter(|it| **it).count() > 1;
        let mut parts = Vec::new();
        if lacks_objects {
            self.make_folder("objects")?;
            restore_objects(self.places)?;
            parts.push("objects".to_owned());
        }
        let extent = if is_half {
            Extent::Everything
        } else {
            Extent::NeededFolders(self.repair_for)
        };
        if lacks_refs {
            self.make_folder("refs")?;
        }
        // First, because it leaves no link on the way to content.
        parts.extend(restore_content(self.places, self.trash)?);
        let restored = git_copy::restore(repository, vault, extent)?;
        parts.extend(restored.into_iter().filter(|part| part != "objects"));
        parts.extend(self.alternates()?);
        let lost_heads = lacks(&shared.join("refs/heads"));
        let lost_packed = lacks(&shared.join("packed-refs")) && git_copy::has(vault, "packed-refs");
        if is_reftable {
            if lost_heads {
                git_copy::restore_part(repository, vault, "refs")?;
                parts.push("refs".to_owned());
            }
            if self.places.repair_head(REFTABLE_HEAD, self.trash)? {
                parts.push("HEAD".to_owned());
            }
        } else if is_half || lost_heads || lost_packed {
            restore_refs(self.places, self.snapshot)?;
            parts.push("refs".to_owned());
        }
        if is_half {
            let control = &self.snapshot.control;
            parts.extend(control.restore_files(repository, self.trash)?);
        }
        if !vault.belongs_to(repository)? {
            vault.restore_token(repository)?;
            parts.push(TOKEN_FILE.to_owned());
        }
        parts.sort_unstable();
        parts.dedup();
        Ok(parts)
    }

    /// Makes a folder of the git directory; what is in its place moves to the trash.
    fn make_folder(&self, name: &str) -> Result<()> {
        let path = self.places.repository.common_dir.join(name);
        move_aside(&path, self.trash, name)?;
        fs::create_dir_all(&path).tried("create", &path)?;
        Ok(())
    }

    /// The list of places that objects are borrowed from, where it lost one.
    fn alternates(&self) -> Result<Option<String>> {
        let name = "objects/info/alternates";
        let kept = git_copy::folder(&self.places.vault).join(name);
        let Some(wanted) = read_if_present(&kept)? else {
            return Ok(None);
        };
        let path = self.places.repository.common_dir.join(name);
        let present = read_if_present(&path)?.unwrap_or_default();
        let is_line = |byte: &u8| *byte == b'\n';
        let present: Vec<&[u8]> = present.split(is_line).collect();
        if wanted.split(is_line).all(|line| present.contains(&line)) {
            return Ok(None);
        }
        move_aside(&path, self.trash, name)?;
        create_folder_above(&path)?;
        copy_with_time(&kept, &path)?;
        Ok(Some(name.to_owned()))
    }
}

/// True where a git directory without our token is the one the run began in: the directory itself is
/// the same and still names the run's branch or holds its commit, or the commit and every branch of
/// the checkpoint are there.
pub(crate) fn is_same_repository(places: &Places, snapshot: &Snapshot, current: &Current) -> bool {
    let repository = &places.repository;
    let objects = repository.objects();
    let has_commit = ObjectLookup::new(&objects, repository.format).has(&current.commit);
    let is_named = || {
        let head = read_line_file(&repository.git_dir.join("HEAD")).unwrap_or_default();
        let branch = &current.intent.branch;
        head.trim_ascii_end().strip_prefix(b"ref: ") == Some(branch.as_bytes())
            || repository.common_dir.join(branch).is_file()
    };
    if places.vault.is_same_directory(repository) {
        return has_commit || is_named();
    }
    let refs = snapshot.control.refs.keys();
    let mut branches = refs.filter(|name| name.starts_with("refs/heads/"));
    has_commit && branches.all(|name| has_ref(repository, name))
}

fn has_ref(repository: &Repository, name: &str) -> bool {
    let packed = read_plain(&repository.common_dir.join("packed-refs")).unwrap_or_default();
    repository.common_dir.join(name).is_file() || packed_in(&packed).contains_key(name)
}

/// Fills an empty folder of objects from the vault.
fn restore_objects(places: &Places) -> Result<()> {
    let objects = places.repository.objects();
    for name in ["info", "pack"] {
        let path = objects.join(name);
        fs::create_dir_all(&path).tried("create", &path)?;
    }
    places.link_objects_back()
}

/// Writes the refs of a checkpoint where they are missing: symbolic ones and those of the work tree
/// as files, all others as a packed list, which a file of its own goes before.
fn restore_refs(places: &Places, snapshot: &Snapshot) -> Result<()> {
    let Places { repository, vault } = places;
    for name in ["refs/heads", "refs/tags"] {
        let path = repository.common_dir.join(name);
        fs::create_dir_all(&path).tried("create", &path)?;
    }
    git_copy::restore_part(repository, vault, "refs")?;
    let path = repository.common_dir.join("packed-refs");
    let mut packed = packed_in(&read_if_present(&path)?.unwrap_or_default());
    for (name, id) in &snapshot.control.refs {
        if is_per_work_tree(name) {
            let path = repository.git_dir.join(name);
            create_folder_above(&path)?;
            write_whole(&path, format!("{id}\n").as_bytes(), 0o644)?;
        } else if !git_copy::has(vault, name) {
            packed.insert(name.clone(), *id);
        }
    }
    if fs::symlink_metadata(&path).is_ok_and(|it| it.is_dir()) {
        fs::remove_dir(&path).tried("remove", &path)?;
    }
    write_packed_refs(&path, &packed)
}

fn packed_in(bytes: &[u8]) -> Refs {
    let text = String::from_utf8_lossy(bytes);
    text.lines()
        .filter(|line| !line.starts_with(['#', '^']))
        .filter_map(|line| {
            let (id, name) = line.split_once(' ')?;
            Some((name.to_owned(), ObjectId::parse(id.as_bytes())?))
        })
        .collect()
}

/// Writes the list of packed refs.
pub(super) fn write_packed_refs(path: &Path, refs: &Refs) -> Result<()> {
    let lines = refs.iter().map(|(name, id)| format!("{id} {name}\n"));
    let list: String = lines.collect();
    let list = format!("# pack-refs with: sorted \n{list}");
    Ok(write_whole(path, list.as_bytes(), 0o644)?)
}

/// Makes a git directory from what the vault holds.
pub(crate) fn rebuild(places: &Places, snapshot: &Snapshot, trash: &Path) -> Result<()> {
    let Places { repository, vault } = places;
    let control = &snapshot.control;
    if fs::symlink_metadata(&repository.common_dir).is_ok() {
        move_away(&repository.common_dir, &trash.join("replaced-git"))?;
    }
    for folder in [&repository.common_dir, &repository.git_dir] {
        fs::create_dir_all(folder).tried("create", folder)?;
    }
    restore_objects(places)?;
    git_copy::restore(repository, vault, Extent::Everything)?;
    let head = if control.uses_reftable() {
        format!("ref: {REFTABLE_HEAD}\n")
    } else {
        restore_refs(places, snapshot)?;
        match &control.head {
            Head::Branch { name, .. } => format!("ref: {name}\n"),
            Head::Detached { commit } => format!("{commit}\n"),
        }
    };
    control.restore_files(repository, trash)?;
    control.restore_stash_log(repository, trash)?;
    write_whole(&repository.git_dir.join("HEAD"), head.as_bytes(), 0o644)?;
    vault.restore_token(repository)?;
    Ok(())
}

/// The notice about a git directory that was rebuilt from the vault.
pub(crate) fn rebuilt_notice(places: &Places) -> Notice {
    let vault = places.vault.folder().display();
    let mut message = format!(
        "the git directory was removed or replaced; it was rebuilt from the vault `{vault}`"
    );
    let left_out = git_copy::left_out(&places.vault);
    if !left_out.is_empty() {
        message.push_str("; too large for the vault, and so not restored: ");
        message.push_str(&left_out.join(", "));
    }
    Notice::new("git_rebuilt", message)
}

impl Repo {
    /// Restores the settings that say where the work tree is, where they differ from the checkpoint.
    pub(crate) fn repair_setup(&self, checkpoint: &Snapshot, trash: &Path) -> Result<Vec<Notice>> {
        let repaired = repair_setup(&self.gits.store, &self.places, checkpoint, trash)?;
        if repaired.is_empty() {
            return Ok(Vec::new());
        }
        let message = format!(
            "restored in the git configuration, because git could not work in this tree: {}",
            repaired.join(", ")
        );
        Ok(vec![Notice::new("git_setup_restored", message)])
    }
}

/// The same with a git on another repository: wrong settings may lock git out of this one.
pub(crate) fn repair_setup(
    git: &Git,
    places: &Places,
    checkpoint: &Snapshot,
    trash: &Path,
) -> Result<Vec<String>> {
    let repository = &places.repository;
    let mut repaired = Vec::new();
    for (name, folder) in [
        ("config", &repository.common_dir),
        ("config.worktree", &repository.git_dir),
    ] {
        let path = folder.join(name);
        let wanted = checkpoint.control.config(name);
        let present = read_plain(&path).ok();
        if present.as_deref() == wanted {
            continue;
        }
        let stdin = ["--file".into(), "-".into()];
        let before = settings(git, &stdin, wanted.unwrap_or_default())?;
        let before = before.unwrap_or_default();
        let place = ["--file".into(), path.clone().into_os_string()];
        let Some(now) = settings(git, &place, &[])? else {
            // Git cannot read it.
            if checkpoint.control.restore_config(repository, name, trash)? {
                repaired.push(name.to_owned());
            }
            continue;
        };
        for key in SETUP {
            let (before, now) = (before.get(*key), now.get(*key));
            if before == now {
                continue;
            }
            let mut args = vec![OsString::from("config")];
            args.extend(place.iter().cloned());
            match before {
                Some(value) => args.extend(["--replace-all", key, value].map(Into::into)),
                None => args.extend(["--unset-all", key].map(Into::into)),
            }
            git.run(args)?;
            repaired.push(format!("{key} (in {name})"));
        }
    }
    Ok(repaired)
}

/// The settings that say where the work tree is, as a file has them; none where git cannot read it.
fn settings(
    git: &Git,
    place: &[OsString; 2],
    input: &[u8],
) -> Result<Option<BTreeMap<String, String>>> {
    let mut args = vec![OsString::from("config")];
    args.extend(place.iter().cloned());
    args.extend(["--null", "--list"].map(OsString::from));
    let output = git.output(&args, input)?;
    if !output.status.success() {
        // A file that is not there says nothing.
        let is_absent = place[1] != "-" && fs::symlink_metadata(&place[1]).is_err();
        return Ok(is_absent.then(BTreeMap::new));
    }
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let entries = text.split('\0').filter_map(|entry| {
        let (key, value) = entry.split_once('\n').unwrap_or((entry, "true"));
        SETUP
            .contains(&key)
            .then(|| (key.to_owned(), value.to_owned()))
    });
    Ok(Some(entries.collect()))
}

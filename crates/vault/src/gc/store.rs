//! Objects of the store that only the vault holds and nothing needs. Loose ones are removed;
//! packs that hold such are replaced by one new pack of what is needed of them, which is verified
//! and durable before an old one goes.
//!
//! What the repository still has costs no room here: it is a link, and stays.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use super::needs::Needs;
use crate::error::{CheckpointError, Result};
use crate::gc::policy::Tally;
use crate::git::object_id::{ObjectFormat, ObjectId, lines};
use crate::git::pack_index;
use crate::git::process::GitError;
use crate::repo::{Places, Repo};
use crate::store::{listing, name};
use ralph_base::disk::{measure, remove_tree};
use ralph_base::files::{Tried, sync_file_system};

/// What goes of the store.
#[derive(Debug, Default)]
pub(super) struct StorePlan {
    pub(super) gone: Tally,
    /// Loose objects, and what killed processes left.
    pub(super) files: Vec<PathBuf>,
    /// Indexes of packs to replace.
    packs: Vec<PathBuf>,
    /// What is needed of those packs.
    needed: Vec<ObjectId>,
}

/// What the store holds.
#[derive(Debug, Default)]
struct Holdings {
    /// Loose objects that the repository does not have.
    loose: Vec<(ObjectId, PathBuf)>,
    /// Indexes of packs that the repository does not have, and all objects in them.
    packs: Vec<PathBuf>,
    packed: Vec<ObjectId>,
    /// Objects the repository has under the same name; linked, so the store keeps them.
    shared: HashSet<ObjectId>,
    /// What killed processes left.
    left: Vec<PathBuf>,
}

impl Repo {
    /// Finds what nothing needs.
    pub(super) fn plan_store(&self, needs: Needs) -> Result<StorePlan> {
        let holdings = Holdings::survey(&self.places)?;
        let mut plan = StorePlan {
            files: holdings.left,
            ..StorePlan::default()
        };
        if !holdings.loose.is_empty() || !holdings.packs.is_empty() {
            let reachable = self.reachable(needs)?;
            let mut held = holdings.shared;
            for (id, path) in holdings.loose {
                if !reachable.contains(&id) || !held.insert(id) {
                    plan.files.push(path);
                }
            }
            let packed = holdings.packed.len();
            plan.needed = holdings.packed;
            plan.needed
                .retain(|id| reachable.contains(id) && !held.contains(id));
            plan.needed.sort_unstable();
            plan.needed.dedup();
            if plan.needed.len() < packed {
                plan.packs = holdings.packs;
                let files = plan.packs.iter().flat_map(|index| files_of(index));
                let before: u64 = files.map(|file| measure(&file)).sum();
                plan.gone.count = packed - plan.needed.len();
                plan.gone.bytes = before.saturating_sub(self.packed_bytes(&plan.needed)?);
            }
        }
        let files = plan.files.iter();
        files.for_each(|path| plan.gone.add(measure(path)));
        Ok(plan)
    }

    /// Everything that is needed, with all it leads to. An error where something on the way is
    /// missing: then what it would lead to is not known.
    fn reachable(&self, needs: Needs) -> Result<HashSet<ObjectId>> {
        let own = self.places.vault.objects();
        let also = self.places.repository.objects();
        let git = self.gits.store.patient().with_objects(&own, Some(&also));
        let mut reachable = needs.blobs;
        let asked: Vec<ObjectId> = needs.roots.into_iter().collect();
        let check = ["cat-file", "--batch-check=%(objectname) %(objecttype)"];
        let answer = git.run_with_input(check, lines(&asked).as_bytes())?;
        let mut roots = Vec::new();
        for line in String::from_utf8_lossy(&answer).lines() {
            match line.split_once(' ') {
                // A name that leads to nothing we have, such as a commit of a submodule.
                None | Some((_, "missing")) => {}
                Some((id, "blob")) => reachable.extend(ObjectId::parse(id.as_bytes())),
                Some((id, _)) => roots.extend(ObjectId::parse(id.as_bytes())),
            }
        }
        if !roots.is_empty() {
            let walk = ["rev-list", "--objects", "--no-object-names", "--stdin"];
            let listing = git.run_with_input(walk, lines(&roots).as_bytes())?;
            let ids = listing.split(|byte| *byte == b'\n');
            reachable.extend(ids.filter_map(ObjectId::parse));
        }
        Ok(reachable)
    }

    /// About how much room objects take up in a pack.
    fn packed_bytes(&self, ids: &[ObjectId]) -> Result<u64> {
        let ask = ["cat-file", "--batch-check=%(objectsize:disk)"];
        let git = self.gits.store.patient();
        let answer = git.run_with_input(ask, lines(ids).as_bytes())?;
        let answer = String::from_utf8_lossy(&answer);
        let sizes = answer.lines().filter_map(|line| line.parse::<u64>().ok());
        Ok(sizes.sum())
    }

    /// Replaces packs by one of what is needed of them.
    pub(super) fn replace_packs(&self, plan: &StorePlan) -> Result<()> {
        let Some(folder) = plan.packs.first().and_then(|index| index.parent()) else {
            return Ok(());
        };
        let new = self.write_pack(folder, &plan.needed)?;
        sync_file_system(self.places.vault.folder())?;
        // The index over several packs names them, so it goes first.
        let over_all = listing(folder)?;
        let over_all = over_all.into_iter();
        let over_all = over_all.filter(|path| name(path).starts_with("multi-pack-index"));
        let old = plan
            .packs
            .iter()
            .filter(|index| Some(*index) != new.as_ref());
        let mut gone = over_all.chain(old.flat_map(|index| files_of(index)));
        Ok(gone.try_for_each(|path| remove_tree(&path))?)
    }

    /// Writes one pack of what is needed and makes sure that git can read it; gives its index. Git
    /// writes none where it does not find all of it.
    fn write_pack(&self, folder: &Path, needed: &[ObjectId]) -> Result<Option<PathBuf>> {
        if needed.is_empty() {
            return Ok(None);
        }
        let git = self.gits.store.patient();
        let command = ["pack-objects", "-q", "--delta-base-offset"].map(OsString::from);
        let args = command.into_iter().chain([folder.join("pack").into()]);
        let answer = git.run_with_input(args, lines(needed).as_bytes())?;
        let answer = String::from_utf8_lossy(&answer).trim().to_owned();
        if ObjectId::parse(answer.as_bytes()).is_none() {
            let command = "pack-objects".to_owned();
            return Err(GitError::Unexpected { command, answer }.into());
        }
        let index = folder.join(format!("pack-{answer}.idx"));
        git.run([OsString::from("verify-pack"), index.clone().into()])?;
        Ok(Some(index))
    }
}

impl Holdings {
    /// Looks at every file of the store's objects.
    fn survey(places: &Places) -> Result<Self> {
        let mut holdings = Self::default();
        let own = places.repository.objects();
        for folder in listing(&places.vault.objects())? {
            let prefix = name(&folder);
            for path in listing(&folder)? {
                let file = name(&path);
                let in_repository = own.join(&prefix).join(&file);
                if file.starts_with("tmp_") || file.ends_with(".copying") {
                    holdings.left.push(path);
                } else if prefix == "pack" {
                    let is_index = path.extension().is_some_and(|it| it == "idx");
                    if !is_index || !path.with_extension("pack").exists() {
                        continue;
                    }
                    let ids = pack_ids(&path, places.repository.format)?;
                    if in_repository.with_extension("pack").exists() {
                        holdings.shared.extend(ids);
                    } else {
                        holdings.packs.push(path);
                        holdings.packed.extend(ids);
                    }
                } else if let Some(id) = ObjectId::parse(format!("{prefix}{file}").as_bytes()) {
                    if in_repository.exists() {
                        holdings.shared.insert(id);
                    } else {
                        holdings.loose.push((id, path));
                    }
                }
            }
        }
        Ok(holdings)
    }
}

fn pack_ids(index: &Path, format: ObjectFormat) -> Result<Vec<ObjectId>> {
    let bytes = fs::read(index).tried("read", index)?;
    pack_index::object_ids(&bytes, format).ok_or_else(|| {
        CheckpointError::failed(
            format!("could not read `{}`", index.display()),
            "the store's objects are left as they are",
        )
    })
}

/// All files of a pack, its index first: git ignores a pack without one, but an index without its
/// pack is an error.
fn files_of(index: &Path) -> Vec<PathBuf> {
    let folder = index.parent().unwrap_or(Path::new("/"));
    let mut files = listing(folder).unwrap_or_default();
    files.retain(|path| path.file_stem() == index.file_stem());
    files.sort_unstable_by_key(|path| path != index);
    files
}

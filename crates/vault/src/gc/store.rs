//! Objects of the store that only the vault holds and nothing needs. Loose ones are removed;
//! packs that hold such are replaced by one new pack of what is needed of them, which is verified
//! and durable before an old one goes.
//!
//! What the repository still has costs no room here: it is a link, and stays.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::folders::{listing, name};
use super::needs::Needs;
use crate::error::{CheckpointError, Result};
use crate::gc::policy::{StoreRow, Tally};
use crate::git::object_id::{ObjectFormat, ObjectId, lines};
use crate::git::pack_index;
use crate::git::process::{Git, GitError};
use crate::repo::{Places, Repo};
use crate::session::Checkpoints;
use ralph_base::disk::{measure, remove_tree};
use ralph_base::files::{Tried, sync_file_system};

/// What goes of the store.
#[derive(Debug, Default)]
pub(super) struct StorePlan {
    /// Loose objects, and what killed processes left.
    files: Vec<PathBuf>,
    /// Indexes of packs to replace.
    packs: Vec<PathBuf>,
    /// What is needed of those packs.
    needed: Vec<ObjectId>,
}

impl StorePlan {
    /// All objects stay, for a reason.
    pub(super) fn nothing(reason: String) -> (Self, StoreRow) {
        (Self::default(), StoreRow::LeftAlone { reason })
    }
}

/// A file of the store that the repository does not have.
#[derive(Debug)]
struct Loose {
    id: ObjectId,
    path: PathBuf,
}

/// A pack of the store that the repository does not have.
#[derive(Debug)]
struct Pack {
    index: PathBuf,
    ids: Vec<ObjectId>,
}

/// What the store holds.
#[derive(Debug, Default)]
struct Holdings {
    loose: Vec<Loose>,
    packs: Vec<Pack>,
    /// Objects the repository has under the same name; linked, so the store keeps them.
    shared: HashSet<ObjectId>,
    /// What killed processes left.
    left: Vec<PathBuf>,
}

impl Checkpoints {
    /// Finds what nothing needs; where that cannot be found out, all stays.
    pub(super) fn plan_store(&self, needs: Needs) -> (StorePlan, StoreRow) {
        if self.log.state.open_run().is_some() {
            return StorePlan::nothing("a run is open".to_owned());
        }
        match self.repo.try_plan_store(needs) {
            Ok(plan) => plan,
            Err(error) => {
                StorePlan::nothing(format!("what is needed could not be found out ({error})"))
            }
        }
    }
}

impl Repo {
    fn try_plan_store(&self, needs: Needs) -> Result<(StorePlan, StoreRow)> {
        let places = &self.places;
        let holdings = Holdings::survey(places)?;
        let mut plan = StorePlan {
            files: holdings.left,
            ..StorePlan::default()
        };
        let mut gone = Tally::default();
        plan.files.iter().for_each(|path| gone.add(measure(path)));
        if holdings.loose.is_empty() && holdings.packs.is_empty() {
            return Ok((plan, StoreRow::Known { gone }));
        }
        let reachable = self.reachable(needs)?;
        let mut held = holdings.shared;
        for loose in holdings.loose {
            if !reachable.contains(&loose.id) || held.contains(&loose.id) {
                gone.add(measure(&loose.path));
                plan.files.push(loose.path);
            } else {
                held.insert(loose.id);
            }
        }
        let packed: usize = holdings.packs.iter().map(|pack| pack.ids.len()).sum();
        let ids = holdings.packs.iter().flat_map(|pack| &pack.ids);
        let needed: HashSet<ObjectId> = ids
            .filter(|id| reachable.contains(id) && !held.contains(id))
            .copied()
            .collect();
        if needed.len() < packed {
            plan.packs = holdings.packs.into_iter().map(|pack| pack.index).collect();
            plan.needed = needed.into_iter().collect();
            plan.needed.sort_unstable();
            gone.count += packed - plan.needed.len();
            let before: u64 = plan
                .packs
                .iter()
                .flat_map(|it| files_of(it))
                .map(|it| measure(&it))
                .sum();
            gone.bytes += before.saturating_sub(self.packed_bytes(&plan.needed)?);
        }
        Ok((plan, StoreRow::Known { gone }))
    }

    /// Git on the store that also sees what the repository has.
    fn store_and_repository(&self) -> Git {
        let own = self.places.vault.store().join("objects");
        let also = self.places.repository.objects();
        self.store.patient().with_objects(&own, Some(&also))
    }

    /// Everything that is needed, with all it leads to. An error where something on the way is
    /// missing: then nobody knows what it would lead to.
    fn reachable(&self, needs: Needs) -> Result<HashSet<ObjectId>> {
        let git = self.store_and_repository();
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
        if roots.is_empty() {
            return Ok(reachable);
        }
        let walk = ["rev-list", "--objects", "--no-object-names", "--stdin"];
        let listing = git.run_with_input(walk, lines(&roots).as_bytes())?;
        let ids = listing.split(|byte| *byte == b'\n');
        reachable.extend(ids.filter_map(ObjectId::parse));
        Ok(reachable)
    }

    /// About how much room objects take up in a pack.
    fn packed_bytes(&self, ids: &[ObjectId]) -> Result<u64> {
        let ask = ["cat-file", "--batch-check=%(objectsize:disk)"];
        let git = self.store.patient();
        let answer = git.run_with_input(ask, lines(ids).as_bytes())?;
        let text = String::from_utf8_lossy(&answer);
        Ok(text
            .lines()
            .filter_map(|line| line.parse::<u64>().ok())
            .sum())
    }

    /// Replaces packs, then removes files.
    pub(super) fn carry_out_store(&self, plan: &StorePlan) -> Result<()> {
        if !plan.packs.is_empty() {
            let new = self.write_pack(&plan.needed)?;
            sync_file_system(self.places.vault.folder())?;
            drop_packs(&plan.packs, new.as_deref())?;
        }
        Ok(plan.files.iter().try_for_each(|path| remove_tree(path))?)
    }

    /// Writes one pack of what is needed and makes sure that it holds all of it; gives its index.
    fn write_pack(&self, needed: &[ObjectId]) -> Result<Option<PathBuf>> {
        if needed.is_empty() {
            return Ok(None);
        }
        let base = self.places.vault.store().join("objects/pack/pack");
        let git = self.store.patient();
        let mut args: Vec<std::ffi::OsString> = ["pack-objects", "-q", "--delta-base-offset"]
            .map(Into::into)
            .to_vec();
        args.push(base.clone().into());
        let answer = git.run_with_input(&args, lines(needed).as_bytes())?;
        let answer = String::from_utf8_lossy(&answer).trim().to_owned();
        if ObjectId::parse(answer.as_bytes()).is_none() {
            let command = "pack-objects".to_owned();
            return Err(GitError::Unexpected { command, answer }.into());
        }
        let mut index = base.into_os_string();
        index.push(format!("-{answer}.idx"));
        let index = PathBuf::from(index);
        let args: [std::ffi::OsString; 2] = ["verify-pack".into(), index.clone().into()];
        git.run(&args)?;
        let (path, format) = (index.clone(), self.places.repository.format);
        let held = pack_ids(&path, format)?;
        let held: HashSet<ObjectId> = held.into_iter().collect();
        if needed.iter().all(|id| held.contains(id)) {
            return Ok(Some(index));
        }
        Err(CheckpointError::failed(
            format!(
                "the new pack `{}` does not hold all it should",
                index.display()
            ),
            "nothing was removed from the store; all is as it was",
        ))
    }
}

impl Holdings {
    /// Looks at every file of the store's objects.
    fn survey(places: &Places) -> Result<Self> {
        let mut holdings = Self::default();
        let store = places.vault.store().join("objects");
        let own = places.repository.objects();
        for folder in listing(&store)? {
            let prefix = name(&folder);
            for path in listing(&folder)? {
                let file = name(&path);
                let is_shared = own.join(&prefix).join(&file).exists();
                if file.starts_with("tmp_") || file.ends_with(".copying") {
                    holdings.left.push(path);
                } else if prefix == "pack" {
                    let is_shared = own.join("pack").join(&file).with_extension("pack").exists();
                    holdings.pack(path, is_shared, places.repository.format)?;
                } else if let Some(id) = ObjectId::parse(format!("{prefix}{file}").as_bytes()) {
                    if is_shared {
                        holdings.shared.insert(id);
                    } else {
                        holdings.loose.push(Loose { id, path });
                    }
                }
            }
        }
        Ok(holdings)
    }

    fn pack(&mut self, index: PathBuf, is_shared: bool, format: ObjectFormat) -> Result<()> {
        let is_whole = index.extension().is_some_and(|it| it == "idx")
            && index.with_extension("pack").exists();
        if !is_whole {
            return Ok(());
        }
        let ids = pack_ids(&index, format)?;
        if is_shared {
            self.shared.extend(ids);
        } else {
            self.packs.push(Pack { index, ids });
        }
        Ok(())
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

/// All files of a pack, its index first: a pack without one is not looked at, an index without its
/// pack is an error.
fn files_of(index: &Path) -> Vec<PathBuf> {
    let folder = index.parent().unwrap_or(Path::new("/"));
    let stem = index.file_stem();
    let mut files = listing(folder).unwrap_or_default();
    files.retain(|path| path.file_stem() == stem);
    files.sort_unstable_by_key(|path| path != index);
    files
}

/// Removes old packs, and first the index over several packs, which names them.
fn drop_packs(indexes: &[PathBuf], new: Option<&Path>) -> Result<()> {
    let folder = indexes.first().and_then(|index| index.parent());
    for path in folder.map(listing).transpose()?.unwrap_or_default() {
        if name(&path).starts_with("multi-pack-index") {
            remove_tree(&path)?;
        }
    }
    for index in indexes.iter().filter(|index| Some(index.as_path()) != new) {
        files_of(index)
            .iter()
            .try_for_each(|path| remove_tree(path))?;
    }
    Ok(())
}

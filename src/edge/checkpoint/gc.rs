//! Housekeeping of a vault: first a plan of what may go, then carrying it out, in an order in
//! which a kill at any point leaves a vault that works: references go before what they name.
//!
//! | file | part |
//! | --- | --- |
//! | `runs` | the runs of the journal |
//! | `journal` | the journal without the runs that go |
//! | `folders` | snapshots, trash and logs of runs that go, and of no run at all |
//! | `refs` | refs of the store |
//! | `needs` | what the runs that stay need: copies, objects |
//! | `store` | objects that nothing needs |
//!
//! Which runs go is decided elsewhere.

pub(super) mod folders;
mod journal;
mod needs;
mod refs;
pub(super) mod runs;
mod store;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use super::run_state::RunState;
use super::{CheckpointError, Checkpoints, ObjectLinks, Result, barriers, blocking, lock};
use crate::domain::housekeeping::{Housekeeping, PastRun, StoreRow, Tally};
use crate::domain::ids::RunId;
use crate::edge::disk::{measure, remove_tree};
use crate::edge::files::sync_file_system;
use crate::edge::steps::{self, Journal, Line};

use folders::Folders;
use store::StorePlan;

/// What goes, found out while the vault is locked.
#[derive(Debug)]
pub(crate) struct GcPlan {
    /// What is told of it.
    pub(crate) report: Housekeeping,
    goes: BTreeSet<RunId>,
    folders: Vec<PathBuf>,
    refs: Vec<String>,
    copies: Vec<PathBuf>,
    store: StorePlan,
}

/// One part of carrying a plan out, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Journal,
    Refs,
    Folders,
    Copies,
    Objects,
}

/// Before anything is removed, nothing names it any more.
pub(super) const STAGES: [Stage; 5] = [
    Stage::Journal,
    Stage::Refs,
    Stage::Folders,
    Stage::Copies,
    Stage::Objects,
];

impl Checkpoints {
    /// The runs of this work tree, in the order they began.
    pub(crate) async fn past_runs(&self) -> Result<Vec<PastRun>> {
        let lines = self.read_journal().await?;
        Ok(runs::of_journal(&lines, &self.state))
    }

    /// Says what goes with these runs, and what belongs to no run; removes nothing.
    pub(crate) async fn plan_gc(&self, goes: &[RunId]) -> Result<GcPlan> {
        let goes: BTreeSet<RunId> = goes.iter().cloned().collect();
        if self.has_store() {
            // What the repository has by now need not be kept twice.
            self.link_objects().await?;
        }
        let lines = self.read_journal().await?;
        let mut stays = lines.clone();
        stays.retain(|line| !goes.contains(&line.run));
        self.refuse_to_forget(lines.len(), &stays)?;
        let past = runs::of_journal(&lines, &self.state);
        let all_runs = past.len();
        let (places, gone) = (Arc::clone(&self.places), goes.clone());
        let (found, bytes_before) = blocking(move || {
            let found = Folders::find(&places.vault, &past, &lines, &gone)?;
            Ok((found, measure(places.vault.folder())))
        })
        .await?;
        let (refs_go, refs_stay) = self.sort_refs(&goes, &found).await?;
        let needs = self.needs(&found, &stays, &refs_stay).await;
        let mut notes = found.notes.clone();
        let (copies, room) = match &needs {
            Ok(needs) => self.needless_copies(needs).await?,
            Err(error) => {
                notes.push(format!("copies of files are left alone: {error}"));
                (Vec::new(), Tally::default())
            }
        };
        let (store, row) = match needs {
            Ok(needs) => self.plan_store(needs).await,
            Err(error) => StorePlan::nothing(error.to_string()),
        };
        let freed = found.bytes() + room.bytes + freed_objects(&row);
        let report = Housekeeping {
            vault: self.places.vault.folder().display().to_string(),
            done: false,
            kept_runs: all_runs - found.rows.len(),
            bytes_before,
            bytes_after: bytes_before.saturating_sub(freed),
            runs: found.rows,
            orphans: found.orphans,
            copies: room,
            store: row,
            vaults: Vec::new(),
            notes,
        };
        Ok(GcPlan {
            report,
            goes,
            folders: found.paths,
            refs: refs_go,
            copies,
            store,
        })
    }

    /// Carries a plan out and says how large the vault is then.
    pub(crate) async fn carry_out_gc(&mut self, plan: &GcPlan) -> Result<u64> {
        for stage in STAGES {
            self.carry_out_stage(plan, stage).await?;
        }
        self.vault_bytes().await
    }

    /// How much room the vault takes up; what it shares with the repository is not counted.
    pub(crate) async fn vault_bytes(&self) -> Result<u64> {
        let places = Arc::clone(&self.places);
        blocking(move || Ok(measure(places.vault.folder()))).await
    }

    pub(super) async fn carry_out_stage(&mut self, plan: &GcPlan, stage: Stage) -> Result<()> {
        match stage {
            Stage::Journal => self.forget_runs(&plan.goes).await,
            Stage::Refs => self.delete_refs(&plan.refs).await,
            Stage::Folders => {
                let (places, paths) = (Arc::clone(&self.places), plan.folders.clone());
                blocking(move || {
                    // The journal must not come back naming what is gone.
                    sync_file_system(places.vault.folder())?;
                    Ok(paths.iter().try_for_each(|path| remove_tree(path))?)
                })
                .await
            }
            Stage::Copies => {
                let paths = plan.copies.clone();
                blocking(move || Ok(paths.iter().try_for_each(|path| remove_tree(path))?)).await
            }
            Stage::Objects => {
                let done = self.carry_out_store(&plan.store).await;
                // What was linked once may be gone from the store.
                *lock(&self.links) = ObjectLinks::default();
                done
            }
        }
    }

    /// Writes the journal without some runs, and goes on with the new one.
    async fn forget_runs(&mut self, goes: &BTreeSet<RunId>) -> Result<()> {
        if goes.is_empty() {
            return Ok(());
        }
        let places = Arc::clone(&self.places);
        let goes = goes.clone();
        let (journal, state) = blocking(move || {
            let path = places.vault.journal();
            journal::rewrite(&path, &goes)?;
            let barriers = barriers(&places.repository, &places.vault);
            let (journal, lines) = Journal::open(&path, barriers)?;
            Ok((journal, RunState::from_journal(&lines)))
        })
        .await?;
        *lock(&self.journal) = journal;
        self.state = state;
        Ok(())
    }

    async fn read_journal(&self) -> Result<Vec<Line>> {
        let path = self.places.vault.journal();
        blocking(move || Ok(steps::read(&path)?)).await
    }

    /// Refuses where what the journal says of today would change with the lines that go.
    fn refuse_to_forget(&self, before: usize, stays: &[Line]) -> Result<()> {
        if stays.len() == before || self.state.says_the_same_as(&RunState::from_journal(stays)) {
            return Ok(());
        }
        Err(CheckpointError::failed(
            "a run that is to be removed is still needed by a later one",
            "nothing was removed; remove fewer runs with a larger `--older-than`",
        ))
    }
}

const fn freed_objects(row: &StoreRow) -> u64 {
    match row {
        StoreRow::Known { gone } => gone.bytes,
        StoreRow::LeftAlone { .. } => 0,
    }
}

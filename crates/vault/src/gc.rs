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

pub(crate) mod folders;
mod journal;
mod needs;
pub mod policy;
mod refs;
pub(crate) mod runs;
mod store;

use std::collections::BTreeSet;
use std::path::PathBuf;

use folders::Folders;
use store::StorePlan;

use crate::error::{CheckpointError, Result};
use crate::gc::policy::{Housekeeping, PastRun, StoreRow, Tally};
use crate::journal::run_state::RunState;
use crate::journal::steps::{Journal, Line};
use crate::vault::{Vault, barriers};
use ralph_base::disk::{measure, remove_tree};
use ralph_base::files::sync_file_system;
use ralph_base::ids::RunId;

/// What goes, found out while the vault is locked.
#[derive(Debug)]
pub struct GcPlan {
    pub report: Housekeeping,
    goes: BTreeSet<RunId>,
    refs: Vec<String>,
    /// Snapshots, trash, logs, copies and objects.
    paths: Vec<PathBuf>,
    store: StorePlan,
}

/// One part of carrying a plan out, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    Journal,
    Refs,
    Packs,
    Files,
}

/// Before anything is removed, nothing names it any more.
pub const STAGES: [Stage; 4] = [Stage::Journal, Stage::Refs, Stage::Packs, Stage::Files];

impl Vault {
    /// The runs of this work tree, in the order they began.
    pub fn past_runs(&self) -> Result<Vec<PastRun>> {
        Ok(runs::of_journal(&self.journal_lines()?, &self.log.state))
    }

    /// Says what goes with these runs, and what belongs to no run; removes nothing.
    pub fn plan_gc(&self, goes: &[RunId]) -> Result<GcPlan> {
        let goes: BTreeSet<RunId> = goes.iter().cloned().collect();
        if self.repo.has_store() {
            // What the repository has by now need not be kept twice.
            self.repo.objects.link()?;
        }
        let lines = self.journal_lines()?;
        let mut stays = lines.clone();
        stays.retain(|line| !goes.contains(&line.run));
        self.refuse_to_forget(lines.len(), &stays)?;
        let past = runs::of_journal(&lines, &self.log.state);
        let vault = &self.repo.places.vault;
        let mut found = Folders::find(vault, &past, &lines, &goes)?;
        let (refs, refs_stay) = self.repo.sort_refs(&goes, &found)?;
        let needs = self.repo.needs(&found, &stays, &refs_stay);
        let mut copies = Tally::default();
        match &needs {
            Ok(needs) => {
                for copy in self.repo.needless_copies(needs)? {
                    copies.add(measure(&copy));
                    found.paths.push(copy);
                }
            }
            Err(error) => {
                let note = format!("copies of files skipped: {error}");
                found.notes.push(note);
            }
        }
        let (row, mut store) = match needs {
            Err(error) => left_alone(error.to_string()),
            Ok(_) if self.open_run().is_some() => left_alone("a run is open".to_owned()),
            Ok(needs) => match self.repo.plan_store(needs) {
                Ok(plan) => (StoreRow::Known { gone: plan.gone }, plan),
                Err(error) => left_alone(format!("it is not known what is still needed ({error})")),
            },
        };
        let bytes_before = self.vault_bytes()?;
        let freed = found.bytes() + copies.bytes + store.gone.bytes;
        found.paths.append(&mut store.files);
        let report = Housekeeping {
            vault: vault.folder().display().to_string(),
            done: false,
            kept_runs: past.len() - found.rows.len(),
            bytes_before,
            bytes_after: bytes_before.saturating_sub(freed),
            runs: found.rows,
            orphans: found.orphans,
            copies,
            store: row,
            vaults: Vec::new(),
            notes: found.notes,
        };
        Ok(GcPlan {
            report,
            goes,
            refs,
            paths: found.paths,
            store,
        })
    }

    /// Carries a plan out and says how large the vault is then.
    pub fn carry_out_gc(&mut self, plan: &GcPlan) -> Result<u64> {
        for stage in STAGES {
            self.carry_out_stage(plan, stage)?;
        }
        self.vault_bytes()
    }

    /// How much room the vault takes up; what it shares with the repository is not counted.
    pub fn vault_bytes(&self) -> Result<u64> {
        Ok(measure(self.vault_folder()))
    }

    pub fn carry_out_stage(&mut self, plan: &GcPlan, stage: Stage) -> Result<()> {
        match stage {
            Stage::Journal => self.forget_runs(&plan.goes),
            Stage::Refs => self.repo.delete_refs(&plan.refs),
            Stage::Packs => self.repo.replace_packs(&plan.store),
            Stage::Files => {
                // The journal must not come back naming what is gone.
                sync_file_system(self.vault_folder())?;
                let mut paths = plan.paths.iter();
                paths.try_for_each(|path| remove_tree(path))?;
                // What was linked once may be gone from the store.
                self.repo.objects.forget_links();
                Ok(())
            }
        }
    }

    /// Writes the journal without some runs, and opens the new one.
    fn forget_runs(&mut self, goes: &BTreeSet<RunId>) -> Result<()> {
        if goes.is_empty() {
            return Ok(());
        }
        let places = &self.repo.places;
        let path = places.vault.journal();
        journal::rewrite(&path, goes)?;
        let barriers = barriers(&places.repository, &places.vault);
        let (journal, lines) = Journal::open(&path, barriers)?;
        self.log.journal = journal;
        self.log.state = RunState::from_journal(&lines);
        Ok(())
    }

    /// Refuses where the present state would change with the lines that are removed.
    fn refuse_to_forget(&self, before: usize, stays: &[Line]) -> Result<()> {
        if stays.len() == before
            || self
                .log
                .state
                .has_same_present(&RunState::from_journal(stays))
        {
            return Ok(());
        }
        Err(CheckpointError::failed(
            "a run that is to be removed is still needed by a later one",
            "nothing was removed; remove fewer runs with a larger `--older-than`",
        ))
    }
}

/// All objects stay, for a reason.
fn left_alone(reason: String) -> (StoreRow, StorePlan) {
    (StoreRow::LeftAlone { reason }, StorePlan::default())
}

//! Refs of the store: parked attempts, kept refs and archived branches of runs that go.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::folders::Folders;
use crate::error::Result;
use crate::git::object_id::ObjectId;
use crate::repo::Repo;
use ralph_base::ids::RunId;

/// Places for refs that have a run's id as their next part.
const OF_RUNS: [&str; 4] = ["refs/parked/", "refs/kept/", "refs/archive/", "refs/moves/"];

/// Refs that were in the way of a branch; they name no run.
const DISPLACED: &str = "refs/displaced/";

impl Repo {
    /// Names of refs that go, and the objects of those that stay.
    pub(super) fn sort_refs(
        &self,
        goes: &BTreeSet<RunId>,
        found: &Folders,
    ) -> Result<(Vec<String>, Vec<ObjectId>)> {
        let (mut gone, mut stay) = (Vec::new(), Vec::new());
        if !self.has_store() {
            return Ok((gone, stay));
        }
        let listing = self
            .gits
            .store
            .line(["for-each-ref", "--format=%(objectname) %(refname)"])?;
        for (id, name) in listing.lines().filter_map(|line| line.split_once(' ')) {
            if self.ref_goes(name, goes, found) {
                gone.push(name.to_owned());
            } else {
                stay.extend(ObjectId::parse(id.as_bytes()));
            }
        }
        Ok((gone, stay))
    }

    fn ref_goes(&self, name: &str, goes: &BTreeSet<RunId>, found: &Folders) -> bool {
        let run = name.split('/').nth(2).map(|part| RunId(part.to_owned()));
        if run.as_ref().is_some_and(|run| goes.contains(run)) {
            return true;
        }
        if name.starts_with(DISPLACED) {
            let file = self.places.vault.store().join(name);
            return file.exists() && found.is_before_all(&file);
        }
        let is_of_run = OF_RUNS.iter().any(|place| name.starts_with(place));
        let unknown = run.filter(|run| is_of_run && !found.runs.contains(run));
        unknown.is_some_and(|run| found.is_before_all(&self.places.vault.runs().join(run.0)))
    }

    /// Deletes refs of the store.
    pub(super) fn delete_refs(&self, names: &[String]) -> Result<()> {
        if names.is_empty() {
            return Ok(());
        }
        let commands = names.iter().fold(String::new(), |mut text, name| {
            let _ = writeln!(text, "delete {name}");
            text
        });
        self.gits
            .store
            .patient()
            .run_with_input(["update-ref", "--stdin"], commands.as_bytes())?;
        Ok(())
    }

    /// True where the store has been made.
    pub(super) fn has_store(&self) -> bool {
        self.places.vault.store().join("HEAD").exists()
    }
}

//! Which paths belong into commits: not what git ignores, and of the rest not what looks like a
//! secret or is too large. What is kept out is reported once, and is safe in the vault.

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::error::{Notice, Result};
use crate::git::object_id::ObjectId;
use crate::git::process::{Git, nul_separated};
use crate::git::repository::Head;
use crate::paths::{is_module_path, list, list_paths, show};
use crate::repo::Repo;
use crate::repo::snapshot::Snapshot;
use crate::repo::staged::Staged;
use crate::scan::Tree;
use crate::tree::guard::{Guard, Limits, guard, is_rules, looks_like_secret};
use crate::tree::manifest::{Found, Kind, Lane, Manifest};
use crate::tree::scanned::{Known, Scanned, nested_repositories, under_any};
use crate::tree::walk::Walk;
use ralph_base::files::{create_private_folder, write_whole};
use ralph_base::ids::RunId;
use ralph_base::size::{SizeLimit, rounded};
use ralph_base::sparse;

/// The lanes of paths that are new, or whose lane may be another now.
pub(crate) type Lanes = HashMap<Vec<u8>, Lane>;

/// What a run may commit, kept with the run: a start after a crash repairs before it believes any
/// settings in the tree.
#[derive(Debug, Serialize, Deserialize)]
struct KeptLimits {
    largest_file: Option<u64>,
}

impl Tree {
    /// Keeps the limits with the run.
    pub(crate) fn keep_limits(&self, repo: &Repo, run: &RunId) -> Result<()> {
        let path = repo.limits_file(run);
        if let Some(folder) = path.parent() {
            create_private_folder(folder)?;
        }
        let kept = KeptLimits {
            largest_file: self.limits.largest_file.0,
        };
        let text = serde_json::to_vec(&kept).unwrap_or_default();
        Ok(write_whole(&path, &text, 0o600)?)
    }

    /// The lane of every path that is new, and of those kept out that may belong in by now.
    pub(crate) fn lanes(
        &self,
        repo: &Repo,
        git: &Git,
        walk: &Walk,
        known: &Known,
        base: &Manifest,
    ) -> Result<Lanes> {
        let suspects = &walk.suspects;
        let nested = nested_repositories(walk, base, known);
        let mut lanes = Lanes::new();
        let mut asked: Vec<&Found> = Vec::new();
        let in_question = suspects
            .touched
            .iter()
            .filter(|found| self.is_in_question(base, found) || repo.has_long_holes(found));
        for found in suspects.created.iter().chain(in_question) {
            if is_module_path(&found.path) {
                lanes.insert(found.path.clone(), Lane::Kept);
            } else if !matches!(found.kind, Kind::File | Kind::Link) {
                // Git knows of neither folders nor pipes.
            } else if known.tracked().contains(&found.path) {
                lanes.insert(found.path.clone(), repo.committed_lane(found));
            } else if !under_any(&found.path, &nested) {
                asked.push(found);
            }
        }
        if asked.is_empty() {
            return Ok(lanes);
        }
        let paths: Vec<Vec<u8>> = asked.iter().map(|found| found.path.clone()).collect();
        let ignored = repo.check_ignore(git, &paths)?;
        for (found, path) in asked.into_iter().zip(paths) {
            let lane = if ignored.contains(&path) {
                Lane::Ignored
            } else if self.guard_of(found).is_some() {
                Lane::Kept
            } else {
                repo.committed_lane(found)
            };
            lanes.insert(path, lane);
        }
        Ok(lanes)
    }

    /// A file in the place of a folder is as new as one with a new name; a large one that was
    /// kept out may have become small.
    fn is_in_question(&self, base: &Manifest, found: &Found) -> bool {
        base.entries.get(&found.path).is_none_or(|entry| {
            !matches!(entry.kind, Kind::File | Kind::Link)
                || entry.lane == Lane::Kept && self.guard_of(found).is_none()
        })
    }

    fn guard_of(&self, found: &Found) -> Option<Guard> {
        let size = found.stat.size;
        guard(&found.path, size, self.limits.largest_file).filter(|_| found.kind == Kind::File)
    }

    /// Names what is kept out of commits and was not named before in this run.
    pub(crate) fn report_kept_out(&self, scanned: &Scanned) -> Option<Notice> {
        let mut named = Vec::new();
        for path in scanned
            .changes
            .created
            .iter()
            .chain(&scanned.changes.modified)
        {
            let entry = scanned.manifest.entries.get(path);
            let Some(entry) = entry.filter(|entry| {
                entry.lane == Lane::Kept
                    && !is_module_path(path)
                    && self.reported.borrow_mut().insert(path.clone())
            }) else {
                continue;
            };
            let size = entry.stat.size;
            let why = match guard(path, size, self.limits.largest_file) {
                Some(Guard::Secret) => "looks like a secret".to_owned(),
                Some(Guard::Large) => format!("{}, more than `largest_file`", rounded(size)),
                None => format!("{}, mostly holes", rounded(size)),
            };
            named.push(format!("`{}` ({why})", show(path)));
        }
        let named = list(&named)?;
        Some(Notice::new(
            "kept_out",
            format!(
                "kept out of commits, and safe in the vault: {named}; `git add` a file to have it committed"
            ),
        ))
    }

    /// What an earlier checkpoint of the run kept out was named then.
    pub(crate) fn mark_reported(&self, checkpoint: &Snapshot) {
        let kept = checkpoint.manifest.entries.iter();
        let kept = kept.filter(|(_, entry)| entry.lane == Lane::Kept);
        self.reported
            .borrow_mut()
            .extend(kept.map(|(path, _)| path.clone()));
    }

    /// Names files that were ignored, and are not since a rule was dropped.
    pub(crate) fn report_no_longer_ignored(
        &self,
        repo: &Repo,
        git: &Git,
        base: &Snapshot,
        scanned: &Scanned,
    ) -> Result<Option<Notice>> {
        if !scanned.changes.paths().any(|path| is_rules(path)) {
            return Ok(None);
        }
        let mut nested = base.submodules.clone();
        let repositories = scanned.manifest.entries.keys();
        nested.extend(repositories.filter_map(|path| Some(path.strip_suffix(b"/.git")?.to_vec())));
        let were_ignored = scanned.manifest.entries.iter().filter(|(path, entry)| {
            entry.lane == Lane::Ignored
                && matches!(entry.kind, Kind::File | Kind::Link)
                && base.manifest.entries.contains_key(*path)
                && !under_any(path, &nested)
        });
        let mut asked: Vec<Vec<u8>> = were_ignored.map(|(path, _)| path.clone()).collect();
        let folders = base.skipped.iter().cloned();
        asked.extend(folders.filter(|folder| repo.places.full(folder).is_dir()));
        if asked.is_empty() {
            return Ok(None);
        }
        let ignored = repo.check_ignore(git, &asked)?;
        asked.retain(|path| {
            !ignored.contains(path) && self.reported.borrow_mut().insert(path.clone())
        });
        Ok(list_paths(&asked).map(|named| {
            Notice::new(
                "no_longer_ignored",
                format!("no longer ignored, but still kept out of commits: {named}; `git add` a file to have it committed"),
            )
        }))
    }

    /// Names what looks like a secret and goes into the commit because it was staged.
    pub(crate) fn report_staged_secrets(&self, staged: &Staged) -> Option<Notice> {
        let paths = staged.added.iter().map(Vec::as_slice);
        self.report_secrets(paths, "because it was added with `git add`")
    }

    /// Names what looks like a secret and was staged by the user before the run: the index has it,
    /// HEAD does not.
    pub(crate) fn report_users_secrets(
        &self,
        repo: &Repo,
        tracked: &[Vec<u8>],
        head: &Head,
    ) -> Result<Option<Notice>> {
        let tracked = tracked.iter().map(Vec::as_slice);
        let mut secrets: BTreeSet<&[u8]> = tracked.filter(|it| looks_like_secret(it)).collect();
        let commit = head.commit().filter(|_| !secrets.is_empty());
        if let Some(commit) = commit.map(|commit| commit.to_string()) {
            let args = ["ls-tree", "-r", "-z", "--name-only", "--full-tree", &commit];
            for path in nul_separated(&repo.gits.work.patient().run(args)?) {
                secrets.remove(path);
            }
        }
        Ok(self.report_secrets(secrets, "because it was added with `git add`"))
    }

    /// Names what looks like a secret in commits on top of the checkpoint.
    pub(crate) fn report_committed_secrets(
        &self,
        repo: &Repo,
        from: ObjectId,
        to: ObjectId,
    ) -> Result<Option<Notice>> {
        if from == to {
            return Ok(None);
        }
        let range = format!("{from}..{to}");
        let log = ["log", "--format=", "--name-only", "-z", "--no-renames"];
        let args = log.into_iter().chain(["--diff-filter=A", &range]);
        let added = repo.gits.user.patient().run(args)?;
        Ok(self.report_secrets(nul_separated(&added), "by commits the attempt made itself"))
    }

    fn report_secrets<'a>(
        &self,
        paths: impl IntoIterator<Item = &'a [u8]>,
        why: &str,
    ) -> Option<Notice> {
        let secrets = paths.into_iter().filter(|path| looks_like_secret(path));
        let mut secrets: BTreeSet<Vec<u8>> = secrets.map(<[u8]>::to_vec).collect();
        secrets.retain(|path| self.reported_secrets.borrow_mut().insert(path.clone()));
        let named = list_paths(&secrets)?;
        Some(Notice::new(
            "secret_committed",
            format!("looks like a secret and is in the branch, {why}: {named}"),
        ))
    }
}

impl Repo {
    /// The limits of an open run. Nothing is asked to stay free: what an interrupted run left is
    /// put in order wherever there is just room enough.
    pub(crate) fn read_limits(&self, run: &RunId) -> Limits {
        let text = std::fs::read(self.limits_file(run)).unwrap_or_default();
        let kept = serde_json::from_slice::<KeptLimits>(&text).ok();
        let largest_file = kept.map(|kept| SizeLimit(kept.largest_file));
        Limits {
            largest_file: largest_file.unwrap_or(Limits::DEFAULT.largest_file),
            least_free: 0,
        }
    }

    fn limits_file(&self, run: &RunId) -> PathBuf {
        self.places.vault.run_folder(run).join("limits.json")
    }

    /// The lane of a file that may be committed.
    fn committed_lane(&self, found: &Found) -> Lane {
        if self.has_long_holes(found) {
            Lane::Kept
        } else {
            Lane::Committed
        }
    }

    /// True for a long file that is mostly holes: git would read every one of them.
    fn has_long_holes(&self, found: &Found) -> bool {
        // A length that cannot be one of those needs no look at the file.
        if found.kind != Kind::File || found.stat.size <= sparse::SHORT {
            return false;
        }
        let metadata = std::fs::symlink_metadata(self.places.full(&found.path));
        metadata.is_ok_and(|metadata| sparse::is_mostly_holes(&metadata))
    }
}

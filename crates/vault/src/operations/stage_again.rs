//! The index after a cleanup: the user's own from before the run, so that what was staged, announced
//! (`git add -N`) or flagged is so again. Paths that the run or the original branch changed since are
//! as the original branch has them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::error::Result;
use crate::git::object_id::{ObjectId, lines};
use crate::git::process::{Git, nul_separated};
use crate::journal::run_state::Current;
use crate::repo::Repo;
use crate::repo::snapshot::Snapshot;
use crate::repo::visible::nul_joined;
use crate::tree::manifest::{Manifest, compare};
use ralph_base::files::copy_with_time;

impl Repo {
    /// Writes the index that goes with the tree `now` on the commit `home`.
    pub(crate) fn write_index_after_cleanup(
        &self,
        index: &Path,
        current: &Current,
        home: Option<ObjectId>,
        now: &Manifest,
    ) -> Result<()> {
        let git = self.gits.work.patient().with_index(index);
        let start = Snapshot::read(&self.places.vault, &current.intent.start)?;
        let users = Snapshot::index(&self.places.vault, &start.id);
        let format = self.places.repository.format;
        let tree_of = |commit: Option<ObjectId>| match commit {
            Some(commit) => commit.to_string(),
            None => format.empty_tree().to_owned(),
        };
        if !users.exists() {
            match home {
                Some(home) => {
                    let args = ["read-tree", "--reset", &home.to_string()];
                    self.write_index(&git, &args, &[])?
                }
                None => git.run(["read-tree", "--empty"])?,
            };
            return Ok(());
        }
        copy_with_time(&users, index)?;
        let (began, home) = (tree_of(current.intent.head.commit()), tree_of(home));
        let by_run = compare(&start.manifest, now);
        let mut changed: BTreeSet<Vec<u8>> = by_run.paths().cloned().collect();
        changed.extend(self.changed_between(&began, &home)?);
        // One that was announced and then removed was never more than a name.
        let is_gone = |path: &Vec<u8>| fs::symlink_metadata(self.places.full(path)).is_err();
        changed.extend(announced(&git, &began)?.into_iter().filter(is_gone));
        let tree = git.run(["ls-tree", "-r", "-z", "--full-tree", &home])?;
        let tree: BTreeMap<&[u8], &[u8]> = nul_separated(&tree)
            .filter_map(|line| Some((line.splitn(2, |byte| *byte == b'\t').nth(1)?, line)))
            .filter(|(path, _)| changed.contains(*path))
            .collect();
        let mut lines = Vec::new();
        let (mut assumed, mut skipped) = (Vec::new(), Vec::new());
        for tagged in nul_separated(&git.run(["ls-files", "-v", "-z"])?) {
            let Some(([tag, _], path)) = tagged.split_first_chunk::<2>() else {
                continue;
            };
            if !changed.contains(path) {
                continue;
            }
            lines.push([format!("0 {}\t", format.zero()).as_bytes(), path].concat());
            if tree.contains_key(path) && tag.is_ascii_lowercase() {
                assumed.push(path.to_vec());
            }
            if tree.contains_key(path) && tag.eq_ignore_ascii_case(&b's') {
                skipped.push(path.to_vec());
            }
        }
        for (path, line) in tree {
            lines.push(line.to_vec());
            let is_known = |manifest: &Manifest| manifest.entries.contains_key(path);
            // What the original branch gained outside of a sparse checkout.
            if start.control.is_sparse() && !is_known(&start.manifest) && !is_known(now) {
                skipped.push(path.to_vec());
            }
        }
        for (args, lines) in [
            (["-z", "--index-info"].as_slice(), lines),
            (&["--assume-unchanged", "-z", "--stdin"], assumed),
            (&["--skip-worktree", "-z", "--stdin"], skipped),
        ] {
            if !lines.is_empty() {
                let args = [&["update-index"], args].concat();
                self.write_index(&git, &args, &nul_joined(&lines))?;
            }
        }
        Ok(())
    }

    /// Paths in which two commits or trees differ.
    pub(crate) fn changed_between(&self, from: &str, to: &str) -> Result<Vec<Vec<u8>>> {
        if from == to {
            return Ok(Vec::new());
        }
        let args = ["diff-tree", "-r", "-z", "--name-only", "--no-renames"];
        let listing = self
            .gits
            .user
            .patient()
            .run(args.into_iter().chain([from, to]))?;
        Ok(nul_separated(&listing).map(<[u8]>::to_vec).collect())
    }

    /// Every blob an index names is brought back into the repository where it is missing: staged
    /// content is reachable from no commit, and an agent's `gc` may have dropped it.
    pub(crate) fn bring_back_staged(&self, index: &Path) -> Result<()> {
        if !index.exists() {
            return Ok(());
        }
        let git = self.gits.work.patient().with_index(index);
        let listing = git.run(["ls-files", "--format=%(objectmode) %(objectname)"])?;
        let listing = String::from_utf8_lossy(&listing);
        let blobs = listing.lines().filter_map(|line| {
            let (mode, id) = line.split_once(' ')?;
            ObjectId::parse(id.as_bytes()).filter(|_| mode != "160000")
        });
        let blobs: Vec<ObjectId> = blobs.collect();
        if blobs.is_empty() {
            return Ok(());
        }
        let check = ["cat-file", "--batch-check"];
        let answer = self
            .gits
            .work
            .run_with_input(check, lines(&blobs).as_bytes())?;
        for line in String::from_utf8_lossy(&answer).lines() {
            let Some(id) = line.strip_suffix(" missing") else {
                continue;
            };
            // A partial clone lacks some on purpose; there is nothing to bring back then.
            let Ok(bytes) = self.gits.store.run(["cat-file", "blob", id]) else {
                continue;
            };
            self.gits
                .work
                .run_with_input(["hash-object", "-w", "--stdin", "--no-filters"], &bytes)?;
        }
        Ok(())
    }
}

/// Paths that an index only announces (`git add -N`).
fn announced(git: &Git, head: &str) -> Result<Vec<Vec<u8>>> {
    let args = [
        "diff-index",
        "--cached",
        "--name-only",
        "-z",
        "--no-renames",
    ];
    let added = |flag| git.run(args.into_iter().chain(["--diff-filter=A", flag, head]));
    let with_content = added("--ita-invisible-in-index")?;
    let with_content: BTreeSet<&[u8]> = nul_separated(&with_content).collect();
    let all = added("--ita-visible-in-index")?;
    let announced = nul_separated(&all).filter(|path| !with_content.contains(path));
    Ok(announced.map(<[u8]>::to_vec).collect())
}

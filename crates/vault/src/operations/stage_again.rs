//! What the user had staged, announced or flagged before a run is so again after a cleanup, where
//! the files were not touched since.

use std::collections::BTreeSet;
use std::path::Path;

use crate::error::Result;
use crate::git::object_id::ObjectId;
use crate::git::process::{Git, nul_separated};
use crate::journal::run_state::Current;
use crate::paths::absolute;
use crate::repo::Repo;
use crate::repo::snapshot::Snapshot;
use crate::tree::manifest::Manifest;

impl Repo {
    /// What the user had staged before the run is staged again where the file was not touched.
    pub(crate) fn stage_again(
        &self,
        current: &Current,
        home: Option<ObjectId>,
        (git, now): (&Git, &Manifest),
    ) -> Result<()> {
        let places = &self.places;
        let id = current.intent.start.clone();
        let start = Snapshot::read(&places.vault, &id)?;
        let index = Snapshot::index(&self.places.vault, &current.intent.start);
        if !index.exists() {
            return Ok(());
        }
        let old = self.work.patient().with_index(&index);
        let head = match current.intent.head.commit() {
            Some(commit) => commit.to_string(),
            None => self.empty_tree()?,
        };
        let moved = self.moved_between(&head, home)?;
        let untouched = |path: &[u8]| {
            !moved.contains(path)
                && match (start.manifest.entries.get(path), now.entries.get(path)) {
                    (Some(before), Some(now)) => before.same_state(now),
                    (None, None) => true,
                    _ => false,
                }
        };
        let args = [
            "diff-index",
            "--cached",
            "--raw",
            "-z",
            "--no-renames",
            "--no-abbrev",
            "--ita-invisible-in-index",
        ];
        let listing = old.run(args.iter().copied().chain([head.as_str()]))?;
        let mut lines = Vec::new();
        let mut wanted = Vec::new();
        let mut fields = nul_separated(&listing);
        while let (Some(meta), Some(path)) = (fields.next(), fields.next()) {
            let meta = String::from_utf8_lossy(meta).into_owned();
            let mut words = meta.split(' ').skip(1);
            let (Some(mode), _, Some(id)) = (words.next(), words.next(), words.next()) else {
                continue;
            };
            if !untouched(path) {
                continue;
            }
            wanted.extend(
                ObjectId::parse(id.as_bytes()).filter(|_| mode != "000000" && mode != "160000"),
            );
            lines.extend_from_slice(format!("{mode} {id}\t").as_bytes());
            lines.extend_from_slice(path);
            lines.push(0);
        }
        self.bring_back_objects(&wanted)?;
        if !lines.is_empty() {
            git.run_with_input(["update-index", "-z", "--index-info"], &lines)?;
        }
        self.intend_again(&old, git, &head, &untouched)?;
        flag_again(&old, git)
    }

    /// Paths in which the branch the user came from has moved since.
    fn moved_between(&self, from: &str, to: Option<ObjectId>) -> Result<BTreeSet<Vec<u8>>> {
        let Some(to) = to.map(|to| to.to_string()).filter(|to| to != from) else {
            return Ok(BTreeSet::new());
        };
        let args = ["diff-tree", "-r", "-z", "--name-only", "--no-renames"];
        let words = args.iter().copied().chain([from, &to]);
        let listing = self.git.patient().run(words)?;
        Ok(nul_separated(&listing).map(<[u8]>::to_vec).collect())
    }

    /// Every blob an index names is brought back into the repository where it is missing.
    pub(crate) fn bring_back_staged(&self, index: &Path) -> Result<()> {
        if !index.exists() {
            return Ok(());
        }
        let git = self.work.patient().with_index(index);
        let args = ["ls-files", "--format=%(objectmode) %(objectname)"];
        let listing = git.run(args)?;
        let listing = String::from_utf8_lossy(&listing).into_owned();
        let blobs = listing.lines().filter_map(|line| {
            let (mode, id) = line.split_once(' ')?;
            ObjectId::parse(id.as_bytes()).filter(|_| mode != "160000")
        });
        let blobs: Vec<ObjectId> = blobs.collect();
        self.bring_back_objects(&blobs)
    }

    /// Staged content is reachable from no commit; an agent's `gc` may have dropped it.
    fn bring_back_objects(&self, ids: &[ObjectId]) -> Result<()> {
        if ids.is_empty() {
            return Ok(());
        }
        let input = crate::git::object_id::lines(ids);
        let answer = self
            .work
            .run_with_input(["cat-file", "--batch-check"], input.as_bytes())?;
        for line in String::from_utf8_lossy(&answer).lines() {
            let Some(id) = line.strip_suffix(" missing") else {
                continue;
            };
            // A partial clone lacks some on purpose; there is nothing to bring back then.
            let Ok(bytes) = self.store.run(["cat-file", "blob", id]) else {
                continue;
            };
            self.work
                .run_with_input(["hash-object", "-w", "--stdin", "--no-filters"], &bytes)?;
        }
        Ok(())
    }

    /// Paths that were only announced (`git add -N`) are announced again.
    fn intend_again(
        &self,
        old: &Git,
        git: &Git,
        head: &str,
        untouched: &dyn Fn(&[u8]) -> bool,
    ) -> Result<()> {
        let list = |flag: &'static str| -> Result<BTreeSet<Vec<u8>>> {
            let args = [
                "diff-index",
                "--cached",
                "--name-only",
                "-z",
                "--no-renames",
                flag,
                head,
            ];
            let output = old.run(args)?;
            Ok(nul_separated(&output).map(<[u8]>::to_vec).collect())
        };
        let all = list("--ita-visible-in-index")?;
        let real = list("--ita-invisible-in-index")?;
        let mut input = Vec::new();
        let top = &self.places.repository.work_tree;
        let is_there = |path: &[u8]| std::fs::symlink_metadata(absolute(top, path)).is_ok();
        let again = |path: &&Vec<u8>| untouched(path) && is_there(path);
        for path in all.difference(&real).filter(again) {
            input.extend_from_slice(path);
            input.push(0);
        }
        if !input.is_empty() {
            let args = [
                "--literal-pathspecs",
                "add",
                "--intent-to-add",
                "--force",
                "--pathspec-from-file=-",
                "--pathspec-file-nul",
            ];
            git.run_with_input(args, &input)?;
        }
        Ok(())
    }

    fn empty_tree(&self) -> Result<String> {
        Ok(self
            .git
            .line(["hash-object", "-t", "tree", "-w", "--stdin"])?)
    }
}

/// Flags of the user's on paths are set again.
fn flag_again(old: &Git, git: &Git) -> Result<()> {
    let present: BTreeSet<Vec<u8>> = nul_separated(&git.run(["ls-files", "-z"])?)
        .map(<[u8]>::to_vec)
        .collect();
    let listing = old.run(["ls-files", "-v", "-z"])?;
    let mut assumed = Vec::new();
    let mut skipped = Vec::new();
    for line in nul_separated(&listing) {
        let Some((tag, path)) = line.split_first_chunk::<2>() else {
            continue;
        };
        if !present.contains(path) {
            continue;
        }
        for (set, list) in [
            (tag[0].is_ascii_lowercase(), &mut assumed),
            (tag[0].eq_ignore_ascii_case(&b's'), &mut skipped),
        ] {
            if set {
                list.extend_from_slice(path);
                list.push(0);
            }
        }
    }
    for (flag, list) in [
        ("--assume-unchanged", assumed),
        ("--skip-worktree", skipped),
    ] {
        if !list.is_empty() {
            git.run_with_input(["update-index", flag, "-z", "--stdin"], &list)?;
        }
    }
    Ok(())
}

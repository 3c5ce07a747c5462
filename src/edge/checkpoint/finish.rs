//! Finish: the branch is kept, or the work goes home: HEAD back on the original branch, all of the
//! run's changes as uncommitted modifications, no file rewritten.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::begin::short;
use super::run_state::Current;
use super::snapshot::Snapshot;
use super::taking::Taken;
use super::{CheckpointError, Checkpoints, Notice, Result, blocking};
use crate::domain::event::FinishChoice;
use crate::edge::files::{copy_with_time, move_away};
use crate::edge::git::{Git, GitError, nul_separated};
use crate::edge::object_id::ObjectId;
use crate::edge::repository::{Head, Refs};
use crate::edge::steps::Step;
use crate::edge::walk::absolute;

/// What a finish did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FinishReport {
    /// Where HEAD is now.
    pub(crate) head: String,
    /// Short name of the checkpoint branch.
    pub(crate) branch: String,
    /// Files that differ from where the run began.
    pub(crate) changed_files: usize,
    /// What the user should hear.
    pub(crate) notices: Vec<Notice>,
}

/// Where a cleanup leads.
struct Home {
    /// Commit of the original branch; none for an unborn one.
    commit: Option<ObjectId>,
    /// Tree to bring into the work tree where the original branch moved on.
    merged: Option<ObjectId>,
}

impl Checkpoints {
    /// Ends the open run.
    pub(crate) async fn finish(&mut self, choice: FinishChoice) -> Result<FinishReport> {
        let current = self.current()?;
        let run = current.intent.run.clone();
        let (refs, _) = self.observe().await?;
        let tip = refs
            .get(&current.intent.branch)
            .copied()
            .unwrap_or(current.commit);
        let changed_files = self.changed_since_start(&current, tip).await?;
        let branch = short(&current.intent.branch).to_owned();
        let name = format!("refs/archive/{run}/end");
        self.link_objects().await?;
        self.store
            .run(["update-ref", &name, &tip.to_string()])
            .await?;
        let head = match choice {
            FinishChoice::Keep => branch.clone(),
            FinishChoice::Cleanup => {
                let home = self.home(&current, &refs, tip).await?;
                let taken = self.take_for_cleanup().await?;
                self.prepare_cleanup(&current, &home, &taken, tip).await?;
                self.record(
                    &run,
                    Step::FinishIntent {
                        choice,
                        target: home.commit,
                        tip,
                    },
                )
                .await?;
                self.carry_out_finish(&current, choice, (home.commit, tip))
                    .await?;
                current.intent.original.shown()
            }
        };
        self.record(&run, Step::Finished { choice }).await?;
        self.loaded = None;
        Ok(FinishReport {
            head,
            branch,
            changed_files,
            notices: Vec::new(),
        })
    }

    async fn take_for_cleanup(&mut self) -> Result<Taken> {
        let base = self.checkpoint().await?;
        let index = Snapshot::index(&self.places.vault, &base.id);
        self.take(&base.manifest, Self::known_of(&base), &index)
            .await
    }

    async fn changed_since_start(&self, current: &Current, tip: ObjectId) -> Result<usize> {
        let from = current.intent.commit.to_string();
        let output = self
            .git
            .patient()
            .run([
                "diff-tree",
                "-r",
                "-z",
                "--name-only",
                "--no-renames",
                &from,
                &tip.to_string(),
            ])
            .await?;
        Ok(nul_separated(&output).count())
    }

    /// Where the original branch is now, and whether it can take the work.
    async fn home(&self, current: &Current, refs: &Refs, tip: ObjectId) -> Result<Home> {
        let (name, began) = match &current.intent.original {
            Head::Detached { commit } => {
                return Ok(Home {
                    commit: Some(*commit),
                    merged: None,
                });
            }
            Head::Branch { name, commit } => (name, *commit),
        };
        let now = refs.get(name).copied();
        match (began, now) {
            (began, now) if began == now => Ok(Home {
                commit: now,
                merged: None,
            }),
            (Some(began), None) => Err(CheckpointError::failed(
                format!(
                    "the branch `{}` no longer exists; nothing was changed",
                    short(name)
                ),
                format!(
                    "bring it back with `git branch {} {began}`, or keep `{}`",
                    short(name),
                    short(&current.intent.branch)
                ),
            )),
            (_, Some(now)) => self.merge(current, name, now, tip).await,
            (None, None) => Ok(Home {
                commit: None,
                merged: None,
            }),
        }
    }

    /// The original branch moved on: merge first, in memory.
    async fn merge(
        &self,
        current: &Current,
        name: &str,
        now: ObjectId,
        tip: ObjectId,
    ) -> Result<Home> {
        let args = ["merge-tree", "--write-tree", "--name-only", "--no-messages"];
        let mut words: Vec<std::ffi::OsString> = args.iter().map(Into::into).collect();
        words.extend([now.to_string().into(), tip.to_string().into()]);
        let output = self.git.patient().output(&words, &[]).await?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut lines = text.lines();
        let tree = lines
            .next()
            .and_then(|line| ObjectId::parse(line.as_bytes()));
        match (output.status.code(), tree) {
            (Some(0), Some(tree)) => Ok(Home {
                commit: Some(now),
                merged: Some(tree),
            }),
            (Some(1), _) => {
                let files: Vec<_> = lines.filter(|line| !line.is_empty()).take(5).collect();
                Err(conflict(current, name, &files))
            }
            _ => Err(GitError::Failed {
                command: "merge-tree".to_owned(),
                status: output.status,
                stderr: output.stderr,
            }
            .into()),
        }
    }

    /// Builds the index HEAD's branch will have, and brings in what the original branch gained.
    async fn prepare_cleanup(
        &mut self,
        current: &Current,
        home: &Home,
        taken: &Taken,
        tip: ObjectId,
    ) -> Result<()> {
        let index = self.finish_index();
        let from = Snapshot::index(&self.places.vault, &current.snapshot);
        let target = index.clone();
        blocking(move || Ok(copy_with_time(&from, &target).map(drop)?)).await?;
        let git = self.work.patient().with_index(&index);
        if let Some(merged) = home.merged {
            self.bring_in(&git, (tip, merged), taken).await?;
        }
        match home.commit {
            Some(commit) => {
                git.run(["read-tree", "--reset", &commit.to_string()])
                    .await?;
            }
            None => {
                git.run(["read-tree", "--empty"]).await?;
            }
        }
        if home.merged.is_none() {
            self.stage_again(current, &git, taken).await?;
        }
        Ok(())
    }

    /// Writes what the original branch gained into the work tree; refuses where the user has
    /// uncommitted edits in the same files.
    async fn bring_in(
        &self,
        git: &Git,
        (tip, merged): (ObjectId, ObjectId),
        taken: &Taken,
    ) -> Result<()> {
        let (from, to) = (tip.to_string(), merged.to_string());
        let args = [
            "diff-tree",
            "-r",
            "-z",
            "--no-renames",
            "--name-status",
            &from,
            &to,
        ];
        let output = git.run(args).await?;
        let mut fields = nul_separated(&output);
        let mut written = Vec::new();
        let mut gone = Vec::new();
        let touched: BTreeSet<&Vec<u8>> = taken.changes.paths().collect();
        while let (Some(status), Some(path)) = (fields.next(), fields.next()) {
            let path = path.to_vec();
            let in_the_way = status == b"A" && taken.manifest.entries.contains_key(&path);
            if touched.contains(&path) || in_the_way {
                return Err(CheckpointError::failed(
                    format!(
                        "`{}` has edits that are not in a checkpoint, and the original branch changed it too; nothing was changed",
                        String::from_utf8_lossy(&path)
                    ),
                    "commit or move those edits away, then finish again",
                ));
            }
            if status == b"D" {
                gone.push(path);
            } else {
                written.push(path);
            }
        }
        git.run(["read-tree", "--reset", &to]).await?;
        let mut input = Vec::new();
        for path in &written {
            input.extend_from_slice(path);
            input.push(0);
        }
        git.run_with_input(["checkout-index", "-f", "-z", "--stdin"], &input)
            .await?;
        let places = Arc::clone(&self.places);
        let trash = self.new_trash("cleanup").join("files");
        blocking(move || {
            for path in gone {
                let full = absolute(&places.repository.work_tree, &path);
                if std::fs::symlink_metadata(&full).is_ok() {
                    move_away(&full, &absolute(&trash, &path))?;
                }
            }
            Ok(())
        })
        .await
    }

    /// What the user had staged before the run is staged again where the file was not touched.
    async fn stage_again(&self, current: &Current, git: &Git, taken: &Taken) -> Result<()> {
        let places = Arc::clone(&self.places);
        let id = current.intent.start.clone();
        let start = blocking(move || Snapshot::read(&places.vault, &id)).await?;
        let index = Snapshot::index(&self.places.vault, &current.intent.start);
        if !index.exists() {
            return Ok(());
        }
        let old = self.work.patient().with_index(&index);
        let head = match current.intent.head.commit() {
            Some(commit) => commit.to_string(),
            None => self.empty_tree().await?,
        };
        let untouched = |path: &[u8]| match (
            start.manifest.entries.get(path),
            taken.manifest.entries.get(path),
        ) {
            (Some(before), Some(now)) => before.same_state(now),
            (None, None) => true,
            _ => false,
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
        let listing = old.run(args.iter().copied().chain([head.as_str()])).await?;
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
        self.bring_back_objects(&wanted).await?;
        if !lines.is_empty() {
            git.run_with_input(["update-index", "-z", "--index-info"], &lines)
                .await?;
        }
        self.intend_again(&old, git, &head, &untouched).await?;
        self.flag_again(&old, git).await
    }

    /// Staged content is reachable from no commit; an agent's `gc` may have dropped it.
    async fn bring_back_objects(&self, ids: &[ObjectId]) -> Result<()> {
        if ids.is_empty() {
            return Ok(());
        }
        let input = super::mend::lines(ids);
        let answer = self
            .work
            .run_with_input(["cat-file", "--batch-check"], input.as_bytes())
            .await?;
        for line in String::from_utf8_lossy(&answer).lines() {
            let Some(id) = line.strip_suffix(" missing") else {
                continue;
            };
            let bytes = self.store.run(["cat-file", "blob", id]).await?;
            self.work
                .run_with_input(["hash-object", "-w", "--stdin", "--no-filters"], &bytes)
                .await?;
        }
        Ok(())
    }

    /// Paths that were only announced (`git add -N`) are announced again.
    async fn intend_again(
        &self,
        old: &Git,
        git: &Git,
        head: &str,
        untouched: &dyn Fn(&[u8]) -> bool,
    ) -> Result<()> {
        let list = async |flag: &'static str| -> Result<BTreeSet<Vec<u8>>> {
            let args = [
                "diff-index",
                "--cached",
                "--name-only",
                "-z",
                "--no-renames",
                flag,
                head,
            ];
            let output = old.run(args).await?;
            Ok(nul_separated(&output).map(<[u8]>::to_vec).collect())
        };
        let all = list("--ita-visible-in-index").await?;
        let real = list("--ita-invisible-in-index").await?;
        let mut input = Vec::new();
        for path in all.difference(&real).filter(|path| untouched(path)) {
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
            git.run_with_input(args, &input).await?;
        }
        Ok(())
    }

    /// Flags of the user's on paths are set again.
    async fn flag_again(&self, old: &Git, git: &Git) -> Result<()> {
        let present: BTreeSet<Vec<u8>> = nul_separated(&git.run(["ls-files", "-z"]).await?)
            .map(<[u8]>::to_vec)
            .collect();
        let listing = old.run(["ls-files", "-v", "-z"]).await?;
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
                git.run_with_input(["update-index", flag, "-z", "--stdin"], &list)
                    .await?;
            }
        }
        Ok(())
    }

    async fn empty_tree(&self) -> Result<String> {
        Ok(self
            .git
            .line(["hash-object", "-t", "tree", "-w", "--stdin"])
            .await?)
    }

    fn finish_index(&self) -> PathBuf {
        self.places.vault.scratch("finish-index")
    }

    /// Moves HEAD and the index home and deletes the branch; doing it again changes nothing.
    pub(super) async fn carry_out_finish(
        &mut self,
        current: &Current,
        choice: FinishChoice,
        (target, _tip): (Option<ObjectId>, ObjectId),
    ) -> Result<()> {
        if choice == FinishChoice::Keep {
            return Ok(());
        }
        let trash = self.new_trash("cleanup");
        let (refs, head) = self.observe().await?;
        let home = match &current.intent.original {
            Head::Branch { name, .. } => Head::Branch {
                name: name.clone(),
                commit: target,
            },
            detached @ Head::Detached { .. } => detached.clone(),
        };
        self.point_head(&home, &head).await?;
        let index: &Path = &self.finish_index();
        self.swap_index(index, &trash).await?;
        self.move_ref(&current.intent.branch, &refs, None).await
    }
}

fn conflict(current: &Current, name: &str, files: &[&str]) -> CheckpointError {
    let branch = short(&current.intent.branch);
    let original = short(name);
    CheckpointError::failed(
        format!(
            "`{original}` moved on and conflicts with `{branch}` in {}; nothing was changed",
            files.join(", ")
        ),
        format!(
            "either merge on the branch (`git merge {original}`, resolve, commit) and finish again, \
             or keep the branch and take over by hand (`git switch {original}`, `git merge --squash {branch}`)"
        ),
    )
}

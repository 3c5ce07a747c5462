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
use crate::edge::manifest::{Kind, Manifest};
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
        let (choice, notices) = possible(&current, choice);
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
                current.intent.original.recorded()
            }
        };
        self.record(&run, Step::Finished { choice }).await?;
        self.loaded = None;
        Ok(FinishReport {
            head,
            branch,
            changed_files,
            notices,
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
            let in_the_way = status == b"A" && is_occupied(&taken.manifest, &path);
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
        self.keep_index(&trash).await?;
        self.point_head(&home, &head).await?;
        let index: &Path = &self.finish_index();
        self.swap_index(index, &trash).await?;
        self.move_ref(&current.intent.branch, &refs, None).await
    }
}

/// True where something is at the path, or something other than a folder above it.
fn is_occupied(manifest: &Manifest, path: &[u8]) -> bool {
    let entries = &manifest.entries;
    let above = (0..path.len()).filter(|at| path[*at] == b'/');
    let mut above = above.filter_map(|at| entries.get(&path[..at]));
    entries.contains_key(path) || above.any(|entry| entry.kind != Kind::Folder)
}

/// A run that began on its own branch has no other one to go home to.
fn possible(current: &Current, choice: FinishChoice) -> (FinishChoice, Vec<Notice>) {
    let branch = &current.intent.branch;
    let homeless = matches!(&current.intent.original, Head::Branch { name, .. } if name == branch);
    if choice == FinishChoice::Keep || !homeless {
        return (choice, Vec::new());
    }
    let message = format!(
        "the run began on `{}` itself, so the branch is kept",
        short(branch)
    );
    let notice = Notice::new("branch_kept", message);
    (FinishChoice::Keep, vec![notice])
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

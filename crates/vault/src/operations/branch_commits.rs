//! The commits of a run's branch since where the run began.

use std::collections::HashMap;

use crate::commit_message::is_users_work;
use crate::error::{CheckpointError, Result};
use crate::git::object_id::{ObjectId, lines};
use crate::git::process::GitError;
use crate::git::repository::{Head, Refs, short};
use crate::journal::run_state::Current;
use crate::operations::save::descends;
use crate::repo::Repo;
use crate::repo::commit_object::CommitObject;

/// The commits of a branch since where the run began.
pub(super) struct Branch {
    pub(super) base: Option<ObjectId>,
    /// Parents first; never empty.
    pub(super) commits: Vec<CommitObject>,
    /// The trees of all of them, and of the parents of commits of the user's work.
    pub(super) trees: HashMap<ObjectId, ObjectId>,
}

impl Repo {
    /// The last commit that is not the run's: where the run began, or what the original branch has of
    /// the run's branch by now. None where the run began on a branch without a commit.
    pub(super) fn base_of_branch(
        &self,
        current: &Current,
        refs: &Refs,
        tip: ObjectId,
    ) -> Result<Option<ObjectId>> {
        let intent = &current.intent;
        let began = intent.original.commit();
        let now = match &intent.original {
            Head::Branch { name, .. } if *name != intent.branch => refs.get(name).copied(),
            _ => None,
        };
        let git = &self.gits.user;
        let began_below = match began {
            Some(began) if descends(git, began, tip)? => Some(began),
            _ => None,
        };
        let shared = match now {
            Some(now) => self.merge_base(now, tip)?,
            None => None,
        };
        let base = match (began_below, shared) {
            // The original branch may have been reset to an older commit.
            (Some(began), Some(shared)) if descends(git, shared, began)? => Some(began),
            (began, shared) => shared.or(began),
        };
        if base.is_none() && began.is_some() {
            return Err(not_on_base(current));
        }
        if base == Some(tip) {
            return Err(all_there_already(current));
        }
        Ok(base)
    }

    fn merge_base(&self, one: ObjectId, other: ObjectId) -> Result<Option<ObjectId>> {
        let args = ["merge-base".to_owned(), one.to_string(), other.to_string()];
        let args = args.map(std::ffi::OsString::from);
        let output = self.gits.user.output(&args, &[])?;
        match output.status.code() {
            Some(0) => Ok(ObjectId::parse(output.stdout.trim_ascii())),
            Some(1) => Ok(None),
            _ => Err(GitError::Failed {
                command: "merge-base".to_owned(),
                status: output.status,
                stderr: output.stderr,
            }
            .into()),
        }
    }

    /// The commits that `tip` has and `base` has not.
    pub(super) fn branch_since(&self, base: Option<ObjectId>, tip: ObjectId) -> Result<Branch> {
        let git = self.gits.user.patient();
        let mut args = vec!["rev-list".to_owned(), "--topo-order".to_owned()];
        args.extend(["--reverse".to_owned(), tip.to_string()]);
        args.extend(base.map(|base| format!("^{base}")));
        let listing = git.run(args)?;
        let ids = listing.split(|byte| *byte == b'\n');
        let ids: Vec<ObjectId> = ids.filter_map(ObjectId::parse).collect();
        let output = git.run_with_input(["cat-file", "--batch"], lines(&ids).as_bytes())?;
        let commits = CommitObject::of_batch(&output, &ids, self.places.repository.format);
        let commits = commits.ok_or_else(|| {
            CheckpointError::failed(
                "git did not list the commits of the branch",
                "`git fsck` says what is wrong; `ralphtool finish --keep` keeps the branch as it is",
            )
        })?;
        let mut trees: HashMap<_, _> = commits.iter().map(|it| (it.id, it.tree)).collect();
        let users_work = commits.iter().filter(|it| is_users_work(&it.message()));
        for parent in users_work.flat_map(|commit| &commit.parents) {
            if !trees.contains_key(parent) {
                trees.insert(*parent, self.tree_of(*parent)?);
            }
        }
        Ok(Branch {
            base,
            commits,
            trees,
        })
    }
}

fn not_on_base(current: &Current) -> CheckpointError {
    let branch = short(&current.intent.branch);
    CheckpointError::refused(
        format!("`{branch}` no longer has a commit in common with where the run began"),
        format!(
            "`git rebase -i` can edit its commits; `ralphtool finish --keep` keeps `{branch}` as it is"
        ),
    )
}

fn all_there_already(current: &Current) -> CheckpointError {
    let (branch, original) = (
        short(&current.intent.branch),
        current.intent.original.shown(),
    );
    CheckpointError::refused(
        format!("`{original}` already has all commits of `{branch}`; nothing was changed"),
        "`ralphtool finish --keep` ends the run",
    )
}

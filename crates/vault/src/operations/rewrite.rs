//! Squash and reword: the commits of a run's branch are written again, as one or with the titles of
//! their stories. The tree of the last one is the same, so that no file and no index changes.

use std::collections::HashMap;

use super::branch_commits::Branch;
use super::included::{Destination, notice_of_others_commits, notice_of_users_work};
use crate::commit_message::{MessageTemplate, StoryMessage, is_users_work, squashed};
use crate::error::{CheckpointError, Notice, Result};
use crate::git::object_id::{ObjectFormat, ObjectId};
use crate::git::repository::{Refs, short};
use crate::journal::run_state::Current;
use crate::journal::steps::{MoveIntent, MoveKind, RefMove};
use crate::operations::moving::PreparedMove;
use crate::repo::Repo;
use crate::repo::commit_object::{CommitBytes, CommitObject};
use crate::repo::snapshot::Snapshot;
use crate::vault::Vault;

/// How the commits are to be written again.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Rewrite<'a> {
    /// As one, with a list of the stories.
    Squash,
    /// Each with a message of its own.
    Reword { template: &'a MessageTemplate },
}

/// The commits that replace those of a branch; none is written yet.
pub(crate) struct Rewritten {
    /// Where the branch will be; none without a commit.
    pub tip: Option<ObjectId>,
    /// The objects, parents first.
    pub commits: Vec<CommitBytes>,
    /// The message of each commit between the original branch and the new tip, in order.
    pub messages: Vec<String>,
    pub notices: Vec<Notice>,
}

impl Branch {
    /// True where a commit of the user's work changes nothing.
    fn is_superfluous(&self, commit: &CommitObject, format: ObjectFormat) -> bool {
        let empty = || ObjectId::parse(format.empty_tree().as_bytes());
        let before = match commit.parents.as_slice() {
            [] => empty(),
            [parent] => self.trees.get(parent).copied(),
            _ => None,
        };
        is_users_work(&commit.message()) && before == Some(commit.tree)
    }

    /// One commit with the tree of the last one, and the author of the checkpoint.
    fn squashed(&self, checkpoint: &CommitObject, message: String) -> Rewritten {
        let mut commit = checkpoint.clone();
        commit.tree = self.commits.last().map_or(commit.tree, |last| last.tree);
        commit.parents = self.base.into_iter().collect();
        commit.set_message(&message);
        let mut rewritten = Rewritten::empty();
        rewritten.add(&commit, message);
        rewritten
    }

    /// The same commits with the messages of a template, without those that change nothing.
    fn reworded(
        &self,
        template: &MessageTemplate,
        change: &str,
        format: ObjectFormat,
    ) -> Rewritten {
        // Where the child of each commit goes; nowhere where a history begins with an empty one.
        let mut places: HashMap<ObjectId, Option<ObjectId>> = HashMap::new();
        let mut rewritten = Rewritten::empty();
        for commit in &self.commits {
            let mut parents = Vec::new();
            for parent in &commit.parents {
                let place = places.get(parent).copied().unwrap_or(Some(*parent));
                parents.extend(place.filter(|place| !parents.contains(place)));
            }
            if self.is_superfluous(commit, format) {
                places.insert(commit.id, parents.first().copied());
                continue;
            }
            let mut new = commit.clone();
            new.parents = parents;
            let story = StoryMessage::parse(&commit.message());
            let message = story.map(|story| template.message(&story, change));
            if let Some(message) = &message {
                new.set_message(message);
            }
            let message = message.unwrap_or_else(|| commit.message().into_owned());
            if new == *commit {
                rewritten.keep(commit.id, message);
            } else {
                rewritten.add(&new, message);
            }
            places.insert(commit.id, rewritten.tip);
        }
        rewritten
    }
}

impl Rewritten {
    const fn empty() -> Self {
        Self {
            tip: None,
            commits: Vec::new(),
            messages: Vec::new(),
            notices: Vec::new(),
        }
    }

    /// Adds a commit that is there already.
    fn keep(&mut self, id: ObjectId, message: String) {
        self.tip = Some(id);
        self.messages.push(message);
    }

    /// Adds a new commit.
    fn add(&mut self, commit: &CommitObject, message: String) {
        let object = commit.object();
        self.keep(object.id, message);
        self.commits.push(object);
    }
}

/// New commits, and the move of the branch to them. Nothing is written or touched yet.
pub(crate) struct PreparedRewrite {
    pub prepared: PreparedMove,
    /// Parents first; they have to be written before the move.
    pub commits: Vec<CommitBytes>,
}

impl Vault {
    /// Prepares to move the branch of the run from its tip, where HEAD is, to new commits with the same
    /// tree.
    pub(crate) fn prepare_rewrite(
        &mut self,
        current: &Current,
        refs: &Refs,
        tip: ObjectId,
        rewrite: Rewrite<'_>,
    ) -> Result<PreparedRewrite> {
        let changed_files = self.repo.changed_since_start(current, tip)?;
        let rewritten = self.repo.rewritten(current, refs, tip, rewrite)?;
        let new = rewritten.tip.unwrap_or(tip);
        let base = self.checkpoint()?;
        let present = self.tree.scan_present(&self.repo, &base)?;
        let branch = current.intent.branch.clone();
        let mut control = present.snapshot.control.clone();
        control.refs.insert(branch.clone(), new);
        control.head = current.intent.head_at(new);
        let id = Snapshot::new_id();
        self.repo.derive_index(&present.snapshot.id, &id)?;
        let after = Snapshot {
            id,
            control,
            ..present.snapshot.as_ref().clone()
        };
        after.write(&self.repo.places.vault, Some(&present.snapshot))?;
        let intent = MoveIntent {
            kind: match rewrite {
                Rewrite::Squash => MoveKind::Squash { changed_files },
                Rewrite::Reword { .. } => MoveKind::Reword { changed_files },
            },
            before: present.snapshot.id.clone(),
            after: after.id.clone(),
            refs: vec![RefMove {
                name: branch,
                from: Some(tip),
                to: Some(new),
            }],
            head_from: current.intent.head_at(tip),
            head_to: after.control.head.clone(),
            with_control: false,
        };
        let run = &current.intent.run;
        let mut prepared = self.repo.prepare_move(run, intent, present, &after)?;
        prepared.outline.commits = rewritten.messages;
        prepared.outline.notices.extend(rewritten.notices);
        Ok(PreparedRewrite {
            prepared,
            commits: rewritten.commits,
        })
    }
}

impl Repo {
    /// The new commits of the run's branch, which ends at `tip`.
    pub(crate) fn rewritten(
        &self,
        current: &Current,
        refs: &Refs,
        tip: ObjectId,
        rewrite: Rewrite<'_>,
    ) -> Result<Rewritten> {
        let base = self.base_of_branch(current, refs, tip)?;
        let branch = self.branch_since(base, tip)?;
        let commits = branch.commits.iter();
        let is_checkpoint =
            |commit: &&CommitObject| StoryMessage::parse(&commit.message()).is_some();
        let Some(last) = commits.rev().find(is_checkpoint) else {
            return Err(nothing_to_rewrite(current, rewrite));
        };
        let change = &current.intent.change;
        let mut rewritten = match rewrite {
            Rewrite::Squash => {
                let messages: Vec<_> = branch.commits.iter().map(CommitObject::message).collect();
                let messages = messages.iter().map(AsRef::as_ref);
                branch.squashed(last, squashed(change, messages))
            }
            Rewrite::Reword { template } => {
                branch.reworded(template, change, self.places.repository.format)
            }
        };
        let name = short(&current.intent.branch);
        let works = self.users_works(&branch)?;
        let notices = match rewrite {
            Rewrite::Squash => vec![
                notice_of_users_work(Destination::OneCommit, &works),
                notice_of_others_commits(&branch.others_commits(current, tip)),
            ],
            Rewrite::Reword { .. } => {
                vec![notice_of_users_work(
                    Destination::Commits { branch: name, base },
                    &works,
                )]
            }
        };
        rewritten.notices.extend(notices.into_iter().flatten());
        Ok(rewritten)
    }
}

fn nothing_to_rewrite(current: &Current, rewrite: Rewrite<'_>) -> CheckpointError {
    let what = match rewrite {
        Rewrite::Squash => "squash",
        Rewrite::Reword { .. } => "reword",
    };
    CheckpointError::refused(
        format!(
            "`{}` has no commit of a finished story, so there is nothing to {what}",
            short(&current.intent.branch)
        ),
        "`ralphtool finish --keep` keeps the branch as it is, `--abandon` undoes the run",
    )
}

//! What the commits of a kept, squashed or reworded branch have besides the work of the run: files that
//! the user had not committed, which are published with them, and commits that others made.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use super::branch_commits::Branch;
use crate::commit_message::{StoryMessage, is_users_work};
use crate::error::{Notice, Result};
use crate::git::object_id::ObjectId;
use crate::git::repository::{Refs, short};
use crate::journal::run_state::Current;
use crate::journal::steps::SavedWork;
use crate::paths::show;
use crate::repo::Repo;
use crate::repo::commit_object::CommitObject;
use crate::vault::Vault;
use ralph_base::shell::quoted;

/// How many files a notice names.
const FILES: usize = 20;

/// How many commits a notice names.
const COMMITS: usize = 5;

/// Where the files of the user's work go.
#[derive(Debug, Clone, Copy)]
pub(super) enum Destination<'a> {
    OneCommit,
    /// They are in commits of their own.
    Commits {
        /// Short name of the branch.
        branch: &'a str,
        base: Option<ObjectId>,
    },
}

/// A commit of what the user had not committed.
pub(super) struct UsersWork {
    commit: ObjectId,
    parents: Vec<ObjectId>,
    files: Vec<Vec<u8>>,
}

impl Vault {
    /// What to know about the branch of the last run where it is kept as it is.
    pub(crate) fn notices_of_kept_branch(&self) -> Vec<Notice> {
        let state = &self.log.state;
        let Some(current) = state.current.as_ref().or_else(|| state.kept()) else {
            return Vec::new();
        };
        // A branch is kept whatever is known of it.
        let notice = self
            .repo
            .observe()
            .and_then(|(refs, _)| self.repo.notice_of_branch(current, &refs));
        notice.ok().flatten().into_iter().collect()
    }
}

impl Repo {
    fn notice_of_branch(&self, current: &Current, refs: &Refs) -> Result<Option<Notice>> {
        let Some(tip) = refs.get(&current.intent.branch).copied() else {
            return Ok(None);
        };
        let base = self.base_of_branch(current, refs, tip)?;
        let works = self.users_works(&self.branch_since(base, tip)?)?;
        let branch = short(&current.intent.branch);
        let destination = Destination::Commits { branch, base };
        Ok(notice_of_users_work(destination, &works))
    }

    /// The commits of the user's work that have files.
    pub(super) fn users_works(&self, branch: &Branch) -> Result<Vec<UsersWork>> {
        let mut works = Vec::new();
        let commits = branch.commits.iter();
        for commit in commits.filter(|commit| is_users_work(&commit.message())) {
            let from = match commit.parents.first() {
                Some(parent) => parent.to_string(),
                None => self.places.repository.format.empty_tree().to_owned(),
            };
            let files = self.changed_between(&from, &commit.id.to_string())?;
            if !files.is_empty() {
                works.push(UsersWork {
                    commit: commit.id,
                    parents: commit.parents.clone(),
                    files,
                });
            }
        }
        Ok(works)
    }
}

impl Branch {
    /// Commits that neither the run nor its agents made: they were made while no agent was at work.
    pub(super) fn others_commits(&self, current: &Current, tip: ObjectId) -> Vec<&CommitObject> {
        let mut others = HashSet::new();
        let mut last = current.intent.commit;
        for saved in &current.saved {
            if !matches!(saved.work, SavedWork::Story(_)) {
                others.extend(self.between(last, saved.commit));
            }
            last = saved.commit;
        }
        others.extend(self.between(last, tip));
        let is_others = |commit: &&CommitObject| {
            let message = commit.message();
            let is_ours = StoryMessage::parse(&message).is_some()
                || is_users_work(&message)
                || current.saved.iter().any(|saved| saved.commit == commit.id);
            others.contains(&commit.id) && !is_ours
        };
        self.commits.iter().filter(is_others).collect()
    }

    /// The commits that `to` has and `from` has not.
    fn between(&self, from: ObjectId, to: ObjectId) -> HashSet<ObjectId> {
        let parents: HashMap<ObjectId, &[ObjectId]> = self
            .commits
            .iter()
            .map(|commit| (commit.id, commit.parents.as_slice()))
            .collect();
        let of = |start: ObjectId| {
            let (mut found, mut left) = (HashSet::new(), vec![start]);
            while let Some(id) = left.pop() {
                if let Some(parents) = parents.get(&id).filter(|_| found.insert(id)) {
                    left.extend(*parents);
                }
            }
            found
        };
        &of(to) - &of(from)
    }
}

/// Names the files that the user had not committed, and how to leave them out.
pub(super) fn notice_of_users_work(
    destination: Destination<'_>,
    works: &[UsersWork],
) -> Option<Notice> {
    let last = works.last()?;
    let mut files: Vec<&Vec<u8>> = works.iter().flat_map(|work| &work.files).collect();
    files.sort();
    files.dedup();
    let mut names: Vec<String> = files.iter().take(FILES).map(|path| show(path)).collect();
    if files.len() > FILES {
        let rest = files.len() - FILES;
        let commit = last.commit.short();
        names.push(format!("and {rest} more: `git show --stat {commit}`"));
    }
    let place = match destination {
        Destination::OneCommit => "the commit includes",
        Destination::Commits { .. } => "the branch includes",
    };
    let names = names.join(", ");
    let way_out = way_out(destination, works);
    let message = format!("{place} what you had not committed: {names}; {way_out}");
    Some(Notice::new("users_work_included", message))
}

/// How to publish the work of the run without what the user had not committed.
fn way_out(destination: Destination<'_>, works: &[UsersWork]) -> String {
    match (destination, works) {
        (
            Destination::Commits {
                branch,
                base: Some(base),
            },
            [
                UsersWork {
                    commit, parents, ..
                },
            ],
        ) if parents.as_slice() == [base] => {
            let name = branch.strip_prefix("ralph/").unwrap_or(branch);
            format!(
                "`git switch -c {} {} && git rebase --onto {} {}` makes a branch without it",
                quoted(Path::new(name)),
                quoted(Path::new(branch)),
                base.short(),
                commit.short()
            )
        }
        _ => {
            "to leave it out, `ralphtool finish --cleanup` and commit only what you want".to_owned()
        }
    }
}

/// Names the commits that the run did not make.
pub(super) fn notice_of_others_commits(commits: &[&CommitObject]) -> Option<Notice> {
    let line = |commit: &&CommitObject| {
        let message = commit.message();
        let subject = message.lines().next().unwrap_or_default();
        format!("{} {subject}", commit.id.short())
    };
    let mut lines: Vec<String> = commits.iter().take(COMMITS).map(line).collect();
    if commits.len() > COMMITS {
        lines.push(format!("and {} more", commits.len() - COMMITS));
    }
    let count = match commits.len() {
        0 => return None,
        1 => "1 commit".to_owned(),
        many => format!("{many} commits"),
    };
    let lines = lines.join(", ");
    let message = format!("the commit includes {count} that the run did not make: {lines}");
    Some(Notice::new("others_commits_included", message))
}

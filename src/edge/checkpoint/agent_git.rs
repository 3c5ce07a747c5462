//! The agent's own git commands: git writes a trace of each into the attempt's folder. They tell
//! what the agent did from what the user did meanwhile.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::Checkpoints;
use super::run_state::Current;
use crate::edge::files::read_plain;
use crate::edge::object_id::ObjectId;
use crate::edge::repository::Head;

/// Subcommands of git that can move a branch.
pub(super) const MOVING: &[&str] = &[
    "branch",
    "checkout",
    "switch",
    "commit",
    "reset",
    "merge",
    "rebase",
    "cherry-pick",
    "revert",
    "pull",
    "fetch",
    "push",
    "update-ref",
    "am",
    "worktree",
    "filter-branch",
    "commit-tree",
    "symbolic-ref",
    "fast-import",
];

/// Subcommands of git that can put HEAD on another branch.
const SWITCHING: &[&str] = &[
    "branch",
    "checkout",
    "switch",
    "rebase",
    "bisect",
    "stash",
    "pull",
    "symbolic-ref",
    "update-ref",
    "filter-branch",
];

/// Subcommands of git that can add to the stash.
pub(super) const STASHING: &[&str] = &[
    "stash",
    "update-ref",
    "checkout",
    "switch",
    "merge",
    "rebase",
    "pull",
];

/// Subcommands that may move any branch without naming it among their arguments.
const NAMING_NONE: &[&str] = &["update-ref", "fast-import", "filter-branch"];

/// What a trace says of one git process.
#[derive(Debug, Default)]
struct Traced {
    names: Vec<String>,
    words: Vec<String>,
}

/// The parts of git's event format that name a command and its arguments.
#[derive(Deserialize)]
struct TraceLine {
    event: String,
    name: Option<String>,
    #[serde(default)]
    argv: Vec<String>,
}

impl Checkpoints {
    /// Where git writes what the agent of the last attempt runs; none where there is no such
    /// attempt, or nothing is written.
    fn trace_folder(&self, current: &Current) -> Option<PathBuf> {
        let last = current.last_attempt.as_ref()?;
        let folder = self.attempt_folder(&current.intent.run, &last.attempt);
        Some(folder.join("git")).filter(|folder| folder.is_dir())
    }

    fn traced(&self, current: &Current) -> Vec<Traced> {
        let listing = self.trace_folder(current).map(std::fs::read_dir);
        let Some(Ok(listing)) = listing else {
            return Vec::new();
        };
        listing
            .filter_map(|entry| std::fs::read(entry.ok()?.path()).ok())
            .map(|text| read_trace(&text))
            .collect()
    }

    /// True where the agent ran any git command, or nobody wrote down whether it did.
    pub(super) fn agent_ran_git(&self, current: &Current) -> bool {
        match self.trace_folder(current).map(std::fs::read_dir) {
            Some(Ok(mut traces)) => traces.next().is_some(),
            _ => true,
        }
    }

    /// True where the record of the agent's own git commands shows one of these.
    pub(super) fn agent_ran(&self, current: &Current, commands: &[&str]) -> bool {
        self.traced(current)
            .iter()
            .any(|traced| traced.is_one_of(commands))
    }

    /// True where the agent moved a branch of the user's: it had HEAD there, or named it.
    pub(super) fn agent_moved(&self, current: &Current, name: &str, now: Option<ObjectId>) -> bool {
        let log = self.places.repository.common_dir.join("logs").join(name);
        if !self.agent_ran(current, MOVING) || self.moved_after_agent(current, &log) {
            return false;
        }
        let Ok(visited) = read_plain(&self.places.repository.git_dir.join("logs/HEAD")) else {
            // Without a log all that is known is that it may have been the agent.
            return true;
        };
        let was_there = now.is_some_and(|now| log_names(&visited, now));
        let short = name.strip_prefix("refs/heads/").unwrap_or(name);
        let named = |traced: &Traced| {
            traced.is_one_of(NAMING_NONE) || traced.words.iter().any(|word| word.contains(short))
        };
        was_there && self.agent_ran(current, SWITCHING)
            || self
                .traced(current)
                .iter()
                .any(|traced| traced.is_one_of(MOVING) && named(traced))
    }

    /// True where HEAD is not on the branch, was moved by a command of git, and that was none of
    /// the agent's.
    pub(super) fn user_switched(&self, current: &Current, head: &Head) -> bool {
        let on_branch = matches!(head, Head::Branch { name, .. } if *name == current.intent.branch);
        if on_branch || self.trace_folder(current).is_none() {
            return false;
        }
        let log = self.places.repository.git_dir.join("logs/HEAD");
        let log = read_plain(&log).unwrap_or_default();
        last_switch(&log).is_some_and(|line| !line.ends_with(b"ralphtool: switch"))
            && !self.agent_ran(current, SWITCHING)
    }

    /// True where the log of a ref names a move after the last git command of the agent: after a
    /// crash the user may have worked on.
    pub(super) fn moved_after_agent(&self, current: &Current, log: &Path) -> bool {
        let Some(last) = &current.last_attempt else {
            return false;
        };
        let folder = self.attempt_folder(&current.intent.run, &last.attempt);
        let Some(moved) = last_move(log) else {
            return false;
        };
        let started = std::fs::metadata(folder.join("prompt.md")).ok();
        let listing = std::fs::read_dir(folder.join("git")).ok();
        let traces = listing
            .into_iter()
            .flatten()
            .filter_map(|entry| entry.ok()?.metadata().ok());
        let agent = started.into_iter().chain(traces);
        agent
            .map(|it| it.mtime())
            .max()
            .is_some_and(|at| moved > at + 1)
    }
}

impl Traced {
    fn is_one_of(&self, commands: &[&str]) -> bool {
        let mut names = self.names.iter();
        names.any(|name| commands.contains(&name.as_str()))
    }
}

fn read_trace(text: &[u8]) -> Traced {
    let mut traced = Traced::default();
    let lines = text.split(|byte| *byte == b'\n');
    for line in lines.filter_map(|line| serde_json::from_slice::<TraceLine>(line).ok()) {
        match line.event.as_str() {
            "cmd_name" => traced.names.extend(line.name),
            "start" => traced.words.extend(line.argv.into_iter().skip(1)),
            _ => {}
        }
    }
    traced
}

/// True where a log names a commit as what came after a move.
fn log_names(log: &[u8], commit: ObjectId) -> bool {
    let id = commit.to_string();
    let mut lines = log.split(|byte| *byte == b'\n');
    lines.any(|line| line.split(|byte| *byte == b' ').nth(1) == Some(id.as_bytes()))
}

/// The last line of HEAD's log that tells of a move from one branch to another.
fn last_switch(log: &[u8]) -> Option<&[u8]> {
    let mut lines = log.rsplit(|byte| *byte == b'\n');
    lines.find(|line| {
        let message = line.split(|byte| *byte == b'\t').nth(1).unwrap_or_default();
        message.starts_with(b"checkout: moving from ") || message == b"ralphtool: switch"
    })
}

/// When a ref was last moved, by its log, in seconds.
fn last_move(log: &Path) -> Option<i64> {
    let text = read_plain(log).ok()?;
    let line = text.trim_ascii_end().rsplit(|byte| *byte == b'\n').next()?;
    // `old new Name <mail> seconds zone<TAB>message`
    let head = line.split(|byte| *byte == b'\t').next()?;
    let mut words = head.rsplit(|byte| *byte == b' ');
    std::str::from_utf8(words.nth(1)?).ok()?.parse().ok()
}

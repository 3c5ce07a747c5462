//! The agent's own git commands: git writes a trace of each into the attempt's folder. They tell
//! what the agent did from what the user did meanwhile.

use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use serde::Deserialize;

use crate::git::ref_log::LogLine;
use crate::git::repository::Head;
use crate::journal::run_state::Current;
use crate::repo::Repo;
use ralph_base::files::read_plain;

/// What the log of HEAD says of a switch of ours.
const OWN_SWITCH: &str = "ralphtool: switch";

/// A killed command may have run for this many seconds after the last line of its trace.
const KILLED_GRACE: i64 = 5;

/// What a trace says of one git process.
#[derive(Debug, Default)]
pub(crate) struct Traced {
    names: Vec<String>,
    pub words: Vec<String>,
    /// Its exit code; none where it was killed.
    pub code: Option<i64>,
    /// From when to when it ran, in seconds.
    ran: Option<(i64, i64)>,
}

/// The parts of git's event format that name a command and its arguments.
#[derive(Deserialize)]
struct TraceLine {
    event: String,
    name: Option<String>,
    #[serde(default)]
    argv: Vec<String>,
    time: Option<jiff::Timestamp>,
    code: Option<i64>,
}

impl Repo {
    fn last_attempt_folder(&self, current: &Current) -> Option<PathBuf> {
        let last = current.last_attempt.as_ref()?;
        let vault = &self.places.vault;
        Some(vault.attempt_folder(&current.intent.run, &last.attempt))
    }

    /// Where git writes what the agent of the last attempt runs; none where there is no such
    /// attempt, or nothing is written.
    fn trace_folder(&self, current: &Current) -> Option<PathBuf> {
        let of_review = self.review_traces.borrow().clone();
        let of_attempt = || Some(self.last_attempt_folder(current)?.join("git"));
        let folder = of_review.or_else(of_attempt);
        folder.filter(|folder| folder.is_dir())
    }

    /// All git commands of the agent's that left a trace.
    pub(crate) fn traced(&self, current: &Current) -> Vec<Traced> {
        let listing = self.trace_folder(current).map(std::fs::read_dir);
        let Some(Ok(listing)) = listing else {
            return Vec::new();
        };
        listing
            .filter_map(|entry| {
                let path = entry.ok()?.path();
                let last = std::fs::metadata(&path).ok()?.mtime();
                Some(read_trace(&read_plain(&path).ok()?, last))
            })
            .collect()
    }

    /// True where the agent ran any git command, or where that is not known.
    pub(crate) fn agent_ran_git(&self, current: &Current) -> bool {
        match self.trace_folder(current).map(std::fs::read_dir) {
            Some(Ok(mut traces)) => traces.next().is_some(),
            _ => true,
        }
    }

    /// True where the record of the agent's own git commands shows one of these.
    pub(crate) fn agent_ran(&self, current: &Current, commands: &[&str]) -> bool {
        self.traced(current)
            .iter()
            .any(|traced| traced.is_one_of(commands))
    }

    /// True where HEAD is not on the branch, and a switch in its log is not proven to be the agent's:
    /// the last one, or any since the attempt began.
    pub(crate) fn user_switched(&self, current: &Current, head: &Head) -> bool {
        let on_branch = matches!(head, Head::Branch { name, .. } if *name == current.intent.branch);
        if on_branch || self.trace_folder(current).is_none() {
            return false;
        }
        let traced = self.traced(current);
        let Some(log) = self.log_of("HEAD") else {
            // Without a log the commands alone tell.
            return !traced.iter().any(Traced::can_switch);
        };
        let started = self.prompted_at(current);
        let is_switch = |line: &&LogLine| line.message == OWN_SWITCH || is_switch(&line.message);
        let mut switches = log.iter().rev().filter(is_switch);
        let last = switches.next();
        let since_start = switches.take_while(|line| started.is_some_and(|at| line.time > at));
        let is_users = |line: &LogLine| {
            line.message != OWN_SWITCH && !traced.iter().any(|it| it.switched(line))
        };
        last.into_iter().chain(since_start).any(is_users)
    }

    /// The second in which the last attempt was given its prompt.
    fn prompted_at(&self, current: &Current) -> Option<i64> {
        let folder = self.last_attempt_folder(current)?;
        let prompt = std::fs::metadata(folder.join("prompt.md")).ok()?;
        Some(prompt.mtime())
    }

    /// True where the log of a ref names a move after the last git command of the agent: after a
    /// crash the user may have worked on.
    pub(crate) fn moved_after_agent(&self, current: &Current, name: &str) -> bool {
        let Some(folder) = self.last_attempt_folder(current) else {
            return false;
        };
        let log = self.log_of(name).unwrap_or_default();
        let Some(moved) = log.last().map(|line| line.time) else {
            return false;
        };
        let started = self.prompted_at(current);
        let listing = std::fs::read_dir(folder.join("git")).ok();
        let traces = listing
            .into_iter()
            .flatten()
            .filter_map(|entry| entry.ok()?.metadata().ok());
        let agent = started.into_iter().chain(traces.map(|it| it.mtime()));
        agent.max().is_some_and(|at| moved > at + 1)
    }
}

impl Traced {
    /// True where it was running at a second.
    pub(crate) fn ran_at(&self, second: i64) -> bool {
        self.ran
            .is_some_and(|(start, end)| (start..=end).contains(&second))
    }

    pub(crate) fn is_one_of(&self, commands: &[&str]) -> bool {
        let mut names = self.names.iter();
        names.any(|name| commands.contains(&name.as_str()))
    }
}

/// Reads a trace; `last` is when it was last written to.
fn read_trace(text: &[u8], last: i64) -> Traced {
    let mut traced = Traced::default();
    let mut end = last + KILLED_GRACE;
    let lines = text.split(|byte| *byte == b'\n');
    for line in lines.filter_map(|line| serde_json::from_slice::<TraceLine>(line).ok()) {
        let second = line.time.map(jiff::Timestamp::as_second);
        match line.event.as_str() {
            "cmd_name" => traced.names.extend(line.name),
            "start" => {
                traced.words.extend(line.argv.into_iter().skip(1));
                traced.ran = second.map(|start| (start, end));
            }
            "atexit" => {
                traced.code = line.code;
                end = second.unwrap_or(end);
            }
            _ => {}
        }
    }
    traced.ran = traced.ran.map(|(start, _)| (start, end));
    traced
}

/// True where a line in the log of HEAD says that HEAD went to another branch, or to none.
pub(crate) fn is_switch(message: &str) -> bool {
    message.starts_with(SWITCH) || is_start_of_rebase(message)
}

/// What the log of HEAD says of `git checkout` and `git switch`, up to the branch that was left.
pub(crate) const SWITCH: &str = "checkout: moving from ";

/// `rebase (start): checkout ONTO`, and the like of `git rebase -i` and `git pull --rebase`.
pub(crate) fn is_start_of_rebase(message: &str) -> bool {
    message.contains(" (start): checkout ")
}

//! What one run showed, from the log that its agents wrote.

use std::time::Duration;

use crate::Result;
use crate::account::Account;
use crate::agent::End;
use crate::watch::Memory;

/// What one run showed.
#[derive(Debug)]
pub(crate) struct Run {
    /// From the start to the first agent.
    pub(crate) first_agent: Duration,
    /// Walks of the tree until then.
    pub(crate) walks_to_first_agent: usize,
    /// After each story that was done at its first attempt, but for the last one.
    pub(crate) stories: Vec<Gap>,
    /// After each failed attempt.
    pub(crate) restores: Vec<Gap>,
    /// From the end of the last agent to the end of the process.
    pub(crate) end: Duration,
    /// The most memory there was.
    pub(crate) memory: Memory,
}

/// What lies between the end of an agent and the start of the next.
#[derive(Debug)]
pub(crate) struct Gap {
    /// How long it took.
    pub(crate) time: Duration,
    /// What was used in it.
    pub(crate) used: Account,
    /// Walks of the tree in it, where they can be counted.
    pub(crate) walks: usize,
    /// The git calls in it, where they are logged.
    pub(crate) git_calls: Vec<String>,
}

/// An attempt, as the log has it.
struct Attempt {
    story: usize,
    is_failed: bool,
    start: u128,
    end: u128,
    used_before: Account,
    used_after: Account,
    used_itself: Account,
    walks_before: usize,
    git_calls_before: Vec<String>,
}

/// What was seen from outside.
pub(crate) struct Seen {
    /// When the run began.
    pub(crate) started: u128,
    /// When it ended.
    pub(crate) ended: u128,
    /// The most memory there was.
    pub(crate) memory: Memory,
    /// Walks of the tree before the end of each agent.
    pub(crate) walks: Vec<usize>,
}

impl Run {
    /// Reads the log of a run, beside what was seen from outside.
    pub(crate) fn from_log(log: &str, seen: &Seen, plain_stories: usize) -> Result<Self> {
        let attempts = attempts(log, &seen.walks)?;
        let (Some(first), Some(last)) = (attempts.first(), attempts.last()) else {
            return Err("no agent ran".into());
        };
        let mut run = Self {
            first_agent: between(seen.started, first.start),
            walks_to_first_agent: first.walks_before,
            stories: Vec::new(),
            restores: Vec::new(),
            end: between(last.end, seen.ended),
            memory: seen.memory,
        };
        for pair in attempts.windows(2) {
            let [before, after] = pair else { continue };
            if before.is_failed {
                run.restores.push(gap(before, after));
            } else if before.story < plain_stories {
                run.stories.push(gap(before, after));
            }
        }
        Ok(run)
    }
}

fn gap(before: &Attempt, after: &Attempt) -> Gap {
    Gap {
        time: between(before.end, after.start),
        // What the agent used is added to its parent's account when it ends.
        used: after.used_before - before.used_after - before.used_itself,
        walks: after.walks_before,
        git_calls: after.git_calls_before.clone(),
    }
}

fn attempts(log: &str, walks: &[usize]) -> Result<Vec<Attempt>> {
    let mut attempts: Vec<Attempt> = Vec::new();
    let mut calls = Vec::new();
    for line in log.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        if let ["agent", story, end, start, stop, before, after, itself] = words[..] {
            attempts.push(Attempt {
                story: story.parse()?,
                is_failed: end == End::Failed.word(),
                start: start.parse()?,
                end: stop.parse()?,
                used_before: account(before)?,
                used_after: account(after)?,
                used_itself: account(itself)?,
                walks_before: walks.get(attempts.len()).copied().unwrap_or(0),
                git_calls_before: std::mem::take(&mut calls),
            });
        } else {
            calls.push(line.to_owned());
        }
    }
    Ok(attempts)
}

fn account(words: &str) -> Result<Account> {
    Ok(Account::read(words).ok_or("the log of the agents is cut")?)
}

/// The time from one moment of the wall clock to another.
pub(crate) fn between(earlier: u128, later: u128) -> Duration {
    let nanos = later.saturating_sub(earlier);
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

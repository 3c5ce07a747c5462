//! Changes with an agent that cannot be trusted, run by the real program and checked independently.

pub(crate) mod catalogue;
pub(crate) mod chance;
pub(crate) mod check;
pub(crate) mod draw;
pub(crate) mod figures;
pub(crate) mod project;
pub(crate) mod setup;
pub(crate) mod starts;
pub(crate) mod tokens;

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use chance::Odds;
use check::{Flaw, Judge, What};
use draw::{Attempt, Deed, STORIES};
use project::Project;
use setup::Setup;
use starts::Starts;
use tokens::Model;

/// A result whose error is a message for people. It crosses threads.
pub(crate) type Result<T, E = Box<dyn Error + Send + Sync>> = std::result::Result<T, E>;

/// What is run.
#[derive(Debug, Clone)]
pub(crate) struct Series<'a> {
    /// The real program.
    pub(crate) program: &'a Path,
    /// What all chance hangs on.
    pub(crate) seed: u64,
    /// How many changes.
    pub(crate) changes: u64,
    /// How many attempts each story has after the first.
    pub(crate) max_retries: u32,
    /// How often an agent may repair an attempt, where it may.
    pub(crate) repairs: u32,
    /// What else hangs on chance.
    pub(crate) odds: Odds,
    /// How long an agent may be silent; each one that hangs costs as much.
    pub(crate) idle: Duration,
    /// How many changes are under way at the same time.
    pub(crate) jobs: usize,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ending {
    /// Everything is done, says the program.
    Done,
    /// A story has no attempts left, says the program.
    Exhausted,
    /// Anything else, with what was said.
    Other(String),
}

/// What became of one change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Record {
    /// Its number.
    pub(crate) change: u64,
    /// How the run ended.
    pub(crate) ending: Ending,
    /// All attempts, in order.
    pub(crate) attempts: Vec<Attempt>,
    /// All processes of agents.
    pub(crate) starts: Starts,
    /// Stories the program saved as done.
    pub(crate) claimed: Vec<usize>,
    /// What is wrong with these, or with what was there before; each with the deed behind it.
    pub(crate) flaws: Vec<(Flaw, String)>,
    /// Attempts the program failed, by the kind it gave.
    pub(crate) failures: BTreeMap<String, usize>,
    /// How long the run took.
    pub(crate) took: Duration,
}

impl Record {
    /// The program says that all is done, and it is not.
    pub(crate) fn is_false(&self) -> bool {
        self.ending == Ending::Done && !self.flaws.is_empty()
    }

    /// The stories that the program saved as done, and that are.
    pub(crate) fn stories_really_done(&self) -> usize {
        let is_right = |story: &&usize| !self.flaws.iter().any(|(flaw, _)| flaw.story == **story);
        self.claimed.iter().filter(is_right).count()
    }

    /// The program says that all is done, and it is.
    pub(crate) fn is_really_done(&self) -> bool {
        self.ending == Ending::Done && self.flaws.is_empty()
    }
}

impl Series<'_> {
    /// Runs all changes with one setup; `told` hears how many are over.
    pub(crate) fn run(&self, setup: &Setup, told: impl Fn(u64) + Sync) -> Result<Vec<Record>> {
        let next = AtomicU64::new(0);
        let over = AtomicU64::new(0);
        let is_broken = AtomicBool::new(false);
        let records = Mutex::new(Vec::new());
        let work = || -> Result<()> {
            while !is_broken.load(Ordering::Relaxed) {
                let change = next.fetch_add(1, Ordering::Relaxed);
                if change >= self.changes {
                    break;
                }
                let record = self.change(setup, change).inspect_err(|_| {
                    is_broken.store(true, Ordering::Relaxed);
                })?;
                let mut records = records.lock().map_err(|_| "another job broke")?;
                records.push(record);
                told(over.fetch_add(1, Ordering::Relaxed) + 1);
            }
            Ok(())
        };
        thread::scope(|scope| {
            let jobs: Vec<_> = (0..self.jobs.max(1)).map(|_| scope.spawn(work)).collect();
            jobs.into_iter()
                .try_for_each(|job| job.join().map_err(|_| "a job broke")?)
        })?;
        let mut records = records.into_inner().map_err(|_| "a job broke")?;
        records.sort_by_key(|record: &Record| record.change);
        Ok(records)
    }

    fn change(&self, setup: &Setup, change: u64) -> Result<Record> {
        let project = Project::make(self, setup, change)?;
        let start = Instant::now();
        let output = project.run(self.program)?;
        let took = start.elapsed();
        let ending = match output.status.code() {
            Some(0) => Ending::Done,
            Some(1) => Ending::Exhausted,
            _ => {
                let told = String::from_utf8_lossy(&output.stderr);
                Ending::Other(format!("{}: {told}", output.status))
            }
        };
        let attempts = project.deeds()?;
        let starts = Starts::read(&project.starts()?, Model::USUAL)?;
        let claimed = project.claimed()?;
        let asked: Vec<usize> = match ending {
            Ending::Done => (0..=STORIES).collect(),
            _ => std::iter::once(0).chain(claimed.clone()).collect(),
        };
        let flaws = Judge::new(&project)?.flaws(&asked)?;
        let flaws = flaws.into_iter().map(|flaw| {
            let cause = cause(&flaw, &attempts, &claimed);
            (flaw, cause)
        });
        Ok(Record {
            change,
            ending,
            flaws: flaws.collect(),
            attempts,
            starts,
            claimed,
            failures: failures(&String::from_utf8_lossy(&output.stdout)),
            took,
        })
    }
}

/// The attempt that broke a story: the last accepted attempt that damaged it, or else the accepted
/// attempt of the story itself.
fn cause(flaw: &Flaw, attempts: &[Attempt], claimed: &[usize]) -> String {
    let story = flaw.story;
    let accepted: Vec<&Attempt> = claimed
        .iter()
        .filter_map(|story| attempts.iter().rfind(|attempt| attempt.story == *story))
        .collect();
    let spoils = |way: &str| match flaw.what {
        What::DoesNotWork => matches!(way, "refit" | "break"),
        What::IsNotTested => way != "break",
    };
    let is_damage =
        |it: &&&Attempt| it.deed == Deed::Damage && it.victim == story && spoils(&it.way);
    let damage = accepted.iter().rfind(is_damage);
    let own = || accepted.iter().find(|attempt| attempt.story == story);
    let found = damage.or_else(own);
    found.map_or_else(|| "unknown".to_owned(), ToString::to_string)
}

/// The kinds of all failed attempts that the program reported.
fn failures(events: &str) -> BTreeMap<String, usize> {
    let mut kinds = BTreeMap::new();
    for line in events.lines() {
        let event: Value = serde_json::from_str(line).unwrap_or_default();
        if event["event"] == "attempt_failed" {
            let kind = event["kind"].as_str().unwrap_or("unknown");
            *kinds.entry(kind.to_owned()).or_default() += 1;
        }
    }
    kinds
}

//! Sweeping with the process table.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitOptions, waitpid};
use tokio::time::{Instant, sleep};

use super::{Leader, Orphans, Patience, Step, Swept};
use crate::edge::process::ATTEMPT_VARIABLE;
use crate::edge::process::table::{Entry, Key, Table};

/// How soon it is looked again, at first.
const POLL_SHORTEST: Duration = Duration::from_millis(2);
/// How soon it is looked again, later.
const POLL_LONGEST: Duration = Duration::from_millis(50);

/// The first processes of all attempts under way, and helpers in sessions of their own: what
/// became an orphan of one is not another's.
static LEADERS: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

/// What is known of the processes of one attempt.
#[derive(Debug)]
pub(in super::super) struct Attempt {
    leader: i32,
    started: u64,
    /// Somebody else waits for the leader: it is not to be ended with the rest.
    leader_is_spared: bool,
    mark: Vec<u8>,
    orphans: Orphans,
    family: BTreeSet<Key>,
}

impl Attempt {
    /// Begins with the attempt's first process.
    pub(in super::super) fn begin(leader: Option<Pid>, marker: &str, orphans: Orphans) -> Self {
        let leader = raw(leader);
        let started = Entry::read(leader).map_or(0, |entry| entry.key.started);
        Self::new(leader, started, marker, orphans)
    }

    /// Takes over the attempt of a program that has died, its first process included.
    pub(in super::super) fn left_behind(leader: Option<Leader>, marker: &str) -> Self {
        let (leader, started) = leader.map_or((0, 0), |leader| (leader.pid, leader.started));
        let mut attempt = Self::new(leader, started, marker, Orphans::Marked);
        attempt.leader_is_spared = false;
        attempt
    }

    fn new(leader: i32, started: u64, marker: &str, orphans: Orphans) -> Self {
        leaders(|all| all.insert(leader));
        Self {
            leader,
            started,
            leader_is_spared: true,
            mark: format!("{ATTEMPT_VARIABLE}={marker}").into_bytes(),
            orphans,
            family: BTreeSet::new(),
        }
    }

    /// The attempt's first process.
    pub(in super::super) fn leader(&self) -> Option<Leader> {
        (self.leader != 0).then_some(Leader {
            pid: self.leader,
            started: self.started,
        })
    }

    /// Remembers the descendants, before they lose the ancestor that makes them known.
    pub(in super::super) fn remember_family(&mut self) {
        let table = Table::read();
        let members = self.members(&table);
        self.family
            .extend(members.into_iter().map(|entry| entry.key));
    }

    /// Remembers who descends from the leader now, and which orphans `program` adopted, if it is the
    /// parent of this process. Reads no more of the process table than that.
    pub(in super::super) fn look_around(&mut self, program: i32) {
        let mut first: Vec<Entry> = Entry::read(self.leader)
            .filter(|entry| self.may_belong(entry))
            .into_iter()
            .collect();
        first.extend(adopted_by(program));
        self.family = with_descendants(first)
            .into_iter()
            .map(|it| it.key)
            .collect();
    }

    /// Ends everything, but for a leader that is spared because it has been waited for.
    pub(in super::super) async fn sweep(&mut self, patience: Patience) -> Swept {
        end_all(|table| self.alive(table), patience).await
    }

    /// The members that are alive; the dead ones that are ours to bury are buried.
    fn alive(&mut self, table: &Table) -> Vec<Entry> {
        let own = table.own_pid();
        let members = self.members(table);
        self.family.extend(members.iter().map(|entry| entry.key));
        let (dead, alive): (Vec<_>, Vec<_>) = members.into_iter().partition(|entry| entry.is_dead);
        for entry in dead.iter().filter(|entry| entry.parent == own) {
            // Only this very process: its siblings may be waited for by others.
            if let Some(pid) = Pid::from_raw(entry.key.pid) {
                let _ = waitpid(Some(pid), WaitOptions::NOHANG);
            }
        }
        alive
    }

    fn members(&self, table: &Table) -> Vec<Entry> {
        let others: BTreeSet<i32> = leaders(|all| all.clone());
        table.families(|entry| {
            self.may_belong(entry)
                && (self.is_known(entry)
                    || self.is_orphan(entry, table, &others)
                    || entry.has_variable(&self.mark))
        })
    }

    fn may_belong(&self, entry: &Entry) -> bool {
        if entry.key.pid == self.leader {
            return !self.leader_is_spared && entry.key.started == self.started;
        }
        entry.key.started >= self.started
    }

    fn is_known(&self, entry: &Entry) -> bool {
        let leader = self.leader;
        let kin = [entry.session, entry.group, entry.parent].contains(&leader);
        leader != 0 && kin || self.family.contains(&entry.key)
    }

    /// True for a process this program adopted: whatever it started itself is in its own
    /// session or leads one of an attempt.
    fn is_orphan(&self, entry: &Entry, table: &Table, leaders: &BTreeSet<i32>) -> bool {
        self.orphans == Orphans::All
            && entry.parent == table.own_pid()
            && entry.session != table.own_session()
            && !leaders.contains(&entry.session)
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        leaders(|all| all.remove(&self.leader));
    }
}

/// A helper of this program in a session of its own, which no sweep takes for an orphan.
#[derive(Debug)]
pub(in super::super) struct Spared(i32);

impl Spared {
    /// Spares a process for as long as this lives.
    pub(in super::super) fn new(helper: Option<Pid>) -> Self {
        let helper = raw(helper);
        leaders(|all| all.insert(helper));
        Self(helper)
    }
}

impl Drop for Spared {
    fn drop(&mut self) {
        leaders(|all| all.remove(&self.0));
    }
}

/// Children of the program this process is a child of, in other sessions than it: not git, which it
/// calls in its own. The check comes first: a child of the first process of all could be anybody's.
fn adopted_by(program: i32) -> Vec<Entry> {
    let own = rustix::process::getpid().as_raw_nonzero().get();
    let is_child = Entry::read(own).is_some_and(|entry| entry.parent == program);
    let Some(program) = Entry::read(program).filter(|_| is_child) else {
        return Vec::new();
    };
    let mut children = program.children();
    children.retain(|it| it.key.pid != own && it.session != program.session);
    children
}

fn with_descendants(mut news: Vec<Entry>) -> Vec<Entry> {
    let mut all = Vec::new();
    while let Some(entry) = news.pop() {
        news.extend(entry.children());
        all.push(entry);
    }
    all
}

fn raw(pid: Option<Pid>) -> i32 {
    pid.map_or(0, |pid| pid.as_raw_nonzero().get())
}

fn leaders<T>(use_them: impl FnOnce(&mut BTreeSet<i32>) -> T) -> T {
    use_them(&mut LEADERS.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Ends all that `find` finds, again and again until it finds nothing or patience ends.
pub(in super::super) async fn end_all(
    mut find: impl FnMut(&Table) -> Vec<Entry>,
    patience: Patience,
) -> Swept {
    let start = Instant::now();
    let mut signalled: BTreeMap<Key, String> = BTreeMap::new();
    let mut poll = POLL_SHORTEST;
    loop {
        let found = find(&Table::read());
        let step = patience.step(start.elapsed());
        if found.is_empty() || step == Step::GiveUp {
            return Swept {
                survivors: found.iter().map(Entry::command_line).collect(),
                ended: signalled
                    .into_iter()
                    .filter(|(key, _)| found.iter().all(|entry| entry.key != *key))
                    .map(|(_, name)| name)
                    .collect(),
            };
        }
        for entry in &found {
            press(entry, step, &mut signalled);
        }
        sleep(poll).await;
        poll = (poll * 2).min(POLL_LONGEST);
    }
}

fn press(entry: &Entry, step: Step, signalled: &mut BTreeMap<Key, String>) {
    let new = !signalled.contains_key(&entry.key);
    if step == Step::Leave || (step == Step::Terminate && !new) {
        return;
    }
    if new {
        signalled.insert(entry.key, entry.command_line());
    }
    if step == Step::Terminate {
        entry.signal(Signal::TERM);
        // A stopped process only heeds it once it goes on.
        entry.signal(Signal::CONT);
    } else {
        entry.signal(Signal::KILL);
    }
}

//! Sweeping with the process table.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::process::{
    Pid, Signal, WaitOptions, child_subreaper, getpgrp, kill_process_group, waitpid,
};
use tokio::time::{Instant, sleep};

use super::{Leader, Orphans, Patience, Step, Swept};
use crate::ATTEMPT_VARIABLE;
use crate::table::{Entry, Key, Table, own_children};

/// How soon it is looked again, at first.
const POLL_SHORTEST: Duration = Duration::from_millis(2);
/// How soon it is looked again, later.
const POLL_LONGEST: Duration = Duration::from_millis(50);

/// How many processes are remembered by name.
const MOST_NAMED: usize = 1000;

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
        if self.left_nothing() {
            return Swept::default();
        }
        end_all(|table| self.alive(table), patience).await
    }

    /// True where this process adopts whatever the attempt orphans, and has no child but helpers of
    /// its own. To read the whole process table takes much longer.
    fn left_nothing(&self) -> bool {
        let adopts_all = self.orphans == Orphans::All && self.leader_is_spared;
        if !adopts_all || !matches!(child_subreaper(), Ok(Some(_))) {
            return false;
        }
        let is_helper = |pid: &i32| *pid != self.leader && leaders(|all| all.contains(pid));
        own_children().is_some_and(|children| children.iter().all(is_helper))
    }

    /// The members that are alive; the dead ones that are ours to reap are reaped.
    fn alive(&mut self, table: &Table) -> Found {
        let members = self.members(table);
        self.family.extend(members.iter().map(|entry| entry.key));
        Found::of(members, table)
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

/// What one look at the process table found.
#[derive(Debug, Default)]
pub(in super::super) struct Found {
    /// What is alive.
    pub(in super::super) alive: Vec<Entry>,
    /// Something has ended since the look before. A process that starts another and ends, again and
    /// again, may be seen by nothing else.
    pub(in super::super) has_traces: bool,
    /// The groups of what is alive hold nothing else: they were made in sessions of the attempt.
    pub(in super::super) owns_groups: bool,
}

impl Found {
    /// Sorts the living from the dead, and reaps those that are children of this process.
    fn of(members: Vec<Entry>, table: &Table) -> Self {
        let own = table.own_pid();
        let (dead, alive): (Vec<_>, Vec<_>) = members.into_iter().partition(|entry| entry.is_dead);
        let mut has_traces = false;
        for entry in dead.iter().filter(|entry| entry.parent == own) {
            // Only this very process: its siblings may be waited for by others.
            if let Some(pid) = Pid::from_raw(entry.key.pid) {
                let reaped = waitpid(Some(pid), WaitOptions::NOHANG);
                has_traces |= reaped.is_ok_and(|it| it.is_some());
            }
        }
        Self {
            alive,
            has_traces,
            owns_groups: true,
        }
    }

    fn is_quiet(&self) -> bool {
        self.alive.is_empty() && !self.has_traces
    }
}

/// Ends all descendants of this process, which adopts what they orphan.
pub(in super::super) async fn end_descendants(patience: Patience) -> Swept {
    let find = |table: &Table| {
        let own = table.own_pid();
        Found::of(table.families(|entry| entry.parent == own), table)
    };
    end_all(find, patience).await
}

/// Ends all that `find` finds, again and again until it finds nothing or patience ends.
pub(in super::super) async fn end_all(
    mut find: impl FnMut(&Table) -> Found,
    patience: Patience,
) -> Swept {
    let start = Instant::now();
    let mut signalled: BTreeMap<Key, String> = BTreeMap::new();
    let mut poll = POLL_SHORTEST;
    loop {
        let found = find(&Table::read());
        let step = patience.step(start.elapsed());
        if found.is_quiet() || step == Step::GiveUp {
            return Swept {
                survivors: survivors(&found, &signalled),
                ended: signalled
                    .into_iter()
                    .filter(|(key, _)| found.alive.iter().all(|entry| entry.key != *key))
                    .map(|(_, name)| name)
                    .collect(),
            };
        }
        if step == Step::Kill && found.owns_groups {
            kill_groups(&found);
        }
        for entry in &found.alive {
            press(entry, step, &mut signalled);
        }
        if step == Step::Kill {
            // What starts another process and ends must be caught in between: no pause.
            tokio::task::yield_now().await;
            continue;
        }
        sleep(poll).await;
        poll = (poll * 2).min(POLL_LONGEST);
    }
}

/// What could not be ended, by process id and command line.
fn survivors(found: &Found, signalled: &BTreeMap<Key, String>) -> Vec<String> {
    if found.is_quiet() {
        return Vec::new();
    }
    if found.alive.is_empty() {
        let last = signalled.values().next_back();
        let last = last.map_or("a process", String::as_str);
        return vec![format!("{last} (it starts itself again and again)")];
    }
    let name = |entry: &Entry| format!("{} (process {})", entry.command_line(), entry.key.pid);
    found.alive.iter().map(name).collect()
}

fn press(entry: &Entry, step: Step, signalled: &mut BTreeMap<Key, String>) {
    let new = !signalled.contains_key(&entry.key);
    if step == Step::Leave || (step == Step::Terminate && !new) {
        return;
    }
    if new && signalled.len() < MOST_NAMED {
        signalled.insert(entry.key, entry.command_line());
    }
    if step == Step::Terminate {
        entry.signal(Signal::TERM);
        // A stopped process only reacts to it once it is continued.
        entry.signal(Signal::CONT);
        return;
    }
    entry.signal(Signal::KILL);
}

/// Kills the groups of processes that are alive. A signal to a group reaches a child that is just
/// being made, which one to each process does not.
fn kill_groups(found: &Found) {
    let own = getpgrp().as_raw_nonzero().get();
    let groups: BTreeSet<i32> = found.alive.iter().map(|entry| entry.group).collect();
    for group in groups
        .into_iter()
        .filter(|group| *group > 1 && *group != own)
    {
        if let Some(group) = Pid::from_raw(group) {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

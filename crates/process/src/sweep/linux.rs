//! Sweeping with the process table.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitOptions, getpgrp, kill_process_group, waitpid};
use tokio::time::{Instant, sleep};

use super::{Patience, Step, Swept};
use crate::ATTEMPT_VARIABLE;
use crate::table::{Entry, Key, Table, own_children};

/// How soon the process table is read again, at first.
const POLL_SHORTEST: Duration = Duration::from_millis(2);
/// How soon the process table is read again, later.
const POLL_LONGEST: Duration = Duration::from_millis(50);

/// How many processes are remembered by name.
const MOST_NAMED: usize = 1000;

/// What was found in the process table.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// What is alive.
    pub(crate) alive: Vec<Entry>,
    /// Something has ended since the table was read before. A process that starts another and ends, again and
    /// again, may be seen by nothing else.
    pub(crate) has_traces: bool,
    /// The groups of what is alive hold nothing else: they were made in sessions of the process.
    pub(crate) owns_groups: bool,
}

impl Found {
    /// Separates live processes from those that have ended, and waits for own children among these.
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

/// Whether this process has children, adopted ones too. Reading the whole process table takes much
/// longer.
pub(crate) fn has_descendants(_leader: Option<Pid>) -> bool {
    own_children().is_none_or(|children| !children.is_empty())
}

/// Ends all descendants of this process, which adopts what they orphan.
pub(crate) async fn end_descendants(_leader: Option<Pid>, patience: Patience) -> Swept {
    let find = |table: &Table| {
        let own = table.own_pid();
        Found::of(table.families(|entry| entry.parent == own), table)
    };
    end_all(find, patience).await
}

/// Ends what is left of a process whose supervisor was killed.
pub(crate) async fn end_marked(leader: Option<Pid>, marker: &str, patience: Patience) -> Swept {
    let mark = format!("{ATTEMPT_VARIABLE}={marker}").into_bytes();
    let session = leader.map(|leader| leader.as_raw_nonzero().get());
    let find = |table: &Table| {
        let is_left = |entry: &Entry| Some(entry.session) == session || entry.has_variable(&mark);
        Found::of(table.families(is_left), table)
    };
    end_all(find, patience).await
}

/// Ends all that `find` finds, again and again until it finds nothing or patience ends.
pub(crate) async fn end_all(mut find: impl FnMut(&Table) -> Found, patience: Patience) -> Swept {
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
            send_signal(entry, step, &mut signalled);
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

fn send_signal(entry: &Entry, step: Step, signalled: &mut BTreeMap<Key, String>) {
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

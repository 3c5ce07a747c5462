//! The process table, read from `/proc`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read as _;

use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, getpid, kill_process, pidfd_open, pidfd_send_signal,
};

/// More than the longest line about a process.
const LINE_CAP: usize = 2048;

/// How much of a command line is shown.
const COMMAND_CAP: usize = 120;

/// One process for all time (of one boot): process ids are reused, start times tell them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    /// The process id.
    pub(crate) pid: i32,
    /// When it started, in the kernel's ticks.
    pub(crate) started: u64,
}

/// One process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Which one.
    pub(crate) key: Key,
    /// Its parent.
    pub(crate) parent: i32,
    /// Its process group.
    pub(crate) group: i32,
    /// Its session.
    pub(crate) session: i32,
    /// It has ended and waits to be waited for.
    pub(crate) is_dead: bool,
    name: String,
}

impl Entry {
    /// Looks a process up.
    pub(crate) fn read(pid: i32) -> Option<Self> {
        // Read in one call: the kernel does not say its length before, and there are many.
        let mut line = [0; LINE_CAP];
        let mut file = fs::File::open(format!("/proc/{pid}/stat")).ok()?;
        let length = file.read(&mut line).ok()?;
        Self::parse(pid, &String::from_utf8_lossy(&line[..length]))
    }

    fn parse(pid: i32, stat: &str) -> Option<Self> {
        // The name is in parentheses and may hold any of them itself.
        let (front, fields) = stat.rsplit_once(')')?;
        let (_, name) = front.split_once('(')?;
        let fields: Vec<&str> = fields.split_whitespace().collect();
        let number = |index: usize| fields.get(index)?.parse::<i32>().ok();
        Some(Self {
            key: Key {
                pid,
                started: fields.get(19)?.parse().ok()?,
            },
            parent: number(1)?,
            group: number(2)?,
            session: number(3)?,
            is_dead: matches!(*fields.first()?, "Z" | "X"),
            name: name.to_owned(),
        })
    }

    /// True if its environment holds this `NAME=value`.
    pub(crate) fn has_variable(&self, variable: &[u8]) -> bool {
        let environ = fs::read(format!("/proc/{}/environ", self.key.pid)).unwrap_or_default();
        environ.split(|byte| *byte == 0).any(|it| it == variable)
    }

    /// The command line, or the name if there is none.
    pub(crate) fn command_line(&self) -> String {
        let raw = fs::read(format!("/proc/{}/cmdline", self.key.pid)).unwrap_or_default();
        let text = String::from_utf8_lossy(&raw).replace('\0', " ");
        match text.trim() {
            "" => self.name.clone(),
            command => command.chars().take(COMMAND_CAP).collect(),
        }
    }

    /// Sends a signal to this very process, not to a later one with its id.
    pub(crate) fn signal(&self, signal: Signal) {
        let Some(pid) = Pid::from_raw(self.key.pid) else {
            return;
        };
        let handle = pidfd_open(pid, PidfdFlags::empty());
        if Self::read(self.key.pid).map(|entry| entry.key) != Some(self.key) {
            return;
        }
        // Whether it worked shows when the table is read again.
        let _ = match handle {
            Ok(handle) => pidfd_send_signal(handle, signal),
            Err(Errno::NOSYS) => kill_process(pid, signal),
            Err(error) => Err(error),
        };
    }
}

/// The children of this process, including those that have ended and were not waited for; none where
/// the kernel does not list them. Complete, unless one is waited for meanwhile.
pub(crate) fn own_children() -> Option<Vec<i32>> {
    let mut children = Vec::new();
    for task in fs::read_dir("/proc/self/task").ok()? {
        let pids = match fs::read_to_string(task.ok()?.path().join("children")) {
            Ok(pids) => pids,
            // The thread has ended; another one has its children now.
            Err(error) if error.raw_os_error() == Some(Errno::SRCH.raw_os_error()) => continue,
            Err(_) => return None,
        };
        children.extend(
            pids.split_whitespace()
                .filter_map(|it| it.parse::<i32>().ok()),
        );
    }
    Some(children)
}

/// All processes at one time.
#[derive(Debug)]
pub(crate) struct Table {
    entries: BTreeMap<i32, Entry>,
    own: i32,
}

impl Table {
    /// Reads the table; what ends meanwhile is left out.
    pub(crate) fn read() -> Self {
        let folders = fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = folders.filter_map(|folder| folder.file_name().to_str()?.parse().ok());
        Self {
            entries: pids
                .filter_map(|pid| Some((pid, Entry::read(pid)?)))
                .collect(),
            own: getpid().as_raw_nonzero().get(),
        }
    }

    /// This program's process id.
    pub(crate) fn own_pid(&self) -> i32 {
        self.own
    }

    /// The processes that are meant, with all their descendants; never this program, those it
    /// descends from, or the first process.
    pub(crate) fn families(&self, is_meant: impl Fn(&Entry) -> bool) -> Vec<Entry> {
        let spared = self.ancestry();
        let mut chosen: BTreeSet<i32> = BTreeSet::new();
        let mut news: Vec<i32> = self
            .entries
            .values()
            .filter(|entry| !spared.contains(&entry.key.pid) && is_meant(entry))
            .map(|entry| entry.key.pid)
            .collect();
        while let Some(pid) = news.pop() {
            if chosen.insert(pid) {
                let children = self.entries.values().filter(|entry| entry.parent == pid);
                news.extend(children.map(|entry| entry.key.pid));
            }
        }
        let chosen = chosen.difference(&spared);
        chosen
            .filter_map(|pid| self.entries.get(pid).cloned())
            .collect()
    }

    fn ancestry(&self) -> BTreeSet<i32> {
        let mut ancestry = BTreeSet::from([0, 1]);
        let mut pid = self.own;
        while ancestry.insert(pid) {
            pid = self.entries.get(&pid).map_or(0, |entry| entry.parent);
        }
        ancestry
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_line_with_an_odd_name() {
        let stat = "7 (a) (b) x) S 3 4 5 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 12345 1 2";
        let want = Entry {
            key: Key {
                pid: 7,
                started: 12345,
            },
            parent: 3,
            group: 4,
            session: 5,
            is_dead: false,
            name: "a) (b) x".into(),
        };
        assert_eq!(Entry::parse(7, stat), Some(want));
        assert_eq!(Entry::parse(7, "7 (a"), None);
    }

    #[test]
    fn a_child_is_listed_until_it_is_waited_for() {
        let mut child = std::process::Command::new("cat")
            .stdin(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        // Where the kernel lists no children there is nothing to test.
        let is_listed = || own_children().is_none_or(|children| children.contains(&pid));
        assert!(is_listed());
        drop(child.stdin.take());
        while Entry::read(pid).is_some_and(|entry| !entry.is_dead) {
            std::thread::yield_now();
        }
        assert!(is_listed());
        child.wait().unwrap();
        assert!(own_children().is_none_or(|children| !children.contains(&pid)));
    }

    #[test]
    fn never_chooses_itself_or_its_ancestors() {
        let table = Table::read();
        let everything = table.families(|_| true);
        let own = Entry::read(table.own_pid()).unwrap();
        for spared in [own.key.pid, own.parent, 1] {
            assert!(everything.iter().all(|entry| entry.key.pid != spared));
        }
    }
}

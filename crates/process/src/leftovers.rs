//! Ends what a crashed run of this program left running, at the next start.

use std::time::Duration;

use rustix::process::Pid;
use serde::{Deserialize, Serialize};

use crate::sweep::Swept;
#[cfg(target_os = "linux")]
use crate::table::{Entry, Table};
use ralph_base::ids::RunId;
#[cfg(target_os = "linux")]
use ralph_base::os::boot;

/// What identifies a process to a later run of this program, across reboots.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProcessIdentity {
    /// The boot it belongs to.
    pub boot: String,
    /// Its process id.
    pub pid: i32,
    /// When it started, in the kernel's ticks since the boot.
    pub started: u64,
}

impl ProcessIdentity {
    /// Identifies a live process, where the system knows enough.
    #[cfg(target_os = "linux")]
    pub(crate) fn of(pid: Pid) -> Option<Self> {
        let entry = Entry::read(pid.as_raw_nonzero().get())?;
        Some(Self {
            boot: boot()?,
            pid: entry.key.pid,
            started: entry.key.started,
        })
    }

    /// Identifies a live process, where the system knows enough.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn of(_pid: Pid) -> Option<Self> {
        None
    }
}

/// Ends all processes of the given runs, found by their environment, and of the recorded
/// processes, with all their descendants; each has `grace` to react to a termination signal.
#[cfg(target_os = "linux")]
pub async fn end_leftovers(runs: &[RunId], recorded: &[ProcessIdentity], grace: Duration) -> Swept {
    use crate::sweep::{Found, Patience, end_all};
    let patience = Patience {
        terminate: grace,
        ..Patience::USUAL
    };
    let find = finder(runs, recorded);
    // They may be in a group of the user's terminal.
    let find = |table: &Table| Found {
        alive: find(table),
        ..Found::default()
    };
    end_all(find, patience).await
}

/// What is left running of the given runs, as command lines; ends nothing.
#[cfg(target_os = "linux")]
pub fn find_leftovers(runs: &[RunId], recorded: &[ProcessIdentity]) -> Vec<String> {
    let found = finder(runs, recorded)(&Table::read());
    found.iter().map(Entry::command_line).collect()
}

/// Finds live processes of the given runs and the recorded ones, with all their descendants.
#[cfg(target_os = "linux")]
fn finder(runs: &[RunId], recorded: &[ProcessIdentity]) -> impl Fn(&Table) -> Vec<Entry> {
    let boot = boot();
    let of_this_boot = |it: &&ProcessIdentity| Some(&it.boot) == boot.as_ref();
    let recorded: Vec<ProcessIdentity> = recorded.iter().filter(of_this_boot).cloned().collect();
    let marks: Vec<Vec<u8>> = runs
        .iter()
        .map(|run| format!("{}={run}", crate::RUN_VARIABLE).into_bytes())
        .collect();
    move |table| {
        let mut found = table.families(|entry| {
            let is_recorded = recorded
                .iter()
                .any(|it| it.pid == entry.key.pid && it.started == entry.key.started);
            is_recorded || marks.iter().any(|mark| entry.has_variable(mark))
        });
        // Those that have ended are for their parents to wait for.
        found.retain(|entry| !entry.is_dead);
        found
    }
}

/// Without a process table that tells start times apart, nothing can be ended safely.
#[cfg(not(target_os = "linux"))]
#[allow(clippy::unused_async, reason = "the same signature on every system")]
pub async fn end_leftovers(
    _runs: &[RunId],
    _recorded: &[ProcessIdentity],
    _grace: Duration,
) -> Swept {
    Swept::default()
}

/// Without a process table nothing is known.
#[cfg(not(target_os = "linux"))]
pub fn find_leftovers(_runs: &[RunId], _recorded: &[ProcessIdentity]) -> Vec<String> {
    Vec::new()
}

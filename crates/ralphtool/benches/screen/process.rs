//! What the system reports about a process; only on Linux.

use std::fs;
use std::time::Duration;

use rustix::process::Pid;

use crate::Result;

/// Ticks of the processor's clock a second: the same on every Linux.
const TICKS: u64 = 100;

/// The most memory it ever had, in kilobytes.
pub(crate) fn peak_memory(pid: Pid) -> Result<u64> {
    let text = fs::read_to_string(format!("/proc/{}/status", pid.as_raw_nonzero()))?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let word = line.and_then(|line| line.split_whitespace().next());
    Ok(word.ok_or("no peak memory in /proc")?.parse()?)
}

/// The time processors worked for it, without its children.
pub(crate) fn processor(pid: Pid) -> Result<Duration> {
    let text = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()))?;
    // The name of the program is in brackets and may have anything in it.
    let (_, after) = text.rsplit_once(')').ok_or("no name in /proc")?;
    let ticks = after.split_whitespace().skip(11).take(2);
    let sum: u64 = ticks.map(str::parse::<u64>).sum::<Result<u64, _>>()?;
    Ok(Duration::from_millis(sum * 1000 / TICKS))
}

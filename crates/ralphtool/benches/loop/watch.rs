//! Runs a command and samples its memory, and that of all processes it started.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};

use crate::{Result, interrupt};

/// How often memory is looked at.
const LOOK: Duration = Duration::from_millis(5);

/// The most memory there was, in kilobytes; zero where the system does not tell.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Memory {
    /// Of the process itself.
    pub(crate) alone: u64,
    /// Of it and all it started at one moment: the sum of what each has resident.
    pub(crate) tree: u64,
}

impl Memory {
    /// The higher of each.
    pub(crate) fn max(self, other: Self) -> Self {
        Self {
            alone: self.alone.max(other.alone),
            tree: self.tree.max(other.tree),
        }
    }
}

/// Runs a command to its end, or to that of the benchmark.
pub(crate) fn run(command: &mut Command) -> Result<(ExitStatus, Memory)> {
    // In a group of its own, it can be ended with all it started.
    let mut child = command.process_group(0).spawn()?;
    let process = child.id();
    let group = i32::try_from(process).ok().and_then(Pid::from_raw);
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let looking = scope.spawn(|| {
            let mut peak = Memory::default();
            while !over.load(Ordering::Relaxed) {
                peak = peak.max(look(process));
                if let Some(group) = group.filter(|_| interrupt::is_asked()) {
                    let _ = kill_process_group(group, Signal::TERM);
                }
                std::thread::sleep(LOOK);
            }
            peak
        });
        let status = child.wait();
        over.store(true, Ordering::Relaxed);
        let peak = looking.join().unwrap_or_default();
        interrupt::check()?;
        Ok((status?, peak))
    })
}

fn look(process: u32) -> Memory {
    let program = program(process);
    let mut tree = resident(process, "VmRSS:");
    let mut open = children(process);
    while let Some(child) = open.pop() {
        // One that is about to become another program still shares all memory with its parent.
        if self::program(child) != program {
            tree += resident(child, "VmRSS:");
        }
        open.extend(children(child));
    }
    Memory {
        // The system keeps the highest value itself: looking now and then misses next to nothing.
        alone: resident(process, "VmHWM:"),
        tree,
    }
}

fn program(process: u32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{process}/exe")).ok()
}

fn resident(process: u32, field: &str) -> u64 {
    let text = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(field));
    let word = line.and_then(|line| line.split_whitespace().next());
    word.and_then(|word| word.parse().ok()).unwrap_or(0)
}

fn children(process: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{process}/task"));
    let mut found = Vec::new();
    for thread in threads.into_iter().flatten().flatten() {
        let text = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
        found.extend(
            text.split_whitespace()
                .filter_map(|word| word.parse::<u32>().ok()),
        );
    }
    found
}

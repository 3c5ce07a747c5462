//! For the kill tests: a debug build of this program can be made to end itself with
//! SIGKILL at the n-th point where the state on disk changes. A release build has no such points.
//!
//! `RALPHTOOL_KILL_AT=N` names the point, `RALPHTOOL_KILL_LOG=FILE` lists the points passed. With
//! `RALPHTOOL_KILL_ALL=1` everything it started dies with it: git, the watchdog, agents and gates.

/// Where a point is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Point {
    /// A line is about to be written to the journal.
    JournalLine,
    /// Half of the line is written.
    TornLine,
    /// The line is written and durable.
    JournalSynced,
    /// A git process was just started.
    GitStarted,
    /// A git process has ended.
    GitEnded,
    /// A branch and HEAD were locked.
    Locked,
    /// A file is about to be renamed.
    Rename,
    /// A file was renamed.
    Renamed,
    /// A file system is about to be made durable.
    Sync,
}

/// Passes a point.
pub fn reached(point: Point) {
    reached_after(point, || ());
}

/// Passes a point that is special: `first` is done just before the end, and only then.
#[cfg(debug_assertions)]
pub fn reached_after(point: Point, first: impl FnOnce()) {
    armed::reached(point, first);
}

/// Passes a point that is special; without the seam there is nothing to do.
#[cfg(not(debug_assertions))]
pub fn reached_after(_point: Point, _first: impl FnOnce()) {}

#[cfg(debug_assertions)]
mod armed {
    use std::io::Write as _;
    use std::path::PathBuf;
    use std::sync::LazyLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    use rustix::process::{Pid, Signal};

    use super::Point;

    static KILL_AT: LazyLock<Option<u64>> = LazyLock::new(|| {
        let value = std::env::var("RALPHTOOL_KILL_AT").ok()?;
        value.parse().ok()
    });
    static LOG: LazyLock<Option<PathBuf>> =
        LazyLock::new(|| std::env::var_os("RALPHTOOL_KILL_LOG").map(PathBuf::from));
    static PASSED: AtomicU64 = AtomicU64::new(0);

    fn kill(pid: Pid) {
        let _ = rustix::process::kill_process(pid, Signal::KILL);
    }

    /// Kills all descendants; this process starts no more of them meanwhile, because it is here.
    fn kill_descendants() {
        let mut pids = children(std::process::id());
        while let Some(pid) = pids.pop() {
            // Read before they lose their parent.
            pids.extend(children(pid));
            if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
                kill(pid);
            }
        }
    }

    fn children(pid: u32) -> Vec<u32> {
        let threads = std::fs::read_dir(format!("/proc/{pid}/task"));
        let threads = threads.into_iter().flatten().filter_map(Result::ok);
        let listed = threads.filter_map(|thread| {
            let text = std::fs::read_to_string(thread.path().join("children")).ok()?;
            let pids = text.split_whitespace().filter_map(|it| it.parse().ok());
            Some(pids.collect::<Vec<u32>>())
        });
        listed.flatten().collect()
    }

    pub(super) fn reached(point: Point, first: impl FnOnce()) {
        let number = PASSED.fetch_add(1, Ordering::SeqCst) + 1;
        if let Some(path) = &*LOG {
            note(path, number, point);
        }
        if *KILL_AT == Some(number) {
            first();
            if std::env::var_os("RALPHTOOL_KILL_ALL").is_some() {
                kill_descendants();
            }
            kill(rustix::process::getpid());
            // The signal may take a moment to arrive at this thread.
            loop {
                std::thread::park();
            }
        }
    }

    fn note(path: &std::path::Path, number: u64, point: Point) {
        let file = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(path);
        if let Ok(mut file) = file {
            let _ = writeln!(file, "{number} {point:?}");
        }
    }
}

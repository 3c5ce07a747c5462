//! The seam of the kill tests: in a debug build this program can be told to end itself with
//! SIGKILL at the n-th point where the state on disk changes. A release build has no such points.
//!
//! `RALPHTOOL_KILL_AT=N` names the point, `RALPHTOOL_KILL_LOG=FILE` lists the points passed.

/// Where a point is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Point {
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
pub(crate) fn reached(point: Point) {
    reached_after(point, || ());
}

/// Passes a point that is special: `first` is done just before the end, and only then.
#[cfg(debug_assertions)]
pub(crate) fn reached_after(point: Point, first: impl FnOnce()) {
    armed::reached(point, first);
}

/// Passes a point that is special; without the seam there is nothing to do.
#[cfg(not(debug_assertions))]
pub(crate) fn reached_after(_point: Point, _first: impl FnOnce()) {}

#[cfg(debug_assertions)]
mod armed {
    use std::io::Write as _;
    use std::path::PathBuf;
    use std::sync::LazyLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::Point;

    static KILL_AT: LazyLock<Option<u64>> = LazyLock::new(|| {
        let value = std::env::var("RALPHTOOL_KILL_AT").ok()?;
        value.parse().ok()
    });
    static LOG: LazyLock<Option<PathBuf>> =
        LazyLock::new(|| std::env::var_os("RALPHTOOL_KILL_LOG").map(PathBuf::from));
    static PASSED: AtomicU64 = AtomicU64::new(0);

    pub(super) fn reached(point: Point, first: impl FnOnce()) {
        let number = PASSED.fetch_add(1, Ordering::SeqCst) + 1;
        if let Some(path) = &*LOG {
            note(path, number, point);
        }
        if *KILL_AT == Some(number) {
            first();
            let _ = rustix::process::kill_process(
                rustix::process::getpid(),
                rustix::process::Signal::KILL,
            );
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

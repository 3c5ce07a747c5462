//! The fields of a file that tell whether it changed, and the clocks behind them.

use std::fs;
use std::fs::{Metadata, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

/// The fields of a path that change when it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    /// Permission bits only.
    pub mode: u32,
    pub size: u64,
    pub modified_ns: i64,
    pub changed_ns: i64,
    pub inode: u64,
}

/// The stat fields that tell whether a path changed.
pub(crate) fn stat(metadata: &fs::Metadata) -> Stat {
    Stat {
        mode: metadata.mode() & 0o7777,
        size: metadata.size(),
        modified_ns: modified_ns(metadata),
        changed_ns: changed_ns(metadata),
        inode: metadata.ino(),
    }
}

pub(crate) fn modified_ns(metadata: &Metadata) -> i64 {
    nanoseconds(metadata.mtime(), metadata.mtime_nsec())
}

pub(crate) fn changed_ns(metadata: &Metadata) -> i64 {
    nanoseconds(metadata.ctime(), metadata.ctime_nsec())
}

/// How long after this time of a file a change may leave the time as it is: the clock of file
/// systems ticks, and some keep whole seconds only.
pub(crate) fn clock_slack_ns(time_ns: i64) -> i64 {
    let is_whole_second = time_ns % 1_000_000_000 == 0;
    if is_whole_second {
        2_000_000_000
    } else {
        100_000_000
    }
}

pub(crate) fn nanoseconds(seconds: i64, nanos: i64) -> i64 {
    seconds.saturating_mul(1_000_000_000).saturating_add(nanos)
}

pub(crate) fn now_ns() -> i64 {
    i64::try_from(jiff::Timestamp::now().as_nanosecond()).unwrap_or(i64::MAX)
}

/// Opens an object that its owner may not read.
pub(crate) fn make_readable(path: &Path, metadata: &Metadata) {
    let mode = metadata.mode() & 0o7777;
    if mode & 0o400 == 0 {
        let _ = fs::set_permissions(path, Permissions::from_mode(mode | 0o400));
    }
}

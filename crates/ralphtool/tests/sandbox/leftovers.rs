//! Folders of long tests: they name their process, so that those of a killed one can be removed.

use std::fs;
use std::path::Path;
use std::sync::Once;

use rustix::process::{Pid, test_kill_process};

use super::memory_folder;

/// How the folders of all long tests begin; the number of the process follows.
const PREFIX: &str = "ralphtool-kills.";

/// What is in a folder that stays for people to look at.
const KEPT: &str = "kept-for-people";

/// A new folder in memory. The first one of a process removes those of processes that were killed.
pub(crate) fn named_folder() -> tempfile::TempDir {
    static CLEANED: Once = Once::new();
    let shared = memory_folder();
    CLEANED.call_once(|| remove_leftovers(&shared));
    let prefix = format!("{PREFIX}{}.", std::process::id());
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix).tempdir_in(shared).unwrap()
}

/// Leaves a folder where it is.
pub(super) fn keep(folder: &Path) {
    let _ = fs::write(folder.join(KEPT), "");
}

fn remove_leftovers(shared: &Path) {
    for entry in fs::read_dir(shared).unwrap().flatten() {
        let name = entry.file_name();
        let process = name
            .to_str()
            .and_then(|name| name.strip_prefix(PREFIX)?.split('.').next()?.parse().ok())
            .and_then(Pid::from_raw);
        let is_dead = process.is_some_and(|pid| test_kill_process(pid).is_err());
        if is_dead && !entry.path().join(KEPT).exists() {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

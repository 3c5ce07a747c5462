//! Processes by their id, from `/proc`.

use std::fs;
use std::path::Path;

/// Fields of `/proc/PID/stat` from the state on.
fn stat(pid: i32) -> Option<Vec<String>> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = text.rsplit_once(')')?;
    Some(fields.split_whitespace().map(str::to_owned).collect())
}

/// Whether a process exists and is not a zombie.
pub(crate) fn is_alive(pid: i32) -> bool {
    stat(pid).is_some_and(|fields| !matches!(fields[0].as_str(), "Z" | "X"))
}

/// The session of a process.
pub(crate) fn session(pid: i32) -> Option<i32> {
    stat(pid)?[3].parse().ok()
}

/// The live children of a process whose command line has a word.
pub(crate) fn children(parent: i32, word: &str) -> Vec<i32> {
    let pids = fs::read_dir(Path::new("/proc")).unwrap().flatten();
    pids.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid| is_alive(*pid) && is_child(*pid, parent) && has_word(*pid, word))
        .collect()
}

/// All live processes whose command line has a word.
pub(crate) fn with_word(word: &str) -> Vec<i32> {
    let pids = fs::read_dir(Path::new("/proc")).unwrap().flatten();
    pids.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid| is_alive(*pid) && has_word(*pid, word))
        .collect()
}

/// How many children of a process have ended and were not waited for.
pub(crate) fn zombies(parent: i32) -> usize {
    let pids = fs::read_dir(Path::new("/proc")).unwrap().flatten();
    pids.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid| !is_alive(*pid) && is_child(*pid, parent))
        .count()
}

fn is_child(pid: i32, parent: i32) -> bool {
    stat(pid).is_some_and(|fields| fields[1] == parent.to_string())
}

fn has_word(pid: i32, word: &str) -> bool {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    line.split(|byte| *byte == 0)
        .any(|it| it == word.as_bytes())
}

/// The live descendants of a process.
pub(crate) fn descendants(pid: i32) -> Vec<i32> {
    let mut found = listed_children(pid);
    let mut next = 0;
    while let Some(pid) = found.get(next).copied() {
        found.extend(listed_children(pid));
        next += 1;
    }
    found.retain(|pid| is_alive(*pid));
    found
}

fn listed_children(pid: i32) -> Vec<i32> {
    let threads = fs::read_dir(format!("/proc/{pid}/task"));
    let threads = threads.into_iter().flatten().flatten();
    let listed = threads.flat_map(|thread| {
        let text = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
        let pids = text.split_whitespace().filter_map(|it| it.parse().ok());
        pids.collect::<Vec<i32>>()
    });
    listed.collect()
}

//! Where the figures come from: the program, the machine and how busy it is.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::Result;
use crate::command::answer;

/// What figures of another day or place must be compared with care for.
pub(crate) fn described(folder: &Path) -> Result<String> {
    let system = rustix::system::uname();
    let cores = std::thread::available_parallelism()?;
    let mut text = String::new();
    writeln!(text, "ralphtool:   {}", commit())?;
    writeln!(text, "machine:     {cores} cores, {}", processor())?;
    writeln!(
        text,
        "system:      {} {}",
        system.sysname().to_string_lossy(),
        system.release().to_string_lossy()
    )?;
    let git = answer(Command::new("git").arg("--version"))?;
    writeln!(
        text,
        "git:         {}",
        git.trim().trim_start_matches("git version ")
    )?;
    writeln!(
        text,
        "file system: {}",
        file_system(&fs::canonicalize(folder)?)
    )?;
    writeln!(text, "{}\n", load())?;
    Ok(text)
}

/// How busy the machine is.
pub(crate) fn load() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let words: Vec<&str> = text.split(' ').take(3).collect();
    format!("load:        {}", or_unknown(&words.join(", ")))
}

/// The commit, where this is built from a repository.
fn commit() -> String {
    let mut git = Command::new("git");
    git.current_dir(env!("CARGO_MANIFEST_DIR"));
    git.args(["describe", "--always", "--dirty", "--exclude=*"]);
    let commit = answer(&mut git).unwrap_or_default();
    format!(
        "{} at {}",
        env!("CARGO_PKG_VERSION"),
        or_unknown(commit.trim())
    )
}

fn processor() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("model name"));
    let name = line.and_then(|line| line.split_once(": "));
    or_unknown(name.map_or("", |(_, name)| name)).to_owned()
}

/// The file system of a folder: the last of those that are mounted nearest above it.
fn file_system(folder: &Path) -> String {
    let text = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let mounts = text.lines().filter_map(|line| {
        let mut words = line.split(' ').skip(1);
        Some((words.next()?, words.next()?))
    });
    let above = mounts.filter(|(place, _)| folder.starts_with(place));
    let nearest = above.max_by_key(|(place, _)| place.len());
    or_unknown(nearest.map_or("", |(_, kind)| kind)).to_owned()
}

fn or_unknown(text: &str) -> &str {
    if text.is_empty() { "unknown" } else { text }
}

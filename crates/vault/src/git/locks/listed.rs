//! Processes as `ps` and `lsof` list them, where there is no `/proc`.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::Process;

/// All processes. Where they cannot be listed, one that may hold everything: a lock is then never
/// treated as stale.
pub(super) fn processes(lock: &Path) -> Vec<Process> {
    let Some(listing) = answer(Command::new("ps").args(["-axww", "-o", "pid=,uid=,args="])) else {
        return vec![unknown(lock)];
    };
    let mut found: Vec<Process> = listing
        .split(|byte| *byte == b'\n')
        .filter_map(parse)
        .collect();
    for process in found.iter_mut().filter(|it| it.subcommand().is_some()) {
        process.places = cwd(process.pid).map(|it| vec![it]);
    }
    let Some(open) = said_by(Command::new("lsof").arg("-t").arg("--").arg(lock)) else {
        return vec![unknown(lock)];
    };
    for pid in String::from_utf8_lossy(&open).lines() {
        let pid: Option<u32> = pid.trim().parse().ok();
        let holder = found.iter_mut().find(|it| Some(it.pid) == pid);
        if let Some(holder) = holder {
            holder.places.get_or_insert_default().push(lock.to_owned());
        }
    }
    found
}

fn unknown(lock: &Path) -> Process {
    Process {
        argv: vec![b"an unknown process".to_vec()],
        places: Some(vec![lock.to_owned()]),
        ..Process::default()
    }
}

/// `pid uid words`
fn parse(line: &[u8]) -> Option<Process> {
    let mut words = line
        .split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty());
    let mut number = || std::str::from_utf8(words.next()?).ok()?.parse().ok();
    let (pid, uid) = (number()?, number()?);
    Some(Process {
        pid,
        uid,
        argv: words.map(<[u8]>::to_vec).collect(),
        places: Some(Vec::new()),
    })
}

/// Where a process works; none where that cannot be said.
fn cwd(pid: u32) -> Option<PathBuf> {
    let pid = pid.to_string();
    let listing = answer(Command::new("lsof").args(["-a", "-d", "cwd", "-Fn", "-p", &pid]))?;
    let mut lines = listing.split(|byte| *byte == b'\n');
    let path = lines.find_map(|line| line.strip_prefix(b"n"))?;
    Some(PathBuf::from(OsStr::from_bytes(path)))
}

/// What a program says; none where it says nothing.
fn answer(command: &mut Command) -> Option<Vec<u8>> {
    said_by(command).filter(|text| !text.is_empty())
}

/// The same; none only where it cannot be started.
fn said_by(command: &mut Command) -> Option<Vec<u8>> {
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    Some(output.stdout)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn a_line_of_ps_names_a_process() {
        let process = parse(b"  17   501 /usr/bin/git gc --auto").unwrap();
        assert_eq!((process.pid, process.uid), (17, 501));
        assert!(process.is_writing_git());
        assert!(parse(b"").is_none());
    }
}

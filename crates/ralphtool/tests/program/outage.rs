//! What a machine that stopped without warning leaves when no run was open: files that exist but
//! lost their bytes. These tests empty the files by hand; `tests/power_cut.rs` cuts a whole disk.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use pretty_assertions::assert_eq;
use serde_json::Value;

use crate::sandbox::{Sandbox, everything, listing, mode};

/// Every file that a run writes while it begins, by inode: objects of the user are linked into the
/// vault. The journal is not among them: every line of it is synced.
fn written(sandbox: &Sandbox) -> BTreeMap<u64, PathBuf> {
    let mut found = BTreeMap::new();
    for top in ["repo/.git", "state"] {
        let top = sandbox.root.join(top);
        if !top.exists() {
            continue;
        }
        for path in listing(&top).into_keys().map(|path| top.join(path)) {
            if path.is_file() && !path.ends_with("journal") {
                found.insert(fs::metadata(&path).unwrap().ino(), path);
            }
        }
    }
    found
}

/// Zeroes the bytes of what was written since, and keeps its size.
fn lose_bytes(sandbox: &Sandbox, before: &BTreeMap<u64, PathBuf>) -> usize {
    let mut now = written(sandbox);
    now.retain(|inode, _| !before.contains_key(inode));
    for path in now.values() {
        // A git that was just dying may have removed a temporary file.
        let Ok(size) = fs::metadata(path).map(|metadata| metadata.len()) else {
            continue;
        };
        fs::set_permissions(path, mode(0o600)).unwrap();
        fs::write(path, vec![0; usize::try_from(size).unwrap()]).unwrap();
    }
    now.len()
}

/// The journal, where there is one.
fn journal(sandbox: &Sandbox) -> Option<PathBuf> {
    let mut vaults = fs::read_dir(sandbox.root.join("state/ralphtool")).ok()?;
    let path = vaults.next()?.unwrap().path().join("journal");
    path.exists().then_some(path)
}

fn length(sandbox: &Sandbox) -> u64 {
    journal(sandbox).map_or(0, |path| fs::metadata(path).unwrap().len())
}

/// Changes the journal as if it had been written before the machine was started.
fn restart_machine(sandbox: &Sandbox) {
    let Some(path) = journal(sandbox) else {
        return;
    };
    let mut earlier = String::new();
    for line in fs::read_to_string(&path).unwrap().lines() {
        let mut value: Value = serde_json::from_str(&line[9..]).unwrap();
        value["uptime"] = "an earlier one".into();
        let json = value.to_string();
        let _ = writeln!(earlier, "{:08x} {json}", crc32fast::hash(json.as_bytes()));
    }
    let modified = fs::metadata(&path).unwrap().modified().unwrap();
    fs::write(&path, earlier).unwrap();
    let file = fs::File::options().write(true).open(&path).unwrap();
    file.set_modified(modified).unwrap();
}

/// Starts runs that an outage ends while they begin, each a little later, until one writes to the
/// journal; what each had written loses its bytes.
fn cut_off_while_it_begins(sandbox: &Sandbox) -> usize {
    restart_machine(sandbox);
    let mut lost = 0;
    for point in (1..).step_by(4) {
        let (before, length_before) = (written(sandbox), length(sandbox));
        let mut command = sandbox.command(env!("CARGO_BIN_EXE_ralphtool"));
        command.args(["loop", "c", "--on-finish", "keep"]);
        command.env("RALPHTOOL_KILL_AT", point.to_string());
        // An outage ends git too, which would otherwise continue to write.
        command.env("RALPHTOOL_KILL_ALL", "1");
        sandbox.start_command(command).end().ends_with(137);
        if length(sandbox) > length_before {
            break;
        }
        lost += lose_bytes(sandbox, &before);
    }
    lost
}

/// Everything the user could notice, except ralphtool's one file.
fn users_state(sandbox: &Sandbox) -> String {
    let all = everything(&sandbox.repo);
    let is_users = |line: &&str| !line.starts_with(".git/ralphtool.id");
    all.lines().filter(is_users).collect::<Vec<_>>().join("\n")
}

fn assert_abandon_is_exact(sandbox: &Sandbox, before: &str) {
    let run = |line: &str| sandbox.run(&line.split(' ').collect::<Vec<_>>());
    run("loop c --on-finish keep").ends_with(0);
    sandbox.git("fsck --full --no-dangling");
    run("finish --abandon").ends_with(0);
    assert_eq!(users_state(sandbox), before);
    sandbox.git("fsck --full --no-dangling");
}

#[test]
fn a_power_cut_while_a_first_run_begins_loses_nothing() {
    let sandbox = Sandbox::new();
    sandbox.make_dirty();
    let before = users_state(&sandbox);
    assert!(cut_off_while_it_begins(&sandbox) > 5);
    assert_abandon_is_exact(&sandbox, &before);
}

#[test]
fn a_power_cut_while_a_later_run_begins_loses_nothing() {
    let sandbox = Sandbox::new();
    sandbox
        .run(&["loop", "c", "--on-finish", "cleanup"])
        .ends_with(0);
    sandbox.git("reset -q --hard");
    sandbox.git("clean -qfd");
    sandbox.make_dirty();
    let before = users_state(&sandbox);
    assert!(cut_off_while_it_begins(&sandbox) > 5);
    assert_abandon_is_exact(&sandbox, &before);
}

#[test]
fn a_rewind_rewrites_an_index_that_lost_its_bytes() {
    let sandbox = Sandbox::new();
    sandbox
        .run(&["loop", "c", "--on-finish", "keep"])
        .ends_with(0);
    let indexes = || -> Vec<PathBuf> {
        let snapshots = sandbox.vault().join("snapshots");
        let folders = fs::read_dir(snapshots).unwrap();
        let all = folders.map(|folder| folder.unwrap().path().join("index"));
        all.filter(|index| index.exists()).collect()
    };
    let before = indexes();
    sandbox.run(&["rewind", "2"]).ends_with(0);
    let wanted = everything(&sandbox.repo);
    sandbox.run(&["undo"]).ends_with(0);
    for index in indexes().iter().filter(|index| !before.contains(index)) {
        fs::write(index, "").unwrap();
    }
    sandbox.run(&["rewind", "2"]).ends_with(0);
    assert_eq!(everything(&sandbox.repo), wanted);
}

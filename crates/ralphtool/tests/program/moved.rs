//! A repository that is moved keeps its runs; a copy of it has none of them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::sandbox::{GOOD, Sandbox, TASKS, files, there, until};
use pretty_assertions::assert_eq;
use rustix::process::Signal;

/// Moves the repository to another place beside it.
fn moved(mut sandbox: Sandbox, name: &str) -> Sandbox {
    let place = sandbox.root.join(name);
    fs::rename(&sandbox.repo, &place).unwrap();
    sandbox.repo = place;
    sandbox
}

fn vaults(sandbox: &Sandbox) -> Vec<PathBuf> {
    let listing = fs::read_dir(sandbox.root.join("state/ralphtool")).unwrap();
    let mut found: Vec<PathBuf> = listing.map(|entry| entry.unwrap().path()).collect();
    found.sort();
    found
}

/// A copy of the repository, as `cp -a` makes it.
fn copied(sandbox: &Sandbox, name: &str) -> PathBuf {
    let place = sandbox.root.join(name);
    let output = sandbox
        .command("cp")
        .arg("-a")
        .args([&sandbox.repo, &place])
        .output();
    assert!(output.unwrap().status.success());
    place
}

/// Runs the program in another folder.
#[track_caller]
fn run_in(sandbox: &Sandbox, folder: &Path, args: &[&str], code: i32) -> String {
    let mut command = sandbox.command(env!("CARGO_BIN_EXE_ralphtool"));
    command.args(args).current_dir(folder);
    let output = sandbox.start_command(command).end().ends_with(code);
    output.stdout + &output.stderr
}

/// The change is done.
#[track_caller]
fn done(sandbox: &Sandbox) {
    assert_eq!(sandbox.tasks_now(), TASKS.replace("[ ]", "[x]"));
    assert_eq!(
        sandbox.commits(),
        ["initial state", "checkpoint: 1", "checkpoint: 2"]
    );
}

#[test]
fn a_run_that_was_killed_is_resumed_where_its_repository_was_moved_to() {
    let sandbox = Sandbox::new();
    sandbox.write("mine.txt", "mine\n");
    let before = files(&sandbox.repo);
    sandbox.agent("echo junk > junk.txt; touch $root/here; sleep 300");
    let running = sandbox.start(&["loop", "c"]);
    until("the agent", || there(&sandbox.root.join("here")));
    running.signal(Signal::KILL);
    running.end().ends_with(137);

    let sandbox = moved(sandbox, "elsewhere");
    let status = sandbox.run(&["status"]).ends_with(0);
    assert!(status.stdout.contains("`c`"), "{}", status.stdout);
    sandbox.agent(GOOD);
    let resumed = sandbox.run(&["resume"]).ends_with(0);
    let was = format!(
        "this repository was at `{}`",
        sandbox.root.join("repo").display()
    );
    assert!(resumed.stdout.contains(&was), "{}", resumed.stdout);
    assert!(!sandbox.exists("junk.txt"));
    done(&sandbox);
    assert_eq!(vaults(&sandbox).len(), 1);

    // A second move, and an abandon of the run.
    let sandbox = moved(sandbox, "again");
    sandbox.run(&["finish", "--abandon"]).ends_with(0);
    assert_eq!(files(&sandbox.repo), before);
    assert_eq!(vaults(&sandbox).len(), 1);
}

#[test]
fn a_copy_has_a_vault_of_its_own() {
    let sandbox = Sandbox::new();
    sandbox.run(&["loop", "c"]).ends_with(0);
    let copy = copied(&sandbox, "copy");
    let status = run_in(&sandbox, &copy, &["status"], 0);
    assert!(status.contains("no run took place"), "{status}");
    fs::write(copy.join("openspec/changes/c/tasks.md"), TASKS).unwrap();
    run_in(&sandbox, &copy, &["loop", "c"], 0);
    assert_eq!(vaults(&sandbox).len(), 2);
    // The first one still has its run.
    sandbox.run(&["finish", "--cleanup"]).ends_with(0);
    assert_eq!(sandbox.branch(), "main");
    assert_eq!(sandbox.read("story-2.txt"), "work\n");
}

#[test]
fn a_copy_does_not_take_over_the_vault_when_the_original_is_moved() {
    let sandbox = Sandbox::new();
    sandbox.run(&["loop", "c"]).ends_with(0);
    let copy = copied(&sandbox, "copy");
    let sandbox = moved(sandbox, "elsewhere");
    let status = run_in(&sandbox, &copy, &["status"], 0);
    assert!(status.contains("no run took place"), "{status}");
    sandbox.run(&["finish", "--cleanup"]).ends_with(0);
    assert_eq!(sandbox.branch(), "main");
}

#[test]
fn another_repository_in_the_old_place_has_a_vault_of_its_own() {
    let sandbox = Sandbox::new();
    let old = sandbox.repo.clone();
    sandbox.agent("touch $root/here; sleep 300");
    let running = sandbox.start(&["loop", "c"]);
    until("the agent", || there(&sandbox.root.join("here")));
    running.signal(Signal::KILL);
    running.end().ends_with(137);
    let sandbox = moved(sandbox, "elsewhere");
    sandbox.agent(GOOD);
    sandbox.run(&["resume"]).ends_with(0);

    // One without any run, in the place of the first.
    let output = sandbox
        .command("git")
        .args(["clone", "-q", "--branch", "main"])
        .args([&sandbox.repo, &old])
        .output();
    assert!(output.unwrap().status.success());
    let status = run_in(&sandbox, &old, &["status"], 0);
    assert!(status.contains("no run took place"), "{status}");
    run_in(&sandbox, &old, &["loop", "c"], 0);
    assert_eq!(vaults(&sandbox).len(), 2);
    run_in(&sandbox, &old, &["finish", "--cleanup"], 0);
    sandbox.run(&["finish", "--cleanup"]).ends_with(0);
    assert_eq!(sandbox.branch(), "main");
}

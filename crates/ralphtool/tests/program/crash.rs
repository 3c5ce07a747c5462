//! What a kill leaves behind, and what the next start does with it.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use crate::sandbox::{GOOD, Sandbox, listing};
use pretty_assertions::assert_eq;

/// Puts the lock files into the vault that a killed git process of ralphtool leaves.
fn leave_locks_in_vault(sandbox: &Sandbox) {
    let vault = sandbox.vault();
    let run = sandbox.runs().pop().unwrap();
    let run = run.file_name().unwrap().to_str().unwrap();
    let archive = vault.join("store/refs/archive").join(run);
    fs::create_dir_all(&archive).unwrap();
    for lock in [
        archive.join("end.lock"),
        vault.join("store/packed-refs.lock"),
        vault.join("store/HEAD.lock"),
        vault.join("rewind-index.lock"),
    ] {
        fs::write(lock, "").unwrap();
    }
}

#[test]
fn finish_and_rewind_succeed_with_stale_locks_in_the_vault() {
    let sandbox = Sandbox::new();
    sandbox
        .run(&["loop", "c", "--on-finish", "keep"])
        .ends_with(0);
    leave_locks_in_vault(&sandbox);
    sandbox.run(&["rewind", "2"]).ends_with(0);
    leave_locks_in_vault(&sandbox);
    sandbox.run(&["resume", "--on-finish", "keep"]).ends_with(0);
    leave_locks_in_vault(&sandbox);
    sandbox.run(&["finish", "--cleanup"]).ends_with(0);
    leave_locks_in_vault(&sandbox);
    sandbox.run(&["undo"]).ends_with(0);
    leave_locks_in_vault(&sandbox);
    sandbox.run(&["finish", "--abandon"]).ends_with(0);
    let left = listing(&sandbox.vault()).into_keys();
    let is_lock = |path: &String| Path::new(path).extension().is_some_and(|it| it == "lock");
    let left = left.filter(|path| is_lock(path) && !path.starts_with("trash/"));
    assert_eq!(left.collect::<Vec<_>>(), Vec::<String>::new());
}

/// A process can be killed while it writes its token, before the journal names a run.
#[test]
fn a_file_half_written_into_the_git_directory_goes_although_no_run_is_open() {
    let sandbox = Sandbox::new();
    sandbox.write(".git/.ralph-1-abcdef", "");
    sandbox.run(&["attempts", "restore", "none"]).ends_with(2);
    assert!(!sandbox.repo.join(".git/.ralph-1-abcdef").exists());
}

#[test]
fn a_task_file_half_written_at_a_kill_is_in_no_commit() {
    // The gate at the end is red until a second attempt, so that a story is reopened; it notes
    // how many points were passed by then.
    let prepared = || {
        let sandbox = Sandbox::new();
        let root = sandbox.root.display();
        sandbox.config_and(
            "",
            &format!(
                "[[gate]]\nname = \"e2e\"\nwhen = \"end\"\nbaseline = false\nrun = \"\"\"\n\
                 test -e {root}/noted || wc -l < {root}/points > {root}/noted\n\
                 test -e {root}/fine || {{ echo not whole $((6 * 7)); exit 1; }}\n\"\"\"\n"
            ),
        );
        sandbox.git("commit -qam gate");
        sandbox.agent(&format!(
            "case \"$prompt\" in *\"not whole 42\"*) touch $root/fine;; esac\n{GOOD}"
        ));
        sandbox
    };
    let run = |sandbox: &Sandbox, kill_at: &str| {
        let mut command = sandbox.command(env!("CARGO_BIN_EXE_ralphtool"));
        command
            .args(["loop", "c", "--on-finish", "keep"])
            .env("RALPHTOOL_KILL_LOG", sandbox.root.join("points"))
            .env("RALPHTOOL_KILL_AT", kill_at);
        sandbox.start_command(command).end()
    };
    let first = prepared();
    run(&first, "").ends_with(0);
    let read = |name: &str| fs::read_to_string(first.root.join(name)).unwrap();
    let noted: usize = read("noted").trim().parse().unwrap();
    let points = read("points");
    // One of the next files to be renamed into place is the new task file.
    let lines = points.lines().enumerate().skip(noted);
    let renames = lines.filter(|(_, line)| line.ends_with(" Rename"));
    let half_written = renames.map(|(line, _)| {
        let sandbox = prepared();
        run(&sandbox, &(line + 1).to_string()).ends_with(137);
        sandbox
    });
    let plan_of = |sandbox: &Sandbox| sandbox.repo.join("openspec/changes/c");
    let mut half_written = half_written.filter(|it| listing(&plan_of(it)).len() == 2);
    let sandbox = half_written.next().unwrap();
    let plan = plan_of(&sandbox);
    sandbox.run(&["resume", "--on-finish", "keep"]).ends_with(0);
    assert_eq!(
        listing(&plan).into_keys().collect::<Vec<_>>(),
        ["tasks.md"],
        "it is not in the tree"
    );
    let names = sandbox.git("log --format= --name-only main..ralph/c");
    let ours = names.lines().filter(|name| name.contains("/.ralph"));
    assert_eq!(ours.collect::<Vec<_>>(), Vec::<&str>::new());
}

#[test]
fn a_restore_removes_every_lock_that_a_killed_git_left() {
    let sandbox = Sandbox::new();
    let locks = "AUTO_MERGE next-index-1 shallow ORIG_HEAD MERGE_HEAD info/sparse-checkout";
    sandbox.agent(&format!(
        "mkdir -p .git/info; for it in {locks}; do touch .git/$it.lock; done; failed no"
    ));
    sandbox
        .run(&["loop", "c", "--max-retries", "0"])
        .ends_with(1);
    let left = listing(&sandbox.repo.join(".git")).into_keys();
    let is_lock = |path: &String| Path::new(path).extension().is_some_and(|it| it == "lock");
    assert_eq!(
        left.filter(is_lock).collect::<Vec<_>>(),
        Vec::<String>::new()
    );
}

#[test]
fn no_other_command_runs_between_recovery_and_start() {
    let sandbox = Sandbox::new();
    sandbox.agent("failed no");
    sandbox
        .run(&["loop", "c", "--max-retries", "0"])
        .ends_with(1);
    sandbox.agent(GOOD);
    // Settings are read after recovery: a pipe makes the program wait in between.
    let pipe = sandbox.root.join("settings");
    let made = sandbox.command("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let first = sandbox.start(&["resume", "--config", pipe.to_str().unwrap()]);
    // Opening waits for the reader.
    let mut settings = fs::OpenOptions::new().write(true).open(&pipe).unwrap();
    let output = sandbox.run(&["finish", "--abandon"]);
    settings
        .write_all(sandbox.read("ralphtool.toml").as_bytes())
        .unwrap();
    drop(settings);
    let said = output.ends_with(2).stderr;
    assert!(
        said.contains("another ralphtool works in this tree"),
        "{said}"
    );
    first.end().ends_with(0);
    assert_eq!(
        sandbox.commits(),
        ["initial state", "checkpoint: 1", "checkpoint: 2"]
    );
}

//! No agent and no environment makes ralphtool work on another repository.

use std::fs;

use pretty_assertions::assert_eq;

use crate::faults::{fails_without_a_trace, goes_on, prepared};
use crate::sandbox::{GOOD, Sandbox, everything, listing};

#[test]
fn f14a_a_removed_git_directory_inside_another_repository_harms_neither() {
    let sandbox = prepared(
        "cd $root; git init -q -b dotfiles; echo '*' > .gitignore; echo alias > home/.bashrc; git add -f home/.bashrc
         git commit -qm dotfiles; echo 'alias edited' > home/.bashrc; echo staged > home/staged; git add -f home/staged",
    );
    let parent = |sandbox: &Sandbox| {
        let status = sandbox.git("-C .. status --porcelain --branch");
        let log = sandbox.git("-C .. log --format=%H --all");
        let rc = fs::read_to_string(sandbox.root.join("home/.bashrc")).unwrap();
        (status, log, rc)
    };
    let before = parent(&sandbox);
    fails_without_a_trace(&sandbox, "rm -rf .git; echo junk > junk.txt");
    assert_eq!(parent(&sandbox), before);
    sandbox.agent(&format!("rm -rf .git\n{GOOD}"));
    sandbox.run(&["loop", "c"]).ends_with(0);
    assert_eq!(parent(&sandbox), before);
    let told = sandbox.warnings();
    assert!(
        told.iter().any(|it| it.starts_with("git_rebuilt")),
        "{told:?}"
    );
    assert_eq!(
        sandbox.git("log -2 --format=%s ralph/c"),
        "checkpoint: 2\ncheckpoint: 1\n"
    );
}

#[test]
fn f14b_another_work_tree_in_the_configuration_is_not_read() {
    let sandbox = prepared(
        "mkdir $root/unrelated; echo precious > $root/unrelated/a.txt; echo precious > $root/unrelated/x",
    );
    let unrelated = listing(&sandbox.root.join("unrelated"));
    let misdeed = "git config core.worktree $root/unrelated; echo junk > junk.txt; rm a.txt";
    fails_without_a_trace(&sandbox, misdeed);
    goes_on(&sandbox);
    assert_eq!(listing(&sandbox.root.join("unrelated")), unrelated);
}

#[test]
fn f14c_git_dir_in_the_environment_is_not_followed() {
    let sandbox = prepared(
        "git init -q $root/other; cd $root/other; echo o > o; git add o; git commit -qm other; echo edited > o",
    );
    let other = sandbox.root.join("other");
    let before = everything(&other);
    sandbox.agent(&format!(
        "[ $attempt != 1 ] || {{ rm a.txt; failed no; exit; }}\n{GOOD}"
    ));
    let mut command = sandbox.command(env!("CARGO_BIN_EXE_ralphtool"));
    command
        .args(["loop", "c"])
        .env("GIT_DIR", other.join(".git"))
        .env("GIT_WORK_TREE", &other)
        .env("GIT_COMMON_DIR", other.join(".git"));
    sandbox.start_command(command).end().ends_with(0);
    assert_eq!(everything(&other), before);
    assert_eq!(
        sandbox.commits(),
        ["initial state", "checkpoint: 1", "checkpoint: 2"]
    );
}

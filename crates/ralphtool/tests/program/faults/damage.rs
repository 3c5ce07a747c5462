//! A git directory that is locked, damaged, removed or replaced.

use std::fs;

use pretty_assertions::assert_eq;

use crate::faults::{goes_home, is_saved, killed_after, leaves_no_trace, shell};
use crate::sandbox::{GOOD, Sandbox, TASKS, everything, listing, mode};

const LOCKS: &str = "touch .git/index.lock .git/HEAD.lock .git/config.lock .git/packed-refs.lock .git/refs/heads/ralph/c.lock .git/refs/heads/main.lock .git/refs/stash.lock";

#[test]
fn restore_succeeds_with_stale_lock_files() {
    let sandbox = leaves_no_trace("", LOCKS);
    let left = listing(&sandbox.repo.join(".git"));
    assert_eq!(left.keys().find(|path| path.contains(".lock")), None);
}

#[test]
fn save_succeeds_with_stale_lock_files() {
    let sandbox = is_saved("", &format!("echo made > made.txt; {LOCKS}"));
    assert_eq!(sandbox.git("show HEAD:made.txt"), "made\n");
    assert!(!sandbox.exists(".git/index.lock"));
}

#[test]
fn f13t_a_git_directory_that_was_removed_is_rebuilt_with_its_history() {
    let before = "git branch other; git tag v1; echo 2 > a.txt; git commit -qam second; git pack-refs --all; git gc -q";
    let sandbox = leaves_no_trace(before, "rm -rf .git");
    assert_eq!(sandbox.git("log --format=%s main"), "second\nfirst\n");
    assert_eq!(sandbox.git("log --format=%s v1"), "first\n");
    let sandbox = is_saved(before, "rm -rf .git; echo made > made.txt");
    assert_eq!(
        sandbox.git("log --format=%s"),
        "checkpoint: 1\ninitial state\nsecond\nfirst\n"
    );
    assert_eq!(sandbox.git("show HEAD:made.txt"), "made\n");
}

#[test]
fn f13u_a_repository_that_an_agent_re_creates_is_replaced_by_the_old_one() {
    let re_create = "rm -rf .git; git init -q; git add -A; git commit -qm again";
    let sandbox = leaves_no_trace("echo mine > mine.txt", re_create);
    assert_eq!(sandbox.git("log --format=%s main"), "first\n");
    let sandbox = is_saved("", &format!("{re_create}; echo made > made.txt"));
    assert_eq!(sandbox.git("log --format=%s main"), "first\n");
    assert_eq!(sandbox.git("show HEAD:made.txt"), "made\n");
}

#[test]
fn f13v_a_spoiled_index_is_replaced() {
    for misdeed in [
        "echo garbage > .git/index",
        ": > .git/index",
        "rm .git/index",
        "head -c 100 .git/index > i; mv i .git/index",
    ] {
        leaves_no_trace("", misdeed);
    }
    is_saved("", "echo made > made.txt; echo garbage > .git/index");
}

#[test]
fn f13w_a_spoiled_head_is_replaced() {
    for misdeed in [
        ": > .git/HEAD",
        "echo garbage > .git/HEAD",
        "rm .git/HEAD",
        "rm .git/HEAD; mkdir .git/HEAD",
    ] {
        leaves_no_trace("", misdeed);
    }
    is_saved("", "echo made > made.txt; : > .git/HEAD");
}

#[test]
fn f13x_spoiled_branches_are_replaced() {
    for misdeed in [
        ": > .git/refs/heads/ralph/c",
        "echo garbage > .git/refs/heads/ralph/c; echo garbage > .git/refs/heads/main",
        "rm -r .git/refs/heads",
        "rm -r .git/refs; touch .git/refs",
    ] {
        let sandbox = leaves_no_trace("", misdeed);
        assert_eq!(sandbox.git("log --format=%s main"), "first\n");
    }
    is_saved("", "echo made > made.txt; : > .git/refs/heads/ralph/c");
}

#[test]
fn f24b_a_killed_git_process_of_ralphtool_leaves_no_lock() {
    for (call, lock) in [
        ("update-ref", "refs/heads/ralph/c.lock"),
        ("update-ref", "HEAD.lock"),
        ("write-tree", "index.lock"),
    ] {
        let sandbox = Sandbox::new();
        let folder = sandbox.root.join("bin");
        fs::create_dir(&folder).unwrap();
        let path = std::env::var_os("PATH").unwrap();
        let real = std::env::split_paths(&path)
            .map(|folder| folder.join("git"))
            .find(|git| git.is_file())
            .unwrap();
        let script = format!(
            "#!/bin/sh\nif [ -e '{root}/spoil' ]; then case \" $* \" in *' {call} '*) rm '{root}/spoil'; touch '{repo}/.git/{lock}'; kill -9 $$;; esac; fi\nexec '{real}' \"$@\"\n",
            root = sandbox.root.display(),
            repo = sandbox.repo.display(),
            real = real.display(),
        );
        fs::write(folder.join("git"), script).unwrap();
        fs::set_permissions(folder.join("git"), mode(0o755)).unwrap();
        let folders = std::iter::once(folder).chain(std::env::split_paths(&path));
        let folders = std::env::join_paths(folders).unwrap();
        // Without its log the branch is moved by git, and with such attributes files are stored by it.
        sandbox.agent(&format!(
            "[ $RALPHTOOL_STORY.$attempt != 1.1 ] || {{ rm .git/logs/HEAD; echo 'x ident' > .gitattributes; touch $root/spoil; }}\n{GOOD}"
        ));
        let mut command = sandbox.command(env!("CARGO_BIN_EXE_ralphtool"));
        command.args(["loop", "c"]).env("PATH", folders);
        sandbox.start_command(command).end().ends_with(4);
        assert_eq!(sandbox.read("story-1.txt"), "work\n");
        sandbox.run(&["loop", "c"]).ends_with(0);
        assert_eq!(
            sandbox.commits(),
            ["initial state", "checkpoint: 1", "checkpoint: 2"]
        );
        assert!(!sandbox.exists(&format!(".git/{lock}")));
    }
}

/// A run that was killed after its agent had removed the git directory.
fn killed_without_git_directory() -> Sandbox {
    killed_after("echo mine > mine.txt", "rm -rf .git")
}

#[test]
fn f13t_a_git_directory_that_is_gone_after_a_crash_is_rebuilt_and_the_run_continues() {
    let sandbox = killed_without_git_directory();
    let output = sandbox.run(&["loop", "c"]).ends_with(0);
    let told = "attempt 1.1 was interrupted";
    assert!(output.stdout.contains(told), "{}", output.stdout);
    let told = "it was rebuilt from the vault";
    assert!(output.stdout.contains(told), "{}", output.stdout);
    assert_eq!(
        sandbox.commits(),
        ["initial state", "checkpoint: 1", "checkpoint: 2"]
    );
    assert_eq!(sandbox.read("mine.txt"), "mine\n");
    assert_eq!(sandbox.git("log --format=%s main"), "first\n");
}

#[test]
fn f14a_after_a_crash_an_outer_repository_is_not_mistaken_for_the_removed_one() {
    let sandbox = killed_without_git_directory();
    shell(
        &sandbox,
        "cd $root; git init -q; git commit -q --allow-empty -m around",
    );
    sandbox.run(&["loop", "c"]).ends_with(0);
    assert_eq!(
        sandbox.git("-C .. for-each-ref --format=%(subject)"),
        "around\n"
    );
    assert_eq!(sandbox.commits().len(), 3);
}

#[test]
fn f13u_a_new_repository_of_the_users_is_not_replaced() {
    let sandbox = Sandbox::new();
    goes_home(&sandbox);
    shell(
        &sandbox,
        "rm -rf .git; git init -q -b trunk; git checkout -q -- . 2>/dev/null || true; echo new > new.txt; git add -A; git commit -qm new",
    );
    sandbox.tasks(TASKS);
    sandbox.agent("failed no");
    sandbox
        .run(&["loop", "c", "--max-retries", "0"])
        .ends_with(1);
    assert_eq!(sandbox.git("log --format=%s trunk"), "new\n");
    assert_eq!(sandbox.read("new.txt"), "new\n");
}

#[test]
fn f13u_a_new_repository_in_the_place_of_an_unfinished_run_is_not_touched() {
    let sandbox = killed_without_git_directory();
    shell(
        &sandbox,
        "git init -q -b trunk; git add -A; git commit -qm new",
    );
    let before = everything(&sandbox.repo);
    let output = sandbox.run(&["loop", "c"]).ends_with(2);
    assert!(
        output
            .stderr
            .contains("is not the one an unfinished run began in"),
        "{}",
        output.stderr
    );
    assert_eq!(everything(&sandbox.repo), before);
}

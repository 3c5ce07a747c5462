//! An agent removes the git directory, and everything is killed in the middle of that: whatever was
//! left, the next start rebuilds the rest, and the run can be abandoned to the state it began in.

use crate::recoverable::unsound;
use crate::sandbox::{GOOD, Sandbox, everything, there, until};
use rustix::process::Signal;

/// How many places of one order are tried.
const CUTS: usize = 12;

/// Orders in which a program may remove everything; every folder comes after what is in it.
const ORDERS: [&str; 2] = [
    "find .git -depth",
    // What a repository is known by goes first, submodules last.
    "{ find .git/HEAD .git/ralphtool.id .git/refs .git/objects -depth; find .git/* -depth; }",
];

/// What a start after the kill does if the first paths of an order are gone.
fn is_repaired_after(order: &str, removed: usize) -> Result<(), String> {
    let sandbox = Sandbox::rich();
    let before = everything(&sandbox.repo);
    sandbox.agent(&format!(
        "{order} | head -n {removed} | while read -r it; do rm -fd \"$it\"; done
         touch $root/here; wait_for $root/never"
    ));
    let running = sandbox.start(&["loop", "c"]);
    until("the agent", || there(&sandbox.root.join("here")));
    running.signal(Signal::KILL);
    running.end().ends_with(137);
    let output = sandbox.run(&["attempts", "restore", "none"]);
    let said = format!("{}{}", output.stdout, output.stderr);
    if output.code != 2 {
        return Err(format!("repairing ended with {}: {said}", output.code));
    }
    let wrong = unsound(&sandbox);
    if !wrong.is_empty() {
        return Err(format!("{wrong:#?}"));
    }
    let output = sandbox.run(&["finish", "--abandon"]);
    if output.code != 0 {
        return Err(format!("{}{}", output.stdout, output.stderr));
    }
    missing(&sandbox, &before).map_or(Ok(()), |line| Err(format!("missing: {line}")))
}

/// A line of an earlier state that is not true any more.
fn missing(sandbox: &Sandbox, before: &str) -> Option<String> {
    let after = everything(&sandbox.repo);
    let line = before.lines().find(|line| !after.contains(line))?;
    Some(line.to_owned())
}

#[test]
#[ignore = "takes many seconds; `.ci/run` runs it"]
fn a_removal_of_the_git_directory_that_is_cut_short_is_repaired() {
    let all = {
        let sandbox = Sandbox::rich();
        let mut command = sandbox.command("find");
        let listing = command.arg(".git").output().unwrap().stdout;
        String::from_utf8_lossy(&listing).lines().count() + 3
    };
    let mut wrong = Vec::new();
    for order in ORDERS {
        for cut in 0..=CUTS {
            let removed = all * cut / CUTS;
            if let Err(why) = is_repaired_after(order, removed) {
                wrong.push(format!("{removed} of {all} by {order}: {why}"));
            }
        }
    }
    assert_eq!(wrong, [""; 0]);
}

/// Without a trace of git's, a removed ref may have been removed by the user.
#[test]
fn single_files_of_work_trees_and_refs_that_were_not_removed_by_git_are_restored() {
    for misdeed in [
        "rm .git/worktrees/side/HEAD .git/worktrees/side/gitdir .git/worktrees/side/logs/HEAD",
        "rm .git/worktrees/side/commondir .git/worktrees/side/index",
        "rm .git/refs/heads/main",
        "rm .git/refs/notes/extra .git/refs/remotes/origin/main",
    ] {
        let sandbox = Sandbox::rich();
        let before = everything(&sandbox.repo);
        sandbox.agent(&format!("{misdeed}; failed no"));
        sandbox
            .run(&["loop", "c", "--max-retries", "0"])
            .ends_with(1);
        sandbox.run(&["finish", "--abandon"]).ends_with(0);
        assert_eq!(missing(&sandbox, &before), None, "{misdeed}");
    }
}

#[test]
fn locks_that_a_killed_git_left_in_a_submodule_and_in_logs_of_any_work_tree_are_moved_aside() {
    for (script, code) in [("failed no", 1), (GOOD, 0)] {
        let sandbox = Sandbox::rich();
        sandbox.agent(&format!(
            "git log -1 > /dev/null
             touch .git/modules/sub/index.lock .git/logs/HEAD.lock .git/worktrees/side/logs/HEAD.lock
             {script}"
        ));
        let args = ["loop", "c", "--max-retries", "0", "--on-finish", "keep"];
        sandbox.run(&args).ends_with(code);
        assert_eq!(unsound(&sandbox), [""; 0], "{script}");
    }
}

#[test]
fn a_submodules_removed_git_directory_is_restored_only_if_needed() {
    for (misdeed, is_needed) in [
        ("rm -rf .git/modules/sub", true),
        ("rm .git/modules/sub/HEAD", true),
        ("rm -rf .git", true),
        ("git rm -qf sub; rm -rf .git/modules/sub", false),
    ] {
        let sandbox = Sandbox::rich();
        sandbox.agent(&format!("{misdeed}\n{GOOD}"));
        sandbox
            .run(&["loop", "c", "--on-finish", "keep"])
            .ends_with(0);
        assert_eq!(unsound(&sandbox), [""; 0], "{misdeed}");
        let is_there = sandbox.exists(".git/modules/sub/HEAD");
        assert_eq!(is_there, is_needed, "{misdeed}");
        if is_needed {
            let log = sandbox.git("-C sub log --format=%s");
            assert_eq!(log, "upstream\n", "{misdeed}");
        }
    }
}

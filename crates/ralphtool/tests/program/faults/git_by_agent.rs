//! What an agent does with git: commits, branches, stashes, configuration, hooks.

use std::fs;

use pretty_assertions::assert_eq;

use crate::faults::{goes_home, goes_on, leaves_no_trace, prepared, store};
use crate::sandbox::{GOOD, Sandbox, there};

#[test]
fn f13a_commits_of_a_failed_attempt_are_undone_and_kept() {
    let sandbox = leaves_no_trace(
        "",
        "echo x > a.txt; git commit -qam one; echo y > y; git add y; git commit -qm two",
    );
    let kept = store(
        &sandbox,
        "for-each-ref --format=%(refname)|%(subject) refs/kept",
    );
    assert!(kept.contains("/HEAD|two\n"), "{kept}");
}

#[test]
fn f13b_an_amended_checkpoint_is_undone() {
    leaves_no_trace("", "echo x > a.txt; git commit -q -a --amend -m amended");
}

#[test]
fn f13c_a_hard_reset_to_before_the_run_is_undone() {
    let sandbox = leaves_no_trace(
        "echo mine > a.txt; echo mine > mine.txt",
        "git reset -q --hard main",
    );
    assert_eq!(sandbox.read("mine.txt"), "mine\n");
}

#[test]
fn f13d_checkpoints_squashed_into_one_are_undone() {
    leaves_no_trace(
        "echo mine > mine.txt",
        "git reset -q --soft main; git commit -qm squashed",
    );
}

#[test]
fn f13e_a_switch_to_the_original_branch_is_undone() {
    let sandbox = leaves_no_trace(
        "echo mine > mine.txt",
        "git checkout -q main; echo m > m.txt; git add m.txt; git commit -qm m",
    );
    assert_eq!(sandbox.git("log --format=%s main"), "first\n");
    assert_eq!(sandbox.read("mine.txt"), "mine\n");
}

#[test]
fn f13f_a_checkpoint_branch_that_was_deleted_comes_back() {
    leaves_no_trace(
        "echo mine > mine.txt",
        "git checkout -q main; git branch -q -D ralph/c",
    );
}

#[test]
fn f13g_a_detached_head_is_undone() {
    leaves_no_trace(
        "echo mine > mine.txt",
        "git checkout -q --detach main; echo d > d; git add d; git commit -qm d",
    );
}

#[test]
fn f13n_an_orphan_branch_is_undone() {
    leaves_no_trace(
        "echo mine > mine.txt",
        "git checkout -q --orphan o; git rm -rqf .; echo o > o; git add o; git commit -qm o; git branch -q -D main
         git checkout -q --detach; git branch -q -D o",
    );
}

#[test]
fn f13h_a_merge_left_in_progress_is_ended() {
    leaves_no_trace(
        "git checkout -q -b side; echo side > a.txt; git commit -qam side; git checkout -q main",
        "echo ours > a.txt; git commit -qam ours; git merge -q side",
    );
}

#[test]
fn f13i_a_rebase_or_cherry_pick_left_in_progress_is_ended() {
    let before =
        "git checkout -q -b side; echo side > a.txt; git commit -qam side; git checkout -q main";
    let ours = "echo ours > a.txt; git commit -qam ours";
    leaves_no_trace(before, &format!("{ours}; git rebase -q side"));
    leaves_no_trace(before, &format!("{ours}; git cherry-pick side"));
    leaves_no_trace(
        before,
        &format!("{ours}; echo more > a.txt; git commit -qam more; git revert --no-edit HEAD~1"),
    );
}

#[test]
fn f13j_a_bisect_left_in_progress_is_ended() {
    leaves_no_trace("", "git bisect start; git bisect bad; git bisect good main");
}

#[test]
fn f13k_a_stash_of_the_agent_is_dropped_and_the_stashed_changes_are_restored() {
    leaves_no_trace(
        "echo mine > a.txt; git stash -q; echo mine > mine.txt",
        "echo x > a.txt; echo y > y; git stash push -q --include-untracked",
    );
}

#[test]
fn f13l_stashes_that_were_dropped_or_cleared_and_collected_come_back() {
    let before = "for n in 1 2 3; do echo $n > a.txt; git stash -q -m \"stash $n\"; done";
    let collect = "git reflog expire --expire=now --all; git gc -q --prune=now";
    for drop in [
        "git stash drop -q stash@{1}",
        "git stash clear",
        "git stash pop -q",
    ] {
        let sandbox = leaves_no_trace(before, &format!("{drop}; {collect}"));
        assert_eq!(
            sandbox.git("stash list --format=%gd:%s"),
            "stash@{0}:On main: stash 3\nstash@{1}:On main: stash 2\nstash@{2}:On main: stash 1\n"
        );
        for (number, text) in [(0, "3"), (1, "2"), (2, "1")] {
            assert_eq!(
                sandbox.git(&format!("show stash@{{{number}}}:a.txt")),
                format!("{text}\n")
            );
        }
    }
}

#[test]
fn f13m_branches_and_tags_an_attempt_changes_are_reported_and_kept() {
    let sandbox = prepared(
        "git branch gone; git branch moved; git tag gone-tag; git checkout -q gone
         echo g > g; git add g; git commit -qm precious; git checkout -q main",
    );
    let gone = sandbox.git("rev-parse gone");
    sandbox.agent(
        "git branch -q -D gone; git tag -d gone-tag; git tag made; git branch -f moved HEAD
         git reflog expire --expire=now --all; git gc -q --prune=now; failed no",
    );
    sandbox
        .run(&["loop", "c", "--max-retries", "0"])
        .ends_with(1);
    let warnings = sandbox.warnings().join("\n");
    for name in ["gone", "gone-tag", "made", "moved"] {
        assert!(warnings.contains(name), "{name}: {warnings}");
    }
    let kept = store(
        &sandbox,
        "for-each-ref --format=%(refname)|%(objectname) refs/kept",
    );
    let before = format!("/before/refs/heads/gone|{gone}");
    assert!(kept.contains(&before), "{kept}");
    assert_eq!(
        store(
            &sandbox,
            &format!("log -1 --format=%s {gone}").replace('\n', "")
        ),
        "precious\n"
    );
}

#[test]
fn f13z_a_work_tree_an_attempt_adds_is_reported_and_kept() {
    let sandbox = Sandbox::new();
    sandbox.agent(
        "git worktree add -q \"$root/theirs\" -b theirs; echo t > \"$root/theirs/t\"; failed no",
    );
    sandbox
        .run(&["loop", "c", "--max-retries", "0"])
        .ends_with(1);
    let warnings = sandbox.warnings().join("\n");
    assert!(warnings.contains("theirs"), "{warnings}");
    assert_eq!(
        fs::read_to_string(sandbox.root.join("theirs/t")).unwrap(),
        "t\n"
    );
    goes_on(&sandbox);
}

#[test]
fn f13o_a_sparse_checkout_an_attempt_sets_is_undone() {
    let sandbox = leaves_no_trace(
        "echo mine > dir/mine.txt",
        "git add -A; git sparse-checkout set --no-cone /a.txt",
    );
    assert_eq!(sandbox.read("dir/mine.txt"), "mine\n");
}

#[test]
fn f13p_configuration_an_attempt_changes_is_undone() {
    leaves_no_trace(
        "echo mine > mine.txt",
        "git config core.excludesFile /nowhere; git config core.hooksPath /nowhere; git config core.fileMode false
         git config core.bare true; git config core.worktree /nowhere; git config extensions.worktreeConfig true
         git config --file .git/config.worktree core.bare true",
    );
    leaves_no_trace("", "echo 'this is [no configuration' > .git/config");
}

/// Installs hooks that write and fail.
const HOOKS: &str = "for hook in pre-commit post-commit commit-msg post-checkout post-index-change reference-transaction post-merge; do
         printf '#!/bin/sh\\ntouch \"%s/HOOKED\"; exit 1\\n' \"$root\" > .git/hooks/$hook; chmod +x .git/hooks/$hook
     done";

#[test]
fn f13q_hooks_an_attempt_installs_are_not_run_and_block_no_checkpoint() {
    let sandbox = Sandbox::new();
    sandbox.agent(&format!("mkdir -p .git/hooks; {HOOKS}\n{GOOD}"));
    goes_home(&sandbox);
    assert!(there(&sandbox.root.join("HOOKED")).is_none());
    let sandbox = leaves_no_trace("mkdir -p .git/hooks", HOOKS);
    assert!(there(&sandbox.root.join("HOOKED")).is_none());
}

#[test]
fn f13r_gc_after_amend_loses_no_checkpoint() {
    let misdeed = "git commit -q --amend --allow-empty -m amended; git reset -q --hard main
        git reflog expire --expire=now --all; git gc -q --prune=now";
    let sandbox = leaves_no_trace("echo mine > mine.txt", misdeed);
    assert_eq!(sandbox.read("mine.txt"), "mine\n");
    // And one that a story before made.
    let sandbox = Sandbox::new();
    sandbox.agent(&format!(
        "[ $RALPHTOOL_STORY.$attempt != 2.1 ] || {{ {misdeed}; failed no; exit; }}\n{GOOD}"
    ));
    sandbox.run(&["loop", "c"]).ends_with(0);
    assert_eq!(
        sandbox.commits(),
        ["initial state", "checkpoint: 1", "checkpoint: 2"]
    );
    assert_eq!(sandbox.git("show ralph/c:story-1.txt"), "work\n");
}

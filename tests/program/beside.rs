//! What the user does beside a run, in other work trees and with other git commands: it is never undone
//! and never breaks the run.

use crate::sandbox::{self, GOOD, Running, Sandbox, there, until};
use pretty_assertions::assert_eq;
use std::sync::atomic::{AtomicBool, Ordering};

/// Waits for the user, once: says that it is there, and continues when the user is done.
const WAITS: &str = "[ -e $root/here ] || { touch $root/here; wait_for $root/go; }";

/// A run whose agent waits for the user.
fn waiting(sandbox: &Sandbox, args: &[&str]) -> Running {
    let running = sandbox.start(args);
    until("the agent that waits", || there(&sandbox.root.join("here")));
    running
}

/// The user is done.
fn go_on(sandbox: &Sandbox) {
    std::fs::write(sandbox.root.join("go"), "").unwrap();
}

/// A second change, and a linked work tree `other` on the branch `side`.
fn with_other_work_tree() -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    sandbox.write("openspec/changes/d/tasks.md", sandbox::TASKS);
    sandbox.git("add -A");
    sandbox.git("commit -q -m d");
    sandbox.git("worktree add -q -b side ../other");
    let other = sandbox.root.join("other").display().to_string();
    (sandbox, other)
}

#[test]
fn a_second_run_in_a_linked_work_tree_is_refused_while_the_first_is_at_work() {
    let (sandbox, other) = with_other_work_tree();
    sandbox.agent(&format!("{WAITS}\n{GOOD}"));
    let running = waiting(&sandbox, &["loop", "c"]);
    let refs = sandbox.git("for-each-ref");
    for args in [
        &["loop", "d"][..],
        &["finish", "--abandon"],
        &["undo"],
        &["rewind", "1"],
    ] {
        let args = [&["-C", &other], args].concat();
        let output = sandbox.run(&args).ends_with(2);
        let said = sandbox.neutral(&output.stderr);
        let wanted = "a run of `c` is at work in `ROOT/repo` (process ";
        assert!(said.contains(wanted), "{args:?}: {said}");
        assert!(said.contains("`git clone ROOT/repo DIR`"), "{said}");
    }
    assert_eq!(sandbox.git("for-each-ref"), refs);
    for args in [&["list"][..], &["status"], &["show", "d"], &["log"]] {
        let output = sandbox.run(&[&["-C", &other], args].concat());
        assert!(
            !output.stderr.contains("is at work in"),
            "{args:?}: {}",
            output.stderr
        );
    }
    go_on(&sandbox);
    running.end().ends_with(0);
}

#[test]
fn linked_work_trees_are_used_one_after_the_other() {
    let (sandbox, other) = with_other_work_tree();
    sandbox
        .run(&["loop", "c", "--on-finish", "keep"])
        .ends_with(0);
    sandbox
        .run(&["-C", &other, "loop", "d", "--on-finish", "keep"])
        .ends_with(0);
    for branch in ["ralph/c", "ralph/d"] {
        let range = format!("main..{branch}");
        assert_eq!(
            sandbox.git_args(&["log", "--format=%s", &range]),
            "checkpoint: 2\ncheckpoint: 1\ninitial state\n"
        );
    }
    assert_eq!(sandbox.git("-C ../other status --porcelain"), "");
    assert_eq!(sandbox.git("status --porcelain"), "");
}

#[test]
fn a_run_succeeds_beside_a_git_that_collects_garbage() {
    let sandbox = Sandbox::new();
    let story = |number: u32| format!("## {number}. Story\n- [ ] {number}.1 Do it\n\n");
    let tasks: Vec<String> = (1..=6).map(story).collect();
    sandbox.tasks(&tasks.concat());
    sandbox.git("commit -q -a -m more");
    sandbox.agent(&format!(
        "seq 40 | while read it; do echo $RALPHTOOL_STORY $it > file-$RALPHTOOL_STORY-$it.txt; done
         [ $attempt != 1 ] || {{ failed no; exit; }}\n{GOOD}"
    ));
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                // It may lose races against the run; the run must not.
                let _ = sandbox
                    .command("git")
                    .args(["gc", "-q", "--prune=now"])
                    .output();
            }
        });
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                for number in 0..=255u8 {
                    let folder = format!(".git/objects/{number:02x}");
                    let _ = std::fs::remove_dir(sandbox.repo.join(folder));
                }
            }
        });
        let output = sandbox.run(&["loop", "c", "--on-finish", "keep"]);
        is_over.store(true, Ordering::Relaxed);
        output.ends_with(0);
    });
    assert_eq!(sandbox.git("fsck --no-dangling --connectivity-only"), "");
    assert_eq!(sandbox.commits().len(), 7);
    assert_eq!(sandbox.git("status --porcelain"), "");
}

//! A second start of a change whose run is unfinished or kept: what was paid for is resumed, and
//! nothing is started over, replaced or built on unless the user says so.

use std::fs;

use crate::sandbox::{self, GOOD, Sandbox, TASKS, everything};
use pretty_assertions::assert_eq;

/// Everything but the id that ties the repository to its vault.
fn seen(sandbox: &Sandbox) -> String {
    let text = everything(&sandbox.repo);
    let lines = text.lines();
    let lines = lines.filter(|line| !line.starts_with(".git/ralphtool.id"));
    lines.collect::<Vec<_>>().join("\n")
}

/// A run of `c` whose first story is done; HEAD is on its branch.
fn first_story_done() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.agent(&format!("echo $RALPHTOOL_STORY >> $root/started\n{GOOD}"));
    sandbox.run(&["loop", "c", "--story", "1"]).ends_with(0);
    sandbox
}

fn started(sandbox: &Sandbox) -> String {
    let started = fs::read_to_string(sandbox.root.join("started"));
    started.unwrap().replace('\n', " ")
}

#[track_caller]
fn refused(sandbox: &Sandbox, args: &[&str]) -> String {
    let before = seen(sandbox);
    let output = sandbox.run(args).ends_with(2);
    assert_eq!(output.stdout, "");
    assert_eq!(seen(sandbox), before);
    sandbox.neutral(&output.stderr)
}

#[track_caller]
fn has(text: &str, part: &str) {
    assert!(text.contains(part), "`{part}` is not in:\n{text}");
}

// ---- resuming

#[test]
fn two_starts_with_one_story_each_are_one_run() {
    let sandbox = first_story_done();
    let output = sandbox.run(&["loop", "c", "--story", "2"]).ends_with(0);
    has(&output.stdout, "stories    2 of 2 done");
    assert_eq!(sandbox.runs().len(), 1);
    assert_eq!(started(&sandbox), "1 2 ");
    assert_eq!(
        sandbox.commits(),
        ["initial state", "checkpoint: 1", "checkpoint: 2"]
    );
    let page = sandbox
        .run(&["log", "last", "--markdown"])
        .ends_with(0)
        .stdout;
    has(&page, "2 of 2 stories done");
}

#[test]
fn a_start_from_another_branch_switches_back_and_resumes() {
    for args in [&["loop", "c"][..], &["loop"], &["resume"]] {
        let sandbox = first_story_done();
        sandbox.git("switch -q main");
        let output = sandbox.run(args).ends_with(0);
        has(
            &output.stdout,
            "HEAD was on `main`: switched to `ralph/c`, where the run is",
        );
        assert_eq!(sandbox.branch(), "ralph/c");
        assert_eq!(started(&sandbox), "1 2 ");
        assert_eq!(
            sandbox.commits(),
            ["initial state", "checkpoint: 1", "checkpoint: 2"]
        );
    }
}

#[test]
fn a_change_that_is_in_no_file_of_the_other_branch_is_resumed() {
    let sandbox = Sandbox::new();
    sandbox.git("rm -rq --cached openspec");
    sandbox.git("commit -q -m without");
    sandbox.run(&["loop", "c", "--story", "1"]).ends_with(0);
    sandbox.git("switch -q main");
    assert!(!sandbox.exists("openspec/changes/c/tasks.md"));
    sandbox.run(&["loop", "c"]).ends_with(0);
    assert_eq!(
        sandbox.commits(),
        ["initial state", "checkpoint: 1", "checkpoint: 2"]
    );
}

#[test]
fn uncommitted_changes_go_along_or_stop_the_switch_as_in_git() {
    let sandbox = first_story_done();
    sandbox.git("switch -q main");
    sandbox.write("mine.txt", "mine\n");
    sandbox.write("a.txt", "mine\n");
    sandbox.run(&["loop", "c"]).ends_with(0);
    assert_eq!(sandbox.read("a.txt"), "mine\n");
    assert_eq!(sandbox.git("show HEAD~1:mine.txt"), "mine\n");

    let sandbox = first_story_done();
    sandbox.git("switch -q main");
    sandbox.write("story-1.txt", "mine\n");
    for args in [&["loop", "c"][..], &["resume"]] {
        let told = refused(&sandbox, args);
        has(
            &told,
            "an unfinished run of `c` is on `ralph/c`, and git cannot switch there from `main`",
        );
        has(&told, "story-1.txt");
        has(
            &told,
            "commit or stash these changes, then `ralphtool resume`; or \
             `ralphtool run c --fresh` starts over from `main`",
        );
    }
}

#[test]
fn a_branch_that_is_gone_ends_a_kept_run() {
    let sandbox = first_story_done();
    sandbox.git("switch -q main");
    sandbox.git("branch -q -D ralph/c");
    has(
        &refused(&sandbox, &["resume"]),
        "the branch `ralph/c` of the unfinished run of `c` is gone",
    );
    sandbox.run(&["loop", "c"]).ends_with(0);
    assert_eq!(started(&sandbox), "1 1 2 ");
}

#[test]
fn the_budget_of_a_second_start_counts_what_the_first_one_used() {
    let sandbox = first_story_done();
    let output = sandbox
        .run(&["loop", "c", "--max-time", "1ms"])
        .ends_with(3);
    has(&output.stdout, "stories    1 of 2 done");
    assert_eq!(started(&sandbox), "1 ");
    sandbox.run(&["loop", "c"]).ends_with(0);
    assert_eq!(sandbox.runs().len(), 1);
}

#[test]
fn a_change_whose_run_is_done_is_not_done_again() {
    let sandbox = first_story_done();
    sandbox.run(&["loop", "c"]).ends_with(0);
    let nothing = sandbox.run(&["loop", "c"]).ends_with(0);
    assert_eq!(nothing.stdout, "`c`: nothing left to do, 2 stories done\n");
    sandbox.git("switch -q main");
    let before = seen(&sandbox);
    let output = sandbox.run(&["loop", "c"]).ends_with(0);
    assert_eq!(
        output.stdout,
        "`c`: all 2 stories are done, on `ralph/c`\n\
         `ralphtool finish --cleanup` brings the work to your branch\n\
         `ralphtool run CHANGE --fresh` starts over\n"
    );
    assert_eq!(seen(&sandbox), before);
    assert_eq!(started(&sandbox), "1 2 ");
    has(
        &refused(&sandbox, &["resume"]),
        "there is nothing to resume: `c`: all 2 stories are done, on `ralph/c`",
    );
}

#[test]
fn work_that_was_merged_is_not_gone_back_to() {
    for merge in ["merge -q ralph/c", "merge -q --squash ralph/c"] {
        let sandbox = first_story_done();
        sandbox.git("switch -q main");
        sandbox.git(merge);
        sandbox.git("commit -q --allow-empty -m merged");
        sandbox.run(&["loop", "c"]).ends_with(0);
        assert_eq!(started(&sandbox), "1 2 ");
        assert_eq!(sandbox.runs().len(), 2);
        assert_eq!(sandbox.git("log --format=%s -1 ralph/c~2"), "merged\n");
    }
}

// ---- starting over

#[test]
fn a_fresh_start_begins_where_the_last_run_began_and_undo_restores_that_run() {
    let sandbox = Sandbox::new();
    sandbox.make_dirty();
    sandbox.agent(&format!("echo $RALPHTOOL_STORY >> $root/started\n{GOOD}"));
    let dirty = sandbox.read("a.txt");
    sandbox.run(&["loop", "c", "--story", "1"]).ends_with(0);
    let tip = sandbox.git("rev-parse ralph/c");
    sandbox.write("later.txt", "made after the run\n");
    let before = seen(&sandbox);

    let output = sandbox.run(&["loop", "c", "--fresh"]).ends_with(0);
    has(&output.stdout, "`ralph/c` was at ");
    has(
        &output.stdout,
        "with 1 story done; `ralphtool undo` restores both",
    );
    assert_eq!(started(&sandbox), "1 1 2 ");
    assert_eq!(sandbox.read("a.txt"), dirty);
    assert!(!sandbox.exists("later.txt"));
    assert_eq!(
        sandbox.git("log --format=%s main..ralph/c"),
        "checkpoint: 2\ncheckpoint: 1\ninitial state\n"
    );

    let undone = sandbox.run(&["undo"]).ends_with(0);
    has(&undone.stdout, "the earlier run can be resumed");
    has(&undone.stdout, "ralphtool resume");
    let status = sandbox.run(&["status"]).ends_with(0).stdout;
    has(&status, "1 of 2 done");
    assert_eq!(sandbox.git("rev-parse ralph/c"), tip);
    assert_eq!(seen(&sandbox), before);
    let output = sandbox.run(&["resume"]).ends_with(0);
    has(&output.stdout, "stories    2 of 2 done");
    assert_eq!(started(&sandbox), "1 1 2 2 ");
}

#[test]
fn an_undo_of_a_fresh_start_can_be_undone() {
    let sandbox = first_story_done();
    sandbox.run(&["loop", "c", "--fresh"]).ends_with(0);
    let fresh = seen(&sandbox);
    sandbox.run(&["undo"]).ends_with(0);
    sandbox.run(&["undo"]).ends_with(0);
    assert_eq!(seen(&sandbox), fresh);
}

#[test]
fn a_fresh_start_from_the_original_branch_replaces_the_branch_and_undo_restores_it() {
    let sandbox = first_story_done();
    let tip = sandbox.git("rev-parse ralph/c");
    sandbox.git("switch -q main");
    sandbox.write("mine.txt", "mine\n");
    let before = seen(&sandbox);
    sandbox.run(&["loop", "c", "--fresh"]).ends_with(0);
    assert_eq!(started(&sandbox), "1 1 2 ");
    assert_ne!(sandbox.git("rev-parse ralph/c"), tip);
    sandbox.run(&["undo"]).ends_with(0);
    assert_eq!(seen(&sandbox), before);
    fs::remove_file(sandbox.repo.join("mine.txt")).unwrap();
    sandbox.run(&["resume"]).ends_with(0);
    assert_eq!(started(&sandbox), "1 1 2 2 ");
}

#[test]
fn a_fresh_start_and_its_undo_carry_a_task_file_outside_of_the_tree() {
    let sandbox = Sandbox::new();
    let plan = sandbox.root.join("plan.md");
    fs::write(&plan, TASKS).unwrap();
    sandbox.agent(&format!("tasks=$root/plan.md\n{GOOD}"));
    let path = plan.to_str().unwrap();
    sandbox.run(&["loop", path, "--story", "1"]).ends_with(0);
    let half = fs::read_to_string(&plan).unwrap();
    let output = sandbox.run(&["loop", path, "--fresh"]).ends_with(0);
    has(&output.stdout, "story 1 done");
    assert_eq!(
        fs::read_to_string(&plan).unwrap(),
        TASKS.replace("[ ]", "[x]")
    );
    sandbox.run(&["undo"]).ends_with(0);
    assert_eq!(fs::read_to_string(&plan).unwrap(), half);
}

#[test]
fn a_fresh_start_is_refused_where_the_original_branch_has_moved() {
    let sandbox = first_story_done();
    sandbox.git("branch -f main ralph/c");
    let told = refused(&sandbox, &["loop", "c", "--fresh"]);
    has(&told, "`main` has moved since the run of `c` began");
    has(
        &told,
        "`git switch main` first: the new run starts from there",
    );
}

// ---- branches of the user's

#[test]
fn a_branch_that_no_run_made_is_never_replaced() {
    let sandbox = Sandbox::new();
    sandbox.git("branch ralph/c");
    for args in [&["loop", "c"][..], &["loop", "c", "--fresh"]] {
        assert_eq!(
            refused(&sandbox, args),
            "error: the branch `ralph/c` was not made by a run in this work tree; it is never \
             replaced\n  hint: rename it: `git branch -m ralph/c ralph/c-old`\n"
        );
    }
    sandbox.git("branch -m ralph/c ralph/c-old");
    sandbox.run(&["loop", "c"]).ends_with(0);
}

#[test]
fn a_branch_the_user_has_committed_to_is_never_replaced() {
    let sandbox = first_story_done();
    sandbox.git("commit -q --allow-empty -m mine");
    sandbox.git("switch -q main");
    let told = refused(&sandbox, &["loop", "c", "--fresh"]);
    has(&told, "the branch `ralph/c` has commits that the run ");
    has(&told, "`git branch -m ralph/c ralph/c-old`");
    // To resume it is fine: the commit is part of it.
    sandbox.run(&["loop", "c"]).ends_with(0);
    assert_eq!(started(&sandbox), "1 2 ");
    assert_eq!(sandbox.git("log --format=%s -1 HEAD~1"), "resumed state\n");
}

#[test]
fn the_branch_of_an_earlier_run_is_replaced_only_by_a_fresh_start() {
    let sandbox = first_story_done();
    sandbox.write("openspec/changes/d/tasks.md", TASKS);
    sandbox.git("switch -q main");
    sandbox.run(&["loop", "d"]).ends_with(0);
    sandbox.git("switch -q main");
    let tip = sandbox.git("rev-parse ralph/c");
    let told = refused(&sandbox, &["loop", "c"]);
    has(&told, "`ralph/c` holds the work of the run ");
    has(&told, "(1 story done), which is over and cannot be resumed");
    has(&told, "`git switch ralph/c` to build on it");
    sandbox.run(&["loop", "c", "--fresh"]).ends_with(0);
    sandbox.run(&["undo"]).ends_with(0);
    assert_eq!(sandbox.git("rev-parse ralph/c"), tip);
}

#[test]
fn a_branch_of_one_commit_is_known_as_the_work_of_its_run() {
    let sandbox = first_story_done();
    sandbox.run(&["finish", "--squash"]).ends_with(0);
    sandbox.git("switch -q main");
    has(
        &refused(&sandbox, &["loop", "c"]),
        "`ralph/c` holds the work",
    );
    sandbox.git("merge -q ralph/c");
    sandbox.run(&["loop", "c"]).ends_with(0);
    assert_eq!(started(&sandbox), "1 2 ");
}

#[test]
fn plans_of_one_name_have_branches_of_their_own() {
    let sandbox = Sandbox::new();
    sandbox.write("PRD.md", TASKS);
    sandbox.write(
        "prd.json",
        r#"{"userStories": [{"id": "US-1", "title": "One", "passes": false}]}"#,
    );
    sandbox.git("add -A");
    sandbox.git("commit -q -m plans");
    sandbox.agent(&format!("tasks=PRD.md\n{GOOD}"));
    sandbox
        .run(&["loop", "PRD.md", "--story", "1"])
        .ends_with(0);
    sandbox.git("switch -q main");
    sandbox.agent(GOOD);
    sandbox.run(&["loop", "prd.json"]).ends_with(0);
    sandbox.git("switch -q main");
    assert_eq!(
        sandbox.git("branch --format=%(refname:short)"),
        "main\nralph/prd\nralph/prd-json\n"
    );
    // The run of the other plan came in between.
    has(&refused(&sandbox, &["loop", "PRD.md"]), "`ralph/prd` holds");
}

#[test]
fn a_change_whose_name_is_no_branch_has_one_that_git_takes() {
    let sandbox = Sandbox::new();
    sandbox.write("openspec/changes/UPPER and space/tasks.md", TASKS);
    sandbox.agent("for it in 1 2; do tick $it; done; echo x > x.txt; complete");
    sandbox.run(&["loop", "UPPER and space"]).ends_with(0);
    assert_eq!(sandbox.branch(), "ralph/UPPER-and-space");
}

// ---- two changes

#[test]
fn a_run_is_not_built_on_the_branch_of_another_by_accident() {
    let sandbox = Sandbox::new();
    sandbox.write("openspec/changes/d/tasks.md", TASKS);
    sandbox.git("add -A");
    sandbox.git("commit -q -m d");
    sandbox.run(&["loop", "c"]).ends_with(0);
    assert_eq!(
        refused(&sandbox, &["loop", "d"]),
        "error: HEAD is on `ralph/c`, the branch of a run of `c`: `d` would be built on top of it\n  \
         hint: `git switch main` first, to start without that work; or `ralphtool run d --on-top`\n"
    );
    let done = seen(&sandbox);
    let output = sandbox.run(&["loop", "d", "--on-top"]).ends_with(0);
    has(&output.stdout, "ralph/c");
    assert_eq!(
        sandbox.git("log --format=%s -1 ralph/d~3"),
        "checkpoint: 2\n"
    );
    sandbox.run(&["finish", "--abandon"]).ends_with(0);
    assert_eq!(seen(&sandbox), done);

    sandbox.git("switch -q main");
    sandbox.run(&["loop", "d"]).ends_with(0);
    assert_eq!(sandbox.git("log --format=%s -1 ralph/d~3"), "d\n");
}

// ---- killed on the way

/// A command of the program in the sandbox.
fn command(sandbox: &Sandbox, args: &[&str]) -> std::process::Command {
    let mut command = sandbox.command(env!("CARGO_BIN_EXE_ralphtool"));
    command.args(args);
    command
}

/// Some of the numbers up to a last one, that one included.
fn some_of(last: usize) -> impl Iterator<Item = usize> {
    (1..=last).rev().step_by(last.div_ceil(14).max(1))
}

/// The first story is done, and what comes next fails at once; with uncommitted changes.
fn half_done() -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    sandbox.make_dirty();
    sandbox.run(&["loop", "c", "--story", "1"]).ends_with(0);
    sandbox.agent("failed no");
    let before = seen(&sandbox);
    (sandbox, before)
}

const FRESH: [&str; 5] = ["loop", "c", "--fresh", "--max-retries", "0"];

#[cfg(target_os = "linux")]
#[test]
fn a_fresh_start_that_is_killed_anywhere_is_undone_by_undo() {
    let (sandbox, _) = half_done();
    let (_, measured) = sandbox.run_measured(command(&sandbox, &FRESH));
    for number in some_of(measured.points) {
        let (sandbox, before) = half_done();
        let kill = sandbox::Kill::AtPoint {
            number,
            with_children: true,
        };
        sandbox.run_killed(command(&sandbox, &FRESH), Some(kill));
        let undone = sandbox.run(&["undo"]);
        assert_eq!(seen(&sandbox), before, "point {number}: {}", undone.stderr);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_undo_of_a_fresh_start_that_is_killed_anywhere_is_completed() {
    let prepared = || {
        let (sandbox, before) = half_done();
        sandbox.run(&FRESH).ends_with(1);
        (sandbox, before)
    };
    let (sandbox, _) = prepared();
    let (_, measured) = sandbox.run_measured(command(&sandbox, &["undo"]));
    for number in some_of(measured.points) {
        let (sandbox, before) = prepared();
        let kill = sandbox::Kill::AtPoint {
            number,
            with_children: true,
        };
        sandbox.run_killed(command(&sandbox, &["undo"]), Some(kill));
        // It repairs what was interrupted, and then refuses.
        sandbox.run(&["rewind", "none"]).ends_with(2);
        if seen(&sandbox) != before {
            sandbox.run(&["undo"]).ends_with(0);
        }
        assert_eq!(seen(&sandbox), before, "point {number}");
    }
}

/// Git itself is killed: as after any killed `git switch`, the user may have to remove its lock and
/// to stash what it has half switched.
#[cfg(target_os = "linux")]
#[test]
fn a_switch_back_in_which_git_is_killed_loses_nothing() {
    let away = || {
        let (sandbox, _) = half_done();
        sandbox.agent(GOOD);
        sandbox.git("switch -q main");
        sandbox.write("mine.txt", "mine\n");
        sandbox
    };
    let sandbox = away();
    let (_, measured) = sandbox.run_measured(command(&sandbox, &["resume"]));
    for number in (1..=measured.changes.min(36)).step_by(4) {
        let sandbox = away();
        let kill = sandbox::Kill::InGit(number);
        sandbox.run_killed(command(&sandbox, &["resume"]), Some(kill));
        let mut again = sandbox.run(&["resume"]);
        if again.stderr.contains("index.lock` exists") {
            fs::remove_file(sandbox.repo.join(".git/index.lock")).unwrap();
            again = sandbox.run(&["resume"]);
        }
        if again.code == 2 {
            has(&again.stderr, "commit or stash these changes");
            sandbox.git("stash -q -u");
            sandbox.run(&["resume"]).ends_with(0);
            assert_eq!(sandbox.git("show stash^3:mine.txt"), "mine\n");
        } else {
            again.ends_with(0);
            assert_eq!(sandbox.git("show HEAD:mine.txt"), "mine\n");
        }
        assert_eq!(sandbox.tasks_now(), TASKS.replace("[ ]", "[x]"));
    }
}

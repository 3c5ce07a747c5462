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

/// A kept run of `c` and then one of `d`, whose first stories are done; HEAD is on `main`.
fn two_kept_runs() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("openspec/changes/d/tasks.md", TASKS);
    sandbox.git("add -A");
    sandbox.git("commit -q -m plans");
    sandbox.agent(&format!(
        "echo $RALPHTOOL_CHANGE$RALPHTOOL_STORY >> $root/started\n{GOOD}"
    ));
    for change in ["c", "d"] {
        sandbox.run(&["loop", change, "--story", "1"]).ends_with(0);
        sandbox.git("switch -q main");
    }
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
fn an_ignored_file_in_the_way_is_not_overwritten_by_a_switch_back() {
    let sandbox = first_story_done();
    sandbox.git("switch -q main");
    sandbox.write(".git/info/exclude", "story-1.txt\n");
    sandbox.write("story-1.txt", "mine");
    for args in [&["loop", "c"][..], &["loop", "c", "--dry-run"]] {
        has(&refused(&sandbox, args), "story-1.txt");
    }
    assert_eq!(sandbox.read("story-1.txt"), "mine");
}

#[test]
fn a_branch_that_is_gone_is_not_replaced_by_doing_its_work_again() {
    let sandbox = first_story_done();
    let tip = sandbox.git("rev-parse HEAD");
    sandbox.git("switch -q main");
    sandbox.git("branch -q -D ralph/c");
    for args in [
        vec!["resume"],
        vec!["loop", "c"],
        vec!["loop", "c", "--dry-run"],
    ] {
        let error = refused(&sandbox, &args);
        has(
            &error,
            "the branch `ralph/c` of the unfinished run of `c` is gone",
        );
        has(&error, &format!("`git branch ralph/c {}`", tip.trim()));
    }
    // What is printed works.
    sandbox.git(&format!("branch ralph/c {}", tip.trim()));
    sandbox.run(&["loop", "c"]).ends_with(0);
    assert_eq!(started(&sandbox), "1 2 ");
}

#[test]
fn a_branch_that_is_gone_is_left_by_a_fresh_start() {
    let sandbox = first_story_done();
    sandbox.git("switch -q main");
    sandbox.git("branch -q -D ralph/c");
    sandbox.run(&["loop", "c", "--fresh"]).ends_with(0);
    assert_eq!(started(&sandbox), "1 1 2 ");
}

#[test]
fn a_kept_run_is_resumed_after_a_run_of_another_change() {
    let sandbox = two_kept_runs();
    let list = sandbox.run(&["list"]).ends_with(0).stdout;
    for change in ["c", "d"] {
        has(&list, &format!("kept: 1/2 on ralph/{change}"));
    }
    let dry = sandbox.run(&["loop", "c", "--dry-run"]).ends_with(0);
    has(&dry.stdout, "would be resumed");
    sandbox.run(&["loop", "c"]).ends_with(0);
    assert_eq!(started(&sandbox), "c1 d1 c2 ");
    assert_eq!(sandbox.branch(), "ralph/c");
    assert_eq!(
        sandbox.commits(),
        ["initial state", "checkpoint: 1", "checkpoint: 2"]
    );
    // The other one can still be resumed, too.
    sandbox.git("switch -q main");
    sandbox.run(&["loop", "d"]).ends_with(0);
    assert_eq!(started(&sandbox), "c1 d1 c2 d2 ");
    assert_eq!(sandbox.branch(), "ralph/d");
    assert_eq!(sandbox.runs().len(), 2);
}

#[test]
fn a_run_that_was_resumed_after_another_one_leads_back_to_where_it_began() {
    let sandbox = two_kept_runs();
    let before = everything(&sandbox.repo);
    sandbox.run(&["loop", "c"]).ends_with(0);
    sandbox.run(&["finish", "--cleanup"]).ends_with(0);
    assert_eq!(sandbox.branch(), "main");
    assert!(sandbox.exists("story-1.txt") && sandbox.exists("story-2.txt"));
    sandbox.run(&["undo"]).ends_with(0);
    assert_eq!(sandbox.branch(), "ralph/c");
    sandbox.run(&["finish", "--abandon"]).ends_with(0);
    assert_eq!(sandbox.branch(), "main");
    // The branch of the run is gone; what is in `.git` otherwise belongs to other tests.
    let tree = |text: &str| {
        let lines = text
            .lines()
            .filter(|line| !line.starts_with(".git/") && !line.ends_with("refs/heads/ralph/c"));
        lines.collect::<Vec<_>>().join("\n")
    };
    assert_eq!(tree(&everything(&sandbox.repo)), tree(&before));
    // The run that was the last one before is it again.
    sandbox.run(&["resume"]).ends_with(0);
    assert_eq!(sandbox.branch(), "ralph/d");
    assert_eq!(started(&sandbox), "c1 d1 c2 d2 ");
}

#[test]
fn a_refused_start_of_an_earlier_run_leaves_the_last_one() {
    let sandbox = two_kept_runs();
    refused(&sandbox, &["loop", "c", "--gate", "no-such-program"]);
    sandbox.run(&["resume"]).ends_with(0);
    assert_eq!(started(&sandbox), "c1 d1 d2 ");
    assert_eq!(sandbox.branch(), "ralph/d");
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
    assert_eq!(
        nothing.stdout,
        "`c`: nothing left to do, 2 stories done\n  ! no gates: the agent's word is the only check\n"
    );
    let dry = sandbox.run(&["loop", "c", "--dry-run"]).ends_with(0);
    assert_eq!(dry.stdout, "`c`: nothing left to do, 2 stories done\n");
    sandbox.git("switch -q main");
    let before = seen(&sandbox);
    let output = sandbox.run(&["loop", "c"]).ends_with(0);
    assert_eq!(
        output.stdout,
        "`c`: all 2 stories are done, on `ralph/c`\n  \
         ! no gates: the agent's word is the only check\n\
         `git switch ralph/c`, then `ralphtool finish --cleanup`: returns to main with the work as \
         uncommitted changes\n\
         `ralphtool run c --fresh` starts over\n"
    );
    assert_eq!(seen(&sandbox), before);
    assert_eq!(started(&sandbox), "1 2 ");
    has(
        &refused(&sandbox, &["resume"]),
        "there is nothing to resume: `c`: all 2 stories are done, on `ralph/c`",
    );
    // What is printed works.
    sandbox.git("switch -q ralph/c");
    sandbox.run(&["finish", "--cleanup"]).ends_with(0);
    assert_eq!(sandbox.branch(), "main");
}

#[test]
fn work_that_is_not_verified_is_not_verified_by_a_second_start() {
    let sandbox = Sandbox::new();
    sandbox.config_and("", "[[gate]]\nname = \"no\"\nrun = \"exit 3\"\n");
    sandbox.run(&["loop", "c"]).ends_with(1);
    let headline = "its run ended: done, but not verified: gate `no` red since before the run\n";
    let nothing = sandbox.run(&["loop", "c"]).ends_with(1);
    assert_eq!(
        nothing.stdout,
        format!("`c`: nothing left to do, 2 stories done\n{headline}")
    );
    let ended = sandbox.events_named("run_ended");
    let nothing = sandbox.run(&["loop", "c", "--json"]).ends_with(1);
    assert_eq!(sandbox::records(&nothing.stdout), ended);
    sandbox.git("switch -q --discard-changes main");
    let before = seen(&sandbox);
    let nothing = sandbox.run(&["loop", "c"]).ends_with(1);
    assert_eq!(
        nothing.stdout.lines().take(2).collect::<Vec<_>>(),
        [
            "`c`: all 2 stories are done, on `ralph/c`",
            headline.trim_end()
        ]
    );
    let nothing = sandbox.run(&["loop", "c", "--json"]).ends_with(1);
    assert_eq!(sandbox::records(&nothing.stdout), ended);
    assert_eq!(seen(&sandbox), before);
}

/// A run of `c` that is done, on its branch, and a third story that is only on `main`.
fn third_story_on_main() -> Sandbox {
    let sandbox = first_story_done();
    sandbox.run(&["loop", "c"]).ends_with(0);
    sandbox.git("switch -q main");
    sandbox.tasks(&format!("{TASKS}\n## 3. Third\n- [ ] 3.1 Do e\n"));
    sandbox.git("commit -qam third");
    sandbox
}

#[test]
fn a_story_that_the_run_did_not_have_is_not_said_to_be_done() {
    let sandbox = third_story_on_main();
    for args in [
        &["loop", "c"][..],
        &["loop", "c", "--story", "3"],
        &["loop"],
    ] {
        assert_eq!(
            refused(&sandbox, args),
            "error: story 3 of `c` has tasks on `main` that its run did not have, and the work of the \
             run is on `ralph/c`\n  \
             hint: `git switch ralph/c` and add them to the plan there; then `ralphtool resume` does \
             them\n  \
             hint: or `git merge ralph/c` here, with the boxes of both plans; then `ralphtool run c` does \
             them in a new run\n"
        );
    }
    // Another story gets a task.
    sandbox.tasks(&TASKS.replace("## 2", "- [ ] 1.3 Do more\n\n## 2"));
    has(
        &refused(&sandbox, &["loop", "c"]),
        "story 1 of `c` has tasks on `main`",
    );
}

#[test]
fn a_story_that_the_run_did_not_have_is_done_after_a_merge_or_on_its_branch() {
    let third = "\n## 3. Third\n- [ ] 3.1 Do e\n";
    let sandbox = third_story_on_main();
    let mut merge = sandbox.command("git");
    merge.args(["merge", "ralph/c"]).output().unwrap();
    sandbox.tasks(&format!("{}{third}", TASKS.replace("[ ]", "[x]")));
    sandbox.git("commit -qam merged");
    sandbox.run(&["loop", "c"]).ends_with(0);
    assert_eq!(started(&sandbox), "1 2 3 ");

    let sandbox = third_story_on_main();
    sandbox.git("switch -q ralph/c");
    sandbox.tasks(&format!("{}{third}", sandbox.tasks_now()));
    sandbox.run(&["resume"]).ends_with(0);
    assert_eq!(started(&sandbox), "1 2 3 ");
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

#[test]
fn what_to_type_next_works_from_where_head_is() {
    let sandbox = first_story_done();
    sandbox.run(&["loop", "c"]).ends_with(0);
    let next = || {
        let status = sandbox.run(&["status", "--json"]).ends_with(0).stdout;
        let status: serde_json::Value = serde_json::from_str(&status).unwrap();
        let steps = status["next"].as_array().unwrap().iter();
        let commands = steps.map(|step| step["command"].as_str().unwrap().to_owned());
        commands.collect::<Vec<_>>()
    };
    let there = ["ralphtool finish --cleanup", "ralphtool log last"];
    assert_eq!(next(), there);
    for place in ["main", "--detach main"] {
        sandbox.git(&format!("switch -q {place}"));
        let elsewhere = [&["git switch ralph/c"], &there[..]].concat();
        assert_eq!(next(), elsewhere);
    }
    sandbox.git("switch ralph/c");
    sandbox.run(&["finish", "--cleanup"]).ends_with(0);
    assert_eq!(next(), ["ralphtool log last", "ralphtool undo"]);
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
fn the_figures_of_a_run_that_was_left_stay() {
    let sandbox = first_story_done();
    let files = |args: &[&str]| {
        let object = sandbox.run(args).ends_with(0).stdout;
        let object: serde_json::Value = serde_json::from_str(&object).unwrap();
        let totals = object.get("totals").unwrap_or(&object);
        totals["changed_files"].as_u64()
    };
    let run = sandbox.runs()[0].file_name().unwrap().to_owned();
    let log = ["log", run.to_str().unwrap(), "--json"];
    let before = (files(&log), files(&["status", "--json"]));
    assert_eq!(before, (Some(2), Some(2)));
    sandbox.run(&["loop", "c", "--fresh"]).ends_with(0);
    assert_eq!(files(&log), Some(2));
    sandbox.run(&["undo"]).ends_with(0);
    assert_eq!((files(&log), files(&["status", "--json"])), before);
}

#[test]
fn what_a_fresh_start_leaves_is_said_as_it_was() {
    // An unfinished run, with HEAD elsewhere.
    let sandbox = killed_in_story_2();
    sandbox.run(&["rewind", "none"]).ends_with(2);
    sandbox.git("switch -q main");
    sandbox.agent(GOOD);
    let output = sandbox.run(&["loop", "c", "--fresh"]).ends_with(0).stdout;
    has(
        &output,
        "a run of `c` was not finished: kept its branch `ralph/c`",
    );
}

#[test]
fn a_fresh_start_says_what_it_saves_of_the_users() {
    let sandbox = first_story_done();
    sandbox.write("a.txt", "mine");
    sandbox.write("notes.txt", "mine");
    let dry = sandbox.run(&["loop", "c", "--fresh", "--dry-run"]);
    has(
        &dry.ends_with(0).stdout,
        "`ralphtool undo` restores it, and what is not committed now",
    );
    let output = sandbox.run(&["loop", "c", "--fresh"]).ends_with(0).stdout;
    has(
        &output,
        "`ralphtool undo` returns to it and restores what was not committed: 1 changed file, 1 \
         untracked file",
    );
    assert!(!sandbox.exists("notes.txt"));
    sandbox.run(&["undo"]).ends_with(0);
    assert_eq!(sandbox.read("notes.txt"), "mine");
    assert_eq!(sandbox.read("a.txt"), "mine");
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

/// A plan outside of the tree, or one that git ignores: story 1 of it is done.
fn plan_in_no_branch(plan: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write(".git/info/exclude", "plan.md\n");
    let path = sandbox.repo.join(plan);
    fs::write(&path, TASKS).unwrap();
    sandbox.agent(&format!(
        "echo $RALPHTOOL_STORY >> $root/started\ntasks='{}'\n{GOOD}",
        path.display()
    ));
    sandbox.run(&["loop", plan, "--story", "1"]).ends_with(0);
    sandbox
}

#[test]
fn a_fresh_start_takes_no_story_for_done_whose_work_is_on_another_branch() {
    for plan in ["plan.md", "../plan.md"] {
        let sandbox = plan_in_no_branch(plan);
        sandbox.git("switch -q main");
        for dry_run in [&["--dry-run"][..], &[]] {
            let told = refused(&sandbox, &[&["loop", plan, "--fresh"], dry_run].concat());
            assert_eq!(
                told,
                "error: story 1 is ticked in `plan.md`, which is in no branch, and its work is on \
                 `ralph/plan` only\n  \
                 hint: `git switch ralph/plan` first: from there `--fresh` opens the boxes as well\n  \
                 hint: or open the boxes of the stories that are to be done again by hand\n"
            );
        }
        sandbox.git("switch -q ralph/plan");
        sandbox.run(&["loop", plan, "--fresh"]).ends_with(0);
        assert_eq!(started(&sandbox), "1 1 2 ");
        // With the work at HEAD there is nothing to be refused.
        let sandbox = plan_in_no_branch(plan);
        sandbox.git("switch -q main");
        sandbox.git("merge -q ralph/plan");
        sandbox.run(&["loop", plan, "--fresh"]).ends_with(0);
        assert_eq!(started(&sandbox), "1 2 ");
        let sandbox = plan_in_no_branch(plan);
        sandbox.git("switch -q main");
        sandbox.git("branch -q -D ralph/plan");
        has(
            &refused(&sandbox, &["loop", plan, "--fresh"]),
            "its work was on `ralph/plan`, which is gone",
        );
    }
}

#[test]
fn a_fresh_start_that_the_run_itself_abandons_leaves_the_task_file_as_it_was() {
    for plan in ["plan.md", "../plan.md"] {
        let sandbox = plan_in_no_branch(plan);
        let half = fs::read_to_string(sandbox.repo.join(plan)).unwrap();
        let args = ["loop", plan, "--fresh", "--gate", "sh -c 'exit 127'"];
        sandbox.run(&args).ends_with(2);
        assert_eq!(sandbox.branch(), "ralph/plan");
        assert_eq!(fs::read_to_string(sandbox.repo.join(plan)).unwrap(), half);
        sandbox.run(&["loop", plan]).ends_with(0);
        assert_eq!(started(&sandbox), "1 2 ");
    }
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

// ---- refused, with nothing moved

/// Ways to ask for a run that is refused only where its plan and settings are read.
const REFUSED: [&[&str]; 3] = [
    &["--gate", "no-such-program"],
    &["--story", "9"],
    &["--agent", "nosuch"],
];

#[test]
fn a_fresh_start_that_is_refused_moves_nothing() {
    let sandbox = first_story_done();
    sandbox.make_dirty();
    let journal = || sandbox.run(&["status", "--json"]).ends_with(0).stdout;
    let before = journal();
    for flags in REFUSED {
        let told = refused(&sandbox, &[&["loop", "c", "--fresh"], flags].concat());
        assert!(!told.contains("returned to"), "{told}");
    }
    assert_eq!(journal(), before);
    // The run is as it was: it can be resumed, and what is undone is what was done before.
    sandbox.run(&["undo"]).ends_with(0);
    sandbox.run(&["loop", "c"]).ends_with(0);
    assert_eq!(started(&sandbox), "1 2 ");
}

#[test]
fn a_fresh_start_with_settings_that_are_not_allowed_moves_nothing() {
    let sandbox = first_story_done();
    sandbox.config("max_retries = 1");
    let before = seen(&sandbox);
    let mut command = sandbox.command(env!("CARGO_BIN_EXE_ralphtool"));
    command.args(["loop", "c", "--fresh"]);
    command.env_remove("RALPHTOOL_TRUST");
    sandbox.start_command(command).end().ends_with(2);
    assert_eq!(seen(&sandbox), before);
}

#[test]
fn a_resumption_that_is_refused_goes_back_to_the_branch_head_was_on() {
    for place in ["switch -q main", "switch -q --detach main"] {
        let sandbox = first_story_done();
        sandbox.git(place);
        sandbox.write("mine.txt", "mine\n");
        sandbox.write("a.txt", "mine\n");
        sandbox.git("add a.txt");
        for flags in REFUSED {
            refused(&sandbox, &[&["loop", "c"], flags].concat());
        }
        refused(&sandbox, &["resume", "--gate", "no-such-program"]);
    }
}

#[test]
fn an_unfinished_run_stays_unfinished_where_a_fresh_start_is_refused() {
    let sandbox = killed_in_story_2();
    // What was interrupted is repaired first.
    sandbox.run(&["rewind", "none"]).ends_with(2);
    for place in ["ralph/c", "main"] {
        sandbox.git(&format!("switch -q {place}"));
        for flags in REFUSED {
            refused(&sandbox, &[&["loop", "c", "--fresh"], flags].concat());
        }
        let status = sandbox.run(&["status", "--json"]).ends_with(0).stdout;
        has(&status, "\"open\": true");
    }
    sandbox.agent(GOOD);
    sandbox.run(&["resume"]).ends_with(0);
    assert_eq!(sandbox.commits().len(), 3);
}

/// A run whose first story is done, and whose program was killed in the second one.
fn killed_in_story_2() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.agent(&format!(
        "[ $RALPHTOOL_STORY = 1 ] || {{ touch $root/ready; sleep 60; }}\n{GOOD}"
    ));
    let running = sandbox.start(&["loop", "c"]);
    let ready = sandbox.root.join("ready");
    sandbox::until("the second story", || sandbox::there(&ready));
    running.kill_all();
    running.end();
    sandbox
}

#[test]
fn a_fresh_start_is_refused_before_it_moves_where_the_user_has_committed_to_the_branch() {
    let sandbox = first_story_done();
    sandbox.git("commit -q --allow-empty -m mine");
    let told = refused(&sandbox, &["loop", "c", "--fresh"]);
    has(&told, "the branch `ralph/c` has commits that the run ");
    has(
        &told,
        "rename it, with HEAD elsewhere: `git switch main`, `git branch -m ralph/c ralph/c-old`",
    );
    sandbox.git("switch -q main");
    sandbox.git("branch -m ralph/c ralph/c-old");
    sandbox.run(&["loop", "c", "--fresh"]).ends_with(0);
    assert_eq!(started(&sandbox), "1 1 2 ");
    assert_eq!(sandbox.git("log --format=%s -1 ralph/c-old"), "mine\n");
}

// ---- the dry run

/// What the dry run says is what the start does: both are refused in the same words.
#[track_caller]
fn refused_both(sandbox: &Sandbox, args: &[&str]) -> String {
    let told = refused(sandbox, &[args, &["--dry-run"]].concat());
    assert_eq!(refused(sandbox, args), told);
    told
}

#[test]
fn a_dry_run_refuses_what_the_start_refuses() {
    let committed = first_story_done();
    committed.git("commit -q --allow-empty -m mine");
    has(
        &refused_both(&committed, &["loop", "c", "--fresh"]),
        "commits that the run",
    );

    let moved = first_story_done();
    moved.git("branch -f main ralph/c");
    has(
        &refused_both(&moved, &["loop", "c", "--fresh"]),
        "`main` has moved",
    );

    let in_the_way = first_story_done();
    in_the_way.git("switch -q main");
    // An edit and a new time are no obstacle.
    in_the_way.write("a.txt", "mine\n");
    in_the_way.write("dir/b.txt", "two\n");
    in_the_way.run(&["loop", "c", "--dry-run"]).ends_with(0);
    in_the_way.write("story-1.txt", "mine\n");
    // Git says it in other words.
    for args in [&["loop", "c"][..], &["resume"]] {
        let dry_run = [args, &["--dry-run"]].concat();
        for told in [refused(&in_the_way, args), refused(&in_the_way, &dry_run)] {
            has(&told, "git cannot switch there from `main`: ");
            has(&told, "story-1.txt");
        }
    }

    let gone = first_story_done();
    gone.git("switch -q main");
    gone.git("branch -q -D ralph/c");
    has(&refused_both(&gone, &["resume"]), "is gone");

    let done = first_story_done();
    done.run(&["loop", "c"]).ends_with(0);
    done.git("switch -q main");
    has(
        &refused_both(&done, &["resume"]),
        "there is nothing to resume",
    );
}

#[test]
fn a_dry_run_of_a_fresh_start_lists_the_stories_that_are_done_again() {
    let sandbox = first_story_done();
    for place in ["ralph/c", "main"] {
        sandbox.git(&format!("switch -q {place}"));
        let plan = sandbox.run(&["loop", "c", "--fresh", "--dry-run"]);
        has(&plan.ends_with(0).stdout, "2 stories\n  1 First");
        let plan = sandbox.run(&["loop", "c", "--dry-run"]).ends_with(0).stdout;
        has(&plan, "1 story\n  2 Second");
    }
}

#[test]
fn a_dry_run_of_a_fresh_start_says_which_run_of_another_change_is_left() {
    let sandbox = Sandbox::new();
    sandbox.write("openspec/changes/d/tasks.md", TASKS);
    sandbox.git("add -A");
    sandbox.git("commit -q -m d");
    sandbox.run(&["loop", "c"]).ends_with(0);
    let plan = sandbox
        .run(&["loop", "d", "--fresh", "--dry-run"])
        .ends_with(0)
        .stdout;
    has(
        &plan,
        "`ralph/d` from `main`: leaves the run of `c`, whose branch `ralph/c` is kept",
    );
    let output = sandbox.run(&["loop", "d", "--fresh"]).ends_with(0).stdout;
    has(
        &output,
        "HEAD was on the branch of a run of `c`: returned to where it began",
    );
}

// ---- the list

/// What `list` says of `c`.
#[track_caller]
fn listed(sandbox: &Sandbox) -> String {
    let rows = sandbox.run(&["list", "--json"]).ends_with(0).stdout;
    let rows: serde_json::Value = serde_json::from_str(&rows).unwrap();
    let mut rows = rows.as_array().unwrap().iter();
    let row = rows.rfind(|row| row["name"] == "c").unwrap();
    row["standing"].as_str().unwrap().to_owned()
}

#[test]
fn the_list_means_the_run_that_a_start_resumes() {
    let sandbox = first_story_done();
    assert_eq!(listed(&sandbox), "story done, 1 warning, kept");
    sandbox.run(&["loop", "c", "--fresh"]).ends_with(0);
    assert_eq!(listed(&sandbox), "done, 1 warning, kept");
    sandbox.run(&["undo"]).ends_with(0);
    assert_eq!(listed(&sandbox), "story done, 1 warning, kept");
    let status = sandbox.run(&["status"]).ends_with(0).stdout;
    has(&status, "story 1 is done; branch kept");
}

#[test]
fn the_list_says_what_keeps_a_new_run_from_its_branch() {
    for (finish, words) in [
        (
            &["finish", "--squash"][..],
            "story done, squashed: 1/2 on ralph/c",
        ),
        (
            &["finish", "--reword"],
            "story done, reworded: 1/2 on ralph/c",
        ),
    ] {
        let sandbox = first_story_done();
        sandbox.run(finish).ends_with(0);
        sandbox.git("switch -q main");
        assert_eq!(listed(&sandbox), words);
        refused(&sandbox, &["loop", "c"]);
        sandbox.git("merge -q ralph/c");
        assert_eq!(listed(&sandbox), "ready");
        sandbox.run(&["loop", "c"]).ends_with(0);
    }
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
fn the_branch_of_a_run_in_another_work_tree_is_not_said_to_be_one_of_no_run() {
    let sandbox = first_story_done();
    sandbox.git("switch -q main");
    sandbox.git("worktree add -q -b side ../other");
    let other = sandbox.root.join("other").display().to_string();
    for flags in [&[][..], &["--dry-run"], &["--fresh"]] {
        let args = [&["-C", &other, "loop", "c"], flags].concat();
        assert_eq!(
            refused(&sandbox, &args),
            "error: the branch `ralph/c` is that of a run in the work tree `ROOT/repo`; it is never \
             replaced\n  hint: `ralphtool -C ROOT/repo status` says how it stands\n"
        );
    }
    sandbox.run(&["resume"]).ends_with(0);
    assert_eq!(started(&sandbox), "1 2 ");
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
    let sandbox = two_kept_runs();
    let tip = sandbox.git("rev-parse ralph/c");
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
    // Each has its own run.
    let list = sandbox.run(&["list"]).ends_with(0).stdout;
    has(&list, "kept: 1/2 on ralph/prd\n");
    has(&list, "kept: 1/1 on ralph/prd-json");
    // The run of the other plan came in between.
    sandbox.agent(&format!("tasks=PRD.md\n{GOOD}"));
    sandbox.run(&["loop", "PRD.md"]).ends_with(0);
    assert_eq!(sandbox.branch(), "ralph/prd");
    assert_eq!(sandbox.runs().len(), 2);
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
fn a_fresh_start_that_is_refused_and_killed_anywhere_is_undone_by_undo() {
    let wrong = ["loop", "c", "--fresh", "--story", "9"];
    let (sandbox, _) = half_done();
    let (_, measured) = sandbox.run_measured(command(&sandbox, &wrong));
    for number in some_of(measured.points) {
        let (sandbox, before) = half_done();
        let kill = sandbox::Kill::AtPoint {
            number,
            with_children: true,
        };
        sandbox.run_killed(command(&sandbox, &wrong), Some(kill));
        // It repairs what was interrupted, and then refuses.
        sandbox.run(&["rewind", "none"]).ends_with(2);
        if seen(&sandbox) != before {
            sandbox.run(&["undo"]).ends_with(0);
        }
        assert_eq!(seen(&sandbox), before, "point {number}");
        sandbox.agent(GOOD);
        sandbox.run(&["resume"]).ends_with(0);
        assert_eq!(sandbox.tasks_now(), TASKS.replace("[ ]", "[x]"));
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

//! Agents that do harm or lie: a failed attempt leaves no trace, whatever it did, and an attempt
//! counts only by the rules.

use crate::sandbox::{self, GOOD, Sandbox, everything, files, there, until};
use pretty_assertions::assert_eq;

/// In a dirty tree one attempt does something and fails: everything is as it was at the checkpoint,
/// and the next run works.
#[track_caller]
fn leaves_no_trace(misdeed: &str) {
    let sandbox = Sandbox::new();
    sandbox.make_dirty();
    let main = sandbox.git("rev-parse main");
    sandbox.agent(&format!(
        "cp -a . \"$root/at-checkpoint\"\n{misdeed}\ncd \"$root\"; failed no"
    ));
    sandbox
        .run(&["loop", "c", "--max-retries", "0", "--on-finish", "keep"])
        .ends_with(1);
    let before = everything(&sandbox.root.join("at-checkpoint"));
    assert_eq!(everything(&sandbox.repo), before);
    assert_eq!(sandbox.branch(), "ralph/c");
    assert_eq!(sandbox.git("rev-parse main"), main);
    assert_eq!(sandbox.git("fsck --no-dangling --connectivity-only"), "");
    sandbox.agent(GOOD);
    sandbox.run(&["loop", "c", "--story", "1"]).ends_with(0);
    assert_eq!(sandbox.git("status --porcelain"), "");
    assert_eq!(sandbox.read("story-1.txt"), "work\n");
}

macro_rules! leaves_no_trace {
    ($($name:ident: $misdeed:expr;)*) => {
        mod a_failed_attempt_leaves_no_trace_when_its_agent {
            $(#[test]
            fn $name() {
                super::leaves_no_trace($misdeed);
            })*
        }
    };
}

leaves_no_trace! {
    does_nothing: ":";
    edits_and_creates: "echo x > a.txt; echo j > junk.txt; mkdir -p j/u; echo n > j/u/nk; echo SECRET=2 > .env";
    deletes_everything_it_can_see: "find . -mindepth 1 -maxdepth 1 ! -name .git ! -name target -exec rm -rf {} +";
    deletes_ignored_files: "rm .env";
    stages: "echo s > s.txt; git add s.txt; git rm -q --cached a.txt; git reset -q -- staged.txt";
    commits: "echo x >> a.txt; git add -A; git commit -q -m agent";
    amends_and_resets: "git add -A; git commit -q --amend --allow-empty -m amended; git reset -q --hard HEAD~1";
    switches_branch: "git checkout -q -f main; echo m > m.txt; git add m.txt; git commit -q -m m";
    detaches_and_deletes_the_branch: "git checkout -q --detach; git branch -q -D ralph/c";
    stashes: "echo s > a.txt; echo u > u.txt; git stash push -q --include-untracked";
    removes_the_stash_by_hand: "rm .git/refs/stash";
    drops_the_stash: "git stash clear; git reflog expire --expire=now --all; git gc -q --prune=now";
    makes_a_nested_repository: "git init -q nested; cd nested; echo n > n; git add n; git commit -q -m n";
    makes_an_empty_nested_repository: "git init -q nested";
    leaves_a_merge_in_progress: "git checkout -q -f -b side main; echo side > a.txt; git commit -q -a -m side; git checkout -q -f ralph/c; git merge -q side; git branch -q -D side";
    leaves_a_rebase_in_progress: "echo 1 > a.txt; git commit -q -a -m 1; git checkout -q --detach HEAD~1; echo 2 > a.txt; git commit -q -a -m 2; git rebase -q ralph/c";
    changes_config_and_hooks: "git config user.name Agent; git config core.bare true; printf '#!/bin/sh\\nexit 1\\n' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit; echo '*.txt' >> .git/info/exclude";
    leaves_locks: "touch .git/index.lock .git/HEAD.lock .git/refs/heads/ralph/c.lock";
    spoils_head_and_index: "echo garbage > .git/index; : > .git/HEAD";
    removes_the_git_directory: "rm -rf .git";
    removes_half_of_the_git_directory: "rm -rf .git/objects .git/refs";
    removes_the_objects: "rm -rf .git/objects";
    re_creates_the_repository: "rm -rf .git; git init -q; git add -A; git commit -q -m again";
    rewrites_its_own_instructions: "echo 'agent = \"none\"' > ralphtool.toml; echo '# nothing' > $tasks; rm -r openspec/changes/c";
    swaps_files_folders_and_links: "rm -r dir; echo f > dir; rm a.txt; mkdir a.txt; echo f > a.txt/f; rm -r untracked; ln -s / untracked";
    changes_modes: "chmod 755 a.txt; chmod 644 untracked/new.txt; chmod 700 dir";
}

#[test]
fn a_stash_made_between_two_starts_survives_the_agent_of_the_second() {
    let sandbox = Sandbox::new();
    sandbox.agent("failed 'not yet'");
    let once = ["--max-retries", "0", "--on-finish", "keep"];
    sandbox
        .run(&[&["loop", "c"], &once[..]].concat())
        .ends_with(1);
    sandbox.write("a.txt", "stashed\n");
    sandbox.git("stash push -q");
    sandbox.agent(
        "git stash clear; git reflog expire --expire=now --all; git gc -q --prune=now; failed again",
    );
    sandbox.run(&[&["resume"], &once[..]].concat()).ends_with(1);
    assert_eq!(sandbox.git("show stash@{0}:a.txt"), "stashed\n");
}

#[test]
fn a_story_is_saved_even_if_its_agent_removed_the_git_directory() {
    let sandbox = Sandbox::new();
    sandbox.agent(&format!("rm -rf .git\n{GOOD}"));
    sandbox
        .run(&["loop", "c", "--on-finish", "keep"])
        .ends_with(0);
    assert_eq!(
        sandbox.commits(),
        ["initial state", "checkpoint: 1", "checkpoint: 2"]
    );
    assert_eq!(sandbox.git("fsck --no-dangling --connectivity-only"), "");
}

#[cfg(target_os = "linux")]
#[test]
fn a_failed_attempt_leaves_no_trace_when_its_agent_leaves_a_writer_in_a_session_of_its_own() {
    leaves_no_trace(
        "setsid sh -c 'trap \"\" INT TERM HUP; echo $$ > \"$0/writer\"; while :; do echo x >> a.txt; echo x > late.txt; done' \"$root\" &
         wait_for \"$root/writer\"",
    );
}

#[cfg(target_os = "linux")]
#[test]
fn what_an_agent_leaves_running_is_ended_and_named() {
    let sandbox = Sandbox::new();
    sandbox.agent(&format!(
        "setsid sh -c 'echo $$ > \"$0/left\"; exec sleep 300' \"$root\" < /dev/null > /dev/null 2>&1 &
         wait_for \"$root/left\"
         {GOOD}"
    ));
    sandbox.run(&["loop", "c", "--story", "1"]).ends_with(0);
    assert_eq!(
        sandbox.warnings(),
        ["swept: the agent left processes running, which were ended: `sleep 300`"]
    );
    let pid = std::fs::read_to_string(sandbox.root.join("left")).unwrap();
    assert!(!std::path::Path::new("/proc").join(pid.trim()).exists());
}

/// One attempt of an agent, and how it failed.
#[track_caller]
fn fails(agent: &str, failure: &str) {
    let sandbox = Sandbox::new();
    sandbox.agent(agent);
    sandbox
        .run(&["loop", "c", "--max-retries", "0"])
        .ends_with(1);
    let failures = sandbox.failures();
    assert!(
        failures.len() == 1 && failures[0].starts_with(failure),
        "{failures:?}"
    );
}

#[test]
fn a_promise_that_is_quoted_echoed_or_taken_back_does_not_count() {
    fails(
        "echo 'I will say <promise>COMPLETE</promise> later.'",
        "1.1 no_signal",
    );
    fails(
        "printf '```\\n<promise>COMPLETE</promise>\\n```\\n'",
        "1.1 no_signal",
    );
    fails("echo '> <promise>COMPLETE</promise>'", "1.1 no_signal");
    fails("printf '%s\\n' \"$prompt\"", "1.1 no_signal");
    fails("complete >&2", "1.1 no_signal");
    fails("complete > answer.txt", "1.1 no_signal");
    fails(
        "complete; failed 'on second thoughts'",
        "1.1 failed: on second thoughts",
    );
}

#[test]
fn the_last_promise_counts_even_with_emphasis_around_it() {
    let sandbox = Sandbox::new();
    sandbox.agent(
        "failed 'not yet'; echo done > done.txt; echo '  **<promise>COMPLETE</promise>**  '",
    );
    sandbox
        .run(&["loop", "c", "--max-retries", "0"])
        .ends_with(0);
}

#[test]
fn boxes_ticked_in_other_stories_are_restored_with_a_warning() {
    let sandbox = Sandbox::new();
    sandbox.agent("echo x > x-$RALPHTOOL_STORY.txt; tick 1; tick 2; complete");
    sandbox.run(&["loop", "c", "--story", "1"]).ends_with(0);
    assert_eq!(
        sandbox.tasks_now(),
        sandbox::TASKS
            .replace("[ ] 1.1", "[x] 1.1")
            .replace("[ ] 1.2", "[x] 1.2")
    );
    let found = sandbox.events_named("tamper_found");
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0]["check"], "boxes");
    assert_eq!(
        found[0]["message"],
        "boxes of other stories were changed and are restored: \
         `2.1 Do c (story 2)`, `2.2 Do d (story 2)`"
    );
}

#[test]
fn a_story_whose_tasks_are_deleted_fails() {
    let sandbox = Sandbox::new();
    let before = files(&sandbox.repo);
    sandbox.agent("printf '## 2. Second\\n- [ ] 2.1 Do c\\n- [ ] 2.2 Do d\\n' > $tasks; complete");
    sandbox
        .run(&["loop", "c", "--max-retries", "0"])
        .ends_with(1);
    let failures = sandbox.failures();
    assert!(failures[0].starts_with("1.1 tasks: "), "{failures:?}");
    assert!(failures[0].contains("1.1 Do a"), "{failures:?}");
    assert_eq!(files(&sandbox.repo), before);
}

#[test]
fn boxes_left_open_are_ticked_with_a_warning() {
    let sandbox = Sandbox::new();
    sandbox.agent("echo x > x.txt; tick 1.1; complete");
    sandbox.run(&["loop", "c", "--story", "1"]).ends_with(0);
    assert_eq!(
        sandbox.warnings(),
        ["ticked: the agent did not tick its tasks; ralphtool ticked them: `1.1 Do a`, `1.2 Do b`"]
    );
}

#[test]
fn strict_tasks_fails_an_attempt_that_leaves_boxes_open_and_names_them() {
    let sandbox = Sandbox::new();
    sandbox.config("strict_tasks = true");
    sandbox.agent(
        "echo x > x-$RALPHTOOL_STORY.txt
         [ $attempt = 1 ] || tick $RALPHTOOL_STORY
         complete",
    );
    sandbox.run(&["loop", "c"]).ends_with(0);
    let failures = sandbox.failures();
    assert_eq!(failures.len(), 2, "{failures:?}");
    assert!(failures[0].starts_with("1.1 tasks: "), "{failures:?}");
    for task in ["1.1 Do a", "1.2 Do b"] {
        assert!(failures[0].contains(task), "{failures:?}");
        let prompt = sandbox.transcript("1.2", "prompt.md");
        let told = prompt.split("Previous Attempt Failed").nth(1).unwrap();
        assert!(told.contains(task), "{told}");
    }
}

#[test]
fn an_attempt_that_changes_nothing_is_warned_about_or_fails_with_require_changes() {
    let sandbox = Sandbox::new();
    sandbox.agent("tick $RALPHTOOL_STORY; complete");
    sandbox.run(&["loop", "c", "--story", "1"]).ends_with(0);
    let warnings = sandbox.warnings();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    sandbox.config("require_changes = true");
    sandbox
        .run(&["loop", "c", "--max-retries", "0"])
        .ends_with(1);
    let failures = sandbox.failures();
    assert!(failures[0].starts_with("2.1 tasks: "), "{failures:?}");
}

/// An attempt that waits until others have done their work, and then fails.
const FAILS_AFTER_THE_OTHERS: &str = r#"
if [ "$RALPHTOOL_CHANGE" = c ]; then
    echo junk > junk.txt
    touch "$root/here"
    wait_for "$root/go"
    failed no
    exit
fi
echo "work" > "story-$RALPHTOOL_STORY.txt"
complete
"#;

#[test]
fn a_failed_attempt_does_not_undo_what_the_user_did_in_another_work_tree() {
    let sandbox = Sandbox::new();
    sandbox.agent(FAILS_AFTER_THE_OTHERS);
    let running = sandbox.start(&["loop", "c", "--max-retries", "0"]);
    until("the agent", || there(&sandbox.root.join("here")));
    sandbox.git("worktree add -q ../other main");
    sandbox.git("-C ../other commit -q --allow-empty -m theirs");
    sandbox.git("tag v1 main");
    std::fs::write(sandbox.root.join("other/a.txt"), "theirs\n").unwrap();
    sandbox.git("-C ../other stash push -q -m theirs");
    let refs = sandbox.git("for-each-ref");
    let stash = sandbox.git("stash list");
    std::fs::write(sandbox.root.join("go"), "").unwrap();
    running.end().ends_with(1);
    assert_eq!(sandbox.git("for-each-ref"), refs);
    assert_eq!(sandbox.git("stash list"), stash);
    assert!(!sandbox.exists("junk.txt"));
    assert_eq!(sandbox.git("-C ../other log -1 --format=%s"), "theirs\n");
}

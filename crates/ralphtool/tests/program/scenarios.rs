//! Every scenario of the requirements, against the real program and real git. Scenarios about
//! stashes are tested with the branch that replaced them.

use crate::sandbox::{self, GOOD, Sandbox, files, files_and_times};
use indoc::indoc;
use pretty_assertions::assert_eq;

/// Fails its first attempt at story 2, with junk; does everything else.
const FAILS_ONCE: &str = r#"
if [ "$RALPHTOOL_STORY.$attempt" = 2.1 ]; then
    echo "junk" > junk.txt
    echo "broken" > story-1.txt
    rm dir/b.txt
    failed "the parser is missing"
    exit
fi
echo "work" > "story-$RALPHTOOL_STORY.txt"
tick "$RALPHTOOL_STORY"
complete
"#;

#[test]
fn save_checkpoint_before_agent_spawn() {
    let sandbox = Sandbox::new();
    sandbox.make_dirty();
    sandbox.agent(&format!(
        "git log -1 --format='%s' > $root/seen.$RALPHTOOL_STORY
         git ls-tree -r --name-only HEAD >> $root/seen.$RALPHTOOL_STORY
         git status --porcelain >> $root/seen.$RALPHTOOL_STORY
         {GOOD}"
    ));
    sandbox.run(&["loop", "c"]).ends_with(0);
    let seen = |story: &str| std::fs::read_to_string(sandbox.root.join(story)).unwrap();
    assert_eq!(
        seen("seen.1"),
        indoc! {"
            initial state
            .gitignore
            a.txt
            dir/b.txt
            openspec/changes/c/tasks.md
            ralphtool.toml
            staged.txt
            untracked/new.txt
        "}
    );
    assert_eq!(
        seen("seen.2"),
        indoc! {"
            checkpoint: 1
            .gitignore
            a.txt
            dir/b.txt
            openspec/changes/c/tasks.md
            ralphtool.toml
            staged.txt
            story-1.txt
            untracked/new.txt
        "}
    );
}

#[test]
fn stash_naming_convention_now_branch_and_commits_are_named() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "openspec/changes/my-feature/tasks.md",
        "## Story one\n- [ ] Do it\n",
    );
    sandbox.agent("echo x > x.txt; complete");
    sandbox.run(&["loop", "my-feature"]).ends_with(0);
    assert_eq!(sandbox.branch(), "ralph/my-feature");
    assert_eq!(
        sandbox.git("log --format=%s main..HEAD"),
        "checkpoint: story-one\ninitial state\n"
    );
    assert_eq!(sandbox.git("stash list"), "");
}

#[test]
fn initialize_checkpoint_branch_at_loop_start() {
    let sandbox = Sandbox::new();
    sandbox.make_dirty();
    let before = files_and_times(&sandbox.repo);
    let main = sandbox.git("rev-parse main");
    sandbox.agent("exit 1");
    sandbox
        .run(&["loop", "c", "--max-retries", "0"])
        .ends_with(1);
    assert_eq!(sandbox.branch(), "ralph/c");
    assert_eq!(sandbox.commits(), ["initial state"]);
    assert_eq!(sandbox.git("rev-parse HEAD~1"), main);
    assert_eq!(sandbox.git("rev-parse main"), main);
    assert_eq!(sandbox.git("status --porcelain"), "");
    assert_eq!(sandbox.git("show HEAD:a.txt"), "one staged and more\n");
    assert_eq!(files_and_times(&sandbox.repo), before);
}

#[test]
fn initialize_checkpoint_branch_at_loop_start_with_nothing_to_commit() {
    let sandbox = Sandbox::new();
    sandbox.agent("exit 1");
    sandbox
        .run(&["loop", "c", "--max-retries", "0"])
        .ends_with(1);
    assert_eq!(sandbox.commits(), ["initial state"]);
    assert_eq!(sandbox.git("diff --stat main HEAD"), "");
}

#[test]
fn save_checkpoint_after_story_completion() {
    let sandbox = Sandbox::new();
    sandbox.agent(
        "echo changed > a.txt; rm dir/b.txt; echo new > new-$RALPHTOOL_STORY.txt
         tick $RALPHTOOL_STORY; complete",
    );
    sandbox.run(&["loop", "c"]).ends_with(0);
    assert_eq!(
        sandbox.commits(),
        ["initial state", "checkpoint: 1", "checkpoint: 2"]
    );
    assert_eq!(
        sandbox.git("diff --name-status --no-renames ralph/c~2 ralph/c~1"),
        "M\ta.txt\nD\tdir/b.txt\nA\tnew-1.txt\nM\topenspec/changes/c/tasks.md\n"
    );
    let body = sandbox.git("log -1 --format=%b ralph/c");
    let run = sandbox.runs().pop().unwrap();
    let run = run.file_name().unwrap().to_string_lossy();
    assert_eq!(
        body.trim(),
        format!("Story: Second\nRun: {run}\nAttempts: 1")
    );
}

#[test]
fn save_checkpoint_after_story_completion_keeps_earlier_stories_in_the_tree() {
    let sandbox = Sandbox::new();
    sandbox.agent(
        "[ $RALPHTOOL_STORY = 1 ] || cp story-1.txt seen-by-2.txt
         echo work > story-$RALPHTOOL_STORY.txt; complete",
    );
    sandbox.run(&["loop", "c"]).ends_with(0);
    assert_eq!(sandbox.read("seen-by-2.txt"), "work\n");
    assert_eq!(sandbox.tasks_now(), sandbox::TASKS.replace("[ ]", "[x]"));
}

#[test]
fn revert_to_checkpoint_on_failure() {
    let sandbox = Sandbox::new();
    sandbox.agent(FAILS_ONCE);
    let output = sandbox.run(&["loop", "c"]).ends_with(0);
    assert!(
        output.stdout.contains("the parser is missing"),
        "{}",
        output.stdout
    );
    assert_eq!(
        sandbox.commits(),
        ["initial state", "checkpoint: 1", "checkpoint: 2"]
    );
    assert_eq!(
        sandbox.git("diff --name-only ralph/c~1 ralph/c"),
        "openspec/changes/c/tasks.md\nstory-2.txt\n"
    );
    assert_eq!(sandbox.failures(), ["2.1 failed: the parser is missing"]);
    let prompt = sandbox.transcript("2.2", "prompt.md");
    assert!(prompt.contains("Previous Attempt Failed"), "{prompt}");
    assert!(prompt.contains("the parser is missing"), "{prompt}");
}

#[test]
fn revert_to_checkpoint_on_failure_without_a_signal_tells_no_reason() {
    let sandbox = Sandbox::new();
    sandbox.agent(&format!(
        "[ $RALPHTOOL_STORY.$attempt != 1.1 ] || {{ echo 'I am done.'; exit 0; }}
         [ $RALPHTOOL_STORY.$attempt != 1.2 ] || {{ echo 'out of memory' >&2; exit 7; }}
         {GOOD}"
    ));
    sandbox.run(&["loop", "c"]).ends_with(0);
    let kinds: Vec<_> = sandbox
        .events_named("attempt_failed")
        .iter()
        .map(|event| event["kind"].clone())
        .collect();
    assert_eq!(kinds, ["no_signal", "crashed"]);
    for attempt in ["1.1", "1.2", "1.3"] {
        let prompt = sandbox.transcript(attempt, "prompt.md");
        assert!(!prompt.contains("out of memory"), "{prompt}");
        assert!(!prompt.contains("I am done"), "{prompt}");
    }
}

#[test]
fn revert_cleans_working_directory() {
    let sandbox = Sandbox::new();
    sandbox.make_dirty();
    let before = files(&sandbox.repo);
    sandbox.agent(
        "echo x > a.txt; rm -r dir untracked; mkdir -p new/deep; echo j > new/deep/junk
         echo j > staged.txt; git add -A; echo SECRET=2 > .env; failed no",
    );
    sandbox
        .run(&["loop", "c", "--max-retries", "1"])
        .ends_with(1);
    assert_eq!(files(&sandbox.repo), before);
    assert_eq!(sandbox.git("status --porcelain"), "");
    assert_eq!(sandbox.failures(), ["1.1 failed: no", "1.2 failed: no"]);
}

#[test]
fn drop_checkpoint_on_success_now_nothing_but_the_branch_is_left() {
    let sandbox = Sandbox::new();
    sandbox.agent(FAILS_ONCE);
    sandbox.run(&["loop", "c"]).ends_with(0);
    assert_eq!(sandbox.git("stash list"), "");
    assert_eq!(
        sandbox.git("for-each-ref --format=%(refname)"),
        "refs/heads/main\nrefs/heads/ralph/c\n"
    );
    assert_eq!(sandbox.git("status --porcelain --ignored"), "");
}

#[test]
fn cleanup_all_change_stashes_now_nothing_is_left_after_success() {
    let sandbox = Sandbox::new();
    sandbox
        .run(&["loop", "c", "--on-finish", "cleanup"])
        .ends_with(0);
    assert_eq!(
        sandbox.git("for-each-ref --format=%(refname)"),
        "refs/heads/main\n"
    );
    assert_eq!(sandbox.git("stash list"), "");
}

#[test]
fn cleanup_all_change_stashes_now_nothing_is_left_after_the_last_retry() {
    let sandbox = Sandbox::new();
    sandbox.make_dirty();
    let stash = sandbox.git("stash list --format=%H");
    sandbox.agent("echo junk > junk.txt; failed no");
    let before = files_and_times(&sandbox.repo);
    let status = sandbox.git("status --porcelain");
    sandbox
        .run(&["loop", "c", "--max-retries", "0", "--on-finish", "cleanup"])
        .ends_with(1);
    assert_eq!(
        sandbox.git("for-each-ref --format=%(refname)"),
        "refs/heads/main\nrefs/stash\n"
    );
    assert_eq!(sandbox.git("stash list --format=%H"), stash);
    assert_eq!(files_and_times(&sandbox.repo), before);
    assert_eq!(sandbox.git("status --porcelain"), status);
}

#[test]
fn stash_lookup_by_name_now_a_parked_attempt_is_found_by_its_name() {
    let sandbox = Sandbox::new();
    sandbox.agent(FAILS_ONCE);
    sandbox.run(&["loop", "c"]).ends_with(0);
    let prompt = sandbox.transcript("2.2", "prompt.md");
    let look = prompt
        .lines()
        .find_map(|line| line.split("cat ").nth(1))
        .unwrap_or_else(|| panic!("no way to look at the attempt:\n{prompt}"));
    let path = look.split(['`', ' ']).next().unwrap();
    let diff = std::fs::read_to_string(path).unwrap();
    for line in ["+junk", "-work", "+broken", "-two"] {
        assert!(diff.lines().any(|found| found == line), "{line} in {diff}");
    }
}

#[test]
fn cleanup_option_selected() {
    let sandbox = Sandbox::new();
    sandbox.make_dirty();
    let main = sandbox.git("rev-parse main");
    sandbox.agent(
        "echo work > story-$RALPHTOOL_STORY.txt; echo more >> dir/b.txt
         [ $RALPHTOOL_STORY = 1 ] || git rm -q --cached a.txt 2>/dev/null; rm -f a.txt
         tick $RALPHTOOL_STORY; complete",
    );
    sandbox
        .run(&["loop", "c", "--on-finish", "cleanup"])
        .ends_with(0);
    assert_eq!(sandbox.branch(), "main");
    assert_eq!(sandbox.git("rev-parse main"), main);
    assert_eq!(
        sandbox.git("status --porcelain --untracked-files=all"),
        indoc! {"
            \u{20}D a.txt
            \u{20}M dir/b.txt
            \u{20}M openspec/changes/c/tasks.md
            A  staged.txt
            ?? story-1.txt
            ?? story-2.txt
            ?? untracked/new.txt
        "}
    );
    assert_eq!(sandbox.read("dir/b.txt"), "two edited\nmore\nmore\n");
    assert_eq!(sandbox.git("branch --format=%(refname:short)"), "main\n");
}

#[test]
fn keep_option_selected() {
    let sandbox = Sandbox::new();
    let main = sandbox.git("rev-parse main");
    let output = sandbox
        .run(&["loop", "c", "--on-finish", "keep"])
        .ends_with(0);
    assert_eq!(sandbox.branch(), "ralph/c");
    assert_eq!(
        sandbox.commits(),
        ["initial state", "checkpoint: 1", "checkpoint: 2"]
    );
    assert_eq!(sandbox.git("rev-parse main"), main);
    assert_eq!(sandbox.git("status --porcelain"), "");
    // The work is here, and the next commands are for here.
    assert!(!output.stdout.contains("git switch"), "{}", output.stdout);
}

#[test]
fn store_original_branch() {
    let sandbox = Sandbox::new();
    sandbox.git("switch -q -c feature/x");
    sandbox
        .run(&["loop", "c", "--on-finish", "cleanup"])
        .ends_with(0);
    assert_eq!(sandbox.branch(), "feature/x");
    assert_eq!(sandbox.events()[0]["original"], "feature/x");
}

#[test]
fn store_original_branch_of_a_detached_head() {
    let sandbox = Sandbox::new();
    sandbox.git("switch -q --detach");
    let head = sandbox.git("rev-parse HEAD");
    sandbox
        .run(&["loop", "c", "--on-finish", "cleanup"])
        .ends_with(0);
    assert_eq!(sandbox.read(".git/HEAD"), head);
    assert_eq!(sandbox.git("status --porcelain").lines().count(), 3);
}

#[test]
fn store_original_branch_without_a_commit() {
    let sandbox = Sandbox::new();
    sandbox.git("update-ref -d HEAD");
    sandbox.git("rm -rq --cached .");
    sandbox
        .run(&["loop", "c", "--on-finish", "cleanup"])
        .ends_with(0);
    assert_eq!(sandbox.read(".git/HEAD"), "ref: refs/heads/main\n");
    assert_eq!(sandbox.git("for-each-ref"), "");
    assert_eq!(sandbox.read("story-2.txt"), "work\n");
}

/// The commands that the summary suggests.
fn commands_told(output: &str) -> Vec<String> {
    let told = output.lines().skip_while(|line| *line != "next").skip(1);
    told.filter_map(|line| line.trim().split_once("  "))
        .map(|(command, _)| command.to_owned())
        .collect()
}

#[test]
fn the_suggested_commands_work_wherever_the_run_began() {
    let begin: [&[&str]; 3] = [
        &[],
        &["switch -q --detach"],
        &["update-ref -d HEAD", "rm -rq --cached ."],
    ];
    for steps in begin {
        let sandbox = Sandbox::new();
        for step in steps {
            sandbox.git(step);
        }
        let output = sandbox.run(&["loop", "c"]).ends_with(0);
        let told = commands_told(&output.stdout);
        assert!(!told.is_empty(), "{}", output.stdout);
        for command in told {
            sandbox.git("switch -q ralph/c");
            let words: Vec<&str> = command.split(' ').collect();
            match words[0] {
                "git" => drop(sandbox.git_args(&words[1..])),
                "ralphtool" => drop(sandbox.run(&words[1..]).ends_with(0)),
                other => panic!("what is {other}?"),
            }
        }
    }
}

#[test]
fn retries_are_three_by_default_and_then_the_loop_stops() {
    let sandbox = Sandbox::new();
    sandbox.agent("echo $attempt > junk.txt; failed \"try $attempt\"");
    let output = sandbox.run(&["loop", "c"]).ends_with(1);
    assert_eq!(
        sandbox.failures(),
        [
            "1.1 failed: try 1",
            "1.2 failed: try 2",
            "1.3 failed: try 3",
            "1.4 failed: try 4"
        ]
    );
    assert_eq!(sandbox.commits(), ["initial state"]);
    assert!(!sandbox.exists("junk.txt"));
    assert!(output.stdout.contains("try 4"), "{}", output.stdout);
}

#[test]
fn a_fresh_start_replaces_the_branch_of_an_earlier_run_and_keeps_its_tip() {
    let sandbox = Sandbox::new();
    sandbox.run(&["loop", "c"]).ends_with(0);
    let old = sandbox.git("rev-parse ralph/c");
    sandbox.git("switch -q main");
    sandbox.run(&["loop", "c", "--fresh"]).ends_with(0);
    assert_eq!(
        sandbox.commits(),
        ["initial state", "checkpoint: 1", "checkpoint: 2"]
    );
    assert!(sandbox.git("rev-parse ralph/c") != old);
    let store = sandbox.vault().join("store");
    let store = format!("--git-dir={}", store.display());
    let kept = sandbox.git_args(&[&store, "for-each-ref", "--format=%(objectname)"]);
    assert!(kept.contains(old.trim()), "{kept}");
}

#[test]
fn no_hook_signature_or_identity_is_needed() {
    let sandbox = Sandbox::new();
    let config = "[commit]\n\tgpgsign = true\n[gpg]\n\tprogram = false\n[core]\n\teditor = false\n";
    std::fs::write(sandbox.root.join("home/.gitconfig"), config).unwrap();
    for hook in ["pre-commit", "post-checkout", "reference-transaction"] {
        let path = format!(".git/hooks/{hook}");
        sandbox.write(&path, "#!/bin/sh\ntouch HOOKED; exit 1\n");
        let path = sandbox.repo.join(path);
        std::fs::set_permissions(path, sandbox::mode(0o755)).unwrap();
    }
    sandbox
        .run(&["loop", "c", "--on-finish", "cleanup"])
        .ends_with(0);
    assert!(!sandbox.exists("HOOKED"));
    assert_eq!(sandbox.branch(), "main");
}

/// Runs to the end with cleanup; during story 2 another commit is added to `main`.
fn with_main_moved(file: &str, text: &str) -> (Sandbox, sandbox::Output) {
    let sandbox = Sandbox::new();
    sandbox.agent(&format!(
        "[ $RALPHTOOL_STORY != 2 ] || {{ echo ours > a.txt; touch $root/here; wait_for $root/go; }}\n{GOOD}"
    ));
    let running = sandbox.start(&["loop", "c", "--on-finish", "cleanup"]);
    sandbox::until("story 2", || sandbox::there(&sandbox.root.join("here")));
    sandbox.git("worktree add -q ../other main");
    std::fs::write(sandbox.root.join("other").join(file), text).unwrap();
    sandbox.git("-C ../other add -A");
    sandbox.git("-C ../other commit -q -m theirs");
    sandbox.git("worktree remove ../other");
    std::fs::write(sandbox.root.join("go"), "").unwrap();
    let output = running.end();
    (sandbox, output)
}

#[test]
fn cleanup_option_selected_when_the_original_branch_moved_on() {
    let (sandbox, output) = with_main_moved("theirs.txt", "theirs\n");
    output.ends_with(0);
    assert_eq!(sandbox.branch(), "main");
    assert_eq!(sandbox.git("log -1 --format=%s"), "theirs\n");
    assert_eq!(
        sandbox.git("status --porcelain"),
        " M a.txt\n M openspec/changes/c/tasks.md\n?? story-1.txt\n?? story-2.txt\n"
    );
    assert_eq!(sandbox.read("theirs.txt"), "theirs\n");
    assert_eq!(sandbox.git("branch --format=%(refname:short)"), "main\n");
}

#[test]
fn cleanup_option_selected_when_it_would_conflict_changes_nothing() {
    let (sandbox, output) = with_main_moved("a.txt", "theirs\n");
    let output = output.ends_with(4);
    assert_eq!(sandbox.branch(), "ralph/c");
    assert_eq!(
        sandbox.commits(),
        ["initial state", "checkpoint: 1", "checkpoint: 2"]
    );
    assert_eq!(sandbox.git("status --porcelain"), "");
    assert_eq!(sandbox.read("a.txt"), "ours\n");
    assert!(output.stdout.contains("a.txt"), "{}", output.stdout);
}

#[test]
fn a_red_gate_fails_the_attempt_and_the_next_prompt_says_why() {
    let sandbox = Sandbox::new();
    sandbox.config_and(
        "",
        "[[gate]]\nname = \"lint\"\nrun = \"if grep -q bad *.txt; then echo style-is-bad; exit 3; fi\"\n",
    );
    sandbox.agent(
        "text=work; [ $RALPHTOOL_STORY.$attempt != 1.1 ] || text=bad
         echo $text > story-$RALPHTOOL_STORY.txt; tick $RALPHTOOL_STORY; complete",
    );
    sandbox.run(&["loop", "c"]).ends_with(0);
    let failures = sandbox.failures();
    assert_eq!(failures.len(), 1, "{failures:?}");
    assert!(failures[0].starts_with("1.1 gate: "), "{failures:?}");
    let prompt = sandbox.transcript("1.2", "prompt.md");
    let told = prompt.split("Previous Attempt Failed").nth(1).unwrap();
    for part in ["lint", "3", "style-is-bad"] {
        assert!(told.contains(part), "{told}");
    }
    let body = sandbox.git("log -1 --format=%b ralph/c~1");
    assert!(body.contains("Attempts: 2\nGates: lint\n"), "{body}");
}

#[test]
fn a_gate_that_was_red_before_is_reported_and_does_not_count() {
    let sandbox = Sandbox::new();
    sandbox
        .run(&["loop", "c", "--max-retries", "0", "--gate", "test -e never"])
        .ends_with(1);
    assert_eq!(sandbox.failures(), Vec::<String>::new());
    let warnings = sandbox.warnings();
    assert!(!warnings.is_empty());
    assert!(
        warnings.iter().all(|it| it.contains("test -e never")),
        "{warnings:?}"
    );
}

#[test]
fn notes_of_an_agent_reach_the_next_one_and_survive_a_revert() {
    let sandbox = Sandbox::new();
    sandbox.agent(&format!(
        "[ $RALPHTOOL_STORY.$attempt != 1.1 ] || {{ echo 'use-the-fast-tests' >> $RALPHTOOL_LEARNINGS; failed no; exit; }}\n{GOOD}"
    ));
    sandbox.run(&["loop", "c"]).ends_with(0);
    for attempt in ["1.2", "2.1"] {
        let prompt = sandbox.transcript(attempt, "prompt.md");
        assert!(prompt.contains("use-the-fast-tests"), "{prompt}");
    }
    assert_eq!(sandbox.git("grep -l . ralph/c").matches("learn").count(), 0);
}

#[test]
fn a_story_that_is_set_aside_is_skipped_and_never_ticked() {
    let sandbox = Sandbox::new();
    let tasks = "## 1. First\n- [~] 1.1 Later\n\n## 2. Second\n- [ ] 2.1 Do it\n- [-] 2.2 Not\n";
    sandbox.tasks(tasks);
    sandbox.agent("echo work > work.txt; complete");
    sandbox.run(&["loop", "c"]).ends_with(0);
    assert_eq!(sandbox.tasks_now(), tasks.replace("[ ] 2.1", "[x] 2.1"));
    assert_eq!(sandbox.events_named("story_skipped")[0]["story"], "1");
    assert_eq!(sandbox.commits(), ["initial state", "checkpoint: 2"]);
}

#[test]
fn commits_the_agent_makes_stay_below_the_checkpoint() {
    let sandbox = Sandbox::new();
    sandbox.agent(
        "echo work > story-$RALPHTOOL_STORY.txt; git add -A; git commit -q -m \"mine $RALPHTOOL_STORY\"
         tick $RALPHTOOL_STORY; complete",
    );
    sandbox.run(&["loop", "c"]).ends_with(0);
    assert_eq!(
        sandbox.commits(),
        [
            "initial state",
            "mine 1",
            "checkpoint: 1",
            "mine 2",
            "checkpoint: 2"
        ]
    );
    assert_eq!(sandbox.git("status --porcelain"), "");
}

#[test]
fn a_run_in_a_linked_work_tree_leaves_the_main_one_alone() {
    let sandbox = Sandbox::new();
    sandbox.git("worktree add -q -b side ../linked");
    let before = sandbox::everything(&sandbox.repo);
    let linked = sandbox.root.join("linked").display().to_string();
    sandbox
        .run(&["-C", &linked, "loop", "c", "--on-finish", "cleanup"])
        .ends_with(0);
    assert_eq!(
        sandbox.git("-C ../linked symbolic-ref --short HEAD"),
        "side\n"
    );
    assert_eq!(
        sandbox
            .git("-C ../linked status --porcelain")
            .lines()
            .count(),
        3
    );
    let after = sandbox::everything(&sandbox.repo);
    let own = |text: &str| {
        let lines = text
            .lines()
            .filter(|line| !line.starts_with(".git/worktrees"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(own(&after), own(&before));
}

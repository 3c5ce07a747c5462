//! `finish --squash` and `--reword`: the commits of a run's branch are written again.

use std::fs;

use crate::sandbox::{GOOD, Sandbox, everything, files};
use pretty_assertions::assert_eq;

#[track_caller]
fn ok(sandbox: &Sandbox, args: &[&str]) -> String {
    sandbox.run(args).ends_with(0).stdout
}

#[track_caller]
fn refused(sandbox: &Sandbox, args: &[&str]) -> String {
    sandbox.run(args).ends_with(2).stderr
}

#[track_caller]
fn has(text: &str, part: &str) {
    assert!(text.contains(part), "`{part}` is not in:\n{text}");
}

/// Everything a finish of this kind leaves alone: files, index, tree and branch.
fn left_alone(sandbox: &Sandbox) -> Vec<String> {
    let files = files(&sandbox.repo);
    let mut found = vec![format!("{files:?}"), sandbox.branch()];
    for args in [
        "status --porcelain",
        "ls-files --stage",
        "rev-parse HEAD^{tree}",
        "rev-parse main",
    ] {
        found.push(sandbox.git(args));
    }
    found
}

fn seen(sandbox: &Sandbox) -> String {
    everything(&sandbox.repo)
}

fn run_of(sandbox: &Sandbox) -> String {
    let run = sandbox.runs().pop().unwrap();
    run.file_name().unwrap().to_str().unwrap().to_owned()
}

fn messages(sandbox: &Sandbox) -> Vec<String> {
    let log = sandbox.git("log --reverse --format=%B%x00 main..ralph/c");
    let messages = log.split('\0').map(|it| it.trim().to_owned());
    messages.filter(|it| !it.is_empty()).collect()
}

#[test]
fn squash_makes_one_commit_of_all_stories_and_undo_restores_them() {
    let sandbox = Sandbox::new();
    sandbox.config_and("", "[[gate]]\nname = \"tests\"\nrun = \"true\"\n");
    sandbox.git("commit -qam gate");
    ok(&sandbox, &["loop", "c"]);
    sandbox.write("mine.txt", "not committed\n");
    sandbox.write("dir/b.txt", "staged\n");
    sandbox.git("add dir/b.txt");
    let (kept, alone) = (seen(&sandbox), left_alone(&sandbox));

    let shown = ok(&sandbox, &["finish", "--squash", "--dry-run"]);
    has(
        &shown,
        "squash: put all work of `c` into one commit on `ralph/c`",
    );
    has(
        &shown,
        "  commit    C\n            - First\n            - Second\n",
    );
    has(&shown, "  files     unchanged\n");
    assert_eq!(seen(&sandbox), kept);

    let told = ok(&sandbox, &["finish", "--squash"]);
    has(&told, "done: `ralph/c` has all work in one commit");
    assert_eq!(left_alone(&sandbox), alone);
    let run = run_of(&sandbox);
    assert_eq!(
        messages(&sandbox),
        [format!("C\n\n- First\n- Second\n\nRun: {run}")]
    );
    assert_eq!(
        sandbox.git("log -1 --format=%an,%ae,%cn,%ce"),
        "User,user@example.com,User,user@example.com\n"
    );
    let finished = sandbox.events_named("finished").pop().unwrap();
    assert_eq!(finished["choice"], "squash");
    assert_eq!(finished["head"], "ralph/c");
    has(&ok(&sandbox, &["log"]), "squashed");
    has(&ok(&sandbox, &["status"]), "squashed into one commit");
    has(
        &refused(&sandbox, &["finish", "--keep"]),
        "`ralphtool undo`",
    );

    has(
        &ok(&sandbox, &["undo"]),
        "ralphtool finish --squash  do it again",
    );
    assert_eq!(seen(&sandbox), kept);
    assert_eq!(
        sandbox.commits(),
        ["initial state", "checkpoint: 1", "checkpoint: 2"]
    );
    assert_eq!(sandbox.git("fsck --no-dangling"), "");
}

#[test]
fn reword_gives_each_commit_the_title_of_its_story_and_drops_an_empty_initial_state() {
    let sandbox = Sandbox::new();
    sandbox.agent(&format!(
        "[ $RALPHTOOL_STORY = 1 ] || {{ echo x > x.txt; git add x.txt; \
         git -c user.name=Agent -c user.email=a@a commit -qm 'by the agent'; }}\n{GOOD}"
    ));
    ok(&sandbox, &["loop", "c"]);
    let (kept, alone) = (seen(&sandbox), left_alone(&sandbox));
    let before = sandbox.git("log --format=%T,%an,%ad,%cn,%cd main..ralph/c");
    let shown = ok(&sandbox, &["finish", "--reword", "--dry-run"]);
    has(
        &shown,
        "  commits   First\n            by the agent\n            Second\n",
    );
    assert_eq!(seen(&sandbox), kept);

    has(
        &ok(&sandbox, &["finish", "--reword"]),
        "`ralph/c` has the new messages",
    );
    assert_eq!(left_alone(&sandbox), alone);
    let run = run_of(&sandbox);
    let message = |title, id| format!("{title}\n\nStory: {id}\nRun: {run}\nAttempts: 1");
    assert_eq!(
        messages(&sandbox),
        [
            message("First", 1),
            "by the agent".to_owned(),
            message("Second", 2)
        ]
    );
    // Trees, authors and dates are those of before, without those of the empty commit.
    let after = sandbox.git("log --format=%T,%an,%ad,%cn,%cd main..ralph/c");
    let without_first = before.trim().rsplit_once('\n').unwrap().0;
    assert_eq!(after.trim(), without_first);
    assert_eq!(sandbox.git("fsck --no-dangling"), "");
    ok(&sandbox, &["undo"]);
    assert_eq!(seen(&sandbox), kept);
}

#[test]
fn commit_message_is_the_template_of_reworded_commits() {
    let sandbox = Sandbox::new();
    sandbox.config("commit_message = \"{change}: {title} ({id})\\n\\n{run} {attempts} {gates}\"");
    sandbox.git("commit -qam settings");
    ok(&sandbox, &["loop", "c", "--gate", "true"]);
    ok(&sandbox, &["finish", "--reword"]);
    let run = run_of(&sandbox);
    assert_eq!(
        messages(&sandbox),
        [
            format!("c: First (1)\n\n{run} 1 true"),
            format!("c: Second (2)\n\n{run} 1 true"),
        ]
    );
    ok(&sandbox, &["undo"]);
    let output = crate::settings::run_with(
        &sandbox,
        &["finish", "--reword"],
        &[("RALPHTOOL_COMMIT_MESSAGE", "{id}. {title}")],
    );
    output.ends_with(0);
    assert_eq!(sandbox.commits(), ["1. First", "2. Second"]);
}

#[test]
fn the_template_of_a_file_that_is_not_allowed_counts() {
    let sandbox = Sandbox::new();
    sandbox.config("commit_message = \"{id}: {title}\"");
    sandbox.git("commit -qam settings");
    ok(&sandbox, &["loop", "c"]);
    let mut command = sandbox.command(env!("CARGO_BIN_EXE_ralphtool"));
    command.env_remove("RALPHTOOL_TRUST");
    let output = command.args(["finish", "--reword"]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(sandbox.commits(), ["1: First", "2: Second"]);
}

#[test]
fn what_was_not_committed_before_the_run_stays_in_the_commits_and_is_named() {
    let sandbox = Sandbox::new();
    sandbox.write("dir/b.txt", "edited before the run\n");
    ok(&sandbox, &["loop", "c"]);
    let shown = ok(&sandbox, &["finish", "--squash", "--dry-run"]);
    has(
        &shown,
        "note      the commit includes what you had not committed: dir/b.txt; to leave it out, \
         `ralphtool finish --cleanup` and commit only what you want",
    );
    ok(&sandbox, &["finish", "--reword"]);
    assert_eq!(sandbox.commits(), ["initial state", "First", "Second"]);
    assert_eq!(
        sandbox.git("show --name-only --format= ralph/c~2"),
        "dir/b.txt\n"
    );
}

#[test]
fn a_kept_branch_names_all_that_was_not_committed_and_a_command_that_leaves_it_out() {
    let sandbox = Sandbox::new();
    for number in 1..=22 {
        sandbox.write(&format!("private-{number:02}.txt"), "private\n");
    }
    ok(&sandbox, &["loop", "c"]);
    let names: Vec<String> = (1..=20).map(|it| format!("private-{it:02}.txt")).collect();
    let initial = sandbox.git("rev-parse --short=10 ralph/c~2");
    let base = sandbox.git("rev-parse --short=10 main");
    let (initial, base) = (initial.trim(), base.trim());
    let command = format!("git switch -c c ralph/c && git rebase --onto {base} {initial}");
    let note = format!(
        "note      the branch includes what you had not committed: {}, and 2 more: `git show --stat \
         {initial}`; `{command}` makes a branch without it\n",
        names.join(", ")
    );
    for args in [
        &["finish", "--reword", "--dry-run"][..],
        &["finish", "--keep", "--dry-run"],
        &["finish", "--keep"],
    ] {
        has(&ok(&sandbox, args), &note);
    }
    let done = sandbox.command("sh").args(["-c", &command]).output();
    assert!(done.unwrap().status.success());
    assert_eq!(
        sandbox.git("log --reverse --format=%s main..c"),
        "checkpoint: 1\ncheckpoint: 2\n"
    );
    assert_eq!(
        sandbox.commits(),
        ["initial state", "checkpoint: 1", "checkpoint: 2"]
    );
}

#[test]
fn squash_names_the_commits_that_the_run_did_not_make() {
    let sandbox = Sandbox::new();
    sandbox.agent(&format!(
        "echo x > x.$RALPHTOOL_STORY; git add .; \
         git -c user.name=Agent -c user.email=a@a commit -qm 'by the agent'\n{GOOD}"
    ));
    ok(&sandbox, &["loop", "c"]);
    sandbox.git("switch -q -c feat main");
    sandbox.write("feat.txt", "by another author\n");
    sandbox.git("add feat.txt");
    sandbox.git("commit -qm feat1");
    sandbox.git("switch -q ralph/c");
    sandbox.git("merge -q -m merged feat");
    let (feat, merge) = (
        sandbox.git("rev-parse --short=10 feat"),
        sandbox.git("rev-parse --short=10 HEAD"),
    );
    let shown = ok(&sandbox, &["finish", "--squash", "--dry-run"]);
    let notes: Vec<&str> = shown
        .lines()
        .filter(|it| it.starts_with("  note"))
        .collect();
    assert_eq!(
        notes,
        [format!(
            "  note      the commit includes 2 commits that the run did not make: {} feat1, {} merged",
            feat.trim(),
            merge.trim()
        )]
    );
}

#[test]
fn squash_of_a_branch_that_was_squashed_before_names_the_stories_of_both_runs() {
    let sandbox = Sandbox::new();
    ok(&sandbox, &["loop", "c", "--story", "1"]);
    ok(&sandbox, &["finish", "--squash"]);
    ok(&sandbox, &["loop", "c", "--story", "2"]);
    assert_eq!(sandbox.commits(), ["C", "initial state", "checkpoint: 2"]);
    ok(&sandbox, &["finish", "--squash"]);
    let runs: Vec<String> = sandbox
        .runs()
        .iter()
        .map(|run| format!("Run: {}", run.file_name().unwrap().to_str().unwrap()))
        .collect();
    assert_eq!(
        messages(&sandbox),
        [format!("C\n\n- First\n- Second\n\n{}", runs.join("\n"))]
    );
    ok(&sandbox, &["undo"]);
    ok(&sandbox, &["finish", "--reword"]);
    assert_eq!(sandbox.commits(), ["C", "Second"]);
}

#[test]
fn squash_builds_on_what_the_branch_has_of_an_original_branch_that_moved_on() {
    let sandbox = Sandbox::new();
    let began = sandbox.git("rev-parse main");
    ok(&sandbox, &["loop", "c"]);
    sandbox.git("switch -q main");
    sandbox.write("other.txt", "from elsewhere\n");
    sandbox.git("add other.txt");
    sandbox.git("commit -qm elsewhere");
    sandbox.git("switch -q ralph/c");
    // The branch has nothing of it.
    ok(&sandbox, &["finish", "--squash"]);
    assert_eq!(sandbox.git("rev-parse ralph/c^"), began);
    assert_eq!(sandbox.commits(), ["C"]);
    ok(&sandbox, &["undo"]);
    // The user merges it: the commit does not undo what came from there, nor repeat it.
    sandbox.git("merge -q -m merged main");
    ok(&sandbox, &["finish", "--squash"]);
    assert_eq!(
        sandbox.git("rev-parse ralph/c^"),
        sandbox.git("rev-parse main")
    );
    assert_eq!(
        sandbox.git("diff --name-only main ralph/c"),
        "openspec/changes/c/tasks.md\nstory-1.txt\nstory-2.txt\n"
    );
    ok(&sandbox, &["undo"]);
    ok(&sandbox, &["finish", "--reword"]);
    assert_eq!(sandbox.commits(), ["First", "Second", "merged"]);
    ok(&sandbox, &["undo"]);
    // All of it is there already.
    sandbox.git("branch -f main ralph/c");
    let before = seen(&sandbox);
    has(
        &refused(&sandbox, &["finish", "--squash"]),
        "`main` already has all commits of `ralph/c`; nothing was changed",
    );
    assert_eq!(seen(&sandbox), before);
}

#[test]
fn squash_and_reword_are_refused_on_another_branch_and_without_a_finished_story() {
    let sandbox = Sandbox::new();
    ok(&sandbox, &["loop", "c"]);
    sandbox.git("switch -q main");
    for flag in ["--squash", "--reword"] {
        let told = refused(&sandbox, &["finish", flag]);
        has(&told, "`git switch ralph/c` first");
    }
    sandbox.git("switch -q ralph/c");
    ok(&sandbox, &["rewind", "1"]);
    let before = seen(&sandbox);
    let told = refused(&sandbox, &["finish", "--squash"]);
    has(
        &told,
        "`ralph/c` has no commit of a finished story, so there is nothing to squash",
    );
    let told = refused(&sandbox, &["finish", "--reword"]);
    has(&told, "nothing to reword");
    assert_eq!(seen(&sandbox), before);
}

#[test]
fn a_run_on_a_squashed_branch_still_returns_to_the_original_branch() {
    let sandbox = Sandbox::new();
    ok(&sandbox, &["loop", "c", "--story", "1"]);
    ok(&sandbox, &["finish", "--squash"]);
    ok(&sandbox, &["loop", "c"]);
    ok(&sandbox, &["finish", "--cleanup"]);
    assert_eq!(sandbox.branch(), "main");
    let status = sandbox.git("status --porcelain");
    has(&status, "?? story-1.txt");
    has(&status, "?? story-2.txt");
}

#[test]
fn squash_of_a_run_on_a_branch_without_a_commit_is_the_first_commit() {
    let sandbox = Sandbox::new();
    fs::remove_dir_all(sandbox.repo.join(".git")).unwrap();
    sandbox.git("init -q -b main --template=");
    ok(&sandbox, &["loop", "c"]);
    let tree = sandbox.git("rev-parse HEAD^{tree}");
    ok(&sandbox, &["finish", "--squash"]);
    assert_eq!(sandbox.git("log --format=%s,%p"), "C,\n");
    assert_eq!(sandbox.git("rev-parse HEAD^{tree}"), tree);
}

#[test]
fn the_events_say_what_was_undone() {
    let sandbox = Sandbox::new();
    ok(&sandbox, &["loop", "c"]);
    for args in [
        &["finish", "--squash"][..],
        &["undo"],
        &["finish", "--reword"],
        &["undo"],
        &["finish", "--cleanup"],
        &["undo"],
        &["rewind", "2"],
        &["undo"],
    ] {
        ok(&sandbox, args);
    }
    let events = ok(&sandbox, &["log", "last", "--events"]);
    let lines = events.lines().skip_while(|line| !line.contains("squashed"));
    let lines = lines.take_while(|line| !line.is_empty());
    let said: Vec<&str> = lines
        .filter_map(|line| line.split_once(' '))
        .map(|it| it.1)
        .collect();
    assert_eq!(
        said,
        [
            "squashed into one commit",
            "undone: the squash",
            "commits reworded",
            "undone: the reword",
            "undone: the cleanup",
            "rewound to before story 2",
            "undone: the rewind",
        ]
    );
}

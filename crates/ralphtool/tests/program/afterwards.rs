//! What follows a run: `resume`, `finish`, `undo`, `rewind` and `attempts`, with the real program.

use std::fs;
use std::path::Path;

use crate::sandbox::{self, GOOD, Output, Sandbox, TASKS, everything, files};
use pretty_assertions::assert_eq;
use serde_json::Value;

/// The first story is done; the second makes, changes and deletes files, and fails.
const HALF: &str = r#"
if [ "$RALPHTOOL_STORY" = 1 ]; then
    echo work > story-1.txt; tick 1; complete; exit
fi
echo "try $attempt" > junk.txt
echo "try $attempt" > dir/b.txt
echo "SECRET=$attempt" > .env
rm -f a.txt
failed "no luck with try $attempt"
"#;

/// A dirty tree that is hard to restore: also a file that is only staged, and one to be added.
fn dirty() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.make_dirty();
    sandbox.write("only-staged.txt", "only in the index\n");
    sandbox.git("add only-staged.txt");
    fs::remove_file(sandbox.repo.join("only-staged.txt")).unwrap();
    sandbox.write("intended.txt", "later\n");
    sandbox.git("add -N intended.txt");
    sandbox
}

/// Everything but the id that ties the repository to its vault.
fn seen(sandbox: &Sandbox) -> String {
    let text = everything(&sandbox.repo);
    let lines = text.lines();
    let lines = lines.filter(|line| !line.starts_with(".git/ralphtool.id"));
    lines.collect::<Vec<_>>().join("\n")
}

/// A run that used up its attempts at story 2; its branch is kept.
fn half(sandbox: &Sandbox) {
    sandbox.agent(HALF);
    let output = sandbox.run(&["loop", "c", "--max-retries", "1"]);
    output.ends_with(1);
}

#[track_caller]
fn ok(sandbox: &Sandbox, args: &[&str]) -> String {
    sandbox.run(args).ends_with(0).stdout
}

#[track_caller]
fn refused(sandbox: &Sandbox, args: &[&str]) -> String {
    let Output { stdout, stderr, .. } = sandbox.run(args).ends_with(2);
    assert_eq!(stdout, "");
    stderr
}

#[track_caller]
fn json(sandbox: &Sandbox, args: &[&str]) -> Value {
    let text = ok(sandbox, args);
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[track_caller]
fn has(text: &str, part: &str) {
    assert!(text.contains(part), "`{part}` is not in:\n{text}");
}

// ---- abandon

#[test]
fn abandon_restores_everything_exactly_and_undo_reverts_it() {
    let sandbox = dirty();
    let before = seen(&sandbox);
    half(&sandbox);
    let after_run = seen(&sandbox);
    let told = ok(&sandbox, &["finish", "--abandon"]);
    has(&told, "HEAD      is on `main`");
    has(&told, "`ralph/c` was deleted");
    has(&told, "ralphtool undo");
    assert_eq!(seen(&sandbox), before);
    let finished = sandbox.events_named("finished").pop().unwrap();
    assert_eq!(finished["choice"], "abandon");
    assert_eq!(finished["head"], "main");

    let told = ok(&sandbox, &["undo"]);
    has(&told, "the run is open again");
    has(&told, "ralphtool resume");
    assert_eq!(seen(&sandbox), after_run);
    // It is an open run now, and abandoning that works just as well.
    ok(&sandbox, &["finish", "--abandon"]);
    assert_eq!(seen(&sandbox), before);
    has(
        &refused(&sandbox, &["finish", "--abandon"]),
        "ralphtool undo",
    );
}

#[test]
fn status_after_an_abandon_names_no_branch_and_a_new_run() {
    let sandbox = Sandbox::new();
    sandbox.run(&["loop", "c", "--story", "1"]).ends_with(0);
    ok(&sandbox, &["finish", "--abandon"]);
    let status = ok(&sandbox, &["status"]);
    assert!(!status.contains("  branch"), "{status}");
    has(&status, "ralphtool run c     starts a new run");
}

#[test]
fn abandon_of_a_finished_run_moves_later_edits_to_the_vault() {
    let sandbox = dirty();
    let before = seen(&sandbox);
    ok(&sandbox, &["loop", "c"]);
    sandbox.write("story-1.txt", "edited by hand\n");
    sandbox.write("mine.txt", "mine\n");
    ok(&sandbox, &["finish", "--abandon"]);
    assert_eq!(seen(&sandbox), before);
    ok(&sandbox, &["undo"]);
    assert_eq!(sandbox.read("story-1.txt"), "edited by hand\n");
    assert_eq!(sandbox.read("mine.txt"), "mine\n");
}

#[test]
fn abandon_leaves_a_remote_an_upstream_and_a_setting_that_were_added_after_the_run() {
    let sandbox = Sandbox::new();
    ok(&sandbox, &["loop", "c"]);
    let upstream = sandbox.root.join("upstream.git");
    sandbox.git_args(&["init", "-q", "--bare", upstream.to_str().unwrap()]);
    sandbox.git_args(&["remote", "add", "origin", upstream.to_str().unwrap()]);
    sandbox.git("push -q -u origin ralph/c:c");
    sandbox.git("config user.email me@example.com");
    let config = sandbox.read(".git/config");
    let told = ok(&sandbox, &["finish", "--abandon"]);
    assert_eq!(sandbox.read(".git/config"), config);
    assert!(!told.contains("restored in the git directory"), "{told}");
    ok(&sandbox, &["undo"]);
    assert_eq!(sandbox.read(".git/config"), config);
    ok(&sandbox, &["rewind", "2"]);
    assert_eq!(sandbox.read(".git/config"), config);
    ok(&sandbox, &["finish", "--abandon"]);
    assert_eq!(sandbox.read(".git/config"), config);
}

#[test]
fn abandon_is_refused_where_the_original_branch_has_moved() {
    let sandbox = dirty();
    half(&sandbox);
    sandbox.git("branch -f main ralph/c");
    let before = seen(&sandbox);
    let told = refused(&sandbox, &["finish", "--abandon"]);
    has(&told, "`main` has moved since");
    has(&told, "--cleanup");
    assert_eq!(seen(&sandbox), before);
    // The refusal left the run a kept one.
    has(&ok(&sandbox, &["finish", "--keep"]), "already kept");
}

#[test]
fn abandon_restores_a_detached_head_and_a_branch_without_a_commit() {
    let begin: [&[&str]; 2] = [
        &["switch -q --detach"],
        &["update-ref -d HEAD", "rm -rq --cached ."],
    ];
    for steps in begin {
        let sandbox = Sandbox::new();
        for step in steps {
            sandbox.git(step);
        }
        let before = seen(&sandbox);
        ok(&sandbox, &["loop", "c"]);
        let after = seen(&sandbox);
        ok(&sandbox, &["finish", "--abandon"]);
        assert_eq!(seen(&sandbox), before);
        ok(&sandbox, &["undo"]);
        assert_eq!(seen(&sandbox), after);
        ok(&sandbox, &["finish", "--cleanup"]);
        assert_eq!(sandbox.read("story-2.txt"), "work\n");
        ok(&sandbox, &["undo"]);
        assert_eq!(seen(&sandbox), after);
    }
}

#[test]
fn abandon_re_creates_a_deleted_original_branch() {
    let sandbox = dirty();
    let before = seen(&sandbox);
    half(&sandbox);
    sandbox.git("branch -q -D main");
    ok(&sandbox, &["finish", "--abandon"]);
    assert_eq!(seen(&sandbox), before);
}

#[test]
fn finish_undo_and_rewind_work_in_a_linked_work_tree() {
    let sandbox = Sandbox::new();
    let linked = sandbox.root.join("linked");
    sandbox.git_args(&[
        "worktree",
        "add",
        "-q",
        linked.to_str().unwrap(),
        "-b",
        "side",
    ]);
    fs::write(linked.join("a.txt"), "edited\n").unwrap();
    let before = files(&linked);
    let directory = linked.to_str().unwrap();
    ok(&sandbox, &["-C", directory, "loop", "c"]);
    let after = files(&linked);
    ok(&sandbox, &["-C", directory, "finish", "--abandon"]);
    assert_eq!(files(&linked), before);
    let head = sandbox.git_args(&["-C", directory, "symbolic-ref", "HEAD"]);
    assert_eq!(head, "refs/heads/side\n");
    ok(&sandbox, &["-C", directory, "undo"]);
    assert_eq!(files(&linked), after);
    ok(&sandbox, &["-C", directory, "finish", "--cleanup"]);
    assert_eq!(files(&linked), after);
    assert_eq!(sandbox.branch(), "main");
}

// ---- cleanup and keep

#[test]
fn cleanup_of_a_kept_run_restores_staging_and_undo_restores_the_branch() {
    let sandbox = dirty();
    ok(&sandbox, &["loop", "c"]);
    let kept = seen(&sandbox);
    let tree = files(&sandbox.repo);
    let told = ok(&sandbox, &["finish", "--cleanup"]);
    has(&told, "files     unchanged");
    assert_eq!(files(&sandbox.repo), tree);
    assert_eq!(sandbox.branch(), "main");
    let status = sandbox.git("status --porcelain");
    for line in [
        "A  staged.txt",
        "MM a.txt",
        " M dir/b.txt",
        "?? story-1.txt",
    ] {
        has(&status, line);
    }
    assert_eq!(sandbox.git("branch --list ralph/*"), "");
    ok(&sandbox, &["undo"]);
    assert_eq!(seen(&sandbox), kept);
}

#[test]
fn edits_made_after_a_cleanup_survive_its_undo() {
    let sandbox = Sandbox::new();
    ok(&sandbox, &["loop", "c", "--on-finish", "cleanup"]);
    sandbox.write("story-1.txt", "edited since\n");
    sandbox.write("mine.txt", "mine\n");
    fs::remove_file(sandbox.repo.join("story-2.txt")).unwrap();
    ok(&sandbox, &["undo"]);
    assert_eq!(sandbox.branch(), "ralph/c");
    assert_eq!(sandbox.read("story-1.txt"), "edited since\n");
    assert_eq!(sandbox.read("mine.txt"), "mine\n");
    assert!(!sandbox.exists("story-2.txt"));
}

#[test]
fn cleanup_merges_onto_a_branch_that_moved_and_can_be_undone() {
    let sandbox = dirty();
    ok(&sandbox, &["loop", "c"]);
    let commit = commit_on_main(&sandbox, "other.txt", "from elsewhere\n");
    let kept = seen(&sandbox);
    let told = ok(&sandbox, &["finish", "--cleanup"]);
    has(&told, "1 file: other.txt");
    assert_eq!(sandbox.git("rev-parse HEAD").trim(), commit);
    assert_eq!(sandbox.read("other.txt"), "from elsewhere\n");
    assert_eq!(sandbox.read("story-2.txt"), "work\n");
    let status = sandbox.git("status --porcelain");
    assert!(!status.contains("other.txt"), "{status}");
    ok(&sandbox, &["undo"]);
    assert_eq!(seen(&sandbox), kept);
}

#[test]
fn cleanup_that_would_conflict_changes_nothing_and_names_two_ways_to_continue() {
    let sandbox = Sandbox::new();
    sandbox.agent(&GOOD.replace("complete", "echo agent > a.txt; complete"));
    ok(&sandbox, &["loop", "c"]);
    commit_on_main(&sandbox, "a.txt", "from elsewhere\n");
    let before = seen(&sandbox);
    let told = refused(&sandbox, &["finish", "--cleanup"]);
    has(
        &told,
        "conflicts with `ralph/c` in a.txt; nothing was changed",
    );
    has(&told, "git merge main");
    has(&told, "git merge --squash ralph/c");
    assert_eq!(seen(&sandbox), before);
    has(&ok(&sandbox, &["finish", "--keep"]), "already kept");
}

#[test]
fn cleanup_rewind_and_undo_on_another_branch_are_refused_with_the_command_to_switch() {
    let sandbox = Sandbox::new();
    ok(&sandbox, &["loop", "c"]);
    sandbox.git("switch -q main");
    let before = seen(&sandbox);
    for args in [&["finish", "--cleanup"][..], &["rewind", "2"]] {
        has(&refused(&sandbox, args), "`git switch ralph/c` first");
    }
    assert_eq!(seen(&sandbox), before);
    sandbox.git("switch -q ralph/c");
    sandbox.git("branch -q -D main");
    let told = refused(&sandbox, &["finish", "--cleanup"]);
    has(&told, "`main` no longer exists");
    sandbox.git("branch main ralph/c~3");
    ok(&sandbox, &["finish", "--cleanup"]);
    sandbox.git("switch -q -c elsewhere");
    let before = seen(&sandbox);
    has(&refused(&sandbox, &["undo"]), "`git switch main` first");
    sandbox.git("switch -q main");
    sandbox.git("branch ralph/c");
    has(&refused(&sandbox, &["undo"]), "`ralph/c` has changed since");
    sandbox.git("branch -q -m ralph/c other");
    ok(&sandbox, &["undo"]);
    assert_ne!(seen(&sandbox), before);
    assert_eq!(sandbox.commits().len(), 3);
}

/// A commit on `main` with one more file, made without touching tree or index.
fn commit_on_main(sandbox: &Sandbox, path: &str, text: &str) -> String {
    let index = sandbox.root.join("other-index");
    let other = sandbox.root.join("other");
    fs::create_dir_all(&other).unwrap();
    fs::write(other.join(path), text).unwrap();
    let script = format!(
        "export GIT_INDEX_FILE={index}; git read-tree main && blob=$(git hash-object -w {file}) && \
         git update-index --add --cacheinfo 100644,$blob,{path} && tree=$(git write-tree) && \
         commit=$(git commit-tree -p main -m elsewhere $tree) && \
         git update-ref refs/heads/main $commit && printf %s $commit",
        index = index.display(),
        file = other.join(path).display(),
    );
    let output = sandbox
        .command("sh")
        .args(["-c", &script])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn keep_ends_an_open_run_and_undo_reopens_it() {
    let sandbox = Sandbox::new();
    ok(&sandbox, &["loop", "c"]);
    let before = seen(&sandbox);
    has(
        &ok(&sandbox, &["undo"]),
        "the keep is undone, and the run is open again",
    );
    has(
        &ok(&sandbox, &["finish", "--keep"]),
        "the commits are on `ralph/c`",
    );
    has(&ok(&sandbox, &["finish", "--keep"]), "already kept");
    assert_eq!(seen(&sandbox), before);
}

// ---- rewind and resume

#[test]
fn a_rewound_story_is_done_again_under_a_new_number() {
    let sandbox = dirty();
    sandbox.agent(&format!(
        "echo ${{RALPHTOOL_ATTEMPT##*/}} >> $root/started\n{GOOD}"
    ));
    ok(&sandbox, &["loop", "c"]);
    let done = seen(&sandbox);
    let tip = sandbox.git("rev-parse ralph/c");
    let told = ok(&sandbox, &["rewind", "2"]);
    has(
        &told,
        "stories   2: their checkpoints were removed (they stay in the vault)",
    );
    has(&told, "to vault  1 file: story-2.txt");
    has(&told, "ralphtool resume");
    assert_eq!(sandbox.commits(), ["initial state", "checkpoint: 1"]);
    assert!(!sandbox.exists("story-2.txt"));
    has(&sandbox.tasks_now(), "- [ ] 2.1");
    has(&sandbox.tasks_now(), "- [x] 1.1");
    assert_eq!(sandbox.read(".env"), "SECRET=1\n");

    ok(&sandbox, &["undo"]);
    assert_eq!(seen(&sandbox), done);
    assert_eq!(sandbox.git("rev-parse ralph/c"), tip);

    ok(&sandbox, &["rewind", "1"]);
    assert_eq!(sandbox.commits(), ["initial state"]);
    assert_eq!(sandbox.tasks_now(), TASKS);
    let told = ok(&sandbox, &["resume"]);
    has(&told, "all stories are done");
    assert_eq!(sandbox.runs().len(), 1);
    let started = fs::read_to_string(sandbox.root.join("started")).unwrap();
    assert_eq!(started, "1.1\n2.1\n1.2\n2.2\n");
    assert_eq!(
        sandbox.commits(),
        ["initial state", "checkpoint: 1", "checkpoint: 2"]
    );
    // An agent has started since: what came before cannot be undone any more, but the keep can.
    ok(&sandbox, &["undo"]);
    has(&refused(&sandbox, &["undo"]), "there is nothing to undo");
}

#[test]
fn a_story_without_a_checkpoint_cannot_be_rewound_to() {
    let sandbox = Sandbox::new();
    has(
        &refused(&sandbox, &["rewind", "1"]),
        "there is no run to rewind here",
    );
    half(&sandbox);
    let before = seen(&sandbox);
    let told = refused(&sandbox, &["rewind", "2"]);
    has(&told, "no checkpoint of story `2`");
    has(&told, "stories done in this run: 1");
    assert_eq!(seen(&sandbox), before);
    has(&ok(&sandbox, &["finish", "--keep"]), "already kept");
}

#[test]
fn rewind_and_its_undo_restore_a_task_file_outside_the_tree() {
    let sandbox = Sandbox::new();
    let plan = sandbox.root.join("plan.md");
    fs::write(&plan, TASKS).unwrap();
    sandbox.agent(&format!("tasks=$root/plan.md\n{GOOD}"));
    ok(&sandbox, &["loop", plan.to_str().unwrap()]);
    let done = TASKS.replace("[ ]", "[x]");
    assert_eq!(fs::read_to_string(&plan).unwrap(), done);
    ok(&sandbox, &["rewind", "2"]);
    let half = fs::read_to_string(&plan).unwrap();
    has(&half, "- [x] 1.2");
    has(&half, "- [ ] 2.1");
    ok(&sandbox, &["undo"]);
    assert_eq!(fs::read_to_string(&plan).unwrap(), done);
    ok(&sandbox, &["rewind", "2"]);
    // The run knows where its plan is, whatever it is called.
    has(&ok(&sandbox, &["resume"]), "all stories are done");
    assert_eq!(fs::read_to_string(&plan).unwrap(), done);
    ok(&sandbox, &["finish", "--abandon"]);
    assert_eq!(fs::read_to_string(&plan).unwrap(), TASKS);
    ok(&sandbox, &["undo"]);
    assert_eq!(fs::read_to_string(&plan).unwrap(), done);
}

#[test]
fn resume_continues_a_kept_run_that_has_stories_left() {
    let sandbox = dirty();
    half(&sandbox);
    let told = ok(&sandbox, &["resume", "--dry-run"]);
    has(&told, "resume");
    sandbox.agent(GOOD);
    let told = ok(&sandbox, &["resume", "--on-finish", "cleanup"]);
    has(&told, "all stories are done");
    assert_eq!(sandbox.runs().len(), 1);
    assert_eq!(sandbox.branch(), "main");
    assert_eq!(sandbox.tasks_now(), TASKS.replace("[ ]", "[x]"));
    let prompt = sandbox.transcript("2.3", "prompt.md");
    has(&prompt, "no luck with try 2");
}

#[test]
fn resume_finish_and_undo_without_a_run_say_so_and_touch_nothing() {
    let sandbox = Sandbox::new();
    let before = everything(&sandbox.repo);
    has(
        &refused(&sandbox, &["resume"]),
        "there is no run to resume here",
    );
    for choice in ["--cleanup", "--keep", "--abandon"] {
        has(
            &refused(&sandbox, &["finish", choice]),
            "there is no run to finish here",
        );
    }
    has(&refused(&sandbox, &["undo"]), "there is nothing to undo");
    assert_eq!(everything(&sandbox.repo), before);
    ok(&sandbox, &["loop", "c"]);
    let told = refused(&sandbox, &["resume"]);
    has(&told, "there is nothing to resume");
    has(&told, "ralphtool finish --cleanup");
    let told = refused(&sandbox, &["finish"]);
    has(&told, "--cleanup");
    has(&told, "--abandon");
    refused(&sandbox, &["finish", "--keep", "--abandon"]);
    ok(&sandbox, &["finish", "--cleanup"]);
    has(&refused(&sandbox, &["finish", "--keep"]), "ralphtool undo");
    has(&refused(&sandbox, &["resume"]), "there is no run to resume");
}

// ---- attempts

#[test]
fn attempts_are_listed_shown_and_their_diff_printed() {
    let sandbox = Sandbox::new();
    has(&ok(&sandbox, &["attempts"]), "no attempt");
    half(&sandbox);
    let told = ok(&sandbox, &["attempts"]);
    has(&told, "2.1");
    has(&told, "no luck with try 2");
    has(
        &ok(&sandbox, &["attempts", "1"]),
        "no attempt of story 1 failed",
    );
    let listed = json(&sandbox, &["attempts", "2", "--json"]);
    let labels: Vec<&str> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["attempt"].as_str().unwrap())
        .collect();
    assert_eq!(labels, ["2.1", "2.2"]);
    assert_eq!(listed[0]["kind"], "failed");
    assert_eq!(listed[0]["changed_files"], 3);

    let told = ok(&sandbox, &["attempts", "show", "2.1"]);
    for part in [
        "no luck with try 1",
        "  A junk.txt",
        "  M dir/b.txt",
        "  D a.txt",
        "  A .env  (ignored",
        "ralphtool attempts restore 2.1",
    ] {
        has(&told, part);
    }
    let shown = json(&sandbox, &["attempts", "show", "2.1", "--json"]);
    assert!(
        Path::new(shown["transcript"].as_str().unwrap())
            .join("prompt.md")
            .exists()
    );
    let output = sandbox.run(&["attempts", "diff", "2.1"]).ends_with(0);
    assert_eq!(output.stdout, sandbox.transcript("2.1", "changes.diff"));
    has(&output.stdout, "+try 1");
    has(&output.stderr, ".env");
    has(
        &refused(&sandbox, &["attempts", "show", "2.9"]),
        "parked are: 2.",
    );
    has(
        &refused(&sandbox, &["attempts", "show", "2.1", "--run", "x"]),
        "runs that have some",
    );
}

#[test]
fn attempts_of_a_story_that_no_run_has_are_an_error() {
    let sandbox = Sandbox::new();
    half(&sandbox);
    let told = refused(&sandbox, &["attempts", "foo"]);
    assert_eq!(
        told,
        "error: no run here has a story `foo`\n  hint: known stories: 1, 2\n"
    );
    refused(&sandbox, &["attempts", "foo", "--all", "--json"]);
    has(&ok(&sandbox, &["attempts", "1"]), "no attempt of story 1");
}

#[test]
fn attempts_can_be_shown_during_a_run_but_not_restored() {
    let sandbox = Sandbox::new();
    sandbox.agent(
        "if [ $attempt = 1 ]; then echo junk > junk.txt; failed 'not yet'; exit; fi\n\
         touch $root/waits; wait_for $root/go; echo work > \"$RALPHTOOL_STORY.txt\"; \
         tick \"$RALPHTOOL_STORY\"; complete",
    );
    let running = sandbox.start(&["loop", "c"]);
    sandbox::until("the second attempt", || {
        sandbox::there(&sandbox.root.join("waits"))
    });
    has(&ok(&sandbox, &["attempts"]), "not yet");
    has(&ok(&sandbox, &["attempts", "show", "1.1"]), "A junk.txt");
    has(&ok(&sandbox, &["attempts", "diff", "1.1"]), "+junk");
    for args in [
        &["attempts", "restore", "1.1"][..],
        &["undo"],
        &["finish", "--keep"],
    ] {
        has(
            &refused(&sandbox, args),
            "another ralphtool works in this tree",
        );
    }
    fs::write(sandbox.root.join("go"), "").unwrap();
    running.end().ends_with(0);
}

#[test]
fn an_attempt_is_restored_whole_or_in_part_and_that_can_be_undone() {
    let sandbox = Sandbox::new();
    sandbox.write(".env", "SECRET=mine\n");
    half(&sandbox);
    sandbox.write("mine.txt", "mine\n");
    let before = seen(&sandbox);
    let told = ok(&sandbox, &["attempts", "restore", "2.1"]);
    has(&told, "wrote     3 files: ");
    has(&told, "to vault  1 file: a.txt");
    assert_eq!(sandbox.read("junk.txt"), "try 1\n");
    assert_eq!(sandbox.read("dir/b.txt"), "try 1\n");
    assert_eq!(sandbox.read(".env"), "SECRET=1\n");
    assert!(!sandbox.exists("a.txt"));
    assert_eq!(sandbox.read("mine.txt"), "mine\n");
    ok(&sandbox, &["undo"]);
    assert_eq!(seen(&sandbox), before);

    // One file, a folder, from a folder, and one that was deleted.
    ok(&sandbox, &["attempts", "restore", "2.2", "dir"]);
    assert_eq!(sandbox.read("dir/b.txt"), "try 2\n");
    assert!(!sandbox.exists("junk.txt"));
    let told = ok(&sandbox, &["undo"]);
    has(&told, "ralphtool attempts restore 2.2 dir  do it again");
    let folder = sandbox.repo.join("dir");
    let folder = folder.to_str().unwrap();
    ok(
        &sandbox,
        &["-C", folder, "attempts", "restore", "2.2", "b.txt"],
    );
    assert_eq!(sandbox.read("dir/b.txt"), "try 2\n");
    ok(
        &sandbox,
        &["-C", folder, "attempts", "restore", "2.2", "a.txt"],
    );
    assert!(!sandbox.exists("a.txt"));
    ok(&sandbox, &["undo"]);
    ok(&sandbox, &["undo"]);
    assert_eq!(seen(&sandbox), before);
    has(
        &refused(&sandbox, &["attempts", "restore", "2.1", "nowhere"]),
        "changed nothing at `nowhere`",
    );
    has(
        &refused(&sandbox, &["attempts", "restore", "7.1"]),
        "parked are",
    );
    assert_eq!(seen(&sandbox), before);
}

#[test]
fn an_attempt_name_means_the_attempt_of_the_newest_run() {
    let sandbox = Sandbox::new();
    half(&sandbox);
    let old = sandbox.runs()[0]
        .file_name()
        .unwrap()
        .to_str()
        .unwrap()
        .to_owned();
    ok(&sandbox, &["finish", "--abandon"]);
    sandbox.agent(&HALF.replace("luck", "fortune"));
    sandbox
        .run(&["loop", "c", "--max-retries", "0"])
        .ends_with(1);
    has(
        &ok(&sandbox, &["attempts", "show", "2.1"]),
        "no fortune with",
    );
    ok(&sandbox, &["attempts", "restore", "2.1", "--run", &old]);
    let told = ok(&sandbox, &["undo"]);
    has(
        &told,
        &format!("ralphtool attempts restore 2.1 --run {old}  do it again"),
    );
    let told = ok(&sandbox, &["attempts", "show", "2.1", "--run", &old]);
    has(&told, "no luck with");
    has(&told, &format!("restore 2.1 --run {old}"));
    let all = json(&sandbox, &["attempts", "--all", "--json"]);
    assert_eq!(all.as_array().unwrap().len(), 3);
    assert_eq!(all[2]["run"], old.as_str());
    assert_eq!(
        json(&sandbox, &["attempts", "--json"])
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

// ---- for all of them

#[test]
fn a_dry_run_touches_nothing_and_json_is_one_object() {
    let sandbox = dirty();
    half(&sandbox);
    let before = seen(&sandbox);
    let journal = fs::read(sandbox.vault().join("journal")).unwrap();
    let commands: [&[&str]; 7] = [
        &["finish", "--cleanup"],
        &["finish", "--abandon"],
        &["undo"],
        &["rewind", "1"],
        &["attempts", "restore", "2.1"],
        &["finish", "--squash"],
        &["finish", "--reword"],
    ];
    for command in commands {
        let told = ok(&sandbox, &[command, &["--dry-run"]].concat());
        has(&told, "dry run: nothing was changed");
        let said = json(&sandbox, &[command, &["--dry-run", "--json"]].concat());
        assert_eq!(said["dry_run"], true);
        assert_eq!(said["result"], Value::Null);
        assert_eq!(said["plan"]["change"], "c");
    }
    assert_eq!(seen(&sandbox), before);
    assert_eq!(fs::read(sandbox.vault().join("journal")).unwrap(), journal);
    for command in [
        commands[4],
        commands[2],
        commands[3],
        commands[2],
        commands[1],
        commands[2],
        commands[5],
        commands[2],
        commands[6],
        commands[2],
        commands[0],
    ] {
        let said = json(&sandbox, &[command, &["--json"]].concat());
        assert_eq!(said["dry_run"], false);
        assert!(
            said["result"]["way_back"]
                .as_str()
                .unwrap()
                .starts_with("ralphtool ")
        );
    }
}

#[test]
fn commands_recover_an_interrupted_run_first_and_report_it() {
    let sandbox = dirty();
    let before = seen(&sandbox);
    sandbox.agent("echo junk > junk.txt; touch $root/waits; wait_for $root/never");
    let running = sandbox.start(&["loop", "c"]);
    sandbox::until("the agent", || sandbox::there(&sandbox.root.join("waits")));
    running.signal(rustix::process::Signal::KILL);
    running.end();
    let told = refused(&sandbox, &["finish", "--abandon", "--dry-run"]);
    has(&told, "must be recovered first");
    let told = ok(&sandbox, &["finish", "--abandon"]);
    has(&told, "recovered: attempt 1.1 was interrupted: parked it");
    let recovered = told.lines().filter(|line| line.starts_with("recovered:"));
    assert!(recovered.count() <= 2, "{told}");
    assert_eq!(seen(&sandbox), before);
    has(&ok(&sandbox, &["attempts", "show", "1.1"]), "interrupted");
    ok(&sandbox, &["attempts", "restore", "1.1", "junk.txt"]);
    assert_eq!(sandbox.read("junk.txt"), "junk\n");
}

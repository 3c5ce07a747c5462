//! The user works in the tree while the loop runs: the work is noticed, reported, never destroyed.

use crate::sandbox::{self, GOOD, Running, Sandbox, there, until};
use pretty_assertions::assert_eq;
use rustix::process::Signal;

/// Waits for the user, once: signals that it runs, and continues when the test says so.
const WAITS: &str = "[ -e $root/here ] || { touch $root/here; wait_for $root/go; }";

/// A run that has come to where it waits for the user.
fn waiting(sandbox: &Sandbox, args: &[&str]) -> Running {
    let running = sandbox.start(args);
    until("the one who waits", || there(&sandbox.root.join("here")));
    running
}

/// The user is done.
fn go_on(sandbox: &Sandbox) {
    std::fs::write(sandbox.root.join("go"), "").unwrap();
}

/// A gate that waits for the user while it runs for the first time, before the first attempt.
fn with_waiting_gate(agent: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    let root = sandbox.root.display();
    sandbox.config_and(
        "",
        &format!(
            "[[gate]]\nname = \"slow\"\nrun = '''if [ ! -e {root}/here ]; then touch {root}/here; \
             while [ ! -e {root}/go ]; do sleep 0.02; done; fi'''\n"
        ),
    );
    sandbox.git("commit -q -a -m settings");
    sandbox.agent(agent);
    sandbox
}

/// A run that was stopped in its first attempt, so the user can work before the next one.
fn stopped_between(agent: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write(".env", "SECRET=1\n");
    sandbox.agent("touch $root/here; wait_for $root/never");
    let running = sandbox.start(&["loop", "c"]);
    until("the agent", || there(&sandbox.root.join("here")));
    running.signal(Signal::INT);
    running.end().ends_with(130);
    sandbox.agent(agent);
    sandbox
}

/// Warnings without those about boxes.
fn told(sandbox: &Sandbox) -> Vec<String> {
    let mut warnings = sandbox.warnings();
    warnings.retain(|it| !it.starts_with("ticked"));
    warnings
}

#[test]
fn a_file_changed_while_a_run_is_stopped_is_what_the_next_attempt_starts_from() {
    let sandbox = stopped_between(
        "cat a.txt mine.txt > $root/seen; echo x > a.txt; rm mine.txt .env; failed no",
    );
    sandbox.write("a.txt", "the user's\n");
    sandbox.write("mine.txt", "mine\n");
    sandbox.write(".env", "SECRET=2\n");
    std::fs::remove_file(sandbox.repo.join("dir/b.txt")).unwrap();
    sandbox.run(&["resume", "--max-retries", "1"]).ends_with(1);
    let seen = std::fs::read_to_string(sandbox.root.join("seen")).unwrap();
    assert_eq!(seen, "the user's\nmine\n");
    assert_eq!(sandbox.read("a.txt"), "the user's\n");
    assert_eq!(sandbox.read("mine.txt"), "mine\n");
    assert_eq!(sandbox.read(".env"), "SECRET=2\n");
    assert!(!sandbox.exists("dir/b.txt"));
    assert_eq!(sandbox.commits(), ["initial state", "resumed state"]);
    assert_eq!(sandbox.git("status --porcelain"), "");
    assert_eq!(sandbox.failures().last().unwrap(), "1.3 failed: no");
}

#[test]
fn changes_of_ignored_files_cause_no_commit_and_no_message() {
    let sandbox = with_waiting_gate("echo SECRET=3 > .env; failed no");
    sandbox.write(".env", "SECRET=1\n");
    let running = waiting(&sandbox, &["loop", "c", "--max-retries", "0"]);
    sandbox.write(".env", "SECRET=2\n");
    go_on(&sandbox);
    running.end().ends_with(1);
    assert_eq!(sandbox.read(".env"), "SECRET=2\n");
    assert_eq!(sandbox.commits(), ["initial state"]);
    assert_eq!(told(&sandbox), Vec::<String>::new());
}

#[test]
fn the_next_attempt_uses_tasks_changed_between_attempts() {
    let sandbox = stopped_between(GOOD);
    let tasks = sandbox::TASKS.replace("1.2 Do b", "1.2 Do b\n- [ ] 1.3 Do more");
    let tasks = tasks.replace("[ ] 2.1", "[x] 2.1");
    sandbox.tasks(&tasks);
    sandbox.run(&["resume", "--story", "1"]).ends_with(0);
    let prompt = sandbox.transcript("1.2", "prompt.md");
    assert!(prompt.contains("1.3 Do more"), "{prompt}");
    assert_eq!(
        sandbox.tasks_now(),
        tasks.replace("[ ] 1.", "[x] 1."),
        "the box of story 2 that the user ticked stays"
    );
}

#[test]
fn the_next_attempt_starts_from_a_commit_made_between_attempts() {
    let sandbox = with_waiting_gate("echo x > theirs.txt; failed no");
    let running = waiting(&sandbox, &["loop", "c", "--max-retries", "0"]);
    sandbox.write("theirs.txt", "theirs\n");
    sandbox.git("add theirs.txt");
    sandbox.git("commit -q -m theirs");
    let commit = sandbox.git("rev-parse HEAD");
    go_on(&sandbox);
    running.end().ends_with(1);
    assert_eq!(sandbox.commits(), ["initial state", "theirs"]);
    assert_eq!(sandbox.git("rev-parse ralph/c"), commit);
    assert_eq!(sandbox.read("theirs.txt"), "theirs\n");
    assert_eq!(sandbox.git("status --porcelain"), "");
    let told = told(&sandbox);
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(
        told[1].starts_with("user_commits: `ralph/c` was moved to "),
        "{told:?}"
    );
}

#[test]
fn a_commit_that_replaces_the_checkpoint_between_attempts_is_kept() {
    let sandbox = with_waiting_gate("failed no");
    let running = waiting(&sandbox, &["loop", "c", "--max-retries", "0"]);
    sandbox.write("theirs.txt", "theirs\n");
    sandbox.git("add theirs.txt");
    sandbox.git("commit -q --amend -m amended");
    let amended = sandbox.git("rev-parse HEAD");
    go_on(&sandbox);
    running.end().ends_with(1);
    assert_eq!(sandbox.read("theirs.txt"), "theirs\n");
    let store = format!("--git-dir={}", sandbox.vault().join("store").display());
    let kept = sandbox.git_args(&[
        &store,
        "for-each-ref",
        "--format=%(objectname)",
        "refs/kept",
    ]);
    assert_eq!(kept, amended);
    let told = told(&sandbox);
    assert!(
        told.iter().any(|it| it.starts_with("commits_aside: ")),
        "{told:?}"
    );
}

#[test]
fn a_switch_of_branches_between_attempts_stops_the_run_and_touches_nothing() {
    let sandbox = with_waiting_gate(GOOD);
    let running = waiting(&sandbox, &["loop", "c"]);
    sandbox.git("switch -q main");
    sandbox.write("a.txt", "on main\n");
    go_on(&sandbox);
    let output = running.end().ends_with(4);
    let said = "HEAD was moved to `main` while gates ran; the files are left as they are";
    assert!(output.stdout.contains(said), "{}", output.stdout);
    assert_eq!(sandbox.branch(), "main");
    assert_eq!(sandbox.read("a.txt"), "on main\n");
    // The next start switches back, and what is not committed goes along.
    sandbox.run(&["loop", "c"]).ends_with(0);
    assert_eq!(sandbox.git("show ralph/c:a.txt"), "on main\n");
}

#[test]
fn a_file_changed_during_a_failed_attempt_is_parked_with_it() {
    let sandbox = Sandbox::new();
    sandbox.agent(&format!("{WAITS}; echo junk > junk.txt; failed no"));
    let running = waiting(&sandbox, &["loop", "c", "--max-retries", "0"]);
    sandbox.write("mine.txt", "mine\n");
    go_on(&sandbox);
    let output = running.end().ends_with(1);
    assert!(output.stdout.contains("parked as 1.1"), "{}", output.stdout);
    assert!(!sandbox.exists("mine.txt"));
    let diff = sandbox.transcript("1.1", "changes.diff");
    assert!(diff.contains("+mine\n"), "{diff}");
}

#[test]
fn a_commit_on_the_branch_during_a_failed_attempt_is_kept_and_reported() {
    let sandbox = Sandbox::new();
    sandbox.agent(&format!("{WAITS}; failed no"));
    let running = waiting(&sandbox, &["loop", "c", "--max-retries", "0"]);
    sandbox.write("theirs.txt", "theirs\n");
    sandbox.git("add theirs.txt");
    sandbox.git("commit -q -m theirs");
    let commit = sandbox.git("rev-parse HEAD");
    go_on(&sandbox);
    running.end().ends_with(1);
    assert_eq!(sandbox.commits(), ["initial state"]);
    let told = told(&sandbox);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(
        told[0].starts_with("commits_undone: ") && told[0].contains("not by the agent"),
        "{told:?}"
    );
    // The command in the message restores the work.
    let command = told[0].split('`').rev().nth(1).unwrap();
    sandbox.git(command.strip_prefix("git ").unwrap());
    assert_eq!(sandbox.read("theirs.txt"), "theirs\n");
    let store = format!("--git-dir={}", sandbox.vault().join("store").display());
    let kept = sandbox.git_args(&[
        &store,
        "for-each-ref",
        "--format=%(objectname)",
        "refs/kept",
    ]);
    assert!(kept.contains(commit.trim()), "{kept}");
}

#[test]
fn a_commit_on_the_branch_during_a_story_that_is_done_stays_below_its_checkpoint() {
    let sandbox = Sandbox::new();
    sandbox.agent(&format!("{WAITS}\n{GOOD}"));
    let running = waiting(&sandbox, &["loop", "c", "--story", "1"]);
    sandbox.write("theirs.txt", "theirs\n");
    sandbox.git("add theirs.txt");
    sandbox.git("commit -q -m theirs");
    go_on(&sandbox);
    running.end().ends_with(0);
    assert_eq!(
        sandbox.commits(),
        ["initial state", "theirs", "checkpoint: 1"]
    );
    let told = told(&sandbox);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].starts_with("user_commits: "), "{told:?}");
}

#[test]
fn a_commit_on_another_branch_stays_though_the_agent_commits_too() {
    let sandbox = Sandbox::new();
    sandbox.agent(&format!(
        "{WAITS}; git branch; echo x > x.txt; git add x.txt; git commit -q -m agent; failed no"
    ));
    let running = waiting(&sandbox, &["loop", "c", "--max-retries", "0"]);
    sandbox.git("worktree add -q ../other main");
    sandbox.git("-C ../other commit -q --allow-empty -m theirs");
    let main = sandbox.git("rev-parse main");
    go_on(&sandbox);
    running.end().ends_with(1);
    assert_eq!(sandbox.git("rev-parse main"), main);
    let told = told(&sandbox);
    assert!(
        told.iter()
            .any(|it| it == "refs_changed: other refs changed meanwhile: refs/heads/main"),
        "{told:?}"
    );
}

/// The user switches to `main` in the middle of an attempt and works there.
#[track_caller]
fn switched_during(agent: &str, after: &[&str]) {
    let sandbox = Sandbox::new();
    sandbox.agent(&format!("{WAITS}\n{agent}"));
    let running = waiting(&sandbox, &["loop", "c", "--max-retries", "1"]);
    sandbox.git("switch -q main");
    sandbox.write("mine.txt", "mine\n");
    sandbox.git("add mine.txt");
    sandbox.git("commit -q -m mine");
    sandbox.write("more.txt", "more\n");
    go_on(&sandbox);
    let output = running.end().ends_with(4);
    let said = "HEAD was moved to `main` while the agent worked, and not by the agent";
    assert!(output.stdout.contains(said), "{}", output.stdout);
    assert_eq!(sandbox.branch(), "main");
    assert_eq!(sandbox.git("log -1 --format=%s"), "mine\n");
    assert_eq!(sandbox.read("more.txt"), "more\n");
    // Starting again while HEAD is there says the same, and touches nothing.
    let output = sandbox.run(&["loop", "c"]).ends_with(4);
    assert!(
        output.stderr.contains("git switch ralph/c"),
        "{}",
        output.stderr
    );
    assert_eq!(sandbox.read("more.txt"), "more\n");
    // Back on the branch it continues.
    sandbox.git("switch -q ralph/c");
    sandbox.agent(GOOD);
    sandbox.run(&["loop", "c"]).ends_with(0);
    assert_eq!(sandbox.git("log -1 --format=%s main"), "mine\n");
    assert_eq!(
        sandbox.git("status --porcelain"),
        "",
        "all of the run is committed"
    );
    let titles = sandbox.git("log --reverse --format=%s main~1..ralph/c");
    assert_eq!(titles.lines().collect::<Vec<_>>(), after);
}

#[test]
fn a_switch_of_branches_during_a_failed_attempt_stops_the_run_and_touches_nothing() {
    switched_during(
        "failed no",
        &["initial state", "checkpoint: 1", "checkpoint: 2"],
    );
}

#[test]
fn a_switch_of_branches_during_an_attempt_that_succeeds_stops_the_run_and_touches_nothing() {
    switched_during(GOOD, &["initial state", "checkpoint: 1", "checkpoint: 2"]);
}

#[test]
fn a_branch_that_the_user_moves_between_two_starts_is_no_doing_of_an_attempt() {
    let sandbox = Sandbox::new();
    sandbox.run(&["loop", "c", "--story", "1"]).ends_with(0);
    let commit = sandbox.git("commit-tree -m mine -p main main^{tree}");
    sandbox.git(&format!("update-ref refs/heads/main {}", commit.trim()));
    sandbox.run(&["resume"]).ends_with(0);
    let changed = |it: &String| it.starts_with("refs_changed");
    assert!(
        !sandbox.warnings().iter().any(changed),
        "{:?}",
        sandbox.warnings()
    );
    assert_eq!(sandbox.git("rev-parse main"), commit);
}

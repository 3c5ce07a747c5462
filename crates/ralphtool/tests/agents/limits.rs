//! An agent at a limit, or one that is refused.

use pretty_assertions::assert_eq;
use serde_json::Value;

use crate::bench::Script;
use crate::bench::cli::{Account, Cli};
use crate::bench::script::{
    call, calls, complete, gemini_daily_quota, refuse, run, usage_limit, write,
};
use crate::sandbox::TASKS;
use crate::trial::{FIRST, ONE_STORY, SECOND, Trial, good, mess};

/// A limit is waited for and uses no retry. The session goes on after it, in the tree as it is; an
/// agent whose sessions are not continued starts over, with a clean tree.
pub(crate) fn waits(cli: Cli) {
    let ends_in = match cli {
        // It reports only the minute, so the wait for a limit that ends soon may take that long.
        Cli::Codex => -120,
        Cli::Claude | Cli::Opencode | Cli::Gemini => 3,
    };
    let script = Script::on(FIRST);
    let (script, course) = if Cli::CONTINUED.contains(&cli) {
        let first = [call(write("story-1.txt", "half\n")), usage_limit(ends_in)];
        let second = [
            call(run("perl -pi -e s/half/work/ story-1.txt")),
            complete(),
        ];
        let script = script.attempt(first).round(second);
        (script, vec!["waiting", "attempt_continued"])
    } else {
        let script = script.attempt([mess(), usage_limit(ends_in)]);
        let course = vec!["attempt_failed: limit", "waiting", "attempt_started"];
        (script.attempt(good()), course)
    };
    let trial = Trial::with_account(cli, Account::Subscription, ONE_STORY, vec![script]);
    trial.run(&["loop", "c", "--max-retries", "0"], 0);
    let course = [&["attempt_started"], &*course, &["story_completed"]].concat();
    assert_eq!(trial.course(), course);
    trial.every_token_counts_once();
    trial.one_story_is_done();
}

/// A refused login ends the run at once, says how to fix it and leaves a clean tree.
pub(crate) fn is_not_logged_in(cli: Cli) {
    let first = [mess(), refuse(401).into()];
    let trial = Trial::new(cli, ONE_STORY, vec![Script::on(FIRST).attempt(first)]);
    let output = trial.run(&["loop", "c"], 3);
    let failed = trial.sandbox.events_named("attempt_failed");
    let kinds: Vec<&Value> = failed.iter().map(|event| &event["kind"]).collect();
    assert_eq!(kinds, ["auth"]);
    assert!(output.stdout.contains(hint(cli)), "{}", output.stdout);
    assert_eq!(trial.server.attempts(FIRST), 1);
    assert_eq!(trial.sandbox.commits(), ["initial state"]);
    assert_eq!(trial.sandbox.git("status --porcelain"), "");
}

/// A model that is not there ends the run at once too: no retry would find it.
pub(crate) fn has_no_such_model(cli: Cli) {
    let scripts = vec![Script::on(FIRST).attempt([refuse(404).into()])];
    let trial = Trial::new(cli, ONE_STORY, scripts);
    let output = trial.run(&["loop", "c"], 3);
    let failed = trial.sandbox.events_named("attempt_failed");
    let kinds: Vec<&Value> = failed.iter().map(|event| &event["kind"]).collect();
    assert_eq!(kinds, ["auth"]);
    let way_out = "choose another model with `--model`";
    assert!(output.stdout.contains(way_out), "{}", output.stdout);
}

/// The command that fixes a login.
fn hint(cli: Cli) -> &'static str {
    match cli {
        Cli::Claude => "claude auth login",
        Cli::Codex => "codex login",
        Cli::Opencode => "opencode auth login",
        Cli::Gemini => "set `GEMINI_API_KEY`",
    }
}

/// The next agent takes over where the first one is at its limit, and the first one comes back
/// when that has ended.
pub(crate) fn claude_is_stood_in_for_by_codex() {
    let stand_in = [
        // The limit has ended when the story has.
        calls([write("story-1.txt", "work\n"), run("sleep 4")]),
        complete(),
    ];
    let scripts = vec![
        Script::on(FIRST)
            .attempt([mess(), usage_limit(3)])
            .attempt(stand_in),
        Script::on(SECOND).attempt([call(write("story-2.txt", "work\n")), complete()]),
    ];
    let team = [Cli::Claude, Cli::Codex];
    let trial = Trial::team(&team, Account::Subscription, TASKS, scripts);
    trial.run(&["loop", "c", "--max-retries", "0"], 0);
    let started = trial.sandbox.events_named("attempt_started");
    let who: Vec<&Value> = started
        .iter()
        .map(|event| &event["agent"]["agent"])
        .collect();
    assert_eq!(who, ["claude", "codex", "claude"]);
    assert_eq!(trial.sandbox.events_named("waiting"), Vec::<Value>::new());
    let changed = trial.sandbox.git("diff --name-only main ralph/c");
    let want = "openspec/changes/c/tasks.md\nstory-1.txt\nstory-2.txt\n";
    assert_eq!(changed, want);
}

/// A quota that is renewed in hours is not waited for where the user has no such time.
pub(crate) fn gemini_waits_no_longer_than_it_may() {
    let first = [mess(), gemini_daily_quota()];
    let scripts = vec![Script::on(FIRST).attempt(first)];
    let trial = Trial::new(Cli::Gemini, ONE_STORY, scripts);
    let output = trial.run(&["loop", "c", "--max-wait", "1s"], 3);
    assert!(
        output.stdout.contains("exhausted your daily quota"),
        "{}",
        output.stdout
    );
    assert_eq!(trial.sandbox.events_named("waiting"), Vec::<Value>::new());
    assert_eq!(trial.sandbox.git("status --porcelain"), "");
}

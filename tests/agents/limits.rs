//! An agent that may not work: for a while, or at all.

use std::time::{SystemTime, UNIX_EPOCH};

use pretty_assertions::assert_eq;
use serde_json::Value;

use crate::bench::Script;
use crate::bench::cli::{Account, Cli};
use crate::bench::script::{
    Step, claude_usage_limit, codex_usage_limit, gemini_daily_quota, refuse,
};
use crate::trial::{FIRST, ONE_STORY, Trial, good, mess};

/// A limit is waited for with a clean tree, and uses no retry.
pub(crate) fn waits(cli: Cli) {
    let first = [mess(), limit(cli)];
    let scripts = vec![Script::on(FIRST).attempt(first).attempt(good())];
    let trial = Trial::with_account(cli, Account::Subscription, ONE_STORY, scripts);
    trial.run(&["loop", "c", "--max-retries", "0"], 0);
    // A failed attempt is told after its tree was restored; the wait comes later.
    let told: Vec<String> = trial
        .sandbox
        .events()
        .iter()
        .filter_map(|event| match event["event"].as_str()? {
            "attempt_failed" => Some(format!("failed: {}", event["kind"].as_str()?)),
            name @ ("attempt_started" | "waiting" | "story_completed") => Some(name.to_owned()),
            _ => None,
        })
        .collect();
    let want = [
        "attempt_started",
        "failed: limit",
        "waiting",
        "attempt_started",
        "story_completed",
    ];
    assert_eq!(told, want);
    trial.one_story_is_done();
}

/// What each agent's service says at a limit, such that the agent gives up soon.
fn limit(cli: Cli) -> Step {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let soon = i64::try_from(now.as_secs()).unwrap() + 6;
    match cli {
        Cli::Claude => claude_usage_limit(soon),
        Cli::Codex => codex_usage_limit(soon),
        Cli::Opencode => refuse(429).header("retry-after-ms", 10).into(),
        Cli::Gemini => gemini_daily_quota(),
    }
}

/// A refused login ends the run at once, says how to mend it and leaves a clean tree.
pub(crate) fn is_not_logged_in(cli: Cli) {
    let status = match cli {
        // It tries a 401 again for a quarter of a minute.
        Cli::Claude => 403,
        Cli::Codex | Cli::Opencode | Cli::Gemini => 401,
    };
    let first = [mess(), refuse(status).into()];
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

/// The command that mends a login.
fn hint(cli: Cli) -> &'static str {
    match cli {
        Cli::Claude => "claude auth login",
        Cli::Codex => "codex login",
        Cli::Opencode => "opencode auth login",
        Cli::Gemini => "start `gemini`",
    }
}

//! Where a value comes from: files, variables and flags, and which of them wins.

use std::fs;

use pretty_assertions::assert_eq;

use crate::sandbox::{Sandbox, everything};
use crate::settings::{run_with, shown};

/// Every variable that is a setting: a value, the key it sets, and how that is shown.
pub(crate) const VARIABLES: &[(&str, &str, &str, &str)] = &[
    ("RALPHTOOL_AGENT", "mine,demo", "agent", "mine, demo"),
    ("RALPHTOOL_MODEL", "large", "model", "large"),
    ("RALPHTOOL_MAX_RETRIES", "7", "max_retries", "7"),
    ("RALPHTOOL_REPAIRS", "5", "repairs", "5"),
    ("RALPHTOOL_ON_FINISH", "cleanup", "on_finish", "cleanup"),
    ("RALPHTOOL_ON_BLOCKED", "stop", "on_blocked", "stop"),
    (
        "RALPHTOOL_ON_EXHAUSTED",
        "continue",
        "on_exhausted",
        "continue",
    ),
    ("RALPHTOOL_DEPENDS", "no", "depends", "false"),
    (
        "RALPHTOOL_COMMIT_MESSAGE",
        "{id}: {title}",
        "commit_message",
        "{id}: {title}",
    ),
    ("RALPHTOOL_IDLE_TIMEOUT", "2m", "timeouts.idle", "2m"),
    ("RALPHTOOL_TIMEOUT", "3h", "timeouts.total", "3h"),
    ("RALPHTOOL_COMMAND_TIMEOUT", "9s", "command_timeout", "9s"),
    ("RALPHTOOL_MAX_WAIT", "5h", "max_wait", "5h"),
    ("RALPHTOOL_LIMIT_PAUSE", "4m", "limit_pause", "4m"),
    ("RALPHTOOL_MAX_COST", "2.5", "budget.usd", "$2.50"),
    ("RALPHTOOL_MAX_TOKENS", "2k", "budget.tokens", "2k"),
    ("RALPHTOOL_MAX_TIME", "8h", "budget.time", "8h"),
    ("RALPHTOOL_MAX_STORY_COST", "1", "budget.story_usd", "$1.00"),
    (
        "RALPHTOOL_MAX_STORY_TOKENS",
        "1k",
        "budget.story_tokens",
        "1k",
    ),
    ("RALPHTOOL_MAX_STORY_TIME", "1h", "budget.story_time", "1h"),
    ("RALPHTOOL_LARGEST_FILE", "1MB", "largest_file", "1MB"),
    ("RALPHTOOL_LEAST_FREE", "2MB", "least_free", "2MB"),
    ("RALPHTOOL_VAULT_LIMIT", "3GB", "vault_limit", "3GB"),
    ("RALPHTOOL_LEARNINGS_LIMIT", "4kB", "learnings_limit", "4kB"),
    ("RALPHTOOL_STRICT_TASKS", "yes", "strict_tasks", "true"),
    ("RALPHTOOL_REQUIRE_CHANGES", "1", "require_changes", "true"),
];

#[test]
fn a_file_that_is_asked_for_must_be_there_whatever_the_command() {
    let sandbox = Sandbox::new();
    for command in ["list", "status", "attempts", "log", "gc", "loop", "doctor"] {
        let output = sandbox
            .run(&["--config", "nope.toml", command])
            .ends_with(2);
        assert_eq!(
            output.stderr, "error: nope.toml: there is no such file\n",
            "{command}"
        );
    }
    // A file below the folder of the flag is found.
    sandbox.write("sub/own.toml", "");
    sandbox
        .run(&["-C", "sub", "--config", "own.toml", "list"])
        .ends_with(0);
}

#[test]
fn each_variable_sets_its_key() {
    let sandbox = Sandbox::new();
    let before = everything(&sandbox.repo);
    let variables: Vec<(&str, &str)> = VARIABLES.iter().map(|it| (it.0, it.1)).collect();
    let all = run_with(&sandbox, &["loop", "c", "--dry-run", "-v"], &variables).ends_with(0);
    for (variable, _, key, want) in VARIABLES {
        let want = ((*want).to_owned(), (*variable).to_owned());
        assert_eq!(shown(&all.stdout, key), want);
    }
    // Variables that are set to nothing say nothing.
    let nothing: Vec<(&str, &str)> = VARIABLES.iter().map(|it| (it.0, "")).collect();
    let none = run_with(&sandbox, &["loop", "c", "--dry-run"], &nothing).ends_with(0);
    assert!(!none.stdout.contains("RALPHTOOL_"), "{}", none.stdout);
    assert_eq!(everything(&sandbox.repo), before);
}

#[test]
fn a_variable_with_a_wrong_value_is_refused_and_a_misspelt_one_named() {
    let sandbox = Sandbox::new();
    let before = everything(&sandbox.repo);
    for (variable, ..) in VARIABLES {
        // Every text is the name of some model.
        if *variable == "RALPHTOOL_MODEL" {
            continue;
        }
        let output = run_with(&sandbox, &["loop", "c"], &[(variable, "-?-")]).ends_with(2);
        let is_named = output.stderr.starts_with(&format!("error: {variable}: "))
            || *variable == "RALPHTOOL_AGENT" && output.stderr.contains("-?-");
        assert!(is_named, "{}", output.stderr);
    }
    assert_eq!(everything(&sandbox.repo), before);
    let misspelt = [("RALPHTOOL_MODLE", "x")];
    let output = run_with(&sandbox, &["loop", "c", "--dry-run"], &misspelt).ends_with(0);
    let said = format!("{}{}", output.stdout, output.stderr);
    let want = "`RALPHTOOL_MODLE` is set but has no effect; did you mean `RALPHTOOL_MODEL`?";
    assert!(said.contains(want), "{said}");
}

#[test]
fn isolate_is_refused_as_key_variable_and_flag_before_a_run_starts() {
    let sandbox = Sandbox::new();
    // So that there is one to resume.
    sandbox.run(&["loop", "c", "--story", "1"]).ends_with(0);
    let refused = |key: &str, args: &[&str], variables: &[(&str, &str)]| {
        sandbox.config(key);
        let before = everything(&sandbox.repo);
        let output = run_with(&sandbox, args, variables).ends_with(2);
        assert_eq!(everything(&sandbox.repo), before);
        output.stderr
    };
    let want = |place: &str| {
        format!(
            "error: {place}: this version no longer has `isolate`: agents would work in your own \
             work tree\n  hint: remove it to run without isolation\n"
        )
    };
    for command in [&["loop", "c"][..], &["resume"], &["loop", "c", "--dry-run"]] {
        for key in ["isolate = true", "isolate = false"] {
            assert_eq!(refused(key, command, &[]), want("ralphtool.toml:2:1"));
        }
        let variable = [("RALPHTOOL_ISOLATE", "1")];
        assert_eq!(refused("", command, &variable), want("RALPHTOOL_ISOLATE"));
        let with_flag = [command, &["--isolate"]].concat();
        assert_eq!(refused("", &with_flag, &[]), want("--isolate"));
    }
    let runs = fs::read_dir(sandbox.vault().join("runs"));
    assert_eq!(runs.unwrap().count(), 1, "another run was begun");
}

#[test]
fn a_later_layer_wins_and_a_file_asked_for_replaces_both_others() {
    let sandbox = Sandbox::new();
    let retries = |args: &[&str], variables: &[(&str, &str)]| {
        let args = [&["loop", "c", "--dry-run", "-v"], args].concat();
        let output = run_with(&sandbox, &args, variables).ends_with(0);
        let (value, origin) = shown(&output.stdout, "max_retries");
        format!("{value} by {}", sandbox.neutral(&origin))
    };
    assert_eq!(retries(&[], &[]), "3 by default");
    sandbox.config("max_retries = 11");
    assert_eq!(retries(&[], &[]), "11 by ralphtool.toml:2");
    let user = sandbox.root.join("config/ralphtool");
    fs::create_dir_all(&user).unwrap();
    fs::write(user.join("config.toml"), "max_retries = 12\n").unwrap();
    let users = "12 by ROOT/config/ralphtool/config.toml:1";
    assert_eq!(retries(&[], &[]), users);
    let variable = [("RALPHTOOL_MAX_RETRIES", "13")];
    assert_eq!(retries(&[], &variable), "13 by RALPHTOOL_MAX_RETRIES");
    assert_eq!(
        retries(&["--max-retries", "14"], &variable),
        "14 by --max-retries"
    );

    sandbox.write("other.toml", "agent = \"demo\"\n# here\nmax_retries = 15\n");
    assert_eq!(
        retries(&["--config", "other.toml"], &[]),
        "15 by other.toml:3"
    );
    let named = [("RALPHTOOL_CONFIG", "other.toml")];
    assert_eq!(retries(&[], &named), "15 by other.toml:3");
    sandbox.write("more.toml", "agent = \"demo\"\n");
    assert_eq!(retries(&["--config", "more.toml"], &named), "3 by default");
    let gone = sandbox
        .run(&["loop", "c", "--config", "gone.toml"])
        .ends_with(2);
    assert!(
        gone.stderr.contains("gone.toml: there is no such file"),
        "{}",
        gone.stderr
    );
}

//! Keys of the configuration file that no other test file covers.

use std::fs;

use pretty_assertions::assert_eq;

use crate::sandbox::{GOOD, Sandbox, everything, mode};
use crate::settings::{noted, run_with, speaking};

/// A sandbox with lines before and tables after the agent's.
fn with(lines: &str, tables: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.config_and(lines, tables);
    sandbox
}

/// A sandbox with this configuration and no other; `SCRIPT` is the agent's.
fn with_all(config: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    let script = sandbox.root.join("agent.sh").display().to_string();
    sandbox.write("ralphtool.toml", &config.replace("SCRIPT", &script));
    sandbox
}

#[test]
fn the_model_reaches_the_agent() {
    let sandbox = with_all(
        "agent = \"mine\"\nmodel = \"large\"\n\
         [agents.mine]\ncommand = [\"sh\", \"SCRIPT\", \"{model}\"]\n",
    );
    sandbox.agent(&format!("echo \"$1\" >> $root/noted\n{GOOD}"));
    sandbox.run(&["loop", "c"]).ends_with(0);
    assert_eq!(noted(&sandbox), ["large", "large"]);
}

#[test]
fn a_story_is_tried_once_more_than_the_retries_allow() {
    let sandbox = with("max_retries = 1", "");
    sandbox.agent("failed no");
    sandbox.run(&["loop", "c"]).ends_with(1);
    assert_eq!(sandbox.events_named("attempt_started").len(), 2);
    sandbox
        .run(&["loop", "c", "--fresh", "--max-retries", "0"])
        .ends_with(1);
    assert_eq!(sandbox.events_named("attempt_started").len(), 1);
}

#[test]
fn the_run_ends_as_on_finish_says() {
    let sandbox = with("on_finish = \"cleanup\"", "");
    sandbox.run(&["loop", "c"]).ends_with(0);
    assert_eq!(sandbox.branch(), "main");
    assert_eq!(sandbox.read("story-2.txt"), "work\n");
    let sandbox = with("on_finish = \"keep\"", "");
    sandbox.run(&["loop", "c"]).ends_with(0);
    assert_eq!(sandbox.branch(), "ralph/c");
}

#[test]
fn limit_pause_is_the_pause_at_a_limit_without_an_end() {
    let sandbox = speaking(
        "limit_pause = \"2s\"",
        "",
        "if [ $RALPHTOOL_STORY.$attempt = 1.1 ]; then\n\
         echo '{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":true,\"api_error_status\":429,\"result\":\"limit\"}'; exit 1\n\
         fi; work; result '<promise>COMPLETE</promise>'",
    );
    sandbox.run(&["loop", "c"]).ends_with(0);
    let waits = sandbox.events_named("waiting");
    let time = |key: &str| -> jiff::Timestamp { waits[0][key].as_str().unwrap().parse().unwrap() };
    let pause = time("until").duration_since(time("at")).as_millis();
    assert!(pause <= 2000, "{pause}");
}

#[test]
fn a_run_does_not_start_without_least_free_space() {
    let sandbox = with("least_free = \"1000000TB\"", "");
    let before = everything(&sandbox.repo);
    let output = sandbox.run(&["loop", "c"]).ends_with(2);
    assert!(output.stderr.contains("least_free"), "{}", output.stderr);
    assert_eq!(everything(&sandbox.repo), before);
}

#[test]
fn an_agent_that_is_silent_or_slow_is_ended_when_its_time_is_over() {
    let failure = |timeouts: &str, deed: &str| {
        let sandbox = with("max_retries = 0", &format!("[timeouts]\n{timeouts}\n"));
        sandbox.agent(deed);
        sandbox.run(&["loop", "c"]).ends_with(1);
        sandbox.failures().pop().unwrap()
    };
    let silent = failure("idle = \"400ms\"", "sleep 300");
    let want = "1.1 silent: silent for 400ms";
    assert!(silent.starts_with(want), "{silent}");
    let busy = "while :; do echo busy; sleep 0.1; done";
    let slow = failure("total = \"400ms\"", busy);
    let want = "1.1 timeout: took longer than 400ms";
    assert!(slow.starts_with(want), "{slow}");
}

#[test]
fn a_gate_has_a_name_a_command_and_a_time() {
    let sandbox = with(
        "max_retries = 0",
        "[[gate]]\nname = \"slowness\"\nrun = \"exec sleep 300\"\nbaseline = false\ntimeout = \"300ms\"\n",
    );
    sandbox.run(&["loop", "c"]).ends_with(1);
    let failures = sandbox.failures();
    assert_eq!(failures.len(), 1, "{failures:?}");
    for part in ["1.1 gate: ", "slowness", "300ms"] {
        assert!(failures[0].contains(part), "{part}: {failures:?}");
    }
}

#[test]
fn a_gate_without_a_baseline_fails_even_if_it_was_red_before() {
    let gate = "[[gate]]\nname = \"red\"\nrun = \"false\"\n";
    let sandbox = with("max_retries = 0", gate);
    sandbox.run(&["loop", "c"]).ends_with(1);
    assert_eq!(sandbox.failures(), Vec::<String>::new());
    let sandbox = with("max_retries = 0", &format!("{gate}baseline = false\n"));
    sandbox.run(&["loop", "c"]).ends_with(1);
    assert_eq!(sandbox.failures().len(), 1);
    assert_eq!(sandbox.events_named("gate_finished").len(), 1);
}

#[test]
fn an_agent_like_a_built_in_one_is_wrapped_and_gets_its_own_model() {
    let sandbox = with_all(
        "agent = \"work\"\n[agents.work]\nlike = \"claude\"\nmodel = \"haiku\"\n\
         wrap = [\"env\", \"WRAPPED=yes\"]\n",
    );
    let bin = sandbox.root.join("bin");
    fs::create_dir(&bin).unwrap();
    let claude = bin.join("claude");
    let script = "#!/bin/sh\necho \"$WRAPPED $*\" >> ROOT/noted\ncat > /dev/null\necho work > w.txt\n\
        echo '{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"<promise>COMPLETE</promise>\"}'\n";
    let script = script.replace("ROOT", &sandbox.root.display().to_string());
    fs::write(&claude, script).unwrap();
    fs::set_permissions(&claude, mode(0o755)).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    run_with(
        &sandbox,
        &["loop", "c", "--story", "1"],
        &[("PATH", path.as_str())],
    )
    .ends_with(0);
    let noted = noted(&sandbox).join("\n");
    assert!(noted.starts_with("yes -p "), "{noted}");
    assert!(noted.contains("--model haiku"), "{noted}");
}

#[test]
fn a_prompt_is_given_by_stdin_or_by_file() {
    let script = "cat \"${1:-/dev/null}\" | grep -c 'Do a' >> ROOT/noted\n\
        grep -c 'Do a' >> ROOT/noted\necho '<promise>FAILED: no</promise>'\n";
    for (how, want) in [("file", ["1", "0"]), ("stdin", ["0", "1"])] {
        let place = if how == "file" {
            ", \"{prompt_file}\""
        } else {
            ""
        };
        let sandbox = with_all(&format!(
            "agent = \"mine\"\nmax_retries = 0\n[agents.mine]\ncommand = [\"sh\", \"SCRIPT\"{place}]\nprompt = \"{how}\"\n"
        ));
        let root = sandbox.root.display().to_string();
        fs::write(sandbox.root.join("agent.sh"), script.replace("ROOT", &root)).unwrap();
        sandbox.run(&["loop", "c"]).ends_with(1);
        assert_eq!(noted(&sandbox), want, "{how}");
    }
}

#[test]
fn what_an_agent_writes_is_read_as_its_output_says() {
    let says = "work; result '<promise>COMPLETE</promise>'";
    let sandbox = speaking("max_retries = 0", "", says);
    sandbox.run(&["loop", "c"]).ends_with(0);
    // The same words as plain text hold no promise that stands for itself.
    sandbox.tasks(crate::sandbox::TASKS);
    let sandbox = with("max_retries = 0", "output = \"text\"\n");
    sandbox.agent(&format!("{}\n{says}", crate::settings::SPEECH));
    sandbox.run(&["loop", "c"]).ends_with(1);
}

#[test]
fn a_story_of_one_change_has_a_model_of_its_own() {
    let models = |change: &str| {
        let sandbox = with_all(&format!(
            "agent = \"mine\"\nmodel = \"small\"\n[agents.mine]\ncommand = [\"sh\", \"SCRIPT\", \"{{model}}\"]\n\
             [[story]]\nid = \"2\"\nchange = \"{change}\"\nmodel = \"large\"\n"
        ));
        sandbox.agent(&format!("echo \"$1\" >> $root/noted\n{GOOD}"));
        sandbox.run(&["loop", "c"]).ends_with(0);
        noted(&sandbox)
    };
    assert_eq!(models("c"), ["small", "large"]);
    assert_eq!(models("another"), ["small", "small"]);
}

#[test]
fn a_notification_command_gets_only_the_configured_occasions() {
    let sandbox = Sandbox::new();
    let herald = sandbox.root.join("herald.sh");
    let note = sandbox.root.join("noted");
    fs::write(
        &herald,
        format!("echo \"$RALPHTOOL_OCCASION\" >> {}\n", note.display()),
    )
    .unwrap();
    let table = |on: &str| {
        let command = format!("command = [\"sh\", \"{}\"]", herald.display());
        sandbox.config_and("max_retries = 0", &format!("[notify]\n{command}\n{on}\n"));
    };
    sandbox.agent("failed no");
    table("on = []");
    sandbox.run(&["loop", "c"]).ends_with(1);
    assert_eq!(noted(&sandbox), [""; 0]);
    table("on = [\"exhausted\"]");
    sandbox.run(&["loop", "c"]).ends_with(1);
    assert_eq!(noted(&sandbox), ["exhausted"]);
}

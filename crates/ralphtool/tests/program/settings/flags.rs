//! Flags that no other test file covers.

use pretty_assertions::assert_eq;
use rustix::process::Signal;
use serde_json::Value;

use crate::sandbox::{GOOD, Sandbox, there, until};
use crate::settings::{noted, shown};

/// Flags of `loop` and `resume` that are settings: a value, the key it sets, and how that is shown.
pub(crate) const SETTINGS: &[(&str, &str, &str, &str)] = &[
    ("--max-retries", "7", "max_retries", "7"),
    ("--repairs", "5", "repairs", "5"),
    ("--agent", "mine,demo", "agent", "mine, demo"),
    ("--model", "large", "model", "large"),
    ("--gate", "true", "gate", "true (timeout 30m)"),
    ("--idle-timeout", "2m", "timeouts.idle", "2m"),
    ("--timeout", "3h", "timeouts.total", "3h"),
    ("--command-timeout", "9s", "command_timeout", "9s"),
    ("--max-wait", "5h", "max_wait", "5h"),
    ("--max-cost", "2.5", "budget.usd", "$2.50"),
    ("--max-tokens", "2k", "budget.tokens", "2k"),
    ("--max-time", "8h", "budget.time", "8h"),
    ("--max-story-cost", "1", "budget.story_usd", "$1.00"),
    ("--max-story-tokens", "1k", "budget.story_tokens", "1k"),
    ("--max-story-time", "1h", "budget.story_time", "1h"),
    ("--on-finish", "cleanup", "on_finish", "cleanup"),
    ("--on-blocked", "stop", "on_blocked", "stop"),
    ("--on-exhausted", "continue", "on_exhausted", "continue"),
];

/// A run that ended in its first story by a signal.
fn ended_by(signal: Signal) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.agent("touch $root/here; wait_for $root/never");
    let running = sandbox.start(&["loop", "c"]);
    until("the agent", || there(&sandbox.root.join("here")));
    running.signal(signal);
    drop(running.end());
    sandbox
}

/// A run that was stopped in its first story.
fn stopped() -> Sandbox {
    ended_by(Signal::INT)
}

#[test]
fn each_flag_sets_its_key_for_loop_and_for_resume() {
    let sandbox = stopped();
    let flags: Vec<&str> = SETTINGS.iter().flat_map(|it| [it.0, it.1]).collect();
    for command in [&["loop", "c", "--dry-run"][..], &["resume", "--dry-run"]] {
        let output = sandbox.run(&[command, &flags].concat()).ends_with(0);
        for (flag, _, key, want) in SETTINGS {
            let want = ((*want).to_owned(), (*flag).to_owned());
            assert_eq!(shown(&output.stdout, key), want, "{command:?}");
        }
    }
}

#[test]
fn a_flag_with_a_wrong_value_is_named() {
    let sandbox = Sandbox::new();
    for (flag, ..) in SETTINGS {
        let (value, said) = match *flag {
            "--model" | "--gate" => ("", "needs a value"),
            "--agent" => (",", "is not a list of agents"),
            "--on-finish" | "--on-exhausted" | "--on-blocked" => ("?", "cannot be `?`"),
            _ => ("?", "`?` is not a"),
        };
        let output = sandbox
            .run(&["loop", "c", &format!("{flag}={value}")])
            .ends_with(2);
        assert!(output.stderr.contains(said), "{flag}: {}", output.stderr);
        assert!(output.stderr.contains(flag), "{}", output.stderr);
    }
    assert!(!sandbox.root.join("state/ralphtool").exists());
}

#[test]
fn the_model_of_the_flag_reaches_the_agent() {
    let sandbox = Sandbox::new();
    let config = sandbox
        .read("ralphtool.toml")
        .replace("agent.sh\"", "agent.sh\", \"{model}\"");
    sandbox.write("ralphtool.toml", &config);
    sandbox.agent(&format!("echo \"$1\" >> $root/noted\n{GOOD}"));
    sandbox.run(&["loop", "c", "--model", "huge"]).ends_with(0);
    assert_eq!(noted(&sandbox), ["huge", "huge"]);
}

#[test]
fn only_the_story_of_the_flag_is_done() {
    let sandbox = Sandbox::new();
    sandbox.run(&["loop", "c", "--story", "2"]).ends_with(0);
    assert_eq!(sandbox.commits(), ["initial state", "checkpoint: 2"]);
    assert!(!sandbox.exists("story-1.txt"));

    let sandbox = stopped();
    sandbox.agent(GOOD);
    sandbox.run(&["resume", "--story", "2"]).ends_with(0);
    assert!(!sandbox.exists("story-1.txt") && sandbox.exists("story-2.txt"));
}

#[test]
fn a_resumed_run_prints_what_its_flags_ask_for() {
    let told = |flag: &str| {
        let sandbox = stopped();
        sandbox.agent(&format!("echo 'Words of the agent.'\n{GOOD}"));
        sandbox.run(&["resume", flag]).ends_with(0).stdout
    };
    let plain = told("--no-tui");
    assert!(
        plain.contains("story 2/2") && !plain.contains("Words of"),
        "{plain}"
    );
    let much = told("--verbose");
    assert!(
        much.contains("story 2/2") && much.contains("Words of the agent."),
        "{much}"
    );
    let little = told("--quiet");
    assert!(!little.contains("story 2/2"), "{little}");
    let lines = crate::sandbox::records(&told("--json"));
    assert_eq!(lines.last().unwrap()["event"], "finished");
}

#[test]
fn loop_resumes_an_interrupted_run_like_resume() {
    let sandbox = ended_by(Signal::KILL);
    sandbox.agent(GOOD);
    sandbox.run(&["loop", "c", "--resume"]).ends_with(0);
    assert_eq!(sandbox.runs().len(), 1);
    sandbox
        .run(&["loop", "c", "--resume", "--fresh"])
        .ends_with(2);
}

#[test]
fn attempts_of_another_run_are_listed_compared_and_restored() {
    let sandbox = Sandbox::new();
    let fails = |word: &str| {
        sandbox.agent(&format!("echo {word} > made.txt; failed {word}"));
        sandbox
            .run(&["loop", "c", "--max-retries", "0"])
            .ends_with(1);
        let run = sandbox.runs().pop().unwrap();
        sandbox.run(&["finish", "--abandon"]).ends_with(0);
        run.file_name().unwrap().to_str().unwrap().to_owned()
    };
    let old = fails("older");
    fails("newer");
    let listed = |args: &[&str]| sandbox.run(args).ends_with(0).stdout;
    assert!(listed(&["attempts"]).contains("newer"));
    let told = listed(&["attempts", "--run", &old]);
    assert!(told.contains("older") && !told.contains("newer"), "{told}");
    let both = listed(&["attempts", "--all"]);
    assert!(both.contains("older") && both.contains("newer"), "{both}");
    assert!(listed(&["attempts", "diff", "1.1"]).contains("+newer"));
    assert!(listed(&["attempts", "diff", "1.1", "--run", &old]).contains("+older"));
    assert!(listed(&["attempts", "transcript", "1.1"]).contains("FAILED: newer"));
    let told = listed(&["attempts", "transcript", "1.1", "--run", &old]);
    assert!(told.contains("FAILED: older"), "{told}");
    sandbox
        .run(&["attempts", "restore", "1.1", "made.txt", "--run", &old])
        .ends_with(0);
    assert_eq!(sandbox.read("made.txt"), "older\n");
}

#[test]
fn short_names_do_what_the_long_ones_do() {
    let told = |flag: &str| {
        let sandbox = Sandbox::new();
        sandbox.agent(&format!("echo 'Words of the agent.'\n{GOOD}"));
        let args = ["loop", "c", "--story", "2", flag];
        let said = sandbox.run(&args).ends_with(0).stdout;
        let words = said.contains("Words of the agent.");
        (words, said.contains("story 2/2"))
    };
    assert_eq!(told("--no-tui"), (false, true));
    assert_eq!(told("-v"), (true, true));
    assert_eq!(told("--verbose"), (true, true));
    assert_eq!(told("-q"), (false, false));
    assert_eq!(told("--quiet"), (false, false));

    let sandbox = Sandbox::new();
    sandbox.run(&["loop", "c"]).ends_with(0);
    // It follows the run to its end, with the time of day before each line.
    let watched = sandbox.run(&["status", "-w"]).ends_with(0).stdout;
    let end = " all stories are done; branch kept\n";
    assert!(watched.ends_with(end), "{watched}");
    // Without a terminal there is no question.
    sandbox.tasks(crate::sandbox::TASKS);
    sandbox.run(&["finish", "--cleanup"]).ends_with(0);
    sandbox.tasks(crate::sandbox::TASKS);
    sandbox.run(&["loop", "c"]).ends_with(0);
    assert_eq!(sandbox.runs().len(), 2);
    let gc = ["gc", "--older-than", "0s"];
    sandbox.run(&gc).ends_with(2);
    sandbox.run(&[&gc[..], &["-y"]].concat()).ends_with(0);
    assert_eq!(sandbox.runs().len(), 1);
}

#[test]
fn the_demo_prints_more_with_verbose() {
    let sandbox = Sandbox::bare_folder();
    // All at the same time: the demo is slow on purpose, so that people can watch it.
    let started =
        [&["demo"][..], &["demo", "-v"], &["demo", "--verbose"]].map(|args| sandbox.start(args));
    let lines = started.map(|it| it.end().ends_with(0).stdout.lines().count());
    let [plain, short, long] = lines;
    assert!(short > plain && long > plain, "{lines:?}");
}

#[test]
fn a_command_works_in_the_folder_of_the_flag() {
    let sandbox = Sandbox::new();
    let elsewhere = |args: &[&str]| {
        let mut command = sandbox.command(env!("CARGO_BIN_EXE_ralphtool"));
        command.args(args).current_dir(&sandbox.root);
        sandbox.start_command(command).end()
    };
    elsewhere(&["loop", "c"]).ends_with(2);
    elsewhere(&["-C", "repo", "loop", "c"]).ends_with(0);
    assert_eq!(sandbox.branch(), "ralph/c");
}

#[test]
fn doctor_writes_an_object_when_asked() {
    let sandbox = Sandbox::new();
    let said = sandbox.run(&["doctor", "--json"]).stdout;
    let said: Value = serde_json::from_str(&said).unwrap();
    assert!(said.is_object(), "{said}");
}

#[test]
fn the_help_and_the_version_have_short_names_too() {
    let sandbox = Sandbox::bare_folder();
    let said = |flag: &str| sandbox.run(&[flag]).ends_with(0).stdout;
    let version = format!("ralphtool {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!((said("-V"), said("--version")), (version.clone(), version));
    assert!(said("-h").len() < said("--help").len());
    assert!(said("-h").contains("Usage: ralphtool"));
}

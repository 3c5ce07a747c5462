//! The command line from outside: exit codes and what goes to which stream.

use std::process::{Command, Output, Stdio};

fn ralphtool(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ralphtool"))
        .args(args)
        .env_remove("NO_COLOR")
        .env_remove("CLICOLOR_FORCE")
        .output()
        .unwrap()
}

#[test]
fn bad_usage_exits_with_2_and_writes_to_stderr_only() {
    for args in [
        &["nonsense"][..],
        &["loop", "--no-such-flag"],
        &["loop", "--timeout", "soon"],
        &["loop", "-v", "-q"],
        &["show"],
        &["completions", "cmd.exe"],
        &["man", "nonsense"],
    ] {
        let output = ralphtool(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(output.stdout.is_empty(), "{args:?}");
        assert!(output.stderr.starts_with(b"error: "), "{args:?}");
    }
}

#[test]
fn a_wrong_command_line_is_answered_with_an_error_and_a_hint() {
    let lines = [
        "nonsense",
        "lst",
        "pause",
        "clean",
        "help nonsense",
        "rnu",
        "help nwe",
        "--max-cost 5",
        "--gate true --fresh",
        "loop --no-such-flag",
        "loop --max-retrys 3",
        "loop --max-retries three",
        "loop --max-retries -1",
        "loop --max-cost 0.00000001",
        "loop --max-cost -1",
        "loop --timeout soon",
        "loop --timeout",
        "loop --on-finish merge",
        "loop -v -q",
        "loop a b",
        "gc --older-than 7",
        "show",
        "completions cmd.exe",
        "finish --keep --cleanup",
    ];
    let told = lines.map(|line| {
        let output = ralphtool(&line.split(' ').collect::<Vec<_>>());
        assert_eq!(output.status.code(), Some(2), "{line}");
        assert!(output.stdout.is_empty(), "{line}");
        format!("$ {line}\n{}", String::from_utf8(output.stderr).unwrap())
    });
    insta::assert_snapshot!(told.join("\n"));
}

#[test]
fn help_is_short_with_one_letter_and_complete_with_a_word() {
    let print = |args: &[&str]| {
        let output = ralphtool(args);
        assert_eq!(output.status.code(), Some(0), "{args:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let (short, long) = (print(&["-h"]), print(&["--help"]));
    assert!(short.lines().count() < 26, "{short}");
    assert!(short.lines().all(|line| line.len() <= 80), "{short}");
    assert!(long.contains("Exit codes:"), "{long}");
    assert_eq!(print(&["help"]), long);
    assert_eq!(print(&["help", "run"]), print(&["loop", "--help"]));
    assert_eq!(
        print(&["help", "attempts", "restore"]),
        print(&["attempts", "restore", "--help"])
    );
}

#[test]
fn help_and_version_go_to_stdout() {
    for args in [
        &["--help"][..],
        &["-h"],
        &["--version"],
        &["loop", "--help"],
        &["run", "--help"],
        &["help", "loop"],
    ] {
        let output = ralphtool(args);
        assert_eq!(output.status.code(), Some(0), "{args:?}");
        assert!(!output.stdout.is_empty(), "{args:?}");
        assert!(output.stderr.is_empty(), "{args:?}");
    }
}

#[test]
fn every_shell_has_completions_and_every_command_a_manual_page() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let output = ralphtool(&["completions", shell]);
        let text = String::from_utf8(output.stdout).unwrap();
        let asks = ["bash", "fish", "zsh"].contains(&shell);
        let wanted = if asks { "__complete" } else { "max-retries" };
        assert!(output.status.success() && text.contains(wanted), "{shell}");
    }
    let whole = ralphtool(&["man"]);
    assert!(
        String::from_utf8(whole.stdout)
            .unwrap()
            .contains(".TH ralphtool 1")
    );
    for name in [
        "run",
        "list",
        "show",
        "prompt",
        "demo",
        "completions",
        "man",
    ] {
        let page = String::from_utf8(ralphtool(&["man", name]).stdout).unwrap();
        assert!(page.contains(&format!(".TH ralphtool-{name} 1")), "{page}");
    }
}

#[test]
fn a_reader_that_closes_the_pipe_is_no_error() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_ralphtool"))
        .args(["completions", "bash"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stderr.is_empty());
}

#[test]
fn colours_are_used_when_asked_for() {
    let plain = ralphtool(&["man", "nonsense"]);
    assert!(!plain.stderr.contains(&0x1b));
    let colored = ralphtool(&["man", "nonsense", "--color", "always"]);
    assert!(colored.stderr.contains(&0x1b));
    let usage = ralphtool(&["nonsense", "--color=always"]);
    assert!(usage.stderr.contains(&0x1b));
}

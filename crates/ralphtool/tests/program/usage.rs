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
fn help_and_version_go_to_stdout() {
    for args in [
        &["--help"][..],
        &["-h"],
        &["--version"],
        &["loop", "--help"],
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
        assert!(
            output.status.success() && text.contains("max-retries"),
            "{shell}"
        );
    }
    let whole = ralphtool(&["man"]);
    assert!(
        String::from_utf8(whole.stdout)
            .unwrap()
            .contains(".TH ralphtool 1")
    );
    for name in [
        "loop",
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

//! What shells complete: commands, options, and what is in the repository.

use std::process::Command;

use pretty_assertions::assert_eq;

use crate::sandbox::{GOOD, Sandbox};

/// What is offered for a command line, whose last word is the one at the cursor.
fn offered(sandbox: &Sandbox, words: &[&str]) -> Vec<String> {
    let output = sandbox.run(&[&["__complete"], words].concat()).ends_with(0);
    assert_eq!(output.stderr, "", "{words:?}");
    let lines = output.stdout.lines().map(|line| line.split('\t').next());
    lines.map(|it| it.unwrap_or_default().to_owned()).collect()
}

#[test]
fn changes_stories_runs_and_attempts_are_completed() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "openspec/changes/other/tasks.md",
        "## 1. One\n- [ ] 1.1 Do\n",
    );
    sandbox.git("add -A");
    sandbox.git("commit -q -m other");
    sandbox.agent(&format!(
        "[ -e ../once ] || {{ touch ../once; failed once; exit; }}\n{GOOD}"
    ));
    sandbox.run(&["loop", "c"]).ends_with(0);
    let run = sandbox.runs().pop().unwrap();
    let run = run.file_name().unwrap().to_str().unwrap().to_owned();
    let case = |words: &[&str], want: &[&str]| {
        assert_eq!(offered(&sandbox, words), want, "{words:?}");
    };
    case(&["loop", ""], &["c", "other"]);
    case(&["run", "o"], &["other"]);
    case(&["show", "--json", "c"], &["c"]);
    case(&["loop", "c", "--story", ""], &["1", "2"]);
    case(&["loop", "c", "--story=2"], &["--story=2"]);
    case(&["loop", "c", "--story", "=", "2"], &["2"]);
    case(&["loop", "c", "--on-finish", "k"], &["keep"]);
    case(&["prompt", "other", "--story", ""], &["1"]);
    case(&["rewind", ""], &["1", "2"]);
    case(&["log", ""], &["last", &run]);
    case(&["log", "last", "--mark"], &["--markdown"]);
    case(&["attempts", "show", ""], &["1.1"]);
    case(&["attempts", "diff", "1.1", "--run", ""], &[&run]);
    case(&["attempts", "--run", ""], &[&run]);
    case(&["completions", "z"], &["zsh"]);
    case(&["attempts", "transcript", ""], &["2.1", "1.2", "1.1"]);
    case(&["loop", "--agent", "cl"], &["claude"]);
    case(&["loop", "--agent", "m"], &["mine"]);
    case(&["help", "fin"], &["finish"]);
    case(&["help", "attempts", "re"], &["restore"]);
    case(&["man", "fin"], &["finish"]);
    // Files are completed by the shell.
    case(&["--config", ""], &[]);
    let first = offered(&sandbox, &["f"]);
    assert_eq!(first, ["finish"]);
    let repo = sandbox.repo.display().to_string();
    case(&["-C", &repo, "show", "o"], &["other"]);
}

#[test]
fn where_nothing_is_found_nothing_is_offered_and_nothing_fails() {
    let sandbox = Sandbox::bare_folder();
    for words in [
        &["loop", ""][..],
        &["attempts", "show", ""],
        &["log", "x"],
        &["nonsense", ""],
        &["loop", "c", "--story", ""],
        &["-C", "/nowhere", "show", ""],
    ] {
        assert_eq!(offered(&sandbox, words), Vec::<String>::new(), "{words:?}");
    }
    assert!(offered(&sandbox, &[""]).contains(&"loop".to_owned()));
    assert!(offered(&sandbox, &[]).contains(&"loop".to_owned()));
}

#[test]
fn bash_completes_with_the_script() {
    let sandbox = Sandbox::new();
    let script = sandbox.run(&["completions", "bash"]).ends_with(0).stdout;
    let typed = format!(
        "{script}\nCOMP_WORDS=('{program}' show ''); COMP_CWORD=2\n\
         _ralphtool '{program}' '' show; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        program = env!("CARGO_BIN_EXE_ralphtool"),
    );
    let mut bash: Command = sandbox.command("bash");
    let output = bash.args(["-c", &typed]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "c\n");
}

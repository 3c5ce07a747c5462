//! The notes agents keep: who reads them, who edits them, where they are.

use std::fs;

use pretty_assertions::assert_eq;

use crate::sandbox::{GOOD, Sandbox};

/// Notes something, fails once, then does its work.
const NOTING: &str = r#"
echo "learnt in $RALPHTOOL_STORY.$attempt" >> "$RALPHTOOL_LEARNINGS"
case $RALPHTOOL_STORY.$attempt in 1.1) echo junk > junk.txt; failed "not yet"; exit 0 ;; esac
"#;

#[test]
fn notes_survive_a_failed_attempt_and_reach_later_prompts_of_the_change_alone() {
    let sandbox = Sandbox::new();
    sandbox.agent(&format!("{NOTING}{GOOD}"));
    sandbox.run(&["loop", "c"]).ends_with(0);
    let notes = |attempt: &str| {
        let prompt = sandbox.transcript(attempt, "prompt.md");
        let lines = prompt.lines().filter(|line| line.starts_with("learnt in"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(notes("1.1"), Vec::<String>::new());
    assert_eq!(notes("1.2"), ["learnt in 1.1"]);
    assert_eq!(notes("2.1"), ["learnt in 1.1", "learnt in 1.2"]);

    let told = sandbox.run(&["learnings"]).ends_with(0).stdout;
    assert_eq!(told, "learnt in 1.1\nlearnt in 1.2\nlearnt in 2.1\n");
    let path = sandbox.run(&["learnings", "path", "c"]).ends_with(0).stdout;
    let path = path.trim_end();
    assert_eq!(fs::read_to_string(path).unwrap(), told);
    assert!(!path.starts_with(&sandbox.repo.display().to_string()));
    assert_eq!(sandbox.git("log --all -S learnt --format=%h"), "");
    assert_eq!(sandbox.git("status --porcelain"), "");

    // Neither an abandoned run nor another change touches them.
    sandbox.run(&["finish", "--abandon"]).ends_with(0);
    assert_eq!(sandbox.run(&["learnings", "c"]).ends_with(0).stdout, told);
    sandbox.write("openspec/changes/d/tasks.md", "## 1. One\n- [ ] 1.1 Do\n");
    let prompt = sandbox.run(&["prompt", "d"]).ends_with(0).stdout;
    assert!(!prompt.contains("learnt in"), "{prompt}");
    let prompt = sandbox.run(&["prompt", "c"]).ends_with(0).stdout;
    assert!(prompt.contains("\nlearnt in 2.1\n"), "{prompt}");
    let none = sandbox.run(&["learnings", "d"]).ends_with(0);
    assert_eq!(none.stdout, "");
    assert!(
        none.stderr.contains("no notes are kept for `d`"),
        "{}",
        none.stderr
    );
}

#[test]
fn a_prompt_gets_the_newest_notes_that_fit_and_the_file_stays_whole() {
    let sandbox = Sandbox::new();
    sandbox.config("learnings_limit = \"1kB\"");
    let path = sandbox.run(&["learnings", "path"]).ends_with(0).stdout;
    let path = path.trim_end();
    fs::create_dir_all(std::path::Path::new(path).parent().unwrap()).unwrap();
    let all: Vec<String> = (0..200).map(|number| format!("note {number}")).collect();
    let all = all.join("\n");
    fs::write(path, &all).unwrap();
    sandbox.run(&["loop", "c", "--story", "1"]).ends_with(0);
    let prompt = sandbox.transcript("1.1", "prompt.md");
    let notes: Vec<&str> = prompt
        .lines()
        .filter(|it| it.starts_with("note "))
        .collect();
    assert_eq!(notes.last(), Some(&"note 199"));
    let size: usize = notes.iter().map(|note| note.len() + 1).sum();
    assert!((990..=1000).contains(&size), "{size}");
    assert!(prompt.contains("Older notes are left out here"), "{prompt}");
    assert_eq!(fs::read_to_string(path).unwrap(), all);
}

#[test]
fn notes_are_edited_in_place_and_cleared_into_the_trash() {
    let sandbox = Sandbox::new();
    let run = |args: &[&str], editor: &str| {
        let mut command = sandbox.command(env!("CARGO_BIN_EXE_ralphtool"));
        command.env("EDITOR", editor).args(args);
        sandbox.start_command(command).end()
    };
    let script = sandbox.root.join("editor.sh");
    fs::write(&script, "echo \"$1\" >> \"$2\"\n").unwrap();
    let editor = format!("sh {} 'mind the gap'", script.display());
    run(&["learnings", "edit"], &editor).ends_with(0);
    run(&["learnings", "edit", "c"], &editor).ends_with(0);
    let told = sandbox.run(&["learnings"]).ends_with(0).stdout;
    assert_eq!(told, "mind the gap\nmind the gap\n");
    let failed = run(&["learnings", "edit"], "false").ends_with(4);
    assert!(failed.stderr.contains("EDITOR"), "{}", failed.stderr);

    let cleared = sandbox.run(&["learnings", "clear"]).ends_with(0).stdout;
    assert_eq!(sandbox.run(&["learnings"]).ends_with(0).stdout, "");
    // What it says brings them back, does.
    let back = cleared.split('`').nth(3).unwrap();
    assert!(
        sandbox
            .command("sh")
            .args(["-c", back])
            .status()
            .unwrap()
            .success()
    );
    assert_eq!(sandbox.run(&["learnings"]).ends_with(0).stdout, told);

    let unknown = sandbox.run(&["learnings", "x"]).ends_with(2);
    assert!(
        unknown.stderr.contains("notes exist for: c"),
        "{}",
        unknown.stderr
    );
}

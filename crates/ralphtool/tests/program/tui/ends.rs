//! The choices at the end of a run.

use pretty_assertions::assert_eq;

use crate::sandbox::{GOOD, Sandbox};
use crate::terminal::Key;
use crate::tui::stage::{all_ticked, chooses, ends, leaves, open, release};

/// Fails until the test creates the file `help`.
const NEEDS_HELP: &str = r#"
if [ ! -e "$root/help" ]; then echo junk > junk.txt; failed "no help came"; exit 0; fi
"#;

/// The choice the last run was finished with.
fn choice(sandbox: &Sandbox) -> String {
    let finished = sandbox.events_named("finished");
    assert_eq!(finished.len(), 1, "{finished:?}");
    finished[0]["choice"].as_str().unwrap().to_owned()
}

#[track_caller]
fn is_kept(sandbox: &Sandbox) {
    assert_eq!(choice(sandbox), "keep");
    assert_eq!(sandbox.branch(), "ralph/c");
    assert_eq!(sandbox.commits().len(), 3, "{:?}", sandbox.commits());
    assert_eq!(sandbox.git("status --porcelain"), "");
    assert_eq!(sandbox.tasks_now(), all_ticked());
}

#[test]
fn the_branch_is_kept_by_key() {
    let sandbox = Sandbox::new();
    let mut terminal = open(&sandbox, &["loop", "c"]);
    terminal.waits_for("Stay on ralph/c with checkpoint commits");
    chooses(&terminal, "b", "On ralph/c with checkpoint commits");
    terminal.waits_for("the result");
    terminal.keys("q");
    ends(&mut terminal, 0);
    is_kept(&sandbox);
}

#[test]
fn leaving_at_the_end_keeps_the_branch() {
    for key in [Key::Char('q'), Key::Ctrl('c')] {
        let sandbox = Sandbox::new();
        let mut terminal = open(&sandbox, &["loop", "c"]);
        terminal.waits_for("Stay on ralph/c with checkpoint commits");
        terminal.key(key);
        ends(&mut terminal, 0);
        is_kept(&sandbox);
        let screen = terminal.screen();
        assert!(screen.contains("all stories are done"), "{screen}");
    }
}

#[test]
fn the_choice_is_made_with_arrows_too() {
    let sandbox = Sandbox::new();
    let mut terminal = open(&sandbox, &["loop", "c"]);
    terminal.waits_for("▌ c  Return to main");
    terminal.key(Key::Down);
    terminal.waits_for("▌ b  Stay on ralph/c");
    terminal.key(Key::Up);
    terminal.waits_for("▌ c  Return to main");
    terminal.key(Key::Enter);
    terminal.waits_for("Changes ready on main (uncommitted)");
    terminal.keys("q");
    ends(&mut terminal, 0);
    assert_eq!(choice(&sandbox), "cleanup");
    assert_eq!(sandbox.branch(), "main");
}

#[test]
fn a_run_that_used_up_its_retries_is_resumed_by_key() {
    let sandbox = Sandbox::new();
    sandbox.config("max_retries = 0");
    sandbox.agent(&format!("{NEEDS_HELP}{GOOD}"));
    let mut terminal = open(&sandbox, &["loop", "c"]);
    terminal.waits_for("no help came");
    terminal.waits_for("r  Go on with what is left");
    terminal.waits_for("0 of 2 stories done");
    release(&sandbox, "help");
    chooses(&terminal, "r", "2 of 2 stories done");
    assert!(terminal.find("Go on with what is left").is_none());
    chooses(&terminal, "c", "Changes ready on main (uncommitted)");
    terminal.keys("q");
    ends(&mut terminal, 0);
    assert_eq!(sandbox.branch(), "main");
    assert_eq!(sandbox.tasks_now(), all_ticked());
    assert!(!sandbox.exists("junk.txt"));
}

#[test]
fn the_run_can_be_looked_at_before_the_choice() {
    let sandbox = Sandbox::new();
    sandbox.agent(&format!("echo \"Story $RALPHTOOL_STORY it is.\"\n{GOOD}"));
    let mut terminal = open(&sandbox, &["loop", "c"]);
    terminal.waits_for("Stay on ralph/c with checkpoint commits");
    terminal.key(Key::Esc);
    terminal.waits_for("Story 2 it is.");
    terminal.key(Key::Up);
    terminal.waits_for("Story 1 it is.");
    terminal.keys("2");
    terminal.waits_for("A story-1.txt");
    terminal.key(Key::Esc);
    terminal.waits_for("Stay on ralph/c with checkpoint commits");
    leaves(&mut terminal, 0);
    is_kept(&sandbox);
}

#[test]
fn a_cleanup_that_cannot_be_done_leaves_the_choice_open() {
    let sandbox = Sandbox::new();
    let mut terminal = open(&sandbox, &["loop", "c"]);
    terminal.waits_for("Stay on ralph/c with checkpoint commits");
    // Another commit: the branch is not where the run left it.
    sandbox.git("commit -q --allow-empty -m mine");
    sandbox.git("checkout -q --detach");
    terminal.keys("c");
    terminal.waits_for("✗ ");
    terminal.waits_for("→ ");
    terminal.waits_for("Stay on ralph/c with checkpoint commits");
    sandbox.git("checkout -q ralph/c");
    terminal.keys("b");
    terminal.waits_for("the result");
    terminal.keys("q");
    ends(&mut terminal, 0);
    assert_eq!(sandbox.branch(), "ralph/c");
}

#[test]
fn a_run_resumes_after_a_cleanup_that_cannot_be_done() {
    let sandbox = Sandbox::new();
    sandbox.config("max_retries = 0");
    sandbox.agent(&format!("{NEEDS_HELP}{GOOD}"));
    let mut terminal = open(&sandbox, &["loop", "c"]);
    terminal.waits_for("r  Go on with what is left");
    sandbox.git("checkout -q --detach");
    terminal.keys("c");
    terminal.waits_for("but HEAD is on");
    terminal.waits_for("r  Go on with what is left");
    sandbox.git("checkout -q ralph/c");
    release(&sandbox, "help");
    chooses(&terminal, "r", "2 of 2 stories done");
    chooses(&terminal, "c", "Changes ready on main (uncommitted)");
    terminal.keys("q");
    ends(&mut terminal, 0);
    assert_eq!(sandbox.tasks_now(), all_ticked());
}

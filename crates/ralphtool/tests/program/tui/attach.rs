//! The screen of a run in another process, read-only.

use std::fs;

use pretty_assertions::assert_eq;
use rustix::process::Signal;

use crate::sandbox::{GOOD, Sandbox, there, until};
use crate::terminal::{Key, Terminal};
use crate::tui::stage::{ends, open, release};

/// Waits in the middle of every attempt.
const HELD: &str = r#"
echo "I look around."
touch "$root/here-$RALPHTOOL_STORY"
wait_for "$root/go-$RALPHTOOL_STORY"
"#;

fn held() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.agent(&format!("{HELD}{GOOD}"));
    sandbox
}

/// A key that steers where a run is steered; all it must do here is nothing.
fn presses_what_steers(terminal: &Terminal) {
    for key in ["p", "s", "y", "x", "y", ":", "r", "c", "b", "k"] {
        terminal.keys(key);
    }
}

#[test]
fn a_run_in_another_terminal_is_shown_live_to_its_end() {
    let sandbox = held();
    let running = sandbox.start(&["loop", "c"]);
    until("the agent", || there(&sandbox.root.join("here-1")));
    let mut terminal = open(&sandbox, &["attach"]);
    terminal.waits_for("story 1:");
    terminal.waits_for("I look around.");
    terminal.waits_for("read-only");
    presses_what_steers(&terminal);
    terminal.keys("?");
    terminal.waits_for("another terminal controls the run");
    terminal.waits_for_no("skip the story");
    terminal.key(Key::Esc);
    terminal.waits_for_no("another terminal controls the run");

    release(&sandbox, "go-1");
    terminal.waits_for("story 2:");
    terminal.waits_for("1 of 2 stories");
    release(&sandbox, "go-2");
    running.end().ends_with(0);
    terminal.waits_for("the result");
    terminal.waits_for("On ralph/c with checkpoint commits");
    // Back to the run, which is over.
    terminal.key(Key::Esc);
    terminal.waits_for("the run is over");
    terminal.keys("q");
    ends(&mut terminal, 0);
    assert_eq!(sandbox.events_named("requested").len(), 0);
    assert_eq!(sandbox.events_named("note_added").len(), 0);
}

#[test]
fn leaving_does_not_affect_the_run_and_attach_shows_a_resumed_one() {
    let sandbox = held();
    let running = sandbox.start(&["loop", "c"]);
    until("the agent", || there(&sandbox.root.join("here-1")));
    for leave in [Key::Char('q'), Key::Esc, Key::Ctrl('c')] {
        let mut terminal = open(&sandbox, &["attach"]);
        terminal.waits_for("story 1:");
        terminal.key(leave);
        ends(&mut terminal, 0);
    }
    let mut terminal = open(&sandbox, &["attach"]);
    terminal.waits_for("story 1:");
    running.signal(Signal::KILL);
    running.end();
    terminal.waits_for("interrupted: `ralphtool resume` continues it");

    fs::remove_file(sandbox.root.join("here-1")).unwrap();
    release(&sandbox, "go-1");
    let resumed = sandbox.start(&["resume"]);
    terminal.waits_for("story 2:");
    terminal.waits_for_no("interrupted");
    release(&sandbox, "go-2");
    resumed.end().ends_with(0);
    terminal.waits_for("the result");

    // So does a new run.
    sandbox.run(&["finish", "--abandon"]).ends_with(0);
    fs::remove_file(sandbox.root.join("go-1")).unwrap();
    let other = sandbox.start(&["loop", "c"]);
    terminal.waits_for("story 1:");
    terminal.waits_for("0 of 2 stories");
    release(&sandbox, "go-1");
    other.end().ends_with(0);
    terminal.waits_for("the result");
    terminal.keys("q");
    ends(&mut terminal, 0);
}

#[test]
fn the_list_of_changes_shows_a_run_in_another_terminal() {
    let sandbox = held();
    let running = sandbox.start(&["loop", "c"]);
    until("the agent", || there(&sandbox.root.join("here-1")));
    let mut terminal = open(&sandbox, &[]);
    terminal.waits_for("running → attach");
    terminal.key(Key::Enter);
    terminal.waits_for("I look around.");
    terminal.keys("p");
    terminal.waits_for("read-only: the run is controlled in its own terminal");
    terminal.key(Key::Esc);
    terminal.waits_for("running → attach");
    terminal.key(Key::Enter);
    terminal.waits_for("I look around.");
    release(&sandbox, "go-1");
    release(&sandbox, "go-2");
    running.end().ends_with(0);
    terminal.waits_for("the result");
    terminal.key(Key::Esc);
    terminal.waits_for("done");
    terminal.keys("q");
    ends(&mut terminal, 0);
    assert_eq!(sandbox.events_named("requested").len(), 0);
}

#[test]
fn attach_needs_a_run_and_a_terminal() {
    let sandbox = Sandbox::new();
    let refused = sandbox.run(&["attach"]).ends_with(2);
    assert!(
        refused.stderr.contains("status --watch"),
        "{}",
        refused.stderr
    );
    let mut terminal = open(&sandbox, &["attach"]);
    terminal.waits_for("no run is at work in this repository");
    terminal.waits_for("ralphtool run CHANGE");
    ends(&mut terminal, 2);
    sandbox.run(&["loop", "c"]).ends_with(0);
    let mut terminal = open(&sandbox, &["attach"]);
    terminal.waits_for("ralphtool log last --tui");
    ends(&mut terminal, 2);
}

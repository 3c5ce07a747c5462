//! Runs that are stopped while an agent works: by keys, by signals, with the window, by a bug.

use pretty_assertions::assert_eq;
use rustix::process::Signal;
use serde_json::Value;

use crate::sandbox::{GOOD, Sandbox, everything, files, there, until};
use crate::terminal::{Key, Terminal};
use crate::tui::stage::{
    WORKS_FOR_EVER, all_ticked, chooses, command, deaf, ends, is_given_back, leaves, nothing_runs,
    open_at_work, release,
};

/// A dirty repository with an agent that never ends, while the agent works.
struct Stopped {
    sandbox: Sandbox,
    terminal: Terminal,
    before: std::collections::BTreeMap<String, String>,
}

impl Stopped {
    fn start(agent: &str) -> Self {
        let sandbox = Sandbox::new();
        sandbox.make_dirty();
        let before = files(&sandbox.repo);
        sandbox.agent(agent);
        let terminal = open_at_work(&sandbox);
        assert!(sandbox.exists("junk.txt") && !sandbox.exists("a.txt"));
        Self {
            sandbox,
            terminal,
            before,
        }
    }

    /// The attempt is parked, the tree is at the checkpoint, and the next run does the work.
    #[track_caller]
    fn is_safe(&self) {
        let sandbox = &self.sandbox;
        nothing_runs(sandbox);
        assert_eq!(files(&sandbox.repo), self.before);
        assert_eq!(sandbox.git("status --porcelain"), "");
        assert_eq!(sandbox.commits(), ["initial state"]);
        let failed = sandbox.events_named("attempt_failed");
        assert_eq!(failed.len(), 1);
        assert_eq!(
            (&failed[0]["parked"], &failed[0]["kind"]),
            (&Value::from("1.1"), &Value::from("stopped"))
        );
        let diff = sandbox.transcript("1.1", "changes.diff");
        assert!(diff.contains("+junk"), "{diff}");
        sandbox.agent(GOOD);
        sandbox.run(&["resume", "--no-tui"]).ends_with(0);
        assert_eq!(sandbox.tasks_now(), all_ticked());
    }
}

#[test]
fn stop_asks_and_stops() {
    let mut it = Stopped::start(WORKS_FOR_EVER);
    it.terminal.keys("s");
    it.terminal.waits_for("Stop the run?");
    it.terminal.keys("n");
    it.terminal.waits_for_no("Stop the run?");
    assert!(it.sandbox.exists("junk.txt"));
    it.terminal.keys("s");
    it.terminal.waits_for("Stop the run?");
    it.terminal.keys("y");
    it.terminal
        .waits_for("stay on ralph/c, one commit per story");
    leaves(&mut it.terminal, 130);
    it.is_safe();
}

#[test]
fn leaving_asks_and_the_second_time_stops() {
    for key in [Key::Char('q'), Key::Ctrl('c')] {
        let mut it = Stopped::start(WORKS_FOR_EVER);
        it.terminal.key(key);
        it.terminal.waits_for("again within 3 seconds");
        it.terminal.key(key);
        it.terminal
            .waits_for("stay on ralph/c, one commit per story");
        leaves(&mut it.terminal, 130);
        it.is_safe();
    }
}

#[test]
fn leaving_a_third_time_kills_an_agent_that_ignores_signals() {
    for key in [Key::Char('q'), Key::Ctrl('c')] {
        let mut it = Stopped::start(&deaf());
        it.terminal.key(key);
        it.terminal.waits_for("again within 3 seconds");
        it.terminal.key(key);
        it.terminal.waits_for("stopping");
        it.terminal.waits_for_no("again within 3 seconds");
        it.terminal.key(key);
        ends(&mut it.terminal, 130);
        it.is_safe();
    }
}

#[test]
fn leaving_once_changes_nothing() {
    let sandbox = Sandbox::new();
    sandbox.agent(&format!(
        "touch \"$root/here\"; wait_for \"$root/go\"\n{GOOD}"
    ));
    let mut terminal = open_at_work(&sandbox);
    terminal.keys("q");
    terminal.waits_for("again within 3 seconds");
    release(&sandbox, "go");
    terminal.waits_for("2 of 2 stories done");
    assert_eq!(sandbox.failures(), [""; 0]);
    chooses(&terminal, "c", "Changes ready on main (uncommitted)");
    terminal.keys("q");
    ends(&mut terminal, 0);
    assert_eq!(sandbox.tasks_now(), all_ticked());
}

#[test]
fn signals_stop_the_run_and_end_the_program() {
    for signal in [Signal::TERM, Signal::HUP] {
        let mut it = Stopped::start(WORKS_FOR_EVER);
        it.terminal.signal(signal);
        ends(&mut it.terminal, 143);
        it.is_safe();
    }
}

#[test]
fn a_second_signal_kills_an_agent_that_ignores_signals() {
    let mut it = Stopped::start(&deaf());
    it.terminal.signal(Signal::TERM);
    it.terminal.waits_for("stopping");
    it.terminal.signal(Signal::TERM);
    ends(&mut it.terminal, 143);
    it.is_safe();
}

#[test]
fn a_closed_window_stops_the_run() {
    let mut it = Stopped::start(WORKS_FOR_EVER);
    it.terminal.hang_up();
    assert_eq!(it.terminal.end(), 143);
    it.is_safe();
}

#[test]
fn a_signal_while_the_choice_is_open_keeps_the_branch() {
    let sandbox = Sandbox::new();
    let mut terminal = crate::tui::stage::open(&sandbox, &["loop", "c"]);
    terminal.waits_for("stay on ralph/c, one commit per story");
    terminal.signal(Signal::TERM);
    let code = terminal.end();
    is_given_back(&terminal);
    assert!([0, 143].contains(&code), "{code}");
    assert_eq!(sandbox.branch(), "ralph/c");
    assert_eq!(sandbox.git("status --porcelain"), "");
    assert_eq!(sandbox.tasks_now(), all_ticked());
}

#[test]
fn signals_and_a_closed_window_end_the_list_of_changes() {
    for signal in [Signal::TERM, Signal::HUP, Signal::INT] {
        let sandbox = Sandbox::new();
        let before = everything(&sandbox.repo);
        let mut terminal = crate::tui::stage::open(&sandbox, &[]);
        terminal.waits_for("ready");
        terminal.signal(signal);
        ends(&mut terminal, 0);
        assert_eq!(everything(&sandbox.repo), before);
    }
    let sandbox = Sandbox::new();
    let mut terminal = crate::tui::stage::open(&sandbox, &[]);
    terminal.waits_for("ready");
    terminal.hang_up();
    terminal.end();
}

#[test]
fn a_panic_of_the_screen_restores_the_terminal_and_stops_the_run() {
    let sandbox = Sandbox::new();
    sandbox.make_dirty();
    let before = files(&sandbox.repo);
    sandbox.agent(WORKS_FOR_EVER);
    let mut command = command(&sandbox, &["loop", "c"]);
    command.env("RALPHTOOL_PANIC_KEY", "#");
    let mut terminal = Terminal::start(&command, 24, 80);
    until("the agent", || there(&sandbox.root.join("here")));
    terminal.waits_for("story 1:");
    terminal.keys("#");
    ends(&mut terminal, 4);
    let screen = terminal.screen();
    assert!(
        screen.contains("error: ralphtool has a bug and cannot continue"),
        "{screen}"
    );
    assert!(
        screen.contains("because: the key that panics was pressed"),
        "{screen}"
    );
    // Each line begins where a line begins.
    assert!(screen.contains("\n  hint: "), "{screen}");
    let it = Stopped {
        sandbox,
        terminal,
        before,
    };
    it.is_safe();
}

//! What the screen begins with: no changes, broken ones, an interrupted run, a run of the past.

use std::fs;

use pretty_assertions::assert_eq;
use rustix::process::Signal;

use crate::sandbox::{GOOD, Sandbox, everything};
use crate::terminal::Key;
use crate::tui::stage::{
    WORKS_FOR_EVER, all_ticked, chooses, ends, nothing_runs, open, open_at_work,
};

#[test]
fn without_changes_it_says_how_to_make_one() {
    let sandbox = Sandbox::new();
    fs::remove_dir_all(sandbox.repo.join("openspec/changes/c")).unwrap();
    let before = everything(&sandbox.repo);
    let mut terminal = open(&sandbox, &[]);
    terminal.waits_for("no changes in");
    terminal.waits_for("openspec new change NAME");
    terminal.key(Key::Enter);
    terminal.keys("r");
    // One that is made meanwhile is found.
    sandbox.tasks("## 1. First\n- [ ] 1.1 Do a\n");
    terminal.keys("R");
    terminal.waits_for("0/1");
    fs::remove_dir_all(sandbox.repo.join("openspec/changes/c")).unwrap();
    terminal.keys("q");
    ends(&mut terminal, 0);
    assert_eq!(everything(&sandbox.repo), before);
}

#[test]
fn without_a_folder_for_changes_it_says_so() {
    let sandbox = Sandbox::new();
    fs::remove_dir_all(sandbox.repo.join("openspec")).unwrap();
    let mut terminal = open(&sandbox, &[]);
    terminal.waits_for("no changes in");
    terminal.keys("q");
    ends(&mut terminal, 0);
}

#[test]
fn a_change_that_cannot_be_read_shows_its_reason() {
    let sandbox = Sandbox::new();
    sandbox.write("openspec/changes/broken/.openspec.yaml", "schema: nope\n");
    sandbox.write("openspec/changes/broken/tasks.md", "- [ ] 1.1 Do a\n");
    let mut terminal = open(&sandbox, &[]);
    terminal.waits_for("unreadable");
    terminal.keys("/broken");
    terminal.waits_for_no("0/2");
    terminal.key(Key::Enter);
    terminal.waits_for("unreadable: ");
    terminal.key(Key::Enter);
    terminal.waits_for("`broken` cannot be read");
    terminal.keys("q");
    ends(&mut terminal, 0);
}

#[test]
fn a_change_with_nothing_left_starts_nothing() {
    let sandbox = Sandbox::new();
    sandbox.tasks(&all_ticked());
    sandbox.git("commit -q -a -m ticked");
    let before = everything(&sandbox.repo);
    let mut terminal = open(&sandbox, &[]);
    terminal.waits_for("4/4   just now  done");
    terminal.key(Key::Enter);
    terminal.waits_for("☑ 1.1 Do a");
    terminal.keys("r");
    terminal.waits_until(|screen| {
        screen.contains("nothing is left to do") || screen.contains("it cannot start")
    });
    terminal.waits_for("☑ 1.1 Do a");
    terminal.keys("q");
    ends(&mut terminal, 0);
    assert_eq!(everything(&sandbox.repo), before);
}

#[test]
fn a_missing_agent_is_shown_before_the_start() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "ralphtool.toml",
        "agent = \"mine\"\n[agents.mine]\ncommand = [\"no-such-agent\"]\n",
    );
    let mut terminal = open(&sandbox, &[]);
    terminal.waits_for("ready");
    terminal.key(Key::Enter);
    terminal.waits_for("no-such-agent");
    terminal.keys("r");
    terminal.waits_for("it cannot start");
    terminal.keys("q");
    ends(&mut terminal, 0);
    assert_eq!(sandbox.branch(), "main");
    assert_eq!(sandbox.git("branch --list"), "* main\n");
}

#[test]
fn an_interrupted_run_is_resumed() {
    let sandbox = Sandbox::new();
    sandbox.make_dirty();
    sandbox.agent(WORKS_FOR_EVER);
    let mut killed = open_at_work(&sandbox);
    killed.signal(Signal::KILL);
    assert_eq!(killed.end(), 128 + 9);
    sandbox.agent(GOOD);
    let mut terminal = open(&sandbox, &[]);
    terminal.waits_for("interrupted → resume");
    terminal.key(Key::Enter);
    terminal.waits_for("Run: ready");
    terminal.keys("r");
    terminal.waits_for("2 of 2 stories done");
    chooses(&terminal, "c", "Changes ready on main (uncommitted)");
    terminal.key(Key::Esc);
    terminal.waits_for("last run  all stories are done; cleaned up");
    terminal.keys("q");
    ends(&mut terminal, 0);
    nothing_runs(&sandbox);
    assert_eq!(sandbox.branch(), "main");
    assert_eq!(sandbox.tasks_now(), all_ticked());
    assert_eq!(sandbox.read("a.txt"), "one staged and more\n");
    assert!(!sandbox.exists("junk.txt"));
    assert_eq!(sandbox.git("branch --list"), "* main\n");
}

#[test]
fn a_run_of_the_past_is_shown_again() {
    let sandbox = Sandbox::new();
    sandbox.agent(&format!(
        "echo \"Words on story $RALPHTOOL_STORY, attempt $attempt.\"
         if [ $RALPHTOOL_STORY.$attempt = 1.1 ]; then
             echo junk > junk.txt; failed \"took the wrong way\"; exit 0
         fi\n{GOOD}"
    ));
    sandbox
        .run(&["loop", "c", "--on-finish", "cleanup"])
        .ends_with(0);
    let before = everything(&sandbox.repo);
    let mut terminal = open(&sandbox, &["log", "last", "--tui"]);
    terminal.waits_for("2 of 2 stories");
    terminal.waits_for("Words on story 2, attempt 1.");
    terminal.keys("k");
    terminal.waits_for("Words on story 1, attempt 2.");
    terminal.keys("[");
    terminal.waits_for("Words on story 1, attempt 1.");
    terminal.keys("3");
    terminal.waits_for("took the wrong way");
    terminal.key(Key::End);
    terminal.key(Key::Enter);
    terminal.waits_for("A junk.txt");
    // What steers a run does nothing here.
    terminal.keys("pxs");
    terminal.keys("q");
    ends(&mut terminal, 0);
    assert_eq!(everything(&sandbox.repo), before);
}

#[test]
fn a_run_of_the_past_needs_a_terminal_to_be_shown_on() {
    let sandbox = Sandbox::new();
    sandbox.run(&["loop", "c"]).ends_with(0);
    let output = sandbox.run(&["log", "last", "--tui"]).ends_with(2);
    assert!(output.stderr.contains("no terminal"), "{}", output.stderr);
    assert!(
        output.stderr.contains("hint: leave out `--tui`"),
        "{}",
        output.stderr
    );
    assert!(!output.stdout.contains('\u{1b}'));
}

#[test]
fn a_first_change_is_written_by_key() {
    let sandbox = Sandbox::new();
    std::fs::remove_dir_all(sandbox.repo.join("openspec")).unwrap();
    let mut terminal = open(&sandbox, &[]);
    terminal.waits_for("to write one from a template");
    terminal.keys("n");
    terminal.waits_for("name of the new change");
    terminal.keys("add-retry");
    terminal.key(Key::Enter);
    terminal.waits_for("wrote openspec/changes/add-retry");
    terminal.waits_for("no gates: the agent's word is the only check");
    assert!(sandbox.exists("openspec/changes/add-retry/tasks.md"));
    terminal.keys("q");
    ends(&mut terminal, 0);
}

//! The choices at the end of a run.

use pretty_assertions::assert_eq;

use crate::sandbox::{GOOD, Sandbox, TASKS};
use crate::terminal::{Key, Terminal};
use crate::tui::stage::{
    all_ticked, asks, chooses, command, ends, leaves, leaves_by, open, presses_until, release,
};

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
    terminal.waits_for("stay on ralph/c, one commit per story");
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
        terminal.waits_for("stay on ralph/c, one commit per story");
        leaves_by(&mut terminal, key, 0);
        is_kept(&sandbox);
        let screen = terminal.screen();
        assert!(screen.contains("all stories are done"), "{screen}");
    }
}

#[test]
fn the_choice_is_made_with_arrows_too() {
    let sandbox = Sandbox::new();
    let mut terminal = open(&sandbox, &["loop", "c"]);
    terminal.waits_for("c  Cleanup");
    // The bar of a story's time may end in the same character.
    let is_selected = |line: &str| line.trim_start().starts_with('▌');
    let screen = terminal.screen();
    assert!(!screen.lines().any(is_selected), "{screen}");
    // Keys select only after a moment without keys.
    presses_until(&terminal, Key::Char('g'), "the first choice", || {
        terminal.screen().contains("▌ c  Cleanup")
    });
    terminal.key(Key::Down);
    terminal.waits_for("▌ b  Keep");
    terminal.key(Key::Up);
    terminal.waits_for("▌ c  Cleanup");
    terminal.key(Key::Enter);
    terminal.waits_for("Clean up?");
    terminal.keys("y");
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
    terminal.waits_for("r  Resume");
    terminal.waits_for("0 of 2 stories done");
    release(&sandbox, "help");
    chooses(&terminal, "r", "2 of 2 stories done");
    terminal.waits_for_no("r  Resume");
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
    terminal.waits_for("stay on ralph/c, one commit per story");
    terminal.key(Key::Esc);
    terminal.waits_for("Story 2 it is.");
    terminal.key(Key::Up);
    terminal.waits_for("Story 1 it is.");
    terminal.keys("2");
    terminal.waits_for("A story-1.txt");
    terminal.key(Key::Esc);
    terminal.waits_for("stay on ralph/c, one commit per story");
    leaves(&mut terminal, 0);
    is_kept(&sandbox);
}

#[test]
fn a_cleanup_that_cannot_be_done_leaves_the_choice_open() {
    let sandbox = Sandbox::new();
    let mut terminal = open(&sandbox, &["loop", "c"]);
    terminal.waits_for("stay on ralph/c, one commit per story");
    // Another commit: the branch is not where the run left it.
    sandbox.git("commit -q --allow-empty -m mine");
    sandbox.git("checkout -q --detach");
    asks(&terminal, "c");
    terminal.keys("y");
    terminal.waits_for("✗ ");
    terminal.waits_for("→ ");
    terminal.waits_for("stay on ralph/c, one commit per story");
    sandbox.git("checkout -q ralph/c");
    chooses(&terminal, "b", "the result");
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
    terminal.waits_for("r  Resume");
    sandbox.git("checkout -q --detach");
    chooses(&terminal, "c", "but HEAD is on");
    terminal.waits_for("r  Resume");
    sandbox.git("checkout -q ralph/c");
    release(&sandbox, "help");
    chooses(&terminal, "r", "2 of 2 stories done");
    chooses(&terminal, "c", "Changes ready on main (uncommitted)");
    terminal.keys("q");
    ends(&mut terminal, 0);
    assert_eq!(sandbox.tasks_now(), all_ticked());
}

#[test]
fn abandoning_at_the_end_restores_everything_and_asks_first() {
    let sandbox = Sandbox::new();
    sandbox.make_dirty();
    let status = sandbox.git("status --porcelain");
    let tasks = sandbox.tasks_now();
    let mut terminal = open(&sandbox, &["loop", "c"]);
    terminal.waits_for("a  Abandon");
    asks(&terminal, "a");
    terminal.waits_for("Abandon the run?");
    // Anything but yes is no.
    terminal.key(Key::Enter);
    terminal.waits_for_no("Abandon the run?");
    chooses(&terminal, "a", "Everything is as before, on main");
    terminal.keys("q");
    ends(&mut terminal, 0);
    assert_eq!(choice(&sandbox), "abandon");
    assert_eq!(sandbox.branch(), "main");
    assert_eq!(sandbox.git("status --porcelain"), status);
    assert_eq!(sandbox.tasks_now(), tasks);
}

#[test]
fn abandoning_at_the_end_restores_a_task_file_outside_the_tree() {
    let sandbox = Sandbox::new();
    let plan = sandbox.root.join("plan.md");
    std::fs::write(&plan, TASKS).unwrap();
    sandbox.agent(&format!("tasks=$root/plan.md\n{GOOD}"));
    let mut terminal = open(&sandbox, &["loop", plan.to_str().unwrap()]);
    terminal.waits_for("a  Abandon");
    assert_eq!(std::fs::read_to_string(&plan).unwrap(), all_ticked());
    chooses(&terminal, "a", "Everything is as before, on main");
    terminal.keys("q");
    ends(&mut terminal, 0);
    assert_eq!(std::fs::read_to_string(&plan).unwrap(), TASKS);
    let undone = sandbox.run(&["undo"]);
    assert_eq!(undone.code, 0, "{}", undone.stderr);
    assert_eq!(std::fs::read_to_string(&plan).unwrap(), all_ticked());
}

#[test]
fn what_was_done_with_the_branch_is_undone_by_key() {
    let sandbox = Sandbox::new();
    let mut terminal = open(&sandbox, &["loop", "c"]);
    terminal.waits_for("c  Cleanup");
    let commits = sandbox.commits();
    chooses(&terminal, "c", "Changes ready on main (uncommitted)");
    assert_eq!(sandbox.branch(), "main");
    presses_until(&terminal, Key::Char('u'), "the undo", || {
        terminal.screen().contains("Undone: HEAD is on `ralph/c`")
    });
    assert_eq!(sandbox.branch(), "ralph/c");
    assert_eq!(sandbox.commits(), commits);
    assert_eq!(sandbox.git("status --porcelain"), "");
    terminal.keys("q");
    ends(&mut terminal, 0);
    // The closing words know it.
    let screen = terminal.screen();
    assert!(!screen.contains("uncommitted changes"), "{screen}");
    assert_eq!(sandbox.run(&["finish", "--cleanup"]).code, 0);
    assert_eq!(sandbox.branch(), "main");
}

#[test]
fn the_end_of_a_fresh_run_says_where_to_abandon_it_leads_and_undoes_no_more_than_its_keep() {
    let sandbox = Sandbox::new();
    let first = sandbox.run(&["loop", "c", "--story", "1"]);
    assert_eq!(first.code, 0, "{}", first.stderr);
    let mut terminal = open(&sandbox, &["loop", "c", "--fresh"]);
    terminal.waits_for("return to ralph/c as it was before the run");
    presses_until(&terminal, Key::Char('a'), "the question", || {
        terminal.screen().contains("Abandon the run?")
    });
    terminal.waits_for("`ralph/c`: the work of all stories is removed");
    terminal.keys("n");
    chooses(&terminal, "b", "On ralph/c with checkpoint commits");
    let commits = sandbox.commits();
    presses_until(&terminal, Key::Char('u'), "the undo", || {
        terminal.screen().contains("Undone")
    });
    terminal.keys("q");
    ends(&mut terminal, 0);
    assert_eq!((sandbox.commits(), commits.len()), (commits, 3));
    let status = sandbox.run(&["status", "--json"]).stdout;
    assert!(status.contains("\"open\": true"), "{status}");
}

#[test]
fn the_commits_are_squashed_by_key() {
    let sandbox = Sandbox::new();
    let mut terminal = open(&sandbox, &["loop", "c"]);
    terminal.waits_for("o  Squash");
    chooses(&terminal, "o", "all work in one commit");
    terminal.keys("q");
    ends(&mut terminal, 0);
    assert_eq!(choice(&sandbox), "squash");
    assert_eq!(sandbox.branch(), "ralph/c");
    assert_eq!(sandbox.git("rev-list --count main..ralph/c"), "1\n");
    assert_eq!(sandbox.tasks_now(), all_ticked());
}

#[test]
fn the_screens_say_that_work_is_not_verified() {
    let red = "gate `tests` red since before the run";
    let not_run = "gate `tests` has not run yet: it runs when every story is done";
    for (key, args, code, words) in [
        ("", &["loop", "c"][..], 1, red),
        ("allow_red = true", &["loop", "c"], 0, red),
        ("when = \"end\"", &["loop", "c", "--story", "1"], 0, not_run),
    ] {
        let sandbox = Sandbox::new();
        let gate = format!("[[gate]]\nname = \"tests\"\nrun = \"exit 3\"\n{key}\n");
        sandbox.config_and("", &gate);
        sandbox.git("commit -qam gate");
        let mut terminal = open(&sandbox, args);
        terminal.waits_for("c  Cleanup");
        terminal.waits_for(words);
        chooses(&terminal, "b", "On ralph/c with checkpoint commits");
        terminal.keys("q");
        ends(&mut terminal, code);
        let mut list = Terminal::start(&command(&sandbox, &[]), 40, 240);
        list.waits_for("last run");
        list.waits_for(words);
        list.keys("q");
        ends(&mut list, 0);
    }
}

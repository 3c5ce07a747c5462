//! What a user does to a run while it is active: pause, skip, note, end a wait.

use std::fs;

use pretty_assertions::assert_eq;

use crate::repairs::in_sessions;
use crate::sandbox::{GOOD, Sandbox, there, until};
use crate::terminal::{Key, Terminal};
use crate::tui::stage::{CLAUDE, all_ticked, chooses, ends, leaves, open, open_at_work, release};

/// Says that its attempt began, and waits for `go`.
const WAITS: &str = r#"
echo "Story $RALPHTOOL_STORY, attempt $attempt."
touch "$root/began-$RALPHTOOL_STORY.$attempt" "$root/here"
wait_for "$root/go"
"#;

/// The attempts that began.
fn began(sandbox: &Sandbox) -> Vec<String> {
    let mut began: Vec<String> = fs::read_dir(&sandbox.root)
        .unwrap()
        .filter_map(|entry| {
            let name = entry.unwrap().file_name().into_string().unwrap();
            name.strip_prefix("began-").map(str::to_owned)
        })
        .collect();
    began.sort();
    began
}

#[track_caller]
fn cleans_up(mut terminal: Terminal, code: i32) {
    terminal.waits_for("return to main, the changes uncommitted");
    chooses(&terminal, "c", "Changes ready on main (uncommitted)");
    terminal.keys("q");
    ends(&mut terminal, code);
}

#[test]
fn a_paused_run_starts_nothing_until_it_continues() {
    let sandbox = Sandbox::new();
    sandbox.agent(&format!("{WAITS}{GOOD}"));
    let terminal = open_at_work(&sandbox);
    terminal.keys("p");
    terminal.waits_for("pauses before the agent starts again");
    release(&sandbox, "go");
    terminal.waits_for("‖ paused");
    assert_eq!(began(&sandbox), ["1.1"]);
    assert_eq!(sandbox.commits().len(), 2, "story 1 is saved");
    terminal.keys("p");
    cleans_up(terminal, 0);
    assert_eq!(began(&sandbox), ["1.1", "2.1"]);
    assert_eq!(sandbox.tasks_now(), all_ticked());
}

#[test]
fn a_pause_can_be_cancelled_before_it_begins() {
    let sandbox = Sandbox::new();
    sandbox.agent(&format!("{WAITS}{GOOD}"));
    let terminal = open_at_work(&sandbox);
    terminal.keys("p");
    terminal.waits_for("pauses before the agent starts again");
    terminal.keys("p");
    terminal.waits_for_no("pauses before the agent starts again");
    release(&sandbox, "go");
    cleans_up(terminal, 0);
    assert_eq!(sandbox.tasks_now(), all_ticked());
}

#[test]
fn a_paused_run_can_be_stopped() {
    let sandbox = Sandbox::new();
    sandbox.agent(&format!("{WAITS}{GOOD}"));
    let mut terminal = open_at_work(&sandbox);
    terminal.keys("p");
    terminal.waits_for("pauses before the agent starts again");
    release(&sandbox, "go");
    terminal.waits_for("‖ paused");
    terminal.keys("s");
    terminal.waits_for("Stop the run?");
    terminal.keys("y");
    terminal.waits_for("1 of 2 stories done");
    leaves(&mut terminal, 130);
    assert_eq!(began(&sandbox), ["1.1"]);
    assert_eq!(sandbox.commits().len(), 2);
}

#[test]
fn what_the_user_edits_during_a_pause_before_a_repair_stays() {
    let gate = "[[gate]]\nname = \"tests\"\nrun = \"touch built; cat story-1.txt; grep -q fixed story-1.txt\"\nbaseline = false\n";
    let script = r#"
echo work >> "story-$RALPHTOOL_STORY.txt"
[ "$1" = first ] && { touch "$root/here"; wait_for "$root/go"; }
tick "$RALPHTOOL_STORY"; complete
"#;
    let sandbox = in_sessions("max_retries = 0", gate, script);
    let terminal = open_at_work(&sandbox);
    terminal.keys("p");
    terminal.waits_for("pauses before the agent starts again");
    release(&sandbox, "go");
    terminal.waits_for("‖ paused during attempt 1 of story 1");
    assert!(!sandbox.exists("built"), "what the gate made is gone");
    sandbox.write("story-1.txt", "fixed\n");
    sandbox.write("mine.txt", "mine\n");
    terminal.keys("p");
    cleans_up(terminal, 0);
    assert_eq!(sandbox.read("story-1.txt"), "fixed\nwork\n");
    assert_eq!(sandbox.read("mine.txt"), "mine\n");
}

#[test]
fn a_story_is_skipped_on_request() {
    let sandbox = Sandbox::new();
    sandbox.agent(&format!(
        "echo junk > junk.txt
         if [ $RALPHTOOL_STORY = 1 ]; then {WAITS} fi
         rm junk.txt\n{GOOD}"
    ));
    let terminal = open_at_work(&sandbox);
    terminal.keys("x");
    terminal.waits_for("Skip the story?");
    terminal.keys("y");
    terminal.waits_for("1 of 2 stories done");
    cleans_up(terminal, 1);
    assert_eq!(began(&sandbox), ["1.1"]);
    assert_eq!(sandbox.failures().len(), 1, "{:?}", sandbox.failures());
    assert!(sandbox.failures()[0].starts_with("1.1 skipped:"));
    assert!(sandbox.transcript("1.1", "changes.diff").contains("+junk"));
    assert!(!sandbox.exists("junk.txt") && !sandbox.exists("story-1.txt"));
    assert!(sandbox.exists("story-2.txt"));
    let tasks = sandbox.tasks_now();
    assert!(
        tasks.contains("- [ ] 1.1") && tasks.contains("- [x] 2.1"),
        "{tasks}"
    );
}

#[test]
fn a_note_reaches_the_next_attempt() {
    let sandbox = Sandbox::new();
    sandbox.agent(&format!(
        "if [ $RALPHTOOL_STORY.$attempt = 1.1 ]; then {WAITS} failed \"no idea\"; exit 0; fi\n{GOOD}"
    ));
    let terminal = open_at_work(&sandbox);
    terminal.keys(":");
    terminal.waits_for("note for story 1:");
    assert!(terminal.cursor_visible());
    // Keys that mean something elsewhere are letters here.
    terminal.keys("quiet sea");
    terminal.waits_for("quiet sea");
    terminal.paste(", and\nthe pasted rest");
    terminal.waits_for("pasted rest");
    terminal.key(Key::Enter);
    terminal.waits_for("1 note for the next prompt");
    assert!(!terminal.cursor_visible());
    release(&sandbox, "go");
    cleans_up(terminal, 0);
    let first = sandbox.transcript("1.1", "prompt.md");
    assert!(!first.contains("quiet sea"), "{first}");
    let second = sandbox.transcript("1.2", "prompt.md");
    assert!(
        second.contains("quiet sea, and the pasted rest"),
        "{second}"
    );
    let next = sandbox.transcript("2.1", "prompt.md");
    assert!(!next.contains("quiet sea"), "{next}");
}

#[test]
fn a_note_for_a_story_that_succeeds_reaches_no_other_story() {
    let sandbox = Sandbox::new();
    sandbox.agent(&format!(
        "if [ $RALPHTOOL_STORY = 1 ]; then {WAITS} else wait_for $root/later; fi\n{GOOD}"
    ));
    let terminal = open_at_work(&sandbox);
    terminal.keys(":do not touch the command line");
    terminal.waits_for("note for story 1: do not touch the command line");
    terminal.key(Key::Enter);
    terminal.waits_for("1 note for the next prompt");
    release(&sandbox, "go");
    terminal.waits_for("note for story 1 was not used: the story is done");
    release(&sandbox, "later");
    cleans_up(terminal, 0);
    let next = sandbox.transcript("2.1", "prompt.md");
    assert!(!next.contains("command line"), "{next}");
    let unused = sandbox.events_named("note_unused");
    assert_eq!(unused.len(), 1);
    assert_eq!(unused[0]["story"], "1");
    assert_eq!(unused[0]["reason"], "the story is done");
}

#[test]
fn a_cancelled_note_is_not_sent() {
    let sandbox = Sandbox::new();
    sandbox.agent(&format!(
        "if [ $RALPHTOOL_STORY.$attempt = 1.1 ]; then {WAITS} failed \"no idea\"; exit 0; fi\n{GOOD}"
    ));
    let terminal = open_at_work(&sandbox);
    terminal.keys(":never mind");
    terminal.waits_for("never mind");
    terminal.key(Key::Ctrl('c'));
    terminal.waits_for_no("never mind");
    release(&sandbox, "go");
    cleans_up(terminal, 0);
    let second = sandbox.transcript("1.2", "prompt.md");
    assert!(!second.contains("never mind"), "{second}");
}

#[test]
fn a_wait_for_a_limit_counts_down_and_can_be_cut_short() {
    let sandbox = Sandbox::new();
    sandbox.config_and("", "output = \"claude-json\"\n");
    sandbox.agent(&format!(
        "{CLAUDE}
         if [ ! -e \"$root/free\" ]; then limited $(($(date +%s) + 600)); fi
         echo work > story-$RALPHTOOL_STORY.txt; tick $RALPHTOOL_STORY; done_json"
    ));
    let terminal = open(&sandbox, &["loop", "c", "--max-retries", "0"]);
    terminal.waits_for("r tries now");
    terminal.waits_for("⏳ until");
    terminal.waits_for("You have hit your 5-hour limit");
    // It counts down.
    let shown = |screen: &str| {
        let line = screen.lines().find(|line| line.contains("⏳ until"));
        line.map(|line| line.split("r tries").next().unwrap().to_owned())
    };
    let first = shown(&terminal.screen()).unwrap();
    terminal.waits_until(|screen| shown(screen).is_some_and(|now| now != first));
    // Not free yet: it waits again.
    terminal.keys("r");
    until("the second attempt", || {
        (sandbox.events_named("waiting").len() == 2).then_some(())
    });
    release(&sandbox, "free");
    // The first wait may still be on the screen.
    terminal.waits_for("‖ 2 the agent hit");
    terminal.waits_for("⏳ until");
    terminal.keys("r");
    cleans_up(terminal, 0);
    let failures = sandbox.failures();
    assert_eq!(failures.len(), 2, "{failures:?}");
    assert!(
        failures.iter().all(|it| it.contains(" limit: ")),
        "{failures:?}"
    );
    assert_eq!(sandbox.tasks_now(), all_ticked());
}

#[test]
fn another_story_stays_selected_until_the_live_one_is_followed_again() {
    let sandbox = Sandbox::new();
    sandbox.agent(&format!(
        "echo \"Words on story $RALPHTOOL_STORY.\"
         if [ $RALPHTOOL_STORY = 2 ]; then {WAITS} fi\n{GOOD}"
    ));
    let terminal = open(&sandbox, &["loop", "c"]);
    until("the agent", || there(&sandbox.root.join("here")));
    terminal.waits_for("Words on story 2.");
    terminal.key(Key::Up);
    terminal.waits_for("Words on story 1.");
    terminal.waits_for("f follows");
    assert!(terminal.find("Words on story 2.").is_none());
    terminal.keys("f");
    terminal.waits_for("Words on story 2.");
    terminal.waits_for_no("f follows");
    assert!(terminal.find("Words on story 1.").is_none());
    release(&sandbox, "go");
    cleans_up(terminal, 0);
    assert_eq!(sandbox.tasks_now(), all_ticked());
}

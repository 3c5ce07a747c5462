//! From the list of changes to the finished run, and the other ways to end a run.

use pretty_assertions::assert_eq;

use crate::sandbox::{GOOD, Sandbox, there, until};
use crate::terminal::Key;
use crate::tui::stage::{all_ticked, chooses, ends, open, release};

/// Fails story 1 once, with visible changes, and waits before it continues.
const FAILS_ONCE: &str = r#"
if [ "$RALPHTOOL_STORY.$attempt" = 1.1 ]; then
    echo "wrong way" > wrong.txt
    failed "took the wrong way"
    exit 0
fi
if [ "$RALPHTOOL_STORY.$attempt" = 1.2 ]; then
    echo "Now the right way."
    touch "$root/second"
    wait_for "$root/go"
fi
"#;

#[test]
fn a_change_is_picked_run_and_finished_on_the_screen() {
    let sandbox = Sandbox::new();
    sandbox.agent(&format!("{FAILS_ONCE}{GOOD}"));
    sandbox.make_dirty();
    let status = sandbox.git("status --porcelain");
    let staged = sandbox.git("diff --cached");
    let mut terminal = open(&sandbox, &[]);

    // Changes.
    terminal.waits_for("0/2");
    assert!(terminal.is_alternate() && terminal.is_raw() && !terminal.cursor_visible());
    assert!(terminal.mouse_on() && terminal.brackets_pastes());
    terminal.waits_for("ready");
    terminal.key(Key::Enter);

    // Preview.
    terminal.waits_for("Run: ready");
    terminal.key(Key::Tab);
    terminal.waits_for_no("1.1 Do a");
    terminal.keys("5");
    terminal.waits_for("[Prompt]");
    terminal.keys("1");
    terminal.waits_for("1.1 Do a");
    terminal.keys("S");
    terminal.key(Key::Down);
    terminal.key(Key::Down);
    terminal.key(Key::Right);
    terminal.waits_until(|screen| screen.contains("retries    4 *"));
    terminal.key(Key::Down);
    terminal.key(Key::Enter);
    terminal.waits_for("a shell line, such as");
    terminal.keys("test -e a.txt");
    terminal.key(Key::Enter);
    terminal.waits_for("☑ test -e a.txt");
    terminal.keys("r");

    // Run.
    until("the second attempt", || there(&sandbox.root.join("second")));
    terminal.waits_for("story 1, try 2/");
    terminal.waits_for("Now the right way.");
    terminal.keys("3");
    terminal.waits_for("took the wrong way");
    terminal.key(Key::End);
    terminal.key(Key::Enter);
    terminal.waits_for("wrong.txt");
    terminal.waits_for("wrong way");
    release(&sandbox, "go");

    // Completion.
    terminal.waits_for("return to main, the changes uncommitted");
    terminal.waits_for("2 of 2 stories done");
    chooses(&terminal, "c", "Changes ready on main (uncommitted)");
    terminal.waits_for("☑ 2.2 Do d");
    terminal.keys("2");
    terminal.waits_for("A story-1.txt");
    terminal.keys("3");
    terminal.waits_for("Total: 2 of 2 stories done");
    terminal.keys("q");
    ends(&mut terminal, 0);
    let screen = terminal.screen();
    assert!(screen.contains("`c`: all stories are done"), "{screen}");
    assert!(
        screen.contains("main, the work as uncommitted changes"),
        "{screen}"
    );

    assert_eq!(sandbox.branch(), "main");
    assert_eq!(sandbox.tasks_now(), all_ticked());
    assert_eq!(sandbox.git("diff --cached"), staged);
    let after = sandbox.git("status --porcelain");
    let work = " M openspec/changes/c/tasks.md\n";
    assert!(after.contains(work), "{after}");
    let is_theirs = |line: &&str| !line.contains("story-") && !line.contains("tasks.md");
    let rest: Vec<&str> = after.lines().filter(is_theirs).collect();
    assert_eq!(rest, status.lines().collect::<Vec<_>>());
    assert_eq!(sandbox.read("story-2.txt"), "work\n");
    assert!(!sandbox.exists("wrong.txt"));
    assert_eq!(sandbox.failures(), ["1.1 failed: took the wrong way"]);
    let started = &sandbox.events_named("run_started")[0];
    assert_eq!(started["max_retries"], 4, "{started}");
}

#[test]
fn a_plan_of_another_tool_is_picked_even_if_two_have_the_same_name() {
    let sandbox = Sandbox::new();
    std::fs::remove_dir_all(sandbox.repo.join("openspec")).unwrap();
    let story =
        r#"{"id": "US-1", "title": "Greet", "acceptanceCriteria": ["It greets"], "passes": false}"#;
    let plan = format!("{{\"userStories\": [{story}]}}\n");
    sandbox.write("PRD.md", "- [x] Done long ago\n");
    sandbox.write("prd.json", &plan);
    sandbox.agent("echo hello > greeting.txt\ncomplete");
    let mut terminal = open(&sandbox, &[]);
    terminal.waits_for("checklist");
    terminal.waits_for("ready");
    terminal.key(Key::Enter);
    terminal.waits_for("It greets");
    terminal.keys("r");
    terminal.waits_for("1 of 1 story done");
    chooses(&terminal, "c", "Changes ready on main (uncommitted)");
    terminal.keys("q");
    ends(&mut terminal, 0);
    assert_eq!(sandbox.read("prd.json"), plan.replace("false", "true"));
    assert_eq!(sandbox.read("greeting.txt"), "hello\n");
}

//! Other sizes, and a program that is suspended and continued.

use pretty_assertions::assert_eq;

use crate::sandbox::{GOOD, Sandbox, there, until};
use crate::terminal::{Key, Terminal};
use crate::tui::stage::{all_ticked, chooses, ends, is_given_back, leaves, open_at_work, release};

const WAITS: &str = r#"
if [ $RALPHTOOL_STORY = 1 ]; then
    echo "Words of an agent that are long enough to be broken where a screen is narrow."
    touch "$root/here"; wait_for "$root/go"
fi
"#;

fn at_work() -> (Sandbox, Terminal) {
    let sandbox = Sandbox::new();
    sandbox.agent(&format!("{WAITS}{GOOD}"));
    let terminal = open_at_work(&sandbox);
    terminal.waits_for("Words of an agent");
    (sandbox, terminal)
}

#[test]
fn every_size_has_its_layout() {
    let (sandbox, mut terminal) = at_work();
    terminal.resize(40, 120);
    terminal.waits_until(|screen| {
        let rows: Vec<&str> = screen.lines().collect();
        rows.len() == 40
            && rows[39].contains("? help")
            && screen.contains("Words of an agent that are long enough to be broken")
    });
    terminal.resize(14, 45);
    terminal.waits_until(|screen| {
        let rows: Vec<&str> = screen.lines().collect();
        rows.len() == 14
            && rows[13].contains("q quit")
            && screen.contains("1 First")
            && screen.contains("Words of an agent")
    });
    terminal.resize(8, 30);
    terminal.waits_for("ralphtool needs 40x12");
    terminal.waits_for_no("First");
    // Keys still work.
    terminal.keys("p");
    until("the wish to pause", || {
        let requests = sandbox.events_named("requested");
        (requests.len() == 1).then_some(())
    });
    terminal.resize(24, 80);
    terminal.waits_for("pauses before the agent starts again");
    terminal.waits_until(|screen| {
        screen.lines().count() == 24 && screen.contains("│ Words of an agent")
    });
    assert!(terminal.find("ralphtool needs").is_none());
    terminal.keys("p");
    terminal.waits_for_no("pauses before the agent starts again");
    release(&sandbox, "go");
    terminal.waits_for("stay on ralph/c, one commit per story");
    terminal.resize(12, 40);
    terminal.waits_for("return to main,");
    chooses(&terminal, "c", "Changes ready on main (uncommitted)");
    terminal.keys("q");
    ends(&mut terminal, 0);
    assert_eq!(sandbox.tasks_now(), all_ticked());
}

#[test]
fn many_sizes_in_a_row_do_no_harm() {
    let (sandbox, mut terminal) = at_work();
    for rows in 1..30 {
        terminal.resize(rows, 10 + 4 * rows);
    }
    for cols in (1..60).rev() {
        terminal.resize(10, cols);
    }
    terminal.resize(24, 80);
    terminal.waits_for("│ Words of an agent");
    release(&sandbox, "go");
    terminal.waits_for("stay on ralph/c, one commit per story");
    leaves(&mut terminal, 0);
    assert_eq!(sandbox.tasks_now(), all_ticked());
}

#[test]
fn a_suspended_program_continues_in_the_foreground() {
    let sandbox = Sandbox::new();
    sandbox.agent(&format!("{WAITS}{GOOD}"));
    let mut shell = sandbox.command("sh");
    shell.arg("-i").env("PS1", "shell> ").env_remove("ENV");
    let program = env!("CARGO_BIN_EXE_ralphtool");
    let mut terminal = Terminal::start(&shell, 24, 80);
    terminal.waits_for("shell>");
    terminal.keys(&format!("{program} loop c; echo \"code $?.\"\r"));
    until("the agent", || there(&sandbox.root.join("here")));
    terminal.waits_for("Words of an agent");
    assert!(terminal.is_alternate() && terminal.mouse_on());
    for turn in 0..2 {
        terminal.key(Key::Ctrl('z'));
        // The shell says what it did before it asks again.
        terminal.waits_until(|screen| {
            let stopped = screen.matches("Stopped").count();
            stopped > turn && screen.ends_with("shell>")
        });
        assert!(!terminal.is_alternate() && terminal.cursor_visible());
        assert!(!terminal.mouse_on() && !terminal.brackets_pastes());
        // What a command finds.
        terminal.keys(&format!(
            "stty -a | tr ' ;' '\\n\\n' | grep -cx -e icanon -e echo | sed 's/^/{turn}:/'\r"
        ));
        terminal.waits_for(&format!("\n{turn}:2"));
        terminal.keys("fg\r");
        terminal.waits_for("│ Words of an agent");
        assert!(terminal.is_alternate() && terminal.is_raw() && !terminal.cursor_visible());
        assert!(terminal.mouse_on() && terminal.brackets_pastes());
    }
    release(&sandbox, "go");
    terminal.waits_for("2 of 2 stories done");
    chooses(&terminal, "c", "Changes ready on main (uncommitted)");
    terminal.keys("q");
    terminal.waits_for("main, the work as uncommitted changes");
    terminal.waits_until(|screen| screen.ends_with("shell>"));
    assert!(!terminal.is_alternate());
    terminal.keys("exit\r");
    terminal.end();
    is_given_back(&terminal);
    assert_eq!(sandbox.branch(), "main");
    assert_eq!(sandbox.tasks_now(), all_ticked());
    assert_eq!(sandbox.failures(), [""; 0]);
}

#[test]
fn the_run_continues_while_the_screen_is_suspended_from_outside() {
    use rustix::process::Signal;
    let (sandbox, mut terminal) = at_work();
    terminal.signal(Signal::TSTP);
    terminal.waits_until(|screen| !screen.contains("Words of an agent"));
    let pid = terminal.pid().to_string();
    until("the process to be stopped", || {
        let mut ps = sandbox.command("ps");
        let output = ps.args(["-o", "stat=", "-p", &pid]).output().unwrap();
        output.stdout.trim_ascii().starts_with(b"T").then_some(())
    });
    is_given_back(&terminal);
    terminal.signal(Signal::CONT);
    terminal.waits_for("│ Words of an agent");
    assert!(terminal.is_alternate());
    release(&sandbox, "go");
    terminal.waits_for("stay on ralph/c, one commit per story");
    leaves(&mut terminal, 0);
    assert_eq!(sandbox.tasks_now(), all_ticked());
}

//! Reading the run screen: scrolling, searching, expanding, exporting, copying.

use std::fs;

use pretty_assertions::assert_eq;

use crate::sandbox::{GOOD, Sandbox};
use crate::terminal::{Key, Terminal, Wheel};
use crate::tui::stage::{CLAUDE, all_ticked, chooses, ends, open_at_work, release};

/// Prints two hundred lines (the last of them also elsewhere), three of them with a needle, and waits.
const TALKS: &str = r#"
n=0
while [ $n -lt 200 ]; do
    n=$((n + 1))
    case $n in
        20|100|180) echo "line $n has a needle" ; echo ;;
        *) echo "line $n" ; echo ;;
    esac
done
touch "$root/here"
wait_for "$root/go"
"#;

fn talking() -> (Sandbox, Terminal) {
    let sandbox = Sandbox::new();
    sandbox.agent(&format!(
        "if [ $RALPHTOOL_STORY = 1 ]; then {TALKS} fi\n{GOOD}"
    ));
    let terminal = open_at_work(&sandbox);
    terminal.waits_for("line 199");
    (sandbox, terminal)
}

/// Lets the agent continue; the run ends with success.
#[track_caller]
fn goes_on(sandbox: &Sandbox, mut terminal: Terminal) {
    release(sandbox, "go");
    terminal.waits_for("2 of 2 stories done");
    chooses(&terminal, "c", "Changes ready on main (uncommitted)");
    terminal.keys("q");
    ends(&mut terminal, 0);
    assert_eq!(sandbox.tasks_now(), all_ticked());
}

#[test]
fn the_wheel_scrolls_and_the_mouse_can_be_left_to_the_terminal() {
    let (sandbox, terminal) = talking();
    for _ in 0..5 {
        terminal.wheel(Wheel::Up, 12, 50);
    }
    terminal.waits_for_no("line 199");
    for _ in 0..20 {
        terminal.wheel(Wheel::Down, 12, 50);
    }
    terminal.waits_for("line 199");
    terminal.keys("m");
    terminal.waits_for("the terminal has the mouse");
    assert!(!terminal.mouse_on());
    terminal.keys("m");
    terminal.waits_for("the wheel scrolls");
    assert!(terminal.mouse_on());
    goes_on(&sandbox, terminal);
}

#[test]
fn keys_scroll_the_pane() {
    let (sandbox, terminal) = talking();
    terminal.key(Key::Right);
    terminal.keys("g");
    terminal.waits_until(|screen| screen.contains("line 1\n") && !screen.contains("line 199"));
    terminal.key(Key::PageDown);
    terminal.waits_until(|screen| !screen.contains("line 1\n"));
    terminal.keys("G");
    terminal.waits_for("line 199");
    terminal.key(Key::PageUp);
    terminal.key(Key::PageUp);
    terminal.waits_for_no("line 199");
    terminal.keys("G");
    terminal.waits_for("line 199");
    goes_on(&sandbox, terminal);
}

#[test]
fn a_search_goes_from_hit_to_hit() {
    let (sandbox, terminal) = talking();
    terminal.key(Key::Right);
    terminal.keys("g");
    terminal.waits_until(|screen| screen.contains("line 1\n"));
    terminal.keys("/");
    terminal.waits_for("search:");
    terminal.keys("needle");
    terminal.key(Key::Enter);
    terminal.waits_for("line 20 has a needle");
    terminal.keys("n");
    terminal.waits_for("line 100 has a needle");
    terminal.keys("n");
    terminal.waits_for("line 180 has a needle");
    terminal.keys("N");
    terminal.waits_for("line 100 has a needle");
    terminal.keys("N");
    terminal.waits_for("line 20 has a needle");
    terminal.keys("/");
    terminal.waits_for("search:");
    terminal.keys("straw");
    terminal.key(Key::Enter);
    terminal.waits_for("`straw`");
    goes_on(&sandbox, terminal);
}

#[test]
fn a_pane_is_exported_to_the_file_it_says() {
    let (sandbox, terminal) = talking();
    terminal.keys("e");
    terminal.waits_for("export to:");
    terminal.key(Key::Ctrl('u'));
    // From where the program was started.
    terminal.keys("../said.txt");
    terminal.waits_for("../said.txt");
    terminal.key(Key::Enter);
    terminal.waits_for("written to");
    let text = fs::read_to_string(sandbox.root.join("said.txt")).unwrap();
    assert!(
        text.contains("line 1\n") && text.contains("line 100 has a needle"),
        "{text}"
    );
    assert!(text.contains("line 200"), "{text}");
    terminal.keys("e");
    terminal.waits_for("export to:");
    terminal.key(Key::Enter);
    terminal.waits_for_no("export to:");
    let proposed = sandbox.root.join("tmp/ralphtool-c-1.1-agent.txt");
    crate::sandbox::until("the proposed file", || {
        fs::read_to_string(&proposed).ok().filter(|it| it == &text)
    });
    // An export that cannot be written is reported.
    terminal.keys("e");
    terminal.waits_for("export to:");
    terminal.key(Key::Ctrl('u'));
    terminal.keys("/nowhere/at/all.txt");
    terminal.key(Key::Enter);
    terminal.waits_for("could not export");
    goes_on(&sandbox, terminal);
}

#[test]
fn what_the_cursor_is_on_is_copied_through_the_terminal() {
    let sandbox = Sandbox::new();
    sandbox.agent(&format!(
        "if [ $RALPHTOOL_STORY = 1 ]; then echo 'copy me'; touch \"$root/here\"; wait_for \"$root/go\"; fi\n{GOOD}"
    ));
    let terminal = open_at_work(&sandbox);
    terminal.waits_for("│ copy me");
    terminal.key(Key::Right);
    terminal.keys("y");
    terminal.waits_for("copied 7 characters");
    terminal.waits_for_bytes(b"\x1b]52;c;Y29weSBtZQ==");
    goes_on(&sandbox, terminal);
}

#[test]
fn the_help_shows_the_keys_and_closes() {
    let (sandbox, terminal) = talking();
    terminal.keys("?");
    terminal.waits_for("╭ Keys ");
    terminal.waits_for("Move");
    terminal.key(Key::PageDown);
    terminal.waits_for("Ctrl-L");
    terminal.key(Key::PageDown);
    terminal.waits_for("stop the run (asks)");
    terminal.key(Key::PageDown);
    terminal.waits_for("Ctrl-Z");
    // A key that would ask to leave only closes it.
    terminal.keys("q");
    terminal.waits_for_no("╭ Keys ");
    // So this is the first one, which changes nothing.
    terminal.keys("q");
    terminal.waits_for("press q again within 3 seconds");
    goes_on(&sandbox, terminal);
}

#[test]
fn a_tool_call_is_one_line_and_expands() {
    let sandbox = Sandbox::new();
    sandbox.config_and("", "output = \"claude-json\"\n");
    sandbox.agent(&format!(
        "{CLAUDE}
         if [ $RALPHTOOL_STORY = 1 ]; then
             init; says 'I **look** around.'; bash_tool 'ls -l' 'one\\ntwo\\nthree\\nfour\\nfive'
             touch \"$root/here\"; wait_for \"$root/go\"
         fi
         echo work > story-$RALPHTOOL_STORY.txt; tick $RALPHTOOL_STORY; done_json"
    ));
    let terminal = open_at_work(&sandbox);
    terminal.waits_for("I look around.");
    assert!(terminal.cell_of("look around").bold());
    terminal.waits_for("ls -l");
    // The last three lines of its answer are shown, and Enter shows all.
    terminal.waits_for("… three");
    terminal.waits_for("five");
    assert!(terminal.find("two").is_none(), "{}", terminal.screen());
    terminal.key(Key::Right);
    terminal.key(Key::End);
    terminal.key(Key::Enter);
    terminal.waits_for("two");
    terminal.key(Key::Enter);
    terminal.waits_for_no("two");
    goes_on(&sandbox, terminal);
}

#[test]
fn the_diff_gates_and_log_of_a_live_attempt_are_shown() {
    let sandbox = Sandbox::new();
    let root = sandbox.root.display().to_string();
    sandbox.agent(&format!(
        "if [ $RALPHTOOL_STORY = 1 ]; then
             echo 'live words' > live.txt; touch \"$root/here\"; wait_for \"$root/done\"
         fi\n{GOOD}"
    ));
    let gate = format!(
        "echo \"gate speaks\"; test ! -e live.txt || while [ ! -e {root}/go ]; do sleep 0.02; done"
    );
    sandbox.config_and(
        "",
        &format!("\n[[gate]]\nname = \"slow\"\nrun = '''{gate}'''\n"),
    );
    let terminal = open_at_work(&sandbox);
    terminal.keys("2");
    terminal.waits_for("A live.txt");
    terminal.waits_for("+live words");
    terminal.keys("4");
    terminal.waits_for("[Gates]");
    release(&sandbox, "done");
    terminal.waits_for("gate `slow` runs");
    terminal.waits_for("gate speaks");
    terminal.keys("5");
    terminal.waits_for("[Log]");
    goes_on(&sandbox, terminal);
}

#[cfg(target_os = "linux")]
#[test]
fn the_log_says_that_an_agent_lingered_and_what_it_left_running() {
    let sandbox = Sandbox::new();
    sandbox.config_and("", "[timeouts]\ngrace = \"1s\"\n");
    sandbox.agent(&format!(
        "touch \"$root/here\"
         [ $RALPHTOOL_STORY = 1 ] || wait_for \"$root/go\"
         [ $RALPHTOOL_STORY != 1 ] || setsid sleep 300 &
         {GOOD}
         [ $RALPHTOOL_STORY != 1 ] || sleep 300"
    ));
    let terminal = open_at_work(&sandbox);
    terminal.keys("5");
    terminal.waits_for("[Log]");
    terminal.waits_for("did not exit within");
    terminal.waits_for("left processes running");
    terminal.waits_for("`sleep 300`");
    goes_on(&sandbox, terminal);
}

/// How many pictures a program has drawn.
fn pictures(terminal: &Terminal) -> usize {
    const BEGINS: &[u8] = b"\x1b[?2026h";
    let bytes = terminal.bytes();
    bytes
        .windows(BEGINS.len())
        .filter(|it| *it == BEGINS)
        .count()
}

#[test]
fn a_silent_agent_costs_one_small_redraw_per_second() {
    let sandbox = Sandbox::new();
    sandbox.agent(&format!(
        "touch \"$root/here\"; wait_for \"$root/go\"\n{GOOD}"
    ));
    let terminal = open_at_work(&sandbox);
    terminal.waits_for("story 1: 1s");
    let start = std::time::Instant::now();
    let (before, length) = (pictures(&terminal), terminal.bytes().len());
    terminal.waits_for("story 1: 4s");
    let drawn = pictures(&terminal) - before;
    let written = terminal.bytes().len() - length;
    // One per second, and one more at each end.
    let most = usize::try_from(start.elapsed().as_secs()).unwrap() + 2;
    assert!(drawn <= most, "{drawn} pictures");
    assert!(
        written <= drawn * 300,
        "{written} bytes for {drawn} pictures"
    );
    goes_on(&sandbox, terminal);
}

//! When there is a screen and when there is a log.

use pretty_assertions::assert_eq;

use crate::sandbox::{GOOD, Sandbox};
use crate::terminal::Terminal;
use crate::tui::stage::{all_ticked, command, ends, leaves, open};

const OTHER_SCREEN: &[u8] = b"\x1b[?1049h";

fn had_a_screen(terminal: &Terminal) -> bool {
    let bytes = terminal.bytes();
    bytes
        .windows(OTHER_SCREEN.len())
        .any(|it| it == OTHER_SCREEN)
}

#[test]
fn a_loop_in_a_terminal_shows_its_run_and_ends_with_its_code() {
    let sandbox = Sandbox::new();
    sandbox.config("max_retries = 1");
    sandbox.agent("failed \"cannot do it\"");
    let mut terminal = open(&sandbox, &["loop", "c"]);
    terminal.waits_for("cannot do it");
    terminal.waits_for("stay on ralph/c, one commit per story");
    assert!(terminal.is_alternate());
    leaves(&mut terminal, 1);
    let screen = terminal.screen();
    assert!(screen.contains("cannot do it"), "{screen}");
    assert_eq!(sandbox.failures().len(), 2);
    assert_eq!(sandbox.branch(), "ralph/c");
}

#[test]
fn flags_select_a_log_instead() {
    for flag in ["--no-tui", "-v", "-q", "--json"] {
        let sandbox = Sandbox::new();
        sandbox.agent(&format!("echo 'Words of the agent.'\n{GOOD}"));
        let mut terminal = open(&sandbox, &["loop", "c", flag]);
        ends(&mut terminal, 0);
        assert!(!had_a_screen(&terminal), "{flag}");
        let said = String::from_utf8_lossy(&terminal.bytes()).into_owned();
        let has_words = said.contains("Words of the agent.");
        assert_eq!(
            has_words,
            ["-v", "--json"].contains(&flag),
            "{flag}: {said}"
        );
        assert_eq!(sandbox.tasks_now(), all_ticked());
    }
}

#[test]
fn without_a_terminal_everything_is_plain() {
    let sandbox = Sandbox::new();
    let output = sandbox.run(&["loop", "c"]).ends_with(0);
    assert!(!output.stdout.contains('\u{1b}'), "{}", output.stdout);
    assert!(output.stdout.contains("all stories are done"));
    let output = sandbox.run(&[]);
    assert!(!output.stdout.contains('\u{1b}'), "{}", output.stdout);
    assert!(!output.stderr.contains('\u{1b}'), "{}", output.stderr);
}

#[test]
fn a_dumb_terminal_has_no_screen() {
    let sandbox = Sandbox::new();
    for args in [&["loop", "c"][..], &[]] {
        let mut dumb = sandbox.command("env");
        dumb.args(["TERM=dumb", env!("CARGO_BIN_EXE_ralphtool")]);
        dumb.args(args);
        let mut terminal = Terminal::start(&dumb, 24, 80);
        terminal.end();
        assert!(!terminal.bytes().contains(&0x1b), "{}", terminal.screen());
    }
    assert_eq!(sandbox.tasks_now(), all_ticked());
}

#[test]
fn without_colours_no_cell_has_one() {
    let sandbox = Sandbox::new();
    sandbox.config("max_retries = 0");
    sandbox.agent("echo '# A title'; echo 'and `code`'; echo junk > junk.txt; failed \"no\"");
    let mut command = command(&sandbox, &[]);
    command.env("NO_COLOR", "1");
    let mut terminal = Terminal::start(&command, 24, 80);
    let is_plain = |at: &str| {
        terminal.waits_for(at);
        assert!(!terminal.is_colored(), "{}", terminal.screen());
    };
    is_plain("ready");
    terminal.keys("\r");
    is_plain("Run: ready");
    terminal.keys("?");
    is_plain("╭ Keys ");
    terminal.keys("?");
    terminal.waits_for_no("╭ Keys ");
    terminal.keys("r");
    is_plain("stay on ralph/c, one commit per story");
    terminal.keys("\u{1b}");
    is_plain("A title");
    terminal.keys("2");
    is_plain("+junk");
    terminal.keys("5");
    is_plain("[Log]");
    terminal.keys("q");
    ends(&mut terminal, 1);
}

#[test]
fn with_colours_there_are_some() {
    let sandbox = Sandbox::new();
    let mut terminal = open(&sandbox, &[]);
    terminal.waits_for("ready");
    assert!(terminal.is_colored());
    terminal.keys("q");
    ends(&mut terminal, 0);
}

/// What a terminal is sent to call its user.
const CALL: &[u8] = b"\x1b]9;ralphtool: c: 2 of 2 stories done\x1b\\\x07";

#[test]
fn the_terminal_bell_rings_at_the_end_with_a_screen_and_without() {
    let sandbox = Sandbox::new();
    let mut terminal = open(&sandbox, &["loop", "c"]);
    terminal.waits_for_bytes(CALL);
    leaves(&mut terminal, 0);

    let sandbox = Sandbox::new();
    let mut terminal = open(&sandbox, &["loop", "c", "--no-tui"]);
    ends(&mut terminal, 0);
    terminal.waits_for_bytes(CALL);

    let sandbox = Sandbox::new();
    sandbox.config_and("", "[notify]\nbell = false\n");
    let mut terminal = open(&sandbox, &["loop", "c", "--no-tui"]);
    ends(&mut terminal, 0);
    assert!(!terminal.bytes().contains(&7), "{}", terminal.screen());
}

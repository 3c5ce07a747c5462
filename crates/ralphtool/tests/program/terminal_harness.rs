//! The terminal emulator of the other tests behaves like a terminal.

use crate::sandbox::Sandbox;
use crate::terminal::{Key, Terminal, Wheel, svg};
use pretty_assertions::assert_eq;
use rustix::process::Signal;

/// Takes keys one by one, without echo, and says what it got.
const RAW: &str = "stty raw -echo; printf ready;";

/// Shows the next `count` bytes.
fn shows_bytes(count: usize) -> String {
    format!("{RAW} dd bs=1 count={count} 2>/dev/null | od -An -c -w99; stty sane; printf done")
}

fn script(sandbox: &Sandbox, text: &str, rows: u16, cols: u16) -> Terminal {
    let mut command = sandbox.command("sh");
    command.args(["-c", text]);
    Terminal::start(&command, rows, cols)
}

fn program(sandbox: &Sandbox, argument: &str, no_color: bool) -> Terminal {
    let mut command = sandbox.command(env!("CARGO_BIN_EXE_ralphtool"));
    command.arg(argument);
    if no_color {
        command.env("NO_COLOR", "1");
    }
    Terminal::start(&command, 24, 80)
}

#[test]
fn the_program_runs_in_the_terminal() {
    let sandbox = Sandbox::new();
    let mut terminal = program(&sandbox, "list", false);
    assert_eq!(terminal.end(), 0);
    let screen = terminal.screen();
    assert!(screen.contains("0/2"), "{screen}");
    assert_eq!(terminal.find("ready").map(|(row, _)| row), Some(1));
}

#[test]
fn the_terminal_recognises_colours() {
    let sandbox = Sandbox::new();
    for no_color in [false, true] {
        let mut terminal = program(&sandbox, "doctor", no_color);
        terminal.end();
        assert_eq!(terminal.is_colored(), !no_color, "{}", terminal.screen());
    }
}

#[test]
fn keys_and_mouse_reach_the_program_as_a_terminal_sends_them() {
    let sandbox = Sandbox::bare_folder();
    let text = shows_bytes(3 + 3 + 1 + 1 + 11 + 4);
    let mut terminal = script(&sandbox, &text, 10, 160);
    terminal.waits_for("ready");
    terminal.keys("aé");
    terminal.key(Key::Up);
    terminal.key(Key::Ctrl('c'));
    terminal.key(Key::Enter);
    terminal.wheel(Wheel::Down, 2, 11);
    terminal.key(Key::PageUp);
    assert_eq!(terminal.end(), 0);
    let screen = terminal.screen();
    let shown: Vec<&str> = screen.split_whitespace().collect();
    let want = "ready a 303 251 033 [ A 003 \\r 033 [ < 6 5 ; 1 2 ; 3 M 033 [ 5 ~ done";
    assert_eq!(shown.join(" "), want);
}

#[test]
fn the_screen_is_what_a_user_sees() {
    let sandbox = Sandbox::bare_folder();
    let text = r"printf '\033[2J\033[Hfirst\033[3;5H\033[1;7;31m漢字\033[0m\033[2mdim'; read line";
    let terminal = script(&sandbox, text, 5, 20);
    terminal.waits_for("dim");
    assert_eq!(terminal.screen(), "first\n\n    漢字dim");
    assert_eq!(terminal.find("字"), Some((2, 6)));
    let cell = terminal.cell_of("漢");
    assert!(cell.is_wide() && cell.bold() && cell.inverse());
    assert_eq!(cell.fgcolor(), vt100::Color::Idx(1));
    assert!(terminal.cell_of("dim").dim());
    assert!(terminal.is_colored());
    assert_eq!(terminal.cursor(), (2, 11));
}

#[test]
fn the_terminal_recognises_modes_that_are_set_and_reset() {
    let sandbox = Sandbox::bare_folder();
    let text = format!(
        r"{RAW} printf '\033[?1049h\033[?25l\033[?1000h\033[?1006h\033[?2004hinside'
        dd bs=1 count=1 2>/dev/null
        printf '\033[?2004l\033[?1006l\033[?1000l\033[?25h\033[?1049l'; stty sane; exit 7"
    );
    let mut terminal = script(&sandbox, &text, 10, 40);
    terminal.waits_for("inside");
    assert!(terminal.is_alternate() && !terminal.cursor_visible() && terminal.mouse_on());
    assert!(terminal.brackets_pastes() && terminal.is_raw());
    terminal.key(Key::Char('q'));
    assert_eq!(terminal.end(), 7);
    assert!(!terminal.is_alternate() && terminal.cursor_visible() && !terminal.mouse_on());
    assert!(!terminal.brackets_pastes() && !terminal.is_raw());
    terminal.waits_until(|screen| screen == "ready");
    assert!(terminal.bytes().starts_with(b"ready\x1b[?1049h"));
}

#[test]
fn the_program_gets_size_changes_and_signals() {
    let sandbox = Sandbox::bare_folder();
    let text = "trap 'stty size' WINCH; trap 'echo terminated; exit 3' TERM; echo ready
        while :; do sleep 0.02; done";
    let mut terminal = script(&sandbox, text, 10, 40);
    terminal.waits_for("ready");
    terminal.resize(24, 80);
    terminal.waits_for("24 80");
    terminal.signal(Signal::TERM);
    assert_eq!(terminal.end(), 3);
    terminal.waits_for("terminated");
}

#[test]
fn the_program_is_asked_to_end_when_the_terminal_is_closed() {
    let sandbox = Sandbox::bare_folder();
    let text = "trap 'echo drawn' WINCH; trap 'echo closed > \"$HOME/closed\"; exit 5' HUP
        echo ready; while :; do sleep 0.02; done";
    let mut terminal = script(&sandbox, text, 10, 40);
    terminal.waits_for("ready");
    terminal.hang_up();
    assert_eq!(terminal.end(), 5);
    assert!(sandbox.root.join("home/closed").exists());
}

#[test]
fn a_signal_that_ends_the_program_is_its_exit_code() {
    let sandbox = Sandbox::bare_folder();
    let mut terminal = script(&sandbox, "kill -KILL $$", 10, 40);
    assert_eq!(terminal.end(), 128 + 9);
}

#[test]
fn questions_of_the_program_are_answered() {
    let sandbox = Sandbox::bare_folder();
    let text = format!(
        r"{RAW} printf '\033[4;7H\033[6n'; dd bs=1 count=6 2>/dev/null | od -An -c; printf done"
    );
    let mut terminal = script(&sandbox, &text, 10, 60);
    assert_eq!(terminal.end(), 0);
    let screen = terminal.screen();
    let shown: Vec<&str> = screen.split_whitespace().collect();
    assert_eq!(shown.join(" "), "ready 033 [ 4 ; 7 R done");
}

#[test]
#[should_panic(expected = "waited in vain for something else:\nthe screen")]
fn a_text_that_does_not_come_shows_the_screen() {
    let sandbox = Sandbox::bare_folder();
    let terminal = script(&sandbox, "echo the screen", 10, 40);
    terminal.waits_for("something else");
}

/// A screen as it is after some bytes.
fn shown(bytes: &str, rows: u16, cols: u16) -> vt100::Screen {
    let size = |number| std::num::NonZeroU16::new(number).unwrap();
    let mut parser = vt100::Parser::new(size(rows), size(cols), 0);
    parser.process(bytes.as_bytes());
    parser.screen().clone()
}

/// The lines of a picture that draw its cells.
fn drawn(bytes: &str) -> Vec<String> {
    let screen = shown(&format!("\u{1b}[?25l{bytes}"), 2, 12);
    let picture = svg::picture(&screen, "title");
    let lines = picture
        .lines()
        .skip_while(|line| !line.contains(">title</text>"));
    let lines = lines.skip(1).take_while(|line| *line != "</svg>");
    lines.map(str::to_owned).collect()
}

#[test]
fn a_picture_places_words_by_their_columns() {
    assert_eq!(
        drawn("a <&>   \u{1b}[1;31mb"),
        [
            r#"<text class="fg" x="16.0" y="63.5" textLength="42.0" lengthAdjust="spacingAndGlyphs">a &lt;&amp;&gt;</text>"#,
            r#"<text class="c1" font-weight="bold" x="83.2" y="63.5" textLength="8.4" lengthAdjust="spacingAndGlyphs">b</text>"#,
        ]
    );
}

#[test]
fn a_picture_draws_wide_characters_on_two_cells_and_lines_as_shapes() {
    assert_eq!(
        drawn("漢x──"),
        [
            r#"<text class="fg" x="24.4" y="63.5" text-anchor="middle">漢</text>"#,
            r#"<text class="fg" x="32.8" y="63.5" textLength="8.4" lengthAdjust="spacingAndGlyphs">x</text>"#,
            r#"<g class="fg"><rect x="41.20" y="58.40" width="16.80" height="1.20"/></g>"#,
        ]
    );
}

#[test]
fn a_picture_shows_reversed_dim_and_underlined_text() {
    assert_eq!(
        drawn("\u{1b}[7ma\u{1b}[0;2;4mb\u{1b}[0;48;5;196m "),
        [
            r#"<rect class="fg" x="16.0" y="50.0" width="8.4" height="18.0" shape-rendering="crispEdges"/>"#,
            r#"<text class="bg" x="16.0" y="63.5" textLength="8.4" lengthAdjust="spacingAndGlyphs">a</text>"#,
            r#"<rect class="fg" x="24.4" y="65.3" width="8.4" height="1"/>"#,
            r#"<text class="fg" opacity="0.6" x="24.4" y="63.5" textLength="8.4" lengthAdjust="spacingAndGlyphs">b</text>"#,
            r##"<rect fill="#ff0000" color="#ff0000" x="32.8" y="50.0" width="8.4" height="18.0" shape-rendering="crispEdges"/>"##,
        ]
    );
}

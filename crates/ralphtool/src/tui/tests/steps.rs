//! What the run screen does: focus, zoom, clocks, and what it says of attempts.

use pretty_assertions::assert_eq;
use ratatui::crossterm::event::KeyCode;

use super::stage::Stage;
use super::story::{attempt, failed, speaks, started, story, third_attempt, working};
use crate::tui::screen::run::RunMode;
use crate::ui::plain::script::id;
use ralph_run::records::event::{Event, FailureKind, Request};

fn at_work(size: (u16, u16)) -> Stage {
    let mut stage = Stage::new(size);
    working(&mut stage);
    stage
}

/// The first line that contains a text.
#[track_caller]
fn line(stage: &mut Stage, text: &str) -> String {
    let screen = stage.text();
    let found = screen.lines().find(|line| line.contains(text));
    let found = found.unwrap_or_else(|| panic!("no `{text}`:\n{screen}"));
    found.trim().to_owned()
}

#[test]
fn choosing_a_tab_gives_its_pane_the_keys() {
    let mut stage = at_work((80, 24));
    stage.keys("3").press(KeyCode::Char('G'));
    assert!(line(&mut stage, "3 Tell").starts_with("│● 3 Tell"));
    stage.press(KeyCode::Esc).keys("G");
    assert!(line(&mut stage, "5 Dashboards").starts_with("▌"));
}

#[test]
fn the_pane_gets_the_whole_width_and_gives_it_back() {
    let mut stage = at_work((80, 24));
    let summary = "▸ Bash cargo test upload --workspace --all-features -- --nocapture 2>&1 | t";
    assert!(!stage.text().contains(summary));
    for back in [KeyCode::Char('z'), KeyCode::Esc, KeyCode::Char('h')] {
        stage.keys("z");
        assert!(stage.text().contains(summary), "{}", stage.text());
        assert!(!stage.text().contains("Stories"));
        stage.press(back);
        assert!(stage.text().contains("Stories"), "{back:?}");
    }
}

#[test]
fn a_retry_says_why_the_attempt_before_failed() {
    let mut stage = Stage::new((120, 40));
    stage.with_run(RunMode::Live);
    third_attempt(&mut stage);
    let shown = line(&mut stage, "attempt 2 failed");
    let want = "✗ attempt 2 failed: gate tests, exit code 101: assertion failed: left == right";
    assert_eq!(shown.split("│ ").nth(1), Some(want));
    assert!(line(&mut stage, "shows").ends_with("│   (3\u{a0}shows\u{a0}all)"));
    assert!(line(&mut stage, "●").starts_with("● story 2, try 3/4: 0s"));
    // The first attempt has none before it.
    stage.keys("[[");
    assert!(!stage.text().contains("(3"));
}

#[test]
fn the_first_attempt_is_not_counted() {
    let mut stage = at_work((80, 24));
    assert!(!stage.text().contains("try 1"), "{}", stage.text());
    stage
        .hear(1, failed("3", 1, FailureKind::Failed, "no database"))
        .hear(1, attempt("3", 2));
    assert!(line(&mut stage, "3 Tell").contains("try 2/4"));
}

#[test]
fn an_agent_that_says_nothing_for_a_minute_is_silent() {
    let mut stage = at_work((120, 40));
    stage.hear(1, speaks("3", 1, "hm")).wait(59);
    assert!(!stage.text().contains("silent"));
    stage.wait(1);
    assert!(line(&mut stage, "silent").contains("· silent for 1m  Tell the user"));
    stage.wait(3_600 + 240);
    assert!(line(&mut stage, "silent").contains("· silent for 1h05m"));
    stage.hear(1, speaks("3", 1, "done thinking"));
    assert!(!stage.text().contains("silent"));
}

#[test]
fn a_paused_run_offers_to_resume_and_expects_no_end() {
    let mut stage = at_work((80, 24));
    assert!(stage.text().contains("ends about"));
    stage.hear(
        1,
        Event::Requested {
            request: Request::Pause,
        },
    );
    assert!(line(&mut stage, "? help").starts_with("p resume"));
    stage
        .hear(1, failed("3", 1, FailureKind::Failed, "no database"))
        .hear(0, Event::Paused { story: id("3") });
    let clock = |stage: &mut Stage| {
        let row = line(stage, "● 3 Tell");
        row.split('│').next().map(str::to_owned)
    };
    let before = clock(&mut stage);
    stage.wait(600);
    assert_eq!(clock(&mut stage), before);
    assert!(!stage.text().contains("ends about"));
    assert!(line(&mut stage, "? help").starts_with("p resume"));
    stage.hear(
        1,
        Event::Requested {
            request: Request::GoOn,
        },
    );
    assert!(line(&mut stage, "? help").starts_with("p pause"));
}

#[test]
fn the_activity_line_is_plain_text() {
    let mut stage = Stage::new((120, 40));
    stage.with_run(RunMode::Live);
    stage
        .hear(0, started())
        .hear(1, story(4))
        .hear(1, attempt("4", 1))
        .hear(
            1,
            speaks(
                "4",
                1,
                "I **measured** it:\n\n| n | time |\n| - | - |\n| 2 | 2s |",
            ),
        );
    assert_eq!(
        line(&mut stage, "● story 4"),
        "● story 4: 1s  Metrics  I measured it:"
    );
}

//! What the run screen does: focus, zoom, clocks, and what it says of attempts.

use pretty_assertions::assert_eq;
use ratatui::crossterm::event::KeyCode;

use super::found::last_runs;
use super::run::completed_third;
use super::stage::Stage;
use super::story::{
    attempt, completed, ended, failed, finished, gate, gate_ended, red, repair, retried,
    second_try, speaks, started, story, third_attempt, working,
};
use crate::tui::message::{Answer, FileWindow};
use crate::tui::screen::run::RunMode;
use crate::ui::plain::script::id;
use ralph_agents::agent_event::AgentEvent;
use ralph_base::ids::AttemptNumber;
use ralph_run::machine::UserCommand;
use ralph_run::records::event::{
    Event, FailedStory, FailureKind, FinishChoice, GateNotRun, GateResult, Outcome, Request,
    RunStarted, StoryStarted,
};
use ralph_run::records::state::RunState;
use ralph_run::settings::TamperCheck;

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
    let want = "✗ attempt 2 failed: gate `tests`, exit code 101: assertion failed: left == right";
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
        .hear(
            0,
            Event::Paused {
                story: id("3"),
                continues: None,
            },
        );
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
fn a_wait_is_shown_and_can_be_ended_after_a_pause_was_taken_back() {
    let mut stage = at_work((80, 24));
    let ask = |request| Event::Requested { request };
    stage
        .hear(1, failed("3", 1, FailureKind::Limit, "usage limit reached"))
        .hear(
            0,
            Event::Waiting {
                story: id("3"),
                reason: "usage limit reached".to_owned(),
                until: "2026-11-16T03:00:00Z".parse().unwrap(),
                continues: None,
            },
        )
        .hear(1, ask(Request::Pause));
    assert!(
        line(&mut stage, "⏳").starts_with("pauses before the agent starts again · ⏳ until 03:00")
    );
    stage.hear(1, ask(Request::GoOn));
    assert!(line(&mut stage, "⏳").starts_with("⏳ until 03:00"));
    assert!(line(&mut stage, "? help").contains("r try now"));
    stage.take_asked();
    stage.keys("r");
    let try_now = UserCommand::TryNow;
    assert_eq!(
        stage.take_asked(),
        [crate::tui::message::Request::Command(try_now)]
    );
}

#[test]
fn no_end_is_expected_once_the_last_story_takes_longer_than_the_others() {
    let mut stage = Stage::new((80, 24));
    stage.with_run(RunMode::Live);
    let Event::RunStarted(header) = started() else {
        unreachable!("it starts a run");
    };
    let stories_total = 3;
    let of_three = |place| match story(place) {
        Event::StoryStarted(started) => Event::StoryStarted(StoryStarted {
            total: stories_total,
            ..started
        }),
        other => other,
    };
    let stories = header.stories[..3].to_vec();
    stage
        .hear(
            0,
            Event::RunStarted(RunStarted {
                stories_total,
                stories,
                ..header
            }),
        )
        .hear(0, of_three(2))
        .hear(0, attempt("2", 1))
        .hear(600, completed())
        .hear(0, of_three(3))
        .hear(0, attempt("3", 1))
        .wait(599);
    assert!(
        stage.text().contains("ends about 22:19"),
        "{}",
        stage.text()
    );
    stage.wait(1);
    assert!(!stage.text().contains("ends about"), "{}", stage.text());
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

#[test]
fn the_last_words_of_an_agent_that_crashed_are_shown() {
    let mut stage = at_work((80, 24));
    stage.world.said = Vec::new();
    stage.world.printed = vec!["boom".to_owned()];
    stage.hear(1, failed("3", 1, FailureKind::Crashed, "exit code 3"));
    let screen = stage.text();
    assert!(
        screen.contains("the agent has not said anything yet"),
        "{screen}"
    );
    assert!(screen.contains("the last lines on its stderr:"), "{screen}");
    assert!(screen.contains("│ boom"), "{screen}");
    // Other failures are not explained by it.
    let mut stage = at_work((80, 24));
    stage.hear(1, failed("3", 1, FailureKind::Failed, "no database"));
    assert!(!stage.text().contains("stderr"));
}

#[test]
fn a_search_goes_from_line_to_line_of_a_long_text() {
    let mut stage = Stage::new((80, 24));
    let lines: Vec<String> = (1..=90)
        .map(|number| match number {
            30 | 60 => format!("line {number} with a needle"),
            _ => format!("line {number}"),
        })
        .collect();
    stage.world.said = vec![
        AgentEvent::Text {
            text: lines.join("\n"),
        },
        AgentEvent::Text {
            text: "the end".to_owned(),
        },
    ];
    working(&mut stage);
    stage.draw();
    stage.keys("/needle").press(KeyCode::Enter);
    assert!(
        line(&mut stage, "▌").ends_with("▌line 30 with a needle"),
        "{}",
        stage.text()
    );
    stage.keys("n");
    assert!(
        stage.text().contains("▌line 60 with a needle"),
        "{}",
        stage.text()
    );
    stage.keys("N");
    assert!(
        stage.text().contains("▌line 30 with a needle"),
        "{}",
        stage.text()
    );
}

#[test]
fn a_problem_with_the_output_of_one_gate_is_not_shown_for_another() {
    let mut stage = at_work((80, 24));
    stage
        .hear(1, gate("3", "tests", "one", false))
        .hear(
            1,
            gate_ended(
                "3",
                "tests",
                false,
                ralph_run::records::event::GateResult::Passed,
            ),
        )
        .keys("4");
    stage.silent = true;
    let file = |name: &str| std::path::PathBuf::from(format!("/state/gates/{name}.log"));
    let problem = || Err("permission denied".to_owned());
    stage.answer(Answer::File(file("one"), problem()));
    assert!(
        stage
            .text()
            .contains("the output cannot be read: permission denied")
    );
    // A gate that has just begun has no file yet.
    stage.hear(1, gate("3", "lint", "two", false));
    assert!(!stage.text().contains("cannot be read"), "{}", stage.text());
    stage.answer(Answer::File(file("two"), problem()));
    assert!(
        stage.text().contains("it has printed nothing"),
        "{}",
        stage.text()
    );
    // The records have the last lines of one that failed.
    stage.hear(1, gate_ended("3", "lint", false, red()));
    assert!(
        stage.text().contains("assertion failed: left == right"),
        "{}",
        stage.text()
    );
    let lines = vec!["whole output".to_owned()];
    stage.answer(Answer::File(
        file("two"),
        Ok(FileWindow { first: 0, lines }),
    ));
    assert!(stage.text().contains("whole output"), "{}", stage.text());
}

#[test]
fn a_past_attempt_without_changes_says_so() {
    let mut stage = at_work((80, 24));
    stage.world.diff = Ok(ralph_vault::diff::Diff::default());
    stage.keys("2");
    assert!(stage.text().contains("nothing was changed yet"));
    stage.hear(1, failed("3", 1, FailureKind::Failed, "no database"));
    assert!(
        stage.text().contains("this attempt changed nothing"),
        "{}",
        stage.text()
    );
}

#[test]
fn the_user_sees_which_attempt_got_a_note() {
    let mut stage = at_work((120, 40));
    let note = |story: &str| Event::NoteAdded {
        text: "The delay is in seconds.".to_owned(),
        story: Some(id(story)),
    };
    stage.hear(1, note("3"));
    assert!(line(&mut stage, "● story 3").contains("1 note for the next prompt of story 3"));
    stage
        .hear(1, failed("3", 1, FailureKind::Failed, "no database"))
        .hear(1, attempt("3", 2));
    assert_eq!(
        stage.app.notice(),
        Some("attempt 2 at story 3 got your note")
    );
    assert!(!line(&mut stage, "● story 3").contains("note"));
    stage.hear(1, note("3")).hear(1, repair("3", 2, 1, "boom"));
    let notice = stage.app.notice();
    assert_eq!(notice, Some("repair 1/2 at story 3 got your note"));
}

#[test]
fn the_end_of_a_run_says_what_was_repaired_and_what_the_gates_said_last() {
    let mut stage = at_work((120, 40));
    let passed = GateResult::Passed;
    stage
        .hear(1, gate("3", "tests", "3.1-1", false))
        .hear(12, gate_ended("3", "tests", false, red()))
        .hear(1, repair("3", 1, 1, "boom"))
        .hear(30, gate("3", "tests", "3.1-1-repair-1", false))
        .hear(12, gate_ended("3", "tests", false, passed))
        .hear(1, completed_third())
        .hear(1, ended(Outcome::StoryDone { story: None }, 3));
    let review = stage.text();
    let what = "attempt 1, repair 1/2: gate `tests`, exit code 101: boom";
    assert!(review.contains(what), "{review}");
    assert!(review.contains("4 attempts · 1 repair · "), "{review}");
    stage.wait(1);
    stage.keys("by").hear(1, finished(FinishChoice::Keep));
    stage.keys("3");
    let receipt = stage.text();
    assert!(
        receipt.contains("attempt 1, repair 1/2: a gate failed"),
        "{receipt}"
    );
    assert!(!receipt.contains("✗ tests"), "{receipt}");
}

#[test]
fn an_agent_is_not_called_silent_at_the_start_of_a_repair() {
    let mut stage = at_work((80, 24));
    stage.wait(600);
    assert!(line(&mut stage, "● story 3").contains("silent for"));
    stage.hear(1, repair("3", 1, 1, "boom"));
    assert!(!stage.text().contains("silent for"));
}

#[test]
fn a_story_that_is_done_with_a_warning_is_marked_and_says_what_was_found() {
    let mut stage = Stage::new((80, 24));
    stage.with_run(RunMode::Live);
    stage
        .hear(0, started())
        .hear(1, story(2))
        .hear(1, attempt("2", 1))
        .hear(
            1,
            Event::TamperFound {
                story: id("2"),
                attempt: AttemptNumber(1),
                check: TamperCheck::Tests,
                paths: vec!["tests/a.rs".to_owned()],
                message: "1 test deleted".to_owned(),
                failed: false,
            },
        )
        .hear(1, completed());
    assert!(line(&mut stage, "2 Retry the").starts_with("▌✓! 2 Retry"));
    assert!(line(&mut stage, "1 test deleted").starts_with("! tests: 1 test deleted"));
    assert!(line(&mut stage, "of 5 stories").contains("  ! 1 warning "));
}

#[test]
fn a_gate_that_was_red_before_is_a_warning_and_no_failure() {
    let mut stage = Stage::new((120, 40));
    stage.with_run(RunMode::Live);
    stage
        .hear(0, started())
        .hear(1, story(2))
        .hear(1, gate("2", "tests", "2.0-1", true))
        .hear(1, gate_ended("2", "tests", true, red()))
        .hear(1, attempt("2", 1))
        .hear(1, gate("2", "tests", "2.1-1", false))
        .hear(1, gate_ended("2", "tests", false, red()))
        .hear(
            0,
            Event::Warning {
                code: "red_before".to_owned(),
                message: "gate `tests` is red (exit code 101), as it was before".to_owned(),
            },
        );
    assert!(line(&mut stage, "! tests").starts_with("! tests red since before the run"));
    stage.keys("4");
    let want = "! tests  exit code 101, red since before the run  attempt 1 · 12s";
    assert!(
        line(&mut stage, "attempt 1 ·").ends_with(want),
        "{}",
        stage.text()
    );
}

#[test]
fn a_gate_that_runs_again_and_passes_is_shown_as_flaky() {
    let mut stage = Stage::new((120, 40));
    stage.with_run(RunMode::Live);
    stage
        .hear(0, started())
        .hear(1, story(2))
        .hear(1, attempt("2", 1))
        .hear(1, gate("2", "tests", "2.1-1", false))
        .hear(1, retried("2", "tests", "2.1-1"))
        .hear(1, second_try(gate("2", "tests", "2.1-1-try2", false)));
    stage.keys("4");
    let want = "● tests  runs, second try  attempt 1 · 0s";
    assert!(
        line(&mut stage, "attempt 1 ·").ends_with(want),
        "{}",
        stage.text()
    );
    stage.hear(1, gate_ended("2", "tests", false, GateResult::Passed));
    let want = "✓ tests  passed at the second try (flaky)  attempt 1 · 12s";
    assert!(
        line(&mut stage, "attempt 1 ·").ends_with(want),
        "{}",
        stage.text()
    );
    assert!(
        stage.text().contains("✓ tests passed at the second try  "),
        "{}",
        stage.text()
    );
}

#[test]
fn a_gate_whose_paths_were_not_changed_is_shown_as_not_run() {
    let mut stage = Stage::new((120, 40));
    stage.with_run(RunMode::Live);
    let not_run = Event::GateNotRun(GateNotRun {
        story: id("2"),
        gate: "lint 🧹".to_owned(),
        whole: false,
    });
    stage
        .hear(0, started())
        .hear(1, story(2))
        .hear(1, attempt("2", 1))
        .hear(1, gate("2", "tests", "2.1-1", false))
        .hear(1, gate_ended("2", "tests", false, GateResult::Passed))
        .hear(1, not_run);
    stage.keys("4");
    let text = stage.text();
    let want = "· lint 🧹  not run: no file in its paths changed  attempt 1";
    assert!(text.contains(want), "{text}");
    assert!(
        text.contains("▾ ✓ tests"),
        "the one that ran is open: {text}"
    );
    assert!(
        text.contains(" · lint 🧹 not run: no file in its"),
        "{text}"
    );
}

/// The output of a gate whose assertion is its last line.
fn long_output() -> String {
    let mut lines = vec!["gate `tests` ended with exit code 101; its last lines:".to_owned()];
    lines.extend((1..60).map(|number| format!("test upload::case_{number} ... ok")));
    lines.push("AssertionError: 1 != 2".to_owned());
    lines.join("\n")
}

#[test]
fn an_attempt_shows_the_end_of_the_output_of_its_gate() {
    for size in [(80, 24), (120, 40), (200, 50)] {
        let mut stage = at_work(size);
        stage
            .hear(1, failed("3", 1, FailureKind::Gate, &long_output()))
            .keys("3");
        let text = stage.text();
        assert!(text.contains("gate `tests` ended with"), "{text}");
        assert!(text.contains("lines before; 4 shows all"), "{text}");
        assert!(text.contains("AssertionError: 1 != 2"), "{text}");
        // With the next one at work above it, too.
        stage.hear(1, attempt("3", 2));
        let text = stage.text();
        assert!(text.contains("at work"), "{text}");
        assert!(text.contains("AssertionError: 1 != 2"), "{text}");
    }
}

#[test]
fn the_end_of_a_run_shows_the_error_of_its_gate_on_a_small_screen() {
    let mut stage = at_work((80, 24));
    let outcome = Outcome::stopped_at(FailedStory {
        story: id("3"),
        kind: FailureKind::Gate,
        reason: long_output(),
        attempts: 4,
        gate: Some("tests".to_owned()),
    });
    stage.hear(1, ended(outcome, 2));
    let text = stage.text();
    assert!(text.contains("  AssertionError: 1 != 2"), "{text}");
}

#[test]
fn a_story_keeps_its_number_and_title_during_a_retry() {
    let mut stage = at_work((200, 50));
    let reason = "the agent ended without a promise";
    stage
        .hear(1, failed("3", 1, FailureKind::NoSignal, reason))
        .hear(1, attempt("3", 2));
    let row = stage_row(&mut stage, "try 2/4");
    assert!(row.starts_with("▌● 3 Tell the user how often"), "{row}");
    // Where there is room, why is shown, too.
    let mut stage = Stage::new((200, 50));
    stage.with_run(RunMode::Live);
    stage
        .hear(0, started())
        .hear(1, story(4))
        .hear(1, attempt("4", 1))
        .hear(1, failed("4", 1, FailureKind::NoSignal, reason))
        .hear(1, attempt("4", 2));
    let row = stage_row(&mut stage, "● 4 Metrics");
    assert!(row.contains("✗ the agent ended"), "{row}");
}

/// The selected row of the list of stories, which contains a text.
#[track_caller]
fn stage_row(stage: &mut Stage, text: &str) -> String {
    let screen = stage.text();
    let mut rows = screen.lines().filter_map(|line| line.split('│').next());
    let found = rows.find(|row| row.starts_with('▌') && row.contains(text));
    found
        .unwrap_or_else(|| panic!("no `{text}`:\n{screen}"))
        .to_owned()
}

#[test]
fn a_stopped_attempt_is_not_marked_as_a_failure() {
    for (kind, mark) in [
        (FailureKind::Stopped, "‖"),
        (FailureKind::Interrupted, "‖"),
        (FailureKind::Skipped, "‖"),
        (FailureKind::Failed, "✗"),
    ] {
        let mut stage = at_work((120, 40));
        stage
            .hear(1, failed("3", 1, kind, ""))
            .hear(1, ended(Outcome::Stopped, 2));
        let text = stage.text();
        assert!(text.contains(&format!("{mark}  3 Tell the user")), "{text}");
        stage.draw();
        stage.wait(1).press(KeyCode::Esc).keys("3");
        let text = stage.text();
        assert!(text.contains(&format!("{mark} 3 Tell the user")), "{text}");
        assert!(text.contains(&format!("{mark} attempt 1")), "{text}");
    }
}

#[test]
fn a_gate_that_judged_no_work_is_called_the_same_during_the_run_and_at_its_end() {
    let mut stage = Stage::new((120, 40));
    stage.with_run(RunMode::Live);
    stage
        .hear(0, started())
        .hear(1, story(2))
        .hear(1, gate("2", "tests", "2.0-1", true))
        .hear(1, gate_ended("2", "tests", true, GateResult::Passed))
        .hear(1, attempt("2", 1));
    assert!(
        stage.text().contains("· tests passed before the run"),
        "{}",
        stage.text()
    );
    assert!(
        stage.text().contains("· lint 🧹 has not run on the work"),
        "{}",
        stage.text()
    );
    stage.hear(1, ended(Outcome::Stopped, 1));
    assert!(
        stage.text().contains("·  tests    has not run on the work"),
        "{}",
        stage.text()
    );
}

#[test]
fn a_gate_that_was_ended_with_the_run_is_stopped() {
    let mut stage = at_work((120, 40));
    let result = GateResult::Failed {
        how: "signal 2".to_owned(),
        tail: String::new(),
        cannot_run: false,
    };
    stage
        .hear(1, gate("3", "tests", "3.1-1", false))
        .hear(
            1,
            Event::Requested {
                request: Request::Stop,
            },
        )
        .hear(0, gate_ended("3", "tests", false, result));
    assert!(stage.text().contains("· tests stopped"), "{}", stage.text());
    stage
        .hear(0, failed("3", 1, FailureKind::Stopped, ""))
        .hear(1, ended(Outcome::Stopped, 2));
    assert!(
        stage.text().contains("·  tests    stopped, 12s"),
        "{}",
        stage.text()
    );
}

#[test]
fn the_whole_title_of_a_story_can_be_read_on_a_small_screen() {
    let mut stage = Stage::new((80, 24));
    stage.with_run(RunMode::Live);
    let title =
        "Retry every upload that failed because the server was busy, and say in the log how often";
    let Event::RunStarted(mut header) = started() else {
        unreachable!("it starts a run");
    };
    header.stories[3].title = title.to_owned();
    let Event::StoryStarted(begun) = story(4) else {
        unreachable!("it starts a story");
    };
    let title = title.to_owned();
    stage
        .hear(0, Event::RunStarted(header))
        .hear(1, Event::StoryStarted(StoryStarted { title, ..begun }))
        .hear(1, attempt("4", 1));
    let text = stage.text();
    let left = text.lines().filter_map(|line| line.split('│').next());
    let left: Vec<&str> = left.flat_map(str::split_whitespace).collect();
    assert!(
        left.join(" ")
            .contains("busy, and say in the log how often"),
        "{text}"
    );
}

#[test]
fn the_promise_of_an_agent_is_not_its_activity() {
    let mut stage = Stage::new((120, 40));
    stage.with_run(RunMode::Live);
    stage
        .hear(0, started())
        .hear(1, story(4))
        .hear(1, attempt("4", 1));
    let mut shown = |text: &str| {
        stage.hear(0, speaks("4", 1, text));
        line(&mut stage, "● story 4")
    };
    let want = "● story 4: 0s  Metrics  All tests pass.";
    assert_eq!(
        shown("All tests pass.\n\n<promise>COMPLETE</promise>"),
        want
    );
    assert_eq!(
        shown("<promise>COMPLETE</promise>"),
        "● story 4: 0s  Metrics"
    );
}

#[test]
fn what_was_found_is_said_in_the_result_and_its_files_come_first() {
    let mut stage = Stage::new((120, 40));
    stage.with_run(RunMode::Live);
    stage
        .hear(0, started())
        .hear(1, story(2))
        .hear(1, attempt("2", 1))
        .hear(
            1,
            Event::TamperFound {
                story: id("2"),
                attempt: AttemptNumber(1),
                check: TamperCheck::Tests,
                paths: vec!["src/client.rs".to_owned()],
                message: "1 test deleted".to_owned(),
                failed: false,
            },
        )
        .hear(1, completed())
        .hear(1, ended(Outcome::StoryDone { story: None }, 2));
    let first_file = |stage: &mut Stage| {
        let text = stage.text();
        let mut rows = text.lines().skip_while(|row| !row.contains(" files +"));
        rows.find(|row| row.contains(".rs") || row.contains(".md"))
            .map(str::to_owned)
    };
    assert!(
        first_file(&mut stage).is_some_and(|it| it.contains("! M src/client.rs")),
        "{}",
        stage.text()
    );
    for (choice, is_said) in [
        (FinishChoice::Cleanup, true),
        (FinishChoice::Abandon, false),
    ] {
        stage.hear(1, finished(choice));
        let text = stage.text();
        assert_eq!(
            text.contains("! story 2: 1 test deleted"),
            is_said,
            "{text}"
        );
    }
    stage.keys("2");
    assert!(
        first_file(&mut stage).is_some_and(|it| it.contains("! M src/client.rs")),
        "{}",
        stage.text()
    );
}

#[test]
fn the_question_whether_to_resume_says_what_is_tried() {
    let exhausted = Outcome::stopped_at(FailedStory {
        story: id("3"),
        kind: FailureKind::Gate,
        reason: "gate `tests` ended with exit code 1".to_owned(),
        attempts: 4,
        gate: Some("tests".to_owned()),
    });
    let want = "The run tries story 3 again, with up to 4 more attempts.";
    for (outcome, want) in [
        (exhausted, want),
        (Outcome::Stopped, "The run continues with story 3."),
    ] {
        let mut stage = at_work((120, 40));
        stage.hear(1, ended(outcome, 2));
        stage.draw();
        stage.wait(1).keys("r");
        assert!(stage.text().contains(want), "{}", stage.text());
    }
}

#[test]
fn the_list_of_changes_gets_what_its_rows_need() {
    let mut stage = Stage::new((120, 40));
    if let Ok(found) = &mut stage.world.changes {
        found
            .rows
            .retain(|row| !row.name.starts_with("drop-the-old"));
        found.runs = last_runs("add-retry", RunState::BudgetUsedUp, (2, 5));
    }
    stage.read_changes();
    let row = line(&mut stage, "rename-everything");
    assert!(
        row.contains("0/0     0/0") && row.contains("unreadable"),
        "{row}"
    );
    let row = line(&mut stage, "add-retry");
    assert!(row.contains("1/5    4/17"), "{row}");
    assert!(row.contains("→ resume"), "{row}");
    assert!(
        stage.text().contains("last run  budget used up"),
        "{}",
        stage.text()
    );
}

#[test]
fn a_long_title_in_the_list_of_changes_keeps_the_count_of_its_tasks() {
    for size in [(80, 24), (120, 24), (120, 40)] {
        let mut stage = Stage::new(size);
        stage.read_changes();
        let text = stage.text();
        let counts = ["4/4", "2/4", "0/2", "0/1"];
        assert!(counts.iter().all(|it| text.contains(it)), "{text}");
    }
}

#[test]
fn the_log_offers_nothing_to_expand() {
    let mut stage = at_work((120, 40));
    stage.keys("1");
    assert!(stage.text().contains("Enter expand"), "{}", stage.text());
    stage.keys("5");
    assert!(!stage.text().contains("Enter expand"), "{}", stage.text());
}

#[test]
fn a_run_without_gates_says_so_in_the_gates_tab() {
    let mut stage = Stage::new((120, 40));
    stage.with_run(RunMode::Live);
    let Event::RunStarted(header) = started() else {
        unreachable!("it starts a run");
    };
    let gates = Vec::new();
    stage
        .hear(0, Event::RunStarted(RunStarted { gates, ..header }))
        .hear(1, story(2))
        .keys("4");
    let want = "no gates: the agent's word is the only check";
    assert!(
        line(&mut stage, "▌").ends_with(&format!("▌! {want}")),
        "{}",
        stage.text()
    );
}

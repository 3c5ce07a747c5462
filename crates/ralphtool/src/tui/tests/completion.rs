//! The end of a run, in its states.

use ratatui::crossterm::event::KeyCode;

use super::stage::Stage;
use super::story::{attempt, completed, ended, gate, gate_ended, over, red, started, story};
use crate::tui::message::{ErrorText, Msg, RunOver};
use crate::tui::screen::run::RunMode;
use crate::ui::plain::script::id;
use ralph_base::ids::AttemptNumber;
use ralph_run::records::event::{
    Event, FailedStory, FailureKind, FinishChoice, FinishFailed, Outcome,
};
use ralph_run::settings::TamperCheck;

super::scenes!(
    "completion",
    &[(200, 50)],
    [
        all_done,
        one_set_aside,
        keep_selected,
        cleanup_question,
        reword_question,
        abandon_question,
        key_too_early,
        review_focused,
        files_focused,
        file_folded,
        deleted_test,
        no_gates,
        gate_red,
        exhausted,
        continued,
        stopped,
        limited,
        broken,
        skipped,
        returning,
        staying,
        going_on,
        finish_failed,
        ended_by_itself,
        loop_failed,
        help,
    ]
);

fn all_done(stage: &mut Stage) {
    over(stage, Outcome::AllDone, 5);
}

fn one_set_aside(stage: &mut Stage) {
    over(stage, Outcome::AllDone, 4);
}

fn keep_selected(stage: &mut Stage) {
    all_done(stage);
    stage.press(KeyCode::Down).press(KeyCode::Down);
}

fn cleanup_question(stage: &mut Stage) {
    all_done(stage);
    stage.keys("c");
}

fn reword_question(stage: &mut Stage) {
    all_done(stage);
    stage.keys("w");
}

fn abandon_question(stage: &mut Stage) {
    stopped(stage);
    stage.keys("a");
}

fn review_focused(stage: &mut Stage) {
    all_done(stage);
    stage.press(KeyCode::Tab).keys("jj");
}

fn files_focused(stage: &mut Stage) {
    all_done(stage);
    stage.press(KeyCode::Tab).press(KeyCode::Tab).keys("j");
}

fn file_folded(stage: &mut Stage) {
    files_focused(stage);
    stage.press(KeyCode::Enter);
}

fn deleted_test(stage: &mut Stage) {
    stage.with_run(RunMode::Live);
    stage
        .hear(0, started())
        .hear(1, story(2))
        .hear(1, attempt("2", 1))
        .hear(
            60,
            Event::TamperFound {
                story: id("2"),
                attempt: AttemptNumber(1),
                check: TamperCheck::Tests,
                paths: vec!["tests/test_fetch.py".to_owned()],
                message: "1 test deleted: test_plain (tests/test_fetch.py)".to_owned(),
                failed: false,
            },
        )
        .hear(1, completed());
    end(stage, Outcome::StoryDone { story: None }, 2);
}

fn no_gates(stage: &mut Stage) {
    stage.with_run(RunMode::Live);
    let Event::RunStarted(mut it) = started() else {
        return;
    };
    it.gates.clear();
    stage.hear(0, Event::RunStarted(it));
    end(stage, Outcome::AllDone, 1);
}

fn gate_red(stage: &mut Stage) {
    stage.with_run(RunMode::Live);
    stage
        .hear(0, started())
        .hear(1, story(2))
        .hear(1, attempt("2", 1))
        .hear(60, gate("2", "tests", "2.1-1", false))
        .hear(12, gate_ended("2", "tests", false, red()))
        .hear(0, red_before())
        .hear(1, completed());
    let gates = vec!["tests".to_owned()];
    let reviews = Vec::new();
    end(stage, Outcome::Unverified { gates, reviews }, 5);
}

fn red_before() -> Event {
    Event::Warning {
        code: "red_before".to_owned(),
        message: "gate `tests` is red (exit code 101), as it was before the attempt".to_owned(),
    }
}

/// The run ends, and the user has seen that.
fn end(stage: &mut Stage, outcome: Outcome, stories_done: usize) {
    stage.hear(10, ended(outcome, stories_done));
    stage.draw();
    stage.wait(1);
}

/// A key that was meant for the run.
fn key_too_early(stage: &mut Stage) {
    super::story::working(stage);
    stage.hear(10, ended(Outcome::AllDone, 5));
    stage.keys("c");
}

fn exhausted(stage: &mut Stage) {
    let mut reason = "gate `tests` failed: exit code 101".to_owned();
    for number in 1..40 {
        reason.push_str("\ntest upload::case_");
        reason.push_str(&number.to_string());
        reason.push_str(" ... FAILED: the server was not there, 待っても");
    }
    let outcome = Outcome::stopped_at(FailedStory {
        story: id("3"),
        kind: FailureKind::Gate,
        reason,
        attempts: 4,
        gate: Some("tests".to_owned()),
    });
    over(stage, outcome, 2);
}

/// The second story has failed, and the third depends on it.
fn continued(stage: &mut Stage) {
    stage.with_run(RunMode::Live);
    super::story::second_failed(stage);
    let outcome = Outcome::Exhausted {
        story: id("2"),
        kind: FailureKind::Gate,
        reason: "gate `tests` failed: exit code 101\nboom".to_owned(),
        attempts: 1,
        gate: Some("tests".to_owned()),
        continued: true,
        others: Vec::new(),
        not_run: vec![id("3")],
    };
    end(stage, outcome, 1);
}

fn stopped(stage: &mut Stage) {
    over(stage, Outcome::Stopped, 2);
}

fn limited(stage: &mut Stage) {
    let reason = "the budget of $5.00 is used up: $5.02".to_owned();
    over(stage, Outcome::Limited { reason }, 2);
}

fn broken(stage: &mut Stage) {
    let outcome = Outcome::Broken {
        reason: "could not write the checkpoint: no space left on device".to_owned(),
        hint: "free some space, then run `ralphtool run add-retry` again".to_owned(),
    };
    over(stage, outcome, 2);
}

fn skipped(stage: &mut Stage) {
    let outcome = Outcome::Skipped {
        stories: vec![id("3"), id("4")],
        not_run: Vec::new(),
    };
    over(stage, outcome, 2);
}

fn returning(stage: &mut Stage) {
    all_done(stage);
    stage.keys("cy");
}

fn staying(stage: &mut Stage) {
    stopped(stage);
    stage.keys("by");
}

fn going_on(stage: &mut Stage) {
    stopped(stage);
    stage.keys("ry");
}

fn finish_failed(stage: &mut Stage) {
    returning(stage);
    stage.hear(
        1,
        Event::FinishFailed(FinishFailed {
            choice: FinishChoice::Cleanup,
            reason: "could not return to `main`: `src/client.rs` was changed there meanwhile"
                .to_owned(),
            hint: "commit or stash what is on `main`, then try again; the branch has everything"
                .to_owned(),
            begun: false,
        }),
    );
}

/// The user was not asked, as with a finish that is configured.
fn ended_by_itself(stage: &mut Stage) {
    stopped(stage);
    stage.tell(Msg::RunOver(RunOver::Ended(3)));
}

fn loop_failed(stage: &mut Stage) {
    super::story::working(stage);
    stage.tell(Msg::RunOver(RunOver::Failed(ErrorText {
        message: "could not write `/state/runs/x/events.jsonl`: no space left on device".to_owned(),
        hints: vec!["free some space, then run the same again; nothing is lost".to_owned()],
    })));
}

fn help(stage: &mut Stage) {
    all_done(stage);
    stage.keys("?");
}

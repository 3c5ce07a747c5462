//! The end of a run, in its states.

use ratatui::crossterm::event::KeyCode;

use super::stage::Stage;
use super::story::over;
use crate::tui::message::{ErrorText, Msg, RunOver};
use crate::ui::plain::script::id;
use ralph_run::records::event::{Event, FailureKind, FinishChoice, FinishFailed, Outcome};

super::scenes!(
    "completion",
    &[],
    [
        all_done,
        one_set_aside,
        keep_selected,
        cleanup_question,
        abandon_question,
        key_too_early,
        exhausted,
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

fn abandon_question(stage: &mut Stage) {
    stopped(stage);
    stage.keys("a");
}

/// A key that was meant for the run.
fn key_too_early(stage: &mut Stage) {
    super::story::working(stage);
    stage.hear(10, super::story::ended(Outcome::AllDone, 5));
    stage.keys("c");
}

fn exhausted(stage: &mut Stage) {
    let mut reason = "gate `tests` ended with exit code 101; its last lines:".to_owned();
    for number in 1..40 {
        reason.push_str("\ntest upload::case_");
        reason.push_str(&number.to_string());
        reason.push_str(" ... FAILED: the server was not there, 待っても");
    }
    let outcome = Outcome::Exhausted {
        story: id("3"),
        kind: FailureKind::Gate,
        reason,
    };
    over(stage, outcome, 2);
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
        hint: "free some space, then run `ralphtool loop add-retry` again".to_owned(),
    };
    over(stage, outcome, 2);
}

fn skipped(stage: &mut Stage) {
    let stories = vec![id("3"), id("4")];
    over(stage, Outcome::Skipped { stories }, 2);
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

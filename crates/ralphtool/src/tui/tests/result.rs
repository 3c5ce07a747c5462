//! What a run left, in its states.

use ratatui::crossterm::event::KeyCode;

use super::stage::Stage;
use super::story::{finished, over};
use crate::tui::message::{ErrorText, Msg, RunOver};
use ralph_run::records::event::{FinishChoice, Outcome};
use ralph_vault::diff::Diff;

super::scenes!(
    "result",
    &[(200, 50)],
    [
        tasks_after_cleanup,
        tasks_after_keep,
        files,
        file_folded,
        tasks_after_abandon,
        gate_broken,
        after_squash,
        undone,
        undo_refused,
        no_files,
        files_unknown,
        receipt,
        looking,
        change_gone,
    ]
);

fn tasks_after_cleanup(stage: &mut Stage) {
    over(stage, Outcome::Stopped, 2);
    stage.keys("cy").hear(1, finished(FinishChoice::Cleanup));
}

fn tasks_after_keep(stage: &mut Stage) {
    over(stage, Outcome::Stopped, 2);
    stage.keys("by").hear(1, finished(FinishChoice::Keep));
}

fn files(stage: &mut Stage) {
    tasks_after_cleanup(stage);
    stage.keys("2j");
}

fn file_folded(stage: &mut Stage) {
    files(stage);
    stage.press(KeyCode::Enter);
}

fn tasks_after_abandon(stage: &mut Stage) {
    over(stage, Outcome::Stopped, 2);
    stage.keys("ay").hear(1, finished(FinishChoice::Abandon));
}

fn gate_broken(stage: &mut Stage) {
    let outcome = Outcome::GateBroken {
        gate: "tests".to_owned(),
        reason: "exit code 127: command not found\nsh: 1: pytset: not found".to_owned(),
    };
    over(stage, outcome, 0);
    stage.hear(1, finished(FinishChoice::Abandon));
}

fn after_squash(stage: &mut Stage) {
    over(stage, Outcome::Stopped, 2);
    stage.keys("oy").hear(1, finished(FinishChoice::Squash));
}

fn undone(stage: &mut Stage) {
    tasks_after_cleanup(stage);
    stage.tell(Msg::RunOver(RunOver::Ended(0)));
    stage.keys("u");
}

fn undo_refused(stage: &mut Stage) {
    stage.world.undone = Err(ErrorText {
        message: "`src/client.rs` was changed since".to_owned(),
        hints: vec!["`ralphtool undo --dry-run` shows what would be undone".to_owned()],
    });
    undone(stage);
}

fn no_files(stage: &mut Stage) {
    stage.world.diff = Ok(Diff::default());
    files(stage);
}

fn files_unknown(stage: &mut Stage) {
    stage.world.diff = Err("`git diff` failed with exit code 128".to_owned());
    files(stage);
}

fn receipt(stage: &mut Stage) {
    tasks_after_keep(stage);
    stage.keys("3");
}

fn looking(stage: &mut Stage) {
    over(stage, Outcome::AllDone, 5);
    stage.silent = true;
    stage.keys("cy").hear(1, finished(FinishChoice::Cleanup));
}

fn change_gone(stage: &mut Stage) {
    stage.world.is_there = false;
    tasks_after_cleanup(stage);
}

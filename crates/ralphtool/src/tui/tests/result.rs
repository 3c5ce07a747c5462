//! What a run left, in its states.

use super::stage::Stage;
use super::story::{finished, over};
use ralph_run::records::event::{FinishChoice, Outcome};

super::scenes!(
    "result",
    &[],
    [
        tasks_after_cleanup,
        tasks_after_keep,
        files,
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

fn no_files(stage: &mut Stage) {
    stage.world.files = Ok(Vec::new());
    files(stage);
}

fn files_unknown(stage: &mut Stage) {
    stage.world.files = Err("`git diff` failed with exit code 128".to_owned());
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

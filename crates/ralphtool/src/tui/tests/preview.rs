//! A change before its run, in its states.

use ratatui::crossterm::event::KeyCode;

use super::found::findings;
use super::stage::Stage;
use crate::tui::message::{ErrorText, Msg, RunOver};
use ralph_run::preview::Remark;

super::scenes!(
    "preview",
    &[(200, 50)],
    [
        reading,
        stories,
        specs,
        proposal,
        proposal_end,
        no_design,
        prompt,
        check,
        check_finds_nothing,
        findings_counted,
        ready,
        nothing_may_start,
        refused,
        settings,
        settings_changed,
        gate_switched_off,
        typing_a_model,
        typing_tokens,
        typing_a_gate,
        bad_number_typed,
        settings_scrolled,
        searching,
        found,
        not_found,
        exporting,
        fresh_question,
        could_not_start,
        error,
    ]
);

pub(super) fn reading(stage: &mut Stage) {
    stage.read_changes();
    stage.silent = true;
    stage.press(KeyCode::Enter);
}

/// Opened and read.
pub(in crate::tui) fn stories(stage: &mut Stage) {
    stage.read_changes();
    stage.press(KeyCode::Enter);
}

fn specs(stage: &mut Stage) {
    stories(stage);
    stage.keys("2");
}

fn proposal(stage: &mut Stage) {
    stories(stage);
    stage.keys("3");
}

fn proposal_end(stage: &mut Stage) {
    proposal(stage);
    stage.keys("G");
}

fn no_design(stage: &mut Stage) {
    stories(stage);
    stage.keys("4");
}

fn prompt(stage: &mut Stage) {
    stories(stage);
    stage.keys("5");
}

fn check(stage: &mut Stage) {
    findings_counted(stage);
    stage.keys("6");
}

fn check_finds_nothing(stage: &mut Stage) {
    stories(stage);
    stage.keys("6");
}

fn findings_counted(stage: &mut Stage) {
    stage.world.findings = findings();
    stories(stage);
}

fn ready(stage: &mut Stage) {
    stage.world.remarks = Ok(Vec::new());
    stories(stage);
}

fn nothing_may_start(stage: &mut Stage) {
    stage.world.remarks = Ok(vec![
        Remark::stops("a merge is under way in this repository")
            .hint("end it with `git merge --continue` or `git merge --abort`"),
        Remark::warns("not committed, for they are larger than 50 MB: `data/図.bin`")
            .hint("add them to `.gitignore`, or set `largest_file`"),
        Remark::tells("2 changed and 1 untracked files are committed first"),
    ]);
    stories(stage);
}

fn refused(stage: &mut Stage) {
    nothing_may_start(stage);
    stage.keys("r");
}

fn settings(stage: &mut Stage) {
    stories(stage);
    stage.keys("S");
}

fn settings_changed(stage: &mut Stage) {
    settings(stage);
    stage.press(KeyCode::Right).keys("jj").press(KeyCode::Left);
}

fn gate_switched_off(stage: &mut Stage) {
    settings(stage);
    stage.keys("jjj").press(KeyCode::Enter);
}

fn typing_a_model(stage: &mut Stage) {
    settings(stage);
    stage.keys("j").press(KeyCode::Enter).keys("opus");
}

fn typing_tokens(stage: &mut Stage) {
    settings(stage);
    stage.keys("jjjjjjj").press(KeyCode::Enter);
}

fn typing_a_gate(stage: &mut Stage) {
    settings(stage);
    stage.keys("jjjjj").press(KeyCode::Enter);
    stage.tell(Msg::Paste("./ci/検査.sh --fast && echo done".to_owned()));
}

fn bad_number_typed(stage: &mut Stage) {
    settings(stage);
    stage.keys("jjjjjj").press(KeyCode::Enter);
    stage.keys("x").press(KeyCode::Enter);
}

fn settings_scrolled(stage: &mut Stage) {
    settings(stage);
    stage.keys(&"j".repeat(30));
}

fn searching(stage: &mut Stage) {
    stories(stage);
    stage.keys("/docu");
}

fn found(stage: &mut Stage) {
    searching(stage);
    stage.press(KeyCode::Enter);
}

fn not_found(stage: &mut Stage) {
    stories(stage);
    stage.keys("/nowhere").press(KeyCode::Enter);
}

fn exporting(stage: &mut Stage) {
    stories(stage);
    stage.keys("e");
}

fn fresh_question(stage: &mut Stage) {
    stage.world.open = true;
    stories(stage);
    stage.keys("F");
}

fn could_not_start(stage: &mut Stage) {
    stories(stage);
    stage.keys("r");
    stage.tell(Msg::RunOver(RunOver::Failed(ErrorText {
        message: "could not find `claude` on the search path".to_owned(),
        hints: vec!["install it, or choose another agent in the settings".to_owned()],
    })));
}

fn error(stage: &mut Stage) {
    stage.world.remarks = Err(ErrorText {
        message: "could not read `openspec/changes/add-retry/tasks.md`: permission denied"
            .to_owned(),
        hints: vec!["look at its owner and mode".to_owned()],
    });
    stories(stage);
}

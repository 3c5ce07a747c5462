//! The list of changes in its states.

use ratatui::crossterm::event::KeyCode;

use super::found::last_runs;
use super::stage::Stage;
use crate::tui::message::{Answer, ChangesFound, ErrorText, Msg};
use ralph_plan::change::SourceKind;
use ralph_run::history::listed::LastRuns;
use ralph_run::records::state::RunState;

super::scenes!(
    "changes",
    &[(200, 50)],
    [
        reading,
        list,
        kept,
        kinds,
        invalid_selected,
        no_tasks_selected,
        end_of_list,
        invalid_opened,
        filter_typed,
        filtered,
        no_match,
        empty,
        name_of_new_typed,
        new_written,
        detail_unknown,
        with_last_run,
        error,
        help,
        mouse_left_to_the_terminal,
    ]
);

fn reading(_: &mut Stage) {}

fn list(stage: &mut Stage) {
    stage.read_changes();
}

fn kept(stage: &mut Stage) {
    if let Ok(found) = &mut stage.world.changes {
        found.runs = last_runs("add-export", RunState::BudgetUsedUp, (1, 2));
    }
    list(stage);
}

fn kinds(stage: &mut Stage) {
    if let Ok(found) = &mut stage.world.changes {
        for (row, kind) in found.rows.iter_mut().zip([
            SourceKind::SpecKit,
            SourceKind::PrdJson,
            SourceKind::Checklist,
        ]) {
            row.kind = kind;
        }
        for (row, path) in found.rows.iter_mut().zip(["specs/add-retry", "prd.json"]) {
            "prd".clone_into(&mut row.name);
            path.clone_into(&mut row.target);
        }
    }
    list(stage);
}

fn invalid_selected(stage: &mut Stage) {
    list(stage);
    stage.keys("jjj");
}

fn no_tasks_selected(stage: &mut Stage) {
    list(stage);
    stage.keys("jjjj");
}

fn end_of_list(stage: &mut Stage) {
    if let Ok(found) = &mut stage.world.changes {
        let rows = found.rows.clone();
        for number in 0..10 {
            found.rows.extend(rows.iter().map(|row| {
                let mut row = row.clone();
                row.name = format!("{}-{number}", row.name);
                row
            }));
        }
    }
    list(stage);
    stage.keys("Gk");
}

fn invalid_opened(stage: &mut Stage) {
    invalid_selected(stage);
    stage.press(KeyCode::Enter);
}

fn filter_typed(stage: &mut Stage) {
    list(stage);
    stage.keys("/ret");
}

fn filtered(stage: &mut Stage) {
    filter_typed(stage);
    stage.press(KeyCode::Enter);
}

fn no_match(stage: &mut Stage) {
    list(stage);
    stage.keys("/zzz");
}

fn empty(stage: &mut Stage) {
    stage.world.changes = Ok(ChangesFound {
        folder: "/home/me/project/openspec/changes".to_owned(),
        rows: Vec::new(),
        runs: LastRuns::default(),
    });
    list(stage);
}

fn name_of_new_typed(stage: &mut Stage) {
    empty(stage);
    stage.keys("nadd-export");
}

fn new_written(stage: &mut Stage) {
    list(stage);
    stage.keys("nadd-export").press(KeyCode::Enter);
}

fn detail_unknown(stage: &mut Stage) {
    stage.silent = true;
    list(stage);
    stage.answer(Answer::Look(
        "add-retry".to_owned(),
        Err(ErrorText {
            message: "`ralphtool.toml` is not valid".to_owned(),
            hints: vec!["`ralphtool doctor` says where".to_owned()],
        }),
    ));
}

/// The change was worked on, and has no gates now.
fn with_last_run(stage: &mut Stage) {
    if let Ok(found) = &mut stage.world.changes {
        found.runs = last_runs("add-retry", RunState::BudgetUsedUp, (2, 5));
    }
    stage.world.gates = false;
    list(stage);
}

fn error(stage: &mut Stage) {
    stage.tell(Msg::Answer(Box::new(Answer::Changes(Err(ErrorText {
        message: "`/home/me/somewhere-else` is in no git repository".to_owned(),
        hints: vec![
            "run `git init` and commit once".to_owned(),
            "or go to a folder of a repository first, such as the one your project is in"
                .to_owned(),
        ],
    })))));
}

fn help(stage: &mut Stage) {
    list(stage);
    stage.keys("?");
}

fn mouse_left_to_the_terminal(stage: &mut Stage) {
    list(stage);
    stage.keys("m");
}

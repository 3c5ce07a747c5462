//! The runs of a journal, as far as housekeeping is concerned.

use super::super::run_state::OpenRun;
use crate::domain::housekeeping::{PastRun, Standing};
use crate::edge::steps::{Line, Step};

/// The runs in the order they began.
pub(in super::super) fn of_journal(lines: &[Line], open: Option<&OpenRun>) -> Vec<PastRun> {
    let mut runs: Vec<PastRun> = Vec::new();
    for line in lines {
        let known = runs.iter().position(|run| run.run == line.run);
        let index = known.unwrap_or_else(|| {
            runs.push(begun(line, open));
            runs.len() - 1
        });
        let run = &mut runs[index];
        run.ended = line.at;
        match &line.step {
            Step::BeginIntent { intent } => run.change.clone_from(&intent.change),
            Step::AttemptStarted { .. } => run.attempts += 1,
            Step::BeginTakenBack => run.standing = Standing::TakenBack,
            _ => {}
        }
    }
    runs
}

fn begun(line: &Line, open: Option<&OpenRun>) -> PastRun {
    let is_open = open.is_some_and(|open| open.run == line.run);
    PastRun {
        run: line.run.clone(),
        change: String::new(),
        began: line.at,
        ended: line.at,
        attempts: 0,
        standing: if is_open {
            Standing::Open
        } else {
            Standing::Over
        },
    }
}

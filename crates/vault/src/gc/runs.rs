//! The runs of a journal, as far as housekeeping is concerned.

use crate::gc::policy::{PastRun, Standing};
use crate::journal::run_state::RunState;
use crate::journal::steps::{Line, Step};
use ralph_base::ids::RunId;

/// The runs in the order they began. One that can still be finished in another way or undone counts as
/// open, except for the last that is over: that one is never removed anyway.
pub(crate) fn of_journal(lines: &[Line], state: &RunState) -> Vec<PastRun> {
    let needed = state.needed_runs();
    let mut runs: Vec<PastRun> = Vec::new();
    for line in lines {
        let known = runs.iter().position(|run| run.run == line.run);
        let index = known.unwrap_or_else(|| {
            runs.push(begun(line, &needed));
            runs.len() - 1
        });
        let run = &mut runs[index];
        run.ended = line.at;
        match &line.step {
            Step::BeginIntent { intent } => {
                run.change.clone_from(&intent.change);
                run.plan.clone_from(&intent.plan);
            }
            Step::AttemptStarted { .. } => run.attempts += 1,
            Step::BeginTakenBack => run.standing = Standing::TakenBack,
            _ => {}
        }
    }
    let open = state.open_run().map(|open| open.run);
    let over = |run: &&mut PastRun| Some(&run.run) != open.as_ref();
    if let Some(last) = runs.iter_mut().rev().find(over)
        && last.standing == Standing::Open
    {
        last.standing = Standing::Over;
    }
    runs
}

fn begun(line: &Line, needed: &[RunId]) -> PastRun {
    let is_open = needed.contains(&line.run);
    PastRun {
        run: line.run.clone(),
        change: String::new(),
        plan: None,
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

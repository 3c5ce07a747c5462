//! Where the work on a change began: gates at the end are compared with that, and not with what an
//! earlier run of the same change left, whose red would else count as "before".

use std::collections::BTreeMap;

use crate::history::lookup::read_run;
use crate::machine::Began;
use crate::records::event::{FinishChoice, Outcome};
use crate::records::progress::Progress;
use ralph_base::ids::RunId;
use ralph_vault::Vault;
use ralph_vault::gc::policy::Standing;

/// What is known of where the work on a change began.
#[derive(Debug, Default)]
pub(super) struct WorkStart {
    /// The gates of earlier runs whose work a run goes on from, and what each said where they began.
    pub(super) gates: BTreeMap<String, Began>,
    /// Those runs have completed stories.
    pub(super) has_earlier_work: bool,
}

/// Looks for the start of the work on a change; `run` is the one that is prepared.
pub(super) fn work_start(checkpoints: &Vault, change: &str, run: &RunId) -> WorkStart {
    let mut start = WorkStart::default();
    // What cannot be read is not known: the gates are asked again.
    let runs = checkpoints.past_runs().unwrap_or_default();
    let earlier = runs.iter().position(|past| past.run == *run);
    let earlier = runs.iter().take(earlier.unwrap_or(runs.len()));
    for past in earlier.rev() {
        let progress = Progress::of(&read_run(checkpoints.vault_folder(), &past.run));
        let finish = progress.finish.as_ref().map(|finish| finish.choice);
        // It left nothing: what was there before it is there again.
        if past.standing == Standing::TakenBack || finish == Some(FinishChoice::Abandon) {
            continue;
        }
        // Work that is done is where new work begins.
        if past.change != change || has_done_all(&progress) {
            break;
        }
        for gate in progress.header.iter().flat_map(|header| &header.gates) {
            let red = progress.red_before.get(gate).cloned();
            start
                .gates
                .insert(gate.clone(), red.map_or(Began::Green, Began::Red));
        }
        let mut stories = progress.stories.iter();
        start.has_earlier_work |= stories.any(|story| !story.commits.is_empty());
    }
    start
}

fn has_done_all(progress: &Progress) -> bool {
    match progress.outcome() {
        Some(Outcome::AllDone) => true,
        Some(Outcome::Unverified { .. }) => progress.stories_done == progress.stories_total,
        _ => false,
    }
}

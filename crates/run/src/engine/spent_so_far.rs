//! What an open run has done and spent so far, as its record says. A record that does not say what
//! was spent never counts as nothing spent: a run with a budget is refused.

use std::path::Path;

use crate::failure::Failure;
use crate::policy::budget::{Budget, flags_off};
use crate::records::event::{AttemptStarted, Event, Record};
use crate::records::file::{self, RunRecords};
use crate::records::progress::Progress;
use crate::settings::Settings;
use ralph_base::ids::AttemptId;
use ralph_base::shell::quoted;
use ralph_vault::OpenRun;

use crate::history::lookup::damage;

/// The code of the warning of a run that was resumed without knowing what it had spent.
const UNKNOWN: &str = "spending_unknown";

/// What the record of an open run says, and what is worth a warning.
pub(super) struct SpentSoFar {
    pub progress: Progress,
    pub warnings: Vec<Event>,
}

/// Reads the record of an open run; refuses a run with a budget where it does not say what was
/// spent.
pub(super) fn spent_so_far(
    folder: &Path,
    open: &OpenRun,
    settings: &Settings,
) -> Result<SpentSoFar, Failure> {
    let path = file::path_in(folder);
    let found = file::read(folder).map_err(|error| {
        Failure::system("could not read what the run has done so far")
            .because(error)
            .hint(format!("make it readable: `chmod u+rw {}`", quoted(&path)))
    })?;
    let gap = gap(found.as_ref(), open);
    let mut warnings = Vec::new();
    if let Some(gap) = gap {
        let off = flags_off(&Budget::of_run(settings), &Budget::of_story(settings));
        if !off.is_empty() {
            return Err(Failure::refused(format!(
                "what this run has spent is not known, so its budget cannot be enforced: {gap} \
                 (`{}`)",
                path.display()
            ))
            .hint("to end it and keep its work: `ralphtool finish --keep`; a new run has a new budget")
            .hint(format!("to resume it without a budget: `ralphtool resume {off}`")));
        }
        let message = format!(
            "what this run has spent is not known: {gap} (`{}`)",
            path.display()
        );
        warnings.push(Event::warning(UNKNOWN, message));
    }
    let found = found.unwrap_or_default();
    warnings.extend(damage(found.damaged).map(|message| Event::warning("record_damaged", message)));
    let progress = Progress::of(&found.records);
    Ok(SpentSoFar { progress, warnings })
}

/// Why the record does not say what the run has spent; none where it does.
///
/// The last attempt may be missing: a process can be killed between the line of the journal and
/// the record, and a power cut takes what was written since the last checkpoint.
fn gap(found: Option<&RunRecords>, open: &OpenRun) -> Option<String> {
    if open.attempts.is_empty() {
        return None;
    }
    let Some(found) = found else {
        return Some("its record is gone".to_owned());
    };
    let records = &found.records;
    let has = |is_it: &dyn Fn(&Event) -> bool| records.iter().any(|record| is_it(&record.event));
    if !has(&|event| matches!(event, Event::RunStarted { .. })) {
        return Some("its record has no beginning".to_owned());
    }
    if has(&|event| matches!(event, Event::Warning { code, .. } if code == UNKNOWN)) {
        return Some("an earlier part of its record was lost".to_owned());
    }
    let last = open.last_attempt.as_ref().map(|last| &last.attempt);
    let attempts = open.attempts.iter();
    let mut attempts = attempts.map(|(story, number)| AttemptId::new(story.clone(), *number));
    let missing = attempts.find(|it| Some(it) != last && !is_recorded(records, it))?;
    Some(format!("attempt {missing} is not in its record"))
}

fn is_recorded(records: &[Record], id: &AttemptId) -> bool {
    records.iter().any(|record| {
        matches!(&record.event, Event::AttemptStarted(AttemptStarted { story, attempt, .. })
            if *story == id.story && *attempt == id.attempt)
    })
}

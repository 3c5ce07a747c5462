//! The changes there are to work through.

use super::{Finding, Scope};
use crate::failure::chain;
use crate::words::counted;
use ralph_plan::source::{SourceError, Survey, survey};
use ralph_plan::summary::{ChangeState, ChangeSummary};

/// What users call what is checked here.
const CHECK: &str = "plan";

/// Finds changes and checks whether they can be read; gives those that have work left.
pub(super) fn check(scope: &Scope) -> (Vec<Finding>, Vec<ChangeSummary>) {
    let around = &scope.surroundings;
    let Survey {
        folder,
        changes,
        warnings,
    } = match survey(around) {
        Ok(found) => found,
        Err(error) => return (vec![missing(&error)], Vec::new()),
    };
    let warnings = warnings.iter();
    let mut findings: Vec<Finding> = warnings
        .map(|it| Finding::warning(CHECK, it.message.as_str()))
        .collect();
    let ready = changes.iter().filter(|it| it.state == ChangeState::Open);
    let ready: Vec<ChangeSummary> = ready.cloned().collect();
    let folder = folder.display();
    findings.push(if changes.is_empty() {
        Finding::warning(CHECK, format!("none in `{folder}`"))
            .hint("write one with `ralphtool new NAME`, or run a checklist file by its path")
    } else {
        let count = counted(changes.len(), "change");
        Finding::good(
            CHECK,
            format!("{count} in `{folder}`, {} with work left", ready.len()),
        )
    });
    findings.extend(
        changes
            .iter()
            .filter_map(|change| about(change, ready.len())),
    );
    (findings, ready)
}

/// What keeps a change from being run.
fn about(change: &ChangeSummary, ready: usize) -> Option<Finding> {
    let name = &change.name;
    match &change.state {
        ChangeState::Unreadable { reason } => Some(Finding::warning(
            CHECK,
            format!("`{name}` cannot be read: {reason}"),
        )),
        ChangeState::Template => {
            let message = format!("`{name}` is still as `ralphtool new` wrote it");
            let finding = match ready {
                // There is nothing else to run.
                0 => Finding::refusal(CHECK, message),
                _ => Finding::warning(CHECK, message),
            };
            let path = &change.path;
            Some(finding.hint(format!(
                "replace each TODO in `{path}`, in `tasks.md` first"
            )))
        }
        _ => None,
    }
}

/// Without a root there may still be a checklist file to run.
fn missing(error: &SourceError) -> Finding {
    Finding {
        hint: error.hint(),
        ..Finding::warning(CHECK, chain(error))
    }
}

//! The changes there are to work through.

use super::{Finding, Scope};
use crate::failure::chain;
use crate::words::counted;
use ralph_plan::source::{SourceError, Survey, survey};
use ralph_plan::summary::{ChangeState, ChangeSummary};

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
        .map(|it| Finding::warning("source", it.message.as_str()))
        .collect();
    let folder = folder.display();
    let ready = changes.iter().filter(|it| it.state == ChangeState::Open);
    let count = counted(changes.len(), "change");
    let ready: Vec<ChangeSummary> = ready.cloned().collect();
    let message = format!("{count} in `{folder}`, {} with work left", ready.len());
    findings.push(if changes.is_empty() {
        Finding::warning("source", message)
            .hint("write one with `ralphtool new NAME`, or run a checklist file by its path")
    } else {
        Finding::good("source", message)
    });
    for change in &changes {
        if let ChangeState::Unreadable { reason } = &change.state {
            let message = format!("`{}` cannot be read: {reason}", change.name);
            findings.push(Finding::warning("source", message));
        }
    }
    (findings, ready)
}

/// Without a root there may still be a checklist file to run.
fn missing(error: &SourceError) -> Finding {
    Finding {
        hint: error.hint(),
        ..Finding::warning("source", chain(error))
    }
}

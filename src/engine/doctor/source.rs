//! The changes there are to work through.

use super::super::chain;
use super::Patient;
use crate::domain::doctor::Finding;
use crate::domain::summary::ChangeState;
use crate::edge::source::{SourceError, find_root, list_changes};

/// Looks for changes and whether they can be read.
pub(super) fn look(patient: &Patient) -> Vec<Finding> {
    let around = &patient.surroundings;
    let listed = find_root(around).and_then(|root| {
        let changes = list_changes(&root, around)?;
        Ok((root, changes))
    });
    let (root, changes) = match listed {
        Ok(listed) => listed,
        Err(error) => return vec![missing(&error)],
    };
    let warnings = root.warnings.iter();
    let mut findings: Vec<Finding> = warnings
        .map(|it| Finding::warning("source", it.message.as_str()))
        .collect();
    let folder = root.changes().display().to_string();
    let ready = changes.iter().filter(|it| it.state == ChangeState::Ready);
    let count = match changes.len() {
        1 => "1 change".to_owned(),
        many => format!("{many} changes"),
    };
    let message = format!("{count} in `{folder}`, {} with work left", ready.count());
    findings.push(if changes.is_empty() {
        Finding::warning("source", message)
            .hint("make one with `openspec new change NAME`, or run a checklist file by its path")
    } else {
        Finding::good("source", message)
    });
    for change in &changes {
        if let ChangeState::Invalid { reason } = &change.state {
            let message = format!("`{}` cannot be read: {reason}", change.name);
            findings.push(Finding::warning("source", message));
        }
    }
    findings
}

/// Without a root there may still be a checklist file to run.
fn missing(error: &SourceError) -> Finding {
    let finding = Finding::warning("source", chain(error));
    match error.hint() {
        Some(hint) => finding.hint(hint),
        None => finding,
    }
}

//! What is weak in a plan and its gates, for people and programs: what the rules of [`ralph_plan::lint`]
//! find, with the files of the repository, and what is to be said of the gates.
//!
//! Nothing here keeps a run from starting. `docs/check.schema.json` is the schema of [`CheckReport`].

use std::collections::BTreeSet;
use std::path::Path;

use serde::Serialize;

use crate::engine::REPAIR_TIMEOUT;
use crate::gate::{PipeWarning, checks_nothing, pipe_warning};
use crate::policy::{Gate, When};
use crate::records::progress::NO_GATES;
use crate::words::counted;
use ralph_base::ids::StoryId;
use ralph_plan::change::Change;
use ralph_plan::lint::{Finding, ProjectFiles, lint};
use ralph_vault::git::repository::Repository;
use ralph_vault::git::status::kept_files;

/// The codes of what is said of gates, each with what it means.
pub const GATE_CODES: [(&str, &str); 3] = [
    (
        "no_gate",
        "no gate runs after a story, so that the agent's word is the only check",
    ),
    (
        "gate_checks_nothing",
        "a gate passes whatever the agent did, such as `echo ok`, or a line that ends with `; true`",
    ),
    (
        "gate_pipe",
        "a pipe hides the exit code of the program that checks",
    ),
];

/// The version of the format.
const VERSION: u32 = 1;

/// What was found in one or more changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
pub struct CheckReport {
    /// Version of the format.
    pub v: u32,
    /// The changes that were checked.
    pub changes: Vec<CheckedChange>,
}

impl CheckReport {
    /// A report of these changes.
    pub fn of(changes: Vec<CheckedChange>) -> Self {
        let v = VERSION;
        Self { v, changes }
    }
}

/// What was found in one change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
pub struct CheckedChange {
    /// Its name.
    pub change: String,
    /// What kind of plan it is, as in `list --json`.
    pub kind: &'static str,
    /// How many stories it has, and how many of all other things were checked.
    pub stories: usize,
    pub tasks: usize,
    pub scenarios: usize,
    pub gates: usize,
    /// What was found: first what is about the whole change, then story by story.
    pub findings: Vec<FoundIssue>,
}

/// Something worth a look before a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
pub struct FoundIssue {
    /// The stable name of the rule.
    pub code: &'static str,
    /// The story it is about; none if it is about the whole change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub story: Option<StoryId>,
    /// The task it is about: its number, or its text if it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// Where to look: a path from the folder of the command if the file is below it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// A line of that file, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// What was found, in one sentence.
    pub message: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// What is checked, and with what.
#[derive(Debug, Clone, Copy)]
pub struct CheckRequest<'a> {
    pub change: &'a Change,
    pub gates: &'a [Gate],
    /// The repository whose files the tasks name; without one it is not checked whether they exist.
    pub repository: Option<&'a Repository>,
    /// The folder of the command.
    pub folder: &'a Path,
}

/// Checks a change.
pub fn check(request: CheckRequest<'_>) -> CheckedChange {
    let CheckRequest { change, gates, .. } = request;
    let files = request.repository.and_then(Files::of);
    let exists = files
        .as_ref()
        .map(|files| move |path: &str| files.has(path));
    let exists = exists
        .as_ref()
        .map(|exists| exists as &dyn Fn(&str) -> bool);
    let mut findings = about_gates(gates);
    findings.extend(lint(change, exists));
    CheckedChange {
        change: change.name.clone(),
        kind: change.source.word(),
        stories: change.stories.len(),
        tasks: change.task_tally().total,
        scenarios: change.scenarios.len(),
        gates: gates.len(),
        findings: findings
            .into_iter()
            .map(|finding| FoundIssue::of(finding, request.folder))
            .collect(),
    }
}

impl CheckedChange {
    /// A change that cannot be read.
    pub fn unreadable(change: String, kind: &'static str, reason: &str) -> Self {
        let finding = Finding::new("unreadable", format!("it could not be read: {reason}"));
        Self {
            change,
            kind,
            stories: 0,
            tasks: 0,
            scenarios: 0,
            gates: 0,
            findings: vec![FoundIssue::of(finding, Path::new("/"))],
        }
    }

    /// How much was found, in a line: `3 findings in 2 of 5 stories`; without findings, what was checked.
    pub fn summary(&self) -> String {
        if self.findings.is_empty() {
            return format!(
                "nothing found in {}, {}, {} and {}",
                counted(self.stories, "story"),
                counted(self.tasks, "task"),
                counted(self.scenarios, "scenario"),
                counted(self.gates, "gate")
            );
        }
        let about = self.findings.iter().filter_map(|it| it.story.as_ref());
        let (number, stories) = (about.clone().count(), about.collect::<BTreeSet<_>>().len());
        let findings = counted(self.findings.len(), "finding");
        let all = self.stories;
        match number {
            0 => format!("{findings} about the whole change"),
            _ if number == self.findings.len() => {
                format!("{findings} in {stories} of {}", counted(all, "story"))
            }
            _ => format!(
                "{findings}, {number} of them in {stories} of {}",
                counted(all, "story")
            ),
        }
    }
}

impl FoundIssue {
    fn of(finding: Finding, folder: &Path) -> Self {
        let place = finding.place;
        Self {
            code: finding.code,
            story: finding.story,
            task: finding.task,
            line: place.as_ref().map(|place| place.line),
            file: place.map(|place| {
                let path = place.path.strip_prefix(folder).unwrap_or(&place.path);
                path.to_string_lossy().into_owned()
            }),
            message: finding.message,
            hint: finding.hint,
        }
    }
}

/// The files of a repository.
struct Files<'a> {
    root: &'a Path,
    known: ProjectFiles,
}

impl<'a> Files<'a> {
    /// None where git does not say.
    fn of(repository: &'a Repository) -> Option<Self> {
        let known = kept_files(&repository.git(REPAIR_TIMEOUT)).ok()?;
        Some(Self {
            root: &repository.work_tree,
            known: known.into_iter().collect(),
        })
    }

    /// Whether there is such a file, or one in some folder whose path ends so. Git does not list files
    /// that it ignores, nor those of submodules.
    fn has(&self, path: &str) -> bool {
        self.known.has(path) || self.root.join(path).symlink_metadata().is_ok()
    }
}

/// Gates that could not show that a story is not done.
fn about_gates(gates: &[Gate]) -> Vec<Finding> {
    let mut findings = Vec::new();
    if gates.is_empty() {
        let hint = "`ralphtool init` finds commands that check this repository";
        findings.push(Finding::new("no_gate", NO_GATES).hint(hint));
    } else if gates.iter().all(|gate| gate.when == When::End) {
        let message =
            "every gate runs at the end only: after a story the agent's word is the only check";
        let hint = "let the one that runs the tests have `when = \"story\"`";
        findings.push(Finding::new("no_gate", message).hint(hint));
    }
    for gate in gates {
        let name = &gate.name;
        if checks_nothing(gate) {
            let message = format!("gate `{name}` passes whatever the agent did");
            let hint = "let its line end with the exit code of the program that checks";
            findings.push(Finding::new("gate_checks_nothing", message).hint(hint));
        } else if let Some(PipeWarning { text, hint }) = pipe_warning(gate) {
            let message = format!("gate `{name}`: {text}");
            findings.push(Finding::new("gate_pipe", message).hint(hint));
        }
    }
    findings
}

#[cfg(test)]
mod tests;

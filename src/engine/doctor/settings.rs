//! The configuration, and the agent it names.

use std::path::Path;

use super::super::agents::Agents;
use super::Patient;
use crate::domain::doctor::Finding;
use crate::domain::roster::Choice;
use crate::domain::settings::{Settings, SettingsProblem};
use crate::edge::agent::find_program;
use crate::edge::settings::{Places, load};

/// Reads the settings as a run in this root would.
pub(super) fn look(patient: &Patient, root: &Path) -> (Vec<Finding>, Option<Settings>) {
    let places = Places {
        root,
        home: patient.home.as_deref(),
        config: patient.config.as_deref(),
        directory: &patient.directory,
    };
    let loaded = match load(&places, &patient.environment) {
        Ok(loaded) => loaded,
        Err(problem) => return (vec![unfit(&problem)], None),
    };
    let warnings = loaded.warnings.iter();
    let mut findings: Vec<Finding> = warnings
        .map(|text| Finding::warning("settings", text.as_str()))
        .collect();
    match Settings::resolve(loaded.layers) {
        Ok(settings) => {
            if findings.is_empty() {
                findings.push(Finding::good("settings", "all keys are known"));
            }
            (findings, Some(settings))
        }
        Err(problem) => {
            findings.push(unfit(&problem));
            (findings, None)
        }
    }
}

/// Whether the agent can be started, as seen from where it would run.
pub(super) fn agent(settings: &Settings, patient: &Patient, root: &Path) -> Finding {
    let name = settings.agent.value.first();
    let choice = Choice {
        agent: name.to_owned(),
        model: None,
    };
    let agent = Agents::of(settings).agent(&choice);
    let Some(program) = agent.program() else {
        return Finding::good("agent", format!("`{name}`, which is built in"));
    };
    let path = patient.environment.iter().find(|(it, _)| it == "PATH");
    let path = path.map(|(_, value)| value.as_os_str());
    match find_program(program.as_ref(), path, root) {
        Some(found) => Finding::good("agent", format!("`{name}`: `{}`", found.display())),
        None => Finding::refusal(
            "agent",
            format!("`{name}` needs `{program}`, which was not found"),
        )
        .hint("install it, or choose another one with `--agent NAME` or `agent = \"NAME\"`"),
    }
}

fn unfit(problem: &SettingsProblem) -> Finding {
    let finding = Finding::refusal("settings", problem.to_string());
    match &problem.hint {
        Some(hint) => finding.hint(hint.as_str()),
        None => finding,
    }
}

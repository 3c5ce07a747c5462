//! The configuration.

use std::path::Path;

use super::Patient;
use crate::domain::doctor::Finding;
use crate::domain::settings::{Settings, SettingsProblem};
use crate::edge::settings::{Places, REPOSITORY_FILE, load};

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
            findings.extend(gates(patient, root, &settings));
            (findings, Some(settings))
        }
        Err(problem) => {
            findings.push(unfit(&problem));
            (findings, None)
        }
    }
}

/// Where nobody has configured anything, nothing but the agent's word says that a story is done.
fn gates(patient: &Patient, root: &Path, settings: &Settings) -> Option<Finding> {
    let is_configured = patient.config.is_some() || root.join(REPOSITORY_FILE).exists();
    if is_configured || !settings.gates.value.is_empty() {
        return None;
    }
    let message = "none: that a story is done, only the agent says";
    let hint = "`ralphtool init` writes a configuration with the tests of this repository";
    Some(Finding::good("gates", message).hint(hint))
}

fn unfit(problem: &SettingsProblem) -> Finding {
    let finding = Finding::refusal("settings", problem.to_string());
    match &problem.hint {
        Some(hint) => finding.hint(hint.as_str()),
        None => finding,
    }
}

//! The configuration.

use std::path::Path;

use super::Patient;
use crate::domain::doctor::Finding;
use crate::domain::settings::{Settings, SettingsProblem};
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

fn unfit(problem: &SettingsProblem) -> Finding {
    let finding = Finding::refusal("settings", problem.to_string());
    match &problem.hint {
        Some(hint) => finding.hint(hint.as_str()),
        None => finding,
    }
}

//! The configuration.

use std::path::Path;

use super::{Finding, Scope};
use crate::settings::files::{AllowedSettings, Loaded, Places, load};
use crate::settings::{PartialSettings, Settings, SettingsProblem};

/// The settings as they are, and those that may be acted on.
pub(super) struct Found {
    pub shown: Settings,
    /// Where the repository's file is not allowed yet, these are without what it asks for; none
    /// where nothing sensible is left.
    pub allowed: Option<AllowedSettings>,
    /// The user allowed what the repository's file asks for, or it asks for nothing.
    pub is_trusted: bool,
}

/// Reads the settings as a run in this root would.
pub(super) fn check(scope: &Scope, root: &Path) -> (Vec<Finding>, Option<Found>) {
    let mut findings = Vec::new();
    match read(scope, root, &mut findings) {
        Ok(found) => (findings, Some(found)),
        Err(problem) => {
            let finding = Finding::refusal("settings", problem.to_string());
            let hint = problem.hint;
            findings.push(Finding { hint, ..finding });
            (findings, None)
        }
    }
}

fn read(scope: &Scope, root: &Path, findings: &mut Vec<Finding>) -> Result<Found, SettingsProblem> {
    let places = Places {
        root,
        home: scope.home.as_deref(),
        config: scope.config.as_deref(),
        directory: &scope.directory,
        state: scope.state.as_deref().ok(),
        trust: false,
    };
    let loaded = load(&places, &scope.environment)?;
    let warnings = loaded.warnings.iter();
    findings.extend(warnings.map(|text| Finding::warning("settings", text.as_str())));
    let shown = loaded.shown(PartialSettings::default())?;
    if findings.is_empty() {
        findings.push(Finding::good("settings", "the configuration is valid"));
    }
    findings.extend(trust(&loaded));
    let allowed = loaded.allowed(PartialSettings::default()).ok();
    let is_trusted = loaded.unallowed().is_none();
    Ok(Found {
        shown,
        allowed,
        is_trusted,
    })
}

/// A run asks before it does what the repository's file says; the doctor runs nothing of it either.
fn trust(loaded: &Loaded) -> Option<Finding> {
    let file = loaded.unallowed()?;
    let message = format!(
        "`{}` asks for permissions that you have not given; nothing of it was run",
        file.name
    );
    let hint = "`ralphtool trust` shows them and asks";
    Some(Finding::refusal("trust", message).hint(hint))
}

//! Whether `--isolate` can work here; it is really tried, in a process of its own.

use super::Place;
use crate::domain::doctor::Finding;
use crate::domain::settings::Settings;
use crate::edge::isolation::probe;

/// Tries isolation beside the vault, or where that will be.
pub(super) fn look(place: &Place<'_>, settings: Option<&Settings>) -> Option<Finding> {
    let scratch = place.vault.ancestors().find(|folder| folder.is_dir())?;
    let error = match probe(&place.repository.work_tree, scratch) {
        Ok(()) => return Some(Finding::good("isolate", "`--isolate` works here")),
        Err(error) => error,
    };
    let message = format!("`--isolate` cannot work here: {error}");
    let is_wanted = settings.is_some_and(|settings| settings.isolate.value);
    let finding = if is_wanted {
        Finding::refusal("isolate", message)
    } else {
        Finding::warning("isolate", message)
    };
    Some(finding.hint(error.hint()))
}

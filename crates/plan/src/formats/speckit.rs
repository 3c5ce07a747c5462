//! spec-kit: a feature is a folder below `specs` with a `tasks.md` or a `plan.md`.

mod dependencies;
mod mentions;

use std::path::Path;

use serde_json::Value;

use super::spec_folder::{self, SharedDocument, SpecFolder, TASKS};
use crate::change::SourceKind;
use crate::error::SourceError;
use crate::files;
use crate::stories::Rules;
use crate::surroundings::Surroundings;

/// How its boxes are read. Its command that implements a feature ticks with a capital letter.
pub(super) const RULES: Rules = Rules {
    first_tick: b"X",
    dependencies: dependencies::read,
    ..Rules::PLAIN
};

/// How its folders are read. Its `checklists` are questions to the plan, not work.
pub(super) const FOLDER: SpecFolder = SpecFolder {
    kind: SourceKind::SpecKit,
    rules: &RULES,
    // Other tools have folders named `specs` too, but not with these files.
    places: &["specs", ".specify/specs"],
    signs: &[TASKS, "plan.md"],
    documents: &[
        "spec.md",
        "plan.md",
        "research.md",
        "data-model.md",
        "quickstart.md",
        "contracts",
    ],
    shared: SharedDocument {
        artifact: "constitution",
        places: &[".specify/memory/constitution.md", "memory/constitution.md"],
    },
};

/// The name of the feature spec-kit works on, where the environment or its own file says so.
pub fn current_feature(around: &Surroundings) -> Result<Option<String>, SourceError> {
    if let Some(feature) = &around.feature {
        return Ok(Some(spec_folder::name_of(feature)));
    }
    for folder in around.searched_folders()? {
        let Some(bytes) = files::read_if_there(&folder.join(".specify/feature.json"))? else {
            continue;
        };
        // A file spec-kit cannot read either names no feature.
        let state: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        let feature = state.get("feature_directory").and_then(Value::as_str);
        return Ok(feature.map(|feature| spec_folder::name_of(Path::new(feature))));
    }
    Ok(None)
}

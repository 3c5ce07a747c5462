//! The plans of a repository that are not `OpenSpec`'s: where they usually are, and nowhere else.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::change::{Change, SourceKind};

use super::error::SourceError;
use super::feature;
use super::files::{self, unreadable};
use super::plain;
use super::root::Surroundings;

/// Folders of features of spec-kit.
const SPEC_KIT: [&str; 2] = ["specs", ".specify/specs"];

/// The folder of Kiro's specs.
const KIRO: &str = ".kiro/specs";

/// Checklists that are made for loops. One without a box in it is no plan.
const CHECKLISTS: [&str; 5] = [
    "fix_plan.md",
    "@fix_plan.md",
    ".ralph/fix_plan.md",
    "PRD.md",
    "IMPLEMENTATION_PLAN.md",
];

/// Where tools keep their stories.
const PRDS: [&str; 5] = [
    "prd.json",
    "scripts/ralph/prd.json",
    ".ralph/prd.json",
    "tasks/prd.json",
    "ralph/prd.json",
];

/// A plan and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    /// What kind of plan it is.
    pub(super) kind: SourceKind,
    /// The name people call it by.
    pub(super) name: String,
    /// Its folder or file.
    pub(super) path: PathBuf,
}

impl Found {
    /// The plan in a folder, if it is one.
    pub(super) fn in_folder(folder: &Path) -> Option<Self> {
        feature::kind_of(folder).map(|kind| Self {
            kind,
            name: feature::name_of(folder),
            path: folder.to_owned(),
        })
    }

    /// The plan in a file, whatever is in it.
    pub(super) fn in_file(path: &Path) -> Self {
        let folder = path.parent().and_then(|it| fs::canonicalize(it).ok());
        let feature = folder.filter(|_| path.ends_with(feature::TASKS));
        if let Some(found) = feature.and_then(|folder| Self::in_folder(&folder)) {
            return found;
        }
        let is_json = path.extension().is_some_and(|end| end == "json");
        Self {
            kind: if is_json {
                SourceKind::PrdJson
            } else {
                SourceKind::Checklist
            },
            name: plain::name_of(path),
            path: path.to_owned(),
        }
    }

    /// Reads it.
    pub(super) fn read(&self) -> Result<Change, SourceError> {
        match self.kind {
            SourceKind::SpecKit | SourceKind::Kiro => feature::read(&self.path, self.kind),
            SourceKind::PrdJson => plain::read_prd(&self.path),
            SourceKind::OpenSpec | SourceKind::Checklist => plain::read_checklist(&self.path),
        }
    }
}

/// Looks for plans, from a folder up to the top of its work tree. Those of a kind are looked for
/// until some are found: a project inside a project has its own.
pub(super) fn find(start: &Path) -> Result<Vec<Found>, SourceError> {
    let places = places(start)?;
    let looks = [spec_kit, kiro, checklists, prds];
    let nearest = |look: fn(&Path) -> Vec<Found>| {
        let found = places.iter().map(|place| look(place));
        found.into_iter().find(|found| !found.is_empty())
    };
    Ok(looks.into_iter().filter_map(nearest).flatten().collect())
}

/// The folders to look in, the nearest first.
fn places(start: &Path) -> Result<Vec<PathBuf>, SourceError> {
    let start = fs::canonicalize(start).map_err(unreadable(start))?;
    let above: Vec<PathBuf> = start.ancestors().map(Path::to_owned).collect();
    let top = above.iter().position(|folder| folder.join(".git").exists());
    Ok(above.into_iter().take(top.unwrap_or(0) + 1).collect())
}

fn spec_kit(place: &Path) -> Vec<Found> {
    let folders = SPEC_KIT.iter().map(|folder| place.join(folder));
    folders.flat_map(|folder| features(&folder)).collect()
}

fn kiro(place: &Path) -> Vec<Found> {
    features(&place.join(KIRO))
}

/// The plans in a folder of plans. One that may not be looked into has none: it need not be one.
fn features(folder: &Path) -> Vec<Found> {
    let entries = files::entries(folder).unwrap_or_default();
    let folders = entries
        .into_iter()
        .filter(|entry| entry.is_folder && !entry.is_hidden());
    folders
        .filter_map(|entry| Found::in_folder(&entry.path))
        .collect()
}

fn checklists(place: &Path) -> Vec<Found> {
    let mut found = known_files(place, &CHECKLISTS);
    // Prose of that name is no plan; what cannot be read is shown as such.
    found.retain(|it| it.read().map_or(true, |change| !change.stories.is_empty()));
    found
}

fn prds(place: &Path) -> Vec<Found> {
    known_files(place, &PRDS)
}

fn known_files(place: &Path, names: &[&str]) -> Vec<Found> {
    let paths = names.iter().map(|name| place.join(name));
    paths
        .filter(|path| path.is_file())
        .map(|path| Found::in_file(&path))
        .collect()
}

/// The name of the feature spec-kit is at, where it says so: in the environment, else in its file.
pub(super) fn current_feature(around: &Surroundings) -> Result<Option<String>, SourceError> {
    if let Some(feature) = &around.feature {
        return Ok(Some(feature::name_of(Path::new(feature))));
    }
    for place in places(&around.folder)? {
        let Some(bytes) = files::read_if_there(&place.join(".specify/feature.json"))? else {
            continue;
        };
        let state: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        let folder = state.get("feature_directory").and_then(Value::as_str);
        return Ok(folder.map(|folder| feature::name_of(Path::new(folder))));
    }
    Ok(None)
}

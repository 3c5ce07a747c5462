//! Schemas: which files a change has, in which order, and which of them hold the boxes.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::config::ProjectConfig;
use super::error::SourceError;
use super::files;
use super::root::{Root, Surroundings};
use super::yaml;

/// The schema `OpenSpec` has built in.
const BUILT_IN: &str = "spec-driven";

/// The shape of a change.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Schema {
    /// Its name.
    pub(super) name: String,
    /// Where it is written; the built-in one is nowhere.
    pub(super) path: PathBuf,
    /// The files of a change, in reading order.
    pub(super) artifacts: Vec<Artifact>,
    /// The path or glob of the files with boxes.
    pub(super) tracks: Option<String>,
}

/// One kind of file of a change.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Artifact {
    /// What it is called.
    pub(super) id: String,
    /// Its path or glob within the change.
    pub(super) generates: String,
}

impl Schema {
    /// The schema of a change: its own, else the project's, else the built-in one.
    pub(super) fn of(
        change: &Path,
        root: &Root,
        config: &ProjectConfig,
        around: &Surroundings,
    ) -> Result<Self, SourceError> {
        let metadata = change.join(".openspec.yaml");
        let own = yaml::read_if_there(&metadata)?.and_then(|value| yaml::text(&value, "schema"));
        match (own, &config.schema) {
            (Some(name), _) => Self::named(&name, metadata, root, around),
            (None, Some(name)) => Self::named(name, config.path.clone(), root, around),
            (None, None) => Self::named(BUILT_IN, metadata, root, around),
        }
    }

    fn named(
        name: &str,
        asked_by: PathBuf,
        root: &Root,
        around: &Surroundings,
    ) -> Result<Self, SourceError> {
        let folders = schema_folders(root, around);
        let plain = !name.contains(['/', '\\', '\0']) && !name.starts_with('.');
        for folder in folders.iter().filter(|_| plain) {
            let path = folder.join(name).join("schema.yaml");
            if let Some(value) = yaml::read_if_there(&path)? {
                return Self::from_value(name, path, &value);
            }
        }
        if name == BUILT_IN {
            return Ok(Self::built_in());
        }
        Err(SourceError::UnknownSchema {
            name: name.to_owned(),
            asked_by,
            known: known_schemas(&folders)?,
        })
    }

    fn built_in() -> Self {
        let files = [
            ("proposal", "proposal.md"),
            ("specs", "specs/**/*.md"),
            ("design", "design.md"),
            ("tasks", "tasks.md"),
        ];
        let artifact = |(id, generates): (&str, &str)| Artifact {
            id: id.to_owned(),
            generates: generates.to_owned(),
        };
        Self {
            name: BUILT_IN.to_owned(),
            path: PathBuf::new(),
            artifacts: files.map(artifact).into(),
            tracks: Some("tasks.md".to_owned()),
        }
    }

    fn from_value(name: &str, path: PathBuf, value: &Value) -> Result<Self, SourceError> {
        let Some(artifacts) = value.get("artifacts").and_then(Value::as_array) else {
            return Err(SourceError::BadSchema {
                path,
                reason: "it has no list of artifacts".to_owned(),
            });
        };
        let artifact = |value: &Value| {
            Some(Artifact {
                id: yaml::text(value, "id")?,
                generates: yaml::text(value, "generates")?,
            })
        };
        Ok(Self {
            name: name.to_owned(),
            artifacts: artifacts.iter().filter_map(artifact).collect(),
            tracks: value
                .get("apply")
                .and_then(|apply| yaml::text(apply, "tracks")),
            path,
        })
    }

    /// The files of a change that a path or glob of this schema names, sorted.
    pub(super) fn resolve(
        &self,
        change: &Path,
        pattern: &str,
    ) -> Result<Vec<PathBuf>, SourceError> {
        let escapes = |part: &str| part == "..";
        if pattern.starts_with('/') || pattern.split(['/', '\\']).any(escapes) {
            return Err(self.bad(format!("`{pattern}` leads out of the change")));
        }
        if !pattern.contains(['*', '?', '[', '{', '(', '!']) {
            let path = change.join(pattern);
            return Ok(if path.is_file() {
                vec![path]
            } else {
                Vec::new()
            });
        }
        let glob = globset::GlobBuilder::new(pattern)
            .literal_separator(true)
            .build()
            .map_err(|error| self.bad(format!("`{pattern}` is no pattern: {}", error.kind())))?
            .compile_matcher();
        let hidden = pattern.starts_with('.') || pattern.contains("/.");
        let mut found = Vec::new();
        walk(change, hidden, &mut found)?;
        found.retain(|path| {
            let inner = path.strip_prefix(change).unwrap_or(path);
            glob.is_match(inner) && path.is_file()
        });
        found.sort();
        Ok(found)
    }

    fn bad(&self, reason: String) -> SourceError {
        SourceError::BadSchema {
            path: self.path.clone(),
            reason,
        }
    }
}

fn schema_folders(root: &Root, around: &Surroundings) -> Vec<PathBuf> {
    let project = root.path.join("openspec/schemas");
    let user = around.openspec_data().map(|data| data.join("schemas"));
    std::iter::once(project).chain(user).collect()
}

fn known_schemas(folders: &[PathBuf]) -> Result<Vec<String>, SourceError> {
    let mut known = vec![BUILT_IN.to_owned()];
    for folder in folders {
        for entry in files::entries(folder)? {
            if entry.path.join("schema.yaml").is_file() {
                known.push(entry.name.to_string_lossy().into_owned());
            }
        }
    }
    known.sort();
    known.dedup();
    Ok(known)
}

/// Everything below a folder that is not a folder itself.
pub(super) fn walk(
    folder: &Path,
    hidden: bool,
    found: &mut Vec<PathBuf>,
) -> Result<(), SourceError> {
    for entry in files::entries(folder)? {
        if entry.is_hidden() && !hidden {
            continue;
        }
        if entry.is_folder {
            walk(&entry.path, hidden, found)?;
        } else {
            found.push(entry.path);
        }
    }
    Ok(())
}

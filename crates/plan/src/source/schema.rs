//! Schemas: which files a change has, in which order, and which of them hold the boxes.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::glob::Glob;

use super::error::SourceError;
use super::files;
use super::root::{Root, Surroundings};
use super::yaml;

/// The schema `OpenSpec` has built in.
pub(super) const BUILT_IN: &str = "spec-driven";

/// The shape of a change.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Schema {
    /// Its name.
    pub(super) name: String,
    /// The files of a change, in reading order.
    pub(super) artifacts: Vec<Artifact>,
    /// The files with boxes.
    pub(super) tracks: Option<Pattern>,
}

/// One kind of file of a change.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Artifact {
    /// What it is called.
    pub(super) id: String,
    /// Where it is within the change.
    pub(super) generates: Pattern,
}

/// A path within a change, or a glob of such paths.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Pattern {
    /// As it is written.
    pub(super) text: String,
    /// What it means, where it is more than a path.
    glob: Option<Glob>,
}

impl Pattern {
    /// Understands a pattern; an error says what is wrong with it.
    fn new(text: String) -> Result<Self, String> {
        let escapes = |part: &str| part == "..";
        if text.starts_with('/') || text.split(['/', '\\']).any(escapes) {
            return Err(format!("`{text}` leads out of the change"));
        }
        let is_path = !text.contains(['*', '?', '[', '{', '(', '!']);
        let glob = match Glob::new(&text) {
            _ if is_path => None,
            Ok(glob) => Some(glob),
            Err(error) => return Err(format!("`{text}` is no pattern: {error}")),
        };
        Ok(Self { text, glob })
    }

    /// The files of a change that it names, sorted.
    pub(super) fn resolve(&self, change: &Path) -> Result<Vec<PathBuf>, SourceError> {
        let Some(glob) = &self.glob else {
            let path = change.join(&self.text);
            return Ok(Some(path)
                .filter(|path| path.is_file())
                .into_iter()
                .collect());
        };
        let hidden = self.text.starts_with('.') || self.text.contains("/.");
        let mut found = Vec::new();
        walk(change, hidden, &mut found)?;
        found.retain(|path| {
            let inner = path.strip_prefix(change).unwrap_or(path);
            glob.is_match(&inner.to_string_lossy()) && path.is_file()
        });
        found.sort();
        Ok(found)
    }
}

impl Schema {
    /// Reads a schema by its name.
    pub(super) fn read(
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
                return Self::from_value(name, &value)
                    .map_err(|reason| SourceError::BadSchema { path, reason });
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
        let path = |text: &str| Pattern {
            text: text.to_owned(),
            glob: Glob::new(text).ok().filter(|_| text.contains('*')),
        };
        let artifact = |(id, generates): (&str, &str)| Artifact {
            id: id.to_owned(),
            generates: path(generates),
        };
        let files = [
            ("proposal", "proposal.md"),
            ("specs", "specs/**/*.md"),
            ("design", "design.md"),
            ("tasks", "tasks.md"),
        ];
        Self {
            name: BUILT_IN.to_owned(),
            artifacts: files.map(artifact).into(),
            tracks: Some(path("tasks.md")),
        }
    }

    fn from_value(name: &str, value: &Value) -> Result<Self, String> {
        let Some(artifacts) = value.get("artifacts").and_then(Value::as_array) else {
            return Err("it has no list of artifacts".to_owned());
        };
        let artifact = |value: &Value| {
            let (id, generates) = (yaml::text(value, "id")?, yaml::text(value, "generates")?);
            Some(Pattern::new(generates).map(|generates| Artifact { id, generates }))
        };
        let tracks = value
            .get("apply")
            .and_then(|apply| yaml::text(apply, "tracks"));
        Ok(Self {
            name: name.to_owned(),
            tracks: tracks.map(Pattern::new).transpose()?,
            artifacts: artifacts
                .iter()
                .filter_map(artifact)
                .collect::<Result<_, _>>()?,
        })
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

//! Schemas: which files a change has, in which order, and which of them hold the boxes.

use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};
use serde_json::{Value, json};

use super::root::{Root, data_folder};
use super::yaml;
use crate::error::{SourceError, there_are};
use crate::files;
use crate::surroundings::Surroundings;

/// The schema `OpenSpec` has built in.
pub(super) const BUILT_IN: &str = "spec-driven";

/// The shape of a change.
#[derive(Debug)]
pub(super) struct Schema {
    pub(super) name: String,
    /// The files of a change, in reading order.
    pub(super) artifacts: Vec<Artifact>,
    /// The files with boxes.
    pub(super) tracks: Option<Pattern>,
}

/// One kind of file of a change.
#[derive(Debug)]
pub(super) struct Artifact {
    pub(super) id: String,
    /// Where it is within the change.
    pub(super) generates: Pattern,
}

/// A path within a change, or a glob of such paths.
#[derive(Debug)]
pub(super) struct Pattern {
    /// As it is written.
    pub(super) text: String,
    /// None if it is a path.
    glob: Option<GlobMatcher>,
}

impl Pattern {
    /// Reads a pattern; an error says what is wrong with it.
    fn new(text: &str) -> Result<Self, String> {
        let escapes = |part: &str| part == "..";
        if text.starts_with('/') || text.split(['/', '\\']).any(escapes) {
            return Err(format!("`{text}` leads out of the change"));
        }
        let is_glob = text.contains(['*', '?', '[', '{', '(', '!']);
        let glob = is_glob.then(|| glob(text)).transpose();
        Ok(Self {
            text: text.to_owned(),
            glob: glob.map_err(|error| format!("`{text}` is not a pattern: {}", error.kind()))?,
        })
    }

    /// The files of a change that it names, sorted.
    pub(super) fn resolve(&self, change: &Path) -> Result<Vec<PathBuf>, SourceError> {
        let Some(glob) = &self.glob else {
            return Ok(files::named_in(change, &[&self.text]));
        };
        let hidden = self.text.starts_with('.') || self.text.contains("/.");
        let mut found = Vec::new();
        files::walk(change, hidden, &mut found)?;
        found.retain(|path| {
            let inner = path.strip_prefix(change).unwrap_or(path);
            glob.is_match(inner) && path.is_file()
        });
        found.sort();
        Ok(found)
    }
}

/// A glob as `OpenSpec` understands it: `*` stays within a folder, `**` does not.
fn glob(text: &str) -> Result<GlobMatcher, globset::Error> {
    let mut glob = GlobBuilder::new(text);
    glob.literal_separator(true);
    glob.backslash_escape(true);
    glob.empty_alternates(true);
    Ok(glob.build()?.compile_matcher())
}

impl Schema {
    /// Reads a schema by its name.
    pub(super) fn read(
        name: &str,
        asked_by: &Path,
        root: &Root,
        around: &Surroundings,
    ) -> Result<Self, SourceError> {
        let folders = schema_folders(root, around);
        let plain = !name.contains(['/', '\\', '\0']) && !name.starts_with('.');
        for folder in folders.iter().filter(|_| plain) {
            let path = folder.join(name).join("schema.yaml");
            if let Some(value) = yaml::read_if_there(&path)? {
                return Self::from_value(name, &value, &path);
            }
        }
        if name == BUILT_IN {
            return Self::from_value(name, &built_in(), Path::new(BUILT_IN));
        }
        Err(SourceError::unusable_but(
            format!(
                "found no schema `{name}`, asked for by `{}`",
                asked_by.display()
            ),
            there_are(&known_schemas(&folders)?),
        ))
    }

    fn from_value(name: &str, value: &Value, path: &Path) -> Result<Self, SourceError> {
        let artifacts = value.get("artifacts").and_then(Value::as_array);
        let artifact = |value: &Value| {
            let (id, generates) = (yaml::text(value, "id")?, yaml::text(value, "generates")?);
            Some(Pattern::new(&generates).map(|generates| Artifact { id, generates }))
        };
        let tracks = value.get("apply").and_then(|it| yaml::text(it, "tracks"));
        let read = || {
            let artifacts = artifacts.ok_or("it has no list of artifacts")?;
            let artifacts = artifacts.iter().filter_map(artifact);
            Ok(Self {
                name: name.to_owned(),
                tracks: tracks.as_deref().map(Pattern::new).transpose()?,
                artifacts: artifacts.collect::<Result<_, String>>()?,
            })
        };
        read().map_err(|reason: String| {
            let message = format!("could not use the schema `{}`: {reason}", path.display());
            SourceError::unusable(message)
        })
    }
}

fn built_in() -> Value {
    json!({
        "artifacts": [
            {"id": "proposal", "generates": "proposal.md"},
            {"id": "specs", "generates": "specs/**/*.md"},
            {"id": "design", "generates": "design.md"},
            {"id": "tasks", "generates": "tasks.md"},
        ],
        "apply": {"tracks": "tasks.md"},
    })
}

fn schema_folders(root: &Root, around: &Surroundings) -> Vec<PathBuf> {
    let project = root.path.join("openspec/schemas");
    let user = data_folder(around).map(|data| data.join("schemas"));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn case(pattern: &str, paths: &[&str], others: &[&str]) {
        let glob = glob(pattern).unwrap();
        for path in paths {
            assert!(glob.is_match(path), "{pattern} should match {path}");
        }
        for other in others {
            assert!(!glob.is_match(other), "{pattern} should not match {other}");
        }
    }

    #[test]
    fn a_glob_matches_whole_paths_only() {
        case("a.md", &["a.md"], &["b/a.md", "a.mdx", "xa.md", ""]);
        case(
            "*.md",
            &["a.md", ".md", "ä.md"],
            &["b/a.md", "a.txt", "a.md/b"],
        );
        case("a*c*", &["ac", "abc", "abcd", "acc"], &["a/c", "ab", "bac"]);
        case("?.md", &["a.md"], &["ab.md", ".md", "/.md"]);
        case("[a-c].md", &["a.md", "c.md"], &["d.md", "-.md"]);
        case("[!a-c].md", &["d.md"], &["a.md"]);
        case("[^a]", &["b"], &["a"]);
        case("[]-]x", &["]x", "-x"], &["ax"]);
        case("{a,b/c}.md", &["a.md", "b/c.md"], &["b.md", "a,b.md"]);
        case("{a,{b,}c}", &["a", "bc", "c"], &["b", ""]);
        case("a,b", &["a,b"], &["a"]);
        case(r"\*[x]", &["*x"], &["ax"]);
        case("!(a)", &["!(a)"], &["b"]);
    }

    #[test]
    fn two_stars_between_slashes_are_any_folders() {
        case(
            "specs/**/*.md",
            &["specs/a.md", "specs/a/b.md", "specs/a/b/c.md"],
            &["a.md", "specs.md", "specsa.md", "x/specs/a.md"],
        );
        case("**/a", &["a", "b/a", "c/b/a"], &["ba", "a/b"]);
        case("a/**", &["a/b", "a/b/c"], &["a", "ab"]);
        case("**", &["a", "a/b", ""], &[]);
        case("a**b", &["ab", "axb"], &["a/b"]);
        case("a/**/b/**/c", &["a/b/c", "a/x/b/y/z/c"], &["a/c", "ab/c"]);
    }

    #[test]
    fn a_malformed_glob_is_refused() {
        let deep = "{".repeat(100_000);
        for pattern in ["[a", "[]", "[b-a]", "{a", "{a,{b}", "a}", "*\\", &deep] {
            assert!(glob(pattern).is_err(), "{pattern:.20}");
        }
    }

    #[test]
    fn no_glob_is_slow() {
        case(&"*a".repeat(60), &[], &[&"ab".repeat(250)]);
        let path = format!("{}b", "a".repeat(250));
        case(&"{a,aa,**/a}".repeat(40), &[], &[&path]);
    }
}

//! Finding the `OpenSpec` root: the nearest project above, a declared store, or the default one.
//!
//! A change may therefore live outside the repository whose code is edited.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::change::Warning;

use super::yaml;
use crate::error::SourceError;
use crate::files::{self, unreadable};
use crate::surroundings::Surroundings;

/// The folder that holds `openspec/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    /// Where it is, without symbolic links.
    pub path: PathBuf,
    /// What the user should know about it.
    pub warnings: Vec<Warning>,
}

impl Root {
    /// A root that was found before.
    pub(crate) const fn at(path: PathBuf) -> Self {
        Self {
            path,
            warnings: Vec::new(),
        }
    }

    /// The folder of all changes.
    pub fn changes(&self) -> PathBuf {
        self.path.join("openspec/changes")
    }
}

/// Finds the root as `OpenSpec` does.
pub fn find_root(around: &Surroundings) -> Result<Root, SourceError> {
    let start = around.start()?;
    let nearest = start.ancestors().find_map(Candidate::at);
    if let Some(found) = &nearest {
        let store = found.declared_store()?;
        if found.has_content {
            return Ok(nearest_root(&found.path, store));
        }
        if let Some(id) = store {
            return store_root(around, &id);
        }
    }
    if let Some(id) = default_store(around)? {
        return store_root(around, &id);
    }
    if let Some(found) = nearest {
        return Ok(nearest_root(&found.path, None));
    }
    if start.join("openspec/project.md").is_file() {
        return Ok(Root::at(start));
    }
    Err(SourceError::NoRoot { start })
}

fn nearest_root(path: &Path, ignored_store: Option<String>) -> Root {
    let ignored = ignored_store.map(|id| {
        let what = "the project has its own changes";
        let message = format!("{what}: `store: {id}` of its configuration is ignored");
        Warning::new("store_ignored", message)
    });
    Root {
        warnings: ignored.into_iter().collect(),
        ..Root::at(path.to_owned())
    }
}

/// A folder that looks like a root.
struct Candidate {
    path: PathBuf,
    /// It has specs or changes of its own, not just a configuration.
    has_content: bool,
}

impl Candidate {
    fn at(folder: &Path) -> Option<Self> {
        let openspec = folder.join("openspec");
        let own = |name: &str| {
            let inner = openspec.join(name);
            // `openspec/specs` may itself be a store: that makes no project.
            inner.is_dir() && !inner.join(".openspec-store/store.yaml").exists()
        };
        let has_content = own("specs") || own("changes");
        let configured = || config_path(folder).is_some();
        (has_content || configured()).then(|| Self {
            path: folder.to_owned(),
            has_content,
        })
    }

    /// The store its configuration names; a configuration that does not parse names none.
    fn declared_store(&self) -> Result<Option<String>, SourceError> {
        let Some(path) = config_path(&self.path) else {
            return Ok(None);
        };
        match yaml::read_if_there(&path) {
            Ok(config) => Ok(config.and_then(|config| yaml::text(&config, "store"))),
            Err(SourceError::Malformed { .. }) if self.has_content => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// The configuration file of a root, if it has one.
pub(super) fn config_path(root: &Path) -> Option<PathBuf> {
    ["config.yaml", "config.yml"]
        .into_iter()
        .map(|name| root.join("openspec").join(name))
        .find(|path| path.is_file())
}

/// `OpenSpec`'s data folder.
pub(super) fn data_folder(around: &Surroundings) -> Option<PathBuf> {
    openspec_folder(around, around.data_home.as_deref(), ".local/share")
}

fn openspec_folder(around: &Surroundings, set: Option<&Path>, default: &str) -> Option<PathBuf> {
    let in_home = || around.home.as_ref().map(|home| home.join(default));
    let base = set.map(Path::to_owned).or_else(in_home)?;
    Some(base.join("openspec"))
}

fn default_store(around: &Surroundings) -> Result<Option<String>, SourceError> {
    let Some(folder) = openspec_folder(around, around.config_home.as_deref(), ".config") else {
        return Ok(None);
    };
    let path = folder.join("config.json");
    let Some(bytes) = files::read_if_there(&path)? else {
        return Ok(None);
    };
    let config: Value =
        serde_json::from_slice(&bytes).map_err(|error| SourceError::malformed(&path, error))?;
    Ok(yaml::text(&config, "defaultStore"))
}

fn store_root(around: &Surroundings, id: &str) -> Result<Root, SourceError> {
    let registry = data_folder(around)
        .unwrap_or_default()
        .join("stores/registry.yaml");
    let known = yaml::read_if_there(&registry)?.unwrap_or(Value::Null);
    let place = known
        .get("stores")
        .and_then(|stores| stores.get(id)?.get("backend")?.get("local_path")?.as_str());
    let Some(place) = place else {
        return Err(SourceError::unusable_but(
            format!("found no store `{id}` in `{}`", registry.display()),
            "register it with `openspec store register`, or correct the name",
        ));
    };
    let path = PathBuf::from(place);
    let identity = yaml::read_if_there(&path.join(".openspec-store/store.yaml"))?;
    let named = identity.and_then(|store| yaml::text(&store, "id"));
    if named.as_deref() != Some(id) {
        return Err(SourceError::unusable_but(
            format!("`{}` is not the store `{id}`", path.display()),
            "look at it with `openspec store doctor`",
        ));
    }
    let whole = fs::canonicalize(&path).map_err(unreadable(&path))?;
    Ok(Root::at(whole))
}

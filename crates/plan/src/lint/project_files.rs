//! The files of a project, by name.

use std::collections::HashMap;

/// The files of a project: paths from its top folder, with slashes.
#[derive(Debug, Clone, Default)]
pub struct ProjectFiles {
    /// Paths by their last part.
    by_name: HashMap<String, Vec<String>>,
}

impl ProjectFiles {
    /// Whether a path is one of them, or the end of one: a plan often names a file from the folder
    /// of its package.
    pub fn has(&self, path: &str) -> bool {
        let same_name = self.by_name.get(file_name(path));
        let mut same_name = same_name.into_iter().flatten();
        same_name.any(|known| ends_with(known, path))
    }
}

impl FromIterator<String> for ProjectFiles {
    fn from_iter<T: IntoIterator<Item = String>>(paths: T) -> Self {
        let mut by_name: HashMap<String, Vec<String>> = HashMap::new();
        for path in paths {
            let name = file_name(&path).to_owned();
            by_name.entry(name).or_default().push(path);
        }
        Self { by_name }
    }
}

/// The last part of a path.
fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Whether the last parts of a path are those of another one.
pub(super) fn ends_with(path: &str, end: &str) -> bool {
    let rest = path.strip_suffix(end);
    rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
}

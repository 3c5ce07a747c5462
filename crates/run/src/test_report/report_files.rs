//! The files with a gate's test report: those that were written while it ran.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::settings::PathPatterns;

/// How many entries of folders are looked at.
const MOST_ENTRIES: usize = 50_000;
/// How many files a report may have.
const MOST_FILES: usize = 1000;
/// How deep folders are looked into.
const DEEPEST: usize = 40;

/// The files that match a pattern, as they were before the gate ran.
#[derive(Debug)]
pub(crate) struct ReportFiles {
    root: PathBuf,
    pattern: PathPatterns,
    before: BTreeMap<PathBuf, Version>,
}

/// What changes when a file is written.
#[derive(Debug, PartialEq, Eq)]
struct Version {
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl From<&Metadata> for Version {
    fn from(found: &Metadata) -> Self {
        Self {
            inode: found.ino(),
            size: found.size(),
            modified: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        }
    }
}

impl ReportFiles {
    /// Notes the files below the top of the repository that match.
    pub(crate) fn before(root: &Path, pattern: &PathPatterns) -> Self {
        Self {
            root: root.to_owned(),
            pattern: pattern.clone(),
            before: versions(root, pattern).unwrap_or_default(),
        }
    }

    /// Whether one of them was written since.
    pub(crate) fn is_written(&self) -> bool {
        self.changed().is_some_and(|files| !files.is_empty())
    }

    /// The files that were written since; none where too many match.
    pub(super) fn changed(&self) -> Option<Vec<PathBuf>> {
        let now = versions(&self.root, &self.pattern)?;
        let changed = now
            .into_iter()
            .filter(|(path, version)| self.before.get(path) != Some(version));
        Some(changed.map(|(path, _)| path).collect())
    }
}

fn versions(root: &Path, pattern: &PathPatterns) -> Option<BTreeMap<PathBuf, Version>> {
    let mut found = BTreeMap::new();
    for text in pattern.texts() {
        let fixed = text.split('/').take_while(|part| !is_pattern(part));
        let start: PathBuf = fixed.collect();
        let mut look = Look {
            root,
            pattern,
            entries: 0,
            found: &mut found,
        };
        look.at(&start, 0)?;
    }
    Some(found)
}

fn is_pattern(part: &str) -> bool {
    part.contains(['*', '?', '[', '{', '\\'])
}

/// A look at the folders that a pattern may mean.
struct Look<'a> {
    root: &'a Path,
    pattern: &'a PathPatterns,
    entries: usize,
    found: &'a mut BTreeMap<PathBuf, Version>,
}

impl Look<'_> {
    fn at(&mut self, path: &Path, depth: usize) -> Option<()> {
        self.entries += 1;
        if self.entries > MOST_ENTRIES || depth > DEEPEST {
            return None;
        }
        let full = self.root.join(path);
        let Ok(metadata) = fs::symlink_metadata(&full) else {
            return Some(());
        };
        if metadata.is_file() {
            let shown = path.to_string_lossy();
            let is_named = self.pattern.texts().iter().any(|text| *text == shown);
            let is_xml = path.extension().is_some_and(|it| it == "xml");
            if is_named || is_xml && self.pattern.matches(&shown) {
                self.found.insert(full, Version::from(&metadata));
            }
            return (self.found.len() <= MOST_FILES).then_some(());
        }
        if !metadata.is_dir() || path.file_name().is_some_and(|name| name == ".git") {
            return Some(());
        }
        let Ok(entries) = fs::read_dir(&full) else {
            return Some(());
        };
        for entry in entries.flatten() {
            self.at(&path.join(entry.file_name()), depth + 1)?;
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn changed(root: &Path, pattern: &str, write: impl FnOnce()) -> Vec<String> {
        let pattern = PathPatterns::new(&[pattern]).unwrap();
        let files = ReportFiles::before(root, &pattern);
        write();
        let changed = files.changed().unwrap().into_iter();
        let shown = changed.map(|path| path.strip_prefix(root).unwrap().display().to_string());
        shown.collect()
    }

    #[test]
    fn only_files_that_were_written_meanwhile_count() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let write = |name: &str, text: &str| {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("target/old.xml", "old");
        write("target/again.xml", "old");
        let found = changed(root, "target/*.xml", || {
            write("target/again.xml", "new and longer");
            write("target/new.xml", "new");
            write("target/new.txt", "new");
            write("other/new.xml", "new");
        });
        assert_eq!(found, ["target/again.xml", "target/new.xml"]);
        assert_eq!(changed(root, "target/old.xml", || {}), Vec::<String>::new());
        let deep = changed(root, "reports/**", || write("reports/a/b/TEST-x.xml", "x"));
        assert_eq!(deep, ["reports/a/b/TEST-x.xml"]);
        // A single file may have any name.
        let named = changed(root, "report.junit", || write("report.junit", "x"));
        assert_eq!(named, ["report.junit"]);
    }

    #[test]
    fn links_are_no_reports_and_are_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let found = changed(root, "*.xml", || {
            std::os::unix::fs::symlink("/etc/hostname", root.join("link.xml")).unwrap();
            std::os::unix::fs::symlink(root, root.join("loop")).unwrap();
        });
        assert_eq!(found, Vec::<String>::new());
    }
}

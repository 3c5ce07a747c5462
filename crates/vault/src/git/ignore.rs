//! Git's ignore rules: which paths no rule can ignore, without a process.
//!
//! Says "not ignored" only. What a rule does ignore may still be tracked, which its index says: that
//! is for git to answer, as is everything odd (a link on the way, a repository inside, a rule that is
//! written strangely, a file that cannot be read).

use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use gix_ignore::glob::pattern::Case;
use gix_ignore::glob::search::pattern::List;
use gix_ignore::search::{Ignore, pattern_matching_relative_path};

use super::access::Reason;
use crate::paths::{absolute, is_pipe, show};
use ralph_base::files::{absent, read_within};

/// A list that is larger has no rules. Newer versions of git ignore it, older ones fail on it.
const LARGEST_LIST: u64 = 100 << 20;

/// The rules of one work tree. Those of a folder are read once.
pub(crate) struct IgnoreRules<'a> {
    top: &'a Path,
    case: Case,
    /// The lists for all folders, the weaker first.
    common: Vec<Rc<List<Ignore>>>,
    folders: HashMap<Vec<u8>, Rc<Folder>>,
}

/// The rules for one folder.
struct Folder {
    is_ignored: bool,
    /// The lists of the folders from the top to this one.
    lists: Vec<Rc<List<Ignore>>>,
}

/// What the configuration says of ignore rules.
#[derive(Debug, Default)]
pub(crate) struct IgnoreSettings {
    /// `core.excludesFile`.
    pub excludes_file: Option<String>,
    /// Names that differ in case only are the same.
    pub folds_case: bool,
}

impl<'a> IgnoreRules<'a> {
    /// The rules of a work tree, unless they are for git alone to read.
    pub(crate) fn read(
        top: &'a Path,
        git_dir: &Path,
        settings: &IgnoreSettings,
    ) -> Result<Self, Reason> {
        // A sparse checkout may have rules that are only in the index.
        if git_dir.join("info/sparse-checkout").exists() {
            return Err(Reason::Sparse);
        }
        let mut common = Vec::new();
        let excludes = settings.excludes()?.into_iter();
        for path in excludes.chain([git_dir.join("info/exclude")]) {
            common.push(Rc::new(parse(&bytes_of(&path)?, path, None)?));
        }
        Ok(Self {
            top,
            case: if settings.folds_case {
                Case::Fold
            } else {
                Case::Sensitive
            },
            common,
            folders: HashMap::new(),
        })
    }

    /// True where a rule ignores the path.
    pub(crate) fn ignores(&mut self, path: &[u8]) -> Result<bool, Reason> {
        let is_odd = |part: &[u8]| matches!(part, b"" | b"." | b"..");
        if path.split(|byte| *byte == b'/').any(is_odd) {
            return Err(Reason::OddName(show(path)));
        }
        let folder = self.folder(parent(path))?;
        if folder.is_ignored {
            return Ok(true);
        }
        let metadata = fs::symlink_metadata(absolute(self.top, path));
        let is_folder = metadata.is_ok_and(|metadata| metadata.is_dir());
        Ok(self.is_matched(&folder.lists, path, is_folder))
    }

    fn folder(&mut self, path: &[u8]) -> Result<Rc<Folder>, Reason> {
        if let Some(folder) = self.folders.get(path) {
            return Ok(Rc::clone(folder));
        }
        let full = absolute(self.top, path);
        let mut folder = Folder {
            is_ignored: false,
            lists: Vec::new(),
        };
        if !path.is_empty() {
            let above = self.folder(parent(path))?;
            if is_link(&full) || fs::symlink_metadata(full.join(".git")).is_ok() {
                return Err(Reason::Elsewhere(show(path)));
            }
            folder.is_ignored = above.is_ignored || self.is_matched(&above.lists, path, true);
            folder.lists.clone_from(&above.lists);
        }
        if !folder.is_ignored {
            let source = full.join(".gitignore");
            let list = parse(&own_rules(&source)?, source, Some(self.top))?;
            folder.lists.push(Rc::new(list));
        }
        let folder = Rc::new(folder);
        self.folders.insert(path.to_vec(), Rc::clone(&folder));
        Ok(folder)
    }

    /// The last rule that matches decides: of the nearest list, then of those above, then of all.
    fn is_matched(&self, lists: &[Rc<List<Ignore>>], path: &[u8], is_folder: bool) -> bool {
        let name = path.iter().rposition(|byte| *byte == b'/').map(|at| at + 1);
        let matching = |list| {
            pattern_matching_relative_path(list, path.into(), name, Some(is_folder), self.case)
        };
        let mut lists = self.common.iter().chain(lists).rev();
        lists
            .find_map(|list| matching(list))
            .is_some_and(|rule| !rule.pattern.is_negative())
    }
}

fn parent(path: &[u8]) -> &[u8] {
    let slash = path.iter().rposition(|byte| *byte == b'/');
    &path[..slash.unwrap_or(0)]
}

fn is_link(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink())
}

fn odd_rules(path: &Path) -> Reason {
    Reason::OddRules(path.display().to_string())
}

/// True for a list that counts as empty because git could not read it: it would wait for a pipe, and
/// run out of memory with a list of gigabytes.
pub(crate) fn is_unreadable_list(path: &Path) -> bool {
    is_pipe(path) || fs::metadata(path).is_ok_and(|it| it.len() > LARGEST_LIST)
}

/// The bytes of a list; none where it is absent or counts as empty.
fn bytes_of(path: &Path) -> Result<Vec<u8>, Reason> {
    if is_unreadable_list(path) {
        return Ok(Vec::new());
    }
    match read_within(path, LARGEST_LIST) {
        Ok(bytes) => Ok(bytes),
        Err(error) if absent(&error) || error.kind() == io::ErrorKind::FileTooLarge => {
            Ok(Vec::new())
        }
        Err(_) => Err(odd_rules(path)),
    }
}

/// The bytes of a list in the work tree, where git follows no links.
pub(crate) fn own_rules(path: &Path) -> Result<Vec<u8>, Reason> {
    if is_link(path) {
        return Err(odd_rules(path));
    }
    bytes_of(path)
}

/// Reads a list, unless it holds what only git should read.
fn parse(bytes: &[u8], source: PathBuf, root: Option<&Path>) -> Result<List<Ignore>, Reason> {
    let odd = odd_rules(&source);
    // Git drops a carriage return at the end, too.
    if bytes.contains(&0) || bytes.ends_with(b"\r") {
        return Err(odd);
    }
    let Ok(list) = List::from_bytes(bytes, source, root, Ignore::default()) else {
        return Err(odd);
    };
    let is_reversed = |text: &[u8]| text.windows(3).any(|it| it[1] == b'-' && it[0] > it[2]);
    let is_odd = |text: &[u8]| {
        has_glued_stars(text)
            || text.windows(2).any(|two| two == b"//")
            // A class whose range ends before it begins.
            || text.contains(&b'[') && is_reversed(text)
    };
    let mut patterns = list.patterns.iter().map(|it| it.pattern.text.as_slice());
    if patterns.any(is_odd) {
        return Err(odd);
    }
    Ok(list)
}

/// True where two stars stand beside something other than a slash, which is not matched as git does it.
fn has_glued_stars(pattern: &[u8]) -> bool {
    let parts = pattern.split(|byte| *byte == b'/');
    parts
        .filter(|part| part.windows(2).any(|two| two == b"**"))
        .any(|part| part != b"**")
}

impl IgnoreSettings {
    /// Where the list for all repositories is, unless git must find out.
    pub(crate) fn excludes(&self) -> Result<Option<PathBuf>, Reason> {
        let Some(path) = self.excludes_file.as_deref() else {
            return Ok(default_excludes());
        };
        let home = || std::env::var_os("HOME").map(PathBuf::from);
        let path = match path.strip_prefix("~/") {
            Some(rest) => home().map(|home| home.join(rest)),
            None => Some(PathBuf::from(path)),
        };
        let path = path.filter(|path| path.is_absolute());
        path.map(Some).ok_or(Reason::Setting("core.excludesfile"))
    }
}

/// The list git reads where none is configured.
fn default_excludes() -> Option<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.as_bytes().is_empty());
    let folder = variable("XDG_CONFIG_HOME").map(PathBuf::from);
    let folder = folder.or_else(|| Some(PathBuf::from(variable("HOME")?).join(".config")));
    folder.map(|folder| folder.join("git/ignore"))
}

#[cfg(test)]
mod tests;
